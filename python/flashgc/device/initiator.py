"""Linux as NVMe/TCP initiator: attaches a served drive as a block device, and detaches it.

Each controller is connected under a host name drawn for it alone. By that name the controller is
found even if the process that attached it has ended, and no other controller is ever removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from flashgc._core import DriveError

#: The file through which the kernel connects a controller, and the folder that lists controllers.
FABRICS, LISTED = "/dev/nvme-fabrics", Path("/sys/class/nvme")

#: The folder of device nodes, and the folder with the kernel's facts about block devices.
NODES, BLOCKS = Path("/dev"), Path("/sys/class/block")

#: The beginning of a host's name; its UUID follows.
HOST = "nqn.2014-08.org.nvmexpress:uuid:"

#: The kernel gives a drive up 10 seconds after its server has ended; requests to it then fail. On a
#: busy machine, host and server may be without contact for 30 seconds.
TERMS = "reconnect_delay=1,ctrl_loss_tmo=10,keep_alive_tmo=30"

#: The most seconds until a device appears or a controller goes, and seconds between two checks.
PATIENCE, PAUSE = 60.0, 0.02


def attach(address: str, name: str, host: str) -> str:
    """Attach the drive ``name`` at ``address`` for the host with this UUID; return the device.

    Raises :class:`flashgc.DriveError` if the kernel refuses.
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
    """Detach the drive ``name`` from the host with this UUID; do nothing if it is not attached."""
    until = time.monotonic() + PATIENCE
    while controllers := _controllers(name, host):
        for controller in controllers:
            with contextlib.suppress(OSError):  # It is being removed already.
                (controller / "delete_controller").write_text("1")
        if time.monotonic() > until:
            raise DriveError(f"{controllers[0].name} does not go; hint: nvme disconnect -n {name}")
        time.sleep(PAUSE)


def _controllers(name: str, host: str) -> list[Path]:
    """The controllers of this drive for this host: one or none."""
    paths = []
    for controller in LISTED.glob("nvme*"):
        with contextlib.suppress(OSError):  # Other controllers come and go.
            names = [(controller / fact).read_text().strip() for fact in ("subsysnqn", "hostnqn")]
            if names == [name, HOST + host]:
                paths.append(controller)
    return paths


def _device(name: str, host: str) -> str | None:
    """The block device of the drive, once it has its node; ``None`` before."""
    for controller in _controllers(name, host):
        for namespace in controller.glob("nvme*n*"):
            node = re.sub(r"c\d+", "", namespace.name)  # A path, nvme0c1n1, belongs to nvme0n1.
            with contextlib.suppress(OSError):
                number = os.stat(NODES / node).st_rdev
                text = (BLOCKS / node / "dev").read_text().strip()
                if text == f"{os.major(number)}:{os.minor(number)}":
                    return str(NODES / node)
    return None
