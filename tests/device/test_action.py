"""The action of ``device bench`` for continuous integration, run as a hosted runner runs it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.conftest import ROOT, environment
from tests.device.conftest import needs_mounts

pytestmark = [needs_mounts, pytest.mark.xdist_group(__name__)]

ACTION = ROOT / ".github" / "actions" / "flash-bench" / "action.yml"

BENCH = """
[bench]
command = "/bin/sh -c 'dd if=/dev/zero of=a bs=64k count=40 conv=fsync; echo committed 40'"
unit = "transactions"
count = 'committed ([0-9]+)'
repeats = 2

[drive]
capacity = "32MiB"
pages_per_block = 32
"""


def script() -> str:
    """The last step of the action: the bench itself."""
    text = ACTION.read_text(encoding="utf-8")
    return textwrap.dedent(text.rpartition("      run: |\n")[2])


def run(folder: Path, wanted: str = "", baseline: str = "") -> subprocess.CompletedProcess[str]:
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, body in (("sudo", 'exec "$@"'), ("modprobe", "exit 1")):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    file = folder / "bench.toml"
    file.write_text(BENCH)
    given = {
        "FILE": str(file), "WANTED": wanted, "BASELINE": baseline, "TOLERANCE": "50%",
        "OUT": str(folder / "out"), "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"), "RUNNER_TEMP": str(folder),
    }  # fmt: skip
    whole = environment()
    whole["PATH"] = f"{tools}:{Path(sys.executable).parent}:{whole['PATH']}"
    # A runner's bash stops at the first error.
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()]
    return subprocess.run(words, env={**whole, **given}, capture_output=True, text=True, cwd=folder)


def test_the_action_runs_a_bench_and_compares_the_next_one_with_it(tmp_path: Path) -> None:
    first = run(tmp_path, wanted="flash_bytes_per_unit<1MiB\n")
    assert first.returncode == 0, first.stderr
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        "bench.json", "cells.svg", "page.html",
    ]  # fmt: skip
    assert f"document={tmp_path}/out/bench.json" in (tmp_path / "output").read_text()
    document = str(tmp_path / "out" / "bench.json")
    again = run(tmp_path, baseline=document)
    assert again.returncode == 0, again.stderr
    # The first bench's results were not reused: all runs were repeated.
    assert "run 1 of 2" in again.stderr + again.stdout
    assert (tmp_path / "summary").read_text().count("# ") >= 2
    missed = run(tmp_path, wanted="flash_bytes_per_unit<1KiB")
    assert missed.returncode == 3
    assert list(Path("/var/lib").glob("flash-bench.*")) == []
