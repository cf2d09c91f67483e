"""The file of a job that is a query."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cenote._cenote import UsageError, pass_on
from cenote._tables import Table

NAME = "cenote-call.toml"


def text(value: object) -> str:
    """Write a value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{text(str(key))} = {text(of)}" for key, of in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(text(item) for item in value) + "]"
    return str(int(value))  # type: ignore[call-overload]


def _lines(
    sql: str,
    tables: Mapping[str, tuple[Table, Path | None]],
    settings: Mapping[str, Any],
    answer: Mapping[str, Any],
) -> Iterator[str]:
    for key, value in {"query": sql, **settings}.items():
        if value is not None:
            yield f"{key} = {text(value)}"
    for name, (table, file) in tables.items():
        yield "[[table]]"
        yield f"name = {text(name)}"
        for key, value in table.declared.items():
            yield f"{key} = {text(value)}"
        if file is not None:
            yield f"file = {text(str(file))}"
    stated = {key: value for key, value in answer.items() if value is not None}
    if "max_rows" not in stated:
        stated["count"] = "revealed"
    yield "[answer]"
    for key, value in stated.items():
        yield f"{key} = {text(value)}"


def write(
    folder: Path,
    sql: str,
    tables: Mapping[str, Table],
    settings: Mapping[str, Any],
    answer: Mapping[str, Any],
    *,
    owners: Container[int],
) -> Path:
    """Write the job, and the data of the tables of these owners, into this folder. Give the job's file."""
    if not tables:
        raise UsageError("a query asks for tables: give each by its name, such as people=cenote.table(df, party=0)")
    files = {}
    passed_on = []
    for number, (name, table) in enumerate(tables.items()):
        if not isinstance(table, Table):
            raise UsageError(f"whose table is {name}? Write {name}=cenote.table(…, party=0)")
        file = None
        if table.party in owners:
            file = table._path
            if file is None and table._frame is not None:
                file = folder / f"table-{number}.parquet"
                passed_on.append((table._frame, file))
            if file is None:
                raise UsageError(
                    f"table {name} is only declared: give its data with cenote.table(…), or plan the query instead"
                )
        files[name] = (table, file)
    pass_on(passed_on)
    job = folder / NAME
    lines = "\n".join(_lines(sql, files, settings, answer))
    job.write_text(lines + "\n", encoding="utf-8", newline="\n")
    return job
