"""Signals that end long work, which keeps what it has."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashgc._core import Control


@contextlib.contextmanager
def until_stopped(control: Control) -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP cancels ``control``; the next one ends the process."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        if control.cancelled:
            raise KeyboardInterrupt
        control.cancel()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
