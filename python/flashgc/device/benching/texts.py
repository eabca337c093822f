"""Texts of a bench in which ``{name}`` stands for the value of a setting."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashgc.device.benching.file import Bench

#: A name in braces, or a doubled brace, which stands for one. The shell's ``${name}`` does not
#: match.
_NAME = re.compile(r"\{\{|\}\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}")

#: Names that every text may use: the folder of the file, the number of the repeat, and its seed.
GIVEN = ("here", "repeat", "seed")

#: The largest file, in bytes, whose content is part of a run's digest. Of a larger file, the digest
#: has its size and time of change.
LONGEST = 64 << 20


def known_names(bench: Bench) -> set[str]:
    """The names that the texts of ``bench`` may use."""
    return {*GIVEN, *bench.axes, *bench.drive, *bench.run}


def names_in(text: str | Sequence[str] | None) -> list[str]:
    """The names in a text or in words.

    >>> names_in("run {size} ${HOME} {{braces}} awk '{ print }'"), names_in(["a", "{b}"])
    (['size'], ['b'])
    """
    texts = [text] if isinstance(text, str) else text or ()
    return [match[1] for text in texts for match in _NAME.finditer(text) if match[1]]


def filled(text: str, values: Mapping[str, object]) -> str:
    """Return a text with the values of its names.

    >>> filled("a {b} {{c}} ${b}", {"b": 3})
    'a 3 {c} ${b}'
    """
    return _NAME.sub(lambda match: shown(values[match[1]]) if match[1] else match[0][0], text)


def shown(value: object) -> str:
    """A value as it is written in the file.

    >>> shown(True), shown("a"), shown(4096)
    ('true', 'a', '4096')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def words_of(text: str | Sequence[str], values: Mapping[str, object]) -> tuple[str, ...]:
    """The words of a command; a text becomes a call of the shell.

    >>> words_of("a {b}", {"b": 3}), words_of(("a", "{b}"), {"b": 3})
    (('/bin/sh', '-c', 'a 3'), ('a', '3'))
    """
    if isinstance(text, str):
        return ("/bin/sh", "-c", filled(text, values))
    return tuple(filled(part, values) for part in text)


def contents(bench: Bench) -> dict[str, str]:
    """Digests of the files that the texts name by ``{here}/...``, and of the files copied in.

    If one of these files changes, the runs count as new ones.
    """
    texts = [bench.command, bench.setup]
    every = [
        part for text in texts for part in ((text,) if isinstance(text, str) else tuple(text or ()))
    ]
    names = {name for word in every for name in re.findall(r"\{here\}/([\w./-]+)", word)}
    files = {name: bench.here / name for name in names}
    for folder in bench.run.get("copy_in", ()):
        whole = bench.here / str(folder)
        files |= {f"{folder}/{path.relative_to(whole)}": path for path in sorted(whole.rglob("*"))}
    return {name: _digest(file) for name, file in sorted(files.items()) if file.is_file()}


def _digest(file: Path) -> str:
    size = file.stat().st_size
    if size > LONGEST:
        return f"{size} {file.stat().st_mtime_ns}"
    return hashlib.sha256(file.read_bytes()).hexdigest()
