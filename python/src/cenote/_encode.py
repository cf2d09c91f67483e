"""Values of numpy and Python as the bits of secrets, and back.

Each value takes 8 bytes, or 16 where a type has more than 64 bits; the first byte is the lowest. What is wrong with a
value is told by its place and never by the value.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from cenote._array import Array
from cenote._cenote import BadInput
from cenote._types import BOOL, Type, dtype_of, whole_of

if TYPE_CHECKING:
    import numpy as np


def _bytes_of(dtype: Type) -> int:
    return 8 if dtype.width <= 64 else 16


def encoded(values: object, dtype: Type, what: str) -> tuple[bytes, int | None]:
    """Give the bits of these values, and how many they are, or None if it is a single one.

    ``what`` says in errors whose values they are.
    """
    import numpy as np

    values = _values(values, dtype, what)
    if isinstance(values, (bool, int)):
        return _of_objects([values], dtype, what, single=True), None
    array = _array(values, what)
    length = None if array.ndim == 0 else len(array)
    if length == 0:
        raise BadInput(f"{what} is empty: a row has at least one value")
    row = np.atleast_1d(array)
    if row.dtype.kind == "O" or dtype.width > 64:
        return _of_objects(row.tolist(), dtype, what, single=length is None), length
    if row.dtype.kind == "f":
        whole = _scaled(row, dtype, what, single=length is None)
    elif row.dtype.kind in "bui":
        whole = row
        _in_range(whole, dtype, what, single=length is None)
        if dtype.kind == "fixed":
            whole = whole.astype(np.int64) << dtype.fraction
    else:
        raise TypeError(f"{what} is of {row.dtype.type.__name__}, and {dtype} takes {_takes(dtype)}")
    return whole.astype(np.int64 if whole.dtype.kind == "i" else np.uint64).astype("<u8").tobytes(), length


def single(value: object, dtype: Type, what: str) -> int:
    """Give the bits of a single value as a whole number."""
    data, length = encoded(value, dtype, what)
    if length is not None:
        raise TypeError(f"{what} is a row, and must be a single value")
    return int.from_bytes(data, "little")


def _array(values: object, what: str) -> np.ndarray[Any, Any]:
    import numpy as np

    if isinstance(values, (set, frozenset, dict, str, bytes)):
        raise TypeError(f"{what} is a {type(values).__name__}: give an array, a list or a number")
    _all_there(values, what)
    try:
        array: np.ndarray[Any, Any] = np.asarray(values)
        if array.dtype.kind == "f" and not hasattr(values, "dtype") and not isinstance(values, float):
            # numpy makes float64 of whole numbers that no type of its own has.
            array = np.asarray(values, dtype=object)
    except ValueError:
        raise TypeError(f"{what} is a list of lists: give a flat list or a one-dimensional array") from None
    if array.ndim > 1:
        raise TypeError(f"{what} has {array.ndim} dimensions, and a row has one: write .ravel()")
    return array


def plain(values: Any, what: str) -> np.ndarray[Any, Any]:
    """Give values as an array of numpy, unless some are masked or missing."""
    import numpy as np

    if isinstance(values, Array):
        data, length = encoded(values, values.dtype, what)
        return np.asarray(decoded(data, values.dtype, length))
    _all_there(values, what)
    return np.asarray(values)


def _values(values: object, dtype: Type, what: str) -> object:
    """Give the values of an array with a type of its own, which they must fit whatever type is asked for."""
    if not isinstance(values, Array):
        return values
    if values.dtype is not dtype:
        if values.dtype.kind == "fixed":
            raise TypeError(f"{what} is {dtype}, and these values are {values.dtype}: state the same type for both")
        encoded(values, values.dtype, what)
    return values._values


def _all_there(values: Any, what: str) -> None:
    """Refuse values that are masked, or missing in a Series of pandas, which numpy would give as some number."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        absent = np.atleast_1d(np.ma.getmaskarray(values)).ravel()
        how = "masked"
    elif isinstance(values, (list, tuple)):
        absent = np.fromiter((_is_masked(value) for value in values), dtype=bool, count=len(values))
        how = "masked"
    elif callable(getattr(values, "isna", None)):
        absent = np.asarray(values.isna()).ravel()
        how = "missing"
    else:
        return
    if absent.any():
        is_single = getattr(values, "ndim", 1) == 0
        where = "the value" if is_single else f"the value at place {int(absent.argmax())}"
        raise BadInput(f"{what}: {where} is {how}")


def _is_masked(value: object) -> bool:
    import numpy as np

    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _takes(dtype: Type) -> str:
    return {"bool": "bool", "fixed": "numbers"}.get(dtype.kind, "whole numbers")


def _wrong(what: str, place: int, dtype: Type, why: str, *, single: bool) -> BadInput:
    where = "the value" if single else f"the value at place {place}"
    return BadInput(f"{what}: {where} {why} {dtype}")


def _in_range(row: np.ndarray[Any, Any], dtype: Type, what: str, *, single: bool) -> None:
    """Check whole numbers of numpy, which need not have the type's range."""
    import numpy as np

    limits = (0, 1) if row.dtype.kind == "b" else (int(np.iinfo(row.dtype).min), int(np.iinfo(row.dtype).max))
    least, greatest = -(-dtype.least >> dtype.fraction), dtype.greatest >> dtype.fraction
    wrong = np.zeros(len(row), dtype=bool)
    if least > limits[0]:
        wrong |= row < least
    if greatest < limits[1]:
        wrong |= row > greatest
    if wrong.any():
        raise _wrong(what, int(wrong.argmax()), dtype, "does not fit", single=single)


def _scaled(row: np.ndarray[Any, Any], dtype: Type, what: str, *, single: bool) -> np.ndarray[Any, Any]:
    """Give floats as whole multiples of the type's smallest step, rounded to the nearest one."""
    import numpy as np

    if dtype.kind != "fixed":
        raise TypeError(
            f"{what} is of {row.dtype}, and {dtype} takes {_takes(dtype)}: state dtype=cenote.fixed(32, 16), or round"
        )
    wide = row.astype(np.float64)
    wrong = ~np.isfinite(wide)
    if wrong.any():
        raise _wrong(what, int(wrong.argmax()), dtype, "is no finite number, so it is no", single=single)
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(wide, dtype.fraction))
    wrong = (steps < float(dtype.least)) | (steps >= -float(dtype.least))
    if wrong.any():
        raise _wrong(what, int(wrong.argmax()), dtype, "does not fit", single=single)
    whole: np.ndarray[Any, Any] = steps.astype(np.int64)
    return whole


def _of_objects(values: list[Any], dtype: Type, what: str, *, single: bool) -> bytes:
    size = _bytes_of(dtype)
    mask = (1 << 8 * size) - 1
    made = bytearray()
    for place, value in enumerate(values):
        whole = _whole(value, dtype)
        if whole is None:
            raise _wrong(what, place, dtype, f"is a {type(value).__name__} that is no", single=single)
        if not dtype.least <= whole <= dtype.greatest:
            raise _wrong(what, place, dtype, "does not fit", single=single)
        made += (whole & mask).to_bytes(size, "little")
    return bytes(made)


def _whole(value: object, dtype: Type) -> int | None:
    """Give the whole number that stands for a value, or None if it is of another kind."""
    import numpy as np

    if _is_masked(value):
        return None
    if isinstance(value, np.generic) and value.dtype.kind in "bfui":
        value = value.item()
    if isinstance(value, int):
        return int(value) << dtype.fraction
    if (whole := whole_of(value)) is not None:
        return whole << dtype.fraction
    if dtype.kind != "fixed" or not isinstance(value, (float, Decimal, Fraction)):
        return None
    try:
        return round(Fraction(value) * (1 << dtype.fraction))
    except (ValueError, OverflowError):
        return None


def inferred(values: object, what: str) -> Type:
    """Give the type that numpy has for these values."""
    if isinstance(values, Array):
        return values.dtype
    if isinstance(values, bool):
        return BOOL
    array = _array(values, what)
    if array.dtype.kind == "O":
        raise TypeError(
            f"{what} has no type of its own: state dtype=, such as cenote.fixed(32, 16) or cenote.uint(128)"
        )
    try:
        return dtype_of(array.dtype)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None


def decoded(data: bytes, dtype: Type, length: int | None) -> Any:
    """Give the values of these bits: an array, or a single value of numpy where the length is None."""
    import numpy as np

    if dtype.width > 64:
        every = [int.from_bytes(data[start : start + 16], "little") for start in range(0, len(data), 16)]
        if dtype.signed:
            every = [value - (1 << dtype.width) if value > dtype.greatest else value for value in every]
        if length is None:
            return every[0]
        row = np.empty(len(every), dtype=object)
        row[:] = every
        return row
    bits = np.frombuffer(data, dtype="<u8").astype(np.uint64)
    if dtype.kind == "bool":
        values: np.ndarray[Any, Any] = bits != 0
    elif dtype.signed:
        above = np.uint64(64 - dtype.width)
        values = (bits << above).view(np.int64) >> above.astype(np.int64)
    else:
        values = bits
    if dtype.kind == "fixed":
        values = np.ldexp(values.astype(np.float64), -dtype.fraction)
    elif dtype.kind != "bool":
        width = next(width for width in (8, 16, 32, 64) if width >= dtype.width)
        values = values.astype(f"{'i' if dtype.signed else 'u'}{width // 8}")
    return values[0] if length is None else values
