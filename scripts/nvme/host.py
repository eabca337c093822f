"""A host of NVMe/TCP in user space, for tests and benchmarks: no digests, no flow control."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAGE = 4096
NAME = b"nqn.2014-08.org.test:host"


class Queue:
    """A queue of a host: one connection."""

    def __init__(
        self, address: str, name: str, number: int, controller: int, who: bytes = NAME
    ) -> None:
        """Connects queue ``number`` of the host ``who``.

        0 is the admin queue, whose ``controller`` is 0xFFFF.
        """
        host, port = address.split(":")
        self._stream = socket.create_connection((host, int(port)), timeout=20)
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream.sendall(bytes([0, 0, 128, 0, 128]) + bytes(123))
        self._stream.recv(128, socket.MSG_WAITALL)
        data = bytes([7]) * 16 + struct.pack("<H", controller) + bytes(238)
        data += name.encode().ljust(256, b"\0") + who.ljust(512, b"\0")
        result, _ = self.call(0x7F, 1, (number << 16, 63 | 4 << 16), data)
        self.controller = result & 0xFFFF

    def send(
        self, cid: int, opcode: int, nsid: int, dwords: tuple[int, ...], data: bytes, given: int
    ) -> None:
        """Sends a command with its data, or room for ``given`` bytes."""
        own = [*dwords, *[0] * (6 - len(dwords))]
        kind = 0x01 if data else 0x5A if given else 0
        where = struct.pack("<QI3xB", 0, len(data) or given, kind)
        entry = struct.pack("<BBHI16x16s6I", opcode, 0x40, cid, nsid, where, *own)
        length = 72 + len(data)
        self._stream.sendall(
            struct.pack("<BBBBI", 4, 0, 72, 72 if data else 0, length) + entry + data
        )

    def take(self) -> tuple[int, int, bytes]:
        """Return the next answer of a command that has succeeded: its number, result and data."""
        head = self._stream.recv(24, socket.MSG_WAITALL)
        if head[0] == 7:
            (length,) = struct.unpack_from("<I", head, 4)
            data = self._stream.recv(length - 24, socket.MSG_WAITALL)
            return struct.unpack_from("<H", head, 8)[0], 0, data
        result, cid, status = struct.unpack_from("<Q4xHH", head, 8)
        assert (head[0], status) == (5, 0)
        return cid, result, b""

    def call(
        self, opcode: int, nsid: int, dwords: tuple[int, ...], data: bytes = b"", given: int = 0
    ) -> tuple[int, bytes]:
        """Execute a command that succeeds. Return its result and its data."""
        self.send(1, opcode, nsid, dwords, data, given)
        return self.take()[1:]

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()


@contextmanager
def connected(
    address: str, name: str, queues: int = 1, who: bytes = NAME
) -> Iterator[tuple[Queue, ...]]:
    """The admin queue and the queues of I/O of a new controller."""
    admin = Queue(address, name, 0, 0xFFFF, who)
    admin.call(0x7F, 0, (0, 0x14, 6 << 16 | 4 << 20 | 1))
    numbers = range(1, queues + 1)
    all_ = [admin, *(Queue(address, name, one, admin.controller, who) for one in numbers)]
    try:
        yield tuple(all_)
    finally:
        for queue in reversed(all_):
            queue.close()


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
