"""The page of ``flashgc reproduce`` in a browser: no console error, nothing from outside.

Skipped without Chromium, which ``.ci/run`` installs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, environment

#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium; hint: apt-get install chromium"
)

#: The initiator that the log names for requests of the browser itself.
BROWSERS_OWN = "not an origin"


def complaints(page: Path, folder: Path) -> tuple[list[str], str]:
    """Console messages and requests of a page, and its text after everything has run."""
    assert CHROMIUM is not None
    log = folder / "net.json"
    made = subprocess.run(
        [
            CHROMIUM, "--headless", "--disable-gpu", "--no-sandbox", "--no-first-run",
            "--disable-extensions", "--disable-sync", "--disable-background-networking",
            "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
            f"--log-net-log={log}", "--virtual-time-budget=2000", "--dump-dom", page.as_uri(),
        ],
        text=True,
        capture_output=True,
        timeout=120,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    found = [line for line in made.stderr.splitlines() if "CONSOLE" in line]
    for event in json.loads(log.read_text())["events"]:
        params = event.get("params") or {}
        if "url" in params and params.get("initiator", BROWSERS_OWN) != BROWSERS_OWN:
            found.append(f"request: {params['url']}")
    return found, made.stdout


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of models and simulations; no test changes it."""
    folder = tmp_path_factory.mktemp("report")
    claims = ("dchoices.table1.model", "dchoices.fig2", "dchoices.greedy", "pgc.cost")
    made = subprocess.run(
        [*COMMAND, "reproduce", *claims, "--quick", "--out", "made"],
        cwd=folder, env=environment(), text=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder / "made" / "report.html"


@needs_chromium
def test_the_page_is_quiet_in_a_browser(report: Path, tmp_path: Path) -> None:
    found, shown = complaints(report, tmp_path)
    assert found == []
    assert 'id="dchoices.table1.model"' in shown
    assert shown.count("<svg") == 1


@needs_chromium
@pytest.mark.parametrize(
    ("addition", "complaint"),
    [
        ("<script>console.error('deliberate')</script>", "deliberate"),
        ("<script>nothing.there()</script>", "ReferenceError"),
        ("<img src='http://flashgc.invalid/x.png'>", "request: http://flashgc.invalid/x.png"),
        ("<link rel=stylesheet href='https://flashgc.invalid/x.css'>", "flashgc.invalid/x.css"),
        ("<style>body{background:url(https://flashgc.invalid/y)}</style>", "flashgc.invalid/y"),
    ],
)
def test_a_page_that_is_not_would_be_noticed(tmp_path: Path, addition: str, complaint: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>x</title><body>{addition}")
    found, _ = complaints(page, tmp_path)
    assert any(complaint in one for one in found), found


@needs_chromium
def test_the_page_itself_forbids_what_comes_from_outside(report: Path, tmp_path: Path) -> None:
    text = report.read_text()
    page = tmp_path / "report.html"
    page.write_text(text.replace("<h1>", "<img src='https://flashgc.invalid/x.png'><h1>"))
    found, _ = complaints(page, tmp_path)
    assert any("Content Security Policy" in one for one in found), found
    assert not any(one.startswith("request") for one in found), found


def test_the_page_needs_nothing_beside_it(report: Path) -> None:
    text = report.read_text()
    addresses = re.findall(r"""(?:src|href)=["']?([^"' >]+)""", text)
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "<script" not in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "each id once"


def test_texts_are_escaped() -> None:
    from flashgc_papers.reproduce.folder import typeset

    assert typeset("<b>S_f</b>") == "&lt;b&gt;<i>S</i><sub>f</sub>&lt;/b&gt;"
