"""Checks, after the two edits of the recipe of a count, that the count is in every output.

`tests/test_recipes.py` runs this script in its copy of the sources, whose module has the count.
The types of this checkout lack the count.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click.testing

import flashgc
import parts
from flashgc.command.entrance import cli
from flashgc.device.drive import Device
from flashgc.device.metrics import openmetrics

WORKLOAD = "zipf:theta=0.9"
HOST = {"host_cache": "page-cache:size=256KiB", "hints": "piggyback:wrong=0.3"}
DRIVE = {"blocks": 200, "pages_per_block": 16, "spare": "15%", "victim": "z-greedy", **HOST}


def run(warmup: str, writes: str, **more: Any) -> flashgc.Result:
    return flashgc.run(WORKLOAD, warmup=warmup, writes=writes, frontier="pool", **DRIVE, **more)


def repeated(result: flashgc.Result) -> int:
    return int(getattr(result.zombies, "repeated"))  # noqa: B009 - only the copy's type has it


def stop(_: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def main(folder: Path) -> None:
    """Asserts that all outputs have the count; ``folder`` is an empty scratch folder."""
    # The Python type and the docs: `make docs` writes them.
    assert parts.main([]) == 0
    import reference

    assert "| `repeated` | Hints on pages that were zombies already. |" in reference.api_page()

    # The result, its JSON, and the difference over the warm-up.
    result = run("20x", "20x")
    assert json.loads(result.to_json())["zombies"]["repeated"] == repeated(result) > 0
    assert repeated(run("0", "20x")) + repeated(result) == repeated(run("0", "40x"))

    # A checkpoint: saved when the run is stopped, and continued.
    file = folder / "run.ckpt"
    stopped = run("20x", "400x", progress=stop, checkpoint=file)
    assert stopped.interrupted
    assert repeated(stopped) < repeated(flashgc.run(resume=file)) == repeated(run("20x", "400x"))

    # The table of a run.
    options = [f"--{key.replace('_', '-')}={value}" for key, value in DRIVE.items()]
    lengths = ["--warmup=20x", "--writes=20x", "--frontier=pool"]
    shown = click.testing.CliRunner().invoke(
        cli, ["run", f"--workload={WORKLOAD}", *options, *lengths]
    )
    assert " repeated" in shown.stdout, shown.output

    # OpenMetrics of a stored drive; the count goes on when the drive is opened again.
    with Device.create(
        folder / "a.flash", blocks=64, pages_per_block=32, victim="z-greedy"
    ) as drive:
        drive.write(0, bytes(8192))
        drive.hint(0, 8192)
        drive.hint(0, 4096)
    with Device.open(folder / "a.flash") as drive:
        drive.hint(0, 4096)
        text = openmetrics(drive.stat())
    assert "# HELP flashgc_drive_repeated_hints Hints on pages that were zombies already." in text
    assert "flashgc_drive_repeated_hints_total " in text


if __name__ == "__main__":
    main(Path(sys.argv[1]))
