"""The past of a drive: its progress, the bar on a terminal, and Ctrl-C while it is written."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment

from flashgc.device import making
from flashgc.device.past import Past
from flashgc.terminal.progress import PATIENCE

#: A drive of 10,240 pages.
SMALL = {"drive": {"capacity": "40MiB", "pages_per_block": 32}}

#: The words above the bar.
WORDS = "giving the drive a past"


@pytest.mark.parametrize("times", [3.0, None], ids=["a number of times", "until it has settled"])
def test_a_past_says_how_far_it_is(
    times: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[float | None, str, int, str]] = []
    monkeypatch.setattr("flashgc.device.past.Bar.show", lambda _, *words: shown.append(words))
    file = tmp_path / "x.flash"
    making.plan(SMALL, {}).create(file)
    done = Past(fill=0.5, times=times).give(file)
    counts = [count for _, _, count, _ in shown]
    assert len(counts) > 10
    assert counts == sorted(set(counts))
    assert counts[-1] == done["pages"] + done["overwritten"]
    assert {(what, unit) for _, what, _, unit in shown} == {(WORDS, "writes")}
    shares = [share for share, *_ in shown]
    assert all(share is not None and 0 <= share <= 1 for share in shares)
    assert shares[-1] == 1
    if times is not None:  # The total is known from the beginning.
        due = int(done["pages"] * (1 + times))
        assert shares == [count / due for count in counts]


def test_what_raises_while_a_past_is_shown_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def stop(_: object, __: float | None, ___: str, count: int, ____: str) -> None:
        counts.append(count)
        if len(counts) == 5:
            raise RuntimeError("enough")

    monkeypatch.setattr("flashgc.device.past.Bar.show", stop)
    file = tmp_path / "x.flash"
    making.plan(SMALL, {}).create(file)
    with pytest.raises(RuntimeError, match="enough"):
        Past(times=20.0).give(file)
    assert len(counts) == 5


def test_a_terminal_shows_a_long_past_and_ctrl_c_leaves_no_file(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    words = ("--capacity", "64MiB", "--pages-per-block", "64", "--aged", "1000x")
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, "device", "create", str(tmp_path / "x.flash"), *words],
        env={**environment(), "TERM": "xterm", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL, stdout=inside, stderr=inside,
    )  # fmt: skip
    os.close(inside)
    try:
        seen = read_until(terminal, WORDS)
        assert time.monotonic() - began > PATIENCE
        assert [one.suffix for one in tmp_path.iterdir()] == [".part"]
        process.send_signal(signal.SIGINT)
        seen += read_until(terminal, None)
        assert process.wait(30) == 130, seen
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert "writes/s" in seen
    assert "Traceback" not in seen
    assert seen.rstrip().endswith("error: interrupted")
    assert [*tmp_path.iterdir()] == []


def read_until(terminal: int, words: str | None) -> str:
    """The text on a terminal up to ``words``, or up to the end of the last program there."""
    text, until = "", time.monotonic() + 60
    while words is None or words not in text:
        assert time.monotonic() < until, text
        try:
            text += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # The last program has closed the terminal.
            assert words is None, text
            return text
    return text
