"""Clusters of Dask on this machine, each of processes, and what the tests start in them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import psutil
import pytest

# The cluster of each party.
Clients = dict[int, distributed.Client]


@contextlib.contextmanager
def cluster(**options: Any) -> Iterator[distributed.Client]:
    """Make a cluster that runs no task again by itself."""
    settings = {"distributed.scheduler.allowed-failures": 0, "distributed.logging.distributed": "critical"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            processes=True, threads_per_worker=1, dashboard_address=":0", memory_limit="2GiB", **options
        ) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


# Processes that these tests start have it, also those whose parents are gone.
MARK = os.environ.setdefault("CENOTE_DASK_TEST", str(os.getpid()))


def processes() -> list[psutil.Process]:
    """Find the coordinators and the processes of shards that these tests have started."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if {"shard", "party"} & set(process.cmdline()) and process.environ().get("CENOTE_DASK_TEST") == MARK:
                found.append(process)
    return found


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def wait_for_workers(clients: Clients) -> None:
    """Wait until each cluster has its two workers."""
    for client in clients.values():
        client.wait_for_workers(2, timeout=30)


def nothing_is_left(folder: Path) -> None:
    """See that all processes end soon, and that no tables and no jobs are left in a folder."""
    deadline = time.monotonic() + 3
    while (left := processes()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert [path for path in files(folder) if path.suffix in (".parquet", ".json") or "cenote-call" in path.name] == []


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail what takes longer than so many seconds. It runs in the main thread."""

    def fail(*_: object) -> None:
        pytest.fail(f"it takes longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
