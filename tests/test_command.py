"""Output and exit codes of the command: JSON keys, tables, pipes, interrupts."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import flashgc
import reference
from conftest import COMMAND, ROOT, Command, environment, signalled, under_way
from flashgc.options import OPTIONS, names

SMALL = ("--blocks", 200, "--pages-per-block", 16, "--writes", "4x")
KEYS = {
    "write_amplification": float,
    "write_amplification_ci95": float,
    "host_pages": int,
    "copied_pages": int,
    "erases": int,
    "page_programs_per_second": float,
    "peak_memory_bytes": int,
    "seed": int,
    "digest": str,
    "config": dict,
    "version": str,
}


def test_json_has_the_documented_keys(command: Command) -> None:
    made = command("run", *SMALL, "--json", "--quiet")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    for key, kind in KEYS.items():
        assert isinstance(document[key], kind), (key, document.get(key))
    # The given length is too short for cold pages, and a warning says so.
    assert "of the pages written before were not written in the measured part" in made.stderr
    # WA is programmed pages divided by host pages, in the measured part.
    programs = document["host_pages"] + document["copied_pages"]
    assert document["write_amplification"] == pytest.approx(programs / document["host_pages"])
    assert document["config"]["spare_factor"] == pytest.approx(0.1)
    assert document["config"]["overprovision"] == pytest.approx(1 / 9)
    assert document["version"] == flashgc.version()


def test_comparisons_have_the_documented_keys(command: Command) -> None:
    made = command("compare", *SMALL, "--json", "--quiet")
    assert made.returncode == 0, made.stderr
    ranking = json.loads(made.stdout)["ranking"]
    placements = 8
    count = len(flashgc.policies()) + placements
    assert [rank["place"] for rank in ranking] == list(range(1, count + 1))
    assert {rank["result"]["config"]["victim"].split(":")[0] for rank in ranking} == {
        policy.name for policy in flashgc.policies()
    }
    for rank in ranking:
        assert set(rank) == {
            "place", "ratio", "difference", "difference_ci95", "basis", "inside_noise", "result",
        }  # fmt: skip
        assert set(KEYS) <= set(rank["result"])
    written = [rank["result"]["write_amplification"] for rank in ranking]
    assert written == sorted(written)
    assert ranking[1]["ratio"] == pytest.approx(written[1] / written[0])


def test_the_same_seed_gives_the_same_result_on_one_core_and_on_two(command: Command) -> None:
    digests = set()
    for jobs in (1, 2, 0):
        made = command("run", *SMALL, "--runs", 3, "--jobs", jobs, "--json")
        digests.add(json.loads(made.stdout)["digest"])
    assert len(digests) == 1


def test_out_writes_the_json_and_prints_the_block(command: Command, tmp_path: Path) -> None:
    made = command("run", *SMALL, "--out", "result.json")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("write amplification ")
    document = json.loads((tmp_path / "result.json").read_text())
    assert f"{document['write_amplification']:.4f}" in made.stdout
    assert document["digest"] in made.stdout
    assert not list(tmp_path.rglob("*.part"))


def test_a_capacity_that_is_rounded_is_said(command: Command) -> None:
    short = ("--pages-per-block", 16, "--page-size", "16MiB", "--writes", "2x")
    for capacity in ("1TB", "3.84TB"):
        made = command("run", "--capacity", capacity, *short)
        assert made.returncode == 0, made.stderr
        assert "less than asked for, to have whole blocks)" in " ".join(made.stdout.split())
    assert "less than asked" not in command("run", "--capacity", "1TiB", *short).stdout


def test_blocks_that_are_rounded_for_the_planes_are_said(command: Command) -> None:
    typed = "--drive timed --device mlc --planes 4 --requests 100 --arrivals poisson:rate=9"
    for name, *more in (("run",), ("compare", "--victim", "greedy", "--victim", "fifo")):
        made = command(name, *typed.split(), "--blocks", "2045", *more)
        assert made.returncode == 0, made.stderr
        said = "512 MiB (3 more than asked for, to have as many on each of 4 planes)"
        assert f" 2 048 blocks of 64 pages of 4 KiB: {said}" in " ".join(made.stdout.split())
        assert "asked for" not in command(name, *typed.split(), "--blocks", "2048", *more).stdout


def test_plain_output_has_no_colour_and_no_blanks_at_line_ends(command: Command) -> None:
    for arguments in (["run", *SMALL], ["compare", *SMALL], ["policies"], ["trace", "formats"]):
        made = command(*arguments)
        assert made.returncode == 0, made.stderr
        assert "\x1b" not in made.stdout
        assert all(line == line.rstrip() for line in made.stdout.splitlines()), made.stdout


def test_a_difference_inside_the_noise_is_said(command: Command) -> None:
    # d-choices with d = 1 is random selection, with the same draws.
    made = command("compare", *SMALL, "--victim", "random", "--victim", "d-choices:d=1")
    assert "Equal in every run: random, d-choices:d=1,c=0." in made.stdout
    # Both policies look at every block, but draw differently, so results differ only by chance.
    made = command(
        "compare", *SMALL, "--victim", "d-choices:d=2000", "--victim", "d-choices:d=2001"
    )
    assert made.returncode == 0, made.stderr
    assert "Inside the noise" in made.stdout
    made = command("compare", *SMALL, "--victim", "random", "--victim", "greedy")
    assert "Inside the noise" not in made.stdout
    assert "x the flash writes of greedy" in made.stdout


def test_every_policy_is_listed_and_described(command: Command) -> None:
    listing = command("policies").stdout
    for policy in flashgc.policies():
        assert policy.usage in listing, policy
        assert policy.summary in listing
        described = command("policies", policy.name).stdout
        words = " ".join(policy.doc.replace("\n# ", "\n").split())
        assert words in " ".join(described.split())
        assert "\n# " not in described
        for param in policy.params:
            assert param.help in described


def test_every_allocation_is_listed_and_described(command: Command) -> None:
    listing = command("policies").stdout
    for allocation in flashgc.allocations():
        assert allocation.summary in " ".join(listing.split())
        described = " ".join(command("policies", allocation.name).stdout.split())
        assert " ".join(allocation.doc.replace("\n# ", "\n").split()) in described
    # Two entries have the name `random`, and both are shown.
    both = command("policies", "random").stdout
    assert "random (victim policy)\n" in both
    assert "random (block allocation)\n" in both
    for levelling in flashgc.wear_levellings():
        assert levelling.summary in " ".join(listing.split())
    assert "interval" in command("policies", "static").stdout
    document = json.loads(command("policies", "--json").stdout)
    names = [allocation["name"] for allocation in document["allocations"]]
    assert names == ["fifo", "lowest-erase", "sfl", "random"]


def test_allocations_are_compared_and_the_usual_one_leaves_results_as_they_were(
    command: Command,
) -> None:
    pool = ("--frontier", "pool:low=9", "--victim", "greedy", "--runs", 2)
    made = command(
        "compare", *SMALL, *pool, "--allocation", "fifo", "--allocation", "sfl", "--json"
    )
    results = [rank["result"] for rank in json.loads(made.stdout)["ranking"]]
    # Greedy ignores wear and block numbers, so copies are equal, but in other blocks.
    assert results[0]["run_values"] == results[1]["run_values"]
    assert results[0]["digest"] != results[1]["digest"]
    # The default allocation is not in the configuration, so old digests stay valid.
    assert [result["config"].get("allocation") for result in results] == [None, "sfl"]
    shown = command("compare", *SMALL, *pool, "--allocation", "fifo", "--allocation", "sfl").stdout
    assert "Equal in every run: greedy:ties=latest/fifo, greedy:ties=latest/sfl." in shown


@pytest.mark.parametrize("name", ["", "trace"])
def test_a_bare_command_shows_its_help(command: Command, name: str) -> None:
    made = command(*name.split())
    assert made.returncode == 2
    assert made.stdout == ""
    assert made.stderr == command(*name.split(), "--help").stdout


def test_version(command: Command) -> None:
    assert command("--version").stdout == f"flashgc {flashgc.version()}\n"


@pytest.mark.parametrize("arguments", ["trace formats", "policies", "--help", "policies greedy"])
def test_a_closed_pipe_is_no_error(arguments: str) -> None:
    made = subprocess.run(
        [
            "bash",
            "-c",
            f"{COMMAND[0]} -c '{COMMAND[2]}' {arguments} | true; echo ${{PIPESTATUS[0]}}",
        ],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert made.stdout == "0\n"
    assert made.stderr == ""


@pytest.mark.parametrize("command", ["run", "compare --victim greedy --victim fifo"])
def test_a_file_is_written_even_if_nobody_reads_the_output(command: str, tmp_path: Path) -> None:
    out = tmp_path / "outcome.json"
    drive = "--blocks 100 --pages-per-block 16 --writes 2x --runs 2 --quiet"
    typed = f"{COMMAND[0]} -c '{COMMAND[2]}' {command} {drive} --out {out}"
    subprocess.run(["bash", "-c", f"{typed} | true"], env=environment(), check=True)
    assert out.stat().st_size > 100


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    made = subprocess.run(
        ["bash", "-c", f"{COMMAND[0]} -c '{COMMAND[2]}' policies {closed}"],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0
    assert made.stderr == ""


def test_out_writes_through_what_is_no_regular_file(command: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("real.json")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        made = command("run", *SMALL, "--out", "pipe")
        assert made.returncode == 0, made.stderr
        document, _ = reader.communicate()
    assert json.loads(document)["version"] == flashgc.version()
    assert (tmp_path / "pipe").is_fifo()
    assert command("run", *SMALL, "--out", "link").returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["version"] == flashgc.version()


LONG = ("--blocks", "2000", "--pages-per-block", "256", "--writes", "100000x", "--runs", "2")


def test_ctrl_c_prints_what_there_is() -> None:
    code, out, errors = signalled(signal.SIGINT, "run", *LONG, "--warmup", "0.001%", "--json")
    assert code == 130, errors
    document = json.loads(out)
    assert document["interrupted"] is True
    assert document["host_pages"] > 0
    assert document["write_amplification"] > 1
    assert "interrupted" in errors


def test_ctrl_c_in_the_warm_up_says_that_nothing_was_measured() -> None:
    code, out, errors = signalled(signal.SIGINT, "run", *LONG)
    assert code == 130, errors
    assert out.startswith("write amplification")
    assert "still in the warm-up" in out
    assert "erases" not in out
    assert "Traceback" not in errors
    assert "interrupted" in errors


def test_ctrl_c_in_a_comparison_ranks_what_there_is() -> None:
    victims = ("--victim", "greedy", "--victim", "fifo")
    for warmup in ("1/3", "0.001%"):
        code, out, errors = signalled(
            signal.SIGINT, "compare", *LONG, *victims, "--warmup", warmup, "--json"
        )
        assert code == 130, errors
        document = json.loads(out)
        assert document["interrupted"] is True
        # A run that was stopped in its warm-up is not ranked.
        assert len(document["ranking"] + document["unmeasured"]) == 2
        assert len(document["ranking"]) == (0 if warmup == "1/3" else 2)
        assert "interrupted" in errors


def test_a_policy_that_spins_is_stopped_by_a_second_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def pick(blocks):\n    while True:\n        pass\n")
    process = subprocess.Popen(
        [*COMMAND, "run", "--blocks", "100", "--victim", f"python:{tmp_path / 'mine.py'}:pick"],
        env=environment(),
        text=True,
        stderr=subprocess.PIPE,
    )
    under_way(process)
    process.send_signal(signal.SIGINT)
    time.sleep(2)  # The note is printed after a second.
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Ctrl-C again stops at once" in errors


def test_ctrl_c_with_a_python_policy(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def pick(blocks):\n    return blocks.draw(1)[0]\n")
    victim = f"python:{tmp_path / 'mine.py'}:pick"
    code, out, errors = signalled(
        signal.SIGINT, "run", *LONG, "--victim", victim, "--warmup", "0.001%", "--json"
    )
    assert code == 130, errors
    assert json.loads(out)["interrupted"] is True


def terminal(*arguments: str, **more: str) -> str:
    """The output of the command on a terminal of 80 columns."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        env={**environment(), "TERM": "xterm-256color", **more},
        stdout=side,
        stderr=side,
        stdin=side,
    )
    os.close(side)
    shown = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:  # The terminal is gone when the command has ended.
            break
        if not chunk:
            break
        shown += chunk
    os.close(main)
    assert process.wait() == 0, shown
    return shown.decode()


def test_a_terminal_gets_colour_unless_no_color_is_set() -> None:
    arguments = ("run", *map(str, SMALL))
    assert "\x1b[1;36m" in terminal(*arguments)
    assert "\x1b[1;36m" not in terminal(*arguments, NO_COLOR="1")


def written_lines(shown: str) -> list[str]:
    """Every text that began in column 1: lines, and each state of the progress display."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    return [line.rstrip() for line in re.split(r"[\r\n]+", plain)]


def test_a_terminal_of_80_columns_is_enough() -> None:
    # Without placements, so that the names of policies stand in one line.
    frontiers = ("--frontier", "pool", "--frontier", "double", "--placement", "none")
    shown = terminal("compare", *map(str, SMALL), *frontiers, NO_COLOR="1")
    lines = written_lines(shown)
    assert max(map(len, lines)) <= 80
    assert any("d-choices " in line and "pool:low=2" in line for line in lines), shown
    allocations = (
        "--frontier", "pool", "--allocation", "lowest-erase", "--allocation", "sfl",
        "--placement", "none",
    )  # fmt: skip
    shown = terminal("compare", *map(str, SMALL), *allocations, NO_COLOR="1")
    lines = written_lines(shown)
    assert max(map(len, lines)) <= 80
    assert any(" greedy " in line and " lowest-erase" in line for line in lines), shown


def test_a_comparison_calls_policies_by_one_name_and_its_marks_move_no_figure() -> None:
    shown = terminal(
        "compare", "--victim", "greedy", "--victim", "fifo", "--victim", "d-choices:c=1",
        "--blocks", "200", "--pages-per-block", "16", "--writes", "90x", "--warmup", "0.2",
        "--workload", "hotcold:f=0.05,r=0.95", NO_COLOR="1",
    )  # fmt: skip
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "").split("\n")
    rows = [line for line in lines if "±" in line and line[:1].isdigit()]
    marked = ["*" in row for row in rows]
    assert all(marked), shown
    assert len({row.index("±") for row in rows}) == 1, shown
    assert rows[0].split()[1] == "d-choices:c=1"
    # The table, the sentences and the warnings leave out default parameters.
    assert "ties=" not in shown
    assert "d=10" not in shown
    assert any(
        line.startswith("fifo makes 1.25x the flash writes of d-choices:c=1") for line in lines
    )
    assert any(line.startswith("warning: nothing shows that") for line in lines)


def test_a_comparison_without_policies_has_the_usual_placements(command: Command) -> None:
    tiny = ("--blocks", 100, "--pages-per-block", 16, "--spare", "20%", "--writes", "1x")
    made = command("compare", *tiny, "--runs", 1, "--json", "--quiet")
    configs = [rank["result"]["config"] for rank in json.loads(made.stdout)["ranking"]]
    placed = [config for config in configs if "placement" in config]
    assert len(placed) == 8
    assert {config["frontier"] for config in placed} == {"pool:low=2"}
    assert {config["victim"] for config in configs} >= {"greedy:ties=latest", "fifo"}
    told = command("compare", *tiny, "--runs", 1, "--quiet").stdout
    spare = next(line for line in told.splitlines() if line.startswith("spare"))
    assert spare.endswith("(over-provisioning 25%), 13.98% to 20% for collections")
    # If the command names a policy, a placement or a preset, only that one is ranked.
    for named in (
        ("--victim", "fifo"),
        ("--placement", "none"),
        ("--scheme", "gc-cb", "--frontier", "pool"),
    ):
        more = command("compare", *tiny, "--runs", 1, "--json", "--quiet", *named)
        names = [rank["result"]["config"] for rank in json.loads(more.stdout)["ranking"]]
        assert sum("placement" in config for config in names) == (named[0] == "--scheme"), named


def test_tools_get_names_in_full(command: Command) -> None:
    made = command("compare", *SMALL, "--victim", "greedy", "--victim", "fifo")
    named = "greedy:ties=latest"
    assert any(line.split()[1:2] == [named] for line in made.stdout.splitlines())
    assert f"the flash writes of {named} " in made.stdout


def test_help_has_every_option_and_every_word_of_it(command: Command) -> None:
    text = " ".join(command("run", "--help").stdout.split())
    for option in OPTIONS:
        assert f"--{option.flag} " in text, option.key
        if "{words}" in option.help:
            assert ", ".join(names(option)) in text, option.key


def test_help_texts_fit_a_terminal() -> None:
    from flashgc.command.entrance import cli

    for path, text in reference.helps(cli, "flashgc"):
        wide = [line for line in text.splitlines() if len(line) > 80 and "flashgc" not in line]
        assert not wide or path.startswith("flashgc hints"), path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(command: Command, shell: str) -> None:
    made = command("completion", shell)
    assert made.returncode == 0, made.stderr
    assert "_FLASHGC_COMPLETE" in made.stdout


def test_completion_of_policies() -> None:
    made = subprocess.run(
        COMMAND,
        env={
            **environment(),
            "_FLASHGC_COMPLETE": "bash_complete",
            "COMP_WORDS": "flashgc run --victim d-",
            "COMP_CWORD": "3",
        },
        capture_output=True,
        text=True,
    )
    assert "d-choices:d=10,c=0" in made.stdout


def test_the_reference_pages_are_current() -> None:
    for name, text in reference.pages().items():
        path = ROOT / "docs" / "reference" / name
        assert path.read_text() == text, "run: make docs"


def test_a_warning_of_several_results_is_said_once() -> None:
    from flashgc.command.show.findings import findings_of

    base = flashgc.run(blocks=200, pages_per_block=16, writes="4x").to_dict()

    def moving(by: str) -> dict[str, object]:
        given = {"id": "unsteady", "gravity": "doubt", "window": "measured", "evidence": {}}
        return {**given, "claim": f"it still moves: {by}", "hint": "make it longer"}

    def said(*each: list[dict[str, object]]) -> list[tuple[str, str]]:
        return findings_of(
            [
                flashgc.Result.from_dict(
                    {**base, "findings": of, "config": {**base["config"], "victim": f"p{index}"}}
                )
                for index, of in enumerate(each)
            ]
        )

    one, text = moving("+1%"), "it still moves: +1%; hint: make it longer"
    assert said([one]) == [("doubt", text)]
    assert said([one], []) == [("doubt", f"p0: {text}")]
    assert said([one], [one]) == [("doubt", text)]
    assert said([one], [moving("+2%")], []) == [
        ("doubt", "p0, p1: it still moves; hint: make it longer")
    ]
    # Findings of another kind get their own line, even if they begin with the same words.
    other = {**moving("+2%"), "id": "imprecise"}
    assert len(said([one], [other], [])) == 2


def test_a_table_or_a_document_by_the_name_of_the_file(command: Command, tmp_path: Path) -> None:
    drive = ("--blocks", "200", "--pages-per-block", "16", "--writes", "1x", "--quiet")
    two = ("--victim", "fifo", "--victim", "greedy", "--runs", "1")
    for ending, start in ((".csv", "place,name,"), (".tex", "\\begin{tabular}"), (".json", "{")):
        made = command("compare", *two, *drive, "--out", f"out{ending}")
        assert made.returncode == 0, made.stderr
        assert (tmp_path / f"out{ending}").read_text().startswith(start)
    made = command("run", *drive, "--out", "run.csv")
    assert made.returncode == 2
    assert made.stderr.endswith("hint: run.json\n")
    assert not (tmp_path / "run.csv").exists()
