"""Functions for the wrong engines for ZLeanStore's simulator, which ``mutants.toml`` names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flashgc_papers.zlean.experiment import SPARE, UNITS

Options = Mapping[str, Any]


def overprovision(options: Options) -> Options | None:
    """Makes an eighth of the simulator's flash spare, by more units of the same logical space."""
    if options["blocks"] != UNITS:
        return None
    logical = UNITS * (1 - SPARE)
    units = round(logical / (1 - 1 / 8))
    return {**options, "blocks": units, "spare": 1 - logical / units}


def no_buffer(options: Options) -> Options | None:
    """Gives the doublewrite buffer's writes to the database."""
    workload = re.sub(r"0\.5\*sequential:[^ ]* \+ 0\.5\*", "", options["workload"])
    return {**options, "workload": workload} if workload != options["workload"] else None


def uniform(options: Options) -> Options:
    """Removes Zipf's law, and keeps the addresses."""
    return {**options, "workload": re.sub(r"zipf:theta=[^,+ ]*,?", "uniform:", options["workload"])}
