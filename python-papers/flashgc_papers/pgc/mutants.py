"""Wrong engines for Lee et al.'s claims: what ``mutants.toml`` names of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def over_the_bus(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The examples have no bus: there each transfer of a page takes as long as on the drive."""
    if "device" in options:
        return {**options, "copy_back": "no"}
    return {**options, "times": f"{options['times']},transfer=102.4us"}


def reads_alone(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The drives that let requests in, with the hard threshold where collections start."""
    if options.get("preemption", "none") == "none":
        return None
    return {**options, "gc_hard": "5%" if "device" in options else options["gc_low"]}
