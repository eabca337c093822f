"""The check that this machine can have stored drives."""

from __future__ import annotations

from flashgc import _core
from flashgc._core import DriveError


def need_linux() -> None:
    """Says in one line that this machine has no stored drives, where it has none."""
    if not hasattr(_core, "StoredDrive"):
        raise DriveError("the stored drive needs Linux; hint: flashgc run simulates drives here")
