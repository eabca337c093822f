"""Makes the engine's configurations from an experiment. It runs nothing."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flashgc import _core, _files
from flashgc.options import PATHS

if TYPE_CHECKING:
    from flashgc._origins import Places
    from flashgc.experiment import Experiment
    from flashgc.policy_files import Policies

#: Options that give the length of a run.
LENGTHS = ("writes", "collections", "requests", "passes")
#: Options that name a file to write.
_WRITTEN = ("run.timeline", "run.trace_events")


def configurations(
    experiment: Experiment,
    places: Places | None = None,
    *,
    default_runs: int = 1,
    python: Policies = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the configurations of ``experiment``: one for each combination of listed values.

    ``python`` has the Python policies that the values name. Raises :class:`flashgc.ConfigError`,
    which names the place of the wrong value.
    """
    places = places or {}
    written = {key: list(policies) for key, policies in python.items()}
    configs: list[dict[str, Any]] = json.loads(
        _core.configurations(dict(experiment.given), dict(places), default_runs, written)
    )
    for path in _WRITTEN:
        if path in experiment:
            option = PATHS[path]
            _files.check(experiment[path], places.get(path, option.key), option.example)
    return configs
