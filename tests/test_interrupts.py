"""Ctrl-C and SIGTERM at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

from conftest import ended, environment, signalled, started, under_way

LONG = ("--blocks", "2000", "--pages-per-block", "256", "--writes", "100000x", "--warmup", "0.001%")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--workload", "PIPE"),
        ("run", "--drive", "timed", "--device", "mlc", "--workload", "PIPE"),
        ("trace", "stat", "PIPE"),
        ("trace", "convert", "PIPE", "out.csv"),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
@pytest.mark.parametrize("has_writer", [False, True], ids=["no writer", "a silent writer"])
def test_ctrl_c_ends_who_waits_for_a_pipe(
    arguments: tuple[str, ...], has_writer: bool, tmp_path: Path
) -> None:
    pipe = tmp_path / "trace.csv"
    os.mkfifo(pipe)
    names = {"PIPE": str(pipe), "out.csv": str(tmp_path / "out.csv")}
    writer = os.open(pipe, os.O_RDWR) if has_writer else None
    code, out, errors = signalled(signal.SIGINT, *(names.get(word, word) for word in arguments))
    if writer is not None:
        os.close(writer)
    assert (code, out) == (130, ""), errors
    assert errors.strip().splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in errors


def test_ctrl_c_leaves_no_unfinished_file_of_a_conversion_that_waits(tmp_path: Path) -> None:
    pipe = tmp_path / "trace.csv"
    os.mkfifo(pipe)
    # Long enough that the output file is created, but too short for the conversion to end.
    header, line = "time_us,op,offset_bytes,size_bytes,dev\n", "0,W,4096,4096,0\n"
    lines = header + line * (300_000 // len(line))
    seen: list[set[str]] = []

    def give() -> None:
        with pipe.open("w") as file:
            file.write(lines)
            file.flush()
            while not seen:
                time.sleep(0.02)

    giver = threading.Thread(target=give)
    giver.start()
    process = started("trace", "convert", str(pipe), str(tmp_path / "out.csv"))
    while process.poll() is None and len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.02)
    assert [path.suffix for path in tmp_path.iterdir() if path != pipe] == [".partial"]
    under_way(process)
    code, out, errors = ended(process, signal.SIGINT)
    seen.append({path.name for path in tmp_path.iterdir()})
    giver.join()
    assert (code, out) == (130, ""), errors
    assert seen == [{pipe.name}]


def test_the_signal_to_terminate_keeps_what_there_is_as_ctrl_c_does() -> None:
    for which in (signal.SIGTERM, signal.SIGINT):
        code, out, errors = signalled(which, "run", *LONG, "--json")
        assert code == 130, errors
        document = json.loads(out)
        assert document["interrupted"] is True
        assert document["host_pages"] > 0
        assert "interrupted: the figures cover the part that was run" in errors


def test_the_signal_to_terminate_ends_a_program_and_keeps_its_checkpoint(tmp_path: Path) -> None:
    program = (
        "import flashgc; print('go', flush=True); "
        "flashgc.run('uniform', blocks=2000, writes='9000x', checkpoint='run.ckpt'); print('on')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    deadline = time.monotonic() + 60
    while not (tmp_path / "run.ckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest) == (-signal.SIGTERM, "")
    assert (tmp_path / "run.ckpt").exists()


def loaded(statement: str) -> set[str]:
    """The modules that a statement imports in a new interpreter."""
    program = (
        f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)"
    )
    made = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(), text=True, capture_output=True, check=True,
    )  # fmt: skip
    return set(made.stdout.split())


def test_ctrl_c_is_in_hand_before_anything_takes_long_to_import() -> None:
    # Imports before the handler is set must be few: Ctrl-C in them shows a traceback.
    ours = {"flashgc", "flashgc._ctrl_c", "flashgc.command"}
    assert loaded("import flashgc.command") <= {*ours, "__future__", "_signal"}


def test_ctrl_c_at_any_moment_of_the_start_shows_nothing_of_ours() -> None:
    # First the interpreter starts, mainly `site`. Three of our files follow, which import nothing.
    # From then on, Ctrl-C gives one line.
    first = ("flashgc/__init__.py", "flashgc/command/__init__.py", "flashgc/_ctrl_c.py")
    whole = started("run", *LONG)
    begun = time.monotonic()
    under_way(whole, 0.2)
    span = time.monotonic() - begun
    whole.kill()
    whole.communicate()
    codes = []
    for moment in range(24):
        process = started("run", *LONG)
        time.sleep(span * moment / 24)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        codes.append(process.returncode)
        ours = [line for line in errors.splitlines() if "flashgc" in line and "File " in line]
        assert [line for line in ours if not any(file in line for file in first)] == [], errors
        assert (process.returncode == 130) == ("interrupted" in errors), errors
        assert process.returncode != 130 or "Traceback" not in errors, errors
    assert codes[-1] == 130
    assert set(codes) <= {130, -signal.SIGINT, 1, 0}


@pytest.mark.parametrize("name", ["flashgc.command.entrance", "flashgc.command.run", "json"])
def test_ctrl_c_during_an_import_is_one_line_and_is_never_lost(name: str) -> None:
    # This finder swallows the exception, as Python does with one raised in a destructor.
    program = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                pass
from flashgc.command import main
sys.meta_path.insert(0, Interrupting())
sys.argv = ["flashgc", "run", "--blocks", "64", "--pages-per-block", "16", "--writes", "1x"]
main()
"""
    made = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(), text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stdout) == (130, ""), made.stderr
    assert made.stderr == "error: interrupted\n"


def test_a_thread_that_ctrl_c_kept_from_its_start_ends_at_once() -> None:
    from flashgc.device._closing import Worker

    class Waiting(Worker):
        def _work(self) -> None:
            self._over.wait()

    Waiting().stop()
    with Waiting() as waiting:
        assert waiting._thread.is_alive()
    assert not waiting._thread.is_alive()


def test_ctrl_c_ends_the_loop_of_a_program_and_gives_it_what_there_is() -> None:
    program = textwrap.dedent(
        """
        import flashgc
        print("go", flush=True)
        try:
            for seed in range(3):
                call = dict(blocks=2000, writes="9000x", seed=seed)
                {call}
                print("on")
        except KeyboardInterrupt as stop:
            print(type(stop).__name__, getattr(stop.result, "interrupted", None))
        """
    )
    for call in (
        "flashgc.run('uniform', **call)",
        "flashgc.compare(['fifo', 'greedy'], **call)",
        "flashgc.find('spare', 'WA<2', **call)",
        "flashgc.sweep({'drive': {'blocks': 2000}, 'run': {'writes': '9000x', 'seed': seed}},"
        " results='grid.results')",
        "flashgc.gap('uniform', **call)",
        "flashgc.tune(workload='uniform', **call)",
    ):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [sys.executable, "-c", program.replace("{call}", call)], cwd=folder,
                env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == "go\n"
            under_way(process, 0.5)
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=60)
            assert rest == "Interruption True\n", (call, errors)


def test_a_module_is_the_command() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "flashgc", "run", "--victim", "gredy"],
        env=environment(), text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr.endswith("hint: did you mean 'greedy'?\n")
