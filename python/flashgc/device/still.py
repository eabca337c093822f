"""A still: the map of all blocks with its key figures, as an SVG picture for a paper or a page.

It is black on white whatever the screen shows, and the same state gives the same bytes.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashgc._core import ConfigError, suggest
from flashgc.device.source import STATES, Blocks
from flashgc.foreign import for_html
from flashgc.units import format_count, format_size

ERASED, OPEN, CLOSED, BAD = range(len(STATES))

#: The meaning of a cell's colour, by the name of the view.
VIEWS = {
    "valid": "valid pages",
    "class": "class of data",
    "zombies": "zombies among the valid pages",
    "wear": "erases",
    "state": "state",
}

PALETTE: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "page" / "palette.json").read_text(encoding="utf-8")
)

#: Lengths in the picture's units, which are about points if it is as wide as a page's text.
WIDTH, MARGIN, HEIGHT_OF_MAP = 720, 20, 340
#: The smallest and the largest width of a cell with its gap.
SMALLEST, LARGEST = 4.0, 18.0
#: The number of shades of a scale; adjacent shades look alike.
SHADES = 24
INK, SOFT = "#222222", "#5f5f5f"
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"

Numbers = NDArray[np.float64]


def still(stat: dict[str, Any], blocks: Blocks, view: str = "valid") -> str:
    """The blocks of a drive and its key figures as one SVG document.

    ``stat`` and ``blocks`` are those of a :class:`flashgc.device.source.Source`; ``view`` is one of
    :data:`VIEWS`. If there are more blocks than fit, a cell stands for several blocks, and the
    picture says so. Raises :class:`flashgc.ConfigError` for an unknown view.
    """
    if view not in VIEWS:
        raise ConfigError(f"unknown view '{view}'; hint: {suggest(view, list(VIEWS))}")
    cells = Cells(blocks, stat["pages_per_block"])
    top = 122
    drawn, height = _map(cells, view, top)
    legend, below = _legend(cells, view, top + height + 16)
    tall = below + MARGIN
    label = f"{len(blocks)} blocks of {Path(stat['file']).name} by {VIEWS[view]}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall:g}" '
            f'width="{WIDTH}" height="{tall:g}" role="img" aria-label="{for_html(label)}" '
            f'font-family="{FONT}" fill="{INK}">',
            f"<title>{for_html(label)}</title>",
            f'<rect width="{WIDTH}" height="{tall:g}" fill="#ffffff"/>',
            *_head(stat),
            *drawn,
            *legend,
            "</svg>\n",
        )
    )


class Cells:
    """The blocks as cells of a map, with as many blocks per cell as needed to fit."""

    def __init__(self, blocks: Blocks, pages_per_block: int) -> None:
        self.pages = pages_per_block
        self.state = np.frombuffer(blocks.state, np.uint8)
        self.cls = np.frombuffer(blocks.cls, np.uint8)
        self.valid = np.asarray(blocks.valid, np.int64)
        self.zombies = np.asarray(blocks.zombies, np.int64)
        self.erases = np.asarray(blocks.erases, np.int64)
        room = math.floor((WIDTH - 2 * MARGIN) / SMALLEST) * math.floor(HEIGHT_OF_MAP / SMALLEST)
        #: Blocks per cell: a power of two.
        self.each = 1
        while math.ceil(len(blocks) / self.each) > room:
            self.each *= 2
        self.count = math.ceil(len(blocks) / self.each)

    def total(self, of: NDArray[Any]) -> NDArray[np.int64]:
        """Sums over the blocks of each cell."""
        padded = np.zeros(self.count * self.each, np.int64)
        padded[: len(of)] = of
        total: NDArray[np.int64] = padded.reshape(self.count, self.each).sum(axis=1)
        return total

    def states(self) -> NDArray[np.int64]:
        """A cell is open if one of its blocks is, erased or bad if all are, and else closed."""
        states = np.full(self.count, CLOSED)
        size = self.total(np.ones(len(self.state), np.int64))
        bad = self.total(self.state == BAD)
        states[self.total(self.state == ERASED) + bad == size] = ERASED
        states[bad == size] = BAD
        states[self.total(self.state == OPEN) > 0] = OPEN
        return states

    def shares(self, view: str) -> Numbers:
        """Return the mean position of each cell on the scale of a view, from 0 to 1."""
        if view == "valid":
            pages = self.total((self.state == OPEN) | (self.state == CLOSED)) * self.pages
            return _share(self.total(self.valid), pages)
        if view == "zombies":
            return _share(self.total(self.zombies), self.total(self.valid))
        least, most = self.wear()
        size = self.total(np.ones(len(self.state), np.int64))
        return _share(self.total(self.erases - least), size * max(most - least, 1))

    def wear(self) -> tuple[int, int]:
        """The fewest and the most erases of a block."""
        return int(self.erases.min(initial=0)), int(self.erases.max(initial=0))

    def classes(self) -> NDArray[np.int64]:
        """The most frequent class among a cell's written blocks; in a tie the lowest."""
        written = (self.state == OPEN) | (self.state == CLOSED)
        counts = [
            self.total(written & (self.cls == class_)) for class_ in range(self.cls.max() + 1)
        ]
        most: NDArray[np.int64] = np.argmax(counts, axis=0)
        return most


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Numbers:
    return np.clip(part / np.maximum(whole, 1), 0, 1)


def _head(stat: dict[str, Any]) -> list[str]:
    name = Path(stat["file"]).name
    size = (
        f"{format_size(stat['capacity_bytes'])} of data on {format_count(stat['blocks'])} blocks "
        f"of {format_size(stat['pages_per_block'] * stat['page_bytes'])}"
    )
    policies = f"victims by {stat['victim']}"
    if stat["placement"] != "none":
        policies += f", placement by {stat['placement']}"
    ocp, counters = stat["ocp"], stat["counters"]
    amplification = stat["write_amplification"]
    facts = (
        ("write amplification", "-" if amplification is None else f"{amplification:.3f}"),
        ("host writes", format_size(counters["host_bytes_written"])),
        ("flash writes", format_size(ocp["physical_media_units_written"])),
        ("pages copied", format_count(counters["copied_pages"])),
        ("erases of a block", _erases(ocp)),
        ("free blocks", format_count(stat["free_blocks"])),
    )
    step = (WIDTH - 2 * MARGIN) / len(facts)
    lines = [
        _text(MARGIN, 32, _cut(name, 52), 16, weight="bold"),
        _text(MARGIN, 50, size, 10.5, SOFT),
        _text(MARGIN, 65, _cut(policies, 112), 10.5, SOFT),
    ]
    for index, (what, value) in enumerate(facts):
        x = MARGIN + index * step
        lines += [_text(x, 88, what, 9, SOFT), _text(x, 106, value, 13.5, weight="bold")]
    return lines


def _erases(ocp: dict[str, Any]) -> str:
    return f"{ocp['user_data_erase_count_min']} to {ocp['user_data_erase_count_max']}"


def _map(cells: Cells, view: str, top: float) -> tuple[list[str], float]:
    """The cells as one path per colour, and their height."""
    palette = PALETTE["light"]
    wide = WIDTH - 2 * MARGIN
    step = min(LARGEST, math.sqrt(wide * HEIGHT_OF_MAP / cells.count))
    while math.ceil(cells.count / math.floor(wide / step)) * step > HEIGHT_OF_MAP:
        step *= 0.999
    # The number of columns that fit, stretched to the whole width.
    columns = math.floor(wide / step)
    step = min(LARGEST, wide / columns)
    size = step * (0.86 if step > 5 else 0.8)
    paths: dict[tuple[str, str], list[str]] = {}
    states = cells.states()
    if view == "class":
        fills = [palette["classes"][class_ % len(palette["classes"])] for class_ in cells.classes()]
    elif view == "state":
        fills = [palette["closed"]] * cells.count
    else:
        shades = scale(palette[view], SHADES)
        fills = [shades[shade] for shade in np.rint(cells.shares(view) * (SHADES - 1)).astype(int)]
    for index, (shade, state) in enumerate(zip(fills, states, strict=True)):
        x, y = MARGIN + index % columns * step, top + index // columns * step
        fill, stroke = shade, ""
        if state == ERASED:
            fill, stroke = palette["erased"], palette["edge"]
        elif state == OPEN:
            stroke = _rim(view)
            fill = stroke if view == "state" or step < 7 else shade
        elif state == BAD:
            fill = palette["bad"]
        inset = 0.06 * size if stroke else 0
        side = size - 2 * inset
        paths.setdefault((fill, stroke), []).append(
            f"M{x + inset:.4g} {y + inset:.4g}h{side:.3g}v{side:.3g}h-{side:.3g}z"
        )
    width = 0.14 * size
    drawn = []
    for (fill, stroke), pieces in sorted(paths.items()):
        edge = f' stroke="{stroke}" stroke-width="{width:.2g}"' if stroke else ""
        drawn.append(f'<path fill="{fill}"{edge} d="{"".join(pieces)}"/>')
    return drawn, math.ceil(cells.count / columns) * step


def _rim(view: str) -> str:
    """The colour around an open block: one that the view does not use."""
    colour: str = PALETTE["light"]["ink" if view in ("class", "wear") else "open"]
    return colour


def _legend(cells: Cells, view: str, y: float) -> tuple[list[str], float]:
    """Draw the meaning of the colours; return the elements and the position of their end."""
    palette = PALETTE["light"]
    counts = np.bincount(cells.state, minlength=len(STATES))
    lines: list[str] = []
    x = float(MARGIN)
    if view in ("class", "state"):
        written = np.isin(cells.state, (OPEN, CLOSED))
        if view == "state":
            keys = [(palette["closed"], f"closed {format_count(counts[CLOSED])}")]
        else:
            of = np.bincount(cells.cls[written])
            colours = palette["classes"]
            keys = [
                (colours[class_ % len(colours)], f"class {class_}: {format_count(blocks)}")
                for class_, blocks in enumerate(of)
                if blocks
            ]
        for fill, text in keys:
            x = _key(lines, x, y, text, fill)
    else:
        least, most = cells.wear()
        ends = (str(least), str(most)) if view == "wear" else ("0%", "100%")
        lines.append(_text(x, y + 9, f"{VIEWS[view]}  {ends[0]}", 9.5, SOFT))
        x += 5.6 * len(f"{VIEWS[view]}  {ends[0]}") + 6
        shades = scale(palette[view], SHADES)
        lines += [
            f'<rect x="{x + index * 5:g}" y="{y:g}" width="5.2" height="10" fill="{shade}"/>'
            for index, shade in enumerate(shades)
        ]
        x += SHADES * 5 + 6
        lines.append(_text(x, y + 9, ends[1], 9.5, SOFT))
        x += 6 * len(ends[1]) + 18
    for state, fill, stroke in (
        (OPEN, palette["open"] if view == "state" else "none", _rim(view)),
        (ERASED, palette["erased"], palette["edge"]),
        (BAD, palette["bad"], ""),
    ):
        if counts[state] or state != BAD:
            x = _key(lines, x, y, f"{STATES[state]} {format_count(counts[state])}", fill, stroke)
    end = y + 12
    if cells.each > 1:
        end += 15
        note = f"Each cell is {cells.each} blocks: their mean, and open if one of them is."
        lines.append(_text(MARGIN, end - 1, note, 9.5, SOFT))
    return lines, end


def _key(lines: list[str], x: float, y: float, text: str, fill: str, stroke: str = "") -> float:
    edge = f' stroke="{stroke}" stroke-width="1.4"' if stroke else ""
    lines.append(
        f'<rect x="{x + 0.7:.4g}" y="{y + 0.7:.4g}" width="8.6" height="8.6" fill="{fill}"{edge}/>'
    )
    lines.append(_text(x + 14, y + 9, text, 9.5, SOFT))
    return x + 14 + 5.6 * len(text) + 14


def scale(stops: list[str], shades: int) -> list[str]:
    """Evenly spaced colours from the first of ``stops`` to the last, through all of them.

    >>> scale(["#000000", "#ffffff"], 3)
    ['#000000', '#808080', '#ffffff']
    """
    rgb = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    at = np.linspace(0, len(stops) - 1, shades)
    mixed = [np.interp(at, np.arange(len(stops)), channel) for channel in rgb.T]
    return ["#" + "".join(f"{round(c):02x}" for c in colour) for colour in zip(*mixed, strict=True)]


def _text(x: float, y: float, text: str, size: float, fill: str = INK, weight: str = "") -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    place = f'x="{x:.5g}" y="{y:.5g}" font-size="{size:g}" fill="{fill}"{bold}'
    return f"<text {place}>{for_html(text)}</text>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
