"""The worked example of Ji and Shin: that the shipped traces lead to the moment of the figures."""

from __future__ import annotations

import pytest

from flashgc.papers.vm.example import CACHED, FOLDER, PAGE

#: (page, written), the page used longest ago first: what the cache holds beside P6 when that goes.
#: Of the figures: P2 and P1 in the LRU region, with P6 itself; P5, P11 and P9 in the MRU region.
HELD = {
    "figure": [(2, True), (1, False), (5, False), (11, True), (9, False)],
    "mru-dirty": [(5, False), (4, False), (7, False), (11, True)],
    "mru-clean": [(5, False), (4, False), (7, False), (9, False)],
    "lru-dirty": [(2, True), (5, False), (4, False), (7, False)],
    "lru-clean": [(1, False), (5, False), (4, False), (7, False)],
}
#: What the log blocks hold: PBN 3, then PBN 4 (P4 written three times).
LOGGED = [1, 3, 8, 10, 4, 5, 4, 4]


def references(held: list[tuple[int, bool]], capacity: int) -> list[tuple[int, bool]]:
    """The references that lead to the moment of the figures.

    Every page once, so that they get their numbers in order; each logged page written and then
    pushed out by reads of others; then P6, what is held, and P0, for which P6 goes.
    """
    made = [(page, False) for page in range(12)]
    for page in LOGGED:
        others = [other for other in range(12) if other != page][:capacity]
        made += [(page, True), *((other, False) for other in others)]
    return [*made, (6, True), *held, (0, False)]


def text(made: list[tuple[int, bool]]) -> str:
    rows = [f"0.000,{'W' if write else 'R'},{page * PAGE},{PAGE},0" for page, write in made]
    return "\n".join(["time_us,op,offset_bytes,size_bytes,dev", *rows]) + "\n"


@pytest.mark.parametrize("name", CACHED)
def test_the_traces_lead_to_the_moment_of_the_figures(name: str) -> None:
    made = references(HELD[name], CACHED[name])
    assert (FOLDER / f"{name}.csv").read_text() == text(made)
    # A plain LRU cache, by hand: which dirty pages go, in which order, and what is left.
    cache: dict[int, bool] = {}
    gone = []
    for page, write in made:
        dirty = cache.pop(page, False) or write
        if len(cache) == CACHED[name]:
            oldest = next(iter(cache))
            if cache.pop(oldest):
                gone.append(oldest)
                held = list(cache.items())
        cache[page] = dirty
    assert gone == [*LOGGED, 6]
    assert held == HELD[name]
