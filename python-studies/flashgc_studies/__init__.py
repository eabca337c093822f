"""Questions above one experiment, each answered by many simulations.

>>> from flashgc_studies import find
>>> found = find("spare", "WA<3", low="10%", high="30%", step="5%", runs=2, blocks=64,
...              pages_per_block=16, writes="4x")
>>> found.value
'20%'
"""

from __future__ import annotations

TYPE_CHECKING = False  # As in flashgc.

if TYPE_CHECKING:
    from flashgc_studies import plot
    from flashgc_studies.finding.find import find
    from flashgc_studies.finding.outcome import Found
    from flashgc_studies.fleets.fleet import fleet
    from flashgc_studies.fleets.outcome import Fleet
    from flashgc_studies.gaps.gap import gap
    from flashgc_studies.gaps.outcome import Gap
    from flashgc_studies.identifying.found import Identification
    from flashgc_studies.identifying.identify import identify
    from flashgc_studies.tuning.outcome import Tuned
    from flashgc_studies.tuning.tune import tune

__all__ = [
    "Fleet",
    "Found",
    "Gap",
    "Identification",
    "Tuned",
    "find",
    "fleet",
    "gap",
    "identify",
    "plot",
    "tune",
]

#: The home of each name; imported when it is first used, so that the command starts fast.
_HOMES = {
    "Fleet": "fleets.outcome",
    "Found": "finding.outcome",
    "Gap": "gaps.outcome",
    "Identification": "identifying.found",
    "Tuned": "tuning.outcome",
    "find": "finding.find",
    "fleet": "fleets.fleet",
    "gap": "gaps.gap",
    "identify": "identifying.identify",
    "tune": "tuning.tune",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'flashgc_studies' has no attribute '{name}'")
    import importlib

    if name == "plot":
        return importlib.import_module("flashgc_studies.plot")
    found = getattr(importlib.import_module(f"flashgc_studies.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
