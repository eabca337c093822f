"""Hosts and hints as text for people: rows for one result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.counted import WORDS, in_words
from flashgc.units import format_count, format_share, format_time

if TYPE_CHECKING:
    from flashgc.results import HostTraffic, HostWaits, Result, Zombies


def rows(result: Result) -> list[tuple[str, str]]:
    """Rows on the host's traffic and the effect of its hints; empty without a host."""
    pairs = []
    if (host := result.host) is not None and (config := result.config.host) is not None:
        from flashgc.registry import brief

        pairs.append(("cache", brief(config.cache)))
        pairs.append(("traffic", ", ".join(in_words(host))))
        pairs.append(("dirty", _dirty(host)))
        if host.waits is not None and (waits := _waits(host.waits)):
            pairs.append(("waits", waits))
        if host.hints.sent or host.hints.overtaken or host.hints.lost:
            way = brief(config.hints)
            pairs.append(("hints", f"{way}: {', '.join(in_words(host.hints))}"))
    if (zombies := result.zombies) is not None:
        pairs.append(("zombies", _zombies(zombies)))
    return pairs


def _dirty(host: HostTraffic) -> str:
    text = f"{format_count(round(host.mean_dirty_pages))} pages on average"
    if host.known_share is not None:
        text += f", {format_share(host.known_share, 1)} of them known to the drive"
    return text


def _waits(waits: HostWaits) -> str:
    """The mean of each kind of wait for a command of the cache, and the number of waits."""
    kinds = (
        ("reads", waits.reads, waits.read_ns),
        ("rooms", waits.rooms, waits.room_ns),
        ("rewrites", waits.rewrites, waits.rewrite_ns),
    )
    words = WORDS["HostWaits"]
    return ", ".join(
        f"{format_time(ns / count / 1e3)} {words[name]} ({format_count(count)})"
        for name, count, ns in kinds
        if count
    )


def _zombies(zombies: Zombies) -> str:
    text = ", ".join(in_words(zombies))
    if zombies.share_of_copies is not None:
        text += f"; {format_share(zombies.share_of_copies, 1)} of all copies"
    return text
