"""Drives that earlier versions of flashgc wrote and closed can be opened."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from flashgc import Device

DATA = Path(__file__).parent / "data"
WRITES = 600


def content(number: int) -> bytes:
    """The page of write ``number``."""
    return bytes([number % 251]) * 4096


@pytest.mark.parametrize("format_number", [10])
def test_a_drive_of_an_earlier_version_keeps_its_data_and_goes_on(
    format_number: int, tmp_path: Path
) -> None:
    """The drive has the pages of its 600 writes; its policies begin without state."""
    path = tmp_path / "earlier.flash"
    path.write_bytes(lzma.decompress((DATA / f"format-{format_number}.flash.xz").read_bytes()))
    held = {(number * number * 7 + 3 * number) % 144: number for number in range(WRITES)}
    for opening in range(2):
        with Device.open(path) as drive:
            stat = drive.stat()
            # The first close writes a snapshot in the format of this version.
            begins_anew = {"records": 0, "skipped": 0} if opening == 0 else None
            assert stat["recovery"] == begins_anew
            assert stat["mapped_pages"] == len(held)
            for page, number in held.items():
                assert drive.read(page * 4096, 4096) == content(number), page
            for number in range(WRITES):
                page = number * 5 % 144
                drive.write(page * 4096, content(number + opening))
                held[page] = number + opening
    with Device.open(path) as drive:
        for page, number in held.items():
            assert drive.read(page * 4096, 4096) == content(number), page
