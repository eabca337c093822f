"""Fits: rows that were looked at when a reading, a preset or a parameter was chosen.

That such a row is as published proves nothing, because it was made so. ``fits.toml`` lists them,
with the reason. They are ``fitted``, and do not count as met.
"""

from __future__ import annotations

import fnmatch
import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flashgc import ConfigError
from flashgc_papers.claims import Claim, Input, claims
from flashgc_papers.engine import suggest
from flashgc_papers.entries import entries, text_of
from flashgc_papers.reproduce.verdicts import Verdict

if TYPE_CHECKING:
    from flashgc_papers.reproduce.runner import Row

_KEYS = ("claim", "under", "rows", "why")
#: Verdicts that a fit takes the place of.
_REPLACED = (Verdict.MET, Verdict.IN_KIND, Verdict.UNSTEADY)


@dataclass(frozen=True)
class Fit:
    """Rows of a claim to which something was fitted."""

    claim: str
    #: The answers that were chosen by them, in words.
    why: str
    #: The readings that were; empty for whatever the claim runs under.
    under: tuple[str, ...] = ()
    #: Patterns of the labels of the rows; empty for all rows of the claim.
    rows: tuple[str, ...] = ()

    def covers(self, label: str, reading: str) -> bool:
        """Return true if the row ``label`` under ``reading`` is one of them."""
        is_named = not self.rows or any(
            fnmatch.fnmatchcase(label, pattern) for pattern in self.rows
        )
        return is_named and (not self.under or reading in self.under)


@functools.cache
def fits() -> tuple[Fit, ...]:
    """The fits of all papers, in the order of the file."""
    return parse(text_of("fits.toml"), "fits.toml")


def parse(text: str, place: str) -> tuple[Fit, ...]:
    """Reads a file of fits; raises :class:`flashgc.ConfigError`, naming the claim."""
    ids = [claim.id for claim in claims().claims]
    covered = []
    for at, raw in entries(text, place, "fit", "claim", _KEYS):
        for key in ("claim", "why"):
            if not raw.get(key):
                raise ConfigError(f"{at}: {key}: found nothing, expected text")
        if raw["claim"] not in ids:
            raise ConfigError(f"{at}: unknown claim; hint: {suggest(raw['claim'], ids)}")
        lists = {key: tuple(raw.get(key, ())) for key in ("under", "rows")}
        covered.append(Fit(raw["claim"], raw["why"], **lists))
    return tuple(covered)


def fitted(claim: Claim, row: Row) -> Row:
    """The row, ``fitted`` in place of met where a reading was chosen by it.

    What was fitted is a stand-in: nothing was to a trace of the paper's own.
    """
    own = claim.input is Input.TRACE and not row.stand_in
    if row.verdict not in _REPLACED or own:
        return row
    for fit in fits():
        if fit.claim == claim.id and fit.covers(row.label, row.reading):
            return replace(row, verdict=Verdict.FITTED, uncounted=fit.why)
    return row
