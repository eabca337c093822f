"""The winner as an experiment file that ``flashgc run`` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flashgc import _files
from flashgc._documents import Json
from flashgc.experiment import Experiment
from flashgc.studies.tuning.outcome import Tuned
from flashgc.studies.tuning.space import Candidate

#: Keys of ``[run]`` that the course of the search decides.
_COURSE = ("writes", "collections", "requests", "warmup", "runs", "seed", "until", "jobs")


def experiment_of(
    asked: Experiment, winner: Candidate, run: Mapping[str, Any]
) -> dict[str, dict[str, Json]]:
    """Sections and keys of the winner's experiment: what was given, and what was found."""
    sections: dict[str, dict[str, Json]] = {}
    for path in asked:
        section, key = path.split(".")
        if section != "run" or key not in _COURSE:
            sections.setdefault(section, {})[key] = asked[path]
    gc = sections.setdefault("gc", {})
    gc |= {"victim": winner.victim, "placement": winner.placement}
    if winner.frontier is not None:
        gc["frontier"] = winner.frontier
    sections.setdefault("run", {}).update(run)
    return sections


def toml_of(tuned: Tuned) -> str:
    """The file as a text, with the figures of the search as a comment."""
    best, of = tuned.best, tuned.of
    lines = [
        f"# Found by flashgc tune, {tuned.version}: {of.told(best.figure)}.",
        f"# Held back, on {tuned.held_back}: {of.told(best.held_back)}.",
    ]
    for name, keys in tuned.experiment.items():
        lines += ["", f"[{name}]"]
        lines += [f"{key} = {_value(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _value(value: Json) -> str:
    """A value as TOML writes it: its texts and numbers are those of JSON."""
    if isinstance(value, list) and len(value) == 1:
        return _value(value[0])
    return json.dumps(value, ensure_ascii=False)


def save(tuned: Tuned, name: str) -> None:
    """Writes the file ``name``, whole or not at all; raises :class:`OSError`."""
    _files.write(name, toml_of(tuned))
