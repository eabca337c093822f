"""Timed drives: from options to the engine's configuration.

``clock`` reads them, with ``timeline``. Presets that give values for options are in
:mod:`flashgc.presets`. Nothing here runs a drive; what a run comes to is in :mod:`flashgc.timing`.
"""

from flashgc.timed.clock import clocks

__all__ = ["clocks"]
