"""NVMe/TCP: the placement identifiers of a host's writes reach the drive and its recording."""

from __future__ import annotations

import json
import random
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

import flashgc
from flashgc import Device, _core
from flashgc.device.options_of import options_of

PAGE = 4096


class Queue:
    """A queue of a host, without digests and without flow control."""

    def __init__(self, address: str, name: str, number: int, controller: int) -> None:
        host, port = address.split(":")
        self._stream = socket.create_connection((host, int(port)), timeout=20)
        self._stream.sendall(bytes([0, 0, 128, 0, 128]) + bytes(123))
        self._stream.recv(128, socket.MSG_WAITALL)
        data = bytes([7]) * 16 + struct.pack("<H", controller) + bytes(238)
        data += name.encode().ljust(256, b"\0") + b"nqn.2014-08.org.test:host".ljust(512, b"\0")
        result, _ = self.call(0x7F, 1, (number << 16, 31 | 4 << 16), data)
        self.controller = result & 0xFFFF

    def call(
        self, opcode: int, nsid: int, dwords: tuple[int, ...], data: bytes = b"", given: int = 0
    ) -> tuple[int, bytes]:
        """Execute a command that succeeds. Return its result and its data."""
        own = [*dwords, *[0] * (6 - len(dwords))]
        kind = 0x01 if data else 0x5A if given else 0
        where = struct.pack("<QI3xB", 0, len(data) or given, kind)
        entry = struct.pack("<BBHI16x16s6I", opcode, 0x40, 1, nsid, where, *own)
        length = 72 + len(data)
        self._stream.sendall(
            struct.pack("<BBBBI", 4, 0, 72, 72 if data else 0, length) + entry + data
        )
        head = self._stream.recv(24, socket.MSG_WAITALL)
        if head[0] == 7:
            (length,) = struct.unpack_from("<I", head, 4)
            return 0, self._stream.recv(length - 24, socket.MSG_WAITALL)
        result, status = struct.unpack_from("<Q6xH", head, 8)
        assert (head[0], status) == (5, 0)
        return result, b""

    def close(self) -> None:
        self._stream.close()


@pytest.mark.parametrize("placement", ["none", "fdp:handles=3,persistent=1"])
def test_identifiers_of_a_host_are_the_streams_of_the_counting_drive(
    tmp_path: Path, placement: str
) -> None:
    takes = placement != "none"
    file, trace = tmp_path / "drive", tmp_path / "run.flashgc"
    made: dict[str, Any] = {"blocks": 60, "pages_per_block": 16, "spare": 0.25, "victim": "greedy"}
    with Device.create(file, placement=placement, **made) as drive:
        drive.record(trace)
        address, name = drive.serve_nvme_tcp("127.0.0.1:0")
        admin = Queue(address, name, 0, 0xFFFF)
        admin.call(0x7F, 0, (0, 0x14, 6 << 16 | 4 << 20 | 1))
        queue = Queue(address, name, 1, admin.controller)
        _, controller = admin.call(0x06, 0, (1,), given=4096)
        attributes, commands = controller[96:100], controller[256:258]
        assert int.from_bytes(attributes, "little") >> 19 & 1 == takes
        assert int.from_bytes(commands, "little") >> 5 & 1 == takes
        draw, pages = random.Random(1), int(60 * 16 * 0.75)
        for _ in range(4000):
            page, handle = draw.randrange(pages), draw.randrange(4)
            directive = 2 << 20 if takes else 0
            queue.call(0x01, 1, (page, 0, directive, handle << 16), bytes([handle]) * PAGE)
        if takes:
            _, log = admin.call(0x02, 0, (0x22 | 15 << 16, 1 << 16), given=64)
            counts = [int.from_bytes(log[at : at + 16], "little") for at in (0, 16, 32)]
        for one in (queue, admin):
            one.close()
        drive.record(None)
        stat = drive.stat()
    result = flashgc.run(str(trace), **options_of(json.loads(_core.device_configuration(file))))
    assert result.copied_pages == stat["counters"]["copied_pages"] > 0
    if not takes:
        assert stat["fdp"] is None
        return
    keys = ("host_bytes_with_metadata_written", "media_bytes_with_metadata_written")
    assert counts == [*(stat["fdp"][key] for key in keys), stat["fdp"]["media_bytes_erased"]]
    # Handle 3 does not exist.
    wrong = stat["fdp"]["events"]["invalid_placement_identifier"]
    assert 900 < wrong < 1100
    assert result.fdp is not None
    assert result.fdp.events.invalid_placement_identifier == wrong
    each = [one["copied_pages"] for one in stat["fdp"]["handles"]]
    assert [one.copied_pages for one in result.fdp.handles] == each
