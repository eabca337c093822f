"""Wrong engines for SSD-iq's simulator, and for the drives that it measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, Mutant, swap
from flashgc_papers.ssdiq.drives import DEVICES
from flashgc_papers.ssdiq.experiment import FRONTIERS, TWO_R_FIFO, TWO_R_GREEDY


def _given(**values: Any) -> Change:
    """Sets options, and parameters of the model, that are given; not of the measured drives."""

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if "device" in options:
            return None
        return {**options, **{key: value for key, value in values.items() if key in options}}

    return change


def _drives(**values: Any) -> Change:
    """Sets options of the measured drives, above their presets."""

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return {**options, **values} if "device" in options else None

    return change


def _no_buffer(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    without = {key: value for key, value in options.items() if key != "host_cache"}
    return without if without != options else None


_uniform = _given(workload="uniform")
#: 1/8 of the logical pages beyond them is 1/9 of the drive.
_overprovision = _given(spare=1 / 9)
_small = _given(pages_per_block=256, blocks=8 * 2048)

MAX, PRO = DEVICES.values()

MUTANTS = (
    Mutant(
        "random victims",
        "a victim is any block",
        swap("victim", dict.fromkeys(FRONTIERS, "random")),
    ),
    Mutant(
        "FIFO victims",
        "a victim is the oldest block",
        swap("victim", dict.fromkeys(FRONTIERS, "fifo")),
    ),
    Mutant(
        "ten choices",
        "a victim is the best of ten blocks",
        swap("victim", dict.fromkeys(FRONTIERS, "d-choices:d=10")),
    ),
    Mutant(
        "two frontiers for one",
        "copies go to a block of their own",
        swap("frontier", {"single": "double"}),
    ),
    Mutant(
        "copies in blocks of their own only",
        "the host writes nothing into the block that the copies do not fill",
        swap("frontier", {"compact": "double"}),
    ),
    Mutant(
        "one region",
        "2R takes the block with the fewest valid pages, wherever it is",
        swap("victim", dict.fromkeys((TWO_R_GREEDY, TWO_R_FIFO), "greedy:ties=lowest")),
    ),
    Mutant(
        "erased blocks in reserve",
        "collections start at two erased blocks, and copies go to a block of their own",
        swap("frontier", {"single": "pool:low=2", "compact": "pool:low=2"}),
    ),
    Mutant("no skew", "all pages are written equally often", _uniform, _uniform),
    Mutant(
        "over-provisioning for spare factor",
        "the spare space is a share of the logical pages",
        _overprovision,
        _overprovision,
    ),
    Mutant("small blocks", "blocks have 256 pages", _small, _small),
    Mutant("no write buffer", "every write reaches the drive", _no_buffer),
    Mutant(
        "drives without write pacing",
        "writes to a drive go before collections as long as blocks are erased",
        _drives(write_pacing="no"),
    ),
    Mutant(
        "drives with overwrites at once",
        "a write does not wait for an earlier write of its page",
        _drives(serial_overwrites="no"),
    ),
    Mutant("drives with random victims", "a victim is any block", _drives(victim="random")),
    Mutant(
        "drives with the best victims",
        "a victim is the block with the fewest valid pages",
        _drives(victim="greedy"),
    ),
    Mutant(
        "the other drive",
        "the spare space of MAX and PRO is exchanged",
        swap("device", {MAX: PRO, PRO: MAX}),
    ),
)
