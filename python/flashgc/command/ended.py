"""The end of a study: messages on a stop and on failures, and the exit code."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from flashgc.command.entrance import FAILED, INTERRUPTED, OK, fail
from flashgc.terminal.render import warn
from flashgc.units import many

if TYPE_CHECKING:
    from flashgc._core import Control


@contextlib.contextmanager
def until_stopped(control: Control) -> Iterator[None]:
    """Let the first Ctrl-C, SIGTERM or SIGHUP cancel ``control``, and the next end the process."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        if control.cancelled:
            raise KeyboardInterrupt
        control.cancel()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """End the process at once if Ctrl-C is pressed twice while threads work.

    A policy in Python may run for ever in a thread for which Python would wait.
    """
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted: complete results are kept", INTERRUPTED)
        os._exit(INTERRUPTED)


def code_of(interrupted: bool, *, quiet: bool, keeps: str | None = None) -> int:
    """The exit code; if the work was interrupted, print how to continue.

    ``keeps`` is the option that keeps finished runs, if it was not given.
    """
    if interrupted:
        again = "give the same command again to go on"
        warn(
            f"interrupted: {again if keeps is None else f'{keeps} keeps finished runs'}",
            quiet=quiet,
        )
    return INTERRUPTED if interrupted else OK


def code_of_cells(interrupted: bool, failed: int, *, quiet: bool) -> int:
    """The exit code for cells, some of which may have failed."""
    if failed and not interrupted:
        them = "it" if failed == 1 else "them"
        warn(f"{many(failed, 'cell')} failed; hint: --retry runs {them} again", quiet=quiet)
        return FAILED
    return code_of(interrupted, quiet=quiet)
