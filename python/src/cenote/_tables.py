"""Tables that a query asks for: whose they are, what is in them, and what their owners promise of them."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from cenote import _cenote
from cenote._cenote import UsageError


class ArrowStream(Protocol):
    """What gives its columns by Arrow's C stream interface: a data frame, a table, a relation."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the stream as a capsule."""


class DaskFrame(Protocol):
    """A data frame of Dask."""

    @property
    def npartitions(self) -> int:
        """Give the number of its partitions."""

    def to_delayed(self) -> list[Any]:
        """Give its partitions."""


class Table:
    """A table of one party: its declaration, which all parties know, and at its owner's its data.

    Made by :func:`table` and :func:`declared`.
    """

    def __init__(
        self,
        *,
        party: int,
        columns: Mapping[str, str],
        max_rows: int,
        promises: Mapping[str, Any],
        frame: _cenote.Frame | None = None,
        path: Path | None = None,
        parts: Any = None,
        left_out: Mapping[str, str] | None = None,
        is_stated: bool = True,
    ) -> None:
        self._party = party
        self._columns = dict(columns)
        self._max_rows = max_rows
        self._promises = {name: promise for name, promise in promises.items() if promise}
        self._frame = frame
        self._path = path
        # A data frame of Dask.
        self._parts = parts
        self._left_out = dict(frame.left_out) if frame is not None else dict(left_out or {})
        self._is_stated = is_stated

    @property
    def party(self) -> int:
        """The party whose table it is."""
        return self._party

    @property
    def declared(self) -> dict[str, Any]:
        """What all parties know of the table, as :func:`declared` takes it.

        Columns and their types, the most rows, and the owner's promises. Nothing else of the table becomes
        public before the query is answered.

        Examples
        --------
        >>> import pyarrow as pa
        >>> people = pa.table({"id": [1, 2], "name": ["Ada", "Grace"]})
        >>> cenote.table(people, party=0, unique="id").declared["columns"]
        {'id': 'i64 not null', 'name': 'char(8) not null'}
        """
        return {
            "party": self._party,
            "columns": dict(self._columns),
            "max_rows": self._max_rows,
            **self._promises,
        }

    @property
    def left_out(self) -> dict[str, str]:
        """Columns of the data that the table does not have, each with the reason.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     table = cenote.table(pa.table({"id": [1, 2], "tags": [["a"], ["b", "c"]]}), party=0)
        >>> table.left_out
        {'tags': 'List has no type here'}
        >>> table
        <table of party 0, at most 2 rows: id i64 not null; left out: tags (List has no type here)>
        """
        return dict(self._left_out)

    def __repr__(self) -> str:
        columns = ", ".join(f"{_shown(name)} {kind}" for name, kind in self._columns.items())
        missed = f"; left out: {_listed(self._missed())}" if self._missed() else ""
        return f"<table of party {self._party}, at most {self._max_rows} rows: {columns}{missed}>"

    def _missed(self) -> dict[str, str]:
        """Give the columns that were left out and that a user sees as columns, which an index of pandas is not."""
        return {name: why for name, why in self.left_out.items() if not _INDEX.fullmatch(name)}

    def _has_data(self) -> bool:
        return self._frame is not None or self._path is not None or self._parts is not None

    def _at(self, path: Path | None) -> Table:
        """Give the same table with its data in a file, or without data."""
        return Table(
            party=self._party,
            columns=self._columns,
            max_rows=self._max_rows,
            promises=self._promises,
            path=path,
            left_out=self._left_out,
            is_stated=self._is_stated,
        )


def table(
    data: ArrowStream | DaskFrame | str | os.PathLike[str],
    /,
    *,
    party: int,
    columns: Mapping[str, str] | None = None,
    max_rows: int | None = None,
    unique: str | Sequence[str | Sequence[str]] = (),
    at_most: Mapping[str, int] | None = None,
    distinct: Mapping[str, int] | None = None,
    below: Mapping[str, int] | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
    same_rows_as: str | None = None,
) -> Table:
    """Declare a table that a party has, with its data.

    Parameters
    ----------
    data
        A data frame of pandas or polars, a table of pyarrow, a relation of DuckDB, anything with
        ``__arrow_c_stream__``; or the path of a CSV or Parquet file. For :func:`cenote.dask.query` also a data frame
        of Dask, which is not brought here: what is not stated is found out where Dask computes.
    party
        Whose table it is: 0, 1, or with three parties 2.
    columns
        Columns and their types, as in job files: ``{"id": "u64 not null", "owed": "decimal(12,2)"}``. Without
        it, all columns are taken, with types that fit the data: a text column gets ``char(n)`` for the
        longest text, with n rounded up to a power of two so that its exact length stays private; a column
        without nulls becomes ``not null``; whole floating-point numbers become ``i64``. Columns of other types
        are left out with a warning, see :attr:`Table.left_out`.
    max_rows
        The most rows the table may have. It is public. Without it: exactly the rows that the data has, which
        then are public.
    unique
        A column whose values all differ, or several: ``["id", ["branch", "account"]]`` says that ``id`` is
        unique, and ``branch`` and ``account`` are together.
    at_most, distinct, below, values, same_rows_as
        More that the owner promises, as in job files. All of it is checked.

    Returns
    -------
    Table
        The table, for :func:`query` and :func:`plan`.

    Raises
    ------
    BadInput
        A value does not fit its column. The message names column and row, and never quotes the value.
    UsageError
        The declaration is wrong.

    Warns
    -----
    UserWarning
        Columns of the data were left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> loans = pa.table({"id": [1, 3, 3], "owed": [100.5, 50.0, 25.25]})
    >>> cenote.table(loans, party=1, columns={"id": "u32 not null", "owed": "decimal(9,2)"})
    <table of party 1, at most 3 rows: id u32 not null, owed decimal(9,2)>
    """
    frame: _cenote.Frame | None
    path = None
    parts = None
    left_out: dict[str, str] = {}
    is_stated = columns is not None and max_rows is not None
    if isinstance(data, (str, os.PathLike)):
        path = Path(data).expanduser().absolute()
        if columns is None and path.suffix.lower() in (".csv", ".gz", ".txt"):
            raise UsageError(
                f"state the types of the columns of {path.name}, which a CSV file does not have: "
                'columns={"id": "u64 not null", …}'
            )
        if columns is None:
            frame = _cenote.Frame.of_parquet(path)
        else:
            frame = None if max_rows is not None else _cenote.Frame.read(path, list(columns.items()), _MAX_ROWS)
    elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        stated = None if columns is None else list(columns.items())
        try:
            frame = _cenote.Frame.from_arrow(data, stated, f"of party {party}")
        except _cenote.CenoteError:
            raise
        except Exception as error:
            # What others say of data may quote it.
            raise _cenote.BadInput(
                f"the {type(data).__name__} of party {party} cannot be given as Arrow ({type(error).__name__}): "
                "give a data frame whose columns have one type each"
            ) from None
    elif type(data).__module__.partition(".")[0] == "dask" and hasattr(data, "to_delayed"):
        from cenote._dask_tables import seen_in

        frame, parts = None, data
        if columns is None or max_rows is None:
            columns, rows, left_out = seen_in(data, columns, party)
            max_rows = max(1, rows) if max_rows is None else max_rows
    else:
        raise UsageError(
            f"a {type(data).__name__} is no table: give a data frame of pandas, polars or Dask, a table of pyarrow, "
            "anything else with __arrow_c_stream__, or the path of a CSV or Parquet file"
        )
    if columns is None:
        assert frame is not None
        columns = {name: kind if null else f"{kind} not null" for name, kind, null in frame.columns}
    if max_rows is None:
        assert frame is not None
        max_rows = max(1, len(frame))
    elif frame is not None and len(frame) > max_rows:
        raise _cenote.BadInput(f"the table of party {party} has {len(frame)} rows, more than its max_rows, {max_rows}")
    made = Table(
        party=party,
        columns=columns,
        max_rows=max_rows,
        promises=_promises(unique, at_most, distinct, below, values, same_rows_as),
        frame=frame,
        path=path,
        parts=parts,
        left_out=left_out,
        is_stated=is_stated,
    )
    if missed := made._missed():
        warnings.warn(
            f"the table of party {party} lacks columns of its data: {_listed(missed)}. {_advice(missed)}",
            stacklevel=2,
        )
    return made


_MAX_ROWS = (1 << 32) - 1
# How pyarrow names an index of pandas that has no name.
_INDEX = re.compile(r"__index_level_\d+__")
# Columns that are named where some were left out.
_NAMED = 3


def _listed(left_out: Mapping[str, str]) -> str:
    """Name columns that were left out, and say why."""
    named = ", ".join(f"{_shown(name)} ({_shown(why)})" for name, why in list(left_out.items())[:_NAMED])
    more = len(left_out) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _advice(left_out: Mapping[str, str]) -> str:
    """Say what to do about columns that were left out. Those that a stated type helps say to state one."""
    helped = sum("; state " in why for why in left_out.values())
    if not helped:
        return "To have them, convert them to other types; otherwise drop them from the data"
    state = "state columns={…} with the types of all columns that the table shall have"
    if helped == len(left_out):
        return f"To have them, {state}; otherwise drop them from the data"
    return f"For those that say so, {state}; convert or drop the others"


def _shown(text: str) -> str:
    """Give a text with escapes in place of what would steer a screen."""
    return text if text.isprintable() else repr(text)[1:-1]


def declared(
    *,
    party: int,
    columns: Mapping[str, str],
    max_rows: int,
    unique: str | Sequence[str | Sequence[str]] = (),
    at_most: Mapping[str, int] | None = None,
    distinct: Mapping[str, int] | None = None,
    below: Mapping[str, int] | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
    same_rows_as: str | None = None,
) -> Table:
    """Declare a table without its data: one of another party, or one whose query is only planned.

    The parameters are those of :func:`table`; here all that cannot be seen in data must be stated.

    Examples
    --------
    >>> cenote.declared(party=1, columns={"id": "u32 not null"}, max_rows=50_000)
    <table of party 1, at most 50000 rows: id u32 not null>
    """
    promises = _promises(unique, at_most, distinct, below, values, same_rows_as)
    return Table(party=party, columns=columns, max_rows=max_rows, promises=promises)


def _promises(
    unique: str | Sequence[str | Sequence[str]],
    at_most: Mapping[str, int] | None,
    distinct: Mapping[str, int] | None,
    below: Mapping[str, int] | None,
    values: Mapping[str, Sequence[str]] | None,
    same_rows_as: str | None,
) -> dict[str, Any]:
    columns = (
        [unique]
        if isinstance(unique, str)
        else [column if isinstance(column, str) else list(column) for column in unique]
    )
    return {
        "unique": columns,
        "at_most": dict(at_most or {}),
        "distinct": dict(distinct or {}),
        "below": dict(below or {}),
        "values": {
            column: [listed] if isinstance(listed, str) else list(listed) for column, listed in (values or {}).items()
        },
        "same_rows_as": same_rows_as,
    }
