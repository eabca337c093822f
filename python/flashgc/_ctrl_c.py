"""Ctrl-C before a command has begun its work. Imports nothing that is not built into Python.

Imports take a while, and Ctrl-C in one of them would show its insides, or be lost: Python ignores
what is raised while an object is freed.
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


def of_command() -> bool:
    """True in a process of the command: it reports a result that was stopped, and ends."""
    return bool(_commands)


def hold() -> None:
    """Has Ctrl-C end the process at once from now on, unless somebody else has it in hand."""
    _commands.append(True)
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)


def release() -> None:
    """Has Ctrl-C raise :class:`KeyboardInterrupt` again."""
    if is_held():
        signal(SIGINT, default_int_handler)


def is_held() -> bool:
    """True if Ctrl-C ends the process at once."""
    return getsignal(SIGINT) is leave


def leave(*_: object) -> NoReturn:
    """Says so, and ends the process."""
    os.write(2, b"error: interrupted\n")
    os._exit(130)
