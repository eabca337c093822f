"""What may be asked of a study: options that it has no use for, traces that it reads again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from flashgc import _places
from flashgc._core import ConfigError
from flashgc._places import Places
from flashgc.execution import parse_jobs
from flashgc.options import Option, find


def jobs_of(values: Mapping[str, Mapping[str, Any]], places: Places) -> int:
    """Runs side by side, of the values of options by section."""
    return parse_jobs(values.get("run", {}).get("jobs", 0), places.get("run.jobs", "jobs"))


def refuse(
    unused: Iterable[str],
    values: Mapping[str, Mapping[str, Any]],
    places: Places,
    why: str,
    hint: Callable[[Option], str] = lambda _: "leave it out",
) -> None:
    """Refuses options that the study has no use for; every workload has a source."""
    for option in map(find, unused):
        if option.key != "source" and option.key in values.get(option.section, {}):
            told = f"{_places.subject(places, option.path)} {why}"
            raise ConfigError(f"{told}; hint: {hint(option)}")


def check_again(trace: str, what: str) -> None:
    """Refuses a trace that can be read once: ``what`` reads it several times."""
    file = Path(trace)
    if file.is_fifo() or file.is_char_device():
        raise ConfigError(
            f"{file} can be read once, and {what} reads its trace several times; "
            "hint: write it to a file first"
        )
