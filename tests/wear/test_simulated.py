"""Changes of a drive by simulation, against single runs of the drive that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flashgc
from flashgc import ConfigError
from flashgc.logs import simulated
from flashgc.logs.counts import Range
from flashgc.logs.simulated import predicted
from flashgc.studies.identifying.curves import Size
from flashgc.studies.identifying.schemes import Scheme

GREEDY = Scheme("greedy", "single")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One scheme, so that ranges are those of that scheme."""
    monkeypatch.setattr(simulated, "SCHEMES", (GREEDY,))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive on which ten schemes take a second."""
    monkeypatch.setattr(simulated, "SIZE", Size(96, 32, writes="8x"))


def amplification(spare: float, **more: Any) -> float:
    drive: dict[str, Any] = {
        "workload": "hotcold:f=0.2,r=0.8", "victim": "greedy", "blocks": 256,
        "pages_per_block": 64, "spare": spare, "writes": "20x", "seed": 7,
    }  # fmt: skip
    return flashgc.run(**{**drive, **more}).write_amplification


def exact(value: float) -> Range:
    return Range(value, value, value)


def test_a_scheme_explains_at_the_spare_factor_where_it_has_the_amplification(alone: None) -> None:
    measured = amplification(0.15)
    prediction = predicted("80/20", exact(measured), None, None)
    (explanation,) = prediction.explanations
    assert explanation.scheme == GREEDY.name
    assert explanation.spare_low == explanation.spare_high == pytest.approx(0.15, rel=0.03)
    wide = predicted("80/20", Range(measured, measured - 0.1, measured + 0.1), None, None)
    assert wide.explanations[0].spare_low < 0.15 < wide.explanations[0].spare_high


def test_the_changes_are_those_of_runs_of_the_changed_drive(alone: None) -> None:
    measured = amplification(0.15)
    changes = {at.change: at for at in predicted("80/20", exact(measured), None, None).changes}
    unused = changes["7% of the capacity left unused"]
    assert unused.low == unused.high
    assert unused.low == pytest.approx(amplification(1 - 0.85 * 0.93), rel=0.03)
    apart = changes["a handle each for hot and cold (FDP)"]
    handled = amplification(
        0.15, frontier="pool", placement="fdp:handles=2",
        workload="0.8*uniform:to=0.2,stream=0 + 0.2*uniform:from=0.2,stream=1",
    )  # fmt: skip
    assert apart.low == pytest.approx(handled, rel=0.03)
    assert apart.low < measured


def test_uniform_writes_have_no_change_by_handles(alone: None) -> None:
    changes = predicted("uniform", exact(3.0), None, None).changes
    assert not any("FDP" in change.change for change in changes)


def test_a_range_is_over_every_scheme_that_explains(small: None) -> None:
    prediction = predicted("80/20", exact(1.8), None, None)
    assert len(prediction.explanations) > 5
    unused = prediction.changes[0]
    assert unused.low < unused.high < 1.8
    measured = amplification(0.15, blocks=96, pages_per_block=32, writes="8x")
    known = predicted("80/20", exact(measured), 0.15, None)
    assert GREEDY.name in [each.scheme for each in known.explanations]
    assert len(known.explanations) < len(prediction.explanations)


@pytest.mark.parametrize(
    ("written", "spare", "has_doubt"),
    [(3000, None, False), (1010, None, True), (3000, "17%", False), (3000, "40%", True)],
)
def test_an_amplification_that_nothing_explains_is_a_doubt(
    written: int, spare: str | None, has_doubt: bool, small: None, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "time,host_bytes_written,media_bytes_written,capacity\n2026-11-20T12:00Z,0B,0B,1TB\n"
        f"2026-11-21T12:00Z,1000GB,{written}GB,1TB\n"
    )
    outcome = flashgc.wear(table, workload="uniform", spare=spare)
    ids = [finding.id for finding in outcome.findings]
    assert ("nothing-explains" in ids) == has_doubt == (not outcome.explanations)
    assert any("unused" in change.change for change in outcome.changes)
    is_simulated = any("simulated" in change.assumption for change in outcome.changes)
    assert is_simulated != has_doubt


@pytest.mark.parametrize(
    ("workload", "measured", "spare", "reason"),
    [
        ("80/2O", exact(2.0), None, "^workload: unknown workload '80/2O'"),
        ("uniform", Range(2.0, 1.0, None), None, "has no upper end"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    workload: str, measured: Range, spare: float | None, reason: str, small: None
) -> None:
    with pytest.raises(ConfigError, match=reason):
        predicted(workload, measured, spare, None)
