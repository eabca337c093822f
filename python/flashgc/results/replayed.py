"""How a trace was replayed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Replayed:
    """A trace, and how often it was replayed."""

    #: Distinct pages read or written.
    pages: int
    #: Distinct pages written.
    pages_written: int
    #: Page writes of a pass.
    page_writes: int
    #: The trace's own overwrite factor: page writes over distinct pages written.
    overwrite: float
    #: Page writes of a pass over the pages of flash. Up to 1, a drive that begins empty takes the
    #: trace without a collection.
    flash_writes: float
    #: Passes measured in the first run; ``None`` where they are not whole.
    passes: int | None
    #: Passes of its warm-up; ``None`` where they are not whole.
    warmup_passes: int | None
