"""The outcome of a search: a ranking with paired differences, and its check on held-back data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flashgc._core import DriveError
from flashgc._documents import Document, Json, plain
from flashgc._summaries import Column, Shown, short
from flashgc.results import Finding
from flashgc.results.intervals import half_width
from flashgc.studies.tuning.objective import OBJECTIVES, Objective
from flashgc.studies.tuning.space import Candidate

#: The maximum number of seeds of a candidate.
MOST_VALUES = 30


@dataclass(frozen=True)
class Measured:
    """The figure of a candidate at a stage."""

    figure: float
    #: One value per seed, or one per block of the trace, in the same order for all candidates.
    values: tuple[float, ...]
    #: The findings of its runs that matter for a search; for a part of a trace, only those on the
    #: configuration.
    findings: tuple[Finding, ...] = ()

    def less(self, other: Measured) -> tuple[float, float | None]:
        """The figure minus that of ``other``, and half the 95% interval of this, from pairs."""
        if len(self.values) != len(other.values):
            return self.figure - other.figure, None
        differences = [a - b for a, b in zip(self.values, other.values, strict=True)]
        return self.figure - other.figure, half_width(differences)


@dataclass(frozen=True)
class Entry:
    """The rank of a candidate."""

    #: The rank, 1 for the best; ``None`` for greedy if it is not part of the search.
    place: int | None
    candidate: Candidate
    #: The figure on the data used for tuning.
    figure: float
    #: The figure minus the best one.
    difference: float
    #: Half the 95% interval of ``difference``, from pairs; ``None`` if unknown.
    difference_ci95: float | None
    #: True if the interval of the difference holds 0.
    inside_noise: bool
    #: True for greedy with default parameters, with which the best is compared.
    is_reference: bool
    #: The figure on the data held back; ``None`` if it was not run on them.
    held_back: float | None = None
    #: The difference of ``held_back`` from that of the best entry.
    held_back_difference: float | None = None
    #: Half the 95% interval of ``held_back_difference``.
    held_back_ci95: float | None = None
    #: The findings of its runs on the data used for tuning.
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        """A short name for people."""
        return self.candidate.name


@dataclass(frozen=True)
class Rung:
    """A stage of the search."""

    #: A description of the runs.
    words: str
    #: The number of candidates that reached it, and of those that were measured.
    candidates: int
    measured: int
    #: True if the rung was completed.
    whole: bool


@dataclass(frozen=True)
class Skipped:
    """Impossible combinations with the same kind of reason."""

    #: The reason why the first of these combinations is impossible.
    reason: str
    count: int


@dataclass(frozen=True, repr=False)
class Tuned(Document):
    """The outcome of :func:`flashgc.tune`."""

    workload: str
    #: ``write-amplification``, ``p99.9-read`` or ``life``.
    objective: str
    #: Best first; greedy is last if it is not part of the search.
    ranking: tuple[Entry, ...]
    #: True if no checked candidate beats the winner on the data held back; ``None`` if that check
    #: was not run.
    holds_up: bool | None
    #: Candidates that beat the winner in this check by more than the noise.
    beaten_by: tuple[str, ...]
    rungs: tuple[Rung, ...]
    #: A description of the data held back.
    held_back: str
    skipped: tuple[Skipped, ...]
    #: The number of simulations that were run, and of those stored by an earlier search.
    simulations: int
    found: int
    #: True if the search was stopped before its end.
    interrupted: bool
    #: True if the time was over before the end of the search.
    out_of_time: bool
    seed: int
    version: str
    #: The experiment of the winner as sections and keys; empty if there is no winner.
    experiment: Mapping[str, Mapping[str, Json]] = dataclasses.field(default_factory=dict)
    #: The findings that follow from the ranking, each with its evidence.
    findings: tuple[Finding, ...] = ()
    #: The error after which ``cache`` stored no more results; it is not in the document.
    unkept: OSError | None = dataclasses.field(default=None, repr=False, compare=False)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.ranking)

    def __len__(self) -> int:
        return len(self.ranking)

    @property
    def of(self) -> Objective:
        """The objective."""
        return OBJECTIVES[self.objective]

    @property
    def best(self) -> Entry:
        """The winner; raises :class:`flashgc.DriveError` if nothing was measured."""
        if not self.ranking or self.ranking[0].place is None:
            raise DriveError("nothing was measured; hint: give the same command again to go on")
        return self.ranking[0]

    def _shown(self) -> Shown:
        text = "nothing was measured"
        if self.ranking and self.ranking[0].place is not None:
            text = f"best {short(self.best.name)}, {self.of.in_words(self.best.figure)}"
        headings = (self.of.heading, "difference", "held back")
        columns = [Column("", is_figure=True), Column("scheme")]
        columns += [Column(heading, is_figure=True) for heading in headings]
        rows = [
            [
                "" if entry.place is None else str(entry.place),
                short(entry.name),
                self.of.text(entry.figure),
                self.of.text(entry.difference, sign=True)
                + " (inside the noise)" * entry.inside_noise,
                self.of.text(entry.held_back),
            ]
            for entry in self
        ]
        line = f"{short(self.workload)}: {text}" + ", interrupted" * self.interrupted
        return Shown(line, rows, columns, [finding.sentence for finding in self.findings])

    @property
    def alike(self) -> tuple[Entry, ...]:
        """The winner, and the entries that do not differ significantly from it."""
        return tuple(
            entry for entry in self.ranking if entry.place is not None and entry.inside_noise
        )

    @property
    def greedy(self) -> Entry | None:
        """The entry of greedy with default parameters; ``None`` if it could not run."""
        return next((entry for entry in self.ranking if entry.is_reference), None)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        fields = plain({name: value for name, value in vars(self).items() if name != "unkept"})
        entries = [{**entry.pop("candidate"), **entry} for entry in fields.pop("ranking")]
        stages, skipped = fields.pop("rungs"), fields.pop("skipped")
        return {**fields, "ranking": entries, "rungs": stages, "skipped": skipped}


def ranked(
    measured: Mapping[Candidate, Measured],
    held_back: Mapping[Candidate, Measured],
    objective: Objective,
    reference: Candidate,
    *,
    searched: bool,
) -> list[Entry]:
    """The ranking of what was measured; a ``reference`` that is not ``searched`` has no rank."""
    # Equal candidates stay in the order of their start, so that a default comes before drawn ones.
    order = sorted(
        (candidate for candidate in measured if searched or candidate != reference),
        key=lambda candidate: objective.better(measured[candidate].figure),
    )
    places: list[tuple[int | None, Candidate]] = [*enumerate(order, start=1)]
    if order and not searched and reference in measured:
        places.append((None, reference))
    return [
        _entry(place, candidate, order[0], measured, held_back, is_reference=candidate == reference)
        for place, candidate in places
    ]


def _entry(
    place: int | None,
    candidate: Candidate,
    best: Candidate,
    measured: Mapping[Candidate, Measured],
    held_back: Mapping[Candidate, Measured],
    *,
    is_reference: bool,
) -> Entry:
    difference, half = measured[candidate].less(measured[best])
    if candidate == best:
        half = 0.0
    inside = half is not None and abs(difference) <= half
    entry = Entry(
        place, candidate, measured[candidate].figure, difference, half, inside, is_reference,
        findings=measured[candidate].findings,
    )  # fmt: skip
    if candidate not in held_back or best not in held_back:
        return entry
    there, half = held_back[candidate].less(held_back[best])
    return dataclasses.replace(
        entry,
        held_back=held_back[candidate].figure,
        held_back_difference=there,
        held_back_ci95=0.0 if candidate == best else half,
    )


def beating(ranking: Sequence[Entry], objective: Objective) -> list[Entry]:
    """The candidates that beat the winner on the data held back by more than the noise."""
    return [
        entry
        for entry in ranking
        if entry.place is not None
        and entry.held_back_difference is not None
        and entry.held_back_ci95 is not None
        and objective.better(entry.held_back_difference) < -entry.held_back_ci95
    ]
