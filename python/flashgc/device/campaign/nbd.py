"""A client of the NBD protocol, which may have several requests under way."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

READ, WRITE, FLUSH, TRIM = 0, 1, 3, 4
FUA = 1

_REQUEST = struct.Struct(">IHHQQI")
_REPLY = struct.Struct(">IIQ")
_REQUEST_MAGIC, _REPLY_MAGIC = 0x25609513, 0x67446698
_HELLO, _OPTION = b"NBDMAGICIHAVEOPT", b"IHAVEOPT"
#: Handshake flags (fixed newstyle, no zeroes), and the option that names an export and begins the
#: transmission.
_FLAGS, _EXPORT_NAME = 3, 1


class RefusedError(Exception):
    """The server answered with an error number."""


def received(connection: socket.socket, count: int) -> bytes:
    """``count`` bytes from a connection; :class:`OSError` if the connection ends before."""
    taken = bytearray()
    while len(taken) < count:
        part = connection.recv(count - len(taken))
        if not part:
            raise ConnectionResetError("the server is gone")
        taken += part
    return bytes(taken)


class Client:
    """A connection to a server at a Unix socket; :class:`OSError` once the server is gone."""

    #: The most pages of one write.
    most = 8

    def __init__(self, path: Path) -> None:
        """Connects and agrees on the only export."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        if self._take(18)[:16] != _HELLO:
            raise RefusedError("this is no NBD server")
        self._socket.sendall(struct.pack(">I8sII", _FLAGS, _OPTION, _EXPORT_NAME, 0))
        self.size, _ = struct.unpack(">QH", self._take(10))
        self._lengths: dict[int, int] = {}
        self._cookie = 0

    def _take(self, count: int) -> bytes:
        return received(self._socket, count)

    def send(self, kind: int, offset: int, length: int, data: bytes = b"", flags: int = 0) -> int:
        """Sends a request and returns its cookie."""
        self._cookie += 1
        head = _REQUEST.pack(_REQUEST_MAGIC, flags, kind, self._cookie, offset, length)
        self._lengths[self._cookie] = length if kind == READ else 0
        self._socket.sendall(head + data)
        return self._cookie

    def answer(self) -> tuple[int, bytes]:
        """Waits for an answer: the cookie of its request, and the data of a read."""
        magic, error, cookie = _REPLY.unpack(self._take(_REPLY.size))
        if magic != _REPLY_MAGIC:
            raise RefusedError("an answer is garbled")
        if error:
            raise RefusedError(f"error {error}")
        return cookie, self._take(self._lengths.pop(cookie))

    def read(self, offset: int, length: int) -> bytes:
        """Read data; no other request may be under way."""
        self.send(READ, offset, length)
        return self.answer()[1]

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()
