"""Every configuration that is recorded."""

from __future__ import annotations

from decisions import counting, hosts, mappings, python_policies, timing
from decisions.building import Configuration

#: Equal to the digit from one version to the next.
UNCHANGED: tuple[Configuration, ...] = (
    *counting.configurations(),
    *mappings.configurations(),
    *hosts.configurations(),
    *python_policies.configurations(),
    *timing.configurations(),
)

#: Wrong when they were first recorded. They are changed on purpose by what mends them: see
#: CHANGELOG. Their new values are recorded by their names, which the change lists one by one.
#:
#: - DFTL with a placement: a copy that the placement scatters does not touch the map on flash, so
#:   most of the map's traffic is missing.
#: - Policies written in Python beside hints: what a host hints never reaches the placement.
CHANGED: tuple[Configuration, ...] = (
    *mappings.dftl_with_a_placement(),
    *hosts.python_policies_with_hints(),
)

ALL: tuple[Configuration, ...] = (*UNCHANGED, *CHANGED)
