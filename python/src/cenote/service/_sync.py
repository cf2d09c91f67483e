"""The client that waits for each call."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from cenote._progress import Bar, Listener
from cenote.service import _http
from cenote.service._core import Core, Hearing, JobCore
from cenote.service._data import Called, Given, Result
from cenote.service._http import httpx
from cenote.service._reach import Reach, StrPath, reach
from cenote.service._steps import Call, Done, Open, Read, Reply, Shut, Sleep, Step, Steps, Told, Work
from cenote.service._types import About, Alarm, Data, Event, JobDetail, JobView, Kept, Peer, Running, Stock

_T = TypeVar("_T")


class _Hand:
    """Does steps. It has one stream of events, at most."""

    def __init__(self, client: httpx.Client, reach: Reach, patience: float) -> None:
        self._client = client
        self._reach = reach
        self._patience = patience
        self._stream: httpx.Response | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._timer: threading.Timer | None = None

    def do(self, step: Step) -> Told:
        match step:
            case Call():
                return self._call(step)
            case Open():
                return self._open(step)
            case Read():
                return self._read()
            case Shut():
                self.shut()
                return None
            case Sleep(seconds):
                time.sleep(seconds)
                return None
            case Work(run):
                return Done(run())

    def _send(self, step: Call | Open) -> httpx.Response:
        head = _http.Head()
        try:
            return self._sent(step, head)
        except httpx.WriteError:
            if head.is_out:
                raise
            # Another thread's call has closed a kept connection that looked unused: nothing of this one has gone out.
            return self._sent(step, head)

    def _sent(self, step: Call | Open, head: _http.Head) -> httpx.Response:
        asked = _http.asked(self._reach, step, self._patience)
        request = self._client.build_request(**asked, extensions={"trace": head.hear})
        return self._client.send(request, stream=True)

    def _call(self, step: Call) -> Told:
        end = _http.until(step)
        try:
            response = self._send(step)
            try:
                return self._whole(response, end)
            finally:
                response.close()
        except _http.FAILURES as error:
            return _http.lost(error)

    def _whole(self, response: httpx.Response, end: float) -> Reply:
        body = _http.Body(response, end)
        for chunk in response.iter_raw():
            body.add(chunk)
        return Reply(response.status_code, bytes(body.read))

    def _open(self, step: Open) -> Told:
        self.shut()
        try:
            response = self._send(step)
            if response.status_code != 200:
                try:
                    return self._whole(response, _http.until(step))
                finally:
                    response.close()
        except _http.FAILURES as error:
            return _http.lost(error)
        self._stream, self._chunks = response, response.iter_raw()
        if step.deadline is not None:
            self._cut_at(response, step.deadline)
        return Reply(response.status_code, kind=response.headers.get("content-type", ""))

    def _cut_at(self, response: httpx.Response, deadline: float) -> None:
        """Have the connection of a stream end at a time, whatever arrives until then."""
        connection = response.extensions["network_stream"].get_extra_info("socket")

        def cut() -> None:
            with suppress(OSError):
                # Of the socket below TLS: its other side is told nothing, and nothing waits for it.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

        self._timer = threading.Timer(max(0.0, deadline - time.monotonic()) + 0.001, cut)
        self._timer.daemon = True
        self._timer.start()

    def _read(self) -> Told:
        try:
            return next(self._chunks, b"")
        except _http.FAILURES as error:
            return _http.lost(error)

    def shut(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        stream, self._stream, self._chunks = self._stream, None, iter(())
        if stream is not None:
            with suppress(*_http.FAILURES):
                stream.close()


class Events(Iterator[Event]):
    """Events as they happen. Iterate over it, and close it or leave its ``with`` when you have heard enough."""

    def __init__(self, hand: _Hand, hearing: Hearing) -> None:
        self._hand = hand
        self._hearing = hearing

    def __next__(self) -> Event:
        """Wait for the next event."""
        told: Told = None
        try:
            while True:
                step = self._hearing.send(told)
                if isinstance(step, Event):
                    return step
                told = self._hand.do(step)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Listen no more."""
        self._hearing.close()
        self._hand.shut()

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Job:
    """A job of a service. Made by :meth:`Service.job` and :meth:`Service.propose`.

    Examples
    --------
    >>> job = service.job("5f1c…")                              # doctest: +SKIP
    >>> job.approve(data={"loans": df})                         # doctest: +SKIP
    >>> job.wait()                                              # doctest: +SKIP
    >>> job.result().to_pandas()                                # doctest: +SKIP
    """

    def __init__(self, service: Service, core: JobCore) -> None:
        self._service = service
        self._core = core

    def __repr__(self) -> str:
        return f"<job {self.id} of the service at {self._service.url}>"

    @property
    def id(self) -> str:
        """Its name, the same at all parties."""
        return self._core.name

    def status(self) -> JobView:
        """Give where it stands."""
        return self._service._run(self._core.status())

    def show(self) -> JobDetail:
        """Give what it computes, and what it reveals to whom. Look at this before you approve it."""
        return self._service._run(self._core.show())

    def file(self, name: str) -> str:
        """Give the text of one of its files, as :meth:`show` names them."""
        return self._service._run(self._core.file(name))

    def approve(
        self,
        data: Mapping[str, Given] | None = None,
        *,
        stored: Mapping[str, str] | None = None,
        reason: str = "",
        proposal: str | None = None,
    ) -> JobView:
        """Take part in it, with this party's data.

        Parameters
        ----------
        data
            What each input or table gets: a data frame or anything else with ``__arrow_c_stream__``, the path of a
            file, bytes as such a file has them, or whole numbers for the input of a circuit.
        stored
            For inputs and tables whose data lies in the service's own folder: its name there.
        reason
            Why, for the audit log.
        proposal
            The digest of the proposal that is approved. Without it: the one that this object has seen, or the present
            one.

        Returns
        -------
        JobView
            The job as it is now.
        """
        return self._service._run(self._core.approve(data, stored, reason, proposal))

    def decline(self, reason: str = "", *, proposal: str | None = None) -> JobView:
        """Do not take part in it. The other parties see the reason."""
        return self._service._run(self._core.decline(reason, proposal))

    def cancel(self) -> JobView:
        """Take it back."""
        return self._service._run(self._core.cancel())

    def call(
        self,
        inputs: Mapping[str, Called] | None = None,
        /,
        *,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Call a job that stands, and wait for the outcome.

        Parameters
        ----------
        inputs
            For each input of this party a whole number, or one for each lane. For each parameter of a query its value:
            a number, text, a date, or a moment, which is in UTC unless it says otherwise.
        name
            The call's name. All callers give the same one; the same name again, with the same inputs, is the same
            call. Without it, a random word.
        timeout
            Seconds to wait at most. Without it, as long as it takes.

        Returns
        -------
        dict or Answer
            A list of numbers for each output that this party learns, one for each lane; of a query, its answer.

        Raises
        ------
        ServiceRefused
            The call is wrong, or failed. An exception's ``key`` is the call's name.
        WaitTimeout
            It had not ended when the time was over.
        """
        return self._service._run(self._core.call(inputs or {}, name, timeout))

    def wait(self, timeout: float | None = None, *, progress: bool | Listener | None = None) -> JobView:
        """Wait until it is done.

        Parameters
        ----------
        timeout
            Seconds to wait at most. Without it, as long as the job is open; it ends by its own deadline.
        progress
            True shows a bar, False shows none. A function is called with the AND gates done and all there are. Without
            it, a bar is shown if it takes longer than a second and somebody may be looking.

        Raises
        ------
        JobEnded
            It was declined or cancelled, or it failed.
        WaitTimeout
            It was still open when the time was over.
        NetworkError
            The service was lost, and did not come back.
        """
        with Bar(f"job {self.id[:8]}", progress) as bar:
            return self._service._run(self._core.wait(timeout, bar.listener))

    def fetch(self, key: str | None = None) -> dict[str, Any]:
        """Give what this party learnt, as the service tells it. See :meth:`result`."""
        fetched: dict[str, Any] = self._service._run(self._core.fetch(key))
        return fetched

    def result(self, key: str | None = None) -> Result:
        """Give what this party learnt.

        A service gives a result out once. This object keeps it, and asks for it under a word of its own, with which it
        can be had again for some minutes if it is lost on the way.

        Parameters
        ----------
        key
            The word: the ``key`` of an exception that says that the result was lost. Without it, a random word.

        Returns
        -------
        Answer or dict
            Of a query its answer, for pandas, polars and Arrow. Of a circuit a list of numbers for each output, one for
            each lane.
        """
        return self._service._run(self._core.result(key))

    def events(self, timeout: float | None = None) -> Events:
        """Give its state, and what happens to it until it has ended. Times out as :meth:`wait` does."""
        return Events(self._service._hand(), self._core.hear(timeout))


class Service:
    """The standing service of a party.

    Parameters
    ----------
    url
        Its address, for example ``"https://party.example:7180"``. Without it and ``config``, the variables
        ``CENOTE_SERVICE`` or ``CENOTE_CONFIG`` say which service is meant.
    config
        The party file of a service on this machine, or its folder, instead of an address.
    token
        The token to call it with.
    token_file
        A file with the token. Without both: the file that ``CENOTE_TOKEN_FILE`` names, the token in ``CENOTE_TOKEN``,
        or, with a party file, the operator's token.
    fingerprint
        The fingerprint of its key; an address that begins with https needs it, or the variable ``CENOTE_FINGERPRINT``.
    timeout
        Seconds that the service may be silent.

    Raises
    ------
    UsageError
        It is not clear which service is meant, there is no token, or the token would be sent in the clear.

    Examples
    --------
    >>> with cenote.Service("https://party.example:7180", fingerprint="…", token="…") as service:  # doctest: +SKIP
    ...     for view in service.jobs(state="proposed"):
    ...         service.job(view).approve(data={"loans": df})
    """

    def __init__(
        self,
        url: str | None = None,
        /,
        *,
        config: StrPath | None = None,
        token: str | None = None,
        token_file: StrPath | None = None,
        fingerprint: str | None = None,
        timeout: float = 90.0,
    ) -> None:
        self._reach = reach(url, config=config, token=token, token_file=token_file, fingerprint=fingerprint)
        self._core = Core(self._reach.url, _http.patience(timeout))
        self._client = httpx.Client(**_http.options(self._reach))

    @classmethod
    def of(
        cls,
        config: StrPath,
        /,
        *,
        token: str | None = None,
        token_file: StrPath | None = None,
        timeout: float = 90.0,
    ) -> Service:
        """Give the service of a party file, or of the folder with one.

        Examples
        --------
        >>> cenote.Service.of("bank/party.toml").about().party  # doctest: +SKIP
        0
        """
        return cls(config=config, token=token, token_file=token_file, timeout=timeout)

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def __repr__(self) -> str:
        return f"<service at {self.url}>"

    @property
    def url(self) -> str:
        """Where it is."""
        return self._reach.url

    def _hand(self) -> _Hand:
        return _Hand(self._client, self._reach, self._core.patience)

    def _run(self, steps: Steps[_T]) -> _T:
        hand = self._hand()
        told: Told = None
        try:
            while True:
                told = hand.do(steps.send(told))
        except StopIteration as end:
            value: _T = end.value
            return value
        finally:
            steps.close()
            hand.shut()

    def about(self) -> About:
        """Give which party this is, and whether it can take jobs."""
        return self._run(self._core.about())

    def data(self) -> list[Data]:
        """Give the data in the service's own folder, which ``stored=`` names."""
        return self._run(self._core.data())

    def peers(self) -> list[Peer]:
        """Give the other parties, and how the connections to them stand."""
        return self._run(self._core.peers())

    def stock(self) -> list[Stock]:
        """Give the material that was made ahead of jobs, by kind."""
        return self._run(self._core.stock())

    def running(self) -> list[Running]:
        """Give the jobs that run, and how far they are."""
        return self._run(self._core.running())

    def alarms(self) -> list[Alarm]:
        """Give what the operator should see to."""
        return self._run(self._core.alarms())

    def kept(self) -> list[Kept]:
        """Give the values that are kept here for later jobs, the newest first."""
        return self._run(self._core.kept())

    def drop_kept(self, name: str, *, of: str) -> None:
        """Delete a kept value here, so that no job can take it any more. ``of`` is the job that kept it."""
        self._run(self._core.drop_kept(name, of))

    def jobs(self, *, state: str | None = None, limit: int = 50, before: int | None = None) -> list[JobView]:
        """Give jobs, the newest first.

        Parameters
        ----------
        state
            Only jobs in this state: proposed, approved, queued, running, done, declined, failed, cancelled.
        limit
            How many, at most.
        before
            Only jobs that came before the one of this number.
        """
        return self._run(self._core.jobs(state, limit, before))

    def job(self, job: str | JobView, /, *, timeout: float | None = None) -> Job:
        """Give a job. It asks nothing.

        If its first call waits for it in vain, that raises WaitTimeout, or what was wrong with the service last.

        Parameters
        ----------
        job
            Its name, the first 8 digits or more, or what :meth:`jobs` lists. With ``timeout`` its whole name: another
            job may begin with the same digits.
        timeout
            Seconds that its first call waits until it is there, since a proposal of another party arrives a moment
            later. Until then it does not matter if the service cannot be reached or has too much to do.

        Examples
        --------
        >>> job = service.job(name, timeout=10)                 # doctest: +SKIP
        >>> job.show().explained                                # doctest: +SKIP
        >>> job.approve(data={"loans": df})                     # doctest: +SKIP
        """
        return Job(self, JobCore(self._core, job, timeout))

    def propose(
        self,
        job: StrPath,
        /,
        *,
        files: Mapping[str, str] | None = None,
        within: float = 3600.0,
        approve: bool = False,
        data: Mapping[str, Given] | None = None,
        stored: Mapping[str, str] | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Job:
        """Propose a job to the other parties.

        Parameters
        ----------
        job
            The path of a job file without values, or its text, which has more than one line. A circuit file that it
            names is read from the same folder.
        files
            Texts of files that the job names, by their names in it.
        within
            Seconds from now until the job must be done.
        approve
            Whether to approve it for this party, too. ``data`` and ``stored`` imply it.
        data, stored, reason
            What this party gives, as for :meth:`Job.approve`.
        key
            A word for this proposal. The same job under the same word is proposed once only. Without it, a random
            word.

        Returns
        -------
        Job
            The job.

        Examples
        --------
        >>> job = service.propose("job.toml", data={"loans": df})  # doctest: +SKIP
        """
        core = self._core.propose(
            job, files=files, within=within, approve=approve, data=data, stored=stored, reason=reason, key=key
        )
        return Job(self, self._run(core))

    def events(self, timeout: float | None = None) -> Events:
        """Give all that happens from now on, for ``timeout`` seconds or without end.

        A stream that breaks off is opened anew. Then the event ``"missed"`` says to look at everything again. When the
        time is over, the iteration raises WaitTimeout.

        Examples
        --------
        >>> with service.events() as events:                    # doctest: +SKIP
        ...     for event in events:
        ...         print(event)
        """
        return Events(self._hand(), self._core.hear(None, self._core.deadline(timeout)))
