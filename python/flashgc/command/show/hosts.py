"""Hosts and hints as people read them: rows of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.units import format_count, format_share

if TYPE_CHECKING:
    from flashgc.results import Hints, HostTraffic, Result, Zombies


def rows(result: Result) -> list[tuple[str, str]]:
    """Rows on what the host did and what became of its hints, where there is a host."""
    made = []
    if (host := result.host) is not None and (config := result.config.host) is not None:
        from flashgc.registry import brief

        made.append(("cache", brief(config.cache)))
        made.append(("traffic", _traffic(host)))
        made.append(("dirty", _dirty(host)))
        if host.hints.sent or host.hints.overtaken or host.hints.lost:
            way = brief(config.hints)
            made.append(("hints", f"{way}: {_hints(host.hints)}"))
    if (zombies := result.zombies) is not None:
        made.append(("zombies", _zombies(zombies)))
    return made


def _traffic(host: HostTraffic) -> str:
    text = (
        f"{format_count(host.writes)} pages written by the application, "
        f"{format_count(host.drive_writes)} by the cache"
    )
    if host.reads:
        text += (
            f"; {format_count(host.reads)} read, {format_count(host.drive_reads)} of them "
            "from the drive"
        )
    return text


def _dirty(host: HostTraffic) -> str:
    text = f"{format_count(round(host.mean_dirty_pages))} pages on average"
    if host.known_share is not None:
        text += f", {format_share(host.known_share, 1)} of them known to the drive"
    return text


def _hints(hints: Hints) -> str:
    parts = [f"{format_count(hints.sent)} sent of {format_count(hints.due)}"]
    for count, words in (
        (hints.overtaken, "overtaken by the write"),
        (hints.lost, "lost"),
        (hints.late, "too late"),
        (hints.wrong, "not true"),
    ):
        if count:
            parts.append(f"{format_count(count)} {words}")
    if hints.commands:
        parts.append(f"{format_count(hints.commands)} commands of their own")
    return ", ".join(parts)


def _zombies(zombies: Zombies) -> str:
    text = (
        f"{format_count(zombies.marked)} pages marked, "
        f"{format_count(zombies.overwritten)} overwritten, "
        f"{format_count(zombies.copied)} copied"
    )
    if zombies.share_of_copies is not None:
        text += f" ({format_share(zombies.share_of_copies, 1)} of all copies)"
    return text
