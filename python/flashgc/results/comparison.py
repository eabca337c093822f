"""Results of several configurations on the same workload, ranked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from flashgc import tables
from flashgc._core import DriveError
from flashgc._documents import Document, Json, Scalar, read
from flashgc._summaries import Column, Shown, figure, short
from flashgc.results import findings, ranked, varied
from flashgc.results.figures import figures_of
from flashgc.results.findings import Finding
from flashgc.results.ranked import Rank
from flashgc.results.result import Result
from flashgc.units import format_time


@dataclass(frozen=True)
class LeftOut:
    """A combination of a comparison that cannot run."""

    #: Its victim policy, and the other values that differ between combinations.
    name: str
    #: The reason why it is impossible, with a hint.
    reason: str


@dataclass(frozen=True, repr=False)
class Comparison(Document):
    """Results on the same workload, ranked by their figure, the least first."""

    ranking: tuple[Rank, ...]
    #: Results without a figure, and so without a rank: they were stopped before anything was
    #: measured.
    unmeasured: tuple[Result, ...]
    #: Combinations that are impossible and did not run.
    left_out: tuple[LeftOut, ...]
    _raw: dict[str, Json] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_dicts(
        cls,
        ranks: Sequence[Mapping[str, Json]],
        results: Sequence[Mapping[str, Json]],
        left_out: Sequence[Mapping[str, Json]] = (),
    ) -> Comparison:
        """Join the engine's ranks and results; the ``index`` of a rank is that of its result."""
        outcomes = [Result.from_dict(result) for result in results]
        placed = [(cast(int, rank["index"]), rank) for rank in ranks]
        measured = [(index, rank) for index, rank in placed if outcomes[index].measured]
        others = [index for index, _ in placed if not outcomes[index].measured]
        ranking = tuple(read(Rank, rank, result=outcomes[index]) for index, rank in measured)
        findings = ranked.findings(ranking, _names(ranking))
        raw: dict[str, Json] = {
            "findings": [finding.to_dict() for finding in findings],
            "interrupted": any(result.interrupted for result in outcomes),
            "ranking": [
                {
                    **{key: rank[key] for key in rank if key != "index"},
                    "result": results[index],
                }
                for index, rank in measured
            ],
            "unmeasured": [results[index] for index in others],
            "left_out": [
                {key: entry[key] for key in entry if key != "index"} for entry in left_out
            ],
        }
        impossible = tuple(read(LeftOut, entry) for entry in left_out)
        return cls(ranking, tuple(outcomes[index] for index in others), impossible, raw)

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.ranking)

    def __len__(self) -> int:
        return len(self.ranking)

    def with_left_out(self, left_out: Sequence[Mapping[str, Json]]) -> Comparison:
        """Return the comparison with ``left_out`` as the combinations that cannot run."""
        return Comparison(
            self.ranking,
            self.unmeasured,
            tuple(read(LeftOut, entry) for entry in left_out),
            {**self._raw, "left_out": [dict(entry) for entry in left_out]},
        )

    @property
    def best(self) -> Result:
        """The first result of the ranking: it has the least figure (see :func:`flashgc.compare`).

        Raises :class:`flashgc.DriveError` if nothing was measured.
        """
        if not self.ranking:
            raise DriveError("nothing was measured; hint: longer runs")
        return self.ranking[0].result

    @property
    def interrupted(self) -> bool:
        """True if any of the runs was stopped before its end."""
        return bool(self._raw["interrupted"])

    @property
    def findings(self) -> list[Finding]:
        """The findings of the ranking; each result has its own findings besides."""
        return findings.read(self._raw)

    @property
    def results(self) -> tuple[Result, ...]:
        """The results in their order, those without a figure last."""
        return (*(rank.result for rank in self.ranking), *self.unmeasured)

    def rows(self) -> list[dict[str, Scalar]]:
        """A tidy table with one row per rank, then one per result without a figure.

        A row has the rank, the name, the parts in which results may differ, the comparison with the
        first, the figures, and last the doubts: the findings of the result, one after the other.
        """
        names = _names(self.ranking)
        rows: list[dict[str, Scalar]] = [
            {
                "place": rank.place,
                "name": name,
                **_parts(rank.result),
                **{key: getattr(rank, key) for key in _OF_RANK},
                **figures_of(rank.result.to_dict()),
                "doubts": "; ".join(rank.result.warnings),
            }
            for rank, name in zip(self.ranking, names, strict=True)
        ]
        rows += [
            {"name": result.label, **_parts(result), "doubts": "nothing was measured"}
            for result in self.unmeasured
        ]
        return rows

    def to_frame(self, library: str = "pandas") -> object:
        """The tidy table as a data frame of ``pandas`` or ``polars``.

        Raises :class:`flashgc.ConfigError` if the package is not installed.
        """
        return tables.to_frame(self.rows(), library)

    def _shown(self) -> Shown:
        from flashgc.registry import brief

        several = f"{len(self.results)} results"
        if not self.ranking:
            return Shown(f"{several}, nothing was measured", [], notes=self._notes())
        best = self.best
        line = f"{several} on {short(best.workload)}, best {brief(best.label)}: {best.headline}"
        parts = varied.differing(self.results)
        timed = best.timing is not None
        columns = [
            Column("", is_figure=True),
            Column("scheme" if varied.have_schemes(self.results) else "policy"),
            *(Column(_HEADINGS.get(part, part)) for part in parts),
            *([Column("mean", is_figure=True), Column("99.9%", is_figure=True)] if timed else []),
            Column("write amplification", is_figure=True),
            Column("ratio", is_figure=True),
        ]
        rows = [
            [
                str(rank.place),
                brief(rank.result.label),
                *(varied.PARTS[part](rank.result) for part in parts),
                *(_times(rank.result) if timed else []),
                figure(rank.result.write_amplification, rank.result.write_amplification_ci95),
                f"{rank.ratio:.3f}" + " (inside the noise)" * rank.inside_noise,
            ]
            for rank in self
        ]
        return Shown(line + ", interrupted" * self.interrupted, rows, columns, self._notes())

    def _notes(self) -> list[str]:
        from flashgc.registry import brief

        notes = [f"nothing was measured: {brief(result.label)}" for result in self.unmeasured]
        notes += [
            f"left out: {short(left_out.name)}: {left_out.reason}" for left_out in self.left_out
        ]
        notes += [finding.sentence for finding in self.findings]
        return [*notes, *dict.fromkeys(text for result in self.results for text in result.warnings)]


#: The fields of a rank that compare it with the first.
_OF_RANK = ("ratio", "difference", "difference_ci95", "basis", "inside_noise")


def _parts(result: Result) -> dict[str, Scalar]:
    """The parts in which results may differ, under the names of their options."""
    return {
        "workload": result.workload,
        "mapping": result.mapping,
        **({} if result.config.scheme is None else {"scheme": result.config.scheme}),
        "victim": result.config.victim,
        "placement": result.placement,
        "frontier": result.frontier,
        "allocation": result.allocation,
        "wear_levelling": result.wear_levelling,
        "host": result.hosting,
        "preemption": result.preemption,
        "spare_factor": result.config.spare_factor,
    }


#: Full headings for the parts whose keys in :data:`varied.PARTS` are short.
_HEADINGS = {"alloc.": "allocation", "spare": "spare factor"}


def _names(ranking: Sequence[Rank]) -> list[str]:
    """The names that were given; without them, names from the options that differ."""
    names = varied.names([rank.result for rank in ranking])
    return [rank.name or name for rank, name in zip(ranking, names, strict=True)]


def _times(result: Result) -> tuple[str, str]:
    """The mean response time and the 99.9th percentile."""
    whole = None if result.timing is None else result.timing.latency_us.all
    return ("-", "-") if whole is None else (format_time(whole.mean), format_time(whole.p99_9))
