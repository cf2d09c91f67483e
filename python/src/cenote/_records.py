"""Tables of secret columns: shuffled, sorted, grouped, joined and compacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cenote._arithmetic import cast, step
from cenote._function import joined, parted
from cenote._public import given, row
from cenote._secret import Secret
from cenote._steps import Steps, constant, mixed
from cenote._types import BOOL, INT64, Type, both, promoted, total, with_width

Key = Secret | Sequence[Secret]


class Groups(NamedTuple):
    """What :meth:`Session.group_by` gives: as many rows as there were, sorted by the key.

    Attributes
    ----------
    key
        The key of each row, or a tuple of keys if there were several.
    last
        Whether the row is the last with its key. Such a row stands for its group.
    columns
        The aggregates by their names: in a row that stands for its group those of all rows of the group, and 0 in
        the others.
    """

    key: Any
    last: Secret
    columns: dict[str, Secret]


class Joined(NamedTuple):
    """What :meth:`Session.join` gives: the rows of the right table, sorted by their keys.

    **Nothing is found if a key comes twice in the left table**: open ``unique`` to know.

    Attributes
    ----------
    key
        The key of each row, or a tuple of keys if there were several.
    found
        Whether a row of the left table has this key.
    left
        The columns of that row; 0 where there is none.
    right
        The columns of the right table.
    unique
        One secret bool: whether no key comes twice in the left table. If one does, nothing is found.
    """

    key: Any
    found: Secret
    left: tuple[Secret, ...]
    right: tuple[Secret, ...]
    unique: Secret


def columns_of(session: Steps, columns: Sequence[object], what: str) -> int:
    """Check that these are columns of one table. Give the number of rows."""
    if not columns:
        raise TypeError(f"{what} takes columns: give at least one row of secrets")
    for column in columns:
        if not isinstance(column, Secret):
            raise TypeError(f"a column is a row of secrets, not a {type(column).__name__}: write s.public(values)")
        if column._session is not session:
            raise mixed()
        if column._length is None:
            raise TypeError("a column is a row of secrets, and this is a single one")
    lengths = [len(column) for column in columns if isinstance(column, Secret)]
    if len(set(lengths)) > 1:
        raise ValueError(f"the columns of a table have as many rows each, not {', '.join(map(str, lengths))}")
    return lengths[0]


def _keys(key: object) -> list[Secret]:
    return list(key) if isinstance(key, (tuple, list)) else [key]  # type: ignore[list-item]


class _Packed:
    """Keys as one number that has their order."""

    def __init__(self, key: Key, types: Sequence[Type]) -> None:
        """Take the keys, of which the first counts most, in the bits of these types."""
        keys = _keys(key)
        self.types = types
        self.is_column = isinstance(key, Secret)
        self.is_single = len(keys) == 1
        self.signed = self.is_single and types[0].signed
        wide = [cast(key, of) for key, of in zip(keys, types, strict=True)]
        if self.is_single:
            self.bits = wide[0]
        else:
            self.bits = joined([_flipped(key, of) for key, of in zip(wide, types, strict=True)][::-1])
        self.width = self.bits._dtype.width

    def unpacked(self, record: Secret, own: Sequence[Type]) -> Any:
        """Give the keys, which are the lowest bits of the records, in types of their own."""
        parts = parted(record, [with_width(of, of.width) for of in self.types][::-1])[::-1]
        if not self.is_single:
            parts = tuple(_flipped(part, of) for part, of in zip(parts, self.types, strict=True))
        made = tuple(
            step("part", (part,), (0, of.width), of, part._length) for part, of in zip(parts, own, strict=True)
        )
        return made[0] if self.is_column else made


def _flipped(key: Secret, of: Type) -> Secret:
    """Flip the sign, so that numbers with a sign have the order of those without."""
    if not of.signed:
        return key
    top = constant(key._session, with_width(BOOL, of.width), 1 << (of.width - 1))
    return step("xor", (key, top), (), of, key._length)


def _sorted(packed: _Packed, columns: Sequence[Secret]) -> Secret:
    record = joined([packed.bits, *columns]) if columns else packed.bits
    return step("sort", (record,), (packed.width, int(packed.signed)), record._dtype, record._length)


def shuffled(session: Steps, columns: Sequence[Secret]) -> tuple[Secret, ...]:
    """Give the rows in an order that nobody knows."""
    columns_of(session, columns, "shuffle")
    record = joined(columns)
    moved = step("shuffle", (record,), (), record._dtype, record._length)
    return parted(moved, [column._dtype for column in columns])


def sorted_by(session: Steps, key: Key, columns: Sequence[Secret]) -> tuple[Any, ...]:
    """Give the rows by their keys."""
    keys = _keys(key)
    columns_of(session, [*keys, *columns], "sort_by")
    own = [each._dtype for each in keys]
    packed = _Packed(key, own)
    record = _sorted(packed, columns)
    return packed.unpacked(record, own), *parted(record, [column._dtype for column in columns], packed.width)


_SCANS = {"sum": 0, "min": 1, "max": 2}


def _aggregates(given: Mapping[str, Any]) -> dict[str, tuple[Secret | None, str]]:
    if not given:
        raise TypeError('group_by computes something: write total=(values, "sum") or rows="count"')
    named: dict[str, tuple[Secret | None, str]] = {}
    for name, aggregate in given.items():
        column, how = aggregate if isinstance(aggregate, tuple) and len(aggregate) == 2 else (None, aggregate)
        if isinstance(how, str) and how == "count":
            named[name] = None, "count"
        elif isinstance(how, str) and how in _SCANS and column is not None:
            named[name] = column, how
        else:
            raise TypeError(f'{name} is (values, "sum"), (values, "min"), (values, "max") or "count"')
    return named


def grouped(session: Steps, key: Key, aggregates: Mapping[str, Any]) -> Groups:
    """Give the rows by their keys, with what is computed of all rows of a key."""
    named = _aggregates(aggregates)
    keys = _keys(key)
    used = [column for column, _ in named.values() if column is not None]
    length = columns_of(session, [*keys, *used], "group_by")
    own = [each._dtype for each in keys]
    packed = _Packed(key, own)
    record = _sorted(packed, used)
    bits = step("part", (record,), (0, packed.width), packed.bits._dtype, length)
    moved = iter(parted(record, [column._dtype for column in used], packed.width))
    starts = step("starts", (bits,), (), BOOL, length)
    last = step("ends", (starts,), (), BOOL, length)
    columns = {}
    for name, (column, how) in named.items():
        if column is None:
            ones = step("fill", (constant(session, BOOL, 1),), (length,), BOOL, length)
            columns[name] = _summed(starts, ones)
        elif how == "sum":
            columns[name] = _summed(starts, next(moved))
        else:
            values = next(moved)
            numbers = (_SCANS[how], int(values._dtype.signed))
            columns[name] = step("scan", (starts, values), numbers, values._dtype, length)
    for name, made in columns.items():
        # What only some rows of a group gave is shown to nobody.
        zero = constant(session, made._dtype, 0)
        columns[name] = step("select", (last, made, zero), (), made._dtype, length)
    return Groups(packed.unpacked(record, own), last, columns)


def _summed(starts: Secret, values: Secret) -> Secret:
    """Give the sums of the groups so far, calculated in as many bits as they may have."""
    length, of = len(starts), values._dtype
    dtype = total(of)
    width = min(dtype.width, of.width + length.bit_length())
    narrow = dtype if width == dtype.width else with_width(of, width)
    sums = step("scan", (starts, cast(values, narrow)), (0, int(narrow.signed)), narrow, length)
    return sums if narrow is dtype else step("resize", (sums,), (dtype.width, int(narrow.signed)), dtype, length)


def _common(left: Type, right: Type) -> Type:
    return promoted(left, right) if "fixed" in (left.kind, right.kind) else both(left, right)


def joined_by(session: Steps, left_key: Key, left: Sequence[Secret], right_key: Key, right: Sequence[Secret]) -> Joined:
    """Give for each row of the right table the row of the left one with its key."""
    for columns, which in ((left, "left"), (right, "right")):
        if isinstance(columns, Secret):
            raise TypeError(f"the {which} columns are a list: write [column]")
    left_keys, right_keys = _keys(left_key), _keys(right_key)
    columns_of(session, [*left_keys, *left], "join")
    length = columns_of(session, [*right_keys, *right], "join")
    if len(left_keys) != len(right_keys):
        raise TypeError(f"{len(left_keys)} left keys are joined with {len(right_keys)} right ones: give as many")
    own = [key._dtype for key in right_keys]
    types = [_common(key._dtype, of) for key, of in zip(left_keys, own, strict=True)]
    these, those = _Packed(left_key, types), _Packed(right_key, types)
    width = these.width
    left_record, right_record = _sorted(these, left), _sorted(those, right)
    bits = [
        step("part", (record,), (0, width), with_width(BOOL, width), record._length)
        for record in (left_record, right_record)
    ]
    left_types = [column._dtype for column in left]
    # A table of keys alone gives them as its columns, which nobody sees.
    rest = sum(of.width for of in left_types)
    payload = (
        step("part", (left_record,), (width, rest), with_width(BOOL, rest), left_record._length) if left else bits[0]
    )
    first = session._apply("lookup", (bits[0]._number, payload._number, bits[1]._number), (int(these.signed),))
    found = Secret(session, first, BOOL, length)
    matched = Secret(session, first + 1, payload._dtype, length)
    unique = Secret(session, first + 2, BOOL, None)
    right_columns = parted(right_record, [column._dtype for column in right], width)
    return Joined(those.unpacked(right_record, own), found, parted(matched, left_types), right_columns, unique)


def compacted(session: Steps, chosen: object, columns: Sequence[Secret]) -> tuple[Secret, ...]:
    """Give the chosen rows before rows of zeros, and how many they are."""
    length = columns_of(session, columns, "compact")
    flags = chosen if isinstance(chosen, Secret) else row(None, chosen, "what is chosen")
    if flags._dtype is not BOOL:
        raise TypeError(f"what is chosen is told by bools, not by {flags._dtype}: write x != 0")
    if isinstance(flags, Secret) and flags._session is not session:
        raise mixed()
    if flags._length != length:
        raise ValueError(f"what is chosen is told by one bool for each of {length} rows")
    bits = given(session, flags)
    record = joined(columns)
    first = session._apply("compact", (bits._number, record._number))
    moved = Secret(session, first, record._dtype, length)
    count = Secret(session, first + 1, INT64, None)
    return *parted(moved, [column._dtype for column in columns]), count
