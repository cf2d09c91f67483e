"""Reductions of the values that a mask chooses, against those of numpy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from against_numpy import FIXED, ROWS, counted, same
from against_numpy import in_the_clear as in_the_clear

import cenote
from cenote import _cenote

MASKS: dict[str, Any] = {
    "some": np.array([True, False, True, True, False]),
    "one": np.array([False, False, False, True, False]),
    "none": np.zeros(5, dtype=bool),
    "all": np.ones(5, dtype=bool),
    "a row of one": np.array([False]),
    "a single False": np.False_,
    "a single True": np.True_,
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("row", ROWS)
def test_reductions_take_masks(s: cenote.Session, row: str, mask: str) -> None:
    a, where = ROWS[row], MASKS[mask]
    x = s.input(0, a)
    masks: list[Any] = [where, where.tolist(), s.input(1, where)]
    for w in masks:
        same(x.sum(where=w), a.sum(where=where))
        same(x.any(where=w), a.any(where=where))
        same(x.all(where=w), a.all(where=where))
        same(np.sum(x, where=w), np.sum(a, where=where))
        for initial in (0, a[4], int(a.max())):
            same(x.min(initial=initial, where=w), a.min(initial=initial, where=where))
            same(np.max(x, initial=initial, where=w), np.max(a, initial=initial, where=where))
            same(x.max(initial=initial), a.max(initial=initial))
        if row == "i64":
            continue
        chosen = [int(value) for value in a[np.broadcast_to(where, a.shape)]]
        exact = Fraction(sum(chosen) << 16, len(chosen) or 1)
        for mean in (x.mean(where=w), np.mean(x, where=w)):
            assert mean.dtype is cenote.fixed(64, 16)
            assert mean.open() * 2**16 == (exact + Fraction(1, 2)).__floor__()


def test_masks_of_other_types_and_lengths(s: cenote.Session) -> None:
    a = np.array([1.5, -2.25, 100.0])
    x, where = s.input(0, a, FIXED), np.array([True, True, False])
    masks: list[Any] = [where, pd.Series(where, index=[2, 1, 0]), s.input(1, where)]
    for w in masks:
        same(x.sum(where=w), np.float64(-0.75))
        same(x.mean(where=w), np.float64(-0.375))
        same(x.max(initial=-7.5, where=w), np.float64(1.5))
        same(x.min(initial=-7.5, where=w), np.float64(-7.5))
    one = s.input(0, [7])
    same(one.sum(where=s.input(1, False)), np.int64(0))
    same(one.astype(cenote.uint(20)).mean(where=s.input(1, [True])), np.float64(7))
    bools = s.input(0, [True, True, False])
    same(bools.mean(where=s.input(1, [True, False, True])), np.float64(0.5))
    same(bools.sum(where=[True, False, True]), np.int64(1))
    wide = s.input(0, [2**100, 3], cenote.uint(128))
    assert wide.sum(where=[True, False]).open() == 2**100
    for w in ([True, False], s.input(1, [True, False])):
        for row in (x, one):
            with pytest.raises(ValueError, match=r"where has 2 values, and the row has [13]"):
                row.sum(where=w)
    for reduce in (x.min, x.max):
        with pytest.raises(ValueError, match="with where= has an initial value"):
            reduce(where=where)
    with pytest.raises(cenote.BadInput, match="the initial value of max: the value does not fit uint8"):
        s.input(0, np.uint8(1) + np.zeros(2, np.uint8)).max(initial=300)
    with pytest.raises(cenote.BadInput, match="where: the value at place 1 is masked"):
        x.sum(where=np.ma.masked_array(where, [False, True, False]))
    with pytest.raises(TypeError, match="of a row"):
        x[0].sum(where=True)
    with cenote.Session(_cenote.Program.clear(1)) as other, pytest.raises(cenote.UsageError, match="of two sessions"):
        x.sum(where=other.input(0, where))


def test_wrong_masks_compute_nothing() -> None:
    with counted() as (s, steps):
        x = s.input(0, [3, 1, 2])
        before = steps()
        calls: list[Callable[[], Any]] = [
            lambda: x.all(where=[True, False]),
            lambda: x.mean(where=[True, False, True]),
            lambda: x.min(where=x, initial=4),
            lambda: x.min(where=[True, True, False]),
        ]
        for call in calls:
            with pytest.raises((ValueError, TypeError)):
                call()
        assert steps() == before


def test_public_masks_cost_nothing_of_the_values_left_out() -> None:
    def gates(where: Any) -> int:
        with cenote.session(parties=2) as s:
            s.input(0, np.arange(50)).max(initial=0, where=where)
        assert s.report is not None
        return int(s.report["parties"][0]["and_gates"])

    assert gates(np.arange(50) < 5) * 5 < gates(True)


@pytest.mark.parametrize(("protocol", "parties"), [("three", 3), ("authenticated", 2)])
def test_masks_between_parties(protocol: str, parties: int) -> None:
    a, where = np.array([5, -3, 4, 9], np.int16), np.array([True, True, False, False])

    def program(s: cenote.Session, a: cenote.Secret, where: cenote.Secret) -> list[cenote.Secret]:
        none = where & ~where
        return [a.mean(where=where), a.mean(where=none), a.max(initial=-7, where=where), a.max(initial=-7, where=none)]

    found = cenote.run(program, {0: a, 1: where}, parties=parties, protocol=protocol)
    assert found == [1.0, 0.0, 5, -7]
