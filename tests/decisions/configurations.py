"""Every configuration that is recorded."""

from __future__ import annotations

from decisions import counting, hosts, mappings, python_policies, timing, units
from decisions.building import Configuration

#: Equal to the digit from one version to the next.
UNCHANGED: tuple[Configuration, ...] = (
    *counting.configurations(),
    *mappings.configurations(),
    *hosts.configurations(),
    *python_policies.configurations(),
    *timing.configurations(),
    *units.configurations(),
)

#: Wrong when the others were recorded, and recorded anew when they were mended:
#:
#: - DFTL with a placement: a copy that the placement scattered did not touch the map on flash, so
#:   most of the map's traffic was missing.
#: - Policies written in Python beside hints: what a host hinted never reached the placement.
CHANGED: tuple[Configuration, ...] = (
    *mappings.dftl_with_a_placement(),
    *hosts.python_policies_with_hints(),
)

ALL: tuple[Configuration, ...] = (*UNCHANGED, *CHANGED)
