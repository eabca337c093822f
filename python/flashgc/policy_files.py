"""Victim policies written in Python, by the text ``python:FILE.py:NAME``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from flashgc._core import ConfigError, suggest
from flashgc._faults import contained


def load_policy(text: str, place: str) -> object:
    """The policy ``python:FILE.py:NAME``."""
    file, separator, name = text.removeprefix("python:").rpartition(":")
    if not separator or not file or not name:
        raise ConfigError(f"{place}: '{text}' is not understood; hint: write python:FILE.py:NAME")
    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"{place}: {file}: no such file; hint: write python:FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(f"flashgc_policy_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{place}: {file} is not a Python file; hint: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with contained():
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        known = [word for word in vars(module) if callable(getattr(module, word))]
        raise ConfigError(f"{place}: {file} defines no '{name}'; hint: {suggest(name, known)}")
    policy: object = getattr(module, name)
    return policy
