"""The command ``flashgc``: parses its arguments, calls the API, and shows the results.

Results go to standard output; progress, warnings and errors go to standard error. Exit codes: 0
success, 1 the work failed, 2 the input was wrong, 3 the program under test broke a promise, 130
interrupted. Each command has its own file.
"""

from __future__ import annotations

import os
import sys

from flashgc import _ctrl_c

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["main"]


def _say_version() -> None:
    """Print the version and exit, without the argument parser, whose import is slow."""
    from flashgc._core import version

    try:
        os.write(1, f"flashgc {version()}\n".encode())
    except OSError:
        return  # The normal way meets the same error and reports it.
    sys.exit()


def main() -> NoReturn:
    """Runs the command with the process's arguments, and exits."""
    _ctrl_c.hold()
    import gc

    # Objects imported at the start stay alive, so a garbage collection among them wastes a tenth of
    # the start.
    gc.set_threshold(100_000)
    if sys.argv[1:] == ["--version"]:
        _say_version()
    from flashgc.command import entrance

    try:
        code = entrance.enter(sys.argv[1:])
        gc.freeze()  # Python would collect garbage once more at its end.
        sys.exit(code)
    except KeyboardInterrupt:  # Ctrl-C came outside of all other handlers.
        _ctrl_c.leave()
