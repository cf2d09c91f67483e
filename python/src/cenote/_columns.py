"""What sessions do with columns: functions of several of them, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cenote import _records, _rows
from cenote._records import Groups, Joined, Key
from cenote._secret import Secret
from cenote._steps import Steps, mixed


class Columns(Steps):
    """A session's functions of columns."""

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

    def group_by(self, key: Key, /, **aggregates: Any) -> Groups:
        """Compute something of all rows that have the same key.

        How many groups there are stays secret. The table has as many rows as before, and ``last`` says which of them
        stand for groups. What is computed is 0 in the others. :meth:`open_chosen` leaves them out, and shows how many
        groups there are.

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
        >>> s.open_chosen(groups.last, groups.key, groups.columns["total"])
        [array([1, 2]), array([ 50, 125])]
        """
        return _records.grouped(self, key, aggregates)

    def join(
        self, left_key: Key, left_columns: Sequence[Secret], right_key: Key, right_columns: Sequence[Secret]
    ) -> Joined:
        """Give for each row of the right table the row of the left one that has its key.

        **The keys of the left table have to be unique: if one comes twice, nothing is found at all.** Whether that is
        so is secret. ``unique`` says it, and is worth opening.

        Parameters
        ----------
        left_key, right_key
            A column of each table, or a tuple of columns.
        left_columns, right_columns
            The other columns.

        Returns
        -------
        Joined
            ``key``, ``found``, ``left``, ``right`` and ``unique``. The rows are those of the right table, sorted by
            their keys. Where ``found`` is False, the left columns are 0.

        Examples
        --------
        >>> people, ages = s.input(0, [7, 3, 5]), s.input(0, [70, 30, 50])
        >>> loans, owed = s.input(1, [5, 3, 9]), s.input(1, [25, 100, 1])
        >>> table = s.join(people, [ages], loans, [owed])
        >>> table.unique.open()
        np.True_
        >>> s.open_chosen(table.found, table.key, table.left[0], table.right[0])
        [array([3, 5]), array([30, 50]), array([100,  25])]
        """
        return _records.joined_by(self, left_key, left_columns, right_key, right_columns)

    def compact(self, chosen: Any, *columns: Secret) -> tuple[Secret, ...]:
        """Give the chosen rows of a table in their order, then rows of zeros; and how many are chosen.

        There are as many rows as before, so how many are chosen stays secret. :meth:`open_chosen` opens them.

        Returns
        -------
        tuple of Secret
            The columns, and the number of chosen rows.

        Examples
        --------
        >>> pay = s.input(0, [4000, 2000, 3000])
        >>> kept, count = s.compact(pay > 2500, pay)
        >>> kept.open(), count.open()
        (array([4000, 3000,    0]), np.int64(2))
        """
        return _records.compacted(self, chosen, columns)
