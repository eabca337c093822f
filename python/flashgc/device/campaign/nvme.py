"""A host of NVMe/TCP in user space: its queues, and a client of the campaign."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from flashgc.device.campaign import nbd

PAGE = 4096
NAME = b"nqn.2014-08.org.test:host"

#: Opcodes of the campaign's commands.
_OPCODES = {nbd.READ: 0x02, nbd.WRITE: 0x01, nbd.FLUSH: 0x00, nbd.TRIM: 0x09}
#: The FUA bit of a write, which must be durable when it is answered.
_DURABLE = 1 << 30


class Queue:
    """A host's queue, which is one connection, without digests and flow control.

    Raises :class:`OSError` once the server has ended.
    """

    def __init__(
        self, address: str, name: str, number: int, controller: int, who: bytes = NAME
    ) -> None:
        """Connect queue ``number`` as the host ``who``.

        Queue 0 is the admin queue, for which ``controller`` is 0xFFFF.
        """
        host, port = address.split(":")
        self._stream = socket.create_connection((host, int(port)), timeout=20)
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream.sendall(bytes([0, 0, 128, 0, 128]) + bytes(123))
        self._bytes(128)
        data = bytes([7]) * 16 + struct.pack("<H", controller) + bytes(238)
        data += name.encode().ljust(256, b"\0") + who.ljust(512, b"\0")
        result, _ = self.call(0x7F, 1, (number << 16, 63 | 4 << 16), data)
        self.controller = result & 0xFFFF

    def _bytes(self, count: int) -> bytes:
        return nbd.received(self._stream, count)

    def send(
        self, cid: int, opcode: int, nsid: int, dwords: tuple[int, ...], data: bytes, given: int
    ) -> None:
        """Sends a command with its data, or with room for ``given`` bytes of the answer."""
        own = [*dwords, *[0] * (6 - len(dwords))]
        kind = 0x01 if data else 0x5A if given else 0
        where = struct.pack("<QI3xB", 0, len(data) or given, kind)
        entry = struct.pack("<BBHI16x16s6I", opcode, 0x40, cid, nsid, where, *own)
        length = 72 + len(data)
        self._stream.sendall(
            struct.pack("<BBBBI", 4, 0, 72, 72 if data else 0, length) + entry + data
        )

    def take(self) -> tuple[int, int, bytes]:
        """Return the next answer, of a command that must succeed: its number, result and data."""
        head = self._bytes(24)
        if head[0] == 7:
            (length,) = struct.unpack_from("<I", head, 4)
            return struct.unpack_from("<H", head, 8)[0], 0, self._bytes(length - 24)
        result, cid, status = struct.unpack_from("<Q4xHH", head, 8)
        if (head[0], status) != (5, 0):
            raise nbd.RefusedError(f"status {status >> 1:#x} of command {cid}")
        return cid, result, b""

    def call(
        self, opcode: int, nsid: int, dwords: tuple[int, ...], data: bytes = b"", given: int = 0
    ) -> tuple[int, bytes]:
        """Execute a command that must succeed; return its result and its data."""
        self.send(1, opcode, nsid, dwords, data, given)
        return self.take()[1:]

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()


@contextmanager
def connected(
    address: str, name: str, queues: int = 1, who: bytes = NAME
) -> Iterator[tuple[Queue, ...]]:
    """The admin queue and the I/O queues of a new controller."""
    admin = Queue(address, name, 0, 0xFFFF, who)
    admin.call(0x7F, 0, (0, 0x14, 6 << 16 | 4 << 20 | 1))
    numbers = range(1, queues + 1)
    all_ = [admin, *(Queue(address, name, number, admin.controller, who) for number in numbers)]
    try:
        yield tuple(all_)
    finally:
        for queue in reversed(all_):
            queue.close()


class Client:
    """A host with one I/O queue and the same methods as ``nbd.Client``."""

    #: The most pages of one write: those that fit into the command capsule.
    most = 2

    def __init__(self, address: str, name: str) -> None:
        """Connects a controller."""
        self._open = ExitStack()
        admin, self._queue = self._open.enter_context(connected(address, name))
        self.size = int.from_bytes(admin.call(0x06, 1, (0,), given=PAGE)[1][:8], "little") * PAGE
        self._number = 0

    def send(self, kind: int, offset: int, length: int, data: bytes = b"", flags: int = 0) -> int:
        """Sends a command and returns its number."""
        self._number = self._number % 0xFFFF + 1
        first, blocks = offset // PAGE, length // PAGE
        dwords: tuple[int, ...] = (first, 0, blocks - 1 | (_DURABLE if flags & nbd.FUA else 0))
        if kind == nbd.FLUSH:
            dwords = ()
        elif kind == nbd.TRIM:
            dwords, data = (0, 4), struct.pack("<IIQ", 0, blocks, first)
        given = length if kind == nbd.READ else 0
        self._queue.send(self._number, _OPCODES[kind], 1, dwords, data, given)
        return self._number

    def answer(self) -> tuple[int, bytes]:
        """Waits for an answer: the number of its command, and the data of a read."""
        number, _, data = self._queue.take()
        return number, data

    def read(self, offset: int, length: int) -> bytes:
        """Read data; no other command may be under way."""
        self.send(nbd.READ, offset, length)
        return self.answer()[1]

    def close(self) -> None:
        """Ends the connections."""
        self._open.close()
