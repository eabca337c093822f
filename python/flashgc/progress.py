"""Progress of long work, as a function shows it."""

from __future__ import annotations

from collections.abc import Callable

#: A function that shows progress: the share done, what is done, how many, and of what.
Show = Callable[[float, str, int, str], None]
