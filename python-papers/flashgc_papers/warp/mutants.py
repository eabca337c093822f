"""Functions for the wrong engines for WARP's drives, which ``mutants.toml`` names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flashgc_papers.claims import claims
from flashgc_papers.warp.experiment import DIES

Options = Mapping[str, Any]


def reserve(options: Options) -> Options:
    """Keeps a twentieth of the units erased."""
    return {**options, "frontier": f"pool:low={_units(options) // 20}"}


def no_idle_handles(options: Options) -> Options:
    """Keeps the emulator's reserve alone, in the sense of :func:`experiment.low_water`."""
    for_copies = _persistent(options) or 1
    return {**options, "frontier": f"pool:low={_facts(options)['free_units'] - for_copies + 1}"}


def one_handle(options: Options) -> Options | None:
    """Removes the handles."""
    without = {key: value for key, value in options.items() if key != "placement"}
    return without if without != options else None


def rounded(options: Options) -> Options:
    """Makes the spare space a whole number of percents of the logical space."""
    percent = round(options["spare"] / (1 - options["spare"]), 2)
    return {**options, "spare": percent / (1 + percent)}


def other_isolation(options: Options) -> Options | None:
    """Exchanges the types of isolation."""
    if "placement" not in options:
        return None
    handles = re.sub(r",persistent=\d+", "", options["placement"])
    if _persistent(options):
        return {**options, "placement": f"{handles},persistent=0"}
    return {**options, "placement": f"{handles},persistent={handles.rpartition('=')[2]}"}


def _units(options: Options) -> int:
    return int(options["blocks"]) // DIES


def _persistent(options: Options) -> int:
    """Persistently isolated handles."""
    return int(str(options.get("placement", "persistent=0")).rpartition("=")[2])


def _facts(options: Options) -> Mapping[str, Any]:
    """The facts of the drive with these units."""
    (drive,) = (
        claim.facts
        for claim in claims().select(("warp",))
        if claim.facts.get("units") == _units(options)
    )
    return drive
