"""A workload of files, and what each of them must be after a crash.

Every change ends with a sync. Where it began and ended in the log of the drive's commands is noted,
so that for every cut it is known which changes are durable and which were under way.
"""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashgc.device.campaign.report import BrokenPromiseError

#: Names that the workload uses, and bytes of a file at most.
NAMES, LARGEST = 40, 48 << 10

#: Bytes of a page, and of the file that is written past the page cache and never synced.
PAGE, NOISE = 4096, 1 << 20


@dataclass(frozen=True)
class Change:
    """A change of one name: between which bytes of the log, and its contents before and after.

    ``None`` is no such file.
    """

    begin: int
    end: int
    kind: str
    before: bytes | None
    after: bytes | None

    def may_be(self, data: bytes | None) -> bool:
        """True if the name may have this content while the change is under way."""
        if data in (self.before, self.after):
            return True
        if data is None or self.before is None or self.after is None:
            return False
        if self.kind == "append":
            return data.startswith(self.before)
        if self.kind == "truncate":
            return data.startswith(self.after)
        return self.kind == "overwrite" and len(data) == len(self.before)


class Workload:
    """Changes files in a folder, and remembers what it did."""

    def __init__(self, folder: Path, position: Callable[[], int], draw: random.Random) -> None:
        """``position`` is how long the log is."""
        self._folder, self._position, self._draw = folder, position, draw
        self._contents: dict[str, bytes] = {}
        self.history: dict[str, list[Change]] = {}

    def step(self) -> None:
        """Makes one change that is drawn, and before it a write that is never synced."""
        draw = self._draw
        self._disturb()
        name = f"file{draw.randrange(NAMES)}"
        if name not in self._contents:
            self._replace(name)
            return
        change = draw.choice(
            (self._replace, self._append, self._truncate, self._overwrite, self._rename, self._gone)
        )
        change(name)

    def _disturb(self) -> None:
        """Writes that reach the drive at once, and that nothing syncs."""
        draw = self._draw
        noise = os.open(self._folder / "noise", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
        try:
            for _ in range(draw.randrange(6)):
                size = draw.randrange(1, 9) * PAGE
                with mmap.mmap(-1, size) as data:
                    data.write(draw.randbytes(size))
                    os.pwrite(noise, data, draw.randrange(NOISE // PAGE) * PAGE)
        finally:
            os.close(noise)

    def _note(self, begin: int, kind: str, name: str, after: bytes | None) -> None:
        before = self._contents.get(name)
        if after is None:
            self._contents.pop(name, None)
        else:
            self._contents[name] = after
        change = Change(begin, self._position(), kind, before, after)
        self.history.setdefault(name, []).append(change)

    def _sync_folder(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _random(self) -> bytes:
        return self._draw.randbytes(self._draw.randrange(1, LARGEST))

    def _replace(self, name: str) -> None:
        """A new file takes the place of what had the name: the one or the other is there, whole."""
        begin, data = self._position(), self._random()
        partial = self._folder / "partial"
        with open(partial, "wb") as file:
            file.write(data)
            _sync(file.fileno(), file.flush)
        partial.rename(self._folder / name)
        self._sync_folder()
        self._note(begin, "replace", name, data)

    def _append(self, name: str) -> None:
        begin, data = self._position(), self._random()
        with open(self._folder / name, "ab") as file:
            file.write(data)
            _sync(file.fileno(), file.flush)
        self._note(begin, "append", name, self._contents[name] + data)

    def _truncate(self, name: str) -> None:
        begin, before = self._position(), self._contents[name]
        size = self._draw.randrange(len(before) + 1)
        with open(self._folder / name, "r+b") as file:
            file.truncate(size)
            _sync(file.fileno(), file.flush)
        self._note(begin, "truncate", name, before[:size])

    def _overwrite(self, name: str) -> None:
        begin, before = self._position(), self._contents[name]
        if not before:
            return
        at = self._draw.randrange(len(before))
        data = self._draw.randbytes(min(len(before) - at, 9000))
        with open(self._folder / name, "r+b") as file:
            file.seek(at)
            file.write(data)
            _sync(file.fileno(), file.flush)
        self._note(begin, "overwrite", name, before[:at] + data + before[at + len(data) :])

    def _rename(self, name: str) -> None:
        begin, other = self._position(), f"file{self._draw.randrange(NAMES)}"
        if other == name:
            return
        data = self._contents[name]
        (self._folder / name).rename(self._folder / other)
        self._sync_folder()
        self._note(begin, "replace", other, data)
        self._note(begin, "gone", name, None)

    def _gone(self, name: str) -> None:
        begin = self._position()
        (self._folder / name).unlink()
        self._sync_folder()
        self._note(begin, "gone", name, None)


def _sync(descriptor: int, flush: Callable[[], None]) -> None:
    flush()
    os.fsync(descriptor)


def judge(folder: Path, history: dict[str, list[Change]], cut: int, ahead: int) -> int:
    """Compares the files in ``folder`` with what they must be; how many there were.

    What ended before byte ``cut`` of the log is durable. What began before ``ahead`` may be there.
    Raises :class:`BrokenPromiseError`.
    """
    looked = 0
    for name, changes in history.items():
        durable = [change for change in changes if change.end <= cut]
        under_way = [change for change in changes if change.end > cut and change.begin < ahead]
        expected = durable[-1].after if durable else None
        try:
            data: bytes | None = (folder / name).read_bytes()
        except FileNotFoundError:
            data = None
        except OSError as error:
            raise BrokenPromiseError(f"{name} cannot be read: {error.strerror}") from None
        looked += data is not None
        if data != expected and not any(change.may_be(data) for change in under_way):
            raise BrokenPromiseError(
                f"{name} is {_told(data)}, expected what was synced: {_told(expected)}"
                + (
                    f" (being changed: {[change.kind for change in under_way]})"
                    if under_way
                    else ""
                )
            )
    return looked


def _told(content: bytes | None) -> str:
    return "missing" if content is None else f"{len(content)} bytes, {content[:8].hex()}..."
