"""A small version of the campaign of changed layouts; ``make formats`` runs more of it."""

from __future__ import annotations

from collections import Counter

from scripts.formats.campaign import BLANKS, COMMAS, RECORDS, campaign

#: Text formats whose lines are not plain columns.
PRINTED = ("blkparse", "ftrace", "fio2", "fio3", "fiu")


def test_no_mutated_trace_is_read_as_something_else() -> None:
    counts, wrong = campaign(range(1, 2))
    assert wrong == []
    assert {*COMMAS, *BLANKS, *RECORDS, *PRINTED} == counts.keys()
    whole = sum(counts.values(), Counter())
    # Most traces must be read, or a reader that refuses all of them would pass.
    assert whole["right"] > 440
    assert whole.total() > 900
