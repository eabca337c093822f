"""The command ``flashgc``: reads what was typed, calls the API, shows what comes back.

Results go to standard output; progress, warnings and errors to standard error. Exit codes: 0 done,
1 the work failed, 2 the input was wrong, 3 a promise of the program under test was broken,
130 interrupted. The commands are one file each.
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
    """Says it and exits: what reads arguments takes twice as long to import as Python to start."""
    from flashgc._core import version

    try:
        os.write(1, f"flashgc {version()}\n".encode())
    except OSError:
        return  # Those who read arguments come upon it too, and say what is wrong.
    sys.exit()


def main() -> NoReturn:
    """Runs the command with the process's arguments, and exits."""
    _ctrl_c.hold()
    import gc

    # What a start imports is there to stay: looking for garbage in it takes a tenth of the start.
    gc.set_threshold(100_000)
    if sys.argv[1:] == ["--version"]:
        _say_version()
    from flashgc.command import entrance

    try:
        code = entrance.enter(sys.argv[1:])
        gc.freeze()  # Python looks for garbage once more when it ends.
        sys.exit(code)
    except KeyboardInterrupt:  # In the few lines that are outside everything else.
        _ctrl_c.leave()
