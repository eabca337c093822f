"""The machine of the guest: qemu without hardware support (TCG), and its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from packages import QEMU, program

#: The qemu option that shares this machine's files by 9p.
SHARED = "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"


def words(
    root: Path, initramfs: Path, address: str, name: str, cores: int = 2, *, shares: bool = False
) -> list[str]:
    """Return the command that runs the guest, which reaches the drive by ``address``'s port."""
    kernel = next((root / "boot").glob("vmlinuz-*"))
    port = address.rpartition(":")[2]
    return [
        *program(root, QEMU),
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cores), "-m", "2048"),
        *("-nographic", "-no-reboot", "-L", str(root / "usr/share/qemu")),
        *("-L", str(root / "usr/share/seabios"), "-kernel", str(kernel)),
        *("-initrd", str(initramfs)),
        *(("-virtfs", SHARED) if shares else ()),
        *("-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="),
        *("-append", f"console=ttyS0 quiet panic=-1 NQN={name} PORT={port}"),
    ]


def environment(root: Path) -> dict[str, str]:
    """Return the environment of qemu, with the folder of its modules."""
    return {**os.environ, "QEMU_MODULE_DIR": str(root / "usr/lib/x86_64-linux-gnu/qemu")}


def boot(root: Path, command: list[str], timeout: float) -> list[str]:
    """Run the guest until it powers off. Return the lines that it printed."""
    done = subprocess.run(
        command, timeout=timeout, env=environment(root), stdin=subprocess.DEVNULL,
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace").replace("\r", "").splitlines()


def steps(printed: list[str]) -> list[tuple[str, list[str]]]:
    """Return the steps with the lines of their answers."""
    parsed: list[tuple[str, list[str]]] = []
    for line in printed:
        if line == "@@ end":
            break
        if line.startswith("@@ "):
            parsed.append((line.removeprefix("@@ "), []))
        elif parsed and line.strip() and not re.match(r"\[ *\d+\.\d+\]", line):
            parsed[-1][1].append(re.sub(r"\s+$", "", line))
    return parsed


def transcript(printed: list[str]) -> str:
    """Return the commands and their answers."""
    return "\n".join("\n".join([f"# {step}", *answers]) for step, answers in steps(printed))


def has_failed(answers: list[str]) -> bool:
    """Return ``True`` if a step with these answers ended with another exit status than 0."""
    return any(answer.startswith("exit status") for answer in answers)
