"""Schemes from compiled libraries: each call has the arguments of the calls in Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.compiled.mixing import Mixing
from tests.conftest import Command

import flashgc
from flashgc import ConfigError, Device, FlashgcError, Scheme
from flashgc._core import CompiledScheme
from flashgc.device.realtime import clock
from flashgc.policy_files import Files

HEADER = Path(flashgc.__file__).with_name("include")
SOURCE = Path(__file__).with_name("mixing.c")
WORKLOAD = "0.8*hotcold:f=0.1,r=0.9,trim=5% + 0.2*sequential"
DRIVE: dict[str, Any] = {
    "blocks": 96, "pages_per_block": 8, "spare": "30%", "writes": "3x", "runs": 2
}  # fmt: skip
TIMED: dict[str, Any] = {
    "kind": "timed", "times": "read=1us,program=1us,erase=1us,transfer=0us", "dies": 2,
    "arrivals": "poisson:rate=100000", "blocks": 192, "pages_per_block": 8, "spare": "40%",
    "requests": 3000, "warmup": "0",
}  # fmt: skip

if shutil.which("cc") is None:
    pytest.skip("no C compiler", allow_module_level=True)


def compiled(source: Path, target: Path, *options: str) -> Path:
    words = ["cc", "-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
    words += ["-shared", "-fPIC", "-I", str(HEADER), *options, "-o", str(target), str(source)]
    subprocess.run(words, check=True)
    return target


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("compiled") / "mixing.so")


def mixing(library: Path, more: str = "") -> Scheme:
    text = f"lib:{library}:mixing{more}"
    return Scheme("mixing", text, text)


@pytest.mark.parametrize(
    "options",
    [
        DRIVE,
        {**DRIVE, "frontier": "pool:low=3", "fill": "random"},
        {**DRIVE, "host_cache": "page-cache:size=64KiB", "hints": "piggyback"},
        {**DRIVE, "wear_levelling": "static"},
        TIMED,
    ],
    ids=["plain", "pool", "zombies", "levelling", "timed"],
)
def test_every_call_has_the_arguments_of_that_in_python(
    options: dict[str, Any], library: Path
) -> None:
    workload = WORKLOAD if "host_cache" not in options else "hotcold:f=0.1,r=0.9,read=20%"
    by_library = flashgc.run(workload, scheme=mixing(library), **options)
    in_python = flashgc.run(workload, scheme=Scheme("mixing", Mixing, Mixing), **options)
    assert by_library.digest == in_python.digest
    assert by_library.erases > 100
    assert by_library.config.scheme == "mixing"


def test_a_victim_policy_alone_is_that_in_python(library: Path) -> None:
    text = f"lib:{library}:mixing"
    alone = flashgc.run(WORKLOAD, victim=text, frontier="pool", **DRIVE)
    beside = flashgc.run(WORKLOAD, victim=text, placement="dac", frontier="pool", **DRIVE)

    class Alone:
        """The picks alone: nothing is told."""

        def __init__(self) -> None:
            self.mixing = Mixing()
            self.begun = False

        def pick(self, blocks: flashgc.Blocks) -> int:
            if not self.begun:
                self.mixing.begin(len(blocks) * blocks.pages_per_block, blocks.pages_per_block)
                self.begun = True
            return self.mixing.pick(blocks)

    assert alone.digest == flashgc.run(WORKLOAD, victim=Alone, frontier="pool", **DRIVE).digest
    again = flashgc.run(WORKLOAD, victim=Alone, placement="dac", frontier="pool", **DRIVE)
    assert beside.digest == again.digest != alone.digest


def test_the_parameters_of_a_library_are_searched(library: Path) -> None:
    bare = f"lib:{library}:mixing"
    tuned = flashgc.tune(
        WORKLOAD, victim=["greedy"], placement=[f"{bare},by=1..4"], frontier=["pool:low=2"],
        budget=6, **{**DRIVE, "writes": "1x"},
    )  # fmt: skip
    placements = {entry.candidate.placement for entry in tuned}
    assert {bare} < placements <= {"none", bare, *(f"{bare},by={by}" for by in range(1, 5))}


def test_runs_are_the_same_side_by_side_and_one_after_the_other(library: Path) -> None:
    digests = {
        flashgc.run(WORKLOAD, scheme=mixing(library), **{**DRIVE, "runs": 6}, jobs=jobs).digest
        for jobs in (1, 4)
    }
    assert len(digests) == 1


def test_parameters_reach_the_library(library: Path) -> None:
    plain = flashgc.run(WORKLOAD, scheme=mixing(library), **DRIVE)
    same, other = (
        flashgc.run(WORKLOAD, scheme=mixing(library, f",by={by}"), **DRIVE) for by in "13"
    )
    assert plain.digest == same.digest != other.digest
    file = f"python:{SOURCE.with_name('mixing.py')}:Mixing,by=3"
    in_python = flashgc.run(WORKLOAD, scheme=Scheme("mixing", file, file), **DRIVE)
    assert other.digest == in_python.digest


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad_pick", "the victim policy picked block 101, which does not exist"),
        ("no_pick", "no reclaimable space: no block may be collected"),
        ("half", "half has one of host and copy, expected both or neither"),
        ("empty", "empty has no pick, and no host and copy: it decides nothing"),
        ("later", "later has version 2 of flashgc.h, expected 1"),
        ("small", "small has 8 bytes, expected those of a flashgc_scheme"),
        ("classless", "classless: found 0 classes, expected 1 to 255"),
        ("copyless", "copyless: none of its 1 classes takes copies, expected one"),
        ("stateless", "create returned NULL"),
        ("bad_host", "bad_host is no victim policy; hint: set .pick in it"),
        ("nosuch", "exports no 'nosuch'; hint: write FLASHGC_SCHEME(nosuch)"),
        ("mixing,at=1", "mixing: its parameter is by, from 1 on !; hint"),
        ("older,by=1", "older has no parameters; hint: leave them out"),
    ],
)
def test_a_faulty_victim_policy_is_refused(name: str, message: str, library: Path) -> None:
    with pytest.raises(FlashgcError) as caught:
        flashgc.run(WORKLOAD, victim=f"lib:{library}:{name}", frontier="pool", **DRIVE)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad_host", "host(page=100) returned 7, expected a class from 0 to 0"),
        ("bad_copy", "returned 3, expected a class that takes copies"),
        ("bad_pick", "bad_pick is no placement; hint: set .host and .copy in it"),
    ],
)
def test_a_faulty_placement_is_refused(name: str, message: str, library: Path) -> None:
    with pytest.raises(FlashgcError) as caught:
        flashgc.run(WORKLOAD, placement=f"lib:{library}:{name}", frontier="pool", **DRIVE)
    assert message in str(caught.value)


def test_a_scheme_of_an_older_header_has_the_members_of_its_time(library: Path) -> None:
    """Its struct ends after ``pick``: what lies behind it is not read."""
    older = flashgc.run(WORKLOAD, victim=f"lib:{library}:older", frontier="pool", **DRIVE)
    alone = flashgc.run(WORKLOAD, victim=f"lib:{library}:mixing", frontier="pool", **DRIVE)
    assert older.digest == alone.digest
    with pytest.raises(FlashgcError, match="older is no placement"):
        flashgc.run(WORKLOAD, placement=f"lib:{library}:older", frontier="pool", **DRIVE)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path, command: Command) -> None:
    (tmp_path / "text.so").write_text("no library\n")
    for text, message in (
        ("lib:text.so:x", "text.so is no library that can be loaded"),
        ("lib:nosuch.so:x", "nosuch.so: no such file; hint: write lib:FILE.so:NAME"),
        ("lib:text.so", "is not understood; hint: write lib:FILE.so:NAME"),
    ):
        done = command("run", "--victim", text)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert message in line
        assert "/proc" not in line


def test_a_library_that_was_compiled_again_is_another_scheme(
    library: Path, tmp_path: Path, command: Command
) -> None:
    """Also in the process that has loaded it before; and kept results are not those of before."""
    # A library that stays loaded. The system must not give it in place of the next one.
    loaded = Files().load(f"lib:{library}:mixing", "victim")
    assert isinstance(loaded, CompiledScheme)
    source = tmp_path / "first.c"
    digests = []
    for word in (">", "<"):
        source.write_text(
            '#include "flashgc.h"\n'
            "static uint32_t pick(void *it, const flashgc_blocks *b) {\n"
            "    uint32_t at = FLASHGC_NONE;\n"
            "    (void)it;\n"
            "    for (uint32_t i = 0; i < b->blocks; i++)\n"
            "        if (b->valid[i] < b->pages_per_block &&\n"
            f"            (at == FLASHGC_NONE || b->closed_at[i] {word} b->closed_at[at]))\n"
            "            at = i;\n"
            "    return at;\n"
            "}\n"
            "FLASHGC_SCHEME(first) = { .abi = FLASHGC_ABI, .size = sizeof(flashgc_scheme), "
            ".pick = pick };\n"
        )
        compiled(source, tmp_path / "first.so", "-Wno-missing-field-initializers")
        result = flashgc.run("uniform", victim=f"lib:{tmp_path / 'first.so'}:first", **DRIVE)
        typed = ("--blocks", 96, "--pages-per-block", 8, "--spare", "30%", "--writes", "3x")
        done = command("run", "--victim", "lib:first.so:first", *typed, "--runs", 2, "--results",
                       "kept.results", "--json")  # fmt: skip
        assert f'"digest": "{result.digest}"' in done.stdout, done.stderr
        digests.append(result.digest)
    assert digests[0] != digests[1]

    def oldest(blocks: flashgc.Blocks) -> int:
        may_be = np.flatnonzero(blocks.valid < blocks.pages_per_block)
        return int(may_be[np.argmin(blocks.closed_at[may_be])])

    assert digests[1] == flashgc.run("uniform", victim=oldest, **DRIVE).digest


def test_a_stored_drive_keeps_the_name_of_the_library(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "drive.flash"
    with Device.create(
        file, capacity="64MiB", pages_per_block=64, scheme=mixing(library).text
    ) as it:
        it.write(0, b"x" * 4096)
    with pytest.raises(ConfigError, match=r"names code as its .*mixing.so.*--allow-python"):
        Device.open(file)
    with Device.open(file, allow_python=True) as it:
        assert it.read(0, 1) == b"x"
    with pytest.raises(ConfigError, match="the clock has policies of the engine alone"):
        clock({"policies": {"victim": "lib:x.so:x", "placement": "none"}}, {})


def test_a_run_of_it_cannot_be_saved(library: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a victim policy of your own cannot be saved"):
        flashgc.run(
            WORKLOAD, victim=f"lib:{library}:mixing", checkpoint=tmp_path / "run.ckpt", **DRIVE
        )


def test_an_experiment_that_names_a_library_says_that_it_runs_code(
    library: Path, command: Command, tmp_path: Path
) -> None:
    shutil.copy(library, tmp_path / "mixing.so")
    (tmp_path / "e.toml").write_text(
        '[scheme.mixing]\nvictim = "lib:mixing.so:mixing"\nplacement = "lib:mixing.so:mixing"\n'
    )
    done = command("run", "e.toml", "--blocks", 96, "--pages-per-block", 8, "--spare", "30%",
                   "--writes", "2x")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "runs code" in done.stderr
    assert str(tmp_path / "mixing.so") in done.stderr


@pytest.mark.parametrize("language", ["python", "c", "rust"])
def test_a_new_scheme_agrees_with_its_reference(
    language: str, command: Command, tmp_path: Path
) -> None:
    done = command("new-scheme", "byage", "--language", language)
    assert done.returncode == 0, done.stderr
    steps = done.stdout.split("Next:\n")[1].splitlines()
    if language != "python":
        compiler = steps.pop(0).split()
        if shutil.which(compiler[0]) is None:
            pytest.skip(f"no {compiler[0]}")
        subprocess.run(compiler, cwd=tmp_path, check=True)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_byage.py"]
    tested = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "7 passed" in tested.stdout, tested.stdout + tested.stderr
    done = command("compare", "byage.toml", "--spare", "10%", "--writes", "1x", "--json")
    assert done.returncode == 0, done.stderr
    again = command("new-scheme", "byage", "--language", language)
    assert again.returncode == 2
    assert "exists already; hint: another NAME" in again.stderr


@pytest.mark.parametrize("name", ["Byage", "9x", "a-b", "", "for", "struct", "loop", "x" * 60])
def test_a_name_that_a_file_cannot_have_is_refused(
    name: str, command: Command, tmp_path: Path
) -> None:
    done = command("new-scheme", name, "--language", "c")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: NAME: ")
    assert not any(tmp_path.iterdir())
