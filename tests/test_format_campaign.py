"""The campaign of mutated layouts, in a small size: ``make formats`` runs more of it."""

from __future__ import annotations

from collections import Counter

from scripts.formats.campaign import BLANKS, COMMAS, RECORDS, campaign

#: Formats of lines that are no columns.
PRINTED = ("blkparse", "ftrace", "fio2", "fio3", "fiu")


def test_no_mutated_trace_is_read_as_something_else() -> None:
    counts, wrong = campaign(range(1, 2))
    assert wrong == []
    assert {*COMMAS, *BLANKS, *RECORDS, *PRINTED} == counts.keys()
    whole = sum(counts.values(), Counter())
    # Refusing all would be no feat: every form that keeps the meaning of most formats is read.
    assert whole["right"] > 440
    assert whole.total() > 900
