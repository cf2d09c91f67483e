"""Compute results from data that two or three parties do not show each other.

Each party gives private tables or numbers, all compute together, and only what was agreed comes out. Any one
party may cheat in any way: then it is caught, and nobody gets a wrong result.

>>> import cenote
>>> import pyarrow as pa
>>> people = pa.table({"id": [1, 2, 3], "region": ["north", "south", "north"]})
>>> loans = pa.table({"id": [1, 3, 3], "owed": [100, 50, 25]})
>>> answer = cenote.query(
...     "SELECT region, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region",
...     people=cenote.table(people, party=0, unique="id"),
...     loans=cenote.table(loans, party=1),
... )
>>> list(answer)
[('north', 175)]
"""

import importlib
from typing import TYPE_CHECKING, Any

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
    __version__,
)
from cenote._command import limit_memory
from cenote._party import Party
from cenote._plan import Plan
from cenote._query import plan, query
from cenote._tables import Table, declared, table

if TYPE_CHECKING:
    from cenote import dask as dask
    from cenote._array import Array, array
    from cenote._function import Function
    from cenote._memory import Memory
    from cenote._records import Groups, Joined
    from cenote._rows import concatenate, dot, matmul, maximum, minimum, where
    from cenote._run import clear, run, session
    from cenote._secret import Secret
    from cenote._session import Session
    from cenote._types import Type, fixed, int_, uint
    from cenote.service import Service as Service

__all__ = [
    "Answer",
    "Array",
    "BadInput",
    "CenoteError",
    "CheatingDetected",
    "Function",
    "Groups",
    "InternalError",
    "Joined",
    "Memory",
    "NetworkError",
    "Party",
    "PeerReported",
    "Plan",
    "Secret",
    "Session",
    "Stopped",
    "Table",
    "Type",
    "UsageError",
    "__version__",
    "array",
    "clear",
    "concatenate",
    "declared",
    "dot",
    "fixed",
    "int_",
    "limit_memory",
    "matmul",
    "maximum",
    "minimum",
    "plan",
    "query",
    "run",
    "session",
    "table",
    "uint",
    "where",
]

# What programs use is loaded when it is asked for.
_PROGRAMS = {
    "_array": ("Array", "array"),
    "_function": ("Function",),
    "_memory": ("Memory",),
    "_records": ("Groups", "Joined"),
    "_rows": ("concatenate", "dot", "matmul", "maximum", "minimum", "where"),
    "_run": ("clear", "run", "session"),
    "_secret": ("Secret",),
    "_session": ("Session",),
    "_types": ("Type", "fixed", "int_", "uint"),
}
_MODULES = {name: module for module, names in _PROGRAMS.items() for name in names}


def __getattr__(name: str) -> Any:
    # What calls services or clusters needs other packages, and is loaded when it is asked for.
    if name == "Service":
        from cenote.service import Service

        return Service
    if name == "dask":
        return importlib.import_module("cenote.dask")
    if name in _MODULES:
        value = getattr(importlib.import_module(f"cenote.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "Service", "dask"})
