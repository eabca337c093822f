"""Hints to a drive in the campaign: followers as processes of their own, and one that lies."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashgc import _isolated
from flashgc._core import DriveError
from flashgc.device import processes
from flashgc.device.campaign.report import BrokenPromiseError
from flashgc.device.control import PAGE, Client
from flashgc.device.scratch import note

#: Runs the command, as people do.
COMMAND = tuple(_isolated.command("flashgc.command:main"))

#: Seconds between two words of a follower, and those that it gets to begin or to end.
EVERY, PATIENCE = 0.25, 60.0


class Follower:
    """A process of ``flashgc hints``, which is started again and again.

    It must never end by itself while its host is there, and never say what nobody understands.
    """

    def __init__(self, folder: Path, *arguments: object) -> None:
        """Its arguments begin with what it follows. It is not started."""
        self.name = str(arguments[0])
        words = (*map(str, arguments), "--json", "--every", str(EVERY))
        self._folder, self._command = folder, (*COMMAND, "hints", *words)
        self._out, self._errors = folder / f"{self.name}.out", folder / f"{self.name}.errors"
        self._process: subprocess.Popen[bytes] | None = None
        self._before = 0

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts it, and waits until it has begun."""
        self._before = self.hinted
        with open(self._out, "wb") as out, open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                cwd="/",
                # Ctrl-C at a terminal is for the campaign, which then ends this one.
                start_new_session=True,
            )
        note(self._folder, self._process.pid)
        until = time.monotonic() + PATIENCE
        while self._last() is None:
            self.check()
            if time.monotonic() > until:
                raise BrokenPromiseError(f"{self.name}: no word after {PATIENCE:.0f} s")
            time.sleep(0.02)

    @property
    def hinted(self) -> int:
        """Pages that it has hinted, and those that were started before it."""
        last = self._last() or {}
        # Each follower has a name of its own for what it sent.
        sent = last.get("sent", {}).get("pages") or last.get("drive", {}).get("pages_hinted")
        return self._before + (sent or 0)

    def _last(self) -> dict[str, Any] | None:
        """Return its last report; a line that is not complete does not count."""
        with contextlib.suppress(OSError):
            lines = self._out.read_text().split("\n")[:-1]
            if lines:
                answer: dict[str, Any] = json.loads(lines[-1])
                return answer
        return None

    def check(self) -> None:
        """Refuses one that has ended, or has failed in a way that it does not know."""
        assert self._process is not None
        code = self._process.poll()
        if code is not None:
            raise BrokenPromiseError(f"{self.name} ended with code {code}: {self._said()}")
        self._judge()

    def end(self) -> None:
        """Asks it to end."""
        assert self._process is not None
        self._process.terminate()
        self.ends()

    def ends(self) -> None:
        """Waits for its end, which must be a good one."""
        assert self._process is not None
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise BrokenPromiseError(
                f"{self.name} has not ended after {PATIENCE:.0f} s: {self._said()}"
            ) from None
        if code:
            raise BrokenPromiseError(f"{self.name} ended with code {code}: {self._said()}")
        self._judge()

    def kill(self) -> None:
        """Kills it, if it runs."""
        if self._process is not None:
            processes.end([self.pid])
            self._process.wait()

    def _judge(self) -> None:
        if "Traceback" in self._errors.read_text(errors="replace"):
            raise BrokenPromiseError(f"{self.name} has failed: {self._said()}")

    def _said(self) -> str:
        return " ".join(self._errors.read_text(errors="replace").split())[-400:]


class Lies:
    """A follower that knows nothing: it hints any pages at any moment."""

    def __init__(self, file: Path, draw: random.Random) -> None:
        """Lies to the drive in ``file``."""
        self._file, self._draw = file, random.Random(draw.random())
        self._ended = threading.Event()
        #: Pages hinted and cancelled, and words that the drive refused.
        self.pages = self.refused = 0

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Lies for as long as it is entered, also to a drive that goes and comes."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            with contextlib.suppress(DriveError), Client(self._file) as client:
                pages = client.stat()["capacity_bytes"] // PAGE
                while not self._ended.wait(0.01):
                    self._lie(client, pages)

    def _lie(self, client: Client, pages: int) -> None:
        draw, now = self._draw, client.moment()
        # A page, some, or about all.
        longest = draw.choice((1, 64, pages))
        ranges = []
        for _ in range(draw.randint(1, 64)):
            first = draw.randrange(pages)
            count = draw.randint(1, min(longest, pages - first))
            ranges.append((first * PAGE, count * PAGE))
            self.pages += count
        if draw.random() < 0.5:
            client.cancel(ranges)
            return
        moment = draw.choice((None, 0, draw.randint(0, now), now, now + draw.randint(1, 10**6)))
        try:
            client.hint(ranges, moment)
        except DriveError:
            self.refused += 1
            raise
