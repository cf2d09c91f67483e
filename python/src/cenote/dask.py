"""Queries whose shards run in Dask clusters: one for each party, each of its own organisation.

A query that takes more than one machine of a party is cut into *shards*. Each shard is computed by one process of each
party, which runs where that party's cluster has room. Each organisation gives its own cluster and its own data:

>>> import cenote.dask
>>> client = distributed.Client("scheduler.bank.example:8786")  # doctest: +SKIP
>>> answer = cenote.dask.query(  # doctest: +SKIP
...     "SELECT region, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region",
...     client=client,
...     party="/shared/bank/party.toml",
...     shards=16,
...     people=cenote.declared(
...         party=0, columns={"id": "u64 not null", "region": "char(8)"}, max_rows=10**7, unique="id"
...     ),
...     loans=cenote.table(
...         loans_ddf, party=1, columns={"id": "u64 not null", "owed": "decimal(12,2)"}, max_rows=5 * 10**7
...     ),
... )
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
import urllib.parse
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cenote import _command, _job
from cenote._answer import Answer
from cenote._cenote import (
    BadInput,
    CenoteError,
    CheatingDetected,
    InternalError,
    NetworkError,
    PeerReported,
    Stopped,
    UsageError,
)
from cenote._coordinator import Coordinator, answer_in
from cenote._dask_crew import Crew, cannot_run, check_failures
from cenote._dask_tables import write
from cenote._dask_work import Order, digest_of, seen
from cenote._party import Party, check_own
from cenote._progress import Bar, Listener
from cenote._query import settings_of, with_advice
from cenote._tables import Table

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["query"]

# Seconds between two looks at what goes on.
_SOON = 0.05
# Seconds that others have to say themselves what went wrong, after one has.
_GRACE = 3.0
# Errors from the cause to its consequences.
_CAUSES = (CheatingDetected, BadInput, UsageError, InternalError, PeerReported, NetworkError, Stopped)


def query(
    sql: str,
    /,
    *,
    client: Client | None = None,
    party: Party | str | os.PathLike[str] | None = None,
    clients: Mapping[int, Client] | None = None,
    shards: int,
    attempts: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    coordinator: str | None = None,
    relay: str | None = None,
    memory: int | None = None,
    tables: Mapping[str, Table] | None = None,
    protocol: str | None = None,
    security: int | None = None,
    to: Sequence[int] | None = None,
    min_group: int | None = None,
    max_rows: int | None = None,
    max_join_rows: int | None = None,
    secret_only: bool = False,
    timeout: float = 60.0,
    progress: bool | Listener | None = None,
    **named: Table,
) -> Answer | None:
    """Ask a query that is cut into shards, which the workers of a Dask cluster compute.

    It is asked as :meth:`cenote.Party.query` is: each organisation makes the call in a process of its own, gives its
    own party file, its own tables and its own cluster, and declares the tables of the others. So no cluster has to
    know another, and where a shard runs is each party's own matter. What is the same at all parties has the same name
    as there. To try a query, give ``clients`` instead of ``client`` and ``party``: then all parties are here, as with
    :func:`cenote.query`, each with a cluster of its own.

    The party's *coordinator* is a process on the machine of the caller, and ends with this call. It meets the
    coordinators of the others, agrees with them on which shard starts next, and puts the shards together. Each task of
    the cluster runs a process that asks the coordinator for shards until there are none. If one is lost, its shard is
    tried again by the coordinator's rule alone: Dask runs none of these tasks twice, for which the scheduler's
    ``distributed.scheduler.allowed-failures`` has to be 0.

    A data frame of Dask is written by the cluster's workers, a partition in each task, into one file in ``folder``
    that the coordinator reads. Other data is written there by this process. These files are in the clear, can be read
    by this user alone, and are removed at the end. What shards have kept, sealed, and which were tried is in the folder
    ``shards`` of the party file. It is removed when the query is answered; otherwise the same call goes on with it.

    Parameters
    ----------
    protocol
        Without it, ``"authenticated"`` for two ``clients``, and otherwise ``"three"``. Two organisations state
        ``"authenticated"`` or ``"jimu"``; or ``"lego"`` with a ``security`` below 40, since a session in shards needs
        some bits more than the query, and 40 are all that it has.
    sql, tables, security, to, min_group, max_rows, max_join_rows, secret_only, **named
        As for :func:`cenote.query`. Between organisations they are the same at all parties, and this party's tables
        have ``columns`` and ``max_rows`` stated, as for :meth:`cenote.Party.query`. With ``clients``, what is not
        stated is found out from all partitions: the types, the length of the longest text, rounded up to a power of
        two, and the exact number of rows. All of it becomes public.
    client
        The client of this party's cluster.
    party
        This party, or its party file. The file, the key that it names and its folder ``shards`` have to be visible to
        all workers of the cluster under the same path.
    clients
        For tries: the cluster of each party, by its number.
    shards
        Into how many parts the query is cut. It is public, and the same at all parties.
    attempts
        How often parts may be tried, all together. Without it, twice as often as there are shards. Each attempt is one
        more chance for a cheater, which the security level takes into account.
    folder
        A folder that this process and all workers share, for tables and the job. Without it, the folder ``shards`` of
        the party file.
    coordinator
        ``"host:port"``, where the workers reach the coordinator, which listens there. Without it, the address by which
        this machine reaches the scheduler, and a free port.
    relay
        ``"host:port"``, where this machine lets workers of other organisations reach those of this cluster, which then
        only dial. The others find the port at the host that they have for this party. Without it, they have to reach
        each machine of the cluster, at a free port.
    memory
        Megabytes that a process of a shard may take. A worker then runs at most as many as fit into its memory.
        Without it, its processes share its memory. A worker that declares resources called cores or memory is taken
        to have as much as they say, and tasks reserve them.
    timeout
        Seconds that the cluster may be without a worker. How long this party waits for the others is said in the party
        file.
    progress
        As for :func:`cenote.query`, in parts that are done: the shards, and the merge.

    Returns
    -------
    Answer or None
        The answer; None if it is not for this party.

    Raises
    ------
    UsageError
        The query or a declaration is wrong, or differs from what another party gave; workers do not share the folder;
        Dask would run tasks twice.
    BadInput
        Data does not fit its declaration. The row is counted within its partition.
    NetworkError, CheatingDetected, PeerReported
        The workers, the scheduler or another party are missing or were lost, or a party was caught cheating.
    KeyboardInterrupt
        After the tasks and the coordinator have ended.

    Examples
    --------
    >>> answer = cenote.dask.query(  # doctest: +SKIP
    ...     "SELECT COUNT(*) AS visits FROM people JOIN visits USING (id) WHERE age > 40",
    ...     clients={0: first, 1: second, 2: third},
    ...     shards=4,
    ...     people=cenote.table(people_ddf, party=0, unique="id"),
    ...     visits=cenote.table(visits_ddf, party=1),
    ... )
    """
    if protocol is None:
        protocol = "authenticated" if clients is not None and len(clients) == 2 else "three"
    settings = {**settings_of(protocol, security, max_join_rows, secret_only), "shards": shards, "attempts": attempts}
    known = {**(tables or {}), **named}
    _job.check(known)
    asked = _Asked(sql, known, settings, {"to": to, "max_rows": max_rows, "min_group": min_group})
    if clients is not None:
        if any(given is not None for given in (client, party, coordinator, relay)):
            raise UsageError(
                "clients are of all parties, which then are here: leave client, party, coordinator and relay out"
            )
        return _ask_here(asked, clients, folder, memory, timeout, progress)
    if client is None or party is None:
        raise UsageError(
            "whose cluster is it? Give client=distributed.Client(…) and party=cenote.Party(…), or for a try "
            "clients={0: …, 1: …, 2: …}"
        )
    party = party if isinstance(party, Party) else Party(party)
    check_own(asked.tables, party.number)
    side = _Side(
        client,
        party._config,
        party.number,
        _shards_of(party._config, party.number),
        None if folder is None else Path(folder).absolute(),
        (coordinator, relay),
        memory,
        timeout,
        progress,
    )
    return with_advice(sql, asked.tables, lambda _: side.ask(asked))


@dataclass(frozen=True)
class _Asked:
    """What all parties ask."""

    sql: str
    tables: Mapping[str, Table]
    settings: Mapping[str, Any]
    answer: Mapping[str, Any]

    @property
    def shards(self) -> int:
        return int(self.settings["shards"])


@dataclass
class _Side:
    """One party with its cluster."""

    client: Client
    config: Path
    party: int
    shards: Path
    folder: Path | None
    # Where its workers find the coordinator, and peers its workers through it, if they do.
    desk: tuple[str | None, str | None]
    memory: int | None
    timeout: float
    progress: bool | Listener | None
    # Set when this party is to end because another one has failed.
    stop: threading.Event | None = None

    def ask(self, asked: _Asked) -> Answer | None:
        """Ask a query as this party."""
        if self.client.asynchronous:
            raise UsageError("the client is asynchronous, and this call waits: give distributed.Client(…) itself")
        check_failures(self.client, self.party)
        self._check_workers()
        shared = self.folder or self.shards
        try:
            for wanted in (shared, self.shards):
                wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="cenote-", dir=shared))
        except OSError as error:
            raise UsageError(f"the folder {shared} of party {self.party} cannot be used: {error.strerror}") from None
        try:
            self._check_shared(folder, asked)
            return self._run(asked, self._written(asked.tables, folder), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _check_workers(self) -> None:
        deadline = time.monotonic() + self.timeout
        while not self.client.nthreads():
            if time.monotonic() > deadline:
                raise NetworkError(
                    f"the cluster of party {self.party} has had no worker for {self.timeout:g} s: start workers, "
                    "and ask again"
                )
            self._check_stop()
            time.sleep(_SOON)

    def _check_stop(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise Stopped(f"party {self.party} was stopped, since another one could not go on")

    def _check_shared(self, folder: Path, asked: _Asked) -> None:
        """See that the workers find what is here."""
        marks = [folder / "shared", self.shards / f".{folder.name}"]
        own = [
            table._path
            for table in asked.tables.values()
            if table.party == self.party and table._frame is None and table._path is not None
        ]
        try:
            for mark in marks:
                mark.write_text(uuid.uuid4().hex)
            files = {str(file): digest_of(str(file)) for file in [*marks, self.config, *own]}
            for worker, missing in self.client.run(seen, files, on_error="return").items():
                if isinstance(missing, OSError):
                    # It is gone.
                    continue
                if isinstance(missing, Exception):
                    raise cannot_run(self.party, missing)
                if missing:
                    what = Path(missing[0]).parent if Path(missing[0]) in marks else missing[0]
                    raise UsageError(
                        f"worker {worker} of party {self.party} does not find {what} as it is here: give a folder, a "
                        "party file and tables that this machine and all workers share under the same path"
                    )
        finally:
            marks[1].unlink(missing_ok=True)

    def _written(self, tables: Mapping[str, Table], folder: Path) -> dict[str, Table]:
        """Write this party's tables into files that all workers find."""
        written = dict(tables)
        for place, (name, table) in enumerate(tables.items()):
            file = folder / f"table-{place}.parquet"
            if table.party != self.party:
                # Its data, if it is here in a try, is its owner's.
                written[name] = table._at(None)
            elif table._parts is not None:
                write(table._parts, self.client, table.declared["columns"], name, table.declared["max_rows"], file)
                written[name] = table._at(file)
            elif table._frame is not None:
                table._frame.write(file)
                written[name] = table._at(file)
            self._check_stop()
        return written

    def _run(self, asked: _Asked, tables: Mapping[str, Table], folder: Path) -> Answer | None:
        file = folder / "answer.parquet"
        answer = {**asked.answer, "file": str(file)}
        job, _ = _job.write(folder, asked.sql, tables, asked.settings, answer, owners=(self.party,))
        address, relay = self.desk
        address = address or f"{_own_host(self.client)}:0"
        if address.endswith(":0"):
            address = _with_free_port(address)
        topic = f"cenote-shard-{uuid.uuid4().hex[:8]}"
        order = Order(str(job), str(self.config), address, self.memory, topic, relay is not None)
        total = asked.shards + 1
        with ExitStack() as stack, Bar("running", self.progress, "part") as bar:
            coordinator = Coordinator(job, self.config, (address, relay), self.party)
            stack.callback(coordinator.end)
            crew = Crew(self.client, self.party, order, asked.shards, self.timeout)
            told, faulty_since = -1, None
            try:
                while not coordinator.has_ended:
                    self._check_stop()
                    crew.step()
                    if crew.fault is not None:
                        faulty_since = faulty_since or time.monotonic()
                        if time.monotonic() - faulty_since > _GRACE:
                            break
                    # A bar counts the seconds, and a function hears of what is new.
                    if told != crew.done or not callable(self.progress):
                        told = crew.done
                        bar.listener("progress", told, total)
                    time.sleep(_SOON)
            except BaseException as error:
                coordinator.end()
                crew.end(at_once=True)
                if isinstance(error, OSError):
                    raise NetworkError(f"the scheduler of party {self.party} is gone: {error}") from None
                raise
            coordinator.end()
            printed = coordinator.result()
            crew.end(at_once=isinstance(printed, CenoteError))
            if isinstance(printed, CenoteError):
                errors = [self._with_last(printed, crew)] + ([crew.fault] if crew.fault is not None else [])
                raise _cause(errors)
            bar.listener("progress", total, total)
            return answer_in(printed, file)

    def _with_last(self, error: CenoteError, crew: Crew) -> CenoteError:
        """Add to what the coordinator says what is known of its workers."""
        if not isinstance(error, (NetworkError, PeerReported)):
            return error
        if not crew.has_begun:
            known = "none of its tasks has begun: its workers are busy, or lack what tasks reserve"
        elif crew.last:
            known = f"the last that one of its workers said: {crew.last}"
        else:
            return error
        return type(error)(f"{error}\n  party {self.party}: {known}")


def _cause(errors: Sequence[BaseException]) -> BaseException:
    """Give the error that is nearest to the cause."""

    def rank(error: BaseException) -> int:
        return next((place for place, kind in enumerate(_CAUSES) if isinstance(error, kind)), -1)

    return min(errors, key=rank)


def _ask_here(
    asked: _Asked,
    clients: Mapping[int, Client],
    shared: str | os.PathLike[str] | None,
    memory: int | None,
    timeout: float,
    progress: bool | Listener | None,
) -> Answer | None:
    """Ask a query as all parties, each in a thread with a key that is made for it."""
    if sorted(clients) != list(range(len(clients))) or len(clients) not in (2, 3):
        raise UsageError("clients are of all parties: write {0: …, 1: …, 2: …}")
    if shared is not None:
        Path(shared).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cenote-parties-", dir=shared) as name:
        folder, stop = Path(name).absolute(), threading.Event()
        configs = _party_files(folder, len(clients))
        results: dict[int, Answer | None] = {}
        errors: list[BaseException] = []

        def ask(party: int) -> None:
            bar = progress if party == 0 else False
            home = folder / str(party)
            side = _Side(
                clients[party], configs[party], party, home / "shards", None, (None, None), memory, timeout, bar, stop
            )
            try:
                results[party] = with_advice(asked.sql, asked.tables, lambda _: side.ask(asked))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=ask, args=(party,), name=f"cenote-party-{party}") for party in clients]
        for thread in threads:
            thread.start()
        try:
            failed_since = None
            while any(thread.is_alive() for thread in threads):
                if errors:
                    failed_since = failed_since or time.monotonic()
                    if time.monotonic() - failed_since > _GRACE:
                        stop.set()
                time.sleep(_SOON)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if errors:
            raise _cause(errors)
        return next((results[party] for party in sorted(results) if results[party] is not None), None)


def _party_files(folder: Path, count: int) -> list[Path]:
    """Make parties on this machine, each with a key of its own."""
    ports = [_free_port("127.0.0.1") for _ in range(count)]
    prints = []
    for party in range(count):
        home = folder / str(party)
        home.mkdir(mode=0o700)
        _command.told("identity", "new", "--file", str(home / "identity.pem"))
        prints.append(_command.told("identity", "show", "--file", str(home / "identity.pem")).strip())
    configs = []
    for party in range(count):
        lines = [
            f"party = {party}",
            'identity = "identity.pem"',
            f'listen = "127.0.0.1:{ports[party]}"',
            'shards = "shards"',
        ]
        for peer in range(count):
            if peer != party:
                lines += ["[[peer]]", f"party = {peer}", f'address = "127.0.0.1:{ports[peer]}"']
                lines += [f'fingerprint = "{prints[peer]}"']
        configs.append(folder / str(party) / "party.toml")
        configs[-1].write_text("\n".join(lines) + "\n")
    return configs


def _shards_of(config: Path, party: int) -> Path:
    """Give the folder that a party file names for shards."""
    try:
        import tomllib
    except ImportError:
        import tomli as tomllib  # type: ignore[import-not-found, no-redef]
    named = tomllib.loads(config.read_text(encoding="utf-8")).get("shards", f"shards-{party}")
    return config.parent / str(named)


def _own_host(client: Client) -> str:
    """Give the address by which this machine reaches the scheduler, and so its workers this machine."""
    from distributed.utils import get_ip

    scheduler = urllib.parse.urlsplit(client.scheduler.address) if client.scheduler is not None else None
    host = scheduler.hostname if scheduler is not None and scheduler.scheme in ("tcp", "tls", "ws", "wss") else None
    own = str(get_ip(host)) if host else "127.0.0.1"
    return f"[{own}]" if ":" in own else own


def _with_free_port(address: str) -> str:
    host = address.rpartition(":")[0]
    return f"{host}:{_free_port(host.strip('[]'))}"


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as opened:
        opened.bind((host, 0))
        return int(opened.getsockname()[1])
