"""How processes of the command are started."""

from __future__ import annotations

import os
import re
import sys
from typing import IO, TYPE_CHECKING, Any

from cenote import _cenote

if TYPE_CHECKING:
    import subprocess

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


# Linux: the signal that a process gets when the thread that has started it ends.
_PR_SET_PDEATHSIG = 1


def register() -> None:
    """Say how a process of the command is started: by the interpreter that runs this."""
    _cenote.started_by(_program(_CODE))


def start(*arguments: str, output: IO[bytes] | int) -> subprocess.Popen[str]:
    """Start the command as a process that is killed when the thread that calls this ends, however it ends.

    Its standard error is a pipe.
    """
    import signal
    import subprocess

    # Who starts it may have ended before it asks for the signal.
    tied = f"""
import ctypes, os
if ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {int(signal.SIGKILL)}) or os.getppid() != {os.getpid()}:
    os._exit(7)
"""
    return subprocess.Popen(
        [*_program(tied + _CODE), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def end(process: subprocess.Popen[Any], patience: float) -> None:
    """End a process in order, and kill it if that takes longer than so many seconds."""
    import subprocess

    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def told(*arguments: str) -> str:
    """Run the command and give what it prints."""
    import subprocess

    done = subprocess.run([*_program(_CODE), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise raised(done.returncode, done.stderr.removeprefix("error: ").strip())
    return done.stdout


def raised(exit_code: int, text: str) -> _cenote.CenoteError:
    """Give the error for which the command has this exit code."""
    kinds = {
        2: _cenote.UsageError,
        3: _cenote.NetworkError,
        4: _cenote.CheatingDetected,
        5: _cenote.BadInput,
        6: _cenote.PeerReported,
        7: _cenote.Stopped,
    }
    # The name and the lines of a file that nobody has written say nothing.
    text = re.sub(rf"\S*{re.escape(_cenote.JOB)}(, line \d+)?: ", "", text)
    return kinds.get(exit_code, _cenote.InternalError)(text)


def _program(code: str) -> list[str]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise _cenote.UsageError(
            "sys.executable is no interpreter here, as in programs that are packed into one file, so parties cannot be "
            "started: run the program with python"
        )
    return [sys.executable, "-I", "-S", "-c", code]


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
