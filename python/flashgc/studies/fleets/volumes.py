"""The volumes of a fleet: their requests in a spool, and each one as a trace of its own."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from flashgc import _core, _engine
from flashgc._core import ConfigError, Control
from flashgc.store import Contents

#: The kinds of volume: all requests with one number, or a file.
BY = ("volume", "file")
#: Keys on how the trace's file is read. They do not apply to a volume's file, which flashgc has
#: written.
_READING = (
    "format",
    "on_bad_line",
    "devices",
    "blkparse_action",
    "columns",
    "layout",
    "disorder",
    "relations",
)

#: Called with the share of a file that was read.
Reading = Callable[[float], None]


class Volume(NamedTuple):
    """One volume of a trace."""

    #: The volume's number in the trace, or the path of its file.
    name: int | str
    reads: int
    writes: int
    discards: int
    #: The digest of the volume's requests.
    digest: str


class Volumes:
    """The volumes of traces after the split."""

    def __init__(self, traces: Sequence[str], by: str, spool: _core.Volumes, folder: Path) -> None:
        self._spool, self._folder, self._by = spool, folder, by
        self._traces = list(traces)
        self._list = [
            Volume(number if by == "volume" else traces[number], reads, writes, discards, digest)
            for number, reads, writes, discards, digest in spool.volumes()
        ]
        self._places = {str(volume.name): at for at, volume in enumerate(self._list)}

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, index: int) -> Volume:
        return self._list[index]

    def __iter__(self) -> Iterator[Volume]:
        return iter(self._list)

    @property
    def spool_bytes(self) -> int:
        """The size of the spool on the disk, in bytes."""
        return self._spool.bytes

    @property
    def skipped(self) -> int:
        """The number of bad lines that were skipped."""
        return self._spool.skipped

    @property
    def notes(self) -> list[str]:
        """Notes for people on how the traces were interpreted."""
        return self._spool.notes

    def config(self, index: int, config: Mapping[str, Any]) -> dict[str, Any]:
        """``config`` for the drive of a volume, equal to that of a run of this volume alone."""
        if self._by == "file":
            return {**config, "workload": self._traces[index]}
        devices = {"devices": str(self._list[index].name)}
        return {**config, "workload": source_of(self._traces), "trace": config["trace"] | devices}

    def index(self, config: Mapping[str, Any]) -> int:
        """The index of the volume for which :meth:`config` made ``config``."""
        by_file = self._by == "file"
        return self._places[config["workload"] if by_file else config["trace"]["devices"]]

    def contents(self, index: int) -> Contents:
        """Digests of files for the key of a volume; the trace has the digest of the volume."""
        return _Contents(str(self.config(index, {"trace": {}})["workload"]), self[index].digest)

    @contextlib.contextmanager
    def file(self, index: int) -> Iterator[Path]:
        """The volume as a trace in a file, which is removed at the end of the ``with``."""
        path = self._folder / f"{index}-{threading.get_ident()}.flashgc"
        try:
            self._spool.write(index, path)
            yield path
        finally:
            path.unlink(missing_ok=True)


class _Contents(Contents):
    """Digests of files; a trace of which only one volume matters has the digest of the volume."""

    def __init__(self, trace: str, digest: str) -> None:
        super().__init__()
        self._trace, self._digest = trace, f"volume {digest}"

    def digest(self, name: str) -> str:
        """The digest of the contents of the file ``name``."""
        return self._digest if name == self._trace else super().digest(name)


def source_of(traces: Sequence[str]) -> str:
    """The name of the traces in results.

    >>> source_of(["a.csv"]), source_of(["a.csv", "b.csv"])
    ('a.csv', './a.csv and 1 more')
    """
    if len(traces) == 1:
        return traces[0]
    return os.path.join(os.curdir, f"{traces[0]} and {len(traces) - 1} more")


@contextlib.contextmanager
def split(
    traces: Sequence[str],
    by: str,
    trace: Mapping[str, Any],
    control: Control,
    reading: Reading | None = None,
    places: Mapping[str, str] | None = None,
) -> Iterator[Volumes]:
    """Read the traces once and split them into volumes, which exist until the end of the ``with``.

    ``trace`` has the keys on how they are read, as in a configuration. Raises
    :class:`flashgc.TraceError`, which names the wrong line or byte, :class:`flashgc.ConfigError` if
    there are not several volumes, and :class:`OSError` if the folder for temporary files is full.
    """
    read = {key: value for key, value in trace.items() if key in _READING}

    def poll() -> None:
        if reading is not None:
            reading(control.read_bytes / max(control.total_bytes, 1))

    with (
        _engine.interruptible(control),
        _engine.terminable(control),
        # After a second Ctrl-C a thread may still write to the folder.
        tempfile.TemporaryDirectory(prefix="flashgc-fleet-", ignore_cleanup_errors=True) as folder,
    ):
        spool = _core.trace_split(
            [Path(trace) for trace in traces],
            Path(folder),
            control,
            json.dumps(read),
            by_file=by == "file",
            poll=poll,
            places=places,
        )
        volumes = Volumes(traces, by, spool, Path(folder))
        _check(volumes, traces, by)
        yield volumes


def _check(volumes: Volumes, traces: Sequence[str], by: str) -> None:
    if len(volumes) > 1:
        return
    source = source_of(traces)
    if not len(volumes):
        raise ConfigError(f"{source}: found no requests to any volume{_said(volumes)}")
    if by == "file":
        raise ConfigError(f"{source}: found a single file, expected several; hint: --by volume")
    raise ConfigError(
        f"{source}: found a single volume ({volumes[0].name}), expected several; hint: "
        f"flashgc compare --workload {source}"
    )


def _said(volumes: Volumes) -> str:
    return "".join(f": {note}" for note in volumes.notes)
