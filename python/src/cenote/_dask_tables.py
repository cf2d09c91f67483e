"""Tables that are data frames of Dask: what they are declared as, and how a cluster writes them.

A frame is never whole in one process: each task has one partition, and the file that the partitions are put into has
one of them after the other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cenote import _cenote
from cenote._cenote import BadInput, UsageError
from cenote._tables import DaskFrame

# How often a partition is written whose worker is lost meanwhile.
_TRIES = 4


class _Seen(NamedTuple):
    """What one partition says of the types of a frame."""

    columns: list[tuple[str, str, bool]]
    left_out: list[tuple[str, str]]
    rows: int


def seen_in(
    frame: DaskFrame, columns: Mapping[str, str] | None, party: int
) -> tuple[dict[str, str], int, dict[str, str]]:
    """Find out what is not stated of a frame: its columns and their types, its rows, and what is left out.

    It is computed where Dask computes by default, such as in the cluster of the client that was made last.
    """
    import dask

    look = dask.delayed(len if columns is not None else _look, pure=False)
    parts = frame.to_delayed()
    each = dask.compute(*(look(part) for part in parts))
    if columns is not None:
        return dict(columns), sum(each), {}
    types, left_out = _together(each)
    if not types:
        raise BadInput(f"table of party {party}: no column of the data has a type here")
    return types, sum(seen.rows for seen in each), left_out


def _look(part: Any) -> _Seen:
    frame = _frame(part, None, "of a partition")
    return _Seen(frame.columns, frame.left_out, len(frame))


def _together(parts: Sequence[_Seen]) -> tuple[dict[str, str], dict[str, str]]:
    """Give the types of all partitions together, as if they were one, and why columns are left out."""
    left_out = {name: why for seen in parts for name, why in seen.left_out}
    types: dict[str, str] = {}
    for name in dict.fromkeys(name for seen in parts for name, _, _ in seen.columns):
        if name in left_out:
            continue
        own = [(kind, null) for seen in parts for column, kind, null in seen.columns if column == name]
        kind = _common({kind for kind, _ in own})
        if kind is None:
            left_out[name] = "its partitions have different types; state the type that they share"
        else:
            types[name] = kind if any(null for _, null in own) else f"{kind} not null"
    return types, left_out


def _common(kinds: set[str]) -> str | None:
    """Give the type that values of all these types have."""
    if len(kinds) == 1:
        return kinds.pop()
    texts = [re.fullmatch(r"char\((\d+)\)", kind) for kind in kinds]
    if all(texts):
        return f"char({max(int(found[1]) for found in texts if found)})"
    decimals = [re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", kind) for kind in kinds]
    if all(decimals):
        pairs = [(int(found[1]), int(found[2])) for found in decimals if found]
        scale = max(scale for _, scale in pairs)
        return f"decimal({max(digits - scale for digits, scale in pairs) + scale},{scale})"
    return None


def _frame(part: Any, columns: list[tuple[str, str]] | None, name: str) -> _cenote.Frame:
    try:
        return _cenote.Frame.from_arrow(part, columns, name)
    except _cenote.CenoteError:
        raise
    except Exception as error:
        # What others say of data may quote it.
        raise BadInput(
            f"table {name}: it cannot be given as Arrow ({type(error).__name__}); see that its columns have one type "
            "each"
        ) from None


def write(frame: DaskFrame, client: Any, columns: Mapping[str, str], name: str, max_rows: int, to: Path) -> None:
    """Have the cluster of this client write a frame into a Parquet file, whose folder all its workers share."""
    import dask

    token = to.parent.name
    parts = frame.to_delayed()
    files = [f"{to}.{number}.parquet" for number in range(len(parts))]
    stated = list(columns.items())
    one = dask.delayed(_write_part, pure=False)

    def write_parts(left: list[int], again: int) -> list[Any]:
        writes = [
            one(
                parts[number],
                stated,
                f"{name}, partition {number}",
                files[number],
                dask_key_name=f"cenote-table-{token}-{name}-{number}-{again}",
            )
            for number in left
        ]
        return list(client.compute(writes))

    def join(_: list[int], again: int) -> list[Any]:
        key = f"cenote-table-{token}-{name}-whole-{again}"
        return [client.submit(_join, files, str(to), retries=0, pure=False, key=key)]

    each = _all_of(client, len(parts), write_parts)
    if (rows := sum(each)) > max_rows:
        raise BadInput(f"table {name} has {rows} rows, more than its max_rows, {max_rows}")
    _all_of(client, 1, join)
    for file in files:
        Path(file).unlink(missing_ok=True)


def _all_of(client: Any, count: int, submit: Callable[[list[int], int], list[Any]]) -> list[Any]:
    """Give the results of tasks. Those whose worker was lost are done again: what they write is written anew."""
    from distributed import KilledWorker

    results: dict[int, Any] = {}
    for again in range(_TRIES):
        left = [place for place in range(count) if place not in results]
        futures = submit(left, again)
        try:
            for place, future in zip(left, futures, strict=True):
                try:
                    results[place] = future.result()
                except KilledWorker:
                    if again + 1 == _TRIES:
                        raise UsageError(
                            "workers of the cluster were lost again and again while they wrote a table: give them more "
                            "memory, or the data more partitions"
                        ) from None
        finally:
            client.cancel(futures)
        if len(results) == count:
            break
    return [results[place] for place in range(count)]


def _write_part(part: Any, columns: list[tuple[str, str]], name: str, file: str) -> int:
    """Write a partition with its stated types, and give its rows."""
    frame = _frame(part, columns, name)
    frame.write(f"{file}.new.parquet")
    os.replace(f"{file}.new.parquet", file)
    return len(frame)


def _join(files: Sequence[str], to: str) -> None:
    """Put files into one, a group of rows after the other."""
    import pyarrow.parquet as parquet

    schema = parquet.read_schema(files[0])
    with parquet.ParquetWriter(f"{to}.new", schema) as writer:
        for file in files:
            with parquet.ParquetFile(file) as part:
                for batch in part.iter_batches():
                    writer.write_batch(batch.cast(schema))
    os.replace(f"{to}.new", to)
