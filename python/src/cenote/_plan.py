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
        report = self._report
        all_gates = max(1, self.and_gates)
        rows = [
            f'<tr><td style="text-align: left; padding-left: {step["depth"] + 0.5}em">{html.escape(step["what"])}</td>'
            + "".join(f"<td>{cell}</td>" for cell in _cells(step, all_gates))
            + "</tr>"
            for step in self.steps
        ]
        heads = "".join(f"<th>{name}</th>" for name in ("step", "who", "rows", "bits", "ANDs", "%"))
        figures = {
            "protocol": report["protocol"],
            "AND gates": f"{self.and_gates:,} in {report['levels']:,} levels",
            "sent by the busiest party": f"{self.bytes_sent / 1e6:,.1f} MB",
            "memory of a party": f"{max(self.memory_bytes) / 1e6:,.1f} MB at most",
            "seconds, about": f"{self.seconds:.3g}",
        }
        told = [f"{name}: {value}" for name, value in figures.items()] + self.learnt
        told += [proposal["told"] for proposal in self.proposals]
        if self.refused is not None:
            told.insert(0, f"It cannot run here: {self.refused}")
        items = "".join(f"<li>{html.escape(line)}</li>" for line in told)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table><ul>{items}</ul>"


def _cells(step: dict[str, Any], all_gates: int) -> list[str]:
    owner, gates = step["owner"], step["and_gates"]
    who = "all, secretly" if owner is None else f"party {owner}, in the clear"
    share = f"{100 * gates / all_gates:.0f}" if gates else ""
    return [who, f"{step['rows']:,}", f"{step['bits']:,}", f"{gates:,}" if gates else "", share]
