"""A drive that uses hints, a file system on it, and a PostgreSQL cluster in the file system."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.device.conftest import has_mounts, leftovers

from flashgc import Device, DriveError
from flashgc.device import up
from flashgc.device.hints import stream
from flashgc.device.postgres.cluster import Cluster, PostgresError, programs


def _missing() -> str | None:
    if not has_mounts():
        return "drives are mounted by root, with FUSE and loop devices"
    try:
        programs()
        stream.load()
    except (PostgresError, DriveError) as error:
        return str(error)
    return None


MISSING = _missing()

#: Marks of modules that use a ``Stand``: they run one at a time, and only if the machine can.
MARKS = [
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
    pytest.mark.xdist_group("hints"),
]

SETTINGS = {
    "shared_buffers": "32MB",
    "checkpoint_timeout": "30s",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "autovacuum_naptime": "1s",
}


class Stand:
    """A drive, a file system and a cluster on it."""

    def __init__(self, folder: Path, filesystem: str) -> None:
        self.folder, self.filesystem = folder, filesystem
        self.file, self.mount = folder / "drive.flash", folder / "mount"
        Device.create(self.file, capacity="512MiB", scheme="zgc-gd").close()
        self.up()
        parent = self.mount / "postgres"
        parent.mkdir()
        parent.chmod(0o755)
        self.cluster = Cluster(folder, parent / "data", SETTINGS)
        self.cluster.start()
        self.cluster.ask("CREATE EXTENSION pg_buffercache")

    def up(self) -> None:
        up.up(self.file, self.mount, filesystem=self.filesystem)

    @property
    def dsn(self) -> str:
        return self.cluster.database.dsn

    def bench(self, *arguments: object) -> subprocess.Popen[bytes]:
        words = self.cluster.command("pgbench", *self.cluster.address, "-n", *arguments)
        return subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def disk(self, at: int, size: int) -> bytes:
        """Bytes of the block device below the file system."""
        done = up.read(self.file)
        assert done is not None
        with open(done.disk, "rb", buffering=0) as disk:
            return os.pread(disk.fileno(), size, at)


@contextmanager
def standing(filesystem: str = "ext4", folder: Path | None = None) -> Iterator[Stand]:
    """A stand in a new folder or in ``folder``, which is removed at the end."""
    folder = folder or Path(tempfile.mkdtemp(prefix="flashgc-hints-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    stand = None
    try:
        stand = Stand(folder, filesystem)
        yield stand
    finally:
        if stand is not None:
            stand.cluster.end()
        up.down(folder / "drive.flash", force=True)
        left = leftovers(folder)
        shutil.rmtree(folder, ignore_errors=True)
        assert left == []
