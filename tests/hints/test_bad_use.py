"""Bad use of the followers' commands: one clear line, the right exit code, no traceback."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import COMMAND, environment
from tests.hints.stand import MARKS, Stand, standing

pytestmark = MARKS

#: The command without the rights of root, which it drops once its modules are imported.
AS_NOBODY = [
    COMMAND[0],
    "-c",
    "import os, flashgc.command.hints.postgres, flashgc.command.hints.page_cache, "
    "flashgc.device.hints.postgres, flashgc.device.hints.page_cache, psycopg\n"
    "from flashgc.command import main; os.setgid(65534); os.setuid(65534); main()",
]


@pytest.fixture(scope="module")
def stand() -> Iterator[Stand]:
    with standing() as stand:
        yield stand


def words(stand: Stand, kind: str) -> list[str]:
    what = ("--dsn", stand.dsn) if kind == "postgres" else ("--mount", str(stand.mount))
    return ["hints", kind, *what, "--device", str(stand.file)]


def refused(code: int, said: str, command: list[str], **added: str) -> None:
    done = subprocess.run(
        command, env=environment() | added, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done
    assert said in done.stderr


def test_what_was_typed_wrong_is_named(stand: Stand, tmp_path: Path) -> None:
    for kind in ("postgres", "page-cache"):
        command = [*COMMAND, *words(stand, kind)]
        refused(2, "--every: -1.0 is not in the range", [*command, "--every", "-1"])
        refused(2, "--every: found nan, expected a number", [*command, "--every", "nan"])
        refused(2, "--seconds: found inf, expected a number", [*command, "--seconds", "inf"])
        refused(2, "--seconds: 'x' is not a valid float", [*command, "--seconds", "x"])
        refused(1, "none.flash", [*command, "--device", str(tmp_path / "none.flash")])
    postgres, cache = ([*COMMAND, *words(stand, kind)] for kind in ("postgres", "page-cache"))
    refused(1, 'missing "=" after "nonsense"', [*postgres, "--dsn", "nonsense words"])
    refused(2, "No such file or directory; hint", [*cache, "--mount", "/nowhere"])
    refused(2, "expected", [*cache, "--mount", "/"])


def test_without_psycopg_it_says_what_to_install(stand: Stand, tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ImportError")
    path = f"{tmp_path}:{environment()['PYTHONPATH']}"
    refused(
        1, "hint: pip install 'psycopg[binary]'", [*COMMAND, *words(stand, "postgres")],
        PYTHONPATH=path,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["postgres", "page-cache"])
def test_without_root_it_says_so(stand: Stand, kind: str) -> None:
    done = subprocess.run(
        [*AS_NOBODY, *words(stand, kind)],
        env=environment(), capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode in (1, 2), done.stderr.count("\n")) == (True, 1), done


@pytest.mark.parametrize("kind", ["postgres", "page-cache"])
def test_signals_and_a_reader_that_goes_end_it(stand: Stand, kind: str) -> None:
    for signals in ([signal.SIGTERM], [signal.SIGINT], [signal.SIGINT, signal.SIGINT]):
        process = subprocess.Popen(
            [*COMMAND, *words(stand, kind), "--every", "0.2"],
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        for which in signals:
            process.send_signal(which)
            time.sleep(0.01)
        _, errors = process.communicate(timeout=60)
        # The second signal may come while the process already exits.
        codes = (0,) if len(signals) == 1 else (0, 130, -signal.SIGINT)
        assert process.returncode in codes, errors
        assert "Traceback" not in errors
    process = subprocess.Popen(
        [*COMMAND, *words(stand, kind), "--every", "0.2"],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(20) == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
