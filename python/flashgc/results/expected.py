"""Compares a result with an expected one, and names the first difference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError

#: Fields that may differ in equal results: speed, memory, and the spelling of the configuration.
_BESIDE = ("page_programs_per_second", "peak_memory_bytes", "config_digest", "findings")


class Expected:
    """The expected digest of a run, or its expected result from a JSON file."""

    def __init__(self, given: str, option: str = "expect") -> None:
        """Reads ``given``: 16 hexadecimal digits, or the path of a file.

        Raises :class:`flashgc.ConfigError` if it is neither.
        """
        self.digest, self._result = given.lower(), None
        if re.fullmatch("[0-9a-fA-F]{16}", given):
            return
        try:
            self._result = json.loads(Path(given).read_text())
            self.digest = self._result["digest"]
        except OSError as error:
            raise ConfigError(
                f"{option}: {given}: {error.strerror}; hint: a digest of 16 hexadecimal digits, or "
                "the JSON file of a result"
            ) from None
        except (ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{option}: {given} holds no result; hint: flashgc run --out {given} writes one"
            ) from None

    def difference(self, result: Mapping[str, Any]) -> str | None:
        """Return a text on the first difference in ``result``; ``None`` if digests are equal."""
        if result["digest"] == self.digest:
            return None
        text = f"the digest is {result['digest']}, expected {self.digest}"
        first = None if self._result is None else next(_differences(self._result, result), None)
        return text if first is None else f"{text}; first difference: {first}"


def _differences(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[str]:
    """The differences between two results; causes come before effects."""
    for name in ("version", "seed", "config", *expected):
        if name not in _BESIDE and name != "digest":
            yield from _within(name, expected.get(name), actual.get(name))


def _within(name: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected:
            yield from _within(f"{name}.{key}", expected[key], actual.get(key))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (element, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _within(f"{name}[{index}]", element, other)
    elif expected != actual:
        yield f"{name} is {json.dumps(actual)}, expected {json.dumps(expected)}"
