"""Runs a configuration, selects the fields to record, and compares two records."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import flashgc
from decisions.building import Configuration

RECORDED = Path(__file__).with_name("recorded.json")
#: Fields of a result that say nothing about decisions: the configuration as given, texts for
#: people, and the speed and memory of the machine.
LEFT_OUT = (
    "config", "config_digest", "version", "findings", "seed", "page_programs_per_second",
    "peak_memory_bytes",
)  # fmt: skip
#: The digest changes with every other field, so it is recorded apart from them.
DIGEST = "digest"
#: Lists with more elements than this are recorded as their hash.
SHORT = 4

Record = dict[str, Any]


def measure(configuration: Configuration, folder: Path) -> Record:
    """The record of a run in ``folder``, which has the traces."""
    with contextlib.chdir(folder), _named(configuration.id):
        result = flashgc.run(**configuration.options).to_dict()
    digest = result[DIGEST]
    values = {key: result[key] for key in result if key not in (*LEFT_OUT, DIGEST)}
    return {DIGEST: digest, "values": _shortened(values)}


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"configuration {name}")
        raise


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _shortened(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list) and (len(value) > SHORT or any(isinstance(x, list) for x in value)):
        text = json.dumps(value, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:20]} of {len(value)}"
    return value


def differences(recorded: Record, found: Record) -> Iterator[str]:
    """Every recorded field whose value has changed, with both values.

    New fields are no differences.
    """
    before, after = dict(_fields(recorded)), dict(_fields(found))
    for field, value in before.items():
        if field not in after:
            yield f"{field}: recorded {value}, found nothing"
        elif after[field] != value:
            yield f"{field}: recorded {value}, found {after[field]}"


def _fields(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path and the exact text of each single value: 1 differs from 1.0."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _fields(inner, f"{path}.{key}" if path else key)
    else:
        yield path.removeprefix("values."), json.dumps(value)


def load() -> dict[str, Record]:
    """The records, by the configuration's name."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def save(records: Mapping[str, Record]) -> None:
    """Writes the records: a line each, sorted by name."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(record, separators=(',', ':'))}"
        for name, record in sorted(records.items())
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
