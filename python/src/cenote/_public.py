"""Public operands: they are checked before anything is computed, so that a line that fails has done nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cenote._array import Array
from cenote._encode import encoded, inferred
from cenote._steps import Steps, constant
from cenote._types import BOOL, INT64, Type, of_literal

if TYPE_CHECKING:
    from cenote._secret import Secret

COMPARISONS = ("less", "equal")
SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "less": "<",
    "equal": "==",
    "min": "minimum",
    "max": "maximum",
}


class Public:
    """Values that fit their type. No party was told of them yet; :func:`given` does it."""

    __slots__ = ("_data", "_dtype", "_length")

    def __init__(self, dtype: Type, length: int | None, data: bytes | int) -> None:
        self._dtype = dtype
        self._length = length
        self._data = data


def checked(dtype: Type, other: object, name: str) -> Public | None:
    """Check a public operand; None if it is nothing of the kind.

    Numbers of Python take this type, which is that of the secret beside it. Arrays have their own, except that beside
    fixed-point secrets those of numpy take the secret's.
    """
    if isinstance(other, bool):
        return Public(dtype if dtype.kind == "fixed" else BOOL, None, int(other) << dtype.fraction)
    if isinstance(other, int):
        if dtype is BOOL:
            dtype = INT64
        whole = int(other) << dtype.fraction
        if not dtype.least <= whole <= dtype.greatest:
            if name not in COMPARISONS or dtype.kind == "fixed":
                raise OverflowError(f"Python integer out of bounds for {dtype}")
            dtype = of_literal(whole)
        return Public(dtype, None, whole)
    if isinstance(other, float):
        return Public(dtype, None, _scaled(dtype, float(other), name))
    if hasattr(other, "dtype") or isinstance(other, (list, tuple)):
        takes = dtype.kind == "fixed" and not isinstance(other, Array)
        return row(dtype if takes else None, other, f"the array beside {SYMBOLS.get(name, name)}")
    return None


def row(dtype: Type | None, values: object, what: str) -> Public:
    """Check values of this type, or of the one that numpy has for them."""
    of = inferred(values, what) if dtype is None else dtype
    data, length = encoded(values, of, what)
    return Public(of, length, data)


def given(session: Steps, value: Secret | Public) -> Secret:
    """Give a public operand as a secret of the session, and a secret as it is."""
    if not isinstance(value, Public):
        return value
    dtype, length, data = value._dtype, value._length, value._data
    if isinstance(data, int):
        return constant(session, dtype, data)  # type: ignore[no-any-return]
    return session._secret(session, session._public(dtype, length, data), dtype, length)  # type: ignore[no-any-return]


def _scaled(dtype: Type, value: float, name: str) -> int:
    if dtype.kind != "fixed":
        raise TypeError(
            f"a {dtype} secret and a float do not meet in {SYMBOLS.get(name, name)}: write "
            ".astype(cenote.fixed(32, 16)) of the secret, or a whole number"
        )
    if not math.isfinite(value):
        raise ValueError(f"nan and infinities are no {dtype}")
    whole = round(math.ldexp(value, dtype.fraction)) if abs(value) < 2.0**64 else 1 << 128
    if not dtype.least <= whole <= dtype.greatest:
        raise OverflowError(f"Python float out of bounds for {dtype}")
    return whole
