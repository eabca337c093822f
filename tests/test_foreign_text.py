"""Foreign names are harmless in every output: no control characters, line breaks or markup."""

from __future__ import annotations

import ast
import html.parser
import io
import json
import os
import pty
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.conftest import COMMAND, Command, environment

from flashgc import foreign
from flashgc.store import Store
from flashgc.store.file import Kept
from flashgc.terminal.guard import Guarded
from flashgc.terminal.render import Text, facts, table, warn
from flashgc.terminal.screen import Screen

ROOT = Path(__file__).parents[1]

#: A name with an escape sequence, a line break, three kinds of markup, and a text direction.
HOSTILE = "a\x1b[2Jb\nc\x9bd<img src=x onerror=alert(1)>|`e`\u202ef\x07"

#: Control characters of terminals. Line feeds are not among them, because our lines end so.
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

SMALL = ("--blocks", "64", "--pages-per-block", "16", "--writes", "2x")


def results_with(path: Path, text: str) -> Path:
    """A file of results with a result whose texts are hostile."""
    with Store(path) as store:
        config = {"workload": text, "victim": text, "timed": None}
        store.put("k" * 32, Kept("failed", config, None, text, asked={"gc.victim": text}), text)
    return path


@pytest.mark.parametrize("char", [chr(code) for code in range(32)] + ["\x7f", "\x9b", "\u202e"])
def test_no_control_passes_the_streams_of_the_command(char: str) -> None:
    raw = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    print(f"a{char}b", file=Guarded(raw), flush=True)  # type: ignore[arg-type]
    raw.seek(0)
    shown = raw.read()
    assert shown == f"a{char}b\n" if char in "\n\t" else not STEERS.search(shown)
    assert not STEERS.search(foreign.one_line(f"a{char}b"))
    assert len(foreign.one_line(f"a{char}b").splitlines()) == 1


def test_a_screen_passes_its_own_codes_and_no_others() -> None:
    shown = io.StringIO()
    target = Screen(shown)
    target._force_terminal = True
    made = table(target, [("name", "left")])
    made.add_row(HOSTILE)
    made.add_row(Text(HOSTILE, style="bold"))
    target.print(made)
    target.print(HOSTILE)
    target.print(facts(target, [("name", HOSTILE)]))
    ours = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue())
    assert not STEERS.search(ours)
    assert "\\x1b[2J" in ours


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    warn(f"found {HOSTILE}")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_table_of_foreign_names_is_a_table_of_markdown(tmp_path: Path, command: Command) -> None:
    results_with(tmp_path / "r", HOSTILE)
    done = command("results", "list", "r", "--out", "t.md")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "t.md").read_text().splitlines()
    assert len(lines) == 3
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert cells == [cells[0]] * 3
    assert not re.search(r"<(?!br)", lines[2])
    assert not STEERS.search("".join(lines))
    done = command("results", "list", "r", "--out", "t.tex")
    assert not STEERS.search((tmp_path / "t.tex").read_text())


#: Commands that print foreign names, with their arguments.
SHOWING: dict[str, tuple[str, ...]] = {
    "results list": ("results", "list", "r"),
    "results show": ("results", "show", "r", "k"),
    "trace stat": ("trace", "stat", f"{HOSTILE}.csv"),
    "no such trace": ("trace", "stat", f"no{HOSTILE}.csv"),
    "run": ("run", "--workload", f"{HOSTILE}.csv", *SMALL[:4]),
    "unknown option": ("run", f"--{HOSTILE}"),
    "unknown policy": ("run", "--victim", HOSTILE, *SMALL),
    "no such results": ("results", "list", HOSTILE),
    "condition": ("results", "list", "r", "--where", HOSTILE),
    "experiment": ("run", "e.toml"),
    "no such drive": ("device", "stat", HOSTILE),
    "plot": ("plot", "r", "--x", HOSTILE, "-o", "p.svg"),
}


@pytest.mark.parametrize("on", ["a pipe", "a terminal"])
@pytest.mark.parametrize("words", SHOWING.values(), ids=SHOWING)
def test_no_command_passes_a_foreign_name_on(
    words: tuple[str, ...], on: str, tmp_path: Path
) -> None:
    results_with(tmp_path / "r", HOSTILE)
    name = f"{HOSTILE}.csv".replace("/", "-")
    rows = "".join(f"{n},W,{n % 90 * 4096},4096,0\n" for n in range(900))
    (tmp_path / name).write_text(f"time_us,op,offset_bytes,size_bytes,dev\n{rows}")
    (tmp_path / "e.toml").write_text(f"[gc]\n{json.dumps(HOSTILE)} = 1\n")
    given = [*COMMAND, *words]
    if on == "a pipe":
        done = subprocess.run(given, cwd=tmp_path, env=environment(), capture_output=True)
        shown = (done.stdout + done.stderr).decode()
    else:
        shown = on_a_terminal(given, tmp_path)
        shown = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    assert shown
    assert not STEERS.search(shown), shown
    assert "Traceback" not in shown


def on_a_terminal(words: list[str], folder: Path) -> str:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        words, cwd=folder, env={**environment(), "TERM": "xterm"}, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(master)
    return shown.decode()


class Elements(html.parser.HTMLParser):
    """The names of the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


def test_a_page_of_foreign_names_has_no_element_of_theirs(tmp_path: Path, command: Command) -> None:
    pages = []
    for text, name in ((HOSTILE, "hostile"), ("plain", "plain")):
        results_with(tmp_path / name, text)
        done = command("report", name, "-o", f"{name}.html")
        assert done.returncode == 0, done.stderr
        page = Elements()
        page.feed((tmp_path / f"{name}.html").read_text())
        pages.append(page.names)
    assert pages[0] == pages[1]


def test_svg_and_metrics_have_a_foreign_name_as_text() -> None:
    made = ElementTree.fromstring(
        f'<svg a="{foreign.for_html(HOSTILE)}">{foreign.for_html(HOSTILE)}</svg>'
    )
    assert made.text == foreign.for_terminal(HOSTILE)
    assert "\n" not in foreign.for_openmetrics(HOSTILE)
    assert not re.search(r'(?<!\\)(?:\\\\)*"', foreign.for_openmetrics('a"b\\"c'))


def test_there_is_one_function_for_each_medium() -> None:
    """No other code escapes markup, and none prints to unguarded streams."""
    found = []
    packages = ("python", "python-papers")
    for path in (path for package in packages for path in (ROOT / package).rglob("*.py")):
        if path.name in ("foreign.py", "guard.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in ("html", "xml.sax.saxutils"):
                found.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.Attribute) and node.attr in ("__stdout__", "__stderr__"):
                found.append(f"{path}:{node.lineno}")
    assert found == []
