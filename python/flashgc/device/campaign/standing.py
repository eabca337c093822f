"""A drive that is up with a file system and can be killed, for the levels with databases."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flashgc import Device
from flashgc.device import processes
from flashgc.device import up as upping
from flashgc.device.campaign.report import BrokenPromiseError
from flashgc.device.scratch import note


class Standing:
    """A drive with ext4 in ``folder``, which can be killed and brought up again."""

    def __init__(self, folder: Path, capacity: str, **policies: str) -> None:
        """Make the drive and bring it up; without ``policies`` the victim policy is greedy."""
        self._folder = folder
        self.file, self.mount = folder / "drive.flash", folder / "mount"
        policies = policies or {"victim": "greedy"}
        Device.create(
            self.file, capacity=capacity, pages_per_block=64, journal="4MiB", **policies
        ).close()
        self.up()

    @property
    def server(self) -> int:
        """The process that serves the drive."""
        return self._up.server

    def up(self) -> None:
        """Bring the drive up; after a kill its file system recovers."""
        self._up = upping.up(self.file, self.mount)
        note(self._folder, self._up.server)

    def kill(self, others: Iterable[int] = ()) -> None:
        """Kills the server and other processes, and waits for their end."""
        try:
            processes.end([self._up.server, *others])
        except TimeoutError as error:
            raise BrokenPromiseError(str(error)) from None
        upping.down(self.file, force=True)

    def down(self) -> None:
        """Unmount the file system and close the drive."""
        upping.down(self.file, force=True)
