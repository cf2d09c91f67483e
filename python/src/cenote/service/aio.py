"""The client of a party's standing service for asyncio. It makes the calls of :class:`cenote.service.Service`.

>>> from cenote.service import aio
>>> async with aio.Service.of("bank/party.toml") as service:    # doctest: +SKIP
...     job = await service.propose("job.toml", data={"loans": df})
...     await job.wait()
...     answer = await job.result()
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from cenote._progress import Bar, Listener
from cenote.service import _http
from cenote.service._core import Core, Hearing, JobCore
from cenote.service._data import Called, Given, Result
from cenote.service._http import anyio, httpx, to_thread
from cenote.service._reach import Reach, StrPath, reach
from cenote.service._steps import Call, Done, Open, Read, Reply, Shut, Sleep, Step, Steps, Told, Work
from cenote.service._types import About, Alarm, Data, Event, JobDetail, JobView, Kept, Peer, Running, Stock

__all__ = ["Events", "Job", "Service"]

_T = TypeVar("_T")


async def _nothing() -> AsyncIterator[bytes]:
    chunks: tuple[bytes, ...] = ()
    for chunk in chunks:
        yield chunk


class _Hand:
    """Does steps. It has one stream of events, at most."""

    def __init__(self, client: httpx.AsyncClient, reach: Reach, patience: float) -> None:
        self._client = client
        self._reach = reach
        self._patience = patience
        self._stream: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] = _nothing()
        self._deadline: float | None = None

    async def do(self, step: Step) -> Told:
        match step:
            case Call():
                return await self._call(step)
            case Open():
                return await self._open(step)
            case Read():
                return await self._read()
            case Shut():
                await self.shut()
                return None
            case Sleep(seconds):
                await anyio.sleep(seconds)
                return None
            case Work(run):
                return Done(await to_thread.run_sync(run))

    async def _send(self, step: Call | Open) -> httpx.Response:
        head = _http.Head()
        try:
            return await self._sent(step, head)
        except httpx.WriteError:
            if head.is_out:
                raise
            # Another call has closed a kept connection that looked unused: nothing of this one has gone out.
            return await self._sent(step, head)

    async def _sent(self, step: Call | Open, head: _http.Head) -> httpx.Response:
        asked = _http.asked(self._reach, step, self._patience)
        request = self._client.build_request(**asked, extensions={"trace": head.hear_async})
        return await self._client.send(request, stream=True)

    async def _call(self, step: Call) -> Told:
        end = _http.until(step)
        try:
            with anyio.fail_after(max(0.0, end - time.monotonic())):
                response = await self._send(step)
                try:
                    return await self._whole(response, end)
                finally:
                    await _close(response)
        except _http.FAILURES as error:
            return _http.lost(error)

    async def _whole(self, response: httpx.Response, end: float) -> Reply:
        body = _http.Body(response, end)
        async for chunk in response.aiter_raw():
            body.add(chunk)
        return Reply(response.status_code, bytes(body.read))

    async def _open(self, step: Open) -> Told:
        await self.shut()
        end = _http.until(step)
        try:
            with anyio.fail_after(max(0.0, end - time.monotonic())):
                response = await self._send(step)
                if response.status_code != 200:
                    try:
                        return await self._whole(response, end)
                    finally:
                        await _close(response)
        except _http.FAILURES as error:
            return _http.lost(error)
        self._stream, self._chunks, self._deadline = response, response.aiter_raw(), step.deadline
        return Reply(response.status_code, kind=response.headers.get("content-type", ""))

    async def _read(self) -> Told:
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            with anyio.fail_after(left):
                async for chunk in self._chunks:
                    return chunk
            return b""
        except _http.FAILURES as error:
            return _http.lost(error)

    async def shut(self) -> None:
        stream, self._stream, self._chunks = self._stream, None, _nothing()
        if stream is not None:
            await _close(stream)


async def _close(response: httpx.Response) -> None:
    """Close a connection, also for a caller who has been cancelled."""
    with suppress(*_http.FAILURES), anyio.CancelScope(shield=True):
        await response.aclose()


class Events(AsyncIterator[Event]):
    """Events as they happen: see :class:`cenote.service.Events`."""

    def __init__(self, hand: _Hand, hearing: Hearing) -> None:
        self._hand = hand
        self._hearing = hearing

    async def __anext__(self) -> Event:
        """Wait for the next event."""
        told: Told = None
        try:
            while True:
                step = self._hearing.send(told)
                if isinstance(step, Event):
                    return step
                told = await self._hand.do(step)
        except StopIteration:
            await self.aclose()
            raise StopAsyncIteration from None
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Listen no more."""
        self._hearing.close()
        await self._hand.shut()

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Job:
    """A job of a service: see :class:`cenote.service.Job`.

    Examples
    --------
    >>> job = service.job("5f1c…")                              # doctest: +SKIP
    >>> await job.approve(data={"loans": df})                   # doctest: +SKIP
    >>> await job.wait()                                        # doctest: +SKIP
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

    async def status(self) -> JobView:
        """Give where it stands."""
        return await self._service._run(self._core.status())

    async def show(self) -> JobDetail:
        """Give what it computes, and what it reveals to whom. Look at this before you approve it."""
        return await self._service._run(self._core.show())

    async def file(self, name: str) -> str:
        """Give the text of one of its files, as :meth:`show` names them."""
        return await self._service._run(self._core.file(name))

    async def approve(
        self,
        data: Mapping[str, Given] | None = None,
        *,
        stored: Mapping[str, str] | None = None,
        reason: str = "",
        proposal: str | None = None,
    ) -> JobView:
        """Take part in it, with this party's data: see :meth:`cenote.service.Job.approve`."""
        return await self._service._run(self._core.approve(data, stored, reason, proposal))

    async def decline(self, reason: str = "", *, proposal: str | None = None) -> JobView:
        """Do not take part in it. The other parties see the reason."""
        return await self._service._run(self._core.decline(reason, proposal))

    async def cancel(self) -> JobView:
        """Take it back."""
        return await self._service._run(self._core.cancel())

    async def call(
        self,
        inputs: Mapping[str, Called] | None = None,
        /,
        *,
        name: str | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Call a job that stands, and wait for the outcome: see :meth:`cenote.service.Job.call`."""
        return await self._service._run(self._core.call(inputs or {}, name, timeout))

    async def wait(self, timeout: float | None = None, *, progress: bool | Listener | None = None) -> JobView:
        """Wait until it is done: see :meth:`cenote.service.Job.wait`."""
        with Bar(f"job {self.id[:8]}", progress) as bar:
            return await self._service._run(self._core.wait(timeout, bar.listener))

    async def fetch(self, key: str | None = None) -> dict[str, Any]:
        """Give what this party learnt, as the service tells it."""
        fetched: dict[str, Any] = await self._service._run(self._core.fetch(key))
        return fetched

    async def result(self, key: str | None = None) -> Result:
        """Give what this party learnt: see :meth:`cenote.service.Job.result`."""
        return await self._service._run(self._core.result(key))

    def events(self, timeout: float | None = None) -> Events:
        """Give its state, and what happens to it until it has ended."""
        return Events(self._service._hand(), self._core.hear(timeout))


class Service:
    """The standing service of a party: see :class:`cenote.service.Service`, whose parameters it has.

    Examples
    --------
    >>> async with aio.Service("https://party.example:7180", fingerprint="…", token="…") as service:  # doctest: +SKIP
    ...     for view in await service.jobs(state="proposed"):
    ...         await service.job(view).approve(data={"loans": df})
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
        self._client = httpx.AsyncClient(**_http.options(self._reach))

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
        """Give the service of a party file, or of the folder with one."""
        return cls(config=config, token=token, token_file=token_file, timeout=timeout)

    async def __aenter__(self) -> Service:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()

    def __repr__(self) -> str:
        return f"<service at {self.url}>"

    @property
    def url(self) -> str:
        """Where it is."""
        return self._reach.url

    def _hand(self) -> _Hand:
        return _Hand(self._client, self._reach, self._core.patience)

    async def _run(self, steps: Steps[_T]) -> _T:
        hand = self._hand()
        told: Told = None
        try:
            while True:
                told = await hand.do(steps.send(told))
        except StopIteration as end:
            value: _T = end.value
            return value
        finally:
            steps.close()
            await hand.shut()

    async def about(self) -> About:
        """Give which party this is, and whether it can take jobs."""
        return await self._run(self._core.about())

    async def data(self) -> list[Data]:
        """Give the data in the service's own folder, which ``stored=`` names."""
        return await self._run(self._core.data())

    async def peers(self) -> list[Peer]:
        """Give the other parties, and how the connections to them stand."""
        return await self._run(self._core.peers())

    async def stock(self) -> list[Stock]:
        """Give the material that was made ahead of jobs, by kind."""
        return await self._run(self._core.stock())

    async def running(self) -> list[Running]:
        """Give the jobs that run, and how far they are."""
        return await self._run(self._core.running())

    async def alarms(self) -> list[Alarm]:
        """Give what the operator should see to."""
        return await self._run(self._core.alarms())

    async def kept(self) -> list[Kept]:
        """Give the values that are kept here for later jobs, the newest first."""
        return await self._run(self._core.kept())

    async def drop_kept(self, name: str, *, of: str) -> None:
        """Delete a kept value here, so that no job can take it any more. ``of`` is the job that kept it."""
        await self._run(self._core.drop_kept(name, of))

    async def jobs(self, *, state: str | None = None, limit: int = 50, before: int | None = None) -> list[JobView]:
        """Give jobs, the newest first: see :meth:`cenote.service.Service.jobs`."""
        return await self._run(self._core.jobs(state, limit, before))

    def job(self, job: str | JobView, /, *, timeout: float | None = None) -> Job:
        """Give a job, and ask nothing: see :meth:`cenote.service.Service.job`.

        Examples
        --------
        >>> job = service.job(name, timeout=10)                 # doctest: +SKIP
        >>> (await job.show()).explained                        # doctest: +SKIP
        >>> await job.approve(data={"loans": df})               # doctest: +SKIP
        """
        return Job(self, JobCore(self._core, job, timeout))

    async def propose(
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
        """Propose a job to the other parties: see :meth:`cenote.service.Service.propose`."""
        core = self._core.propose(
            job, files=files, within=within, approve=approve, data=data, stored=stored, reason=reason, key=key
        )
        return Job(self, await self._run(core))

    def events(self, timeout: float | None = None) -> Events:
        """Give all that happens from now on: see :meth:`cenote.service.Service.events`."""
        return Events(self._hand(), self._core.hear(None, self._core.deadline(timeout)))
