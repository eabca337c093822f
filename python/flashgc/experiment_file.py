"""Experiment files in TOML: what they say, and on which line and column they say it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError, toml_places

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|(end of document))\)\Z")


def load(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the file at ``path``, and the place (``file:line:column``) of each key.

    Raises :class:`flashgc.ConfigError` where the file cannot be read or is no TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; hint: give an experiment file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; hint: is it TOML?") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax(path, text, str(error))) from None
    places = {key: f"{path}:{line}:{column}" for key, line, column in toml_places(text)}
    return values, places


def _syntax(path: Path, text: str, message: str) -> str:
    match = _AT.search(message)
    lines = text.splitlines() or [""]
    line, column = len(lines), len(lines[-1]) + 1
    if match and match[1]:
        line, column = int(match[1]), int(match[2])
    message = _AT.sub("", message)
    message = message[:1].lower() + message[1:]
    return f'{path}:{line}:{column}: {message}; hint: TOML is key = value, texts are in "quotes"'
