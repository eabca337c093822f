"""The rows from greedy to the lower bound, and the gap between them."""

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
    """The position of a scheme among predictors."""

    #: One of these words. ``at``: predictors with less error write less, those with more error
    #: write more, and some may be equal. ``alike``: no predictor differs significantly.
    #: ``between``: a predictor with less error writes more than one with more error, and the scheme
    #: is between them. ``ahead`` or ``behind``: of all predictors that were run. ``unknown``: too
    #: few were run.
    standing: str
    #: The error of an equally good predictor, by linear interpolation between its two neighbours;
    #: ``None`` unless the standing is ``at``, or if some predictors are alike.
    sigma: float | None = None
    #: The errors at which the interpolated curve crosses the scheme's figure.
    crossings: tuple[float, ...] = ()
    #: The simulated errors on both sides of each crossing. The true error is between them.
    brackets: tuple[tuple[float, float], ...] = ()
    #: Errors of predictors that do not differ significantly from the scheme.
    alike: tuple[float, ...] = ()
    #: Errors of predictors that write less than the scheme, and of those that write more.
    less: tuple[float, ...] = ()
    more: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """A predictor compared with the scheme."""

    sigma: float
    #: The predictor's write amplification.
    figure: float
    #: True if the interval of the difference holds 0.
    is_alike: bool = False


def equal(curve: Sequence[Point], figure: float) -> Equal:
    """The position of a scheme with this ``figure`` among the predictors of a ``curve``.

    Neighbours are joined by straight lines. Nothing is concluded beyond the smallest and the
    largest error, nor from points that are alike.

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
    """A row of the table: one scheme, model or bound."""

    #: ``online``, ``model``, ``predictor``, ``clairvoyance`` or ``bound``.
    kind: str
    #: A short name for people.
    name: str
    #: The specs of the simulation; ``None`` if nothing was simulated.
    victim: str | None = None
    placement: str | None = None
    #: For a predictor: the standard deviation of the logarithm of a predicted life; 0 for exact
    #: knowledge.
    sigma: float | None = None
    #: For a predictor: errors are drawn for each page written (``write``) or for each request
    #: (``request``).
    errors: str | None = None
    #: The write amplification; ``None`` if it is unknown or was not measured.
    write_amplification: float | None = None
    #: Half its 95% interval; ``None`` if unknown.
    write_amplification_ci95: float | None = None
    #: The write amplification of each seed.
    run_values: tuple[float, ...] = ()
    #: The digest of the run.
    digest: str | None = None
    #: The write amplification without copies and padding: bytes of mapping units written, per byte
    #: that the host wrote. It is 1 if all writes are of whole units.
    without_copies: float | None = None
    #: The write amplification minus that of the best online scheme.
    difference: float | None = None
    #: Half the 95% interval of ``difference``, from pairs of seeds; ``None`` for a single run.
    difference_ci95: float | None = None
    #: True if the interval of ``difference`` holds 0; ``None`` without an interval.
    inside_noise: bool | None = None
    #: True if it is the best online scheme.
    is_best: bool = False
    #: The reason why there is no figure; empty if there is one.
    reason: str = ""
    #: The findings of its runs.
    findings: tuple[Finding, ...] = ()

    def of(self, result: Result) -> Row:
        """The row with the measured figures."""
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
    #: Physical blocks; ``None`` if the work was stopped before they were known.
    blocks: int | None
    pages_per_block: int | None
    #: The spare factor of the drive; ``None`` if the work was stopped before it was known.
    spare_factor: float | None
    #: Runs of each row, on the same writes.
    runs: int
    #: The number of classes of clairvoyance.
    classes: int
    horizon: float
    #: From most to least writes: online schemes, model, predictors, clairvoyance, bound.
    rows: tuple[Row, ...]
    #: The position of the best online scheme among predictors, by the kind of their errors.
    equal: Mapping[str, Equal]
    #: The number of simulations that were run, and of those found in the cache.
    simulations: int
    found: int
    #: True if the work was stopped before its end.
    interrupted: bool
    seed: int
    version: str
    #: The findings that follow from the rows, each with its evidence.
    findings: tuple[Finding, ...] = ()
    #: The error after which ``cache`` stored no more results; it is not in the document.
    unkept: OSError | None = dataclasses.field(default=None, repr=False, compare=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def online(self) -> tuple[Row, ...]:
        """The online schemes that were measured, the best last."""
        return tuple(row for row in self.rows if row.kind == ONLINE and _figure(row) is not None)

    @property
    def best(self) -> Row:
        """The best online scheme; raises :class:`flashgc.DriveError` if none was measured."""
        for row in self.rows:
            if row.is_best:
                return row
        raise DriveError("no online scheme was measured; hint: give the same command again")

    @property
    def clairvoyance(self) -> Row | None:
        """The row of clairvoyance; ``None`` if it was not measured."""
        return next(
            (row for row in self.rows if row.kind == CLAIRVOYANCE and _figure(row) is not None),
            None,
        )

    @property
    def bound(self) -> float | None:
        """A lower bound for the write amplification of any scheme; ``None`` if unknown."""
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
        """The figure of the best online scheme minus that of clairvoyance, if both are known."""
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
    """The least write amplification that a scheme can have on these writes: that without copies.

    The drive has no write cache that merges writes, so that every unit written is programmed. Bytes
    are those of all runs together.
    """
    row = Row(BOUND, "lower bound")
    known = [row.without_copies for row in rows if row.without_copies is not None]
    if not known:
        return dataclasses.replace(row, reason="stopped")
    return dataclasses.replace(row, write_amplification=min(known))


#: The order of the kinds of rows in the table.
_KINDS = (ONLINE, MODEL, PREDICTOR, CLAIRVOYANCE, BOUND)


def ordered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows in the order of the table, with their differences from the best online scheme.

    Schemes are sorted from most to least writes, predictors from the largest error to the smallest.
    """
    measured = [row for row in rows if row.kind == ONLINE and _figure(row) is not None]
    best = min(measured, key=lambda row: row.write_amplification or 0.0, default=None)

    def place(row: Row) -> tuple[int, str, float]:
        # Rows without a figure come first, so that the best row is the last of its kind.
        inf = float("inf")
        within = inf if (figure := _figure(row)) is None else figure
        if row.kind == PREDICTOR:
            within = row.sigma or 0.0
        return _KINDS.index(row.kind), row.errors or "", -within

    order = sorted(rows, key=place)
    return tuple(order if best is None else (_beside(row, best) for row in order))


def _beside(row: Row, best: Row) -> Row:
    """The row with its difference from ``best``."""
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
    """Return the position of the best online scheme among predictors, by kind of errors."""
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
