"""A signal ends a server, whatever the server is doing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment

from flashgc import Device, FlashgcError
from flashgc.device.control import Client

#: Waits 20 times: the signal comes before the wait, or at one of the first calls inside it.
EVERYWHERE = """
import signal, sys
from flashgc.device import serving
from flashgc.device.serving import Signals

serving.LOOK = 0.001

def raised_at(place):
    events = 0
    def at_each_call(*_):
        nonlocal events
        events += 1
        if events == place:
            signal.raise_signal(signal.SIGTERM)
    with Signals() as signals:
        if place == 0:
            signal.raise_signal(signal.SIGTERM)
        sys.setprofile(at_each_call)
        came = signals.wait(lambda: events > 40)
        sys.setprofile(None)
    return came, events

assert all(raised_at(place)[0] for place in range(20))
came, events = raised_at(-1)
assert not came and events > 40, (came, events)
"""

#: Waits for a command while another thread gets the signal, which does not interrupt the wait.
ELSEWHERE = """
import os, signal, subprocess, threading, time
from flashgc.device.execution.running import until_ended

child = subprocess.Popen(["sleep", "60"])
signal.signal(signal.SIGTERM, lambda *_: child.kill())

def kill():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

threading.Thread(target=kill, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
until_ended(child.pid)
assert child.wait() == -signal.SIGKILL
"""


def test_a_command_gets_the_signal_that_another_thread_had() -> None:
    command = [sys.executable, "-c", ELSEWHERE]
    subprocess.run(command, env=environment(), check=True, timeout=30)


def test_a_signal_is_never_lost_and_meets_no_lock() -> None:
    """A signal handler that took a lock of the main thread would deadlock."""
    command = [sys.executable, "-c", EVERYWHERE]
    subprocess.run(command, check=True, timeout=60, env=environment())


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's command is its own server")
def test_a_signal_while_a_drive_is_opened_ends_without_a_word(tmp_path: Path) -> None:
    """The signal comes while the command waits for the first line of its server."""
    drive = tmp_path / "d"
    Device.create(drive, capacity="64MiB").close()
    ended = []
    for number in [signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGKILL]:
        server = subprocess.Popen(
            [*COMMAND, "device", "serve", str(drive), "--quiet"],
            env=environment(), text=True, stderr=subprocess.PIPE,
        )  # fmt: skip
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(FlashgcError), Client(drive):
                break
        server.send_signal(number)
        said = server.communicate(timeout=60)[1]
        ended.append((server.returncode, said))
    assert ended == [(0, ""), (0, ""), (0, ""), (-signal.SIGKILL, "")]
