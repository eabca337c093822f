"""The standard streams as the command finds them: closed, broken, or unable to show a character."""

from __future__ import annotations

import contextlib
import io
import os
import sys


def prepare() -> None:
    """Makes the standard streams safe to write to; nothing is said about it.

    A closed one becomes the null device: the next file opened would take its number otherwise. What
    a stream's encoding cannot show is written as escapes.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - kept open
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon() -> None:
    """Gives up standard output: the interpreter would flush it once more, and complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
