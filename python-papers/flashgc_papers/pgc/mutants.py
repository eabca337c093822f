"""Functions for the wrong engines for Lee et al.'s claims, which ``mutants.toml`` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def over_the_bus(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Copies go over the bus. The examples have no bus, so they get the drive's transfer time."""
    if "device" in options:
        return {**options, "copy_back": "no"}
    return {**options, "times": f"{options['times']},transfer=102.4us"}


def reads_alone(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Preemptive drives with the hard threshold at the mark where collections start."""
    if options.get("preemption", "none") == "none":
        return None
    return {**options, "gc_hard": "5%" if "device" in options else options["gc_low"]}
