"""Names of configurations that run together, from the values that differ between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashgc.units import format_share

#: Keys of a configuration whose values follow from the values of other keys.
FOLLOWS = (
    "logical_pages",
    "physical_pages",
    "spare_factor",
    "overprovision",
    "effective_spare",
    "fitted",
    "scaled",
)


def name(config: Mapping[str, Any], configs: Sequence[Mapping[str, Any]]) -> str:
    """The values of ``config`` in which ``configs`` differ, the scheme or victim policy first.

    >>> configs = [{"victim": "greedy", "spare": 0.1}, {"victim": "fifo", "spare": 0.005}]
    >>> name(configs[1], configs)
    'fifo, spare 0.5%'
    >>> name(configs[1], configs[1:])
    'fifo'
    """
    everywhere = [dict(fields(other)) for other in configs]
    words: list[str] = []
    for key, value in fields(config):
        if key == "victim":
            words.insert(0, str(config.get("scheme") or value))
        elif key in FOLLOWS or (key == "scheme" and value == config.get("scheme")):
            continue
        elif key in ("placement", "frontier") and config.get("scheme"):
            alike = [other for other in configs if other.get("scheme") == config["scheme"]]
            if any(other.get(key) != value for other in alike):
                words.append(f"{key} {value}")
        elif any(other.get(key) != value for other in everywhere):
            text = format_share(value, 4) if key == "spare" else value
            words.append(f"{key} {text}")
    return ", ".join(words)


def fields(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key and value of a configuration; the keys of nested parts appear like its own keys."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from fields(value)
        else:
            yield key, value
