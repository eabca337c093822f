"""The page of a drive: a small HTTP server on another thread.

It answers GET and changes nothing. A request must name this machine as its host, so that a page
from elsewhere cannot reach the drive by a name that resolves to this address (DNS rebinding). There
is no authentication: other machines can reach the page only if the user asked for that. The use of
resources by viewers is limited (:class:`Limits`).

``/blocks`` is binary, little endian: ``FGCB``, then as three u32 the version (2), the number of
blocks and the pages per block. Then one column after the other, with an entry per block: erases
(u32), valid pages (u32), zombies (u32), state (u8, an index into
:data:`flashgc.device.source.STATES`), class (u8).
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import json
import re
import secrets
import socket
import socketserver
import struct
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flashgc._core import ConfigError
from flashgc.device import metrics
from flashgc.device._closing import Closing
from flashgc.device.history import Sampler
from flashgc.device.listening import is_local, parse_address
from flashgc.device.source import Blocks, Source

#: The beginning of the answer to ``/blocks``, before the counts.
MAGIC, VERSION = b"FGCB", 2

HERE = Path(__file__).parent / "page"
#: Files of the page, by URL path.
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
       for name in ("page", "blocks", "charts", "stall", "format", "tables")},
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/palette.json": ("palette.json", "application/json"),
}  # fmt: skip

#: Security headers: no content from elsewhere, no inline scripts, no embedding in a frame.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

#: Seconds for which a snapshot of all blocks is sent to further viewers.
FRESH = 0.5

Answer = tuple[bytes, str]


@dataclass(frozen=True)
class Limits:
    """Limits on viewers, listed in docs/device.md. Times are in seconds."""

    #: The most connections at a time.
    connections: int = 64
    #: The longest time from the first byte of a request to its last, in seconds.
    request: float = 10.0
    #: The most bytes of a request.
    request_bytes: int = 16 << 10
    #: Idle time after which a connection is closed, in seconds.
    idle: float = 30.0
    #: Idle time after which a connection may be closed in favour of a new one, in seconds.
    useless: float = 1.0
    #: The longest time in which a viewer must receive :data:`PIECE` bytes of an answer, in seconds.
    patience: float = 10.0
    #: The most bytes of all answers being sent. A single answer may be larger.
    answers: int = 64 << 20


LIMITS = Limits()
#: Bytes that a viewer must receive within ``patience``.
PIECE = 64 << 10


class Page(Closing):
    """Serves the page of a drive at an address until it is closed.

    >>> from flashgc.device.web import Page
    >>> with Page(drive, "127.0.0.1:0") as page:  # doctest: +SKIP
    ...     print(page.url)
    http://127.0.0.1:41717/
    """

    def __init__(
        self,
        source: Source,
        address: str = "127.0.0.1:0",
        *,
        listen_anywhere: bool = False,
        limits: Limits = LIMITS,
    ) -> None:
        """Begin to serve; other machines are served only with ``listen_anywhere``.

        Raises :class:`flashgc.ConfigError` for an address that is invalid, or at which it cannot
        listen.
        """
        host, port = parse_address(address)
        if not (listen_anywhere or is_local(host)):
            raise ConfigError(
                f"HTTP address: {address} is for other machines too, expected an address of this "
                "one; hint: 127.0.0.1:8080, or listen_anywhere=True"
            )
        self._sampler = Sampler(source)
        try:
            self._server = _Server(host, port, _Answers(source, self._sampler), limits)
        except OSError as error:
            raise ConfigError(
                f"HTTP address: {address}: {error.strerror or error}; hint: 127.0.0.1:0 takes any "
                "free port"
            ) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="flashgc page", daemon=True
        )
        self._sampler.start()
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        host, port = self._server.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else host
        return f"http://{name!s}:{port}/"

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the page."""
        return ipaddress.ip_address(str(self._server.server_address[0])).is_loopback

    def close(self) -> None:
        """Stop serving. The drive stays as it is."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._sampler.stop()


#: The page's files, read before their folder became inaccessible to this process.
_KEPT: dict[str, bytes] = {}


def keep_files() -> None:
    """Read the page's files now, for a process that will lose access to them."""
    _KEPT.update((name, (HERE / name).read_bytes()) for name, _ in FILES.values())


class _Answers:
    """Routes of the drive's web server."""

    def __init__(self, source: Source, sampler: Sampler) -> None:
        self._source, self._sampler = source, sampler
        #: A new value tells viewers that the numbers of samples begin again.
        self._run = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._blocks: tuple[float, bytes] | None = None
        self._of: dict[str, Callable[[dict[str, list[str]]], Answer]] = {
            "/stat.json": lambda _: _json(self._source.stat()),
            "/series.json": self._series,
            "/blocks": lambda _: (self._picture(), "application/octet-stream"),
            "/metrics": lambda _: (
                metrics.openmetrics(self._source.stat()).encode(), metrics.CONTENT_TYPE
            ),
            "/still.svg": self._still,
        }  # fmt: skip

    def find(self, path: str) -> Callable[[dict[str, list[str]]], Answer] | None:
        """Return the handler of ``path``, which gets the query; ``None`` if there is none."""
        if path in FILES:
            name, kind = FILES[path]
            return lambda _: (_KEPT.get(name) or (HERE / name).read_bytes(), kind)
        return self._of.get(path)

    def _series(self, query: dict[str, list[str]]) -> Answer:
        after = query.get("after", ["0"])[-1]
        number = int(after) if after.isascii() and after.isdigit() and len(after) < 16 else 0
        return _json(
            {
                "run": self._run,
                "period_seconds": self._sampler.period,
                "samples": self._sampler.after(number),
            }
        )

    def _still(self, query: dict[str, list[str]]) -> Answer:
        from flashgc.device.still import VIEWS, still

        view = query.get("view", ["valid"])[-1]
        drawn = still(
            self._source.stat(), self._source.blocks(), view if view in VIEWS else "valid"
        )
        return drawn.encode(), "image/svg+xml; charset=utf-8"

    def _picture(self) -> bytes:
        with self._lock:
            now = time.monotonic()
            if self._blocks is None or now - self._blocks[0] > FRESH:
                pages = self._source.stat()["pages_per_block"]
                self._blocks = now, encode(self._source.blocks(), pages)
            return self._blocks[1]


def encode(blocks: Blocks, pages_per_block: int) -> bytes:
    """All blocks in the format of ``/blocks``; see the module's text."""
    return b"".join(
        (
            struct.pack("<4sIII", MAGIC, VERSION, len(blocks), pages_per_block),
            *map(_little, (blocks.erases, blocks.valid, blocks.zombies)),
            blocks.state,
            blocks.cls,
        )
    )


def _little(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _json(value: Any) -> Answer:
    return json.dumps(value, separators=(",", ":")).encode(), "application/json"


class _Server(ThreadingHTTPServer):
    """A server with a thread per connection; the threads end with the process."""

    daemon_threads = True
    #: The most connections that wait to be accepted. A browser opens up to six for a page.
    request_queue_size = 32

    def __init__(self, host: str, port: int, answers: _Answers, limits: Limits) -> None:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = address[0]
        self.answers, self.limits = answers, limits
        #: For each connection, the time since which the server waits for the viewer; ``None`` if
        #: the viewer waits for the server.
        self._connections: dict[socket.socket, float | None] = {}
        #: Bytes of answers being sent.
        self._sending = 0
        self._lock = threading.Lock()
        #: The host name as the user gave it; a page from elsewhere cannot use this name.
        self.asked_host = host.lower()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind without the reverse look-up of the base class, which may wait for a name server."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection on a thread of its own, if the limits permit it."""
        if self._has_place():
            with self._lock:
                self._connections[request] = time.monotonic()
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _has_place(self) -> bool:
        """True if one more connection is permitted, perhaps after an idle one is closed."""
        now = time.monotonic()
        with self._lock:
            if len(self._connections) < self.limits.connections:
                return True
            waiting = [
                (since, connection) for connection, since in self._connections.items() if since
            ]
            since, longest = min(waiting, key=lambda entry: entry[0], default=(now, None))
            if longest is None or now - since < self.limits.useless:
                return False
            del self._connections[longest]
            with contextlib.suppress(OSError):
                longest.shutdown(socket.SHUT_RDWR)
            return True

    def waits(self, connection: socket.socket, since: float | None) -> None:
        """Note the time since which the server waits for a viewer; ``None`` if it does not wait."""
        with self._lock:
            if connection in self._connections:
                self._connections[connection] = since

    @contextlib.contextmanager
    def sending(self, size: int) -> Iterator[bool]:
        """Reserve the memory of an answer; yield false if too much is reserved already."""
        with self._lock:
            fits = not self._sending or self._sending + size <= self.limits.answers
            self._sending += size if fits else 0
        try:
            yield fits
        finally:
            with self._lock:
                self._sending -= size if fits else 0

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """End the connections as well, since a viewer would otherwise keep using an old one."""
        super().server_close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a viewer that disconnects during an answer."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _TooLongError(Exception):
    """A request is longer than the limit."""


class _Requests(io.RawIOBase):
    """The bytes of a connection's requests; each request must arrive within the time limits."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection, self._limits = connection, limits
        self._left, self._until = limits.request_bytes, 0.0

    def begin(self) -> None:
        """Begin to wait for a request."""
        self._left, self._until = self._limits.request_bytes, 0.0

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, into: Any) -> int:
        """Read what has arrived; if nothing has, wait up to the limit."""
        if not self._left:
            raise _TooLongError
        left = self._until - time.monotonic() if self._until else self._limits.idle
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        count = self._connection.recv_into(memoryview(into)[: self._left])
        self._left -= count
        self._until = self._until or time.monotonic() + self._limits.request
        return count


class _Handler(BaseHTTPRequestHandler):
    """The handler of one connection."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "flashgc"
    sys_version = ""

    def setup(self) -> None:
        """Prepare a connection."""
        super().setup()
        self.rfile.close()
        self._requests = _Requests(self.connection, self.server.limits)
        self.rfile = io.BufferedReader(self._requests)

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self._requests.begin()
        self.server.waits(self.connection, time.monotonic())
        try:
            super().handle_one_request()
        except _TooLongError:
            self.command = self.requestline = ""
            self.request_version = self.protocol_version
            size = self.server.limits.request_bytes
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"a request has {size} bytes at most"
            )

    def parse_request(self) -> bool:
        """Read a request; refuse all but GET requests to this machine's own names."""
        if not super().parse_request():
            return False
        if self.command != "GET":
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered", {"Allow": "GET"})
        elif "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self._refuse(HTTPStatus.BAD_REQUEST, "a request has no body")
        elif not self._is_for_us():
            self._refuse(
                HTTPStatus.MISDIRECTED_REQUEST,
                "the Host header names another machine; hint: use the address, or localhost",
            )
        else:
            return True
        return False

    def _is_for_us(self) -> bool:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1:
            return False
        host = host_of(hosts[0])
        if host in ("localhost", self.server.asked_host):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        # A name server cannot resolve a literal address to another one. An SSH tunnel ends at the
        # loopback address.
        own = ipaddress.ip_address(self.connection.getsockname()[0].partition("%")[0])
        return address.is_loopback or address in (own, getattr(own, "ipv4_mapped", None))

    def do_GET(self) -> None:
        """Answer a GET request."""
        where = urlsplit(self.path)
        answer = self.server.answers.find(where.path)
        if answer is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here; hint: the page is at /")
            return
        self.server.waits(self.connection, None)
        try:
            body, kind = answer(parse_qs(where.query))
        except Exception as error:  # The viewers see every error of the drive.
            text = " ".join(str(error).split()) or type(error).__name__
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, *_json({"error": text}))
            return
        with self.server.sending(len(body)) as fits:
            if fits:
                self._send(HTTPStatus.OK, body, kind)
            else:
                text = "too many answers are on their way; hint: ask again"
                self._send(HTTPStatus.SERVICE_UNAVAILABLE, *_json({"error": text}))

    def _refuse(self, status: HTTPStatus, why: str, headers: dict[str, str] | None = None) -> None:
        self.close_connection = True
        text = f"error: {why}\n".encode()
        self._send(
            status, text, "text/plain; charset=utf-8", {"Connection": "close", **(headers or {})}
        )

    def _send(
        self, status: HTTPStatus, body: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind, "Content-Length": str(len(body)), **HEADERS, **(headers or {})
        }.items():  # fmt: skip
            self.send_header(name, value)
        self.connection.settimeout(self.server.limits.patience)
        self.end_headers()
        if self.command != "HEAD":
            for begin in range(0, len(body), PIECE):
                # A viewer that does not receive its answer counts as idle.
                self.server.waits(self.connection, time.monotonic())
                self.wfile.write(memoryview(body)[begin : begin + PIECE])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing, because the terminal belongs to the command."""


def host_of(header: str) -> str:
    """The host of a Host header, in lower case, without port and brackets; empty if invalid.

    >>> host_of("LocalHost:8080"), host_of("[::1]:80"), host_of("::1")
    ('localhost', '::1', '::1')
    >>> host_of("localhost:80, evil.com"), host_of("[::1]evil.com")
    ('', '')
    """
    text = header.strip().lower()
    if text.count(":") > 1 and not text.startswith("["):
        return text
    parts = re.fullmatch(r"(?:\[([0-9a-f:.%]+)\]|([^][:,\s]+?)\.?)(?::[0-9]*)?", text)
    return "" if parts is None else parts[1] or parts[2]
