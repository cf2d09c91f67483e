"""What a service answers, as it names it. Fields that this version does not know are left out."""

from __future__ import annotations

import functools
import types
import typing
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

_T = TypeVar("_T")
_BEGINNING = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The end of 9999, in milliseconds: the latest time that services tell.
_LATEST = 253_402_300_799_999

# The states in which a job stays.
ENDED = frozenset({"done", "declined", "failed", "cancelled"})
STATES = frozenset({"proposed", "approved", "queued", "running"}) | ENDED


class NotOfForm(Exception):
    """An answer is not of the form that this version knows."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a job: its name, its type, the party that gives it, and the name of its data."""

    name: str
    type: str
    owner: int
    data: str | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """A kept value that a job takes as an input. Nobody learns it."""

    input: str
    name: str
    job: str


@dataclass(frozen=True, slots=True)
class Keep:
    """An output that a job keeps instead of opening it. Nobody learns it."""

    output: str
    name: str
    type: str
    days: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What a party has decided: ``"approve"`` or ``"decline"``, and why."""

    verdict: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How often a job may be called until its deadline, by whom, and of a query the types of its parameters."""

    calls: int
    callers: tuple[int, ...]
    parameters: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as one party sees it. ``state`` says where it stands, ``decisions`` what each party has decided."""

    id: str
    number: int
    state: str
    proposal: str
    proposer: int
    parties: int
    protocol: str
    program_kind: str
    program: str
    inputs: tuple[Input, ...]
    takes: tuple[Take, ...]
    keeps: tuple[Keep, ...]
    receivers: tuple[int, ...]
    statistical: int
    computational: int
    deadline: datetime
    ands: int
    bytes: int
    decisions: tuple[Decision | None, ...]
    created_at: datetime
    changed_at: datetime
    ended_by: int | None = None
    failure: str | None = None
    reason: str | None = None
    standing: Standing | None = None

    @property
    def is_open(self) -> bool:
        """Whether the job may still come into another state."""
        return self.state not in ENDED


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs, the newest first, and where the next page goes on."""

    jobs: tuple[JobView, ...]
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Revealed:
    """An output of a job: its size, and the parties that learn it."""

    name: str
    bits: int
    values: int
    to: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FileView:
    """A file that a job names."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file of a job, and where the next part begins."""

    text: str
    bytes: int
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """What a job computes and reveals, and the text of its file."""

    summary: str
    outputs: tuple[Revealed, ...]
    job: str
    files: tuple[FileView, ...]


@dataclass(frozen=True, slots=True)
class JobDetail:
    """A job and what it is about. ``explained`` is None of an old job of which that is gone."""

    job: JobView
    explained: Explained | None = None


@dataclass(frozen=True, slots=True)
class About:
    """Which party this is, its program, and why it takes no jobs, if it takes none."""

    party: int
    parties: tuple[str, ...]
    version: str
    fingerprint: str
    since: datetime
    now: datetime
    not_ready: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """Named data in the folder of the service, which jobs may be given."""

    name: str
    bytes: int
    changed: datetime


@dataclass(frozen=True, slots=True)
class Peer:
    """Another party, and how the connection to it stands. ``round_trip`` and ``clock_ahead`` are in milliseconds."""

    party: int
    name: str
    link: str
    since: datetime
    sent: int
    received: int
    address: str | None = None
    reason: str | None = None
    again: datetime | None = None
    version: str | None = None
    round_trip: float | None = None
    clock_ahead: float | None = None


@dataclass(frozen=True, slots=True)
class Stock:
    """Material of one kind that was made ahead of jobs: how much there is, and how much there should be."""

    protocol: str
    kind: str
    amount: int
    target: int
    making: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that is kept here: an output that nobody has learnt, for later jobs."""

    name: str
    job: str
    type: str
    bytes: int
    kept_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Running:
    """A job that runs, and how many of its AND gates are done; of one that stands, how many of its calls have begun."""

    job: str
    since: datetime
    done: int
    total: int
    stands: bool = False


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that the operator should see to."""

    kind: str
    text: str
    advice: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has happened at a service.

    ``event`` says what: ``"job"`` (``job`` has come into ``state``), ``"progress"`` (of ``job``, ``done`` of ``total``
    AND gates are done), ``"peer"`` (the connection to ``party`` has changed), ``"stock"``, ``"alarm"``, or
    ``"missed"``: some events were missed, so look at everything again.
    """

    event: str
    job: str | None = None
    state: str | None = None
    since: datetime | None = None
    done: int | None = None
    total: int | None = None
    party: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A part of a fetched answer that is a table."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    row_count: int
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Output:
    """A part of a fetched result: an output of a circuit, with a number in hexadecimal for each lane."""

    name: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a party learnt from a job: the answer of a query, or outputs."""

    answer: Answered | None = None
    outputs: tuple[Output, ...] | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no outcome."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """How a call ended: with what this party learnt, or with what was wrong."""

    name: str
    answer: Fetched | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """How calls ended, in the order in which they were made."""

    calls: tuple[CallEnded, ...]


@functools.cache
def _form(cls: type) -> tuple[tuple[str, Any, bool], ...]:
    hints = typing.get_type_hints(cls)
    return tuple((field.name, hints[field.name], field.default is MISSING) for field in fields(cls))


def read(kind: type[_T], value: object) -> _T:
    """Read a value of JSON as one of this type.

    Raises
    ------
    NotOfForm
        It is none. The message names the place and quotes nothing.
    """
    return typing.cast("_T", _read(kind, value, "the answer"))


def read_list(kind: type[_T], value: object) -> list[_T]:
    """Read a list of JSON as values of this type."""
    if not isinstance(value, list):
        raise NotOfForm("the answer is no list")
    return [typing.cast("_T", _read(kind, item, f"item {place}")) for place, item in enumerate(value)]


def _read(kind: Any, value: object, place: str) -> object:
    origin = typing.get_origin(kind)
    if origin is types.UnionType or origin is typing.Union:
        if value is None:
            return None
        (kind,) = (part for part in typing.get_args(kind) if part is not types.NoneType)
        return _read(kind, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise NotOfForm(f"{place} is no list")
        item = typing.get_args(kind)[0]
        return tuple(_read(item, one, place) for one in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise NotOfForm(f"{place} is no object")
        item = typing.get_args(kind)[1]
        return {str(name): _read(item, one, place) for name, one in value.items()}
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise NotOfForm(f"{place} is no object")
        found = {}
        for name, of, needed in _form(typing.cast("type", kind)):
            if name in value:
                found[name] = _read(of, value[name], name)
            elif needed:
                raise NotOfForm(f"{name} is missing")
        return typing.cast("type", kind)(**found)
    if kind is datetime:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LATEST:
            raise NotOfForm(f"{place} is no time")
        return _BEGINNING + timedelta(milliseconds=value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise NotOfForm(f"{place} is no {kind.__name__}")
    return value
