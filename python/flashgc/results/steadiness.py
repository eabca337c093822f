"""Steady or not: the tests of the measured part of all runs."""

from __future__ import annotations

from dataclasses import dataclass

from flashgc import results


@dataclass(frozen=True)
class Drift:
    """The change from the first to the second half of the measured part."""

    #: The change over the mean.
    drift: float
    #: Half its 95% interval.
    ci95: float


@dataclass(frozen=True)
class Snia:
    """The rule of SNIA's Solid State Storage Performance Test Specification, over five rounds."""

    #: The largest value less the smallest one, over the mean.
    excursion: float
    #: The least-squares line through the rounds: its change from first to last round, by the mean.
    slope: float
    #: True if the excursion is at most 20% and the slope at most 10%.
    met: bool


@dataclass(frozen=True)
class Steadiness:
    """The tests of a steady state."""

    #: The change of write amplification; ``None`` if there is not enough to tell, and for a trace
    #: in passes, whose parts differ.
    amplification: results.Drift | None
    #: The rest of the transient in write amplification, and half its interval by chance, over the
    #: mean; ``None`` for a trace in passes, and with a clock.
    transient: results.Drift | None
    #: The times that a seldom written page was written in the measured part: the logarithm of
    #: one over the share of pages written before that were not written again. ``None`` for a
    #: trace, and with a clock.
    rewrites: float | None
    #: The change of the time for a request; ``None`` without a clock, and where requests arrive at
    #: given times.
    pace: results.Drift | None
    #: SNIA's rule, for the time for a request, or without it for write amplification; ``None`` for
    #: a trace in passes without a clock.
    snia: results.Snia | None
    #: The share of the programmed pages that went to blocks erased before the measured part;
    #: ``None`` where it cannot be told.
    from_spare: float | None
