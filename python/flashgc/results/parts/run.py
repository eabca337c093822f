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
    #: The bytes programmed in excess of the host's bytes because a write changes whole mapping
    #: units.
    rounding: int
    #: The bytes programmed without data, because a flash page was not full when it was programmed.
    padding: int
    #: The bytes copied by collections, and by a map on flash.
    copies: int
    #: All bytes of data that were programmed.
    programmed: int
    #: The bytes of parity that were programmed besides ``programmed``.
    parity: int


@dataclass(frozen=True)
class Drift:
    """The change from the first to the second half of the measured part."""

    #: The change, as a share of the mean.
    drift: float
    #: Half its 95% interval.
    ci95: float


@dataclass(frozen=True)
class Snia:
    """The rule of SNIA's Solid State Storage Performance Test Specification, over five rounds."""

    #: The largest value minus the smallest, as a share of the mean.
    excursion: float
    #: The change of the least-squares line over the rounds, as a share of the mean.
    slope: float
    #: ``True`` if the excursion is at most 20% and the slope at most 10%.
    met: bool


@dataclass(frozen=True)
class Steadiness:
    """The results of the tests of a steady state, on the measured part of all runs."""

    #: The change of write amplification; ``None`` if there is not enough data, and for a trace in
    #: passes, because its parts differ.
    amplification: results.Drift | None
    #: The part of the transient that is left in write amplification, and half its interval by
    #: chance, as shares of the mean over all runs; ``None`` for a trace in passes, and with a
    #: clock.
    transient: results.Drift | None
    #: The number of times that a cold page was written in the measured part, in the run with the
    #: fewest. It is the logarithm of 1 / s, if s is the share of earlier written pages that were
    #: not written again. ``None`` for a trace, and with a clock.
    rewrites: float | None
    #: The change of the time for a request; ``None`` without a clock, and if requests arrive at
    #: given times, because then the drive does not determine the pace.
    pace: results.Drift | None
    #: The steady-state rule of SNIA: for the time for a request or, if that is not tested, for
    #: write amplification. ``None`` for a trace in passes without a clock.
    snia: results.Snia | None
    #: The share of the programmed pages for which no block was erased, because they went to blocks
    #: that were erased before the measured part. ``None`` if nothing was programmed, and if blocks
    #: differ in size or are not erased whole.
    from_spare: float | None


@dataclass(frozen=True)
class Samples:
    """The write amplification of parts of the first run.

    Another run with the same writes has the same parts.
    """

    #: The digest of the writes. Results with the same digest were measured on the same writes.
    #: ``None`` if other runs cannot have the same writes.
    writes: str | None
    #: The write amplification of each pass of a trace, or of each of 20 batches.
    values: tuple[float, ...]
    #: The change that is left of the transient: the final level of write amplification minus the
    #: mean over all runs; 0 if it is unknown.
    left: float
    #: ``True`` if ``values`` are those of passes.
    passes: bool
    #: ``True`` if every run gives the same result: a trace is replayed a fixed number of times, by
    #: policies that use no random numbers.
    exact: bool


@dataclass(frozen=True)
class Erases:
    """Statistics of the erase counts of one drive's blocks since the drive was made."""

    #: The mean over the blocks.
    mean: float
    #: The standard deviation over the blocks, as a whole population.
    deviation: float
    #: The standard deviation divided by the mean; ``None`` before the first erase.
    cv: float | None
    #: The Gini coefficient: 0 if all blocks are equal, near 1 if one block has all erases; ``None``
    #: before the first erase.
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
    #: 11 numbers of erases: of the least worn block, at the 1st to 9th decile of the blocks, and of
    #: the most worn block.
    deciles: tuple[int, ...]


@dataclass(frozen=True)
class Wear(Erases):
    """The wear since the drives were made, warm-up included."""

    #: The histogram of the blocks of all runs: the smallest number of erases of each bin, and the
    #: blocks in it.
    histogram: tuple[tuple[int, int], ...] = field(repr=False)
    #: The wear of the first run over time; empty without an endurance.
    series: tuple[results.WearPoint, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Result(counts.Counters):
    """The result of all runs of one configuration."""

    #: The bytes programmed per byte written by the host, as the mean over the runs.
    write_amplification: float
    #: Half the width of its 95% confidence interval, over the runs (Student's t). With one run, or
    #: if all runs are identical, it is over the passes of a trace, or over 20 batches of another
    #: workload. ``None`` if there is not enough data.
    write_amplification_ci95: float | None
    #: The interval, as its lower and upper end. The lower end is at least 1, the least possible
    #: write amplification; with a write cache that merges writes, at least 0.
    write_amplification_interval: tuple[float, float] | None
    #: The write amplification of each run that reached its measured part.
    run_values: tuple[float, ...]
    #: Other figures of each run, by their names in tables: ``erases``, ``read_p99_us``,
    #: ``requests_per_second``. Empty if there is one run.
    by_run: Mapping[str, tuple[float, ...]]
    #: Half the width of its 95% interval; ``None`` if that of write amplification is not known.
    page_amplification_ci95: float | None
    #: The bytes written in the measured parts of all runs, by cause.
    bytes: results.Bytes
    #: The number of writes of less than a mapping unit, in the measured parts of all runs.
    short_writes: int
    #: The pages read by the host.
    reads: int
    #: The cost of wear levelling, which the counts above include; ``None`` without it.
    levelling: results.Levelling | None
    #: The erases of blocks since the drives were made, warm-up included: their number and evenness.
    #: ``None`` if no run began.
    wear: results.Wear | None
    #: The lifetime of the drives; ``None`` if blocks never wear out.
    lifetime: results.Lifetime | None
    #: The counts of the host; ``None`` without one.
    host: results.HostTraffic | None
    #: The counts of zombies; ``None`` if neither the policy nor the placement uses hints.
    zombies: results.Zombies | None
    #: The cost of each stream; ``None`` if writes have no streams.
    streams: tuple[results.Stream, ...]
    #: The log of flexible data placement; ``None`` without it.
    fdp: results.Fdp | None
    #: The trace and its replays; ``None`` for generators.
    trace: results.Replayed | None
    #: The time that the flash was busy; ``None`` if operation times are not given.
    busy: results.Busy | None
    #: The samples that comparisons pair.
    samples: results.Samples
    #: The bytes of memory that a controller needs for the map; 0 if no run began.
    map_bytes: int
    #: The counts of merges of log blocks; ``None`` for a mapping that has none.
    merges: results.Merges | None
    #: The traffic of a map on flash; ``None`` for a map in memory.
    map_traffic: results.MapTraffic | None
    #: The swap traffic; ``None`` without a page cache.
    swap: results.Swap | None
    #: The pages programmed per second of one core's time, warm-up included. Only this figure
    #: differs between machines.
    page_programs_per_second: float
    #: ``True`` if write amplification, and with a clock the time for a request, no longer changed
    #: in the measured part, and writes did not use up blocks that were erased before.
    steady: bool
    #: The results of the tests that ``steady`` rests on.
    steadiness: results.Steadiness
    #: ``True`` if the runs were stopped before their end.
    interrupted: bool
    #: The findings that a reader should know before using the figure.
    findings: tuple[results.Finding, ...]
    #: Pairs, one an interval: the drive writes done, and the write amplification of the interval.
    series: tuple[tuple[float, float], ...] = field(repr=False)
    #: The drive writes before the measured part.
    measured_from: float
    #: The seed of the first run.
    seed: int
    #: The digest of every decision and every count and, with a clock, of every time. Runs with
    #: equal digests are equal. Names are not in it: the digest does not depend on the path and the
    #: compression of a trace, and a policy in Python has the same digest as the same policy built
    #: in.
    digest: str
    #: The digest of the configuration in this result, names included.
    config_digest: str
    #: The number of blocks in the configuration, or the number that the pages of a trace need;
    #: ``None`` unless the drive has more, so that every plane has the same number.
    blocks_asked: int | None
    #: The configuration, with the drive's shape.
    config: results.Config
    #: The version of flashgc.
    version: str
