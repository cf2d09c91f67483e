"""The tasks of a Dask cluster that compute shards: as many as there is room for, while there is work."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from cenote import _command
from cenote._cenote import CenoteError, NetworkError, UsageError
from cenote._dask_work import Ended, Order, work

_log = logging.getLogger("cenote")

# Seconds before a worker whose process has ended too early gets another.
_PAUSE = 0.5
# Seconds between two looks at the cluster.
_LOOK = 0.5
# Seconds that tasks may take to end at the end.
_PATIENCE = 5.0
# Exit codes of a process that may be started again: a peer or the coordinator was lost, or it was stopped.
_AGAIN = (3, 7)
# That of a machine that failed, and how often in a row that may be before it is no accident.
_FAILED = 1
_ACCIDENTS = 3

_MEGABYTE = 1_000_000


class _Room(NamedTuple):
    """What a worker has room for: processes, the megabytes of each, and what Dask reserves for it."""

    processes: int
    memory: int | None
    resources: dict[str, float]
    is_small: bool = False


class Crew:
    """A party's tasks. Each is a process that asks the coordinator for shards until there are none.

    A task is never run twice: one that is lost is lost, and a new one takes its place. How often a shard is tried is
    the coordinator's matter.
    """

    def __init__(self, client: Any, party: int, order: Order, shards: int, timeout: float) -> None:
        self._client = client
        self._party = party
        self._order = order
        self._shards = shards
        self._timeout = timeout
        self._tasks: dict[str, tuple[Any, str | None]] = {}
        self._number = 0
        self._looked = 0.0
        self._bare_since = time.monotonic()
        self._again: dict[str | None, float] = {}
        self._heard = threading.Lock()
        self._running: set[str] = set()
        self._done: set[str] = set()
        self._accidents = 0
        self._is_over = False
        self.has_begun = False
        self.fault: CenoteError | None = None
        self.last = ""
        client.subscribe_topic(order.topic, self._hear)

    @property
    def done(self) -> int:
        """How many shards this party's workers have computed."""
        return len(self._done)

    def _hear(self, event: tuple[float, dict[str, str]]) -> None:
        said = event[1]
        with self._heard:
            if said["what"] == "begun":
                self._running.add(said["key"])
                self.has_begun = True
            elif said["what"] == "ended":
                self._running.discard(said["key"])
            elif said["what"] == "line":
                _log.info("party %s, %s: %s", self._party, said["key"], said["line"])
                if found := re.match(r"(shard \d+) .*: done$", said["line"]):
                    self._done.add(found[1])
                    self._accidents = 0

    def step(self) -> None:
        """Hear of tasks that have ended, and start others where there is room."""
        for key, (task, address) in list(self._tasks.items()):
            if task.status != "pending":
                del self._tasks[key]
                self._ended(task, address)
        if self.fault is None and not self._is_over and time.monotonic() - self._looked >= _LOOK:
            self._fill()
            self._looked = time.monotonic()

    def _ended(self, task: Any, address: str | None) -> None:
        from distributed import KilledWorker

        if task.status == "finished":
            try:
                ended: Ended = task.result(timeout=_PATIENCE)
            except Exception:
                # Its worker was lost with what it has to say.
                task.cancel()
                return
            # Its coordinator has no more shards.
            self._is_over = self._is_over or ended.exit_code == 0
            if self._is_over or ended.exit_code is None:
                return
            self.last = ended.text
            self._accidents += ended.exit_code == _FAILED
            is_accident = ended.exit_code == _FAILED and self._accidents <= _ACCIDENTS
            if ended.exit_code > 0 and ended.exit_code not in _AGAIN and not is_accident:
                self.fault = _command.raised(ended.exit_code, f"a worker of party {self._party}: {ended.text}")
        elif task.status == "error" and not isinstance(error := task.exception(), KilledWorker):
            self.fault = cannot_run(self._party, error)
        elif task.status == "error":
            self.last = "its worker was lost"
        _log.info("party %s, %s: %s", self._party, task.key, self.last or task.status)
        self._again[address] = time.monotonic() + _PAUSE

    def _fill(self) -> None:
        rooms = self._rooms()
        now = time.monotonic()
        for key, (task, address) in list(self._tasks.items()):
            # It would wait for that worker for ever.
            if address is not None and address not in rooms:
                del self._tasks[key]
                task.cancel()
        if rooms:
            self._bare_since = now
        elif now - self._bare_since > self._timeout:
            self.fault = NetworkError(
                f"the cluster of party {self._party} has had no worker for {self._timeout:g} s: see that "
                "its scheduler runs, start workers, and ask again"
            )
        elif not self._tasks:
            # A cluster that grows on demand has to see that there is some.
            self._start(None, _Room(1, self._order.memory, {}))
        wanted = min(self._shards, sum(room.processes for room in rooms.values()))
        free = [
            (address, room)
            for place in range(max((room.processes for room in rooms.values()), default=0))
            for address, room in rooms.items()
            if self._at(address) <= place < room.processes and self._again.get(address, 0.0) <= now
        ]
        for address, room in free[: max(0, wanted - len(self._tasks))]:
            self._start(address, room)

    def _at(self, address: str) -> int:
        return sum(at == address for _, at in self._tasks.values())

    def _rooms(self) -> dict[str, _Room]:
        """Tell what each worker has room for."""
        # It goes on saying what it last knew.
        is_there = self._client.status == "running"
        workers = self._client.scheduler_info(n_workers=-1)["workers"] if is_there else {}
        rooms = {address: _room(worker, self._order.memory) for address, worker in workers.items()}
        if rooms and all(room.is_small for room in rooms.values()):
            raise UsageError(
                f"no worker of the cluster of party {self._party} has the {self._order.memory} MB that a shard may "
                "take: cut the query into more shards, or give workers more memory"
            )
        return rooms

    def _start(self, address: str | None, room: _Room) -> None:
        self._number += 1
        key = f"{self._order.topic}-{self._number}"
        task = self._client.submit(
            work,
            self._order._replace(memory=room.memory),
            key=key,
            workers=None if address is None else [address],
            allow_other_workers=False,
            resources=room.resources or None,
            retries=0,
            pure=False,
        )
        self._tasks[key] = task, address

    def end(self, *, at_once: bool) -> None:
        """Wait until the tasks have ended, which they do once the coordinator has; or end them."""
        deadline = time.monotonic() + (0.0 if at_once else _PATIENCE)
        while any(task.status == "pending" for task, _ in self._tasks.values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        # A scheduler that is gone cancels nothing, and its workers end.
        with contextlib.suppress(OSError, TimeoutError):
            for task, _ in self._tasks.values():
                task.cancel()
        # What was cancelled ends its process first.
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with self._heard:
                own = {key for key in self._tasks if key in self._running}
            if not own:
                break
            time.sleep(0.05)
        self._tasks.clear()
        with contextlib.suppress(OSError):
            self._client.unsubscribe_topic(self._order.topic)


def _room(worker: Mapping[str, Any], own: int | None) -> _Room:
    """Tell what a worker has room for, if a process takes so many megabytes, or its share of what there is."""
    declared = {name: float(amount) for name, amount in (worker.get("resources") or {}).items()}
    cores = [name for name in declared if name.lower() in ("cores", "cpu", "cpus")]
    memories = [name for name in declared if name.lower() == "memory"]
    processes = min([int(worker["nthreads"]), *(int(declared[name]) for name in cores)])
    limit = int(min((declared[name] for name in memories), default=worker["memory_limit"] or 0)) // _MEGABYTE
    if own is not None and limit:
        processes = min(processes, limit // own)
    memory = own if own is not None or not limit else max(1, limit // max(1, processes))
    reserved = dict.fromkeys(cores, 1.0) | dict.fromkeys(memories, float((memory or 0) * _MEGABYTE))
    is_small = own is not None and 0 < limit < own
    return _Room(processes if worker.get("status") == "running" else 0, memory, reserved, is_small)


def cannot_run(party: int, error: BaseException) -> UsageError:
    """Give the error of a worker that fails with what is none of this package's errors."""
    return UsageError(
        f"a worker of the cluster of party {party} cannot run shards: {type(error).__name__}: {error}; install the "
        "same version of cenote there"
    )


def check_failures(client: Any, party: int) -> None:
    """See that the cluster runs no task again by itself, if it can be known."""
    try:
        allowed = client.run_on_scheduler(_allowed_failures)
    except Exception as error:
        _log.warning(
            "party %s: the scheduler does not say how often it runs tasks again whose worker was lost (%s); let "
            "distributed.scheduler.allowed-failures be 0 there",
            party,
            type(error).__name__,
        )
        return
    if allowed != 0:
        raise UsageError(
            f"the cluster of party {party} runs a task up to {allowed} times again by itself when its worker is lost, "
            "and shards are tried again by their coordinator alone: start the scheduler with allowed-failures 0, by "
            'dask.config.set({"distributed.scheduler.allowed-failures": 0}) before the cluster is made, or by the '
            "variable DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0"
        )


def _allowed_failures(dask_scheduler: Any) -> int:
    return int(dask_scheduler.allowed_failures)
