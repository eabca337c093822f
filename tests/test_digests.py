"""Digests are equal if decisions are equal, and differ otherwise."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

import flashgc
from conftest import Command

SMALL = {"blocks": 64, "pages_per_block": 16, "spare": 0.15}


def written(folder: Path) -> Path:
    """A trace of 20,000 writes to 700 pages."""
    path = folder / "made.csv"
    flashgc.trace_synth("zipf:theta=0.9", path, pages=700, requests=20_000)
    return path


def test_a_trace_has_one_digest_under_any_name_and_in_any_compression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = written(tmp_path)
    text = trace.read_bytes()
    (tmp_path / "sub").mkdir()
    spellings = [trace, tmp_path / "sub" / ".." / "made.csv", Path("made.csv"), Path("./made.csv")]
    for name, packed in {
        "made.csv.gz": gzip.compress(text),
        "made.csv.xz": lzma.compress(text),
        "made.csv.bz2": bz2.compress(text),
        "other.csv": text,
        "sub/made.csv": text,
    }.items():
        (tmp_path / name).write_bytes(packed)
        spellings.append(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    drive = {"pages_per_block": 16, "spare": 0.15, "victim": "greedy"}
    results = [flashgc.run(str(path), passes=3, **drive) for path in spellings]
    assert len({one.digest for one in results}) == 1
    # Names are in the digest of the configuration.
    assert len({one.config_digest for one in results}) > 1
    assert results[0].digest != flashgc.run(str(trace), passes=4, **drive).digest
    # Response times are part of the digest, too.
    timed = drive | {"kind": "timed", "device": "mlc", "requests": 1000}
    of_paths = [flashgc.run(str(path), **timed) for path in spellings[:5]]
    assert len({one.digest for one in of_paths}) == 1
    assert flashgc.run(str(trace), **timed | {"rate_scale": 2}).digest != of_paths[0].digest


def test_jobs_and_a_twin_in_python_decide_alike(tmp_path: Path, command: Command) -> None:
    one, two = (flashgc.run(victim="greedy:ties=lowest", runs=3, jobs=j, **SMALL) for j in (1, 2))
    assert (one.digest, one.config_digest) == (two.digest, two.config_digest)
    for name in ("mine", "other"):
        policy = tmp_path / f"{name}.py"
        policy.write_text("def pick(blocks):\n    return int(blocks.valid.argmin())\n")
        drive = ["--blocks", "64", "--pages-per-block", "16", "--spare", "0.15", "--runs", "3"]
        made = command("run", "--victim", f"python:{policy}:pick", *drive, "--json", "-q")
        twin = json.loads(made.stdout)
        assert twin["digest"] == one.digest
        assert twin["config_digest"] != one.config_digest


def test_an_expected_digest_is_checked(command: Command, tmp_path: Path) -> None:
    words = ["run", "--blocks", "64", "--pages-per-block", "16", "-q"]
    made = command(*words, "--out", "kept.json")
    digest = json.loads((tmp_path / "kept.json").read_text())["digest"]
    for given in (digest, digest.upper(), "kept.json"):
        assert command(*words, "--expect", given).returncode == 0, given
    other = command(*words, "--seed", "2", "--expect", digest)
    assert other.returncode == 1
    assert other.stdout.splitlines()[0] != made.stdout.splitlines()[0]
    assert f"expected {digest}" in other.stderr
    assert "first" not in other.stderr
    named = command(*words, "--seed", "2", "--expect", "kept.json")
    assert named.returncode == 1
    assert named.stderr.endswith(f"expected {digest}; first difference: seed is 2, expected 1\n")
    spare = command(*words, "--spare", "20%", "--expect", "kept.json")
    assert "first difference: config.spare is 0.2, expected 0." in spare.stderr
    for given, said in {
        "nothing.json": "--expect: nothing.json: No such file or directory; hint: a digest of 16",
        "abc": "--expect: abc: No such file or directory; hint: a digest of 16",
    }.items():
        missing = command(*words, "--expect", given)
        assert (missing.returncode, missing.stdout) == (2, "")
        assert said in missing.stderr
    (tmp_path / "list.json").write_text("[]")
    assert "list.json holds no result; hint: flashgc run --out" in (
        command(*words, "--expect", "list.json").stderr
    )
