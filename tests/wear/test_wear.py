"""Figures of wear: hand-worked intervals, years, budgets, findings, predictions, text, pictures."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy
import pytest
from prometheus_client.parser import text_string_to_metric_families

import spellings
from flashgc import model
from flashgc._core import ConfigError
from flashgc.logs import advice, plot, prometheus
from flashgc.logs.compute import wear
from flashgc.logs.counts import Range
from flashgc.logs.outcome import YEAR, Wear
from spellings import content

BEGIN = 1_700_000_000
DAY, HOUR = 86_400, 3600
TB = 10**12
#: The units of data of a terabyte, with a rest that a count leaves out.
UNITS = TB // 512_000


def logs(folder: Path, *times: tuple[int, int, int], **more: Any) -> list[str]:
    """Files with a smart-log and a log of OCP at each time: seconds, data units, flash bytes."""
    names = []
    for seconds, units, media in times:
        path = folder / f"{seconds}.json"
        smart = spellings.smart(units, hours=100 + seconds // HOUR, used=more.get("used", 3))
        ocp = spellings.ocp_2(media, life=more.get("life", 0))
        identify = {"sn": "SN1  ", "mn": "MODEL ", "tnvmcap": more.get("capacity", TB)}
        path.write_bytes(content(smart, ocp, identify))
        names.append(f"{path}={BEGIN + seconds}")
    return names


def ids(outcome: Wear) -> list[str]:
    return [finding.id for finding in outcome.findings]


def test_an_interval_by_hand(tmp_path: Path) -> None:
    # In two days the host writes 1,000,000 units of 512,000 bytes, and the flash 0.768 TB more than
    # that: amplification 1.28e12/0.512e12 = 2.5, within a part in a million.
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (2 * DAY, 2 * 10**6, TB + 1_280_000_000_000)))
    assert (outcome.serial, outcome.model, outcome.capacity_bytes) == ("SN1", "MODEL", TB)
    assert outcome.host is not None
    assert outcome.host.interval is not None
    assert outcome.host.interval.value == 512 * 10**9
    assert outcome.host.interval.high - outcome.host.interval.value == 511_999
    factor = outcome.amplification
    assert factor is not None
    assert factor.value == 2.5
    assert factor.low == pytest.approx(2.5 * (1 - 1e-6), rel=1e-9)
    assert factor.high == pytest.approx(2.5 * (1 + 1e-6), rel=1e-9)
    # 0.512 of the capacity in two days.
    assert outcome.drive_writes_a_day is not None
    assert outcome.drive_writes_a_day.value == pytest.approx(0.256)
    # 3% of the life took 2.28 TB of the flash, so 97% take 73.72 TB, at 1.28 TB in two days; but
    # 3% may be all from 2% to 4%.
    days = 2.28 * 97 / 3 / 1.28 * 2
    (life,) = outcome.lives
    assert life.by == "percentage used, by flash writes"
    assert life.years.value * YEAR / DAY == pytest.approx(days)
    assert life.years.low == pytest.approx(life.years.value * (96 / 4) / (97 / 3))
    assert life.years.high == pytest.approx(life.years.value * (98 / 2) / (97 / 3))
    assert outcome.mean_write_bytes == pytest.approx(2 * 512e9 / 1000)
    assert ids(outcome) == []


def test_years_by_the_estimate_of_the_drive_and_by_the_data_sheet(tmp_path: Path) -> None:
    times = (0, 10**6, TB), (2 * DAY, 2 * 10**6, 2 * TB)
    for life, unit in ((7000, "10^9 bytes"), (7000 * 10**9, "bytes")):
        outcome = wear(*logs(tmp_path, *times, life=life), rated="5TB")
        years = {each.by: each.years.value * YEAR / DAY for each in outcome.lives}
        # The flash has written 2 of 7 TB, and writes 1 in two days. The host has written 1.024 of
        # 5 TB, and writes 0.512 in two days.
        assert years["endurance estimate"] == pytest.approx(5 * 2)
        assert years["rated writes"] == pytest.approx((5 - 1.024) / 0.512 * 2)
        assert ids(outcome) == ["endurance-unit"]
        assert unit in outcome.findings[0].claim


@pytest.mark.parametrize(("used", "low", "high"), [(0, 99, None), (1, 49, None), (2, 97 / 3, 99)])
def test_a_percentage_that_has_barely_begun_gives_no_upper_end(
    used: int, low: float, high: float | None, tmp_path: Path
) -> None:
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (DAY, 2 * 10**6, 2 * TB), used=used))
    (life,) = outcome.lives
    assert life.years.low * YEAR / DAY == pytest.approx(2 * low)
    if high is None:
        assert life.years.high is None
    else:
        assert life.years.high is not None
        assert life.years.high * YEAR / DAY == pytest.approx(2 * high)


def test_a_life_that_is_used_up_has_no_years(tmp_path: Path) -> None:
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (DAY, 2 * 10**6, 2 * TB), used=130))
    assert outcome.lives[0].years == Range(0.0, 0.0, 0.0)


def test_steps_and_the_interval_of_three_logs(tmp_path: Path) -> None:
    outcome = wear(
        *logs(tmp_path, (2 * DAY, 4 * 10**6, 4 * TB), (0, 10**6, TB), (DAY, 2 * 10**6, 2 * TB))
    )
    assert outcome.times == (BEGIN, BEGIN + DAY, BEGIN + 2 * DAY)
    ratios = [step.amplification.value for step in outcome.steps if step.amplification]
    assert ratios == [1e12 / 512e9, 2e12 / 1024e9]
    assert [step.media_bytes for step in outcome.steps] == [TB, 2 * TB]
    assert outcome.amplification is not None
    assert outcome.amplification.value == 3e12 / 1536e9


def test_one_log_has_figures_of_the_life(tmp_path: Path) -> None:
    outcome = wear(*logs(tmp_path, (0, 10**6, TB)))
    assert outcome.amplification is not None
    assert outcome.amplification.value == 1e12 / 512e9
    assert (outcome.drive_writes_a_day, outcome.lives, ids(outcome)) == (None, (), ["one-log"])


def test_the_narrowest_pair_of_counts_is_the_first(tmp_path: Path) -> None:
    names = []
    for time, units, media in ((0, 1000, 10**9), (DAY, 2000, 3 * 10**9)):
        path = tmp_path / f"{time}"
        host = units * 512_000
        path.write_bytes(
            content(
                spellings.smart(units),
                spellings.ocp_1(media),
                spellings.fdp(host, media),
                spellings.group(host // 10**9, media // 10**9),
            )
        )
        names.append(f"{path}={BEGIN + time}")
    outcome = wear(*names)
    assert [each.source for each in outcome.amplifications] == [
        "mbmw over hbmw",
        "Physical media units written over data_units_written",
        "media_units_written over data_units_written",
    ]
    assert outcome.amplification is not None
    assert outcome.amplification.is_exact
    # Statistics of placement may be younger than the drive.
    assert outcome.amplifications[0].life is None


@pytest.mark.parametrize(
    ("more_units", "is_short"), [(21, False), (19, True), (1, True)]
)  # fmt: skip
def test_an_interval_is_short_if_rounding_leaves_a_tenth(
    more_units: int, is_short: bool, tmp_path: Path
) -> None:
    # n units are known to 1/n on both sides, so the range has 2/n of the amplification.
    media = TB + more_units * 512_000
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (DAY, 10**6 + more_units, media)))
    assert outcome.amplification is not None
    assert outcome.amplification.value == 1.0
    assert ("short-interval" in ids(outcome)) == is_short
    assert ("small-interval" in ids(outcome)) != is_short


@pytest.mark.parametrize(("share", "is_small"), [(0.011, False), (0.009, True)])
def test_an_interval_is_small_below_a_hundredth_of_the_capacity(
    share: float, is_small: bool, tmp_path: Path
) -> None:
    units = round(share * UNITS)
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (DAY, 10**6 + units, 2 * TB)))
    assert ("small-interval" in ids(outcome)) == is_small


def test_an_amplification_below_one_is_doubted(tmp_path: Path) -> None:
    for media, below in ((0.9, True), (1.1, False)):
        times = (0, 10**6, TB), (DAY, 2 * 10**6, TB + int(media * 512e9))
        assert ("below-one" in ids(wear(*logs(tmp_path, *times)))) == below


def test_without_writes_nothing_is_divided(tmp_path: Path) -> None:
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (DAY, 10**6, TB + 5)))
    assert outcome.amplifications[0].interval is None
    assert outcome.drive_writes_a_day is not None
    assert outcome.drive_writes_a_day.value == 0
    assert "no-host-writes" in ids(outcome)


def test_a_drive_that_does_not_count_the_flash_s_writes_is_said_to_be_that(tmp_path: Path) -> None:
    names = []
    for time, units in ((0, 10**6), (DAY, 2 * 10**6)):
        (tmp_path / f"{time}").write_bytes(content(spellings.smartctl(units, time=BEGIN + time)))
        names.append(f"{tmp_path}/{time}")
    outcome = wear(*names)
    assert outcome.amplification is None
    assert outcome.changes == ()
    assert outcome.lives[0].by == "percentage used, by host writes"
    assert ids(outcome) == ["no-flash-writes"]


def test_hours_that_cannot_have_passed_are_doubted(tmp_path: Path) -> None:
    names = logs(tmp_path, (0, 10**6, TB), (10 * HOUR, 2 * 10**6, 2 * TB))
    assert "hours-disagree" not in ids(wear(*names))
    for hours, doubted in ((2, True), (9.2, False)):
        last = names[1].partition("=")[0] + f"={BEGIN + int(hours * HOUR)}"
        assert ("hours-disagree" in ids(wear(names[0], last))) == doubted


def test_counts_that_were_read_apart_are_doubted(tmp_path: Path) -> None:
    for seconds, doubted in ((5, False), (50, True)):
        names = []
        for time, units, media in ((0, 10**6, TB), (HOUR, 2 * 10**6, 2 * TB)):
            for at, log in enumerate((spellings.smart(units), spellings.ocp_1(media))):
                path = tmp_path / f"{time}-{at}"
                path.write_bytes(content(log))
                names.append(f"{path}={BEGIN + time + at * seconds}")
        assert ("read-apart" in ids(wear(*names))) == doubted


def test_a_budget_is_met_broken_or_undecided(tmp_path: Path) -> None:
    times = (0, 10**6, TB), (DAY, 10**6 + 1000, TB + 2 * 512_000_000)  # 2.0, within 0.1% each side.
    names = logs(tmp_path, *times)
    for budget, met in (
        ("waf=2.01", [True]),
        ("waf=1.99", [False]),
        ("waf=2", [None]),
        ("dwpd=1,waf=3", [True, True]),
        ("dwpd=0.0001", [False]),
        ("years=1", [True]),
        ("years=9000", [False]),
    ):
        outcome = wear(*names, budget=budget)
        assert [verdict.met for verdict in outcome.budget] == met
        assert ("undecided-limit" in ids(outcome)) == (met == [None])
        assert len(outcome.broken) == sum(each is False for each in met)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("waf", "budget: waf: found '', expected a number above 0; hint: waf=2,dwpd=1,years=5"),
        ("waf=2,waf=3", "budget: a second limit 'waf'; hint: remove one"),
        ("years=-1", "expected a number above 0"),
        ("dwdp=1", "budget: unknown limit 'dwdp'; hint: did you mean 'dwpd'?"),
        ("dwpd=1", "budget: dwpd: found no such figure; hint: it needs two logs and a capacity"),
    ],
)
def test_a_wrong_budget_is_refused(budget: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        wear(*logs(tmp_path, (0, 10**6, TB)), budget=budget)
    assert message in str(error.value)


def test_predictions_are_those_of_the_models_that_give_the_measured_amplification() -> None:
    # Greedy at 20% spare, uniform writes, measured; then with 20% of the capacity unused, which is
    # a spare factor of 1 - 0.8 * 0.8.
    measured = float(model.greedy(0.2))
    rows = {change.change: change for change in advice.all_changes(measured, None, None)}
    row = rows["20% of the capacity left unused"]
    predicted = [float(model.greedy(1 - 0.8 * 0.8))]
    skewed: list[dict[str, Any]] = [{}, {"f": 0.2, "r": 0.8}]
    for name, writes in [("fifo", skewed[0]), ("fifo", skewed[1]), ("desnoyers", skewed[1])]:
        spare = model.spare_for(name, measured, **writes).spare_factor
        less = 1 - (1 - spare) * 0.8
        predicted.append(float(model.write_amplification(name, spare=less, **writes)))
    assert [row.low, row.high] == pytest.approx([min(predicted), max(predicted)])
    placed = rows["placement by lifetime (FDP)"]
    assert placed.high == measured  # Uniform writes.
    fitted = model.spare_for("fifo", measured, f=0.2, r=0.8).spare_factor
    of_fifo = float(model.separation(fitted, f=0.2, r=0.8, cleaner="fifo"))
    fitted = model.spare_for("desnoyers", measured, f=0.2, r=0.8).spare_factor
    of_greedy = float(model.separation(fitted, f=0.2, r=0.8, cleaner="desnoyers"))
    assert placed.low == pytest.approx(min(of_fifo, of_greedy))
    for change in rows.values():
        assert 1 <= change.low <= change.high <= measured


def test_a_known_spare_factor_is_used() -> None:
    # The copies of a drive change as those of a model with its spare factor do.
    (row, *_) = advice.all_changes(3.0, 0.1, None)
    skewed: dict[str, Any] = {"f": 0.2, "r": 0.8}
    predicted = []
    for name, writes in [("greedy", {}), ("fifo", {}), ("fifo", skewed), ("desnoyers", skewed)]:
        before, after = (
            float(model.write_amplification(name, spare=spare, **writes))
            for spare in (0.1, 1 - 0.9 * 0.93)
        )
        predicted.append(1 + 2 * (after - 1) / (before - 1))
    assert [row.low, row.high] == pytest.approx([min(predicted), max(predicted)])


def test_a_range_of_the_measured_amplification_widens_the_predictions() -> None:
    narrow, wide = (
        advice.changes_within(Range(2.0, 2.0 - half, 2.0 + half), None, 4096.0)
        for half in (0.0, 0.3)
    )
    ends = [
        {change.change: change for change in advice.all_changes(end, None, 4096.0)}
        for end in (1.7, 2.3)
    ]
    assert narrow == advice.all_changes(2.0, None, 4096.0)
    for before, change in zip(narrow, wide, strict=True):
        assert change.low == ends[0][change.change].low < before.low
        assert change.high == ends[1][change.change].high > before.high
    # At the lower end there may be no copies.
    (row, *_) = advice.changes_within(Range(1.2, 0.9, 1.5), None, None)
    assert row.low == 0.9
    assert advice.changes_within(Range(1.2, 0.9, None), None, None) == ()


def test_a_larger_mapping_unit_multiplies_small_writes() -> None:
    rows = [
        change for change in advice.all_changes(1.5, None, 8192.0) if "mapping" in change.change
    ]
    assert [(row.change, row.low, row.high) for row in rows] == [
        ("a mapping unit of 16 KiB", 1.5, 3.0),
        ("a mapping unit of 64 KiB", 1.5, 12.0),
    ]
    assert "writes of 8 KiB" in rows[0].assumption


def test_without_copies_only_the_unit_is_predicted() -> None:
    assert advice.all_changes(1.0, None, 1e6) == ()


def test_text_for_prometheus_is_valid_and_has_units(tmp_path: Path) -> None:
    names = logs(tmp_path, (0, 10**6, TB), (DAY, 2 * 10**6, 2 * TB), used=0)
    outcome = dataclasses.replace(wear(*names, budget="waf=1,years=1"), model='a "b"\\c')
    text = prometheus.text(outcome)
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    labels = (("model", 'a "b"\\c'), ("serial", "SN1"))

    def value(name: str, **more: str) -> float:
        return samples[f"flashgc_wear_{name}", tuple(sorted({**dict(labels), **more}.items()))]

    assert value("host_written_bytes_total") == 2e6 * 512_000
    assert value("media_written_bytes_total") == 2 * TB
    assert value("interval_seconds") == DAY
    assert value("write_amplification_ratio", over="interval", bound="estimate") == 1e12 / 512e9
    assert value("used_ratio") == 0
    assert value("spare_left_ratio") == 0.98
    assert value("block_erases", of="mean") == 12
    by = "percentage used, by flash writes"
    assert value("life_left_seconds", by=by, bound="upper") == math.inf
    assert value("budget_met", limit="waf") == 0
    assert value("budget_met", limit="years") == 1
    for line in text.splitlines():
        assert re.fullmatch(
            r"# HELP flashgc_wear_\w+ .+\.|# TYPE flashgc_wear_\w+ (gauge|counter)"
            r'|flashgc_wear_\w+\{(\w+="([^"\\]|\\.)*",?)+\} (\+Inf|[\d.e+-]+)',
            line,
        ), line
    names_of = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names_of) == len(set(names_of))


def test_the_document_has_every_figure(tmp_path: Path) -> None:
    outcome = wear(*logs(tmp_path, (0, 10**6, TB), (DAY, 2 * 10**6, 2 * TB)), budget="waf=3")
    document = json.loads(outcome.to_json())
    assert document["host"]["interval"] == {
        "value": 512 * 10**9, "low": 512 * 10**9 - 511_999, "high": 512 * 10**9 + 511_999,
    }  # fmt: skip
    assert document["amplifications"][0]["interval"]["value"] == 1e12 / 512e9
    assert document["budget"][0]["met"] is True
    assert document["read"] == {
        "nvme smart-log": 2, "nvme ocp smart-add-log": 2, "nvme id-ctrl": 2,
    }  # fmt: skip
    assert repr(outcome).startswith("<Wear SN1: logs 2, write amplification 1.95")


def test_the_picture_has_amplification_and_writes_over_days(tmp_path: Path) -> None:
    times = [(day * DAY, 10**6 * (day + 1), TB * (day + 1)) for day in range(4)]
    figure = plot.over_time(wear(*logs(tmp_path, *times)))
    above, below = (
        [
            (numpy.asarray(line.get_xdata()).tolist(), numpy.asarray(line.get_ydata()).tolist())
            for line in axes.lines
        ]
        for axes in figure.axes
    )
    assert ([1, 2, 3], [1e12 / 512e9] * 3) in above
    assert ([0, 1, 2, 3], [0, 1, 2, 3]) in below
    assert any(y == pytest.approx([0, 0.512, 1.024, 1.536]) for _, y in below)
    with pytest.raises(ConfigError, match="found 2 logs, expected three or more"):
        plot.over_time(wear(*logs(tmp_path, *times[:2])))
