"""Parts that the commands for followers share."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashgc.command.declaring import adds
from flashgc.command.entrance import INTERRUPTED, OK

if TYPE_CHECKING:
    from flashgc.device.hints.link import Sent

#: Rows between two headings if the output is no terminal.
PAGE = 20


class Seconds(click.FloatRange):
    """A finite number of seconds, at least 0."""

    def __init__(self) -> None:
        super().__init__(0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the number; infinite and NaN are refused."""
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"found {value}, expected a number of seconds; hint: 10", param, ctx)
        return seconds


@adds(every={"type": Seconds()}, length={"type": Seconds()})
def following(file: Path, every: float, length: float | None, as_json: bool) -> None:
    """The drive that is told, and for how long.

    Options:
      --device FILE as file
          File of the drive, which must be up (flashgc device up).
      --every SECONDS
          Seconds between two lines, each with a sample of what the drive knows; 0 is never.
          [default: 10]
      --seconds SECONDS as length
          Time after which the command ends. [default: at Ctrl-C]
      --json as as_json
          One JSON document per line on stdout.
    """


class End:
    """The end of a follower: after a number of seconds, or at a signal."""

    def __init__(self, length: float | None) -> None:
        from flashgc._core import Control

        self._control = Control()
        self._end = None if length is None else time.monotonic() + length

    @contextmanager
    def by_signal(self) -> Iterator[None]:
        """During the ``with`` block, turn Ctrl-C and SIGTERM into a request to end."""
        from flashgc import _engine

        with _engine.interruptible(self._control), _engine.terminable(self._control):
            yield

    def __call__(self) -> bool:
        """True if the follower should end."""
        return self._control.cancelled or self._is_over

    @property
    def _is_over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    @property
    def code(self) -> int:
        """The exit code: ``INTERRUPTED`` if the follower ended before the requested length."""
        return OK if self._end is None or self._is_over else INTERRUPTED


class Table:
    """A table for people, printed row by row."""

    def __init__(self, columns: Sequence[tuple[str, int]]) -> None:
        """Each column has a heading and a width."""
        self._columns, self._rows = columns, 0

    def row(self, *cells: str) -> None:
        """Print a row; print the headings before the first row, and in a pipe repeatedly."""
        if self._rows % PAGE == 0 and (self._rows == 0 or not sys.stdout.isatty()):
            click.echo(" ".join(name.rjust(width) for name, width in self._columns))
        self._rows += 1
        widths = (width for _, width in self._columns)
        click.echo(" ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))


def summary(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and facts."""
    width = max(len(name) for name, _ in rows) + 2
    for name, fact in rows:
        click.echo(f"{name:{width}}{fact}")


def of_drive(seconds: float, cpu: float, sent: Sent) -> list[tuple[str, str]]:
    """Return facts on the hints that were sent to the drive in ``seconds``, and on their cost."""
    from flashgc.units import format_count, format_duration, format_share, format_size

    pages = f"{format_count(sent.pages)} pages hinted"
    if sent.late:
        pages += f", {format_count(sent.late)} of them too late"
    rows = [("hints", f"{pages}; {format_count(sent.cancelled)} taken back")]
    if sent.lost:
        rows.append(("", f"{format_count(sent.lost)} pages lost while the drive was away"))
    rows.append(
        (
            "cost",
            f"{format_duration(cpu)} of processor time ({format_share(cpu / seconds)} of a core), "
            f"{format_size(sent.bytes)} in {format_count(sent.commands)} commands",
        )
    )
    return rows


def warn_if_useless(uses_hints: bool) -> None:
    """Warn if the drive's policies use no hints."""
    if not uses_hints:
        from flashgc.terminal.render import warn

        warn(
            "the policies of this drive use no hints, so they are only recorded; "
            "hint: create a drive with --scheme zgc-gd"
        )
