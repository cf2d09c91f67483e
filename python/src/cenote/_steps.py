"""How the steps of a program reach the native class, and which values it may forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from cenote import _cenote
from cenote._cenote import UsageError
from cenote._types import Type, with_width

_CONSTANTS = 256


class Closed:
    """What stands for the native class of a session that has ended."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> NoReturn:
        raise UsageError(self._why)


class Steps:
    """What a program has done so far: a session, or the recording of a function.

    Parameters
    ----------
    native
        Takes each step.
    only_single
        Whether there are no rows, as in a function.
    """

    # The class of secrets, which names itself here.
    _secret: ClassVar[type[Any]]

    def __init__(self, native: _cenote.Program, *, only_single: bool = False) -> None:
        self._native: Any = native
        # Numbers of values that Python has no more: the collector may add to it at any time and in any thread, so it
        # stays the same list, and the native class is told of them with the next step.
        self._dropped: list[int] = []
        self._constants: dict[tuple[Type, int], Any] = {}
        self._only_single = only_single

    def _apply(self, name: str, operands: Sequence[int], numbers: Sequence[int] = ()) -> int:
        number: int = self._call("apply", name, operands, numbers)
        return number

    def _call(self, name: str, *given: Any) -> Any:
        """Call the native class, which is told first what it may forget."""
        if self._dropped:
            self._forget()
        try:
            return getattr(self._native, name)(*given)
        except BaseException as error:
            self._failed(error)
            raise

    def _public(self, dtype: Type, length: int | None, data: bytes) -> int:
        if self._only_single and length is not None:
            raise UsageError("each value in a function is a single one: use numbers, and give rows where it is called")
        number: int = self._call("public", dtype.width, 1 if length is None else length, data)
        return number

    def _failed(self, error: BaseException) -> None:
        """Take note of what a call of the native class raised."""

    def _forget(self) -> None:
        count = len(self._dropped)
        known = self._dropped[:count]
        del self._dropped[:count]
        self._native.forget(known)

    def _end(self, why: str) -> Any:
        """Refuse what comes from now on for this reason. Give the native class."""
        native = self._native
        self._native = Closed(why)
        self._constants.clear()
        return native


class Value:
    """A secret that the native class knows by a number. It is forgotten with this object, so each has its own."""

    __slots__ = ("_dtype", "_length", "_number", "_session")

    _session: Steps
    _number: int
    _dtype: Type
    _length: int | None

    def __init__(self, session: Steps, number: int, dtype: Type, length: int | None) -> None:
        self._session = session
        self._number = number
        self._dtype = dtype
        self._length = length

    def __del__(self) -> None:
        self._session._dropped.append(self._number)


def constant(session: Steps, dtype: Type, whole: int) -> Any:
    """Give a public whole number as a single secret, in the bits of this type."""
    known = session._constants.get((dtype, whole))
    if known is None:
        if dtype.width > 128:
            # Public values have at most 128 bits.
            narrow = constant(session, with_width(dtype, 128), whole)
            number = session._apply("resize", (narrow._number,), (dtype.width, int(dtype.signed)))
        else:
            size = 8 if dtype.width <= 64 else 16
            number = session._public(dtype, None, (whole & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
        known = session._secret(session, number, dtype, None)
        if len(session._constants) >= _CONSTANTS:
            session._constants.clear()
        session._constants[dtype, whole] = known
    return known


def mixed() -> UsageError:
    """Say that secrets of two sessions meet."""
    return UsageError(
        "these secrets are of two sessions: input them into one. A function takes what it needs as arguments"
    )


def broadcast(a: int | None, b: int | None) -> int | None:
    """Give the length of what two lengths make together, as numpy does."""
    if a == b or b is None:
        return a
    if a is None or a == 1:
        return b
    if b == 1:
        return a
    raise ValueError(f"operands could not be broadcast together with shapes ({a},) ({b},)")
