"""``Device``: a stored drive that is open in this process."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias

from flashgc import _core
from flashgc.device import code, making, state, writers
from flashgc.device.faults import Faulty
from flashgc.device.source import Blocks
from flashgc.options import PATHS
from flashgc.policy_files import load_policies

File: TypeAlias = str | os.PathLike[str]


class Device(Faulty):
    """A drive that keeps data: one file, opened in this process.

    Offsets and sizes are in bytes. A page of 4096 bytes is written as a whole or not at all; what
    was written is durable after :meth:`flush`, or at once with ``fua``. Every method may be called
    from any thread. Nothing else may have the file open.

    >>> import tempfile
    >>> file = f"{tempfile.mkdtemp()}/drive.flash"
    >>> with Device.create(file, blocks=64, pages_per_block=32) as drive:
    ...     drive.write(8192, b"hello")
    ...     drive.flush()
    >>> with Device.open(file) as drive:
    ...     drive.read(8192, 5), drive.stat()["counters"]["host_pages_written"]
    (b'hello', 1)
    """

    def __init__(
        self, opening: Callable[[], _core.StoredDrive], path: Path, read: dict[str, Any]
    ) -> None:
        """Use :meth:`create` or :meth:`open`."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(writers.changing(path))
            self._drive = opening()
            self._changed = stack.pop_all()
        self.path, self._read = path, read

    @classmethod
    def create(
        cls,
        path: File,
        *,
        durability: str = "process",
        journal: str | int | None = None,
        **options: Any,
    ) -> Self:
        """Makes a drive in a new file and opens it.

        ``options`` are the keys of an experiment that make a drive: ``blocks`` or ``capacity``
        (the physical size, ``"8GiB"``), ``pages_per_block``, ``spare``, ``victim``, ``placement``,
        ``scheme``, ``allocation``, ``wear_levelling``, ``endurance``, ``frontier``, ``seed``,
        ``streams`` (a file with the streams of writes by address).
        ``durability`` is the event that flushed data survive: ``"power"``, ``"process"`` or
        ``"none"``.
        ``journal`` is the size of the journal, 64 MiB by default.

        Raises :class:`flashgc.ConfigError` for invalid options, and :class:`OSError` if the file
        exists or cannot be written.
        """
        values: dict[str, dict[str, Any]] = {}
        for key, value in options.items():
            section = _section(key)
            if value is not None:
                values.setdefault(section, {})[key] = value
        python = load_policies(values.get("gc"), {})
        plan = making.plan(values, python=python, durability=durability, journal=journal)
        plan.create(Path(path))
        read = making.configuration(Path(path))
        # The policies are those of the caller, who has named them.
        opening = partial(_core.StoredDrive, Path(path), plan.python, None, None)
        return cls(opening, Path(path), read)

    @classmethod
    def open(
        cls,
        path: File,
        *,
        durability: str | None = None,
        clock: tuple[str, float, float | Path, str | None] | None = None,
        allow_python: bool = False,
        held: _core.DriveFile | None = None,
        files: _core.FileRings | None = None,
    ) -> Self:
        """Opens the drive in the file at ``path``; after a crash it recovers.

        ``durability`` replaces the one that the drive was made with. With a ``clock`` (of
        :func:`flashgc.device.realtime.clock`) answers come when a timed drive would give them.
        ``allow_python`` permits that the Python policies named in the file run with the rights of
        this process; without it such a drive is refused. ``held`` is the file if it is open
        already. With ``files``, the server of the drive may assign streams to files. Raises
        :class:`flashgc.DriveError` if the file is no drive, is damaged, or is open elsewhere.
        """
        path = Path(path)
        read = making.configuration(path, held)
        owner = None if held is None else held.owner()
        written = code.loaded(path, read, owner, allowed=allow_python)
        opening = partial(_core.StoredDrive, path, written, durability, clock, held, files)
        return cls(opening, path, read)

    @classmethod
    def look(cls, path: File) -> Self:
        """Open the drive at ``path`` for :meth:`stat` and :meth:`blocks`; no code is loaded.

        A stand-in replaces a victim policy in Python. Raises :class:`flashgc.ConfigError` if the
        placement is in Python, because the counts are not known without it.
        """
        path = Path(path)
        read = making.configuration(path)
        opening = partial(_core.StoredDrive, path, code.inert_victim(path, read), None, None)
        return cls(opening, path, read)

    @property
    def size(self) -> int:
        """The logical capacity of the drive, in bytes."""
        return self._drive.size

    @property
    def configuration(self) -> str:
        """The configuration that the drive was made from, as TOML."""
        text: str = self._read["configuration"]
        return text

    def read(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes; bytes never written, or discarded, are zeros.

        Raises :class:`flashgc.DriveError` for damaged data, and :class:`ValueError` beyond the end.
        """
        return self._drive.read(offset, size)

    def write(
        self, offset: int, data: bytes, *, fua: bool = False, stream: int | None = None
    ) -> None:
        """Writes ``data``; with ``fua`` it is durable when this returns.

        The data belong to ``stream``, from 0 to 254, on a drive with placement handles. Raises
        :class:`flashgc.DriveError` if the drive is or becomes read-only, :class:`ValueError` beyond
        the end, and :class:`flashgc.ConfigError` for a stream that the drive does not accept.
        """
        self._drive.write(offset, data, fua, stream)

    def trim(self, offset: int, size: int) -> None:
        """Discard the pages that lie entirely in the range; they then read as zeros."""
        self._drive.trim(offset, size)

    def flush(self) -> None:
        """Make all completed writes durable."""
        self._drive.flush()

    def moment(self) -> int:
        """The number of pages that the host has written, for later calls of :meth:`hint`."""
        return self._drive.moment()

    def hint(self, offset: int, size: int, moment: int | None = None) -> int:
        """Tell the drive that the host will soon overwrite these pages, as known at ``moment``.

        Returns the number of these pages that the host has written since; the hint does not apply
        to them.
        """
        return self._drive.hint(offset, size, moment)

    def cancel(self, offset: int, size: int) -> None:
        """Cancel hints on these pages."""
        self._drive.cancel(offset, size)

    def stat(self) -> dict[str, Any]:
        """The state and the counts; named as in the SMART and OCP logs if these have the value."""
        known: dict[str, Any] = json.loads(self._drive.stat())
        return known

    def _faulty(self) -> _core.StoredDrive:
        return self._drive

    def blocks(self) -> Blocks:
        """All blocks, a column for each of their properties."""
        return Blocks.from_columns(*self._drive.blocks())

    def record(self, path: File | None) -> int | None:
        """Record the requests to the drive into a trace, from now on; ``None`` ends the recording.

        The file (``.flashgc``, optionally followed by ``.zst`` or ``.gz``) is complete when the
        recording ends. Returns the number of requests of the recording that ended, if there was
        one.
        """
        return self._drive.record(None if path is None else Path(path))

    @property
    def serving(self) -> list[str]:
        """Descriptions of the front ends that serve the drive."""
        return self._drive.serving

    def serve_fuse(self, folder: File, mount: _core.DeviceMount | None = None) -> Path:
        """Mounts the drive in ``folder``, and returns the path of the file that holds its bytes.

        ``mount`` is the mount if root has made it already.
        """
        return Path(self._drive.serve_fuse(Path(folder), mount))

    def serve_nbd(
        self,
        address: str,
        *,
        bound: _core.DeviceListener | None = None,
        listen_anywhere: bool = False,
    ) -> str:
        """Serves the drive at ``HOST:PORT`` or ``unix:PATH``, and returns the address.

        There is no authentication: an address that other machines can reach is refused without
        ``listen_anywhere``. ``bound`` is a socket that listens there already.
        """
        return self._drive.serve_nbd(address, bound, listen_anywhere)

    def serve_nvme_tcp(
        self,
        address: str,
        *,
        bound: _core.DeviceListener | None = None,
        listen_anywhere: bool = False,
    ) -> tuple[str, str]:
        """Serves the drive as an NVMe drive (NVMe/TCP) at ``HOST:PORT`` or ``HOST:PORT,block=512``.

        Returns the address and the NVMe qualified name, for ``nvme connect``. There is no
        authentication: an address that other machines can reach is refused without
        ``listen_anywhere``. ``bound`` is a socket that listens there already.
        """
        return self._drive.serve_nvme_tcp(address, bound, listen_anywhere)

    def serve_control(
        self, path: Path | None = None, bound: _core.DeviceListener | None = None
    ) -> None:
        """Answer ``flashgc device stat`` and other commands at a socket in the state folder.

        ``bound`` is a socket that listens at ``path`` already.
        """
        if path is None:
            key = state.key(self.path)
            assert key is not None
            path = state.folder(state.SOCKETS) / key
        self._drive.serve_control(path, bound)

    def serves(self, words: str) -> None:
        """Adds a front end of another kind to :attr:`serving`."""
        self._drive.serves(words)

    @property
    def stopping(self) -> bool:
        """True if another process has asked the server to end."""
        return self._drive.stopping

    def stop_serving(self) -> None:
        """End the front ends. Raises :class:`flashgc.DriveError` while a mount is in use."""
        self._drive.stop_serving()

    def close(self) -> None:
        """Closes the drive, and a recording with it. A second call does nothing."""
        try:
            self._drive.close()
        finally:
            self._changed.close()


def _section(key: str) -> str:
    for path in PATHS:
        section, name = path.split(".")
        if name == key:
            return section
    known = [path.split(".")[1] for path in making.OPTIONS]
    raise _core.ConfigError(f"unknown option '{key}'; hint: {_core.suggest(key, known)}")
