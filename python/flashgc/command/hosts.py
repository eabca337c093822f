"""Hosts and hints as people read them: rows of one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashgc.registry import brief
from flashgc.results import Result
from flashgc.units import format_count, format_share


def rows(result: Result) -> list[tuple[str, str]]:
    """Rows on what the host did and what became of its hints, where there is a host."""
    made = []
    if (host := result.host) is not None:
        made.append(("cache", brief(result.config["host"]["cache"])))
        made.append(("traffic", _traffic(host)))
        made.append(("dirty", _dirty(host)))
        if any(host["hints"][key] for key in ("sent", "overtaken", "lost")):
            way = brief(result.config["host"]["hints"])
            made.append(("hints", f"{way}: {_hints(host['hints'])}"))
    if (zombies := result.zombies) is not None:
        made.append(("zombies", _zombies(zombies)))
    return made


def _traffic(host: Mapping[str, Any]) -> str:
    text = (
        f"{format_count(host['writes'])} pages written by the application, "
        f"{format_count(host['drive_writes'])} by the cache"
    )
    if host["reads"]:
        text += (
            f"; {format_count(host['reads'])} read, {format_count(host['drive_reads'])} of them "
            "from the drive"
        )
    return text


def _dirty(host: Mapping[str, Any]) -> str:
    text = f"{format_count(round(host['mean_dirty_pages']))} pages on average"
    if host["known_share"] is not None:
        text += f", {format_share(host['known_share'], 1)} of them known to the drive"
    return text


def _hints(hints: Mapping[str, Any]) -> str:
    parts = [f"{format_count(hints['sent'])} sent of {format_count(hints['due'])}"]
    for key, words in (
        ("overtaken", "overtaken by the write"),
        ("lost", "lost"),
        ("late", "too late"),
        ("wrong", "not true"),
    ):
        if hints[key]:
            parts.append(f"{format_count(hints[key])} {words}")
    if hints["commands"]:
        parts.append(f"{format_count(hints['commands'])} commands of their own")
    return ", ".join(parts)


def _zombies(zombies: Mapping[str, Any]) -> str:
    text = (
        f"{format_count(zombies['marked'])} pages marked, "
        f"{format_count(zombies['overwritten'])} overwritten, "
        f"{format_count(zombies['copied'])} copied"
    )
    if zombies["share_of_copies"] is not None:
        text += f" ({format_share(zombies['share_of_copies'], 1)} of all copies)"
    return text
