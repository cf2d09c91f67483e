"""Queries whose shards run in Dask clusters: a real cluster of processes for each party."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cenote

pytest.importorskip("distributed", reason="the clusters are those of dask.distributed")

import dask
import dask.dataframe as dd
import distributed
from clusters import Clients, cluster, files, nothing_is_left, processes, wait_for_workers
from test_party import parties, together

import cenote.dask
from cenote._dask_crew import Crew, _Room, _room, check_failures
from cenote._dask_tables import _common
from cenote._dask_work import Order

PARTIES = (0, 1, 2)

ORDERS = {"id": "u32 not null", "region": "char(8) not null", "day": "u16 not null"}
ITEMS = {
    "order_id": "u32 not null",
    "price": "u16 not null",
    "tax": "decimal(4,2) not null",
    "flag": "char(1) not null",
}
REGIONS = ["east", "north", "south", "west"]

# Like Q3 and Q5 of TPC-H: a join, a filter, and groups.
JOIN = """
    SELECT region, COUNT(*) AS items, SUM(price) AS paid FROM orders JOIN items ON id = order_id
    WHERE day < 200 GROUP BY region ORDER BY region
"""
# Like Q1.
GROUPS = """
    SELECT flag, COUNT(*) AS items, SUM(price) AS paid, SUM(price * tax) AS taxed, AVG(price) AS mean
    FROM items GROUP BY flag ORDER BY flag
"""
# Like Q6.
SUMS = "SELECT SUM(price * tax) AS taxed, COUNT(*) AS items FROM items WHERE price BETWEEN 100 AND 700 AND tax < 0.15"


def frames(seed: int = 1, orders: int = 300, items: int = 900) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give the orders of party 0 and the items of party 1, some of which are of no order."""
    rng = np.random.default_rng(seed)
    first = pd.DataFrame(
        {
            "id": rng.permutation(3 * orders)[:orders].astype(np.uint32),
            "region": rng.choice(REGIONS, orders),
            "day": rng.integers(0, 365, orders).astype(np.uint16),
        }
    )
    second = pd.DataFrame(
        {
            "order_id": (np.arange(items) % (3 * orders)).astype(np.uint32),
            "price": rng.integers(1, 1000, items).astype(np.uint16),
            "tax": rng.integers(0, 30, items) / 100,
            "flag": rng.choice(["A", "N", "R"], items),
        }
    )
    return first, second


def expected(orders: pd.DataFrame, items: pd.DataFrame) -> list[tuple[str, int, int]]:
    """Give the answer of JOIN by pandas."""
    joined = orders[orders["day"] < 200].merge(items, left_on="id", right_on="order_id")
    groups = joined.groupby("region")["price"].agg(["count", "sum"]).sort_index()
    return [(str(region), int(count), int(paid)) for region, count, paid in groups.itertuples()]


def tables(orders: Any, items: Any, *, owner: int | None = None) -> dict[str, cenote.Table]:
    """Give the tables as the owner sees them, or as one who sees all."""
    promises: dict[str, dict[str, Any]] = {
        "orders": {"party": 0, "columns": ORDERS, "max_rows": 320, "unique": "id", "values": {"region": REGIONS}},
        "items": {
            "party": 1,
            "columns": ITEMS,
            "max_rows": 1000,
            "at_most": {"order_id": 3},
            "values": {"flag": ["A", "N", "R"]},
        },
    }
    given = {}
    for (name, promised), data in zip(promises.items(), (orders, items), strict=True):
        if owner in (None, promised["party"]):
            given[name] = cenote.table(data, **promised)
        else:
            given[name] = cenote.declared(**promised)
    return given


def of_dask(frames: tuple[pd.DataFrame, pd.DataFrame]) -> tuple[Any, Any]:
    return dd.from_pandas(frames[0], npartitions=3), dd.from_pandas(frames[1], npartitions=5)


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with contextlib.ExitStack() as stack:
        yield {party: stack.enter_context(cluster(n_workers=2)) for party in PARTIES}


@pytest.fixture
def whole(clients: Clients) -> Clients:
    """Give clusters that have all their workers."""
    wait_for_workers(clients)
    return clients


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Processes in other folders find the package where this one does.
    monkeypatch.setenv("PYTHONPATH", str(Path(cenote.__file__).parents[1]))
    yield
    nothing_is_left(tmp_path)


def ask(clients: Clients, sql: str = JOIN, **options: Any) -> list[Any]:
    given = options.pop("tables", None) or tables(*of_dask(frames()))
    answer = cenote.dask.query(sql, clients=clients, tables=given, **options)
    assert answer is not None
    return list(answer)


@pytest.mark.parametrize("shards", [4, 16])
def test_a_join_of_two_frames_has_its_answer(whole: Clients, tmp_path: Path, shards: int) -> None:
    assert ask(whole, shards=shards, max_rows=4, folder=tmp_path) == expected(*frames())


@pytest.mark.parametrize("sql", [GROUPS, SUMS])
def test_groups_and_sums_are_those_of_one_session(whole: Clients, sql: str) -> None:
    seen: list[tuple[int, int]] = []
    one = cenote.query(sql, protocol="three", tables=tables(*frames()))
    answer = cenote.dask.query(
        sql,
        clients=whole,
        shards=4,
        protocol="three",
        tables=tables(*of_dask(frames())),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert answer is not None
    assert list(answer) == list(one)
    assert answer.types == one.types
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == ((0, 5), (5, 5))


class Organisations:
    """Three organisations, each with its party file and its cluster."""

    def __init__(self, folder: Path, clients: Clients, more: str = "") -> None:
        self.clients = clients
        self.parties = parties(folder, 3, more)
        self.folder = folder

    def ask(self, party: int, **options: Any) -> Any:
        settings = {"sql": JOIN, "shards": 4, "max_rows": 4, "client": self.clients[party], **options}
        sql = settings.pop("sql")
        given = settings.pop("tables", None) or tables(*of_dask(frames()), owner=party)
        answer = cenote.dask.query(sql, party=self.parties[party], tables=given, **settings)
        return None if answer is None else list(answer)

    def all(self, *of_each: dict[str, Any], **options: Any) -> list[Any]:
        own = of_each or ({}, {}, {})
        return together(
            *(lambda party=party: self.ask(party, **{**options, **own[party]}) for party in PARTIES),
        )


def test_organisations_ask_together(whole: Clients, tmp_path: Path) -> None:
    made = Organisations(tmp_path, whole)
    answers = made.all({"coordinator": "127.0.0.1:0"}, {"folder": tmp_path / "elsewhere"}, {}, to=[1, 2])
    assert answers == [None, expected(*frames()), expected(*frames())]
    # Nothing of a job that is done is left.
    assert {path.name for path in files(tmp_path)} == {"identity.pem", "party.toml"}


def test_workers_are_reached_through_their_coordinators(whole: Clients, tmp_path: Path) -> None:
    made = Organisations(tmp_path, whole)
    answers = made.all({"relay": "0.0.0.0:0"}, {"relay": "0.0.0.0:0"}, {})
    assert answers == [expected(*frames())] * 3


def test_tries_have_no_relay(whole: Clients) -> None:
    with pytest.raises(cenote.UsageError, match="leave client, party, coordinator and relay out"):
        cenote.dask.query(JOIN, clients=whole, relay="0.0.0.0:0", shards=2, tables=tables(*frames()))


class Ledgers:
    """What coordinators record below a folder: kept when they remove it."""

    def __init__(self, folder: Path, kept: Path) -> None:
        self._folder = folder
        self._kept = kept
        kept.mkdir()

    def look(self) -> int:
        """Keep what is there, and give the number of attempts that were handed out."""
        # Folders may go while this looks.
        for folder, _, names in os.walk(self._folder):
            for name in names:
                if name.startswith("attempts-"):
                    kept = "-".join([*Path(folder).relative_to(self._folder).parts, name])
                    with contextlib.suppress(FileExistsError, FileNotFoundError):
                        (self._kept / kept).hardlink_to(Path(folder) / name)
        return len(self.lines("handed-out"))

    def lines(self, what: str) -> list[list[str]]:
        """Give the pieces and numbers of all lines that say this."""
        read = [line.split() for path in sorted(self._kept.iterdir()) for line in path.read_text().splitlines()]
        return [line[1:3] for line in read if line and line[0] == what]

    def check(self) -> None:
        """See that no attempt was handed out twice by any coordinator, and no piece is done twice."""
        for path in self._kept.iterdir():
            lines = [line.split() for line in path.read_text().splitlines()]
            attempts = Counter((line[1], line[2]) for line in lines if line[0] == "handed-out")
            done = Counter(line[1] for line in lines if line[0] == "done")
            assert all(count == 1 for count in (*attempts.values(), *done.values())), path.read_text()


def meanwhile(call: Callable[[], Any], act: Callable[[], Any], ledgers: Ledgers, after: int = 3) -> Any:
    """Make a call, and do something once so many attempts were handed out."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive() and ledgers.look() < after:
        time.sleep(0.01)
    act()
    while thread.is_alive():
        ledgers.look()
        time.sleep(0.01)
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


def kill_a_worker(client: distributed.Client, choose: random.Random) -> None:
    workers = client.run(os.getpid)
    os.kill(workers[choose.choice(sorted(workers))], signal.SIGKILL)


def test_a_worker_that_is_killed_is_replaced(whole: Clients, tmp_path: Path) -> None:
    ledgers = Ledgers(tmp_path / "shared", tmp_path / "kept")
    answer = meanwhile(
        lambda: ask(whole, shards=8, attempts=40, max_rows=4, folder=tmp_path / "shared"),
        lambda: kill_a_worker(whole[1], random.Random(1)),
        ledgers,
    )
    assert answer == expected(*frames())
    ledgers.check()


def shard_tasks(client: distributed.Client) -> list[str]:
    return [key for key in client.futures if key.startswith("cenote-shard-")]


def test_a_task_that_is_cancelled_is_replaced(whole: Clients, tmp_path: Path) -> None:
    ledgers = Ledgers(tmp_path / "shared", tmp_path / "kept")
    cancelled: list[str] = []

    def cancel() -> None:
        cancelled.extend(shard_tasks(whole[2]))
        whole[2].cancel([distributed.Future(key, whole[2]) for key in cancelled], force=True)

    answer = meanwhile(
        lambda: ask(whole, shards=8, attempts=40, max_rows=4, folder=tmp_path / "shared"), cancel, ledgers
    )
    assert cancelled
    assert answer == expected(*frames())
    ledgers.check()


def test_workers_may_come_late_and_go(whole: Clients, tmp_path: Path) -> None:
    with cluster(n_workers=1) as late:
        ledgers = Ledgers(tmp_path / "shared", tmp_path / "kept")
        most = 0

        def scale() -> None:
            nonlocal most
            assert late.cluster is not None
            late.cluster.scale(3)
            deadline = time.monotonic() + 20
            while (most := max(most, len(shard_tasks(late)))) < 3 and time.monotonic() < deadline:
                time.sleep(0.02)
            late.cluster.scale(1)

        answer = meanwhile(
            lambda: ask({**whole, 0: late}, shards=24, attempts=90, max_rows=4, folder=tmp_path / "shared"),
            scale,
            ledgers,
        )
        assert answer == expected(*frames())
        assert most == 3
        ledgers.check()


def test_all_parties_are_told_of_other_shards(whole: Clients, tmp_path: Path) -> None:
    made = Organisations(tmp_path, whole)
    errors = made.all({}, {"shards": 8}, {})
    assert [type(error) for error in errors] == [cenote.UsageError] * 3
    assert all("disagrees on" in str(error) and "shards" in str(error) for error in errors)


def test_folders_have_to_be_shared(whole: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Organisations(tmp_path, whole)
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    # The folder in which a process runs is another one at each.
    with pytest.raises(cenote.UsageError, match=r"worker tcp://.* of party 1 does not find /proc/self/cwd/shared"):
        made.ask(1, folder="/proc/self/cwd/shared")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cenote.UsageError, match=r"does not find /proc/self/cwd/1/(party\.toml|shards-1)"):
        cenote.dask.query(
            JOIN,
            client=whole[1],
            party="/proc/self/cwd/1/party.toml",
            folder=tmp_path / "own",
            shards=4,
            tables=tables(*of_dask(frames()), owner=1),
        )


def test_clusters_without_workers_are_told_of(whole: Clients, tmp_path: Path) -> None:
    with cluster(n_workers=0) as empty:
        made = Organisations(tmp_path, {**whole, 0: empty}, "connect_timeout = 4")
        start = time.monotonic()
        errors = made.all(timeout=1)
        assert time.monotonic() - start < 15
    assert isinstance(errors[0], cenote.NetworkError)
    assert "the cluster of party 0 has had no worker for 1 s" in str(errors[0])
    assert all(isinstance(error, cenote.NetworkError) for error in errors)


def test_clusters_that_run_tasks_again_are_refused(whole: Clients) -> None:
    settings = {"distributed.scheduler.allowed-failures": 3}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as made,
        distributed.Client(made, set_as_default=False) as client,
        pytest.raises(cenote.UsageError, match="allowed-failures"),
    ):
        check_failures(client, 1)
    check_failures(whole[1], 1)


def test_workers_need_the_memory_that_is_stated(whole: Clients) -> None:
    with pytest.raises(cenote.UsageError, match=r"no worker of the cluster of party . has the 5000 MB"):
        ask(whole, shards=4, memory=5000)
    # The command says what it would take.
    with pytest.raises(cenote.CenoteError, match=r"a worker of party ."):
        ask(whole, shards=4, memory=10)


def test_workers_have_room_for_what_they_declare() -> None:
    worker = {"nthreads": 4, "memory_limit": 8_000_000_000, "status": "running", "resources": {}}
    assert _room(worker, None) == _Room(4, 2000, {})
    assert _room(worker, 3000) == _Room(2, 3000, {})
    assert _room({**worker, "memory_limit": 0}, None) == _Room(4, None, {})
    assert _room({**worker, "status": "paused"}, None).processes == 0
    declares = {**worker, "resources": {"MEMORY": 4e9, "cores": 2, "GPU": 1}}
    assert _room(declares, None) == _Room(2, 2000, {"MEMORY": 2e9, "cores": 1.0})
    assert _room(declares, 500) == _Room(2, 500, {"MEMORY": 5e8, "cores": 1.0})
    assert _room(declares, 5000).is_small


def test_values_that_do_not_fit_are_told_without_them(whole: Clients) -> None:
    orders, items = frames()
    items.loc[700, "price"] = 0
    wrong = items.assign(price=items["price"].astype("int64").where(items.index != 700, 70_000))
    with pytest.raises(cenote.BadInput, match="items, partition 3") as caught:
        ask(whole, shards=4, tables=tables(*of_dask((orders, wrong))))
    assert "70000" not in str(caught.value).replace(",", "")


def test_more_rows_than_declared_are_refused(whole: Clients) -> None:
    with pytest.raises(cenote.BadInput, match="table orders has 330 rows, more than its max_rows, 320"):
        ask(whole, shards=4, tables=tables(*of_dask(frames(orders=330))))


def test_frames_of_dask_are_declared_as_those_of_pandas() -> None:
    frame = pd.DataFrame(
        {
            "id": np.arange(40, dtype=np.int32),
            "name": [None if row == 33 else "x" * (row % 37) for row in range(40)],
            "whole": np.arange(40) * 1.0,
            "day": pd.date_range("2020-01-01", periods=40),
        }
    )
    with dask.config.set(scheduler="synchronous"):
        table = cenote.table(dd.from_pandas(frame, npartitions=4), party=0, unique="id")
        assert table.declared == cenote.table(frame, party=0, unique="id").declared
        stated = cenote.table(dd.from_pandas(frame, npartitions=4), party=0, columns={"id": "i32"})
        assert stated.declared["max_rows"] == 40
        frame["part"] = np.where(frame["id"] < 20, 1.0, 1.5)
        with pytest.warns(UserWarning, match="part"):
            table = cenote.table(dd.from_pandas(frame, npartitions=4), party=0)
    assert set(table.left_out) == {"part"}
    with pytest.raises(cenote.UsageError, match=r"cenote\.dask\.query"):
        cenote.query("SELECT COUNT(*) FROM t", t=table)
    assert _common({"char(4)", "char(16)"}) == "char(16)"
    assert _common({"decimal(5,2)", "decimal(6,0)"}) == "decimal(8,2)"
    assert _common({"char(4)", "date"}) is None


def test_calls_say_what_is_missing(whole: Clients) -> None:
    given = tables(*frames())
    with pytest.raises(cenote.UsageError, match="whose cluster is it"):
        cenote.dask.query(JOIN, shards=4, tables=given)
    with pytest.raises(cenote.UsageError, match="clients are of all parties"):
        cenote.dask.query(JOIN, shards=4, clients={0: whole[0], 2: whole[2]}, tables=given)
    with pytest.raises(cenote.UsageError, match="leave client, party, coordinator and relay out"):
        cenote.dask.query(JOIN, shards=4, clients=whole, client=whole[0], tables=given)


def test_an_interrupt_ends_all_of_it(tmp_path: Path) -> None:
    code = f"""
        import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
        import signal, threading, time, contextlib
        from pathlib import Path
        import test_dask as t, cenote.dask
        def interrupt():
            ledgers = t.Ledgers(Path({str(tmp_path)!r}) / "shared", Path({str(tmp_path)!r}) / "kept")
            while ledgers.look() < 3: time.sleep(0.01)
            signal.raise_signal(signal.SIGINT)
        if __name__ == "__main__":
            with contextlib.ExitStack() as stack:
                clients = {{party: stack.enter_context(t.cluster(n_workers=1)) for party in t.PARTIES}}
                threading.Thread(target=interrupt, daemon=True).start()
                try:
                    t.ask(clients, shards=64, folder={str(tmp_path / "shared")!r})
                except KeyboardInterrupt:
                    print("interrupted", len(t.processes()), len(t.files(Path({str(tmp_path)!r}) / "shared")))
    """
    script = tmp_path / "interrupted.py"
    script.write_text("\n".join(line[8:] for line in code.splitlines()))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "interrupted 0 0\n", done.stderr


def test_a_caller_that_is_killed_leaves_no_processes(whole: Clients, tmp_path: Path) -> None:
    addresses = {party: client.scheduler.address for party, client in whole.items() if client.scheduler is not None}
    code = f"""
        import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
        import distributed, test_dask as t
        clients = {{party: distributed.Client(address) for party, address in {addresses}.items()}}
        print(t.ask(clients, shards=64, folder={str(tmp_path / "shared")!r}))
    """
    lines = "\n".join(line[8:] for line in code.splitlines())
    ledgers = Ledgers(tmp_path / "shared", tmp_path / "kept")
    with subprocess.Popen([sys.executable, "-c", lines]) as running:
        while ledgers.look() < 3:
            assert running.poll() is None
            time.sleep(0.01)
        assert len(processes()) == 9
        running.kill()
    deadline = time.monotonic() + 10
    while processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes() == []
    # Only a caller that ends in order removes what its workers have written.
    shutil.rmtree(tmp_path / "shared")
    # The clusters serve others.
    assert ask(whole, shards=4, max_rows=4) == expected(*frames())


def test_room_is_filled_worker_by_worker() -> None:
    """Two slots at each of two workers, and three shards: no worker gets a second task before each has one."""

    class Task:
        def __init__(self, workers: list[str]) -> None:
            self.status = "pending"
            self.at = workers[0]

    class Client:
        def __init__(self) -> None:
            self.tasks: list[Task] = []
            self.status = "running"

        def subscribe_topic(self, topic: str, handler: object) -> None: ...

        def scheduler_info(self, n_workers: int) -> Any:
            worker = {"nthreads": 2, "memory_limit": 4_000_000_000, "status": "running", "resources": {}}
            return {"workers": {"a": worker, "b": worker}}

        def submit(self, work: object, order: object, *, workers: list[str], **options: Any) -> Task:
            assert (options["retries"], options["pure"], options["allow_other_workers"]) == (0, False, False)
            self.tasks.append(Task(workers))
            return self.tasks[-1]

    client = Client()
    order = Order("job", "config", "127.0.0.1:1", None, "cenote-shard-00000000")
    Crew(client, 0, order, 3, 1.0).step()
    assert [task.at for task in client.tasks] == ["a", "b", "a"]


def refill(client: distributed.Client) -> None:
    """Wait until a cluster has two workers. Dask gives up one that is killed while it starts: then another is added."""
    try:
        client.wait_for_workers(2, timeout=15)
    except TimeoutError:
        assert client.cluster is not None
        client.cluster.scale(len(client.cluster.worker_spec) + 1)
        client.wait_for_workers(2, timeout=30)


@pytest.mark.skipif(
    "CENOTE_DASK_KILLS" not in os.environ, reason="a soak: CENOTE_DASK_KILLS=50 says how many workers to kill"
)
def test_workers_are_killed_again_and_again(clients: Clients, tmp_path: Path) -> None:
    kills = int(os.environ["CENOTE_DASK_KILLS"])
    seed = int(os.environ.get("CENOTE_DASK_SEED", "1"))
    print("seed", seed)
    choose = random.Random(seed)
    killed = jobs = lost = 0
    ends: Counter[str] = Counter()
    while killed < kills:
        for client in clients.values():
            refill(client)
        folder = tmp_path / str(jobs)
        folder.mkdir()
        ledgers = Ledgers(folder / "shared", folder / "kept")
        both = frames(jobs)

        def kill() -> None:
            nonlocal killed
            for _ in range(choose.choice([1, 1, 2])):
                kill_a_worker(clients[choose.choice(PARTIES)], choose)
                killed += 1
                time.sleep(choose.uniform(0.0, 2.0))

        try:
            answer = meanwhile(
                lambda folder=folder, both=both: ask(  # type: ignore[misc]
                    clients, shards=8, attempts=64, max_rows=4, folder=folder / "shared", tables=tables(*of_dask(both))
                ),
                kill,
                ledgers,
                after=choose.randrange(1, 9),
            )
            assert answer == expected(*both)
            ends["answered"] += 1
        except cenote.CenoteError as error:
            ends[f"{type(error).__name__}: {error}"] += 1
        ledgers.check()
        lost += len(ledgers.lines("lost"))
        jobs += 1
    print(f"{killed} workers killed in {jobs} jobs, {lost} lines of lost attempts: {dict(ends)}")
    assert ends["answered"] >= 0.9 * jobs
