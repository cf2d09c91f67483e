"""Types of secrets: how many bits a secret has, and what they mean."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any, Literal, NoReturn, SupportsIndex

from cenote._cenote import UsageError

Kind = Literal["bool", "uint", "int", "fixed"]

MAX_WIDTH = 128
MAX_FIXED = 64
_NUMPY_WIDTHS = (8, 16, 32, 64)


class Type:
    """The type of a secret, made by :func:`uint`, :func:`int_` and :func:`fixed`, or from a dtype of numpy.

    Two types that are equal are one object, and ``x.dtype == np.uint8`` compares with a dtype of numpy.

    Attributes
    ----------
    kind : str
        ``"bool"``, ``"uint"``, ``"int"`` or ``"fixed"``.
    width : int
        The number of bits.
    fraction : int
        Of a fixed-point type the bits after the point, otherwise 0.
    signed : bool
        Whether there are negative values.

    Examples
    --------
    >>> cenote.uint(20).width
    20
    >>> cenote.fixed(32, 16).fraction
    16
    """

    __slots__ = ("fraction", "greatest", "kind", "least", "signed", "width")

    kind: Kind
    width: int
    fraction: int
    signed: bool
    least: int
    greatest: int

    def __init__(self, kind: Kind, width: int, fraction: int = 0) -> None:
        signed = kind in ("int", "fixed")
        give = object.__setattr__
        give(self, "kind", kind)
        give(self, "width", width)
        give(self, "fraction", fraction)
        give(self, "signed", signed)
        # Of the whole number that stands for a value: a fixed-point value times 2^fraction.
        give(self, "least", -(1 << (width - 1)) if signed else 0)
        give(self, "greatest", (1 << (width - 1 if signed else width)) - 1)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a type does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a type does not change")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Type):
            return self is other
        try:
            return self is dtype_of(other)
        except TypeError:
            return False

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _type, (self.kind, self.width, self.fraction)

    def __repr__(self) -> str:
        if self.kind == "fixed":
            return f"cenote.fixed({self.width}, {self.fraction})"
        if self.kind == "bool":
            return "bool"
        if self.width in _NUMPY_WIDTHS:
            return f"{self.kind}{self.width}"
        return f"cenote.{'int_' if self.signed else 'uint'}({self.width})"

    @property
    def is_numpy(self) -> bool:
        """Whether numpy has this type."""
        return self.kind == "bool" or (self.kind != "fixed" and self.width in _NUMPY_WIDTHS)


def _type(kind: Kind, width: int, fraction: int = 0) -> Type:
    return _made(kind, width, fraction)


@cache
def _made(kind: Kind, width: int, fraction: int) -> Type:
    return Type(kind, width, fraction)


def _whole(value: object, what: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} is a whole number, not a {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{what} is {least} to {most}")
    return value


def uint(width: int, /) -> Type:
    """Give the type of whole numbers without a sign, of 1 to 128 bits.

    Examples
    --------
    >>> cenote.uint(20)
    cenote.uint(20)
    >>> cenote.uint(32)
    uint32
    """
    return _type("uint", _whole(width, "the number of bits", 1, MAX_WIDTH))


def int_(width: int, /) -> Type:
    """Give the type of whole numbers with a sign, of 1 to 128 bits.

    Examples
    --------
    >>> cenote.int_(20)
    cenote.int_(20)
    """
    return _type("int", _whole(width, "the number of bits", 1, MAX_WIDTH))


def fixed(width: int, fraction: int, /) -> Type:
    """Give the type of fixed-point numbers with a sign: multiples of 2^-fraction in so many bits.

    They go from -2^(width - 1 - fraction) to just below 2^(width - 1 - fraction). What leaves that range wraps
    around, as whole numbers do.

    Parameters
    ----------
    width
        All bits, 2 to 64.
    fraction
        The bits after the point, 1 to width - 1.

    Examples
    --------
    Prices up to 32767 to some four digits after the point:

    >>> cenote.fixed(32, 16)
    cenote.fixed(32, 16)
    """
    _whole(width, "the number of bits", 2, MAX_FIXED)
    return _type("fixed", width, _whole(fraction, "the number of bits after the point", 1, width - 1))


BOOL = _type("bool", 1)
INT8 = _type("int", 8)
INT64 = _type("int", 64)
UINT64 = _type("uint", 64)


def dtype_of(of: object) -> Type:
    """Give the type that a dtype, its name, a type of numpy or of Python, or one of ours stands for."""
    if isinstance(of, Type):
        return of
    if of is bool:
        return BOOL
    return INT64 if of is int else _of_numpy(of)


def _of_numpy(of: object) -> Type:
    import numpy as np

    if of is None:
        raise TypeError("state a dtype, such as np.uint32 or cenote.uint(20)")
    try:
        dtype = np.dtype(of)  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):
        # Values may have been given by mistake, and are not quoted.
        given = repr(of) if isinstance(of, (str, type)) else f"a {type(of).__name__}"
        raise TypeError(f"{given} is no dtype: write one such as np.uint32, bool or cenote.uint(20)") from None
    if dtype.kind == "b":
        return BOOL
    if dtype.kind in "ui" and dtype.itemsize * 8 in _NUMPY_WIDTHS:
        return _type("uint" if dtype.kind == "u" else "int", dtype.itemsize * 8)
    if dtype.kind == "f":
        raise TypeError(
            f"secrets are no {dtype.name}: state a fixed-point type, such as dtype=cenote.fixed(32, 16), which has 32 "
            "bits and 16 of them after the point"
        )
    raise TypeError(
        f"there are no secrets of {dtype.type.__name__}: they are bool, whole numbers, or cenote.fixed(width, fraction)"
    )


@cache
def promoted(a: Type, b: Type) -> Type:
    """Give the type that numpy would give of both, and for types that numpy has not, one that holds both."""
    if a is b:
        return a
    if "fixed" in (a.kind, b.kind):
        raise TypeError(f"{a} and {b} do not mix: write .astype({a if a.kind == 'fixed' else b}) of the other")
    if a is BOOL or b is BOOL:
        return b if a is BOOL else a
    wide = both(a, b)
    if not (a.is_numpy and b.is_numpy):
        if wide.width > MAX_WIDTH:
            raise TypeError(f"{a} and {b} do not fit one type: write .astype({a}) or .astype({b}) of one of them")
        return wide
    # numpy goes to float64 with uint64 and a sign; here they stay exact.
    width = next((width for width in _NUMPY_WIDTHS if width >= wide.width), MAX_WIDTH)
    return _type(wide.kind, width)


def both(a: Type, b: Type) -> Type:
    """Give the narrowest type of whole numbers that holds both, which may be wider than those that users have."""
    if a.kind == b.kind or a.signed == b.signed:
        return _type("int" if a.signed else "uint", max(a.width, b.width))
    with_sign, without = (a, b) if a.signed else (b, a)
    return _type("int", max(with_sign.width, without.width + 1))


def of_literal(value: int) -> Type:
    """Give the narrowest type that holds a whole number of Python."""
    if value >= 0:
        kind: Kind = "uint"
        width = max(1, value.bit_length())
    else:
        kind = "int"
        width = (~value).bit_length() + 1
    if width > MAX_WIDTH:
        raise OverflowError(f"Python integer has more than {MAX_WIDTH} bits")
    return _type(kind, width)


def with_width(of: Type, width: int) -> Type:
    """Give the type of whole numbers with this sign and so many bits, for what is between two steps."""
    return _type("int" if of.signed else "uint", width)


def total(of: Type) -> Type:
    """Give the type of sums: 64 bits for what is narrower, as in numpy, else the same."""
    if of.width > 64:
        return of
    if of.kind == "fixed":
        return _type("fixed", MAX_FIXED, of.fraction)
    return INT64 if of.signed or of is BOOL else UINT64


def length_of(length: object) -> int | None:
    """Check a length: None for a single value, or how many there are in the row."""
    if length is None:
        return None
    count = whole_of(length)
    if count is None:
        raise TypeError(f"a length is a whole number, or None for a single value, not a {type(length).__name__}")
    if count < 1:
        raise UsageError("a row has at least one value, so its length is 1 or more")
    return count


def whole_of(value: object) -> int | None:
    """Give a whole number of Python or numpy as an int, and None for anything else."""
    if isinstance(value, bool) or getattr(value, "ndim", 0) != 0 or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
