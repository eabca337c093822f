"""Servers are killed at random moments while a writer, which survives them, stamps every page.

After each kill the writer connects again, by NBD or by NVMe/TCP, and flushes. Then every page must
hold the last version whose write was answered, or a later one that was sent. A page must not be
torn, nor older, nor have the data of another page.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from flashgc import Device
from flashgc.device import privileges, trust
from flashgc.device import up as upping
from flashgc.device.campaign import nbd, nvme
from flashgc.device.campaign.report import BrokenPromiseError, Level
from flashgc.device.pace import Pace
from flashgc.device.scratch import note

PAGE = 4096

#: A page's stamp: a mark, the page's number, its generation. Copies of it fill the page.
_STAMP = struct.Struct("<QII")
_MARK = 0x7046_4743_7374_616D

#: The longest time from the first write to the kill, in seconds.
LONGEST = 0.25
#: One of ``POWER`` servers runs with durability against loss of power.
POWER = 4


def stamped(page: int, generation: int) -> bytes:
    """A page with its stamp in every 16 bytes, so that a part of another version shows."""
    return _STAMP.pack(_MARK, page, generation) * (PAGE // _STAMP.size)


@dataclass
class Known:
    """The versions that a page may hold: a generation, and true if it is a discard (zeros)."""

    #: The last version that was answered; ``sent`` has those sent since.
    answered: tuple[int, bool] = (0, True)
    sent: list[tuple[int, bool]] = field(default_factory=list)

    def judge(self, page: int, data: bytes) -> tuple[int, bool]:
        """Return the version in ``data``; raise an error if the page may not hold this version."""
        allowed = [self.answered, *self.sent]
        if not any(data):
            zeros = [version for version in allowed if version[1]]
            if zeros:
                return zeros[-1]
            raise BrokenPromiseError(
                f"page {page} is empty, its generation {self.answered[0]} is lost"
            )
        mark, owner, generation = _STAMP.unpack_from(data)
        if mark == _MARK and owner != page:
            raise BrokenPromiseError(f"page {page} holds generation {generation} of page {owner}")
        if mark != _MARK or data != stamped(page, generation):
            raise BrokenPromiseError(f"page {page} is torn")
        if (generation, False) not in allowed:
            raise BrokenPromiseError(
                f"page {page} holds generation {generation}, expected {self.answered[0]} or one of "
                f"{[number for number, _ in self.sent]}"
            )
        return generation, False


class Writer:
    """Writes, discards and flushes until the server is killed."""

    def __init__(
        self, client: nbd.Client | nvme.Client, pages: list[Known], draw: random.Random
    ) -> None:
        self._client, self._pages, self._draw = client, pages, draw
        self.commands = self.flushes = 0

    def look(self) -> None:
        """Flush and read every page; the versions found count as answered."""
        self._client.send(nbd.FLUSH, 0, 0)
        self._client.answer()
        step = 64
        for first in range(0, len(self._pages), step):
            count = min(step, len(self._pages) - first)
            data = self._client.read(first * PAGE, count * PAGE)
            for page in range(first, first + count):
                held = data[(page - first) * PAGE :][:PAGE]
                self._pages[page] = Known(self._pages[page].judge(page, held))

    def write(self, generation: int) -> int:
        """Send one batch of commands at once, often with a flush behind it.

        Returns the next generation.
        """
        draw = self._draw
        under_way: dict[int, tuple[range, tuple[int, bool]]] = {}
        for _ in range(draw.randrange(1, 24)):
            generation += 1
            first = draw.randrange(len(self._pages) // draw.choice((1, 8)))
            count = draw.randrange(1, self._client.most + 1)
            pages = range(first, min(first + count, len(self._pages)))
            is_trim, fua = draw.random() < 0.1, draw.random() < 0.05
            version = (generation, is_trim)
            for page in pages:
                self._pages[page].sent.append(version)
            data = b"" if is_trim else b"".join(stamped(page, generation) for page in pages)
            kind = nbd.TRIM if is_trim else nbd.WRITE
            size = len(pages) * PAGE
            cookie = self._client.send(kind, first * PAGE, size, data, nbd.FUA if fua else 0)
            under_way[cookie] = (pages, version)
        for _ in range(len(under_way)):
            cookie, _ = self._client.answer()
            self.commands += 1
            self._keep(*under_way[cookie])
        if draw.random() < 0.6:
            self._client.send(nbd.FLUSH, 0, 0)
            self._client.answer()
            self.flushes += 1
        return generation

    def _keep(self, pages: range, version: tuple[int, bool]) -> None:
        for page in pages:
            known = self._pages[page]
            if known.answered[0] < version[0]:
                known.answered = version
                known.sent = [sent for sent in known.sent if sent[0] > version[0]]


def serve(folder: Path, file: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a server and wait until it serves; :class:`BrokenPromiseError` if it does not."""
    drive = trust.open_drive(file)
    try:
        runner = privileges.runner(drive.user, drive.group)
        with open(folder / "server.log", "wb") as log:
            server, ready = upping.start(
                drive, options, runner, log.fileno(), lambda pid: note(folder, pid)
            )
    finally:
        drive.close()
    if not ready:
        server.wait()
        lines = (folder / "server.log").read_text(errors="replace").strip().splitlines()
        raise BrokenPromiseError(f"the drive does not open: {lines[-1] if lines else 'no word'}")
    return server


def run(level: Level, pace: Pace, folder: Path, seed: int, kills: int) -> None:
    """Kill ``kills`` servers; raise :class:`BrokenPromiseError` if a page has wrong contents."""
    file, address = folder / "kill.flash", folder / "nbd.sock"
    # The drive is small, so that collections and checkpoints are under way all the time.
    Device.create(
        file, blocks=72, pages_per_block=64, spare="15%", victim="greedy", journal="128KiB"
    ).close()
    with Device.open(file) as drive:
        port, name = drive.serve_nvme_tcp("127.0.0.1:0")
    draw = random.Random(seed)
    pages: list[Known] = []
    generation = 0
    pace.begin("killing servers", "kills", kills)
    for kill in range(kills + 1):
        durability = "power" if kill % POWER == POWER - 1 else "process"
        address.unlink(missing_ok=True)
        ways = ("--nbd", f"unix:{address}", "--nvme-tcp", port)
        server = serve(folder, file, *ways, "--durability", durability)
        # Each of the two protocols is tested with servers of each durability.
        by_nbd = kill // POWER % 2 == 0
        try:
            client = nbd.Client(address) if by_nbd else nvme.Client(port, name)
            pages = pages or [Known() for _ in range(client.size // PAGE)]
            writer = Writer(client, pages, draw)
            writer.look()
            level.add("pages_compared", len(pages))
            if kill == kills or pace.is_over:
                break
            generation = _until_killed(server, writer, generation, draw)
            level.add("kills")
            level.add(f"under_{durability}")
            level.add("below_nbd" if by_nbd else "below_nvme_tcp")
            level.add("commands_answered", writer.commands)
            level.add("flushes_answered", writer.flushes)
            client.close()
        except nbd.RefusedError as error:
            raise BrokenPromiseError(f"kill {kill}: the drive refuses: {error}") from None
        except BrokenPromiseError as error:
            raise BrokenPromiseError(f"after kill {kill}: {error}") from None
        finally:
            server.kill()
            server.wait()
        pace.step()


def _until_killed(
    server: subprocess.Popen[bytes], writer: Writer, generation: int, draw: random.Random
) -> int:
    """Writes until the server is killed, at a random moment."""
    timer = threading.Timer(draw.random() * LONGEST, os.kill, (server.pid, signal.SIGKILL))
    timer.start()
    until = time.monotonic() + 60
    with contextlib.suppress(OSError):
        while time.monotonic() < until:
            generation = writer.write(generation)
    timer.cancel()
    return generation + 100  # some commands of the last batch may have been sent
