"""What a query would take and reveal."""

from __future__ import annotations

import html
from typing import Any


class Plan:
    """What a query would take and reveal, told before any of it is computed.

    It shows as text, and in notebooks as a table.
    """

    def __init__(self, report: dict[str, Any], shown: str) -> None:
        self._report = report
        self._shown = shown

    @property
    def and_gates(self) -> int:
        """AND gates of all steps."""
        return int(self._report["and_gates"])

    @property
    def seconds(self) -> float:
        """Seconds it would take, about."""
        return float(self._report["seconds"])

    @property
    def bytes_sent(self) -> int:
        """Bytes that the busiest party would send, about."""
        return int(self._report["bytes_sent"])

    @property
    def memory_bytes(self) -> list[int]:
        """The most bytes of memory that each party would take."""
        return list(self._report["memory_bytes"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps, the answer first: what is done, by whom, with how many rows and AND gates."""
        return list(self._report["steps"])

    @property
    def proposals(self) -> list[dict[str, Any]]:
        """Promises of the owners that would make it cheaper."""
        return list(self._report["proposals"])

    @property
    def learnt(self) -> list[str]:
        """What every party learns, a sentence each."""
        return list(self._report["learnt"])

    @property
    def refused(self) -> str | None:
        """Why it cannot run here; None if it can."""
        why = self._report["refused"]
        return None if why is None else str(why)

    def to_dict(self) -> dict[str, Any]:
        """Give all of it, as ``cenote plan --json`` prints it."""
        return dict(self._report)

    def __repr__(self) -> str:
        return self._shown

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._shown)}</pre>"
