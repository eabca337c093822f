"""Timelines that are asked for as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flashgc.plot.files import FORMATS

#: Endings of names that ask for a picture; all others are JSON.
PICTURES = tuple(f".{kind}" for kind in FORMATS)


@contextmanager
def drawn(configs: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Draws the timelines whose files are to be pictures, once the ``with`` block has made them."""
    asked = [
        timed["timeline"]
        for timed in (config.get("timed") or {} for config in configs)
        if timed.get("timeline") and timed["timeline"]["file"].lower().endswith(PICTURES)
    ]
    if not asked:
        yield
        return
    import tempfile
    from pathlib import Path

    from flashgc import plot

    with tempfile.TemporaryDirectory(prefix="flashgc-") as folder:
        made = Path(folder) / "timeline.json"
        (timeline,) = asked  # Several configurations with one file are refused before.
        picture, timeline["file"] = timeline["file"], str(made)
        yield
        if made.exists():
            plot.save(plot.timeline(made), picture)
