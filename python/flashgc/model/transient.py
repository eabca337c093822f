"""The course of a drive from its first write to the steady state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._documents import Document, Json
from flashgc._summaries import Column, Shown, figure
from flashgc.model.answers import evaluate, find
from flashgc.model.parameters import ModelConfig, Parameters, scalars


@dataclass(frozen=True, repr=False)
class Transient(Document):
    """Write amplification over time, by the mean field of d choices."""

    #: The initial contents of the drive: ``"random"`` or ``"sequential"``.
    initial: str
    #: Host writes divided by the number of logical pages, from 0 on.
    drive_writes: tuple[float, ...]
    #: Pages programmed per host write at these moments.
    write_amplification: tuple[float, ...]
    #: Pages programmed per host write from the start to these moments.
    mean_write_amplification: tuple[float, ...]
    #: Write amplification of the steady state.
    steady: float
    #: The parameters, including defaults.
    config: ModelConfig
    #: The version of flashgc.
    version: str

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        return {
            "model": "meanfield",
            **{name: getattr(self, name) for name in self.__annotations__},
            "config": dict(sorted(self.config.given().items())),
        }

    def _shown(self) -> Shown:
        headings = ("drive writes", "write amplification", "mean until then")
        line = f"{self.initial}: write amplification {figure(self.write_amplification[0])} at first"
        moments = zip(
            self.drive_writes, self.write_amplification, self.mean_write_amplification, strict=True
        )
        return Shown(
            f"{line}, {figure(self.steady)} in the steady state",
            [[f"{at:g}", figure(now), figure(mean)] for at, now, mean in moments],
            [Column(heading, is_figure=True) for heading in headings],
        )


def transient(
    initial: str = "random",
    *,
    drive_writes: float = 10.0,
    points: int = 200,
    **parameters: Unpack[Parameters],
) -> Transient:
    """The course of d choices with memory under uniform writes, at ``points`` + 1 equal steps.

    ``initial`` is the state of the drive at the start: live pages are anywhere (``"random"``), or
    fill the first blocks (``"sequential"``) while the others are empty.

    >>> course = transient("sequential", d=10, spare=0.1, drive_writes=20)
    >>> round(course.write_amplification[0], 4)  # 1 / (1 - 0.9^10): 10 draws may all be full
    1.5353
    >>> round(course.write_amplification[-1], 4)
    5.0002
    """
    if not isinstance(points, int) or not 1 <= points <= MOST_POINTS:
        raise ConfigError(f"points: found {points}, expected a whole number up to {MOST_POINTS}")
    query = scalars(find("meanfield").parameters, parameters, "ask for one at a time")
    moments = _core.model_transient(query, initial, float(drive_writes), points)
    settled = evaluate("meanfield", **parameters)
    times, now, mean = zip(*moments, strict=True)
    return Transient(
        initial, times, now, mean, settled.write_amplification, settled.config, settled.version
    )


#: The maximum number of moments of a course.
MOST_POINTS = 1_000_000
