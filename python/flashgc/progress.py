"""The type of functions that show the progress of long work."""

from __future__ import annotations

from collections.abc import Callable

#: Shows progress: the share done, what is done, how much of it, and the unit.
Show = Callable[[float, str, int, str], None]
