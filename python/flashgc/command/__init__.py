"""The command ``flashgc``: reads what was typed, calls the API, shows what comes back.

Results go to standard output; progress, warnings and errors to standard error. Exit codes: 0 done,
1 the work failed, 2 the input was wrong, 130 interrupted. The commands are one file each.
"""

from __future__ import annotations

import sys

from flashgc import _early

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command with the process's arguments, and exits."""
    _early.hold()
    import gc

    # What a start imports is there to stay: looking for garbage in it takes a tenth of the start.
    gc.set_threshold(100_000)
    from flashgc.command import entrance

    try:
        sys.exit(entrance.enter(sys.argv[1:]))
    except KeyboardInterrupt:  # In the few lines that are outside everything else.
        _early.leave()
