"""Queries of TPC-H in shards, in Dask clusters of three parties, and a join of two parties."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tpch

import cenote

pytest.importorskip("distributed", reason="the clusters are those of dask.distributed")

import dask.dataframe as dd
from clusters import Clients, cluster, nothing_is_left, wait_for_workers, within

import cenote.dask

JOIN = """
    SELECT o_orderpriority, COUNT(*) AS items, SUM(l_extendedprice * (1 - l_discount)) AS paid
    FROM orders JOIN lineitem ON o_orderkey = l_orderkey
    WHERE l_shipdate >= DATE '1994-01-01'
    GROUP BY o_orderpriority ORDER BY o_orderpriority
"""
SUM = """
    SELECT COUNT(*) AS items, SUM(l_extendedprice * l_discount) AS spared
    FROM orders JOIN lineitem ON o_orderkey = l_orderkey
    WHERE o_orderdate < DATE '1995-01-01' AND l_quantity < 30
"""
QUERIES = {**{name: tpch.text(name) for name in ("q1", "q3", "q5", "q6")}, "join": JOIN}

# Those of one table would be computed by its owner alone.
SECRETLY = ("q1", "q6")
ROWS = {"q3": 10}

# So many that some are cut by key, and others by rows.
ORDERS = 1000
# Two parties take longer. Orders of few items are cut by key even so.
FEW_ORDERS = 400
FEW_ITEMS = 2

# What usual runs ask for; others take longer.
USUAL = [("q1", 4), ("q3", 4), ("join", 4), ("join", 16)]
# Seconds.
PATIENCE = 120


def case(*values: Any, usual: bool) -> Any:
    skipped = not usual and "CENOTE_DASK_TPCH" not in os.environ
    return pytest.param(
        *values, marks=pytest.mark.skipif(skipped, reason="it takes longer: CENOTE_DASK_TPCH=1 runs it")
    )


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with contextlib.ExitStack() as stack:
        yield {party: stack.enter_context(cluster(n_workers=2)) for party in (0, 1, 2)}


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # The workers find the package where this process does.
    monkeypatch.setenv("PYTHONPATH", str(Path(cenote.__file__).parents[1]))
    with within(PATIENCE):
        yield
    nothing_is_left(tmp_path)


def in_parts(held: Mapping[str, tpch.Held]) -> dict[str, cenote.Table]:
    """Give tables as data frames of Dask, with some hundred rows in each partition."""
    return {
        name: cenote.table(dd.from_pandas(rows, npartitions=1 + len(rows) // 500), **declared)
        for name, (rows, declared) in held.items()
    }


@functools.cache
def held(name: str) -> dict[str, tpch.Held]:
    return tpch.named_in(QUERIES[name], tpch.made(ORDERS))


def options(name: str) -> dict[str, Any]:
    return {"protocol": "three", "max_rows": ROWS.get(name), "secret_only": name in SECRETLY}


@functools.cache
def in_one_session(name: str) -> cenote.Answer:
    return cenote.query(QUERIES[name], tables=tpch.tables(held(name)), **options(name))


def agrees(answer: cenote.Answer | None, shards: int, one: cenote.Answer, right: list[tuple[Any, ...]]) -> None:
    """See that shards have computed an answer, and that it is that of one session and of SQLite."""
    assert answer is not None
    assert answer.report["circuit"]["name"] == f"query in {shards} shards"
    assert answer.types == one.types
    assert list(answer) == list(one)
    assert (difference := tpch.difference(list(answer), right)) is None, difference
    assert any(value for row in right for value in row), "the query is of no use"


@pytest.mark.parametrize(
    ("name", "shards"),
    [case(name, shards, usual=(name, shards) in USUAL) for name in QUERIES for shards in (4, 16)],
)
def test_shards_have_the_answer_of_one_session(clients: Clients, tmp_path: Path, name: str, shards: int) -> None:
    wait_for_workers(clients)
    given = in_parts(held(name))
    answer = cenote.dask.query(
        QUERIES[name], clients=clients, shards=shards, tables=given, folder=tmp_path, **options(name)
    )
    agrees(answer, shards, in_one_session(name), tpch.in_sqlite(QUERIES[name], held(name)))


@pytest.mark.parametrize("shards", [case(4, usual=True), case(16, usual=False)])
def test_two_parties_join_in_shards(clients: Clients, tmp_path: Path, shards: int) -> None:
    two = {party: clients[party] for party in (0, 1)}
    wait_for_workers(two)
    held = tpch.named_in(SUM, tpch.made(FEW_ORDERS, parties=2, most_items=FEW_ITEMS))
    # Without a protocol it is one for two parties.
    answer = cenote.dask.query(SUM, clients=two, shards=shards, tables=in_parts(held), folder=tmp_path, max_rows=1)
    one = cenote.query(SUM, protocol="authenticated", tables=tpch.tables(held), max_rows=1)
    agrees(answer, shards, one, tpch.in_sqlite(SUM, held))
