"""The rows between greedy and the lower bound, and what is open between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flashgc._core import DriveError
from flashgc._documents import Document, Json, plain
from flashgc._summaries import Column, Shown, figure, short
from flashgc.results import Finding, Result
from flashgc.results.intervals import half_width


@dataclass(frozen=True)
class Equal:
    """The standing of a scheme among predictors."""

    #: ``at`` (those with less error write less, those with more write more, and some may be
    #: alike), ``alike`` (it cannot be told apart from any), ``between`` (one with less error
    #: writes more than one with more error, with the scheme between them), ``ahead`` or ``behind``
    #: (of all that were run), or ``unknown`` (too few were).
    standing: str
    #: The error, on a straight line between the two next to it that were run; ``None`` where it is
    #: not ``at`` one, or where some predictors are alike.
    sigma: float | None = None
    #: Errors at which the curve has the scheme's figure, on such lines.
    crossings: tuple[float, ...] = ()
    #: The errors that were run on the two sides of each crossing. No more is known of it.
    brackets: tuple[tuple[float, float], ...] = ()
    #: Errors whose predictors cannot be told apart from the scheme.
    alike: tuple[float, ...] = ()
    #: Errors whose predictors write less than the scheme, and those that write more.
    less: tuple[float, ...] = ()
    more: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """A predictor beside the scheme."""

    sigma: float
    #: Its write amplification.
    figure: float
    #: True if the interval of the difference holds 0.
    is_alike: bool = False


def equal(curve: Sequence[Point], figure: float) -> Equal:
    """The standing of a scheme with this ``figure`` among the predictors of a ``curve``.

    Straight lines between neighbours; nothing is said beyond the smallest and the largest error,
    nor of points that are alike.

    >>> rising = [Point(0, 1.0), Point(1, 2.0), Point(2, 4.0)]
    >>> equal(rising, 2.5).sigma, equal(rising, 2.5).brackets
    (1.25, ((1, 2),))
    >>> equal(rising, 5.0).standing
    'behind'
    """
    points = sorted(curve, key=lambda point: point.sigma)
    if len(points) < 2:
        return Equal("unknown")
    apart = [point for point in points if not point.is_alike and point.figure != figure]
    alike = tuple(point.sigma for point in points if point not in apart)
    less = tuple(point.sigma for point in apart if point.figure < figure)
    more = tuple(point.sigma for point in apart if point.figure > figure)
    crossings, brackets = [], []
    for near, far in pairwise(apart):
        if (near.figure - figure) * (far.figure - figure) < 0:
            share = (figure - near.figure) / (far.figure - near.figure)
            crossings.append(near.sigma + share * (far.sigma - near.sigma))
            brackets.append((near.sigma, far.sigma))
    if not apart:
        standing = "alike"
    elif not alike and not less:
        standing = "ahead"
    elif not alike and not more:
        standing = "behind"
    elif less and more and less[-1] > more[0]:
        standing = "between"
    else:
        standing = "at"
    sigma = crossings[0] if standing == "at" and not alike else None
    return Equal(standing, sigma, tuple(crossings), tuple(brackets), alike, less, more)


ONLINE, MODEL, PREDICTOR, CLAIRVOYANCE, BOUND = (
    "online", "model", "predictor", "clairvoyance", "bound",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One scheme, model or bound."""

    #: ``online``, ``model``, ``predictor``, ``clairvoyance`` or ``bound``.
    kind: str
    #: Short, for people.
    name: str
    #: The specs that were simulated; ``None`` if nothing was simulated.
    victim: str | None = None
    placement: str | None = None
    #: A predictor's standard deviation of the logarithm of a predicted life; 0: it knows.
    sigma: float | None = None
    #: A predictor's errors are drawn anew for each page written (``write``) or for each request.
    errors: str | None = None
    #: ``None`` where it was not measured, or is not known.
    write_amplification: float | None = None
    #: Half its 95% interval; ``None`` where it cannot be told.
    write_amplification_ci95: float | None = None
    #: The figure of each seed.
    run_values: tuple[float, ...] = ()
    #: The digest of the decisions, as that of the same run.
    digest: str | None = None
    #: The figure without copies and padding: bytes of the mapping units that were written, for a
    #: byte that the host wrote. 1 where all writes are of whole units.
    without_copies: float | None = None
    #: The figure less that of the best online couple.
    difference: float | None = None
    #: Half the 95% interval of that, seed by seed; ``None`` of a single run.
    difference_ci95: float | None = None
    #: True if the two cannot be told apart; ``None`` where there are no intervals.
    inside_noise: bool | None = None
    #: True if it is the best online couple.
    is_best: bool = False
    #: The reason why there is no figure; empty if there is one.
    reason: str = ""
    #: The findings of its runs.
    findings: tuple[Finding, ...] = ()

    def of(self, result: Result) -> Row:
        """The row with what was measured."""
        if not result.measured:
            return dataclasses.replace(self, reason="no writes were measured")
        return dataclasses.replace(
            self,
            write_amplification=result.write_amplification,
            write_amplification_ci95=result.write_amplification_ci95,
            run_values=result.run_values,
            digest=result.digest,
            without_copies=1 + result.bytes.per_host_byte("rounding"),
            findings=tuple(result.findings),
        )


@dataclass(frozen=True, repr=False)
class Gap(Document):
    """The outcome of :func:`flashgc.gap`."""

    workload: str
    #: Physical blocks; ``None`` if it was stopped before they were known.
    blocks: int | None
    pages_per_block: int | None
    #: The spare factor of the drive; ``None`` if it was stopped before that was known.
    spare_factor: float | None
    #: Runs of each row, on the same writes.
    runs: int
    #: The classes of clairvoyance.
    classes: int
    horizon: float
    #: From the most writes to the least: online couples, model, predictors, clairvoyance, bound.
    rows: tuple[Row, ...]
    #: The standing of the best online couple among predictors, by the kind of their errors.
    equal: Mapping[str, Equal]
    #: Simulations that were run, and those that earlier work had kept.
    simulations: int
    found: int
    #: True if it was stopped before its end.
    interrupted: bool
    seed: int
    version: str
    #: The claims that the rows support, each with its evidence.
    findings: tuple[Finding, ...] = ()
    #: The error with which ``cache`` kept no more; not in the document.
    unkept: OSError | None = dataclasses.field(default=None, repr=False, compare=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def online(self) -> tuple[Row, ...]:
        """The online couples that were measured, the best last."""
        return tuple(row for row in self.rows if row.kind == ONLINE and _figure(row) is not None)

    @property
    def best(self) -> Row:
        """The best online couple; raises :class:`flashgc.DriveError` where none was measured."""
        for row in self.rows:
            if row.is_best:
                return row
        raise DriveError("no online couple was measured; hint: give the same command again")

    @property
    def clairvoyance(self) -> Row | None:
        """The row of clairvoyance; ``None`` if it was not measured."""
        return next(
            (row for row in self.rows if row.kind == CLAIRVOYANCE and _figure(row) is not None),
            None,
        )

    @property
    def bound(self) -> float | None:
        """The write amplification below which no scheme can be; ``None`` if it is not known."""
        return next((row.write_amplification for row in self.rows if row.kind == BOUND), None)

    def _shown(self) -> Shown:
        line = f"{short(self.workload)}: nothing was measured"
        if self.online:
            best = self.best
            line = f"{short(self.workload)}, best {best.name} {figure(best.write_amplification)}"
            line += f", {figure(self.open)} open" if self.open is not None else ""
        columns = [Column("scheme"), Column("kind")]
        columns += [Column("write amplification", is_figure=True), Column("gap", is_figure=True)]
        rows = [
            [
                row.name,
                row.kind,
                figure(row.write_amplification, row.write_amplification_ci95),
                figure(row.difference, row.difference_ci95),
            ]
            for row in self
        ]
        notes = [finding.sentence for finding in self.findings]
        return Shown(line + ", interrupted" * self.interrupted, rows, columns, notes)

    def predictors(self, errors: str) -> tuple[Row, ...]:
        """The predictors measured with errors of this kind, the worst first."""
        return tuple(
            row
            for row in self.rows
            if row.kind == PREDICTOR and row.errors == errors and _figure(row) is not None
        )

    @property
    def open(self) -> float | None:
        """The figure of the best online couple less that of clairvoyance, if both were measured."""
        return _open(self.rows)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        fields = plain({name: value for name, value in vars(self).items() if name != "unkept"})
        return {**fields, "open": self.open}


def _figure(row: Row) -> float | None:
    return row.write_amplification


def _open(rows: Sequence[Row]) -> float | None:
    clairvoyance = next((row for row in rows if row.kind == CLAIRVOYANCE), None)
    if clairvoyance is None or clairvoyance.difference is None:
        return None
    return -clairvoyance.difference


def bound(rows: Sequence[Row]) -> Row:
    """The least write amplification of any scheme on these writes: that without copies.

    The drive has no write cache that merges writes, so every unit written is programmed. Bytes are
    those of all runs together.
    """
    row = Row(BOUND, "lower bound")
    known = [row.without_copies for row in rows if row.without_copies is not None]
    if not known:
        return dataclasses.replace(row, reason="stopped")
    return dataclasses.replace(row, write_amplification=min(known))


#: The order of kinds in the table.
_KINDS = (ONLINE, MODEL, PREDICTOR, CLAIRVOYANCE, BOUND)


def ordered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows as they are shown, with their differences to the best online couple.

    Couples go from the most writes to the least, predictors from the largest error to the least.
    """
    measured = [row for row in rows if row.kind == ONLINE and _figure(row) is not None]
    best = min(measured, key=lambda row: row.write_amplification or 0.0, default=None)

    def place(row: Row) -> tuple[int, str, float]:
        # What has no figure comes first: the best is the last of its kind.
        inf = float("inf")
        within = inf if (figure := _figure(row)) is None else figure
        if row.kind == PREDICTOR:
            within = row.sigma or 0.0
        return _KINDS.index(row.kind), row.errors or "", -within

    order = sorted(rows, key=place)
    return tuple(order if best is None else (_beside(row, best) for row in order))


def _beside(row: Row, best: Row) -> Row:
    """The row with its difference to ``best``."""
    if row is best:
        return dataclasses.replace(
            row, difference=0.0, difference_ci95=0.0, inside_noise=True, is_best=True
        )
    figure, least = _figure(row), _figure(best)
    if figure is None or least is None:
        return row
    difference = figure - least
    half = None
    if len(row.run_values) == len(best.run_values):
        pairs = zip(row.run_values, best.run_values, strict=True)
        half = half_width([a - b for a, b in pairs])
    inside = None if half is None else abs(difference) <= half
    both = row.write_amplification_ci95, best.write_amplification_ci95
    if half is None and both[0] is not None and both[1] is not None:
        inside = abs(difference) <= both[0] + both[1]
    return dataclasses.replace(
        row, difference=difference, difference_ci95=half, inside_noise=inside
    )


def equals(rows: Sequence[Row]) -> dict[str, Equal]:
    """Return the standing of the best online couple among predictors, by kind of errors."""
    best = next((row for row in rows if row.is_best), None)
    if best is None or best.write_amplification is None:
        return {}
    by_errors = {}
    for errors in ("write", "request"):
        own = [row for row in rows if row.kind == PREDICTOR and row.errors == errors]
        if own:
            curve = [
                Point(row.sigma, row.write_amplification, bool(row.inside_noise))
                for row in (*own, *(row for row in rows if row.kind == CLAIRVOYANCE))
                if row.sigma is not None and row.write_amplification is not None
            ]
            by_errors[errors] = equal(curve, best.write_amplification)
    return by_errors
