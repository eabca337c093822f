"""A run as one page for a browser: figures, the curve of write amplification, and phases."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from flashgc.device.execution.outcome import Executed
from flashgc.device.execution.samples import cuts
from flashgc.device.execution.written import Written, in_words
from flashgc.device.files.flash import FlashMap
from flashgc.device.files.outcome import ByFile
from flashgc.foreign import for_html
from flashgc.units import format_count, format_duration, format_share, format_size, format_time

HERE = Path(__file__).parent

#: The program that draws the maps, and the security policy that lets the browser run no other.
SCRIPT = (HERE / "maps.js").read_text(encoding="utf-8")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src "
    f"'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}'"
)

PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
PAGES.filters.update(
    count=format_count,
    share=format_share,
    size=format_size,
    duration=format_duration,
    html=lambda text: Markup(for_html(text)),
)


def files(by_file: ByFile | None) -> dict[str, Any]:
    """The variables that ``files.html.j2`` needs."""
    if by_file is None:
        return {"by_file": None}
    maps = [("As it was", by_file.map)]
    if by_file.handles is not None:
        maps.append(("With placement handles", by_file.handles.map))
    owners = by_file.map.owners
    keys = [*(f"k{at}" for at in range(len(owners) - 2)), "kb", "kr"]
    drawn = {
        "owners": owners,
        "keys": keys,
        "pages": by_file.map.pages_per_block,
        "each": by_file.map.blocks_per_cell,
        "maps": [
            {"live": [_column(counts) for counts in map_.live], "invalid": _column(map_.invalid)}
            for _, map_ in maps
        ],
    }
    return {
        "by_file": by_file,
        "copies": sum(owner.copied_pages for owner in by_file.owners) or 1,
        "maps": maps,
        "keys": keys,
        "rows": [_row(by_file.map, at) for at in range(len(owners))],
        # With ``<`` escaped, no browser takes a file's name for markup.
        "drawn": Markup(json.dumps(drawn).replace("<", "\\u003c")),
        "script": Markup(SCRIPT),
    }


def _column(numbers: list[int]) -> str:
    """Numbers with commas between them; a 0 is empty, which saves space."""
    return ",".join(str(number or "") for number in numbers)


def _row(map_: FlashMap, at: int) -> dict[str, Any]:
    """The figures of one owner; the owners most often copied with it come first in ``company``."""
    copied = map_.copied[at]
    company = sorted(enumerate(map_.company[at]), key=lambda entry: -entry[1])
    return {
        "at": at,
        "name": map_.owners[at],
        "live": sum(map_.live[at]),
        "cells": sum(map(bool, map_.live[at])),
        "copied": copied,
        "victims": map_.victims[at],
        "company": [(other, pages / copied) for other, pages in company if pages],
    }


#: Width and height of the picture, and the space for its axes, in its own units.
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 260, 52, 40, 26

#: The number of points of the curve.
PARTS = 60

#: The style sheet of a page.
STYLE = (HERE / "page.css").read_text(encoding="utf-8")


def page(done: Executed) -> str:
    """The page as HTML that loads no other file."""
    return PAGES.get_template("page.html.j2").render(
        done=done, facts=_facts(done), curve=Markup(_curve(done)), style=Markup(STYLE),
        policy=POLICY, in_words=in_words, **files(done.by_file),
    )  # fmt: skip


def _facts(done: Executed) -> tuple[tuple[str, str], ...]:
    written = done.written
    return (
        ("exit code", str(done.exit_code)),
        ("time", format_duration(done.seconds)),
        (
            "drive",
            f"{format_size(done.drive['capacity_bytes'])}, {done.drive['policies']['victim']}",
        ),
        ("file system", done.filesystem),
        ("written", _written(written)),
        ("host bytes", format_size(done.host_bytes)),
        ("flash bytes", format_size(done.flash_bytes)),
        ("pages copied", format_count(done.copied_pages)),
        ("erases", format_count(done.erases)),
        (
            "TRIM",
            f"{format_size(done.trimmed_data_bytes)} with data, of "
            f"{format_size(done.trimmed_bytes)} named",
        ),
        *(
            (
                f"{kind} latency",
                f"p50 {format_time(latency['p50'])}, p99 {format_time(latency['p99'])}",
            )
            for kind, latency in done.latency_us.items()
            if latency["count"]
        ),
    )


def _written(written: Written) -> str:
    text = in_words(written.bytes, written.least, written.most)
    return text if written.unknown is None else f"{text}: {written.unknown}"


def _curve(done: Executed) -> str:
    """Write amplification over the bytes that the host wrote, with the phases' beginnings."""
    page_bytes = done.stat["page_bytes"]
    ends = cuts(done.samples, PARTS) if len(done.samples) > 2 else []
    parts = [
        (last.host_bytes - first.host_bytes, (last.programmed - first.programmed) * page_bytes)
        for first, last in pairwise(ends)
        if last.host_bytes > first.host_bytes
    ]
    if len(parts) < 2:
        return ""
    whole = sum(host for host, _ in parts)
    values = [programmed / host for host, programmed in parts]
    top = max(1.2, max(values) * 1.05)

    def x(bytes_: float) -> float:
        return LEFT + (WIDTH - LEFT - 12) * bytes_ / whole

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (top - value) / (top - 1) if top > 1 else TOP

    points, at = [], 0
    for (host, _), value in zip(parts, values, strict=True):
        points += [f"{x(at):.1f},{y(value):.1f}", f"{x(at + host):.1f},{y(value):.1f}"]
        at += host
    marks = "".join(_mark(x(bytes_), name) for bytes_, name in _begins(done))
    ticks = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
        f'stroke="var(--line)"/><text x="{LEFT - 8}" y="{y(value) + 4:.1f}" '
        f'text-anchor="end">{value:.2f}</text>'
        for value in _ticks(top)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="write amplification over the bytes written">{ticks}'
        f'<polyline fill="none" stroke="var(--curve)" stroke-width="2" '
        f'points="{" ".join(points)}"/>'
        f'{marks}<text x="{LEFT}" y="{HEIGHT - 22}">0</text>'
        f'<text x="{WIDTH - 12}" y="{HEIGHT - 22}" text-anchor="end">'
        f"{format_size(whole)}</text>"
        f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"bytes that reached the drive</text></svg>"
    )


def _ticks(top: float) -> Sequence[float]:
    step = next(step for step in (0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 1e9) if (top - 1) / step <= 5)
    return [1 + step * at for at in range(int((top - 1) / step) + 1)]


def _begins(done: Executed) -> Iterator[tuple[int, str]]:
    """For each phase but the first: the bytes that the host wrote before it, and its name."""
    before = 0
    for phase in done.phases:
        if before:
            yield before, phase.name
        before += phase.host_bytes


def _mark(at: float, name: str) -> str:
    anchor = "end" if at > WIDTH * 0.7 else "start"
    shift = -4 if anchor == "end" else 4
    return (
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}" '
        f'stroke="var(--mark)" stroke-dasharray="3 3"/><text x="{at + shift:.1f}" y="{TOP - 10}" '
        f'text-anchor="{anchor}">{for_html(name)}</text>'
    )
