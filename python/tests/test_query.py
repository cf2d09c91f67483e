"""Queries over tables of every kind, and what their answers give."""

from __future__ import annotations

import datetime
import html
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import cenote

PEOPLE = {"id": [1, 2, 3, 4], "region": ["north", "south", "north", None]}
LOANS = {"id": [1, 3, 3, 4], "owed": [Decimal("100.50"), Decimal("50.00"), Decimal("25.25"), Decimal("8.00")]}
SQL = "SELECT region, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region ORDER BY region"
ANSWER = [("north", Decimal("175.75")), (None, Decimal("8.00"))]


def loans() -> pa.Table:
    return pa.table(LOANS, schema=pa.schema([("id", pa.int64()), ("owed", pa.decimal128(9, 2))]))


def of_kind(kind: str, folder: Path) -> Any:
    """Give the people as an object of this kind."""
    match kind:
        case "pandas":
            return pd.DataFrame(PEOPLE)
        case "polars":
            return pl.DataFrame(PEOPLE)
        case "pyarrow":
            return pa.table(PEOPLE)
        case "batch":
            return pa.table(PEOPLE).to_batches()[0]
        case "reader":
            return pa.table(PEOPLE).to_reader(max_chunksize=2)
        case "duckdb":
            there = pa.table(PEOPLE)
            return duckdb.sql("SELECT * FROM there") if there else None
        case "parquet":
            pyarrow.parquet.write_table(pa.table(PEOPLE), folder / "people.parquet")
            return folder / "people.parquet"
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "batch", "reader", "duckdb", "parquet"])
def test_tables_of_every_kind_are_asked(kind: str, tmp_path: Path) -> None:
    people = cenote.table(of_kind(kind, tmp_path), party=0, unique="id")
    assert people.declared == {
        "party": 0,
        "columns": {"id": "i64 not null", "region": "char(8)"},
        "max_rows": 4,
        "unique": ["id"],
    }
    answer = cenote.query(SQL, people=people, loans=cenote.table(loans(), party=1))
    assert list(answer) == ANSWER


def test_csv_files_have_their_types_stated(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,region\n1,north\n2,south\n3,north\n4,\n")
    columns = {"id": "u32 not null", "region": "char(5)"}
    people = cenote.table(str(path), party=0, columns=columns, unique="id", max_rows=10)
    assert people.declared["max_rows"] == 10
    assert list(cenote.query(SQL, people=people, loans=cenote.table(loans(), party=1))) == ANSWER
    counted = cenote.table(path, party=0, columns=columns)
    assert counted.declared["max_rows"] == 4
    with pytest.raises(cenote.UsageError, match="state the types of the columns of people"):
        cenote.table(path, party=0)


@pytest.mark.parametrize("protocol", ["three", "authenticated", "lego", "jimu"])
def test_all_protocols_give_the_answer(protocol: str) -> None:
    people = cenote.table(pa.table(PEOPLE), party=0, unique="id")
    answer = cenote.query(SQL, protocol=protocol, people=people, loans=cenote.table(loans(), party=1))
    assert list(answer) == ANSWER
    assert answer.report["protocol"] == protocol


def test_an_answer_is_what_others_read() -> None:
    people = cenote.table(pa.table(PEOPLE), party=0, unique="id")
    answer = cenote.query(SQL, people=people, loans=cenote.table(loans(), party=1))
    assert answer.columns == ["region", "owed"]
    assert answer.types["region"] == "char(8)"
    assert len(answer) == 2
    assert answer.to_dicts()[0] == {"region": "north", "owed": Decimal("175.75")}
    assert answer.to_arrow().to_pylist() == answer.to_dicts()
    assert answer.to_polars().rows() == ANSWER
    assert answer.to_pandas()["owed"].tolist() == [Decimal("175.75"), Decimal("8.00")]
    relation = duckdb.sql("SELECT region FROM answer WHERE owed > 100")
    assert relation is not None
    assert relation.fetchall() == [("north",)]
    assert "north" in repr(answer)
    assert "<td>175.75</td>" in answer._repr_html_()
    again = cenote.table(answer, party=0)
    assert list(cenote.query("SELECT COUNT(*) FROM t", t=again)) == [(2,)]


def test_a_column_of_an_answer_is_a_list() -> None:
    people = cenote.table(pa.table(PEOPLE), party=0, unique="id")
    answer = cenote.query(SQL, people=people, loans=cenote.table(loans(), party=1))
    assert answer["region"] == ["north", None]
    assert answer["owed"] == [Decimal("175.75"), Decimal("8.00")]
    assert answer.shape == (2, 2)
    with pytest.raises(KeyError, match="there is no column debt; there are region, owed"):
        answer["debt"]
    with pytest.raises(TypeError, match=r'write answer\["region"\], and list\(answer\)\[0\] for a row'):
        answer[0]  # type: ignore[index]
    # What takes sequences takes the rows still.
    assert np.asarray(answer, dtype=object).tolist() == [list(row) for row in ANSWER]
    assert pd.DataFrame(answer).shape == (2, 2)


def test_columns_of_one_name_are_not_mixed_up() -> None:
    answer = cenote.query("SELECT n AS x, m AS x, n FROM t", t=cenote.table(pa.table({"n": [1], "m": [2]}), party=0))
    assert answer["n"] == [1]
    assert list(answer) == [(1, 2, 1)]
    with pytest.raises(KeyError, match="two columns are called x: give one another name with AS"):
        answer["x"]
    with pytest.raises(cenote.UsageError, match="two columns are called x: give one another name with AS"):
        answer.to_dicts()


def test_decimals_become_floats_in_pandas_if_asked_for() -> None:
    exact = [Decimal(number) / 1000 for number in range(1, 4000, 7)] + [Decimal("12345678901234567.891"), None]
    data = pa.table({"x": pa.array(exact, pa.decimal128(20, 3)), "n": range(len(exact))})
    answer = cenote.query("SELECT n, x, SUM(n) AS total FROM t GROUP BY n, x", t=cenote.table(data, party=0))
    frame = answer.to_pandas(coerce_float=True)
    assert frame.dtypes.astype(str).to_dict() == {"n": "int64", "x": "float64", "total": "int64"}
    known = frame["x"].notna()
    assert known.sum() == len(exact) - 1
    assert frame["x"][known].tolist() == [float(value) for value in answer["x"] if value is not None]
    assert answer.to_pandas()["x"].dtype == object
    with pytest.raises(TypeError, match="positional"):
        answer.to_pandas(True)  # type: ignore[call-arg]


def test_sums_of_whole_numbers_are_numbers_in_pandas() -> None:
    table = cenote.table(pd.DataFrame({"x": [1, 2, 3]}), party=0)
    frame = cenote.query("SELECT SUM(x) AS total FROM t", t=table).to_pandas()
    assert frame["total"].dtype == "int64"
    assert frame["total"].tolist() == [6]


def test_columns_may_have_one_name() -> None:
    t = cenote.table(pa.table({"id": [1, 2], "x": [5, None]}), party=0, unique="id")
    u = cenote.table(pa.table({"id": [2, 3]}), party=1, unique="id")
    answer = cenote.query("SELECT * FROM t JOIN u ON t.id = u.id", t=t, u=u)
    assert answer.columns == ["id", "x", "id"]
    assert list(answer) == [(2, None, 2)]
    assert answer.to_pandas().iloc[0, 0] == 2


def test_whole_numbers_stay_exact_in_pandas() -> None:
    table = pa.table({"x": pa.array([2**53 + 1, None], pa.int64()), "y": pa.array([2**64 - 1, 0], pa.uint64())})
    frame = cenote.query("SELECT x, y FROM t ORDER BY y", t=cenote.table(table, party=0)).to_pandas()
    assert frame["x"].dropna().tolist() == [2**53 + 1]
    assert frame["y"].tolist() == [0, 2**64 - 1]


def test_all_types_go_there_and_back() -> None:
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 250_000)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "b": (pa.bool_(), [True, False, None]),
        "i8": (pa.int8(), [-128, 127, None]),
        "u16": (pa.uint16(), [0, 65_535, None]),
        "i64": (pa.int64(), [-(2**63), 2**63 - 1, None]),
        "u64": (pa.uint64(), [0, 2**64 - 1, None]),
        "d": (pa.decimal128(38, 4), [Decimal("-1.2500"), Decimal("9999999999999999999999999999999999.9999"), None]),
        "day": (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None]),
        "t": (pa.timestamp("us"), [moment, datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), None]),
        "s": (pa.string(), ["", "naïve", None]),
    }
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    answer = cenote.query(
        f"SELECT {', '.join(columns)} FROM t UNION ALL SELECT {', '.join(columns)} FROM t",
        t=cenote.table(table, party=0),
    )
    expected = table.to_pylist()
    assert sorted(answer.to_arrow().to_pylist(), key=str) == sorted(expected + expected, key=str)
    assert sorted(answer.to_dicts(), key=str) == sorted(expected + expected, key=str)


def test_what_is_asked_of_the_answer_is_done() -> None:
    people = cenote.table(pa.table({"age": [20, 20, 30]}), party=0)
    others = cenote.table(pa.table({"age": [20, 40]}), party=1)
    sql = "SELECT age, COUNT(*) AS n FROM (SELECT age FROM a UNION ALL SELECT age FROM b) GROUP BY age"
    answer = cenote.query(sql, min_group=3, to=[1], a=people, b=others)
    assert list(answer) == [(20, 3)]
    # All terms together are at most 1.02 * 2^-s.
    slack = math.log2(1.02)
    assert answer.report["error_log2"] <= -40 + slack
    stronger = cenote.query(sql, security=60, max_rows=5, secret_only=True, tables={"a": people, "b": others})
    assert sorted(stronger) == [(20, 3), (30, 1), (40, 1)]
    assert stronger.report["error_log2"] <= -60 + slack


def test_progress_is_told() -> None:
    heard: list[tuple[int, int]] = []
    table = cenote.table(pa.table({"x": list(range(2000))}), party=0)
    other = cenote.table(pa.table({"x": list(range(2000))}), party=1)
    sql = "SELECT x FROM (SELECT x FROM a UNION ALL SELECT x FROM b) ORDER BY x LIMIT 3"
    cenote.query(sql, a=table, b=other, progress=lambda done, total: heard.append((done, total)))
    assert heard
    assert all(0 <= done <= total for done, total in heard)


def test_what_a_listener_raises_ends_the_query() -> None:
    class Enough(Exception):
        pass

    def refuse(done: int, total: int) -> None:
        raise Enough

    table = cenote.table(pa.table({"x": list(range(2000))}), party=0)
    other = cenote.table(pa.table({"x": list(range(2000))}), party=1)
    sql = "SELECT x FROM (SELECT x FROM a UNION ALL SELECT x FROM b) ORDER BY x LIMIT 3"
    with pytest.raises(Enough):
        cenote.query(sql, a=table, b=other, progress=refuse)
    # The next one is not stopped by that.
    assert len(cenote.query(sql, a=table, b=other)) == 3


def test_a_plan_tells_what_a_query_takes() -> None:
    people = cenote.declared(party=0, columns={"id": "u64 not null", "region": "char(8)"}, max_rows=1000, unique="id")
    owed = cenote.declared(party=1, columns={"id": "u64 not null", "owed": "decimal(9,2)"}, max_rows=5000)
    plan = cenote.plan(SQL, people=people, loans=owed, link="wan")
    assert plan.and_gates > 10_000
    assert plan.seconds > 0.1
    assert plan.bytes_sent > 1000
    assert len(plan.memory_bytes) == 2
    assert plan.refused is None
    assert any("party 1 learns the answer" in sentence for sentence in plan.learnt)
    assert plan.steps[0]["depth"] == 0
    assert any("unique" in promise["declare"] for proposal in plan.proposals for promise in proposal["promises"])
    assert "AND gates" in repr(plan)
    assert plan.to_dict()["and_gates"] == plan.and_gates
    page = plan._repr_html_()
    assert "join on loans.id = people.id</td><td>all, secretly</td>" in page
    assert "in the clear</td>" in page
    assert all(html.escape(line) in page for line in plan.learnt)
    assert f"{plan.and_gates:,} in" in page
