"""Pictures in files and pages, and the command that makes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import flashgc
from conftest import Command, environment
from flashgc import plot
from flashgc.plot import look
from pictures import SMALL, curves, pictures


def test_the_same_picture_gives_the_same_bytes(tmp_path: Path) -> None:
    program = (
        "from flashgc.plot import *\n"
        "line = Series('model', [1, 2, 3], [3, 4, 6], group='d')\n"
        "points = Series('simulation', [1, 2, 3], [3, 4, 6], [1, 1, 1], 'points', 'd')\n"
        "figure = against([line, points], x_label='$S_f$', reference_lines={'greedy': 4})\n"
        "for ending in ('svg', 'pdf', 'png'):\n"
        "    save(figure, f'one.{ending}'); save(figure, f'two.{ending}')\n"
    )
    for seed in "12":
        if seed == "2":
            time.sleep(1.1)  # If the file had a time, it would differ.
        (tmp_path / seed).mkdir()
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path / seed,
            env={**environment(), "PYTHONHASHSEED": seed},
            check=True,
        )
    for ending, start in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        made = [path.read_bytes() for path in tmp_path.glob(f"*/*.{ending}")]
        assert len(made) == 4
        assert len(set(made)) == 1
        assert made[0].startswith(start)


def test_a_picture_is_as_large_as_asked(tmp_path: Path) -> None:
    figure = plot.against(curves(), x_label="c")
    plot.save(figure, tmp_path / "a.png", dpi=50)
    data = (tmp_path / "a.png").read_bytes()
    assert int.from_bytes(data[16:20], "big") == 360, "7.2 inches in the header's width"


def test_a_style_outlives_its_block(tmp_path: Path) -> None:
    # Matplotlib creates ticks late, perhaps only while it saves.
    with plot.style("paper"):
        inside, outside = (plot.against(curves(), x_label="c") for _ in range(2))
        inside.axes[0].set_ylim(0, 10)
        plot.save(inside, tmp_path / "inside.svg")
    outside.axes[0].set_ylim(0, 10)
    plot.save(outside, tmp_path / "outside.svg")
    assert (tmp_path / "inside.svg").read_bytes() == (tmp_path / "outside.svg").read_bytes()


def test_settings_of_the_process_are_neither_used_nor_changed() -> None:
    import matplotlib as mpl

    before = plot.to_svg(plot.against(curves(), x_label="c"), prefix="a")
    with mpl.rc_context({"font.size": 30, "axes.grid": False, "svg.fonttype": "none"}):
        assert plot.to_svg(plot.against(curves(), x_label="c"), prefix="a") == before
        assert mpl.rcParams["font.size"] == 30
    assert "matplotlib.pyplot" not in sys.modules


def test_threads_draw_side_by_side() -> None:
    expected: dict[str, str] = {}
    found: dict[int, str] = {}

    def drawn(medium: str) -> str:
        with plot.style(medium):  # type: ignore[arg-type]
            return plot.to_svg(plot.against(curves(), x_label="c"), prefix="a")

    for medium in look.MEDIA:
        expected[medium] = drawn(medium)
    media = list(look.MEDIA) * 3
    threads = [
        threading.Thread(target=lambda at=at, medium=medium: found.update({at: drawn(medium)}))
        for at, medium in enumerate(media)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[at] for at in range(len(media))] == [expected[medium] for medium in media]


def test_ids_of_pictures_in_one_page_do_not_meet() -> None:
    drawn = [
        plot.to_svg(figure, prefix=f"fig{at}", label=kind)
        for at, (kind, figure) in enumerate(pictures().items())
    ]
    # One picture can be used twice, too.
    twice = plot.against(curves(), x_label="c")
    drawn += [plot.to_svg(twice, prefix=prefix) for prefix in ("same-a", "same-b")]
    page = ElementTree.fromstring(f"<page>{''.join(drawn)}</page>")
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) > 1000
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', "".join(drawn)))
    assert used
    assert used <= set(ids)
    assert all(text.startswith("<svg ") for text in drawn)
    outside = re.findall(r'(?:href|src)="(?!#)[^"]*"|@import|url\((?!#)', "".join(drawn))
    assert not outside, "a page must ask nobody for anything"
    rules = re.findall(r"<style[^>]*>(.*?)</style>", "".join(drawn))
    assert all(rule.startswith("#") for rule in rules), "a rule for the whole page"


def test_names_from_files_are_shown_as_they_are(tmp_path: Path) -> None:
    raw = flashgc.run(**SMALL).to_dict()
    odd = "/traces/$a$_{b\x1b[2J\udc80--漢.csv"
    result = flashgc.Result.from_dict({**raw, "config": {**raw["config"], "workload": odd}})
    figure = plot.run(result)
    page = ElementTree.fromstring(plot.to_svg(figure, prefix="odd", label=odd))
    assert page.get("aria-label") == "/traces/$a$_{b\\x1b[2J\\udc80--漢.csv"
    plot.save(figure, tmp_path / "odd.svg")
    ElementTree.parse(tmp_path / "odd.svg")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    figure = plot.against(curves(), x_label="c")
    with pytest.raises(FileNotFoundError, match=r"missing/a\.svg"):
        plot.save(figure, tmp_path / "missing" / "a.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(IsADirectoryError, match=r"Is a directory.*folder\.svg"):
        plot.save(figure, tmp_path / "folder.svg")
    (tmp_path / "full.svg").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device.*full\.svg"):
        plot.save(figure, tmp_path / "full.svg")


def test_a_picture_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = plot.against(curves(), x_label="c")
    plot.save(figure, tmp_path / "a.svg")
    before = (tmp_path / "a.svg").read_bytes()

    def full(_old: object, _new: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device.*a\.svg"):
        plot.save(figure, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.svg"]


TYPED = ("--blocks", "200", "--pages-per-block", "16", "--writes", "4x")


@pytest.mark.parametrize("name", ["run", "compare"])
def test_the_command_draws_what_it_prints(command: Command, tmp_path: Path, name: str) -> None:
    made = command(name, *TYPED, "--victim", "fifo", "--json", "--plot", "a.svg")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    ElementTree.parse(tmp_path / "a.svg")
    result = document if name == "run" else document["ranking"][0]["result"]
    # Texts are drawn as outlines; comments beside them hold the words.
    assert f"{result['write_amplification']:.4f}" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "a.gif",
            "error: --plot: a.gif: found '.gif', expected .svg, .pdf or .png; hint: name it ",
        ),
        (
            "a",
            "error: --plot: a: found no ending, expected .svg, .pdf or .png; hint: name it a.svg",
        ),
        ("", "error: --plot: the name is empty; hint: give a file, such as figure.svg"),
        ("no/a.svg", "error: --plot: no/a.svg: there is no such folder; hint: make it first"),
        (".", "error: --plot: . is a folder; hint: give a file in it"),
    ],
)
def test_a_picture_that_cannot_be_is_refused_before_the_work(
    command: Command, tmp_path: Path, file: str, message: str
) -> None:
    for name in ("run", "compare"):
        # The run itself would take years, so the refusal comes before it.
        made = command(name, "--writes", "1000000000x", "--plot", file)
        assert made.returncode == 2
        assert made.stderr.startswith(message)
        assert made.stderr.count("\n") == 1
        assert made.stdout == ""
    assert not list(tmp_path.iterdir())


def test_where_nothing_was_measured_nothing_is_drawn(command: Command, tmp_path: Path) -> None:
    # The trace has only reads after its first quarter. A third of it is warm-up.
    line = "128166372003061629,usr,0,{},{},4096,1331\n"
    writes = [line.format("Write", 4096 * page) for page in range(64)]
    reads = [line.format("Read", 4096 * page) for page in range(64)] * 3
    (tmp_path / "reads.csv").write_text("".join(writes + reads))
    typed = ("--workload", "reads.csv", "--passes", 1, "--pages-per-block", 16)
    made = command("run", *typed, "--plot", "a.svg")
    assert made.returncode == 0, made.stderr
    assert "a.svg was not drawn: nothing was measured" in made.stderr
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize("arguments", [["run", "--help"], ["run", *TYPED], ["policies"]])
def test_matplotlib_is_imported_for_pictures_only(arguments: list[str]) -> None:
    program = (
        "import sys, flashgc, flashgc.plot\n"
        "from flashgc.command import entrance\n"
        f"entrance.enter({arguments})\n"
        "sys.exit('matplotlib' in sys.modules)\n"
    )
    made = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True)
    assert made.returncode == 0, made.stderr
