"""The memory of a server on which the kernel depends to free memory.

To free memory, a file system on a drive writes its dirty pages to the drive's server. A server that
itself waits for free memory then waits for its own writes, for ever. So a server tells the kernel
that it writes such pages (``PR_SET_IO_FLUSHER``). If its control group has a limit, it also
allocates the memory that it needs before it serves, and its files bypass the page cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from pathlib import Path

from flashgc import _core
from flashgc.device import mounts

#: ``PR_SET_IO_FLUSHER`` of prctl(2), and ``MCL_CURRENT`` of mlockall(2).
_IO_FLUSHER, _CURRENT = 57, 1

#: Parameters of mallopt(3) and their values, with which freed memory is never returned to the
#: system, and all memory is from one heap.
_KEEPING = {-1: -1, -4: 0, -8: 1}  # M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX

#: Bytes that a server allocates before it serves: those of the requests that the kernel may have in
#: progress.
RESERVE = 48 << 20

#: cgroup v1 shows a number above this one if there is no limit.
_NO_LIMIT = 1 << 60


def limit(groups: Path = Path("/proc/self/cgroup"), root: Path | None = None) -> int | None:
    """Return this process's memory limit in bytes, by control groups; ``None`` without a limit.

    ``groups`` is the file that lists the groups of the process. ``root`` is the mount point of the
    control groups; by default all such mount points are used. In a container the path of the group
    may be invisible; then the group at the root is that of the process.
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
                    with contextlib.suppress(ValueError):  # The text is "max", or there is no file.
                        numbers.append(int(_text(group / name)))
                if group == place or place not in group.parents:
                    break
                group = group.parent
    return min((number for number in numbers if number < _NO_LIMIT), default=None)


def _roots(*, is_unified: bool) -> list[Path]:
    """The mount points of the control groups of memory, of version 2 or 1."""
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
    """Return ``True`` if this process's memory was limited at the first call."""
    return limit() is not None


def prepare() -> None:
    """Prepare this process for serving, before it starts threads and before it gives up its rights.

    The process tells the kernel that it and its later threads write back pages for others, which
    needs ``CAP_SYS_RESOURCE``. If memory is limited, memory allocated from now on is never returned
    and is from one heap. The stack gets the size that the process will ever need, and the limit of
    locked memory is raised where the process may do that: the kernel ends a process whose locked
    stack may not grow.
    """
    system = ctypes.CDLL(None)
    system.prctl(_IO_FLUSHER, 1, 0, 0, 0)
    if is_limited():
        for name, value in _KEEPING.items():
            system.mallopt(name, value)
        _core.take_stack()
        import resource

        with contextlib.suppress(ValueError, OSError):  # Only root may raise the limit.
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)


def lock() -> None:
    """Lock this process's current memory if memory is limited, and if the process may lock it."""
    if is_limited():
        ctypes.CDLL(None).mlockall(_CURRENT)


def reserve() -> None:
    """If memory is limited, allocate memory for future requests, and keep it."""
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
