"""The memory of a server that the kernel waits for while it looks for memory.

A file system on a drive gives its dirty pages back by writing them to the drive's server. A server
that itself waits for memory then waits for its own writes, for ever. So a server says to the kernel
that it is one (``PR_SET_IO_FLUSHER``), and where its control group has a limit, it takes what it
needs before it serves, and its files go past the page cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from pathlib import Path

from flashgc import _core
from flashgc.device import mounts

#: ``PR_SET_IO_FLUSHER`` of prctl(2), ``MCL_CURRENT`` of mlockall(2).
_IO_FLUSHER, _CURRENT = 57, 1

#: Names of mallopt(3), and values with which memory that was taken is never given back, and comes
#: from one heap.
_KEEPING = {-1: -1, -4: 0, -8: 1}  # M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX

#: Bytes that a server takes before it serves: the requests that the kernel may have under way.
RESERVE = 48 << 20

#: The numbers that cgroup v1 has where there is no limit are above this one.
_NO_LIMIT = 1 << 60


def limit(groups: Path = Path("/proc/self/cgroup"), root: Path | None = None) -> int | None:
    """Return the bytes of memory that this process's control groups leave it; ``None`` without.

    ``groups`` has the groups of the process, and ``root`` is the folder of the file system of
    control groups, by default where each is mounted. In a container the path of the group may not
    be seen: the group at the root is its own then.
    """
    numbers = []
    for line in _text(groups).splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        for place in [root] if root is not None else _roots(is_unified=not kinds):
            group = place / path.lstrip("/")
            while True:
                for name in ("memory.limit_in_bytes", "memory.max", "memory.high"):
                    with contextlib.suppress(ValueError):  # "max" is no number, nor is no file.
                        numbers.append(int(_text(group / name)))
                if group == place or place not in group.parents:
                    break
                group = group.parent
    return min((number for number in numbers if number < _NO_LIMIT), default=None)


def _roots(*, is_unified: bool) -> list[Path]:
    """The folders in which the control groups of memory are mounted, of version 2 or 1."""
    kind = "cgroup2" if is_unified else "cgroup"
    paths = [Path(place) for _, place in mounts.mounted(kind)]
    return [place for place in paths if is_unified or (place / "memory.limit_in_bytes").exists()]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


@functools.cache
def is_limited() -> bool:
    """Return ``True`` if this process's memory was limited when this was first called."""
    return limit() is not None


def prepare() -> None:
    """Readies this process for serving, before it has threads and before it gives rights away.

    It says to the kernel that it and its threads to come write back what others wait for, which
    wants ``CAP_SYS_RESOURCE``. Where memory is limited, what is taken from now on is never given
    back, comes from one heap, and may be locked whoever this process becomes: the kernel ends a
    process whose locked stack may not grow.
    """
    system = ctypes.CDLL(None)
    system.prctl(_IO_FLUSHER, 1, 0, 0, 0)
    if is_limited():
        for name, value in _KEEPING.items():
            system.mallopt(name, value)
        import resource

        with contextlib.suppress(ValueError, OSError):  # Root alone may.
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)


def lock() -> None:
    """Keeps what this process has in memory now, where that is limited, as far as it may."""
    if is_limited():
        _core.take_stack()
        ctypes.CDLL(None).mlockall(_CURRENT)


def reserve() -> None:
    """Takes memory for the requests to come, where it is limited, and keeps it."""
    if not is_limited():
        return
    system = ctypes.CDLL(None)
    system.malloc.restype = ctypes.c_void_p
    system.malloc.argtypes = (ctypes.c_size_t,)
    taken = system.malloc(RESERVE)
    if taken:
        ctypes.memset(taken, 1, RESERVE)
        system.free(ctypes.c_void_p(taken))
    lock()
