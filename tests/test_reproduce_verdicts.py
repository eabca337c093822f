"""Verdicts, claims and outcomes on hand-made numbers, with edge cases."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from flashgc import ConfigError
from flashgc_papers.claims import Claim, Input, Kind, Tolerance, claims, parse
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.document import Reproduction
from flashgc_papers.reproduce.rows import row
from flashgc_papers.reproduce.runner import Outcome, Table, conclude
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task
from flashgc_papers.reproduce.verdicts import Value, Verdict

MET, IN_KIND, BLIND = Verdict.MET, Verdict.IN_KIND, Verdict.BLIND
MISSED, NOT_RUN = Verdict.MISSED, Verdict.NOT_RUN
FITTED, UNSTEADY = Verdict.FITTED, Verdict.UNSTEADY


def test_the_interval_of_a_median_is_that_of_the_sign_test() -> None:
    # The number of values, and the number that the interval of their median leaves out at each
    # end, by the binomial distribution.
    for n, skipped in ((6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (14, 2), (17, 4)):
        value = Value.median_of([float(one * one) for one in range(n)])
        assert (value.low, value.high) == (skipped**2, (n - 1 - skipped) ** 2)
        assert value.low < value.mean < value.high
    with pytest.raises(ValueError, match="fewer than six"):
        Value.median_of([1.0] * 5)


def test_an_effect_is_told_from_none_by_the_end_of_its_interval() -> None:
    # The interval of 8 is from 1 to 40. Half of its width exceeds the effect, but 0 is outside.
    lopsided = Value(8.0, 19.5, (1.0, 40.0))
    assert verdicts.sized(lopsided, 8).verdict is MET
    assert verdicts.sized(Value(8.0, 19.5), 8).verdict is MISSED
    assert verdicts.sized(replace(lopsided, ends=(-0.1, 40.0)), 8).verdict is MISSED
    assert "the other sign" in verdicts.sized(lopsided, -8).why


@pytest.mark.parametrize(
    ("measured", "published", "tol", "verdict"),
    [
        (2.0, 2.0, "0", MET),
        (2.0000001, 2.0, "0", MISSED),
        # In binary, 5.001 - 5 is slightly below 0.001, and 5 - 4.999 slightly above.
        (5.001, 5.0, "0.02%", MET),
        (4.999, 5.0, "0.02%", MET),
        (5.00101, 5.0, "0.02%", MISSED),
        (4.99899, 5.0, "0.02%", MISSED),
        (1.5, 1.0, "0.5", MET),
        (1.51, 1.0, "0.5", MISSED),
        (-5.001, -5.0, "0.02%", MET),
        (0.0, 0.0, "1%", MET),
        (1e-9, 0.0, "1%", MISSED),
        (math.nan, 1.0, "50%", MISSED),
    ],
)
def test_equal_is_within_the_tolerance_ends_included(
    measured: float, published: float, tol: str, verdict: Verdict
) -> None:
    assert verdicts.equal(Value(measured), published, Tolerance.parse(tol)).verdict is verdict


def test_an_interval_widens_no_tolerance_but_is_named() -> None:
    judgement = verdicts.equal(Value(5.01, 0.5), 5.0, Tolerance.parse("0.1%"))
    assert judgement == (
        MISSED,
        "+0.200%, beyond 0.1%; the interval is wider than that, more runs would tell",
    )


@pytest.mark.parametrize(
    ("measured", "verdict"), [(0.95, MET), (1.05, MET), (0.9499, MISSED), (1.0501, MISSED)]
)
def test_a_range_has_its_ends(measured: float, verdict: Verdict) -> None:
    assert verdicts.within(Value(measured), 0.95, 1.05).verdict is verdict


@pytest.mark.parametrize(
    ("less", "more", "verdict"),
    [
        (Value(1), Value(2), MET),
        (Value(1), Value(1), MISSED),
        (Value(2), Value(1), MISSED),
        (Value(1, 0.4), Value(2, 0.5), MET),
        (Value(1, 0.5), Value(2, 0.5), MISSED),
        (Value(1, math.nan), Value(2), MISSED),
    ],
)
def test_an_order_holds_outside_the_intervals_only(
    less: Value, more: Value, verdict: Verdict
) -> None:
    assert verdicts.below(less, more, ("a", "b")).verdict is verdict


@pytest.mark.parametrize(
    ("series", "verdict"),
    [
        ([3, 2, 1], MET),
        ([3, 2, 2, 1], MET),
        ([3, 1, 2], MISSED),
        ([1, 2, 3], MISSED),
        ([2, 2, 2], MISSED),
    ],
)
def test_a_trend_is_monotone(series: list[float], verdict: Verdict) -> None:
    names = [str(at) for at in range(len(series))]
    assert verdicts.falling([Value(y) for y in series], names).verdict is verdict
    assert verdicts.rising([Value(-y) for y in series], names).verdict is verdict


def test_a_trend_may_turn_within_the_intervals_only() -> None:
    names = ["0", "1", "2"]
    wide = [Value(3, 0.1), Value(1.0, 0.3), Value(1.5, 0.3)]
    narrow = [Value(3, 0.1), Value(1.0, 0.2), Value(1.5, 0.2)]
    assert verdicts.falling(wide, names).verdict is MET
    assert verdicts.falling(narrow, names) == (
        MISSED,
        "from 1 to 2 it goes from 1.0000 ±0.2000 to 1.5000 ±0.2000",
    )
    # The whole decrease must exceed the intervals of its ends.
    assert verdicts.falling([Value(2, 0.6), Value(1, 0.6)], names).verdict is MISSED


def test_the_least_lies_where_it_was_published() -> None:
    values = [Value(3), Value(1, 0.1), Value(1.1, 0.1), Value(2)]
    inside = verdicts.least([1, 2, 3, 4], values, 2, 2, "c")
    assert inside == (
        MET, "least at c = 2 (1.0000 ±0.1000); c = 3 is 10.00% worse, inside the intervals",
    )  # fmt: skip
    assert verdicts.least([1, 2, 3, 4], values, 3, 4, "c").verdict is MISSED
    assert verdicts.least([1, 2, 3, 4], values, 2, 4, "c").why.endswith("c = 1 is 200.00% worse")


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([], NOT_RUN),
        ([MET, MET], MET),
        ([MET, IN_KIND], IN_KIND),
        ([MET, NOT_RUN], NOT_RUN),
        ([NOT_RUN, IN_KIND], NOT_RUN),
        ([NOT_RUN, MISSED, MET], MISSED),
        ([BLIND, MET], MET),
        ([BLIND, MISSED], MISSED),
        ([BLIND, BLIND], BLIND),
        # An unsteady row decides. A fitted one decides only if there is no other row.
        ([UNSTEADY, MET, IN_KIND], UNSTEADY),
        ([UNSTEADY, MISSED], MISSED),
        ([FITTED, IN_KIND], IN_KIND),
        ([FITTED, MISSED], MISSED),
        ([FITTED, UNSTEADY], UNSTEADY),
        ([FITTED, BLIND], FITTED),
    ],
)
def test_nothing_is_met_that_was_not_run_whole(parts: list[Verdict], whole: Verdict) -> None:
    assert verdicts.together(parts) is whole


@pytest.mark.parametrize(
    ("measured", "published", "base", "verdict"),
    [
        # A factor of exactly 1.5 in both directions, and slightly more.
        (Value(-15.0), -10, 0, MET),
        (Value(-15.1), -10, 0, MISSED),
        (Value(15.0), 22.5, 0, MET),
        (Value(14.9), 22.5, 0, MISSED),
        # The opposite sign, and no effect.
        (Value(10.0), -10, 0, MISSED),
        (Value(0.0), -10, 0, MISSED),
        # The interval includes 0, or is not known.
        (Value(-10.0, 10.0), -10, 0, MISSED),
        (Value(-10.0, 9.9), -10, 0, MET),
        (Value(-10.0, math.nan), -10, 0, MISSED),
        # Sizes in percent of a base, and as ratios: 99.93 does not meet 77.88.
        (Value(99.93), 77.88, 100, MISSED),
        (Value(80.0), 77.88, 100, MET),
        (Value(2.78), 3.46, 1, MET),
        (Value(1.2), 3.46, 1, MISSED),
    ],
)
def test_an_effect_has_sign_and_rough_size(
    measured: Value, published: float, base: float, verdict: Verdict
) -> None:
    assert verdicts.sized(measured, published, base=base).verdict is verdict


def test_the_size_of_a_published_range_is_that_of_its_nearer_end() -> None:
    # "14 to 18 percent less" allows 14 / 1.5 to 18 * 1.5.
    for change, verdict in ((-9.4, MET), (-9.2, MISSED), (-16, MET), (-26.9, MET), (-27.1, MISSED)):
        assert verdicts.sized(Value(change), -14, -18).verdict is verdict
    with pytest.raises(ValueError, match="no effect was published"):
        verdicts.sized(Value(1.0), 0)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Value(14.4), MET),
        (Value(0.1), MET),
        (Value(35.4), MISSED),
        (Value(5.0, 5.0), MISSED),
        (Value(-3.0), MISSED),
    ],
)
def test_a_bound_holds_and_there_is_an_effect(measured: Value, verdict: Verdict) -> None:
    assert verdicts.up_to(measured, 14.4).verdict is verdict


def test_a_published_number_is_met_in_kind_in_its_size_only() -> None:
    def graded(measured: Value, base: float | None, input_: Input = Input.RIG) -> Verdict:
        claim = Claim("dchoices.x", "x", Kind.ORDER, input_)
        judged = row("x", 22.12, lambda: (measured, verdicts.Judgement(MET, "")), base=base)
        return conclude(claim, Measured(Size.QUICK, Task(), {}, {}), [judged]).verdict

    # BSGC's gain in migrations: 0.07% is not 22.12%.
    assert graded(Value(0.07, 0.01), 0.0) is MISSED
    assert graded(Value(20.0, 1.0), 0.0) is IN_KIND
    # Without a base, another row judges the size. On the paper's own input, no size is judged.
    assert graded(Value(0.07, 0.01), None) is IN_KIND
    assert graded(Value(0.07, 0.01), 0.0, Input.EXACT) is MET


def test_rows_and_claims_are_counted_by_paper() -> None:
    made = [outcome(Input.RIG, one) for one in (MET, MISSED, MET)]
    other = replace(outcome(Input.EXACT, MET), claim=Claim("vm.x", "x", Kind.EQUAL, Input.EXACT))
    page = Reproduction(Size.QUICK, (), "0", {}, (*made, other), {}, False, {})
    assert {key: n for key, n in page.counts().items() if n} == {
        "met": 1,
        "met-in-kind": 2,
        "missed": 1,
    }
    assert {key: n for key, n in page.rows("dchoices").items() if n} == {
        "met-in-kind": 2,
        "missed": 1,
    }
    assert page.counts("vm")["met"] == 1


def outcome(input_: Input, verdict: Verdict, stand_in: str = "") -> Outcome:
    claim = Claim("dchoices.x", "x", Kind.EQUAL, input_)
    measured = Measured(Size.QUICK, Task(), {}, {})
    judged = row("x", 1.0, lambda: ("y", verdicts.Judgement(verdict, "")), stand_in=stand_in)
    return conclude(claim, measured, [judged])


def test_what_stands_in_is_met_in_kind_at_best() -> None:
    assert outcome(Input.EXACT, MET).verdict is MET
    assert outcome(Input.TRACE, MET).verdict is MET
    assert outcome(Input.TRACE, MET, "a generator").verdict is IN_KIND
    assert outcome(Input.RIG, MET).verdict is IN_KIND
    assert outcome(Input.TRACE, MISSED, "a generator").verdict is MISSED
    assert outcome(Input.RIG, NOT_RUN).verdict is NOT_RUN


def test_what_a_paper_excludes_itself_is_not_missed() -> None:
    claim = Claim("bsgc.x", "x", Kind.EQUAL, Input.RIG, contradiction="1 is not 2")
    measured = Measured(Size.QUICK, Task(), {}, {})

    def verdict(*parts: Verdict) -> Verdict:
        rows = [
            row(f"{at}", "y", lambda part=part: ("z", verdicts.Judgement(part, "")))  # type: ignore[misc]
            for at, part in enumerate(parts)
        ]
        return conclude(claim, measured, rows).verdict

    assert verdict(MET, MISSED) is Verdict.CONTRADICTED
    assert verdict(MET, MET) is IN_KIND
    assert verdict(MET, NOT_RUN) is NOT_RUN


def test_the_arithmetic_of_contradictions_is_that_of_the_published_numbers() -> None:
    known = {claim.id: claim for claim in claims().claims}
    copies, times = known["bsgc.fig7"], known["bsgc.fig8"]
    for at, (_, ga, *_rest) in enumerate(times.rows):
        by_name = [dict(zip(one.columns, one.rows[at], strict=True)) for one in (copies, times)]
        assert f"{(float(ga) - 1.5) / 0.86:.1f}" in times.contradiction
        for name in ("LIF+EIGC", "FIFO+BSGC"):
            assert all(f"{one[name]}" in times.contradiction for one in by_name)
        assert by_name[0]["LIF+EIGC"] > by_name[0]["FIFO+BSGC"]
        assert by_name[1]["LIF+EIGC"] < by_name[1]["FIFO+BSGC"]
    seconds = known["bsgc.seconds"]
    assert 2048 * 1000 * 1.5e-3 == 3072
    assert max(float(one) for _, *both in seconds.rows for one in both) == 2149.4
    told = {claim.id for claim in claims().claims if claim.contradiction}
    assert told == {"bsgc.fig8", "bsgc.seconds"}, "check the arithmetic of each here"


def test_what_was_not_measured_is_not_run() -> None:
    measured = Measured(Size.QUICK, Task(), {}, {}, "interrupted")
    made = row("x", 1.0, lambda: (measured.value("x"), verdicts.Judgement(MET, "")))
    assert (made.verdict, made.why, made.measured) == (NOT_RUN, "interrupted", None)
    assert math.isnan(measured.get("x").mean)
    with pytest.raises(NotMeasuredError):
        measured.compute("x")


def test_the_claims_that_ship_are_all_of_eight_papers() -> None:
    known = claims()
    names = "dchoices zombie vm bsgc pgc ssdiq warp zlean"
    assert list(known.papers) == names.split()
    assert len(known.claims) == 73
    # The third row of the paper's Table 1.
    model = known.select(("dchoices.table1.model",))[0]
    assert model.rows[2] == (64, 0.17, 8, 8, 3.0596)
    assert model.column("model")[2] == 3.0596


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= 1", "here: Invalid statement"),
        ("[[clam]]\nid = 'a'", "here: unknown key 'clam'; hint: did you mean 'claim'?"),
        (
            "[[claim]]\nid = 'p.a'\nwhat = 'x'\nkind = 'equals'\ninput = 'exact'",
            "here: claim 1 'p.a': kind: found 'equals', expected equal, range, order, argmin, "
            "trend; hint: did you mean 'equal'?",
        ),
        (
            "[[claim]]\nid = 'p.a'\nwhat = 'x'\nkind = 'equal'\ninput = 'exact'",
            "here: claim 1 'p.a': tol is missing, which kind 'equal' needs",
        ),
        (
            "[[claim]]\nid = 'p.a'\nwhat = 'x'\nkind = 'order'\ninput = 'exact'",
            "here: claim 'p.a': there is no [paper.p]",
        ),
        (
            "[[claim]]\nid = 'p.a'\nwhat = 'x'\nkind = 'equal'\ntol = '-1%'\ninput = 'exact'",
            "here: claim 1 'p.a': tol: found '-1%', expected a number from 0, or one with %",
        ),
        (
            "[[claim]]\nid = 'p.a'\nwhat = 'x'\nkind = 'order'\ninput = 'exact'\n"
            "columns = ['a']\nrows = [[1, 2]]",
            "here: claim 1 'p.a': row 1 has 2 cells, expected 1 as in columns",
        ),
        (
            "[[claim]]\nid = 'p.a'\nwhat = 3\nkind = 'order'\ninput = 'exact'",
            "here: claim 1 'p.a': what: found 3, expected text",
        ),
    ],
)  # fmt: skip
def test_a_wrong_claims_file_says_where_and_what(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(text, "here")
    assert str(error.value).startswith(message)


def test_a_table_has_numbers_where_ours_are_there() -> None:
    columns = ("skew", "memory", "published", "ours", "ci95")
    none = Table(columns, (("0.5", 16, 2.5, math.nan, math.nan), ("1", 16, 1.5, None, None)), 2)
    assert not none.has_numbers
    assert Table(columns, (*none.rows, ("2", 16, 1.5, 1.25, math.nan)), 2).has_numbers
    # Columns count as measured unless they are keys.
    assert Table(columns, none.rows).has_numbers
