"""Every configuration that is recorded."""

from __future__ import annotations

from decisions import counting, hosts, mappings, python_policies, timing, units
from decisions.building import Configuration

#: Configurations whose results are equal to the digit from one version to the next.
UNCHANGED: tuple[Configuration, ...] = (
    *counting.configurations(),
    *mappings.configurations(),
    *hosts.configurations(),
    *python_policies.configurations(),
    *timing.configurations(),
    *units.configurations(),
)

#: Configurations whose results were wrong in the first record, and recorded again once corrected:
#:
#: - DFTL with a placement: copies in several classes did not update the map on flash, so most of
#:   the map's traffic was missing.
#: - Policies written in Python with hints: the host's hints never reached the placement.
CHANGED: tuple[Configuration, ...] = (
    *mappings.dftl_with_a_placement(),
    *hosts.python_policies_with_hints(),
)

ALL: tuple[Configuration, ...] = (*UNCHANGED, *CHANGED)
