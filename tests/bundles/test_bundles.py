"""Bundles: an experiment in one file, which runs again elsewhere and says what agrees."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Command

import flashgc
from flashgc import ConfigError

HELPER = "def limit(pages):\n    return pages // 4\n"
CODE = """
from helper import limit


class Young:
    classes = 2

    def begin(self, pages, pages_per_block):
        self.limit = limit(pages)
        self.written = [-pages] * pages

    def host(self, page, stream, old, now):
        return int(now.host - self.written[page] > self.limit)

    def copy(self, page, from_, zombie, now):
        return self.host(page, None, from_, now)

    def wrote(self, page, from_, to, now):
        self.written[page] = now.host
"""
GRID = """
[scheme.young]
victim = "cost-benefit"
placement = "python:code/young.py:Young"
[scheme.greedy]
victim = "greedy"
[drive]
blocks = 128
pages_per_block = 16
spare = ["15%", "30%"]
[workload]
source = "hotcold:f=0.1,r=0.9"
[run]
writes = "2x"
"""
TRACE_GRID = """
[drive]
pages_per_block = 8
spare = ["30%", "0.01%"]
[workload]
source = "writes.csv"
streams = "streams.csv"
[gc]
victim = "greedy"
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "helper.py").write_text(HELPER)
    (tmp_path / "code" / "young.py").write_text(CODE)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path / "grid.toml"


def away(path: Path, tmp_path: Path) -> Path:
    """The bundle in a folder of its own, where nothing of the experiment lies."""
    folder = tmp_path / "away"
    folder.mkdir()
    shutil.move(path, folder / path.name)
    for name in ("code", "grid.toml", "writes.csv"):
        here = tmp_path / name
        if here.is_dir():
            shutil.rmtree(here)
        elif here.exists():
            here.unlink()
    return folder / path.name


def changed(path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """A copy of a bundle, with the content of each file as ``change`` gives it."""
    other = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return other


def test_a_bundle_runs_again_from_its_own_files(
    grid: Path, tmp_path: Path, command: Command
) -> None:
    done = command("bundle", "grid.toml", "--out", "paper.zip")
    assert done.returncode == 0, done.stderr
    assert "paper.zip: 4 cells, 4 files" in done.stderr
    swept = flashgc.sweep(grid, results=tmp_path / "grid.results")
    bundle = away(tmp_path / "paper.zip", tmp_path)
    with zipfile.ZipFile(bundle) as packed:
        manifest = json.loads(packed.read("manifest.json"))
    assert [cell["digest"] for cell in manifest["cells"]] == [
        cell.figures["digest"] for cell in swept
    ]
    assert manifest["version"] == flashgc.version()
    refused = command("verify", "away/paper.zip")
    assert refused.returncode == 2
    assert "has code, which would run with your rights: code/0/young.py" in refused.stderr
    done = command("verify", "away/paper.zip", "--allow-python")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "4 of 4 cells agree"
    assert all(line.startswith("agrees ") for line in done.stdout.splitlines()[:-1])
    assert {path.name for path in bundle.parent.iterdir()} == {"paper.zip"}


def test_the_same_experiment_makes_the_same_bytes(grid: Path, tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        flashgc.bundle(grid, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


@pytest.mark.parametrize("has_trace", [True, False])
def test_a_trace_is_in_it_or_is_known_by_its_digest(
    has_trace: bool, tmp_path: Path, command: Command
) -> None:
    lines = "".join(f"{at},W,{at * 7919 % 97 * 4096},4096,0\n" for at in range(2000))
    (tmp_path / "writes.csv").write_text("time_us,op,offset_bytes,size_bytes,dev\n" + lines)
    (tmp_path / "streams.csv").write_text("0, 40960, 1\n")
    (tmp_path / "grid.toml").write_text(TRACE_GRID)
    done = command("bundle", "grid.toml", "--out", "paper.zip", *["--traces"][: int(has_trace)])
    assert done.returncode == 0, done.stderr
    assert ("not in it: writes.csv" in done.stderr) != has_trace
    shutil.copy(tmp_path / "writes.csv", tmp_path / "mine.csv")
    bundle = away(tmp_path / "paper.zip", tmp_path)
    done = command("verify", str(bundle))
    if not has_trace:
        assert done.returncode == 1
        assert "not run  spare=30%: needs --trace writes.csv, whose SHA-256 is" in done.stdout
        done = command("verify", str(bundle), "--trace", "mine.csv")
    assert done.returncode == 0, (done.stdout, done.stderr)
    # A cell that cannot run is a figure, too.
    assert "cannot run, as expected" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 of 2 cells agree"
    (tmp_path / "mine.csv").write_text((tmp_path / "mine.csv").read_text() + "2001,W,0,4096,0\n")
    again = command("verify", str(bundle), "--trace", "mine.csv")
    assert again.returncode == (0 if has_trace else 1)


def test_a_figure_that_differs_is_said(grid: Path, tmp_path: Path, command: Command) -> None:
    flashgc.bundle(grid, tmp_path / "paper.zip")

    def lie(name: str, content: bytes) -> bytes:
        if name != "manifest.json":
            return content
        manifest = json.loads(content)
        manifest["cells"][2]["digest"] = "0" * 16
        manifest["cells"][2]["write_amplification"] = 1.25
        manifest["version"] = "0.0.1"
        return json.dumps(manifest).encode()

    path = changed(tmp_path / "paper.zip", lie)
    done = command("verify", str(path), "--allow-python", "--quiet")
    assert done.returncode == 1
    (line, last) = done.stdout.splitlines()
    assert line.startswith("differs  scheme=young, spare=30%: expected write amplification 1.25")
    assert last == "3 of 4 cells agree"
    assert f"made by flashgc 0.0.1, run by {flashgc.version()}" in done.stderr
    verified = flashgc.verify(path, allow_python=True)
    assert [verdict.state for verdict in verified.verdicts] == ["agrees"] * 2 + [
        "differs", "agrees",
    ]  # fmt: skip
    assert not verified.agrees
    assert json.loads(json.dumps(verified.to_dict()))["agrees"] is False


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("code/0/young.py", "code/0/young.py was changed"),
        ("code/0/helper.py", "code/0/helper.py was changed"),
        ("experiment.json", "experiment.json was changed"),
        ("experiment.toml", "experiment.toml was changed"),
    ],
)
def test_a_changed_byte_says_where(name: str, message: str, grid: Path, tmp_path: Path) -> None:
    flashgc.bundle(grid, tmp_path / "paper.zip")
    path = changed(
        tmp_path / "paper.zip",
        lambda entry, content: content[:-1] + b"#" if entry == name else content,
    )
    with pytest.raises(ConfigError, match=message):
        flashgc.verify(path, allow_python=True)
    path = changed(
        tmp_path / "paper.zip", lambda entry, content: None if entry == name else content
    )
    with pytest.raises(ConfigError, match=f"{name} is missing"):
        flashgc.verify(path, allow_python=True)


def test_every_damaged_file_is_refused_or_verifies(grid: Path, tmp_path: Path) -> None:
    """A byte changed anywhere never runs other code, and never agrees with other figures."""
    (tmp_path / "grid.toml").write_text(GRID.replace('["15%", "30%"]', '"30%"').replace("2x", "1x"))
    flashgc.bundle(grid, tmp_path / "paper.zip")
    whole = (tmp_path / "paper.zip").read_bytes()
    for at in range(0, len(whole), 41):
        damaged = tmp_path / "damaged.zip"
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        try:
            verified = flashgc.verify(damaged, allow_python=True)
        except ConfigError:
            continue
        assert verified.agrees  # A byte that no reader of zip files needs, or of the README.


def forged(tmp_path: Path, name: str, content: bytes) -> Path:
    import hashlib

    path = tmp_path / "forged.zip"
    experiment = b"{}"
    files = {"experiment.json": experiment, name: content}
    manifest = {
        "flashgc_bundle": 1, "version": "0", "traces": {}, "cells": [],
        "files": {entry: hashlib.sha256(text).hexdigest() for entry, text in files.items()},
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("manifest.json", json.dumps(manifest))
        for entry, text in files.items():
            packed.writestr(entry, text)
    return path


@pytest.mark.parametrize(
    "name", ["../out", "/tmp/out", "a/../../out", "a/./b", "a\nb", ".", "a//b"]
)
def test_no_file_is_written_outside(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is no name of a file in a bundle|is missing"):
        flashgc.verify(forged(tmp_path, name, b"x"))
    assert not (tmp_path / "out").exists()


def test_a_bundle_that_names_other_files_is_refused(grid: Path, tmp_path: Path) -> None:
    """Its experiment may name what lies on the machine; only the files of the bundle are used."""
    import hashlib

    flashgc.bundle(grid, tmp_path / "paper.zip")

    def elsewhere(name: str, content: bytes) -> bytes:
        experiment = json.dumps({"gc": {"victim": f"python:{tmp_path / 'code/young.py'}:Young"}})
        if name == "experiment.json":
            return experiment.encode()
        if name == "manifest.json":
            manifest = json.loads(content)
            manifest["files"]["experiment.json"] = hashlib.sha256(experiment.encode()).hexdigest()
            return json.dumps(manifest).encode()
        return content

    path = changed(tmp_path / "paper.zip", elsewhere)
    with pytest.raises(ConfigError, match="which is not in it"):
        flashgc.verify(path, allow_python=True)


def resigned(tmp_path: Path, changes: dict[str, bytes], **manifest: object) -> Path:
    """A bundle with other files and entries of its manifest, and the digests that these have."""
    import hashlib

    with zipfile.ZipFile(tmp_path / "paper.zip") as packed:
        files = {name: packed.read(name) for name in packed.namelist()} | changes
    signed = json.loads(files.pop("manifest.json")) | manifest
    signed["files"] |= {name: hashlib.sha256(text).hexdigest() for name, text in changes.items()}
    path = tmp_path / "signed.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("manifest.json", json.dumps(signed))
        for name, text in files.items():
            packed.writestr(name, text)
    return path


@pytest.mark.parametrize(
    ("experiment", "manifest", "message"),
    [
        (b"{", {}, "experiment.json is no experiment"),
        (b"[]", {}, "experiment.json is no experiment"),
        (b'"gc"', {}, "experiment.json is no experiment"),
        (b'{"sweep": {"experiments": ["away.toml"]}}', {}, "a bundle has one file"),
        (b'{"scheme": {"x": {"victim": "python:/away.py:X"}}}', {}, "code, which would run"),
        (b'{"scheme": 3}', {}, "found 3, expected tables"),
        (b'{"gc": {"victim": 3}}', {}, "gc.victim|victim"),
        (None, {"cells": [{"at": {}}]}, "manifest.json is damaged"),
        (None, {"cells": [{"at": {}, "digest": "0", "write_amplification": "1"}]}, "is damaged"),
        (None, {"cells": 3}, "manifest.json is damaged"),
        (None, {"traces": {"a": 3}}, "manifest.json is damaged"),
        (None, {"traces": []}, "manifest.json is damaged"),
        (None, {"cells": []}, "has 4 cells, manifest.json 0"),
    ],
)
def test_what_somebody_wrote_into_a_bundle_is_refused(
    experiment: bytes | None, manifest: dict[str, object], message: str, grid: Path, tmp_path: Path
) -> None:
    flashgc.bundle(grid, tmp_path / "paper.zip")
    changes = {} if experiment is None else {"experiment.json": experiment}
    with pytest.raises(ConfigError, match=message):
        flashgc.verify(resigned(tmp_path, changes, **manifest), allow_python=experiment is None)


def test_a_table_that_a_generator_reads_is_in_the_bundle(tmp_path: Path) -> None:
    rows = "".join(f"{page * 4096},{1 + page % 7}\n" for page in range(1000))
    (tmp_path / "table.csv").write_text("LBA,Frequency\n" + rows)
    (tmp_path / "grid.toml").write_text(
        f"[drive]\nblocks = 96\npages_per_block = 16\n[run]\nwrites = '1x'\n"
        f"[workload]\nsource = 'frequency:path={tmp_path / 'table.csv'}'\n"
    )
    made = flashgc.bundle(tmp_path / "grid.toml", tmp_path / "paper.zip")
    assert "file/0/table.csv" in made.files
    bundle = away(tmp_path / "paper.zip", tmp_path)
    (tmp_path / "table.csv").unlink()
    assert flashgc.verify(bundle).agrees


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sweep]\nexperiments = ['a.toml']\n", "a bundle has one file"),
        ("[gc]\nvictim = 'python:nosuch.py:X'\n", "nosuch.py: no such file"),
        ("[workload]\nsource = 'nosuch.csv'\n", "nosuch.csv: no such file"),
        ("[gc]\nvictim = 'gredy'\n", "did you mean 'greedy'"),
    ],
)
def test_what_no_bundle_can_have_is_refused(
    text: str, message: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "e.toml").write_text(text)
    done = command("bundle", "e.toml", "--out", "paper.zip")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "paper.zip").exists()
    for name, content in (("text.zip", b"no zip"), ("empty.zip", b"")):
        (tmp_path / name).write_bytes(content)
        refused = command("verify", name)
        assert refused.returncode == 2
        assert "is no bundle, or is cut off" in refused.stderr
    assert "No such file" in command("verify", "nosuch.zip").stderr
