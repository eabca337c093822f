"""The initiator of Linux: a drive that is served by NVMe/TCP as a block device, and the way back.

A controller has the name of a host that was drawn for it alone. That name finds it whatever became
of who attached it, and no other controller is ever taken away.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from flashgc._core import DriveError

#: The file that asks the kernel for a controller, and the folder that lists them.
FABRICS, LISTED = "/dev/nvme-fabrics", Path("/sys/class/nvme")

#: The folders of nodes, and of what the kernel says of block devices.
NODES, BLOCKS = Path("/dev"), Path("/sys/class/block")

#: The beginning of a host's name; its UUID follows.
HOST = "nqn.2014-08.org.nvmexpress:uuid:"

#: Without its server the kernel gives a drive up after 10 seconds, and its requests fail. A busy
#: machine may keep host and server apart for 30.
TERMS = "reconnect_delay=1,ctrl_loss_tmo=10,keep_alive_tmo=30"

#: Seconds that a device gets to appear, and a controller to go; and between two looks.
PATIENCE, PAUSE = 60.0, 0.02


def attach(address: str, name: str, host: str) -> str:
    """Attach the drive ``name`` at ``address`` for the host with this UUID; its block device.

    Raises :class:`flashgc.DriveError` where the kernel refuses.
    """
    at, _, port = address.rpartition(":")
    words = (
        f"transport=tcp,traddr={at.strip('[]')},trsvcid={port},nqn={name},"
        f"hostnqn={HOST}{host},hostid={host},{TERMS}"
    )
    try:
        with open(FABRICS, "r+b", buffering=0) as fabrics:
            fabrics.write(words.encode())
    except OSError as error:
        raise DriveError(
            f"the kernel does not attach {name} at {address}: {error.strerror}; "
            "hint: modprobe nvme-tcp, and dmesg says more"
        ) from None
    until = time.monotonic() + PATIENCE
    while (device := _device(name, host)) is None:
        if time.monotonic() > until:
            raise DriveError(
                f"no block device of {name} came within {PATIENCE:.0f} s; "
                "hint: in a container /dev is that of the machine (-v /dev:/dev)"
            )
        time.sleep(PAUSE)
    return device


def detach(name: str, host: str) -> None:
    """Take the drive ``name`` away from the host with this UUID; where it has none, do nothing."""
    until = time.monotonic() + PATIENCE
    while controllers := _controllers(name, host):
        for controller in controllers:
            with contextlib.suppress(OSError):  # It goes already.
                (controller / "delete_controller").write_text("1")
        if time.monotonic() > until:
            raise DriveError(f"{controllers[0].name} does not go; hint: nvme disconnect -n {name}")
        time.sleep(PAUSE)


def _controllers(name: str, host: str) -> list[Path]:
    """The controllers of this drive for this host: one or none."""
    paths = []
    for controller in LISTED.glob("nvme*"):
        with contextlib.suppress(OSError):  # Others come and go.
            names = [(controller / fact).read_text().strip() for fact in ("subsysnqn", "hostnqn")]
            if names == [name, HOST + host]:
                paths.append(controller)
    return paths


def _device(name: str, host: str) -> str | None:
    """The block device of the drive, once its node is there, and is that of no other device."""
    for controller in _controllers(name, host):
        for namespace in controller.glob("nvme*n*"):
            node = re.sub(r"c\d+", "", namespace.name)  # A path to it has its own number.
            with contextlib.suppress(OSError):
                number = os.stat(NODES / node).st_rdev
                text = (BLOCKS / node / "dev").read_text().strip()
                if text == f"{os.major(number)}:{os.minor(number)}":
                    return str(NODES / node)
    return None
