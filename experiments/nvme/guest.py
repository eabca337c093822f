"""The initiator of Linux against a drive that flashgc serves by NVMe/TCP.

A virtual machine without hardware support (TCG) boots a kernel of Debian with an initramfs of its
own, connects to the drive, and works through the steps of a play (``plays.py``). Nothing is
installed: packages are downloaded (``apt-get download``) and unpacked below ``--cache``. Needs
Debian 12 on x86-64.

    python experiments/nvme/guest.py                   # the transcript on stdout
    python experiments/nvme/guest.py --document docs/nvme-tcp.md
    python experiments/nvme/guest.py --filesystems     # xfs, btrfs and f2fs
    python experiments/nvme/guest.py --logs            # the JSON of nvme-cli, for tests/wear
    python experiments/nvme/guest.py --verify          # fio verifies what it wrote
    python experiments/nvme/guest.py --attach          # flashgc device up and exec --host nvme-tcp
    python experiments/nvme/guest.py --kill            # the target is killed as the guest writes
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import attach
import machine
import packages
from image import image
from plays import KILL, KILLS, PARTS, PLAYS, Play

from flashgc import Device

#: The program of the target process, which may be killed.
TARGET = """
import sys, time
from flashgc import Device
drive = Device.open(sys.argv[1])
print(*drive.serve_nvme_tcp(sys.argv[2]), flush=True)
time.sleep(3600)
"""


def main() -> int:
    """Run a play in the guest. Return 1 if a step failed that should not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--document", type=Path, help="put the transcript into this document")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for the guest")
    which = parser.add_mutually_exclusive_group()
    for name, help_text in (
        ("smoke", "half a minute: one file system"),
        ("filesystems", "xfs, btrfs and f2fs"),
        ("logs", "logs of the drive before and after writes, as nvme-cli prints them"),
        ("verify", "fio, which verifies what it wrote"),
        ("attach", "flashgc in the guest: device up and exec --host nvme-tcp"),
        ("kill", "kill the target while it is used"),
    ):
        which.add_argument(
            f"--{name}", dest="play", action="store_const", const=name, help=help_text
        )
    parser.set_defaults(play="tour")
    given = parser.parse_args()
    root = packages.unpacked(given.cache)
    play = attach.play() if given.play == "attach" else PLAYS[given.play]
    with tempfile.TemporaryDirectory() as scratch:
        packed = image(root, Path(scratch) / "tree", play)
        initramfs = Path(scratch) / "initrd"
        initramfs.write_bytes(packed)
        file = Path(scratch) / "drive.flash"
        if given.play == "kill":
            return killed(root, initramfs, file, play, given.timeout)
        with Device.create(file, **play.drive) as drive:
            address, name = drive.serve_nvme_tcp("127.0.0.1:0")
            words = machine.words(root, initramfs, address, name, play.cores, shares=play.shares)
            printed = machine.boot(root, words, given.timeout)
            stat = drive.stat()
    text = machine.transcript(printed)
    if given.document is None:
        print(text)
        print(
            "\n".join(printed[printed.index("@@ end") + 1 :]) if "@@ end" in printed else "no end"
        )
    else:
        put(given.document, given.play, text)
    print(f"host pages written: {stat['counters']['host_pages_written']}", file=sys.stderr)
    return verdict(play, printed)


def verdict(play: Play, printed: list[str]) -> int:
    """Return 0 if the steps failed or passed as expected; otherwise print the reasons, return 1."""
    whole = "\n".join(printed)
    wrong = [
        f"it should{' not' * (not must)} have failed: {step}"
        for step, answers in machine.steps(printed)
        for must in [step.startswith(play.failing)]
        if must != machine.has_failed(answers)
    ]
    if "@@ end" not in printed:
        wrong.append("the guest did not come to its end")
    refused = [line for line in printed if "I/O Error" in line]
    wrong += [f"the drive refused what the kernel sent: {line}" for line in refused[:3]]
    wrong += [what for what, texts in play.wanted if not any(text in whole for text in texts)]
    for what in wrong:
        print(f"error: {what}", file=sys.stderr)
    return int(bool(wrong))


def served(file: Path, address: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a target process. Return it, and the target's address and the drive's name."""
    words = (sys.executable, "-c", TARGET, str(file), address)
    target = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert target.stdout is not None
    return target, target.stdout.readline().split()


def killed(root: Path, initramfs: Path, file: Path, play: Play, timeout: float) -> int:
    """Kill the target as the guest writes, and start it again, several times.

    Return 1 if a step failed that should not, or if kills or unsafe shutdowns are missing.
    """
    Device.create(file, **play.drive).close()
    target, (address, name) = served(file, "127.0.0.1:0")
    guest = subprocess.Popen(
        machine.words(root, initramfs, address, name), env=machine.environment(root),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    ending = threading.Timer(timeout, guest.kill)
    ending.start()
    printed, kills, draw = [], 0, random.Random(1)
    try:
        assert guest.stdout is not None
        for line in map(str.rstrip, guest.stdout):
            printed.append(line)
            if line == KILL:
                time.sleep(draw.random())
                kills += 1
                target.kill()
                target.wait()
                target, _ = served(file, address)
        guest.wait()
    finally:
        ending.cancel()
        target.kill()
        target.wait()
    with Device.open(file) as drive:
        shutdowns = drive.stat()["smart"]["unsafe_shutdowns"]
    print(machine.transcript(printed))
    print(f"kills: {kills}, unsafe shutdowns: {shutdowns}", file=sys.stderr)
    return int(verdict(play, printed) != 0 or kills != PARTS * KILLS or shutdowns < kills)


def put(document: Path, name: str, text: str) -> None:
    """Put a text into its block of code in the document."""
    mark = re.escape("<!-- guest -->" if name == "tour" else f"<!-- guest: {name} -->")
    block = re.compile(rf"({mark}\n)```text\n.*?\n?```", re.DOTALL)
    whole, count = block.subn(
        lambda block: f"{block[1]}```text\n{text}\n```", document.read_text(), count=1
    )
    if not count:
        sys.exit(f"{document} has no block of {name}")
    document.write_text(whole)


if __name__ == "__main__":
    sys.exit(main())
