"""What goes into a program: values of the right type, and errors that never quote them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from against_numpy import FIXED, same
from against_numpy import in_the_clear as in_the_clear

import cenote

WRONG: list[tuple[Any, Any, str]] = [
    ([1, 2, 777], np.uint8, "the value at place 2 does not fit uint8"),
    ([1, -777], cenote.uint(20), r"the value at place 1 does not fit cenote.uint\(20\)"),
    (np.array([777], dtype=np.uint64), np.int8, "the value at place 0 does not fit int8"),
    (777, np.uint8, "the value does not fit uint8"),
    ([1, 777.5], np.int64, "the value at place 1 is a float that is no int64"),
    ([1, None], np.int64, "the value at place 1 is a NoneType that is no int64"),
    ([2**128 + 777], cenote.uint(128), "place 0 does not fit uint128|place 0 does not fit cenote.uint"),
    ([0.5, float("nan")], FIXED, "the value at place 1"),
    (np.array([0.5, np.inf]), FIXED, "the value at place 1 is no finite number"),
    (np.array([0.5, 77777.0]), FIXED, "the value at place 1 does not fit"),
    ([], np.uint8, "empty"),
    (2, bool, "does not fit bool"),
]


@pytest.mark.parametrize(("values", "dtype", "match"), WRONG, ids=range(len(WRONG)))
def test_wrong_values_are_named_by_their_place(s: cenote.Session, values: Any, dtype: Any, match: str) -> None:
    with pytest.raises(cenote.BadInput, match=match) as error:
        s.input(0, values, dtype)
    assert "777" not in str(error.value)
    assert "party 0" in str(error.value)


def test_wrong_kinds_of_values(s: cenote.Session) -> None:
    for values, dtype, match in (
        ([0.5], None, "state dtype="),
        (np.array([0.5]), None, "cenote.fixed"),
        (np.array([0.5]), np.int64, "takes whole numbers"),
        ([[1], [2]], None, "2 dimensions"),
        ([[1], [2, 3]], None, "list of lists"),
        ("12", None, "a str"),
        (["12"], None, "no secrets of str"),
        ([1], "float32", "float32"),
        ([1], "nonsense", "is no dtype"),
    ):
        with pytest.raises(TypeError, match=match):
            s.input(0, values, dtype)
    with pytest.raises(cenote.UsageError, match="there is no such party: they are 0 to 2"):
        s.input(3, [1])
    with pytest.raises(cenote.UsageError, match="party 0 is here: give its values"):
        s.input(0, dtype=np.uint8, length=3)
    with pytest.raises(cenote.BadInput, match="has 2 values"):
        s.input(0, [1, 2], length=3)
    with pytest.raises(cenote.UsageError, match="at least one value"):
        s.random(bool, 0)


@pytest.mark.parametrize("width", [1, 7, 20, 64, 65, 128])
def test_values_come_back(s: cenote.Session, width: int) -> None:
    for of in (cenote.uint(width), cenote.int_(width)):
        values = [of.least, of.greatest, 0]
        got = s.input(0, values, of).open()
        assert [int(value) for value in got] == values
        assert int(s.input(0, of.least, of).open()) == of.least
    if width > 64:
        assert got.dtype == object
    else:
        assert got.dtype.itemsize * 8 >= width


masked = np.ma.MaskedArray([777, 2, 777], mask=[False, True, True])
MISSING: list[tuple[Any, str]] = [
    (masked, "the value at place 1 is masked"),
    (masked.astype(np.float64), "the value at place 1 is masked"),
    (masked.astype(object), "the value at place 1 is masked"),
    (masked[1], "the value is masked"),
    (np.ma.masked, "the value is masked"),
    ([777, 777, np.ma.masked], "the value at place 2 is masked"),
    (pd.Series([777, None, None], dtype="Int64"), "the value at place 1 is missing"),
    (pd.array([777, 777, None], dtype="UInt32"), "the value at place 2 is missing"),
    (pd.Series([None, True], dtype="boolean"), "the value at place 0 is missing"),
]


@pytest.mark.parametrize(("values", "match"), MISSING, ids=range(len(MISSING)))
@pytest.mark.parametrize("dtype", [None, np.int64, cenote.uint(100), FIXED], ids=repr)
def test_no_number_stands_for_a_value_that_is_not_there(s: cenote.Session, values: Any, match: str, dtype: Any) -> None:
    x = s.input(0, [1, 2, 3])
    calls: list[Callable[[], Any]] = [
        lambda: s.input(0, values, dtype),
        lambda: s.public(values, dtype),
        lambda: x + values,
        lambda: x == values,
        lambda: x << values,
        lambda: cenote.where(x > 1, x, values),
        lambda: s.memory(values, dtype),
        lambda: s.compact(values, x),
    ]
    for call in calls:
        with pytest.raises(cenote.BadInput, match=match) as error:
            call()
        assert "777" not in str(error.value)
    # The masked array comes first here, and numpy asks the secret for its values.
    with pytest.raises((TypeError, cenote.BadInput)):
        values + x


def test_masks_that_hide_nothing_are_no_hindrance(s: cenote.Session) -> None:
    row = np.ma.MaskedArray([1, 2], mask=False)
    same(s.input(0, row), np.array([1, 2]))
    same(s.input(0, [3, 4]) + row, np.array([4, 6]))
    same(s.input(0, pd.Series([1, 2], dtype="Int64")), np.array([1, 2]))


def test_arrays_have_types_that_numpy_does_not_have(s: cenote.Session) -> None:
    prices = cenote.array([1.5, -0.25], FIXED)
    counts: Any = cenote.array(np.array([2, 4]), cenote.uint(20))
    one = cenote.array(2**20 - 1, cenote.uint(20))
    assert (repr(prices), repr(one)) == ("<array of cenote.fixed(32, 16)>", "<array of cenote.uint(20)>")
    for of, values in ((FIXED, prices), (cenote.uint(20), counts), (cenote.uint(20), one)):
        for secret in (s.input(0, values), s.public(values), s.input(0, cenote.array(values, of))):
            assert secret.dtype is of
            assert secret.shape == (() if values is one else (2,))
    same(s.input(0, prices), np.array([1.5, -0.25]))
    assert s.input(0, counts, np.uint8).dtype is cenote.uint(8)
    x = s.input(0, np.array([1, 2], np.uint8))
    for total in (x + counts, counts + x, np.add(x, counts)):
        assert total.dtype is cenote.uint(20)
        same(total, np.array([3, 6]))
    same(x @ counts, np.uint32(10))
    same(x << counts, np.array([4, 32]))
    same(cenote.where(x == 1, counts, 0), np.array([2, 0]))
    assert s.memory(counts).read(1).dtype is cenote.uint(20)
    assert x.take(cenote.array([1], np.int8)).open().tolist() == [2]
    for values in (cenote.array([1, 2**20], cenote.uint(20)), cenote.array([1, None], cenote.uint(20))):
        for dtype in (None, cenote.uint(30)):
            with pytest.raises(cenote.BadInput, match=r"the input of party 1: the value at place 1"):
                s.input(1, values, dtype)
    with pytest.raises(cenote.BadInput, match="the value at place 0 does not fit uint8"):
        s.input(0, cenote.array([300], np.uint8), np.uint16)
    with pytest.raises(TypeError, match="is no dtype"):
        cenote.array([1], "nonsense")


def test_arrays_go_with_their_own_type(s: cenote.Session) -> None:
    x, flags, whole = s.input(0, [0.5, 1.5], FIXED), s.input(0, [True, False]), s.input(0, [1, 2])
    other: Any = cenote.array([2**-20, 1], cenote.fixed(64, 32))
    single: Any = cenote.array(2**-20, cenote.fixed(64, 32))
    ints: Any = cenote.array([1, 2], np.uint8)
    add = s.function(lambda a, b: a + b, FIXED, FIXED)
    for array in (other, ints):
        calls: list[Callable[[], Any]] = [
            lambda array=array: x * 0 + array,  # type: ignore[misc]
            lambda array=array: array < x,  # type: ignore[misc]
            lambda array=array: np.add(x, array),  # type: ignore[misc]
            lambda array=array: cenote.where(flags, x, array),  # type: ignore[misc]
            lambda array=array: cenote.maximum(x, array),  # type: ignore[misc]
            lambda array=array: x.clip(array, 5),  # type: ignore[misc]
            lambda array=array: x.clip(0, array),  # type: ignore[misc]
            lambda array=array: x @ array,  # type: ignore[misc]
            lambda array=array: cenote.dot(array, x),  # type: ignore[misc]
            lambda array=array: cenote.concatenate([x, array]),  # type: ignore[misc]
            lambda array=array: add(x, array),  # type: ignore[misc]
        ]
        for number, call in enumerate(calls):
            with pytest.raises(TypeError, match=r"fixed\(32, 16\)"):
                call()
            assert number < len(calls)
    with pytest.raises(TypeError, match="do not mix"):
        s.public(other) + x
    for put in (lambda: x.max(initial=single), lambda: s.input(0, other, FIXED), lambda: s.memory(other, FIXED)):
        with pytest.raises(TypeError, match="state the same type for both"):
            put()
    with pytest.raises(TypeError, match="state the same type for both"):
        s.input(0, cenote.array([1], FIXED), np.int64)
    # Of the same type, and of whole numbers, they go together.
    same(x + cenote.array([0.25, 0.5], FIXED), np.array([0.75, 2.0]))
    same(cenote.where(flags, [0.5, 1], other), np.array([0.5, 1.0]))
    same(cenote.where(flags, 0.5, other), np.array([0.5, 1.0]))
    assert cenote.where(flags, 0.5, other).dtype is cenote.fixed(64, 32)
    same(x.max(initial=cenote.array(7, FIXED)), np.float64(7))
    same(whole.max(initial=cenote.array(7, np.uint8)), np.int64(7))
    with pytest.raises(cenote.BadInput, match="does not fit uint8"):
        whole.max(initial=cenote.array(300, np.uint8))
    same(s.input(0, ints, FIXED), np.array([1.0, 2.0]))


def test_arrays_are_masks_and_places_of_their_own_type(s: cenote.Session) -> None:
    x = s.input(0, [3, 1, 2])
    same(x.sum(where=cenote.array([1, 0, 1], bool)), np.int64(5))
    for dtype in (np.uint8, cenote.uint(20)):
        with pytest.raises(TypeError, match=r"where is bool and not (uint8|cenote\.uint\(20\)): write x != 0"):
            x.sum(where=cenote.array([1, 0, 1], dtype))
    with pytest.raises(cenote.BadInput, match="where: the value at place 1 does not fit bool"):
        x.sum(where=cenote.array([1, 2, 1], bool))
    with pytest.raises(cenote.BadInput, match="the row of places: the value at place 0 does not fit uint8"):
        x.take(cenote.array([-1], np.uint8))


def test_arrays_keep_their_values(s: cenote.Session) -> None:
    row = np.array([1, 2])
    every: list[Any] = [row, [1, 2], pd.Series([1, 2]), pl.Series([1, 2])]
    arrays: list[Any] = [cenote.array(values, np.uint8) for values in every]
    for values in every:
        values[0] = 7
    for array in arrays:
        assert len(array) == 2
        same(s.input(0, array), np.array([1, 2], np.uint8))
        for call in (lambda array=array: np.asarray(array), lambda array=array: row + array):
            with pytest.raises(TypeError, match=r"of uint8, and no array of numpy: write s\.public\(values\)"):
                call()
    for one in (5, np.uint8(5), np.array(5)):
        with pytest.raises(TypeError, match=r"a single value has no len\(\)"):
            len(cenote.array(one, np.uint8))


def test_numbers_of_numpy_in_lists(s: cenote.Session) -> None:
    same(s.input(0, [np.float32(1.5), 2], FIXED), np.array([1.5, 2.0]))
    same(s.input(0, np.array([np.bool_(True), False], dtype=object), bool), np.array([True, False]))
    same(s.input(0, np.array([np.uint8(7), np.int64(-1)], dtype=object), np.int64), np.array([7, -1]))
    same(s.input(np.int64(1), [7], np.int64, length=np.int8(1)), np.array([7]))  # type: ignore[arg-type]
    for wrong in (np.timedelta64(777, "s"), np.datetime64(777, "s"), np.float64(777.5)):
        with pytest.raises(cenote.BadInput, match="that is no int64") as error:
            s.input(0, np.array([wrong], dtype=object), np.int64)
        assert "777" not in str(error.value)


def test_errors_never_print_values(s: cenote.Session) -> None:
    x, memory, price = s.input(0, [1, 2, 3]), s.memory([1, 2, 3]), s.input(0, [0.5], FIXED)
    narrow: Any = x.astype(np.uint8)
    values: Any = np.array([777, 777])
    anything: Any = s
    wrong: list[Callable[[], Any]] = [
        lambda: s.input(777, None),
        lambda: s.input(values, None),
        lambda: s.input([777], [1]),  # type: ignore[arg-type]
        lambda: s.input(0, [1], values),
        lambda: s.input(0, [1], [777]),
        lambda: s.input(0, [1], 777),
        lambda: s.input(0, [1], {777: 777}),
        lambda: s.input(0, [1], length=777.5),  # type: ignore[arg-type]
        lambda: s.input(0, [1], length=[777]),  # type: ignore[arg-type]
        lambda: s.input(0, [1], length=-777),
        lambda: s.input(0, ["777"]),
        lambda: s.input(0, np.array([777.5])),
        lambda: s.input(0, "777"),
        lambda: s.random(bool, -777),
        lambda: s.random(777),
        lambda: x.reveal(to=777),  # type: ignore[arg-type]
        lambda: x.reveal(to=[777]),
        lambda: x.reveal(to="777"),  # type: ignore[arg-type]
        lambda: x.astype(values),
        lambda: narrow + 777,
        lambda: price + 77777777.5,
        lambda: price < 777777777,
        lambda: x < 777 << 128,
        lambda: x + 777.5,
        lambda: x + "777",
        lambda: x << -777,
        lambda: x**-777,
        lambda: x**777.5,
        lambda: x[777],
        lambda: x[777.5],
        lambda: x.take(values),
        lambda: x.bit(777),
        lambda: memory.read(777),
        lambda: memory.read(777.5),  # type: ignore[arg-type]
        lambda: memory.write(0, 777.5),
        lambda: memory.access(777, 0, 0),  # type: ignore[arg-type]
        lambda: s.shuffle(x, values),
        lambda: s.group_by(x, total=(777, "sum")),
        lambda: s.group_by(x, total=(x, 777)),
        lambda: cenote.fixed(777, 3),
        lambda: cenote.uint([777]),  # type: ignore[arg-type]
        lambda: cenote.matmul(x, x, shape="777"),  # type: ignore[arg-type]
        lambda: anything.where(x, 777, 0),
    ]
    for number, call in enumerate(wrong):
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError, cenote.CenoteError)) as error:
            call()
        assert "777" not in str(error.value), number
