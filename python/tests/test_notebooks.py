"""The notebooks run, and give the outputs that they are shown with.

CENOTE_WRITE_NOTEBOOKS=1 writes new outputs into them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient

# Its functions have no types.
nbformat: Any = importlib.import_module("nbformat")

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NAMES = ("fraud_three_banks", "operator", "private_set_intersection", "salary_gap")
NOTEBOOKS = [FOLDER / f"{name}.ipynb" for name in NAMES]
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def kept(output: Any) -> bool:
    """Tell whether an output is shown to readers: no warnings, and no bars that are gone at the end."""
    if output.output_type == "stream":
        return bool(output.name == "stdout")
    return "application/vnd.jupyter.widget-view+json" not in output.data


def told(cell: Any) -> list[str]:
    """Give the texts that a cell shows. What is printed may come in one part or several."""
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream" and kept(output))
    shown = [output.data.get("text/plain", "") for output in cell.outputs if "data" in output and kept(output)]
    return [printed, *shown]


def cells(notebook: Any) -> Iterator[Any]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


@pytest.fixture
def _jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing of this machine's own settings, and no files of the kernel among them.
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    # The kernel works in another folder.
    for name in ("PYTHONPATH", "CENOTE_PROGRAMS"):
        if given := os.environ.get(name):
            monkeypatch.setenv(name, os.pathsep.join(map(os.path.abspath, given.split(os.pathsep))))


@pytest.mark.usefixtures("_jupyter")
# What the packages that run notebooks warn of is theirs to see to.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    if path.stem == "operator" and not os.environ.get("CENOTE_PROGRAMS"):
        pytest.skip("CENOTE_PROGRAMS does not name the folder of the programs cenote and cenote-serve")
    committed = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    place = tmp_path / "place"
    place.mkdir()
    # The kernel is this interpreter, with its environment. A cell that raises fails the test, and shows what it raised.
    client = NotebookClient(
        run, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(place)}}, record_timing=False
    )
    client.execute()
    if os.environ.get("CENOTE_WRITE_NOTEBOOKS"):
        for cell in cells(run):
            cell.outputs = [output for output in cell.outputs if kept(output)]
        run.metadata = nbformat.from_dict(METADATA)
        nbformat.write(run, path)
        return
    for number, (before, now) in enumerate(zip(cells(committed), cells(run), strict=True), start=1):
        assert before.execution_count == number, "the outputs are not those of one run from top to bottom"
        if "varies" not in before.metadata.get("tags", []):
            assert told(now) == told(before), f"cell {number} of code"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata == METADATA
    assert 6 <= len(notebook.cells) <= 14
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        assert set(cell.metadata.get("tags", [])) <= {"varies"}
    for cell in cells(notebook):
        assert all(kept(output) for output in cell.outputs)
        for output in cell.outputs:
            assert len(output.get("data", {}).get("image/png", "")) < 80_000
    text = path.read_text(encoding="utf-8")
    for private in ("/tmp", "/home", "/root", "/work", "127.0.0.1", "localhost", "Traceback"):
        assert private not in text
