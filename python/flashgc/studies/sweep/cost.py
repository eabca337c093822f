"""Estimates of the duration of a cell relative to others, for progress and plans."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any

from flashgc import _core
from flashgc.policy_files import KEYS, is_written
from flashgc.units import parse_count

#: Default page writes per second of one core, for counting drives and for timed drives.
USUAL = {"counting": 10e6, "timed": 0.5e6}
#: Seconds per call of a typical policy in Python: of a victim policy that looks at ten blocks, and
#: of a placement for each page programmed (``docs/performance.md``). A policy may take a hundred
#: times as long.
PICK, PAGE = 1.5e-6, 0.5e-6
#: Default number of pages programmed per page that the host writes.
_AMPLIFICATION = 2.0
#: Pages per block if the configuration has no number.
_PAGES_PER_BLOCK = 64
#: Bytes of a trace per page write, uncompressed and compressed.
_TRACE_BYTES, _PACKED_BYTES = 10, 2
#: Passes of a trace, and drive writes of a generator, until write amplification is steady.
_USUAL_PASSES, _USUAL_DRIVE_WRITES = 70.0, 100.0
#: Drive writes before the clock starts, if they end when the drive has settled.
_USUAL_BEFORE = 10.0
#: Assumed number of pages of a drive whose size depends on the trace.
_UNKNOWN_PAGES = 1 << 20


def drive_of(config: Mapping[str, Any]) -> str:
    """The kind of drive: ``counting`` or ``timed``."""
    return "counting" if config.get("timed") is None else "timed"


def written(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The policies in Python that the drive calls, by name."""
    return tuple(config[key] for key in KEYS if is_written(config.get(key)))


def kind_of(config: Mapping[str, Any]) -> str:
    """A key for configurations of about equal speed: the kind of drive and the policies in Python.

    >>> kind_of({"victim": "python:mine.py:pick"}), kind_of({"victim": "greedy", "timed": {}})
    ('counting python:mine.py:pick', 'timed')
    """
    return " ".join((drive_of(config), *written(config)))


def pages_of(config: Mapping[str, Any]) -> int:
    """The approximate number of pages of the map, in mapping units, of the drive."""
    blocks, capacity = config.get("blocks"), config.get("capacity")
    page = int(config.get("page_size") or 4096)
    unit = int(config.get("mapping_unit") or page)
    if blocks:
        return int(blocks) * int(config.get("pages_per_block") or 1) * page // unit
    if capacity:
        return int(capacity) // unit
    return _UNKNOWN_PAGES


def writes_of(config: Mapping[str, Any]) -> float:
    """The approximate number of pages that the host writes in all runs."""
    ((unit, amount),) = config["length"].items()
    pages = pages_of(config)
    runs = int(config.get("runs") or 1)
    workload = str(config["workload"])
    if unit == "writes":
        text = str(amount).strip()
        if text.endswith("x"):
            return runs * float(text[:-1]) * pages
        return runs * float(parse_count(text))
    if unit == "requests":
        return runs * float(amount)
    if unit == "collections":
        return runs * float(amount) * int(config.get("pages_per_block") or 1) / 4
    if _core.is_trace(workload):
        passes = float(amount) if re.fullmatch(r"[\d.]+", str(amount)) else 3.0
        return runs * (_USUAL_PASSES if unit == "settled" else passes) * _trace_writes(workload)
    return runs * _USUAL_DRIVE_WRITES * pages


def before_of(config: Mapping[str, Any]) -> float:
    """The approximate number of pages that the host writes before the run, in all runs.

    A warm-up that is a part of the run has no further writes.

    >>> drive = {"blocks": 1000, "pages_per_block": 100, "runs": 3, "timed": None}
    >>> before_of(drive | {"warmup": "2x"}), before_of(drive | {"warmup": "30%"})
    (600000.0, 0.0)
    """
    text = str(config.get("warmup") or "0").strip()
    if text == "auto":
        text = f"{_USUAL_BEFORE}x" if drive_of(config) == "timed" else "0"
    if "/" in text or text.endswith("%"):
        return 0.0
    runs = int(config.get("runs") or 1)
    if text.endswith("x"):
        return runs * float(text[:-1]) * pages_of(config)
    return runs * float(parse_count(text))


def _trace_writes(path: str) -> float:
    """The approximate number of pages that a trace writes, from the size of its file."""
    try:
        with open(path, "rb") as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(16)
    except OSError:
        return (1 << 20) / _TRACE_BYTES
    return size / (_PACKED_BYTES if _core.is_compressed(head) else _TRACE_BYTES)


def seconds_of(config: Mapping[str, Any], speeds: Mapping[str, float]) -> float:
    """The approximate seconds on one core; ``speeds`` are writes per second by :func:`kind_of`.

    If the kind has no speed, the default speed of the drive and the typical time of calls to Python
    are used. Writes before the run have the speed of counting drives.

    >>> config = {"workload": "uniform", "blocks": 1000, "pages_per_block": 100, "runs": 1,
    ...           "length": {"writes": "20x"}, "timed": None}
    >>> seconds_of(config, {"counting": 1e6})
    2.0
    """
    writes = writes_of(config)
    speed = speeds.get(kind_of(config))
    if speed:
        return max(writes / speed, 1e-3) if math.isfinite(speed) else 0.0
    called = 0.0
    if is_written(config.get("victim")):
        called += PICK / int(config.get("pages_per_block") or _PAGES_PER_BLOCK)
    if is_written(config.get("placement")):
        called += PAGE
    before = before_of(config)
    drive = writes / USUAL[drive_of(config)] + before / USUAL["counting"]
    return max(drive + (writes + before) * _AMPLIFICATION * called, 1e-3)
