"""The options of ``flashgc run`` that repeat on a simulated drive the work of a stored drive."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

#: Options of a replay that have these values by default.
USUAL = (
    ("numbering", "given"),
    ("runs", 1),
    ("placement", "none"),
    ("allocation", "fifo"),
    ("seed", 1),
)


def past_of(drive: dict[str, Any]) -> tuple[int, int, int]:
    """Pages written, pages copied and blocks erased in the past of a drive; zeros if unknown."""
    past = drive.get("past", {})
    if "pages" not in past:
        return 0, 0, 0
    return past["pages"] + past["overwritten"], past["copied"], past["erases"]


def pages_with_parity(drive: dict[str, Any]) -> int:
    """Pages of a superblock, those of its parity included."""
    pages: int = drive["pages_per_block"]
    if drive.get("parity") is None:
        return pages
    stripe: int = drive["parity"][1]
    return pages * stripe // (stripe - 1)


def options_of(drive: dict[str, Any], written: int | None = None) -> dict[str, Any]:
    """The options of ``run`` that replay a recording of this drive, with its policies.

    The measurement covers the whole recording, or all but the drive's past, if the past is known
    and ``written``, the pages written since the drive was made, is given.
    """
    before, _, _ = past_of(drive)
    if before and written is not None:
        length = {"warmup": str(before), "writes": written - before}
    else:
        length = {"warmup": "0", "passes": 1}
    physical = drive["blocks"] * drive["pages_per_block"]
    together = drive.get("blocks_together", 1)
    superblock = {"superblock": f"dies={together},planes=1"} if together > 1 else {}
    if drive.get("parity") is not None:
        dies, stripe, planes = drive["parity"]
        superblock = {"superblock": f"dies={dies},planes={planes}", "parity": f"1/{stripe}"}
    policies = {key: value for key, value in drive["policies"].items() if value is not None}
    if drive.get("streams_file") is not None:
        policies["streams"] = drive["streams_file"]
    return {
        **policies,
        **superblock,
        "blocks": drive["blocks"] * together,
        "pages_per_block": pages_with_parity(drive) // together,
        "spare": 1 - drive["logical_pages"] / physical,
        "fill": "empty",
        "numbering": "given",
        **length,
        "runs": 1,
    }


def question_of(trace: Path, drive: dict[str, Any], device: str = "tlc") -> tuple[str, str]:
    """A command that tells if suspension would speed up a recorded host, and its drive's scaling.

    The command's drive has the flash of a preset, scaled to the recorded drive. The second text
    says how. The kinds of preemption are compared on the same requests, which wait for answers as
    in the recording.
    """
    from flashgc.presets import scaled

    small = scaled(device, drive["physical_bytes"], drive["capacity_bytes"])
    changed = [(kind, number) for kind, number in small.parts.items() if number < small.whole[kind]]
    options: list[tuple[str, object]] = [
        ("workload", trace),
        ("device", device),
        *changed,
        ("blocks", small.blocks),
        ("pages-per-block", small.pages_per_block),
        ("spare", f"{1 - drive['capacity_bytes'] / small.bytes:.8f}"),
        ("fill", "empty"),
        ("warmup", 0),
        ("passes", 1),
        ("arrivals", "dependent"),
        ("victim", drive["policies"]["victim"]),
        ("placement", drive["policies"]["placement"]),
        # Pacing needs preemption, so it would prevent the comparison.
        ("write-pacing", "no"),
        *(("preemption", word) for word in ("none", "pgc", "suspend")),
    ]
    flags = " ".join(
        f"--{key} {shlex.quote(str(value))}" for key, value in options if (key, value) not in USUAL
    )
    return f"flashgc compare --drive timed {flags}", small.how


def command_of(trace: Path, drive: dict[str, Any], written: int) -> str:
    """Return the command that replays a recording of this drive with its own policy.

    ``written`` is the number of pages that the host has written since the drive was made.
    """
    options = options_of(drive, written)
    flags = " ".join(
        f"--{key.replace('_', '-')} {shlex.quote(str(value))}"
        for key, value in options.items()
        # Default values are omitted.
        if (key, value) not in USUAL
    )
    return f"flashgc run --workload {shlex.quote(str(trace))} {flags}"
