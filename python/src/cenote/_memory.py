"""Memories: rows that are read and written at places that nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cenote._public import Public, checked, given
from cenote._secret import Secret
from cenote._steps import Value, mixed
from cenote._types import BOOL, Type, uint, whole_of

if TYPE_CHECKING:
    from cenote._session import Session


class Memory:
    """A row of secrets that is read and written at secret places. :meth:`Session.memory` makes it.

    An access costs far less than going through the whole row, once the row is long. A place that is none reads 0 and
    writes nothing: a secret place does not count from the end.

    Examples
    --------
    >>> memory = s.memory([10, 20, 30])
    >>> place = s.input(0, 2)
    >>> memory.write(place, memory.read(place) + 1)
    >>> memory.read(2).open()
    np.int64(31)
    """

    __slots__ = ("_dtype", "_length", "_session", "_value")

    def __init__(self, session: Session, row: Secret) -> None:
        self._session = session
        self._dtype = row.dtype
        self._length = len(row)
        self._value = Value(session, session._apply("memory", (row._number,)), row.dtype, len(row))

    @property
    def dtype(self) -> Type:
        """The type of each value."""
        return self._dtype

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<memory of {self._length} secret {self._dtype}>"

    def read(self, place: Secret | int) -> Secret:
        """Give the value at a place.

        Examples
        --------
        >>> s.memory([10, 20, 30]).read(s.input(1, 1)).open()
        np.int64(20)
        """
        at = given(self._session, self._place(place))
        number = self._session._apply("read", (self._value._number, at._number), (int(at._dtype.signed),))
        return Secret(self._session, number, self._dtype, None)

    def write(self, place: Secret | int, value: Any) -> None:
        """Put a value at a place.

        Examples
        --------
        >>> memory = s.memory([10, 20, 30])
        >>> memory.write(s.input(1, 1), 7)
        """
        at, new = self._given(self._place(place), self._single(value))
        self._session._apply("write", (self._value._number, at._number, new._number), (int(at._dtype.signed),))

    def access(self, write: Secret | bool, place: Secret | int, value: Any) -> Secret:
        """Put a value at a place only if ``write`` is True, and give what was there before.

        Nobody learns whether it was written.

        Examples
        --------
        >>> memory = s.memory([10, 20, 30])
        >>> memory.access(s.input(0, True), 0, 11).open()
        np.int64(10)
        >>> memory.read(0).open()
        np.int64(11)
        """
        at, new, chosen = self._given(self._place(place), self._single(value), self._chosen(write))
        operands = (self._value._number, chosen._number, at._number, new._number)
        number = self._session._apply("access", operands, (int(at._dtype.signed),))
        return Secret(self._session, number, self._dtype, None)

    def __getitem__(self, place: Secret | int) -> Secret:
        return self.read(place)

    def __setitem__(self, place: Secret | int, value: Any) -> None:
        self.write(place, value)

    def __iter__(self) -> Any:
        raise TypeError("a memory is not gone through place by place: keep the row that it was made of")

    def _given(self, *values: Secret | Public) -> tuple[Secret, ...]:
        """Give all to the session, once all are known to be right."""
        return tuple(given(self._session, value) for value in values)

    def _chosen(self, write: Any) -> Secret | Public:
        if isinstance(write, Secret):
            if write._session is not self._session:
                raise mixed()
            if write._dtype is BOOL and write._length is None:
                return write
        elif isinstance(write, bool) or (
            getattr(write, "ndim", 1) == 0 and getattr(getattr(write, "dtype", None), "kind", "") == "b"
        ):
            return Public(BOOL, None, int(bool(write)))
        kind = repr(write) if isinstance(write, Secret) else type(write).__name__
        raise TypeError(f"whether it is written is a bool or a single secret bool, not a {kind}")

    def _place(self, place: Secret | int) -> Secret | Public:
        if isinstance(place, Secret):
            if place._session is not self._session:
                raise mixed()
            if place._length is not None:
                raise TypeError(f"a memory is read and written at one place at a time, not at {place!r}")
            if place._dtype.kind not in ("uint", "int"):
                raise TypeError(f"a place is a whole number, not {place._dtype}: write .astype(np.uint32)")
            return place
        at = whole_of(place)
        if at is None:
            raise TypeError(f"a place is a secret or a whole number, not a {type(place).__name__}")
        if not -self._length <= at < self._length:
            raise IndexError(f"the place is out of bounds for a memory of {self._length}")
        return Public(uint(max(1, (self._length - 1).bit_length())), None, at % self._length)

    def _single(self, value: Any) -> Secret | Public:
        what = "the value"
        if isinstance(value, Secret):
            if value._session is not self._session:
                raise mixed()
            new: Secret | Public | None = value
        elif self._dtype is BOOL and not isinstance(value, bool) and not hasattr(value, "dtype"):
            new = None
        else:
            new = checked(self._dtype, value, what)
        if new is None or new._dtype is not self._dtype:
            kind = type(value).__name__ if new is None else new._dtype
            raise TypeError(f"{what} is {self._dtype} as the memory is, not {kind}: write .astype")
        if new._length is not None:
            raise TypeError(f"{what} is a single one, not a row")
        return new
