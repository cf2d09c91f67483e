"""How calls to a service fail, as exceptions of the package's own kinds with the fields of what the service said."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from cenote._cenote import (
    BadInput,
    CenoteError,
    CheatingDetected,
    InternalError,
    NetworkError,
    Stopped,
    UsageError,
)
from cenote.service._types import JobView

# Characters of a service's words that are shown, at most.
_SHOWN = 2000


class ServiceProblem(CenoteError):
    """A service refused a call, and said why. Each is also a UsageError, a NetworkError or an InternalError.

    Attributes
    ----------
    status : int
        The HTTP status.
    code : str
        A word for programs, such as ``"no-job"``; empty if the answer is not one of a service.
    message : str
        What is wrong.
    advice : str
        What to do about it.
    problem : dict
        The whole document, with fields that this version does not know.
    method, path : str
        The call.
    key : str or None
        The word under which the same may be asked again, if there is one.
    """

    status: int = 0
    code: str = ""
    message: str = ""
    advice: str = ""
    problem: Mapping[str, Any] = {}
    method: str = ""
    path: str = ""
    key: str | None = None


class Unanswered(NetworkError):
    """A call had no answer: the service cannot be reached, is silent, or is not the one that was expected.

    Attributes
    ----------
    key : str or None
        The word under which the same may be asked again, if there is one.
    passes : bool
        Whether it may go better the next time.
    """

    key: str | None = None
    passes: bool = True


class ServiceRefused(ServiceProblem, UsageError):
    """The call cannot be done as it stands, or its token may not do it."""


class ServiceTimeout(ServiceProblem, NetworkError):
    """The call took the service too long."""


class ServiceFailed(ServiceProblem, InternalError):
    """The service failed, or has too much to do."""


class JobEnded(CenoteError):
    """A job has ended without a result. Each is also a CheatingDetected, a NetworkError, a BadInput and so on.

    Attributes
    ----------
    job : JobView
        The job as it ended, with ``state``, ``failure``, ``reason`` and ``ended_by``.
    """

    job: JobView


class JobStopped(JobEnded, Stopped):
    """Somebody declined or cancelled the job."""


class JobCheating(JobEnded, CheatingDetected):
    """A peer was caught cheating in the job."""


class JobLost(JobEnded, NetworkError):
    """A peer was lost in the job, or was silent for too long."""


class JobBadInput(JobEnded, BadInput):
    """This party's data does not fit the job."""


class JobUnfit(JobEnded, UsageError):
    """The job does not fit: the parties differ, its deadline passed, or it takes more than it may."""


class JobBroken(JobEnded, InternalError):
    """The job failed in another way, at this party or at a peer. ``job.reason`` says how."""


class WaitTimeout(CenoteError, TimeoutError):
    """What was waited for has not happened within the time that the caller gave. It may still happen."""


_FAILURES: dict[str, type[JobEnded]] = {
    "cheating": JobCheating,
    "peer-lost": JobLost,
    "timeout": JobLost,
    "bad-input": JobBadInput,
    "mismatch": JobUnfit,
    "refused": JobUnfit,
    "deadline": JobUnfit,
    "exhausted": JobUnfit,
}


def printable(text: str) -> str:
    """Give a text of somebody else with a mark in place of what would steer a screen."""
    plain = "".join("\ufffd" if unicodedata.category(sign) in {"Cc", "Cf", "Zl", "Zp", "Cs"} else sign for sign in text)
    return plain if len(plain) <= _SHOWN else plain[:_SHOWN] + "…"


def refused(url: str, method: str, path: str, status: int, body: bytes) -> ServiceProblem:
    """Make the exception of a refusal."""
    kind: type[ServiceProblem] = ServiceRefused
    if status == 408:
        kind = ServiceTimeout
    elif status >= 500:
        kind = ServiceFailed
    try:
        problem = json.loads(body)
    except (ValueError, RecursionError):
        problem = None
    known = isinstance(problem, dict) and isinstance(problem.get("message"), str)
    if not isinstance(problem, dict) or not known:
        problem = {}
    code, message, advice = (printable(str(problem.get(name) or "")) for name in ("code", "message", "advice"))
    if known:
        told = f"the service at {url} refuses {method} {path}: {message}"
        told += f"\n  what to do: {advice}" if advice else ""
    else:
        told = (
            f"{url} answers {method} {path} with status {status}, and not as a service does"
            "\n  what to do: see that this is the address of a service of Cenote, with no proxy between"
        )
    error = kind(told)
    error.status, error.code, error.message, error.advice = status, code, message, advice
    error.problem, error.method, error.path = problem, method, path
    return error


def lost(url: str, why: str, more: str = "") -> Unanswered:
    """Make the exception of a call that had no answer."""
    return Unanswered(
        f"the service at {url}: {why}{more}"
        "\n  what to do: see that it runs (`cenote serve`) and that this is its address; `cenote doctor` looks closer"
    )


def not_of_form(url: str, path: str, why: str) -> UsageError:
    """Make the exception of an answer that cannot be understood."""
    return UsageError(
        f"the service at {url} answers {path} in a form that this version does not know ({why})"
        "\n  what to do: use the version that the service runs"
    )


def ended(job: JobView) -> JobEnded:
    """Make the exception of a job that ended without a result."""
    by = "" if job.ended_by is None else f" (party {job.ended_by})"
    reason = printable(job.reason or "no reason was given")
    if job.state == "failed":
        kind, what = _FAILURES.get(job.failure or "", JobBroken), "failed"
    else:
        kind, what = JobStopped, f"was {printable(job.state)}"
    error = kind(f"job {job.id} {what}{by}: {reason}")
    error.job = job
    return error
