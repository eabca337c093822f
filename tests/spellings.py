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
    if len(logs) == 1 and isinstance(logs[0], bytes | str):
        return logs[0] if isinstance(logs[0], bytes) else logs[0].encode()
    return "\n".join(json.dumps(log, indent=2) for log in logs).encode()


def in_groups(number: int, separator: str = ",", width: int = 3) -> str:
    """A number with a separator of thousands; in India the higher groups have two digits."""
    head, last = divmod(number, 1000)
    groups = []
    while head:
        head, group = divmod(head, 10**width)
        groups.append(f"{group:0{width}}" if head else f"{group}")
    return separator.join([*reversed(groups), f"{last:03}"]) if groups else f"{last}"


def smart_text(units: int, separator: str = ",", *, width: int = 3, is_new: bool = False) -> str:
    """``nvme smart-log``, of versions 1 and 2."""
    count = in_groups(units, separator, width)
    name, size = ("Data Units Written", " (1.60 TB)") if is_new else ("data_units_written", "")
    return (
        "Smart Log for NVME device:nvme0 namespace-id:ffffffff\n"
        "critical_warning\t\t\t: 0\n"
        "temperature\t\t\t\t: 36 °C (309 K)\n"
        "available_spare\t\t\t\t: 98%\navailable_spare_threshold\t\t: 10%\n"
        "percentage_used\t\t\t\t: 3%\n"
        f"{name}\t\t\t: {count}{size}\n"
        f"host_write_commands\t\t\t: {in_groups(1000, separator, width)}\n"
        "power_on_hours\t\t\t\t: 100\n"
    )


def ocp_text(media: int) -> str:
    """``nvme ocp smart-add-log``."""
    return (
        "SMART Cloud Attributes :-\n"
        f"  Physical media units written -\t\t{media >> 64} {media % 2**64}\n"
        "  Physical media units read    -\t\t0 1\n"
        "  Max User data erase counts\t\t\t15\n  Min User data erase counts\t\t\t10\n"
        "  Endurance estimate\t\t\t\t0\n  Nand avg erase count\t\t\t\t12\n"
    )


def cloud_text(media: int) -> str:
    """``nvme wdc vs-smart-add-log``, of both kinds of drives."""
    return (
        "SMART Cloud Attributes for NVMe device       : nvme0\n"
        f"Physical Media Units Written                 : {in_groups(media)}\n"
        "Physical Media Units Read                    : 1\n"
    )


def table_text(host: int, media: int, *, is_solidigm: bool = False) -> str:
    """``nvme intel smart-log-add`` and ``nvme solidigm smart-log-add``."""
    erases = "min: 10, max: 15, avg: 12" if is_solidigm else f"{10 | 15 << 16 | 12 << 32}"
    heading = "NVMe device:nvme0 namespace-id:ffffffff UUID-idx:0" if is_solidigm else (
        "NVME device:nvme0 namespace-id:ffffffff"
    )  # fmt: skip
    rows = (("0xad", "wear_leveling_count", erases), ("0xf4", "nand_bytes_written", media),
            ("0xf5", "host_bytes_written", host))  # fmt: skip
    return (
        f"Additional Smart Log for {heading}\n"
        "ID             KEY                                 Normalized     Raw\n"
        + "".join(f"{id_}    {name:45}  100         {raw}\n" for id_, name, raw in rows)
    )


def fdp_text(host: int, media: int) -> str:
    """``nvme fdp stats``."""
    return (
        f"Host Bytes with Metadata Written (HBMW): {in_groups(host)}\n"
        f"Media Bytes with Metadata Written (MBMW): {in_groups(media)}\n"
        "Media Bytes Erased (MBE): 0\n"
    )


def group_text(host: int, media: int) -> str:
    """``nvme endurance-log``."""
    return (
        "Endurance Group Log for NVME device:nvme0 Group ID:1\n"
        "avl_spare\t\t: 98\navl_spare_threshold\t: 10\npercent_used\t\t: 3%\n"
        "endurance_estimate\t: 7,008,000\n"
        f"data_units_written\t: {in_groups(host)}\nmedia_units_written\t: {in_groups(media)}\n"
    )


def identify_text(capacity: int, serial: str = "SN1") -> str:
    """``nvme id-ctrl``."""
    return (
        "NVME Identify Controller:\nvid       : 0x144d\n"
        f"sn        : {serial:20}\nmn        : {'MODEL: A':40}\ntnvmcap   : {capacity}\n"
    )


def smartctl_text(
    units: int, separator: str = ",", *, at: str = "Mon Nov 30 12:00:00 2026 UTC"
) -> str:
    """``smartctl -a`` of an NVMe drive."""
    return (
        "smartctl 7.4 2023-08-01 r5530 [x86_64-linux] (local build)\n\n"
        "=== START OF INFORMATION SECTION ===\n"
        "Model Number:                       MODEL\nSerial Number:                      SN1\n"
        f"Total NVM Capacity:                 {in_groups(960197124096, separator)} [960 GB]\n"
        "Namespace 1 Formatted LBA Size:     512\n"
        f"Local Time is:                      {at}\n\n"
        "=== START OF SMART DATA SECTION ===\n"
        "SMART/Health Information (NVMe Log 0x02, NSID 0xffffffff)\n"
        "Available Spare:                    98%\nAvailable Spare Threshold:          10%\n"
        "Percentage Used:                    3%\n"
        f"Data Units Read:                    {in_groups(5, separator)} [2.56 MB]\n"
        f"Data Units Written:                 {in_groups(units, separator)} [20.4 GB]\n"
        f"Host Write Commands:                {in_groups(1000, separator)}\n"
        "Power On Hours:                     100\n"
    )


def sata_text(attributes: dict[str, int], *, is_brief: bool = False) -> str:
    """``smartctl -a``, and ``smartctl -x``, of a SATA drive."""
    heading, middle = (
        ("FLAGS    VALUE WORST THRESH FAIL RAW_VALUE", "-O--CK   097   097   000    -    ")
        if is_brief
        else ("FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE",
              "0x0032   097   097   000    Old_age   Always       -       ")
    )  # fmt: skip
    rows = {"Temperature_Celsius": "35 (Min/Max 20/50)", **attributes}
    return (
        "smartctl 7.4 2023-08-01 r5530 [x86_64-linux] (local build)\n"
        "Device Model:     MODEL\nSerial Number:    SN1\n"
        "User Capacity:    960,197,124,096 bytes [960 GB]\n"
        "Sector Size:      512 bytes logical/physical\n\n"
        f"ID# ATTRIBUTE_NAME          {heading}\n"
        + "".join(f"{200 + at} {name:24}{middle}{raw}\n" for at, (name, raw) in
                  enumerate(rows.items()))
        + "                            ||||||_ K auto-keep\n\nSMART Error Log Version: 1\n"
    )  # fmt: skip


def hexadecimal(page: bytes) -> str:
    """A page as ``nvme get-log`` without ``-b`` prints it."""
    lines = [
        f'{at:04x}: {" ".join(f"{byte:02x}" for byte in page[at : at + 16])} "{"." * 16}"'
        for at in range(0, len(page), 16)
    ]
    return "\n".join(["Device:nvme0 log-id:2 namespace-id:0xffffffff", "       0  1  2", *lines])


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
    "in another object": (
        lambda h, m: [{"device": "nvme0", "smart_log": smart(h), "ocp": ocp_2(m)}], 512_000, 1,
    ),
    "hexadecimal text + ocp of 64 bits": (
        lambda h, m: [
            {**smart(0), "data_units_written": f"{h:#x}"}, {"physical_media_units_written": m},
        ], 512_000, 1,
    ),
    "text smart + ocp": (lambda h, m: [smart_text(h), ocp_text(m)], 512_000, 1),
    "text smart 2 + cloud": (
        lambda h, m: [smart_text(h, is_new=True), cloud_text(m)], 512_000, 1,
    ),
    "text of one file": (lambda h, m: [smart_text(h) + ocp_text(m)], 512_000, 1),
    "text without separators": (lambda h, m: [smart_text(h, ""), ocp_text(m)], 512_000, 1),
    "text of India": (lambda h, m: [smart_text(h, width=2), ocp_text(m)], 512_000, 1),
    "text of Switzerland": (lambda h, m: [smart_text(h, "\u2019"), ocp_text(m)], 512_000, 1),
    "text of intel": (lambda h, m: [table_text(h, m)], MIB32, MIB32),
    "text of solidigm": (lambda h, m: [table_text(h, m, is_solidigm=True)], MIB32, MIB32),
    "text of fdp": (lambda h, m: [fdp_text(h, m)], 1, 1),
    "text of an endurance group": (lambda h, m: [group_text(h, m)], 10**9, 10**9),
    "text of smartctl": (lambda h, m: [smartctl_text(h), ocp_text(m)], 512_000, 1),
    "text of smartctl, blanks": (
        lambda h, m: [smartctl_text(h, " "), ocp_text(m)], 512_000, 1,
    ),
    "text of smartctl, dots": (lambda h, m: [smartctl_text(h, "."), ocp_text(m)], 512_000, 1),
    "text of smartctl, narrow blanks": (
        lambda h, m: [smartctl_text(h, "\u202f"), ocp_text(m)], 512_000, 1,
    ),
    "text of sata": (
        lambda h, m: [sata_text({"Host_Writes_32MiB": h, "NAND_Writes_32MiB": m})], MIB32, MIB32,
    ),
    "text of sata, brief": (
        lambda h, m: [sata_text({"Total_LBAs_Written": h, "NAND_Writes_1GiB": m}, is_brief=True)],
        512, GIB,
    ),
    "hexadecimal smart + ocp": (
        lambda h, m: [hexadecimal(smart_page(h)), hexadecimal(ocp_page(m))], 512_000, 1,
    ),
}  # fmt: skip
