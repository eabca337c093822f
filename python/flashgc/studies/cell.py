"""The work on one cell, in a thread of this process or in another process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from flashgc import _engine
from flashgc._core import ConfigError, Control, FlashgcError, PolicyError, TraceError
from flashgc._faults import describe
from flashgc.policy_files import KEYS, Files, is_written, parted
from flashgc.store import Kept


def simulate_cell(
    config: dict[str, Any],
    control: Control | None = None,
    instead: tuple[Path, bool] | None = None,
) -> Kept | None:
    """Simulate one configuration on one core; return ``None`` if it was stopped before its end.

    ``instead`` is a file that is read instead of the trace, and a flag: true if the file is a
    volume of the trace, false if it is a copy. Every error becomes part of the returned outcome, so
    that other cells continue.
    """
    begun = time.monotonic()
    try:
        policies = Files().of(config)
        simulated = _engine.simulate(
            [config],
            jobs=1,
            control=control,
            policies={0: policies} if policies else None,
            instead=instead,
        )
        result = simulated.results[0]
    except ConfigError as error:
        return Kept("cannot", config, None, str(error), time.monotonic() - begun)
    except TraceError as error:
        # A trace may be repaired, so its cell may be tried again. An error in a volume, which was
        # split from a trace, would happen again.
        status = "cannot" if instead is not None and instead[1] else "failed"
        return Kept(status, config, None, str(error), time.monotonic() - begun)
    except Exception as error:
        return Kept("failed", config, None, _reason(error, config), time.monotonic() - begun)
    if result["interrupted"]:
        return None
    return Kept("result", config, result, "", time.monotonic() - begun)


def _reason(error: Exception, config: dict[str, Any]) -> str:
    if isinstance(error, PolicyError):
        return _named(str(error), config)
    if isinstance(error, MemoryError):
        return "not enough memory"
    return str(error) if isinstance(error, FlashgcError | OSError) else describe(error)


def _named(text: str, config: dict[str, Any]) -> str:
    """The text of an error of a policy in Python; the text names the policy or its file."""
    written = [config[key] for key in KEYS if is_written(config.get(key))]
    if not written or any(parted(condition, "").file in text for condition in written):
        return text
    return f"{' and '.join(written)}: {text}"
