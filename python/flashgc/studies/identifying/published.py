"""Tables as published with SSD-iq (Haas et al., PVLDB 18, 2025): patterns in place of workloads."""

from __future__ import annotations

import re

#: The columns that say what was written.
PATTERN, DETAILS = "pattern", "details"
#: Columns that mean one of ours.
ALIASES = {"implied_write_amplification": "write_amplification"}
#: Two zones of a drive: their shares of the pages, and of the writes.
_ZONES = re.compile(r"s([\d.]+) f([\d.]+) s([\d.]+) f([\d.]+)")


def workload(pattern: str, details: str) -> str | None:
    """The workload of a pattern with its details; ``None`` for one that is no curve's point.

    Sequential writes are the measure of the others. Zones of which one gets all writes are a
    drive with more spare space, of which half is never written.

    >>> workload("uniform", ""), workload("zipf-shuffle", "0.800000")
    ('uniform', 'zipf:theta=0.8')
    >>> workload("zones-shuffle", "s0.95 f0.05 s0.05 f0.95")
    '95/5'
    >>> workload("zones-shuffle", "s0.6 f0.4 s0.4 f0.6"), workload("sequential", "")
    ('60/40', None)
    """
    if pattern == "uniform":
        return pattern
    if pattern == "zipf-shuffle":
        return f"zipf:theta={float(details):g}"
    zones = _ZONES.fullmatch(details)
    if pattern != "zones-shuffle" or zones is None:
        return None
    pages, writes = (round(100 * float(zones[at]), 6) for at in (3, 4))
    return f"{writes:g}/{pages:g}" if 0 < writes < 100 else None
