"""Types that columns get, and what is refused, with the place and never the value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cenote


def columns(data: Any) -> dict[str, str]:
    declared: dict[str, str] = cenote.table(data, party=0).declared["columns"]
    return declared


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([1, 2], pa.uint8()), "u8 not null"),
        (pa.array([1, None], pa.int16()), "i16"),
        (pa.array([Decimal("1.5")], pa.decimal128(10, 3)), "decimal(10,3) not null"),
        (pa.array([0], pa.date64()), "date not null"),
        (pa.array([0], pa.timestamp("ns", "Europe/Oslo")), "timestamp not null"),
        (pa.array(["a", "abc"]), "char(4) not null"),
        (pa.array(["a" * 129]), "char(255) not null"),
        (pa.array(["ab", "ab", None]).dictionary_encode(), "char(2)"),
        (pa.array(["ab"], pa.large_string()), "char(2) not null"),
        (pa.array(["ab"], pa.string_view()), "char(2) not null"),
        (pa.array([""]), "char(1) not null"),
        (pa.array([1.0, 2.0]), "i64 not null"),
        (pa.array([1.0, float("nan")]), "i64"),
    ],
)
def test_columns_get_types_that_fit(values: pa.Array, kind: str) -> None:
    assert columns(pa.table({"x": values})) == {"x": kind}


def test_categories_of_pandas_are_texts() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["low", "high", "low"]), "n": [1.0, np.nan, 3.0]})
    assert columns(frame) == {"x": "char(4) not null", "n": "i64"}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (pa.array([0.5]), "not exact; state its digits"),
        (pa.array(["a" * 257]), "text of more than 255 bytes"),
        (pa.array([{"ada@example.com": 1}, {"ada@example.com": 2}]), "Struct has no type here"),
        (pa.array([[1], [2]]), "has no type here"),
        (pa.array([None, None]), "state one"),
        (pa.array([b"ab"]), "has no type here"),
    ],
)
def test_other_columns_are_left_out_and_told_of(values: pa.Array, why: str) -> None:
    data = pa.table({"id": [1] * len(values), "odd": values})
    with pytest.warns(UserWarning, match=rf"party 0 lacks columns of its data: odd \(.*{why}.*drop them") as warned:
        table = cenote.table(data, party=0)
    assert [warning.filename for warning in warned] == [__file__]
    assert list(table.declared["columns"]) == ["id"]
    assert why in table.left_out["odd"]
    assert repr(table).startswith(f"<table of party 0, at most {len(values)} rows: id i64 not null; left out: odd (")
    assert why in repr(table)
    told = repr(table) + str(warned[0].message) + str(table.left_out)
    assert "ada@example.com" not in told
    for value in values.to_pylist():
        assert value is None or str(value) not in told
    assert list(cenote.query("SELECT SUM(id) AS n FROM t", t=table)) == [(len(values),)]
    with pytest.raises(cenote.UsageError, match="column odd of t was left out"):
        cenote.query("SELECT odd FROM t", t=table)


def test_of_many_columns_that_are_left_out_a_few_are_named() -> None:
    data = pa.table({"id": [1], **{f"x{number}": [0.5] for number in range(20)}})
    with pytest.warns(UserWarning, match=r"x2 \(Float64 .*\) and 17 more\. To have them") as warned:
        table = cenote.table(data, party=0)
    assert len(warned) == 1
    assert repr(table).endswith(" and 17 more>")
    assert len(table.left_out) == 20
    stated = cenote.table(data, party=0, columns={"id": "u8"})
    assert repr(stated) == "<table of party 0, at most 1 rows: id u8>"


def test_names_of_columns_do_not_steer_a_screen() -> None:
    data = pa.table({"id": [1], "a\x1b[31m\nb": [0.5], "größe": [[1]]})
    with pytest.warns(UserWarning, match=r"a\\x1b\[31m\\nb \(Float64.*größe \(List") as warned:
        table = cenote.table(data, party=0)
    for text in (repr(table), str(warned[0].message)):
        assert text.isprintable()
    odd = cenote.declared(party=0, columns={"a\x1b[31m": "u8"}, max_rows=1)
    assert repr(odd) == r"<table of party 0, at most 1 rows: a\x1b[31m u8>"


@pytest.mark.parametrize(
    ("more", "advice"),
    [
        ({"x": [0.5], "y": [None]}, "To have them, state columns={…} with the types of all columns"),
        ({"x": [[1]], "y": ["a" * 256]}, "To have them, convert them to other types; otherwise drop them"),
        ({"x": [[1]], "y": [0.5]}, "For those that say so, state columns={…} .*; convert or drop the others"),
    ],
)
def test_it_is_advised_what_helps(more: dict[str, Any], advice: str) -> None:
    with pytest.warns(UserWarning, match=advice) as warned:
        cenote.table(pa.table({"id": [1], **more}), party=0)
    assert ("columns={…}" in str(warned[0].message)) == ("columns={…}" in advice)


def test_stated_types_are_taken() -> None:
    table = pa.table(
        {
            "price": [1.1, 2.25, float("nan")],
            "day": ["2024-01-31", None, "2024-02-29"],
            "n": ["7", "8", "9"],
            "whole": [Decimal("5"), Decimal("6"), None],
            "unused": [[1], [2], [3]],
        }
    )
    stated = {"price": "decimal(9,2)", "day": "date", "n": "u8 not null", "whole": "u16"}
    answer = cenote.query(
        "SELECT price, n, whole FROM t WHERE day >= DATE '2024-01-01'", t=cenote.table(table, party=0, columns=stated)
    )
    assert sorted(answer, key=str) == [(Decimal("1.10"), 7, 5), (None, 9, None)]


@pytest.mark.parametrize(
    ("values", "kind", "what"),
    [
        (pa.array([1, 300]), "u8", r"row 2, column x: is out of range for u8"),
        (pa.array([1, None]), "u8 not null", r"row 2, column x: is empty, but the column is declared `not null`"),
        (pa.array(["zq", "zqx"]), "char(2)", r"row 2, column x: is longer than 2 bytes"),
        (pa.array([0.5, 0.125]), "decimal(9,2)", r"row 2, column x: has more than 2 decimal places"),
        (pa.array([1.5]), "i32", r"row 1, column x: is not a value of type i32"),
        (pa.array([float("inf")]), "decimal(9,2)", r"row 1, column x: is out of range"),
        (pa.array(["2024-02-30"]), "date", r"row 1, column x: is not a valid date"),
        (pa.array([1], pa.timestamp("ns")), "timestamp", r"row 1, column x: has more than 6 decimal places"),
        (pa.array([1], pa.timestamp("s")), "date", r"row 1, column x: has a time of day"),
        (pa.array([[1]]), "u8", r"column x: is List, but declared u8; cast it"),
        (pa.array([True]), "u8", r"column x: is Boolean, but declared u8; cast it"),
        (pa.array(["a\0b"]), "char(4)", r"row 1, column x: contains a zero byte"),
    ],
)
def test_values_that_do_not_fit_are_named_by_place(values: pa.Array, kind: str, what: str) -> None:
    with pytest.raises(cenote.BadInput, match=what) as raised:
        cenote.table(pa.table({"x": values}), party=0, columns={"x": kind})
    for value in values.to_pylist():
        if value not in (None, 1, True, [1]):
            assert str(value) not in str(raised.value)


def test_declarations_that_are_wrong_are_refused() -> None:
    table = pa.table({"x": [1, 2]})
    with pytest.raises(cenote.UsageError, match="`float` is not a type"):
        cenote.table(table, party=0, columns={"x": "float"})
    with pytest.raises(cenote.BadInput, match="there is no column y; there are x"):
        cenote.table(table, party=0, columns={"y": "u8"})
    with pytest.raises(cenote.BadInput, match="2 rows, more than its max_rows, 1"):
        cenote.table(table, party=0, max_rows=1)
    with pytest.raises(cenote.UsageError, match="a list is no table"):
        cenote.table([1, 2], party=0)  # type: ignore[arg-type]
    with pytest.raises(cenote.BadInput, match="no such file"):
        cenote.table("nowhere.parquet", party=0)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(cenote.BadInput, match="several columns have this name"):
        cenote.table(twice, party=0)


def test_what_others_say_of_data_is_not_passed_on() -> None:
    with pytest.raises(cenote.BadInput, match="cannot be given as Arrow") as raised:
        cenote.table(pd.DataFrame({"ssn": [1, "078-05-1120"]}), party=0)
    assert "078" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_numbers_of_fewer_digits_are_taken_by_those() -> None:
    table = pa.table({"x": pa.array([0.1, 2.5], pa.float32())})
    answer = cenote.query("SELECT x FROM t", t=cenote.table(table, party=0, columns={"x": "decimal(9,2)"}))
    assert sorted(answer) == [(Decimal("0.10"),), (Decimal("2.50"),)]
    with pytest.warns(UserWarning, match="Float64 is not exact"):
        assert cenote.table(pa.table({"x": [float(2**53)]}), party=0).left_out


def test_an_index_of_pandas_is_no_column() -> None:
    frame = pd.DataFrame({"v": [1, 2, 3, 4]})
    table = cenote.table(frame[frame.v.isin([1, 2, 4])], party=0)
    assert list(table.declared["columns"]) == ["v"]
    assert "reset_index" in table.left_out["__index_level_0__"]
    assert repr(table) == "<table of party 0, at most 3 rows: v i64 not null>"


@pytest.mark.parametrize(
    "stated",
    [{"min_group": 2.9}, {"security": 40.5}, {"to": [None]}, {"max_rows": np.array([1, 2])}, {"max_join_rows": {1}}],
)
def test_numbers_that_are_none_are_refused(stated: dict[str, Any]) -> None:
    table = cenote.table(pa.table({"x": [1]}), party=0)
    with pytest.raises(cenote.UsageError, match=next(iter(stated))):
        cenote.query("SELECT x FROM t", t=table, **stated)
    with pytest.raises(cenote.UsageError, match="party"):
        cenote.query("SELECT x FROM t", t=cenote.table(pa.table({"x": [1]}), party=0.5))  # type: ignore[arg-type]
    assert list(cenote.query("SELECT x FROM t", t=table, secret_only=np.True_, security=np.int64(40))) == [(1,)]  # type: ignore[arg-type]


def test_promises_are_declared_and_checked() -> None:
    table = cenote.table(
        pa.table({"id": [1, 1], "kind": ["a", "b"]}),
        party=0,
        unique=[["id", "kind"]],
        at_most={"id": 2},
        distinct={"kind": 2},
        below={"id": 10},
        values={"kind": ["a", "b"]},
    )
    assert table.declared["values"] == {"kind": ["a", "b"]}
    assert "unique" not in cenote.table(pa.table({"id": [1]}), party=0).declared
    again = cenote.declared(**table.declared)
    assert again.declared == table.declared
    other = cenote.table(pa.table({"id": [1]}), party=1)
    broken = cenote.table(pa.table({"id": [1, 1]}), party=0, unique="id")
    sql = "SELECT COUNT(*) FROM t JOIN u USING (id)"
    with pytest.raises(cenote.BadInput, match="unique"):
        cenote.query(sql, t=broken, u=other)


def test_empty_tables_have_answers() -> None:
    empty = cenote.table(pa.table({"x": pa.array([], pa.int64())}), party=0)
    assert empty.declared["max_rows"] == 1
    assert list(cenote.query("SELECT COUNT(*) FROM t", t=empty)) == [(0,)]
    assert len(cenote.query("SELECT x FROM t", t=empty).to_arrow()) == 0
