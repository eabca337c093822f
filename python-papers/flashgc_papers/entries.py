"""The documents of the package: claims, fits, statements and summaries, as TOML."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashgc import ConfigError
from flashgc_papers.engine import suggest


def document(name: str) -> dict[str, Any]:
    """The document ``name``."""
    return tomllib.loads(text_of(name))


def text_of(name: str) -> str:
    """The text of the document ``name``."""
    return (importlib.resources.files(__package__ or "") / name).read_text(encoding="utf-8")


def entries(
    text: str, place: str, array: str, title: str, keys: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the entries of an array of tables, each with its place for messages.

    The place names the entry by its key ``title``. Raises :class:`flashgc.ConfigError` for a key
    that is not among ``keys``.
    """
    for entry in tomllib.loads(text).get(array, []):
        at = f"{place}: '{entry.get(title, '?')}'"
        check(at, entry, keys)
        yield at, entry


def check(at: str, entry: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raises :class:`flashgc.ConfigError` for a key that is not among ``keys``."""
    for key in entry:
        if key not in keys:
            raise ConfigError(f"{at}: unknown key '{key}'; hint: {suggest(key, list(keys))}")
