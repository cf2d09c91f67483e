"""How processes of the command are started."""

import sys

from cenote import _cenote

# Isolated and without the package: no file beside the user's program takes the place of a module, and it starts at
# once.
_CODE = f"""
import signal, sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
loader = ExtensionFileLoader("_cenote", {_cenote.__file__!r})
module = loader.create_module(ModuleSpec("_cenote", loader, origin={_cenote.__file__!r}))
loader.exec_module(module)
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.exit(module.main(["cenote", *sys.argv[1:]]))
"""


def register() -> None:
    """Say how a process of the command is started: by the interpreter that runs this."""
    if not sys.executable or getattr(sys, "frozen", False):
        raise _cenote.UsageError(
            "sys.executable is no interpreter here, as in programs that are packed into one file, so parties cannot be "
            "started: run the program with python"
        )
    _cenote.started_by([sys.executable, "-I", "-S", "-c", _CODE])


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
