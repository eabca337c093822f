"""Code that a drive's file names: policies in Python, and when they may be loaded.

The file of a drive is data, and whoever can write it can name any program in it. So its policies
are loaded only with permission, and only from a file that nobody but this user and root can write.
A drive that is only looked at needs no policy: stand-ins, which are never called, replace it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from flashgc._core import ConfigError
from flashgc.device import writers
from flashgc.policy_files import Files, parted, shown

#: Names of the policies of a drive in messages, by the keys of their options.
_CALLED = {"victim": "victim policy", "placement": "placement"}

#: The Python policies of a drive: the name of each and the loaded object, by the key of its option.
Written = dict[str, tuple[str, object]]


def _outside(read: Mapping[str, Any]) -> dict[str, str]:
    return {key: name for key, name in read["outside"].items() if name is not None}


def check(path: Path, read: Mapping[str, Any], *, allowed: bool) -> None:
    """Checks that the code which the drive at ``path`` names may run. Nothing is loaded.

    Raises :class:`flashgc.ConfigError` if the drive names code and there is no permission, or if
    there is permission and no code.
    """
    outside = _outside(read)
    if allowed and not outside:
        raise ConfigError(
            f"--allow-python: {path} names no code; hint: leave it out (in Python: allow_python)"
        )
    for key, text in outside.items():
        code = parted(text, f"the {_CALLED[key]} of {path}")
        subject = f"{path} names code as its {_CALLED[key]}: {shown(code.file)}"
        if not allowed:
            raise ConfigError(
                f"{subject} ({shown(code.name)}), which would run with your rights; hint: "
                "--allow-python if you trust it (in Python: allow_python=True)"
            )
        if not os.path.isabs(code.file):
            raise ConfigError(
                f"{subject}, expected a whole path: which file that is depends on the folder; "
                "hint: make the drive again"
            )


def loaded(
    path: Path, read: Mapping[str, Any], owner: int | None = None, *, allowed: bool
) -> Written:
    """Load the Python policies of the drive at ``path``.

    ``owner`` is the user who owns the file, if the file cannot be reached by its name.

    Raises :class:`flashgc.ConfigError` as :func:`check` does, and for a code file that others can
    write or that another user chose.
    """
    check(path, read, allowed=allowed)
    if _outside(read):
        writers.check_code(path, os.stat(path).st_uid if owner is None else owner)
    files = Files(guarded=True)
    return {
        key: (text, files.load(text, f"{_CALLED[key]} of the drive"))
        for key, text in _outside(read).items()
    }


def inert(read: Mapping[str, Any]) -> Written:
    """Stand-ins for the Python policies of a drive: enough to read its map."""
    stand_ins = {"victim": _nobody, "placement": _Nothing}
    return {key: (text, stand_ins[key]) for key, text in _outside(read).items()}


def inert_victim(path: Path, read: Mapping[str, Any]) -> Written:
    """Stand-ins for a drive that is opened only to look at it.

    A drive with a placement in Python is refused: only the placement knows the classes in its
    state.
    """
    text = _outside(read).get("placement")
    if text is not None:
        code = parted(text, f"the placement of {path}")
        raise ConfigError(
            f"{path} is not served, and its blocks and counts are not known without its "
            f"placement: code in {shown(code.file)} ({shown(code.name)}); hint: flashgc device "
            f"check {path} reads its pages without it; stat works while flashgc device serve "
            f"{path} --allow-python runs it"
        )
    return inert(read)


def _never() -> NoReturn:
    raise RuntimeError("a stand-in for a policy was asked")


def _nobody(_blocks: object) -> int:
    """A victim policy that is never called."""
    _never()


class _Nothing:
    """A placement that is never called."""

    classes = 1

    def host(self, _page: int, _stream: int | None, _old: int | None, _now: object) -> int:
        """Raise an error, since no page may be placed."""
        _never()

    def copy(self, _page: int, _from: int, _zombie: bool, _now: object) -> int:
        """Raise an error, since no page may be placed."""
        _never()
