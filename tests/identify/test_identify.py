"""`flashgc identify` on simulated drives: the schemes that it finds, and its doubts."""

from __future__ import annotations

import json
import math
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import flashgc
from conftest import ROOT, Command, ended, keeping, kept_results, started
from flashgc import ConfigError, Identification
from flashgc.studies import plot
from flashgc.studies.identifying.curves import Ask, Curves
from flashgc.studies.identifying.describe import RULES, findings
from flashgc.studies.identifying.identify import QUICK, identify
from flashgc.studies.identifying.measurements import Drive, Point, read
from flashgc.studies.identifying.outcome import FalseBest, false_best
from flashgc.studies.identifying.schemes import Scheme, parse
from flashgc.studies.identifying.workloads import condition

#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)

#: Three schemes with different curves.
SCHEMES = ("greedy single", "cost-benefit pool", "random mixed")
WORKLOADS = ("uniform", "80/20", "90/10", "zipf:theta=0.9")


def measured(name: str, scheme: str, spare: float, factor: float = 1) -> Drive:
    """A drive of --quick's size, simulated with another seed, without measurement error."""
    points = []
    for workload in WORKLOADS:
        one = condition(workload, 10**12)
        result = flashgc.run(
            one.source(int(QUICK.blocks * QUICK.pages_per_block * (1 - spare))),
            blocks=QUICK.blocks,
            pages_per_block=QUICK.pages_per_block,
            spare=spare,
            seed=7,
            **parse(scheme).options(QUICK.blocks),  # type: ignore[misc]
        )
        points.append(Point(one, factor * result.write_amplification, 0.02))
    return Drive(name, tuple(points))


def as_csv(drives: list[Drive]) -> str:
    rows = ["drive,workload,write_amplification"]
    for drive in drives:
        rows += [f"{drive.name},{p.workload},{p.write_amplification}" for p in drive.points]
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def drives() -> list[Drive]:
    return [measured("A", "cost-benefit pool", 0.22), measured("B", "cost-benefit pool", 0.11)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def found(drives: list[Drive], cache: Path) -> Identification:
    return identify(
        drives,
        scheme=SCHEMES,
        quick=True,
        blocks=256,
        cache=cache,
        hold_out=True,
        what_if=["spare=+5%"],
    )


def test_the_scheme_and_the_spare_factor_are_found(found: Identification) -> None:
    for one, spare in zip(found.drives, (0.22, 0.11), strict=True):
        assert one.is_explained
        assert [ranked.explanation.scheme.name for ranked in one.alike] == ["cost-benefit pool"]
        assert one.best is not None
        assert one.best.explanation.fits[0].spare == pytest.approx(spare, rel=0.03)
        assert one.best.explanation.largest < 0.04
        assert one.best.explanation.rms <= one.best.explanation.largest


def test_the_spare_factor_has_an_interval(found: Identification) -> None:
    for one, spare in zip(found.drives, (0.22, 0.11), strict=True):
        (interval,) = one.spares
        assert interval is not None
        assert one.best is not None
        best = one.best.explanation
        assert interval.low < best.fits[0].spare < interval.high
        assert interval.low < spare < interval.high < 1.2 * interval.low
        # The interval ends where the fit fails: there chi-square is at its limit.
        assert best.intervals == (interval,)
        (said,) = (finding for finding in one.findings if finding.id == "spare-interval")
        assert said.evidence == {"low": interval.low, "high": interval.high}
        document = one.to_dict()
        ends = {"low": interval.low, "high": interval.high}
        assert document["spares"] == [{**ends, "is_open_below": False, "is_open_above": False}]


def test_what_is_said_of_the_whole_list_has_its_rate_of_false_explanations(
    found: Identification,
) -> None:
    said = {finding.id: finding for finding in found.drives[0].findings}
    # The rate of false best schemes is not known for a list of three schemes.
    assert "false-best-unknown" in said
    listed = replace(found.drives[0], false_best=FalseBest(50, 20, 7, 0.02))
    said = {finding.id: finding for finding in findings(listed)}
    assert said["false-best"].text == (
        "Of drives with a scheme outside the list, 40% look like one of it by the same limit "
        "(20 of 50, measured on 7 workloads with an error of 2%); with fewer workloads, as here, "
        "it is more"
    )
    alike = replace(found.drives[0], false_best=FalseBest(50, 20, len(WORKLOADS), 0.02))
    (last,) = (one for one in findings(alike) if one.id == "false-best")
    assert last.text.endswith("(20 of 50, measured on 4 workloads with an error of 2%)")
    assert said["false-best"].gravity == "doubt"
    assert said["false-best"].evidence["share"] == 0.4
    assert RULES.keys() >= said.keys()
    assert listed.to_dict()["false_best"] == {
        "drives": 50, "explained": 20, "workloads": 7, "noise": 0.02, "share": 0.4,
    }  # fmt: skip


def test_the_whole_list_has_the_rate_that_ships(
    drives: list[Drive], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three schemes replace the full list.
    listed = tuple(map(parse, SCHEMES))
    monkeypatch.setattr("flashgc.studies.identifying.identify.schemes", lambda: listed)
    given = {"quick": True, "blocks": 256, "cache": cache}
    (whole,) = identify(drives[:1], **given).drives  # type: ignore[arg-type]
    (part,) = identify(drives[:1], scheme=SCHEMES[:2], **given).drives  # type: ignore[arg-type]
    rate = false_best()
    assert (whole.false_best, part.false_best) == (rate, None)
    (said,) = (one for one in whole.findings if one.id == "false-best")
    assert f"({rate.explained} of {rate.drives}, " in said.text


def test_columns_of_a_published_table_are_named_once(
    command: Command, drives: list[Drive], cache: Path, tmp_path: Path
) -> None:
    rows = as_csv(drives[:1]).splitlines()
    text = [f"{rows[0]},seconds,write_p50_us", *(f"{row},550,3215" for row in rows[1:])]
    (tmp_path / "m.csv").write_text("\n".join(text))
    given = ["identify", "m.csv", "--quick", "--blocks", 256, "--cache", cache, "--json"]
    given += [word for name in SCHEMES for word in ("--scheme", name)]
    made = command(*given)
    note = "note: columns that are not used are left out: 'seconds', 'write_p50_us'\n"
    assert (made.returncode, made.stderr) == (0, note)
    assert json.loads(made.stdout)["columns_left_out"] == ["seconds", "write_p50_us"]
    assert command(*given, "--quiet").stderr == ""


def test_a_wrong_scheme_is_not_said_to_be_right(drives: list[Drive], cache: Path) -> None:
    made = identify(drives[:1], scheme=["greedy single"], quick=True, blocks=256, cache=cache)
    (one,) = made.drives
    assert not one.is_explained
    assert one.best is not None
    assert one.best.explanation.largest > 0.1
    assert one.goodness is not None
    assert one.goodness.chance < 0.05
    said = {finding.id: finding.text for finding in one.findings}
    assert said["nearest-scheme"].startswith("Nearest of 1 scheme: greedy single with ")
    assert "none-explains" in said
    assert not {"best-explanation", "false-best", "false-best-unknown"} & said.keys()


def test_schemes_with_the_same_curve_cannot_be_told_apart(cache: Path) -> None:
    # d-choices with d = 1 is random selection, with the same draws.
    twins = ["random pool", "d-choices:d=1 pool"]
    drive = measured("A", "random pool", 0.15)
    others = SCHEMES[:2]
    (one,) = identify([drive], scheme=[*twins, *others], quick=True, blocks=256, cache=cache).drives
    names = {ranked.explanation.scheme.name for ranked in one.alike}
    assert names == {"random pool", "d-choices:d=1,c=0 pool"} or names == set(twins)
    first, second = one.alike
    assert first.explanation.chi_square == second.explanation.chi_square
    # No workload distinguishes twins.
    assert all(further.spread == 0 for further in one.further)
    assert all(further.pairs_told_apart == 0 for further in one.further)
    assert one.deciding is None
    (said,) = (finding.text for finding in one.findings if "deciding" in finding.id)
    assert said.startswith("No further workload of the list tells two of them apart: at ")
    assert one.to_dict()["deciding"] is None


def test_a_spare_factor_that_a_scheme_cannot_have_is_left_out() -> None:
    # Six regions reserve twelve blocks, more than 4% of 256. A round may have only this scheme.
    scheme, where = parse("greedy pool dac:regions=6"), condition("uniform", 10**12)
    curves = Curves(QUICK)
    for spare in (0.04, 0.2):
        curves.simulate([Ask(scheme, where, spare)], "test")
    assert math.isnan(curves.value(Ask(scheme, where, 0.04)))
    assert curves.value(Ask(scheme, where, 0.2)) > 1


def test_the_further_workload_is_the_one_that_differs_most(cache: Path) -> None:
    drive = measured("A", "greedy single", 0.15)
    uniform = Drive("A", tuple(p for p in drive.points[:1]) * 1)
    points = [Point(condition(f"{50 + n}/{50 - n}", 10**12), uniform.points[0].write_amplification,
                    0.05) for n in range(3)]  # fmt: skip
    nearly_uniform = Drive("A", tuple(points))
    (one,) = identify(
        [nearly_uniform],
        scheme=["greedy single", "cost-benefit pool"],
        quick=True,
        blocks=256,
        cache=cache,
    ).drives
    assert len(one.alike) == 2
    deciding = one.deciding
    assert deciding is not None
    assert deciding == one.further[0]
    # With skew, greedy writes more and cost-benefit less; a strong skew separates them best.
    assert deciding.workload in ("99/1", "95/5", "zipf:theta=1", "zipf:theta=1.2")
    assert deciding.spread > 0.5
    gains = [further.best_two for further in one.further]
    assert gains == sorted(gains, reverse=True)
    assert (deciding.pairs, deciding.pairs_told_apart) == (1, 1)
    # Uniform writes cannot decide, because both schemes have equal figures there.
    uniform_too = next(further for further in one.further if further.workload == "uniform")
    assert uniform_too.pairs_told_apart == 0
    assert uniform_too.best_two < 9 < deciding.best_two
    document = one.to_dict()["deciding"]
    assert isinstance(document, dict)
    assert document["expected"] == dict(
        zip(("greedy single", "cost-benefit pool"), deciding.predicted, strict=True)
    ) or list(document["expected"].values()) == list(deciding.predicted)  # type: ignore[union-attr,call-overload]
    (said,) = (finding.text for finding in one.findings if finding.id == "deciding-workload")
    assert said.startswith(f"Measure {deciding.workload} next: ")
    assert all(f" predicts {value:.2f}" in said for value in deciding.predicted)


def test_two_spare_factors_of_one_hardware(drives: list[Drive], cache: Path) -> None:
    made = identify(drives, scheme=SCHEMES, quick=True, blocks=256, same_hardware=True, cache=cache)
    (one,) = made.drives
    assert one.best is not None
    assert one.best.explanation.scheme.name == "cost-benefit pool"
    spares = [fit.spare for fit in one.best.explanation.fits]
    assert spares == pytest.approx([0.22, 0.11], rel=0.03)


def test_relative_values_tell_the_shape(cache: Path) -> None:
    drive = measured("A", "cost-benefit pool", 0.15)
    first = drive.points[0].write_amplification
    points = (Point(p.condition, p.write_amplification / first, p.error) for p in drive.points)
    relative = Drive("A", tuple(points))
    with pytest.raises(ConfigError, match="compares the shape alone"):
        identify([relative], scheme=SCHEMES, quick=True, blocks=256)
    (one,) = identify(
        [relative], scheme=SCHEMES, quick=True, blocks=256, relative=True, cache=cache
    ).drives
    assert one.best is not None
    assert one.best.explanation.scheme.name == "cost-benefit pool"
    (fit,) = one.best.explanation.fits
    # Values are relative to those of uniform writes, so the scaled curve gives 1 for them.
    assert fit.predicted[0] == pytest.approx(1, abs=0.03)


def test_a_held_out_point_does_not_know_itself(drives: list[Drive], cache: Path) -> None:
    points = list(drives[0].points)
    points[1] = Point(points[1].condition, 77.0, points[1].error)
    changed = Drive("A", tuple(points))
    (before,) = identify(
        drives[:1], scheme=SCHEMES, quick=True, blocks=256, hold_out=True, cache=cache
    ).drives
    (after,) = identify(
        [changed], scheme=SCHEMES, quick=True, blocks=256, hold_out=True, cache=cache
    ).drives
    assert after.held_out[1].error == pytest.approx(before.held_out[1].predicted / 77 - 1, abs=0.01)
    assert abs(before.held_out[1].error) < 0.05
    assert before.held_out_rms == pytest.approx(
        math.sqrt(sum(one.error**2 for one in before.held_out) / len(WORKLOADS))
    )


def test_what_if_is_what_a_run_says(found: Identification) -> None:
    (change,) = found.drives[0].what_ifs
    assert found.drives[0].best is not None
    spare = found.drives[0].best.explanation.fits[0].spare + 0.05
    assert change.spare == pytest.approx(spare)
    alone = flashgc.run(
        "uniform",
        blocks=QUICK.blocks,
        pages_per_block=QUICK.pages_per_block,
        spare=round(spare, 4),
        victim="cost-benefit",
        frontier="pool",
        writes="20x",
    )
    assert change.then[0] == alone.write_amplification
    assert change.then[0] < change.now[0]
    assert change.least == change.most


def test_a_second_call_simulates_nothing(
    found: Identification, drives: list[Drive], cache: Path
) -> None:
    again = identify(
        drives,
        scheme=SCHEMES,
        quick=True,
        blocks=256,
        cache=cache,
        hold_out=True,
        what_if=["spare=+5%"],
    )
    assert again.simulated == 0 < again.found
    assert again.to_dict() == found.to_dict()


def test_the_command_says_shows_and_draws(
    command: Command, drives: list[Drive], cache: Path, tmp_path: Path, found: Identification
) -> None:
    (tmp_path / "m.csv").write_text(as_csv(drives))
    given = [
        "identify",
        "m.csv",
        "--quick",
        "--blocks",
        256,
        "--cache",
        cache,
        "--hold-out",
        "--what-if",
    ]
    given += ["spare=+5%", *(word for name in SCHEMES for word in ("--scheme", name))]
    made = command(*given, "--plot", "a.svg")
    assert (made.returncode, made.stderr) == (0, "")
    assert "Best explanation among 3 schemes: cost-benefit pool with 2" in made.stdout
    assert "The measurement tells it from every other scheme." in made.stdout
    assert "Held out: each point predicted from the others is off by " in made.stdout
    tables = [line for line in made.stdout.splitlines() if not line.endswith(".")]
    assert max(map(len, tables)) <= 80
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    document = json.loads(command(*given, "--json").stdout)
    assert document == json.loads(found.to_json())
    assert list(document) == [
        "version", "interrupted", "relative", "same_hardware", "schemes", "simulated_drive",
        "simulation_error", "told_apart_beyond", "columns_left_out", "lines_left_out", "identified",
    ]  # fmt: skip
    only = json.loads(command(*given, "--drive", "B", "--json").stdout)
    assert [one["drives"][0]["name"] for one in only["identified"]] == ["B"]


def test_the_picture_has_the_measured_points(found: Identification) -> None:
    figure = plot.identified(found)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["A", "B"]
    drive = found.drives[0].drives[0]
    bars = figure.axes[0].containers[0]
    heights = bars.lines[0].get_ydata()  # type: ignore[union-attr]
    assert list(heights) == [point.write_amplification for point in drive.points]
    lines = [line for line in figure.axes[0].get_lines() if line.get_linestyle() != "None"]
    best = found.drives[0].best
    assert best is not None
    assert any(list(line.get_ydata()) == list(best.explanation.fits[0].predicted) for line in lines)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scheme": ["gredy single"]}, "unknown victim policy 'gredy'"),
        ({"scheme": ["greedy sinlge"]}, "scheme: unknown word 'sinlge'"),
        ({"what_if": ["spare=2"]}, "what-if: spare factor 2"),
        ({"what_if": [""]}, "what-if: found ''"),
        ({"what_if": ["nothing"]}, "what-if: victim: unknown victim policy 'nothing'"),
        ({"drive": ["C"]}, "drive: unknown drive 'C'"),
        ({"error": 0.0}, "error: found 0"),
        ({"blocks": 1}, "blocks: found 1"),
        ({"same_hardware": True, "drive": ["A"]}, "same hardware: found one drive"),
    ],
)
def test_wrong_options_are_refused(
    drives: list[Drive], given: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        identify(drives, **{"quick": True, "blocks": 256, **given})  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_two_workloads_tell_nothing(drives: list[Drive]) -> None:
    with pytest.raises(ConfigError, match="A: found 2 workloads, expected 4 at least"):
        identify([Drive("A", drives[0].points[:2])])


def test_the_published_measurements_are_read() -> None:
    published = read(ROOT / "data" / "identify" / "data-centre-drives.csv")
    assert [len(drive.points) for drive in published] == [6, 6, 12, 6, 6, 6]
    assert published[2].points[0].write_amplification == 2.224


def test_the_number_of_blocks_is_found_where_it_matters(cache: Path) -> None:
    # On a drive with few blocks, the open block is a larger share. The hottest pages are
    # overwritten while it is open. At zipf 1 they get much of the writes.
    points = []
    for workload in (*WORKLOADS, "95/5", "zipf:theta=1"):
        one = condition(workload, 10**12)
        source = one.source(int(1024 * QUICK.pages_per_block * 0.85))
        result = flashgc.run(
            source, blocks=1024, pages_per_block=64, spare=0.15, victim="greedy",
            frontier="mixed", seed=7,
        )  # fmt: skip
        points.append(Point(one, result.write_amplification, 0.02))
    drive = Drive("A", tuple(points))
    names = ["greedy mixed"]
    (free,) = identify([drive], scheme=names, quick=True, cache=cache).drives
    (fixed,) = identify([drive], scheme=names, quick=True, blocks=256, cache=cache).drives
    assert free.best is not None
    assert fixed.best is not None
    assert free.best.explanation.blocks == 1024
    assert 256 not in free.best.explanation.blocks_alike
    assert free.is_explained
    assert fixed.best.explanation.blocks == 256
    assert fixed.best.explanation.chi_square > 9 + free.best.explanation.chi_square


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, drives: list[Drive]) -> None:
    (tmp_path / "m.csv").write_text(as_csv(drives))
    cache = tmp_path / "cache"
    given = ("identify", tmp_path / "m.csv", "--cache", cache, "--jobs", "1")
    process = started(*given)
    keeping(process, cache, 1)
    code, _, errors = ended(process, signal.SIGINT)
    assert code == 130
    assert "interrupted: give the same command again to go on" in errors
    assert kept_results(cache)


def test_parts_of_the_blocks() -> None:
    assert Scheme("windowed:w=N/16", "mixed").options(1024)["victim"] == "windowed:w=64"
    assert parse("cost-benefit dac:regions=3").frontier == "pool"
