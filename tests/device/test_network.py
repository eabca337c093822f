"""A real server under clients that do nothing and clients that take nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import environment

SCRIPT = Path(__file__).parents[2] / "scripts/bench/network.py"
#: Of docs/device.md: the memory of a server's clients in MiB, and the time of a new one in ms.
MEMORY, TIME = 384, 100


def test_64_idle_and_60_slow_clients_cost_what_the_documentation_says() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--seconds", "1.5"],
        env=environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["new_clients"] > 5
    assert found["peak_mib"] - found["before_mib"] < MEMORY, found
    # The other tests share the two cores: the worst of a quiet machine is in the documentation.
    assert found["median_ms"] < TIME, found
    assert found["worst_ms"] < 10 * TIME, found
