"""Garbage collection in flash drives: which policy writes least, how sure is that, how fast.

>>> import flashgc
>>> result = flashgc.run("hotcold:f=0.2,r=0.8", blocks=200, pages_per_block=64, victim="greedy")
>>> result.write_amplification > 1
True

A victim policy written in Python is a function that takes the blocks and returns a block's number:

>>> def fewest_of_five(blocks):
...     return min(blocks.draw(5), key=blocks.count)
>>> ranking = flashgc.compare([fewest_of_five, "random"], blocks=200, pages_per_block=64, runs=2)
>>> ranking.best.policy
'python:fewest_of_five'
"""

from __future__ import annotations

import sys

# Type checkers take this for true. The module `typing` has the name too, but takes time to import,
# and Ctrl-C during that import would print a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from flashgc import model, plot, results
    from flashgc._core import (
        Blocks,
        ConfigError,
        Control,
        DriveError,
        FlashgcError,
        Now,
        PickedBlock,
        PolicyError,
        TraceError,
        version,
    )
    from flashgc._interruptions import Interruption
    from flashgc._schemes import Scheme
    from flashgc.conformance import check_placement, check_policy
    from flashgc.device.drive import Device
    from flashgc.logs.compute import wear
    from flashgc.logs.outcome import Wear
    from flashgc.presets import devices
    from flashgc.ranking import rank
    from flashgc.recording import Recording, trace_record
    from flashgc.registry import (
        allocations,
        arrivals,
        caches,
        endurances,
        fills,
        frontiers,
        generators,
        hints,
        mappings,
        page_caches,
        placements,
        policies,
        request_generators,
        schemes,
        trace_formats,
        trace_layouts,
        vm_schemes,
        wear_levellings,
    )
    from flashgc.reports.paper import paper_table
    from flashgc.reports.printed import PaperTable
    from flashgc.results import Comparison, Rank, Result, Timing, TraceStat
    from flashgc.simulation import (
        Placement,
        PlacementRule,
        Victim,
        VictimPolicy,
        compare,
        run,
    )
    from flashgc.studies.bundles.making import bundle
    from flashgc.studies.bundles.outcome import Bundle, Verified
    from flashgc.studies.bundles.verifying import verify
    from flashgc.studies.finding.find import find
    from flashgc.studies.finding.outcome import Threshold
    from flashgc.studies.fleets.fleet import fleet
    from flashgc.studies.fleets.outcome import Fleet
    from flashgc.studies.gaps.gap import gap
    from flashgc.studies.gaps.outcome import Gap
    from flashgc.studies.identifying.identify import identify
    from flashgc.studies.identifying.outcome import Identification
    from flashgc.studies.qualifying.outcome import Qualification
    from flashgc.studies.qualifying.qualify import qualify
    from flashgc.studies.sweep.outcome import Sweep
    from flashgc.studies.sweep.report import report
    from flashgc.studies.sweep.sweep import sweep
    from flashgc.studies.tuning.outcome import Tuned
    from flashgc.studies.tuning.tune import tune
    from flashgc.traces import Trace, trace_convert, trace_stat, trace_synth

if "IPython" in sys.modules:  # In other programs the engine is imported at its first use.
    from flashgc import _tracebacks

    _tracebacks.shorten()

__all__ = [
    "Blocks",
    "Bundle",
    "Comparison",
    "ConfigError",
    "Control",
    "Device",
    "DriveError",
    "FlashgcError",
    "Fleet",
    "Gap",
    "Identification",
    "Interruption",
    "Now",
    "PaperTable",
    "PickedBlock",
    "Placement",
    "PlacementRule",
    "PolicyError",
    "Qualification",
    "Rank",
    "Recording",
    "Result",
    "Scheme",
    "Sweep",
    "Threshold",
    "Timing",
    "Trace",
    "TraceError",
    "TraceStat",
    "Tuned",
    "Verified",
    "Victim",
    "VictimPolicy",
    "Wear",
    "allocations",
    "arrivals",
    "bundle",
    "caches",
    "check_placement",
    "check_policy",
    "compare",
    "devices",
    "endurances",
    "fills",
    "find",
    "fleet",
    "frontiers",
    "gap",
    "generators",
    "hints",
    "identify",
    "mappings",
    "model",
    "page_caches",
    "paper_table",
    "placements",
    "plot",
    "policies",
    "qualify",
    "rank",
    "report",
    "request_generators",
    "results",
    "run",
    "schemes",
    "sweep",
    "trace_convert",
    "trace_formats",
    "trace_layouts",
    "trace_record",
    "trace_stat",
    "trace_synth",
    "tune",
    "verify",
    "version",
    "vm_schemes",
    "wear",
    "wear_levellings",
]

#: The public names in each module. A module is imported at the first use of one of its names, so
#: that the command starts fast.
_HOMES = {
    "_interruptions": "Interruption",
    "registry": (
        "allocations caches endurances fills frontiers generators hints "
        "mappings page_caches placements policies schemes trace_formats trace_layouts "
        "arrivals request_generators vm_schemes wear_levellings"
    ),
    "presets": "devices",
    "_schemes": "Scheme",
    "results": "results Comparison Rank Result Timing TraceStat",
    "simulation": "Placement PlacementRule Victim VictimPolicy compare run",
    "recording": "Recording trace_record",
    "traces": "Trace trace_convert trace_stat trace_synth",
    "ranking": "rank",
    "studies.fleets.outcome": "Fleet",
    "studies.finding.outcome": "Threshold",
    "studies.gaps.outcome": "Gap",
    "studies.identifying.outcome": "Identification",
    "studies.qualifying.outcome": "Qualification",
    "studies.sweep.outcome": "Sweep",
    "studies.tuning.outcome": "Tuned",
    "reports.paper": "paper_table",
    "reports.printed": "PaperTable",
    "studies.sweep.report": "report",
    "studies.bundles.making": "bundle",
    "studies.bundles.outcome": "Bundle Verified",
    "studies.bundles.verifying": "verify",
    "studies.finding.find": "find",
    "studies.fleets.fleet": "fleet",
    "studies.gaps.gap": "gap",
    "studies.identifying.identify": "identify",
    "studies.qualifying.qualify": "qualify",
    "studies.sweep.sweep": "sweep",
    "studies.tuning.tune": "tune",
    "logs.compute": "wear",
    "logs.outcome": "Wear",
    "conformance": "check_placement check_policy",
    "device.drive": "Device",
    "_core": (
        "Blocks ConfigError Control DriveError FlashgcError Now PickedBlock PolicyError "
        "TraceError version"
    ),
    "model": "model",
    "plot": "plot",
}


def __getattr__(name: str) -> object:
    if name not in __all__ and name != "__version__":
        raise AttributeError(f"module 'flashgc' has no attribute '{name}'")
    # A late import, so that the command handles Ctrl-C before any other import.
    from flashgc._lazy import lazily

    get = lazily("flashgc", _HOMES)
    return get("version")() if name == "__version__" else get(name)  # type: ignore[operator]


def __dir__() -> list[str]:
    return [*globals(), *__all__]
