"""A host of NVMe/TCP in user space, for tests and benchmarks."""

from __future__ import annotations

import random
import time

from flashgc.device.campaign.nvme import NAME, PAGE, Queue, connected

__all__ = ["NAME", "PAGE", "Queue", "connected", "work"]


def work(queue: Queue, kind: str, pages: int, depth: int, seconds: float) -> dict[str, list[float]]:
    """Reads or writes of random pages, ``depth`` at a time. Return their latencies in us by kind.

    ``kind`` is `randread`, `randwrite` or `randrw`, as fio has them.
    """
    draw, data = random.Random(1), bytes(PAGE)
    found: dict[str, list[float]] = {"read": [], "write": []}
    waiting: dict[int, tuple[str, float]] = {}
    free, until = list(range(depth)), time.monotonic() + seconds
    while free or waiting:
        while free and time.monotonic() < until:
            cid, page = free.pop(), draw.randrange(pages)
            what = kind.removeprefix("rand")
            what = what if what != "rw" else draw.choice(("read", "write"))
            waiting[cid] = what, time.perf_counter()
            if what == "read":
                queue.send(cid, 0x02, 1, (page,), b"", PAGE)
            else:
                queue.send(cid, 0x01, 1, (page,), data, 0)
        if not waiting:
            break
        cid, _, _ = queue.take()
        what, began = waiting.pop(cid)
        found[what].append((time.perf_counter() - began) * 1e6)
        free.append(cid)
    return found
