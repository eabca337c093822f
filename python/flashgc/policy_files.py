"""Policies written in Python, by the text ``python:FILE.py:NAME``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

from flashgc import _faults
from flashgc._core import ConfigError, suggest

#: The options that take a policy written in Python.
KEYS = ("victim", "placement")
#: Policies written in Python: by the key of their option, then by the text that names them.
Policies: TypeAlias = Mapping[str, Mapping[str, object]]


def is_written(text: object) -> bool:
    """Whether ``text`` names a policy written in Python.

    >>> is_written("python:mine.py:Oldest"), is_written("greedy")
    (True, False)
    """
    return isinstance(text, str) and text.startswith("python:")


def load_policies(gc: Any, places: Mapping[str, str]) -> Policies:
    """The policies that the values of section ``gc`` name, loaded."""
    given = {key: gc.get(key) if isinstance(gc, Mapping) else None for key in KEYS}
    return {
        key: {
            text: load_policy(text, places.get(f"gc.{key}", key))
            for text in (texts if isinstance(texts, list) else [texts])
            if isinstance(text, str) and is_written(text)
        }
        for key, texts in given.items()
    }


def load_policy(text: str, place: str) -> object:
    """The policy ``python:FILE.py:NAME``."""
    file, separator, name = text.removeprefix("python:").rpartition(":")
    if not separator or not file or not name:
        raise ConfigError(f"{place}: '{text}' is not understood; hint: write python:FILE.py:NAME")
    import importlib.util
    from pathlib import Path

    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"{place}: {file}: no such file; hint: write python:FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(f"flashgc_policy_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{place}: {file} is not a Python file; hint: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with _faults.contained():
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        known = [word for word in vars(module) if callable(getattr(module, word))]
        raise ConfigError(f"{place}: {file} defines no '{name}'; hint: {suggest(name, known)}")
    policy: object = getattr(module, name)
    return policy
