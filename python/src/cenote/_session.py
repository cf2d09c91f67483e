"""Sessions: programs over secrets, written as ordinary code.

>>> import numpy as np
>>> with cenote.session(parties=3) as s:
...     a = s.input(0, np.array([3, 1, 2], dtype=np.uint32))
...     b = s.input(1, np.array([9, 4, 7], dtype=np.uint32))
...     print((a * b).sum().open())
45

The program runs once, in this process. Where all parties are on this machine, each is a process of its own, which is
told the operations and its own inputs only: no code and no other object goes there, so nothing needs to be pickled.
Between organisations each of them runs the program. The parties compare what it did before anything is revealed, and
stop with an error where it differs.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from cenote import _cenote, _records, _rows
from cenote._cenote import BadInput, UsageError
from cenote._encode import decoded, encoded, inferred
from cenote._function import Function, of_file, recorded
from cenote._memory import Memory
from cenote._records import Groups, Joined, Key
from cenote._secret import Secret
from cenote._steps import Steps, mixed
from cenote._types import dtype_of, length_of

_log = logging.getLogger("cenote")


def need_numpy() -> None:
    """Refuse to go on without numpy, which programs use for what they take and give."""
    try:
        import numpy as numpy
    except ImportError:
        raise ImportError(
            "programs take and give arrays of numpy, which is not installed: pip install 'cenote[numpy]'"
        ) from None


class Session(Steps):
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
        return f"<session of {self._parties} parties{who}{'' if self._is_open else ', closed'}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._stop()

    def close(self) -> None:
        """End in agreement with the other parties. The ``with`` statement does it."""
        if self._is_open:
            self._is_open = False
            native = self._end("the session is closed: what is to be computed belongs into its with statement")
            ended = json.loads(native.close())
            self._report = {"parties": [party["costs"] for party in ended]}
            for party in ended:
                for warning in party["warnings"]:
                    _log.warning("%s", warning)

    def _stop(self) -> None:
        if self._is_open:
            self._is_open = False
            self._end("the session was stopped by an error").stop()

    def input(self, owner: int, values: Any = None, dtype: object = None, length: int | None = None) -> Secret:
        """Take the values of a party as secrets.

        Parameters
        ----------
        owner
            The party whose values they are.
        values
            An array, a list, or a single number. Between organisations only the owner gives them.
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
        self._check_party(owner)
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
            data, given = encoded(values, of, what)
            if length is not None and given != count:
                raise BadInput(f"{what} has {1 if given is None else given} values, and not length={length}")
            count = given
        else:
            if values is not None:
                raise UsageError(
                    f"this is party {self._me}, and the values of party {owner} stay there: write "
                    f"s.input({owner}, dtype=…, length=…)"
                )
            if dtype is None:
                raise UsageError(f"state the dtype of {what}, which is given there, and its length")
            of = dtype_of(dtype)
        if self._dropped:
            self._forget()
        number = self._native.input(owner, of.width, 1 if count is None else count, data)
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
        of = inferred(values, "the public value") if dtype is None else dtype_of(dtype)
        data, length = encoded(values, of, "the public value")
        return Secret(self, self._public(of, length, data), of, length)

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

    def reveal(self, *secrets: Secret, to: Sequence[int] | None = None) -> Any:
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
        if isinstance(to, int):
            raise TypeError(f"the parties that learn it are a list: write to=[{to}]")
        learn = range(self._parties) if to is None else to
        for party in learn:
            self._check_party(party)
        if not len(learn):
            raise UsageError("somebody learns it: give at least one party, such as to=[0]")
        data = self._native.reveal([secret._number for secret in secrets], sorted(set(learn)))
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

    def _check_party(self, party: object) -> None:
        if isinstance(party, bool) or not isinstance(party, int):
            raise TypeError(f"a party is a number, 0 to {self._parties - 1}, not {party!r}")
        if not 0 <= party < self._parties:
            raise UsageError(f"there is no party {party}: they are 0 to {self._parties - 1}")

    def _check_own(self, *values: object) -> None:
        if any(isinstance(value, Secret) and value._session is not self for value in values):
            raise mixed()

    def where(self, condition: object, a: object, b: object) -> Secret:
        """Give ``a`` where the condition is True, and ``b`` elsewhere: :func:`cenote.where`."""
        self._check_own(condition, a, b)
        return _rows.where(condition, a, b)

    def minimum(self, a: object, b: object) -> Secret:
        """Give the lesser of two at each place: :func:`cenote.minimum`."""
        self._check_own(a, b)
        return _rows.minimum(a, b)

    def maximum(self, a: object, b: object) -> Secret:
        """Give the greater of two at each place: :func:`cenote.maximum`."""
        self._check_own(a, b)
        return _rows.maximum(a, b)

    def concatenate(self, rows: Sequence[object]) -> Secret:
        """Give one row of all values of several rows: :func:`cenote.concatenate`."""
        self._check_own(*([rows] if isinstance(rows, Secret) else rows))
        return _rows.concatenate(rows)

    def shuffle(self, *columns: Secret) -> Any:
        """Give the rows of a table in a random order that nobody knows.

        Returns
        -------
        Secret or tuple of Secret
            The columns, in one order.

        Examples
        --------
        >>> cards = s.shuffle(s.public(np.arange(52, dtype=np.uint8)))
        >>> cards.sort()[:3].open()
        array([0, 1, 2], dtype=uint8)
        """
        moved = _records.shuffled(self, columns)
        return moved[0] if len(moved) == 1 else moved

    def sort_by(self, key: Key, *columns: Secret) -> tuple[Any, ...]:
        """Give the rows of a table from the least key to the greatest. Rows with equal keys come in some order.

        Parameters
        ----------
        key
            A column, or a tuple of columns of which the first counts most.
        *columns
            The other columns.

        Returns
        -------
        tuple
            The key, or a tuple of keys if a tuple was given, and the columns.

        Examples
        --------
        >>> age, pay = s.sort_by(s.input(0, [40, 30, 50]), s.input(1, [4000, 2000, 3000]))
        >>> pay.open()
        array([2000, 4000, 3000])
        """
        return _records.sorted_by(self, key, columns)

    def group_by(self, key: Key, **aggregates: Any) -> Groups:
        """Compute something of all rows that have the same key.

        How many groups there are stays secret. The table has as many rows as before, and ``last`` says which of them
        stand for groups. The others have results of part of a group: leave them out by :meth:`compact` before
        anything is opened.

        Parameters
        ----------
        key
            A column, or a tuple of columns.
        **aggregates
            What to compute, by name: ``(values, "sum")``, ``(values, "min")``, ``(values, "max")``, or ``"count"``.

        Returns
        -------
        Groups
            ``key``, ``last``, and ``columns`` by their names, sorted by the key.

        Examples
        --------
        >>> region, owed = s.input(0, [2, 1, 2]), s.input(1, [100, 50, 25])
        >>> groups = s.group_by(region, total=(owed, "sum"))
        >>> region, total, count = s.compact(groups.last, groups.key, groups.columns["total"])
        >>> known = int(count.open())
        >>> region[:known].open(), total[:known].open()
        (array([1, 2]), array([ 50, 125]))
        """
        return _records.grouped(self, key, aggregates)

    def join(
        self, left_key: Key, left_columns: Sequence[Secret], right_key: Key, right_columns: Sequence[Secret]
    ) -> Joined:
        """Give for each row of the right table the row of the left one that has its key.

        Parameters
        ----------
        left_key, right_key
            A column of each table, or a tuple of columns. No key comes twice in the left table.
        left_columns, right_columns
            The other columns.

        Returns
        -------
        Joined
            ``key``, ``found``, ``left``, ``right`` and ``unique``. The rows are those of the right table, sorted by
            their keys. Where ``found`` is False, the left columns are 0. If a key comes twice in the left table,
            the secret bool ``unique`` is False, and nothing is found.

        Examples
        --------
        >>> people, ages = s.input(0, [7, 3, 5]), s.input(0, [70, 30, 50])
        >>> loans, owed = s.input(1, [5, 3, 9]), s.input(1, [25, 100, 1])
        >>> table = s.join(people, [ages], loans, [owed])
        >>> cenote.where(table.found & (table.left[0] < 40), table.right[0], 0).sum().open()
        np.int64(100)
        """
        return _records.joined_by(self, left_key, left_columns, right_key, right_columns)

    def compact(self, chosen: Any, *columns: Secret) -> tuple[Secret, ...]:
        """Give the chosen rows of a table before the others, in their order; and how many they are.

        The other rows come after them in some order: do not open what is not to be known.

        Returns
        -------
        tuple of Secret
            The columns, and the number of chosen rows.

        Examples
        --------
        >>> pay = s.input(0, [4000, 2000, 3000])
        >>> kept, count = s.compact(pay > 2500, pay)
        >>> kept[: int(count.open())].open()
        array([4000, 3000])
        """
        return _records.compacted(self, chosen, columns)

    def memory(self, values: Any, dtype: object = None) -> Memory:
        """Give a memory of these values, which is read and written at secret places.

        Examples
        --------
        >>> s.memory(np.zeros(1000, dtype=np.uint16))
        <memory of 1000 secret uint16>
        """
        row = values if isinstance(values, Secret) else self.public(values, dtype)
        if row._session is not self:
            raise mixed()
        if row._length is None:
            raise TypeError("a memory is of a row, and this is a single value")
        return Memory(self, row if dtype is None else row.astype(dtype))

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
