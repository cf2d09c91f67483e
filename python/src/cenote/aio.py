"""What :mod:`cenote` has for asyncio: the client of a party's standing service.

>>> import cenote.aio
>>> async def names() -> list[str]:
...     async with cenote.aio.Service.of("bank/party.toml") as service:
...         return [job.id for job in await service.jobs()]
"""

from cenote.service.aio import Events, Job, Service

__all__ = ["Events", "Job", "Service"]
