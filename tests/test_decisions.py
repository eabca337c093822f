"""Decisions, counters and response times are equal to the recorded ones, to the digit.

If a change is meant to affect configurations, ``python tests/decisions/record.py NAME`` records
them again and prints every changed value. Give the reason in the commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from decisions import made_traces, measuring
from decisions.building import Configuration
from decisions.configurations import ALL

RECORDS = measuring.load()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the traces."""
    made = tmp_path_factory.mktemp("decisions")
    made_traces.write(made)
    return made


def test_every_configuration_has_one_record() -> None:
    names = Counter(configuration.id for configuration in ALL)
    assert [name for name, count in names.items() if count > 1] == []
    assert sorted(names) == list(RECORDS)


@pytest.mark.parametrize("configuration", ALL, ids=lambda configuration: configuration.id)
def test_a_configuration_decides_what_is_recorded(
    configuration: Configuration, folder: Path
) -> None:
    found = measuring.measure(configuration, folder)
    changed = list(measuring.differences(RECORDS[configuration.id], found))
    if changed:
        pytest.fail("\n".join([configuration.id, *changed]), pytrace=False)


def consistent(values: Mapping[str, Any]) -> bool:
    """Whether the counts and the write amplification of a result agree.

    Translation pages of a map on flash are among the pages copied. Counts are sums over the runs,
    and write amplification is the mean over the runs. So the ratio of the sums must lie between
    the values of the runs.
    """
    runs = values["run_values"]
    if not values["host_pages"]:
        return runs == [] and values["write_amplification"] is None
    sums = values["bytes"]["programmed"] / values["bytes"]["host"]
    mean = values["write_amplification"]
    tolerance = 1e-12 * sums
    if abs(mean - sum(runs) / len(runs)) > tolerance:
        return False
    if len(runs) == 1:
        return abs(sums - mean) <= tolerance
    return min(runs) - tolerance <= sums <= max(runs) + tolerance


@pytest.mark.parametrize("name", RECORDS)
def test_write_amplification_is_that_of_the_pages_counted(name: str) -> None:
    values = RECORDS[name]["values"]
    assert isinstance(values["run_values"], list), "runs are recorded one by one"
    assert consistent(values)
    written = values["bytes"]
    if values["host_pages"]:
        unit = written["copies"] // values["copied_pages"] if values["copied_pages"] else 0
        pages = written["host"] - written["merged"] + written["rounding"]
        assert not unit or pages == values["host_pages"] * unit
    assert written["programmed"] == (
        written["host"]
        - written["merged"]
        + written["rounding"]
        + written["padding"]
        + written["copies"]
    )
    if values["map_traffic"] is not None:
        assert values["map_traffic"]["writes"] <= values["copied_pages"]


def test_counts_of_another_window_than_write_amplifications_are_seen() -> None:
    values = RECORDS["counting/warmup/auto"]["values"]
    written = values["bytes"]
    for part in ("programmed", "host"):
        other = {**written, part: written[part] + 4096}
        assert not consistent({**values, "bytes": other})


def test_a_number_that_changes_is_named_with_both_values() -> None:
    name = "counting/greedy/pool"
    recorded = RECORDS[name]
    copied = recorded["values"]["copied_pages"]
    altered = {**recorded, "values": {**recorded["values"], "copied_pages": copied + 1}}
    assert list(measuring.differences(recorded, altered)) == [
        f"copied_pages: recorded {copied}, found {copied + 1}"
    ]
    lost = {**recorded, "values": {**recorded["values"], "wear": None}}
    assert any(
        line.startswith("wear.mean: recorded") for line in measuring.differences(recorded, lost)
    )
