"""The client with answers made by hand: what it understands, what it refuses, what it tries again."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from service_fleet import Server, answers, streams

from cenote import BadInput, CheatingDetected, InternalError, NetworkError, UsageError
from cenote.service import Event, JobEnded, Service, ServiceFailed, ServiceProblem, ServiceTimeout, WaitTimeout, aio
from cenote.service import _core as core_module
from cenote.service import _http as http_module
from cenote.service._core import Core, JobCore
from cenote.service._data import LARGEST, job_text, result_of, texts
from cenote.service._errors import ended, printable, refused
from cenote.service._events import LONGEST, Parser
from cenote.service._pin import PinnedContext, fingerprint_of, parse_fingerprint
from cenote.service._reach import is_near, reach
from cenote.service._steps import Call, Done, Lost, Open, Read, Reply, Shut, Sleep, Step, Steps, Told, Work
from cenote.service._types import Fetched, JobView, NotOfForm, Peer, read

ID = "ab" * 16
VIEW: dict[str, Any] = {
    "id": ID,
    "number": 1,
    "state": "done",
    "proposal": "cd" * 32,
    "proposer": 0,
    "parties": 3,
    "protocol": "three",
    "program_kind": "query",
    "program": "ef" * 32,
    "inputs": [{"name": "loans", "type": "table", "owner": 0, "data": None}],
    "takes": [],
    "keeps": [],
    "receivers": [0],
    "statistical": 40,
    "computational": 124,
    "deadline": 1_795_968_231_729,
    "ands": 5,
    "bytes": 6,
    "decisions": [{"verdict": "approve", "reason": "", "at": 1}, None, None],
    "created_at": 0,
    "changed_at": 0,
}
PEER = {"party": 1, "name": "bert", "link": "up", "since": 5, "sent": 1, "received": 2}


def shown(**changed: object) -> bytes:
    return json.dumps({"job": {**VIEW, **changed}, "explained": None}).encode()


def event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def state(name: str) -> bytes:
    return event(event="job", job=ID, state=name)


def play(steps: Steps[Any], *told: Told) -> tuple[list[Step], Any]:
    """Tell a generator these answers, and give its steps and what comes of it. Work is done."""
    made, left = [], list(told)
    answer: Told = None
    try:
        while True:
            step = steps.send(answer)
            made.append(step)
            if isinstance(step, Work):
                answer = Done(step.run())
            elif isinstance(step, (Shut, Sleep)):
                answer = None
            else:
                answer = left.pop(0)
    except StopIteration as end:
        assert left == []
        return made, end.value


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.fixture
def core() -> Core:
    return Core("http://here", 2.0, Clock())


def test_fields_of_newer_services_are_left_out(core: Core) -> None:
    (call,), peers = play(core.peers(), Reply(200, json.dumps([{**PEER, "mood": {"good": [1]}}]).encode()))
    assert call == Call("GET", "/api/v1/peers")
    assert peers == [read(Peer, PEER)]
    assert (peers[0].since.year, peers[0].version) == (1970, None)
    parser_event = read(Event, {"event": "eclipse", "sun": "dark"})
    assert parser_event == Event("eclipse")


@pytest.mark.parametrize(
    "body",
    [b"", b"no JSON", b"{}", b"[3]", b'[{"party": true}]', b"[" * 100_000, b"\xff", b'[{"party": 1, "name": null}]'],
)
def test_answers_of_another_form_are_refused(core: Core, body: bytes) -> None:
    with pytest.raises(UsageError, match="form that this version does not know"):
        play(core.peers(), Reply(200, body))


def test_times_are_those_that_services_tell(core: Core) -> None:
    for wrong in (-1, 1 << 70, "1", 1.5, True):
        with pytest.raises(NotOfForm):
            read(Peer, {**PEER, "since": wrong})
    assert read(Peer, {**PEER, "since": 253_402_300_799_999, "round_trip": 1}).since.year == 9999


def test_pages_are_put_together(core: Core) -> None:
    def page(numbers: list[int], following: int | None) -> Reply:
        jobs = [{**VIEW, "number": number} for number in numbers]
        return Reply(200, json.dumps({"jobs": jobs, "next": following}).encode())

    calls, jobs = play(core.jobs("done", 3, None), page([9, 8], 8), page([7, 6], 6))
    assert [job.number for job in jobs] == [9, 8, 7]
    assert isinstance(calls[1], Call)
    assert calls[1].path == "/api/v1/jobs?limit=1&state=done&before=8"
    with pytest.raises(UsageError, match="no state"):
        play(core.jobs("lost", 3, None))


def test_a_refusal_has_the_fields_of_its_problem() -> None:
    problem = {"code": "busy", "message": "too\x1b[2J much", "advice": "try", "type": "about:blank", "detail": "d"}
    error = refused("http://here", "GET", "/x", 503, json.dumps(problem).encode())
    assert isinstance(error, ServiceFailed)
    assert isinstance(error, InternalError)
    assert (error.code, error.status, error.problem["detail"]) == ("busy", 503, "d")
    assert "\x1b" not in str(error)
    assert isinstance(refused("u", "GET", "/x", 408, b"{}"), ServiceTimeout)
    strange = refused("http://here", "GET", "/x", 302, b"<html>")
    assert isinstance(strange, UsageError)
    assert "not as a service does" in str(strange)
    copied = pickle.loads(pickle.dumps(error))
    assert isinstance(copied, ServiceProblem)
    assert (str(copied), copied.code) == (str(error), "busy")


def test_what_others_write_does_not_steer_a_screen() -> None:
    assert printable("a\u202eb\x1bc\nd") == "a\ufffdb\ufffdc\ufffdd"
    assert printable("Zürich «ok» 日本") == "Zürich «ok» 日本"
    assert len(printable("x" * 10_000)) < 3000


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ("cheating", CheatingDetected),
        ("peer-lost", NetworkError),
        ("bad-input", BadInput),
        ("deadline", UsageError),
        ("restarted", InternalError),
        ("what newer services say", InternalError),
    ],
)
def test_failures_are_of_the_kinds_of_the_package(core: Core, failure: str, kind: type[Exception]) -> None:
    job = JobCore(core, ID)
    with pytest.raises(kind, match=r"failed \(party 2\): why") as raised:
        play(
            job.wait(None, None),
            Reply(200, kind="text/event-stream"),
            state("failed"),
            Reply(200, shown(state="failed", failure=failure, reason="why", ended_by=2)),
        )
    assert isinstance(raised.value, JobEnded)
    assert raised.value.job.failure == failure


def test_what_may_be_asked_again_is_asked_once_more(core: Core) -> None:
    calls, _ = play(core.peers(), Lost("gone"), Reply(200, b"[]"))
    assert calls[0] == calls[1]
    with pytest.raises(NetworkError, match="http://here: gone"):
        play(core.peers(), Lost("gone"), Lost("gone"))
    with pytest.raises(NetworkError, match="key"):
        play(core.peers(), Lost("key", passes=False))
    job = JobCore(core, read(JobView, VIEW))
    with pytest.raises(NetworkError, match="may have been done all the same"):
        play(job.decline("no", None), Lost("gone"))
    with pytest.raises(NetworkError, match="may have been given out") as lost:
        play(job.fetch(None), Lost("gone"), Lost("gone"))
    (call,), _ = play(job.fetch(None), Reply(200, b"{}"))
    assert isinstance(call, Call)
    assert call.body is not None
    assert json.loads(call.body) == {"key": lost.value.key}  # type: ignore[attr-defined]


def test_a_proposal_has_one_word_however_often_it_is_sent(core: Core, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('circuit = "sum.txt"\n')
    (tmp_path / "sum.txt").write_text("gates")
    steps = core.propose(
        tmp_path / "job.toml",
        files=None,
        within=0.5,
        approve=True,
        data={"x": [1, 2]},
        stored={"y": "y.txt"},
        reason="why",
        key=None,
    )
    made, job = play(steps, Lost("gone"), Reply(201, json.dumps(VIEW).encode()))
    calls = [step for step in made if isinstance(step, Call)]
    assert calls[0] == calls[1]
    assert calls[0].key is not None
    assert len(calls[0].key) == 64
    assert json.loads(calls[0].body or b"") == {
        "job": 'circuit = "sum.txt"\n',
        "files": {"sum.txt": "gates"},
        "within": 1,
        "approval": {"data": {"y": "y.txt"}, "posted": {"x": "1\n2\n"}, "reason": "why"},
    }
    assert job.name == ID
    assert calls[0].key not in repr(calls[0])
    assert "gates" not in repr(calls[0])


def test_an_approval_is_of_the_proposal_that_was_seen(core: Core) -> None:
    job = JobCore(core, read(JobView, VIEW))
    made, _ = play(
        job.approve(None, None, "", None), Reply(200, shown(proposal="00" * 32)), Reply(200, json.dumps(VIEW).encode())
    )
    call = made[-1]
    assert isinstance(call, Call)
    assert json.loads(call.body or b"")["proposal"] == VIEW["proposal"]


def test_a_wait_goes_on_when_its_stream_ends(core: Core) -> None:
    told: list[tuple[Any, ...]] = []
    made, view = play(
        JobCore(core, ID).wait(None, lambda *what: told.append(what)),
        Lost("gone"),
        Reply(503, b'{"code": "busy", "message": "m", "advice": "a"}'),
        Reply(200, kind="text/event-stream"),
        state("running") + event(event="progress", job=ID, since=1, done=3, total=9)[:-4],
        Lost("gone"),
        Reply(200, kind="text/event-stream"),
        state("running"),
        b": \n\n" + event(event="progress", job=ID, since=1, done=5, total=9),
        b"",
        Reply(200, kind="text/event-stream"),
        state("done"),
        Reply(200, shown()),
    )
    assert view.state == "done"
    assert told == [
        ("about", "job abababab is running", None),
        ("progress", 5, 9),
        ("about", "job abababab is done", None),
    ]
    assert [step.seconds for step in made if isinstance(step, Sleep)] == [0.1, 0.2, 0.4, 0.8]
    assert sum(isinstance(step, Open) for step in made) == 5


def test_a_service_that_stays_away_is_given_up(core: Core) -> None:
    clock = core.clock
    assert isinstance(clock, Clock)
    hearing = core.hear(None, None)
    told: Told = None

    def listen() -> None:
        nonlocal told
        for _ in range(100):
            step = hearing.send(told)
            told = Lost("gone") if isinstance(step, Open) else None
            if isinstance(step, Sleep):
                assert step.seconds <= 5
                clock.now += step.seconds

    with pytest.raises(NetworkError, match="gone"):
        listen()
    assert clock.now < 10


def test_a_deadline_ends_each_wait(core: Core) -> None:
    clock = core.clock
    assert isinstance(clock, Clock)

    def late(step: Step | Event, told: Told) -> Told:
        clock.now += 1.5
        return told

    for answer in (Lost("gone"), Reply(503, b"{}")):
        hearing = core.hear(ID, core.deadline(1))
        with pytest.raises(WaitTimeout, match="the end of job"):
            hearing.send(late(hearing.send(None), answer))
    with pytest.raises(UsageError, match="number of seconds"):
        core.deadline(float("nan"))


NO_JOB = Reply(404, json.dumps({"code": "no-job", "message": "there is no such job", "advice": "list"}).encode())
ONE_JOB = Reply(200, json.dumps({"jobs": [VIEW], "next": None}).encode())


def test_a_job_that_is_not_there_yet_is_waited_for(core: Core) -> None:
    job = JobCore(core, ID, 10)
    steps, view = play(job.status(), NO_JOB, NO_JOB, Reply(200, shown()), Reply(200, shown()))
    assert view.id == ID
    assert [step.seconds for step in steps if isinstance(step, Sleep)] == [0.05, 0.1]
    assert len([step for step in steps if isinstance(step, Call) and step.path == f"/api/v1/jobs/{ID}"]) == 4
    # Once it is there, nothing is waited for any more.
    with pytest.raises(ServiceProblem, match="no such job"):
        play(job.status(), NO_JOB)
    # The first digits might be those of another party's job.
    with pytest.raises(UsageError, match="named by all its 32 digits"):
        JobCore(core, ID[:8], 10)
    part = JobCore(core, ID[:8])
    play(part.status(), ONE_JOB, Reply(200, shown()))
    assert part.name == ID


def test_a_wait_for_a_job_that_does_not_come_is_over_in_time(core: Core) -> None:
    clock = core.clock
    assert isinstance(clock, Clock)
    late = rf"there is not yet a job {ID} \(the service at http://here\)"
    for timeout, waited in ((0, None), (10, 0)):
        job = JobCore(core, ID, timeout)
        steps = job.status() if waited is None else job.wait(waited, None)
        with pytest.raises(WaitTimeout, match=late):
            play(steps, NO_JOB)
    pauses: list[float] = []

    def wait() -> None:
        steps = JobCore(core, ID, 60).status()
        told: Told = None
        while True:
            step = steps.send(told)
            told = NO_JOB if isinstance(step, Call) else None
            if isinstance(step, Sleep):
                pauses.append(step.seconds)
                clock.now += step.seconds

    with pytest.raises(WaitTimeout, match=ID):
        wait()
    assert 58 < sum(pauses) < 60
    assert max(pauses) == 1
    # A service that says nothing is waited for as long, and a moment longer.
    steps = JobCore(core, ID, 0.5).status()
    call = steps.send(None)
    assert isinstance(call, Call)
    assert call.deadline == pytest.approx(clock.now + 1, abs=0.1)
    clock.now += 1
    with pytest.raises(
        WaitTimeout, match=rf"not yet an answer to GET /api/v1/jobs/{ID} \(the service at http://here\)"
    ):
        steps.send(Lost("silent"))
    # One that once said that the job is not there, and then nothing.
    steps = JobCore(core, ID, 0.5).status()
    steps.send(None)
    assert isinstance(steps.send(NO_JOB), Sleep)
    steps.send(None)
    clock.now += 2
    with pytest.raises(WaitTimeout, match=late) as error:
        steps.send(Lost("silent"))
    assert "an answer to GET" in str(error.value.__cause__)
    with pytest.raises(UsageError, match="a timeout is a number of seconds"):
        JobCore(core, ID, -1)


def test_what_may_pass_is_borne_while_a_job_is_waited_for(core: Core) -> None:
    clock = core.clock
    assert isinstance(clock, Clock)
    busy = [
        Reply(status, json.dumps({"code": "busy", "message": f"too much {status}", "advice": "a"}).encode())
        for status in (408, 429, 503)
    ]
    lost = [Lost("refused", sent=False)] * 2
    job = JobCore(core, ID, 10)
    steps, view = play(job.status(), *busy, *lost, NO_JOB, *lost, Reply(200, shown()), Reply(200, shown()))
    assert view.id == ID
    assert len([step for step in steps if isinstance(step, Sleep)]) == 6
    # When the time is over, it is said what was wrong last.
    last: list[tuple[list[Told], type[Exception], str]] = [
        ([busy[2]], ServiceFailed, "too much 503"),
        ([busy[0]], ServiceTimeout, "too much 408"),
        ([busy[1]], ServiceProblem, "too much 429"),
        ([*lost], NetworkError, "refused"),
    ]
    for told, kind, match in last:
        for before in ([], [NO_JOB]):
            steps_of = JobCore(core, ID, 10).status()
            step: Step = steps_of.send(None)
            for answer in before:
                assert isinstance(steps_of.send(answer), Sleep)
                step = steps_of.send(None)
            assert isinstance(step, Call)
            clock.now += 9.5
            for each in told[:-1]:
                steps_of.send(each)
            clock.now += 0.4
            assert isinstance(steps_of.send(told[-1]), Sleep)
            steps_of.send(None)
            clock.now += 0.2
            for each in told[:-1]:
                steps_of.send(each)
            with pytest.raises(kind, match=match):
                steps_of.send(told[-1])
    # What does not pass is said at once.
    for wrong in (Lost("another key", sent=False, passes=False), Reply(401, b'{"code": "no-token", "message": "no"}')):
        with pytest.raises((NetworkError, UsageError), match=r"another key|: no"):
            play(JobCore(core, ID, 10).status(), wrong)


def test_missed_events_are_told_of(core: Core) -> None:
    hearing = core.hear(None, None)
    assert isinstance(hearing.send(None), Open)
    opened = Reply(200, kind="text/event-stream")
    assert isinstance(hearing.send(opened), Read)
    assert hearing.send(event(event="stock")) == Event("stock")
    assert isinstance(hearing.send(None), Read)
    assert isinstance(hearing.send(b""), Shut)
    assert isinstance(hearing.send(None), Sleep)
    assert isinstance(hearing.send(None), Open)
    assert hearing.send(opened) == Event("missed")


def test_events_are_bounded() -> None:
    parser = Parser()
    text = b'event: x\r\nid: 1\r\ndata: {"a":\r\ndata:1}\r\n\r\n: beat\n\ndata: 2\n\n'
    whole = [found for place in range(len(text)) for found in parser.feed(text[place : place + 1])]
    assert whole == ['{"a":\n1}', "2"]
    with pytest.raises(NotOfForm, match="line"):
        Parser().feed(b"x" * (LONGEST + 1))
    with pytest.raises(NotOfForm, match="event"):
        Parser().feed((b"data: " + b"x" * 1000 + b"\n") * 100)


def test_which_service_is_meant(tmp_path: Path) -> None:
    def of(url: str | None = None, **more: Any) -> str:
        more.setdefault("token", "t")
        more.setdefault("environment", {})
        return reach(url, **more).url

    pin = "ab" * 32
    assert of("http://127.0.0.1:7180/") == "http://127.0.0.1:7180"
    assert of("http://[::1]:7180") == "http://[::1]:7180"
    assert of("http://localhost") == "http://localhost"
    assert of("https://party.example:7180", fingerprint=pin.upper()) == "https://party.example:7180"
    assert of(environment={"CENOTE_SERVICE": "https://a.example", "CENOTE_FINGERPRINT": pin}) == "https://a.example"
    for far in (
        "http://party.example:7180",
        "http://10.0.0.7",
        "http://0.0.0.0:7180",
        "http://localhost.example",
        "http://[::ffff:127.0.0.1]:1",
        "http://127.1.example",
    ):
        with pytest.raises(UsageError, match="in the clear"):
            of(far)
    for none in (
        "party.example",
        "ftp://127.0.0.1",
        "http://127.0.0.1:1@evil.example",
        "http://evil.example\\@127.0.0.1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1/a",
        "http://127.0.0.1?a",
        "http://127.0.0.1#a",
        "http://127.0.0.1 ",
        "http://",
    ):
        with pytest.raises(UsageError, match="no address of a service"):
            of(none)
    with pytest.raises(UsageError, match="needs the fingerprint"):
        of("https://party.example")
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        of("https://party.example", fingerprint="ab")
    with pytest.raises(UsageError, match="which service"):
        of()
    with pytest.raises(UsageError, match="not both"):
        of("http://127.0.0.1", config=tmp_path)
    with pytest.raises(UsageError, match="both CENOTE_SERVICE and CENOTE_CONFIG"):
        of(environment={"CENOTE_SERVICE": "http://127.0.0.1", "CENOTE_CONFIG": "x"})
    assert not is_near("::ffff:127.0.0.1")
    with pytest.raises(UsageError, match="no name"):
        Service(f"https://{'a' * 70}.xn--\u00e4", token="t", fingerprint=pin)


def test_which_token_is_used(tmp_path: Path) -> None:
    party = tmp_path / "party.toml"
    party.write_text('party = 1\nidentity = "me.key"\n[service]\nfolder = "house"\n')
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "operator.token").write_text("operators\n")
    (tmp_path / "given").write_text(" of-a-file \n")
    both = {"CENOTE_TOKEN": "of-the-environment", "CENOTE_TOKEN_FILE": str(tmp_path / "given")}
    only = {"CENOTE_TOKEN": "of-the-environment"}

    def token(environment: dict[str, str], **more: Any) -> str:
        found = reach(None, config=tmp_path, environment=environment, **more)
        assert found.url == "http://127.0.0.1:7181"
        assert found.token not in repr(found)
        return found.token

    assert token({}) == "operators"
    assert token(only) == "of-the-environment"
    assert token(both) == "of-a-file"
    assert token(both, token="mine") == "mine"
    assert token(only, token_file=tmp_path / "given") == "of-a-file"
    assert reach("http://127.0.0.1", environment=only).token == "of-the-environment"
    for wrong in ("two words", "line\r\nX: y", "é", "x" * 5000):
        with pytest.raises(UsageError, match="no token") as raised:
            token({}, token=wrong)
        assert wrong not in str(raised.value)
    with pytest.raises(UsageError, match="there is no token"):
        reach("http://127.0.0.1", environment={})
    with pytest.raises(UsageError, match="cannot be read"):
        token({}, token_file=tmp_path / "missing")
    party.write_text('party = 1\nidentity = "me.key"\n[service]\nhttp = "0.0.0.0:9"\n')
    with pytest.raises(UsageError, match="identity"):
        reach(None, config=party, environment=only)
    party.write_text("party = 1\n")
    with pytest.raises(UsageError, match="has no"):
        reach(None, config=party, environment=only)
    with pytest.raises(UsageError, match="cannot be read"):
        reach(None, config=tmp_path / "none", environment=only)


def element(tag: int, content: bytes) -> bytes:
    length = len(content)
    count = (length.bit_length() + 7) // 8
    size = bytes([length]) if length < 128 else bytes([0x80 | count]) + length.to_bytes(count, "big")
    return bytes([tag]) + size + content


def certificate(key: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    names = element(0x30, b"")
    tbs = before + element(2, b"\1") + 4 * names + key + after
    return element(0x30, element(0x30, tbs) + names + element(3, b"\0"))


def test_fingerprints_of_certificates() -> None:
    key = element(0x30, b"k" * 200)
    pin = hashlib.sha256(key).hexdigest()
    assert fingerprint_of(certificate(key)) == pin
    assert fingerprint_of(certificate(key, element(0xA0, element(2, b"\2")), element(0xA3, b"x"))) == pin
    good = certificate(key)
    other = b"\x30\x83\x00\x00\x02kk"
    for wrong in (
        b"",
        b"\x30",
        b"\x30\x80\0\0",
        good + b"\0",
        good[:-1],
        certificate(key, after=key),
        certificate(other),
        certificate(b"\x31" + key[1:]),
        b"\x30\x84" + b"\xff" * 20,
    ):
        with pytest.raises(ValueError, match=r"element|length|follow"):
            fingerprint_of(wrong)
    for place in range(len(good)):
        broken = good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :]
        with contextlib.suppress(ValueError):
            assert fingerprint_of(broken) != pin or not 0 <= place - good.index(key) < len(key)
    colons = ":".join(pin[place : place + 2] for place in range(0, 64, 2))
    assert parse_fingerprint(f" {colons.upper()}\n") == pin
    context = PinnedContext(None)
    assert context.pin is None


def test_what_inputs_can_be_given(tmp_path: Path) -> None:
    job = '[[table]]\nname = "t"\nparty = 0\nmax_rows = 5\ncolumns = { b = "decimal(5,1)", a = "char(3)" }\n'
    table = pa.table({"a": ["x,", "", None], "b": [1.5, None, 2], "c": [1, 2, 3]})
    assert texts({"t": table}, job) == {"t": 'b,a\n1.5,"x,"\n,""\n2.0,\n'}
    assert texts({"t": pa.table({"a": [1]})}, "no TOML") == {"t": "a\n1\n"}
    assert texts({"x": 7, "y": (1, 2), "z": b"0x1f\n", "w": range(2)}, None) == {
        "x": "7\n",
        "y": "1\n2\n",
        "z": "0x1f\n",
        "w": "0\n1\n",
    }
    for wrong in (None, 1.5, [1.5], ["a"], object()):
        with pytest.raises(UsageError, match="x"):
            texts({"x": wrong}, None)  # type: ignore[dict-item]
    for missing in (tmp_path / "none.csv", tmp_path / "none.parquet"):
        with pytest.raises(BadInput, match="none"):
            texts({"x": missing}, None)
    with pytest.raises(UsageError, match="no file"):
        texts({"x": tmp_path}, None)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="no file"):
        texts({"x": str(tmp_path / "pipe")}, None)
    with pytest.raises(BadInput, match="UTF-8"):
        texts({"x": b"\xff"}, None)
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(UsageError, match="stored="):
        texts({"x": tmp_path / "large.csv"}, None)
    with pytest.raises(UsageError, match="stored="):
        texts({"x": b"1" * (LARGEST + 1)}, None)
    with pytest.raises(UsageError, match=r"none\.toml"):
        job_text(tmp_path / "none.toml", None)


def test_results_are_read_as_they_are_told() -> None:
    answer = {
        "columns": ["name", "n"],
        "types": ["char(9)", "i64"],
        "row_count": 3,
        "rows": [['a "b",\nc', "1"], ["", None], [None, "-3"]],
    }
    fetched = read(Fetched, {"job": ID, "answer": answer})
    assert list(result_of(fetched, {})) == [('a "b",\nc', 1), ("", None), (None, -3)]
    one = {"columns": ["n"], "types": ["u8"], "row_count": 2, "rows": [[None], ["2"]]}
    assert list(result_of(read(Fetched, {"answer": one}), {})) == [(None,), (2,)]
    none = {"columns": ["n"], "types": ["u8"], "row_count": 0, "rows": []}
    assert list(result_of(read(Fetched, {"answer": none}), {})) == []
    outputs = [{"name": "s", "width": 8, "values": ["0x2a", "1"]}, {"name": "t", "values": None}]
    assert result_of(read(Fetched, {"outputs": outputs}), {}) == {"s": [42, 1]}
    for wrong in (
        {},
        {"answer": {**one, "row_count": 5}},
        {"answer": {**one, "types": []}},
        {"answer": {**one, "rows": [[None, None], ["2"]]}},
        {"outputs": [{"name": "s", "values": ["x"]}]},
    ):
        with pytest.raises(NotOfForm):
            result_of(read(Fetched, wrong), {})


def test_jobs_are_named_by_digits(core: Core) -> None:
    for wrong in ("abc", "AB" * 16, "../../tokens", "ab" * 17, ""):
        with pytest.raises(UsageError, match="a job is named"):
            JobCore(core, wrong)
    page = Reply(200, json.dumps({"jobs": [VIEW, {**VIEW, "id": "cd" * 16}], "next": None}).encode())
    _, detail = play(JobCore(core, "abababab").show(), page, Reply(200, shown()))
    assert detail.job.id == ID
    assert ended(read(JobView, {**VIEW, "state": "declined"})).job.number == 1


# With servers that are no service.


def silent(connection: socket.socket) -> None:
    """Say nothing until the caller has gone."""
    connection.recv(1)


def both(server: Server, call: Callable[[Any], Any], timeout: float = 5.0) -> list[BaseException | Any]:
    """Make a call with both clients, and give what comes of it."""
    found: list[BaseException | Any] = []
    with Service(server.url, token="a-token", timeout=timeout) as service:
        try:
            found.append(call(service))
        except Exception as error:
            found.append(error)

    async def asynchronous() -> None:
        async with aio.Service(server.url, token="a-token", timeout=timeout) as service:
            try:
                found.append(await call(service))
            except Exception as error:
                found.append(error)

    asyncio.run(asynchronous())
    return found


def test_answers_that_are_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "ANSWER", 1000)
    monkeypatch.setattr(http_module, "REFUSAL", 1000)
    chunked = streams(*[b"x" * 300] * 9, kind="application/json")
    for turn in (answers(b"x" * 1001), answers(b"x" * 1001, "404 Not Found"), chunked):
        with Server(turn) as server:
            for error in both(server, lambda service: service.peers()):
                assert isinstance(error, NetworkError)
                assert "more than 1000 bytes" in str(error)
            assert server.connections == 2


class Nothing(httpx.SyncByteStream, httpx.AsyncByteStream):
    """An answer without a body."""

    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks: tuple[bytes, ...] = ()
        for chunk in chunks:
            yield chunk


class Broken(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The first request breaks off: before its head is out, or once it is."""

    def __init__(self, is_out: bool) -> None:
        self.is_out = is_out
        self.requests = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if self.requests > 1:
            return httpx.Response(204, stream=Nothing())
        if self.is_out:
            request.extensions["trace"]("http11.send_request_headers.complete", {})
        raise httpx.WriteError("Bad file descriptor")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if self.requests > 1:
            return httpx.Response(204, stream=Nothing())
        if self.is_out:
            await request.extensions["trace"]("http11.send_request_headers.complete", {})
        raise httpx.WriteError("Bad file descriptor")


def test_a_request_of_which_nothing_has_gone_out_is_sent_again() -> None:
    for is_out in (False, True):
        transport = Broken(is_out)
        # What changes something is not sent again if it may have been heard.
        expected = pytest.raises(NetworkError) if is_out else contextlib.nullcontext()
        with Service("http://127.0.0.1:1", token="a-token") as service:
            service._client = httpx.Client(transport=transport)
            with expected:
                service.drop_kept("total", of=ID)
        assert transport.requests == (1 if is_out else 2)

        async def asynchronous(transport: Broken = Broken(is_out)) -> int:  # noqa: B008
            async with aio.Service("http://127.0.0.1:1", token="a-token") as service:
                service._client = httpx.AsyncClient(transport=transport)
                with contextlib.suppress(NetworkError):
                    await service.drop_kept("total", of=ID)
            return transport.requests

        assert asyncio.run(asynchronous()) == (1 if is_out else 2)


def test_redirections_and_cut_answers_are_refused() -> None:
    moved = answers(b"", "307 Temporary Redirect", more="Location: http://127.0.0.1:1/\r\n")
    with Server(moved) as server:
        for error in both(server, lambda service: service.peers()):
            assert isinstance(error, ServiceProblem)
            assert error.status == 307
    with Server(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]")) as server:
        for error in both(server, lambda service: service.peers()):
            assert isinstance(error, NetworkError)
            assert "a-token" not in str(error)
            assert error.__context__ is None
    with Server(answers(b"[]")) as server:
        assert both(server, lambda service: service.peers()) == [[], []]
        assert b"accept-encoding: identity" in server.heard[0].lower()
        assert server.heard[0].count(b"Bearer a-token") == 1
        url = server.url
    with Service(url, token="a-token") as service, pytest.raises(NetworkError, match=url):
        service.peers()


def test_silence_is_borne_as_long_as_was_said() -> None:
    with Server(silent) as server:
        begun = time.monotonic()
        for error in both(server, lambda service: service.job(ID).cancel(), timeout=0.2):
            assert isinstance(error, NetworkError)
            assert "silent" in str(error)
        assert time.monotonic() - begun < 5


def test_a_service_that_never_answers_is_told_as_that() -> None:
    with Server(silent) as server:
        for error in both(server, lambda service: service.job(ID, timeout=0.1).show()):
            assert isinstance(error, WaitTimeout)
            assert f"not yet an answer to GET /api/v1/jobs/{ID}" in str(error)
    body = b'{"code": "busy", "message": "too much", "advice": "a"}'
    with Server(answers(body, "503 Service Unavailable"), answers(NO_JOB.body, "404 Not Found")) as server:
        errors = both(server, lambda service: service.job(ID, timeout=0.3).show())
        assert [type(error) for error in errors] == [WaitTimeout] * 2
        assert server.connections > 2
    refused_at = server.url
    for error in both(server, lambda service: service.job(ID, timeout=0.1).show()):
        assert isinstance(error, NetworkError)
        assert refused_at in str(error)


def test_events_that_drip_do_not_stretch_a_deadline() -> None:
    async def heard(service: Any) -> Any:
        return [event async for event in service.events(0.3)]

    with Server(streams(*[b": \n"] * 200, pause=0.05)) as server:
        with Service(server.url, token="t") as service:
            begun = time.monotonic()
            with pytest.raises(WaitTimeout):
                list(service.events(0.3))
            assert 0.29 < time.monotonic() - begun < 3
            with pytest.raises(WaitTimeout):
                service.job(ID).wait(0.3)

        async def asynchronous() -> None:
            async with aio.Service(server.url, token="t") as service:
                begun = time.monotonic()
                with pytest.raises(WaitTimeout):
                    await heard(service)
                assert 0.29 < time.monotonic() - begun < 3

        asyncio.run(asynchronous())


def test_streams_that_end_are_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "_PAUSE", 0.01)
    turns = [
        streams(state("running"), b"data: {"),
        answers(b'{"code": "busy", "message": "m", "advice": "a"}', "503 Service Unavailable"),
        streams(state("done")),
        answers(shown()),
    ]
    with Server(*turns) as server, Service(server.url, token="t") as service:
        assert service.job(ID).wait(5).state == "done"
        assert server.connections == 4

    async def asynchronous() -> None:
        with Server(*turns) as server:
            async with aio.Service(server.url, token="t") as service:
                assert (await service.job(ID).wait(5)).state == "done"
                assert server.connections == 4

    asyncio.run(asynchronous())
    for turn, why in ((answers(b"[]"), "no stream of events"), (streams(b"data: x\n\n"), "no JSON")):
        with (
            Server(turn) as server,
            Service(server.url, token="t") as service,
            pytest.raises(UsageError, match=why),
        ):
            next(service.events(5))


def test_a_bar_shows_how_far_a_job_is(capsys: pytest.CaptureFixture[str]) -> None:
    progress = event(event="progress", job=ID, since=1, done=5, total=9)
    turns = [streams(state("running"), progress, progress, state("done")), answers(shown())] * 3
    with Server(*turns) as server, Service(server.url, token="t") as service:
        service.job(ID).wait(5, progress=True)
        assert "job abababab is running: " in capsys.readouterr().err
        service.job(ID).wait(5, progress=False)
        assert capsys.readouterr().err == ""
        told: list[tuple[int, int]] = []
        service.job(ID).wait(5, progress=lambda done, total: told.append((done, total)))
        assert told == [(5, 9), (5, 9)]


def test_the_package_does_without_httpx() -> None:
    code = (
        "import sys\nsys.modules['httpx'] = None\nimport cenote\n"
        "try:\n    import cenote.service\nexcept ImportError as error:\n    print(error)\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'cenote[service]'" in output


def test_an_interrupt_ends_a_wait() -> None:
    code = (
        "import sys\nfrom cenote.service import Service\n"
        "service = Service(sys.argv[1], token='t')\nprint('waiting', flush=True)\n"
        f"try:\n    service.job('{ID}').wait(60)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with Server(streams(state("running"), b"\n", pause=0.5), silent) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", code, server.url], stdout=subprocess.PIPE, text=True, env={**os.environ}
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        end = time.monotonic() + 10
        while server.connections == 0:
            assert time.monotonic() < end
            time.sleep(0.01)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=10)
        assert (output, process.returncode) == ("interrupted\n", 0)
        assert time.monotonic() - begun < 5
