"""At which point a model was worked out: its parameters, defaults written out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelConfig:
    """The parameters that made a difference; ``None`` for those that made none."""

    #: Pages a block (b).
    pages_per_block: int
    #: 1 - U / (N b).
    spare_factor: float
    #: (N b - U) / U.
    overprovision: float
    #: The spec of the workload.
    workload: str | None = None
    #: The write frontier: ``single`` or ``double``.
    frontier: str | None = None
    #: Blocks drawn for each collection.
    d: int | None = None
    #: Blocks kept in memory between collections.
    c: int | None = None
    #: The window of blocks, as a share of all blocks.
    window: float | None = None
    #: The choice of greedy among blocks with the fewest valid pages: ``latest`` or ``random``.
    ties: str | None = None
    #: The cleaning of the pools of a separation.
    cleaner: str | None = None
    #: Physical blocks (N), where the workload depends on them.
    blocks: int | None = None

    def given(self) -> dict[str, int | float | str]:
        """The parameters that made a difference, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}
