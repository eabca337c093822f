"""A counter in a file that forgets a sync, in one of three ways. For flashgc device cut-test.

`folder` syncs the new file, and not the folder in which the file gets its name. `file` syncs
nothing. `direct` writes past the page cache, which is no flush of the drive. `right` forgets none.
"""

import mmap
import os
import sys


def synced(path):
    """Wait until the drive has the file or folder for good."""
    opened = os.open(path, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


def replace(number, way):
    """Write the number into a new file, and put that in the place of the old one."""
    with open("new", "w") as file:
        file.write(f"{number}\n")
    if way in ("folder", "right"):
        synced("new")
    os.replace("new", "count")
    if way == "right":
        synced(".")


def overwrite(number, opened, page):
    """Write the number into the file's only page, past the page cache."""
    page[:] = f"{number}\n".encode().ljust(4096)
    os.pwrite(opened, page, 0)


def work(way, total=100):
    """Count, and acknowledge each number."""
    replace(0, "right")
    if way == "direct":
        page = mmap.mmap(-1, 4096)
        opened = os.open("count", os.O_RDWR | os.O_DIRECT)
        overwrite(0, opened, page)
        os.fsync(opened)
    with open(os.environ["FLASHGC_ACK"], "w", buffering=1) as acknowledge:
        for number in range(1, total + 1):
            if way == "direct":
                overwrite(number, opened, page)
            else:
                replace(number, way)
            print("acknowledged", number, file=acknowledge)


def check():
    """Look whether the number is there that was acknowledged last, or a later one."""
    last = os.environ["FLASHGC_LAST"]
    if not last:
        return
    with open("count") as file:
        text = file.read().strip(" ")
    if not text.strip().isdigit() or int(text) < int(last.split()[1]):
        sys.exit(f"{last}, found {text!r}")


if __name__ == "__main__":
    check() if sys.argv[1] == "check" else work(sys.argv[1])
