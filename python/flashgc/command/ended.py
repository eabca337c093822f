"""The end of a study: that it was stopped, what failed, and the exit code."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flashgc.command.entrance import FAILED, INTERRUPTED, OK, fail
from flashgc.terminal.render import warn

if TYPE_CHECKING:
    from flashgc.studies.fleet.outcome import Fleet
    from flashgc.studies.sweep.outcome import Sweep


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Ends the process where Ctrl-C is pressed twice while threads work.

    A policy in Python may go on for ever in a thread that Python would wait for.
    """
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted: complete results are kept", INTERRUPTED)
        os._exit(INTERRUPTED)


def code_of(interrupted: bool, *, quiet: bool) -> int:
    """The exit code; says how to go on."""
    if interrupted:
        warn("interrupted: give the same command again to go on", quiet=quiet)
    return INTERRUPTED if interrupted else OK


def code_of_cells(made: Sweep | Fleet, *, quiet: bool) -> int:
    """The exit code of cells, of which some may have failed."""
    failed = len(made.of("failed"))
    if failed and not made.interrupted:
        warn(f"{failed} cells failed; hint: --retry runs them again", quiet=quiet)
        return FAILED
    return code_of(made.interrupted, quiet=quiet)
