"""How programs are run on this machine: in a session, or as functions."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from cenote import _cenote
from cenote._cenote import UsageError
from cenote._command import register
from cenote._function import Function
from cenote._memory import Memory
from cenote._secret import Secret
from cenote._session import Session, need_numpy
from cenote._types import whole_of

Program = Callable[..., Any]


def session(
    parties: int = 3,
    *,
    protocol: str | None = None,
    security: int | None = None,
    and_gates: int | None = None,
    timeout: float = 30.0,
    phase_timeout: float | None = None,
) -> Session:
    """Start a session with all parties on this machine, each a process of its own.

    Between organisations, each calls :meth:`Party.session` instead.

    Parameters
    ----------
    parties
        How many: 2 or 3.
    protocol
        ``"three"``, or for two parties ``"authenticated"``, ``"lego"`` or ``"jimu"``. Without it, the usual one for
        so many parties.
    security
        A wrong answer passes with probability at most 2 to the minus this.
    and_gates
        About how many AND gates the program computes. More than that are computed too, but cost more each. An
        addition takes about one for each bit, a multiplication as many as the square of the bits. Without it, 100
        million with three parties and 100,000 with two.
    timeout
        Seconds that a party waits for another that is silent.
    phase_timeout
        Seconds that each phase may take, such as the set-up.

    Returns
    -------
    Session
        The session, to be used in a ``with`` statement.

    Examples
    --------
    >>> with cenote.session(parties=2) as s:
    ...     print((s.input(0, 1_000_000) > s.input(1, 999_999)).open())
    True
    """
    need_numpy()
    register()
    return Session(_cenote.Program.here("session", parties, protocol, security, and_gates, timeout, phase_timeout))


def run(
    program: Program,
    inputs: Mapping[int, Any] | None = None,
    *,
    parties: int = 3,
    protocol: str | None = None,
    security: int | None = None,
    and_gates: int | None = None,
    timeout: float = 30.0,
    phase_timeout: float | None = None,
) -> Any:
    """Run a function as a program, with all parties on this machine.

    The function is called once, in this process. Each party is a process of its own, which is told the operations and
    its own inputs only, so neither the function nor anything else needs to be pickled.

    Parameters
    ----------
    program
        Called as ``program(s, *secrets, **named)`` with the session and the inputs.
    inputs
        What each party gives, by its number: an array, a list or a number is one secret; a tuple has several, which
        come one after the other; a dictionary has several by the names of parameters. Those of party 0 come first.
        :func:`cenote.array` states the type of one, such as ``cenote.array([1.5, 2.0], cenote.fixed(32, 16))``.
    parties, protocol, security, and_gates, timeout, phase_timeout
        As for :func:`cenote.session`.

    Returns
    -------
    object
        What the function returns. Secrets in it are opened, also those in tuples, lists, dictionaries and dataclasses.

    Examples
    --------
    >>> cenote.run(lambda s, a, b: (a * b).sum(), {0: [3, 1, 2], 1: [9, 4, 7]})
    np.int64(45)
    >>> prices, limit = cenote.array([1.5, 0.25], cenote.fixed(32, 16)), cenote.array(0.5, cenote.fixed(32, 16))
    >>> cenote.run(lambda s, prices, limit: prices > limit, {0: prices, 1: limit})
    array([ True, False])
    """
    made = session(
        parties,
        protocol=protocol,
        security=security,
        and_gates=and_gates,
        timeout=timeout,
        phase_timeout=phase_timeout,
    )
    return _called(made, program, inputs)


def clear(program: Program, inputs: Mapping[int, Any] | None = None, *, parties: int = 3) -> Any:
    """Run a function as a program in this process and **without secrecy**, for tests.

    Parameters
    ----------
    program, inputs, parties
        As for :func:`cenote.run`.

    Returns
    -------
    object
        What :func:`cenote.run` would return.

    Examples
    --------
    >>> cenote.clear(lambda s, a, *, limit: {"above": (a > limit).count_nonzero()}, {0: [3, 1], 1: {"limit": 2}})
    {'above': np.int64(1)}
    """
    need_numpy()
    return _called(Session(_cenote.Program.clear(parties)), program, inputs)


def _called(s: Session, program: Program, inputs: Mapping[int, Any] | None) -> Any:
    with s:
        given: list[Secret] = []
        named: dict[str, Secret] = {}
        for party, values in sorted(_checked(inputs).items()):
            if isinstance(values, Mapping):
                for name, value in values.items():
                    if name in named:
                        raise UsageError(f"two parties give {name}: give it by another name")
                    named[name] = s.input(party, value)
            else:
                given += [s.input(party, value) for value in (values if isinstance(values, tuple) else (values,))]
        result = program(s, *given, **named)
        secrets: list[Secret] = []
        _each(result, secrets.append)
        if not secrets:
            return result
        opened = s.reveal(*secrets)
        every = iter([opened] if len(secrets) == 1 else opened)
        return _each(result, lambda _: next(every))


def _checked(inputs: object) -> dict[int, Any]:
    if inputs is None:
        return {}
    parties = [whole_of(party) for party in inputs] if isinstance(inputs, Mapping) else [None]
    if not isinstance(inputs, Mapping) or None in parties:
        raise TypeError("inputs are by the numbers of parties: write {0: a, 1: b}")
    return {party: values for party, values in zip(parties, inputs.values(), strict=True) if party is not None}


def _each(result: Any, change: Callable[[Secret], Any]) -> Any:
    """Give the same with its secrets changed."""
    if isinstance(result, Secret):
        return change(result)
    if isinstance(result, dict):
        return {name: _each(value, change) for name, value in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_make"):
        return result._make(_each(value, change) for value in result)
    if isinstance(result, (list, tuple)):
        return type(result)(_each(value, change) for value in result)
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        made = copy.copy(result)
        for field in dataclasses.fields(result):
            object.__setattr__(made, field.name, _each(getattr(result, field.name), change))
        return made
    if _is_dead(result):
        raise TypeError(
            f"a {type(result).__name__} has secrets that are not opened, and the session ends here: return secrets in "
            "tuples, lists, dictionaries or dataclasses, or open them"
        )
    return result


def _is_dead(result: Any) -> bool:
    """Tell whether it has secrets that :func:`_each` does not open."""
    if isinstance(result, (Memory, Iterator)):
        return True
    if isinstance(result, (set, frozenset, deque)):
        inside = list(result)
    elif isinstance(result, Mapping):
        inside = list(result.values())
    elif getattr(getattr(result, "dtype", None), "kind", "") == "O" and hasattr(result, "tolist"):
        inside = list(result.tolist()) if result.ndim else [result.item()]
    elif isinstance(result, (type, ModuleType, Function, Session)):
        inside = []
    else:
        inside = list(getattr(result, "__dict__", {}).values())
    return any(isinstance(value, (Secret, Memory)) or _holds(value) for value in inside)


def _holds(value: object) -> bool:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(isinstance(each, (Secret, Memory)) or _holds(each) for each in values)
