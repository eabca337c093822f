"""Raw log pages, as ``nvme get-log -b`` and the ``-b`` of other commands write them.

A page has no name. The extended log of OCP ends with its GUID, Intel's page begins with its ids,
and a page of statistics of placement has 64 bytes. Other pages of 512 bytes are taken for the SMART
log (02h) if their reserved bytes are 0.

Source: NVM Express Base Specification 2.1, log pages 02h and 22h; OCP Datacenter NVMe SSD
Specification 2.0, section 4.8.6.
"""

from __future__ import annotations

from flashgc.foreign import one_line
from flashgc.logs.counts import Count
from flashgc.logs.formats import DATA_UNIT, INTEL_UNIT, life, words
from flashgc.logs.log import FDP, INTEL, OCP, SMART, Erases, Log
from flashgc.logs.text import refuse

#: The GUID of the extended log of OCP, in the order of bytes in the log.
OCP_GUID = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
#: Lengths of pages: statistics of placement, log pages, identify.
LENGTHS = (64, 512, 4096)
#: The first version of the extended log that has the mean of the erases.
_WITH_MEAN = 5
#: Bytes of an item of Intel's page.
_ITEM = 12
_PROGRAM_FAILS, _ERASE_FAILS, _LEVELLING, _NAND, _HOST = 0xAB, 0xAC, 0xAD, 0xF4, 0xF5
#: More media errors than any drive has. A larger number there is the capacity of a log 09h.
_MOST_ERRORS = 10**9


def log_of(path: str, page: bytes) -> Log:
    """The log in a raw page; a page that is not known is refused."""
    place = one_line(path)
    if len(page) not in LENGTHS:
        refuse(
            place,
            f"found {len(page)} bytes that are no text, expected a log page of 64 or 512 bytes",
            "nvme get-log DEVICE --log-id=2 --log-len=512 -b > page.bin",
        )
    if len(page) == 64:
        return _fdp(place, page)
    if len(page) == 4096:
        return _controller(place, page)
    if page.endswith(OCP_GUID):
        return _ocp(place, page)
    if page[0] == _PROGRAM_FAILS and page[_ITEM] == _ERASE_FAILS:
        return _intel(place, page)
    return _smart(place, page)


def _number(page: bytes, first: int, size: int) -> int:
    return int.from_bytes(page[first : first + size], "little")


def _count(page: bytes, first: int, size: int, unit: int, key: str, place: str) -> Count:
    number, where = _number(page, first, size), f"{place}: byte {first}"
    if number == 256**size - 1:
        refuse(where, f"{key}: found bits that are all 1: the drive did not fill this page",
               "leave out the page; does the drive have it at all?")  # fmt: skip
    return Count(number, unit, key, where)


def _smart(place: str, page: bytes) -> Log:
    if any(page[7:32]) or any(page[240:]) or page[3] > 100 or _number(page, 160, 16) > _MOST_ERRORS:
        refuse(
            place,
            "found 512 bytes that are neither the SMART log (02h) nor the log of OCP (C0h)",
            "nvme get-log DEVICE --log-id=2 --log-len=512 -b > page.bin",
        )
    written = _count(page, 48, 16, DATA_UNIT, "data units written", place)
    return Log(
        "page 02h",
        place,
        host={SMART: written},
        used=page[5],
        spare_left=page[3],
        hours=_number(page, 128, 16),
        write_commands=_number(page, 80, 16),
    )


def _ocp(place: str, page: bytes) -> Log:
    least, most, mean = _number(page, 92, 4), _number(page, 88, 4), _number(page, 224, 8)
    has_mean = _number(page, 494, 2) >= _WITH_MEAN and mean >= least
    endurance, unit = life(_number(page, 176, 16))
    return Log(
        "page C0h of OCP",
        place,
        media={OCP: _count(page, 0, 16, 1, "physical media units written", place)},
        erases=Erases(least, mean if has_mean else None, most) if most else None,
        endurance=endurance,
        endurance_unit=unit,
    )


def _fdp(place: str, page: bytes) -> Log:
    if any(page[48:]):
        refuse(place, "found 64 bytes that are no statistics of placement (22h)",
               "nvme fdp stats DEVICE -e 1 -b > page.bin")  # fmt: skip
    return Log(
        "page 22h",
        place,
        host={FDP: _count(page, 0, 16, 1, "hbmw", place)},
        media={FDP: _count(page, 16, 16, 1, "mbmw", place)},
    )


def _intel(place: str, page: bytes) -> Log:
    items = {page[at]: at + 5 for at in range(0, len(page) - _ITEM + 1, _ITEM) if page[at]}
    names = {_HOST: "host bytes written (F5h)", _NAND: "NAND bytes written (F4h)"}
    host, media = (
        {INTEL: _count(page, items[item], 6, INTEL_UNIT, names[item], place)}
        if item in items
        else {}
        for item in (_HOST, _NAND)
    )
    erases = None
    if _LEVELLING in items:
        at = items[_LEVELLING]
        least, most, mean = (_number(page, at + step, 2) for step in (0, 2, 4))
        erases = Erases(least, mean, most)
    return Log("page CAh of Intel", place, host=host, media=media, erases=erases)


def _controller(place: str, page: bytes) -> Log:
    serial, model = (
        page[first:last].decode("ascii", "replace").strip("\0 ")
        for first, last in ((4, 24), (24, 64))
    )
    return Log(
        "identify controller",
        place,
        capacity=_number(page, 280, 16) or None,
        serial=words(serial),
        model=words(model),
    )
