"""Traces on other machines: found there by their content, or sent."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core, _files
from flashgc.store import Contents, Kept
from flashgc.studies.cell import simulate_cell

#: Bytes of the largest trace that is sent.
LARGEST = 1 << 30


@dataclass(frozen=True)
class Lacking:
    """A worker does not have the trace with this digest."""

    digest: str


def simulate_there(
    config: dict[str, Any], digest: str | None, sent: bytes | None, version: str
) -> Kept | Lacking | None:
    """:func:`simulate_cell` on a worker, with the trace that has this ``digest``.

    The worker has it under the name that the configuration gives, or in its folder of traces, where
    ``sent``, its content, is put. ``digest`` is ``None`` of a workload that is no trace. A worker
    with another ``version`` of flashgc would give other results, and gives none.
    """
    if version != _core.version():
        told = f"its worker has flashgc {_core.version()}, expected {version}; hint: install that"
        return Kept("failed", config, None, told)
    name = config["workload"]
    if digest is None or _contents().digest(name) == digest:
        return simulate_cell(config)
    place = folder() / digest / Path(name).name
    if sent is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        _files.write(str(place), sent)
    if _contents().digest(str(place)) != digest:
        return Lacking(digest)
    return simulate_cell(config, instead=(place, False))


def folder() -> Path:
    """The folder of traces that a worker was sent: ``flashgc/traces`` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "flashgc" / "traces"


def digest_of(config: dict[str, Any], contents: Contents) -> str | None:
    """The digest of a configuration's trace; ``None`` of a workload that is no trace."""
    name = str(config["workload"])
    return contents.digest(name) if _core.is_trace(name) else None


def content_of(config: dict[str, Any]) -> bytes:
    """The content of a configuration's trace, to be sent; raises :class:`OSError`."""
    path = Path(config["workload"])
    size = path.stat().st_size
    if size > LARGEST:
        raise OSError(
            f"{path}: the worker does not have this trace, and {size} bytes are too many to send; "
            "hint: copy it there, under the same name"
        )
    return path.read_bytes()


@functools.cache
def _contents() -> Contents:
    """The digests of this process."""
    return Contents()
