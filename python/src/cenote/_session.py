"""Sessions: programs over secrets, written as ordinary code.

>>> import numpy as np
>>> with cenote.session(parties=3) as s:
...     a = s.input(0, np.array([3, 1, 2], dtype=np.uint32))
...     b = s.input(1, np.array([9, 4, 7], dtype=np.uint32))
...     print((a * b).sum().open())
45

The program runs once, in this process. Where all parties are on this machine, each is a process of its own, which is
told the operations and its own inputs only: no code and no other object goes there, so nothing needs to be pickled.
Between organisations each of them runs the program. The parties compare what it does before they do any of it, and
stop with an error where it differs.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from cenote import _cenote, _records
from cenote._cenote import BadInput, CenoteError, UsageError
from cenote._columns import Columns
from cenote._encode import decoded, encoded, inferred
from cenote._function import Function, of_file, recorded
from cenote._memory import Memory
from cenote._public import given, row
from cenote._secret import Secret
from cenote._steps import mixed
from cenote._types import Type, dtype_of, length_of, whole_of

_log = logging.getLogger("cenote")


def need_numpy() -> None:
    """Refuse to go on without numpy, which programs use for what they take and give."""
    try:
        import numpy as numpy
    except ImportError:
        raise ImportError(
            "programs take and give arrays of numpy, which is not installed: pip install 'cenote[numpy]'"
        ) from None


class Session(Columns):
    """A program that parties run while it is written. :func:`cenote.session` and :meth:`Party.session` start it.

    At the end of the ``with`` statement the parties end in agreement; if an exception leaves it, they stop.

    Examples
    --------
    >>> with cenote.session() as s:
    ...     secret = s.input(0, [5, 6])
    >>> secret + 1
    Traceback (most recent call last):
        ...
    cenote.UsageError: the session is closed: what is to be computed belongs into its with statement
    """

    def __init__(self, native: _cenote.Program) -> None:
        super().__init__(native)
        self._parties = native.parties
        self._me = native.me
        self._report: dict[str, Any] | None = None
        self._is_open = True
        self._state = ""

    @property
    def parties(self) -> int:
        """How many parties there are."""
        return self._parties

    @property
    def me(self) -> int | None:
        """The party of this process; None where all parties are on this machine."""
        return self._me

    @property
    def report(self) -> dict[str, Any] | None:
        """What it cost each party that is here, once it is closed: gates, rounds, bytes, seconds, memory."""
        return self._report

    def __repr__(self) -> str:
        who = "" if self._me is None else f", this is party {self._me}"
        return f"<session of {self._parties} parties{who}{self._state}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._stop("the session was stopped by an error")

    def close(self) -> None:
        """End in agreement with the other parties. The ``with`` statement does it.

        If the session has ended before, by an error or an interrupt, nothing is left to do.
        """
        if not self._is_open:
            return
        try:
            ended = json.loads(self._native.close())
        except BaseException as error:
            if isinstance(error, UsageError) and str(error).startswith("the session has ended"):
                self._stop(str(error))
                return
            self._failed(error)
            raise
        self._over("the session is closed: what is to be computed belongs into its with statement", ", closed")
        self._report = {"parties": [party["costs"] for party in ended]}
        for party in ended:
            for warning in party["warnings"]:
                _log.warning("%s", warning)

    def _over(self, why: str, state: str) -> None:
        self._end(why)
        self._is_open = False
        self._state = state

    def _stop(self, why: str) -> None:
        """End without agreement. It raises nothing, so that the exception on its way gets through."""
        if self._is_open:
            try:
                self._native.stop()
            except Exception as error:
                _log.warning("the session was not stopped in order: %s", error)
            self._over(why, ", ended")

    def _failed(self, error: BaseException) -> None:
        # A wrong call changes nothing. Of all else the session ends, and of an interrupt too, wherever it came in.
        if isinstance(error, CenoteError) and not isinstance(error, UsageError):
            self._stop(f"the session has ended: {error}")
        elif not isinstance(error, Exception):
            self._stop("the session has ended: it was interrupted")

    def input(self, owner: int, values: Any = None, dtype: object = None, length: int | None = None) -> Secret:
        """Take the values of a party as secrets.

        Parameters
        ----------
        owner
            The party whose values they are.
        values
            An array, a list, a single number, or what :func:`cenote.array` gives. Between organisations only the owner
            gives them.
        dtype
            Their type: a dtype of numpy, ``bool``, or :func:`cenote.uint`, :func:`cenote.int_` or
            :func:`cenote.fixed`. Without it the one that numpy has for them.
        length
            How many they are, at parties that do not give them; None for a single number.

        Returns
        -------
        Secret
            The secrets; their type and number are public.

        Raises
        ------
        BadInput
            A value does not fit the type. The message names its place, and never quotes the value.

        Examples
        --------
        >>> s.input(0, [1.5, -0.25], dtype=cenote.fixed(32, 16))
        <secret cenote.fixed(32, 16), shape (2,), not opened>

        Between organisations, at party 1:

        >>> a = s.input(0, dtype=np.uint32, length=3)  # doctest: +SKIP
        >>> b = s.input(1, [9, 4, 7], dtype=np.uint32)  # doctest: +SKIP
        """
        owner = self._party(owner)
        what = f"the input of party {owner}"
        count = length_of(length)
        data: bytes | None = None
        if self._me is None or self._me == owner:
            if values is None:
                raise UsageError(f"party {owner} is here: give its values")
            if isinstance(values, Secret):
                raise TypeError(f"{what} is a secret already")
            if dtype is None and self._me is not None and not hasattr(values, "dtype"):
                raise UsageError(f"state the dtype of {what}: what is inferred from values would be told to the others")
            of = inferred(values, what) if dtype is None else dtype_of(dtype)
            data, number_of = encoded(values, of, what)
            if length is not None and number_of != count:
                raise BadInput(f"{what} has {1 if number_of is None else number_of} values, and not length={count}")
            count = number_of
        else:
            if values is not None:
                raise UsageError(
                    f"this is party {self._me}, and the values of party {owner} stay there: write "
                    f"s.input({owner}, dtype=…, length=…)"
                )
            if dtype is None:
                raise UsageError(f"state the dtype of {what}, which is given there, and its length")
            of = dtype_of(dtype)
        number = self._call("input", owner, of.width, 1 if count is None else count, data, _kind(of, count))
        return Secret(self, number, of, count)

    def public(self, values: Any, dtype: object = None) -> Secret:
        """Take values that all parties know and give, for use among secrets.

        Examples
        --------
        >>> s.public([1, 2], dtype=np.uint8)
        <secret uint8, shape (2,), not opened>
        """
        if isinstance(values, Secret):
            raise TypeError("a secret is not public: write x.open() if all may know it")
        return given(self, row(None if dtype is None else dtype_of(dtype), values, "the public value"))

    def random(self, dtype: object, length: int | None = None) -> Secret:
        """Draw values of which all bits are random and which nobody knows.

        Examples
        --------
        >>> coins = s.random(bool, 100)
        >>> bool((coins.count_nonzero() <= 100).open())
        True
        """
        of = dtype_of(dtype)
        count = length_of(length)
        number = self._apply("random", (), (of.width, 1 if count is None else count))
        return Secret(self, number, of, count)

    def reveal(self, *secrets: Secret, to: Iterable[int] | None = None) -> Any:
        """Reveal several secrets at once, which takes fewer messages than one after the other.

        Parameters
        ----------
        *secrets
            The secrets.
        to
            The parties that learn them. Without it, all do.

        Returns
        -------
        array, list of arrays, or None
            The values of a single secret, or a list of those of several; None at a party that does not learn them.

        Examples
        --------
        >>> a = s.input(0, [3, 1, 2])
        >>> s.reveal(a.min(), a.max())
        [np.int64(1), np.int64(3)]
        """
        if not secrets:
            raise TypeError("reveal takes at least one secret")
        for secret in secrets:
            if not isinstance(secret, Secret):
                raise TypeError(f"a {type(secret).__name__} is no secret, so it is not revealed")
            if secret._session is not self:
                raise mixed()
        learn = self._learning(to)
        kinds = [_kind(secret._dtype, secret._length) for secret in secrets]
        data = self._call("reveal", [secret._number for secret in secrets], learn, kinds)
        if data is None:
            return None
        values = [decoded(bits, secret._dtype, secret._length) for bits, secret in zip(data, secrets, strict=True)]
        return values[0] if len(values) == 1 else values

    def open(self, *secrets: Secret) -> Any:
        """Reveal several secrets to all parties: :meth:`reveal` without ``to``.

        Examples
        --------
        >>> a = s.input(0, [3, 1, 2])
        >>> s.open(a.min(), a.max())
        [np.int64(1), np.int64(3)]
        """
        return self.reveal(*secrets)

    def _party(self, party: object) -> int:
        number = whole_of(party)
        if number is None:
            raise TypeError(f"a party is a number, 0 to {self._parties - 1}, not a {type(party).__name__}")
        if not 0 <= number < self._parties:
            raise UsageError(f"there is no such party: they are 0 to {self._parties - 1}")
        return number

    def _learning(self, to: object) -> list[int]:
        """Give the parties that learn something, from the first to the last."""
        if to is None:
            return list(range(self._parties))
        if not isinstance(to, Iterable) or getattr(to, "ndim", 1) != 1 or isinstance(to, str):
            raise TypeError("the parties that learn it are a list: write to=[0]")
        learn = sorted({self._party(party) for party in to})
        if not learn:
            raise UsageError("somebody learns it: give at least one party, such as to=[0]")
        return learn

    def open_chosen(self, chosen: Any, *columns: Secret, to: Iterable[int] | None = None) -> Any:
        """Reveal how many rows of a table are chosen, and these rows in their order. Of the others nothing is shown.

        Parameters
        ----------
        chosen
            Secret bools, or public ones.
        *columns
            The columns of the table.
        to
            The parties that learn it. Without it, all do.

        Returns
        -------
        array, list of arrays, or None
            The chosen values of a single column, or a list of those of several: empty arrays if there are none. None
            at a party that does not learn them.

        Examples
        --------
        >>> pay = s.input(0, [4000, 2000, 3000])
        >>> s.open_chosen(pay > 2500, pay)
        array([4000, 3000])
        >>> s.open_chosen(pay > 9000, pay)
        array([], dtype=int64)
        """
        learn = self._learning(to)
        *moved, count = _records.compacted(self, chosen, columns)
        if len(learn) == self._parties:
            known = int(self.reveal(count))
            if known:
                return self.reveal(*(column[:known] for column in moved))
            values = [decoded(b"", column._dtype, 0) for column in moved]
        else:
            # Nobody else learns how many there are: rows of zeros go along.
            told = self.reveal(count, *moved, to=learn)
            if told is None:
                return None
            values = [column[: int(told[0])] for column in told[1:]]
        return values[0] if len(values) == 1 else values

    def memory(self, values: Any, dtype: object = None) -> Memory:
        """Give a memory of these values, which is read and written at secret places.

        Examples
        --------
        >>> s.memory(np.zeros(1000, dtype=np.uint16))
        <memory of 1000 secret uint16>
        """
        of = None if dtype is None else dtype_of(dtype)
        kept = values if isinstance(values, Secret) else row(of, values, "the row of the memory")
        if isinstance(kept, Secret) and kept._session is not self:
            raise mixed()
        if kept._length is None:
            raise TypeError("a memory is of a row, and this is a single value")
        known = given(self, kept)
        return Memory(self, known if of is None else known.astype(of))

    def function(self, function: Callable[..., Any], *dtypes: object) -> Function:
        """Record a function once, as a circuit.

        Parameters
        ----------
        function
            Takes single secrets of these types and returns one or several. It is called once, here.
        *dtypes
            The type of each argument.

        Returns
        -------
        Function
            Called with secrets or public values. With rows it is done in each place.

        Examples
        --------
        >>> larger = s.function(lambda a, b: cenote.maximum(a, b), np.uint16, np.uint16)
        >>> larger
        <function (uint16, uint16) -> (uint16)>
        >>> larger(s.input(0, np.array([1, 5], dtype=np.uint16)), 3).open()
        array([3, 5], dtype=uint16)
        """
        return recorded(self, function, dtypes)

    def circuit(
        self,
        path: str | os.PathLike[str],
        inputs: Sequence[object] | None = None,
        outputs: Sequence[object] | None = None,
    ) -> Function:
        """Take a circuit from a file in Bristol Fashion, as a function.

        Parameters
        ----------
        path
            The file.
        inputs, outputs
            The types of what it takes and gives. Several may fill one input or output of the file, the first its
            lowest bits. Without them, each is an ``uint`` of its width.

        Examples
        --------
        >>> s.circuit("sha256.txt", inputs=[np.uint32] * 24, outputs=[np.uint32] * 8)  # doctest: +SKIP
        """
        return of_file(self, path, inputs, outputs)


def _kind(dtype: Type, length: int | None) -> str:
    """Say what a value is, which the parties compare."""
    return f"{dtype!r} {'single' if length is None else 'row'}"
