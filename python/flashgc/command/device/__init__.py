"""``flashgc device``: a drive that keeps data, under a real file system or database."""

from __future__ import annotations

from flashgc.command.declaring import command
from flashgc.command.entrance import OnStoredDrives

_HOME = "flashgc.command.device"


@command(
    cls=OnStoredDrives,
    settings={
        "lazy": {
            "exec": f"{_HOME}.execute:execute",
            "bench": f"{_HOME}.bench:bench",
            "create": f"{_HOME}.create:create",
            "up": f"{_HOME}.up:up",
            "down": f"{_HOME}.up:down",
            "serve": f"{_HOME}.serve:serve",
            "stat": f"{_HOME}.stat:stat",
            "mark": f"{_HOME}.mark:mark",
            "record": f"{_HOME}.record:record",
            "inject": f"{_HOME}.inject:inject",
            "hint": f"{_HOME}.ranges:hint",
            "cancel": f"{_HOME}.ranges:cancel",
            "trim": f"{_HOME}.ranges:trim",
            "flush": f"{_HOME}.ranges:flush",
            "check": f"{_HOME}.check:check",
            "cut-test": f"{_HOME}.cut:cut_test",
            "crash-test": f"{_HOME}.crash_test:crash_test",
        }
    },
)
def device() -> None:
    """A drive that keeps data, under a real file system or database.

    Examples:
      flashgc device exec --victim greedy -- ./benchmark.sh
      flashgc device create drive.flash --capacity 8GiB --spare 7%
      flashgc device up drive.flash --mount /mnt/drive
      flashgc device stat drive.flash --watch
      flashgc device down drive.flash
    """
