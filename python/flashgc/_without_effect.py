"""Options that would have no effect where they are given: each is refused, in one plain line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc import _origins
from flashgc._core import ConfigError
from flashgc._listing import listing
from flashgc.options import PATHS, render

if TYPE_CHECKING:
    from flashgc._origins import Places
    from flashgc.experiment import Experiment


def check(asked: Experiment, trace: bool, places: Places) -> None:
    """Refuses what does not apply; raises :class:`flashgc.ConfigError` with the value's place."""
    _to_the_drive(asked, places)
    _to_the_workload(asked, trace, places)
    _together(asked, "host.hints", "host.host_cache", "page-cache:size=256MiB", places)
    for path in ("swap.page_policy", "swap.scheme"):
        _together(asked, path, "swap.vm_page_cache", "4MiB", places)
    if "run.trace_events" not in asked:
        _together(asked, "run.window", "run.timeline", "timeline.json", places)


def _to_the_drive(asked: Experiment, places: Places) -> None:
    kind = asked["drive.kind"]
    for path in asked:
        option = PATHS[path]
        if option.drives in ("all", kind):
            continue
        drive = _origins.written(places, "drive.kind", option.drives)
        instead = render(option, option.instead, flags=_origins.flags(places))
        hint = instead or ("leave it out" if kind == "timed" else f"add {drive}")
        raise ConfigError(f"{_origins.subject(places, path)} only applies to {drive}; hint: {hint}")


def _to_the_workload(asked: Experiment, trace: bool, places: Places) -> None:
    source = asked["workload.source"]
    name = source.split(":")[0].strip()
    requests = any(name == known["name"] for known in listing()["request_generators"])
    if requests and asked["drive.kind"] != "timed":
        drive = _origins.written(places, "drive.kind", "timed")
        raise ConfigError(
            f"{places.get('workload.source', 'workload')}: {name} only applies to {drive}; "
            f"hint: add {drive}"
        )
    what = f"the workload '{source}' is a generator"
    if "workload.tenant" in asked:
        what = "no tenant has one"
    for path in asked:
        if PATHS[path].holder == "trace" and not trace:
            raise ConfigError(
                f"{_origins.subject(places, path)} only applies to traces, and {what}; hint: leave "
                "it out, or name a trace"
            )


def _together(asked: Experiment, path: str, other: str, example: str, places: Places) -> None:
    """Refuses an option that has an effect only beside another one."""
    if path in asked and asked[path] != PATHS[path].usual and other not in asked:
        option = render(PATHS[path], "{" + PATHS[other].key + "}", flags=_origins.flags(places))
        raise ConfigError(
            f"{_origins.subject(places, path)} only applies with {option}; "
            f"hint: add {_origins.written(places, other, example)}"
        )
