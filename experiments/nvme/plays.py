"""The steps of each play in the guest, and the conditions on their output.

In the steps, ``$NQN`` is the NVMe name of the drive, and ``$PORT`` its port.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NVME, EXT4 = "usr/sbin/nvme", ("sbin/mke2fs", "sbin/e2fsck")


@dataclass(frozen=True)
class Play:
    """A list of steps in the guest, with their conditions."""

    steps: str
    #: Programs below the folder of the packages.
    programs: tuple[str, ...]
    modules: tuple[str, ...]
    #: Beginnings of the steps that must fail.
    failing: tuple[str, ...] = ()
    #: Error messages, each with texts of which the guest must print at least one.
    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: The options of the drive.
    drive: dict[str, str] = field(default_factory=lambda: {"capacity": "512MiB"})
    cores: int = 2
    #: True if the guest has this machine's files, read-only.
    shares: bool = False
    #: Names and contents of files in the guest.
    texts: tuple[tuple[str, str], ...] = ()


CONNECT = "nvme connect -t tcp -a 10.0.2.2 -s $PORT -n $NQN"
DIGESTS = "--hdr-digest --data-digest"

#: The play for docs/nvme-tcp.md, which shows every feature of the drive.
TOUR = f"""
nvme discover -t tcp -a 10.0.2.2 -s $PORT
{CONNECT}
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
dd if=/dev/urandom of=/mnt/two bs=1M count=8 2>/dev/null
sha256sum /mnt/two > /tmp/sum
rm /mnt/one
sync
nvme id-ns /dev/nvme0n1 | grep nuse
fstrim -v /mnt
umount /mnt
/sbin/e2fsck -f -n /dev/nvme0n1 2>&1 | tail -1 | cut -d: -f2 | cut -d, -f1
nvme disconnect -n $NQN
{CONNECT} {DIGESTS} --nr-io-queues=2
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
nvme fdp update /dev/nvme0n1 -n 1 --pids=1
nvme fdp events /dev/nvme0 -e 1 --host-events
nvme fdp stats /dev/nvme0 -e 1
nvme fdp status /dev/nvme0n1 -n 1
nvme fdp set-events /dev/nvme0n1 -n 1 -p 1 -t 3 --enable
nvme fdp update /dev/nvme0n1 -n 1 --pids=1,9 2>&1
nvme disconnect -n $NQN
"""

#: The play for the tests, which takes half a minute.
SMOKE = f"""
nvme discover -t tcp -a 10.0.2.2 -s $PORT | grep trtype
{CONNECT} {DIGESTS}
nvme list | grep -o flashgc
/sbin/mke2fs -q -t ext4 /dev/nvme0n1
mount -t ext4 -o discard /dev/nvme0n1 /mnt
dd if=/dev/urandom of=/mnt/two bs=1M count=4 2>/dev/null
sha256sum /mnt/two > /tmp/sum
umount /mnt
mount -t ext4 -o ro /dev/nvme0n1 /mnt
sha256sum -c /tmp/sum
umount /mnt
/sbin/e2fsck -f -n /dev/nvme0n1 >/tmp/log 2>&1
nvme disconnect -n $NQN
"""

#: The guest prints this line to let the target be killed shortly after.
KILL = "the target may be killed"
#: The number of kills in each part of the play.
KILLS = 10
#: The number of parts of the play. In each, fio or a program on a file system flushes.
PARTS = 4


def outlasting(work: str) -> str:
    """Return a step that repeats ``work`` until all kills are done; ``$i`` is its number."""
    return (
        f"(for n in $(seq {KILLS}); do sleep 3; echo {KILL}; done; touch /tmp/over) & "
        f"i=0; bad=0; while [ ! -e /tmp/over ]; do i=$((i + 1)); {work} || bad=$((bad + 1)); done; "
        "rm /tmp/over; [ $i -gt 3 ] && [ $bad = 0 ] || { tail -5 /tmp/log; false; }"
    )


def killed() -> str:
    """Return the steps of a host that writes while its target is killed and started again."""
    patient = f"{CONNECT} --reconnect-delay=1 --ctrl-loss-tmo=600"
    blocks = (
        "fio --name=blocks --filename=/dev/nvme0n1 --direct=1 --ioengine=libaio --rw=randwrite "
        "--bs=4k --iodepth=16 --size=4M --offset=$((i % 100 * 4))M --verify=crc32c --verify_fatal=1"
    )
    file = "dd if=/dev/urandom of=/mnt/$i bs=64k count=4 conv=fsync 2>/tmp/log"
    parts = [
        f"{patient}\n{outlasting(f'{blocks} {flush} >/tmp/log 2>&1')}\nnvme disconnect -n $NQN"
        for flush in ("--fsync=16", "--end_fsync=1")
    ]
    for kind, make, check in (
        ("ext4", "/sbin/mke2fs -q -t ext4 -F", "/sbin/e2fsck -f -n"),
        ("xfs", "mkfs.xfs -q -f", "xfs_repair -n"),
    ):
        work = outlasting(f"{{ {file} && sha256sum /mnt/$i >>/tmp/{kind}; }}")
        parts.append(f"""{patient}
{make} /dev/nvme0n1 >/tmp/log 2>&1
mount -t {kind} /dev/nvme0n1 /mnt
{work}
umount /mnt
nvme disconnect -n $NQN
{CONNECT}
{check} /dev/nvme0n1 >/tmp/log 2>&1
mount -t {kind} -o ro /dev/nvme0n1 /mnt
sha256sum -c /tmp/{kind} >/tmp/log || {{ grep -v OK /tmp/log; false; }}
umount /mnt
nvme disconnect -n $NQN""")
    return "\n".join(parts)


#: The commands that make and check each file system.
CHECKS = {
    "xfs": ("mkfs.xfs -q -f", "xfs_repair -n"),
    "btrfs": ("mkfs.btrfs -q -f", "btrfs check"),
    "f2fs": ("mkfs.f2fs -q -f", "fsck.f2fs -f --dry-run"),
}


def file_systems() -> str:
    """Return the steps of the file systems, each on the whole drive."""
    parts = []
    for kind, (make, check) in CHECKS.items():
        parts.append(f"""
{CONNECT}
{make} /dev/nvme0n1 >/tmp/log 2>&1
mount -t {kind} -o discard /dev/nvme0n1 /mnt
cp -r /lib /bin /mnt
dd if=/dev/urandom of=/mnt/random bs=1M count=16 2>/dev/null
cd /mnt; find . -type f | xargs sha256sum > /tmp/{kind}; cd /; wc -l < /tmp/{kind}
cp -r /sbin /mnt; sync; rm -r /mnt/sbin; sync
fstrim -v /mnt
nvme id-ns /dev/nvme0n1 | grep nuse
umount /mnt
{check} /dev/nvme0n1 >/tmp/log 2>&1
nvme disconnect -n $NQN
{CONNECT} {DIGESTS}
mount -t {kind} -o ro /dev/nvme0n1 /mnt
cd /mnt; sha256sum -c /tmp/{kind} | grep -c OK; cd /
umount /mnt
{check} /dev/nvme0n1 >/tmp/log 2>&1
nvme disconnect -n $NQN""")
    return "".join(parts)


FIO = "fio --name=verify --bs=4k --iodepth=32 --verify=crc32c --verify_fatal=1 --group_reporting"
#: A filter that keeps one line of fio's output; its exit status shows success.
KEPT = "| grep -o 'issued rwts: total=[0-9,]*'"
QUEUES = (
    "--numjobs=4 --size=8M --offset_increment=8M --cpus_allowed=0-3 --cpus_allowed_policy=split"
)
#: fio's options for blocks of several sizes.
SIZES = "--bssplit=4k/50:16k/30:64k/20"


def verified() -> str:
    """Return the steps of fio, with and without digests."""
    blocks = f"{FIO} --filename=/dev/nvme0n1 --direct=1 --rw=randwrite {QUEUES}"
    passed = f"{FIO} --filename=/dev/ng0n1 --ioengine=io_uring_cmd --cmd_type=nvme --size=8M"
    return f"""
{CONNECT}
cat /sys/class/nvme/nvme0/queue_count
{blocks} --ioengine=libaio {KEPT}
{blocks} --ioengine=io_uring {SIZES} {KEPT}
{passed} --rw=randwrite {KEPT}
{passed} --rw=randread {KEPT}
nvme disconnect -n $NQN
{CONNECT} {DIGESTS}
{blocks} --ioengine=libaio --offset=64M {KEPT}
{blocks} --ioengine=io_uring --offset=64M {SIZES} {KEPT}
{passed} --rw=randread {KEPT}
nvme smart-log /dev/nvme0 | grep -E 'media_errors|num_err'
nvme disconnect -n $NQN
"""


#: Logs as nvme-cli prints them, before and after writes of two sizes: tests/wear has its output.
LOGS = "".join(
    f"nvme {log} -o json\n"
    for log in (
        "id-ctrl /dev/nvme0",
        "smart-log /dev/nvme0",
        "ocp smart-add-log /dev/nvme0",
        "fdp stats /dev/nvme0 -e 1",
    )
)
COUNTED = f"""
{CONNECT}
dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=100 oflag=direct 2>/dev/null
{LOGS}dd if=/dev/urandom of=/dev/nvme0n1 bs=4096 count=6000 oflag=direct 2>/dev/null
dd if=/dev/urandom of=/dev/nvme0n1 bs=8192 count=6000 seek=1000 oflag=direct 2>/dev/null
{LOGS}nvme disconnect -n $NQN
"""

PLAYS = {
    "tour": Play(
        TOUR,
        (NVME, *EXT4),
        ("ext4",),
        failing=(
            "nvme read /dev/nvme0n1 -s 99999999",
            "nvme fdp update /dev/nvme0n1 -n 1 --pids=1,9",
        ),
        wanted=(
            ("a read beyond the end got another status", ("LBA Out of Range", "LBA_RANGE")),
            ("a wrong identifier is no event", ("Invalid Placement Identifier",)),
            ("an update of a handle is no event", ("Reclaim Unit Not Fully Written",)),
            ("an update of no handle got another status", ("Invalid Field", "INVALID_FIELD")),
            ("data differ after the second connection", ("/mnt/two: OK",)),
        ),
        drive={"capacity": "256MiB", "placement": "fdp:handles=4,persistent=1"},
    ),
    "logs": Play(
        COUNTED,
        (NVME, *EXT4),
        ("ext4",),
        wanted=(("6000 writes of 4 KiB and of 8 KiB are not counted", ('"349"',)),),
        drive={"capacity": "128MiB", "placement": "fdp:handles=2"},
    ),
    "smoke": Play(
        SMOKE,
        (NVME, *EXT4),
        ("ext4",),
        wanted=(("data differ", ("/mnt/two: OK",)), ("no drive is listed", ("flashgc",))),
        drive={"capacity": "64MiB"},
    ),
    "kill": Play(
        killed(),
        (NVME, "usr/bin/fio", *EXT4, "sbin/mkfs.xfs", "sbin/xfs_repair"),
        ("ext4", "xfs"),
    ),
    "filesystems": Play(
        file_systems(),
        (
            NVME, "sbin/mkfs.xfs", "sbin/xfs_repair", "bin/btrfs", "sbin/mkfs.btrfs",
            "sbin/mkfs.f2fs", "sbin/fsck.f2fs",
        ),
        ("xfs", "btrfs", "f2fs"),
    ),
    "verify": Play(
        verified(), (NVME, "usr/bin/fio"), (), cores=4,
        wanted=(("there are fewer than 4 queues of I/O", ("\n5\n",)),),
    ),
}  # fmt: skip
