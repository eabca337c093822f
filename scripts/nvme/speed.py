"""Speed of the drive beside nvmet with a file, as ratios, in one guest.

Both targets run in the guest and are reached on its loopback by the kernel's initiator. The drive
and the file of nvmet are on tmpfs. Rounds take turns.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import machine
from plays import NVME, Play

import flashgc

PYTHON = "usr/bin/python3.11"
TARGET = """
import time
from flashgc import Device
drive = Device.create("/dev/shm/drive.flash", capacity="192MiB")
print(drive.serve_nvme_tcp("127.0.0.1:4421")[1], flush=True)
time.sleep(3600)
"""
NVMET = "/sys/kernel/config/nvmet"
SETUP = f"""
dd if=/dev/zero of=/dev/shm/file bs=1M count=144 2>/dev/null
mount -t configfs none /sys/kernel/config
mkdir {NVMET}/subsystems/nvmet {NVMET}/subsystems/nvmet/namespaces/1 {NVMET}/ports/1
cd {NVMET}/subsystems/nvmet; echo 1 > attr_allow_any_host; cd /
cd {NVMET}/subsystems/nvmet/namespaces/1; echo 1 > buffered_io; cd /
cd {NVMET}/subsystems/nvmet/namespaces/1; echo -n /dev/shm/file > device_path; echo 1 > enable; cd /
cd {NVMET}/ports/1; echo tcp > addr_trtype; echo ipv4 > addr_adrfam; cd /
cd {NVMET}/ports/1; echo 127.0.0.1 > addr_traddr; echo 4420 > addr_trsvcid; cd /
ln -s {NVMET}/subsystems/nvmet {NVMET}/ports/1/subsystems/nvmet
python3.11 /target.py > /tmp/name 2>&1 &
while [ ! -s /tmp/name ]; do sleep 0.1; done; cat /tmp/name
nvme connect -t tcp -a 127.0.0.1 -s 4421 -n $(cat /tmp/name)
nvme connect -t tcp -a 127.0.0.1 -s 4420 -n nvmet
while [ ! -b /dev/nvme1n1 ]; do sleep 0.1; done
"""
FIO = "fio --name=one --direct=1 --ioengine=libaio --size=128M --output-format=terse"
ROUNDS, SECONDS = 5, 4
KINDS = [(way, depth) for way in ("randread", "randwrite") for depth in (1, 32)]
#: The drive, and nvmet.
DEVICES = ("/dev/nvme0n1", "/dev/nvme1n1")


def command(device: str, way: str, depth: int, turn: int) -> str:
    """Return the command of a round; it prints operations a second."""
    field = 8 if way == "randread" else 49
    return (
        f"{FIO} --filename={device} --rw={way} --bs=4k --iodepth={depth} --time_based"
        f" --runtime={SECONDS} --randseed={turn} | cut -d';' -f{field}"
    )


def play() -> Play:
    """Return the play whose rounds take turns."""
    filled = [f"{FIO} --filename={device} --rw=write --bs=256k >/dev/null" for device in DEVICES]
    rounds = [
        command(device, way, depth, turn)
        for turn in range(ROUNDS)
        for way, depth in KINDS
        for device in (DEVICES if turn % 2 else DEVICES[::-1])
    ]
    package = Path(flashgc.__file__).parent
    return Play(
        SETUP + "\n".join([*filled, *rounds]),
        (NVME, "usr/bin/fio", PYTHON),
        ("nvmet-tcp",),
        files=(
            ("/usr/lib/python3.11", None),
            ("/usr/lib/python3/dist-packages/flashgc", package),
        ),
        linked=tuple(package.glob("_core*.so")),
        texts=(("/target.py", TARGET),),
        made={"capacity": "64MiB"},
    )


def table(said: list[str]) -> str:
    """Return the ratios of operations a second: the median of the rounds, least and most."""
    answers = dict(machine.steps(said))
    if failed := [step for step, given in answers.items() if machine.has_failed(given)]:
        raise SystemExit("error: " + "\n".join(failed))
    lines = ["| 4 KiB | queue depth | flashgc, times nvmet | rounds |", "|---|---|---|---|"]
    for way, depth in KINDS:
        ratios = sorted(
            float(ours[-1]) / float(theirs[-1])
            for turn in range(ROUNDS)
            for ours, theirs in [[answers[command(device, way, depth, turn)] for device in DEVICES]]
        )
        middle = statistics.median(ratios)
        words = {"randread": "random reads", "randwrite": "random writes"}[way]
        lines.append(f"| {words} | {depth} | {middle:.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |")
    return "\n".join(lines) + "\n"
