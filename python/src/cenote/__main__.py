"""The command ``cenote``."""

import signal
import sys

from cenote import _cenote
from cenote._command import register


def main() -> None:
    """Run the command with the arguments of this process, and end it with the command's exit code."""
    # The command ends in order at a signal by itself, and else as programs do.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    register()
    sys.exit(_cenote.main(["cenote", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
