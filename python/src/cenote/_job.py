"""The file of a job that is a query."""

from __future__ import annotations

import json
import operator
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cenote._cenote import JOB, Passed, UsageError
from cenote._tables import Table


def text(key: str, value: object) -> str:
    """Write a value as TOML has it."""
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{text(key, str(name))} = {text(key, of)}" for name, of in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(text(key, item) for item in value) + "]"
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{key} cannot be {value!r}, a {type(value).__name__}") from None


def _lines(
    sql: str,
    tables: Mapping[str, tuple[Table, str | Path | None]],
    settings: Mapping[str, Any],
    answer: Mapping[str, Any],
) -> Iterator[str]:
    for key, value in {"query": sql, **settings}.items():
        if value is not None:
            yield f"{key} = {text(key, value)}"
    for name, (table, file) in tables.items():
        yield "[[table]]"
        yield f"name = {text('name', name)}"
        for key, value in table.declared.items():
            yield f"{key} = {text(key, value)}"
        if file is not None:
            yield f"file = {text('file', str(file))}"
    stated = {key: value for key, value in answer.items() if value is not None}
    if "max_rows" not in stated:
        stated["count"] = "revealed"
    yield "[answer]"
    for key, value in stated.items():
        yield f"{key} = {text(key, value)}"


def check(tables: Mapping[str, Table]) -> None:
    """See that there are tables, and nothing else."""
    if not tables:
        raise UsageError("a query asks for tables: give each by its name, such as people=cenote.table(df, party=0)")
    for name, table in tables.items():
        if not isinstance(table, Table):
            raise UsageError(f"whose table is {name}? Write {name}=cenote.table(…, party=0)")


def write(
    folder: Path,
    sql: str,
    tables: Mapping[str, Table],
    settings: Mapping[str, Any],
    answer: Mapping[str, Any],
    *,
    owners: Container[int],
) -> tuple[Path, Passed]:
    """Write the job into this folder, and pass on the data of the tables of these owners.

    Give the job's file, and what keeps the data that is passed on.
    """
    check(tables)
    frames = {}
    for name, table in tables.items():
        if table.party not in owners or table._path is not None:
            continue
        if table._parts is not None:
            raise UsageError(
                f"table {name} is a data frame of Dask: ask with cenote.dask.query, or give what it computes, "
                "cenote.table(data.compute(), …)"
            )
        if table._frame is None:
            raise UsageError(
                f"table {name} is only declared: give its data with cenote.table(…), or plan the query instead"
            )
        frames[name] = table._frame
    passed = Passed(list(frames.values()))
    paths: dict[str, str | Path] = dict(zip(frames, passed.paths, strict=True))
    paths |= {name: table._path for name, table in tables.items() if table._path and table.party in owners}
    files = {name: (table, paths.get(name)) for name, table in tables.items()}
    job = folder / JOB
    lines = "\n".join(_lines(sql, files, settings, answer))
    try:
        job.write_text(lines + "\n", encoding="utf-8", newline="\n")
    except UnicodeEncodeError:
        raise UsageError("the query, or a name in a table, is no text that UTF-8 can have") from None
    return job, passed
