"""How a trace was replayed, and what comparisons pair."""

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


@dataclass(frozen=True)
class Samples:
    """Write amplification of parts of the first run that another run on the same writes has too."""

    #: Digest of what was written: results that agree in it are of the same writes. ``None`` where
    #: other runs do not write the same.
    writes: str | None
    #: Write amplification of each pass of a trace, or of each of 20 batches.
    values: tuple[float, ...]
    #: Whether they are passes.
    passes: bool
    #: Whether the run is one of a kind: a trace replayed so often as was asked for, without random
    #: numbers.
    exact: bool
