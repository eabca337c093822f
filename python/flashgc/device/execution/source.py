"""The drive on which a command runs: it is made, perhaps with a past, or is a copy of another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError
from flashgc.device import making, mounts
from flashgc.device.past import Past, given

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

    def make(self, file: Path, recorded_in: Path | None) -> dict[str, Any]:
        """Makes the drive in ``file``; what it is.

        ``recorded_in`` is the folder in which its past is recorded. Raises
        :class:`flashgc.ConfigError` or :class:`flashgc.DriveError` where it cannot be made.
        """
        if self.file is not None:
            if recorded_in is not None:
                raise ConfigError(
                    "--realtime, --record, --compare and --by-file do not go with --from: nobody "
                    "knows the past of the copied drive request by request; hint: --fill and --aged"
                )
            mounts.run("cp", "--sparse=always", "--reflink=auto", str(self.file), str(file))
            return {**making.configuration(file), "streams_file": None}
        assert self.plan is not None
        made = self.plan.create(file)
        if self.past is None:
            return made
        record = None
        if recorded_in is not None:
            record = self.past.trace or recorded_in / PAST
        recording = record if self.past.trace is None else None
        done = given(file, self.past, record=recording)
        if recorded_in is not None:
            _show(record, recorded_in / PAST)
        return {**made, "past": done}


def _show(record: Path | None, place: Path) -> None:
    """Puts a recording where the server, who is another user, may read it."""
    assert record is not None
    if record != place:
        mounts.run("cp", str(record), str(place))
    os.chmod(place, 0o644)
