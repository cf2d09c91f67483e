"""One party of a computation between organisations, each on its own machine."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cenote import _cenote, _job
from cenote._answer import Answer
from cenote._cenote import UsageError
from cenote._progress import Bar, Listener
from cenote._query import settings_of, with_advice
from cenote._tables import Table

if TYPE_CHECKING:
    from cenote._session import Session


class Party:
    """This organisation's party, as its party file says: who it is, where it listens, and who the others are.

    Every organisation makes the same calls at about the same time. Each gives its own data; of the others' tables
    it only states the declarations. The parties compare all of it before anything is computed.

    Parameters
    ----------
    config
        The party file. ``cenote identity new --party 0`` makes one to fill in.

    Examples
    --------
    At the party that has the loans:

    >>> party = cenote.Party("party.toml")  # doctest: +SKIP
    >>> answer = party.query(  # doctest: +SKIP
    ...     "SELECT region, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region",
    ...     people=cenote.declared(
    ...         party=1, columns={"id": "u64 not null", "region": "char(8)"}, max_rows=10_000, unique="id"
    ...     ),
    ...     loans=cenote.table(
    ...         loans, party=0, columns={"id": "u64 not null", "owed": "decimal(12,2)"}, max_rows=50_000
    ...     ),
    ... )
    """

    def __init__(self, config: str | os.PathLike[str], /) -> None:
        self._config = Path(config).absolute()
        self._number = _cenote.party_number(self._config)

    @property
    def number(self) -> int:
        """Which party this is: 0, 1 or 2."""
        return self._number

    def __repr__(self) -> str:
        return f"<party {self._number} of {self._config}>"

    def query(
        self,
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
        progress: bool | Listener | None = None,
        **named: Table,
    ) -> Answer | None:
        """Ask a query together with the other parties.

        Data stays here: what leaves is what the protocol sends, and that tells nothing but the answer. How long this
        party waits for the others is said in the party file.

        Parameters
        ----------
        sql, tables, protocol, security, to, min_group, max_rows, max_join_rows, secret_only, progress, **named
            As for :func:`cenote.query`, and the same at all parties. This party's tables have data
            (:func:`cenote.table`) with ``columns`` and ``max_rows`` stated, since what is inferred from data would be
            told to the others. Their tables are declared (:func:`cenote.declared`). Tables come in the same order at
            all parties.

        Returns
        -------
        Answer or None
            The answer; None if it is not for this party.

        Raises
        ------
        UsageError
            The query or a declaration is wrong, or differs from what another party gave.
        NetworkError, CheatingDetected, PeerReported
            Another party is missing or was lost, or one was caught cheating.
        """
        settings = settings_of(protocol, security, max_join_rows, secret_only)
        known = {**(tables or {}), **named}
        check_own(known, self._number)
        with tempfile.TemporaryDirectory(prefix="cenote-") as folder_name:
            folder = Path(folder_name).resolve()
            file = folder / "answer.parquet"
            answer = {"to": to, "max_rows": max_rows, "min_group": min_group, "file": str(file)}

            def run(known: Mapping[str, Table]) -> Answer | None:
                job, passed = _job.write(folder, sql, known, settings, answer, owners=(self._number,))
                frame, told = self._run(job, file, progress)
                del passed
                return None if frame is None else Answer(frame, told)

            return with_advice(sql, known, run)

    def run(
        self, job: str | os.PathLike[str], /, *, progress: bool | Listener | None = None
    ) -> Answer | dict[str, Any] | None:
        """Run a job file together with the other parties, who run the same job.

        Parameters
        ----------
        job
            The job file, of a query or of a circuit. Its files and its answer are as it says.
        progress
            As for :func:`cenote.query`.

        Returns
        -------
        Answer, dict or None
            Of a query the answer, or None if it is not for this party. Of a circuit the report, whose ``outputs``
            have the values that this party learnt.
        """
        frame, told = self._run(Path(job).absolute(), None, progress)
        if told["outputs"]:
            return told
        return None if frame is None else Answer(frame, told)

    def session(
        self,
        name: str,
        /,
        *,
        protocol: str | None = None,
        security: int | None = None,
        and_gates: int | None = None,
    ) -> Session:
        """Start a session together with the other parties, each of whom runs the same program.

        Of a program, only what the protocol sends leaves this party. The parties compare what the program does before
        they do any of it. Each waits as long for the others as its party file says: do what takes long before.

        Parameters
        ----------
        name
            What the parties call the program, and its version. They compare it before they compute.
        protocol, security, and_gates
            As for :func:`cenote.session`, and the same at all parties.

        Returns
        -------
        Session
            The session, to be used in a ``with`` statement. Others' inputs are stated by their type and number.

        Raises
        ------
        UsageError
            What was given differs from what another party gave.
        NetworkError, CheatingDetected, PeerReported
            Another party is missing or was lost, or one was caught cheating.

        Examples
        --------
        At party 0, where party 1 writes ``s.input(0, dtype=np.uint64)`` and ``s.input(1, 999_999, np.uint64)``:

        >>> with party.session("who is richer, 1") as s:  # doctest: +SKIP
        ...     print((s.input(0, 1_000_000, np.uint64) > s.input(1, dtype=np.uint64)).open())
        True
        """
        from cenote._session import Session, need_numpy

        need_numpy()
        return Session(_cenote.Program.between(self._config, name, protocol, security, and_gates))

    def _run(
        self, job: Path, answer: Path | None, progress: bool | Listener | None
    ) -> tuple[_cenote.Frame | None, dict[str, Any]]:
        """Run a job. Give the answer, if it is a query and there is one here, and the report."""
        with Bar("running", progress) as bar:
            frame, report = _cenote.run_party(self._config, job, answer, bar.listener)
        return frame, json.loads(report)


def check_own(known: Mapping[str, Table], party: int) -> None:
    """See that this party's tables are stated, and the others' are without data."""
    for name, table in known.items():
        if not isinstance(table, Table):
            continue
        if table.party == party and not table._is_stated:
            raise UsageError(
                f"state columns and max_rows of table {name}: what is inferred would be told to the others. "
                f"From this data it would be columns={table.declared['columns']}, "
                f"max_rows={table.declared['max_rows']}"
            )
        if table.party != party and table._has_data():
            raise UsageError(
                f"table {name} is of party {table.party}, and this is party {party}: its data stays there. "
                f"Write {name}=cenote.declared(party={table.party}, …)"
            )
