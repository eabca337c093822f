"""The parts that every result has.

Written by ``make docs`` from the declarations in the engine; edit those instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flashgc import results
from flashgc.results.parts import counts


@dataclass(frozen=True)
class Bytes:
    """The bytes written in the measured parts of all runs, by cause.

    ``programmed`` is ``host`` - ``merged`` + ``rounding`` + ``padding`` + ``copies``.
    """

    #: The bytes written by the host.
    host: int
    #: The bytes overwritten in the drive's write cache before they were programmed.
    merged: int
    #: The bytes programmed beside them because a write changes whole mapping units.
    rounding: int
    #: The bytes programmed without data, in flash pages that were not full when they had to be
    #: programmed.
    padding: int
    #: The bytes copied by collections, and by a map on flash.
    copies: int
    #: All bytes that were programmed.
    programmed: int


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
    #: The change of the line of least squares over the rounds, over the mean.
    slope: float
    #: ``True`` if the excursion is at most 20% and the slope at most 10%.
    met: bool


@dataclass(frozen=True)
class Steadiness:
    """The measured part of all runs, by the tests of a steady state."""

    #: The change of write amplification; ``None`` if there is not enough to tell, and for a trace
    #: in passes, whose parts differ.
    amplification: results.Drift | None
    #: The rest of the transient in write amplification, and half its interval by chance, over the
    #: mean of all runs; ``None`` for a trace in passes, and with a clock.
    transient: results.Drift | None
    #: The number of times that a cold page was written in the measured part, of the run with the
    #: fewest: the logarithm of one over the share of pages written before that were not written
    #: again. ``None`` for a trace, and with a clock.
    rewrites: float | None
    #: The change of the time for a request; ``None`` without a clock, and where requests arrive at
    #: given times, which the drive does not choose.
    pace: results.Drift | None
    #: The rule of SNIA's tests of performance, for the time for a request, or without it for write
    #: amplification. ``None`` for a trace in passes without a clock.
    snia: results.Snia | None
    #: The share of the programmed pages for which no block was erased: they went to blocks that
    #: were erased before the measured part. ``None`` if nothing was programmed, and where blocks
    #: are not all of the same size or not erased whole.
    from_spare: float | None


@dataclass(frozen=True)
class Samples:
    """The amplification of parts of the first run.

    Another run on the same writes has the same parts.
    """

    #: The digest of the writes: results with an equal one were measured on the same writes.
    #: ``None`` if other runs do not write the same.
    writes: str | None
    #: The amplification of each pass of a trace, or of each of 20 batches.
    values: tuple[float, ...]
    #: The way from the mean over all runs to the level that is left of the transient; 0 where that
    #: is not known.
    left: float
    #: ``True`` if they are passes.
    passes: bool
    #: ``True`` if another seed gives the same figures: a trace is replayed a given number of times,
    #: by policies that use no random numbers.
    exact: bool


@dataclass(frozen=True)
class Erases:
    """The figures of the erase counts of one drive's blocks since it was made."""

    #: The mean over the blocks.
    mean: float
    #: The standard deviation over the blocks (all of them, not a sample).
    deviation: float
    #: The standard deviation divided by the mean; ``None`` before the first erase.
    cv: float | None
    #: The Gini coefficient: 0 if all blocks are alike, 1 if one has all erases; ``None`` before the
    #: first erase.
    gini: float | None
    #: The erases of the least worn block.
    min: int
    #: The erases of the most worn block.
    max: int


@dataclass(frozen=True)
class WearPoint:
    """The wear of a drive at one moment."""

    #: The drive writes done.
    drive_writes: float
    #: The mean erases of a block.
    mean: float
    #: The standard deviation over the blocks.
    deviation: float
    #: The Gini coefficient; ``None`` before the first erase.
    gini: float | None
    #: The erases of the least worn block, those that 10% to 90% of the blocks do not exceed, and
    #: those of the most worn block: 11 numbers.
    deciles: tuple[int, ...]


@dataclass(frozen=True)
class Wear(Erases):
    """The wear since the drives were made, warm-up included."""

    #: The blocks of all runs by their erases: the least erases of each bin, and its blocks.
    histogram: tuple[tuple[int, int], ...] = field(repr=False)
    #: The wear of the first run over time. It is kept if there is an endurance.
    series: tuple[results.WearPoint, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Result(counts.Counters):
    """The result of all runs of one configuration."""

    #: The bytes programmed per byte written by the host, as the mean over the runs.
    write_amplification: float
    #: Half the width of the 95% confidence interval of write amplification, over the runs
    #: (Student's t). With one run, or if all are alike, it is over the passes of a trace, or over
    #: 20 batches of another workload. ``None`` if there is not enough to tell it from.
    write_amplification_ci95: float | None
    #: The interval of write amplification, from least to most. It begins at 1 if half its width
    #: would reach further, as amplification is never below; or at 0 if a write cache merges writes.
    write_amplification_interval: tuple[float, float] | None
    #: The write amplification of each run that came to its measured part.
    run_values: tuple[float, ...]
    #: Other figures of each run, by the names that tables have: ``erases``, ``read_p99_us``,
    #: ``requests_per_second``. Empty for one run.
    by_run: Mapping[str, tuple[float, ...]]
    #: Half the width of the 95% interval of ``page_amplification``; ``None`` where that of write
    #: amplification cannot be told.
    page_amplification_ci95: float | None
    #: The bytes written in the measured parts of all runs, by cause.
    bytes: results.Bytes
    #: The writes of less than a mapping unit in the measured parts of all runs.
    short_writes: int
    #: The pages read by the host.
    reads: int
    #: The cost of wear levelling, which the counts above include; ``None`` without it.
    levelling: results.Levelling | None
    #: The number and the evenness of the erases of blocks since the drives were made; ``None`` if
    #: no run began.
    wear: results.Wear | None
    #: The lifetime of the drives; ``None`` if blocks bear any number of erases.
    lifetime: results.Lifetime | None
    #: The counts of the host; ``None`` without one.
    host: results.HostTraffic | None
    #: The counts of zombies; ``None`` if neither policy nor placement asks for them.
    zombies: results.Zombies | None
    #: The cost of each stream; ``None`` if writes name none.
    streams: tuple[results.Stream, ...]
    #: The log of flexible data placement; ``None`` without it.
    fdp: results.Fdp | None
    #: The trace and its replays; ``None`` for generators.
    trace: results.Replayed | None
    #: The time that the flash was busy; ``None`` without times.
    busy: results.Busy | None
    #: The samples that comparisons pair.
    samples: results.Samples
    #: The bytes that a controller needs in its memory for the map; 0 if no run began.
    map_bytes: int
    #: The counts of merges of log blocks; ``None`` for a mapping that has none.
    merges: results.Merges | None
    #: The traffic of a map on flash; ``None`` for a map in memory.
    map_traffic: results.MapTraffic | None
    #: The swap traffic; ``None`` without a page cache.
    swap: results.Swap | None
    #: The pages programmed a second of one core, warm-up included. Only this figure differs from
    #: machine to machine.
    page_programs_per_second: float
    #: ``True`` if write amplification, and with a clock the time for a request, had stopped moving
    #: in the measured part, and the drive did not live on blocks that were erased before.
    steady: bool
    #: The tests behind ``steady``.
    steadiness: results.Steadiness
    #: ``True`` if the runs were stopped before their end.
    interrupted: bool
    #: The claims that a reader should know before using the figure.
    findings: tuple[results.Finding, ...]
    #: The course of the first run: the drive writes done, and the write amplification of the
    #: interval.
    series: tuple[tuple[float, float], ...] = field(repr=False)
    #: The drive writes of the first run before its measured part.
    measured_from: float
    #: The seed of the first run.
    seed: int
    #: The digest of every decision and of every count, with a clock of every time: runs with equal
    #: digests are equal. Names are not in it: the digest is the same for a trace under any path and
    #: in any compression, and for a policy in Python and its built-in twin.
    digest: str
    #: The digest of the configuration as it is recorded here, with its names.
    config_digest: str
    #: The blocks that were asked for, or that the pages of a trace need, if the drive has more so
    #: that every plane has an equal number.
    blocks_asked: int | None
    #: The configuration in full.
    config: results.Config
    #: The version of flashgc.
    version: str
