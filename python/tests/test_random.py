"""Random queries over random data frames: the answers are those of DuckDB.

``CENOTE_RANDOM_QUERIES`` says how many, and ``CENOTE_SEED`` which is the first.
"""

from __future__ import annotations

import datetime
import os
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cenote

COUNT = int(os.environ.get("CENOTE_RANDOM_QUERIES", "100"))
FIRST = int(os.environ.get("CENOTE_SEED", "1"))
WORDS = ["", "oak", "ash", "elm", "naïve", "Oak", "ashen"]
EPOCH = datetime.date(2024, 1, 1)


class Maker:
    """Makes tables and queries from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def maybe(self, value: Any) -> Any:
        return None if self.random.random() < 0.15 else value

    def table(self, unique: bool) -> pa.Table:
        rows = self.random.choice([0, 1, 5, 12, 30])
        ids = self.random.sample(range(40), rows) if unique else [self.random.randrange(40) for _ in range(rows)]
        draw = self.random
        columns: dict[str, tuple[pa.DataType, list[Any]]] = {
            "id": (draw.choice([pa.int64(), pa.uint8(), pa.int32()]), ids),
            "k": (pa.int16(), [self.maybe(draw.randrange(-3, 4)) for _ in ids]),
            "x": (pa.int32(), [self.maybe(draw.randrange(-1000, 1000)) for _ in ids]),
            "d": (pa.decimal128(9, 2), [self.maybe(Decimal(draw.randrange(-5000, 5000)) / 100) for _ in ids]),
            "s": (pa.string(), [self.maybe(draw.choice(WORDS)) for _ in ids]),
            "b": (pa.bool_(), [self.maybe(draw.random() < 0.5) for _ in ids]),
            "day": (pa.date32(), [self.maybe(EPOCH + datetime.timedelta(draw.randrange(60))) for _ in ids]),
        }
        return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})

    def condition(self, of: str) -> str:
        draw = self.random
        return draw.choice(
            [
                f"{of}.x > {draw.randrange(-900, 900)}",
                f"{of}.k IN (1, 2, -3)",
                f"{of}.k IS NOT NULL",
                f"{of}.s LIKE '{draw.choice(['a%', '%k', '%s%', 'oak'])}'",
                f"{of}.d BETWEEN -20.5 AND {draw.randrange(0, 40)}.25",
                f"{of}.day >= DATE '2024-01-{draw.randrange(1, 31):02}'",
                f"({of}.b OR {of}.x < 0)",
                f"NOT ({of}.k = {draw.randrange(-3, 4)})",
            ]
        )

    def value(self, of: str) -> str:
        return self.random.choice(
            [
                f"{of}.x",
                f"{of}.x + {of}.k",
                f"{of}.d",
                f"CASE WHEN {self.condition(of)} THEN {of}.x ELSE 7 END",
                f"COALESCE({of}.x, 0) * 3",
                f"ABS({of}.x)",
            ]
        )

    def aggregate(self, of: str, *, distinct: bool = False) -> str:
        value = self.value(of)
        more = [f"COUNT(DISTINCT {of}.k)"] if distinct else []
        return self.random.choice(
            [
                *more,
                "COUNT(*)",
                f"COUNT({value})",
                f"SUM({value})",
                f"MIN({value})",
                f"MAX({value})",
                f"MAX({of}.s)",
                f"MIN({of}.day)",
            ]
        )

    def query(self) -> str:
        draw = self.random
        where = f" WHERE {self.condition('t')}" if draw.random() < 0.6 else ""
        if draw.random() < 0.3:
            where += (" AND " if where else " WHERE ") + f"t.id NOT IN (SELECT id FROM u WHERE {self.condition('u')})"
        join = draw.choice(["JOIN", "LEFT JOIN"])
        key = draw.choice(["k", "s", "b", "day"])
        match draw.randrange(7):
            case 0:
                return f"SELECT t.id, {self.value('t')} AS v, t.s FROM t{where}"
            case 1:
                return f"SELECT t.{key}, {self.aggregate('t', distinct=True)} AS v FROM t{where} GROUP BY t.{key}"
            case 2:
                return f"SELECT t.id, u.{key}, {self.value('t')} AS v FROM t {join} u ON t.id = u.id{where}"
            case 3:
                return (
                    f"SELECT u.{key}, {self.aggregate('t')} AS v, {self.aggregate('u')} AS w "
                    f"FROM t {join} u ON t.id = u.id{where} GROUP BY u.{key}"
                )
            case 4:
                return f"SELECT DISTINCT {key} FROM (SELECT {key} FROM t{where} UNION ALL SELECT {key} FROM u)"
            case 5:
                return f"SELECT {self.aggregate('t', distinct=True)} AS v, {self.aggregate('t')} AS w FROM t{where}"
            case _:
                limit = draw.randrange(1, 9)
                return f"SELECT u.id, u.x, u.s FROM u WHERE {self.condition('u')} ORDER BY u.id LIMIT {limit}"


def plain(value: Any) -> Any:
    """Give a number as one that equals others of its kind."""
    if isinstance(value, float):
        return Decimal(str(value))
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


def rows(answer: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(plain(value) for value in row) for row in answer)


def frame(maker: Maker, table: pa.Table) -> Any:
    """Give the table as an object of another library."""
    # pandas knows no type of what has no values.
    is_typed = all(column.null_count < len(column) for column in table.columns)
    match maker.random.randrange(3):
        case 0:
            return pl.from_arrow(table)
        case 1 if is_typed:
            types = {pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
            return table.to_pandas(types_mapper=types.get)
        case _:
            return table


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_answers_are_those_of_duckdb(seed: int) -> None:
    maker = Maker(seed)
    t, u = maker.table(unique=False), maker.table(unique=True)
    sql = maker.query()
    with duckdb.connect() as database:
        database.register("t", t)
        database.register("u", u)
        expected = database.sql(sql).fetchall()
    protocol = maker.random.choice(["three", "three", "authenticated"])
    answer = cenote.query(
        sql,
        protocol=protocol,
        secret_only=maker.random.random() < 0.3,
        t=cenote.table(frame(maker, t), party=0),
        u=cenote.table(frame(maker, u), party=1, unique="id"),
    )
    assert rows(answer) == rows(expected), f"seed {seed}: {sql}"
