"""Programs: each operator against numpy, and what is refused."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote
from cenote import _cenote

FIXED = cenote.fixed(32, 16)


@pytest.fixture
def s() -> Iterator[cenote.Session]:
    with cenote.Session(_cenote.Program.clear(3)) as made:
        yield made


def same(secret: Any, expected: Any) -> None:
    got = secret.open()
    assert np.shape(got) == np.shape(expected)
    if hasattr(expected, "dtype") and secret.dtype.is_numpy:
        assert got.dtype == expected.dtype
    assert np.array_equal(got, expected)


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
ROWS: dict[str, Any] = {
    "u8": np.array([0, 1, 7, 255, 128], dtype=np.uint8),
    "i8": np.array([5, -1, -128, 127, 3], dtype=np.int8),
    "u32": np.array([9, 2**32 - 1, 5, 1000, 6], dtype=np.uint32),
    "i32": np.array([-9, 2**31 - 1, -(2**31), 1000, -7], dtype=np.int32),
    "i64": np.array([-3, 2**62, -(2**63), 12345678901, 2], dtype=np.int64),
}


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
        with pytest.raises(OverflowError, match=f"Python integer {wrong} out of bounds for uint8"):
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


def test_places(s: cenote.Session) -> None:
    a = np.arange(10, dtype=np.int16) * 3
    x = s.input(0, a)
    for place in (3, -1, slice(2, 9), slice(None, None, 2), slice(None, None, -1), [1, 5, -1], np.array([0, 0])):
        same(x[place], a[place])
    same(x.take([9, -10]), a.take([9, -10]))
    same(x.bit(1), (a >> 1 & 1).astype(bool))
    for wrong in (10, -11):
        with pytest.raises(IndexError, match="out of bounds"):
            x[wrong]
        with pytest.raises(IndexError, match="out of bounds"):
            x.take([0, wrong])
    with pytest.raises(IndexError, match="no bit 16"):
        x.bit(16)
    with pytest.raises(TypeError, match=r"s\.compact\(chosen, x\)"):
        x[x > 3]
    with pytest.raises(TypeError, match=r"np\.flatnonzero"):
        x[a > 3]
    with pytest.raises(TypeError, match=r"s\.memory\(x\)"):
        x[x[0]]
    with pytest.raises(TypeError, match="one index"):
        x[1, 2]
    with pytest.raises(cenote.UsageError, match="this slice has none"):
        x[3:3]
    with pytest.raises(TypeError, match="single secret"):
        x[0][0]


def test_rows(s: cenote.Session) -> None:
    for a in ROWS.values():
        x = s.input(0, a)
        for name in ("sum", "min", "max", "cumsum", "any", "all"):
            same(getattr(x, name)(), getattr(a, name)())
        same(x.argmin(), np.int64(a.argmin()))
        same(x.argmax(), np.int64(a.argmax()))
        same(x.count_nonzero(), np.int64(np.count_nonzero(a)))
        same(x.sort(), np.sort(a))
        same(x.clip(3, 100), a.clip(3, 100))
        same(cenote.minimum(x, 5), np.minimum(a, a.dtype.type(5)))
        same(cenote.maximum(x, x[0]), np.maximum(a, a[0]))
        same(cenote.where(x > 5, x, 0), np.where(a > 5, a, a.dtype.type(0)))
        same(cenote.concatenate([x, x[1]]), np.append(a, a[1]))
        for kind in (np.uint8, np.int8, np.uint32, np.int64, bool):
            same(x.astype(kind), a.astype(kind))
    same(cenote.dot(s.input(0, ROWS["u8"]), ROWS["u8"]), np.dot(ROWS["u8"], ROWS["u8"]))
    a, b = np.arange(6), np.arange(12) - 5
    product = cenote.matmul(s.input(0, a), s.input(1, b), shape=(2, 3, 4))
    same(product, (a.reshape(2, 3) @ b.reshape(3, 4)).ravel())
    with pytest.raises(ValueError, match="rows of 6 and 9 values"):
        cenote.matmul(s.input(0, a), s.input(1, b), shape=(2, 3, 3))
    with pytest.raises(ValueError, match="of one length"):
        cenote.dot(s.input(0, a), s.input(1, b))


def test_where_takes_public_values(s: cenote.Session) -> None:
    c = s.input(0, [True, False])
    same(cenote.where(c, 1, 0), np.array([1, 0]))
    same(cenote.where(c, np.uint8(1), 0), np.array([1, 0], dtype=np.uint8))
    same(cenote.where([True, False], c, ~c), np.array([True, True]))
    same(s.where(c, c, False), np.array([True, False]))
    with pytest.raises(TypeError, match=r"cenote\.fixed"):
        cenote.where(c, 1.5, 0)
    with pytest.raises(TypeError, match="x != 0"):
        cenote.where(c + 1, 1, 0)
    with pytest.raises(TypeError, match=r"np\.where"):
        cenote.where(True, 1, 0)


def test_functions_of_numpy(s: cenote.Session) -> None:
    x = s.input(0, [3, 1, 2])
    same(np.where(x > 1, x, 0), np.array([3, 0, 2]))
    same(np.concatenate([x, [9]]), np.array([3, 1, 2, 9]))
    same(np.sum(x), np.int64(6))
    same(np.sort(x), np.array([1, 2, 3]))
    with pytest.raises(TypeError, match=r"np\.median does not take secrets"):
        np.median(x)


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
    same(x.sum(), rounded.sum())
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
        (["12"], None, "no secrets of"),
        ([1], "float32", "float32"),
        ([1], "nonsense", "is no dtype"),
    ):
        with pytest.raises(TypeError, match=match):
            s.input(0, values, dtype)
    with pytest.raises(cenote.UsageError, match="there is no party 3"):
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


def test_reveal(s: cenote.Session) -> None:
    x = s.input(0, [3, 1])
    assert s.reveal(x, x + 1)[1].tolist() == [4, 2]
    assert x.reveal(to=[0, 2]).tolist() == [3, 1]
    with pytest.raises(TypeError, match=r"to=\[0\]"):
        x.reveal(to=0)  # type: ignore[arg-type]
    with pytest.raises(cenote.UsageError, match="somebody learns it"):
        x.reveal(to=[])
    with pytest.raises(cenote.UsageError, match="no party 7"):
        x.reveal(to=[7])


def test_closed_sessions_and_others() -> None:
    with cenote.Session(_cenote.Program.clear(2)) as first:
        x = first.input(0, [1])
        with cenote.Session(_cenote.Program.clear(2)) as second:
            y = second.input(0, [1])
            for mix in (
                lambda: x + y,
                lambda: x == y,
                lambda: cenote.where(x > 0, y, 0),
                lambda: cenote.concatenate([x, y]),
                lambda: second.reveal(x),
                lambda: second.memory(x),
                lambda: second.shuffle(x, y),
                lambda: second.where(x > 0, x, x),
            ):
                with pytest.raises(cenote.UsageError, match="of two sessions"):
                    mix()
    assert first.report is not None
    for late in (lambda: x + x, lambda: x.open(), lambda: first.input(0, 1), lambda: x + 5):
        with pytest.raises(cenote.UsageError, match="the session is closed"):
            late()
    first.close()
    third = cenote.Session(_cenote.Program.clear(2))
    z = third.input(0, 1)
    with pytest.raises(ZeroDivisionError), third:
        operator.truediv(1, 0)
    with pytest.raises(cenote.UsageError, match="stopped by an error"):
        z + 1


def test_secrets_that_are_gone_are_forgotten(s: cenote.Session) -> None:
    x = s.input(0, [1, 2])
    for _ in range(1000):
        x = x * 3 + x
    assert len(s._dropped) < 10
    assert x.open().shape == (2,)


def test_functions(s: cenote.Session, tmp_path: Path) -> None:
    def richer(a: cenote.Secret, b: cenote.Secret) -> tuple[cenote.Secret, cenote.Secret]:
        return a > b, cenote.where(a > b, a, b) + 1

    f = s.function(richer, np.int16, np.int16)
    assert f.inputs == (cenote.int_(16),) * 2
    assert f.outputs == (cenote.uint(1), cenote.int_(16)) or repr(f.outputs) == "(bool, int16)"
    more, most = f(s.input(0, np.array([5, -5], dtype=np.int16)), 3)
    same(more, np.array([True, False]))
    same(most, np.array([6, 4], dtype=np.int16))
    one, _ = f(1, 2)
    same(one, np.False_)
    both = s.function(lambda a, b: a & b, cenote.uint(5), cenote.uint(5))
    both.to_bristol(tmp_path / "and.txt")
    read = s.circuit(tmp_path / "and.txt")
    assert int(read(s.input(0, 12, cenote.uint(5)), 10).open()) == 8
    parts = s.circuit(
        tmp_path / "and.txt", inputs=[cenote.uint(2), cenote.uint(3), cenote.uint(5)], outputs=[cenote.int_(5)]
    )
    assert int(parts(3, 7, 31).open()) == -1
    with pytest.raises(cenote.UsageError, match="do not fill"):
        s.circuit(tmp_path / "and.txt", inputs=[np.uint8])
    with pytest.raises(TypeError, match=r"argument 0 is int16, not int64: write \.astype\(np\.int16\)"):
        f(s.input(0, 1), 2)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        f(1)
    outside = s.input(0, 1)
    with pytest.raises(cenote.UsageError, match="as arguments"):
        s.function(lambda a: a + outside, np.int64)
    with pytest.raises(TypeError, match="returns a secret"):
        s.function(lambda a: 5, np.int64)
    with pytest.raises(cenote.UsageError, match="single one"):
        s.function(lambda a: a * [1, 2], np.int64)
    with pytest.raises(cenote.UsageError, match="reveals nothing"):
        s.function(lambda a: a.open(), np.int64)
    kept: list[cenote.Secret] = []
    s.function(lambda a: kept.append(a) or a, np.int64)  # type: ignore[func-returns-value]
    with pytest.raises(cenote.UsageError, match="recording has ended"):
        kept[0] + 1


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
    last = groups.last.open()
    assert groups.key.open()[last].tolist() == [-1, 2, 3]
    assert {name: column.open()[last].tolist() for name, column in groups.columns.items()} == {
        "total": [18, 8, 5],
        "least": [2, 8, 1],
        "most": [16, 8, 4],
        "rows": [2, 1, 2],
    }
    assert groups.columns["total"].dtype is cenote.uint(64)
    kept, flags, count = s.compact(v > 2, v, v > 2)
    assert int(count.open()) == 3
    assert kept.open()[:3].tolist() == [4, 8, 16]
    assert flags.open().tolist() == [True] * 3 + [False] * 2
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
    twice = s.join(s.concatenate([ids, ids]), [], loans, [])
    assert not bool(twice.unique.open())
    assert not twice.found.open().any()
    with pytest.raises(TypeError, match=r"write \[column\]"):
        s.join(ids, ages, loans, [owed])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give as many"):
        s.join((ids, ages), [], loans, [])


def test_programs_as_functions() -> None:
    def program(s: cenote.Session, a: cenote.Secret, b: cenote.Secret, *, limit: cenote.Secret) -> Any:
        assert s.parties == 3
        return {"sum": (a + b).sum(), "above": [(a > limit).count_nonzero(), "text"]}

    inputs = {1: {"limit": 2}, 0: ([1, 3], [10, 20])}
    assert cenote.clear(program, inputs) == {"sum": 34, "above": [1, "text"]}
    assert cenote.run(program, inputs) == {"sum": 34, "above": [1, "text"]}
    assert cenote.clear(lambda s: 5) == 5
    with pytest.raises(TypeError, match="numbers of parties"):
        cenote.clear(program, {"a": [1]})  # type: ignore[dict-item]
    with pytest.raises(cenote.UsageError, match="two parties give x"):
        cenote.clear(lambda s, x: x, {0: {"x": 1}, 1: {"x": 2}})


@pytest.mark.parametrize("parties", [2, 3])
def test_the_five_lines(parties: int) -> None:
    with cenote.session(parties=parties) as s:
        a = s.input(0, np.array([3, 1, 2], dtype=np.uint32))
        b = s.input(1, np.array([9, 4, 7], dtype=np.uint32))
        assert int((a * b).sum().open()) == 45
    assert s.report is not None
    assert len(s.report["parties"]) == parties


def test_importing_does_not_import_numpy() -> None:
    code = "import cenote, sys; from cenote import *; uint(3); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_numpy_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['numpy'] = None; import cenote; cenote.session()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'cenote[numpy]'" in done.stderr


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


_BINARY = [
    *("add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
    *("less", "greater", "less_equal", "greater_equal", "equal", "not_equal"),
]
