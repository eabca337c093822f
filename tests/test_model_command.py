"""``flashgc model``: its output, JSON and pictures, and one-line errors for bad input."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, Command, environment, signalled
from flashgc import model
from test_bad_input import refused

HOT = "hotcold:f=0.1,r=0.9"


def document(made: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    found: dict[str, object] = json.loads(made.stdout)
    return found


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        # Sources of the figures: an independent integration of the differential equations; Van
        # Houdt, ValueTools 2013, section 3.4; Lambert's W; 1 / S_f; as `fifo` above.
        ("meanfield --pages-per-block 64 --spare 0.1 --d 10 --c 1", 4.9264),
        ("greedy --pages-per-block 64 --spare 0.1", 4.8213),
        ("fifo --pages-per-block 64 --spare 0.1", 5.1787),
        ("random --pages-per-block 64 --spare 0.1", 10.0),
        ("fifo --overprovision 11.111111111111111% --pages-per-block 64", 5.1787),
    ],
)
def test_json_has_the_documented_keys(command: Command, arguments: str, written: float) -> None:
    found = document(command("model", *arguments.split(), "--json"))
    assert found["write_amplification"] == pytest.approx(written, abs=0.5e-4)
    assert isinstance(found["residual"], float)
    assert found["residual"] <= 1e-10
    assert found["model"] == arguments.split(maxsplit=1)[0]
    assert len(found["valid"]) == len(found["victim"]) == 65  # type: ignore[arg-type]
    config = found["config"]
    assert isinstance(config, dict)
    assert config["spare_factor"] == pytest.approx(0.1)
    assert config["overprovision"] == pytest.approx(1 / 9)


def test_the_command_says_what_the_api_says(command: Command) -> None:
    for entry in model.models():
        made = command("model", entry.name, "--pages-per-block", 32, "--spare", "7%")
        assert made.returncode == 0, made.stderr
        result = model.evaluate(entry.name, pages_per_block=32, spare=0.07)
        assert made.stdout.startswith(f"write amplification  {result.write_amplification:.4f}\n")
        assert "7% of the flash (over-provisioning 7.5269%)" in made.stdout
        assert all(line == line.rstrip() for line in made.stdout.splitlines())


def test_alone_it_lists_the_models(command: Command) -> None:
    listing = command("model")
    assert listing.returncode == 0, listing.stderr
    entries = json.loads(command("model", "--json").stdout)
    assert [entry["name"] for entry in entries] == [entry.name for entry in model.models()]
    for entry in model.models():
        assert entry.name in listing.stdout
        assert entry.summary in listing.stdout


def test_help_has_formula_validity_and_source(command: Command) -> None:
    for entry in model.models():
        shown = " ".join(command("model", entry.name, "--help").stdout.split())
        words = [line for line in entry.doc.splitlines() if line[:3] != "```"]
        text = " ".join(" ".join(words).replace("`", "").replace("# ", "").split())
        assert text in shown, entry.name


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("answer", "meanfield --pages-per-block 16 --d 10 --c 1 --distribution"),
        ("within", "meanfield --within 1%"),
        ("within-none", "meanfield --within 0.0000001% --c 0"),
        ("course", "meanfield --transient sequential --drive-writes 2x"),
        ("separation", "separation --workload classes:pages=1/9/90,shares=60/30/10"),
        (
            "superblock",
            "superblock --superblock dies=16,planes=4 --parity 1/16 --blocks 16384 "
            "--pages-per-block 768 --spare 15% --frontier pool:low=2",
        ),
        ("blocks", "superblock --blocks 256 --pages-per-block 4608 --frontier mixed:low=2"),
    ],
)
def test_what_is_printed(command: Command, snapshot: object, name: str, arguments: str) -> None:
    made = command("model", *arguments.split())
    assert made.returncode == 0, made.stderr
    # The residual depends on the machine's exponential function.
    shown = re.sub(r"(?m)^residual .*$", "residual    ...", made.stdout)
    snapshot(f"model-{name}.txt", shown)  # type: ignore[operator]


def test_the_defaults_that_are_said_are_those_that_are_taken() -> None:
    from flashgc.command.model import OPTIONS
    from flashgc.model.validation import BLOCKS
    from flashgc.units import parse_share

    said = {
        name: match[1]
        for name, parameter in OPTIONS.items()
        if name not in ("drive_writes", "runs", "seed")  # These are not parameters of a model.
        if (match := re.search(r"\[default: (.*)\]", str(parameter.help)))
    }
    taken = model.evaluate("fifo", workload="zipf").config.given()
    for entry in model.models():
        taken |= model.evaluate(entry.name).config.given()
    assert parse_share(said.pop("spare")) == taken["spare_factor"]
    assert parse_share(said.pop("window")) == taken["window"]
    assert said == {name: str(taken[name]) for name in said}
    assert {"pages_per_block", "d", "c", "workload", "blocks"} <= set(said)
    assert taken["blocks"] == BLOCKS


def test_the_other_way_round(command: Command) -> None:
    found = document(command("model", "greedy", "--wanted", "3", "--json"))
    assert found["write_amplification"] == pytest.approx(3, rel=1e-9)
    spare = model.spare_for("greedy", 3)
    assert found["config"]["spare_factor"] == spare.spare_factor  # type: ignore[index]
    assert found["config"]["overprovision"] == spare.overprovision  # type: ignore[index]
    shown = command("model", "greedy", "--wanted", "3").stdout
    assert f"{spare.spare_factor:.4%} of the flash" in shown
    choices = document(command("model", "meanfield", "--within", "1%", "--json"))["choices"]
    assert isinstance(choices, list)
    assert [row["c"] for row in choices] == [0, 1, 2, 5]
    fewest = model.choices_within("1%", c=[0, 1, 2, 5])
    assert isinstance(fewest, dict)
    assert {row["c"]: row["d"] for row in choices} == fewest
    for row in choices:
        assert row["write_amplification"] <= 1.01 * model.greedy(0.1)


def test_a_course_in_json(command: Command) -> None:
    found = document(command("model", "meanfield", "--transient", "random", "--json"))
    times, written = found["drive_writes"], found["write_amplification"]
    assert isinstance(times, list)
    assert isinstance(written, list)
    assert (times[0], times[-1], len(times)) == (0, 10, len(written))
    assert written[-1] == pytest.approx(model.write_amplification("meanfield"), abs=1e-6)


def test_validation_shows_both(command: Command) -> None:
    small = ("--blocks", 500, "--pages-per-block", 16, "--runs", 2, "--seed", 3)
    made = command("model", "fifo", "--workload", HOT, *small, "--validate")
    assert made.returncode == 0, made.stderr
    assert "by the model" in made.stdout
    assert "by simulation (95%, 2 runs)" in made.stdout
    assert re.search(r"difference .*% ?, .* standard errors: they (agree|differ)", made.stdout)
    found = document(
        command("model", "fifo", "--workload", HOT, *small, "--validate", "--json", "--quiet")
    )
    simulated = found["simulation"]
    assert isinstance(simulated, dict)
    assert simulated["seed"] == 3
    assert simulated["digest"] in made.stdout
    assert simulated["config"]["workload"].startswith(HOT)
    written = simulated["write_amplification"]
    expected = found["write_amplification"] / written - 1  # type: ignore[operator]
    assert found["difference"] == pytest.approx(expected)
    one = command("model", "fifo", *small[:4], "--runs", 1, "--validate")
    assert "one run cannot tell" in one.stdout


def test_pictures_are_drawn(command: Command, tmp_path: Path) -> None:
    for arguments in ("greedy", "meanfield --c 2", "meanfield --transient random"):
        made = command("model", *arguments.split(), "--plot", "figure.svg", "--quiet")
        assert made.returncode == 0, made.stderr
        assert "<svg" in (tmp_path / "figure.svg").read_text()
        (tmp_path / "figure.svg").unlink()


def test_out_writes_the_json_and_prints_the_answer(command: Command, tmp_path: Path) -> None:
    made = command("model", "greedy", "--out", "result.json")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("write amplification  4.8213")
    written = json.loads((tmp_path / "result.json").read_text())
    assert written["write_amplification"] == model.greedy(0.1)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("greedy --spare 0", ["--spare: found 0", "nothing can be collected"]),
        ("greedy --spare 1", ["--spare: found 1", "takes no writes"]),
        ("greedy --spare -0.1", ["--spare", "negative"]),
        ("greedy --spare x", ["--spare", "'x' is not a number"]),
        ("greedy --spare 7", ["--spare: found 7", "7%"]),
        ("greedy --overprovision 0", ["--overprovision: found 0"]),
        ("greedy --spare 7% --overprovision 7%", ["--overprovision", "--spare"]),
        ("greedy --pages-per-block 0", ["--pages-per-block: found 0", "whole number from 1"]),
        ("greedy --pages-per-block -1", ["--pages-per-block", "negative"]),
        ("greedy --pages-per-block 2.5", ["--pages-per-block", "'2.5'", "whole number"]),
        ("greedy --pages-per-block x", ["--pages-per-block", "'x'"]),
        ("greedy --pages-per-block 1e9", ["--pages-per-block: found 1000000000", "4096"]),
        ("meanfield --d 0", ["--d: found 0", "1 to 10000"]),
        ("meanfield --d 1.5", ["--d", "'1.5'"]),
        ("meanfield --c 65", ["--c: found 65", "0 to 64"]),
        ("meanfield --c 0,1", ["--c", "'0,1'"]),
        ("meanfield --d 1 --c 1", ["c=1 with d=1"]),
        ("meanfield --workload zipf", ["meanfield: found zipf", "fifo"]),
        (
            "meanfield --pages-per-block 512 --workload hotcold --frontier double",
            ["--pages-per-block: found 512", "256"],
        ),
        (
            "desnoyers --workload hotcold --frontier double",
            ["double frontier with hot and cold data"],
        ),
        ("fifo --frontier duble", ["--frontier: found 'duble'", "'double'"]),
        ("fifo --workload hotcld", ["--workload: unknown workload 'hotcld'", "'hotcold'"]),
        ("fifo --workload hotcold:f=0", ["--workload: found f=0"]),
        ("fifo --workload sequential", ["--workload: found 'sequential'", "flashgc run"]),
        ("fifo --workload a.csv", ["--workload: found the trace 'a.csv'", "flashgc run"]),
        ("fifo --d 3", ["unknown option '--d'"]),
        ("windowed --window 2", ["--window: found 2", "0 to 1"]),
        ("windowed --workload hotcold", ["windowed: found hot and cold data", "meanfield"]),
        ("separation --cleaner gredy", ["--cleaner: found 'gredy'", "'greedy'"]),
        ("separation --validate", ["unknown option '--validate'"]),
        ("separation --distribution", ["--distribution", "separation gives no distribution"]),
        ("desnoyers --plot x.svg", ["--plot", "desnoyers gives no distribution"]),
        ("random --workload zipf --plot x.svg", ["--plot", "random gives no distribution"]),
        (
            "random --workload hotcold --validate --distribution",
            ["--distribution", "no distribution"],
        ),
        ("greedy --plot x.gif", ["--plot", "'.gif'", "x.svg"]),
        ("greedy --out missing/x.json", ["--out", "no such folder"]),
        ("greedy --wanted 0.5", ["--wanted", "0.5", "more than 1"]),
        ("greedy --wanted 1", ["--wanted", "more than 1"]),
        ("greedy --wanted x", ["--wanted: found 'x'"]),
        ("greedy --wanted nan", ["--wanted", "NaN"]),
        ("greedy --wanted 64.5", ["--wanted", "at most 63.99"]),
        ("greedy --wanted 3 --spare 7%", ["--spare", "--wanted"]),
        ("greedy --runs 3", ["--runs", "--validate"]),
        ("greedy --validate --runs 0", ["--runs: found 0"]),
        ("greedy --validate --runs x", ["--runs", "'x'"]),
        ("greedy --validate --ties random --workload hotcold", ["ties=random"]),
        ("meanfield --within 0", ["--within: found 0"]),
        ("meanfield --within 1% --d 3", ["--d", "--within"]),
        ("meanfield --within 1% --wanted 3", ["--wanted", "--within"]),
        ("meanfield --within 1% --c 1,x", ["--c", "'x'"]),
        ("meanfield --transient radnom", ["--transient: found 'radnom'", "'random'"]),
        ("meanfield --transient random --validate", ["--validate", "--transient"]),
        ("meanfield --transient random --drive-writes 0", ["--transient", "0 drive writes"]),
        ("meanfield --transient random --drive-writes x", ["--drive-writes: found 'x'"]),
        ("meanfield --drive-writes 3", ["--drive-writes", "--transient"]),
        (
            "superblock --blocks 32 --spare 7% --frontier pool:low=2",
            ["--spare: found 0.07, which is 2.24 of 32", "hint: --spare 12.5%, or more blocks"],
        ),
        (
            "superblock --superblock dies=16,planes=4 --parity 1/5",
            ["--parity: 1/5 does not go with", "hint: --superblock dies=5,planes=1"],
        ),
        ("superblock --parity 2", ["--parity: found '2'", "hint: --parity 1/16"]),
        ("superblock --superblock die", ["--superblock: found 'die'", "dies=1,planes=4"]),
        ("superblock --frontier duble", ["--frontier: unknown write frontier", "'double'"]),
        ("superblock --workload uniform", ["unknown option '--workload'"]),
        ("superblock --distribution", ["--distribution: superblock gives no distribution"]),
        ("greedy --superblock dies=2,planes=1", ["--superblock: ", "the model superblock"]),
        ("fifo --parity 1/2", ["--parity: ", "the model superblock"]),
        ("greedy --frontier pool", ["--frontier: found 'pool'", "flashgc model superblock"]),
        ("gredy", ["unknown command 'gredy'", "'greedy'"]),
    ],
)
def test_bad_input(command: Command, arguments: str, parts: list[str]) -> None:
    refused(command("model", *arguments.split()), *parts)


def test_a_terminal_of_80_columns_is_enough() -> None:
    wide = "superblock --superblock dies=16,planes=4 --parity 1/16 --blocks 16384"
    for arguments in ("", "meanfield --c 1 --distribution", "separation --workload zipf", wide):
        main, side = pty.openpty()
        with subprocess.Popen(
            [*COMMAND, "model", *arguments.split()],
            env={**environment(), "TERM": "xterm-256color"},
            stdout=side,
            stderr=side,
            stdin=side,
        ) as process:
            os.close(side)
            shown = b""
            while True:
                try:
                    chunk = os.read(main, 65536)
                except OSError:  # The terminal is gone when the command has ended.
                    break
                shown += chunk
            os.close(main)
        assert process.returncode == 0, shown
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r", "").split("\n")
        assert max(len(line.rstrip()) for line in lines) <= 80, shown.decode()


def test_ctrl_c_stops_a_model_that_takes_long() -> None:
    slow = ("--workload", HOT, "--frontier", "double", "--pages-per-block", "256", "--c", "1")
    code, out, errors = signalled(signal.SIGINT, "model", "meanfield", *slow)
    assert (code, out, errors.strip()) == (130, "", "error: interrupted")


def test_ctrl_c_leaves_what_the_model_says() -> None:
    long = ("--blocks", "300000", "--runs", "2")
    code, out, errors = signalled(signal.SIGINT, "model", "fifo", "--validate", *long)
    assert code == 130, errors
    assert out.startswith("write amplification  5.1787  by the model\n")
    assert "interrupted" in errors


def test_completion_of_models_and_workloads() -> None:
    for words, position, expected in (
        ("flashgc model gr", 2, "greedy"),
        ("flashgc model fifo --workload hot", 4, "hotcold:f=0.2,r=0.8"),
        ("flashgc model meanfield --frontier d", 4, "double"),
        ("flashgc model superblock --frontier p", 4, "pool:low=2"),
    ):
        made = subprocess.run(
            COMMAND,
            env={
                **environment(),
                "_FLASHGC_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(position),
            },
            capture_output=True,
            text=True,
        )
        assert expected in made.stdout, made
