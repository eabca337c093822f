"""Looking at a drive, whoever serves it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from flashgc._core import ConfigError, DriveError
from flashgc.device.control import Client, socket_of
from flashgc.device.drive import Device
from flashgc.device.source import Source


@contextlib.contextmanager
def looking(file: Path) -> Iterator[Source]:
    """The drive in ``file``: through its server, or opened here where it has none."""
    if not file.exists():
        raise ConfigError(f"{file}: no such file; hint: flashgc device create {file}")
    client = _client(file)
    if client is not None:
        with client:
            yield client
        return
    with Device.look(file) as drive:
        yield drive


def _client(file: Path) -> Client | None:
    try:
        if not socket_of(file).exists():
            return None
        return Client(file)
    except DriveError:  # A killed server left its socket.
        return None
