"""The formats of logs as JSON: each format is recognised by its keys.

The spellings are those of nvme-cli (``nvme-print-json.c``, ``ocp-print-json.c`` with its two
versions, ``intel-nvme.c``, ``solidigm-smart.c``) and of smartmontools (``nvmeprint.cpp``,
``ataprint.cpp``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from flashgc.foreign import one_line
from flashgc.logs import sata
from flashgc.logs.counts import Count
from flashgc.logs.log import FDP, GROUP, INTEL, OCP, SMART, TABLE, Erases, Log
from flashgc.logs.text import Source, refuse

#: Bytes of a data unit of NVMe.
DATA_UNIT = 512_000
#: Bytes of a unit of a log of endurance groups.
GROUP_UNIT = 10**9
#: Bytes of a unit of Intel's and Solidigm's page.
INTEL_UNIT = 32 << 20
#: An estimate of a life below this many bytes is in units of 10^9 bytes, because no drive wears out
#: within a terabyte.
LEAST_LIFE = 10**12

#: Numbers that a drive returns for a log that it did not fill.
UNFILLED = (2**64 - 1, 2**128 - 1)

#: The key of the documents that ``--keep`` writes.
KEPT = "flashgc_wear"


def count(source: Source, unit: int, *keys: str) -> Count | None:
    """A count of a log; ``None`` if the log does not have the key."""
    number = source.number(*keys)
    if number is None:
        return None
    if number[0] in UNFILLED:
        refuse(
            source.place_of(*keys),
            f"{keys[-1]}: found {number[0]}, whose bits are all 1: the drive did not fill this log",
            "leave out the log; does the drive have it at all?",
        )
    return Count(number[0], unit, keys[-1], source.place_of(*keys), number[1])


def counts(source: Source, name: str, unit: int, *keys: str) -> dict[str, Count]:
    """A mapping with that count; it is empty if the log does not have the key."""
    number = count(source, unit, *keys)
    return {} if number is None else {name: number}


def integer(source: Source, *keys: str, most: int = 2**64) -> int | None:
    """A number of a log; ``None`` if the log does not have it."""
    number = source.number(*keys, most=most)
    return None if number is None else number[0]


def life(estimate: int | None) -> tuple[int | None, str | None]:
    """The bytes of an estimate of a life, and the unit that was assumed.

    >>> life(0), life(7008000), life(7008 * 10**12)[1]
    ((None, None), (7008000000000000, '10^9 bytes'), 'bytes')
    """
    if not estimate:
        return None, None
    if estimate < LEAST_LIFE:
        return estimate * 10**9, "10^9 bytes"
    return estimate, "bytes"


def _smart(source: Source) -> Log:
    percent = source.first("percent_used", "percentage_used")
    spare = source.first("avail_spare", "available_spare")
    return Log(
        "nvme smart-log",
        source.place,
        host=counts(source, SMART, DATA_UNIT, "data_units_written"),
        used=None if percent is None else integer(source, percent, most=255),
        spare_left=None if spare is None else integer(source, spare, most=255),
        hours=integer(source, "power_on_hours"),
        write_commands=integer(source, "host_write_commands", most=2**128),
    )


def _ocp(source: Source) -> Log:
    def key(first: str, second: str) -> str:
        return source.first(first, second) or first

    written = key("Physical media units written", "physical_media_units_written")
    most = integer(source, key("Max User data erase counts", "max_user_data_erase_count"))
    least = integer(source, key("Min User data erase counts", "min_user_data_erase_count"))
    # A drive that does not count it says 0, and 0 below the minimum is no mean.
    mean = integer(source, key("Nand avg erase count", "nand_avg_erase_count"))
    if mean is not None and least is not None and mean < least:
        mean = None
    key_of_life = key("Endurance estimate", "endurance_estimate")
    endurance, unit = life(integer(source, key_of_life, most=2**128))
    return Log(
        "nvme ocp smart-add-log",
        source.place,
        media=counts(source, OCP, 1, written),
        erases=Erases(least, mean, most) if (most or 0) > 0 else None,
        endurance=endurance,
        endurance_unit=unit,
    )


def _fdp(source: Source) -> Log:
    return Log(
        "nvme fdp stats",
        source.place,
        host=counts(source, FDP, 1, "hbmw"),
        media=counts(source, FDP, 1, "mbmw"),
    )


def _group(source: Source) -> Log:
    endurance = integer(source, "endurance_estimate", most=2**128)
    return Log(
        "nvme endurance-log",
        source.place,
        host=counts(source, GROUP, GROUP_UNIT, "data_units_written"),
        media=counts(source, GROUP, GROUP_UNIT, "media_units_written"),
        used=integer(source, "percent_used", most=255),
        spare_left=integer(source, "avl_spare", most=255),
        endurance=endurance * GROUP_UNIT if endurance else None,
        endurance_unit="10^9 bytes" if endurance else None,
    )


def _intel(source: Source) -> Log:
    stats = "Device stats"
    known = source.first("Intel Smart log", "Solidigm SMART log")
    if known is None:
        other = next((key for key in source.value if key != stats), "no name")
        refuse(
            source.place,
            f"found the page of another vendor ({one_line(other)}), whose units are not known",
            "nvme ocp smart-add-log DEVICE -o json, if the drive has it",
        )
    kind = "nvme intel smart-log-add" if known.startswith("I") else "nvme solidigm smart-log-add"
    level = "wear_leveling" if "wear_leveling" in _inner(source, stats) else "wear_leveling_count"
    inside = ("raw",) if isinstance(_inner(source, stats, level).get("raw"), Mapping) else ()
    erases = [integer(source, stats, level, *inside, each) for each in ("min", "avg", "max")]
    return Log(
        kind,
        source.place,
        host=_named(source, INTEL, stats, "host_bytes_written"),
        media=_named(source, INTEL, stats, "nand_bytes_written"),
        erases=Erases(*erases) if any(erases) else None,
    )


def _named(source: Source, name: str, stats: str, key: str) -> dict[str, Count]:
    number = count(source, INTEL_UNIT, stats, key, "raw")
    return {} if number is None else {name: replace(number, key=key)}


def _inner(source: Source, *keys: str) -> Mapping[str, Any]:
    value: Any = source.value
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _controller(source: Source) -> Log:
    return Log(
        "nvme id-ctrl",
        source.place,
        capacity=integer(source, "tnvmcap", most=2**128) or None,
        serial=words(source.value.get("sn")),
        model=words(source.value.get("mn")),
    )


def _namespace(source: Source) -> Log:
    formats = source.value.get("lbafs")
    formats = formats if isinstance(formats, list) else []
    formats = [each if isinstance(each, Mapping) else {} for each in formats]
    index = (integer(source, "flbas") or 0) & 15
    used = [each for each in formats if each.get("in_use")] or formats[index : index + 1]
    shift = used[0].get("ds", used[0].get("lbads")) if used else None
    blocks = integer(source, "nsze")
    capacity = blocks << shift if isinstance(shift, int) and 9 <= shift <= 20 and blocks else None
    return Log("nvme id-ns", source.place, capacity=capacity)


def words(value: Any) -> str | None:
    """A name in a log, without the blanks that fill it; ``None`` if there is none.

    >>> words("SN123   "), words(""), words(7)
    ('SN123', None, None)
    """
    return value.strip() or None if isinstance(value, str) else None


def _smartctl(source: Source) -> list[Log]:
    inner = "nvme_smart_health_information_log"
    about = sata.about(source)
    if inner not in source.value:
        return [sata.log(source, about)]
    # smartctl prints a number that JSON's readers may round as a string, too.
    key = "data_units_written"
    key = f"{key}_s" if f"{key}_s" in _inner(source, inner) else key
    written = source.number(inner, key)
    host = {}
    if written is not None:
        place = source.place_of(inner, "data_units_written")
        host[SMART] = Count(written[0], DATA_UNIT, "data_units_written", place, written[1])
    return [
        Log(
            "smartctl --json",
            source.place,
            host=host,
            used=integer(source, inner, "percentage_used", most=255),
            spare_left=integer(source, inner, "available_spare", most=255),
            hours=integer(source, inner, "power_on_hours"),
            write_commands=integer(source, inner, "host_writes", most=2**128),
            **about,
        )
    ]


def _stored(source: Source) -> Log:
    """The state of a stored drive, which counts the host's writes in bytes."""
    smart, ocp = "smart", "ocp"
    most, least = (
        integer(source, ocp, key)
        for key in ("user_data_erase_count_max", "user_data_erase_count_min")
    )
    return Log(
        "flashgc device stat",
        source.place,
        host=counts(source, TABLE, 1, "counters", "host_bytes_written"),
        media=counts(source, TABLE, 1, ocp, "physical_media_units_written"),
        capacity=integer(source, "capacity_bytes"),
        serial=words(source.value.get("uuid")),
        used=integer(source, smart, "percentage_used", most=255),
        spare_left=integer(source, smart, "available_spare", most=255),
        hours=integer(source, smart, "power_on_hours"),
        erases=Erases(least, None, most) if most else None,
        write_commands=integer(source, smart, "host_write_commands"),
    )


#: Each format: the keys by which it is recognised (one of each group), and its reader.
FORMATS: tuple[tuple[tuple[tuple[str, ...], ...], Callable[[Source], Log | list[Log]]], ...] = (
    ((("smartctl", "json_format_version"),), _smartctl),
    ((("counters",), ("ocp",), ("smart",)), _stored),
    ((("Device stats",),), _intel),
    ((("Physical media units written", "physical_media_units_written"),), _ocp),
    ((("hbmw",), ("mbmw",)), _fdp),
    ((("media_units_written",), ("avl_spare", "total_end_grp_cap")), _group),
    ((("data_units_written",), ("percent_used", "avail_spare", "percentage_used")), _smart),
    ((("sn",), ("tnvmcap", "mn")), _controller),
    ((("nsze",),), _namespace),
)


def logs_of(source: Source) -> list[Log]:
    """The logs in a JSON object; a format that is not known is refused."""
    for groups, read in FORMATS:
        if all(any(key in source.value for key in group) for group in groups):
            logs = read(source)
            return logs if isinstance(logs, list) else [logs]
    # Scripts put a log into an object of their own.
    inner = [
        replace(source, value=value, start=source.at(key))
        for key, value in source.value.items()
        if isinstance(value, Mapping) and _is_known(value)
    ]
    if not inner:
        _refuse_object(source)
    return [log for part in inner for log in logs_of(part)]


def _is_known(value: Mapping[str, Any]) -> bool:
    return any(all(any(key in value for key in group) for group in groups) for groups, _ in FORMATS)


def _refuse_object(source: Source) -> NoReturn:
    written = [key for key in source.value if re.search("writ|nand|media", key, re.IGNORECASE)]
    keys = ", ".join(one_line(key) for key in (written or list(source.value))[:3]) or "no key"
    expected = "" if not written else (
        " with data_units_written, physical_media_units_written, hbmw or nand_bytes_written"
    )  # fmt: skip
    refuse(
        source.place,
        f"found an object with {keys}, expected a log of nvme or smartctl{expected}",
        "nvme smart-log DEVICE -o json, nvme ocp smart-add-log DEVICE -o json or smartctl --json "
        "-a DEVICE",
    )


_TIME = re.compile(r"\d{9,11}(\.\d+)?")


def kept(source: Source) -> tuple[float, list[Source]] | None:
    """The time and the logs of a document that ``--keep`` has written; ``None`` of any other."""
    if KEPT not in source.value:
        return None
    time, logs = str(source.value.get("time")), source.value.get("logs")
    is_list = isinstance(logs, list) and all(isinstance(log, Mapping) for log in logs)
    if not is_list or _TIME.fullmatch(time) is None:
        refuse(source.place, f"found {KEPT} without its time and logs",
               "is the file damaged?")  # fmt: skip
    return float(time), [replace(source, value=log) for log in logs or ()]
