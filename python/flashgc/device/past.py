"""The past of a drive that is made: data that nobody needs, and what overwrote them."""

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

#: The share of a drive that gets data if nobody says otherwise: all of it, as SNIA's tests do.
WHOLE = 1.0


#: The end of the name of a drive that is not whole yet.
PART = ".part"


@dataclass(frozen=True)
class Past:
    """The history of a drive when it is made.

    ``fill`` is the share of its pages that get data. They are zeros and take no room in the file.
    ``workload`` overwrites them ``times`` times, or until write amplification has settled.
    """

    fill: float = WHOLE
    workload: str = "uniform"
    #: ``None`` until the drive has settled.
    times: float | None = 0.0
    #: A recording that the drive executes instead.
    trace: Path | None = None

    def give(self, file: Path, *, seed: int = 1, record: Path | None = None) -> dict[str, Any]:
        """Gives the empty drive in ``file`` this past; what it did.

        ``record`` is a trace of it. A bar shows itself if it takes long. Raises
        :class:`flashgc.ConfigError` or :class:`flashgc.DriveError` where the drive cannot have it.
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
    """Gives the drive in ``file`` a past; a drive that cannot have it is removed."""
    try:
        with writers.changing(file):
            return behind.give(file, record=record)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def make(plan: Plan, behind: Past, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Makes a drive with a past in ``file``, whole or not at all; what it is, and its past.

    Until it is whole it has a name of its own beside ``file``. One that a killed process has left
    there is removed. Raises :class:`OSError` where there is a file, and as :meth:`Past.give` does.
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
    """Removes drives that were to be ``file``, and that no process works on."""
    import fcntl

    for part in file.parent.glob(f"{glob.escape(_beginning(file))}*{PART}"):
        with contextlib.suppress(OSError), open(part, "rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def in_words(done: dict[str, Any]) -> str:
    """The effects of a past, in words."""
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
    """The past that ``--fill`` and ``--aged`` ask for; ``None`` without either.

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
