"""The map of blocks by the owners of their pages: its sums, and how a page shows it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from device.browser import Browser, browser, needs_browser
from device.test_drive import churn
from flashgc import Device, DriveError, _core, run
from flashgc.device.execution.page import PAGES, POLICY, STYLE, files
from flashgc.device.files.flash import REST, FlashMap, Layout
from flashgc.device.files.outcome import ByFile, Handles, check
from flashgc.device.files.owners import BEFORE, Owner
from flashgc.device.options_of import options_of
from flashgc.device.source import Blocks
from flashgc.device.still import PALETTE

SHAPE = {"blocks": 96, "pages_per_block": 32, "spare": "20%", "victim": "greedy"}

#: Owners by their numbers, and the index of each owner's group on the map.
SHOWN, GROUPS = ["tables", "logs", BEFORE, REST], [2, 0, 1, 3]
NAMES = [BEFORE, "tables", "logs", "other"]


class Made:
    """A drive with a recording, the owners of its pages, and its own counts."""

    def __init__(self, folder: Path, **shape: Any) -> None:
        self.file, recording = folder / "drive", folder / "run.flashgc.zst"
        with Device.create(self.file, **{**SHAPE, **shape}) as drive:
            self.pages = drive.size // 4096
            drive.record(recording)
            churn(drive, 16_000)
            drive.record(None)
            self.stat, self.blocks = drive.stat(), drive.blocks()
        self.trace = folder / "tagged.flashgc.zst"
        parts = [(0, 0, self.pages, 1), (0, self.pages // 2, self.pages, 2)]
        changes = [*parts, (0, self.pages - 40, 30, 3)]
        self.told = _core.trace_tag([(recording, self.trace)], changes, self.pages, 4096)

    def layout(self, placement: tuple[str, list[int]] | None = None) -> Layout:
        return Layout.of(self.file, self.trace, SHOWN, GROUPS, (0, 1 << 60), placement)

    def owners(self, layout: Layout) -> list[Owner]:
        return [
            Owner(name, written, layout.copied_of[number], 0, trimmed, written - ended, None)
            for number, (name, (written, trimmed, ended, _)) in enumerate(
                zip(NAMES, self.told, strict=False)
            )
            if written
        ]

    def check(self, layout: Layout, blocks: Blocks | None = None) -> None:
        counters = self.stat["counters"]
        written, copied = counters["host_pages_written"], counters["copied_pages"]
        check(self.owners(layout), layout, blocks or self.blocks, written, copied)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("made"))


def test_sums_are_those_of_the_drive_and_of_the_owners(made: Made) -> None:
    layout = made.layout()
    made.check(layout)
    assert made.stat["counters"]["copied_pages"] > 1000
    by_name = {one.name: one.live_pages for one in made.owners(layout)}
    found = dict(zip(SHOWN, map(sum, layout.map.live), strict=True))
    rest = by_name.pop("other")
    assert found == {**by_name, BEFORE: 0, REST: rest}
    assert sum(found.values()) == made.stat["mapped_pages"]


def test_copies_by_owner_are_those_of_the_counting_drive(made: Made) -> None:
    config = {**SHAPE, "logical_pages": made.pages}
    policies = {"victim": "greedy", "placement": "none", "frontier": "pool:low=2"}
    drive = {**config, "policies": policies}
    for placement, streams in (("none", None), ("fdp:handles=4", [1, 2, 0, 0])):
        result = run(
            str(_in_groups(made, streams) if streams else made.trace),
            **{**options_of(drive), "placement": placement},
        )
        layout = made.layout(None if streams is None else (placement, streams))
        assert sum(layout.copied_of) == result.copied_pages
        if streams is None:
            told = {one.stream: one.copied_pages for one in result.streams}
            assert told == {number: layout.copied_of[number or 0] for number in told}


def _in_groups(made: Made, streams: list[int]) -> Path:
    """Writes the recording again, with each write in the stream of its owner's group."""
    path = made.trace.with_name("grouped.flashgc.zst")
    recording = made.trace.with_name("run.flashgc.zst")
    [_, first, second, third] = [streams[group] for group in GROUPS]
    changes = [
        (0, 0, made.pages, first),
        (0, made.pages // 2, made.pages, second),
        (0, made.pages - 40, 30, third),
    ]
    _core.trace_tag([(recording, path)], changes, made.pages, 4096)
    return path


def test_handles_make_the_colours_of_a_block_purer(made: Made) -> None:
    mixed = made.layout().map.purity
    apart = made.layout(("fdp:handles=4,persistent=4", [1, 2, 0, 3])).map.purity
    assert mixed is not None
    assert mixed < 0.9
    assert apart == 1


WRONG: dict[str, Callable[[FlashMap], FlashMap]] = {
    "current pages of each owner on the map": lambda map_: replace(
        map_, live=[map_.live[1], map_.live[0], *map_.live[2:]]
    ),
    "pages copied on the map": lambda map_: replace(
        map_, company=[[n + 1 for n in row] for row in map_.company]
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_map_is_refused(made: Made, what: str) -> None:
    layout = made.layout()
    with pytest.raises(DriveError, match=f"--by-file: {what}: found .*please report it"):
        made.check(replace(layout, map=WRONG[what](layout.map)))


def test_a_map_of_another_drive_is_refused(made: Made, tmp_path: Path) -> None:
    other = Made(tmp_path, victim="fifo")
    with pytest.raises(DriveError, match="pages copied"):
        made.check(other.layout())
    # Equal pages in other blocks are refused.
    moved = replace(made.blocks, valid=made.blocks.valid[1:] + made.blocks.valid[:1])
    with pytest.raises(DriveError, match="current pages of each block"):
        made.check(made.layout(), moved)


def by_file(map_: FlashMap, apart: FlashMap) -> ByFile:
    owners = [Owner(name, 100, 10, 0, 3, 5, 4.0) for name in map_.owners]
    return ByFile(owners, map_, Handles(map_.owners[:-2], 50, 100, apart))


def page(shown: ByFile) -> str:
    body = PAGES.get_template("files.html.j2").render(files(shown))
    return (
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}"><style>{STYLE}</style>{body}'
    )


def test_a_page_of_16000_blocks_stays_small() -> None:
    blocks, owners = 16_000, [*(f"files/N{at}" for at in range(7)), BEFORE, REST]
    live = [[(at * 7 + owner * 31) % 28 for at in range(blocks)] for owner in range(9)]
    map_ = FlashMap(owners, 256, 1, live, [4] * blocks, 0.5, 9, 1, [3] * 9, [[2] * 10] * 9)
    assert len(page(by_file(map_, map_))) < 1_200_000


def test_colours_of_owners_are_those_of_the_plots() -> None:
    _, light, dark = STYLE.split("@media (prefers-color-scheme: dark)")
    for scheme, text in (("light", light), ("dark", dark)):
        for at, colour in enumerate(PALETTE[scheme]["classes"]):
            assert f"--k{at}: {colour}" in text


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def count(image: Any, colour: str) -> int:
    """The number of pixels with exactly this colour."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.rint(image[..., :3] * 255) == wanted).all(axis=-1).sum())


def pixels(window: Browser, colour: str) -> int:
    return count(matplotlib.image.imread(io.BytesIO(window.screenshot())), colour)


@needs_browser
@pytest.mark.xdist_group("browser")
def test_a_browser_shows_whose_pages_are_where(window: Browser, tmp_path: Path) -> None:
    # Four blocks of ten pages: one of each of two owners, one half and half, and one erased.
    owners = ["a<b>.N", "</script>", BEFORE, REST]
    live = [[10, 0, 5, 0], [0, 10, 5, 0], [0] * 4, [0] * 4]
    company = [[0, 7, 0, 0, 0], *[[0] * 5] * 3]
    map_ = FlashMap(owners, 10, 1, live, [0] * 4, 0.75, 3, 2, [1, 0, 0, 0], company)
    shown = by_file(map_, replace(map_, live=[[10, 5, 0, 0], [0, 0, 10, 5], *live[2:]]))
    file = tmp_path / "page.html"
    file.write_text(page(shown), encoding="utf-8")
    for width in (1000, 360):
        window.resize(width, 1400)
        window.open(file.as_uri())
        window.until("document.querySelector('canvas').height > 1")
        # Both owners have fifteen pages on the map.
        first, second = (pixels(window, PALETTE["light"]["classes"][at]) for at in (0, 1))
        assert first == pytest.approx(second, rel=0.45)
        assert min(first, second) > 500
        assert window.run("return document.documentElement.scrollWidth <= innerWidth")
        window.run("document.querySelector('canvas').focus()")
        window.run(
            "for (let at = 0; at < 3; at += 1) document.querySelector('canvas').dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'ArrowRight'}))"
        )
        told = window.run("return document.querySelector('.tip span').textContent")
        assert told == "Block 2: a<b>.N 5, </script> 5 pages"
        label = window.run("return document.querySelector('canvas').getAttribute('aria-label')")
        assert label.startswith("map of 4 blocks. Current pages: a<b>.N 15, </script> 15")
        # Blocks are sorted by their main owner, full ones first.
        window.run("document.querySelector('[data-order=owner]').click()")
        window.run(
            "for (let at = 0; at < 2; at += 1) document.querySelector('canvas').dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'ArrowRight'}))"
        )
        told = window.run("return document.querySelector('.tip span').textContent")
        assert told == "Block 2: a<b>.N 5, </script> 5 pages"
        assert "beside invalid pages of </script> 100%" in window.run(
            "return document.body.innerText"
        )
        assert window.complaints() == []
    # The saved picture has the bars and the legend.
    window.run(
        "const link = document.querySelector('a.save');"
        "link.addEventListener('click', (event) => event.preventDefault()); link.click()"
    )
    saved = window.run("return document.querySelector('a.save').href")
    assert saved.startswith("data:image/png;base64,")
    image = matplotlib.image.imread(io.BytesIO(base64.b64decode(saved.partition(",")[2])))
    assert image.shape[1] == 2080
    assert count(image, PALETTE["light"]["classes"][0]) > 2000


def test_the_data_of_a_page_are_those_of_the_map(made: Made) -> None:
    map_ = made.layout().map
    drawn = json.loads(files(by_file(map_, map_))["drawn"])
    live = [[int(n or 0) for n in text.split(",")] for text in drawn["maps"][0]["live"]]
    assert live == map_.live
    assert len(live[0]) == 96
