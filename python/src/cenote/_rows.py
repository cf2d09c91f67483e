"""Functions of several secrets that are named as in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from cenote._arithmetic import cast, operate, rounded, step
from cenote._array import Array
from cenote._public import Public, checked, given, row
from cenote._secret import Secret
from cenote._steps import broadcast, mixed
from cenote._types import BOOL, Type, promoted, with_width


def _first(what: str, *values: object) -> Secret:
    """Give the first secret. All secrets are of its session."""
    secrets = [value for value in values if isinstance(value, Secret)]
    if not secrets:
        raise TypeError(f"{what} takes a secret: write np.{what} if all is public, or make one by s.input or s.public")
    if any(secret._session is not secrets[0]._session for secret in secrets):
        raise mixed()
    return secrets[0]


def _checked(of: Type, value: object, what: str) -> Secret | Public:
    """Check a value beside a secret of this type. Nothing is given to the session yet."""
    known = value if isinstance(value, Secret) else checked(of, value, what)
    if known is None:
        raise TypeError(f"{what} does not take a {type(value).__name__}: give secrets, numbers or arrays")
    return known


def where(condition: object, a: object, b: object) -> Secret:
    """Give ``a`` where the condition is True, and ``b`` elsewhere.

    Parameters
    ----------
    condition
        Secret bools, or public ones, which are told to all parties and must be the same at each.
    a, b
        Secrets, arrays or numbers.

    Examples
    --------
    >>> a, b = s.input(0, [3, 1, 2]), s.input(1, [2, 2, 2])
    >>> cenote.where(a > b, a - b, 0).open()
    array([1, 0, 0])
    """
    session = _first("where", a, b, condition)._session
    chosen = condition if isinstance(condition, Secret) else row(None, condition, "the condition of where")
    if chosen._dtype is not BOOL:
        raise TypeError(f"the condition of where is bool and not {chosen._dtype}: write x != 0")
    beside = next((value._dtype for value in (a, b) if isinstance(value, Secret)), None)
    if beside is None:
        beside = _checked(BOOL, _typed(a, b), "where")._dtype
    yes, no = _checked(beside, a, "where"), _checked(beside, b, "where")
    common = promoted(yes._dtype, no._dtype)
    length = broadcast(chosen._length, broadcast(yes._length, no._length))
    known, first, second = given(session, chosen), given(session, yes), given(session, no)
    return step("select", (known, cast(first, common), cast(second, common)), (), common, length)


def _typed(a: object, b: object) -> object:
    """Give the public value that has a type of its own, or the first one. A stated type comes before that of numpy."""
    for value in sorted((a, b), key=lambda value: not isinstance(value, Array)):
        if hasattr(value, "dtype") or isinstance(value, (list, tuple)):
            return value
        if isinstance(value, float):
            raise TypeError("where has whole numbers here: write s.public(value, cenote.fixed(32, 16)) for others")
    return a


def minimum(a: object, b: object) -> Secret:
    """Give the lesser of two at each place.

    Examples
    --------
    >>> cenote.minimum(s.input(0, [3, 1]), s.input(1, [2, 2])).open()
    array([2, 1])
    """
    return _either("minimum", "min", a, b)


def maximum(a: object, b: object) -> Secret:
    """Give the greater of two at each place.

    Examples
    --------
    >>> cenote.maximum(s.input(0, [3, 1]), 2).open()
    array([3, 2])
    """
    return _either("maximum", "max", a, b)


def _either(what: str, name: str, a: object, b: object) -> Secret:
    _first(what, a, b)
    made = operate(name, a, b)
    if made is NotImplemented:
        public = b if isinstance(a, Secret) else a
        raise TypeError(f"{what} does not take a {type(public).__name__}: give secrets, numbers or arrays")
    return made


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
    every = list(rows)
    like = _first("concatenate", *every)
    known = [_checked(like._dtype, each, "concatenate") for each in every]
    common = reduce(promoted, (each._dtype for each in known))
    length = sum(1 if each._length is None else each._length for each in known)
    parts = [cast(each, common) for each in [given(like._session, each) for each in known]]
    return step("concat", tuple(parts), (), common, length)


class _Factors:
    """Two rows whose products are summed: checked first, and then given in the bits in which that is done."""

    def __init__(self, what: str, a: object, b: object) -> None:
        like = _first(what, a, b)
        self.session = like._session
        self.rows = [_checked(like._dtype, each, what) for each in (a, b)]
        if any(each._length is None for each in self.rows):
            raise TypeError(f"{what} is of rows, and one of these is a single value: write a * b")
        self.lengths = [each._length for each in self.rows]
        self.result = of = promoted(self.rows[0]._dtype, self.rows[1]._dtype)
        if of is BOOL:
            raise TypeError(f"{what} of bools is none: write (a & b).any(), or (a & b).count_nonzero()")
        self.wide = with_width(of, of.width + of.fraction) if of.fraction else of

    def given(self) -> tuple[Secret, Secret, Type, Type]:
        first, second = (given(self.session, each) for each in self.rows)
        return cast(first, self.wide), cast(second, self.wide), self.wide, self.result


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
    factors = _Factors("dot", a, b)
    length, other = factors.lengths
    if length != other:
        raise ValueError(f"dot takes rows of one length, not of {length} and {other}")
    first, second, wide, result = factors.given()
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
    factors = _Factors("matmul", a, b)
    try:
        n, k, m = (int(count.__index__()) for count in shape)
    except (TypeError, ValueError, AttributeError):
        raise TypeError("shape is (n, k, m): n lines of k values times k lines of m") from None
    if min(n, k, m) < 1 or factors.lengths != [n * k, k * m]:
        lengths = " and ".join(map(str, factors.lengths))
        raise ValueError(f"shape=({n}, {k}, {m}) takes rows of {n * k} and {k * m} values, not of {lengths}")
    first, second, wide, result = factors.given()
    # One block of all places of the product for each of the k values that are summed there.
    cells = [(t, i, j) for t in range(k) for i in range(n) for j in range(m)]
    left = step("take", (first,), tuple(i * k + t for t, i, _ in cells), wide, len(cells))
    right = step("take", (second,), tuple(t * m + j for t, _, j in cells), wide, len(cells))
    products = step("mul", (left, right), (), wide, len(cells))
    return _summed(products, n * m, wide, result, n * m)
