"""Queries with all parties on this machine, each a process of its own."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cenote import _cenote, _job
from cenote._answer import Answer
from cenote._cenote import UsageError
from cenote._command import register
from cenote._plan import Plan
from cenote._progress import Bar, Listener
from cenote._tables import Table

_T = TypeVar("_T")


def query(
    sql: str,
    /,
    *,
    tables: Mapping[str, Table] | None = None,
    protocol: str | None = None,
    security: int | None = None,
    to: Sequence[int] | None = None,
    min_group: int | None = None,
    max_rows: int | None = None,
    max_join_rows: int | None = None,
    secret_only: bool = False,
    timeout: float = 30.0,
    phase_timeout: float | None = None,
    progress: bool | Listener | None = None,
    **named: Table,
) -> Answer:
    """Ask a query over private tables, with all parties on this machine.

    Each party is a process of its own that reads its own tables only. Between organisations, each runs its own
    party instead.

    Parameters
    ----------
    sql
        The query: one SELECT.
    tables, **named
        The tables by the names that the query calls them: ``people=cenote.table(df, party=0)``. ``tables`` is for
        names that are those of other parameters.
    protocol
        ``"three"``, or for two parties ``"authenticated"``, ``"lego"`` or ``"jimu"``. Without it, the usual one for
        so many parties.
    security
        A wrong answer passes with probability at most 2 to the minus this.
    to
        The parties that learn the answer. Without it, all do.
    min_group
        Groups of fewer rows are left out of the answer.
    max_rows
        The most rows the answer may have; then nobody learns how many it has but by reading it. Without it, all
        parties learn that number.
    max_join_rows
        The most rows of a join in whose tables keys come several times.
    secret_only
        Whether nothing is computed by an owner on its own tables.
    timeout
        Seconds that a party waits for another that is silent.
    phase_timeout
        Seconds that each phase may take, such as the set-up.
    progress
        True shows a bar, False shows none. A function is called with the work done and all there is. Without it,
        a bar is shown if it takes longer than a second and somebody may be looking.

    Returns
    -------
    Answer
        The rows, for pandas, polars, Arrow and iteration, and what they cost.

    Raises
    ------
    UsageError
        The query or a declaration is wrong; the message gives the place in the query.
    BadInput
        A table breaks a promise, or no answer fits what was stated.
    NetworkError, CheatingDetected, PeerReported
        Parties lost each other, or one was caught cheating.
    KeyboardInterrupt
        After the parties of this query have ended in order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"id": [1, 2, 3], "age": [31, 42, 53]})
    >>> visits = pa.table({"id": [3, 1, 3]})
    >>> answer = cenote.query(
    ...     "SELECT COUNT(*) AS visits FROM people JOIN visits USING (id) WHERE age > 40",
    ...     people=cenote.table(people, party=0, unique="id"),
    ...     visits=cenote.table(visits, party=1),
    ... )
    >>> list(answer)
    [(2,)]
    """
    register()
    settings = settings_of(protocol, security, max_join_rows, secret_only)
    with tempfile.TemporaryDirectory(prefix="cenote-") as name:
        folder = Path(name).resolve()
        file = folder / "answer.parquet"
        answer = {"to": to, "max_rows": max_rows, "min_group": min_group, "file": str(file)}

        def run(known: Mapping[str, Table]) -> Answer:
            job, passed = _job.write(folder, sql, known, settings, answer, owners=range(256))
            with Bar("running", progress) as bar:
                frame, report = _cenote.run_query(job, file, timeout, phase_timeout, bar.listener)
            del passed
            if frame is None:
                raise UsageError("the answer is for no party of this machine")
            return Answer(frame, json.loads(report))

        return with_advice(sql, {**(tables or {}), **named}, run)


def plan(
    sql: str,
    /,
    *,
    tables: Mapping[str, Table] | None = None,
    protocol: str | None = None,
    security: int | None = None,
    to: Sequence[int] | None = None,
    min_group: int | None = None,
    max_rows: int | None = None,
    max_join_rows: int | None = None,
    secret_only: bool = False,
    link: str = "none",
    timeout: float = 30.0,
    progress: bool | Listener | None = None,
    **named: Table,
) -> Plan:
    """Tell what a query would take and reveal, without running it.

    Parameters
    ----------
    sql, tables, protocol, security, to, min_group, max_rows, max_join_rows, secret_only, timeout, progress, **named
        As for :func:`query`. Tables may be without data, see :func:`declared`.
    link
        The network to estimate for: ``"none"``, ``"lan"``, ``"wan"``, or ``"RTT,RATE"`` in milliseconds and Gbit/s.

    Returns
    -------
    Plan
        Steps, gates, seconds, bytes and memory, and what each party learns.

    Examples
    --------
    >>> ids = cenote.declared(party=0, columns={"id": "u32 not null"}, max_rows=1000, unique="id")
    >>> visits = cenote.declared(party=1, columns={"id": "u32 not null"}, max_rows=1000)
    >>> planned = cenote.plan("SELECT COUNT(*) FROM ids JOIN visits USING (id)", ids=ids, visits=visits)
    >>> planned.and_gates > 0
    True
    """
    register()
    settings = settings_of(protocol, security, max_join_rows, secret_only)
    with tempfile.TemporaryDirectory(prefix="cenote-") as name:
        folder = Path(name).resolve()
        answer = {"to": to, "max_rows": max_rows, "min_group": min_group}

        def run(known: Mapping[str, Table]) -> Plan:
            job, _ = _job.write(folder, sql, known, settings, answer, owners=())
            with Bar("planning", progress) as bar:
                report, shown = _cenote.plan_query(job, link, timeout, bar.listener)
            return Plan(json.loads(report), shown)

        return with_advice(sql, {**(tables or {}), **named}, run)


def settings_of(
    protocol: str | None, security: int | None, max_join_rows: int | None, secret_only: bool
) -> dict[str, Any]:
    """Give the settings of a job."""
    return {
        "protocol": protocol,
        "security": security,
        "max_join_rows": max_join_rows,
        "secret_only": secret_only or None,
    }


def with_advice(sql: str, tables: Mapping[str, Table], run: Callable[[Mapping[str, Table]], _T]) -> _T:
    """Run it; where it is refused, tell of columns that the query names and tables do not have."""
    try:
        return run(tables)
    except UsageError as error:
        words = {word.lower() for word in re.findall(r"\w+", sql)}
        notes = [
            f"\n  column {column} of {name} was left out: {why}"
            for name, table in tables.items()
            if isinstance(table, Table)
            for column, why in table.left_out.items()
            if column.lower() in words
        ]
        if not notes:
            raise
        raise UsageError(str(error) + "".join(notes)) from None
