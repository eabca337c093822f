"""Parts in which results that are compared may differ, and the names that these parts give them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from flashgc.results.result import Result
from flashgc.units import format_share

#: Parts beside the policy: the heading of a column, and the text of a result.
PARTS: dict[str, Callable[[Result], str]] = {
    "frontier": lambda result: result.frontier,
    "scheme": lambda result: result.scheme or "-",
    "alloc.": lambda result: result.allocation,
    "levelling": lambda result: result.wear_levelling,
    "placement": lambda result: result.placement,
    "host": lambda result: result.hosting,
    "preemption": lambda result: result.preemption,
    "spare": lambda result: format_share(result.config.spare_factor),
}


def differing(results: Sequence[Result]) -> list[str]:
    """The headings of :data:`PARTS` in which results differ."""
    # The spare space is compared as it was asked for: traces fix it only nearly.
    spares = {result.config.spare for result in results}
    return [
        heading
        for heading, text in PARTS.items()
        if (len(spares) if heading == "spare" else len({text(result) for result in results})) > 1
    ]


def name(result: Result, parts: Collection[str], written: Callable[[str], str] = str) -> str:
    """A result's name among others: its policy and ``parts`` of it, each spec as ``written``."""
    return "/".join(written(part) for part in (result.policy, *_texts(result, parts)))


def names(results: Sequence[Result], written: Callable[[str], str] = str) -> list[str]:
    """The names of results, by what they differ in; by the policy if they do in nothing.

    Under a page cache and on a drive with a clock, a policy that all have is left out: it stands in
    the facts that they share.
    """
    parts = differing(results)
    has_facts = any(result.swap is not None or result.timing is not None for result in results)
    if parts and has_facts and len({result.policy for result in results}) == 1:
        return ["/".join(map(written, _texts(result, parts))) for result in results]
    return [name(result, parts, written) for result in results]


def _texts(result: Result, parts: Collection[str]) -> list[str]:
    return [PARTS[heading](result) for heading in parts]
