"""A party's coordinator of a job in shards: a process of the command."""

from __future__ import annotations

import json
import logging
import signal
import threading
from pathlib import Path
from typing import Any

from cenote import _cenote, _command
from cenote._answer import Answer
from cenote._cenote import CenoteError, InternalError

_log = logging.getLogger("cenote")

# Seconds that it has to end in order: it tells its peers.
_PATIENCE = 5.0


class Coordinator:
    """Meets the other parties' coordinators, hands shards to this party's workers, and puts them together."""

    def __init__(self, job: Path, config: Path, desk: tuple[str, str | None], party: int) -> None:
        address, relay = desk
        through = [] if relay is None else ["--relay", relay]
        self._party = party
        self._report = job.with_name("report.json")
        with self._report.open("wb") as output:
            self._process = _command.start(
                "party", str(job), "--config", str(config), "--coordinate", address, "--json", *through, output=output
            )
        self._hearing = threading.Thread(target=self._hear, name="cenote-coordinator", daemon=True)
        self._hearing.start()

    def _hear(self) -> None:
        lines = self._process.stderr
        assert lines is not None
        is_told = True
        for line in lines:
            # It comes as an error.
            is_told = is_told and not line.startswith("error: ")
            if is_told:
                _log.warning("party %s: %s", self._party, line.rstrip())

    @property
    def has_ended(self) -> bool:
        """Tell whether it has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """End it in order, if it has not ended."""
        _command.end(self._process, _PATIENCE)
        self._hearing.join(_PATIENCE)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def result(self) -> dict[str, Any] | CenoteError:
        """Give what it printed, or the error with which it ended."""
        code = self._process.wait()
        try:
            printed = json.loads(self._report.read_bytes())
        except (OSError, ValueError):
            printed = {}
        if code == 0 and printed:
            return dict(printed)
        if code < 0:
            name = signal.Signals(-code).name
            return InternalError(
                f"the coordinator of party {self._party} was ended by {name}: ask again, and it goes on with the "
                "shards that are done"
            )
        return _command.raised(code, printed.get("error", {}).get("message", f"the coordinator ended with {code}"))


def answer_in(printed: dict[str, Any], file: Path) -> Answer | None:
    """Give the answer that a coordinator has written, if this party learns it."""
    answered, report = printed.pop("answer"), printed
    report.pop("file", None)
    if answered is None:
        return None
    columns = list(zip(answered["columns"], answered["types"], strict=True))
    if len({name for name, _ in columns}) == len(columns):
        frame = _cenote.Frame.read(file, columns, max(1, answered["row_count"]))
    else:
        frame = _cenote.Frame.of_parquet(file)
    return Answer(frame, report)
