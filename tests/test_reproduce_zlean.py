"""ZLeanStore's simulator: sizes, rows, wrong engines, and a page in place under each reading."""

from __future__ import annotations

import functools

import pytest

import flashgc
from flashgc.results import Result
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.mutants import Mutant, changed, mutants_of
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.zlean import experiment
from flashgc_papers.zlean.experiment import LOGICAL, PAGES, RULES, UNITS
from papers import WHOLE_PAGES, claim_of, result_of, task_of

SIM = claims().select(("zlean.sim",))
the = functools.partial(claim_of, "zlean")
READINGS = {reading.name: reading for reading in readings_of("zlean")}


def programs(count: float) -> Result:
    return result_of({"host_pages": 1000, "copied_pages": round(count) - 1000})


def judged(claim: Claim, results: dict[str, Result]) -> Outcome:
    runner = runner_of(claim)
    assert runner is not None
    return runner.judge(claim, Measured(Size.QUICK, task_of(claim, Size.QUICK), results, {}))


def test_the_drive_is_that_of_the_readmes_example() -> None:
    # 40 GiB in units of 128 MiB, and capacity x 1.125 rounded down to whole units.
    assert PAGES[Size.FULL] * 4096 == 128 << 20
    assert LOGICAL * PAGES[Size.FULL] * 4096 == 40 << 30
    assert int(LOGICAL * 1.125) == UNITS
    for size in (Size.QUICK, Size.DEFAULT):
        config = {**experiment.simulator("greedy", 0.8, size).options, "warmup": "0x", "writes": 1}
        assert flashgc.run(**config).config.logical_pages == LOGICAL * PAGES[size]


@pytest.mark.parametrize("size", list(Size))
@pytest.mark.parametrize("claim", SIM, ids=lambda claim: claim.id)
def test_every_rule_has_a_task_of_its_size(claim: Claim, size: Size) -> None:
    task = task_of(claim, size)
    assert list(task.simulations) == ["zipf 0", "zipf 0.6", "zipf 0.8", "zipf 0.99"]
    for simulation in task.simulations.values():
        config = simulation.config()
        assert config["pages_per_block"] == PAGES[size]
        assert simulation.command().startswith("flashgc run --workload zipf:theta=")
    # A skewed drive programs more than it is asked to, and less than ten times as much.
    for count in claim.column(str(size)):
        assert 2 < float(count) / experiment.counted(size) < 10


@pytest.mark.parametrize(
    ("rule", "off", "verdict"),
    [
        ("greedy", 0, Verdict.MET),
        ("greedy", 1, Verdict.MISSED),
        ("greedy-s2r", -1, Verdict.MISSED),
        ("2r-fifo", 600, Verdict.MET),
        ("2r-fifo", 800, Verdict.MISSED),
        ("greedy-k8", 3000, Verdict.MET),
        ("greedy-k8", 6000, Verdict.MISSED),
    ],
)
def test_programs_are_held_to_the_digit_where_rules_are_equal(
    rule: str, off: int, verdict: Verdict
) -> None:
    claim = the(f"sim.{rule}")
    published = zip(claim.column("zipf"), claim.column("quick"), strict=True)
    results = {f"zipf {float(theta):g}": programs(float(count) + off) for theta, count in published}
    outcome = judged(claim, results)
    assert {row.verdict for row in outcome.rows} == {verdict}


def test_what_was_not_simulated_is_not_run() -> None:
    assert judged(the("sim.greedy"), {}).verdict is Verdict.NOT_RUN
    assert judged(the("inplace"), {}).verdict is Verdict.NOT_RUN


#: The rule or reading under which each wrong engine is tried, and the least change in percent.
WRONG = {
    "SSD-iq's spare space": ("greedy", -5),
    "other ties": ("greedy", -0.05),
    "two frontiers for one": ("greedy", -5),
    "one frontier for two": ("2r-fifo", 5),
    "an erased unit in reserve": ("greedy", -5),
    "other choices": ("greedy-k8", 0.5),
    "no doublewrite buffer": ("doubled-trimmed", 15),
    "FIFO in the drive": ("doubled-trimmed", 5),
    "no skew": ("greedy", -5),
}


@pytest.mark.parametrize("mutant", mutants_of("zlean"), ids=lambda mutant: mutant.name)
def test_a_wrong_engine_programs_another_number(mutant: Mutant) -> None:
    rule, least = WRONG[mutant.name]
    if rule in RULES:
        right = experiment.simulator(rule, 0.8, Size.QUICK).options
    else:
        right = experiment.in_place("zipf:theta=0.8", 0.9, READINGS[rule], Size.QUICK).options
    wrong = mutant.options(right)
    assert wrong is not None
    counts = [flashgc.run(**options).write_amplification for options in (right, wrong)]
    assert (100 * (counts[1] / counts[0] - 1)) / least > 1


def test_a_wrong_engine_of_the_simulator_leaves_the_page_in_place_alone() -> None:
    task = task_of(the("inplace"), Size.QUICK)
    asked = {one.name for one in mutants_of("zlean") if changed(task, one).simulations}
    assert asked == {"no skew", "no doublewrite buffer", "FIFO in the drive"}


@pytest.mark.parametrize("reading", READINGS.values(), ids=lambda reading: reading.name)
def test_a_reading_decides_spare_space_and_writes(reading: Reading) -> None:
    options = experiment.in_place("zipf:theta=0.8", 0.9, reading, Size.QUICK).options
    # Trimmed addresses are spare: 1 - 0.9 x (1 - 0.11303). Written ones are data, and stay.
    spare, end = (0.201727, "1") if reading["trimmed"] else (0.11303, "0.9")
    assert options["spare"] == pytest.approx(spare)
    assert options["workload"].endswith(f",to={end}")
    assert ("sequential" in options["workload"]) is reading["doublewrite"]
    # A page that is written twice costs twice the amplification, and four KiB each time.
    assert experiment.kib(2.5, reading) == (20 if reading["doublewrite"] else 10)


def test_a_trimmed_rest_is_spare_space() -> None:
    """The shorter drive writes what the whole one does whose last tenth was trimmed."""
    size = {"blocks": 512, "pages_per_block": 64, "victim": "greedy", "frontier": "pool"}
    short = flashgc.run("uniform", spare=1 - 0.9 * (1 - 0.11303), **size)
    whole = flashgc.run("uniform:to=0.9", spare=0.11303, fill="empty", **size)
    assert short.write_amplification == pytest.approx(whole.write_amplification, rel=0.01)


def test_the_figure_is_met_in_kind_within_five_percent() -> None:
    claim = the("inplace")

    def outcome(kib: float) -> Outcome:
        figures = {"bytes": WHOLE_PAGES, "write_amplification_ci95": 0.001}
        results = {
            f"{name}: {skew} of the skew": result_of(
                {**figures, "write_amplification": kib / times}
            )
            for name, reading in READINGS.items()
            for skew in ("all", "none")
            for times in [8 if reading["doublewrite"] else 4]
        }
        return judged(claim, results)

    assert set(outcome(18.85 * 1.04).under.values()) == {Verdict.IN_KIND}
    assert set(outcome(18.85 * 0.94).under.values()) == {Verdict.MISSED}
