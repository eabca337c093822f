"""flashgc's errors in IPython and in notebooks: tracebacks with only the user's own lines."""

from __future__ import annotations

import sys
from types import TracebackType

from flashgc._core import FlashgcError
from flashgc._faults import folders


def shorten() -> None:
    """Let IPython show flashgc's errors with short tracebacks."""
    FlashgcError._render_traceback_ = _rendered  # type: ignore[attr-defined]


def _rendered(error: FlashgcError) -> list[str]:
    """The lines that IPython shows, without the error's causes, since its message covers them."""
    shell = sys.modules["IPython"].get_ipython()
    alone = type(error)(*error.args)
    trace = theirs(error.__traceback__)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), alone, trace)
    return lines


def theirs(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback before the first line of flashgc."""
    if trace is None or trace.tb_frame.f_code.co_filename.startswith(folders()):
        return None
    return TracebackType(theirs(trace.tb_next), trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
