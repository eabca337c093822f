"""A real server with idle clients, and with clients that read no answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import environment

SCRIPT = Path(__file__).parents[2] / "scripts/bench/network.py"
#: Bounds of docs/device.md: a server's memory for clients in MiB, a new client's wait in ms.
MEMORY, TIME = 384, 100


def test_64_idle_and_60_slow_clients_cost_what_the_documentation_says() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--seconds", "1.5"],
        env=environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["new_clients"] > 5
    assert found["peak_mib"] - found["before_mib"] < MEMORY, found
    # Other tests use the cores too, so the worst time may be ten times that of a quiet machine.
    assert found["median_ms"] < TIME, found
    assert found["worst_ms"] < 10 * TIME, found
