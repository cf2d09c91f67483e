"""Values with a type that numpy does not have."""

from __future__ import annotations

from typing import Any, NoReturn

from cenote._types import Type, dtype_of


class Array:
    """Values and the type that they have as secrets, made by :func:`cenote.array`. It does not show the values."""

    __slots__ = ("_values", "dtype")

    def __init__(self, values: Any, dtype: Type) -> None:
        copy = getattr(values, "copy", None) or getattr(values, "__copy__", None)
        self._values = copy() if callable(copy) else values
        self.dtype = dtype

    def __len__(self) -> int:
        if not hasattr(self._values, "__len__") or getattr(self._values, "ndim", 1) == 0:
            raise TypeError("a single value has no len()")
        return len(self._values)

    def __array__(self, *arguments: object, **named: object) -> NoReturn:
        raise TypeError(
            f"this array is of {self.dtype}, and no array of numpy: write s.public(values) to calculate with it, or "
            "give numpy the values that it was made of"
        )

    def __repr__(self) -> str:
        return f"<array of {self.dtype}>"


def array(values: Any, dtype: object) -> Array:
    """Give values a type, also one that numpy does not have.

    It goes into the inputs of :func:`cenote.run`, into ``s.input``, ``s.public`` and ``s.memory``, and beside a secret,
    where it always has this type. Functions of numpy do not take it without a secret.

    Parameters
    ----------
    values
        An array, a list, or a single number.
    dtype
        Their type: :func:`cenote.uint`, :func:`cenote.int_` or :func:`cenote.fixed`, a dtype of numpy, or ``bool``.

    Returns
    -------
    Array
        A copy of the values with their type. Whether they fit it is checked where they are used.

    Examples
    --------
    >>> prices = cenote.array([1.5, 0.25], cenote.fixed(32, 16))
    >>> counts = cenote.array([2, 4], cenote.uint(20))
    >>> cenote.run(lambda s, prices, counts: prices @ counts.astype(cenote.fixed(32, 16)), {0: prices, 1: counts})
    np.float64(4.0)
    """
    return Array(values._values if isinstance(values, Array) else values, dtype_of(dtype))
