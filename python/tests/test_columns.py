"""Tables and memories of secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from against_numpy import FIXED, counted, same
from against_numpy import in_the_clear as in_the_clear

import cenote
from cenote import _cenote


def test_memory(s: cenote.Session) -> None:
    memory = s.memory(np.array([10, 20, 30], dtype=np.uint16))
    assert len(memory) == 3
    place = s.input(0, 1)
    same(memory[place], np.uint16(20))
    memory[place] = memory[place] + 5
    memory.write(-1, 7)
    same(memory.access(s.input(1, False), 1, 0), np.uint16(25))
    same(memory.access(True, 1, 1), np.uint16(25))
    same(memory.read(1), np.uint16(1))
    same(memory.read(2), np.uint16(7))
    for none in (3, -1):
        same(memory.read(s.input(0, none)), np.uint16(0))
    prices = s.memory([1.5, 2.5], dtype=FIXED)
    prices[0] = 0.25
    same(prices[s.input(0, 0)], np.float64(0.25))
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="out of bounds"):
            memory.read(wrong)
    with pytest.raises(TypeError, match="uint16 as the memory is"):
        memory.write(0, s.input(0, 1))
    with pytest.raises(TypeError, match="one place at a time"):
        memory.read(s.input(0, [1, 2]))
    with pytest.raises(TypeError, match="single secret bool"):
        memory.access(s.input(0, 1), 0, 0)
    with pytest.raises(TypeError, match="place by place"):
        list(memory)
    with pytest.raises(TypeError, match="of a row"):
        s.memory(5)


def test_tables(s: cenote.Session) -> None:
    key = np.array([3, -1, 3, 2, -1], dtype=np.int32)
    value = np.array([1, 2, 4, 8, 16], dtype=np.uint8)
    k, v = s.input(0, key), s.input(1, value)
    a, b = s.shuffle(k, v)
    assert sorted(zip(a.open().tolist(), b.open().tolist(), strict=True)) == sorted(
        zip(key.tolist(), value.tolist(), strict=True)
    )
    by, moved = s.sort_by(k, v)
    same(by, np.sort(key))
    assert moved.dtype is cenote.uint(8)
    (first, second), third = s.sort_by((k, v), v)
    order = np.lexsort((value, key))
    same(first, key[order])
    same(second, value[order])
    same(third, value[order])
    groups = s.group_by(k, total=(v, "sum"), least=(v, "min"), most=(v, "max"), rows="count")
    assert groups.last.open().tolist() == [False, True, True, False, True]
    assert groups.key.open().tolist() == [-1, -1, 2, 3, 3]
    # Rows that stand for no group show nothing of a part of it.
    assert {name: column.open().tolist() for name, column in groups.columns.items()} == {
        "total": [0, 18, 8, 0, 5],
        "least": [0, 2, 8, 0, 1],
        "most": [0, 16, 8, 0, 4],
        "rows": [0, 2, 1, 0, 2],
    }
    assert list(s.group_by(k, key="count", self=(v, "sum")).columns) == ["key", "self"]
    assert groups.columns["total"].dtype is cenote.uint(64)
    with pytest.raises(ValueError, match="as many rows each, not 5, 2"):
        s.sort_by(k, v[:2])
    with pytest.raises(TypeError, match="a single one"):
        s.shuffle(k[0])
    with pytest.raises(TypeError, match=r"s\.public"):
        s.shuffle([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="x != 0"):
        s.compact(v, v)
    with pytest.raises(TypeError, match='"sum"'):
        s.group_by(k, total=v)


def test_joins(s: cenote.Session) -> None:
    ids, ages = s.input(0, [7, 3, 5]), s.input(0, np.array([70, 30, 50], dtype=np.uint8))
    loans, owed = s.input(1, np.array([5, 3, 9, 5], dtype=np.uint32)), s.input(1, [25, 100, 1, 2])
    table = s.join(ids, [ages], loans, [owed])
    assert bool(table.unique.open())
    same(table.key, np.array([3, 5, 5, 9], dtype=np.uint32))
    same(table.found, np.array([True, True, True, False]))
    same(table.left[0], np.array([30, 50, 50, 0], dtype=np.uint8))
    assert sorted(table.right[0].open().tolist()) == [1, 2, 25, 100]
    same(s.join((ids, ids), [], (loans, loans), []).found, np.array([True, True, True, False]))
    assert s.join(k := (ids,), [], (loans,), []).key[0].open().tolist() == [3, 5, 5, 9]
    assert isinstance(s.sort_by(k)[0], tuple)
    assert isinstance(s.group_by(k, rows="count").key, tuple)
    twice = s.join(s.concatenate([ids, ids]), [], loans, [])
    assert not bool(twice.unique.open())
    assert not twice.found.open().any()
    with pytest.raises(TypeError, match=r"write \[column\]"):
        s.join(ids, ages, loans, [owed])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give as many"):
        s.join((ids, ages), [], loans, [])


@pytest.mark.parametrize("protocol", ["clear", "three"])
@pytest.mark.parametrize("n", [3, 7, 10])
def test_compact_gives_zeros_after_the_chosen(protocol: str, n: int) -> None:
    values, row = np.arange(100, 100 + n, dtype=np.uint16), np.arange(n)
    made = cenote.Session(_cenote.Program.clear(3)) if protocol == "clear" else cenote.session()
    with made as s:
        secret = s.input(0, values)
        for flags in (row % 2 == 1, row % 3 == 0, row >= n - 1, row < 0, row >= 0):
            for chosen in (flags, s.input(1, flags)):
                moved, told, count = s.compact(chosen, secret, secret >= 100)
                some = int(flags.sum())
                assert count.open() == some
                assert moved.open().tolist() == [*values[flags].tolist(), *[0] * (n - some)]
                assert told.open().tolist() == [True] * some + [False] * (n - some)


def test_chosen_rows_are_opened(s: cenote.Session) -> None:
    values, prices = np.array([5, 7, 9], dtype=np.uint8), [0.5, 1.5, 2.5]
    x, y = s.input(0, values), s.input(1, prices, FIXED)
    for to in (None, [0, 1, 2], [1], iter([1])):
        few, cost = s.open_chosen(x > 5, x, y, to=to)
        assert (few.tolist(), few.dtype) == ([7, 9], np.uint8)
        assert (cost.tolist(), cost.dtype) == ([1.5, 2.5], np.float64)
        to = None if to is None else [1]
        none = s.open_chosen(x > 9, x, to=to)
        assert (none.tolist(), none.dtype) == ([], np.uint8)
        assert [each.dtype for each in s.open_chosen([False] * 3, x > 1, y, to=to)] == [np.bool_, np.float64]
    assert s.open_chosen([True, False, True], x).tolist() == [5, 9]
    wide = s.open_chosen(x > 9, x.astype(cenote.uint(100)))
    assert (wide.tolist(), wide.dtype) == ([], object)
    with pytest.raises(ValueError, match="one bool for each of 3 rows"):
        s.open_chosen([True], x)
    with pytest.raises(cenote.UsageError, match="no such party"):
        s.open_chosen(x > 5, x, to=[3])


def test_only_some_learn_how_many_are_chosen() -> None:
    opened = []

    class Watched:
        def __init__(self, native: Any) -> None:
            self.native = native

        def __getattr__(self, name: str) -> Any:
            return getattr(self.native, name)

        def reveal(self, values: Any, to: list[int], kinds: list[str]) -> Any:
            opened.append((to, kinds))
            self.native.reveal(values, to, kinds)
            # As at a party that does not learn them.

    native: Any = Watched(_cenote.Program.clear(3))
    with cenote.Session(native) as s:
        x = s.input(0, [1, 2, 3])
        assert s.open_chosen(x > 1, x, to=[2]) is None
    assert opened == [([2], ["int64 single", "int64 row"])]


def test_shuffles_move_rows(s: cenote.Session) -> None:
    row = np.arange(64, dtype=np.uint8)
    moved, flags = s.shuffle(s.input(0, row), s.input(0, row > 9))
    order = moved.open()
    assert order.tolist() != row.tolist()
    assert sorted(order.tolist()) == row.tolist()
    assert flags.open().tolist() == (order > 9).tolist()
    assert s.shuffle(s.input(0, row)).open().tolist() != order.tolist()


def test_lines_that_fail_do_nothing() -> None:
    with counted() as (s, steps):
        x, y, one, flag = s.input(0, [1, 2, 3]), s.input(1, [4, 5]), s.input(0, 7), s.input(0, [True, False, True])
        price, memory = s.input(0, [0.5, 1.5, 2.5], FIXED), s.memory([1, 2, 3])
        f = s.function(lambda a, b: a + b, np.int64, np.int64)
        short = np.array([1, 2], dtype=np.int8)
        wrong: list[Callable[[], Any]] = [
            lambda: x + short,
            lambda: short @ x,
            lambda: x @ price,
            lambda: cenote.dot(x.astype(np.int64), one),
            lambda: cenote.dot(flag, [True, False, True]),
            lambda: cenote.matmul(s.concatenate, x, shape=(1, 2, 3)),
            lambda: cenote.matmul([1, 2, 3], x, shape=(1, 2, 3)),
            lambda: cenote.where(flag, [1, 2, 3], short),
            lambda: cenote.where([True, False], x, 5),
            lambda: cenote.where(flag, x, 0.5),
            lambda: cenote.concatenate([x, [1, 2], price]),
            lambda: cenote.concatenate([x, [1, 2], "text"]),
            lambda: cenote.minimum([1, 2], x),
            lambda: cenote.maximum(x, "text"),
            lambda: x.clip([1, 1, 1], short),
            lambda: x.clip(1, None),
            lambda: x.clip(1, 2**70),
            lambda: x ** [1, 2],
            lambda: memory.write(1, 0.5),
            lambda: memory.write(2, [1, 2]),
            lambda: memory.access(one, 0, 5),
            lambda: memory.access([True], 0, 5),  # type: ignore[arg-type]
            lambda: memory.read([1]),  # type: ignore[arg-type]
            lambda: s.memory(5),
            lambda: s.compact([True, False], x),
            lambda: s.compact([1, 0, 1], x),
            lambda: s.shuffle(x, y),
            lambda: s.sort_by(x, [1, 2, 3]),  # type: ignore[arg-type]
            lambda: s.group_by(x, total=(y, "sum")),
            lambda: s.join(x, [y], x, []),
            lambda: s.join(x, [], price, []),
            lambda: f(1, one.astype(np.int64)[0]),
            lambda: f(5, [0.5]),
            lambda: s.open_chosen(flag, x, to=[7]),
        ]
        for number, call in enumerate(wrong):
            done = steps()
            with pytest.raises((TypeError, ValueError, IndexError, OverflowError, cenote.CenoteError)):
                call()
            assert steps() == done, number
