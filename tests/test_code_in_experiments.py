"""The command notes once that an experiment file names code."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, environment
from flashgc.policy_files import announce

POLICY = "def first(blocks):\n    return min(blocks.draw(5), key=blocks.count)\n"
EXPERIMENT = """[drive]
blocks = 64
pages-per-block = 16
spare = "20%"

[gc]
victim = {victim}

[run]
writes = "1x"
"""


def run(folder: Path, state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**environment(), "XDG_STATE_HOME": str(state)},
        text=True,
        capture_output=True,
        timeout=60,
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "policy.py").write_text(POLICY)
    keys = EXPERIMENT.format(victim='"python:policy.py:first"').replace("-per-", "_per_")
    (tmp_path / "one.toml").write_text(keys)
    return tmp_path


def notes(stderr: str) -> list[str]:
    """The lines of standard error without warnings about a short run."""
    return [line for line in stderr.splitlines() if not line.startswith("warning: ")]


def test_it_is_said_once_for_each_content(written: Path) -> None:
    state = written / "state"
    note = f"note: one.toml runs code: {written}/policy.py (first); it runs with your rights"
    first = run(written, state, "run", "one.toml", "--quiet")
    assert first.returncode == 0, first.stderr
    assert notes(first.stderr) == [note]
    assert (state / "flashgc" / "code").stat().st_mode & 0o777 == 0o700
    assert notes(run(written, state, "run", "one.toml", "--quiet").stderr) == []
    (written / "policy.py").write_text(f"{POLICY}# changed\n")
    assert notes(run(written, state, "run", "one.toml", "--quiet").stderr) == [note]


def test_a_policy_that_is_typed_needs_no_word(written: Path) -> None:
    asked = ("run", "one.toml", "--victim", "python:policy.py:first", "--quiet")
    assert notes(run(written, written / "state", *asked).stderr) == []


def test_a_grid_says_it_too(written: Path) -> None:
    (written / "grid.toml").write_text(
        (written / "one.toml")
        .read_text()
        .replace('"python:policy.py:first"', '["python:policy.py:first", "greedy"]')
    )
    swept = run(written, written / "state", "sweep", "grid.toml", "--quiet")
    assert swept.returncode == 0, swept.stderr
    note, *doubts = swept.stderr.splitlines()
    assert note.startswith("note: grid.toml runs code: ")
    assert all(line.startswith("warning: ") for line in doubts)


def test_what_others_can_write_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "p.py"
    policy.write_text(POLICY)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    texts = [(f"python:{policy}:first", "a.toml:1:1")]
    announce(texts)
    assert "note: a.toml" in capsys.readouterr().err
    announce(texts)
    assert capsys.readouterr().err == ""
    os.chmod(tmp_path / "state" / "flashgc" / "code", 0o777)
    announce(texts)
    assert "note: a.toml" in capsys.readouterr().err


def test_a_name_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "p\x1b[2J\n.py"
    policy.write_text(POLICY)
    announce([(f"python:{policy}:first", "a.toml:1:1")])
    [line] = capsys.readouterr().err.splitlines()
    assert "\x1b" not in line


def test_a_checkpoint_has_no_code(written: Path) -> None:
    made = run(written, written / "s", "run", "one.toml", "--quiet", "--checkpoint", "c.ckpt")
    assert made.returncode == 2
    assert "a victim policy of your own cannot be saved" in made.stderr
    assert not (written / "c.ckpt").exists()


def test_the_file_of_a_policy_counts_from_the_experiment(written: Path) -> None:
    inside = written / "inside"
    inside.mkdir()
    for name in ("policy.py", "one.toml"):
        (written / name).rename(inside / name)
    grid = (inside / "one.toml").read_text()
    grid = grid.replace('"python:policy.py:first"', '["python:policy.py:first", "greedy"]')
    grid += '[[sweep.leave_out]]\ngc.victim = "python:policy.py:first"\n'
    (inside / "grid.toml").write_text(grid)
    for command in ("run", "compare"):
        made = run(written, written / "state", command, "inside/one.toml", "--quiet")
        assert made.returncode == 0, made.stderr
        assert "python:inside/policy.py:first" in made.stdout
    made = run(written, written / "state", "sweep", "inside/grid.toml", "--dry-run")
    assert made.stdout.startswith("1 cell: "), made.stdout + made.stderr
    typed = ("run", "inside/one.toml", "--victim", "python:policy.py:first", "--quiet")
    made = run(written, written / "state", *typed)
    assert "--victim: policy.py: no such file" in made.stderr
