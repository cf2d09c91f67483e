"""Tables in the manner of TPC-H: its columns as far as tests use them, with made-up rows. And what SQLite answers."""

from __future__ import annotations

import datetime
import re
import sqlite3
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import cenote

_QUERIES = Path(__file__).resolve().parents[2] / "crates" / "query" / "tests" / "tpch" / "queries"

_REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
# Some nations, each with its region. Few, so that customers and suppliers of one nation meet.
_NATIONS = [("BRAZIL", 1), ("CHINA", 2), ("FRANCE", 3), ("INDIA", 2), ("JAPAN", 2), ("KENYA", 0)]
_SEGMENTS = ["AUTOMOBILE", "BUILDING", "MACHINERY"]
_PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
_FIRST_DAY = np.datetime64("1992-01-01")


def text(name: str) -> str:
    """Give the text of a query by its name."""
    return (_QUERIES / f"{name}.sql").read_text()


class Held(NamedTuple):
    """A table: its rows, and what its owner says of it."""

    rows: pd.DataFrame
    declared: dict[str, Any]


def _held(party: int, columns: str, rows: pd.DataFrame, **promises: Any) -> Held:
    stated = dict(column.split(" ", 1) for column in columns.split(", "))
    assert list(rows) == list(stated)
    declared = {"columns": {name: f"{kind} not null" for name, kind in stated.items()}, "max_rows": len(rows)}
    return Held(rows, {"party": party, **declared, **promises})


def _days(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (_FIRST_DAY + days).astype(str)


def made(orders: int, *, parties: int = 3, most_items: int = 7, seed: int = 1) -> dict[str, Held]:
    """Make tables with so many orders, each of 1 to ``most_items`` items, and spread them over the parties.

    Of two parties, the first has what the third of three has.
    """
    rng = np.random.default_rng(seed)
    customers, suppliers = max(3, orders // 10), 10
    customer = pd.DataFrame(
        {
            "c_custkey": np.arange(1, customers + 1),
            "c_mktsegment": rng.choice(_SEGMENTS, customers),
            "c_nationkey": rng.integers(0, len(_NATIONS), customers),
        }
    )
    supplier = pd.DataFrame(
        {"s_suppkey": np.arange(1, suppliers + 1), "s_nationkey": np.arange(suppliers) % len(_NATIONS)}
    )
    # Most orders are of the years that the queries ask for.
    ordered = np.where(rng.random(orders) < 0.2, rng.integers(0, 2400, orders), rng.integers(540, 1260, orders))
    order = pd.DataFrame(
        {
            "o_orderkey": 4 * rng.permutation(np.arange(1, orders + 1)),
            # A third of the customers never order.
            "o_custkey": 1 + rng.choice(np.flatnonzero(np.arange(customers) % 3 != 2), orders),
            "o_orderdate": _days(ordered),
            "o_orderpriority": rng.choice(_PRIORITIES, orders),
            "o_shippriority": np.zeros(orders, dtype=np.int64),
        }
    )
    of = np.repeat(np.arange(orders), rng.integers(1, most_items + 1, orders))
    rng.shuffle(of)
    items = len(of)
    quantity = rng.integers(1, 51, items)
    item = pd.DataFrame(
        {
            "l_orderkey": order["o_orderkey"].to_numpy()[of],
            "l_suppkey": rng.integers(1, suppliers + 1, items),
            "l_quantity": quantity,
            "l_extendedprice": quantity * rng.integers(90_000, 190_000, items) / 100,
            "l_discount": rng.integers(0, 11, items) / 100,
            "l_tax": rng.integers(0, 9, items) / 100,
            "l_returnflag": rng.choice(["A", "N", "R"], items),
            "l_linestatus": rng.choice(["F", "O"], items),
            "l_shipdate": _days(ordered[of] + rng.integers(1, 122, items)),
        }
    )
    nation = pd.DataFrame(
        {
            "n_nationkey": np.arange(len(_NATIONS)),
            "n_name": [name for name, _ in _NATIONS],
            "n_regionkey": [region for _, region in _NATIONS],
        }
    )
    region = pd.DataFrame({"r_regionkey": np.arange(len(_REGIONS)), "r_name": _REGIONS})
    third = 2 % parties
    return {
        "customer": _held(
            0,
            "c_custkey u32, c_mktsegment char(10), c_nationkey u8",
            customer,
            unique="c_custkey",
            values={"c_mktsegment": _SEGMENTS},
        ),
        "supplier": _held(0, "s_suppkey u32, s_nationkey u8", supplier, unique="s_suppkey"),
        "orders": _held(
            1,
            "o_orderkey u32, o_custkey u32, o_orderdate date, o_orderpriority char(15), o_shippriority u8",
            order,
            unique="o_orderkey",
            values={"o_orderpriority": _PRIORITIES},
        ),
        "nation": _held(1, "n_nationkey u8, n_name char(14), n_regionkey u8", nation, unique="n_nationkey"),
        "lineitem": _held(
            third,
            "l_orderkey u32, l_suppkey u32, l_quantity u8, l_extendedprice decimal(12,2), l_discount decimal(4,2), "
            "l_tax decimal(4,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date",
            item,
            at_most={"l_orderkey": most_items},
            below={"l_quantity": 51, "l_extendedprice": 105_000, "l_discount": 1, "l_tax": 1},
            values={"l_returnflag": ["A", "N", "R"], "l_linestatus": ["F", "O"]},
        ),
        "region": _held(third, "r_regionkey u8, r_name char(11)", region, unique="r_regionkey"),
    }


def named_in(sql: str, tables: Mapping[str, Held]) -> dict[str, Held]:
    """Give the tables that a query names."""
    return {name: held for name, held in tables.items() if re.search(rf"\b{name}\b", sql)}


def in_sqlite(sql: str, tables: Mapping[str, Held]) -> list[tuple[Any, ...]]:
    """Give the answer of SQLite, which has no type for dates."""
    words = re.sub(
        r"DATE '([^']*)' ([+-]) INTERVAL '(\d+)' (\w+)",
        lambda found: f"DATE('{found[1]}', '{found[2]}{found[3]} {found[4]}')",
        sql,
    )
    words = re.sub(r"DATE '([^']*)'", r"'\1'", words)
    sqlite = sqlite3.connect(":memory:")
    try:
        for name, held in tables.items():
            held.rows.to_sql(name, sqlite, index=False)
        return list(sqlite.execute(words))
    finally:
        sqlite.close()


def difference(found: Sequence[tuple[Any, ...]], right: Sequence[tuple[Any, ...]]) -> str | None:
    """Tell how an answer differs from that of SQLite, whose numbers have some 15 digits."""
    if len(found) != len(right):
        return f"it has {len(found)} rows where SQLite has {len(right)}"
    for row, (one, other) in enumerate(zip(found, right, strict=True)):
        if len(one) != len(other) or not all(map(_is_same, one, other)):
            return f"its row {row} is {one} where SQLite has {other}"
    return None


def _is_same(found: Any, right: Any) -> bool:
    if isinstance(found, datetime.date):
        return found.isoformat() == str(right)
    if isinstance(found, (int, Decimal)) and isinstance(right, (int, float)):
        # An average has six places.
        return abs(float(found) - right) <= 1e-5 + 1e-9 * abs(right)
    return bool(found == right)


def tables(held: Mapping[str, Held]) -> dict[str, cenote.Table]:
    """Give tables as one who sees all."""
    return {name: cenote.table(held.rows, **held.declared) for name, held in held.items()}
