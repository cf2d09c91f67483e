"""The examples of docstrings and documents do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import cenote
from cenote import _cenote

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = [CHECKOUT / "README.md", CHECKOUT / "python" / "README.md", CHECKOUT / "docs" / "python.md"]
MODULES = [name for _, name, _ in pkgutil.walk_packages(cenote.__path__, "cenote.") if "__main__" not in name]


@pytest.mark.parametrize("name", ["cenote", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    # Examples of what sessions make have a session, and the closed one of an example does not stay for the next.
    s = cenote.Session(_cenote.Program.clear(3))
    results = doctest.testmod(module, extraglobs={"cenote": cenote, "np": np, "s": s}, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def given(folder: Path) -> dict[str, Any]:
    """Give what the documents take as given, and make the files that they name."""
    people = pd.DataFrame({"id": [1, 2, 3], "region": ["north", "south", "north"]})
    loans = pd.DataFrame({"id": [1, 3, 3], "owed": [100, 50, 25]})
    pyarrow.parquet.write_table(pa.Table.from_pandas(loans), folder / "loans.parquet")
    (folder / "people.csv").write_text(people.to_csv(index=False))
    return {"people_df": people, "loans_df": loans}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_documents(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = given(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{document.name}, example {number}", "exec"), names)
