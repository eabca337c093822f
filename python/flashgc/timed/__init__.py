"""Timed drives: from options to the engine's configuration.

``clock`` reads them, with ``timeline``. Presets that give values for options are in
:mod:`flashgc.presets`. Nothing here runs a drive; the results of runs are in
:mod:`flashgc.timing`.
"""

from flashgc.timed.clock import clocks

__all__ = ["clocks"]
