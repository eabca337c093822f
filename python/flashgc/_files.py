"""Files for results: checked before the work, and written as a whole after it."""

from __future__ import annotations

import errno
import os
import stat

from flashgc._core import ConfigError

#: Files in these folders are devices or open files. They are written to, never replaced.
_LIVE = ("/dev/", "/proc/")


def check(name: str, what: str, example: str) -> None:
    """Raise :class:`flashgc.ConfigError` if the file ``name`` cannot be written.

    ``what`` is the option for messages, such as ``--out``; ``example`` is a valid name.
    """
    if not name:
        raise ConfigError(f"{what}: the name is empty; hint: give a file, such as {example}")
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        mode = 0
    except OSError as error:
        raise ConfigError(f"{what}: {name}: {error.strerror}; hint: give another file") from None
    if stat.S_ISDIR(mode):
        raise ConfigError(f"{what}: {name} is a folder; hint: give a file in it")
    if mode and not os.access(name, os.W_OK):
        raise ConfigError(f"{what}: {name} may not be written; hint: give another file")
    if mode:
        return
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise ConfigError(f"{what}: {name}: there is no such folder; hint: make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{what}: {name}: its folder may not be written; hint: give another")
    if len(os.fsencode(os.path.basename(name))) > os.pathconf(folder, "PC_NAME_MAX"):
        text = os.strerror(errno.ENAMETOOLONG)
        raise ConfigError(f"{what}: {name}: {text}; hint: give a shorter one")


def write(name: str, content: str | bytes) -> None:
    """Write ``content`` to the file ``name``; a regular file is written completely or not at all.

    That holds even if another process writes it at the same time. A device or a pipe is written to
    directly, and a link stays a link. Errors name the file as it was typed.
    """
    try:
        _write(name, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None


def _write(name: str, content: bytes) -> None:
    import secrets
    import shutil
    from pathlib import Path

    real = Path(os.path.realpath(name))
    exists = os.path.exists(name)
    replaceable = not os.path.abspath(name).startswith(_LIVE) and (real.is_file() or not exists)
    unfinished = real.with_name(f".{real.name}.{secrets.token_hex(8)}.part")
    long = len(os.fsencode(unfinished.name)) > os.pathconf(real.parent, "PC_NAME_MAX")
    if not replaceable or long or not os.access(real.parent, os.W_OK):
        with open(name, "wb") as file:
            file.write(content)
        return
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
        if exists:
            shutil.copymode(real, unfinished)
        os.replace(unfinished, real)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
