"""Figures 6 and 7: BSGC beside EIGC, each with the allocation of its row in Table 4.

The rows beside GA hold for every policy that weighs ages. These tell BSGC from EIGC.
"""

from __future__ import annotations

from flashgc_papers.bsgc import experiment
from flashgc_papers.bsgc.experiment import HOT
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import Measured, Row, row
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: In turn, and the least worn block first.
PAIRS = (("FIFO+BSGC", "FIFO+EIGC"), ("SFL+BSGC", "LIF+EIGC"))
CLAIMS = ("bsgc.fig6", "bsgc.fig7")


def rows(claim: Claim, measured: Measured, figure: str) -> list[Row]:
    """A row for each trace and pair, of the claims that have them."""
    if claim.id not in CLAIMS:
        return []
    return [_below(claim, measured, figure, trace, *pair) for trace in HOT for pair in PAIRS]


def _below(claim: Claim, measured: Measured, figure: str, trace: str, less: str, more: str) -> Row:
    published = experiment.published(claim, trace)

    def judge() -> tuple[Value, Judgement]:
        ours, theirs = (experiment.samples(measured, figure, trace, name) for name in (less, more))
        pairs = zip(ours, theirs, strict=True)
        value = Value.of([100 * (1 - low / high) for low, high in pairs])
        means = (Value.of(each).mean for each in (ours, theirs))
        return value, verdicts.true(value.low > 0, " and ".join(f"{mean:.4g}" for mean in means))

    percent = 100 * (1 - published[less] / published[more])
    return row(f"{trace}, {less} below {more}, %", round(percent, 1), judge)
