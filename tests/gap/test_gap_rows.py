"""The rows of the function ``gap``, compared with plain runs, and the sentences about them."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashgc
from conftest import ROOT
from flashgc.results import Finding
from flashgc.studies.gaps.describe import findings, heading
from flashgc.studies.gaps.online import USUAL
from flashgc.studies.gaps.online import online as read_schemes
from flashgc.studies.gaps.outcome import Equal, Gap, Point, Row, equal, equals, ordered

#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)

DRIVE = {"blocks": 256, "pages_per_block": 16, "spare": "20%", "writes": "4x", "jobs": 1}
WORKLOAD = "hotcold:f=0.1,r=0.9"
TRACE = ROOT / "data" / "pgbench-ext4.csv.zst"


@pytest.fixture(scope="module")
def found() -> Gap:
    return flashgc.gap(WORKLOAD, **DRIVE, seed=7, runs=3, sigma=[1, 4], errors="both")


def test_each_row_is_the_plain_run_of_its_scheme(found: Gap) -> None:
    shown = [row for row in found if row.victim is not None]
    # Eight schemes, two predictors of each of two kinds, and clairvoyance.
    assert len(shown) == 8 + 4 + 1
    for row in shown:
        plain = flashgc.run(
            WORKLOAD, **DRIVE, seed=7, runs=3, frontier="pool", victim=row.victim,
            placement=row.placement,
        )  # fmt: skip
        assert row.digest == plain.digest, row.name
        assert row.write_amplification == plain.write_amplification, row.name
        assert row.run_values == plain.run_values
        assert row.write_amplification_ci95 == plain.write_amplification_ci95


def test_the_usual_schemes_are_those_of_their_presets(found: Gap) -> None:
    presets = {one.name: (one.victim, one.placement) for one in flashgc.schemes()}
    by_name = {row.name: row for row in found if row.kind == "online"}
    assert set(by_name) == set(USUAL)
    for name in ("gc-gd", "sepbit", "sepbit-cb"):
        assert (by_name[name].victim, by_name[name].placement) == presets[name]
    assert (by_name["greedy"].victim, by_name["greedy"].placement) == ("greedy", "none")
    six = by_name["cost-benefit + dac:regions=6"]
    assert (six.victim, six.placement) == ("cost-benefit", "dac:regions=6")


def test_what_looks_ahead_is_the_oracle_that_was_asked_for() -> None:
    found = flashgc.gap(
        WORKLOAD, **DRIVE, runs=2, sigma=[0.5], errors="request", classes=5, horizon=3,
        schemes=["fifo"],
    )  # fmt: skip
    (one,) = found.predictors("request")
    assert one.placement == "oracle:classes=5,horizon=3,sigma=0.5,errors=request"
    assert found.clairvoyance is not None
    assert found.clairvoyance.placement == "oracle:classes=5,horizon=3,sigma=0,errors=write"
    assert one.victim == found.clairvoyance.victim == "cost-benefit"


def test_the_best_is_the_least_of_the_online_schemes(found: Gap) -> None:
    figures = {row.name: row.write_amplification for row in found if row.kind == "online"}
    assert found.best.name == min(figures, key=lambda name: figures[name] or math.inf)
    assert [row.name for row in found if row.is_best] == [found.best.name]
    assert found.online[-1] is found.best
    assert found.clairvoyance is not None
    least = found.clairvoyance.write_amplification
    assert found.open == found.best.write_amplification - least  # type: ignore[operator]
    assert found.rows[-1].write_amplification == 1.0


def test_differences_are_paired_seed_by_seed(found: Gap) -> None:
    best = found.best
    for row in found:
        if row.digest is None or row is best:
            continue
        pairs = [a - b for a, b in zip(row.run_values, best.run_values, strict=True)]
        # Student's t with two degrees of freedom.
        half = 4.303 * statistics.stdev(pairs) / math.sqrt(3)
        assert row.difference == pytest.approx(statistics.mean(pairs))
        assert row.difference_ci95 == pytest.approx(half)
        assert row.inside_noise == (abs(row.difference or 0) <= half)


def test_the_model_is_that_of_the_drive_that_was_simulated(found: Gap) -> None:
    (row,) = [row for row in found if row.kind == "model"]
    # 256 blocks of 16 pages, of which 4096 * 80%, rounded up, are logical.
    spare = 1 - 3277 / 4096
    expected = flashgc.model.separation(spare, 16, f=0.1, r=0.9)
    assert row.write_amplification == pytest.approx(expected)
    assert found.spare_factor == pytest.approx(spare)


@pytest.mark.parametrize(
    ("workload", "options", "reason"),
    [
        ("0.5*hotcold + 0.5*uniform", {}, "needs frequencies: found the mixture"),
        ("sequential", {}, "needs frequencies: found 'sequential'"),
        ("uniform:trim=0.1", {}, "needs frequencies"),
        ("classes:burst=4", {}, "needs frequencies: found 'classes:burst=4', expected independent"),
        ("uniform:to=0.5", {}, "needs frequencies: found 'uniform:to=0.5', expected writes to all"),
        ("uniform", {"request_size": "64KiB"}, "needs frequencies"),
        (
            "uniform",
            {"superblock": "dies=4,planes=1", "blocks": 1024},
            "needs many blocks: 256 superblocks, some erased or open, are few",
        ),
    ],
)
def test_the_model_is_left_out_where_it_does_not_hold(
    workload: str, options: dict[str, object], reason: str
) -> None:
    drive = {**DRIVE, **options}
    found = flashgc.gap(workload, **drive, runs=1, schemes=["fifo"], sigma=[1])  # type: ignore[arg-type]
    (row,) = [row for row in found if row.kind == "model"]
    assert row.write_amplification is None
    assert row.reason.startswith(reason)


def test_a_trace_has_intervals_of_its_runs_and_both_kinds_of_errors(tmp_path: Path) -> None:
    trace = tmp_path / "hot.csv"
    flashgc.trace_synth("hotcold:f=0.1,r=0.9", trace, pages=6000, requests=18000)
    options = {"pages_per_block": 16, "spare": "20%", "passes": 8, "jobs": 1}
    found = flashgc.gap(str(trace), **options, schemes=["sepbit"], sigma=[1])
    plain = flashgc.run(str(trace), **options, frontier="pool", scheme="sepbit")
    (row,) = [row for row in found if row.name == "sepbit"]
    assert row.write_amplification_ci95 == plain.write_amplification_ci95
    assert row.digest == plain.digest
    assert set(found.equal) == {"write", "request"}
    assert all(one.difference_ci95 is None for one in found if not one.is_best)
    (model,) = [row for row in found if row.kind == "model"]
    assert model.reason == "needs frequencies: a trace has none"


def test_schemes_are_read() -> None:
    read = read_schemes(["greedy", "  fifo+ sepbit", "gc-cb"], "schemes")
    assert [(one.name, one.victim, one.placement) for one in read] == [
        ("greedy", "greedy", "none"),
        ("fifo + sepbit", "fifo", "sepbit"),
        ("gc-cb", "cost-benefit", "dac:regions=3"),
    ]


def standing(curve: list[tuple[float, float]], figure: float, *alike: float) -> Equal:
    return equal([Point(sigma, y, sigma in alike) for sigma, y in curve], figure)


def test_interpolation_by_hand() -> None:
    curve = [(0.0, 1.0), (1.0, 1.5), (2.0, 2.5), (4.0, 3.0)]
    assert standing(curve, 1.75).sigma == 1.25
    assert standing(curve, 2.75).sigma == 3.0
    assert standing(list(reversed(curve)), 1.25).sigma == 0.5
    assert (standing(curve, 3.5).standing, standing(curve, 3.5).less[-1]) == ("behind", 4.0)
    assert standing(curve, 0.9).standing == "ahead"
    assert standing(curve[:1], 0.9).standing == "unknown"
    bent = standing([(0.0, 1.0), (1.0, 2.0), (2.0, 1.2), (4.0, 3.0)], 1.6)
    assert bent.standing == "between"
    assert bent.sigma is None
    assert bent.crossings == pytest.approx((0.6, 1.5, 2 + 2 * 0.4 / 1.8))
    # A row is behind only if all points are below it, and ahead only if no point is below it.
    assert standing([(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)], 3.9).standing == "at"
    assert standing([(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)], 1.1).standing == "at"
    assert standing([(0.0, 3.0), (1.0, 1.0)], 2.0).standing == "between"


def test_what_is_alike_has_no_side() -> None:
    curve = [(0.0, 1.0), (1.0, 1.5), (2.0, 2.5), (4.0, 3.0)]
    # A point with an equal figure is alike even without an interval.
    for figure, sigma in ((1.0, 0.0), (1.5, 1.0), (3.0, 4.0)):
        found = standing(curve, figure)
        assert (found.standing, found.sigma, found.alike) == ("at", None, (sigma,))
    found = standing(curve, 1.6, 1.0)
    assert (found.alike, found.less, found.more) == ((1.0,), (0.0,), (2.0, 4.0))
    assert found.brackets == ((0.0, 2.0),)
    flat = standing([(0.0, 2.0), (1.0, 2.0), (2.0, 2.0)], 2.0)
    assert (flat.standing, flat.crossings, flat.alike) == ("alike", (), (0.0, 1.0, 2.0))
    # Near the bound, noise makes the curve cross the figure several times.
    touching = [(0.0, 1.0001), (0.25, 0.9999), (0.5, 1.0001), (1.0, 1.3)]
    assert standing(touching, 1.0).standing == "between"
    found = standing(touching, 1.0, 0.0, 0.25, 0.5)
    assert (found.standing, found.less, found.more) == ("at", (), (1.0,))
    # A bend that exceeds the noise still counts, even if a point between is alike.
    assert standing([(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (4.0, 1.5)], 2.0, 2.0).standing == (
        "between"
    )


@given(
    st.lists(st.floats(0.01, 5), min_size=2, max_size=6, unique=True),
    st.lists(st.floats(0.01, 5), min_size=6, max_size=6),
    st.floats(1.0, 20.0),
)
def test_interpolation_goes_back_to_the_figure(
    sigmas: list[float], steps: list[float], figure: float
) -> None:
    ys = [1 + math.fsum(steps[: index + 1]) for index in range(len(sigmas))]
    xs = sorted(sigmas)
    found = standing(list(zip(xs, ys, strict=True)), figure)
    if figure in ys:
        assert found.alike == (xs[ys.index(figure)],)
    elif figure < ys[0]:
        assert found.standing == "ahead"
    elif figure > ys[-1]:
        assert found.standing == "behind"
    else:
        assert found.sigma is not None
        # A naive solution: interpolate on the piece of the curve that holds the figure.
        at = next(i for i in range(len(ys) - 1) if ys[i] <= figure <= ys[i + 1])
        share = (found.sigma - xs[at]) / (xs[at + 1] - xs[at])
        assert ys[at] + share * (ys[at + 1] - ys[at]) == pytest.approx(figure)


def made(rows: list[Row], bound: float = 1.0, **changes: object) -> Gap:
    shown = ordered([*rows, Row("bound", "lower bound", write_amplification=bound)])
    gap = Gap("uniform", 100, 64, 0.1, 1, 16, 8.0, shown, equals(shown), 3, 0, False, 1, "0")
    return dataclasses.replace(gap, **changes)  # type: ignore[arg-type]


def online(name: str, figure: float, half: float = 0.01) -> Row:
    return Row(
        "online", name, name, "none", write_amplification=figure, write_amplification_ci95=half,
        run_values=(figure,), digest="a",
    )  # fmt: skip


def ahead(sigma: float, figure: float, errors: str = "write") -> Row:
    kind = "predictor" if sigma else "clairvoyance"
    return Row(
        kind, f"sigma {sigma:g}", "cost-benefit", "oracle", sigma, errors if sigma else None,
        figure, 0.01, (figure,), "a",
    )  # fmt: skip


def sentences(gap: Gap) -> list[str]:
    return [one.sentence for one in findings(gap)]


def test_sentences_by_hand() -> None:
    gap = made([online("greedy", 4.0), online("sepbit-cb", 2.5), ahead(0, 1.1), ahead(1, 2.0),
                ahead(2, 3.0), ahead(1, 1.9, "request"), ahead(2, 2.25, "request")])  # fmt: skip
    assert sentences(gap) == [
        "The best online scheme is sepbit-cb with 2.5000; clairvoyance reaches 1.1000. So 1.4000 "
        "of 1.5000 above 1 is open.",
        "A predictor with sigma = 1 would be worth 0.5000.",
        "sepbit-cb is as good as a predictor with sigma between 1 and 2 (about 1.5).",
        "A predictor with sigma = 1 a request would be worth 0.6000.",
        "sepbit-cb writes more than a predictor with sigma = 2 a request, the largest that was "
        "run; larger ones are not guessed.",
    ]


def test_sentences_say_between_which_errors_a_scheme_stands() -> None:
    def told(*predictors: Row) -> str:
        return sentences(made([online("greedy", 2.5), ahead(0, 1.1), *predictors]))[2]

    # Interpolation from 10 to 100 would give 61, but only the two ends are known.
    assert told(ahead(0.01, 1.2), ahead(10, 2.16), ahead(100, 2.76)) == (
        "greedy is as good as a predictor with sigma between 10 and 100."
    )
    assert told(ahead(0.25, 3.0)) == (
        "greedy is as good as a predictor with sigma between 0 and 0.25."
    )
    assert told(ahead(3, 2.51), ahead(4, 2.6)) == (
        "greedy cannot be told apart from predictors with sigma = 3; with 0 they write less; "
        "with 4 they write more."
    )
    assert told(ahead(3, 2.53), ahead(4, 2.6)) == (
        "greedy is as good as a predictor with sigma between 0 and 3."
    )
    assert told(ahead(1, 2.6), ahead(2, 2.4), ahead(8, 3.0)) == (
        "Predictors do not get steadily worse with sigma here: with 1 one writes more than "
        "greedy, and with 2 less."
    )


def test_the_heading_of_what_was_stopped_at_once_names_no_drive() -> None:
    gap = made([online("greedy", 2.5)], blocks=None, spare_factor=None, interrupted=True)
    assert dict(heading(gap))["drive"] == "not known yet: stopped while it was looked at"
    assert gap.to_dict()["blocks"] is None


def test_sentences_say_what_the_bound_is_where_requests_are_short() -> None:
    gap = made([online("greedy", 4.0), ahead(0, 2.5)], bound=2.25)
    assert sentences(gap)[0].endswith("So 1.5000 of 1.7500 above the bound of 2.2500 is open.")


def test_the_bound_is_what_whole_pages_take(tmp_path: Path) -> None:
    # The writes of a page have 4096, 1024 and 3072 bytes: three page writes for two pages of bytes.
    shapes = [(0, 4096), (0, 1024), (1024, 3072)]
    lines = [
        f"{at},W,{4096 * (7 * at % 640) + first},{size},0"
        for at in range(6000)
        for first, size in [shapes[at % 3]]
    ]
    trace = tmp_path / "short.csv"
    trace.write_text("\n".join(["time_us,op,offset_bytes,size_bytes,dev", *lines]))
    found = flashgc.gap(
        str(trace), pages_per_block=4, spare="30%", passes=6, jobs=1, schemes=["fifo"], sigma=[1]
    )
    assert found.bound == pytest.approx(1.5)
    assert all((row.write_amplification or 2) >= 1.5 - 1e-9 for row in found)
    assert {row.without_copies for row in found if row.digest} == {found.bound}
    assert found.rows[-1].write_amplification == found.bound


def test_sentences_where_foresight_is_no_gain() -> None:
    gap = made([online("greedy", 1.05), online("fifo", 1.055), ahead(0, 1.1), ahead(2, 3.0)])
    assert (gap.open or 0) < 0
    told = sentences(gap)
    assert "So this foresight is no gain here" in told[0]
    assert told[1:4] == [
        "It cannot be told apart from fifo.",
        "A predictor with sigma = 2 would be no gain: it writes 1.9500 more.",
        "greedy writes less than every predictor with errors here.",
    ]


def test_sentences_of_what_is_within_noise() -> None:
    gap = made([online("greedy", 1.05, 0.3), ahead(0, 1.01), ahead(1, 1.03)])
    told = sentences(gap)
    assert told[0].endswith(
        "clairvoyance reaches 1.0100. The difference is within noise; 0.0500 above 1 is open at "
        "most."
    )
    assert told[1:] == [
        "A predictor with sigma = 1 cannot be told apart from greedy.",
        "greedy cannot be told apart from predictors with sigma = 0 and 1.",
        "Errors are drawn for each page write; where requests are single pages there are no "
        "others.",
    ]
    # Here clairvoyance writes more, but the difference is within noise.
    told = sentences(made([online("greedy", 1.05, 0.3), ahead(0, 1.07)]))
    assert told[0].endswith("is within noise; 0.0500 above 1 is open at most.")


def test_on_the_bound_nothing_is_left() -> None:
    told = sentences(made([online("greedy", 1.0002, 0.0), ahead(0, 1.0001), ahead(1, 1.2)]))
    assert told[0] == (
        "The best online scheme is greedy with 1.0002, which is the lower bound: nothing is left "
        "to gain."
    )
    told = sentences(
        made(
            [
                online("greedy", 1.0006, 0.0),
                ahead(
                    0,
                    1.0001,
                ),
            ]
        )
    )
    assert "nothing is left" not in told[0]


def test_errors_of_requests_of_single_pages_are_those_of_writes() -> None:
    alone = "sequential:stride=7"  # No page follows its neighbour.
    found = flashgc.gap(alone, **DRIVE, runs=2, schemes=["fifo"], sigma=[1], errors="both")
    (write,), (request,) = found.predictors("write"), found.predictors("request")
    assert request.run_values == write.run_values
    assert write.write_amplification != found.clairvoyance.write_amplification  # type: ignore[union-attr]
    trace = {"pages_per_block": 64, "spare": "7%", "passes": 1, "jobs": 1}
    found = flashgc.gap(str(TRACE), **trace, schemes=["fifo"], sigma=[1])
    (write,), (request,) = found.predictors("write"), found.predictors("request")
    assert (request.write_amplification or 0) < 0.97 * (write.write_amplification or 0)


def test_sentences_of_what_was_stopped_or_left_out() -> None:
    stopped = Row("clairvoyance", "clairvoyance", "cost-benefit", "oracle", 0.0, reason="stopped")
    cannot = Row("online", "fifo + dac", "fifo", "dac", reason="too few blocks")
    told = sentences(made([online("greedy", 2.0), cannot, stopped], interrupted=True))
    assert told[:2] == [
        "Interrupted: 1 of 3 rows were measured.",
        "The best online scheme is greedy with 2.0000.",
    ]
    assert told[-1] == "fifo + dac cannot be run: too few blocks."
    none = made([Row("online", "greedy", "greedy", "none", reason="stopped")], interrupted=True)
    assert sentences(none) == ["Interrupted: 0 of 1 rows were measured."]
    with pytest.raises(flashgc.DriveError, match="no online scheme was measured"):
        _ = none.best


def test_errors_of_single_pages_are_named_where_there_are_no_others() -> None:
    def said(*predictors: Row) -> list[Finding]:
        rows = [online("greedy", 2.5), ahead(0, 1.1), *predictors]
        return [one for one in findings(made(rows)) if one.id == "single-pages"]

    (one,) = said(ahead(1, 2.0), ahead(2, 3.0))
    assert (one.gravity, one.evidence) == ("note", {})
    assert one.claim.startswith("Errors are drawn for each page write")
    assert not said(ahead(1, 2.0), ahead(1, 1.9, "request"))
    assert not said(ahead(1, 1.9, "request"))
    assert not said()


def test_schemes_that_the_drive_has_no_room_for_are_named() -> None:
    found = flashgc.gap(
        WORKLOAD, **{**DRIVE, "spare": "15%"}, runs=1, sigma=[1],
        schemes=["sepbit", "cost-benefit + dac:regions=50"],
    )  # fmt: skip
    (row,) = [row for row in found if row.name.endswith("regions=50")]
    assert row.write_amplification is None
    assert "are too few for the pool" in row.reason
    assert any(f"{row.name} cannot be run: " in one for one in sentences(found))
    assert found.best.name == "sepbit"


def test_what_was_kept_is_not_run_again(tmp_path: Path) -> None:
    asked = {**DRIVE, "runs": 2, "sigma": [1.0], "schemes": ["fifo"], "cache": tmp_path / "kept"}
    first = flashgc.gap(WORKLOAD, **asked)
    again = flashgc.gap(WORKLOAD, **asked)
    assert (first.simulations, first.found) == (4, 0)
    assert (again.simulations, again.found) == (0, 4)
    assert again.rows == first.rows
    other = flashgc.gap(WORKLOAD, **asked, seed=2)
    assert (other.simulations, other.found) == (4, 0)
    assert other.best.digest != first.best.digest
    anew = flashgc.gap(WORKLOAD, **asked, resume=False)
    assert (anew.simulations, anew.found, anew.rows) == (4, 0, first.rows)


def test_a_control_that_is_cancelled_stops_it() -> None:
    control = flashgc.Control()
    control.cancel()
    found = flashgc.gap("uniform", **{**DRIVE, "writes": "1000x"}, control=control)
    assert found.interrupted
    assert not found.online
    assert all(row.reason == "stopped" for row in found if row.victim is not None)
    assert [row.name for row in found][-1] == "lower bound"


def test_the_document_has_every_row(found: Gap) -> None:
    document = json.loads(found.to_json())
    assert [row["name"] for row in document["rows"]] == [row.name for row in found]
    assert document["open"] == found.open
    assert set(document["equal"]) == {"write", "request"}
    assert document["equal"]["write"]["standing"] == found.equal["write"].standing


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vm_page_cache": "1MiB"}, "vm_page_cache cannot be given"),
        ({"until": "precision=1%"}, "until cannot be given"),
        ({"victim": "greedy"}, "hint: schemes names schemes"),
        ({"kind": "timed"}, "kind: found timed"),
        ({"mapping": "dftl"}, "mapping: found dftl"),
        ({"sigma": []}, "sigma: found none"),
        ({"schemes": []}, "schemes: found none"),
        ({"sigma": [1, "1,sigma=2"]}, "sigma: found '1,sigma=2'"),
        ({"sigma": [math.nan]}, "sigma: found 'nan'"),
        ({"classes": 2.5}, "classes: found '2.5', expected 1 to 32"),
    ],
)
def test_bad_keywords_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(flashgc.ConfigError, match="hint:") as caught:
        flashgc.gap("uniform", **options)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_what_is_wrong_with_the_drive_is_said_of_the_gap() -> None:
    options: dict[str, Any] = {
        "writes": "4x",
        "runs": 2,
        "schemes": ["cost-benefit"],
        "sigma": [1],
        "classes": 4,
    }
    small = flashgc.gap("uniform", blocks=60, pages_per_block=32, spare=0.3, **options)
    large = flashgc.gap("uniform", blocks=200, pages_per_block=32, spare=0.3, **options)
    said = [one.claim for one in small.findings if one.id == "few-blocks"]
    assert said == [
        "the drive has only 60 blocks: amplification may be another than that of a large drive"
    ]
    assert "few-blocks" not in [one.id for one in large.findings]
    assert all(one.findings for one in small if one.digest is not None)
