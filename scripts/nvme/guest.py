"""The initiator of Linux against a drive that flashgc serves by NVMe/TCP.

A virtual machine without hardware support (TCG) boots a kernel of Debian with an initramfs of its
own, connects to the drive, and works through ``STEPS``. Nothing is installed: packages are
downloaded (``apt-get download``) and unpacked below ``--cache``. Needs Debian 12 on x86-64.

    python scripts/nvme/guest.py                   # the transcript on stdout
    python scripts/nvme/guest.py --document docs/nvme-tcp.md
    python scripts/nvme/guest.py --kill            # the target is killed while the guest writes
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from flashgc import Device

KERNEL = "linux-image-cloud-amd64"
#: The packages of the guest.
GUEST = [
    "busybox-static", "nvme-cli", "libnvme1", "libjson-c5", "libuuid1", "libc6", "libssl3",
    "libdbus-1-3", "libsystemd0", "libcap2", "libgcrypt20", "liblz4-1", "liblzma5", "libzstd1",
    "libgpg-error0", "libkeyutils1", "e2fsprogs", "libext2fs2", "libcom-err2", "libss2",
    "libblkid1", "zlib1g",
]  # fmt: skip
#: The packages of the machine that runs it.
MACHINE = [
    "qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios", "ipxe-qemu",
    "libcapstone4", "libfdt1", "libslirp0", "libvdeplug2",
]  # fmt: skip
#: The programs of the guest, with the libraries that they need.
PROGRAMS = ("usr/sbin/nvme", "sbin/mke2fs", "sbin/e2fsck")
MODULES = [
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
    "failover", "net_failover", "virtio_net", "crc32c_generic", "nvme-core", "nvme-fabrics",
    "nvme-tcp", "mbcache", "jbd2", "crc16", "ext4",
]  # fmt: skip

#: The commands of the transcript. ``NQN`` and ``PORT`` are those of the drive.
STEPS = """
nvme discover -t tcp -a 10.0.2.2 -s $PORT
nvme connect -t tcp -a 10.0.2.2 -s $PORT -n $NQN
nvme list
nvme id-ctrl /dev/nvme0 | grep -E '^(sn|mn|fr|mdts|cntlid|ver|kas|sqes|maxcmd|oncs|vwc|sgls|ioccsz)'
nvme id-ns /dev/nvme0n1 | grep -E '^(nsze|nuse|dlfeat|nawun|nguid|lbaf)'
nvme ns-descs /dev/nvme0n1
nvme get-feature /dev/nvme0 -f 6
nvme set-feature /dev/nvme0 -f 6 -v 0
nvme set-feature /dev/nvme0 -f 6 -v 1
/sbin/mke2fs -q -t ext4 /dev/nvme0n1
mount -t ext4 -o discard /dev/nvme0n1 /mnt
cp /bin/busybox /mnt/one
dd if=/dev/urandom of=/mnt/two bs=1M count=8 2>&1 | grep copied | cut -d' ' -f1-2
sha256sum /mnt/two > /tmp/sum
rm /mnt/one
sync
nvme id-ns /dev/nvme0n1 | grep nuse
fstrim -v /mnt
umount /mnt
/sbin/e2fsck -f -n /dev/nvme0n1 2>&1 | tail -1 | cut -d: -f2 | cut -d, -f1
nvme disconnect -n $NQN
nvme connect -t tcp -a 10.0.2.2 -s $PORT -n $NQN --hdr-digest --data-digest --nr-io-queues=2
mount -t ext4 -o ro /dev/nvme0n1 /mnt
sha256sum -c /tmp/sum
umount /mnt
nvme dsm /dev/nvme0n1 -n 1 -d -s 0 -b 1
nvme write-zeroes /dev/nvme0n1 -n 1 -s 8 -c 7
nvme flush /dev/nvme0n1 -n 1
nvme read /dev/nvme0n1 -s 99999999 -c 0 -z 4096 2>&1
nvme smart-log /dev/nvme0 | grep -E 'spare|used|units|commands|cycles|errors'
nvme endurance-log /dev/nvme0 -g 1 | grep -iE 'spare|written'
nvme ocp smart-add-log /dev/nvme0 | grep -E 'written|read  |free|NUSE|version'
nvme fdp configs /dev/nvme0 -e 1
nvme fdp usage /dev/nvme0 -e 1
nvme get-feature /dev/nvme0 -f 0x1d --cdw11=1
nvme dir-receive /dev/nvme0n1 -n 1 --dir-type=0 --dir-oper=1 --human-readable
dd if=/dev/urandom of=/tmp/page bs=4096 count=1 2>/dev/null
nvme write /dev/nvme0n1 -s 100 -c 0 -z 4096 -d /tmp/page --dir-type=2 --dir-spec=1
nvme write /dev/nvme0n1 -s 101 -c 0 -z 4096 -d /tmp/page --dir-type=2 --dir-spec=9
nvme read /dev/nvme0n1 -s 101 -c 0 -z 4096 -d /tmp/back
cmp /tmp/page /tmp/back
nvme fdp events /dev/nvme0 -e 1 --host-events
nvme fdp stats /dev/nvme0 -e 1
nvme fdp status /dev/nvme0n1 -n 1
nvme fdp set-events /dev/nvme0n1 -n 1 -p 1 -t 3 --enable
nvme fdp update /dev/nvme0n1 -n 1 --pids=1 2>&1
nvme disconnect -n $NQN
"""

#: The commands of ``--kill``: files that were synced must be whole after the target's end.
KILLED = """
nvme connect -t tcp -a 10.0.2.2 -s $PORT -n $NQN --reconnect-delay=1 --ctrl-loss-tmo=90
/sbin/mke2fs -q -t ext4 /dev/nvme0n1
mount -t ext4 /dev/nvme0n1 /mnt
for i in $(seq 40); do dd if=/dev/urandom of=/mnt/$i bs=256k count=2 conv=fsync 2>/dev/null; \
echo synced $i; sha256sum /mnt/$i >> /tmp/sums; done
umount /mnt
nvme disconnect -n $NQN
nvme connect -t tcp -a 10.0.2.2 -s $PORT -n $NQN
/sbin/e2fsck -f -n /dev/nvme0n1 2>&1 | tail -1 | cut -d: -f2 | cut -d, -f1
mount -t ext4 -o ro /dev/nvme0n1 /mnt
sha256sum -c /tmp/sums | grep -c OK
"""

#: The files after which the target is killed.
KILLS = ("synced 10", "synced 20", "synced 30")

#: The program of a target that may be killed.
TARGET = """
import sys, time
from flashgc import Device
drive = Device.open(sys.argv[1])
print(*drive.serve_nvme_tcp(sys.argv[2]), flush=True)
time.sleep(3600)
"""

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/sbin:/usr/bin
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
mkdir -p /run /etc/nvme
for module in @MODULES@; do insmod /modules/$module.ko 2>/dev/null; done
ifconfig lo 127.0.0.1 up; ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
echo nqn.2014-08.org.nvmexpress:uuid:6d2b3a1c-0000-4000-8000-000000000001 > /etc/nvme/hostnqn
echo 6d2b3a1c-0000-4000-8000-000000000001 > /etc/nvme/hostid
for word in $(cat /proc/cmdline); do case $word in NQN=*|PORT=*) export $word;; esac; done
step() { printf '\\n@@ %s\\n' "$1"; eval "$1"; code=$?; [ $code = 0 ] || echo "exit status $code"; }
@STEPS@
echo; echo @@ end; dmesg | grep -iE 'nvme|warning|bug' | tail -20
poweroff -f
"""

MARK = "<!-- guest -->"


def main() -> int:
    """Run the steps in the guest. Return 1 if one of them failed that should not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "flashgc-nvme-guest"
    parser.add_argument("--cache", type=Path, default=cache)
    parser.add_argument("--document", type=Path, help="put the transcript into this document")
    parser.add_argument("--kill", action="store_true", help="kill the target while it is used")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for the guest")
    given = parser.parse_args()
    packages = unpacked(given.cache)
    with tempfile.TemporaryDirectory() as scratch:
        initramfs = Path(scratch) / "initrd.gz"
        steps = KILLED if given.kill else STEPS
        initramfs.write_bytes(gzip.compress(image(packages, Path(scratch) / "tree", steps), 1))
        if given.kill:
            return killed(packages, initramfs, Path(scratch) / "drive.flash", given.timeout)
        made = {"capacity": "256MiB", "placement": "fdp:handles=4,persistent=1"}
        with Device.create(f"{scratch}/drive.flash", **made) as drive:
            address, name = drive.serve_nvme_tcp("127.0.0.1:0")
            said = boot(packages, initramfs, address, name, given.timeout)
            stat = drive.stat()
    text = transcript(said)
    if given.document is None:
        print(text)
        print("\n".join(said[said.index("@@ end") + 1 :]) if "@@ end" in said else "no end")
    else:
        put(given.document, text)
    print(f"host pages written: {stat['counters']['host_pages_written']}", file=sys.stderr)
    print(f"placement: {stat['fdp']}", file=sys.stderr)
    return verdict(said)


def unpacked(cache: Path) -> Path:
    """Download and unpack the packages, unless that was done. Return the folder."""
    root, done = cache / "root", cache / "done"
    if done.exists():
        return root
    debs = cache / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    show = subprocess.run(
        ("apt-cache", "depends", KERNEL), check=True, capture_output=True, text=True
    )
    kernel = re.findall(r"Depends: (linux-image-\S+)", show.stdout)[0]
    wanted = ("apt-get", "-q", "download", kernel, *GUEST, *MACHINE)
    subprocess.run(wanted, check=True, cwd=debs, stdout=subprocess.DEVNULL)
    for deb in sorted(debs.glob("*.deb")):
        subprocess.run(("dpkg", "-x", deb, root), check=True)
    done.touch()
    return root


def library_path(root: Path) -> str:
    """Return the folders of libraries below ``root``."""
    folders = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
    return ":".join(str(root / folder) for folder in folders)


def libraries(root: Path, program: str) -> list[tuple[Path, str]]:
    """Return the libraries of a program: where they are, and where the guest finds them."""
    loader = root / "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    words = (loader, "--library-path", library_path(root), "--list", root / program)
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"(\S+) => (\S+) \(", listed)
    pairs = [(Path(path), f"lib/{Path(name).name}") for name, path in found if "/" not in name]
    return [*pairs, (loader, "lib64/ld-linux-x86-64.so.2")]


def image(root: Path, tree: Path, commands: str) -> bytes:
    """Return the initramfs: a cpio archive with the programs, the modules and the script."""
    for folder in ("bin", "sbin", "lib", "lib64", "dev", "proc", "sys", "mnt", "tmp", "modules"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(root / "bin/busybox", tree / "bin/busybox")
    for program in PROGRAMS:
        shutil.copy(root / program, tree / "sbin" / Path(program).name)
        for path, place in libraries(root, program):
            shutil.copy(path, tree / place)
    modules = {path.stem: path for path in (root / "lib/modules").rglob("*.ko")}
    there = [name for name in MODULES if name in modules]
    for name in there:
        shutil.copy(modules[name], tree / f"modules/{name}.ko")
    steps = "\n".join(f"step {quoted(step)}" for step in commands.strip().splitlines())
    init = INIT.replace("@MODULES@", " ".join(there)).replace("@STEPS@", steps)
    (tree / "init").write_text(init)
    (tree / "init").chmod(0o755)
    names = "\n".join(sorted(str(path.relative_to(tree)) for path in tree.rglob("*")))
    packed = subprocess.run(
        (root / "bin/busybox", "cpio", "-o", "-H", "newc"),
        check=True, cwd=tree, input=names.encode(), capture_output=True,
    )  # fmt: skip
    return packed.stdout


def quoted(text: str) -> str:
    """Return a word of the shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def machine(root: Path, initramfs: Path, address: str, name: str) -> list[str]:
    """Return the command of the guest."""
    kernel = next((root / "boot").glob("vmlinuz-*"))
    port = address.rpartition(":")[2]
    return [
        str(root / "usr/bin/qemu-system-x86_64"),
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "512"),
        *("-nographic", "-no-reboot", "-L", str(root / "usr/share/qemu")),
        *("-L", str(root / "usr/share/seabios"), "-kernel", str(kernel)),
        *("-initrd", str(initramfs), "-nic", "user,model=virtio-net-pci"),
        *("-append", f"console=ttyS0 quiet panic=-1 NQN={name} PORT={port}"),
    ]


def own(root: Path) -> dict[str, str]:
    """Return the environment of the machine, whose libraries are those of the packages."""
    return {**os.environ, "LD_LIBRARY_PATH": str(root / "usr/lib/x86_64-linux-gnu")}


def boot(root: Path, initramfs: Path, address: str, name: str, timeout: float) -> list[str]:
    """Run the guest until it powers off. Return the lines that it printed."""
    words = machine(root, initramfs, address, name)
    done = subprocess.run(
        words, timeout=timeout, env=own(root), stdin=subprocess.DEVNULL, capture_output=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace").replace("\r", "").splitlines()


def served(file: Path, address: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start a target in a process of its own. Return it with its address and the drive's name."""
    words = (sys.executable, "-c", TARGET, str(file), address)
    target = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert target.stdout is not None
    return target, target.stdout.readline().split()


def killed(root: Path, initramfs: Path, file: Path, timeout: float) -> int:
    """Kill the target while the guest writes, and start it again. Return 1 if a file is lost."""
    Device.create(file, capacity="256MiB").close()
    target, (address, name) = served(file, "127.0.0.1:0")
    words = machine(root, initramfs, address, name)
    guest = subprocess.Popen(
        words, env=own(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        errors="replace",
    )  # fmt: skip
    ending = threading.Timer(timeout, guest.kill)
    ending.start()
    said = []
    try:
        assert guest.stdout is not None
        for line in map(str.rstrip, guest.stdout):
            said.append(line)
            if line in KILLS:
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
    print(transcript(said))
    failed = [line for line in said if line.startswith("exit status")]
    print(f"kills: {len(KILLS)}, unsafe shutdowns: {shutdowns}", file=sys.stderr)
    return int(failed != [] or "40" not in said or shutdowns < len(KILLS) or "@@ end" not in said)


def transcript(said: list[str]) -> str:
    """Return the commands and their answers."""
    lines: list[str] = []
    for line in said:
        if line == "@@ end":
            break
        if line.startswith("@@ "):
            lines.append(f"# {line.removeprefix('@@ ')}")
        elif lines and line.strip() and not line.startswith("["):
            lines.append(re.sub(r"\s+$", "", line))
    return "\n".join(lines)


def verdict(said: list[str]) -> int:
    """Return 1, and say why, unless all went as it should."""
    whole = "\n".join(said)
    # The read beyond the end must fail, and the update of a handle; nothing else.
    failed = [line for line in said if line.startswith("exit status")]
    wrong = [
        what
        for what, is_right in (
            ("the guest did not come to its end", "@@ end" in said),
            (f"steps failed: {failed}", len(failed) == 2),
            ("a read beyond the end got another status", "LBA Out of Range" in whole
             or "LBA_RANGE" in whole),
            ("the drive refused what the kernel sent", "I/O Error" not in whole),
            ("a wrong identifier is no event", "Invalid Placement Identifier" in whole),
            ("an update of a handle got another status", "Invalid Field" in whole
             or "INVALID_FIELD" in whole),
            ("data differ after the second connection", "/mnt/two: OK" in whole),
        )
        if not is_right
    ]  # fmt: skip
    for what in wrong:
        print(f"error: {what}", file=sys.stderr)
    return int(bool(wrong))


def put(document: Path, text: str) -> None:
    """Put the transcript into its block of the document."""
    whole = document.read_text()
    block = re.compile(rf"({MARK}\n```text\n).*?(\n```)", re.DOTALL)
    document.write_text(block.sub(lambda found: found[1] + text + found[2], whole, count=1))


if __name__ == "__main__":
    sys.exit(main())
