"""``make wrong-findings``: which test notices that a finding is wrong.

A wrong version of a rule gives its finding another id and claim. The tests that make a finding of
the rule are run with it until one fails: first the test that failed last time, then the quickest.
The first argument is a part of the ids to try; without it all are tried. Further arguments are
files of tests: only these are run, on the rules that no test notices yet. The result is
``noticed.json`` beside this file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
#: The file that names, for each finding, the test that notices a wrong version.
NOTICED = Path(__file__).parent / "noticed.json"
#: The tests that make findings.
TESTS = (
    "tests/test_statements.py", "tests/test_ranked.py", "tests/test_find.py", "tests/test_fleet.py",
    "tests/gap", "tests/tuning", "tests/identify", "tests/wear", "tests/test_sweep.py",
    "tests/test_command.py",
    "tests/test_sweep_failures.py", "tests/test_timed.py", "tests/test_streams.py",
    "tests/test_slc.py", "tests/test_host.py", "tests/test_steadiness.py", "tests/test_lifetime.py",
    "tests/test_traces.py", "tests/test_interrupts.py", "tests/test_few_writes.py",
    "tests/test_checkpoint.py", "tests/test_trace_events.py", "tests/test_bad_input.py",
    "tests/test_worst.py", "tests/test_sweep_unset.py", "tests/placement/test_traces.py",
    "tests/test_every_finding.py", "tests/test_every_finding_of_studies.py",
)  # fmt: skip
#: The number of tests that are run before a wrong version counts as not noticed.
MOST = 8
#: The claim of a wrong version.
WRONG = "the moon is made of pages"


def install(folder: str, wrong: str) -> None:
    """Falsifies findings of the rule ``wrong``; without a rule, records the tests of findings."""
    from flashgc.results.findings import Finding

    begin = Finding.__init__

    def init(self: Finding, id: str, gravity: str, window: str, claim: str, *rest: Any) -> None:  # noqa: A002
        if id == wrong:
            id, claim = f"wrong-{id}", WRONG  # noqa: A001
        at = Path(folder, "current")
        if not wrong and at.exists():
            with Path(folder, "made").open("a", encoding="utf-8") as file:
                file.write(f"{id}\t{at.read_text()}\n")
        begin(self, id, gravity, window, claim, *rest)

    def any_order(self: Finding, /, *given: Any, **named: Any) -> None:
        names = ("id", "gravity", "window", "claim", "hint", "evidence")
        values = {**dict(zip(names, given, strict=False)), **named}
        init(self, *(values[name] for name in names))

    Finding.__init__ = any_order  # type: ignore[method-assign]


class Plugin:
    """A pytest plugin that records the tests that make findings, or falsifies a finding."""

    def __init__(self, folder: str, wrong: str) -> None:
        self._folder = folder
        sys.path.insert(0, str(ROOT / "tests"))
        import forks

        begin = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        begin += f"from scripts.statements.wrong import install; install({folder!r}, {wrong!r})\n"
        forks.PROGRAM = begin + forks.PROGRAM
        install(folder, wrong)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Records the name of the running test."""
        Path(self._folder, "current").write_text(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Records the seconds of passed tests; a test that always fails cannot notice anything."""
        if report.when == "call" and report.passed:
            with Path(self._folder, "times").open("a", encoding="utf-8") as file:
                file.write(f"{report.duration}\t{report.nodeid}\n")


def fails(folder: str, wrong: str, tests: list[str]) -> bool:
    """Runs tests with a plugin; returns true if one of them failed."""
    program = (
        "import sys, pytest; from scripts.statements.wrong import Plugin; "
        f"sys.exit(pytest.main(sys.argv[1:], [Plugin({folder!r}, {wrong!r})]))"
    )
    words = [sys.executable, "-c", program, "-q", "-x" if wrong else "-q", "-p", "no:cacheprovider"]
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.run(
        [*words, *tests], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)}, check=False,
    )  # fmt: skip
    return process.returncode == pytest.ExitCode.TESTS_FAILED


def main(part: str, files: list[str]) -> int:
    """Tries the rules whose ids have ``part`` in them; the exit code is 1 if a rule has no test.

    With ``files`` of tests, only those are run, on the rules that no test notices yet.
    """
    from flashgc.results.findings import rules

    with tempfile.TemporaryDirectory() as folder:
        fails(folder, "", files or [*TESTS])
        times = dict(_pairs(Path(folder, "times")))
        tests_of: dict[str, dict[str, None]] = {}
        for id_, test in _pairs(Path(folder, "made")):
            tests_of.setdefault(id_, {})[test] = None
        known = json.loads(NOTICED.read_text()) if NOTICED.exists() else {}
        seconds = {test: float(time) for time, test in times.items()}
        for rule in rules():
            if part not in rule.id or (files and (rule.id in known or rule.id not in tests_of)):
                continue
            quickest = sorted(seconds.keys() & tests_of.get(rule.id, {}), key=seconds.__getitem__)
            # The test that noticed the wrong rule last time comes first, even if it is slow.
            last = seconds.keys() & {known.pop(rule.id, None)}
            tests = [*dict.fromkeys([*last, *quickest[:MOST]])]
            notices = next((test for test in tests if fails(folder, rule.id, [test])), None)
            print(f"{rule.id}: {notices or f'not noticed by {len(tests)} tests'}", flush=True)
            if notices is not None:
                known[rule.id] = notices
        NOTICED.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
        return int(any(rule.id not in known for rule in rules()))


def _pairs(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [tuple(line.split("\t", 1)) for line in lines]  # type: ignore[misc]


if __name__ == "__main__":
    sys.exit(main("".join(sys.argv[1:2]), sys.argv[2:]))
