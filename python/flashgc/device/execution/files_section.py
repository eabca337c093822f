"""The part of the page on files: who causes the copies, and the maps of the blocks."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from flashgc.device.files.flash import FlashMap
from flashgc.device.files.outcome import ByFile
from flashgc.units import format_count, format_duration, format_share, format_size

HERE = Path(__file__).parent

#: The program that draws the maps, and the policy by which a browser runs no other.
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
    count=format_count, share=format_share, size=format_size, duration=format_duration
)


def files(by_file: ByFile | None) -> dict[str, Any]:
    """The names that ``files.html.j2`` needs."""
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
            {"live": [_column(one) for one in map_.live], "invalid": _column(map_.invalid)}
            for _, map_ in maps
        ],
    }
    return {
        "by_file": by_file,
        "copies": sum(one.copied_pages for one in by_file.owners) or 1,
        "maps": maps,
        "keys": keys,
        "rows": [_row(by_file.map, at) for at in range(len(owners))],
        # No browser takes it for markup, whatever is in a file's name.
        "drawn": Markup(json.dumps(drawn).replace("<", "\\u003c")),
        "script": Markup(SCRIPT),
    }


def _column(numbers: list[int]) -> str:
    """Numbers in short: nothing for 0."""
    return ",".join(str(number or "") for number in numbers)


def _row(map_: FlashMap, at: int) -> dict[str, Any]:
    """The figures of one owner; the most frequent company of its copies comes first."""
    copied = map_.copied[at]
    company = sorted(enumerate(map_.company[at]), key=lambda one: -one[1])
    return {
        "at": at,
        "name": map_.owners[at],
        "live": sum(map_.live[at]),
        "cells": sum(map(bool, map_.live[at])),
        "copied": copied,
        "victims": map_.victims[at],
        "company": [(other, pages / copied) for other, pages in company if pages],
    }
