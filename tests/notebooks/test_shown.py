"""Results show themselves: in one line as text, and as a small table in notebooks."""

from __future__ import annotations

import importlib
import pkgutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flashgc
from flashgc import model
from flashgc._documents import Document
from flashgc._summaries import MOST_ROWS, Column, Shown, to_html
from flashgc.registry import brief
from flashgc.studies.identifying.measurements import Drive, Point
from flashgc.studies.identifying.workloads import condition
from flashgc.traces import Converted

DRIVE: dict[str, Any] = {"blocks": 100, "pages_per_block": 16, "writes": "4x"}
TIMED: dict[str, Any] = {"kind": "timed", "device": "mlc", "blocks": 256, "requests": 500}


def documents(folder: Path) -> Iterator[Document]:
    """A document of each kind."""
    yield flashgc.run("hotcold:f=0.2,r=0.8", runs=2, **DRIVE)
    yield flashgc.run(runs=2, arrivals="poisson:rate=100", **TIMED)
    yield flashgc.compare(["greedy", "fifo"], runs=2, frontier=["single", "pool"], **DRIVE)
    yield flashgc.compare(["greedy", "fifo"], runs=2, arrivals="poisson:rate=100", **TIMED)
    yield flashgc.sweep(
        {
            "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "1%"]},
            "run": {"writes": "2x"},
        },
        results=folder / "grid.results",
    )
    grid = folder / "grid.toml"
    grid.write_text("[drive]\nblocks = 64\npages_per_block = 16\n[run]\nwrites = '2x'\n")
    yield flashgc.bundle(grid, folder / "grid.zip")
    yield flashgc.verify(folder / "grid.zip")
    yield flashgc.find("spare", "WA<3", low="10%", high="30%", step="5%", runs=2, **DRIVE)
    volumes = folder / "volumes.csv"
    volumes.write_text("".join(f"{n % 2},W,{n * 7 % 64 * 4096},4096,0\n" for n in range(2000)))
    small: dict[str, Any] = {"pages_per_block": 8, "spare": "10%", "passes": 4}
    yield flashgc.fleet(volumes, ["greedy", "fifo"], results=folder / "fleet.results", **small)
    yield flashgc.gap("uniform", schemes=["sepbit-cb"], classes=4, sigma=[1], runs=2, **DRIVE)
    few = {"victim": ["greedy:ties=latest", "fifo", "random"], "placement": "none"}
    yield flashgc.tune("uniform", budget=3, runs=2, frontier="single", **few, **DRIVE)
    points = [
        Point(condition(f"zipf:theta={theta}", 10**12), 4 - theta, 0.02)
        for theta in (0.2, 0.5, 0.8, 0.9)
    ]
    yield flashgc.identify(
        [Drive("one", tuple(points))],
        scheme=["greedy single", "fifo single"],
        blocks=64,
        quick=True,
    )
    yield model.evaluate("greedy", spare=0.1)
    yield model.transient(d=10, spare=0.1)
    yield model.validate("fifo", blocks=200, spare=0.1, pages_per_block=32, runs=2, writes="2x")
    yield Converted(1000, 0, "msr", ())
    yield flashgc.Recording(1000, 10, 0, 0)
    trace = folder / "trace.csv"
    flashgc.trace_synth("uniform", trace, pages=64, requests=100)
    yield flashgc.trace_stat(trace)
    counts = folder / "counts.csv"
    counts.write_text(
        "time,host_bytes_written,media_bytes_written,capacity,percentage_used\n"
        "1700000000,1000,1500,1000,3\n1700086400,3000,4700,1000,4\n"
    )
    yield flashgc.wear(counts)
    yield flashgc.qualify(
        times="read=50us,program=500us,erase=3ms,transfer=10us",
        blocks=128,
        pages_per_block=64,
        spare="25%",
        tests="latency",
        quick=True,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    return list(documents(tmp_path_factory.mktemp("shown")))


def classes(cls: type) -> set[type]:
    return {one for sub in cls.__subclasses__() for one in (sub, *classes(sub))}


def test_every_document_is_shown_here(shown: list[Document]) -> None:
    for module in pkgutil.walk_packages(flashgc.__path__, "flashgc."):
        importlib.import_module(module.name)
    assert classes(Document) == {type(one) for one in shown}


def test_a_document_is_one_line_as_text(shown: list[Document]) -> None:
    for one in shown:
        assert repr(one).startswith(f"<{type(one).__name__} ")
        assert str(one).startswith(repr(one)[len(type(one).__name__) + 2 : -1])
        assert "\n" not in repr(one)
        assert len(repr(one)) <= 240, repr(one)


def table(text: str) -> ET.Element:
    """The parsed table; fails if it is not well formed."""
    return ET.fromstring(text)


def test_a_document_is_a_small_table_in_a_notebook(shown: list[Document]) -> None:
    for one in shown:
        root = table(one._repr_html_())
        rows = root.findall(".//tbody/tr")
        assert 1 <= len(rows) <= MOST_ROWS
        (width,) = {len(row) for row in rows}
        assert len(root.findall(".//th")) in (0, width)
        assert len(one._repr_html_()) < 20_000


def cells(document: Document) -> list[list[str]]:
    root = table(document._repr_html_())
    return [[cell.text or "" for cell in row] for row in root.findall(".//tbody/tr")]


def test_a_comparison_shows_its_figures_and_what_differs() -> None:
    ranking = flashgc.compare(["greedy", "fifo"], runs=2, frontier=["single", "pool"], **DRIVE)
    assert len(ranking) == 4
    for row, rank in zip(cells(ranking), ranking, strict=True):
        result = rank.result
        assert row[:3] == [str(rank.place), brief(result.policy), result.frontier]
        assert row[3].split(" ")[0] == f"{result.write_amplification:.4f}"
        assert row[4].split(" ")[0] == f"{rank.ratio:.3f}"
    assert f"{ranking.best.write_amplification:.4f}" in repr(ranking)


def test_a_timed_result_shows_response_times() -> None:
    result = flashgc.run("uniform:read=0.5", arrivals="poisson:rate=100", **TIMED)
    assert result.timing is not None
    names = [row[0] for row in cells(result)]
    assert {"reads", "writes"} <= set(names)
    assert "response time" in repr(result)
    assert "response time" in repr(result.timing)
    assert len(repr(result.timing)) < 120


def test_parts_of_results_are_short_too() -> None:
    result = flashgc.run(
        "uniform:read=0.5", **TIMED, arrivals="poisson:rate=100", endurance=1000, writes=None
    )
    parts = [result.wear, result.lifetime, result.bytes, result.config, result.timing]
    parts += [result.timing and result.timing.over_time]
    for part in parts:
        assert len(repr(part)) < 1500, repr(part)


def test_an_interrupted_result_says_so() -> None:
    control = flashgc.Control()
    control.cancel()
    result = flashgc.run(control=control, **DRIVE)
    assert repr(result).endswith("nothing was measured, 0 runs, interrupted>")
    assert "interrupted: the figures cover the part that was run" in result._repr_html_()


def test_texts_in_tables_are_escaped_and_long_ones_counted() -> None:
    shown = Shown("", [("<b>", "&")] * (MOST_ROWS + 2), [Column("<i>"), Column("b")], ["<script>"])
    text = to_html("<u>", shown)
    root = table(text)
    assert not {"b", "i", "u", "script"} & {element.tag for element in root.iter()}
    assert [p.text for p in root.findall("p")] == ["2 more rows", "<script>"]


def test_tables_take_the_colours_of_the_page(shown: list[Document]) -> None:
    for one in shown:
        styles = [element.get("style", "") for element in table(one._repr_html_()).iter()]
        assert not any("#" in style or "rgb" in style for style in styles)
        assert not any("background" in style for style in styles)
