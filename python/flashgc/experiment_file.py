"""Experiment files in TOML: their values, and the line and column of each."""

from __future__ import annotations

import re
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from flashgc._core import ConfigError, check, is_trace, toml_places
from flashgc._schemes import SECTION, in_tables, with_policies
from flashgc.policy_files import KEYS, in_folder

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|(end of document))\)\Z")


_LONGEST_MESSAGE = 120

#: The maximum number of bytes of an experiment file. A trace given by mistake may have any size.
LONGEST = 2**20

#: The maximum number of parts of a dotted key. The time of Python's parser grows with the square
#: of this number.
_PARTS = 32
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_PARTS}}}")


def load(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the file at ``path``, and the place (``file:line:column``) of each key.

    The file of a policy in Python counts from the folder of ``path``, so an experiment gives the
    same wherever the command runs.

    Raises :class:`flashgc.ConfigError` if the file cannot be read or is not TOML.
    """
    text = _read(path)
    deep = _DEEP.search(text)
    if deep is not None:
        line = text.count("\n", 0, deep.start()) + 1
        column = deep.start() - text.rfind("\n", 0, deep.start())
        raise ConfigError(
            f"{path}:{line}:{column}: a key has more than {_PARTS} parts; "
            "hint: sections hold plain values"
        )
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax(path, text, str(error))) from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply; hint: sections hold plain values") from None
    except ValueError:  # A whole number with thousands of digits, which Python does not parse.
        raise ConfigError(f"{path}: a number is out of range; hint: shorten it") from None
    try:
        places = toml_places(text)
    except ConfigError as error:
        hint = "hint: TOML's numbers have 64 bits"
        raise ConfigError(f"{path}:{error}; {hint}") from None
    _name_code(values, path.parent)
    return values, {key: f"{path}:{line}:{column}" for key, line, column in places}


def _name_code(values: Any, folder: Path) -> None:
    """Let the files of policies in Python begin with ``folder``, in every section ``gc``.

    So do those of schemes, in their tables and texts.
    """
    if isinstance(values, list):
        for value in values:
            _name_code(value, folder)
    if not isinstance(values, dict):
        return
    move = partial(in_folder, folder=folder)
    gc = values.get("gc")
    section: dict[str, Any] = gc if isinstance(gc, dict) else {}
    for key in KEYS:
        texts = section.get(key)
        if isinstance(texts, list):
            section[key] = [move(text) for text in texts]
        elif texts is not None:
            section[key] = move(texts)
    texts = section.get("scheme")
    if isinstance(texts, list):
        section["scheme"] = [with_policies(text, move) for text in texts]
    elif texts is not None:
        section["scheme"] = with_policies(texts, move)
    in_tables(values.get(SECTION), move)
    for value in values.values():
        _name_code(value, folder)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; hint: {_meant(path)}") from None
    if len(content) > LONGEST:
        raise ConfigError(f"{path}: above 1 MiB, too long for an experiment; hint: {_trace(path)}")
    try:
        # Some editors write a byte order mark at the begin of a file.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8, so it is not TOML; hint: {_trace(path)}"
        ) from None
    if "\0" in text:
        raise ConfigError(f"{path}: is not text, so it is not TOML; hint: {_trace(path)}")
    return text


def _trace(path: Path) -> str:
    return f"is it a trace? write --workload {path}"


def _meant(path: Path) -> str:
    """A hint for a file that cannot be read; its name may be the spec of a workload."""
    try:
        check("source", str(path))
        generator = not is_trace(str(path))
    except (ConfigError, UnicodeEncodeError):
        generator = False
    if not generator:
        return "give an experiment file"
    return f"for a workload write --workload {path}"


def _syntax(path: Path, text: str, message: str) -> str:
    match = _AT.search(message)
    lines = text.splitlines() or [""]
    line, column = len(lines), len(lines[-1]) + 1
    if match and match[1]:
        line, column = int(match[1]), int(match[2])
    message = _AT.sub("", message)
    message = message[:1].lower() + message[1:]
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}..."
    hint = 'TOML is key = value, texts are in "quotes"'
    if path.suffix.lower() != ".toml":
        hint += f"; {_trace(path)}"
    return f"{path}:{line}:{column}: {message}; hint: {hint}"
