"""How processes of the command are started."""

import sys
from pathlib import Path

from cenote import _cenote

_FOLDER = str(Path(__file__).resolve().parent.parent)

# Isolated, so that no file beside the user's program takes the place of a module.
_CODE = f"import sys; sys.path.append({_FOLDER!r}); from cenote.__main__ import main; main()"


def register() -> None:
    """Say how a process of the command is started: by the interpreter that runs this."""
    if not sys.executable:
        raise _cenote.UsageError(
            "this interpreter does not know its own file (sys.executable), so parties cannot be started: "
            "run it as a program of its own"
        )
    _cenote.started_by([sys.executable, "-I", "-c", _CODE])


def limit_memory(megabytes: int) -> None:
    """Set the most memory that all parties of a run together may take, for this process and once.

    Without it, a query may take 2 GiB of a party, and no run more than the machine has left.

    Parameters
    ----------
    megabytes
        The limit, in megabytes of a million bytes.

    Examples
    --------
    >>> cenote.limit_memory(16_000)
    """
    if megabytes < 1:
        raise _cenote.UsageError("the limit is at least one megabyte")
    _cenote.limit_memory(megabytes * 1_000_000)
