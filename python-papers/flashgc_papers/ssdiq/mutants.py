"""Functions for the wrong engines for SSD-iq's simulator, which ``mutants.toml`` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change


def _given(**values: Any) -> Change:
    """Sets those options and model parameters that are present, except for the measured drives."""

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if "device" in options:
            return None
        return {**options, **{key: value for key, value in values.items() if key in options}}

    return change


uniform = _given(workload="uniform")
#: If the spare pages are 1/8 of the logical pages, they are 1/9 of the drive.
overprovision = _given(spare=1 / 9)
small_blocks = _given(pages_per_block=256, blocks=8 * 2048)


def no_buffer(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Removes the write buffer from the simulations that have one."""
    without = {key: value for key, value in options.items() if key != "host_cache"}
    return without if without != options else None
