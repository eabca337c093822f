"""Groups of files by their names: groups that a user gives, and patterns of names."""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

from flashgc._core import ConfigError

#: The option that names groups.
OPTION = "--group"

#: Parts of names that differ from file to file: UUIDs, hashes, names of temporary files, and
#: numbers. They are replaced by ``N`` in this order.
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LONG_HASH = re.compile(r"[0-9A-F]{16,}|[0-9a-f]{16,}")
_WORD = re.compile(r"(?<![0-9A-Za-z])[0-9A-Za-z]{8,}(?![0-9A-Za-z])")
_TEMPORARY = re.compile(r"(?<![0-9A-Za-z])(tmp)[a-z0-9_]{8}(?=\.|\Z)|(?<=tmp\.)[0-9A-Za-z]{10}\Z")
_SUFFIX = re.compile(r"(?<=[._-])[0-9A-Za-z]{6,12}\Z")
_NUMBER = re.compile(r"\d+")

#: A folder named by two hexadecimal digits, as in stores that name files by their contents.
_FAN = re.compile(r"[0-9A-Fa-f]{2}")


def pattern(path: str) -> str:
    """The pattern of a file's name, in which ``N`` stands for parts that differ from file to file.

    Such parts are numbers, hashes, UUIDs and the random parts of names of temporary files. If a
    file is named by its contents, folders of two hexadecimal digits above it become ``N`` too.

    >>> pattern("work/base/16384/2619_fsm"), pattern("work/db/000123.sst")
    ('base/N/N_fsm', 'db/N.sst')
    >>> pattern("work/pg_wal/00000001000000000000000A"), pattern("lost+found")
    ('pg_wal/N', 'lost+found')
    >>> pattern("work/.git/objects/be/c0ffee00c0ffee00c0ffee00c0ffee00c0ffee")
    '.git/objects/N/N'
    >>> pattern("work/a/6fa459ea-ee8a-3ca4-894e-db77e160355e.json"), pattern("work/tmp/7a3c2f1b")
    ('a/N.json', 'tmp/N')
    >>> pattern("work/tmpq_xkw7ab"), pattern("work/.git/objects/tmp_obj_a8XkQz")
    ('tmpN', '.git/objects/tmp_obj_N')
    >>> pattern("work/facade.txt"), pattern("work/data.sqlite"), pattern("work/README.Debian")
    ('facade.txt', 'data.sqlite', 'README.Debian')
    """
    *folders, name = path.removeprefix("work/").split("/")
    stem = _hashed(name).partition(".")[0]
    if stem == "N" and not _NUMBER.fullmatch(name.partition(".")[0]):
        folders = ["N" if _FAN.fullmatch(part) else part for part in folders]
    name = _SUFFIX.sub(_random, _TEMPORARY.sub(lambda match: f"{match[1] or ''}N", _hashed(name)))
    return "/".join(_NUMBER.sub("N", part) for part in (*map(_hashed, folders), name))


def _hashed(part: str) -> str:
    return _WORD.sub(_hash, _LONG_HASH.sub("N", _UUID.sub("N", part)))


def _hash(match: re.Match[str]) -> str:
    """``N`` for a hash: hexadecimal digits, or 20 or more characters, with letters and digits."""
    word = match[0]
    digits = sum(letter.isdigit() for letter in word)
    is_hex = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", word) is not None
    is_hash = 0 < digits < len(word) if is_hex else len(word) >= 20 and digits >= 3
    return "N" if is_hash else word


def _random(match: re.Match[str]) -> str:
    """``N`` for a random end, as mkstemp makes it: letters of both cases, or letters and digits."""
    word = match[0]
    has_both = any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word)
    is_mixed = word != word.lower() and word != word.upper() and word != word.capitalize()
    return "N" if has_both or is_mixed else word


@dataclass(frozen=True)
class Groups:
    """Groups of files that a user gives, as patterns of names; the first match counts."""

    each: tuple[str, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """The patterns in ``texts``, each of which is a list separated by commas.

        >>> Groups.parse(["node_modules/*,.git/*", "*.log"]).each
        ('node_modules/*', '.git/*', '*.log')

        Raises :class:`flashgc.ConfigError` for an empty pattern.
        """
        each = [part.strip() for text in texts for part in text.split(",")]
        if not all(each):
            raise ConfigError(
                f"{OPTION}: found an empty pattern, expected patterns of names in the working "
                f"directory; hint: {OPTION} 'node_modules/*,*.log'"
            )
        return cls(tuple(dict.fromkeys(each)))

    def of(self, path: str) -> str:
        """The group of the file at ``path``: the first matching pattern, or its own pattern.

        >>> groups = Groups(("wal/*", "*.log"))
        >>> groups.of("work/wal/7.log"), groups.of("work/a/7.log"), groups.of("work/a/7.db")
        ('wal/*', '*.log', 'a/N.db')
        """
        own = path.removeprefix("work/")
        return next((glob for glob in self.each if fnmatchcase(own, glob)), pattern(path))


#: No groups: each file is in the group of its own pattern.
EACH = Groups()


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0]


def gathered(sizes: Mapping[str, int], most: int, given: Iterable[str] = ()) -> dict[str, str]:
    """New names by old names, at most ``most``: names in small folders become one, ``FOLDER/*``.

    The folder with the least data is gathered first. Names outside of folders, and those in
    ``given``, do not change, so more than ``most`` may be left.

    >>> sizes = {"a/b/1": 5, "a/b/2": 5, "a/c/1": 50, "d": 1, "e/x": 70, "e/y": 80}
    >>> gathered(sizes, 5)["a/b/2"], gathered(sizes, 4)["a/b/2"], gathered(sizes, 4)["e/x"]
    ('a/b/*', 'a/*', 'e/x')
    """
    fixed = set(given)
    #: The entries of each folder: names, and folders that were gathered before.
    entries: defaultdict[str, set[str]] = defaultdict(set)
    total: defaultdict[str, int] = defaultdict(int)
    for name, size in sizes.items():
        if name in fixed:
            continue
        folder = _folder_of(name)
        entries[folder].add(name)
        while folder:
            total[folder] += size
            folder = _folder_of(folder)
    children: defaultdict[str, set[str]] = defaultdict(set)
    for folder in list(total):
        children[_folder_of(folder)].add(folder)
    count, left = len(sizes), [(total[name], name) for name in total if not children[name]]
    heapq.heapify(left)
    where = {name: name for name in sizes}
    holds: dict[str, list[str]] = {name: [name] for name in sizes}
    while count > most and left:
        _, folder = heapq.heappop(left)
        within = entries.pop(folder)
        row = f"{folder}/*" if len(within) > 1 else next(iter(within))
        held = [name for entry in within for name in holds.pop(entry)]
        count -= len(within) - 1
        where.update((name, row) for name in held)
        holds[row] = held
        above = _folder_of(folder)
        entries[above].add(row)
        children[above].discard(folder)
        if above and not children[above]:
            heapq.heappush(left, (total[above], above))
    return where
