"""Makes stored drives from options of an experiment."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._origins import Places
from flashgc.configuration import configurations
from flashgc.device import need_linux, writers
from flashgc.experiment import Experiment, experiment
from flashgc.options import OPTIONS as ALL
from flashgc.policy_files import Policies, parted
from flashgc.units import parse_size

#: The options of an experiment that make a stored drive.
OPTIONS = tuple(option.path for option in ALL if option.stored)

#: The default frontier of a stored drive, which needs a pool of erased blocks.
FRONTIER = "pool:low=2"

DURABILITIES = ("process", "power", "none")


@dataclass(frozen=True)
class Plan:
    """A drive that can be made: its configuration, and its policies in Python."""

    config: dict[str, Any]
    #: The name of each policy and the loaded object, by the key of its option.
    python: dict[str, tuple[str, object]]
    durability: str
    journal_bytes: int | None
    #: The place of each given value, for messages.
    places: Places

    def create(self, path: Path) -> dict[str, Any]:
        """Make the drive in a new file and return its configuration."""
        config = json.dumps(self.config)
        name = uuid.uuid4().bytes
        fields: dict[str, Any] = json.loads(
            _core.device_create(
                path,
                config,
                name,
                self.durability,
                self.journal_bytes,
                self.python,
                dict(self.places),
            )
        )
        writers.note(path)
        # The drive's file holds the table of streams itself, but a replay of the drive's writes
        # needs the name of the table's file.
        return {**fields, "streams_file": self.config.get("streams")}


def plan(
    values: Mapping[str, Mapping[str, Any]],
    places: Places | None = None,
    *,
    python: Policies | None = None,
    durability: str = "process",
    journal: str | int | None = None,
) -> Plan:
    """The plan of a drive with these values of options (``{"drive": {"blocks": 1000}}``).

    ``python`` has the Python policies that the values name. Raises :class:`flashgc.ConfigError`,
    which names the place of the wrong value.
    """
    need_linux()
    places = places or {}
    setup = experiment(values, places)
    _core.check_stored(setup.given, places)
    given = {"gc.frontier": FRONTIER, **setup.given, "drive.fill": "empty"}
    python = python or {}
    configs = configurations(Experiment(given), places, python=python)
    if len(configs) != 1:
        raise ConfigError(f"found {len(configs)} drives, expected one; hint: give each option once")
    if durability not in DURABILITIES:
        hint = _core.suggest(durability, list(DURABILITIES))
        where = places.get("durability", "durability")
        raise ConfigError(
            f"{where}: found '{durability}', expected power, process or none; hint: {hint}"
        )
    [config] = configs
    written = {
        key: (_absolute(config[key]), known[config[key]])
        for key, known in python.items()
        if config[key] in known
    }
    where = places.get("journal", "journal")
    size = None if journal is None else parse_size(journal, where, "MiB")
    return Plan(config, written, durability, size, places)


def _absolute(text: str) -> str:
    """The name of a policy in Python, with the absolute path of its file."""
    code = parted(text, "the policy")
    return code.text(str(Path(code.file).resolve()))


def configuration(path: Path, held: _core.DriveFile | None = None) -> dict[str, Any]:
    """Return the configuration of the drive in the file at ``path``; it may be open elsewhere.

    ``held`` is that file if it is open here.
    """
    need_linux()
    read: dict[str, Any] = json.loads(_core.device_configuration(path, held))
    return read
