"""What secrets should have: whole numbers of Python, with the types of numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cenote

Kind = tuple[str, int, int]
BOOL: Kind = ("bool", 1, 0)
NUMPY = (8, 16, 32, 64)


def is_signed(kind: Kind) -> bool:
    return kind[0] in ("int", "fixed")


def wrap(value: int, kind: Kind) -> int:
    width = kind[1]
    value &= (1 << width) - 1
    return value - (1 << width) if is_signed(kind) and value >> (width - 1) else value


def half_up(numerator: int, denominator: int) -> int:
    """Round a quotient to the nearest, and up from the middle."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    return (2 * numerator + denominator) // (2 * denominator)


def is_numpy(kind: Kind) -> bool:
    return kind == BOOL or (kind[0] != "fixed" and kind[1] in NUMPY)


def numpy_dtype(kind: Kind) -> np.dtype[Any]:
    return np.dtype("bool" if kind == BOOL else f"{kind[0]}{kind[1]}")


def meet(a: Kind, b: Kind) -> Kind | None:
    """Give the type of both, by numpy where it has it and stays whole."""
    if a == b:
        return a
    if "fixed" in (a[0], b[0]):
        return None
    if BOOL in (a, b):
        return b if a == BOOL else a
    if is_numpy(a) and is_numpy(b):
        of = np.promote_types(numpy_dtype(a), numpy_dtype(b))
        if of.kind == "f":
            return ("int", 128, 0)
        return ("uint" if of.kind == "u" else "int", of.itemsize * 8, 0)
    if a[0] == b[0]:
        return (a[0], max(a[1], b[1]), 0)
    with_sign, without = (a, b) if a[0] == "int" else (b, a)
    width = max(with_sign[1], without[1] + 1)
    return ("int", width, 0) if width <= 128 else None


class Known:
    """A row of whole numbers that stand for values, or a single one; what a secret should have."""

    def __init__(self, kind: Kind, values: list[int], *, single: bool) -> None:
        self.kind = kind
        self.values = [wrap(int(value), kind) for value in values]
        self.single = single

    def opened(self) -> list[Any]:
        if self.kind[0] == "fixed":
            return [float(value) / 2.0 ** self.kind[2] for value in self.values]
        return [bool(value) for value in self.values] if self.kind == BOOL else list(self.values)

    def row(self, length: int) -> list[int]:
        return self.values * length if len(self.values) == 1 else self.values


def ours(kind: Kind) -> Any:
    match kind:
        case ("bool", _, _):
            return bool
        case ("uint", width, _):
            return cenote.uint(width)
        case ("int", width, _):
            return cenote.int_(width)
        case (_, width, fraction):
            return cenote.fixed(width, fraction)


def each(kind: Kind, f: Callable[..., int], *operands: Known) -> Known | None:
    """Apply it in each place, or give None if the lengths do not meet."""
    lengths = {len(operand.values) for operand in operands} - {1}
    if len(lengths) > 1:
        return None
    length = max([1, *lengths])
    rows = zip(*(operand.row(length) for operand in operands), strict=True)
    return Known(kind, [f(*values) for values in rows], single=all(operand.single for operand in operands))


def total_of(kind: Kind) -> Kind:
    """Give the type of sums."""
    if kind[1] > 64:
        return kind
    return (kind[0] if kind[0] in ("uint", "fixed") else "int", 64, kind[2])
