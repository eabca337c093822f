"""The parts in which compared results may differ, and names of results from these parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from flashgc.results.result import Result
from flashgc.units import format_share

#: Parts besides the policy: the heading of a column, and a function for the text of a result.
PARTS: dict[str, Callable[[Result], str]] = {
    "frontier": lambda result: result.frontier,
    "vm scheme": lambda result: result.vm_scheme or "-",
    "alloc.": lambda result: result.allocation,
    "levelling": lambda result: result.wear_levelling,
    "placement": lambda result: result.placement,
    "host": lambda result: result.hosting,
    "preemption": lambda result: result.preemption,
    "spare": lambda result: format_share(result.config.spare_factor),
}

#: The parts that a scheme may have, beside its victim policy.
_OF_SCHEME = ("frontier", "placement")


def differing(results: Sequence[Result]) -> list[str]:
    """The headings of :data:`PARTS` in which results differ.

    A scheme's name stands for its parts, so they differ only if those of one scheme do.
    """
    # Spare factors are compared as given, because traces meet them only approximately.
    spares = {result.config.spare for result in results}
    by_name: dict[str, list[Result]] = {}
    for result in results:
        by_name.setdefault(result.label, []).append(result)
    return [
        heading
        for heading, text in PARTS.items()
        if (len(spares) if heading == "spare" else len({text(result) for result in results})) > 1
        and not (
            heading in _OF_SCHEME
            and have_schemes(results)
            and all(len({text(result) for result in alike}) == 1 for alike in by_name.values())
        )
    ]


def have_schemes(results: Sequence[Result]) -> bool:
    """True if each result has the name of a scheme."""
    return all(result.config.scheme is not None for result in results)


def name(result: Result, parts: Collection[str], written: Callable[[str], str] = str) -> str:
    """The name of a result: its scheme or policy, and ``parts``, formatted by ``written``."""
    return "/".join(written(part) for part in (result.label, *_texts(result, parts)))


def names(results: Sequence[Result], written: Callable[[str], str] = str) -> list[str]:
    """The names of results from the parts in which they differ; the policy if none differs.

    With a page cache and on a drive with a clock, a policy that all results share is omitted,
    because it is shown with the shared facts.
    """
    parts = differing(results)
    has_facts = any(result.swap is not None or result.timing is not None for result in results)
    if parts and has_facts and len({result.label for result in results}) == 1:
        return ["/".join(map(written, _texts(result, parts))) for result in results]
    return [name(result, parts, written) for result in results]


def _texts(result: Result, parts: Collection[str]) -> list[str]:
    return [PARTS[heading](result) for heading in parts]
