"""Logs in every spelling, and logs that are damaged, wrapped or of another drive."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import spellings
from flashgc._core import ConfigError
from flashgc.logs.compute import wear
from flashgc.logs.counts import Bytes
from spellings import SPELLINGS, content

NOON, LATER = "2026-11-30T12:00:00Z", "2026-12-01T12:00:00Z"


def files(folder: Path, name: str, logs: list[Any], time: str | None = NOON) -> list[str]:
    """Files of one time, a file for each log."""
    names = []
    for at, log in enumerate(logs):
        path = folder / f"{name}-{at}{'.bin' if isinstance(log, bytes) else '.json'}"
        path.write_bytes(content(log))
        names.append(str(path) + (f"={time}" if time else ""))
    return names


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_has_the_same_figures(name: str, tmp_path: Path) -> None:
    spelled, host_unit, media_unit = SPELLINGS[name]
    counts = [(40_000, 60_000), (140_000, 230_000)]
    (host, media), (more_host, more_media) = counts
    outcome = wear(
        *files(tmp_path, "a", spelled(host, media)),
        *files(tmp_path, "b", spelled(more_host, more_media), LATER),
        capacity=10**12,
    )
    assert outcome.host is not None
    assert outcome.media is not None
    assert outcome.host.interval is not None
    assert outcome.media.interval is not None
    assert outcome.host.interval.value == 100_000 * host_unit
    assert outcome.media.interval.value == 170_000 * media_unit
    assert outcome.host.life.value == 140_000 * host_unit
    factor = outcome.amplifications[0].interval
    assert factor is not None
    assert factor.value == pytest.approx(1.7 * media_unit / host_unit, rel=1e-12)
    assert factor.low <= factor.value <= (factor.high or 0)
    assert factor.is_exact == (host_unit == media_unit == 1)
    day = outcome.drive_writes_a_day
    assert day is not None
    assert day.value == pytest.approx(100_000 * host_unit / 1e12)
    if outcome.erases is not None:
        assert (outcome.erases.least, outcome.erases.mean, outcome.erases.most) == (10, 12, 15)


def test_logs_that_nvme_cli_printed_of_our_drive_are_exact() -> None:
    """``experiments/nvme/guest.py --logs``: nvme-cli 2.3 on Linux, against our drive.

    Between the logs the host wrote 6000 pages of 4 KiB and 6000 pieces of 8 KiB.
    """
    data = Path(__file__).parent / "data"
    outcome = wear(
        *(
            f"{data}/nvme-cli-{name}.json={time}"
            for name, time in (("before", NOON), ("after", LATER))
        )
    )
    host, media = 6000 * (4096 + 8192), 186_515_456 - 104_857_600
    exact, rounded = (each.interval for each in outcome.amplifications)
    assert exact is not None
    assert rounded is not None
    assert exact.is_exact
    assert exact.value == media / host
    assert rounded.value == media / (144 * 512_000)  # 349 - 205 units, which are as many bytes.
    assert rounded.low < exact.value < (rounded.high or 0)
    assert outcome.media is not None
    assert outcome.media.interval == Bytes(media, media, media)
    assert outcome.mean_write_bytes == 6144
    assert outcome.capacity_bytes is not None
    assert outcome.capacity_bytes % 4096 == 0
    assert outcome.model == "flashgc"
    assert outcome.read == {
        "nvme id-ctrl": 2, "nvme smart-log": 2, "nvme ocp smart-add-log": 2, "nvme fdp stats": 2,
    }  # fmt: skip


def test_pages_of_the_host_and_of_the_drive_give_amplification_without_their_size(
    tmp_path: Path,
) -> None:
    def log(host: int, own: int, time: int) -> dict[str, Any]:
        names = {"Host_Program_Page_Count": host, "FTL_Program_Page_Count": own}
        return spellings.sata({**names, "Total_LBAs_Written": host * 32}, time=time)

    outcome = wear(*files(tmp_path, "a", [log(1000, 500, 10**9)], None),
                   *files(tmp_path, "b", [log(3000, 1300, 10**9 + 3600)], None))  # fmt: skip
    factor = outcome.amplification
    assert factor is not None
    assert factor.value == (2000 + 800) / 2000
    assert factor.is_exact
    assert outcome.media is None
    assert not any(finding.id == "times-of-files" for finding in outcome.findings)


def test_statistics_of_sata_count_sectors(tmp_path: Path) -> None:
    rows = [
        {"name": "Logical Sectors Written", "value": 10**9},
        {"name": "Percentage Used Endurance Indicator", "value": 7},
    ]
    log = {**spellings.sata({"Host_Writes_32MiB": 1}, time=10**9),
           "ata_device_statistics": {"pages": [{"number": 1, "table": rows}]}}  # fmt: skip
    outcome = wear(*files(tmp_path, "a", [log], None))
    assert outcome.host is not None
    assert outcome.host.life.value == 512 * 10**9
    assert outcome.percentage_used == 7


def test_two_parts_of_the_flash_are_added(tmp_path: Path) -> None:
    parts = {"TLC_Writes_32MiB": 70, "SLC_Writes_32MiB": 30, "Host_Writes_32MiB": 80}
    outcome = wear(*files(tmp_path, "a", [spellings.sata(parts, time=10**9)], None))
    assert outcome.media is not None
    assert outcome.media.life.value == 100 << 25


def test_numbers_have_128_bits(tmp_path: Path) -> None:
    units = 2**100
    logs = [spellings.smart(units), spellings.ocp_1(units * 512_000)]
    outcome = wear(*files(tmp_path, "a", logs))
    life = outcome.amplifications[0].life
    assert life is not None
    assert life.value == 1.0
    exact = {"data_units_written": 1, "data_units_written_s": str(units)}
    log = spellings.smartctl(1)
    log["nvme_smart_health_information_log"].update(exact)
    outcome = wear(*files(tmp_path, "b", [log]))
    assert outcome.host is not None
    assert outcome.host.life.value == units * 512_000


def test_the_lower_half_that_was_printed_as_a_signed_number_is_read(tmp_path: Path) -> None:
    log = spellings.ocp_1(0)
    log["Physical media units written"] = {"hi": 0, "lo": -(2**64 - 2**63 - 5)}
    outcome = wear(*files(tmp_path, "a", [log, spellings.smart(5)]))
    assert outcome.media is not None
    assert outcome.media.life.value == 2**63 + 5


def test_a_file_may_hold_the_logs_of_a_time(tmp_path: Path) -> None:
    for name, units in (("a", 1000), ("b", 2000)):
        logs = spellings.smart(units), spellings.ocp_2(units * 768_000)
        (tmp_path / name).write_bytes(content(*logs))
    (tmp_path / "list").write_text(json.dumps([spellings.smart(3000), spellings.ocp_2(3)]))
    outcome = wear(f"{tmp_path}/a={NOON}", f"{tmp_path}/b={LATER}")
    assert outcome.amplification is not None
    assert outcome.amplification.value == 1.5
    assert wear(f"{tmp_path}/list").read == {"nvme smart-log": 1, "nvme ocp smart-add-log": 1}


def test_times_of_files_order_them_and_logs_that_are_close_belong_together(tmp_path: Path) -> None:
    spelled = SPELLINGS["smart + ocp 1"][0]
    for name, figures, time in (("a", (1000, 10**9), 10**9), ("b", (3000, 3 * 10**9), 1.0001e9)):
        for at, file in enumerate(files(tmp_path, name, spelled(*figures), None)):
            os.utime(file, (time + at, time + at))
    outcome = wear(tmp_path)  # A folder.
    assert outcome.times == (1e9, 1.0001e9)
    assert outcome.amplification is not None
    assert outcome.amplification.value == 2e9 / (2000 * 512_000)
    assert "times-of-files" in [finding.id for finding in outcome.findings]


def test_a_table_has_a_row_for_each_time(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "time,host_bytes_written,media_bytes_written,percentage_used,capacity,serial\n"
        f"{NOON},1000,1500,3,1000,SN1\n\n{LATER},2000,3300,4,1000,SN1\n1796212800,5000,8000,,,\n"
    )
    outcome = wear(path)
    assert [step.amplification.value for step in outcome.steps if step.amplification] == [
        1.8,
        47 / 30,
    ]
    assert outcome.drive_writes_a_day is not None
    days = (1796212800 - outcome.times[0]) / 86_400
    assert outcome.drive_writes_a_day.value == pytest.approx(4 / days)


BEFORE = json.dumps(spellings.smart(1000))
WRONG: dict[str, tuple[str, str]] = {
    "cut off": (BEFORE[:60], "b:1:61: damaged JSON: "),
    "cut in a number": (
        '{\n "percent_used": 1,\n "data_units_written": }',
        "b:3:24: damaged JSON: expecting value; hint: is the file cut off?",
    ),
    "text that is cut off": (
        "\nSmart Log for NVME device:nvme0 namespace-id:ffffffff\ntemperature : 36",
        "b:2:1: found the heading 'Smart Log for NVME device:nvme0 namespac' without counts below",
    ),
    "text with a number that is none": (
        spellings.smart_text(40_000).replace("40,000", "40,0x0"),
        'b:7:24: data_units_written: found "40,0x0", expected a whole number',
    ),
    "text of another vendor": (
        "Additional Smart Log for NVME device:nvme0 namespace-id:1\nkey normalized raw\n"
        "nand_bytes_written : 100% sectors: 5\n",
        "b:1:1: found a vendor's page as text, which names neither vendor nor units; hint: print",
    ),
    "a page with lines missing": (
        spellings.hexadecimal(spellings.smart_page(5)).replace("0010: ", "0020: "),
        "b:4:1: found byte 0020h, expected 0010h: lines are missing; hint: print the page again",
    ),
    "a log that the drive did not fill": (
        json.dumps(spellings.ocp_1(2**128 - 1)),
        "whose bits are all 1: the drive did not fill this log; hint: leave out the log",
    ),
    "a spelling that is not known": (
        json.dumps({"PhysicallyWrittenBytes": 5, "other": 1}),
        "b:1:1: found an object with PhysicallyWrittenBytes, expected a log of nvme or smartctl "
        "with data_units_written, physical_media_units_written, hbmw or nand_bytes_written; hint: ",
    ),
    "a table with semicolons": (
        "time;host_bytes_written\n1;2\n",
        "b:1: found 'time;host_bytes_written', expected cells with commas between; hint: save",
    ),
    "a table with an open quotation mark": (
        f'time,host_bytes_written\n{NOON},"1\n',
        "b:2: damaged table: unexpected end of data; hint: is a quotation mark missing?",
    ),
    "a time far beyond any": (
        json.dumps(spellings.smartctl(1, time=10**30)),
        "time_t: found 1000000000000000000000000000000, expected 99999999999 at most",
    ),
    "no JSON": ("hello\n", "b:1:1: found 'hello', expected a JSON object; hint: nvme and smartctl"),
    "another document": (
        '{"blockdevices": []}',
        "b:1:1: found an object with blockdevices, expected a log of nvme or smartctl; hint: ",
    ),
    "no number": (
        BEFORE.replace("1000,", '"many",', 1),
        'data_units_written: found "many", expected a whole number; hint: print the log again',
    ),
    "a fraction": (
        BEFORE.replace("1000,", "1000.5,", 1),
        'data_units_written: found "1000.5", exp',
    ),
    "NaN": (BEFORE.replace("1000,", "NaN,", 1), "damaged JSON: NaN"),
    "a huge exponent": (BEFORE.replace("1000,", "1e999999,", 1), "expected a whole number"),
    "too large": (
        BEFORE.replace("1000,", f"{2**128},", 1),
        f"data_units_written: found {2**128}, expected {2**128 - 1} at most",
    ),
    "negative": (
        json.dumps(spellings.intel(1, -5)),
        "raw: found -5, expected a number from 0 on: the program that printed it has no room",
    ),
    "another vendor": (
        json.dumps({"ScaleFlux Smart log": "x", "Device stats": {}}),
        "b:1:1: found the page of another vendor (ScaleFlux Smart log), whose units are not known",
    ),
    "empty": ("\n", "b: the file is empty; hint: print the log again"),
    "a table with a misspelt column": (
        "time,host_bytes_writen\n1,2\n",
        "b:1: unknown column 'host_bytes_writen'; hint: did you mean 'host_bytes_written'?",
    ),
    "a table without counts": ("time,serial\n1,2\n", "b:1: found no column 'host_bytes_written'"),
    "a table with a wrong cell": (
        f"time,host_bytes_written\n{NOON},many\n",
        "b:2:2 (cell): host_bytes_written: found 'many'; hint: bytes since the drive was new",
    ),
    "a table with a wrong time": (
        "time,host_bytes_written\nyesterday,1\n",
        "b:2:1 (cell): found 'yesterday', expected a time; hint: 2026-11-30T12:00",
    ),
    "a table with a short row": (
        f"time,host_bytes_written\n{NOON}\n",
        "b:2: found 1 cells, expected 2",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    text, message = WRONG[name]
    (tmp_path / "b").write_text(text)
    with pytest.raises(ConfigError) as error:
        wear(tmp_path / "b")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert "; hint: " in str(error.value)


@pytest.mark.parametrize("length", [2, 63, 64, 512, 513, 4096])
def test_a_page_that_is_not_known_is_refused(length: int, tmp_path: Path) -> None:
    (tmp_path / "page.bin").write_bytes(bytes([0, 1]) + bytes([255]) * (length - 2))
    if length == 4096:
        with pytest.raises(ConfigError, match="found no count of writes"):
            wear(tmp_path / "page.bin")
        return
    with pytest.raises(ConfigError, match=r"page\.bin: found \d+ bytes that are n"):
        wear(tmp_path / "page.bin")


def test_the_page_of_an_endurance_group_is_not_taken_for_the_smart_log(tmp_path: Path) -> None:
    page = bytearray(512)
    page[3:6] = (98, 10, 3)
    page[160:176] = (960 * 10**9).to_bytes(16, "little")
    (tmp_path / "page.bin").write_bytes(page)
    with pytest.raises(ConfigError, match="neither the SMART log"):
        wear(tmp_path / "page.bin")


def refused(folder: Path, before: list[Any], after: list[Any], time: str = LATER) -> str:
    """The message for two readings."""
    arguments = files(folder, "a", before)
    with pytest.raises(ConfigError) as error:
        wear(*arguments, *files(folder, "b", after, time))
    return str(error.value).replace(str(folder), ".")


def test_a_count_that_goes_backwards_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, [spellings.smart(2000)], [spellings.smart(1000)])
    assert message == (
        "./b-0.json:8:25: data_units_written: found 1 000 after 2 000 (./a-0.json:8:25), expected "
        "a count that only grows: another drive, a reset, or times in the wrong order?; hint: give "
        "times behind names: FILE=2026-11-30T12:00"
    )


def test_a_count_that_wrapped_is_said_to_have_wrapped(tmp_path: Path) -> None:
    message = refused(tmp_path, [spellings.intel(1, 2**32 - 10)], [spellings.intel(1, 20)])
    assert "nand_bytes_written: found 20 after 4 294 967 286" in message
    assert "it may have begun again at 2^32; hint: leave out the logs before it" in message


def test_the_log_of_another_drive_is_refused(tmp_path: Path) -> None:
    first, second = (spellings.smartctl(1000, serial=serial) for serial in ("SN1", "SN2"))
    assert refused(tmp_path, [first], [second]) == (
        "./b-0.json:1:1: found serial number SN2, expected SN1 as in ./a-0.json:1:1: a log of "
        "another drive; hint: give the logs of one drive"
    )


def test_two_logs_of_one_time_are_refused(tmp_path: Path) -> None:
    first, second = [spellings.smart(1000)], [spellings.smart(2000)]
    assert refused(tmp_path, first, second, NOON).startswith(
        "./b-0.json:1:1: has the time of ./a-0.json:1:1, 2026-"
    )
    # Files that were copied together have times that are almost equal.
    names = [*files(tmp_path, "c", first, None), *files(tmp_path, "d", second, None)]
    for at, name in enumerate(names):
        os.utime(name, (10**9 + 0.01 * at, 10**9 + 0.01 * at))
    with pytest.raises(ConfigError, match="times of the files, which copies may change"):
        wear(*names)


def test_counts_in_other_units_are_refused(tmp_path: Path) -> None:
    names = ("Host_Writes_32MiB", "Host_Writes_GiB")
    first, second = ([spellings.sata({name: 1000})] for name in names)
    message = refused(tmp_path, first, second)
    assert "Host_Writes_GiB is in units of 1 GiB, and Host_Writes_32MiB" in message


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory; hint: give a log"):
        wear(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="found no log in this folder; hint: names end with"):
        wear(tmp_path / "empty")
    (tmp_path / "a.json").write_text(BEFORE)
    with pytest.raises(ConfigError, match="found 'noon', expected a time"):
        wear(f"{tmp_path}/a.json=noon")


@pytest.mark.parametrize("name", SPELLINGS)
def test_damage_is_an_error_or_another_log_and_never_a_crash(name: str, tmp_path: Path) -> None:
    spelled = SPELLINGS[name][0]
    whole = b"\n".join(content(log) for log in spelled(40_000, 60_000))
    draw, path = random.Random(name), tmp_path / "damaged"
    messages: list[str] = []
    pieces = [b'"', b"{", b"}", b"[]", b"null", b"-", b"1e9", b"true", b"\0", b"\xff", b",", b" "]
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(damaged))
            damaged[at : at + draw.randrange(6)] = draw.choice(pieces)
        path.write_bytes(damaged)
        try:
            wear(path, capacity=10**12, budget="waf=2")
        except ConfigError as error:
            messages.append(str(error))
    assert len(messages) > 50
    assert not any("\n" in message for message in messages)
