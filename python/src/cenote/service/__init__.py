"""The client of a party's standing service: propose jobs, decide on them, wait, and get results.

It needs the package httpx (``pip install 'cenote[service]'``). :mod:`cenote.service.aio` has the same for asyncio.

>>> from cenote.service import Service
>>> with Service.of("bank/party.toml") as service:              # doctest: +SKIP
...     job = service.propose("job.toml", data={"loans": df})
...     job.wait()
...     answer = job.result().to_pandas()
"""

from cenote.service._errors import (
    JobBadInput,
    JobBroken,
    JobCheating,
    JobEnded,
    JobLost,
    JobStopped,
    JobUnfit,
    ServiceFailed,
    ServiceProblem,
    ServiceRefused,
    ServiceTimeout,
    Unanswered,
    WaitTimeout,
)
from cenote.service._sync import Events, Job, Service
from cenote.service._types import (
    About,
    Alarm,
    Data,
    Decision,
    Event,
    Explained,
    FileView,
    Input,
    JobDetail,
    JobView,
    Keep,
    Kept,
    Peer,
    Revealed,
    Running,
    Standing,
    Stock,
    Take,
)

__all__ = [
    "About",
    "Alarm",
    "Data",
    "Decision",
    "Event",
    "Events",
    "Explained",
    "FileView",
    "Input",
    "Job",
    "JobBadInput",
    "JobBroken",
    "JobCheating",
    "JobDetail",
    "JobEnded",
    "JobLost",
    "JobStopped",
    "JobUnfit",
    "JobView",
    "Keep",
    "Kept",
    "Peer",
    "Revealed",
    "Running",
    "Service",
    "ServiceFailed",
    "ServiceProblem",
    "ServiceRefused",
    "ServiceTimeout",
    "Standing",
    "Stock",
    "Take",
    "Unanswered",
    "WaitTimeout",
]
