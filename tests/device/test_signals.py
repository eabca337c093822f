"""A signal ends a server wherever it comes."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import environment

#: A signal at each call of the wait, and one before it.
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


def test_a_signal_is_never_lost_and_meets_no_lock() -> None:
    """A handler that took the lock of what it wakes would wait for itself."""
    command = [sys.executable, "-c", EVERYWHERE]
    subprocess.run(command, check=True, timeout=60, env=environment())
