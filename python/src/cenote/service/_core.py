"""All calls of a service, without input and output: what is sent, what answers mean, what is tried again."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast
from urllib.parse import quote, urlencode

from cenote._cenote import CenoteError, UsageError
from cenote.service import _data, _errors
from cenote.service._data import Called, Given, Result
from cenote.service._events import Parser
from cenote.service._reach import StrPath
from cenote.service._steps import Call, Done, Lost, Open, Read, Reply, Shut, Sleep, Step, Steps, Told, Work
from cenote.service._types import (
    ENDED,
    STATES,
    About,
    Alarm,
    Calls,
    Data,
    Event,
    Fetched,
    FilePart,
    JobDetail,
    JobPage,
    JobView,
    Kept,
    NotOfForm,
    Peer,
    Running,
    Stock,
    read,
    read_list,
)

_T = TypeVar("_T")

Hearing: TypeAlias = Generator["Step | Event", Told, None]
Hear: TypeAlias = Callable[[str, Any, Any], object]

_V1 = "/api/v1"
# Jobs of a page, and of a listing, at most.
_PAGE, _LISTED = 200, 100_000
# A stream of events that is opened anew: after how long at first, and at most; and which one counts as one that held.
_PAUSE, _LONGEST_PAUSE, _HELD = 0.1, 5.0, 5.0
# Seconds after which nobody waits: three years.
_FOREVER = 1e8
# How long to wait before it is asked again whether a job is there: at first, and at most; and for its answer, at least.
_SOON, _LATER, _ANSWER = 0.05, 1.0, 1.0
# Seconds that one request waits for the outcome of a call, at most.
_CALL = 30.0
# Refusals after which the same may go well a moment later.
_PASSING = (408, 429, 503)
# Bytes of a file of a job, at most.
_FILE = 256 << 20


class Core:
    """The calls of one service. Each is a generator of steps for a driver."""

    def __init__(self, url: str, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self.patience = patience
        self.clock = clock

    # How calls are made.

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        again: bool = False,
        deadline: float | None = None,
        doubt: str = "it may have been done all the same, so look before you try again",
        word: str | None = None,
    ) -> Steps[bytes]:
        """Make a call. If its answer is lost and it may be made ``again``, it is, once.

        If there is no answer after all, the exception says the ``doubt`` that remains, and has the call's ``word``.
        """
        path = _V1 + path
        sent = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        if sent is not None and len(sent) > _data.LARGEST:
            raise UsageError(
                f"{method} {path} would carry more than the {_data.LARGEST >> 20} MiB that a call may; put data into "
                "the service's own folder of data, and name it with stored=…"
            )
        call = Call(method, path, sent, key, deadline)
        told = yield call
        if isinstance(told, Lost) and told.passes and again and not self._is_over(deadline):
            told = yield call
        if isinstance(told, Lost):
            if self._is_over(deadline):
                raise self._too_late(f"an answer to {method} {path}")
            unanswered = _errors.lost(self.url, told.why, f"; {doubt}" if told.sent and method != "GET" else "")
            unanswered.key, unanswered.passes = word, told.passes
            raise unanswered
        assert isinstance(told, Reply)
        if not 200 <= told.status < 300:
            refused = _errors.refused(self.url, method, path, told.status, told.body)
            refused.key = word
            raise refused
        return told.body

    def get(self, path: str, deadline: float | None = None) -> Steps[Any]:
        """Make a call that reads, and give its JSON."""
        body = yield from self.ask("GET", path, again=True, deadline=deadline)
        return (yield from self._json(path, body))

    def understood(self, path: str, make: Callable[[], _T]) -> _T:
        """Make something of an answer, or say that it is not of the form that this version knows."""
        try:
            return make()
        except NotOfForm as error:
            raise _errors.not_of_form(self.url, path, str(error)) from None

    def _json(self, path: str, body: bytes) -> Steps[Any]:
        def parse() -> object:
            try:
                return json.loads(body)
            except (ValueError, RecursionError):
                raise _errors.not_of_form(self.url, path, "it is no JSON") from None

        if len(body) < 1 << 20:
            return parse()
        return (yield from self._work(parse))

    def _work(self, run: Callable[[], _T]) -> Steps[_T]:
        told = yield Work(run)
        assert isinstance(told, Done)
        return cast("_T", told.value)

    def _is_over(self, deadline: float | None) -> bool:
        return deadline is not None and self.clock() >= deadline

    def _too_late(self, what: str) -> _errors.WaitTimeout:
        return _errors.WaitTimeout(f"the time to wait is over, and there is not yet {what} (the service at {self.url})")

    def deadline(self, timeout: float | None) -> float | None:
        """Give the time by the clock at which a wait is over."""
        if timeout is not None and not timeout >= 0:
            raise UsageError("a timeout is a number of seconds, 0 or more")
        return None if timeout is None or timeout > _FOREVER else self.clock() + timeout

    # What reads.

    def one(self, kind: type[_T], path: str, deadline: float | None = None) -> Steps[_T]:
        """Give one thing."""
        value = yield from self.get(path, deadline)
        return self.understood(path, lambda: read(kind, value))

    def many(self, kind: type[_T], path: str) -> Steps[list[_T]]:
        """Give a list of things."""
        value = yield from self.get(path)
        return self.understood(path, lambda: read_list(kind, value))

    def about(self) -> Steps[About]:
        """Give which party this is."""
        return self.one(About, "/about")

    def data(self) -> Steps[list[Data]]:
        """Give the data in the service's folder."""
        return self.many(Data, "/data")

    def peers(self) -> Steps[list[Peer]]:
        """Give the other parties."""
        return self.many(Peer, "/peers")

    def stock(self) -> Steps[list[Stock]]:
        """Give the material in stock."""
        return self.many(Stock, "/stock")

    def running(self) -> Steps[list[Running]]:
        """Give the jobs that run."""
        return self.many(Running, "/running")

    def alarms(self) -> Steps[list[Alarm]]:
        """Give what an operator should see to."""
        return self.many(Alarm, "/alarms")

    def kept(self) -> Steps[list[Kept]]:
        """Give the values that are kept."""
        return self.many(Kept, "/kept")

    def drop_kept(self, name: str, of: str) -> Steps[None]:
        """Delete a kept value."""
        yield from self.ask("DELETE", f"/kept/{quote(of, safe='')}/{quote(name, safe='')}")

    def jobs(self, state: str | None, limit: int, before: int | None) -> Steps[list[JobView]]:
        """Give jobs, the newest first."""
        if state is not None and state not in STATES:
            raise UsageError(f"jobs have no state {state!r}; they have {', '.join(sorted(STATES))}")
        if not 1 <= limit <= _LISTED:
            raise UsageError(f"limit is a number from 1 to {_LISTED}")
        found: list[JobView] = []
        while True:
            asked: dict[str, object] = {"limit": min(limit - len(found), _PAGE), "state": state, "before": before}
            page = yield from self.one(
                JobPage,
                "/jobs?" + urlencode({name: value for name, value in asked.items() if value is not None}),
            )
            found += page.jobs[: limit - len(found)]
            if page.next is None or not page.jobs or len(found) >= limit or page.next == before:
                return found
            before = page.next

    # What proposes.

    def propose(
        self,
        job: StrPath,
        *,
        files: Mapping[str, str] | None,
        within: float,
        approve: bool,
        data: Mapping[str, Given] | None,
        stored: Mapping[str, str] | None,
        reason: str,
        key: str | None,
    ) -> Steps[JobCore]:
        """Propose a job."""
        if not within >= 0:
            raise UsageError("within is a number of seconds")
        text, bundled = yield from self._work(lambda: _data.job_text(job, files))
        body: dict[str, object] = {"job": text, "files": bundled, "within": max(1, int(min(within, _FOREVER)))}
        if approve or data or stored:
            body["approval"] = yield from self.gift(data, stored, reason, text)
        key = key or secrets.token_hex(32)
        doubt = "it may have been proposed; propose(…, key=error.key) proposes it once only"
        answer = yield from self.ask("POST", "/jobs", body, key=key, again=True, doubt=doubt, word=key)
        value = yield from self._json("/jobs", answer)
        view = self.understood("/jobs", lambda: read(JobView, value))
        return JobCore(self, view)

    def gift(
        self, data: Mapping[str, Given] | None, stored: Mapping[str, str] | None, reason: str, job: str | None
    ) -> Steps[dict[str, object]]:
        """Give what an approval carries."""
        twice = sorted(set(data or {}) & set(stored or {}))
        if twice:
            raise UsageError(f"{twice[0]} is given both by data and by stored; give it by one of them")
        posted = yield from self._work(lambda: _data.texts(data or {}, job))
        return {"data": dict(stored or {}), "posted": posted, "reason": reason}

    # What listens.

    def hear(self, job: str | None, deadline: float | None) -> Hearing:
        """Give events: of one job until it has ended, or all. A stream that ends is opened anew.

        The service's silence is borne as long as its answers are waited for. Of all events it is said when some were
        missed.
        """
        path = "/events" if job is None else f"/jobs/{job}/events"
        awaited = "an event" if job is None else f"the end of job {job}"
        pause, bad_since, state, is_first = _PAUSE, None, None, True
        while True:
            begun = self.clock()
            told = yield Open(_V1 + path, deadline)
            trouble: CenoteError
            if isinstance(told, Lost):
                trouble = _errors.lost(self.url, told.why)
            else:
                assert isinstance(told, Reply)
                if told.status != 200:
                    trouble = _errors.refused(self.url, "GET", path, told.status, told.body)
                    if told.status not in _PASSING:
                        raise trouble
                elif not told.kind.startswith("text/event-stream"):
                    raise _errors.not_of_form(self.url, path, "it is no stream of events")
                else:
                    if job is None and not is_first:
                        yield Event("missed")
                    is_first = False
                    parser = Parser()
                    while isinstance(chunk := (yield Read()), bytes) and chunk:
                        for event in self.understood(path, partial(_events_in, parser, chunk)):
                            if job is not None and event.event == "job":
                                if event.state == state:
                                    continue
                                state = event.state
                            yield event
                            if job is not None and state in ENDED:
                                yield Shut()
                                return
                        if self._is_over(deadline):
                            break
                    yield Shut()
                    why = chunk.why if isinstance(chunk, Lost) else "its stream of events ended"
                    trouble = _errors.lost(self.url, why)
            now = self.clock()
            if self._is_over(deadline):
                raise self._too_late(awaited)
            if now - begun >= _HELD and isinstance(told, Reply) and told.status == 200:
                pause, bad_since = _PAUSE, None
            if bad_since is None:
                bad_since = now
            elif now - bad_since >= self.patience:
                raise trouble
            yield Sleep(pause if deadline is None else min(pause, max(0.0, deadline - now)))
            pause = min(2 * pause, _LONGEST_PAUSE)


def _may_pass(error: CenoteError) -> bool:
    """Tell whether a wait goes on after this."""
    if isinstance(error, _errors.ServiceProblem):
        return error.status in _PASSING
    return not isinstance(error, _errors.Unanswered) or error.passes


def _events_in(parser: Parser, chunk: bytes) -> list[Event]:
    events = []
    for text in parser.feed(chunk):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise NotOfForm("an event is no JSON") from None
        events.append(read(Event, value))
    return events


class JobCore:
    """The calls of one job. It remembers which proposal was seen, and under which word its result is fetched."""

    def __init__(self, core: Core, job: str | JobView, timeout: float | None = None) -> None:
        name = job.id if isinstance(job, JobView) else job
        if not isinstance(name, str) or re.fullmatch("[0-9a-f]{8,32}", name) is None:
            raise UsageError("a job is named by 32 of the digits 0-9 and a-f, or by the first 8 or more of them")
        if timeout is not None and len(name) < 32:
            raise UsageError(
                "a job that is waited for is named by all its 32 digits: another job may begin with the same ones"
            )
        self.core = core
        self.name = name
        self.proposal = job.proposal if isinstance(job, JobView) else None
        # How long its first call waits until it is there; None if it does not.
        self._timeout = timeout
        core.deadline(timeout)
        self._key: str | None = None
        self._result: Result | None = None

    def whole(self, deadline: float | None = None) -> Steps[str]:
        """Give the whole name, once the job is there if that is waited for."""
        if self._timeout is not None:
            yield from self._arrive(self._timeout, deadline)
            self._timeout = None
        elif len(self.name) < 32 and not (yield from self._found()):
            raise UsageError(f"none of the last {_PAGE} jobs begins with {self.name}; give its whole name")
        return self.name

    def _found(self) -> Steps[bool]:
        """Look for the one job, among the last 200, that begins so."""
        listed = yield from self.core.jobs(None, _PAGE, None)
        found = [view.id for view in listed if view.id.startswith(self.name)]
        if len(found) > 1:
            raise UsageError(f"several jobs begin with {self.name}; give more of the name")
        self.name = found[0] if found else self.name
        return bool(found)

    def _arrive(self, timeout: float, deadline: float | None) -> Steps[None]:
        """Wait until it is there."""
        ends = [end for end in (self.core.deadline(timeout), deadline) if end is not None]
        end = min(ends, default=None)
        pause, was_absent = _SOON, False
        while True:
            trouble: CenoteError | None = None
            try:
                if (yield from self._is_there(end)):
                    return
                was_absent = True
            except (_errors.WaitTimeout, _errors.Unanswered, _errors.ServiceProblem) as error:
                if not _may_pass(error):
                    raise
                trouble = error
            left = None if end is None else end - self.core.clock()
            if left is not None and left <= 0:
                if trouble is not None and not (was_absent and isinstance(trouble, _errors.WaitTimeout)):
                    raise trouble
                raise self.core._too_late(f"a job {self.name}") from trouble
            yield Sleep(pause if left is None else min(pause, left))
            pause = min(2 * pause, _LATER)

    def _is_there(self, end: float | None) -> Steps[bool]:
        """Ask whether it is there. An answer has some time also where the wait is over with it."""
        deadline = None if end is None else max(end, self.core.clock() + _ANSWER)
        try:
            yield from self.core.get(f"/jobs/{self.name}", deadline)
        except _errors.ServiceProblem as error:
            if error.code != "no-job":
                raise
            return False
        return True

    def show(self, deadline: float | None = None) -> Steps[JobDetail]:
        """Give all of it."""
        name = yield from self.whole(deadline)
        detail = yield from self.core.one(JobDetail, f"/jobs/{name}", deadline)
        self.proposal = detail.job.proposal
        return detail

    def status(self) -> Steps[JobView]:
        """Give where it stands."""
        return (yield from self.show()).job

    def file(self, name: str) -> Steps[str]:
        """Give the text of one of its files."""
        job = yield from self.whole()
        text, begin, size = [], 0, 0
        while True:
            path = f"/jobs/{job}/file?" + urlencode({"name": name, "from": begin})
            part = yield from self.core.one(FilePart, path)
            text.append(part.text)
            size += len(part.text)
            if part.next is None:
                return "".join(text)
            if part.next <= begin or size > _FILE:
                raise _errors.not_of_form(self.core.url, path, "its parts do not come to an end")
            begin = part.next

    def _changed(self, what: str, body: object) -> Steps[JobView]:
        path = f"/jobs/{self.name}/{what}"
        answer = yield from self.core.ask("POST", path, body)
        value = yield from self.core._json(path, answer)
        return self.core.understood(path, lambda: read(JobView, value))

    def approve(
        self,
        data: Mapping[str, Given] | None,
        stored: Mapping[str, str] | None,
        reason: str,
        proposal: str | None,
    ) -> Steps[JobView]:
        """Take part in it."""
        seen = proposal or self.proposal
        detail = yield from self.show()
        job = None if detail.explained is None else detail.explained.job
        gift = yield from self.core.gift(data, stored, reason, job)
        return (yield from self._changed("approve", {"proposal": seen or detail.job.proposal, **gift}))

    def decline(self, reason: str, proposal: str | None) -> Steps[JobView]:
        """Do not take part in it."""
        seen = proposal or self.proposal
        if seen is None:
            seen = (yield from self.show()).job.proposal
        yield from self.whole()
        return (yield from self._changed("decline", {"proposal": seen, "reason": reason}))

    def cancel(self) -> Steps[JobView]:
        """Take it back."""
        yield from self.whole()
        return (yield from self._changed("cancel", None))

    def fetch(self, key: str | None) -> Steps[Any]:
        """Give what this party learnt, as the service tells it."""
        name = yield from self.whole()
        path = f"/jobs/{name}/fetch"
        if key is None:
            key = self._key = self._key or secrets.token_hex(32)
        doubt = "it may have been given out; for some minutes result(key=error.key) gives it again"
        answer = yield from self.core.ask("POST", path, {"key": key}, again=True, doubt=doubt, word=key)
        return (yield from self.core._json(path, answer))

    def result(self, key: str | None) -> Steps[Result]:
        """Give what this party learnt, as its caller gets it."""
        if self._result is None:
            value = yield from self.fetch(key)
            path = f"/jobs/{self.name}/fetch"
            report = {"job": self.name}

            def make() -> Result:
                return self.core.understood(path, lambda: _data.result_of(read(Fetched, value), report))

            self._result = yield from self.core._work(make)
        return self._result

    def call(self, inputs: Mapping[str, Called], name: str | None, timeout: float | None) -> Steps[Result]:
        """Make a call, and give what this party learns of it. It is asked for under its name until it has ended."""
        deadline = self.core.deadline(timeout)
        job = yield from self.whole(deadline)
        path, name = f"/programs/{job}/calls", name or secrets.token_hex(16)
        made = {"name": name, "inputs": _data.values(inputs)}
        doubt = "it may have been made; call(…, name=error.key) gives its outcome"
        while True:
            left = _CALL if deadline is None else min(_CALL, deadline - self.core.clock())
            body = {"calls": [made], "wait": max(0, int(left))}
            answer = yield from self.core.ask("POST", path, body, again=True, doubt=doubt, word=name)
            value = yield from self.core._json(path, answer)
            ended = self.core.understood(path, partial(read, Calls, value)).calls
            if len(ended) != 1 or (ended[0].answer is None) == (ended[0].problem is None):
                raise _errors.not_of_form(self.core.url, path, "it has not one outcome")
            if ended[0].answer is not None:
                made_of = partial(_data.called, ended[0].answer, {"job": job, "call": name})
                return (yield from self.core._work(partial(self.core.understood, path, made_of)))
            problem = value["calls"][0]["problem"]
            if problem["code"] == "call-waits":
                if self.core._is_over(deadline):
                    raise self.core._too_late(f"the outcome of call {name} of job {job}")
                continue
            refused = _errors.refused(self.core.url, "POST", path, 409, json.dumps(problem).encode())
            refused.key = name
            raise refused

    def hear(self, timeout: float | None) -> Hearing:
        """Give its events until it has ended."""
        deadline = self.core.deadline(timeout)
        yield from self.whole(deadline)
        yield from self.core.hear(self.name, deadline)

    def wait(self, timeout: float | None, hear: Hear | None) -> Steps[JobView]:
        """Wait until it has ended, and tell how far it is."""
        deadline = self.core.deadline(timeout)
        name = yield from self.whole(deadline)
        hearing = self.core.hear(name, deadline)
        told: Told = None
        while True:
            try:
                step = hearing.send(told)
            except StopIteration:
                break
            if not isinstance(step, Event):
                told = yield step
                continue
            told = None
            if hear is None:
                continue
            if step.event == "progress" and step.done is not None and step.total is not None:
                hear("progress", step.done, step.total)
            elif step.event == "job":
                hear("about", f"job {name[:8]} is {step.state}", None)
        view = (yield from self.show()).job
        if view.state != "done":
            raise _errors.ended(view)
        return view
