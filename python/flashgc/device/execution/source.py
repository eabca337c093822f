"""The drive on which a command runs: a new drive, with or without a past, or a copy of a drive."""

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

#: The name of a past's recording in the scratch folder. A drive with a clock executes it too.
PAST = "past.flashgc.zst"

#: The name of a run's recording in the scratch folder.
RUN = "run.flashgc.zst"


@dataclass(frozen=True)
class Source:
    """A drive that can be made: by a plan, or by copying a file."""

    plan: making.Plan | None = None
    past: Past | None = None
    #: The drive to copy.
    file: Path | None = None

    @property
    def has_python(self) -> bool:
        """True if the plan names policies in Python."""
        return self.plan is not None and bool(self.plan.python)

    def make(self, file: Path, recorded_in: Path | None) -> tuple[dict[str, Any], Writers]:
        """Make the drive in ``file``; return its configuration, and the writers of a copied drive.

        ``recorded_in`` is the folder in which its past is recorded. Raises
        :class:`flashgc.ConfigError` or :class:`flashgc.DriveError` if the drive cannot be made.
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
    """Copy the drive in ``source`` to ``file``; return who could have written the source."""
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
    """Put a recording where the server, which runs as another user, can read it."""
    assert record is not None
    if record != place:
        mounts.run("cp", str(record.absolute()), str(place))
    os.chmod(place, 0o644)
