"""The initramfs of the guest: programs, kernel modules and the script of its steps."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from packages import libraries
from plays import Play

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/sbin:/usr/bin
set -o pipefail
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
mkdir -p /run /etc/nvme /dev/shm; mount -t tmpfs -o size=75% shm /dev/shm
@MODULES@
ifconfig lo 127.0.0.1 up; ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
echo nqn.2014-08.org.nvmexpress:uuid:6d2b3a1c-0000-4000-8000-000000000001 > /etc/nvme/hostnqn
echo 6d2b3a1c-0000-4000-8000-000000000001 > /etc/nvme/hostid
for word in $(cat /proc/cmdline); do case $word in NQN=*|PORT=*) export $word;; esac; done
# The kernel looks for namespaces after `nvme connect` has ended.
ready() { for _ in $(seq 100); do [ -b /dev/nvme0n1 ] && break; sleep 0.1; done; }
step() {
    printf '\\n@@ %s\\n' "$1"; eval "$1"; code=$?; [ $code = 0 ] || echo "exit status $code"
    case $1 in "nvme connect "*) ready;; esac
}
@STEPS@
echo; echo @@ end; dmesg | grep -iE 'nvme|warning|bug' | tail -20
poweroff -f
"""

#: The modules of every guest, in load order. Their dependencies load before them.
MODULES = ("virtio_pci", "virtio_net", "crc32c_generic", "crc32_generic", "nvme-tcp")


def image(root: Path, tree: Path, play: Play) -> bytes:
    """Return the initramfs: a cpio archive. Steps are the lines of ``play.steps``.

    A program is a path below ``root``, and is copied to ``/sbin``. A module's name may be followed
    by parameters.
    """
    for folder in ("bin", "sbin", "lib", "lib64", "dev", "proc", "sys", "mnt", "tmp", "modules"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(root / "bin/busybox", tree / "bin/busybox")
    for name in play.programs:
        shutil.copy(root / name, tree / "sbin" / Path(name).name)
        add_libraries(root, tree, root / name)
    for place, text in play.texts:
        (tree / place[1:]).write_text(text)
    loaded = with_needed(root, (*MODULES, *play.modules))
    for path in loaded:
        shutil.copy(path, tree / f"modules/{path.name}")
    steps = "\n".join(f"step {quoted(step)}" for step in play.steps.strip().splitlines())
    given = {name_of(words.split()[0]): words.split()[1:] for words in play.modules}
    inserted = "\n".join(
        " ".join(["insmod", f"/modules/{path.name}", *given.get(name_of(path.stem), [])])
        for path in loaded
    )
    (tree / "init").write_text(INIT.replace("@MODULES@", inserted).replace("@STEPS@", steps))
    (tree / "init").chmod(0o755)
    listed = "\n".join(sorted(str(path.relative_to(tree)) for path in tree.rglob("*")))
    packed = subprocess.run(
        (root / "bin/busybox", "cpio", "-o", "-H", "newc"),
        check=True, cwd=tree, input=listed.encode(), capture_output=True,
    )  # fmt: skip
    return packed.stdout


def add_libraries(root: Path, tree: Path, path: Path) -> None:
    """Copy the libraries of a program to their places in the guest."""
    for library, where in libraries(root, path):
        if not (tree / where).exists():
            shutil.copy(library, tree / where)


def with_needed(root: Path, wanted: tuple[str, ...]) -> list[Path]:
    """Return the modules with their dependencies, dependencies first.

    A name without a module file is built into the kernel, and is left out.
    """
    there = {name_of(path.stem): path for path in (root / "lib/modules").rglob("*.ko")}
    paths: list[Path] = []

    def add(name: str) -> None:
        path = there.get(name_of(name))
        if path is None or path in paths:
            return
        line = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for needed in line[1].decode().split(",") if line else []:
            add(needed)
        paths.append(path)

    for words in wanted:
        add(words.split()[0])
    return paths


def name_of(module: str) -> str:
    """Return the name of a module as the kernel spells it."""
    return module.replace("-", "_")


def quoted(text: str) -> str:
    """Return the text quoted as a shell word."""
    return "'" + text.replace("'", "'\\''") + "'"
