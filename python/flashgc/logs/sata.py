"""Logs of SATA drives, as ``smartctl --json`` prints them.

There is no standard for attributes. Their names are those of smartmontools' drive database, which
have the unit at their end. The statistics page of the standard counts sectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flashgc.logs.counts import Count
from flashgc.logs.log import PAGES, SATA, Erases, Log
from flashgc.logs.text import Source, whole
from flashgc.logs.times import LATEST

#: Bytes of the units in names of attributes.
_UNITS = {"32MiB": 32 << 20, "1GiB": 1 << 30, "GiB": 1 << 30, "GB": 10**9}
#: Attributes that count sectors of the host.
_SECTORS = ("Total_LBAs_Written", "Total_Host_LBA_Written")
#: Attributes that count the host's writes in units.
_HOST = re.compile(r"(?:Host_Writes|Lifetime_Writes|Total_Writes|Lifetime_Wts_Frm_Hst)_(\w+)")
#: Attributes that count the flash's writes in units.
_MEDIA = re.compile(
    r"(?:NAND_Writes|Flash_Writes|Total_NAND_Writes|Total_NAND_Prog_Ct|Lifetime_NAND_Prg"
    r"|Lifetime_Wts_To_Flsh)_(\w+)|NAND_(GiB|GB)_Written(?:_TLC)?"
)
#: Attributes for the two parts of the flash, whose sum is what was written.
_PARTS = ("TLC_Writes_32MiB", "SLC_Writes_32MiB")
#: Attributes that count pages: those of the host, and those of the drive itself.
_HOST_PAGES = "Host_Program_Page_Count"
_OWN_PAGES = ("FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt")
_MEAN = ("Average_Erase_Count", "Avg_Erase_Count", "Ave_Block-Erase_Count", "Avg_Block-Erase_Count",
         "Avg_Write/Erase_Count", "Avg_Program/Erase_Ct")  # fmt: skip
_MOST = ("Max_Erase_Count", "Maximum_Erase_Count")
#: Attributes whose normalised value is the part of the life that is left, in percent.
_LIFE_LEFT = ("Media_Wearout_Indicator", "SSD_Life_Left", "Percent_Lifetime_Remain",
              "Remaining_Lifetime_Perc", "Wear_Leveling_Count")  # fmt: skip


def about(source: Source) -> dict[str, Any]:
    """The facts that ``smartctl`` prints for any drive: serial number, model, capacity, time."""
    value = source.value
    capacity = source.number("user_capacity", "bytes") or source.number("nvme_total_capacity")
    local = source.number("local_time", "time_t", most=LATEST)
    names = {
        field: value[key].strip()
        for field, key in (("serial", "serial_number"), ("model", "model_name"))
        if isinstance(value.get(key), str) and value[key].strip()
    }
    return {
        "capacity": capacity[0] if capacity else None,
        "time": float(local[0]) if local else None,
        **names,
    }


def log(source: Source, about: Mapping[str, Any]) -> Log:
    """The log of a SATA drive."""
    attributes = dict(_attributes(source))
    statistics = dict(_statistics(source))
    sector = (source.number("logical_block_size") or (512, 0))[0]
    place = source.place_of("ata_smart_attributes")
    host, media = _writes(attributes, sector, place)
    if "Logical Sectors Written" in statistics:
        key = "Logical Sectors Written"
        host[SATA] = Count(statistics[key], sector, key, source.place_of("ata_device_statistics"))
    pages = next((name for name in _OWN_PAGES if name in attributes), None)
    if pages is not None and _HOST_PAGES in attributes:
        of = "flash pages"
        own = attributes[_HOST_PAGES]
        host[PAGES] = Count(own, 1, _HOST_PAGES, place, of=of)
        key = f"{_HOST_PAGES} + {pages}"
        media[PAGES] = Count(own + attributes[pages], 1, key, place, of=of)
    used = statistics.get("Percentage Used Endurance Indicator")
    if used is None:
        used = _used(source)
    hours = source.number("power_on_time", "hours")
    mean, most = (
        next((attributes[name] for name in names if name in attributes), None)
        for names in (_MEAN, _MOST)
    )
    erases = Erases(attributes.get("Min_Erase_Count"), mean, most)
    return Log(
        "smartctl --json",
        source.place,
        host=host,
        media=media,
        used=used,
        hours=hours[0] if hours else None,
        erases=erases if any((mean, most)) else None,
        **about,
    )


def _writes(
    attributes: Mapping[str, int], sector: int, place: str
) -> tuple[dict[str, Count], dict[str, Count]]:
    host: dict[str, Count] = {}
    media: dict[str, Count] = {}
    for name, number in attributes.items():
        if name in _SECTORS:
            host[SATA] = Count(number, sector, name, place)
        for pattern, side in ((_HOST, host), (_MEDIA, media)):
            match = pattern.fullmatch(name)
            unit = _UNITS.get(next(filter(None, match.groups()))) if match else None
            # An attribute with a finer unit goes before one with a coarser unit.
            if unit is not None and (SATA not in side or side[SATA].unit > unit):
                side[SATA] = Count(number, unit, name, place)
    if all(name in attributes for name in _PARTS):
        total = sum(attributes[name] for name in _PARTS)
        # Two counts are rounded, and not one: the sum may be wrong by a further unit.
        media[SATA] = Count(total, 32 << 20, " + ".join(_PARTS), place, 1)
    return host, media


def _attributes(source: Source) -> Iterator[tuple[str, int]]:
    for row in _rows(source.value.get("ata_smart_attributes")):
        raw = row.get("raw")
        number = whole(raw.get("value")) if isinstance(raw, Mapping) else None
        if isinstance(row.get("name"), str) and number is not None:
            yield row["name"], number[0]


def _statistics(source: Source) -> Iterator[tuple[str, int]]:
    statistics = source.value.get("ata_device_statistics")
    pages = statistics.get("pages") if isinstance(statistics, Mapping) else None
    for page in pages if isinstance(pages, list) else ():
        for row in _rows(page):
            number = whole(row.get("value"))
            if isinstance(row.get("name"), str) and number is not None:
                yield row["name"], number[0]


def _rows(value: Any) -> Iterator[Mapping[str, Any]]:
    rows = value.get("table") if isinstance(value, Mapping) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            yield row


def _used(source: Source) -> int | None:
    for row in _rows(source.value.get("ata_smart_attributes")):
        left = row.get("value")
        if row.get("name") in _LIFE_LEFT and isinstance(left, int) and 1 <= left <= 100:
            return 100 - left
    return None
