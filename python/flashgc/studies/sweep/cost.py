"""Estimates of the duration of a cell beside others, for progress and plans."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any

from flashgc import _core
from flashgc.policy_files import KEYS, is_written
from flashgc.units import parse_count

#: Page writes a second of one core, if nothing is known: of counting drives, and of timed ones.
USUAL = {"counting": 10e6, "timed": 0.5e6}
#: Seconds of a call of a usual policy in Python: a victim that looks at ten blocks, and what a
#: placement takes for each page that is programmed (``docs/performance.md``). A policy may take
#: a hundred times as long.
PICK, PAGE = 1.5e-6, 0.5e-6
#: Pages programmed for each that the host writes, if nothing is known.
_AMPLIFICATION = 2.0
#: Pages a block, where the drive says nothing.
_PAGES_PER_BLOCK = 64
#: Bytes of a trace that stand for one page write, and of a compressed one.
_TRACE_BYTES, _PACKED_BYTES = 10, 2
#: Passes of a trace, and drive writes of a generator, until write amplification has settled.
_USUAL_PASSES, _USUAL_DRIVE_WRITES = 70.0, 100.0
#: Pages of a drive whose size the trace says.
_UNKNOWN_PAGES = 1 << 20


def drive_of(config: Mapping[str, Any]) -> str:
    """The kind of drive: ``counting`` or ``timed``."""
    return "counting" if config.get("timed") is None else "timed"


def written(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The policies in Python that the drive asks, as they are named."""
    return tuple(config[key] for key in KEYS if is_written(config.get(key)))


def kind_of(config: Mapping[str, Any]) -> str:
    """Configurations of one kind are about as fast: those of a kind of drive, and Python policies.

    >>> kind_of({"victim": "python:mine.py:pick"}), kind_of({"victim": "greedy", "timed": {}})
    ('counting python:mine.py:pick', 'timed')
    """
    return " ".join((drive_of(config), *written(config)))


def pages_of(config: Mapping[str, Any]) -> int:
    """About how many pages the drive has."""
    blocks, capacity = config.get("blocks"), config.get("capacity")
    if blocks:
        return int(blocks) * int(config.get("pages_per_block") or 1)
    if capacity:
        return int(capacity) // int(config.get("page_size") or 4096)
    return _UNKNOWN_PAGES


def writes_of(config: Mapping[str, Any]) -> float:
    """About how many pages the host writes in all runs."""
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


def _trace_writes(path: str) -> float:
    """About how many pages a trace writes, by the size of its file."""
    try:
        with open(path, "rb") as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(16)
    except OSError:
        return (1 << 20) / _TRACE_BYTES
    return size / (_PACKED_BYTES if _core.is_compressed(head) else _TRACE_BYTES)


def seconds_of(config: Mapping[str, Any], speeds: Mapping[str, float]) -> float:
    """About how many seconds of a core; ``speeds`` are writes a second by :func:`kind_of`.

    Without a speed it is the usual one of the drive, and the usual time of calls to Python.

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
    return max(writes / USUAL[drive_of(config)] + writes * _AMPLIFICATION * called, 1e-3)
