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
    from cenote.service import Service as Service

__all__ = [
    "Answer",
    "BadInput",
    "CenoteError",
    "CheatingDetected",
    "InternalError",
    "NetworkError",
    "Party",
    "PeerReported",
    "Plan",
    "Stopped",
    "Table",
    "UsageError",
    "__version__",
    "declared",
    "limit_memory",
    "plan",
    "query",
    "table",
]


def __getattr__(name: str) -> Any:
    # What calls services needs another package, and is loaded when it is asked for.
    if name == "Service":
        from cenote.service import Service

        return Service
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
