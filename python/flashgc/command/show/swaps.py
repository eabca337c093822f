"""Maps and page caches as text for people: rows for one result, columns for several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc.command.show.counted import in_words
from flashgc.units import format_count, format_duration, format_share, format_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from flashgc.results import Result

#: Headings of a comparison's columns with a page cache, and their explanation.
COLUMNS = ("swap-outs", "moved", "erases")
LEGEND = "I/O s: seconds of collections and pages swapped out; moved: pages copied by collections"


def rows(result: Result) -> list[tuple[str, str]]:
    """Rows on the map, the merges of log blocks and the page cache, as far as there are any."""
    return map_rows(result) + _cache(result)


def map_rows(result: Result) -> list[tuple[str, str]]:
    """Rows on the map and the merges of log blocks, as far as there are any."""
    pairs = []
    if result.mapping != "page":
        pairs.append(("map", f"{format_size(result.map_bytes)} of the controller's memory"))
    if (traffic := result.map_traffic) is not None:
        hits = format_share(traffic.hits / max(traffic.hits + traffic.misses, 1), 2)
        pairs.append(
            (
                "map traffic",
                f"{hits} of the entries in memory; {format_count(traffic.reads)} translation "
                f"pages read, {format_count(traffic.writes)} programmed",
            )
        )
    if result.merges is not None:
        merges = result.merges
        picks = merges.picks
        weighed = f"; {merges.weighed / picks:.3g} log blocks weighed a pick" if picks else ""
        pairs.append(("merges", ", ".join(in_words(merges)) + weighed))
    return pairs


def _cache(result: Result) -> list[tuple[str, str]]:
    swap = result.swap
    if swap is None or not swap.references:
        return []
    config = result.config.swap
    assert config is not None
    size = format_size(config.cache_pages * result.config.unit)
    hits = format_share(swap.hits / swap.references, 2)
    excluded = swap.excluded_per_collection
    mean = swap.mean_collection_us
    return [
        ("page cache", f"{size}, {config.policy}"),
        (
            "references",
            f"{format_count(swap.references)}, {format_count(swap.writes)} of them writes; "
            f"{hits} in memory",
        ),
        ("swapped", ", ".join(in_words(swap, but=("references", "writes", "hits")))),
        *([] if excluded is None else [("duplicates", f"{excluded:.4g} a collection")]),
        (
            "time",
            f"collections {format_duration(swap.collection_seconds)}, swapping out "
            f"{format_duration(swap.swap_out_seconds)}, in "
            f"{format_duration(swap.swap_in_seconds)}"
            + ("" if mean is None else f"; {mean / 1e3:.4g} ms a collection"),
        ),
    ]


def figure(result: Result) -> str:
    """Seconds of I/O on flash, as the mean over the runs."""
    swap = result.swap
    return "-" if swap is None or not swap.references else f"{swap.io_seconds:.4f}"


def cells(result: Result, short: Callable[[float], str]) -> list[str]:
    """The cells of :data:`COLUMNS`; ``short`` formats the counts."""
    outs = 0 if result.swap is None else result.swap.swap_outs
    return [short(outs), short(result.copied_pages), short(result.erases)]
