"""Damaged logs of every format, in pairs: an error of one line with a place, or other figures."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spellings
from flashgc._core import ConfigError
from flashgc.command.show.wear import show_wear
from flashgc.logs import prometheus
from flashgc.logs.compute import wear
from spellings import SPELLINGS, content

NOON, LATER = "2026-11-30T12:00:00Z", "2026-12-01T12:00:00Z"
#: Values of other types and sizes.
WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**64 - 1, 2**128 - 1, 2**128, 10**5000, "", "x", "1,0", "1.000", "0x",
    [], [[]], [None], {}, {"hi": 1}, {"hi": "x", "lo": 0}, {"hi": -1, "lo": -1}, {"raw": None},
)  # fmt: skip
#: Logs whose readers the spellings of counts do not reach.
OTHERS: dict[str, list[Any]] = {
    "id-ctrl": [{"sn": "SN1", "mn": "MODEL", "tnvmcap": 10**12}],
    "id-ns": [{"nsze": 1000, "flbas": 0, "lbafs": [{"ms": 0, "ds": 12, "rp": 0, "in_use": 1}]}],
    "kept": [{"flashgc_wear": 1, "time": "1796212800.5", "drive": "/dev/nvme0",
              "logs": [{"sn": "SN1", "mn": "MODEL"}, spellings.smart(7)]}],
    "statistics": [{**spellings.sata({"Host_Writes_32MiB": 1}, time=10**9),
                    "ata_device_statistics": {"pages": [{"number": 1, "table": [
                        {"name": "Logical Sectors Written", "value": 10**9}]}]}}],
    "stored": [{"counters": {"host_bytes_written": 4096}, "capacity_bytes": 10**12, "uuid": "SN1",
                "ocp": {"physical_media_units_written": 8192, "user_data_erase_count_max": 2,
                        "user_data_erase_count_min": 1},
                "smart": {"percentage_used": 1, "available_spare": 100, "power_on_hours": 1,
                          "host_write_commands": 1}}],
}  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside of a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def changed(log: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A log with another value at a path; without a value, the key is removed."""
    log = copy.deepcopy(log)
    inner = log
    for key in path[:-1]:
        inner = inner[key]
    if value is paths:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return log


def checked(folder: Path, *logs: tuple[Any, str]) -> str | None:
    """The message that refuses the logs; ``None`` if they have figures, which are then shown."""
    names = []
    for at, (log, time) in enumerate(logs):
        path = folder / f"{at}.json"
        path.write_bytes(log if isinstance(log, bytes) else json.dumps(log).encode())
        names.append(f"{path}={time}")
    try:
        outcome = wear(*names, capacity=10**12)
    except ConfigError as error:
        return str(error)
    show_wear(outcome)
    prometheus.text(outcome)
    outcome.to_json()
    return None


def objects() -> Iterator[tuple[str, list[Any]]]:
    yield from OTHERS.items()
    for name, (spelled, *_) in SPELLINGS.items():
        logs = spelled(40_000, 60_000)
        if all(isinstance(log, dict) for log in logs):
            yield name, logs


@pytest.mark.parametrize(
    "drawn", [2, pytest.param(len(WRONG) + 1, marks=pytest.mark.soak)], ids=["some", "all"]
)
@pytest.mark.parametrize(("name", "logs"), [*objects()], ids=[name for name, _ in objects()])
def test_a_value_of_another_kind_is_refused_in_one_line(
    name: str, logs: list[Any], drawn: int, tmp_path: Path
) -> None:
    smart, draw = spellings.smart(7), random.Random(name)
    refused = 0
    for at, log in enumerate(logs):
        for path in paths(log):
            for value in draw.sample((*WRONG, paths), drawn):
                try:
                    damaged = changed(log, path, value)
                    text = json.dumps([damaged, *(each for i, each in enumerate(logs) if i != at)])
                except ValueError:  # A number with too many digits for Python.
                    continue
                message = checked(tmp_path, (smart, NOON), (text.encode(), LATER))
                if message is not None:
                    refused += 1
                    assert "\n" not in message, (path, value)
                    assert "; hint: " in message, (path, value, message)
    assert refused > 0


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_read_in_any_packaging(name: str, tmp_path: Path) -> None:
    spelled, host_unit, media_unit = SPELLINGS[name]
    packed = {
        "crlf": lambda text: text.replace(b"\n", b"\r\n"),
        "bom": lambda text: b"\xef\xbb\xbf" + text,
        "utf-16": lambda text: text.decode().encode("utf-16"),
        "gzip": gzip.compress,
    }
    for kind, pack in packed.items():
        names = []
        for time, figures in ((NOON, (40_000, 60_000)), (LATER, (140_000, 230_000))):
            for at, log in enumerate(spelled(*figures)):
                if isinstance(log, bytes) and kind != "gzip":
                    continue
                path = tmp_path / f"{kind}-{time[:10]}-{at}.txt"
                path.write_bytes(pack(content(log)))
                names.append(f"{path}={time}")
        if names:
            outcome = wear(*names)
            assert outcome.amplification is not None, kind
            assert outcome.amplification.value == pytest.approx(1.7 * media_unit / host_unit)


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_log_that_is_cut_off_is_refused_or_has_no_other_figures(
    name: str, tmp_path: Path
) -> None:
    """A file that ends within a number may have another number; else nothing changes."""
    logs = SPELLINGS[name][0](40_000, 60_000)
    whole = b"\n".join(content(log) for log in logs)
    if any(isinstance(log, bytes) for log in logs):
        return
    draw = random.Random(name)
    for _ in range(20):
        end = draw.randrange(1, len(whole))
        message = checked(tmp_path, (whole[:end], NOON))
        assert message is None or ("\n" not in message and "; hint: " in message)


def test_a_file_of_gzip_that_is_damaged_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(content(spellings.smart(7)))
    for damaged in (packed[:-9], packed[:12], packed[:20] + b"\xff\xff\xff" + packed[23:]):
        message = checked(tmp_path, (damaged, NOON))
        assert message is not None
        assert "0.json: a file of gzip that is damaged or cut off; hint: copy the file" in message


def test_a_count_that_fell_has_the_cause_that_the_hours_suggest(tmp_path: Path) -> None:
    def refused(*readings: tuple[int, int]) -> str:
        (first, hours), (second, later) = readings
        logs = spellings.smart(first, hours=hours), spellings.smart(second, hours=later)
        return checked(tmp_path, (logs[0], NOON), (logs[1], LATER)) or ""

    assert "24 power-on hours more: a reset, such as by new firmware, or another drive?; hint: " \
        "leave out the logs before it" in refused((9000, 100), (50, 124))  # fmt: skip
    assert "24 power-on hours fewer, too: times in the wrong order, or another drive?; hint: " \
        "give times" in refused((9000, 124), (50, 100))  # fmt: skip
    assert "found 3 power-on hours after 124" in refused((50, 124), (9000, 3))
    assert "it may have begun again at 2^128" in refused((2**128 - 9, 100), (5, 124))


def test_drives_of_other_capacities_are_told_apart(tmp_path: Path) -> None:
    def log(capacity: int) -> bytes:
        return content({"sn": "SN1", "tnvmcap": capacity, "mn": "M"}, spellings.smart(7))

    message = checked(tmp_path, (log(10**12), NOON), (log(2 * 10**12), LATER))
    assert message is not None
    assert "found capacity 2000000000000, expected 1000000000000 as in" in message


def test_a_count_that_is_0_throughout_is_not_counted(tmp_path: Path) -> None:
    logs = [content(spellings.smart(units), spellings.ocp_1(0)) for units in (1000, 2000)]
    for at, log in enumerate(logs):
        (tmp_path / f"{at}").write_bytes(log)
    outcome = wear(f"{tmp_path}/0={NOON}", f"{tmp_path}/1={LATER}")
    assert outcome.amplifications == ()
    assert "no-flash-writes" in [finding.id for finding in outcome.findings]
    # A new drive has written nothing yet: both counts are 0.
    for at, units in enumerate((0, 2000)):
        (tmp_path / f"{at}").write_bytes(content(spellings.smart(units), spellings.ocp_1(units)))
    outcome = wear(f"{tmp_path}/0={NOON}", f"{tmp_path}/1={LATER}")
    assert outcome.amplification is not None
