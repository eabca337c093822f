"""``flashgc hints``: tells a drive which pages real software will soon overwrite."""

from __future__ import annotations

from flashgc.command.declaring import command
from flashgc.command.entrance import OnStoredDrives

_HOME = "flashgc.command.hints"


@command(
    cls=OnStoredDrives,
    settings={
        "lazy": {
            "postgres": f"{_HOME}.postgres:postgres",
            "page-cache": f"{_HOME}.page_cache:page_cache",
            "demo": f"{_HOME}.demo:demo",
        }
    },
)
def hints() -> None:
    """Tell a drive what its host will soon overwrite.

    The host's memory holds new versions of pages that the drive still keeps: zombies. A drive that
    knows them wastes no copies on them. Hints never change data.

    Examples:
      flashgc hints demo
      flashgc device create drive.flash --capacity 8GiB --scheme zgc-gd
      flashgc device up drive.flash --mount /mnt/drive
      flashgc hints page-cache --mount /mnt/drive --device drive.flash
      flashgc hints postgres --dsn dbname=postgres --device drive.flash
    """
