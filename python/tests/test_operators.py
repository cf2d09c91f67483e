"""Operators of secrets against those of numpy."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from against_numpy import FIXED, ROWS, same
from against_numpy import in_the_clear as in_the_clear

import cenote
from cenote import _cenote

ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.and_,
    operator.or_,
    operator.xor,
]


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("f", [*ARITHMETIC, *COMPARISONS], ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", ROWS)
@pytest.mark.parametrize("second", ROWS)
def test_operators_are_those_of_numpy(s: cenote.Session, f: Callable[[Any, Any], Any], first: str, second: str) -> None:
    a, b = ROWS[first], ROWS[second]
    with np.errstate(all="ignore"):
        expected = f(a, b)
    x, y = s.input(0, a), s.input(1, b)
    same(f(x, y), expected)
    same(f(x, b), expected)
    same(f(a, y), expected)


@pytest.mark.parametrize("f", [operator.lshift, operator.rshift], ids=lambda f: f.__name__)
def test_shifts(s: cenote.Session, f: Callable[[Any, Any], Any]) -> None:
    for a in ROWS.values():
        for by in (0, 1, 7, 200):
            expected = f(a.astype(object), by).astype(object)
            width = a.dtype.itemsize * 8
            expected = np.array([wrapped(value, width, a.dtype.kind == "i") for value in expected])
            same(f(s.input(0, a), by), expected.astype(a.dtype))
        by_row = np.array([0, 1, 2, 3, 200], dtype=np.uint8)
        expected = f(a, by_row.astype(np.uint8))
        x = f(s.input(0, a), s.input(1, by_row))
        wide = expected.dtype
        width = wide.itemsize * 8
        exact = [wrapped(f(int(value), int(by)), width, wide.kind == "i") for value, by in zip(a, by_row, strict=True)]
        same(x, np.array(exact, dtype=wide))
    same(1 << s.input(0, np.array([0, 3], dtype=np.uint8)), np.array([1, 8], dtype=np.uint8))
    # A negative secret number of places is beyond the width, as in numpy.
    same(f(s.input(0, np.int32(5)), s.input(1, -1, cenote.int_(3))), np.int32(0))
    negatives: list[Any] = [-1, [-1, 0, 0, 0, 0], np.int8(-1)]
    for by in negatives:
        with pytest.raises(ValueError, match="negative shift count"):
            f(s.input(0, ROWS["u8"]), by)


def wrapped(value: int, width: int, signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def test_unary_operators(s: cenote.Session) -> None:
    with np.errstate(all="ignore"):
        for a in ROWS.values():
            x = s.input(0, a)
            for f in (operator.neg, operator.pos, operator.invert, abs):
                same(f(x), f(a))
            for exponent in (0, 1, 2, 5):
                same(x**exponent, a**exponent)
            quotient, rest = divmod(x, 7)
            same(quotient, a // 7)
            same(rest, a % 7)
            quotient, rest = divmod(7, x)
            same(quotient, 7 // a)
            same(rest, 7 % a)


def test_numbers_take_the_type_of_the_secret(s: cenote.Session) -> None:
    x = s.input(0, np.array([1, 2], dtype=np.uint8))
    assert (x + 1).dtype is cenote.uint(8)
    assert (x + True).dtype is cenote.uint(8)
    assert (x + np.int16(1)).dtype is cenote.int_(16)
    for wrong in (256, -1):
        with pytest.raises(OverflowError, match="Python integer out of bounds for uint8"):
            x + wrong
    same(x < 256, np.array([True, True]))
    same(x > -1, np.array([True, True]))
    same(x == 1000, np.array([False, False]))
    same(x != -(2**100), np.array([True, True]))
    with pytest.raises(OverflowError):
        _ = x < 2**128


def test_types_that_meet(s: cenote.Session) -> None:
    def of(a: object, b: object) -> object:
        return (s.input(0, 1, a) + s.input(1, 1, b)).dtype

    assert of(np.uint32, np.int32) is cenote.int_(64)
    assert of(np.uint64, np.int64) is cenote.int_(128)
    assert of(np.uint8, np.int8) is cenote.int_(16)
    assert of(cenote.uint(20), cenote.uint(10)) is cenote.uint(20)
    assert of(cenote.uint(20), cenote.int_(10)) is cenote.int_(21)
    assert of(cenote.uint(20), cenote.int_(30)) is cenote.int_(30)
    assert of(cenote.uint(20), np.uint8) is cenote.uint(20)
    assert of(bool, cenote.uint(5)) is cenote.uint(5)
    with pytest.raises(TypeError, match=r"do not fit one type: write \.astype"):
        of(cenote.uint(128), np.int8)
    same(s.input(0, 2**128 - 1, cenote.uint(128)) > s.input(1, -1, np.int8), np.True_)
    big = s.input(0, np.array([2**64 - 1], dtype=np.uint64)) + s.input(1, np.array([-1]))
    assert big.open().tolist() == [2**64 - 2]


def test_types() -> None:
    assert [repr(of) for of in (cenote.uint(32), cenote.uint(20), cenote.int_(7), FIXED)] == [
        "uint32",
        "cenote.uint(20)",
        "cenote.int_(7)",
        "cenote.fixed(32, 16)",
    ]
    for of in (cenote.uint(20), FIXED):
        assert pickle.loads(pickle.dumps(of)) is of
        assert copy.deepcopy(of) is of
        assert {of: 1}[of] == 1
    with pytest.raises(AttributeError, match="does not change"):
        cenote.uint(20).width = 3
    for wrong in (0, 129):
        with pytest.raises(ValueError, match="1 to 128"):
            cenote.uint(wrong)
    for width, fraction in ((65, 3), (1, 1), (8, 8), (8, 0)):
        with pytest.raises(ValueError, match="the number of bits"):
            cenote.fixed(width, fraction)
    with pytest.raises(TypeError, match="a whole number"):
        cenote.int_(True)


def test_bools_are_those_of_numpy(s: cenote.Session) -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    x, y = s.input(0, a), s.input(1, b)
    for f in (operator.add, operator.mul, operator.and_, operator.or_, operator.xor, *COMPARISONS):
        same(f(x, y), f(a, b))
    same(~x, ~a)
    same(x + 1, a + 1)
    same(x * np.uint8(3), a * np.uint8(3))
    same(x.sum(), a.sum())
    same(x.cumsum(), a.cumsum())
    same(x.astype(np.int32), a.astype(np.int32))
    with pytest.raises(TypeError, match=r"a \^ b"):
        x - y
    with pytest.raises(TypeError, match="~a"):
        operator.neg(x)
    with pytest.raises(TypeError, match="unary"):
        operator.pos(x)


def test_broadcasting(s: cenote.Session) -> None:
    row, one = s.input(0, [1, 2, 3]), s.input(1, 10)
    same(row + one, np.array([11, 12, 13]))
    same(row + row[:1], np.array([2, 3, 4]))
    assert (one + one).shape == ()
    assert (one + row[:1]).shape == (1,)
    assert (row[:1] + one).shape == (1,)
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3,\) \(2,\)"):
        row + row[:2]
    with pytest.raises(TypeError, match=r"no len\(\)"):
        len(one)


REFUSED: dict[str, Callable[[cenote.Secret], Any]] = {
    r"cenote\.where\(c, a, b\)": bool,
    r"no int: write \.astype": int,
    r"no float: write \.astype": float,
    "no place or count": operator.index,
    "gone through one by one": list,
    r"\(x == value\)\.any\(\)": lambda x: 3 in x,
    "has no hash": hash,
    "no array of numpy: open it first": np.asarray,
    "not written out": lambda x: f"{x:d}",
    "not pickled or copied": pickle.dumps,
    "bound to its session": copy.deepcopy,
    "write // for the quotient": lambda x: x / 2,
    "a float do not meet": lambda x: x + 1.5,
    r"write \.astype\(cenote\.fixed\(32, 16\)\) of the other": lambda x: x + x.astype(FIXED),
    "public whole number": lambda x: x**x,
    "1 << x": lambda x: 2**x,
    "unsupported operand": lambda x: x + "5",
    "not compared with a str": lambda x: x == "5",
    "does not change": lambda x: x.__setitem__(0, 1),
    r"x\.sum\(\) // len\(x\)": lambda x: x.mean(),
    r"write x\[::-1\]": reversed,
    r"np\.sum of secrets takes 1 argument, where= and no others": lambda x: np.sum(x, axis=0),
    r"np\.min of secrets takes 1 argument, initial=, where= and no others": lambda x: np.min(x, axis=0, where=x > 1),
    r"np\.median of secrets takes 1 argument and no others": lambda x: np.median(x, axis=0),
    "where is bool and not int64: write x != 0": lambda x: x.sum(where=x),
    "where is bool and not uint8: write x != 0": lambda x: x.sum(where=np.array([1, 0, 1], np.uint8)),
    "where has 2 dimensions": lambda x: x.sum(where=np.ones((3, 1), dtype=bool)),
    r"public: write cenote\.maximum\(x\.max\(\), a\)": lambda x: x.max(initial=x[0]),
    r"cenote\.minimum\(x\.min\(initial=b, where=mask\), a\) .* and the greatest b there is": lambda x: x.min(
        initial=x[0], where=x > 1
    ),
    r"list of secrets: write cenote\.concatenate": lambda x: x.sum(where=[x[0] > 1, x[1] > 1, True]),
    r"np\.sum of public .* write s\.public\(a\)\.sum\(where=mask\)": lambda x: np.sum(np.arange(3), where=x > 1),
    r"s\.public\(a\)\.max\(initial=b, where=mask\)": lambda x: np.max(np.arange(3), initial=0, where=x > 1),
    r"s\.public\(a\)\.mean\(where=mask\)": lambda x: np.mean(np.arange(3), where=x > 1),
    r"s\.public\(a\)\.any\(where=mask\)": lambda x: np.any(np.arange(3) > 1, where=x > 1),
    "the initial value of max is a row": lambda x: x.max(initial=[1, 2]),
    "takes whole numbers": lambda x: x.max(initial=0.5),
    r"np\.where of secrets takes 3": lambda x: np.where(x > 1),
    "state a fixed-point type": lambda x: x.astype(float),
    "no array": lambda x: np.array([x[0], x[1]]),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_needs_to_know_a_secret_says_what_to_write(s: cenote.Session, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        REFUSED[match](s.input(0, [3, 1, 2]))


def test_nothing_prints_values(s: cenote.Session) -> None:
    x = s.input(0, np.array([3, 1, 2], dtype=np.uint32))
    for text in (repr(x), str(x), f"{x}"):
        assert text == "<secret uint32, shape (3,), not opened>"
    assert repr(x.sum()) == "<secret uint64, shape (), not opened>"


def test_fixed_point(s: cenote.Session) -> None:
    a, b = np.array([1.5, -2.25, 0.0001, 100.0]), np.array([0.5, 3.0, -7.125, 0.0])
    x, y = s.input(0, a, FIXED), s.input(1, b, FIXED)
    step = 2.0**-16
    rounded = np.rint(a / step) * step
    same(x, rounded)
    same(x + y, rounded + b)
    same(x - 1, rounded - 1)
    same(2.5 - y, 2.5 - b)
    same(x * y, np.floor(rounded * b / step + 0.5) * step)
    with np.errstate(all="ignore"):
        quotient = np.where(b == 0, 0, np.floor(rounded / b / step + 0.5) * step)
    same(x / y, quotient)
    same(x < y, rounded < b)
    same(x == 1.5, a == 1.5)
    same(-x, -rounded)
    same(abs(x), abs(rounded))
    same(x.mean(), np.floor(rounded.sum() / 4 / step + 0.5) * step)
    for total in (x.sum(), x.cumsum()):
        assert total.dtype is cenote.fixed(64, 16)
    same(x.sum(), rounded.sum())
    same(x.cumsum(), rounded.cumsum())
    same(cenote.dot(x, y), np.floor(np.dot(rounded, b) / step + 0.5) * step)
    same(x.astype(np.int32), np.trunc(rounded).astype(np.int32))
    same(s.input(0, [-3, 7]).astype(FIXED), np.array([-3.0, 7.0]))
    same(x.astype(cenote.fixed(16, 4)), np.floor(rounded * 16 + 0.5) / 16)
    same(x.astype(cenote.fixed(64, 40)), rounded)
    same(x != 0, rounded != 0)
    same(cenote.maximum(x, 0), np.maximum(rounded, 0))
    same(x // 1, np.floor(rounded))
    same(x % 1, rounded % 1)
    wide = s.input(0, 30000.0, FIXED)
    same(wide + wide, np.float64(60000 - 65536))
    same(s.input(0, [32767.5] * 5, FIXED).sum(), np.float64(5 * 32767.5))
    same(s.input(0, [32767.5] * 5, FIXED).cumsum(), np.cumsum([32767.5] * 5))
    same(s.input(0, [32767.5] * 5, FIXED).mean(), np.float64(32767.5))
    same(s.input(0, [-32768] * 3, FIXED).mean(), np.float64(-32768))
    for wrong in (1e9, -1e300):
        with pytest.raises(OverflowError, match="out of bounds"):
            x + wrong
    with pytest.raises(ValueError, match="nan"):
        x + float("nan")
    with pytest.raises(TypeError, match=r"x \* 4"):
        x << 2
    with pytest.raises(TypeError, match="of both"):
        x & y


_BINARY = [
    *("add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
    *("less", "greater", "less_equal", "greater_equal", "equal", "not_equal"),
]


def test_functions_of_numpy_take_secrets() -> None:
    def program(s: cenote.Session) -> list[Any]:
        a, b = s.input(0, np.array([7, -8, 5], np.int16)), np.array([2, 3, -4], np.int16)
        chosen = s.input(0, [True, False, True])
        return [
            *(getattr(np, name)(a, b) for name in _BINARY),
            *(getattr(np, name)(b, a) for name in _BINARY),
            np.left_shift(a, 2),
            np.right_shift(a, np.array([0, 1, 2], np.uint8)),
            np.invert(chosen),
            np.negative(a),
            np.abs(a),
            np.power(a, 2),
        ]

    x, b = np.array([7, -8, 5], np.int16), np.array([2, 3, -4], np.int16)
    expected = [
        *(getattr(np, name)(x, b) for name in _BINARY),
        *(getattr(np, name)(b, x) for name in _BINARY),
        x << 2,
        x >> np.array([0, 1, 2], np.uint8),
        np.array([False, True, False]),
        -x,
        np.abs(x),
        x**2,
    ]
    for found, right in zip(cenote.clear(program), expected, strict=True):
        np.testing.assert_array_equal(found, right)
        assert found.dtype == right.dtype
    with cenote.Session(_cenote.Program.clear(1)) as s:
        a = s.input(0, [1, 2])
        for call in (lambda: np.sqrt(a), lambda: np.add.reduce(a), lambda: np.add(a, 1, out=np.zeros(2, int))):
            with pytest.raises(TypeError, match="does not take secrets"):
                call()
        with pytest.raises(TypeError, match="takes secrets, numbers"):
            np.add(a, "x")


def test_arrays_may_come_first(s: cenote.Session) -> None:
    a, b = np.array([7, -8, 5], np.int16), np.array([2, 3, -4], np.int16)
    x, y = s.input(0, a), s.input(1, b)
    for pairs in (
        zip(divmod(x, b), divmod(a, b), strict=True),
        zip(divmod(a, y), divmod(a, b), strict=True),
        zip(divmod(np.int64(7), y), divmod(np.int64(7), b), strict=True),
        zip(divmod(x, np.int64(7)), divmod(a, np.int64(7)), strict=True),
        zip(np.divmod(a, y), np.divmod(a, b), strict=True),
    ):
        for made, expected in pairs:
            same(made, expected)
    products: list[Any] = [x @ y, x @ b, a @ y, a.tolist() @ y, np.matmul(a, y), np.dot(x, b)]
    for product in products:
        assert product.open() == a @ b
    same(a @ y, a @ b)
    for two in (lambda: np.ones((2, 3), int) @ x, lambda: x @ np.ones((3, 2), int)):
        with pytest.raises(TypeError, match=r"write cenote\.matmul\(A\.ravel\(\), x"):
            two()
    with pytest.raises(TypeError, match="unsupported operand"):
        x @ 5
    for base in (a, np.int64(2), 2):
        with pytest.raises(TypeError, match="a secret is no exponent: write 1 << x"):
            base**x
    for exponent in (2, np.int64(2), np.int8(2), np.uint16(3)):
        same(x**exponent, a**exponent)
    with pytest.raises(TypeError, match="public whole number"):
        x**b


def test_series_of_pandas_go_by_position(s: cenote.Session) -> None:
    a = np.array([7, 8, 5], np.int32)
    series = pd.Series([2, 3, 4], index=[2, 1, 0], dtype="int32")
    b = series.to_numpy()
    x = s.input(0, a)
    for f in (*ARITHMETIC, *COMPARISONS, operator.lshift):
        same(f(x, series), f(a, b))
        same(f(series, x), f(b, a))
    same(s.input(0, series), b)
    same(x @ series, a @ b)
    same(s.public(series) @ x, b @ a)


def test_what_leaves_no_operator_to_others_says_what_to_write(s: cenote.Session) -> None:
    x = s.input(0, np.array([7, 8, 5]))
    masked = np.ma.MaskedArray([1, 2, 3], mask=False)
    series = pd.Series([1, 2, 3])
    calls: list[Callable[[], Any]] = [lambda: masked - x, lambda: series @ x]
    for call in calls:
        with pytest.raises(TypeError, match=r"left of it, write s\.public\(values\)"):
            call()
    same(s.public(masked) - x, np.array([-6, -6, -2]))
    same(s.public(series) @ x, np.int64(38))


def test_types_compare_with_those_of_numpy(s: cenote.Session) -> None:
    x = s.input(0, np.array([1], dtype=np.uint8))
    for of in (np.uint8, np.dtype("uint8"), "uint8", cenote.uint(8)):
        assert x.dtype == of
        assert (x.dtype != of) is False
    for other in (np.int8, np.float64, "nonsense", None, 8, bool, cenote.uint(9), [1]):
        assert x.dtype != other
    assert np.dtype("uint8") == x.dtype
    assert {x.dtype, cenote.uint(8), cenote.uint(9)} == {cenote.uint(8), cenote.uint(9)}
    assert (x > 0).dtype == bool


def test_medians(s: cenote.Session) -> None:
    for values in ([5], [5, 2], [5, 2, 9], [-5, 2, 9, 2], [7, -3, -3, 0, 8, 1]):
        for dtype in (np.int8, cenote.int_(40), cenote.fixed(32, 8)):
            x = s.input(0, values, dtype)
            assert x.median().open() == np.median(values)
            assert np.median(x).open() == np.median(values)
    assert s.input(0, [1.5, -2.25], cenote.fixed(32, 8)).median().dtype is cenote.fixed(32, 8)


def test_means(s: cenote.Session) -> None:
    for values, dtype in (
        ([1, 2, 2], np.uint8),
        ([-1, -2, -2, 0, 0, 0, 0], np.int8),
        ([2**47 - 1] * 5, cenote.uint(47)),
        ([-(2**46)] * 5 + [2**46 - 1], cenote.int_(47)),
        ([True, False, False], bool),
        ([3], np.uint32),
    ):
        mean = s.input(0, values, dtype).mean()
        assert mean.dtype is cenote.fixed(64, 16)
        exact = Fraction(sum(values) << 16, len(values))
        assert mean.open() * 2**16 == (exact + Fraction(1, 2)).__floor__()
    with pytest.raises(TypeError, match=r"write x\.astype\(cenote\.int_\(47\)\)\.mean\(\) if"):
        s.input(0, [1, 2]).mean()
    # What it says to write is right.
    x = s.input(0, [-1, 2])
    same(x.astype(cenote.int_(47)).mean(), np.float64(0.5))
    same(x.sum() // len(x), np.int64(0))
