"""Functions of several secrets that are named as in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from cenote._arithmetic import binary, cast, operand, rounded, step
from cenote._secret import Secret
from cenote._steps import broadcast, mixed
from cenote._types import BOOL, Type, promoted, with_width


def _first(what: str, *values: object) -> Secret:
    for value in values:
        if isinstance(value, Secret):
            return value
    raise TypeError(f"{what} takes a secret: write np.{what} if all is public, or make one by s.input or s.public")


def _beside(like: Secret, value: object, what: str) -> Secret:
    """Give a value as a secret of the session."""
    if isinstance(value, Secret):
        if value._session is not like._session:
            raise mixed()
        return value
    made = operand(like._session, like._dtype, value, what)
    if made is None:
        raise TypeError(f"{what} does not take a {type(value).__name__}: give secrets, numbers or arrays")
    return made


def where(condition: object, a: object, b: object) -> Secret:
    """Give ``a`` where the condition is True, and ``b`` elsewhere.

    Parameters
    ----------
    condition
        Secret bools, or public ones.
    a, b
        Secrets, arrays or numbers.

    Examples
    --------
    >>> a, b = s.input(0, [3, 1, 2]), s.input(1, [2, 2, 2])
    >>> cenote.where(a > b, a - b, 0).open()
    array([1, 0, 0])
    """
    like = _first("where", a, b, condition)
    chosen = condition if isinstance(condition, Secret) else _bools(like, condition)
    if chosen._dtype is not BOOL:
        raise TypeError(f"the condition of where is bool and not {chosen._dtype}: write x != 0")
    if like is condition:
        like = _beside(like, _typed(a, b), "where")
    yes, no = _beside(like, a, "where"), _beside(like, b, "where")
    if chosen._session is not yes._session:
        raise mixed()
    common = promoted(yes._dtype, no._dtype)
    length = broadcast(chosen._length, broadcast(yes._length, no._length))
    yes, no = cast(yes, common), cast(no, common)
    return step("select", (chosen, yes, no), (), common, length)


def _typed(a: object, b: object) -> object:
    """Give the public value that has a type of its own, or the first one."""
    for value in (a, b):
        if hasattr(value, "dtype") or isinstance(value, (list, tuple)):
            return value
        if isinstance(value, float):
            raise TypeError("where has whole numbers here: write s.public(value, cenote.fixed(32, 16)) for others")
    return a


def _bools(like: Secret, condition: object) -> Secret:
    from cenote._encode import encoded, inferred

    what = "the condition of where"
    if inferred(condition, what) is not BOOL:
        raise TypeError(f"{what} is bool: write x != 0")
    data, length = encoded(condition, BOOL, what)
    return Secret(like._session, like._session._public(BOOL, length, data), BOOL, length)


def minimum(a: object, b: object) -> Secret:
    """Give the lesser of two at each place.

    Examples
    --------
    >>> cenote.minimum(s.input(0, [3, 1]), s.input(1, [2, 2])).open()
    array([2, 1])
    """
    like = _first("minimum", a, b)
    return binary("min", _beside(like, a, "minimum"), _beside(like, b, "minimum"))


def maximum(a: object, b: object) -> Secret:
    """Give the greater of two at each place.

    Examples
    --------
    >>> cenote.maximum(s.input(0, [3, 1]), 2).open()
    array([3, 2])
    """
    like = _first("maximum", a, b)
    return binary("max", _beside(like, a, "maximum"), _beside(like, b, "maximum"))


def concatenate(rows: Sequence[object]) -> Secret:
    """Give one row of all values of several rows, in their order. A single secret is one value.

    Examples
    --------
    >>> a = s.input(0, [3, 1])
    >>> cenote.concatenate([a, a[0], [7]]).open()
    array([3, 1, 3, 7])
    """
    if isinstance(rows, Secret):
        raise TypeError("concatenate takes a list of rows: write concatenate([a, b])")
    given = list(rows)
    like = _first("concatenate", *given)
    every = [_beside(like, row, "concatenate") for row in given]
    common = reduce(promoted, (row._dtype for row in every))
    every = [cast(row, common) for row in every]
    return step("concat", tuple(every), (), common, sum(row.size for row in every))


def _factors(what: str, a: object, b: object) -> tuple[Secret, Secret, Type, Type]:
    """Give two rows in the bits in which their products are summed, this type, and that of the result."""
    like = _first(what, a, b)
    first, second = _beside(like, a, what), _beside(like, b, what)
    for row in (first, second):
        if row._length is None:
            raise TypeError(f"{what} is of rows, and one of these is a single value: write a * b")
    result = promoted(first._dtype, second._dtype)
    if result is BOOL:
        raise TypeError(f"{what} of bools is none: write (a & b).any(), or (a & b).count_nonzero()")
    wide = with_width(result, result.width + result.fraction) if result.fraction else result
    return cast(first, wide), cast(second, wide), wide, result


def _summed(products: Secret, into: int, wide: Type, result: Type, length: int | None) -> Secret:
    added = step("sum", (products,), (wide.width, int(wide.signed), into), wide, length)
    return rounded(added, result) if result.fraction else added


def dot(a: object, b: object) -> Secret:
    """Give the sum of the products of two rows, in their type.

    Fixed-point products are summed exactly and rounded once. What overflows wraps around.

    Examples
    --------
    >>> x = s.input(0, [0.5, 1.5], dtype=cenote.fixed(32, 16))
    >>> cenote.dot(x, [4, 2]).open()
    np.float64(5.0)
    """
    first, second, wide, result = _factors("dot", a, b)
    if first._length != second._length:
        raise ValueError(f"dot takes rows of one length, not of {first._length} and {second._length}")
    products = step("mul", (first, second), (), wide, first._length)
    return _summed(products, 1, wide, result, None)


def matmul(a: object, b: object, *, shape: tuple[int, int, int]) -> Secret:
    """Multiply two matrices, each given as one row of values, line after line.

    Fixed-point products are summed exactly and rounded once. What overflows wraps around.

    Parameters
    ----------
    a, b
        The matrices, as ``array.ravel()`` gives them.
    shape
        ``(n, k, m)``: the first matrix has n lines of k values, the second one k lines of m.

    Returns
    -------
    Secret
        The product: n lines of m values, line after line.

    Examples
    --------
    >>> a = s.input(0, np.array([[1, 2], [3, 4]]).ravel())
    >>> cenote.matmul(a, [10, 1], shape=(2, 2, 1)).open()
    array([12, 34])
    """
    first, second, wide, result = _factors("matmul", a, b)
    try:
        n, k, m = (int(count.__index__()) for count in shape)
    except (TypeError, ValueError, AttributeError):
        raise TypeError("shape is (n, k, m): n lines of k values times k lines of m") from None
    if min(n, k, m) < 1 or first._length != n * k or second._length != k * m:
        raise ValueError(
            f"shape=({n}, {k}, {m}) takes rows of {n * k} and {k * m} values, not of {first._length} and "
            f"{second._length}"
        )
    # One block of all places of the product for each of the k values that are summed there.
    cells = [(t, i, j) for t in range(k) for i in range(n) for j in range(m)]
    left = step("take", (first,), tuple(i * k + t for t, i, _ in cells), wide, len(cells))
    right = step("take", (second,), tuple(t * m + j for t, _, j in cells), wide, len(cells))
    products = step("mul", (left, right), (), wide, len(cells))
    return _summed(products, n * m, wide, result, n * m)
