"""What a party gives to a job, as calls carry it; and what it learns, as its caller gets it."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from cenote import _cenote
from cenote._answer import Answer
from cenote._cenote import BadInput, UsageError
from cenote._tables import ArrowStream
from cenote.service._reach import StrPath, toml
from cenote.service._types import Answered, Fetched, NotOfForm, Output

# Bytes of what one call may carry, as services have it.
LARGEST = 8 << 20
# Bytes of a file in Parquet that is read, at most.
_PARQUET = 256 << 20
_MAX_ROWS = (1 << 32) - 1

Given: TypeAlias = "ArrowStream | StrPath | bytes | int | Sequence[int]"
# What a call gives: numbers for an input of a circuit, one value for a parameter of a query.
Called: TypeAlias = "int | Sequence[int] | bool | float | decimal.Decimal | str | dt.date | dt.datetime"
Result: TypeAlias = "Answer | dict[str, list[int]]"

_TOO_LARGE = (
    f"has more than the {LARGEST >> 20} MiB that a call may carry; put the data into the service's own folder of data, "
    "and name it with stored=…"
)


def tables_in(job: str | None) -> dict[str, tuple[list[tuple[str, str]], int]]:
    """Give the columns and the most rows of each table that a job file declares, as far as it can be read."""
    try:
        entries = toml(job or "", "the job").get("table", [])
    except UsageError:
        return {}
    found = {}
    for entry in entries if isinstance(entries, list) else []:
        match entry:
            case {"name": str(name), "columns": dict(columns), "max_rows": int(most)}:
                found[name] = ([(str(column), str(kind)) for column, kind in columns.items()], most)
    return found


def texts(data: Mapping[str, Given], job: str | None) -> dict[str, str]:
    """Give what each input or table gets as the text that a data file would hold."""
    declared = tables_in(job)
    if not isinstance(data, Mapping):
        raise UsageError('data names what each input or table gets: data={"loans": df}')
    return {name: _text(name, given, declared.get(name)) for name, given in data.items()}


def _text(name: str, given: object, declared: tuple[list[tuple[str, str]], int] | None) -> str:
    if isinstance(given, (bytes, bytearray, memoryview)):
        return _decoded(name, bytes(given))
    if isinstance(given, (str, os.PathLike)):
        return _of_file(name, Path(given), declared)
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return _of_frame(name, _cenote.Frame.from_arrow(given, declared and declared[0], name))
    numbers = [given] if isinstance(given, int) else given
    if isinstance(numbers, Iterable):
        return "".join(f"{_number(name, number)}\n" for number in numbers)
    raise UsageError(
        f"a {type(given).__name__} is nothing that {name} can be given: give a data frame, anything else with "
        "__arrow_c_stream__, bytes, the path of a file, or whole numbers"
    )


def _number(name: str, number: object) -> int:
    try:
        return int(number.__index__())  # type: ignore[attr-defined]
    except AttributeError:
        raise UsageError(f"the values of {name} are no whole numbers; give a data frame, bytes or a file") from None


def _of_file(name: str, path: Path, declared: tuple[list[tuple[str, str]], int] | None) -> str:
    is_parquet = path.suffix.lower() == ".parquet"
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"{path}, which {name} is to be given, is no file with data")
        if about.st_size > (_PARQUET if is_parquet else LARGEST):
            raise UsageError(f"{path}, which {name} is to be given, {_TOO_LARGE}")
        if not is_parquet:
            with path.open("rb") as file:
                return _decoded(name, file.read(LARGEST + 1))
    except OSError as error:
        raise BadInput(
            f"{path}, which {name} is to be given, cannot be read: {error.strerror or type(error).__name__}"
        ) from None
    if declared is None:
        return _of_frame(name, _cenote.Frame.of_parquet(path))
    return _of_frame(name, _cenote.Frame.read(path, declared[0], min(declared[1], _MAX_ROWS)))


def _of_frame(name: str, frame: _cenote.Frame) -> str:
    with tempfile.TemporaryDirectory(prefix="cenote-") as folder:
        path = Path(folder) / "table.csv"
        frame.write(path)
        return _of_file(name, path, None)


def _decoded(name: str, text: bytes) -> str:
    if len(text) > LARGEST:
        raise UsageError(f"what {name} is to be given {_TOO_LARGE}")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise BadInput(
            f"what {name} is to be given is no text in UTF-8; give a table in CSV, or a data frame"
        ) from None


def job_text(job: StrPath, files: Mapping[str, str] | None) -> tuple[str, dict[str, str]]:
    """Give the text of a job file, and those of the files that it names."""
    bundled = dict(files or {})
    if isinstance(job, str) and "\n" in job:
        return job, bundled
    path = Path(job)
    text = _job_file(path)
    circuit = toml(text, f"the job {path}").get("circuit")
    if isinstance(circuit, str) and not circuit.startswith("lib:") and circuit not in bundled:
        bundled[circuit] = _job_file(path.parent / circuit)
    return text, bundled


def _job_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            read = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(
            f"the file {path} of the job cannot be read: {error.strerror or type(error).__name__}"
        ) from None
    if len(read) > LARGEST:
        raise UsageError(f"the file {path} of the job has more than the {LARGEST >> 20} MiB that a call may carry")
    try:
        return read.decode()
    except UnicodeDecodeError:
        raise UsageError(f"the file {path} of the job is no text in UTF-8") from None


def result_of(fetched: Fetched, report: dict[str, Any]) -> Result:
    """Give what was fetched as its caller gets it."""
    if fetched.answer is None and fetched.outputs is None:
        raise NotOfForm("it has neither an answer nor outputs")
    return called(fetched, report)


def called(fetched: Fetched, report: dict[str, Any]) -> Result:
    """Give the answer of a query; or the outputs of a circuit: a list of numbers for each, one for each lane."""
    if fetched.answer is not None:
        return _answer(fetched.answer, report)
    return {output.name: _numbers(output) for output in fetched.outputs or () if output.values is not None}


def values(given: Mapping[str, Called]) -> dict[str, str]:
    """Give what a call carries: whole numbers for inputs, one a line; one value for a parameter of a query."""
    return {name: _value(name, value) for name, value in given.items()}


def _value(name: str, value: Called) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        # Moments of services are in UTC.
        moment = value if value.tzinfo is None else value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return moment.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, int | float | decimal.Decimal):
        return str(value)
    listed = list(value)
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in listed):
        raise UsageError(f"the input {name} is given by whole numbers from 0: one, or one for each lane")
    return "\n".join(map(str, listed))


def _numbers(output: Output) -> list[int]:
    try:
        return [int(value, 16) for value in output.values or ()]
    except ValueError:
        raise NotOfForm("an output is no number") from None


def _answer(answered: Answered, report: dict[str, Any]) -> Answer:
    width = len(answered.columns)
    if len(answered.types) != width or any(len(row) != width for row in answered.rows):
        raise NotOfForm("its rows are not as long as it has columns")
    if len(answered.rows) != answered.row_count:
        raise NotOfForm("it has not as many rows as it says")
    with tempfile.TemporaryDirectory(prefix="cenote-") as folder:
        path = Path(folder) / "answer.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            for row in (answered.columns, *answered.rows):
                file.write(",".join(map(_cell, row)) + "\n")
        columns = list(zip(answered.columns, answered.types, strict=True))
        return Answer(_cenote.Frame.read(path, columns, max(1, len(answered.rows))), report)


def _cell(value: str | None) -> str:
    return "" if value is None else '"' + value.replace('"', '""') + '"'
