"""A copy of a file of results, which others may be writing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from flashgc import _files
from flashgc._core import ConfigError
from flashgc.store.file import Store


def export(store: Store, copy: Path, look: Callable[[float, int], None] = lambda *_: None) -> None:
    """Copies a file of results as it is now; ``look`` sees the share and the pages that are copied.

    Raises :class:`flashgc.ConfigError` where there is a file ``copy``, and :class:`OSError`.
    """
    if os.path.lexists(copy):
        raise _exists(copy)
    _files.check(str(copy), "COPY", "copy.results")
    # Nobody takes the file for a copy before it is whole.
    part = copy.with_name(f".{secrets.token_hex(8)}.part")
    try:
        store.back_up(part, look)
        _name(part, copy)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(copy)) from None
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, copy: Path) -> None:
    """Gives ``part`` the name ``copy``; replaces nothing that came there meanwhile."""
    try:
        os.link(part, copy)
    except FileExistsError:
        raise _exists(copy) from None
    except OSError:  # A file system without links.
        if os.path.lexists(copy):
            raise _exists(copy) from None
        part.rename(copy)


def _exists(copy: Path) -> ConfigError:
    return ConfigError(f"COPY: {copy} exists; hint: give another name, or delete it")
