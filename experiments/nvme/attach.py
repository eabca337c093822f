"""``flashgc device up`` and ``exec`` with ``--host nvme-tcp``, whose steps run in the guest.

The guest mounts the files of this machine by 9p, read-only; only ``/tmp`` and ``/run`` are the
guest's own. So the guest uses the flashgc and the Python that run this script. Neither may lie in
``/tmp`` or ``/run`` of this machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

from plays import Play

import flashgc

#: The guest's script for the command ``flashgc``.
FLASHGC = f"""#!/bin/sh
exec {sys.executable} -c 'import sys; from flashgc.command import main; sys.exit(main())' "$@"
"""

#: A script that fails if a drive has left devices or files.
LEFT = """#!/bin/sh
for folder in /sys/class/nvme /run/flashgc/up /run/flashgc/scratch; do
    [ -z "$(ls $folder 2>/dev/null)" ] || { echo "left: $folder"; exit 1; }
done
! grep nvme /proc/mounts
"""

#: A script that repeats a shell command until it succeeds, for at most 3 minutes.
SOON = """#!/bin/sh
for _ in $(seq 1800); do eval "$1" && exit; sleep 0.1; done; exit 1
"""

SETUP = f"""
mkdir /shared
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose root /shared
mount -t tmpfs -o mode=1777 tmp /shared/tmp; mount -t tmpfs -o mode=755 run /shared/run
for folder in dev proc sys; do mount --bind /$folder /shared/$folder; done
mkdir /shared/tmp/bin; cp /flashgc /left /soon /shared/tmp/bin; chmod 755 /shared/tmp/bin/*
export PATH=$PATH:/tmp/bin PYTHONPATH={Path(flashgc.__file__).parents[1]} HOME=/tmp TERM=dumb
step() {{
    printf '\\n@@ %s\\n' "$1"; chroot /shared /bin/sh -c "$1"; code=$?
    [ $code = 0 ] || echo "exit status $code"
}}
dmesg -n 1
"""

UP = "flashgc device up /tmp/drive.flash --mount /tmp/mnt --host nvme-tcp"
EXEC = "flashgc device exec --host nvme-tcp --capacity 128MiB --quiet"
SERVER = """$(sed -n 's/^ "server": \\([0-9]*\\),/\\1/p' /run/flashgc/up/*)"""

STEPS = f"""
flashgc device create /tmp/drive.flash --capacity 128MiB >/tmp/log
{UP}
grep mnt /proc/mounts; cat /sys/class/nvme/nvme0/state
head -c 5000000 /dev/urandom >/tmp/mnt/one; cd /tmp; sha256sum mnt/one >sum
flashgc device down /tmp/drive.flash
left
{UP}
cd /tmp; sha256sum -c sum; cp mnt/one mnt/two; sync; cp mnt/one mnt/lost
kill -KILL {SERVER}; {UP}
cd /tmp; sha256sum -c sum; cmp mnt/one mnt/two
kill -KILL {SERVER}; flashgc device down /tmp/drive.flash
left
flashgc device check /tmp/drive.flash
{EXEC} --streams-by-file 'a*=1,b*=2' -- sh -c 'head -c 9000000 /dev/urandom >a; cp a b; sync' \
| grep -E '^(command|host bytes|stream|  )'
left
{EXEC} -- sleep 1000 & soon '[ -e /sys/class/nvme/nvme0 ]'; \
kill -TERM $!; wait $!; echo code $?
left
{EXEC} -- sleep 1000 & soon 'grep -q nvme /proc/mounts'; \
kill -KILL $! {SERVER}; wait $!; echo code $?
{EXEC} -- true | grep command
left
"""


def play() -> Play:
    """Return the play, which checks written data and that nothing is left."""
    return Play(
        f". /setup\n{STEPS.strip()}",
        (),
        ("9p", "9pnet_virtio", "ext4"),
        wanted=(
            ("the block device has another name", ("ext4 on /dev/nvme0n1 in /tmp/mnt",)),
            ("the file system has rights of root", ("nosuid,nodev",)),
            ("a stream has other pages", ("1  a*                2 198",)),
            ("a signal in the making of a file system does not end exec", ("code 143",)),
            ("exec was not killed", ("code 137",)),
        ),
        texts=(("/setup", SETUP), ("/flashgc", FLASHGC), ("/left", LEFT), ("/soon", SOON)),
        drive={"capacity": "64MiB"},
        shares=True,
    )
