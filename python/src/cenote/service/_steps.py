"""What the core asks of what drives it, and what it is told.

The core never waits and never sends. It is made of generators that yield steps and are sent what came of them. One
driver does the steps with a blocking client, another with an asynchronous one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

# Bytes of an answer, and of a refusal, at most.
ANSWER, REFUSAL = 256 << 20, 1 << 20


@dataclass(frozen=True)
class Call:
    """Make a call, and give its whole answer. It does not show its body, which may have private values."""

    method: str
    path: str
    body: bytes | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    deadline: float | None = None


@dataclass(frozen=True)
class Open:
    """Open a stream of events."""

    path: str
    deadline: float | None = None


@dataclass(frozen=True)
class Read:
    """Give what comes next of the stream that is open: bytes, none at its end."""


@dataclass(frozen=True)
class Shut:
    """Close the stream that is open."""


@dataclass(frozen=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Do something that takes long, or that reads files, and give what comes of it."""

    run: Callable[[], object]


@dataclass(frozen=True)
class Reply:
    """An answer: its status and its body. Of a stream that is open there is no body yet."""

    status: int
    body: bytes = field(default=b"", repr=False)
    kind: str = ""


@dataclass(frozen=True)
class Lost:
    """There is no answer, or none to the end.

    ``sent`` says whether the service may have heard the call, and ``passes`` whether it may go better the next time.
    """

    why: str
    sent: bool = True
    passes: bool = True


@dataclass(frozen=True)
class Done:
    """What work gave."""

    value: object = field(repr=False)


Step: TypeAlias = Call | Open | Read | Shut | Sleep | Work
Told: TypeAlias = Reply | Lost | Done | bytes | None
Steps: TypeAlias = Generator[Step, Told, _T]
