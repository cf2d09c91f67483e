"""What both drivers need of httpx."""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any

try:
    # It needs anyio itself.
    import anyio as anyio
    import httpx as httpx
    from anyio import to_thread as to_thread
except ImportError:
    raise ImportError(
        "a service is called by the package httpx, which is not installed: pip install 'cenote[service]'"
    ) from None

from cenote._cenote import UsageError
from cenote.service._pin import PinnedContext, WrongKey
from cenote.service._reach import Reach
from cenote.service._steps import ANSWER, REFUSAL, Call, Lost, Open

# Seconds until a connection must be there; a service that is silent this long in a stream of events, of which it tells
# each 10 seconds that it is there; and the longest that a call may take: services end connections after that time.
_CONNECT, _BEAT, _LIFE = 10.0, 30.0, 900.0


class TooMuch(Exception):
    """An answer is longer than answers may be, or takes longer."""


def options(reach: Reach) -> dict[str, Any]:
    """Give what a client is made with: no proxy, no redirection, no trust but in the pinned key."""
    try:
        httpx.URL(reach.url)
    except httpx.InvalidURL:
        raise UsageError("that is no address of a service: its host is no name") from None
    return {
        "verify": PinnedContext(reach.pin),
        "trust_env": False,
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity", "user-agent": "cenote-python"},
        "limits": httpx.Limits(max_connections=32, max_keepalive_connections=8, keepalive_expiry=5.0),
    }


def asked(reach: Reach, step: Call | Open, patience: float) -> dict[str, Any]:
    """Give the request that a step asks for."""
    headers = {"authorization": f"Bearer {reach.token}"}
    silence = patience
    if isinstance(step, Call):
        headers["accept"] = "application/json"
        if step.body is not None:
            headers["content-type"] = "application/json"
        if step.key is not None:
            headers["idempotency-key"] = step.key
    else:
        headers["accept"] = "text/event-stream"
        silence = min(silence, _BEAT)
    left = None if step.deadline is None else max(0.001, step.deadline - time.monotonic())
    silence = silence if left is None else min(silence, left)
    return {
        "method": step.method if isinstance(step, Call) else "GET",
        "url": reach.url + step.path,
        "headers": headers,
        "content": step.body if isinstance(step, Call) else None,
        "timeout": httpx.Timeout(silence, connect=min(_CONNECT, silence)),
    }


class Head:
    """Hears whether the head of a request has gone out."""

    def __init__(self) -> None:
        self.is_out = False

    def hear(self, event: str, _: object) -> None:
        """Hear of an event of the connection."""
        self.is_out = self.is_out or event.endswith("send_request_headers.complete")

    async def hear_async(self, event: str, info: object) -> None:
        """Hear of one where that is awaited."""
        self.hear(event, info)


def until(step: Call | Open) -> float:
    """Give the time at which a call is given up, whatever has come of it."""
    end = time.monotonic() + _LIFE
    return end if step.deadline is None else min(end, step.deadline)


class Body:
    """Gathers an answer, as long as it is no longer than it may be."""

    def __init__(self, response: httpx.Response, end: float) -> None:
        self._most = ANSWER if response.is_success else REFUSAL
        self._end = end
        self.read = bytearray()
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._most:
            raise TooMuch(f"its answer has more than {self._most} bytes")

    def add(self, chunk: bytes) -> None:
        """Take the next part."""
        if len(self.read) + len(chunk) > self._most:
            raise TooMuch(f"its answer has more than {self._most} bytes")
        self.read += chunk
        if time.monotonic() > self._end:
            raise TooMuch("its answer takes too long")


def lost(error: BaseException) -> Lost:
    """Say why there is no answer. Nothing of the call is quoted: it has the token, and may have values."""
    if isinstance(error, TooMuch):
        return Lost(str(error), passes=False)
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    seen: BaseException | None = error
    for _ in range(8):
        if isinstance(seen, WrongKey):
            return Lost("it does not show the key that is pinned, so nothing was sent to it", sent=False, passes=False)
        if seen is None:
            break
        if isinstance(seen, ssl.SSLError):
            return Lost(f"TLS fails ({seen.reason or 'it speaks no TLS 1.3'})", sent)
        if isinstance(seen, socket.gaierror):
            return Lost("its name has no address", sent=False)
        if isinstance(seen, OSError) and seen.strerror:
            return Lost(seen.strerror, sent)
        seen = seen.__cause__ or seen.__context__
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return Lost("it was silent for too long", sent)
    if isinstance(error, httpx.ConnectError):
        return Lost("it cannot be reached", sent=False)
    return Lost("the connection broke off", sent)


# What a client may raise where no answer comes. Mistakes of callers are not among it.
FAILURES = (httpx.HTTPError, httpx.StreamError, OSError, TooMuch)


def patience(timeout: float) -> float:
    """Give how long a service may be silent."""
    if not 0 < timeout <= _LIFE:
        raise UsageError(f"timeout is a number of seconds above 0 and up to {_LIFE:.0f}")
    return float(timeout)
