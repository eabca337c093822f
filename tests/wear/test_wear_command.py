"""``flashgc wear``: what it prints, its exit codes, and drives that are read by programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spellings
from conftest import Command
from flashgc._core import ConfigError
from flashgc.logs import drive
from spellings import content

BEGIN, DAY, TB = 1_700_000_000, 86_400, 10**12
FIGURES = [(10**6, TB), (2 * 10**6, TB + 1_280_000_000_000), (4 * 10**6, 4 * TB)]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = []
    for at, (units, media) in enumerate(FIGURES):
        path = tmp_path / f"{at}.json"
        identify = {"sn": "SN1", "mn": "MODEL", "tnvmcap": TB}
        path.write_bytes(content(spellings.smart(units), spellings.ocp_1(media), identify))
        names.append(f"{path.name}={BEGIN + at * DAY}")
    return names


def test_the_table_fits_into_80_columns(command: Command, files: list[str]) -> None:
    run = command("wear", *files[:2], "--budget", "waf=3,dwpd=1,years=0.1")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("MODEL, SN1: write amplification 2.5000 (2.4999 to 2.5001)\n")
    assert max(map(len, run.stdout.splitlines())) <= 80
    for row in (
        "capacity            1 TB",
        "host writes         512 GB, 1.02 TB since new",
        "flash writes        1.28 TB, 2.28 TB since new",
        "percentage used     3%, 98% spare left",
        "erases of a block   least 10, mean 12, most 15, 0 of the mean in the interval",
        "budget              waf=3: met",
        "7% of the capacity left unused",
    ):
        assert f"\n{row}" in run.stdout, row


def test_the_last_step_of_several_is_shown(command: Command, files: list[str]) -> None:
    # 1.72 TB of flash for 1.024 TB of the host.
    assert "1.6797 (1.6796 to 1.6797) in the last 24 h 0 min\n" in command("wear", *files).stdout


def test_a_broken_budget_has_an_exit_code_of_its_own(command: Command, files: list[str]) -> None:
    run = command("wear", *files[:2], "--budget", "waf=2,dwpd=1")
    assert run.returncode == 3
    assert run.stderr == (
        "budget: waf=2 is broken: 2.5000 (2.4999 to 2.5001)\n"
    )  # fmt: skip
    assert command("wear", *files[:2], "--budget", "waf=2", "--json").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "wif=2"], "--budget: unknown limit 'wif'; hint: did you mean 'waf'?"),
        (["--spare", "120%"], "--spare: found 120%, expected above 0% and below 100%; hint: 7%"),
        (["--capacity", "large"], "--capacity: "),
        (["--rated", "0B"], "--rated: found 0B, expected bytes; hint: 960GB"),
        (["--keep", "folder"], "--keep: found no drive; hint: give a drive such as /dev/nvme0"),
        (["--wait", "1h"], "--wait: found no drive; hint: give a drive such as /dev/nvme0"),
        (["--json", "--prometheus"], "--prometheus: found --json, too; hint: give one of them"),
        (["--plot", "wear.gif"], "--plot: wear.gif: found '.gif'"),
    ],
)
def test_wrong_options_are_one_line(
    command: Command, files: list[str], arguments: list[str], message: str
) -> None:
    run = command("wear", *files, *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"error: {message}")
    assert run.stderr.count("\n") == 1


def test_outputs_of_all_kinds(command: Command, files: list[str], tmp_path: Path) -> None:
    run = command("wear", *files, "--json", "--plot", "wear.svg", "--out", "wear.json")
    assert run.returncode == 0
    document = json.loads(run.stdout)
    assert document == json.loads((tmp_path / "wear.json").read_text())
    assert document["times"] == [BEGIN, BEGIN + DAY, BEGIN + 2 * DAY]
    assert (tmp_path / "wear.svg").read_text().startswith("<?xml")
    run = command("wear", *files, "--prometheus")
    assert run.stdout.startswith("# HELP flashgc_wear_log_time_seconds ")
    # Two logs are no course over time: the figures are there, the picture is not.
    run = command("wear", *files[:2], "--plot", "two.svg")
    assert run.returncode == 0
    assert "two.svg was not drawn: found 2 logs, expected three or more" in run.stderr


PROGRAM = """#!{python}
import sys
folder = {folder!r}
words = [word for word in sys.argv[1:] if not word.startswith("/")]
with open(folder + "/calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
try:
    sys.stdout.write(open(folder + "/" + "-".join(words)).read())
except OSError:
    sys.exit("NVMe status: Invalid Field in Command(0x4002)")
"""
Machine = Callable[[list[str], dict[str, Any]], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes a machine that has only these programs, which print these logs."""

    def make(programs: list[str], logs: dict[str, Any]) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in programs:
            (folder / name).write_text(PROGRAM.format(python=sys.executable, folder=str(tmp_path)))
            (folder / name).chmod(0o755)
        for name, log in logs.items():
            (tmp_path / name).write_text(log if isinstance(log, str) else json.dumps(log))
        monkeypatch.setenv("PATH", str(folder))

    return make


NVME = {
    "id-ctrl--o-json": {"sn": "SN 1  ", "mn": "MODEL", "tnvmcap": TB, "vid": 0x8086},
    "smart-log--o-json": spellings.smart(10**6),
    "ocp-smart-add-log--o-json": spellings.ocp_2(TB),
    "intel-smart-log-add--o-json": spellings.intel(10, 20),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root refuses programs of others")
def test_root_runs_no_program_that_others_can_exchange(
    command: Command, machine: Machine, tmp_path: Path
) -> None:
    machine(["nvme"], NVME)
    assert command("wear", "/dev/nvme0", "--keep", "kept", "--quiet").returncode == 0
    (program,) = tmp_path.rglob("nvme")
    program.chmod(0o777)
    run = command("wear", "/dev/nvme0", "--keep", "kept", "--quiet")
    assert (run.returncode, "the program nvme is missing" in run.stderr) == (2, True), run.stderr


def test_a_drive_is_read_by_the_installed_program_and_never_written(
    command: Command, machine: Machine, tmp_path: Path
) -> None:
    machine(["nvme"], NVME)
    run = command("wear", "/dev/nvme0", "--json", "--quiet")
    assert (run.returncode, run.stderr) == (0, "")
    document = json.loads(run.stdout)
    assert (document["serial"], document["capacity_bytes"]) == ("SN 1", TB)
    assert document["amplifications"][0]["life"]["value"] == 1e12 / 512e9
    assert document["read"] == {
        "nvme id-ctrl": 1, "nvme smart-log": 1, "nvme ocp smart-add-log": 1,
        "nvme intel smart-log-add": 1,
    }  # fmt: skip
    # Only commands that read, each once; the page of Intel because the drive is one of Intel.
    assert (tmp_path / "calls").read_text().splitlines() == [
        "id-ctrl /dev/nvme0 -o json",
        "smart-log /dev/nvme0 -o json",
        "ocp smart-add-log /dev/nvme0 -o json",
        "endurance-log -g 1 /dev/nvme0 -o json",
        "fdp stats -e 1 /dev/nvme0 -o json",
        "intel smart-log-add /dev/nvme0 -o json",
    ]


def test_kept_logs_are_compared_with_those_of_the_next_time(
    command: Command, machine: Machine, tmp_path: Path
) -> None:
    machine(["nvme"], NVME)
    assert command("wear", "/dev/nvme0", "--keep", "kept", "--quiet").returncode == 0
    (first,) = (tmp_path / "kept").iterdir()
    assert re.fullmatch(r"SN-1-\d{8}T\d{6}Z\.json", first.name)
    kept = json.loads(first.read_text())
    # An hour ago, in which the drive wrote 2 TB of flash for 1.024 TB.
    kept["time"] = f"{float(kept['time']) - 3600:.3f}"
    (tmp_path / "kept" / "SN-1-20200101T000000Z.json").write_text(json.dumps(kept))
    first.unlink()
    (tmp_path / "kept" / "other-20200101T000000Z.json").write_text("of another drive")
    machine(["nvme"], {"smart-log--o-json": spellings.smart(3 * 10**6),
                       "ocp-smart-add-log--o-json": spellings.ocp_2(3 * TB)})  # fmt: skip
    run = command("wear", "/dev/nvme0", "--keep", "kept", "--json", "--quiet")
    document = json.loads(run.stdout)
    assert document["amplifications"][0]["interval"]["value"] == 2e12 / 1024e9
    assert document["times"][1] - document["times"][0] == pytest.approx(3600, abs=60)
    assert len([*(tmp_path / "kept").iterdir()]) == 3


def test_a_drive_is_read_twice_with_a_pause(command: Command, machine: Machine) -> None:
    machine(["nvme"], NVME)
    run = command("wear", "/dev/nvme0", "--wait", "1s", "--json", "--quiet")
    document = json.loads(run.stdout)
    assert 1 <= document["times"][1] - document["times"][0] < 30
    assert document["host"]["interval"]["value"] == 0
    assert "--wait: found '5', expected 1s to 7 days" in command(
        "wear", "/dev/nvme0", "--wait", "5"
    ).stderr  # fmt: skip


def test_without_nvme_a_drive_is_read_by_smartctl(command: Command, machine: Machine) -> None:
    machine(["smartctl"], {"--json--a": spellings.smartctl(10**6, time=BEGIN)})
    document = json.loads(command("wear", "/dev/nvme0", "--json", "--quiet").stdout)
    assert document["host"]["life"]["value"] == 512 * 10**9
    machine(["smartctl"], {"--json--x": spellings.sata({"Host_Writes_GiB": 7})})
    document = json.loads(command("wear", "/dev/sda", "--json", "--quiet").stdout)
    assert document["host"]["life"]["value"] == 7 << 30


def test_a_program_that_is_missing_or_fails_is_named(command: Command, machine: Machine) -> None:
    machine([], {})
    for name, program, package in (
        ("/dev/nvme0", "nvme", "nvme-cli"), ("/dev/sda", "smartctl", "smartmontools"),
    ):  # fmt: skip
        assert command("wear", name).stderr == (
            f"error: {name}: the program {program} is missing; hint: install {package}, or give "
            "logs from another machine\n"
        )
    machine(["nvme"], {})
    run = command("wear", "/dev/nvme7")
    assert run.returncode == 2
    assert run.stderr == (
        "error: /dev/nvme7: nvme id-ctrl /dev/nvme7 -o json failed: NVMe status: Invalid Field in "
        "Command(0x4002); hint: nvme list and smartctl --scan show the drives\n"
    )
    machine(["nvme"], {"id-ctrl--o-json": "hello"})
    assert "failed: hello" in command("wear", "/dev/nvme7").stderr
    run = command("wear", "/dev/nvme0", "/dev/nvme1")
    assert "LOG: found 2 drives, expected one; hint: one at a time" in run.stderr


def test_numbers_of_a_drive_are_kept_as_they_were_printed(machine: Machine, tmp_path: Path) -> None:
    large = 2**127 + 1
    machine(["nvme"], {**NVME, "smart-log--o-json": spellings.smart(large)})
    drive.keep(drive.logged("/dev/nvme0"), str(tmp_path / "kept"))
    (file,) = (tmp_path / "kept").iterdir()
    assert json.loads(file.read_text())["logs"][1]["data_units_written"] == large
    with pytest.raises(
        ConfigError, match=r"--keep: .*: Not a directory; hint: give another folder"
    ):
        drive.keep({"time": "0", "drive": "x", "logs": [{}]}, f"{file}/below")
