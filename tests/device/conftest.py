"""Helpers of the tests of stored drives: checks of this machine, and of leftover mounts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgc.device import mounts, up


def has_mounts() -> bool:
    """Whether drives can be mounted here: root, FUSE and loop devices."""
    return (
        os.geteuid() == 0
        and os.path.exists("/dev/fuse")
        and os.path.exists("/dev/loop-control")
        and shutil.which("mkfs.ext4") is not None
    )


needs_mounts = pytest.mark.skipif(
    not has_mounts(), reason="drives are mounted by root, with FUSE and loop devices"
)


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test if a program is missing."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture
def drive_file(tmp_path: Path) -> Iterator[Path]:
    """The path for a drive file; a drive that a test leaves mounted is unmounted."""
    file = tmp_path / "drive.flash"
    yield file
    if up.note_of(file).exists():
        up.down(file, force=True)


def leftovers(folder: Path) -> list[str]:
    """Mounts and loop devices in a folder."""
    with open("/proc/self/mounts") as lines:
        mounted = [line for line in lines if str(folder) in line]
    listed = ("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE")
    loops = subprocess.run(listed, capture_output=True, text=True, check=True)
    return mounted + [line for line in loops.stdout.splitlines() if str(folder) in line]


__all__ = ["has_mounts", "leftovers", "mounts", "needs", "needs_mounts"]
