"""Rows of secrets: their places, and what is computed of them."""

from __future__ import annotations

import numpy as np
import pytest
from against_numpy import ROWS, same
from against_numpy import in_the_clear as in_the_clear

import cenote


def test_places(s: cenote.Session) -> None:
    a = np.arange(10, dtype=np.int16) * 3
    x = s.input(0, a)
    for place in (3, -1, slice(2, 9), slice(None, None, 2), slice(None, None, -1), [1, 5, -1], np.array([0, 0])):
        same(x[place], a[place])
    for places in (range(2), range(9, 0, -3)):
        same(x[places], a[places])
    same(x.take([9, -10]), a.take([9, -10]))
    same(x.bit(1), (a >> 1 & 1).astype(bool))
    for wrong in (10, -11):
        with pytest.raises(IndexError, match="out of bounds"):
            x[wrong]
        with pytest.raises(IndexError, match="out of bounds"):
            x.take([0, wrong])
    with pytest.raises(IndexError, match="bits 0 to 15, and no others"):
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
    with pytest.raises(TypeError, match=r"np\.std does not take secrets"):
        np.std(x)
