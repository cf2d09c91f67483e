"""The examples of docstrings and documents do what they say."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from test_party import command, free_ports

import cenote
from cenote import _cenote

CHECKOUT = Path(__file__).resolve().parents[2]
COOKBOOK = CHECKOUT / "docs" / "cookbook.md"
DOCUMENTS = [
    CHECKOUT / "README.md",
    CHECKOUT / "python" / "README.md",
    CHECKOUT / "docs" / "python.md",
    CHECKOUT / "docs" / "tutorial.md",
    COOKBOOK,
]
MODULES = [name for _, name, _ in pkgutil.walk_packages(cenote.__path__, "cenote.") if "__main__" not in name]


def clear_session() -> cenote.Session:
    return cenote.Session(_cenote.Program.clear(3))


@pytest.mark.parametrize("name", ["cenote", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    # Examples of what sessions make have a session, and the closed one of an example does not stay for the next.
    names = {"cenote": cenote, "np": np, "s": clear_session()}
    results = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def given(folder: Path) -> dict[str, Any]:
    """Give what the documents take as given, and make the files that they name."""
    people = pd.DataFrame({"id": [1, 2, 3], "region": ["north", "south", "north"]})
    loans = pd.DataFrame({"id": [1, 3, 3], "owed": [100, 50, 25]})
    pyarrow.parquet.write_table(pa.Table.from_pandas(loans), folder / "loans.parquet")
    (folder / "people.csv").write_text(people.to_csv(index=False))
    command("circuit", "gen", "aes128", "-o", "aes128.txt", folder=folder)
    return {"people_df": people, "loans_df": loans, "s": clear_session()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_documents(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = document.read_text(encoding="utf-8")
    names = given(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks, start=1):
        file = re.match(r"# (\w+\.py)\n", block)
        if file is None:
            exec(compile(block, f"{document.name}, example {number}", "exec"), names)
            continue
        (tmp_path / file[1]).write_text(block)
        at_parties = "cenote.Party(" in block
        for output in at_both_firms(file[1], tmp_path) if at_parties else [run_file(file[1], tmp_path)]:
            assert not output or f"```text\n{output}```\n" in text


def run_file(name: str, folder: Path) -> str:
    """Run a file of Python as a reader does, in a folder, and give what it prints."""
    source = Path(cenote.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def at_both_firms(name: str, folder: Path) -> list[str]:
    """Run a file of the tutorial at both firms, each in a folder with its key, its party file and its salaries."""
    firms = [folder / "firm 0", folder / "firm 1"]
    for number, firm in enumerate(firms):
        firm.mkdir()
        command("identity", "new", "--party", str(number), "--parties", "2", folder=firm)
        for file in folder.glob("*.py"):
            (firm / file.name).write_text(file.read_text())
    fingerprints = [command("identity", "show", folder=firm).strip() for firm in firms]
    address = f"127.0.0.1:{free_ports(1)[0]}"
    for firm, other, salaries in zip(
        firms, fingerprints[::-1], ("52000\n61000\n48500\n", "70000\n41000\n"), strict=True
    ):
        file = firm / "party.toml"
        filled_in = file.read_text().replace('"FILL IN"', f'"{other}"')
        file.write_text(re.sub(r"(0\.0\.0\.0|party-0\.example):7100", address, filled_in))
        (firm / "salaries.txt").write_text(salaries)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda firm: run_file(name, firm), firms))


def cells(text: str) -> Iterator[str]:
    """Give the code, but not single names, in those columns of a document's tables that are headed "in Python"."""
    column = None
    for line in text.splitlines():
        row = [cell.strip() for cell in line.split("|")] if line.startswith("|") else []
        if "in Python" in row:
            column = row.index("in Python")
        elif not row:
            column = None
        elif column is not None:
            yield from (code for code in re.findall(r"`([^`]+)`", row[column]) if not code.isidentifier())


def test_tables_of_the_cookbook() -> None:
    s = clear_session()
    numbers = np.arange(1, 21, dtype=np.uint32)
    names: dict[str, Any] = {"cenote": cenote, "np": np, "s": s, "values": numbers, "one": s.input(0, np.uint32(1))}
    columns = "x a row key key1 left_key right_key name left", "y b amount amount1 amount2 key2 payload right"
    for party, of_party in enumerate(columns):
        names |= {name: s.input(party, numbers) for name in of_party.split()}
    names |= {name: names["x"] > 7 for name in ("condition", "flags", "chosen")}
    codes = list(cells(COOKBOOK.read_text(encoding="utf-8")))
    assert len(codes) > 40
    for code in codes:
        made = eval(code, names)
        for each in made if isinstance(made, tuple) else (made,):
            if isinstance(each, cenote.Secret):
                each.open()
