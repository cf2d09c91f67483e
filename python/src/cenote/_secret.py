"""Secrets: rows of numbers that no party sees, used as arrays of numpy are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

from cenote._arithmetic import binary, cast, clipped, converted, is_true, quotient, step
from cenote._cenote import UsageError
from cenote._encode import plain, single
from cenote._masks import count, mask_of, masked
from cenote._operators import Operators, masked_by_secret
from cenote._steps import Steps, constant
from cenote._types import BOOL, INT64, Type, dtype_of, fixed, total, with_width


class Secret(Operators):
    """A row of secret numbers of one type, or a single one; sessions and calculations make it.

    It is used as a one-dimensional array of numpy: operators, comparisons, slices and the methods below have numpy's
    meaning, types and broadcasting, and ``a @ b`` of two rows is their dot product. Numbers of Python take the type of
    the secret. Where numpy would go from whole numbers to floats, secrets stay whole: uint64 with int64 gives 128
    bits, and whole numbers have no ``/``. Whole numbers wrap around when they overflow, and so do fixed-point numbers.
    A division by zero gives 0. The rows of a Series of pandas go by their position, and not by its index. Masked arrays
    of numpy, and a Series before ``@``, do not leave the operator to what is right of them: write ``s.public(a) + x``.

    Whether, where and how often something is done cannot depend on a secret, so ``if``, ``int()`` and iteration
    raise a TypeError. A secret never changes.

    Examples
    --------
    >>> a = s.input(0, np.array([3, 1, 2], dtype=np.uint32))
    >>> b = s.input(1, np.array([9, 4, 7], dtype=np.uint32))
    >>> a
    <secret uint32, shape (3,), not opened>
    >>> (a * b + 1).open()
    array([28,  5, 15], dtype=uint32)
    >>> (a * b).sum().open()
    np.uint64(45)
    """

    __slots__ = ()

    @property
    def dtype(self) -> Type:
        """The type of each value."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """``()`` for a single value, ``(n,)`` for a row."""
        return () if self._length is None else (self._length,)

    @property
    def ndim(self) -> int:
        """0 for a single value, 1 for a row."""
        return 0 if self._length is None else 1

    @property
    def size(self) -> int:
        """The number of values."""
        return 1 if self._length is None else self._length

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("a single secret has no len()")
        return self._length

    def __repr__(self) -> str:
        return f"<secret {self._dtype}, shape {self.shape}, not opened>"

    __str__ = __repr__

    def __array_function__(
        self, function: Callable[..., Any], types: object, given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        from cenote import _rows

        name = function.__name__.removeprefix("a" if function.__name__ in ("amin", "amax") else "")
        takes = _FUNCTIONS.get(name) or _METHODS.get(name)
        options = _OPTIONS.get(name, ())
        if takes is not None and (len(given) != takes or not named.keys() <= set(options)):
            plus = "".join(f", {option}=" for option in options)
            raise TypeError(
                f"np.{name} of secrets takes {takes} argument{'s' * (takes > 1)}{plus} and no others, such as axis"
            )
        if name in _FUNCTIONS:
            return getattr(_rows, name)(*given)
        if takes is not None and isinstance(given[0], Secret):
            return getattr(given[0], name)(*given[1:], **named)
        if takes is not None and isinstance(named.get("where"), Secret):
            raise masked_by_secret(name)
        raise TypeError(f"np.{name} does not take secrets: write what it does with their own methods and operators")

    def open(self) -> Any:
        """Reveal it to all parties.

        All that was computed before is verified first, so nobody learns a wrong value.

        Returns
        -------
        numpy.ndarray or a scalar of numpy
            Of the type itself, or for types that numpy does not have the next larger one. Fixed-point numbers come as
            float64, which is exact up to 53 bits and rounded above. More than 64 bits come as Python's int.

        Raises
        ------
        CheatingDetected
            Another party did not do what the protocol says.

        Examples
        --------
        >>> (s.input(0, [1, 2]) + s.input(1, [10, 20])).open()
        array([11, 22])
        """
        return self._opener().reveal(self)

    def reveal(self, *, to: Iterable[int]) -> Any:
        """Reveal it to some parties.

        Parameters
        ----------
        to
            The parties that learn it.

        Returns
        -------
        numpy.ndarray, a scalar of numpy, or None
            The values as :meth:`open` gives them; None at a party that is not among them.

        Examples
        --------
        >>> s.input(1, [5, 6]).reveal(to=[0])
        array([5, 6])
        """
        return self._opener().reveal(self, to=to)

    def _opener(self) -> Any:
        if self._session._only_single:
            raise UsageError("a function reveals nothing: return the secret, and open what its call gives")
        return self._session

    def astype(self, dtype: object) -> Secret:
        """Give it as another type, as numpy does.

        Whole numbers lose the bits above; fixed-point numbers become whole ones without what is after the point, and
        fewer bits after the point are rounded to the nearest, up from the middle. Whatever is not zero is True.

        Examples
        --------
        >>> x = s.input(0, [1.75, -1.75], dtype=cenote.fixed(16, 8))
        >>> x.astype(np.int16).open()
        array([ 1, -1], dtype=int16)
        """
        return converted(self, dtype_of(dtype))

    def bit(self, place: int) -> Secret:
        """Give one bit of each value; bit 0 is the lowest.

        Examples
        --------
        >>> s.input(0, [4, 5, 6]).bit(0).open()
        array([False,  True, False])
        """
        if isinstance(place, Secret):
            raise TypeError("the place of a bit is public: write ((x >> place) & 1).astype(bool)")
        at = operator.index(place)
        if not 0 <= at < self._dtype.width:
            raise IndexError(f"{self._dtype} has bits 0 to {self._dtype.width - 1}, and no others")
        return step("part", (self,), (at, 1), BOOL, self._length)

    def _row(self, what: str) -> int:
        if self._length is None:
            raise TypeError(f"{what} is of a row, and this is a single secret")
        return self._length

    def sum(self, *, where: object = True) -> Secret:
        """Sum the values, in 64 bits where they are narrower.

        Parameters
        ----------
        where
            Which values count: secret bools or public ones. Public ones are told to all parties and must be the same at
            each; a mask that depends on the data of one party is ``s.input(party, mask)``. If they are secret, so
            is how many are True.

        Examples
        --------
        >>> s.input(0, np.array([200, 100], dtype=np.uint8)).sum().open()
        np.uint64(300)
        >>> pay, region = s.input(0, [4000, 2000, 3000]), s.input(1, [1, 2, 1])
        >>> pay.sum(where=region == 1).open()
        np.int64(7000)
        """
        self._row("sum()")
        dtype = total(self._dtype)
        values = masked(self, mask_of(self, where), 0)
        return step("sum", (values,), (dtype.width, int(self._dtype.signed), 1), dtype, None)

    def mean(self, *, where: object = True) -> Secret:
        """Give the mean, rounded to the nearest, up from the middle. The sum does not overflow.

        Fixed-point numbers have a mean of their own type, and whole numbers of at most 47 bits one of
        ``fixed(64, 16)``.

        Parameters
        ----------
        where
            Which values count: secret bools or public ones. Public ones are told to all parties and must be the same at
            each; a mask that depends on the data of one party is ``s.input(party, mask)``. The mean of none is 0.

        Examples
        --------
        >>> s.input(0, [1.5, 2.0, 2.5, 4.0], dtype=cenote.fixed(32, 16)).mean().open()
        np.float64(2.5)
        >>> pay, region = s.input(0, [40, 20, 30], dtype=np.int32), s.input(1, [1, 2, 1])
        >>> pay.mean(where=region == 1).open()
        np.float64(35.0)
        """
        length, dtype = self._row("mean()"), self._dtype
        result = dtype if dtype.kind == "fixed" else fixed(64, 16)
        if dtype.kind != "fixed" and dtype.width > _MEAN_BITS:
            raise TypeError(
                f"the mean of {dtype} does not fit {result}: write x.astype(cenote.int_({_MEAN_BITS})).mean() if the "
                "values fit that, or x.sum() // len(x) for a mean that is rounded down"
            )
        more = result.fraction - dtype.fraction
        wide = with_width(result, dtype.width + length.bit_length() + 2 + more)
        mask = mask_of(self, where)
        added = step("sum", (masked(self, mask, 0),), (wide.width, int(dtype.signed), 1), wide, None)
        doubled = step("shl", (added,), (1 + more,), wide, None)
        own = result if wide.width > result.width else with_width(result, wide.width - 1)
        made = quotient(doubled, count(self, mask, wide), own, None)
        return made if own is result else step("resize", (made,), (result.width, 1), result, None)

    def median(self) -> Secret:
        """Give the value in the middle, or the :meth:`mean` of the two in the middle, in the type of that.

        Examples
        --------
        >>> s.input(0, [7, 1, 2, 4], dtype=np.int32).median().open()
        np.float64(3.0)
        """
        length = self._row("median()")
        return self.sort()[(length - 1) // 2 : length // 2 + 1].mean()

    def min(self, *, initial: object = None, where: object = True) -> Secret:
        """Give the least value.

        Parameters
        ----------
        initial
            A public number that counts too, and is the result if no value does. With ``where`` it must be given.
        where
            Which values count: secret bools or public ones. Public ones are told to all parties and must be the same at
            each; a mask that depends on the data of one party is ``s.input(party, mask)``.

        Examples
        --------
        >>> s.input(0, [3, 1, 2]).min().open()
        np.int64(1)
        >>> s.input(0, [3, 1, 2]).min(initial=9, where=[False, False, True]).open()
        np.int64(2)
        """
        return self._extreme("min", "least", initial, where)

    def max(self, *, initial: object = None, where: object = True) -> Secret:
        """Give the greatest value.

        Parameters
        ----------
        initial
            A public number that counts too, and is the result if no value does. With ``where`` it must be given.
        where
            Which values count: secret bools or public ones. Public ones are told to all parties and must be the same at
            each; a mask that depends on the data of one party is ``s.input(party, mask)``.

        Examples
        --------
        >>> s.input(0, [3, 1, 2]).max().open()
        np.int64(3)
        >>> s.input(0, [3, 1, 2]).max(initial=0, where=[False, False, True]).open()
        np.int64(2)
        """
        return self._extreme("max", "greatest", initial, where)

    def _extreme(self, name: str, of_row: str, initial: object, where: object) -> Secret:
        self._row(f"{name}()")
        if isinstance(initial, Secret):
            inner, more = "", ""
            if where is not True:
                far = "least" if name == "max" else "greatest"
                inner, more = "initial=b, where=mask", f" and the {far} b there is"
            raise TypeError(
                f"the initial value of {name} is public: write cenote.{name}imum(x.{name}({inner}), a) for a secret "
                f"a{more}"
            )
        first = None if initial is None else single(initial, self._dtype, f"the initial value of {name}")
        if first is None and where is not True:
            raise ValueError(f"{name} with where= has an initial value, which is the result where no value counts")
        values = masked(self, mask_of(self, where), first or 0)
        made = step(of_row, (values,), (int(self._dtype.signed),), self._dtype, None)
        return made if first is None else binary(name, made, constant(self._session, self._dtype, first))

    def argmin(self) -> Secret:
        """Give the first place that has the least value.

        Examples
        --------
        >>> s.input(0, [3, 1, 1]).argmin().open()
        np.int64(1)
        """
        self._row("argmin()")
        return step("argmin", (self,), (int(self._dtype.signed),), INT64, None)

    def argmax(self) -> Secret:
        """Give the first place that has the greatest value.

        Examples
        --------
        >>> s.input(0, [3, 1, 3]).argmax().open()
        np.int64(0)
        """
        self._row("argmax()")
        return step("argmax", (self,), (int(self._dtype.signed),), INT64, None)

    def count_nonzero(self) -> Secret:
        """Count the values that are not zero, or True.

        Examples
        --------
        >>> (s.input(0, [3, 1, 2]) >= 2).count_nonzero().open()
        np.int64(2)
        """
        self._row("count_nonzero()")
        return step("count", (is_true(self),), (), INT64, None)

    def any(self, *, where: object = True) -> Secret:
        """Give whether any value is True, or not zero.

        Parameters
        ----------
        where
            Which values count: secret bools or public ones. Public ones are told to all parties and must be the same at
            each; a mask that depends on the data of one party is ``s.input(party, mask)``.

        Examples
        --------
        >>> (s.input(0, [3, 1, 2]) == 2).any().open()
        np.True_
        """
        self._row("any()")
        mask = mask_of(self, where)
        return step("any", (masked(is_true(self), mask, 0),), (), BOOL, None)

    def all(self, *, where: object = True) -> Secret:
        """Give whether all values are True, or not zero.

        Parameters
        ----------
        where
            Which values count: secret bools or public ones. Public ones are told to all parties and must be the same at
            each; a mask that depends on the data of one party is ``s.input(party, mask)``.

        Examples
        --------
        >>> (s.input(0, [3, 1, 2]) == 2).all().open()
        np.False_
        """
        self._row("all()")
        mask = mask_of(self, where)
        return step("all", (masked(is_true(self), mask, 1),), (), BOOL, None)

    def cumsum(self) -> Secret:
        """Give the sums up to each place, in the type of :meth:`sum`.

        Examples
        --------
        >>> s.input(0, [3, 1, 2]).cumsum().open()
        array([3, 4, 6])
        """
        length, dtype = self._row("cumsum()"), total(self._dtype)
        # In as many bits as the last sum may have.
        width = min(dtype.width, self._dtype.width + length.bit_length())
        narrow = with_width(self._dtype, width) if width < dtype.width else dtype
        summed = step("cumsum", (cast(self, narrow),), (), narrow, length)
        return (
            summed if narrow is dtype else step("resize", (summed,), (dtype.width, int(narrow.signed)), dtype, length)
        )

    def sort(self) -> Secret:
        """Give the row from the least value to the greatest, as ``np.sort`` does.

        Examples
        --------
        >>> s.input(0, [3, 1, 2]).sort().open()
        array([1, 2, 3])
        """
        length = self._row("sort()")
        return step("sort", (self,), (self._dtype.width, int(self._dtype.signed)), self._dtype, length)

    def clip(self, least: object, greatest: object) -> Secret:
        """Give what is below ``least`` as that, and what is above ``greatest`` as that.

        Examples
        --------
        >>> s.input(0, [-5, 1, 70]).clip(0, 9).open()
        array([0, 1, 9])
        """
        return clipped(self, least, greatest)

    def take(self, places: Sequence[int] | Any) -> Secret:
        """Give the values at public places, which may come several times; negative ones count from the end.

        Examples
        --------
        >>> s.input(0, [30, 10, 20]).take([2, 2, -3]).open()
        array([20, 20, 30])
        """
        length = self._row("take()")
        if isinstance(places, Secret):
            raise TypeError(_PLACES)
        known = self._places(places, length)
        return step("take", (self,), tuple(known), self._dtype, len(known))

    def _places(self, places: Any, length: int) -> list[int]:
        array = plain(places, "the row of places")
        if array.dtype.kind == "b":
            raise TypeError(
                "a row of bools is no row of places: write x.take(np.flatnonzero(chosen)) if it is public, and "
                "s.compact(chosen, x) if it is secret"
            )
        if array.ndim != 1 or (array.dtype.kind not in "ui" and len(array)):
            raise TypeError("places are a flat list of whole numbers")
        if not len(array):
            raise UsageError("a row has at least one secret, so at least one place is taken")
        wrong = (array < -length) | (array >= length)
        if wrong.any():
            raise IndexError(f"number {int(wrong.argmax())} of the places is out of bounds for a row of {length}")
        return [int(place) % length for place in array]

    def __getitem__(self, place: SupportsIndex | slice | Sequence[int] | Any) -> Secret:
        if isinstance(place, Secret):
            raise TypeError(_CHOSEN if place._dtype is BOOL else _PLACES)
        length = self._row("an index")
        if isinstance(place, slice):
            places = range(length)[place]
            if not places:
                raise UsageError("a row has at least one secret, and this slice has none")
            if places.step == 1:
                return step("slice", (self,), (places.start, len(places)), self._dtype, len(places))
            return step("take", (self,), tuple(places), self._dtype, len(places))
        if isinstance(place, (list, range)) or getattr(place, "ndim", 0) == 1:
            return self.take(place)
        if isinstance(place, bool) or not isinstance(place, SupportsIndex):
            raise TypeError(
                "a row has one index: a whole number, a slice, or a list of places; write s.compact(chosen, x) to "
                f"choose by secret bools ({type(place).__name__} given)"
            )
        at = operator.index(place)
        if not -length <= at < length:
            raise IndexError(f"the place is out of bounds for a row of {length}")
        return step("slice", (self,), (at % length, 1), self._dtype, None)


Steps._secret = Secret

# Whole numbers of so many bits fit fixed(64, 16).
_MEAN_BITS = 47
_PLACES = "a place is public here: write s.memory(x).read(place) for a secret one"
_CHOSEN = "secret bools are no index, since how many are True is secret: write s.compact(chosen, x), or cenote.where"
# The functions of numpy that take secrets, and how many arguments each takes.
_FUNCTIONS = {"where": 3, "concatenate": 1, "dot": 2}
_METHODS = {
    **dict.fromkeys(
        ["all", "any", "argmax", "argmin", "count_nonzero", "cumsum", "max", "mean", "median", "min", "sort", "sum"], 1
    ),
    "take": 2,
    "clip": 3,
}
_OPTIONS = {
    **dict.fromkeys(["all", "any", "mean", "sum"], ("where",)),
    **dict.fromkeys(["max", "min"], ("initial", "where")),
}
