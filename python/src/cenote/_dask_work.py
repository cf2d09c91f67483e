"""What runs in the workers of a Dask cluster: processes that compute shards."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cenote import _command

_log = logging.getLogger("cenote")

# How often a task looks whether it is still wanted.
_SOON = 0.1
# Seconds that a process has to end in order.
_PATIENCE = 2.0
# Lines of a process that its caller hears of when it has failed.
_LINES = 20


class Order(NamedTuple):
    """What a task is to do."""

    job: str
    config: str
    coordinator: str
    # In megabytes.
    memory: int | None
    # Under what the caller hears of it.
    topic: str
    # Whether peers reach it through the coordinator.
    relayed: bool = False


class Ended(NamedTuple):
    """How a process ended: its exit code, or None if it was not wanted any more, and the last that it said."""

    exit_code: int | None
    text: str


def work(order: Order) -> Ended:
    """Compute shards until the coordinator has no more, or nobody wants this task any more."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def tell(**said: Any) -> None:
        worker.log_event(order.topic, {"key": str(key), **said})

    tell(what="begun")
    try:
        return _work(order, lambda: _is_wanted(worker, key), lambda line: tell(what="line", line=line))
    finally:
        tell(what="ended")


def _is_wanted(worker: Any, key: Any) -> bool:
    """Tell whether the worker goes on and nobody has cancelled the task."""
    if worker.status.name not in ("running", "paused"):
        return False
    task = worker.state.tasks.get(key)
    return task is not None and task.state in ("executing", "long-running")


def _work(order: Order, is_wanted: Callable[[], bool], tell: Callable[[str], None]) -> Ended:
    for file in (order.job, order.config):
        if not Path(file).is_file():
            return Ended(2, f"a worker does not find {file}: all workers of a party share its folder")
    arguments = ["shard", order.job, "--config", order.config, "--coordinator", order.coordinator]
    if order.memory is not None:
        arguments += ["--memory", str(order.memory)]
    if order.relayed:
        arguments.append("--relay")
    said: deque[str] = deque(maxlen=_LINES)
    process = _command.start(*arguments, output=subprocess.DEVNULL)
    assert process.stderr is not None
    lines = process.stderr

    def hear() -> None:
        for line in lines:
            said.append(line.rstrip())
            _log.info("%s", said[-1])
            tell(said[-1])

    hearing = threading.Thread(target=hear, name="cenote-shard", daemon=True)
    hearing.start()
    stopped = False
    try:
        while process.poll() is None:
            if not is_wanted():
                stopped = True
                break
            time.sleep(_SOON)
    finally:
        _command.end(process, _PATIENCE)
        hearing.join(_PATIENCE)
        lines.close()
    return Ended(None if stopped else process.returncode, _reason(said))


def _reason(said: deque[str]) -> str:
    """Give the error that a process told, or the last that it said."""
    for place, line in enumerate(said):
        if line.startswith("error: "):
            return "\n".join(list(said)[place:]).removeprefix("error: ")
    return said[-1] if said else ""


def seen(files: Mapping[str, str]) -> list[str]:
    """Give those of these files that are not here, or have another digest."""
    return [file for file, digest in files.items() if digest_of(file) != digest]


def digest_of(file: str) -> str:
    """Give a digest of a small file, or of the size of a large one, and nothing if it cannot be read."""
    try:
        with Path(file).open("rb") as opened:
            start = opened.read(1 << 16)
        return hashlib.sha256(start + str(Path(file).stat().st_size).encode()).hexdigest()
    except OSError:
        return ""
