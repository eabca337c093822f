"""The parts of flashgc beyond its public API that the papers need; nothing else imports them."""

from __future__ import annotations

from flashgc import _core as core
from flashgc import _engine as engine
from flashgc._core import Control, device_configuration, suggest, trace_join
from flashgc._documents import Json, dumps
from flashgc._faults import describe
from flashgc._files import write
from flashgc._interruptions import interrupts_program

__all__ = [
    "Control", "Json", "core", "describe", "device_configuration", "dumps", "engine",
    "interrupts_program", "suggest", "trace_join", "write",
]  # fmt: skip
