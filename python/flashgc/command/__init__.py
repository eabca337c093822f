"""The command ``flashgc``: reads what was typed, calls the API, shows what comes back.

Results go to standard output; progress, warnings and errors to standard error. Exit codes: 0 done,
1 the work failed, 2 the input was wrong, 130 interrupted. The commands are one file each.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command with the process's arguments, and exits."""
    # Imports take a while, and Ctrl-C in one of them would show its insides.
    early = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if early:
        signal.signal(signal.SIGINT, _leave)
    from flashgc.command import entrance

    if early:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(entrance.enter(sys.argv[1:]))
    except KeyboardInterrupt:  # In the few lines that are outside everything else.
        _leave()


def _leave(*_: object) -> NoReturn:
    os.write(2, b"error: interrupted\n")
    os._exit(130)
