"""The drive on which a command runs: it is made, perhaps with a past, or is a copy of another."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError
from flashgc.device import making, mounts, trust, writers
from flashgc.device.past import Past, given
from flashgc.device.writers import OWN, Writers

#: The recording of a past, in the scratch folder: a drive with a clock executes it too.
PAST = "past.flashgc.zst"

#: The recording of a run there.
RUN = "run.flashgc.zst"


@dataclass(frozen=True)
class Source:
    """A drive that can be made: by a plan, or by copying a file."""

    plan: making.Plan | None = None
    past: Past | None = None
    #: The drive that is copied.
    file: Path | None = None

    @property
    def has_python(self) -> bool:
        """True if whoever made the plan has named policies in Python."""
        return self.plan is not None and bool(self.plan.python)

    def make(self, file: Path, recorded_in: Path | None) -> tuple[dict[str, Any], Writers]:
        """Makes the drive in ``file``; what it is, and the writers of the drive that it copies.

        ``recorded_in`` is the folder in which its past is recorded. Raises
        :class:`flashgc.ConfigError` or :class:`flashgc.DriveError` where it cannot be made.
        """
        if self.file is not None:
            if recorded_in is not None:
                raise ConfigError(
                    "--realtime, --record, --compare, --by-file and --group do not go with --from: "
                    "nobody knows the past of the copied drive request by request; hint: --fill "
                    "and --aged"
                )
            strangers = _copied(self.file, file)
            return {**making.configuration(file), "streams_file": None}, strangers
        assert self.plan is not None
        facts = self.plan.create(file)
        if self.past is None:
            return facts, OWN
        record = None
        if recorded_in is not None:
            record = self.past.trace or recorded_in / PAST
        recording = record if self.past.trace is None else None
        done = given(file, self.past, record=recording)
        if recorded_in is not None:
            _show(record, recorded_in / PAST)
        return {**facts, "past": done}, OWN


def _copied(source: Path, file: Path) -> Writers:
    """Copies the drive in ``source`` to ``file``; who could have written it."""
    try:
        opened = trust.open_drive(source)
    except FileNotFoundError:
        hint = f"flashgc device create {source} --fill 72% --aged uniform"
        raise ConfigError(f"--from: {source}: no such file; hint: {hint}") from None
    with contextlib.closing(opened):
        strangers = writers.of(opened.descriptor)
        place = f"/proc/{os.getpid()}/fd/{opened.descriptor}"
        mounts.run("cp", "--sparse=always", "--reflink=auto", place, str(file))
    if not strangers.others:
        writers.note(file)
    return strangers


def _show(record: Path | None, place: Path) -> None:
    """Puts a recording where the server, who is another user, may read it."""
    assert record is not None
    if record != place:
        mounts.run("cp", str(record.absolute()), str(place))
    os.chmod(place, 0o644)
