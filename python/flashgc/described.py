"""The description of a simulation that is not run: options, configuration, command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Simulation:
    """A configuration for the engine: the options of :func:`flashgc.run`."""

    options: Mapping[str, Any]

    def config(self) -> dict[str, Any]:
        """The engine's configuration; raises :class:`flashgc.ConfigError` for invalid options."""
        from flashgc.configuration import configurations
        from flashgc.experiment import experiment
        from flashgc.simulation import section_of

        values: dict[str, dict[str, Any]] = {}
        for key, value in self.options.items():
            home, name = ("workload", "source") if key == "workload" else (section_of(key), key)
            values.setdefault(home, {})[name] = value
        (config,) = configurations(experiment(values, {}), {})
        return config

    def command(self) -> str:
        """Return the command that runs this simulation."""
        return " ".join(["flashgc run", *flags(self.options)])


def simulation(**options: Any) -> Simulation:
    """A simulation with the keywords of :func:`flashgc.run`, including ``workload`` and ``victim``.

    >>> simulation(workload="uniform", blocks=1000, victim="greedy").command()
    'flashgc run --workload uniform --blocks 1000 --victim greedy'
    """
    return Simulation(options)


def flags(given: Mapping[str, Any]) -> list[str]:
    """Keywords as options of the command, each with its value."""
    from flashgc import options

    return [
        f"--{options.find(key).flag if options.known(key) else key.replace('_', '-')} "
        f"{shlex.quote(str(value))}"
        for key, value in given.items()
    ]
