"""Answers of the drive beside those of the kernel's own target (nvmet), field by field.

Both are reached by the same initiator in the same guest. Each difference needs a reason
(``reasons.py``); one without a reason is an error.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import machine
from plays import CONNECT, NVME, Play
from reasons import REASONS, UNSHOWN

#: The drive has the same size as the memory behind nvmet.
NVMET = "/sys/kernel/config/nvmet"
SETUP = f"""
mount -t configfs none /sys/kernel/config
mkdir {NVMET}/subsystems/nvmet
echo 1 > {NVMET}/subsystems/nvmet/attr_allow_any_host
mkdir {NVMET}/subsystems/nvmet/namespaces/1
echo -n /dev/nullb0 > {NVMET}/subsystems/nvmet/namespaces/1/device_path
echo 1 > {NVMET}/subsystems/nvmet/namespaces/1/enable
mkdir {NVMET}/ports/1
cd {NVMET}/ports/1; echo tcp > addr_trtype; echo ipv4 > addr_adrfam; cd /
cd {NVMET}/ports/1; echo 127.0.0.1 > addr_traddr; echo 4420 > addr_trsvcid; cd /
ln -s {NVMET}/subsystems/nvmet {NVMET}/ports/1/subsystems/nvmet
{CONNECT}
nvme connect -t tcp -a 127.0.0.1 -s 4420 -n nvmet
while [ ! -b /dev/nvme1n1 ]; do sleep 0.1; done
dd if=/dev/zero of=/tmp/zeros bs=4096 count=4 2>/dev/null
printf '\\0\\0\\0\\0\\001\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0' > /tmp/range
printf '\\0\\0\\0\\0\\001\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\001' > /tmp/far
"""

ADMIN, IO = "nvme admin-passthru", "nvme io-passthru"
READ, WRITE = f"{IO} @N -n 1 -o 2 -r -l 4096", f"{IO} @N -n 1 -o 1 -w -l 4096 -i /tmp/zeros"
FAR = "--cdw11=1"
IDENTIFY = f"{ADMIN} @C -o 6 -r -l 4096"
LOG = f"{ADMIN} @C -o 2 -r"
ZEROES = f"{IO} @N -n 1 -o 8"
DATASET = f"{IO} @N -n 1 -o 9 -w -l 16"

#: Structures, as JSON: the name of the question and the command. @C is the controller, @N the
#: namespace, @D the block device of the controller, @A the words of its address.
STRUCTURES = {
    "id-ctrl": "nvme id-ctrl @C -o json",
    "id-ns": "nvme id-ns @C -n 1 -o json",
    "ns-descs": "nvme ns-descs @C -n 1 -o json",
    "list-ns": "nvme list-ns @C -o json",
    "cmdset-ind-id-ns": "nvme cmdset-ind-id-ns @C -n 1 -o json",
    "nvm-id-ctrl": "nvme nvm-id-ctrl @C -o json",
    "nvm-id-ns": "nvme nvm-id-ns @C -n 1 -o json",
    "id-iocs": "nvme id-iocs @C",
    "list-ctrl": "nvme list-ctrl @C -o json",
    "smart-log": "nvme smart-log @C -o json",
    "effects-log": "nvme get-log @C -i 5 -l 4096 -b | hexdump -v -e '1/4 \"%08x \"'",
    "error-log": f"{ADMIN} @C -o 0x7e >/dev/null 2>&1; nvme error-log @C -e 1 -o json",
    "fw-log": "nvme fw-log @C -o json | sed s/@K/log/",
    "endurance-log": "nvme endurance-log @C -g 1 -o json",
    "discover": "nvme discover -t tcp @A -o json",
}
#: Values of the kernel: what it makes of the answers.
KERNEL = {
    **{name: f"cat /sys/class/nvme/@K/{name}" for name in ("queue_count", "sqsize", "cntrltype")},
    **{
        name: f"cat /sys/block/@B/queue/{name}"
        for name in (
            "logical_block_size", "physical_block_size", "minimum_io_size", "optimal_io_size",
            "max_hw_sectors_kb", "max_segments", "discard_granularity", "discard_max_bytes",
            "write_zeroes_max_bytes", "write_cache", "fua", "rotational", "zoned",
        )
    },
}  # fmt: skip
FEATURES = (*range(0x01, 0x1F), 0x78, 0x7F, 0x80, 0x82, 0x83, 0x84)
#: Statuses of commands, most of them wrong.
COMMANDS = {
    "read of the last block's successor": f"{READ} --cdw10=$BLOCKS",
    "read across the end": f"{IO} @N -n 1 -o 2 -r -l 8192 --cdw10=$((BLOCKS - 1)) --cdw12=1",
    "read far beyond the end": f"{READ} {FAR}",
    "write far beyond the end": f"{WRITE} {FAR}",
    "read with FUA": f"{READ} --cdw12=0x40000000",
    "write with FUA": f"{WRITE} --cdw12=0x40000000",
    "read of two blocks with room for one": f"{READ} --cdw12=1",
    "write of two blocks with data of one": f"{WRITE} --cdw12=1",
    "read of one block with room for two": f"{IO} @N -n 1 -o 2 -r -l 8192",
    "read with protection checks": f"{READ} --cdw12=0x3c000000",
    "read with a directive type": f"{READ} --cdw12=0x00100000",
    "write with streams": f"{WRITE} --cdw12=0x00100000 --cdw13=0x10000",
    "write with an unknown directive type": f"{WRITE} --cdw12=0x00f00000 --cdw13=0x10000",
    "compare of equal blocks": f"{IO} @N -n 1 -o 5 -w -l 4096 -i /tmp/zeros",
    "compare of different blocks": f"{IO} @N -n 1 -o 5 -w -l 4096 -i /bin/busybox",
    "verify": f"{IO} @N -n 1 -o 0xc",
    "write uncorrectable": f"{IO} @N -n 1 -o 4",
    "flush": f"{IO} @N -n 1 -o 0",
    "write zeroes": f"{ZEROES}",
    "write zeroes of 65536 blocks": f"{ZEROES} --cdw12=0xffff",
    "write zeroes far beyond the end": f"{ZEROES} {FAR}",
    "dataset management, discard": f"{DATASET} -i /tmp/range --cdw11=4",
    "dataset management, a hint": f"{DATASET} -i /tmp/range --cdw11=1",
    "dataset management beyond the end": f"{DATASET} -i /tmp/far --cdw11=4",
    "dataset management, less data than ranges": f"{DATASET} -i /tmp/range --cdw10=3 --cdw11=4",
    "copy": f"{IO} @N -n 1 -o 0x19 -w -l 32 -i /tmp/zeros",
    "reservation report": f"{IO} @N -n 1 -o 0xe -r -l 64 --cdw10=15",
    "reservation register": f"{IO} @N -n 1 -o 0xd -w -l 16 -i /tmp/zeros",
    "zone management receive": f"{IO} @N -n 1 -o 0x7a -r -l 4096 --cdw12=1023",
    "I/O management receive": f"{IO} @N -n 1 -o 0x12 -r -l 4096 --cdw10=1 --cdw11=1023",
    "unknown I/O command": f"{IO} @N -n 1 -o 0x7e",
    "vendor's I/O command": f"{IO} @N -n 1 -o 0xd4",
    "unknown admin command": f"{ADMIN} @C -o 0x7e",
    "vendor's admin command": f"{ADMIN} @C -o 0xd0",
    "create a queue": f"{ADMIN} @C -o 1",
    "delete a queue": f"{ADMIN} @C -o 4",
    "abort of nothing": f"{ADMIN} @C -o 8 --cdw10=0xfff00000",
    "keep alive": f"{ADMIN} @C -o 0x18",
    "firmware commit": f"{ADMIN} @C -o 0x10",
    "firmware download": f"{ADMIN} @C -o 0x11 -w -l 4096 -i /tmp/zeros --cdw10=1023",
    "self-test": f"{ADMIN} @C -o 0x14 --cdw10=1",
    "namespace management": f"{ADMIN} @C -o 0xd -w -l 4096 -i /tmp/zeros",
    "namespace attachment": f"{ADMIN} @C -o 0x15 -w -l 4096 -n 1 -i /tmp/zeros",
    "directive receive": f"{ADMIN} @C -o 0x1a -r -l 4096 -n 1 --cdw10=1023 --cdw11=1",
    "format": f"{ADMIN} @C -o 0x80 -n 1",
    "security receive": f"{ADMIN} @C -o 0x82 -r -l 4096 --cdw11=4096",
    "sanitize": f"{ADMIN} @C -o 0x84 --cdw10=2",
    "get LBA status": f"{ADMIN} @C -o 0x86 -r -l 4096 -n 1 --cdw12=1023 --cdw13=0x10000001",
    "identify of an unknown kind": f"{IDENTIFY} --cdw10=0x7f",
    "identify namespace 0": f"{IDENTIFY} -n 0",
    "identify namespace 5": f"{IDENTIFY} -n 5",
    "identify namespace ffffffff": f"{IDENTIFY} -n 0xffffffff",
    "identify namespace names of 0": f"{IDENTIFY} -n 0 --cdw10=3",
    "identify namespace names of 5": f"{IDENTIFY} -n 5 --cdw10=3",
    "identify namespaces from ffffffff": f"{IDENTIFY} -n 0xffffffff --cdw10=2",
    "identify namespaces from 1": f"{IDENTIFY} -n 1 --cdw10=2",
    "identify allocated namespaces": f"{IDENTIFY} --cdw10=0x10",
    "identify of zoned namespace": f"{IDENTIFY} -n 1 --cdw10=5 --cdw11=0x02000000",
    "identify of zoned controller": f"{IDENTIFY} --cdw10=6 --cdw11=0x02000000",
    "identify primary controller": f"{IDENTIFY} --cdw10=0x14",
    "unknown log": f"{LOG} -l 512 --cdw10=0x007f007f",
    "reserved log 0": f"{LOG} -l 1024 --cdw10=0x00ff0000",
    "log beyond its end": f"{LOG} -l 512 --cdw10=0x007f0002 --cdw12=0x10000",
    "log from an odd place": f"{LOG} -l 512 --cdw10=0x007f0002 --cdw12=2",
    "health log of namespace 1": f"{LOG} -l 512 -n 1 --cdw10=0x007f0002",
    "health log of namespace 5": f"{LOG} -l 512 -n 5 --cdw10=0x007f0002",
    "health log, more room than it says": f"{LOG} -l 4096 -n 0xffffffff --cdw10=0x007f0002",
    "changed namespaces log": f"{LOG} -l 4096 --cdw10=0x03ff0004",
    "self-test log": f"{LOG} -l 512 --cdw10=0x007f0006",
    "telemetry log": f"{LOG} -l 512 --cdw10=0x007f0007",
    "ANA log": f"{LOG} -l 512 --cdw10=0x007f000c",
    "reservation log": f"{LOG} -l 64 --cdw10=0x000f0080",
    "sanitize log": f"{LOG} -l 512 --cdw10=0x007f0081",
    "discovery log of the drive": f"{LOG} -l 1024 --cdw10=0x00ff0070",
    **{f"get feature {n:02x}h": f"{ADMIN} @C -o 0xa -n 0 --cdw10={n:#x}" for n in FEATURES
       if n != 0x0E},
    "get feature 0eh": f"{ADMIN} @C -o 0xa -r -l 8 --cdw10=0xe | head -1",
    "get feature 81h": f"{ADMIN} @C -o 0xa -r -l 16 --cdw10=0x81 --cdw11=1",
    "get feature 81h, the short one": f"{ADMIN} @C -o 0xa -r -l 8 --cdw10=0x81",
    **{f"get feature {n:02x}h, select 3": f"{ADMIN} @C -o 0xa --cdw10={0x300 + n:#x}"
       for n in (1, 6, 7, 0xB, 0xF, 0x7F)},
    "get feature 06h, select 7": f"{ADMIN} @C -o 0xa --cdw10=0x706",
    "set feature 06h to 1": f"{ADMIN} @C -o 9 --cdw10=6 --cdw11=1",
    "set feature 06h, saved": f"{ADMIN} @C -o 9 --cdw10=0x80000006 --cdw11=1",
    "set feature 07h to 4 and 4": f"{ADMIN} @C -o 9 --cdw10=7 --cdw11=0x30003",
    "set feature 07h to ffffh": f"{ADMIN} @C -o 9 --cdw10=7 --cdw11=0xffffffff",
    "set feature 0bh, all events": f"{ADMIN} @C -o 9 --cdw10=0xb --cdw11=0xffffffff",
    "set feature 0fh": f"{ADMIN} @C -o 9 --cdw10=0xf --cdw11=15000",
    "set feature 02h to state 9": f"{ADMIN} @C -o 9 --cdw10=2 --cdw11=9",
    "set feature 81h": f"{ADMIN} @C -o 9 -w -l 16 -i /tmp/zeros --cdw10=0x81 --cdw11=1",
    "set feature 84h, write protection": f"{ADMIN} @C -o 9 -n 1 --cdw10=0x84 --cdw11=0",
    "set an unknown feature": f"{ADMIN} @C -o 9 --cdw10=0x7f",
    "property CAP": "nvme get-property @C --offset=0",
    "property VS": "nvme get-property @C --offset=8",
    "property CC": "nvme get-property @C --offset=0x14",
    "property CSTS": "nvme get-property @C --offset=0x1c",
    "property INTMS": "nvme get-property @C --offset=0xc",
    "property CRTO": "nvme get-property @C --offset=0x68",
    "property beyond all": "nvme get-property @C --offset=0x1000",
    "set property CAP": "nvme set-property @C --offset=0 --value=1",
}  # fmt: skip

#: Words of the two targets: the drive, nvmet.
SIDES = (
    {"@C": "/dev/nvme0", "@N": "/dev/nvme0n1", "@A": "-a 10.0.2.2 -s $PORT", "@K": "nvme0",
     "@B": "nvme0n1"},
    {"@C": "/dev/nvme1", "@N": "/dev/nvme1n1", "@A": "-a 127.0.0.1 -s 4420", "@K": "nvme1",
     "@B": "nvme1n1"},
)  # fmt: skip

#: The bit of a status that says that the error log has more.
MORE = 0x2000

Answers = dict[tuple[str, str], tuple[Any, Any]]


def questions() -> list[tuple[str, str, str]]:
    """Return the kind, the name and the command of each question."""
    kinds = (("", STRUCTURES), ("kernel", KERNEL), ("status", COMMANDS))
    return [(kind or name, name, words) for kind, all_ in kinds for name, words in all_.items()]


def said_to(words: str, side: int) -> str:
    """Return the command for one of the targets."""
    for mark, name in SIDES[side].items():
        words = words.replace(mark, name)
    blocks = f"BLOCKS=$(($(cat /sys/block/{SIDES[side]['@B']}/size) / 8)); "
    return (blocks if "BLOCKS" in words else "") + words + " 2>&1"


def play() -> Play:
    """Return the play whose steps ask both targets."""
    asked = [said_to(words, side) for _, _, words in questions() for side in (0, 1)]
    return Play(
        SETUP + "\n".join(asked),
        (NVME,),
        ("nvmet-tcp", "null_blk memory_backed=1 discard=1 bs=4096 gb=1"),
        made={"capacity": "1GiB"},
        cores=2,
    )


def answers(said: list[str]) -> Answers:
    """Return the answers of both targets by question and field."""
    lines = dict(machine.steps(said))
    found: Answers = {}
    for kind, name, words in questions():
        both = [lines.get(said_to(words, side)) for side in (0, 1)]
        if None in both:
            raise SystemExit(f"error: {name} was not asked")
        pair = [fields(kind, name, part or []) for part in both]
        if (name in pair[0]) != (name in pair[1]):
            pair = [part if name in part else {name: "answered"} for part in pair]
        for key in [*pair[0], *(key for key in pair[1] if key not in pair[0])]:
            found[kind, key] = (pair[0].get(key), pair[1].get(key))
    return found


def fields(kind: str, name: str, lines: list[str]) -> dict[str, Any]:
    """Return the fields of an answer: those of its JSON, its status, or its text."""
    text = "\n".join(line for line in lines if not line.startswith("exit status"))
    if status := re.search(r"\(0x([0-9a-f]+)\)", text):
        words = re.sub(r"^.*NVMe status: *|:.*", "", text, flags=re.IGNORECASE | re.DOTALL)
        return {name: f"{words} ({int(status[1], 16) & ~MORE:#x})"}
    if text.startswith("{"):
        return dict(flat(json.loads(text)))
    if kind == "effects-log":
        effects = zip(effect_names(), text.split(), strict=False)
        return {command: word for command, word in effects if int(word, 16)}
    if result := re.search(r"(?:result|value)[: ]*(?:0x)?([0-9a-f]+)", text):
        return {name: f"success, {int(result[1], 16):#x}"}
    return {name: " ".join(text.split()) or "success"}


def effect_names() -> list[str]:
    """Return the names of the commands in the effects log, in its order."""
    return [f"{kind} {opcode:02x}h" for kind in ("admin", "io") for opcode in range(256)]


def flat(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return the leaves of JSON with their paths. Parts of a list with a type have its name."""
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in flat(part, f"{path}.{key}")]
    if isinstance(value, list):
        found = []
        for number, part in enumerate(value):
            kind = part.get("type", part.get("subtype")) if isinstance(part, dict) else None
            if kind == "current discovery subsystem":
                found.append((f"{path}.{kind}".lstrip("."), "listed"))
            elif kind is not None:
                kept = {key: one for key, one in part.items() if key not in ("loc", "type")}
                found += flat(kept, f"{path}.{kind}")
            else:
                found += flat(part, f"{path}.{number}")
        return found
    return [(path.lstrip("."), value)]


def table(found: Answers) -> tuple[str, list[str]]:
    """Return the differences with their reasons, and those without one.

    Differences of the same values and the same reason are one row; those of ``UNSHOWN`` have none.
    """
    rows: dict[tuple[str, str, str], list[str]] = {}
    missing: list[str] = []
    used: set[str] = set()
    differing = {key: pair for key, pair in found.items() if pair[0] != pair[1]}
    for (kind, name), (ours, theirs) in differing.items():
        where = f"{kind}: {name}" if kind != name else kind + ": all"
        pattern = next((one for one in REASONS if fnmatchcase(where, one)), None)
        if pattern is None:
            missing.append(f"no reason: {where}: {ours!r}, nvmet {theirs!r}")
            continue
        used.add(pattern)
        if REASONS[pattern] not in UNSHOWN:
            rows.setdefault((shown(ours), shown(theirs), REASONS[pattern]), []).append(where)
    missing += [f"no such difference: {pattern}" for pattern in REASONS if pattern not in used]
    lines = ["| question | flashgc | nvmet | reason |", "|---|---|---|---|"]
    lines += [f"| {'; '.join(names)} | {' | '.join(row)} |" for row, names in rows.items()]
    head = (
        f"{len(found)} answers are compared, {len(found) - len(differing)} are the same. Names,"
        " sizes, ports and counts of what was asked\nbefore differ, and these:\n\n"
    )
    return head + "\n".join(lines) + "\n", missing


def shown(value: Any) -> str:
    """Return a value as a cell of the table."""
    text = "absent" if value is None else str(value).strip()
    return (text[:57] + "..." if len(text) > 60 else text).replace("|", "/") or "empty"
