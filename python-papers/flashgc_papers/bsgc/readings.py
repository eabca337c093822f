"""BSGC and SFL: the readings of the paper, compared by how well they give the published order.

A surrounding is a reading of drive and trace: initial contents, meaning of the hot ratio, place of
copies, and start of collections. A form is a reading of a policy's formula. Every surrounding and
every form takes one run per combination and trace, with a tenth of the paper's endurance.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flashgc.described import Simulation, simulation
from flashgc.results import WearPoint
from flashgc_papers.bsgc import experiment
from flashgc_papers.bsgc.experiment import DRIVE, HOT, LOW, TABLE, Agreement, hot_of_deviation
from flashgc_papers.claims import Claim, claims
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value, Verdict

ENDURANCE = 100

#: The first contents of the drive: nothing, its pages in order, or its pages in random order, so
#: that hot and cold pages share blocks from the start.
FILLS = ("empty", "sequential", "random")
#: The readings of "hot ratio 15%" of a normal distribution; see :func:`hot_of`.
SKEWS = ("area", "sigma", "half-sigma", "fitted")
#: Copies go to an open block without the host's writes (``pool``), or with them (``mixed``).
#: Collections start below 5% free blocks: 5% of all blocks, or 5% of the 307 reserved ones.
FRONTIERS = tuple(f"{kind}:low={low}" for kind in ("pool", "mixed") for low in (LOW, 15))
#: The hot shares at which GA's collections are as long as in Figure 8 (8.5, 15.9 and 15.3 ms). With
#: 10^7 writes to a drive that is empty at first, collections take 8.49, 15.93 and 15.32 ms.
FITTED = {"trace1": 0.1505, "trace2": 0.205, "trace3": 0.2015}

#: The combinations of the authors' own policies.
OWN = ("FIFO+EIGC", "LIF+EIGC", "FIFO+BSGC", "SFL+BSGC")

#: Further forms of each policy, besides the form that the other claims use.
FORMS: Mapping[str, Sequence[str]] = {
    "GA": ("greedy:ties=oldest", "greedy:ties=lowest"),
    "CB": (
        "cost-benefit:age=last_write",
        "cost-benefit:form=lfs,age=last_invalidate",
        "cost-benefit:form=lfs,age=last_write",
    ),
    "CAT": ("cat:age=last_invalidate",),
    "EIGC": ("eigc:ratio=average",),
    "BSGC": tuple(
        f"bsgc:reading={reading},first={first},ratio={ratio}"
        for reading in ("intervals", "literal")
        for first in ("zero", "sample")
        for ratio in ("erase", "live")
        if (reading, first, ratio) != ("intervals", "zero", "erase")
    ),
}

#: The figures of Table 4 whose order is compared, with their claims. Response times have the order
#: of migrations, so they are left out.
CLAIMS = {
    "first failure": "bsgc.fig5.first-failure",
    "system failure": "bsgc.fig5.system-failure",
    "erase-count deviation": "bsgc.fig6",
    "page migrations": "bsgc.fig7",
}


@dataclass(frozen=True)
class Surrounding:
    """One reading of drive and trace."""

    fill: str
    skew: str
    frontier: str

    def __str__(self) -> str:
        return f"{self.fill}, {self.skew}, {self.frontier}"


#: The surrounding of the other claims.
USUAL = Surrounding("empty", "area", f"pool:low={LOW}")
#: The usual surrounding, with hot shares that fit GA's published response times.
FITTED_EMPTY = replace(USUAL, skew="fitted")


def hot_of(trace: str, skew: str) -> float:
    """The parameter ``hot`` of the generator under a reading of a trace's hot ratio h.

    ``area``: the central h of the addresses gets 1 - h of the writes. ``sigma`` and ``half-sigma``:
    the standard deviation is h, or h/2, of the addresses. ``fitted``: the share in
    :data:`FITTED`, without regard to h.

    >>> [round(hot_of("trace1", skew), 3) for skew in ("area", "sigma", "half-sigma")]
    [0.15, 0.306, 0.195]
    """
    ratio = HOT[trace]
    if skew == "area":
        return ratio
    if skew == "fitted":
        return FITTED[trace]
    return hot_of_deviation(ratio if skew == "sigma" else ratio / 2)


def surroundings(size: Size) -> list[Surrounding]:
    """The surroundings that are run at a size, the usual one first."""
    if size is Size.FULL:
        return [Surrounding(*answers) for answers in itertools.product(FILLS, SKEWS, FRONTIERS)]
    skews = ("area",) if size is Size.QUICK else ("area", "fitted")
    frontiers = FRONTIERS[:1] if size is Size.QUICK else (FRONTIERS[0], FRONTIERS[2])
    return [Surrounding(*answers) for answers in itertools.product(FILLS, skews, frontiers)]


def _runs(around: Surrounding, victims: Mapping[str, Sequence[str]]) -> dict[str, Simulation]:
    return {
        f"{around} {trace} {name} {victim}": simulation(
            workload=f"normal:hot={hot_of(trace, around.skew)}",
            victim=victim,
            frontier=around.frontier,
            allocation=TABLE[name][1],
            fill=around.fill,
            **DRIVE,
            endurance=ENDURANCE,
            until="system-failure",
        )
        for trace in HOT
        for name, each in victims.items()
        for victim in each
    }


def forms_of(name: str) -> tuple[str, ...]:
    """The forms of a combination's policy, first the form that the other claims use."""
    return (TABLE[name][0], *FORMS[name.rpartition("+")[2]])


def _capped(size: Size) -> tuple[Surrounding, ...]:
    """The surroundings that also run with capped ages."""
    return () if size is Size.QUICK else (USUAL, FITTED_EMPTY)


@runner("bsgc.readings")
class Readings:
    """The share of the published order that each reading gives."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """One run for each reading, combination and trace."""
        simulations: dict[str, Simulation] = {}
        around = surroundings(size)
        for surrounding in around:
            simulations |= _runs(
                surrounding, {name: (victim,) for name, (victim, _) in TABLE.items()}
            )
        for surrounding in _capped(size):
            simulations |= _runs(
                surrounding, {name: (victim,) for name, victim in experiment.CAPPED.items()}
            )
        if size is Size.FULL:
            simulations |= _runs(USUAL, {name: forms_of(name) for name in TABLE})
        text = f"until the system fails, {ENDURANCE} erases a block, one run each; {len(around)} "
        left_out = {
            Size.QUICK: "hot ratios but one, frontiers but one, capped ages, other forms of the "
            "formulas",
            Size.DEFAULT: "hot ratios but two, other triggers, other forms of the formulas",
            Size.FULL: "",
        }[size]
        return Task(simulations, settings=f"{text}readings of drive and trace", left_out=left_out)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """One row for each reading, the best first."""
        usual = {name: victim for name, (victim, _) in TABLE.items()}
        around = surroundings(measured.size)
        rows = [
            _row(measured, str(surrounding), dict.fromkeys(TABLE, surrounding), usual)
            for surrounding in around
        ]
        rows += [
            _row(
                measured, label, {name: reading if name in OWN else other for name in TABLE}, usual
            )
            for label, reading, other in _apart(around)
        ]
        rows += [
            _row(
                measured,
                f"{surrounding}; capped ages of CB and CAT",
                dict.fromkeys(TABLE, surrounding),
                {**usual, **experiment.CAPPED},
            )
            for surrounding in _capped(measured.size)
        ]
        notes: list[str] = []
        if measured.size is Size.FULL:
            rows += [
                _row(
                    measured, f"{USUAL}; {form}", dict.fromkeys(TABLE, USUAL), {**usual, **changed}
                )
                for form, changed in _changes()
            ]
            notes += _best_forms(measured)
        if measured.size is not Size.QUICK:
            notes += _collections(measured)
        rows.sort(key=lambda row: -row.measured.mean if isinstance(row.measured, Value) else 2)
        figures = [_figure(rows)] if any(row.measured for row in rows) else []
        notes.append(
            "The score is Kendall's tau over the pairs of combinations whose published values "
            "differ by 1% or more, averaged over the figures of Table 4 and its traces; the "
            "deviation is that at the drive writes at which the first of the seven has a bad block."
        )
        heading = "at first, hot ratio, frontier"
        return conclude(claim, measured, rows, heading=heading, figures=figures, notes=notes)


def _apart(around: Sequence[Surrounding]) -> Iterator[tuple[str, Surrounding, Surrounding]]:
    """Readings in which the authors' own policies keep copies apart, and the others do not."""
    for surrounding in around:
        other = replace(surrounding, frontier=surrounding.frontier.replace("pool", "mixed"))
        if surrounding != other and other in around:
            yield f"{surrounding} for EIGC and BSGC, mixed for GA, CB and CAT", surrounding, other


def _changes() -> Iterator[tuple[str, dict[str, str]]]:
    """Yields each further form of a policy, and the combinations of the policy with that form."""
    for policy, forms in FORMS.items():
        for form in forms:
            names = [name for name in TABLE if name.rpartition("+")[2] == policy]
            yield form, dict.fromkeys(names, form)


def scores(
    measured: Measured, around: Mapping[str, Surrounding], victims: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """By figure and trace, Kendall's tau of the order: 1 for the published order."""
    by_figure: dict[str, dict[str, float]] = {figure: {} for figure in CLAIMS}
    for trace in HOT:
        results = {
            name: measured.result(f"{around[name]} {trace} {name} {victim}")
            for name, victim in victims.items()
        }
        first = {name: experiment.life("first_failure")(result) for name, result in results.items()}
        earliest = min(first.values())
        values = {
            "first failure": first,
            "system failure": {
                n: experiment.life("system_failure")(result) for n, result in results.items()
            },
            "erase-count deviation": {
                name: _deviation_at(experiment.series(result), earliest)
                for name, result in results.items()
            },
            "page migrations": {
                name: experiment.migrations(result) for name, result in results.items()
            },
        }
        for figure, claim in CLAIMS.items():
            (published,) = claims().select((claim,))
            exact = {name: Value(number) for name, number in values[figure].items()}
            by_figure[figure][trace] = Agreement(
                experiment.published(published, trace), exact
            ).score
    return by_figure


def _deviation_at(series: Sequence[WearPoint], drive_writes: float) -> float:
    """The standard deviation of the erase counts after ``drive_writes``, interpolated."""
    at, deviation = 0.0, 0.0
    for point in series:
        if point.drive_writes >= drive_writes:
            way = point.drive_writes - at
            part = (drive_writes - at) / way if way else 1.0
            return deviation + part * (point.deviation - deviation)
        at, deviation = point.drive_writes, point.deviation
    return deviation


def _mean(score: Mapping[str, Mapping[str, float]]) -> float:
    return sum(sum(by_trace.values()) / len(by_trace) for by_trace in score.values()) / len(score)


def _row(
    measured: Measured,
    label: str,
    around: Mapping[str, Surrounding],
    victims: Mapping[str, str],
) -> Row:
    def judge() -> tuple[Value, Judgement]:
        score = scores(measured, around, victims)
        parts = ", ".join(
            f"{figure} {sum(by_trace.values()) / len(by_trace):+.2f}"
            for figure, by_trace in score.items()
        )
        mean = _mean(score)
        return Value(mean), Judgement(Verdict.MET if mean == 1 else Verdict.MISSED, parts)

    return row(label, "1", judge)


def _best_forms(measured: Measured) -> list[str]:
    """The forms of all policies that agree best with the order, in the usual surrounding."""
    policies = list(FORMS)
    best: list[tuple[float, tuple[str, ...]]] = []
    usual = {policy: TABLE[name][0] for name in TABLE for policy in [name.rpartition("+")[2]]}
    try:
        for forms in itertools.product(*((usual[p], *FORMS[p]) for p in policies)):
            chosen = dict(zip(policies, forms, strict=True))
            victims = {name: chosen[name.rpartition("+")[2]] for name in TABLE}
            around = dict.fromkeys(TABLE, USUAL)
            best.append((_mean(scores(measured, around, victims)), forms))
    except NotMeasuredError:
        return []
    best.sort(key=lambda entry: -entry[0])
    score, forms = best[0]
    return [
        f"Of all {len(best)} combinations of the policies' forms ({USUAL}), the best score is "
        f"{score:.2f}, with {', '.join(forms)}."
    ]


def _collections(measured: Measured) -> list[str]:
    """Notes that compare the durations of collections under fitted hot shares with Figure 8."""
    apart, shared = FITTED_EMPTY, replace(FITTED_EMPTY, frontier=f"mixed:low={LOW}")
    (claim,) = claims().select(("bsgc.fig8",))
    notes = []
    for trace in HOT:
        published = experiment.published(claim, trace)
        try:
            times = {
                name: [
                    experiment.response(measured.result(f"{around} {trace} {name} {victim}"))
                    for around in (apart, shared)
                ]
                for name, (victim, _) in TABLE.items()
            }
        except NotMeasuredError:
            return []
        each = ", ".join(f"{n} {published[n]:g}; {a:.2f}; {m:.2f}" for n, (a, m) in times.items())
        capped = ", ".join(
            f"{name} {experiment.response(measured.result(f'{apart} {trace} {name} {victim}')):.2f}"
            for name, victim in experiment.CAPPED.items()
        )
        notes.append(
            f"Milliseconds of a collection of {trace} (published; {apart}; {shared}): {each}. "
            f"With capped ages (the first of these): {capped}."
        )
    return notes


def _figure(rows: Sequence[Row]) -> Figure:
    cells = tuple(
        (row.label, row.measured.mean if isinstance(row.measured, Value) else None, row.why)
        for row in rows
    )
    table = Table(("reading", "score", "by figure"), cells)
    caption = "how much of the published order each reading gives: 1 is all of it, 0 is chance"
    return Figure("bsgc.readings", caption, table, functools.partial(_bars, table))


def _bars(table: Table) -> Drawing:
    from flashgc.plot.labels import header
    from flashgc.plot.look import COLOURS, drawing, new_figure

    rows = [(str(row[0]), float(row[1])) for row in table.rows if row[1] is not None]
    with drawing() as style:
        medium, width = style.medium, style.size[0]
        figure = new_figure(width, (1.6 * len(rows) + 4) * medium.text / 72)
        axes = figure.subplots()
        for at, (_, score) in enumerate(rows):
            axes.plot([0, score], [at, at], color=COLOURS[0], linewidth=medium.line)
            axes.plot(score, at, "o", color=COLOURS[0])
        axes.set_yticks(range(len(rows)), [label for label, _ in rows], size=medium.small)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(min(0.0, *(score for _, score in rows)) - 0.02, 1)
        axes.set_xlabel("score")
        header(figure, style, "How much of the published order comes out", [])
    return figure
