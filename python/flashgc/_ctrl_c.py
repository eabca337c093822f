"""Handles Ctrl-C before a command has begun its work. It imports only modules built into Python.

Imports take time. Ctrl-C during an import would print a traceback, or be lost, because Python
ignores exceptions raised while an object is freed.
"""

from __future__ import annotations

import os
from _signal import (  # type: ignore[import-not-found]  # `signal` imports much more
    SIGINT,
    default_int_handler,
    getsignal,
    signal,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn


#: Not empty in a process of the command, empty in a program that imports flashgc.
_commands: list[bool] = []
#: An entry for each Ctrl-C that stopped work.
_presses: list[bool] = []


def of_command() -> bool:
    """True in a process of the command. After a stop, the command reports its results and ends."""
    return bool(_commands)


def note() -> None:
    """Count a Ctrl-C that stops work; the program gets an exception later."""
    _presses.append(True)


def presses() -> int:
    """The number of times that Ctrl-C has stopped work in this process."""
    return len(_presses)


def hold() -> None:
    """Let Ctrl-C end the process at once from now on, unless another handler is installed."""
    _commands.append(True)
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)


def release() -> None:
    """Let Ctrl-C raise :class:`KeyboardInterrupt` again."""
    if is_held():
        signal(SIGINT, default_int_handler)


def is_held() -> bool:
    """True if Ctrl-C ends the process at once."""
    return getsignal(SIGINT) is leave


def leave(*_: object) -> NoReturn:
    """Print that the command was interrupted, and end the process."""
    os.write(2, b"error: interrupted\n")
    os._exit(130)
