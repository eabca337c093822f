"""The still image of a drive: an SVG with every block once, with figures, and reproducible."""

from __future__ import annotations

import itertools
import re
from array import array
from xml.etree import ElementTree

import pytest

import flashgc
from device.fake_drive import BAD, CLOSED, ERASED, OPEN, FakeDrive
from flashgc.device.source import Blocks
from flashgc.device.still import PALETTE, VIEWS, Cells, still
from flashgc.plot.look import COLOURS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drive() -> FakeDrive:
    made = FakeDrive()
    made.write(20_000)
    return made


def cells(svg: str) -> dict[str, int]:
    """The number of cells of each colour."""
    found: dict[str, int] = {}
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        colour = path.get("fill", "")
        found[colour] = found.get(colour, 0) + path.get("d", "").count("z")
    return found


def texts(svg: str) -> str:
    return "\n".join(text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text"))


@pytest.mark.parametrize("view", VIEWS)
def test_it_shows_every_block_once(drive: FakeDrive, view: str) -> None:
    drawn = still(drive.stat(), drive.blocks(), view)
    assert sum(cells(drawn).values()) == 256
    assert cells(drawn)[PALETTE["light"]["erased"]] == drive.state.count(ERASED)
    assert drawn == still(drive.stat(), drive.blocks(), view)
    assert f"{drive.stat()['write_amplification']:.3f}" in texts(drawn)
    assert f"erased {drive.state.count(ERASED)}" in texts(drawn)


def test_a_class_has_its_colour(drive: FakeDrive) -> None:
    found = cells(still(drive.stat(), drive.blocks(), "class"))
    closed = [cls for state, cls in zip(drive.state, drive.cls, strict=True) if state != ERASED]
    assert found[COLOURS[0]] == closed.count(0)
    assert found[COLOURS[1]] == closed.count(1) > 0


def test_colours_of_classes_are_those_of_the_plots() -> None:
    assert tuple(PALETTE["light"]["classes"]) == COLOURS


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scales_are_told_apart_by_lightness_alone(theme: str) -> None:
    for view in ("valid", "zombies", "wear"):
        light = [
            sum(
                w * int(stop[i : i + 2], 16)
                for w, i in zip((0.21, 0.72, 0.07), (1, 3, 5), strict=True)
            )
            for stop in PALETTE[theme][view]
        ]
        steps = [b - a for a, b in itertools.pairwise(light)]
        assert all(step < -12 for step in steps) or all(step > 12 for step in steps), (view, light)


def test_more_blocks_than_fit_are_means_and_that_is_said(drive: FakeDrive) -> None:
    count = 100_003
    state = bytearray([CLOSED]) * count
    state[7] = OPEN
    state[64:128] = bytes([ERASED]) * 64
    state[128:192] = bytes([BAD]) * 64
    blocks = Blocks(
        bytes(state), bytes(count), array("I", [32]) * count, array("I", [0]) * count,
        array("I", range(count)),
    )  # fmt: skip
    grouped = Cells(blocks, 64)
    assert grouped.each == 8
    assert list(grouped.states()[:25]) == [OPEN, *[CLOSED] * 7, *[ERASED] * 8, *[BAD] * 8, CLOSED]
    assert grouped.shares("valid")[1] == 0.5
    assert grouped.shares("wear")[1] == pytest.approx(11.5 / (count - 1))
    drawn = still(drive.stat(), blocks)
    assert "Each cell is 8 blocks" in texts(drawn)
    assert len(drawn) < 400_000


def test_names_are_text_and_no_markup(drive: FakeDrive) -> None:
    stat = {**drive.stat(), "file": '/tmp/<script>"&.flash', "write_amplification": None}
    drawn = still(stat, drive.blocks())
    assert '<script>"&.flash' in texts(drawn)
    assert re.search(r"<script", drawn) is None


def test_another_view_gets_a_hint(drive: FakeDrive) -> None:
    with pytest.raises(flashgc.ConfigError, match="unknown view 'waer'; hint: did you mean 'wear'"):
        still(drive.stat(), drive.blocks(), "waer")
