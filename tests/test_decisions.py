"""Decisions, counters and response times are those of the record, to the digit.

Where a change is meant to change them, ``python tests/decisions/record.py NAME`` records those
configurations again and prints what becomes another value; CHANGELOG says why.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

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
