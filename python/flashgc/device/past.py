"""The past of a new drive: data of no value, and writes that overwrote them."""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.device import writers
from flashgc.device.making import Plan
from flashgc.terminal.progress import Bar
from flashgc.units import format_size, parse_share

#: The default share of a drive that gets data: all of it, as in SNIA's tests.
WHOLE = 1.0


#: The extension of a drive's file that is not complete yet.
PART = ".part"


@dataclass(frozen=True)
class Past:
    """The history that a new drive gets.

    ``fill`` is the share of its pages that get data. The data are zeros and take no space in the
    file. ``workload`` overwrites them ``times`` times, or until write amplification is steady.
    """

    fill: float = WHOLE
    workload: str = "uniform"
    #: The number of overwrites; ``None`` means until write amplification is steady.
    times: float | None = 0.0
    #: A recording that the drive executes instead of ``workload``.
    trace: Path | None = None

    def give(self, file: Path, *, seed: int = 1, record: Path | None = None) -> dict[str, Any]:
        """Give the empty drive in ``file`` this past; return what was done.

        ``record`` is the file for a trace of the past. If it takes long, a progress bar is shown.
        Raises :class:`flashgc.ConfigError` or :class:`flashgc.DriveError` if the drive cannot have
        this past.
        """
        if self.trace is not None:
            _core.device_repeat(file, self.trace, None)
            return {"trace": str(self.trace)}
        with Bar(quiet=False) as bar:

            def show(count: int, due: int) -> None:
                bar.show(count / due, "giving the drive a past", count, "writes")

            writes = (self.workload, seed)
            done = _core.device_age(file, self.fill, writes, self.times, record, show)
            aged: dict[str, Any] = json.loads(done)
        return {**aged, "workload": self.workload}


def given(file: Path, behind: Past, *, record: Path | None = None) -> dict[str, Any]:
    """Give the drive in ``file`` a past; if that fails, remove the drive."""
    try:
        with writers.changing(file):
            return behind.give(file, record=record)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def make(plan: Plan, behind: Past, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make a drive with a past in ``file``, complete or not at all; return the drive and its past.

    Until the drive is complete, it has a temporary name beside ``file``. Incomplete drives that
    killed processes have left there are removed. Raises :class:`OSError` if ``file`` exists, and
    the errors of :meth:`Past.give`.
    """
    if os.path.lexists(file):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file))
    _sweep(file)
    part = file.with_name(f"{_beginning(file)}{secrets.token_hex(4)}{PART}")
    try:
        image = plan.create(part)
        done = given(part, behind)
        writers.rename(part, file)
    finally:
        part.unlink(missing_ok=True)
    return image, done


def _beginning(file: Path) -> str:
    return f".{file.name}."


def _sweep(file: Path) -> None:
    """Remove incomplete drives for ``file`` on which no process works."""
    import fcntl

    for part in file.parent.glob(f"{glob.escape(_beginning(file))}*{PART}"):
        with contextlib.suppress(OSError), open(part, "rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def in_words(done: dict[str, Any]) -> str:
    """A description of what a past did."""
    if "trace" in done:
        return f"the requests of {done['trace']}"
    page = 4096
    filled = f"{format_size(done['pages'] * page)} of data"
    if not done["overwritten"]:
        return filled
    times = done["overwritten"] / done["pages"]
    settled = "settled" if done["is_settled"] else "not settled"
    return (
        f"{filled}, overwritten {times:.1f}x as {done['workload']}: write amplification "
        f"{done['write_amplification']:.2f}, {settled}"
    )


def past(fill: str | None, aged: str | None) -> Past | None:
    """The past that ``--fill`` and ``--aged`` describe; ``None`` if neither is given.

    >>> past("72%", None)
    Past(fill=0.72, workload='uniform', times=0.0, trace=None)
    >>> past(None, "2x").times
    2.0
    >>> past("50%", "hotcold:r=0.2,f=0.8").workload
    'hotcold:r=0.2,f=0.8'
    """
    if fill is None and aged is None:
        return None
    share = WHOLE if fill is None else parse_share(fill, "--fill")
    if not 0 < share <= 1:
        raise ConfigError(f"--fill: found {fill}, expected more than 0% and at most 100%")
    if aged is None:
        return Past(share)
    if re.fullmatch(r"\d+(\.\d+)?x", aged):
        times = float(aged[:-1])
        if times > 1000:
            raise ConfigError(f"--aged: found {aged}, expected 0x to 1000x; hint: --aged 3x")
        return Past(share, times=times)
    if Path(aged).is_file():
        if fill is not None:
            raise ConfigError(
                "--fill does not go with a recording, which says what is written; hint: leave out "
                "--fill"
            )
        return Past(trace=Path(aged).absolute())
    return Past(share, workload=aged, times=None)
