"""Replays under other policies of the writes that a drive recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError, DriveError
from flashgc.device.execution import Executed
from flashgc.device.options_of import options_of, past_of
from flashgc.device.scratch import scratch
from flashgc.registry import gc_presets, policies


@dataclass(frozen=True)
class Replay:
    """The recording, that of mkfs included, on a drive with one policy and the same past."""

    policy: str
    write_amplification: float
    host_pages: int
    copied_pages: int
    erases: int
    #: True if it is the policy that the drive was served with.
    was_served: bool


@dataclass(frozen=True)
class Replayed:
    """The policies by write amplification, the lowest first."""

    ranking: list[Replay]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return asdict(self)


def wanted(text: str | None) -> list[str]:
    """The policies that a list names: victim policies with parameters, or GC presets.

    >>> wanted("greedy,d-choices:d=10,c=1,zgc-gd")
    ['greedy', 'd-choices:d=10,c=1', 'zgc-gd']
    """
    if text is None:
        return []
    named: list[str] = []
    for part in text.split(","):
        # A parameter belongs to the policy before it.
        if "=" in part and ":" not in part and named:
            named[-1] += f",{part}"
        else:
            named.append(part.strip())
    known = {policy.name for policy in policies()} | {preset.name for preset in gc_presets()}
    for one in named:
        if one.split(":")[0] not in known:
            from flashgc._core import suggest

            hint = suggest(one.split(":")[0], sorted(known))
            raise ConfigError(f"--compare: unknown policy '{one}'; hint: {hint}")
    return named


@contextlib.contextmanager
def recording(record: Path | None, is_needed: bool) -> Iterator[Path | None]:
    """The trace to record into: the one asked for, or one of our own if it is needed."""
    if record is not None or not is_needed:
        yield record
        return
    # A name that the next exec sweeps.
    with scratch("exec-compare", has_sockets=False) as folder:
        yield folder / "writes.flashgc.zst"


def replayed(
    trace: Path | None, done: Executed, named: Sequence[str], *, quiet: bool = True
) -> Replayed:
    """Replays the recording of a drive on counting drives, one for each policy."""
    assert trace is not None
    from flashgc.simulation import run
    from flashgc.terminal.progress import Bar

    presets = {preset.name for preset in gc_presets()}
    common = options_of(done.drive, done.stat["counters"]["host_pages_written"])
    served = {key: common.pop(key) for key in ("victim", "placement")}
    ranking = []
    with Bar(len(named), quiet=quiet) as bar:
        for name in named:
            policy = {"gc_preset" if name in presets else "victim": name}
            result = run(str(trace), progress=bar, **{**common, **policy})
            replay = Replay(
                policy=name,
                write_amplification=result.write_amplification,
                host_pages=result.host_pages,
                copied_pages=result.copied_pages,
                erases=result.erases,
                was_served=served
                == {"victim": result.config.victim, "placement": result.config.placement},
            )
            _check(replay, done)
            ranking.append(replay)
    return Replayed(sorted(ranking, key=lambda one: one.write_amplification))


def _check(replay: Replay, done: Executed) -> None:
    """The served policy makes of its own writes what it made of them: to the digit."""
    if not replay.was_served:
        return
    counters = done.stat["counters"]
    found = (replay.host_pages, replay.copied_pages, replay.erases)
    keys = ("host_pages_written", "copied_pages", "erases")
    before = past_of(done.drive)
    served = tuple(counters[key] - past for key, past in zip(keys, before, strict=True))
    if found != served:
        raise DriveError(
            f"the replay wrote, copied and erased {found}, the drive {served}: this is a fault of "
            "flashgc, please report it"
        )
