"""The client with services that run."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import subprocess
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from service_fleet import Fleet, Server, answers, program

from cenote import Answer, BadInput, NetworkError, Stopped, UsageError
from cenote.service import (
    Event,
    JobStopped,
    Service,
    ServiceRefused,
    Unanswered,
    WaitTimeout,
    aio,
)
from cenote.service._pin import fingerprint_of
from cenote.service._reach import _fingerprint_in

JOB = '''\
protocol = "three"
query = """
SELECT region, COUNT(*) AS loans, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region ORDER BY owed
"""

[answer]
to = [0, 2]
max_rows = 10

[[table]]
name = "people"
party = 0
columns = { id = "u64 not null", region = "char(4)" }
max_rows = 20
unique = ["id"]

[[table]]
name = "loans"
party = 1
columns = { id = "u64 not null", owed = "decimal(12,2) not null" }
max_rows = 30
'''
# The same job as the services show it: keys in order.
SHOWN = '''\
protocol = "three"
query = """
SELECT region, COUNT(*) AS loans, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region ORDER BY owed
"""

[answer]
max_rows = 10
to = [0, 2]

[[table]]
max_rows = 20
name = "people"
party = 0
unique = ["id"]

[table.columns]
id = "u64 not null"
region = "char(4)"

[[table]]
max_rows = 30
name = "loans"
party = 1

[table.columns]
id = "u64 not null"
owed = "decimal(12,2) not null"
'''
PEOPLE = {"id": [1, 2, 3], "region": ["N", "S", None]}
LOANS = {"id": [1, 3, 3, 2], "owed": [Decimal("1.5"), Decimal("2.25"), Decimal(3), Decimal(4)]}
EXPECTED = [("N", 1, Decimal("1.50")), ("S", 1, Decimal("4.00")), (None, 2, Decimal("5.25"))]


@pytest.fixture
def services(fleet: Fleet) -> Iterator[list[Service]]:
    made = [Service.of(fleet.party(number)) for number in range(3)]
    yield made
    for service in made:
        service.close()


def arrived(service: Service, job: str) -> None:
    """Wait until a proposal has come to another party."""
    service.job(job, timeout=10).status()


def test_what_there_is(services: list[Service]) -> None:
    service = services[0]
    about = service.about()
    assert (about.party, about.parties, about.not_ready) == (0, ("anna", "bert", "cleo"), None)
    assert abs(about.now.timestamp() - time.time()) < 60
    peers = service.peers()
    assert [(peer.party, peer.name, peer.link) for peer in peers] == [(1, "bert", "up"), (2, "cleo", "up")]
    (stock,) = service.stock()
    assert stock.protocol == "three"
    assert stock.target > 0
    assert service.kept() == []
    assert [data.name for data in service.data()] == ["bank.csv"]
    assert isinstance(service.running(), list)
    assert isinstance(service.alarms(), list)


def test_a_query_from_its_proposal_to_its_answer(services: list[Service]) -> None:
    anna, bert, cleo = services
    assert anna.peers()[1].link == "up"
    job = anna.propose(JOB, data={"people": pd.DataFrame(PEOPLE)})
    assert job.status().state == "proposed"
    arrived(bert, job.id)
    arrived(cleo, job.id)
    shown = bert.job(job.id[:12]).show()
    assert shown.explained is not None
    assert shown.explained.job == SHOWN
    assert [(entry.name, entry.owner) for entry in shown.job.inputs] == [("people", 0), ("loans", 1)]
    assert bert.job(job.id).approve(data={"loans": pl.DataFrame(LOANS)}, reason="asked for").decisions[1] is not None
    cleo.job(job.id).approve()
    told: list[tuple[int, int]] = []
    view = job.wait(30, progress=lambda done, total: told.append((done, total)))
    assert view.state == "done"
    assert not view.is_open
    answer = job.result()
    assert isinstance(answer, Answer)
    assert list(answer) == EXPECTED
    assert answer.columns == ["region", "loans", "owed"]
    assert pa.table(answer).num_rows == 3
    assert answer.to_polars()["owed"].to_list() == [row[2] for row in EXPECTED]
    assert job.result() is answer
    other = cleo.job(job.id).result("a word")
    assert list(other) == EXPECTED
    assert cleo.job(job.id).fetch("a word")["answer"]["row_count"] == 3
    with pytest.raises(ServiceRefused, match="no result to fetch") as refused:
        cleo.job(job.id).result()
    assert refused.value.code == "no-result"
    assert job.id in [listed.id for listed in anna.jobs(state="done", limit=1000)]
    assert [listed.number for listed in anna.jobs(limit=1)] == [max(listed.number for listed in anna.jobs())]


@pytest.mark.parametrize("form", ["csv", "parquet", "bytes", "text", "stored"])
def test_data_is_given_in_several_ways(services: list[Service], fleet: Fleet, tmp_path: Path, form: str) -> None:
    anna, bert, cleo = services
    csv = b"id,owed\n1,1.5\n3,2.25\n3,3\n2,4\n"
    path = tmp_path / f"loans.{form}"
    given: dict[str, Any] = {"data": {"loans": path}}
    if form == "parquet":
        pq.write_table(pa.table(LOANS), path)
    elif form == "bytes":
        given = {"data": {"loans": csv}}
    elif form == "stored":
        (fleet.folder / "bert" / "data" / "loans.csv").write_bytes(csv)
        given = {"stored": {"loans": "loans.csv"}}
    else:
        path.write_bytes(csv)
        given = {"data": {"loans": str(path)}}
    job = anna.propose(JOB, data={"people": pa.table(PEOPLE)})
    arrived(bert, job.id)
    bert.job(job.id).approve(**given)
    arrived(cleo, job.id)
    cleo.job(job.id).approve()
    job.wait(30)
    answer = job.result()
    assert isinstance(answer, Answer)
    assert list(answer) == EXPECTED


def test_data_that_does_not_fit_is_refused_before_it_is_sent(services: list[Service]) -> None:
    anna, bert, _ = services
    job = anna.propose(JOB)
    arrived(bert, job.id)
    with pytest.raises(BadInput, match="loans") as raised:
        bert.job(job.id).approve(data={"loans": pa.table({"id": [-77], "owed": [1]})})
    assert "77" not in str(raised.value)
    with pytest.raises(UsageError, match="both by data and by stored"):
        bert.job(job.id).approve(data={"loans": b""}, stored={"loans": "loans.csv"})
    with pytest.raises(ServiceRefused, match="people"):
        bert.job(job.id).approve(data={"people": b"id\n"})
    assert bert.job(job.id).status().decisions[1] is None
    assert job.cancel().state == "cancelled"


def adder(more: str = "") -> str:
    """Give a job of an 8-bit adder: anna gives x, bert gives y, and all learn the sum."""
    head = f'protocol = "three"\ncircuit = "lib:add8"\nlanes = 1\n{more}'
    return f"{head}[[input]]\nparty = 0\n[[input]]\nparty = 1\n[[output]]\nto = [0, 1, 2]\n"


def approved(services: list[Service], job: str, given: dict[int, dict[str, Any]]) -> None:
    """Have the parties take part in a job, each with what it gives."""
    for number, data in given.items():
        arrived(services[number], job)
        services[number].job(job).approve(data=data)


def test_a_circuit_and_its_outputs(services: list[Service], fleet: Fleet) -> None:
    job = services[0].propose(adder(), data={"x": [20]})
    approved(services, job.id, {1: {"y": 22}, 2: {}})
    assert job.wait(30).program_kind == "circuit"
    assert job.result() == {"sum": [42]}
    text = adder() + "# by hand\n"
    explicit = services[0].propose(text, data={"x": [5]}, within=60, key="a word of its own")
    arrived(services[1], explicit.id)
    assert services[1].job(explicit.id).status().state in {"proposed", "approved", "queued", "running", "done"}
    again = services[0].propose(text, data={"x": [5]}, within=60, key="a word of its own")
    assert again.id == explicit.id
    approved(services, explicit.id, {1: {"y": 6}, 2: {}})
    explicit.wait(30)
    assert explicit.result() == {"sum": [11]}


def test_a_job_that_stands_is_called(services: list[Service], fleet: Fleet) -> None:
    job = services[0].propose(adder("[standing]\ncalls = 3\ncallers = [0]\n"), approve=True)
    approved(services, job.id, {1: {"y": 22}, 2: {}})
    assert job.call({"x": 20}, name="first", timeout=30) == {"sum": [42]}
    view = job.status()
    assert view.standing is not None
    assert (view.state, view.standing.calls, view.standing.callers) == ("running", 3, (0,))
    # The same again is the same call.
    assert job.call({"x": [20]}, name="first") == {"sum": [42]}
    with pytest.raises(ServiceRefused) as refused:
        job.call({"x": 21}, name="first")
    assert (refused.value.code, refused.value.key) == ("name-used", "first")
    with pytest.raises(ServiceRefused, match="missing"):
        job.call({})
    with pytest.raises(UsageError, match="whole numbers"):
        job.call({"x": [-1]})
    with pytest.raises(ServiceRefused):
        job.call({"x": -1})

    async def others() -> list[Any]:
        async with aio.Service.of(fleet.party(0)) as service:
            return [await service.job(job.id).call({"x": value}) for value in (1, 2)]

    assert asyncio.run(others()) == [{"sum": [23]}, {"sum": [24]}]
    assert job.wait(30).state == "done"
    with pytest.raises(ServiceRefused):
        job.call({"x": 1})


def test_a_query_that_stands_is_asked_with_values(services: list[Service]) -> None:
    parameters = '[parameters]\nleast = "i64"\nsince = "date"\n[standing]\ncalls = 9\ncallers = [0]\n'
    query = "SELECT COUNT(*) AS n FROM a JOIN b USING (id) WHERE x + y >= :least AND day >= :since"
    tables = "".join(
        f'[[table]]\nname = "{name}"\nparty = {party}\nmax_rows = 4\nunique = ["id"]\n'
        f'columns = {{ id = "u32 not null", {columns} }}\n'
        for party, (name, columns) in enumerate(
            (("a", 'x = "i32 not null", day = "date not null"'), ("b", 'y = "i32 not null"'))
        )
    )
    job = services[0].propose(
        f'protocol = "three"\nquery = "{query}"\n{parameters}{tables}[answer]\nto = [0]\nmax_rows = 1\n',
        data={"a": b"id,x,day\n1,-5,2024-01-01\n2,7,2024-06-01\n"},
    )
    approved(services, job.id, {1: {"b": b"id,y\n1,1\n2,1\n3,9\n"}, 2: {}})
    standing = job.status().standing
    assert standing is not None
    assert standing.parameters == {"least": "i64", "since": "date"}

    def count(least: int | str, since: dt.date | str) -> Any:
        answer = job.call({"least": least, "since": since}, timeout=30)
        assert isinstance(answer, Answer)
        return answer.to_dicts()

    for least, since, expected in ((-4, dt.date(2023, 1, 1), 2), ("-3", "2023-01-01", 1), (0, dt.date(2024, 6, 2), 0)):
        assert count(least, since) == [{"n": expected}]
    with pytest.raises(ServiceRefused, match="must be of type date"):
        count(1, "soon")
    job.cancel()


def test_declined_and_cancelled_jobs(services: list[Service]) -> None:
    anna, bert, _ = services
    job = anna.propose(JOB)
    arrived(bert, job.id)
    assert bert.job(job.id).decline("not our question").state == "declined"
    with pytest.raises(JobStopped, match=r"was declined \(party 1\): not our question") as declined:
        job.wait(30)
    assert isinstance(declined.value, Stopped)
    assert (declined.value.job.state, declined.value.job.ended_by) == ("declined", 1)
    job = anna.propose(JOB)
    assert job.cancel().state == "cancelled"
    with pytest.raises(JobStopped, match="was cancelled"):
        job.wait(30)


def test_a_wait_is_over_in_time_and_can_go_on(services: list[Service]) -> None:
    job = services[0].propose(JOB)
    begun = time.monotonic()
    with pytest.raises(WaitTimeout) as late:
        job.wait(0.3)
    assert 0.25 < time.monotonic() - begun < 2
    assert isinstance(late.value, TimeoutError)
    arrived(services[2], job.id)
    begun = time.monotonic()
    with pytest.raises(WaitTimeout):
        services[2].job(job.id).wait(0.3)
    assert 0.25 < time.monotonic() - begun < 2
    threading.Timer(0.2, job.cancel).start()
    with pytest.raises(JobStopped):
        job.wait(30)


def test_events(services: list[Service]) -> None:
    anna = services[0]
    with anna.events(30) as events:
        # The stream is open once something was asked of it, so a second one tells when.
        jobs: list[str] = []
        timer = threading.Timer(0.3, lambda: jobs.append(anna.propose(JOB).id))
        timer.start()
        event = next(event for event in events if event.state == "proposed")
        timer.join()
        assert event == Event("job", job=jobs[0], state="proposed")
    with pytest.raises(StopIteration):
        next(events)
    job = anna.job(jobs[0])
    with job.events(30) as of_job:
        assert next(of_job).state == "proposed"
        job.cancel()
        assert [event.state for event in of_job] == ["cancelled"]
    with pytest.raises(WaitTimeout):
        list(anna.events(0.2))


def test_problems_are_exceptions_with_their_fields(services: list[Service], fleet: Fleet) -> None:
    anna = services[0]
    with pytest.raises(ServiceRefused, match="what to do: list the jobs") as missing:
        anna.job("ab" * 16).status()
    error = missing.value
    assert isinstance(error, UsageError)
    assert (error.status, error.code, error.method) == (404, "no-job", "GET")
    assert error.path == "/api/v1/jobs/" + "ab" * 16
    assert error.message
    assert error.advice
    assert error.problem["code"] == "no-job"
    assert anna.url in str(error)
    with pytest.raises(ServiceRefused, match="line 1") as wrong:
        anna.propose("this is\nno job\n")
    assert wrong.value.status == 422
    with pytest.raises(ServiceRefused) as nothing:
        anna.drop_kept("total", of="ab" * 16)
    assert nothing.value.code == "no-kept"
    with pytest.raises(UsageError, match="none of the last"):
        anna.job("ffffffff").status()
    with pytest.raises(UsageError, match="named by all its 32 digits"):
        anna.job("ffffffff", timeout=0.2)
    begun = time.monotonic()
    with pytest.raises(WaitTimeout, match=rf"there is not yet a job {'ab' * 16} \(the service at {anna.url}\)"):
        anna.job("ab" * 16, timeout=0.2).decline()
    assert 0.15 < time.monotonic() - begun < 2
    job = anna.propose(JOB)
    assert anna.job(job.id, timeout=0).status().id == job.id
    with pytest.raises(ServiceRefused) as other:
        job.approve(data={"people": pa.table(PEOPLE)}, proposal="00" * 32)
    assert other.value.code == "other-proposal"
    job.cancel()
    token = "not-the-token-" * 3
    with (
        Service(fleet.url(0), token=token) as stranger,
        pytest.raises(ServiceRefused) as unknown,
    ):
        stranger.jobs()
    assert (unknown.value.status, unknown.value.code) == (401, "no-token")
    assert token not in repr(unknown.value) + repr(vars(unknown.value)) + repr(stranger) + repr(vars(stranger))


def test_a_token_is_nowhere_to_be_seen(
    fleet: Fleet, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = fleet.token(0)
    file = tmp_path / "token"
    file.write_text(token + "\n")
    caplog.set_level(logging.DEBUG)
    with Service(fleet.url(0), token_file=file) as service:
        job = service.propose(JOB)
        job.cancel()
        shown = repr(service) + repr(job) + repr(vars(service)) + repr(service._reach) + caplog.text
        assert "/api/v1/jobs" in caplog.text
        assert token not in shown
    monkeypatch.setenv("CENOTE_TOKEN", token)
    monkeypatch.setenv("CENOTE_SERVICE", fleet.url(0))
    with Service() as service:
        assert service.about().party == 0


def test_the_key_of_a_service_is_pinned(fleet: Fleet) -> None:
    shown = subprocess.run(
        [program("cenote"), "identity", "show", "--file", fleet.identity(2)], capture_output=True, text=True, check=True
    )
    pin = _fingerprint_in(fleet.identity(2))
    assert pin in shown.stdout
    assert fleet.url(2).startswith("https://")
    with Service.of(fleet.party(2).parent) as by_folder:
        assert by_folder.url == fleet.url(2)
        assert by_folder.about().fingerprint == pin
    with Service(fleet.url(2), token=fleet.token(2), fingerprint=pin.upper()) as by_address:
        assert by_address.about().party == 2
        assert by_address.jobs() is not None
    for wrong in (_fingerprint_in(fleet.identity(0)), "00" * 32):
        with (
            Service(fleet.url(2), token=fleet.token(2), fingerprint=wrong) as other,
            pytest.raises(NetworkError, match="does not show the key that is pinned") as raised,
        ):
            other.about()
        assert isinstance(raised.value, Unanswered)
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None


def test_every_connection_must_show_the_key(fleet: Fleet) -> None:
    pin = _fingerprint_in(fleet.identity(2))
    right, wrong = fleet.identity(2), fleet.identity(0)
    with Server(answers(b"[]"), identities=(right, wrong)) as between:
        with Service(between.url, token="a-token", fingerprint=pin) as service:
            assert service.peers() == []
            assert b"Bearer a-token" in between.heard[0]
            for _ in range(2):
                with pytest.raises(NetworkError, match="key that is pinned"):
                    service.job("ab" * 16).decline("secret words")
        assert between.connections == 3
        assert between.heard[1:3] == [b"", b""]

    async def asynchronous() -> None:
        with Server(answers(b"[]"), identities=(right, wrong)) as between:
            async with aio.Service(between.url, token="a-token", fingerprint=pin) as service:
                assert await service.peers() == []
                with pytest.raises(NetworkError, match="key that is pinned"):
                    await service.peers()
            assert between.heard[1] == b""

    asyncio.run(asynchronous())
    with (
        Server(answers(b"[]")) as plain,
        Service(plain.url.replace("http:", "https:"), token="a-token", fingerprint=pin) as service,
    ):
        with pytest.raises(NetworkError, match="TLS"):
            service.peers()
        assert b"a-token" not in plain.heard[0]


def test_the_same_for_asyncio(fleet: Fleet) -> None:
    async def proposed(events: aio.Events) -> Event:
        async for event in events:
            if event.state == "proposed":
                return event
        raise AssertionError

    async def flow() -> None:
        async with (
            aio.Service.of(fleet.party(0)) as anna,
            aio.Service.of(fleet.party(1)) as bert,
            aio.Service.of(fleet.party(2)) as cleo,
        ):
            about, peers, stock, kept = await asyncio.gather(anna.about(), cleo.peers(), bert.stock(), anna.kept())
            assert (about.party, [peer.party for peer in peers], len(stock), kept) == (0, [0, 1], 1, [])
            job = await anna.propose(JOB, data={"people": pa.table(PEOPLE)})
            waiting = asyncio.ensure_future(job.wait(30))
            await bert.job(job.id, timeout=10).approve(data={"loans": pl.DataFrame(LOANS)})
            await cleo.job(job.id, timeout=10).approve()
            assert (await waiting).state == "done"
            answer = await job.result()
            assert isinstance(answer, Answer)
            assert list(answer) == EXPECTED
            assert [event.state async for event in job.events(30)] == ["done"]

            job = await anna.propose(JOB)
            with pytest.raises(WaitTimeout):
                await job.wait(0.2)
            cancelled = asyncio.ensure_future(job.wait())
            await asyncio.sleep(0.1)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            await bert.job(job.id, timeout=10).decline("no")
            with pytest.raises(JobStopped):
                await job.wait(30)
            async with anna.events(30) as events:
                first = asyncio.ensure_future(proposed(events))
                await asyncio.sleep(0.2)
                other = await anna.propose(JOB)
                assert await first == Event("job", job=other.id, state="proposed")
            with pytest.raises(StopAsyncIteration):
                await anext(events)
            assert (await other.cancel()).state == "cancelled"
            with pytest.raises(ServiceRefused, match="list the jobs"):
                await anna.job("ab" * 16).show()
            with pytest.raises(WaitTimeout, match=f"not yet a job {'ab' * 16} \\(the service at {anna.url}\\)"):
                await anna.job("ab" * 16, timeout=0.2).show()

    asyncio.run(flow())


def test_the_fingerprint_is_that_of_the_key(fleet: Fleet) -> None:
    with pytest.raises(ValueError, match="element"):
        fingerprint_of(fleet.identity(0).read_bytes())
