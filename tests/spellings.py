"""Logs of drives in every spelling, written here from figures, independently of the reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

GUID = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")


def smart(units: int, *, hours: int = 100, used: int = 3, commands: int = 1000) -> dict[str, Any]:
    """``nvme smart-log -o json``."""
    return {
        "critical_warning": 0,
        "temperature": 310,
        "avail_spare": 98,
        "spare_thresh": 10,
        "percent_used": used,
        "data_units_read": 5,
        "data_units_written": units,
        "host_write_commands": commands,
        "power_on_hours": hours,
    }


def wide(number: int) -> dict[str, int]:
    """A number of 128 bits as ``nvme ocp`` prints it."""
    return {"hi": number >> 64, "lo": number % 2**64}


def ocp_1(media: int, *, erases: tuple[int, int, int] = (10, 12, 15), life: int = 0) -> Any:
    """``nvme ocp smart-add-log -o json``, version 1."""
    return {
        "Physical media units written": wide(media),
        "Physical media units read": wide(1),
        "Max User data erase counts": erases[2],
        "Min User data erase counts": erases[0],
        "Endurance estimate": life,
        "Nand avg erase count": erases[1],
        "Log page version": 5,
    }


def ocp_2(media: int, *, erases: tuple[int, int, int] = (10, 12, 15), life: int = 0) -> Any:
    """OCP's log in the second version of its JSON."""
    return {
        "physical_media_units_written": wide(media),
        "physical_media_units_read": wide(1),
        "max_user_data_erase_count": erases[2],
        "min_user_data_erase_count": erases[0],
        "endurance_estimate": life,
        "nand_avg_erase_count": erases[1],
        "log_page_version": 5,
    }


def fdp(host: int, media: int) -> dict[str, Any]:
    """``nvme fdp stats -o json``."""
    return {"hbmw": host, "mbmw": media, "mbe": 0}


def group(host: int, media: int) -> dict[str, Any]:
    """``nvme endurance-log -o json``, which counts in 10^9 bytes."""
    return {
        "avl_spare": 98,
        "percent_used": 3,
        "endurance_estimate": 7008000,
        "data_units_written": host,
        "media_units_written": media,
        "total_end_grp_cap": 0,
    }


def intel(host: int, media: int) -> dict[str, Any]:
    """``nvme intel smart-log-add -o json``, which counts in 32 MiB."""
    return {
        "Intel Smart log": "nvme0",
        "Device stats": {
            "wear_leveling": {"normalized": 98, "raw": {"min": 10, "max": 15, "avg": 12}},
            "nand_bytes_written": {"normalized": 100, "raw": media},
            "host_bytes_written": {"normalized": 100, "raw": host},
        },
    }


def solidigm(host: int, media: int) -> dict[str, Any]:
    """``nvme solidigm smart-log-add -o json``."""
    return {
        "Solidigm SMART log": "nvme0",
        "Device stats": {
            "wear_leveling_count": {"normalized": 98, "min": 10, "max": 15, "avg": 12},
            "nand_bytes_written": {"normalized": 100, "raw": media},
            "host_bytes_written": {"normalized": 100, "raw": host},
        },
    }


def smartctl(units: int, *, time: int | None = None, serial: str = "SN1") -> dict[str, Any]:
    """``smartctl --json -a`` of an NVMe drive."""
    document: dict[str, Any] = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 4]},
        "model_name": "MODEL",
        "serial_number": serial,
        "user_capacity": {"blocks": 1875385008, "bytes": 960197124096},
        "nvme_smart_health_information_log": {
            "available_spare": 98,
            "percentage_used": 3,
            "data_units_written": units,
            "host_writes": 1000,
            "power_on_hours": 100,
        },
    }
    if time is not None:
        document["local_time"] = {"time_t": time, "asctime": "a time"}
    return document


def sata(attributes: dict[str, int], *, time: int | None = None) -> dict[str, Any]:
    """``smartctl --json -x`` of a SATA drive with these attributes."""
    document: dict[str, Any] = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 4]},
        "serial_number": "SN1",
        "logical_block_size": 512,
        "ata_smart_attributes": {
            "revision": 1,
            "table": [
                {"id": 200 + at, "name": name, "value": 97, "raw": {"value": raw, "string": "."}}
                for at, (name, raw) in enumerate(attributes.items())
            ],
        },
    }
    if time is not None:
        document["local_time"] = {"time_t": time, "asctime": "a time"}
    return document


def smart_page(units: int) -> bytes:
    """The SMART log (02h), as ``nvme get-log -b`` writes it."""
    page = bytearray(512)
    page[1:6] = (310 % 256, 310 // 256, 98, 10, 3)
    page[48:64] = units.to_bytes(16, "little")
    page[80:96] = (1000).to_bytes(16, "little")
    page[128:144] = (100).to_bytes(16, "little")
    return bytes(page)


def ocp_page(media: int) -> bytes:
    """The extended log of OCP (C0h)."""
    page = bytearray(512)
    page[0:16] = media.to_bytes(16, "little")
    page[88:92] = (15).to_bytes(4, "little")
    page[92:96] = (10).to_bytes(4, "little")
    page[224:232] = (12).to_bytes(8, "little")
    page[494:496] = (5).to_bytes(2, "little")
    page[496:512] = GUID
    return bytes(page)


def intel_page(host: int, media: int) -> bytes:
    """Intel's page CAh."""
    page = bytearray(512)
    items = [(0xAB, 0), (0xAC, 0), (0xAD, 10 | 15 << 16 | 12 << 32), (0xF4, media), (0xF5, host)]
    for at, (item, raw) in enumerate(items):
        page[12 * at] = item
        page[12 * at + 5 : 12 * at + 11] = raw.to_bytes(6, "little")
    return bytes(page)


def fdp_page(host: int, media: int) -> bytes:
    """The statistics of placement (22h)."""
    return b"".join(number.to_bytes(16, "little") for number in (host, media, 0, 0))


def identify_page(capacity: int, serial: str = "SN1") -> bytes:
    """The page that identifies a controller."""
    page = bytearray(4096)
    page[4:24] = serial.ljust(20).encode()
    page[24:64] = b"MODEL".ljust(40)
    page[280:296] = capacity.to_bytes(16, "little")
    return bytes(page)


def content(*logs: Any) -> bytes:
    """The bytes of a file with these logs."""
    if len(logs) == 1 and isinstance(logs[0], bytes):
        return bytes(logs[0])
    return "\n".join(json.dumps(log, indent=2) for log in logs).encode()


MIB32 = 32 << 20
GIB = 1 << 30
#: Every spelling of two counts, in bytes: the files of one time, the size of a unit of the host's
#: count and of that of the flash.
SPELLINGS: dict[str, tuple[Callable[[int, int], list[Any]], int, int]] = {
    "smart + ocp 1": (lambda h, m: [smart(h), ocp_1(m)], 512_000, 1),
    "smart + ocp 2": (lambda h, m: [smart(h), ocp_2(m)], 512_000, 1),
    "smart as text + ocp 1": (
        lambda h, m: [{**smart(0), "data_units_written": f"{h:,}"}, ocp_1(m)], 512_000, 1,
    ),
    "smartctl + ocp 2": (lambda h, m: [smartctl(h), ocp_2(m)], 512_000, 1),
    "fdp": (lambda h, m: [fdp(h, m)], 1, 1),
    "endurance group": (lambda h, m: [group(h, m)], 10**9, 10**9),
    "intel": (lambda h, m: [intel(h, m)], MIB32, MIB32),
    "solidigm": (lambda h, m: [solidigm(h, m)], MIB32, MIB32),
    "smart + intel": (lambda h, m: [smart(h), intel(0, m)], 512_000, MIB32),
    "sata 32 MiB": (
        lambda h, m: [sata({"Host_Writes_32MiB": h, "NAND_Writes_32MiB": m})], MIB32, MIB32,
    ),
    "sata GiB": (
        lambda h, m: [sata({"Total_LBAs_Written": h, "NAND_Writes_1GiB": m})], 512, GIB,
    ),
    "sata GB": (
        lambda h, m: [sata({"Lifetime_Wts_Frm_Hst_GB": h, "Lifetime_Wts_To_Flsh_GB": m})],
        10**9, 10**9,
    ),
    "raw smart + ocp": (lambda h, m: [smart_page(h), ocp_page(m)], 512_000, 1),
    "raw intel": (lambda h, m: [intel_page(h, m)], MIB32, MIB32),
    "raw fdp": (lambda h, m: [fdp_page(h, m)], 1, 1),
}  # fmt: skip
