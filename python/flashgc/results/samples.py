"""Samples of results, which comparisons pair."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Samples:
    """Write amplification of parts of the first run that another run on the same writes has too."""

    #: Digest of what was written: results that agree in it are of the same writes. ``None`` where
    #: other runs do not write the same.
    writes: str | None
    #: Write amplification of each pass of a trace, or of each of 20 batches.
    values: tuple[float, ...]
    #: Way from the mean over all runs to the level that is left of the transient; 0 where that is
    #: not known.
    left: float
    #: True if they are passes.
    passes: bool
    #: True if the run is one of a kind: a trace replayed so often as was asked for, without random
    #: numbers.
    exact: bool
