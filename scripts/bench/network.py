"""What clients that do nothing, or take nothing, cost a server and the other clients.

``python scripts/bench/network.py`` serves a drive with a process of its own, connects idle clients
and clients that ask for much and read nothing, and prints the server's memory and how long a new
client takes from its connection to its data. docs/device.md has the bounds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from flashgc import Device

MIB = 1 << 20
#: Bytes per request of slow clients: the most that a request may have.
LARGEST = 32 * MIB


class Client:
    """An NBD client that uses simple replies."""

    def __init__(self, port: int) -> None:
        """Connects and negotiates."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._take(18)
        # No zeroes; the option EXPORT_NAME, without a name.
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self._take(10)

    def ask(self, size: int, offset: int = 0) -> None:
        """Sends a read request of ``size`` bytes at ``offset``."""
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, 1, offset, size))

    def read(self, size: int, offset: int = 0) -> bytes:
        """Sends a read request, and returns its data."""
        self.ask(size, offset)
        assert self._take(16) == struct.pack(">IIQ", 0x67446698, 0, 1)
        return self._take(size)

    def _take(self, size: int) -> bytes:
        taken = bytearray()
        while len(taken) < size:
            part = self.socket.recv(size - len(taken))
            if not part:
                raise ConnectionError("the server closed the connection")
            taken += part
        return bytes(taken)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """Serves a drive with 64 MiB of data, and yields the server's process and port."""
    file = folder / "drive.flash"
    with Device.create(file, capacity="128MiB", durability="none") as drive:
        for offset in range(0, 2 * LARGEST, MIB):
            drive.write(offset, b"\1" * MIB)
    server = subprocess.Popen(
        [
            sys.executable, "-c", "from flashgc.command import main; main()",
            "device", "serve", str(file), "--nbd", "127.0.0.1:0",
        ],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        yield server.pid, int(server.stdout.readline().rpartition(":")[2])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def resident(pid: int) -> int:
    """The resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measured(idle: int, slow: int, seconds: float) -> dict[str, float]:
    """The server's memory in MiB with idle and slow clients, and times of new clients in ms."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (pid, port):
        Client(port).read(4096)
        before = resident(pid)
        silent = [Client(port) for _ in range(idle)]
        deaf = [Client(port) for _ in range(slow)]
        for client in deaf:
            for _ in range(8):
                client.ask(LARGEST)
        peak, times = 0, []
        time.sleep(0.5)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.perf_counter()
            newcomer = Client(port)
            assert newcomer.read(65536, MIB) == b"\1" * 65536
            times.append((time.perf_counter() - began) * 1e3)
            newcomer.socket.close()
            peak = max(peak, resident(pid))
            time.sleep(0.01)
        for client in (*silent, *deaf):
            client.socket.close()
    times.sort()
    return {
        "before_mib": round(before / MIB, 1),
        "peak_mib": round(peak / MIB, 1),
        "new_clients": len(times),
        "median_ms": round(times[len(times) // 2], 2),
        "worst_ms": round(times[-1], 2),
    }


def main() -> None:
    """Measures, and prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--idle", type=int, default=64)
    parser.add_argument("--slow", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    print(json.dumps(measured(given.idle, given.slow, given.seconds)))


if __name__ == "__main__":
    main()
