"""The answer of a query."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cenote import _cenote

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN = 20


def _twice(column: str) -> str:
    return f"two columns are called {column}: give one another name with AS"


class Answer:
    """The rows that a query gave, and what they cost.

    It gives itself to whatever takes Arrow data: ``polars.DataFrame(answer)``, ``pyarrow.table(answer)``,
    ``duckdb.sql("SELECT … FROM answer")``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ages = cenote.table(pa.table({"age": [31, 42, 53]}), party=0)
    >>> others = cenote.table(pa.table({"age": [29, 61]}), party=1)
    >>> answer = cenote.query("SELECT age FROM ages UNION ALL SELECT age FROM others ORDER BY age", ages=ages,
    ...     others=others)
    >>> answer.columns
    ['age']
    >>> answer["age"]
    [29, 31, 42, 53, 61]
    >>> list(answer)[0]
    (29,)
    """

    def __init__(self, frame: _cenote.Frame, report: dict[str, Any]) -> None:
        self._frame = frame
        self._report = report

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _, _ in self._frame.columns]

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, as job files name it."""
        return {name: kind for name, kind, _ in self._frame.columns}

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        return len(self), len(self._frame.columns)

    @property
    def report(self) -> dict[str, Any]:
        """What it cost: parties, bytes, rounds, seconds, and the bound on the error."""
        return self._report

    def __len__(self) -> int:
        """Give the number of rows."""
        return len(self._frame)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Give each row as a tuple of bool, int, Decimal, date, datetime (in UTC, without a zone), str and None."""
        return (self._frame.row(row) for row in range(len(self._frame)))

    def __getitem__(self, column: str) -> list[Any]:
        """Give the values of a column, as iteration gives them."""
        if not isinstance(column, str):
            raise TypeError(f'a column has a name: write answer["{self.columns[0]}"], and list(answer)[0] for a row')
        if column not in self.columns:
            raise KeyError(f"there is no column {column}; there are {', '.join(self.columns)}")
        if self.columns.count(column) > 1:
            raise KeyError(_twice(column))
        place = self.columns.index(column)
        return [row[place] for row in self]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Give all rows, each as a dictionary."""
        for column in self.columns:
            if self.columns.count(column) > 1:
                raise _cenote.UsageError(_twice(column))
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    def to_arrow(self) -> pyarrow.Table:
        """Give it as a table of pyarrow, which must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self, *, coerce_float: bool = False) -> pandas.DataFrame:
        """Give it as a data frame of pandas, which must be installed, and pyarrow with it.

        Whole numbers are ``int64`` and the like, or ``Int64`` and the like where some are null. Decimals without
        places, which sums of whole numbers are, become whole numbers where they fit. Other decimals, also averages,
        which are rounded to six places, stay as they are, as objects of ``decimal.Decimal``.

        Parameters
        ----------
        coerce_float
            Whether those other decimals become ``float64``, for plots and statistics. They are rounded to the nearest
            float, and nulls are NaN. Whole numbers stay whole, so ``Int64`` and the like with nulls stay that.

        Examples
        --------
        >>> import pyarrow as pa
        >>> ages = cenote.table(pa.table({"age": [31, 42, 54]}), party=0)
        >>> answer = cenote.query("SELECT AVG(age) AS mean FROM ages", ages=ages)
        >>> answer.to_pandas()["mean"][0]
        Decimal('42.333333')
        >>> answer.to_pandas(coerce_float=True).dtypes["mean"]
        dtype('float64')
        """
        import pandas
        import pyarrow

        nullable = {
            getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")()
            for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
        }
        nullable[pyarrow.bool_()] = pandas.BooleanDtype()
        series = []
        for column in self.to_arrow().columns:
            if pyarrow.types.is_decimal(column.type) and column.type.scale == 0:
                with contextlib.suppress(pyarrow.ArrowInvalid):
                    column = column.cast(pyarrow.int64())
            values = column.to_pandas(types_mapper=nullable.get if column.null_count else None)
            # Each goes to the nearest float, which a cast by pyarrow does not always give.
            is_float = coerce_float and pyarrow.types.is_decimal(column.type)
            series.append(values.astype("float64") if is_float else values)
        frame = pandas.concat(series, axis=1)
        frame.columns = self.columns
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Give it as a data frame of polars, which must be installed."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows by Arrow's C stream interface."""
        return self._frame.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self._frame.show(_SHOWN)

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th title="{html.escape(kind)}">{html.escape(name)}</th>' for name, kind, _ in self._frame.columns
        )
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{'<i>null</i>' if cell is None else html.escape(cell)}</td>" for cell in row)
            + "</tr>"
            for row in self._frame.cells(_SHOWN)
        )
        more = len(self) - _SHOWN
        note = f"<p>… and {more:,} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"
