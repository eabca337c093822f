"""The result of all runs of one configuration, as typed Python and as one JSON document."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flashgc import _core, results
from flashgc._documents import Document, Json, read
from flashgc._summaries import Shown, figure, runs, short
from flashgc.results.parts import run
from flashgc.units import format_count, format_share, format_size

#: The ids of findings that say that a figure is not steady.
_MOVING = {"unsteady", "pace-moves", "burst", "overload"}


class Bytes(run.Bytes):
    """The bytes written in the measured parts of all runs, by cause."""

    def per_host_byte(self, part: str) -> float:
        """The bytes of the field ``part`` for each byte that the host wrote.

        >>> written = Bytes(
        ...     host=4, merged=0, rounding=12, padding=0, copies=2, programmed=18, parity=0)
        >>> written.per_host_byte("rounding")
        3.0
        """
        return int(getattr(self, part)) / self.host if self.host else math.nan


@dataclass(frozen=True, repr=False)
class Result(Document, run.Result):
    """The result of all runs of one configuration.

    Counts cover the measured part, summed over the runs. Counts of pages are in mapping units.
    """

    #: Largest resident memory of the process so far, in bytes; ``None`` where the system does not
    #: tell (Windows).
    peak_memory_bytes: int | None
    _raw: dict[str, Json] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> Result:
        """The result from the values of :meth:`to_dict`."""
        return read(cls, raw, _raw=raw)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The findings as lines of text."""
        return tuple(finding.text for finding in self.findings)

    @property
    def verdict(self) -> str:
        """``yes`` if the figures are steady, ``no`` if one of them changes, else ``not known``."""
        # A drive's whole life has no steady state.
        ends = "until" in self.config.length
        return "no" if ends else verdict(self.steady, self.steadiness, self.findings)

    @property
    def copies_per_host_write(self) -> float:
        """Bytes copied per byte written by the host."""
        return self.bytes.per_host_byte("copies")

    @property
    def page_amplification(self) -> float:
        """Mapping units programmed per unit that the host wrote at least in part.

        It is the write amplification without the effect of rounding to whole units, since papers
        count in pages.
        """
        written = self.bytes
        units = written.host - written.merged + written.rounding
        return self.write_amplification * written.host / units if units else math.nan

    @property
    def write_amplification_with_parity(self) -> float:
        """Write amplification with the programs of parity; without parity, write amplification."""
        with_parity = self._raw.get("write_amplification_with_parity")
        return with_parity if isinstance(with_parity, float) else self.write_amplification

    @functools.cached_property
    def timing(self) -> results.Timing | None:
        """Response times and others that need a clock; ``None`` without a clock."""
        return results.Timing.from_dict(self._raw) if "latency_us" in self._raw else None

    @property
    def worst(self) -> results.Worst | None:
        """The slowest request of a drive with a clock, and the causes; ``None`` without a clock."""
        worst = () if self.timing is None else self.timing.worst
        return max(worst, key=lambda entry: entry.response_us, default=None)

    @property
    def measured(self) -> bool:
        """True if there is a figure. A run that was stopped in its warm-up has none."""
        if (timing := self.timing) is not None:
            return timing.latency_us.all is not None
        if self.swap is not None:
            return bool(self.swap.references)
        return self.host_pages > 0 and math.isfinite(self.write_amplification)

    @property
    def mapping(self) -> str:
        """The mapping of pages; all parameters are written out."""
        return self.config.mapping

    @property
    def vm_scheme(self) -> str | None:
        """The scheme by which collections treat pages in memory; ``None`` without a page cache."""
        return None if self.config.swap is None else self.config.swap.scheme

    @property
    def label(self) -> str:
        """The name of the scheme, or else the policy."""
        return self.config.scheme or self.policy

    @property
    def policy(self) -> str:
        """The victim policy with all parameters, after the mapping unless that is ``page``."""
        victim = self.config.victim
        names = [] if self.mapping == "page" else [self.mapping]
        return " ".join([*names, *([] if victim == "none" else [victim])])

    @property
    def frontier(self) -> str:
        """The write frontier."""
        return self.config.frontier

    @property
    def allocation(self) -> str:
        """The block allocation of the pool."""
        return self.config.allocation

    @property
    def wear_levelling(self) -> str:
        """The wear levelling, which moves cold data; ``none`` without any."""
        return self.config.wear_levelling or "none"

    @property
    def placement(self) -> str:
        """The rule that gives a page its class, and so its open block."""
        return self.config.placement

    @property
    def hosting(self) -> str:
        """The cache and the hints of a host, in short; ``none`` without a host."""
        from flashgc.registry import brief

        host = self.config.host
        return "none" if host is None else f"{brief(host.cache)}, {brief(host.hints)}"

    @property
    def preemption(self) -> str:
        """The rule by which collections give way to requests, on a drive with a clock."""
        return str((self.config.timed or {}).get("preemption", "none"))

    @property
    def workload(self) -> str:
        """The workload; shares of reads and discards that are 0 are omitted."""
        return short_workload(self.config.workload)

    @property
    def headline(self) -> str:
        """The main figure, with its name and half its 95% interval, in one line."""
        if not self.measured:
            return "nothing was measured"
        if self.timing is not None:
            return self.timing.headline
        if self.swap is not None:
            return f"I/O time {figure(self.swap.io_seconds)} s"
        wa = figure(self.write_amplification, self.write_amplification_ci95)
        return f"write amplification {wa}"

    def _shown(self) -> Shown:
        config = self.config
        names = f"{short(self.label)} on {short(self.workload)}"
        line = f"{names}: {self.headline}, {runs(len(self.run_values))}"
        rows = [
            ("workload", short(self.workload)),
            *(() if config.scheme is None else (("scheme", short(config.scheme)),)),
            ("policy", short(self.policy)),
            (
                "drive",
                f"{format_count(config.blocks)} blocks of {config.pages_per_block} pages of "
                f"{format_size(config.page_size)}",
            ),
            ("spare factor", format_share(config.spare_factor)),
        ]
        if self.measured:
            rows += [] if self.timing is None else self.timing.rows()
            rows += [
                (
                    "write amplification",
                    figure(self.write_amplification, self.write_amplification_ci95),
                ),
                ("measured", f"{format_count(self.host_pages)} host pages"),
                ("copies", f"{format_count(self.copied_pages)} pages"),
                ("erases", f"{format_count(self.erases)} {self.config.block_noun}"),
                ("steady", self.verdict),
            ]
        rows.append(("repeat", f"seed {self.seed}, digest {self.digest}, flashgc {self.version}"))
        stopped = ["interrupted: the figures cover the part that was run"] * self.interrupted
        return Shown(
            line + ", interrupted" * self.interrupted, rows, notes=[*stopped, *self.warnings]
        )


def verdict(steady: bool, tests: results.Steadiness, findings: Iterable[results.Finding]) -> str:
    """``yes`` if figures are steady, ``no`` if one is known to change, else ``not known``."""
    if steady:
        return "yes"
    # A graver finding may have replaced the finding on a changing pace.
    pace = tests.pace
    moves = pace is not None and _core.exceeds_chance(pace.drift, pace.ci95)
    return "no" if moves or any(finding.id in _MOVING for finding in findings) else "not known"


def short_workload(workload: str) -> str:
    """``workload`` without the shares of reads and discards that are 0.

    >>> short_workload("0.5*zipf:theta=1,read=0,trim=0 + 0.5*uniform:read=0,trim=0.1")
    '0.5*zipf:theta=1 + 0.5*uniform:trim=0.1'
    """
    return _NOTHING.sub("", workload)


_NOTHING = re.compile(r"[,:]read=0,trim=0(?![.0-9])|(?<=:)read=0,(?=trim)|,trim=0(?![.0-9])")
