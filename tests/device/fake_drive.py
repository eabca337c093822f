"""A drive that only counts: it answers like a served drive, and needs no file."""

from __future__ import annotations

import random
import threading
import time
from array import array
from typing import Any

from flashgc.device.source import STATES, Blocks

ERASED, OPEN, CLOSED, BAD = range(len(STATES))
PAGE = 4096


class FakeDrive:
    """Pages of hot and cold data on blocks; greedy collects, copies go to blocks of class 1."""

    def __init__(self, blocks: int = 256, pages: int = 32, *, spare: float = 0.12) -> None:
        self.blocks_count, self.pages = blocks, pages
        self.logical = int(blocks * pages * (1 - spare))
        self.state, self.cls = bytearray(blocks), bytearray(blocks)
        self.valid, self.zombies = array("I", bytes(4 * blocks)), array("I", bytes(4 * blocks))
        self.erases = array("I", bytes(4 * blocks))
        self.place = [-1] * self.logical
        self.held: list[set[int]] = [set() for _ in range(blocks)]
        self.free = list(range(blocks))
        self.room = [0, 0]
        self.open = [self.opened(0), self.opened(1)]
        self.host = self.copied = self.read = self.commands = self.flushes = 0
        self.microseconds = 0.0
        self.slow = 1.0
        self.random = random.Random(1)
        self.lock = threading.Lock()
        self.began = time.monotonic()
        #: The reason why the drive no longer answers.
        self.gone: str | None = None
        self.read_only: str | None = None
        #: Uptime in seconds, if a test sets the clock.
        self.clock: float | None = None
        self.asked = 0

    def opened(self, cls: int) -> int:
        block = self.free.pop(0)
        self.state[block], self.cls[block], self.room[cls] = OPEN, cls, self.pages
        return block

    def write(self, count: int, *, hot: float = 0.9) -> None:
        """Writes ``count`` pages, a share ``hot`` of them to a tenth of the drive."""
        with self.lock:
            for _ in range(count):
                tenth = self.logical // 10
                if self.random.random() < hot:
                    page = self.random.randrange(tenth)
                else:
                    page = self.random.randrange(tenth, self.logical)
                self.program(page, 0)
                self.host += 1
                self.commands += 1
                self.microseconds += 30 * self.slow
                while len(self.free) < 8:
                    self.collect()

    def program(self, page: int, cls: int) -> None:
        if self.room[cls] == 0:
            self.state[self.open[cls]] = CLOSED
            self.open[cls] = self.opened(cls)
        block, old = self.open[cls], self.place[page]
        if old >= 0:
            self.held[old].discard(page)
            self.valid[old] -= 1
        self.place[page] = block
        self.held[block].add(page)
        self.valid[block] += 1
        self.room[cls] -= 1

    def collect(self) -> None:
        closed = [block for block, state in enumerate(self.state) if state == CLOSED]
        victim = min(closed, key=self.valid.__getitem__)
        for page in list(self.held[victim]):
            self.program(page, 1)
            self.copied += 1
        self.state[victim] = ERASED
        self.erases[victim] += 1
        self.free.append(victim)

    def blocks(self) -> Blocks:
        with self.lock:
            self.answer()
            return Blocks(
                bytes(self.state), bytes(self.cls), self.valid[:], self.zombies[:], self.erases[:]
            )

    def answer(self) -> None:
        self.asked += 1
        if self.gone is not None:
            raise OSError(self.gone)

    def stat(self) -> dict[str, Any]:
        with self.lock:
            self.answer()
            mean = self.microseconds / max(self.commands, 1)
            spread = {"p50": 0.9, "p90": 1.2, "p99": 2.5, "p999": 8.0, "max": 20.0}
            latency = {key: mean * of for key, of in spread.items()}
            none = {"count": 0, "mean": 0.0, **dict.fromkeys(spread, 0.0)}
            programmed, erases = self.host + self.copied, sum(self.erases)
            uptime = time.monotonic() - self.began if self.clock is None else self.clock
            units = -(-self.host * PAGE // 512_000)
            return {
                "file": "/tmp/fake.flash",
                "uuid": "00000000-0000-4000-8000-000000000000",
                "serving": ["fuse /mnt"],
                "uptime_seconds": uptime,
                "capacity_bytes": self.logical * PAGE,
                "page_bytes": PAGE,
                "blocks": self.blocks_count,
                "pages_per_block": self.pages,
                "victim": "greedy",
                "placement": "none",
                "durability": "process",
                "write_amplification": programmed / self.host if self.host else None,
                "read_only": self.read_only,
                "gives_room_back": True,
                "free_blocks": len(self.free),
                "mapped_pages": sum(map(len, self.held)),
                "zombie_pages": None,
                "decisions": "0000000000000000",
                "recovery": None,
                "smart": {
                    "critical_warning": 0, "available_spare": 98, "available_spare_threshold": 10,
                    "percentage_used": 3, "data_units_read": 0, "data_units_written": units,
                    "host_read_commands": self.read, "host_write_commands": self.commands,
                    "controller_busy_time": 2, "power_cycles": 3, "power_on_hours": 4,
                    "unsafe_shutdowns": 1, "media_errors": 0,
                },
                "ocp": {
                    "physical_media_units_written": programmed * PAGE,
                    "physical_media_units_read": self.copied * PAGE,
                    "bad_user_nand_blocks": self.state.count(BAD),
                    "user_data_erase_count_max": max(self.erases),
                    "user_data_erase_count_min": min(self.erases),
                    "nand_avg_erase_count": erases / self.blocks_count,
                    "percent_free_blocks": 100 * len(self.free) // self.blocks_count,
                    "incomplete_shutdowns": 1, "unaligned_io": 5,
                },
                "counters": {
                    "host_bytes_written": self.host * PAGE, "host_bytes_read": self.read * PAGE,
                    "busy_seconds": 1.5, "open_seconds": 3600.25, "copied_zombies": 0, "hints": 0,
                    "trim_commands": 0, "trimmed_bytes": 0,
                    "host_pages_written": self.host, "host_pages_read": self.read,
                    "trimmed_pages": 0, "copied_pages": self.copied, "erases": erases,
                    "collections": erases, "hinted_pages": 0, "flushes": self.flushes,
                    "syncs": 7, "checkpoints": 1,
                },
                "latency_us": {
                    "read": dict(none),
                    "write": {"count": self.commands, "mean": mean, **latency},
                    "flush": dict(none),
                    "trim": dict(none),
                },
            }  # fmt: skip
