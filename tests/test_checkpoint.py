"""A run that is killed and resumed from its checkpoint has the digits of an uninterrupted run.

``pytest tests/test_checkpoint.py --kills 20`` kills each run twenty times, at random moments.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import COMMAND, Command, environment

#: The options of the runs; each takes about half a second.
RUNS = {
    "counting": "--blocks 500 --victim cost-benefit --writes 30x --runs 2",
    "precision": "--blocks 500 --victim greedy --writes 15x --until precision=0.1% --runs 2",
    "life": "--blocks 300 --endurance 400 --frontier pool --until system-failure --runs 2",
    "mixture": "--blocks 500 --workload 0.7*zipf:theta=0.9+0.3*sequential:trim=0.1 --writes 6x "
    "--host-cache page-cache:size=8MiB --hints piggyback --scheme zgc-cb --frontier pool",
    "timed": "--drive timed --blocks 1024 --device mlc --workload uniform:read=0.3 "
    "--arrivals poisson:rate=700 --preemption pgc --requests 100_000",
    "devices": "--drive timed --blocks 1024 --victim greedy --workload uniform:read=0.3 "
    "--times read=48us/76us/135us,program=700us/800us/900us,erase=3ms,transfer=20us,command=290ns "
    "--host-bandwidth 100MB/s --host-overhead 20us --read-retry from=3,every=2,after=1s,each=1s "
    "--write-cache 64 --power-protection no --flush-every 9 --preemption suspend "
    "--arrivals closed:threads=32 --requests 70_000",
    "slc": "--drive timed --blocks 1024 --device mlc --workload uniform:read=0.3 "
    "--slc dynamic:most=30,after=2ms,full=fold --slc-times read=25us,program=200us,erase=1ms "
    "--arrivals poisson:rate=300 --requests 70_000",
    "slc of both kinds": "--drive timed --blocks 1024 --device mlc --workload uniform:read=0.3 "
    "--slc static:blocks=4+dynamic:most=30,after=2ms,full=both,pace=0.7 --endurance 300:slc=900 "
    "--slc-times read=25us,program=200us,erase=1ms --arrivals poisson:rate=300 --requests 70_000",
    "slc with all": "--drive timed --blocks 1024 --page-size 16KiB --pages-per-block 24 "
    "--spare 40% --times read=60us,program=700us,erase=3.5ms,transfer=10us "
    "--mapping dftl:entries=500 --mapping-unit 4KiB --placement sepbit --victim mdc "
    "--endurance normal:mean=400,cv=0.2 --workload zipf:theta=1,read=0.3 "
    "--slc static:blocks=16,after=2ms --slc-times read=25us,program=200us,erase=2ms "
    "--arrivals poisson:rate=900 --requests 70_000",
    "smaller": "--blocks 1024 --pages-per-block 32 --superblock dies=4,planes=1 --parity 1/4 "
    "--bad-blocks shrink --endurance normal:mean=300,cv=0.3 --frontier pool --spare 30% "
    "--until system-failure --runs 2",
    "smaller timed": "--drive timed --channels 2 --dies 2 --planes 2 --blocks 1024 "
    "--pages-per-block 32 --superblock dies=4,planes=2 --bad-blocks shrink --spare 35% "
    "--endurance normal:mean=60,cv=0.3 --page-size 8KiB --mapping-unit 4KiB --victim greedy "
    "--times read=60us,program=700us,erase=3.5ms,transfer=10us "
    "--arrivals closed:threads=16 --warmup 30x --requests 100_000",
    "overwrites": "--drive timed --blocks 1024 --device slc --workload zipf:theta=1,read=0.3 "
    "--striping dynamic --write-cache 64 --serial-overwrites yes --queue-depth 32 "
    "--arrivals closed:threads=64 --requests 100_000",
}


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """How often each run is killed."""
    return int(request.config.getoption("--kills"))


def digits(text: str) -> dict[str, Any]:
    """A result without the fields that differ between machines and times."""
    document: dict[str, Any] = json.loads(text)
    for key in ("page_programs_per_second", "peak_memory_bytes"):
        document.pop(key, None)
    return document


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "run", *arguments, "--json", "--quiet"],
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def exists(file: Path) -> bool:
    """Waits for the checkpoint that a run writes at its beginning."""
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return file.exists()


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_killed_and_goes_on_has_the_same_digits(
    name: str, command: Command, tmp_path: Path, kills: int
) -> None:
    options = RUNS[name].split(" ")
    begun = time.monotonic()
    expected = command("run", *options, "--json", "--quiet")
    seconds = time.monotonic() - begun
    assert expected.returncode == 0, expected.stderr
    chance = random.Random(name)
    file = tmp_path / "run.ckpt"
    anew = [*options, "--checkpoint", "run.ckpt,every=20ms"]
    typed = anew
    killed = 0
    while killed < kills:
        process = started(tmp_path, *typed)
        assert exists(file), process.communicate()[1]
        try:
            out, err = process.communicate(timeout=chance.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += 1
            typed = ["--resume", "run.ckpt", "--checkpoint", "run.ckpt,every=20ms"]
        else:
            assert process.returncode == 0, err
            assert digits(out) == digits(expected.stdout)
            file.unlink()
            typed = anew
    process = started(tmp_path, *typed)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert digits(out) == digits(expected.stdout)


def test_a_run_that_is_stopped_and_goes_on_has_the_same_digits(
    command: Command, tmp_path: Path
) -> None:
    options = RUNS["counting"].replace("30x", "90x").split(" ")
    expected = digits(command("run", *options, "--json", "--quiet").stdout)
    process = started(tmp_path, *options, "--checkpoint", "run.ckpt")
    assert exists(tmp_path / "run.ckpt")
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["interrupted"]
    for _ in range(2):  # A finished checkpoint gives its result again.
        assert digits(command("run", "--resume", "run.ckpt", "--json", "-q").stdout) == expected


def test_python_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    options: Any = {"blocks": 200, "pages_per_block": 32, "writes": "5x", "runs": 2}
    first = flashgc.run("hotcold:f=0.1,r=0.9", checkpoint=f"{file},every=200ms", **options)
    again = flashgc.run(resume=file)
    assert again.digest == first.digest
    assert again.run_values == first.run_values
    same = flashgc.run("hotcold:f=0.1,r=0.9", resume=file, **options)
    assert same.digest == first.digest
    with pytest.raises(flashgc.ConfigError, match="seed is 2, but 1 in the checkpoint"):
        flashgc.run("hotcold:f=0.1,r=0.9", resume=file, seed=2, **options)


def test_a_policy_written_in_python_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(flashgc.ConfigError, match="a victim policy of your own cannot be"):
        flashgc.run(
            victim=lambda blocks: int(blocks.valid_pages.argmin()),
            checkpoint=tmp_path / "run.ckpt",
            blocks=200,
        )


def test_a_trace_that_has_changed_is_refused(command: Command, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    rows = [f"{time},W,{4096 * (time * 7 % 500)},8192,0" for time in range(3000)]
    head = "time_us,op,offset_bytes,size_bytes,dev"
    trace.write_text("\n".join([head, *rows, ""]))
    typed = ["--workload", "trace.csv", "--pages-per-block", "8", "--passes", "3", "-q", "--json"]
    made = command("run", *typed, "--checkpoint", "run.ckpt")
    assert made.returncode == 0, made.stderr
    again = command("run", "--resume", "run.ckpt", "-q", "--json")
    assert digits(again.stdout) == digits(made.stdout)
    trace.write_text("\n".join([head, *rows, rows[0], ""]))
    refused = command("run", "--resume", "run.ckpt")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "error: checkpoint run.ckpt: trace.csv has changed since; hint: run anew\n"
    )


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("--checkpoint ,every=5s", "--checkpoint: no file is named in ',every=5s'; hint: write"),
        ("--checkpoint a,every=5", "--checkpoint: every=5 is not a time; hint: write every=5min"),
        (
            "--checkpoint no/such",
            "checkpoint no/such: No such file or directory; hint: check the path",
        ),
        ("--resume nothing", "checkpoint nothing: No such file or directory; hint: check the path"),
        ("--resume other", "checkpoint other: it is no checkpoint"),
        ("--resume cut", "checkpoint cut: it is damaged; hint: run anew"),
        ("--resume changed", "checkpoint changed: it is damaged; hint: run anew"),
        ("--resume whole --seed 5", "checkpoint whole: it has another configuration: "),
    ],
)
def test_what_is_no_checkpoint_is_refused_in_one_line(
    typed: str, expected: str, command: Command, tmp_path: Path
) -> None:
    flashgc.run(blocks=100, pages_per_block=16, writes="1x", checkpoint=tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-1])
    (tmp_path / "changed").write_bytes(whole[:-9] + b"flashgc!" + whole[-1:])
    (tmp_path / "other").write_text("time_us,op,offset_bytes,size_bytes,dev\n")
    made = command("run", *typed.split(" "))
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr.startswith(f"error: {expected}")
    assert made.stderr.count("\n") == 1


def test_a_disk_that_is_full_stops_no_run(command: Command, tmp_path: Path) -> None:
    # Files are limited to 4 KiB. The first checkpoint fits; one with a drive's state does not.
    options = ["--blocks", "2000", "--writes", "20x", "--checkpoint", "run.ckpt,every=1ms"]
    shell = ["bash", "-c", 'ulimit -f 4; trap "" XFSZ; exec "$@"', "bash"]
    limited = subprocess.run(
        [*shell, *COMMAND, "run", *options, "--json"],
        cwd=tmp_path,
        env=environment(),
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert limited.returncode == 0, limited.stderr
    (finding,) = json.loads(limited.stdout)["findings"]
    assert finding["id"] == "not-kept"
    assert finding["claim"].startswith("checkpoint run.ckpt: File too large")
    assert finding["claim"].endswith("the last complete checkpoint stays")
    begun_anew = command("run", "--resume", "run.ckpt", "--json", "-q")
    assert digits(begun_anew.stdout)["digest"] == digits(limited.stdout)["digest"]
