"""Checkpoints: the files that they are written to, and the file to resume from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, TypeAlias

from flashgc import _core
from flashgc._core import ConfigError

#: Seconds in each unit of time.
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

#: A text after the file's name that looks like a setting.
_SETTING = re.compile(r",\s*([a-z_-]+)=[^,/]*$", re.IGNORECASE)

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")

#: The path of a file.
File: TypeAlias = str | PathLike[str]


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoints to write, and the checkpoint to resume from; times in seconds."""

    #: The file for checkpoints. It is ``None`` if only ``resume`` is given, which then also gets
    #: the new checkpoints.
    file: str | None = None
    #: Seconds between two checkpoints of a run; ``None`` means 5 minutes.
    every: float | None = None
    #: The checkpoint to resume from.
    resume: str | None = None

    def as_engine(self) -> tuple[str | None, float | None, str | None]:
        """The fields as the engine takes them."""
        return self.file, self.every, self.resume


def checkpoint(
    text: File | None, resume: File | None, *, places: tuple[str, str] = ("checkpoint", "resume")
) -> Checkpoint | None:
    """Parse ``FILE`` or ``FILE,every=TIME``, and the file to resume from; ``None`` without both.

    Raises :class:`flashgc.ConfigError`, which names the place.

    >>> checkpoint("run.ckpt,every=200ms", None)
    Checkpoint(file='run.ckpt', every=0.2, resume=None)
    >>> checkpoint("run.ckpt,every=5", None)
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: checkpoint: every=5 is not a time; hint: write every=5min, 200ms, 30s or 2h
    >>> checkpoint("run.ckpt,evry=5s", None)
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: checkpoint: unknown setting 'evry'; hint: write run.ckpt,every=5min
    """
    if text is None and resume is None:
        return None
    gone_on_from = None if resume is None else fspath(resume)
    if gone_on_from == "":
        raise ConfigError(f"{places[1]}: no file is named; hint: write {places[1]} run.ckpt")
    if text is None:
        return Checkpoint(resume=gone_on_from)
    file, _, rest = fspath(text).partition(",every=")
    setting = _SETTING.search(file)
    if setting is not None:
        raise ConfigError(
            f"{places[0]}: unknown setting '{setting[1]}'; hint: write run.ckpt,every=5min"
        )
    if not file or file.startswith("every="):
        raise ConfigError(
            f"{places[0]}: no file is named in '{fspath(text)}'; hint: write run.ckpt,every=5min"
        )
    return Checkpoint(file, _seconds(rest, places[0]) if rest else None, gone_on_from)


def configuration(resume: str) -> dict[str, Any]:
    """Return the configuration in a checkpoint.

    Raises :class:`flashgc.ConfigError` if the file is no checkpoint of this version.
    """
    config: dict[str, Any] = json.loads(_core.checkpoint_config(resume))
    return config


def parse_time(text: str) -> float | None:
    """The seconds of a time such as ``5min``; ``None`` if the text is no time.

    >>> parse_time("5min"), parse_time("200ms"), parse_time("5")
    (300.0, 0.2, None)
    """
    match = _TIME.fullmatch(text.strip())
    if match is None or match[2] not in _SECONDS:
        return None
    return float(match[1]) * _SECONDS[match[2]]


def _seconds(text: str, place: str) -> float:
    seconds = parse_time(text)
    if seconds is None:
        raise ConfigError(
            f"{place}: every={text} is not a time; hint: write every=5min, 200ms, 30s or 2h"
        )
    if seconds == 0:
        raise ConfigError(f"{place}: every={text} leaves no time to run; hint: write every=200ms")
    return seconds
