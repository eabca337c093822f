"""Finds the dirty pages of a file by the kernel's page flags, without tracepoints.

``/proc/self/pagemap`` gives the frame of each page of a mapping, ``/proc/kpageflags`` the flags
of that frame, and FIEMAP the page's place on the device.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
from pathlib import Path

PAGE = 4096

#: Bits of ``/proc/kpageflags``: the page is dirty, and it is being written to the device.
DIRTY, WRITEBACK = 4, 8

_FIEMAP = 0xC020660B
_EXTENTS = 512
#: Flags of an extent: its place is unknown, or not yet allocated.
_NO_PLACE = 0x2 | 0x4

_libc = ctypes.CDLL(None, use_errno=True)


def extents(path: Path) -> list[tuple[int, int, int]]:
    """File offset, device offset and length in bytes of each extent that has a place."""
    found: list[tuple[int, int, int]] = []
    start, is_last = 0, False
    with open(path, "rb") as file:
        while not is_last:
            asked = struct.pack("=QQLLLL", start, 2**63, 0, 0, _EXTENTS, 0)
            answer = bytearray(asked + bytes(56 * _EXTENTS))
            fcntl.ioctl(file, _FIEMAP, answer)
            count = struct.unpack_from("=L", answer, 20)[0]
            for at in range(count):
                logical, physical, length, _, _, flags = struct.unpack_from(
                    "=QQQQQL", answer, 32 + 56 * at
                )
                if not flags & _NO_PLACE:
                    found.append((logical, physical, length))
                start = logical + length
                is_last = bool(flags & 1)
            is_last = is_last or count == 0
    return found


def pages_of(path: Path) -> set[int]:
    """The pages of the device on which the file has data."""
    pages: set[int] = set()
    for _, physical, length in extents(path):
        pages.update(range(physical // PAGE, -(-(physical + length) // PAGE)))
    return pages


def dirty_pages(path: Path) -> set[int]:
    """The pages of the device that will be overwritten with dirty pages of the file."""
    dirty: set[int] = set()
    places = extents(path)
    for page in dirty_in_file(path):
        for logical, physical, length in places:
            begin, end = max(logical, page * PAGE), min(logical + length, (page + 1) * PAGE)
            if begin < end:
                first, last = physical + begin - logical, physical + end - logical - 1
                dirty.update(range(first // PAGE, last // PAGE + 1))
    return dirty


def dirty_in_file(path: Path) -> list[int]:
    """The dirty pages of the file, by their numbers in the file."""
    size = path.stat().st_size
    if size == 0:
        return []
    pages = -(-size // PAGE)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), size) as memory:
        memory.madvise(mmap.MADV_RANDOM)
        address = ctypes.addressof(anchor := ctypes.c_char.from_buffer(memory))
        resident = (ctypes.c_ubyte * pages)()
        if _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), resident):
            raise OSError(ctypes.get_errno(), "mincore")
        found = []
        with open("/proc/self/pagemap", "rb") as maps, open("/proc/kpageflags", "rb") as flags:
            for page in range(pages):
                # `mincore` may not report the last page although it is in memory.
                if not resident[page] & 1 and page != pages - 1:
                    continue
                # A read maps the page, so that pagemap has its frame.
                memory[page * PAGE]
                (entry,) = struct.unpack(
                    "=Q", os.pread(maps.fileno(), 8, (address // PAGE + page) * 8)
                )
                frame = entry & (1 << 55) - 1
                (bits,) = struct.unpack("=Q", os.pread(flags.fileno(), 8, frame * 8))
                if bits >> DIRTY & 1 or bits >> WRITEBACK & 1:
                    found.append(page)
        del anchor
    return found
