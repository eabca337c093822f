"""Logs as ``nvme`` and ``smartctl`` print them for people, turned into their JSON.

A text is cut at the headings of its logs, and each log becomes the object that the same program
prints as JSON, with the places of its numbers. Numbers have the thousands separator of the
machine's language, and perhaps their size behind them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flashgc.foreign import one_line
from flashgc.logs.text import Source, grouped, refuse
from flashgc.logs.times import printed as printed_time

#: A field of a log: the path of its key in the JSON.
_Path = tuple[str, ...]
#: Fields with the place where each value begins.
_Fields = dict[_Path, tuple[Any, int]]

_HEALTH = "nvme_smart_health_information_log"
#: The headings of logs, each with its fields: names as printed, in lower case.
_SMART = {
    "data_units_written": ("data_units_written",),
    "data units written": ("data_units_written",),
    "percentage_used": ("percent_used",),
    "available_spare": ("avail_spare",),
    "host_write_commands": ("host_write_commands",),
    "power_on_hours": ("power_on_hours",),
}
_OCP = {
    "physical media units written": ("Physical media units written",),
    "max user data erase counts": ("Max User data erase counts",),
    "min user data erase counts": ("Min User data erase counts",),
    "nand avg erase count": ("Nand avg erase count",),
    "endurance estimate": ("Endurance estimate",),
}
_GROUP = {
    name: (name,)
    for name in (
        "avl_spare", "percent_used", "endurance_estimate", "data_units_written",
        "media_units_written",
    )
}  # fmt: skip
_FDP = {
    "host bytes with metadata written (hbmw)": ("hbmw",),
    "media bytes with metadata written (mbmw)": ("mbmw",),
}
_CONTROLLER = {name: (name,) for name in ("sn", "mn", "tnvmcap")}
_SMARTCTL = {
    "model number": ("model_name",),
    "device model": ("model_name",),
    "serial number": ("serial_number",),
    "total nvm capacity": ("user_capacity", "bytes"),
    "namespace 1 size/capacity": ("user_capacity", "bytes"),
    "user capacity": ("user_capacity", "bytes"),
    "sector size": ("logical_block_size",),
    "sector sizes": ("logical_block_size",),
    "data units written": (_HEALTH, "data_units_written"),
    "percentage used": (_HEALTH, "percentage_used"),
    "available spare": (_HEALTH, "available_spare"),
    "host write commands": (_HEALTH, "host_writes"),
    "power on hours": (_HEALTH, "power_on_hours"),
}
#: Fields that are names.
_NAMES = ("model_name", "serial_number", "sn", "mn")
#: A line with a name and a value, which a colon, a dash or blanks keep apart.
_FIELD = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z][\w /.]*?(?: \(\w+\))?)[ \t]*"
    r"(?:[:-][ \t]*|[ \t]{2,}|\t)(?P<value>\S.*?)[ \t\r]*$",
    re.MULTILINE,
)
#: A row of Intel's and Solidigm's table.
_ITEM = re.compile(
    r"^[ \t]*0x[0-9a-f]{1,2}[ \t]+(?P<name>\w+)[ \t]+\d+[ \t]+(?P<value>\S.*?)[ \t\r]*$",
    re.MULTILINE,
)
#: A line of a page in hexadecimal digits, as ``nvme get-log`` without ``-b`` prints it.
_HEX = re.compile(r"^[ \t]*([0-9a-f]{4}): ((?:[0-9a-f]{2} ?)+)", re.MULTILINE)

_HEADINGS = re.compile(
    r"^[ \t]*(?:(?P<smart>Smart Log for NVM)|(?P<ocp>SMART Cloud Attributes)"
    r"|(?P<added>Additional Smart Log for )|(?P<group>Endurance Group Log for )"
    r"|(?P<fdp>Host Bytes with Metadata Written)|(?P<controller>NVME Identify Controller)"
    r"|(?P<smartctl>smartctl \d|SMART/Health Information \(NVMe)|(?P<hex>Device:\S+ log-id:))",
    re.MULTILINE,
)


def is_printed(text: str) -> bool:
    """True for a text that has the heading of a log, and does not begin as JSON."""
    return not text.lstrip().startswith(("{", "[")) and _HEADINGS.search(text) is not None


def logs_in(path: str, text: str) -> Iterator[Source | bytes]:
    """The logs of a text: objects as in JSON, and raw pages."""
    marks = [
        mark
        for at, mark in enumerate(_HEADINGS.finditer(text))
        # smartctl's own heading is followed by that of the log.
        if not (at and mark["smartctl"] and "smartctl" not in mark[0])
    ]
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        kind = mark.lastgroup
        assert kind is not None
        if kind == "hex":
            yield _page(path, text, mark.start(), end)
        else:
            yield _source(
                path, text, mark.start(), end, _READERS[kind](path, text, mark.start(), end)
            )


def _source(path: str, text: str, start: int, end: int, fields: _Fields) -> Source:
    value: dict[str, Any] = {}
    for keys, (number, _) in fields.items():
        inner = value
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = number
    return Source(path, text, start, end, value, {keys: at for keys, (_, at) in fields.items()})


def _lines_of(names: Mapping[str, _Path]) -> Callable[[str, str, int, int], _Fields]:
    """A reader of the lines with these names; the first one of a name counts."""

    def read(path: str, text: str, start: int, end: int) -> _Fields:
        fields: _Fields = {}
        for line in _FIELD.finditer(text, start, end):
            keys = names.get(line["name"].lower())
            if keys is not None and keys not in fields:
                value = line["value"] if keys[-1] in _NAMES else _number(line["value"])
                fields[keys] = (value, line.start("value"))
        if not fields:
            _refuse_empty(path, text, start)
        return fields

    return read


def _number(text: str) -> Any:
    """A whole number as printed; the text itself if it is none.

    >>> _number("1,829,498 [936 GB]"), _number("837 355 (428 GB)"), _number("1.600.321.314.816")
    (1829498, 837355, 1600321314816)
    >>> _number("3%"), _number("512 bytes logical/physical"), _number("many"), _number("12,34,567")
    (3, 512, 'many', 1234567)
    """
    words = re.sub(r"\s*(\[.*|\(.*|%.*|bytes.*)$", "", text)
    return int(words) if re.fullmatch(r"[0-9]{1,80}", words) else grouped(words, dots=True) or text


def _ocp(path: str, text: str, start: int, end: int) -> _Fields:
    fields = _lines_of(_OCP)(path, text, start, end)
    keys = _OCP["physical media units written"]
    if keys not in fields:
        _refuse_empty(path, text, start)
    value, at = fields[keys]
    # Two numbers of 64 bits, the higher one first.
    halves = re.fullmatch(r"(\d+)\s+(\d+)", text[at:end].partition("\n")[0].strip())
    if halves is not None:
        value = {"hi": int(halves[1]), "lo": int(halves[2])}
    return {**fields, keys: (value, at)}


def _added(path: str, text: str, start: int, end: int) -> _Fields:
    """A vendor's page: Intel's or Solidigm's table, or OCP's log under the same heading."""
    part = text[start:end]
    if re.search(r"^[ \t]*physical media units written", part, re.MULTILINE | re.IGNORECASE):
        return _ocp(path, text, start, end)
    if re.search(r"^[ \t]*ID\s+KEY\s+Normalized\s+Raw", part, re.MULTILINE) is None:
        refuse(_place(path, text, start),
               "found a vendor's page as text, which names neither vendor nor units",
               "print it as JSON: nvme intel smart-log-add DEVICE -o json")  # fmt: skip
    is_solidigm = "NVMe device" in part.partition("\n")[0]
    name = "Solidigm SMART log" if is_solidigm else "Intel Smart log"
    fields: _Fields = {(name,): ("", start)}
    for row in _ITEM.finditer(text, start, end):
        at, stats = row.start("value"), "Device stats"
        if row["name"] in ("nand_bytes_written", "host_bytes_written"):
            fields[stats, row["name"], "raw"] = (_number(row["value"]), at)
        elif row["name"] in ("wear_leveling", "wear_leveling_count"):
            for key, number in _levels(row["value"]).items():
                fields[stats, "wear_leveling_count", key] = (number, at)
    fields.setdefault(("Device stats", "other"), (0, start))
    return fields


def _levels(value: str) -> dict[str, int]:
    """The erases of blocks, printed with names, or as one number of three parts.

    >>> _levels("min: 10, max: 15, avg: 12") == _levels(str(10 | 15 << 16 | 12 << 32))
    True
    """
    numbers = dict(re.findall(r"(min|max|avg): (\d+)", value))
    if len(numbers) == 3:
        return {key: int(number) for key, number in numbers.items()}
    if not value.isdecimal():
        return {}
    number = int(value)
    return {key: number >> shift & 0xFFFF for key, shift in (("min", 0), ("max", 16), ("avg", 32))}


def _smartctl(path: str, text: str, start: int, end: int) -> _Fields:
    fields = _lines_of(_SMARTCTL)(path, text, start, end)
    fields["smartctl",] = ({}, start)
    time = re.compile(r"^[ \t]*Local Time is:\s*(.*?)\s*$", re.MULTILINE).search(text, start, end)
    seconds = None if time is None else printed_time(time[1])
    if time is not None and seconds is not None:
        fields["local_time", "time_t"] = (seconds, time.start(1))
    attributes = list(_attributes(text, start, end))
    if attributes:
        fields["ata_smart_attributes", "table"] = ([row for row, _ in attributes], attributes[0][1])
        # Only a log of NVMe has these lines; a table of attributes has hours of its own.
        fields = {keys: each for keys, each in fields.items() if keys[0] != _HEALTH}
        for row, at in attributes:
            if row["name"] == "Power_On_Hours":
                fields["power_on_time", "hours"] = (row["raw"]["value"], at)
    statistics = re.compile(
        r"^[ \t]*0x[0-9a-f]{2}[ \t]+0x[0-9a-f]{3}[ \t]+\d+[ \t]+(\d+)[ \t]+\S+[ \t]+"
        r"(\S.*?)[ \t\r]*$",
        re.MULTILINE,
    )
    rows = [(row, row.start(1)) for row in statistics.finditer(text, start, end)]
    if rows:
        values = [{"name": row[2], "value": int(row[1])} for row, _ in rows]
        fields["ata_device_statistics", "pages"] = ([{"table": values}], rows[0][1])
    return fields


def _attributes(text: str, start: int, end: int) -> Iterator[tuple[dict[str, Any], int]]:
    """The attributes of a SATA drive, by the columns that their heading names."""
    heading = re.compile(r"^[ \t]*ID#.*$", re.MULTILINE).search(text, start, end)
    columns = [] if heading is None else heading[0].split()
    if heading is None or not {"ATTRIBUTE_NAME", "VALUE", "RAW_VALUE"} <= {*columns}:
        return
    name, value, raw = map(columns.index, ("ATTRIBUTE_NAME", "VALUE", "RAW_VALUE"))
    line = re.compile(r"^.*$", re.MULTILINE)
    for row in line.finditer(text, heading.end() + 1, end):
        cells = row[0].split()
        if len(cells) <= raw or not cells[0].isdecimal():
            if not cells or cells[0].isdecimal():
                return
            continue
        if cells[raw].isdecimal() and cells[value].isdecimal():
            about = {"name": cells[name], "value": int(cells[value])}
            yield {**about, "raw": {"value": int(cells[raw])}}, row.start()


def _page(path: str, text: str, start: int, end: int) -> bytes:
    """A page in hexadecimal digits, whose lines must follow each other."""
    page = bytearray()
    for line in _HEX.finditer(text, start, end):
        if int(line[1], 16) != len(page):
            refuse(_place(path, text, line.start()),
                   f"found byte {line[1]}h, expected {len(page):04x}h: lines are missing",
                   "print the page again")  # fmt: skip
        page += bytes.fromhex(line[2])
    return bytes(page)


def _place(path: str, text: str, at: int) -> str:
    return Source(path, text, at, at, {}).place


def _refuse_empty(path: str, text: str, start: int) -> None:
    heading = one_line(text[start:].lstrip().partition("\n")[0][:40])
    refuse(_place(path, text, start), f"found the heading '{heading}' without counts below it",
           "is the file cut off? print the log again")  # fmt: skip


_READERS: Mapping[str, Callable[[str, str, int, int], _Fields]] = {
    "smart": _lines_of(_SMART),
    "ocp": _ocp,
    "added": _added,
    "group": _lines_of(_GROUP),
    "fdp": _lines_of(_FDP),
    "controller": _lines_of(_CONTROLLER),
    "smartctl": _smartctl,
}
