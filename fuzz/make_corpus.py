#!/usr/bin/env python3
"""Writes the fuzzing corpus: small invented traces in every format, and the expected rows.

`corpus/NAME/example` is a trace in format NAME, and `expected/NAME.csv` the rows that a reader must
give. The writers here are independent of the Rust readers and follow docs/trace-formats.md, down to
the bytes of our own binary format. Run it in this folder after a change; the files are committed.
"""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zlib
from pathlib import Path

# Columns: time (ns), operation, offset (bytes), size (bytes), device. The invented requests have
# overwrites, sequences, reads of written and unwritten pages, a step back in time, and a discard.
REQUESTS = [
    (5_000_000_000, "W", 1_048_576, 4096, 3),
    (5_000_012_000, "W", 1_052_672, 8192, 3),
    (5_000_500_000, "R", 1_048_576, 4096, 3),
    (5_001_000_000, "W", 1_048_576, 4096, 3),
    (5_001_000_000, "R", 73_400_320, 65_536, 1),
    (5_000_999_000, "W", 512, 1024, 1),
    (6_250_000_000, "D", 2_097_152, 1_048_576, 3),
    (6_250_000_125, "W", 9_007_199_254_740_992, 4096, 0),
    (7_000_000_000, "W", 1_060_864, 20_480, 3),
    (7_000_000_000, "R", 1_052_672, 12_288, 3),
]


def row(time, op, offset, size, dev):
    return f"{time // 1000}.{time % 1000:03},{op},{offset},{size},{dev}\n"


def save(name, content, requests, file="example"):
    folder = Path("corpus") / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    Path("expected").mkdir(exist_ok=True)
    header = "time_us,op,offset_bytes,size_bytes,dev\n"
    (Path("expected") / f"{name}.csv").write_text(header + "".join(row(*r) for r in requests))


def fit(step=1, unit=512, discards=False, device=None, largest=1 << 62):
    """The requests that a format can hold, with rounded times; all for `device`, if given."""
    kept = []
    for time, op, offset, size, dev in REQUESTS:
        if (op == "D" and not discards) or offset % unit or size % unit or offset > largest:
            continue
        kept.append((time // step * step, op, offset, size, dev if device is None else device))
    return kept


def seconds(time, digits=9):
    return f"{time // 10**9}.{time % 10**9:09}"[: -(9 - digits) or None]


def milliseconds(time, digits):
    return f"{time // 10**6}.{time % 10**6:06}"[: -(6 - digits) or None]


WORD = {"R": "Read", "W": "Write", "D": "Discard"}


def text_formats():
    # Readers number the second host's disks from 65536 on.
    rs = fit(step=100)
    save(
        "msr",
        "".join(
            f"{t // 100},{'src' if d < 3 else 'web'},{d},{WORD[o]},{a},{s},{1000 + s}\n"
            for t, o, a, s, d in rs
        ),
        [(t, o, a, s, d if d == 3 else d + 65536) for t, o, a, s, d in rs],
    )

    # The same requests with the separators and quotes of files that other programs export.
    lines = [
        (t // 100, "src" if d < 3 else "web", d, WORD[o], a, s, 1000 + s) for t, o, a, s, d in rs
    ]
    names = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"
    for name, separator, mark in (
        ("semicolons", ";", ""),
        ("tabs", "\t", ""),
        ("blanks", ", ", ""),
        ("quotes", ",", '"'),
    ):
        rows = [names.split(","), *lines]
        text = "".join(separator.join(f"{mark}{x}{mark}" for x in row) + "\n" for row in rows)
        (Path("corpus") / "msr" / name).write_text(text)

    rs = fit(step=1000, unit=1)
    save("alibaba", "".join(f"{d},{o},{a},{s},{t // 1000}\n" for t, o, a, s, d in rs), rs)

    rs = fit(step=10**9)
    save(
        "tencent",
        "".join(
            f"{t // 10**9},{a // 512},{s // 512},{int(o == 'W')},{d}\n" for t, o, a, s, d in rs
        ),
        rs,
    )

    rs = fit(unit=1)
    lines = [f"{seconds(t)},0.000806000,{o},{d},{a},{s}\n" for t, o, a, s, d in rs]
    lines.insert(2, "5.000300000,0.000000000,,3,0,4096\n")
    save("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n" + "".join(lines), rs)

    rs = fit()
    names = ["syslogd", "kworker 0:1", "java main thread", "rpc.mountd"]
    digests = [" 00112233445566778899aabbccddeeff", "", " ffeeddccbbaa99887766554433221100"]
    save(
        "fiu",
        "".join(
            f"{t} {400 + i} {names[i % 4]} {a // 512} {s // 512} {o} 6 {d}{digests[i % 3]}\n"
            for i, (t, o, a, s, d) in enumerate(rs)
        ),
        [(t, o, a, s, 6 << 20 | d) for t, o, a, s, d in rs],
    )

    rs = fit(step=1000)
    extra = ["", ",7", " , x, y"]
    save(
        "spc",
        "".join(
            f"{d},{a // 512},{s},{o.lower() if i % 2 else o},{seconds(t, 6)}{extra[i % 3]}\n"
            for i, (t, o, a, s, d) in enumerate(rs)
        ),
        rs,
    )

    rs = fit(discards=True)
    flags = {"R": "RA", "W": "WS", "D": "DS"}
    lines = ["Input file sdb.blktrace.0 added\n"]
    for i, (t, o, a, s, d) in enumerate(rs):
        for action, tail in (("Q", "[app]"), ("G", "[app]"), ("D", "[app]"), ("C", "[0]")):
            event = f"  8,{d:<3} 1 {i:8} {seconds(t):>14} {99 + i:5}  {action}"
            lines.append(f"{event}  {flags[o]:>3} {a // 512} + {s // 512} {tail}\n")
    lines.insert(5, "  8,3    1        0     5.000000100    99  m   N cfq99 inserted\n")
    lines.insert(6, "  8,3    1        9     5.000000200    99  D  FN [app]\n")
    lines.insert(7, "  8,3    1       10     5.000000300    99  D  FWS 0 + 0 [app]\n")
    lines += [
        "CPU0 (8,3):\n",
        " Reads Queued:           3,        40KiB\n",
        "\n",
        "Total (8,3):\n",
        "Events (8,3): 43 entries\n",
    ]
    linux = [(t, o, a, s, 8 << 20 | d) for t, o, a, s, d in rs]
    save("blkparse", "".join(lines), linux)

    # ftrace has microseconds; perf script and trace-cmd leave the flags out.
    rs = fit(step=1000, discards=True)
    lines = ["# tracer: nop\n", "cpus=2\n"]
    layouts = [
        "     kworker/0:1-31      [001] d..1.  {}: {}\n",
        "  my app [x] 77   [000] {}:   block:{}\n",
        "           <...>-31 (   31) [001] .... {}: {}\n",
    ]
    for i, (t, o, a, s, d) in enumerate(rs):
        where = f"{a // 512} + {s // 512}"
        for event in (
            f"block_bio_queue: 8,{d} {flags[o]} {where} [app]",
            f"block_rq_issue: 8,{d} {flags[o]} {s} () {where} be,0,4 [app [2]]",
            f"block_rq_complete: 8,{d} {flags[o]} () {where} [0]",
        ):
            lines.append(layouts[i % 3].format(seconds(t, 6), event))
    lines.insert(4, "CPU:1 [LOST 12 EVENTS]\n")
    lines.insert(5, layouts[0].format("5.000000", "block_rq_issue: 8,3 FF 0 () 0 + 0 [app]"))
    lines.insert(6, layouts[0].format("5.000000", "block_rq_issue: 8,3 N 36 (12 00) 0 + 0 [app]"))
    lines.insert(7, layouts[0].format("5.000000", "sched_switch: prev_comm=bash ==> next_comm=x"))
    save("ftrace", "".join(lines), [(t, o, a, s, 8 << 20 | d) for t, o, a, s, d in rs])

    rs = [(0, *rest) for _, *rest in fit(unit=1, discards=True, device=0)]
    save("fio1", "".join(f"{'RWD'.index(o)}, {a}, {s}\n" for _, o, a, s, _ in rs), rs)

    verbs = {"R": "read", "W": "write", "D": "trim"}
    rs = fit(step=1000, unit=1, discards=True)
    order = {}
    body, expected, clock = [], [], 0
    for t, o, a, s, d in rs:
        order.setdefault(d, len(order))
        moment = (t - 5 * 10**9) // 10**6
        if moment > clock:  # a log cannot go back in time
            body.append(f"/dev/sd{'abcd'[d]} wait {moment} 0\n")
            clock = moment
        body.append(f"/dev/sd{'abcd'[d]} {verbs[o]} {a} {s}\n")
        expected.append((clock * 10**6, o, a, s, order[d]))
    first = "/dev/sdd add\n/dev/sdd open\n"
    save(
        "fio2",
        "fio version 2 iolog\n" + first + "".join(body) + "/dev/sdd sync 0 0\n/dev/sdd close\n",
        expected,
    )

    save(
        "fio3",
        "fio version 3 iolog\n1 /dev/sdd add\n2 /dev/sdd open\n"
        + "".join(f"{t // 1000} /dev/sd{'abcd'[d]} {verbs[o]} {a} {s}\n" for t, o, a, s, d in rs)
        + "7000001 /dev/sdd datasync 0 0\n7000002 /dev/sdd close\n",
        [(t, o, a, s, order[d]) for t, o, a, s, d in rs],
    )

    rs = fit(step=1000, device=0)
    code = {"R": "28", "W": "2a"}
    lines = [f"1,{t // 1000},{code[o]},{s},{a // 512}\n" for t, o, a, s, _ in rs]
    lines.insert(3, "1,5000500,00,0,0\n")  # TEST UNIT READY moves nothing
    save("cloudphysics", "".join(lines), rs)
    named = "".join(f"{a // 512},{code[o]},x,{s},{t // 1000}\n" for t, o, a, s, _ in rs)
    (Path("corpus") / "cloudphysics" / "named").write_text("lbn,cmd,vm,len,time\n" + named)

    # Only whole pages: a reader could take requests of other sizes for FlashSim's.
    rs = fit(step=1000, unit=4096)
    save(
        "disksim",
        "".join(
            f"{milliseconds(t, 3)} {d} {a // 512} {s // 512} {'1' if o == 'R' else '0'}\n"
            for t, o, a, s, d in rs
        ),
        rs,
    )

    rs = fit()
    save(
        "ssdsim",
        "".join(
            f"{t} {d} {a // 512} {s // 512} {'1' if o == 'R' else '0'}\n" for t, o, a, s, d in rs
        ),
        rs,
    )
    hashed = "".join(
        f"{t} {d} {a // 512} {s // 512} {int(o == 'R')} {zlib.crc32(str(a).encode()):032x}\n"
        for t, o, a, s, d in rs
    )
    (Path("corpus") / "ssdsim" / "hashes").write_text(hashed)

    # The last request begins where another one ends, so sizes are pages, not DiskSim's sectors.
    rs = [r for r in fit() if r[3] % 4096 == 0] + [(7_000_100_000, "W", 1_064_960, 4096, 3)]
    save(
        "flashsim",
        "".join(
            f"{milliseconds(t, 6)}\t{d}\t{a // 512}\t{s // 4096}\t{'1' if o == 'R' else '0'}\n"
            for t, o, a, s, d in rs
        ),
        rs,
    )

    rs = fit(step=1000)
    save(
        "diskmon",
        "".join(
            f"{i}\t{seconds(t, 6)}\t0.00019073\t{d}\t{WORD[o]}\t{a // 512}\t{s // 512}\t\r\n"
            for i, (t, o, a, s, d) in enumerate(rs)
        ),
        rs,
    )

    rs = fit(step=1000, unit=4096, device=0)
    save(
        "rmem",
        "".join(
            f"{i} {'-' if o == 'R' else ''}{t // 1000} {a // 4096} {s // 4096} 4096\n"
            for i, (t, o, a, s, _) in enumerate(rs)
        ),
        rs,
    )

    rs = fit(device=0)
    save(
        "biotracer",
        "".join(
            f"{a // 512}\t\t{s // 512}\t\t{s}\t\t{(o == 'W') + 4 * (i % 2)}\t\t{seconds(t)}\t\t"
            f"{seconds(t + 1000)}\t\t{seconds(t + 2000)}\t\t{seconds(t + 90000)}\n"
            for i, (t, o, a, s, _) in enumerate(rs)
        ),
        rs,
    )

    verbs = {"R": "read", "W": "write", "D": "discard"}
    rs = fit(discards=True, unit=1, device=0)
    rs.append((8_000_000_000, "R", -8192, 4096, 0))
    rs.append((95_000, "W", 0, 4096, 0))
    lines = [
        f"909 D {verbs[o]} {a} {s} {seconds(t)} 0.000012 {i % 2 == 0}\n"
        for i, (t, o, a, s, _) in enumerate(rs)
    ]
    lines[-1] = "909 D write 0 4096 9.5e-05 0 False\n"
    lines.insert(1, "909 C write 1048576 4096 5.000000500 0.0 True\n")
    save("wiscsee", "".join(lines), rs)

    rs = REQUESTS + [(2**64 - 1, "R", -512, 512, 2**32 - 1)]
    save("csv", "time_us,op,offset_bytes,size_bytes,dev\n" + "".join(row(*r) for r in rs), rs)


def vscsi():
    rs = fit(step=1000, device=0)
    code = {"R": 0x28, "W": 0x8A}
    first = [
        struct.pack("<IIIHHQQ", 7 + i, s, 1, code[o], 0x0100, a // 512, t // 1000)
        for i, (t, o, a, s, _) in enumerate(rs)
    ]
    first.insert(2, struct.pack("<IIIHHQQ", 99, 0, 0, 0x00, 0x0100, 0, 5_000_000))
    save("vscsi1", b"".join(first), rs)
    second = [
        struct.pack("<HHIIIQQQ", code[o], 0x0200, 7 + i, s, 1, a // 512, t // 1000, 40)
        for i, (t, o, a, s, _) in enumerate(rs)
    ]
    second.insert(2, struct.pack("<HHIIIQQQ", 0x00, 0x0200, 99, 0, 0, 0, 5_000_000, 1))
    save("vscsi2", b"".join(second), rs)


def blktrace():
    """Records of struct blk_io_trace, version 7 (blktrace_api.h), in both byte orders."""
    rs = fit(discards=True)
    queue, issue, complete = 1 | 1 << 20, 7 | 1 << 22, 8 | 1 << 23
    kind = {"R": 1 << 16, "W": 1 << 17 | 1 << 19, "D": 1 << 17 | 1 << 29}

    def record(order, t, sector, size, action, device, cpu, data=b""):
        fields = (0x65617407, 1, t, sector, size, action, 99, device, cpu, 0, len(data))
        return struct.pack(order + "IIQQIIIIIHH", *fields) + data

    def trace(order):
        out = record(order, 0, 0, 0, 1 << 26, 0, 0, struct.pack(order + "II", 5, 7))  # a time
        for i, (t, o, a, s, d) in enumerate(rs):
            for action in (queue, issue, complete):
                # The data behind every other event is the number of its control group.
                data, group = (struct.pack(order + "Q", 1), 1 << 8) if i % 2 else (b"", 0)
                told = action | group | kind[o]
                out += record(order, t, a // 512, s, told, 8 << 20 | d, i % 2, data)
        out += record(order, 1, 0, 0, issue | kind["W"], 8 << 20, 0)  # a flush
        return out + record(order, 1, 0, 36, issue | kind["R"] | 1 << 25, 8 << 20, 0)  # SCSI

    save("blktrace", trace("<"), [(t, o, a, s, 8 << 20 | d) for t, o, a, s, d in rs])
    (Path("corpus") / "blktrace" / "big_endian").write_bytes(trace(">"))


def srt():
    """Records as in DiskSim's disksim_hptrace.h: versions 1 and 4, with a suspect I/O."""
    rs = fit(step=1000, largest=512 * (2**32 - 1))
    header = b'tracefile\t= "example";\ntracedate\t= "Sat Apr 18 00:00:00 1992";\n\x0c'
    out = b""
    for i, (t, o, a, s, d) in enumerate(rs):
        for kind in (4, 1) if i == 2 else (1,):
            version = 4 if i % 2 else 1
            tail = b"\0\0\0\2" * (version == 4) + b"\0\0\0\1" * (kind == 4)
            fields = (52 + len(tail), version << 16 | kind, t // 10**9, t // 1000 % 10**6, 3, 90)
            # Flags: asynchronous, and from a file system. The partition is 7.
            flags = 0x80100 | (o == "R")
            out += struct.pack(">13I", *fields, s, a // 512, d << 8 | 7, 2, 41, flags, 5) + tail
    save("srt", header + out, rs)
    (Path("corpus") / "srt" / "no_header").write_bytes(out)


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def flashgc_block(requests, index, hosts):
    """A block in the layout of docs/trace-formats.md."""
    payload = b""
    time, end, size, dev = requests[0][0], 0, 0, 0
    for number, (t, o, a, s, d) in enumerate(requests):
        if hosts and number % 2:
            payload += bytes([3, 3 + number, 1])  # queue NUMBER of host 1
        delta, gap = a - end, abs(t - time)
        sectors = delta % 512 == 0 and s % 512 == 0
        unit = 512 if sectors else 1
        tag = "WRD".index(o) | (d != dev) << 2 | sectors << 3 | (delta == 0) << 4
        tag |= (s == size) << 5 | (gap % 1000 == 0) << 6 | (t < time) << 7
        payload += bytes([tag]) + varint(gap // 1000 if gap % 1000 == 0 else gap)
        payload += varint(d) if d != dev else b""
        scaled = delta // unit
        payload += varint(scaled * 2 if scaled >= 0 else -scaled * 2 - 1) if delta else b""
        payload += varint(s // unit) if s != size else b""
        time, end, size, dev = t, a + s, s, d
    head = b"BLK\0" + struct.pack("<IIQQ", len(payload), len(requests), index, requests[0][0])
    return head + struct.pack("<I", zlib.crc32(head + payload)) + payload


def flashgc(file, version, flags):
    rs = REQUESTS + [(2**63, "R", -4096, 4096, 2**32 - 1)]
    out = b"\x89FGC\r\n\x1a\n" + struct.pack("<HHI12x", version, flags, 4096)
    out += struct.pack("<I", zlib.crc32(out))
    entries = b""
    for index in range(0, len(rs), 4):  # short blocks: a reader must take any length
        entries += struct.pack("<QQQ", len(out), index, rs[index][0])
        out += flashgc_block(rs[index : index + 4], index, flags == 4)
    blocks = len(entries) // 24
    table = b"IDX\0" + struct.pack("<IQ", 0, blocks) + entries
    trailer = struct.pack("<QQQI", len(out), len(rs), blocks, zlib.crc32(table))
    trailer += struct.pack("<I", zlib.crc32(trailer)) + b"FGC-END\n"
    save("flashgc", out + table + trailer, rs, file)


# Operation, address, size: a fetch, a load across the end of a 2-KiB page, a store, a modify.
ACCESSES = [
    ("I", 0x401000, 3),
    ("L", 0x1FFEFFFFFC, 8),
    ("S", 0x1FFF0007F8, 8),
    ("M", 0x520A040, 4),
    ("I", 0x401003, 15),
    ("S", 0xFFFFFFFFFF600, 64),
]


def lackey():
    text = "==4711== Lackey, an example Valgrind tool\n==4711== \n"
    for kind, address, size in ACCESSES:
        text += f"{'I ' if kind == 'I' else ' ' + kind} {address:08x},{size}\n"
    text += "--4711-- WARNING: unhandled syscall\n==4711== Exit code:       0\n"
    write = {"I": "R", "L": "R", "S": "W", "M": "W"}
    save("lackey", text, [(0, write[kind], a, s, 0) for kind, a, s in ACCESSES])


def pg_waldump():
    """Records as PostgreSQL 15 prints them: of no, one and several blocks, and of commits."""
    head = "rmgr: {:<11} len (rec/tot):     54/  7134, tx:        735, lsn: 0/02DCD148, prev "
    head += "0/02DCD020, desc: {}"
    # Blocks, or the end of a transaction with its time in us after the first end. The third end is
    # 5 us before the second, which is possible for concurrent commits.
    records = [
        [("1663/5/16396", 1336, " FPW")],
        ("COMMIT 2022-12-01 23:59:59.999990 UTC", 0),
        [("1663/5/16396", 3278, ""), ("1663/5/16396", 1336, "")],
        [],
        ("ABORT 2022-12-02 00:00:00.000015 UTC", 25),
        ("COMMIT 2022-12-02 00:00:00.000010 UTC; inval msgs: catcache 21", 25),
        [
            ("1663/5/16404", 224, ""),
            ("1663/5/16396 fork fsm", 2, ""),
            ("1663/5/16404", 2**32 - 1, ""),
        ],
        ("COMMIT_PREPARED 735: 2022-12-02 00:01:00 UTC", 60_000_010),
        [("1663/5/16396 fork fsm", 0, " FPW; hole: offset: 0, length: 1")],
    ]
    text, rows, files, now = "", [], {}, 0
    for record in records:
        if isinstance(record, tuple):
            text += head.format("Transaction", record[0]) + "\n"
            now = record[1] * 1000
            continue
        text += head.format("Heap", "UPDATE off 47 ; new off 43 xmax 0")
        for number, (name, block, rest) in enumerate(record):
            text += f", blkref #{number}: rel {name} blk {block}{rest}"
            rows.append((now, "W", block * 8192, 8192, files.setdefault(name, len(files))))
        text += "\n"
    save("pg-waldump", text, rows)


def pages():
    size, references = 2048, [(2050, 0), (2050, 1), (33554431, 0), (10500, 1), (2**52 - 2, 1)]
    sealed = lambda head, rest=b"": head + struct.pack("<I", zlib.crc32(head + rest)) + rest
    out = sealed(b"\x89FGP\r\n\x1a\n" + struct.pack("<HHII8x", 1, 0, size, 64))
    for first in (0, 3):  # short blocks: a reader must take any length
        payload, previous = b"", 0
        block = references[first : first + 3]
        for page, write in block:
            delta = page - previous
            payload += varint((delta * 2 if delta >= 0 else -delta * 2 - 1) * 2 + write)
            previous = page
        out += sealed(b"BLK\0" + struct.pack("<II16x", len(payload), len(block)), payload)
    out += sealed(b"END\0" + struct.pack("<4xQQ4x", len(references), 1234))
    save("pages", out, [(0, "RW"[write], page * size, size, 0) for page, write in references])


def packed():
    """Writes a small trace in compressed forms, for the target that fuzzes decompression."""
    folder = Path("corpus") / "packed"
    folder.mkdir(parents=True, exist_ok=True)
    plain = (Path("corpus") / "msr" / "example").read_bytes()
    half = plain.index(b"\n", len(plain) // 2) + 1
    gz = lambda data: gzip.compress(data, mtime=0)
    (folder / "gzip").write_bytes(gz(plain[:half]) + gz(plain[half:]))
    (folder / "bzip2").write_bytes(bz2.compress(plain[:half]) + bz2.compress(plain[half:]))
    (folder / "xz").write_bytes(lzma.compress(plain[:half]) + lzma.compress(plain[half:]))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in (("traces/a", plain[:half]), ("traces/é", plain[half:])):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    (folder / "tar").write_bytes(archive.getvalue())
    (folder / "tar_bzip2_gzip").write_bytes(gz(bz2.compress(archive.getvalue())))


if __name__ == "__main__":
    text_formats()
    vscsi()
    blktrace()
    srt()
    flashgc("example", 1, 0)
    flashgc("hosts", 7, 4)
    lackey()
    pg_waldump()
    pages()
    packed()
