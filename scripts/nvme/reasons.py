"""Why answers of the drive differ from those of nvmet: question and field, and the reason.

The keys are patterns; ``*`` stands for any text. A pattern that no difference has is an error.
"""

from __future__ import annotations

OWN = "each has its own names, sizes and ports"
ABSENT = "nvmet does not have it"
OPTIONAL = "optional, and nvmet has it"
VERSION = "nvmet has version 1.3, the drive 2.0"
ANA = "the drive has one port, and so no asymmetric access (ANA)"
LIMIT = "a limit of the drive, which it states"
BOUNDED = "nvmet leaves the end to the block device below, and has no status of its own for it"
COUNTS = "a count of what was asked before"

#: Reasons whose differences are not shown.
UNSHOWN = (OWN, COUNTS)

REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("id-ctrl: sn", "id-ctrl: mn", "id-ctrl: fr", "id-ctrl: subnqn", "id-ns: nsze",
         "id-ns: ncap", "ns-descs: *.uuid", "id-ns: nuse", "id-ns: nguid",
         "ns-descs: *.nguid.nguid", "discover: *.trsvcid", "discover: *.subnqn",
         "discover: genctr"),
        OWN,
    ),
    **dict.fromkeys(
        ("id-ctrl: tnvmcap", "id-ns: nvmcap"),
        "the drive knows its capacity and what is used, nvmet only the size",
    ),
    **dict.fromkeys(
        ("ns-descs: *.nguid.nid?",),
        "the drive's NGUID is its UUID; nvmet has one if somebody gives it",
    ),
    **dict.fromkeys(
        ("id-ctrl: ver", "status: property VS", "status: property CRTO", "cmdset-ind-id-ns: *",
         "nvm-id-ns: *", "id-iocs: *", "status: reserved log 0",
         "status: identify of zoned controller"),
        VERSION,
    ),
    **dict.fromkeys(
        ("id-ctrl: cmic", "id-ctrl: ana*", "id-ctrl: nanagrpid", "id-ns: anagrpid",
         "status: ANA log"),
        ANA,
    ),
    **dict.fromkeys(
        ("id-ctrl: endgidmax", "id-ns: endgid", "endurance-log: *", "id-ctrl: ctratt"),
        "the drive has an endurance group",
    ),
    **dict.fromkeys(
        ("id-ctrl: oaes", "status: get feature 0bh", "status: set feature 0bh, all events",
         "status: changed namespaces log"),
        "namespaces of nvmet may change, and it has events and a log for that",
    ),
    "id-ctrl: rab": "the drive does not recommend a burst of arbitration",
    "id-ctrl: lpa": "nvmet has a SMART log for each namespace, the drive one for all",
    "id-ctrl: elpe": "nvmet keeps 128 errors, the drive 16",
    "id-ctrl: oncs": "the drive has Compare, Verify, Copy, Timestamp and Select in features, too",
    **dict.fromkeys(
        ("id-ctrl: ocfs", "id-ns: mssrl", "id-ns: mcl", "id-ns: msrc", "status: copy"), ABSENT
    ),
    "id-ctrl: vwc": "the drive says what a flush of all namespaces does",
    "id-ctrl: nwpc": OPTIONAL,
    "status: ?et feature 84h*": "write protection is optional, and nvmet has it",
    "id-ctrl: ofcs": "the drive ends a queue by Disconnect, nvmet only by the connection",
    "id-ctrl: psds.*": "the drive states no power and no latency of its one power state",
    **dict.fromkeys(("id-ctrl: nn", "id-ctrl: mnan"), "the drive has one namespace"),
    **dict.fromkeys(
        ("id-ctrl: mdts", "id-ctrl: maxcmd", "nvm-id-ctrl: vsl", "nvm-id-ctrl: wzsl",
         "nvm-id-ctrl: dmrl", "kernel: max_hw_sectors_kb", "kernel: max_segments",
         "kernel: write_zeroes_max_bytes", "status: write zeroes of 65536 blocks",
         "status: get feature 07h", "status: set feature 07h to 4 and 4", "status: property CAP"),
        LIMIT,
    ),
    "id-ns: dlfeat": "the drive promises that discarded blocks read as zeros",
    "list-ctrl: *": ABSENT,
    "smart-log: avail_spare": "the drive has spare blocks",
    "smart-log: spare_thresh": "the drive has spare blocks",
    **dict.fromkeys(
        ("smart-log: host_read_commands", "smart-log: power_cycles",
         "smart-log: num_err_log_entries", "error-log: *.error_count", "error-log: *.cmdid"),
        COUNTS,
    ),
    "error-log: *.parm_error_location": "the drive does not say which field is wrong",
    "error-log: *.trtype": "the drive says on which transport the error was",
    "effects-log: io 0[189]h": "the drive says which commands change data",
    **dict.fromkeys(("effects-log: io 0[5c]h", "effects-log: io 19h"), ABSENT),
    "fw-log: *": "the firmware log of nvmet is empty",
    "status: set feature 81h": "both refuse it; nvmet looks at the length of its data first",
    "discover: records.current discovery subsystem": "nvmet names its discovery subsystem, too",
    **dict.fromkeys(
        ("status: read of the last block's successor", "status: read across the end",
         "status: * far beyond the end", "status: dataset management beyond the end"),
        BOUNDED,
    ),
    **dict.fromkeys(
        ("status: write with streams", "status: write with an unknown directive type"),
        "a directive that the drive does not have is an invalid field; nvmet does not look at it",
    ),
    **dict.fromkeys(("status: compare of *", "status: verify"), ABSENT),
    "status: identify namespace 0": "0 names no namespace; nvmet answers with zeros",
    "status: identify namespace 5": "above the drive's number of namespaces, below that of nvmet",
    "status: identify namespaces from ffffffff": "2.0 refuses the last two numbers",
    "status: identify allocated namespaces": ABSENT,
    **dict.fromkeys(
        ("status: unknown log", "status: self-test log", "status: telemetry log",
         "status: reservation log", "status: sanitize log", "status: discovery log of the drive"),
        "both refuse it; Invalid Log Page is the more exact status",
    ),
    **dict.fromkeys(
        ("status: log beyond its end", "status: log from an odd place"),
        "both refuse it; nvmet looks at the namespace first",
    ),
    **dict.fromkeys(
        ("status: get feature 0[1245a]h", "status: get feature 0eh",
         "status: get feature 81h, the short one"),
        ABSENT,
    ),
    "status: get feature 01h, select 3": ABSENT,
    "status: get feature *, select *": "nvmet does not look at Select",
    "status: set feature 06h to 1": "the cache of nvmet cannot be changed",
    "status: set feature 06h, saved": "both refuse it; the drive says why",
    "status: set feature 0fh": "the specification gives the result no meaning",
}  # fmt: skip
