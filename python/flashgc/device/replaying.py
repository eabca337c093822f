"""Replays a drive's recorded writes under other policies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError
from flashgc.device.execution import Executed
from flashgc.device.options_of import options_of, past_of
from flashgc.device.scratch import scratch
from flashgc.registry import policies, schemes


@dataclass(frozen=True)
class Replay:
    """The result of a replay with one policy, on the same past and recording (with mkfs)."""

    policy: str
    #: The placement: that of the served drive, or that of a scheme.
    placement: str
    write_amplification: float
    host_pages: int
    copied_pages: int
    erases: int
    #: True if these are the policies that the drive was served with.
    was_served: bool


@dataclass(frozen=True)
class Replayed:
    """The results, lowest write amplification first, including those of the served policies."""

    ranking: list[Replay]
    #: A sentence if the replay of the served drive's policies has other counts than the drive.
    differs: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The results as plain Python values."""
        return asdict(self)


def wanted(text: str | None) -> list[str]:
    """The policies in a list: victim policies with parameters, or schemes.

    >>> wanted("greedy,d-choices:d=10,c=1,zgc-gd")
    ['greedy', 'd-choices:d=10,c=1', 'zgc-gd']
    """
    if text is None:
        return []
    names: list[str] = []
    for part in text.split(","):
        # A parameter belongs to the policy before it.
        if "=" in part and ":" not in part and names:
            names[-1] += f",{part}"
        else:
            names.append(part.strip())
    known = {policy.name for policy in policies()} | {preset.name for preset in schemes()}
    for name in names:
        if name.split(":")[0] not in known:
            from flashgc._core import suggest

            hint = suggest(name.split(":")[0], sorted(known))
            raise ConfigError(f"--compare: unknown policy '{name}'; hint: {hint}")
    return names


@contextlib.contextmanager
def recording(record: Path | None, is_needed: bool) -> Iterator[Path | None]:
    """The trace to record into: ``record``, or a temporary file if one is needed."""
    if record is not None or not is_needed:
        yield record
        return
    # If this process is killed, the next exec removes a folder with this name.
    with scratch("exec-compare", has_sockets=False) as folder:
        yield folder / "writes.flashgc.zst"


def replayed(
    trace: Path | None, done: Executed, names: Sequence[str], *, quiet: bool = True
) -> Replayed:
    """Replay the recording of a drive on simulated drives, one for each policy.

    A victim policy is replayed with the placement and the streams of the served drive. A scheme
    has its own placement. The policies of the served drive are replayed too, and must reproduce the
    drive's counts.
    """
    assert trace is not None
    from flashgc.policy_files import Files, is_written
    from flashgc.simulation import run
    from flashgc.terminal.progress import Bar

    presets = {preset.name for preset in schemes()}
    common = options_of(done.drive, done.stat["counters"]["host_pages_written"])
    policies = {key: common[key] for key in ("victim", "placement")}
    own: dict[str, Any] = {
        key: common.pop(key) for key in ("victim", "placement", "streams") if key in common
    }
    # The user has permitted this code, and it has run already for the served drive.
    files = Files(guarded=True)
    for key, text in policies.items():
        if is_written(text):
            own[key] = files.load(text, f"the {key} of the drive")
    # For each row: its name, its policies, and true if they are those of the served drive.
    rows = [
        (name, {"scheme": name} if name in presets else {**own, "victim": name}, False)
        for name in names
    ]
    ranking: list[Replay] = []
    with Bar(len(names) + 1, quiet=quiet) as bar:
        for name, chosen, is_served in [*rows, (policies["victim"], own, True)]:
            if is_served and any(replay.was_served for replay in ranking):
                continue
            result = run(str(trace), progress=bar, **common, **chosen)
            scheme = {"victim": result.config.victim, "placement": result.config.placement}
            ranking.append(
                Replay(
                    policy=name,
                    placement=policies["placement"] if is_served else scheme["placement"],
                    write_amplification=result.write_amplification,
                    host_pages=result.host_pages,
                    copied_pages=result.copied_pages,
                    erases=result.erases,
                    was_served=is_served or scheme == policies,
                )
            )
    ranking.sort(key=lambda replay: replay.write_amplification)
    return Replayed(ranking, _difference(ranking, done))


def _difference(ranking: Sequence[Replay], done: Executed) -> str | None:
    """A sentence if the replay of the served policies has other counts than the drive itself."""
    replay = next(replay for replay in ranking if replay.was_served)
    counters = done.stat["counters"]
    row = (replay.host_pages, replay.copied_pages, replay.erases)
    keys = ("host_pages_written", "copied_pages", "erases")
    before = past_of(done.drive)
    was = tuple(counters[key] - past for key, past in zip(keys, before, strict=True))
    if row == was:
        return None
    words = ("written", "copied", "erased")
    ours, its = (
        ", ".join(f"{number} {word}" for number, word in zip(counts, words, strict=True))
        for counts in (row, was)
    )
    return (
        f"the replay of the served policies has {ours}, and the drive {its}: do not trust the ranks"
    )
