"""A stored drive that answers when a timed drive would: ``--realtime``.

A timed drive of the same size runs beside the stored drive. It gets every request when the request
arrives in real time, and says when to send the answer. It holds no data, and has its own blocks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._origins import Places
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.options import OPTIONS as ALL
from flashgc.policy_files import is_written
from flashgc.units import format_count, format_share, format_time

#: The options of the timed drive: those that only a timed drive has, and the geometry of its flash.
OPTIONS = tuple(option.path for option in ALL if option.of_clock)

#: Policies that the timed drive takes from the drive's file.
_POLICIES = ("victim", "placement", "allocation", "wear_levelling")

#: The clock as the engine takes it: a configuration as JSON; the factor by which it is slower; how
#: often the data are overwritten before it starts, or the recording that is replayed before; and
#: how hints arrive, if that was given.
Clock = tuple[str, float, float | Path, str | None]


def clock(
    read: Mapping[str, Any],
    values: Mapping[str, Mapping[str, Any]],
    places: Places | None = None,
    *,
    slower: str | float | None = None,
    aged: str | float | Path | None = None,
    hints: str | None = None,
) -> Clock:
    """The clock for a drive with the configuration ``read``, and these values of :data:`OPTIONS`.

    Raises :class:`flashgc.ConfigError`, which names the place of the wrong value.
    """
    policies = read["policies"]
    for name in ("victim", "placement"):
        if is_written(policies[name]):
            why = (
                "which cannot keep pace"
                if policies[name].startswith("python:")
                else "and the clock has policies of the engine alone"
            )
            raise ConfigError(
                f"--realtime: the {name} of the drive is {policies[name]}, {why}; "
                "hint: make a drive with a policy of the engine"
            )
    if read.get("parity") is not None:
        raise ConfigError(
            "--realtime: the drive has parity, which its clock would leave out; hint: serve it "
            "without --realtime, or make a drive without --parity"
        )
    kept = {name: policies[name] for name in _POLICIES if policies[name] is not None}
    setup = experiment(
        {
            "drive": {**values.get("drive", {}), "kind": "timed", "fill": "empty"},
            "gc": {**values.get("gc", {}), **kept},
            "run": {"seed": policies["seed"]},
        },
        places or {},
    )
    _core.check_clock(setup.given, dict(places or {}))
    configs = configurations(setup, places or {})
    if len(configs) != 1:
        raise ConfigError(f"found {len(configs)} drives, expected one; hint: give each option once")
    if hints is not None:
        _core.check("hints", hints)
    return json.dumps(configs[0]), factor("slower", slower, (1, 1e6)), past(aged), hints


def past(aged: str | float | Path | None) -> float | Path:
    """A factor such as ``2x``, or the absolute path of a recording.

    Raises :class:`flashgc.ConfigError` if it is neither.
    """
    try:
        return factor("aged", aged if aged is None else str(aged), (0, 1000))
    except ConfigError as error:
        if Path(str(aged)).is_file():
            return Path(str(aged)).absolute()
        raise ConfigError(
            f"--aged: found '{aged}', expected 0x to 1000x, or a trace of flashgc device record; "
            "hint: --aged 2x"
        ) from error


def factor(name: str, text: str | float | None, bounds: tuple[float, float]) -> float:
    """A factor such as ``4x`` or ``4``; the smallest if ``text`` is ``None``.

    >>> factor("slower", "4x", (1, 1e6)), factor("slower", None, (1, 1e6))
    (4.0, 1)
    """
    least, most = bounds
    if text is None:
        return least
    try:
        value = float(str(text).strip().removesuffix("x"))
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise ConfigError(
            f"--{name}: found '{text}', expected {least:g}x to {most:.0f}x; hint: --{name} 4x"
        )
    return value


def in_words(realtime: Mapping[str, Any]) -> list[str]:
    """Return sentences on how late the answers of the drive were, and if its times are valid."""
    answers, late = realtime["answers"], realtime["late"]
    lateness = realtime["lateness_us"]
    of_drive = "" if realtime["slower"] == 1 else " of the drive's time"
    sentences = [
        f"{format_count(answers)} answers, {format_count(late)} late by more than 50 us{of_drive} "
        f"({format_share(realtime['late_share'])})",
        f"half by at most {format_time(lateness['p50'])}, the latest by "
        f"{format_time(lateness['max'])}",
    ]
    if realtime["at_once_us"]["count"]:
        at_once = realtime["at_once_us"]
        sentences.append(
            f"{format_count(at_once['count'])} that take the drive no time, half within "
            f"{format_time(at_once['p50'])}"
        )
    if realtime["late_for_data"]:
        sentences.append(
            f"{format_count(realtime['late_for_data'])} late ones waited for the host's disk"
        )
    if realtime["hinted_pages"]:
        sentences.append(f"{format_count(realtime['hinted_pages'])} pages hinted")
    if realtime["slower"] != 1:
        sentences.append(f"time {realtime['slower']:g} times slower")
    if realtime["is_valid"]:
        return [*sentences, "valid"]
    if realtime["failed"]:
        return [*sentences, f"INVALID, the timed drive ended: {realtime['failed']}"]
    hint = f"--slower {2 * realtime['slower']:g}x"
    if not realtime["comes_first"]:
        hint += ", or as root, so that the drive's threads run before all others"
    if 2 * realtime["late_for_data"] > late:
        hint = "keep the drive's file in memory, as in /dev/shm"
    return [*sentences, f"INVALID, more than 0.1% are late; hint: {hint}"]
