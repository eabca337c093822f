"""The names of files, followed by the kernel's notifications (fanotify)."""

from __future__ import annotations

import ctypes
import os
import select
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from flashgc._core import DriveError
from flashgc.device._closing import Worker

#: Flags of fanotify_init(2): events with names, folders and file handles, and a queue without
#: limit.
_INIT = 0x1 | 0x2 | 0x10 | 0x200 | 0x400 | 0x800 | 0x1000
#: Flags of fanotify_mark(2): the whole file system; files opened, made, removed or renamed; folders
#: too.
_ADD, _FILESYSTEM = 0x1, 0x100
_OPENED, _CREATED, _REMOVED, _RENAMED = 0x20, 0x100, 0x200, 0x10000000
_FOLDERS, _OVERFLOW = 0x40000000, 0x4000
#: Kinds of records in an event: the file; its folder and name; for a renamed file, the old and the
#: new name.
_FILE, _NAME, _OLD_NAME, _NEW_NAME = 1, 2, 10, 12

_EVENT, _RECORD, _HEAD = struct.Struct("=IBBHQii"), struct.Struct("=BBH"), struct.Struct("=Ii")

#: The layouts of file handles with an inode of 32 bits (ext4, xfs) and of 64 bits (xfs). A bit of
#: the handle's type tells them apart.
_LONG, _HANDLES = 0x80, {False: struct.Struct("=II"), True: struct.Struct("=QI")}

#: A file: its inode and the inode's generation, because inodes are reused.
Node = tuple[int, int]

#: A name: its folder, and the name in it.
Place = tuple[Node, str]

#: Seconds between two checks for the end.
LOOK = 0.05

#: Gets the files that were made or renamed: for each, its inode and the index of the file among all
#: files that had this inode.
Tell = Callable[[list[tuple[int, int]]], None]


class Names(Worker):
    """Follows the names on the ext4 or xfs that is mounted at ``mount``, from now on."""

    def __init__(self, mount: Path, tell: Tell = lambda _: None) -> None:
        """``tell`` is called in another thread, as soon as the kernel reports a name.

        Raises :class:`flashgc.DriveError` if the kernel does not report names.
        """
        super().__init__()
        self._tell = tell
        system = ctypes.CDLL(None, use_errno=True)
        self._events = system.fanotify_init(_INIT, os.O_RDONLY | os.O_CLOEXEC)
        if self._events < 0:
            raise DriveError(
                f"the kernel does not tell names of files: {os.strerror(ctypes.get_errno())}; "
                "hint: Linux 5.17 or later, as root"
            )
        mask = ctypes.c_uint64(_OPENED | _CREATED | _REMOVED | _RENAMED | _FOLDERS)
        flags = ctypes.c_uint(_ADD | _FILESYSTEM)
        if system.fanotify_mark(self._events, flags, mask, -100, os.fsencode(mount)):
            error = os.strerror(ctypes.get_errno())
            os.close(self._events)
            raise DriveError(f"{mount}: the kernel does not tell names of files: {error}")
        self._root = mount.stat().st_ino
        self._folders: set[Node] = set()
        #: The files that existed before names were followed.
        self._older = {
            node for folder, _, files in os.walk(mount) for node in _nodes(folder, files)
        }
        #: The names of each file, oldest first. A file that has lost all names keeps its last one.
        #: ``_lives`` has the generations of each inode in order.
        self._places: dict[Node, list[Place]] = {}
        self._gone: set[tuple[Node, Place]] = set()
        self._lives: dict[int, list[int]] = defaultdict(list)
        self.is_complete = True

    def close(self) -> None:
        """Ends the kernel's notifications."""
        os.close(self._events)

    def path(self, inode: int, life: int) -> str | None:
        """The path of the file with index ``life`` among those of the inode; ``None`` if unknown.

        The path of a folder is empty.
        """
        lives = self._lives.get(inode, [])
        if inode == self._root or (inode, *lives[life : life + 1]) in self._folders:
            return ""
        if not 0 <= life < len(lives):
            return None
        parts: list[str] = []
        node = (inode, lives[life])
        while node[0] != self._root:
            if not self._places.get(node) or len(parts) > 100:
                return None
            node, name = self._places[node][0]
            parts.append(name)
        return "/".join(reversed(parts))

    def _work(self) -> None:
        while True:
            is_over = self._over.is_set()
            if select.select([self._events], [], [], 0 if is_over else LOOK)[0]:
                self._take(os.read(self._events, 1 << 16))
            elif is_over:
                return

    def _take(self, data: bytes) -> None:
        at, nodes = 0, []
        while at < len(data):
            length, _, _, header, mask, _, _ = _EVENT.unpack_from(data, at)
            if mask & _OVERFLOW:
                self.is_complete = False
            nodes.append(self._note(mask, data[at + header : at + length]))
            at += length
        self._tell([
            (inode, self._lives[inode].index(generation))
            for inode, generation in filter(None, dict.fromkeys(nodes))
            if generation in self._lives[inode]
        ])  # fmt: skip

    def _note(self, mask: int, records: bytes) -> Node | None:
        """Note an event; return its file, or ``None`` if the file is older than the follower."""
        node: Node | None = None
        places: dict[int, Place] = {}
        at = 0
        while at < len(records):
            kind, _, length = _RECORD.unpack_from(records, at)
            body = records[at + _RECORD.size + 8 : at + length]  # After the file system's number.
            size, handle = _node(body)
            if kind == _FILE:
                node = handle
            else:
                places[kind] = handle, os.fsdecode(body[8 + size :].split(b"\0")[0])
            at += length
        if node is None or node in self._older:
            return None
        # A file without a name (O_TMPFILE) first shows when it is opened.
        if node[1] not in self._lives[node[0]]:
            self._lives[node[0]].append(node[1])
            if mask & _FOLDERS:
                self._folders.add(node)
        known = self._places.setdefault(node, [])
        if mask & _RENAMED:
            old = places.get(_OLD_NAME)
            at = known.index(old) if old in known else len(known)
            known[at : at + 1] = [places[_NEW_NAME]]
        elif mask & _CREATED:
            known.append(places[_NAME])
            self._gone.discard((node, places[_NAME]))
        # The kernel merges the creation and the removal of one name, and reports another name
        # later.
        if mask & _REMOVED:
            self._gone.add((node, places[_NAME]))
        left = [place for place in known if (node, place) not in self._gone]
        known[:] = left or known[-1:]
        return node


def _node(handle: bytes) -> tuple[int, Node]:
    """The size of a handle, and the file that it means."""
    size, type_ = _HEAD.unpack_from(handle)
    inode, generation = _HANDLES[bool(type_ & _LONG)].unpack_from(handle, _HEAD.size)
    return size, (inode, generation)


def _nodes(folder: str, files: list[str]) -> Iterator[Node]:
    """The folder and the files in it."""
    for path in (folder, *(os.path.join(folder, file) for file in files)):
        handle, mount = ctypes.create_string_buffer(_HEAD.pack(128, 0), 136), ctypes.c_int()
        system = ctypes.CDLL(None, use_errno=True)
        at = os.fsencode(path)
        if not system.name_to_handle_at(-100, at, handle, ctypes.byref(mount), 0):
            yield _node(handle.raw)[1]
