"""Which values of a row a reduction takes: those where a mask of secret or public bools is True, as in numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from cenote._arithmetic import cast, step
from cenote._array import Array
from cenote._encode import plain
from cenote._steps import Value, constant, mixed
from cenote._types import BOOL, INT64, Type

if TYPE_CHECKING:
    from cenote._secret import Secret

# Secret bools, the places where public ones are True, or None for all values.
Mask: TypeAlias = "Secret | list[int] | None"


def mask_of(row: Secret, where: object) -> Mask:
    """Check a mask, which has a value for each of the row, or one for all."""
    if where is True:
        return None
    length = row._length or 1
    if not isinstance(where, Value):
        return _places(where, length)
    if where._session is not row._session:
        raise mixed()
    if where._dtype is not BOOL:
        raise _no_bools(where._dtype)
    _check_length(where._length, length)
    mask: Secret = where  # type: ignore[assignment]
    return mask if mask._length == length else step("fill", (mask,), (length,), BOOL, length)


def _places(where: object, length: int) -> list[int] | None:
    import numpy as np

    if isinstance(where, (list, tuple)) and any(isinstance(value, Value) for value in where):
        raise TypeError("where is a list of secrets: write cenote.concatenate([a, b]) for a row of them")
    array = plain(where, "where")
    if array.dtype.kind != "b":
        raise _no_bools(where.dtype if isinstance(where, Array) else array.dtype)
    if array.ndim > 1:
        raise TypeError(f"where has {array.ndim} dimensions, and a row has one: write .ravel()")
    _check_length(len(array) if array.ndim else None, length)
    places: list[int] = np.flatnonzero(np.broadcast_to(array, length)).tolist()
    return None if len(places) == length else places


def _check_length(of_mask: int | None, length: int) -> None:
    if of_mask not in (None, 1, length):
        raise ValueError(f"where has {of_mask} values, and the row has {length}")


def _no_bools(dtype: object) -> TypeError:
    return TypeError(f"where is bool and not {dtype}: write x != 0")


def masked(row: Secret, mask: Mask, neutral: int) -> Secret:
    """Give the values that count, and for others this number, with which the result is the same as without them."""
    if mask is None:
        return row
    if isinstance(mask, list) and mask:
        return step("take", (row,), tuple(mask), row._dtype, len(mask))
    other: Secret = constant(row._session, row._dtype, neutral)
    return other if isinstance(mask, list) else step("select", (mask, row, other), (), row._dtype, row._length)


def count(row: Secret, mask: Mask, dtype: Type) -> Secret:
    """Give how many values the mask takes, in this type; 1 where it is public that there are none."""
    if mask is None or isinstance(mask, list):
        known: Secret = constant(row._session, dtype, (row._length or 1) if mask is None else len(mask) or 1)
        return known
    return cast(step("count", (mask,), (), INT64, None), dtype)
