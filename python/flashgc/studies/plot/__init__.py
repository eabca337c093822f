"""Pictures of what studies found, made as those of :mod:`flashgc.plot` are.

``from flashgc.studies import plot`` imports them.
"""

from flashgc.studies.plot.foreseen import gap
from flashgc.studies.plot.identification import identified
from flashgc.studies.plot.tuned import tune

__all__ = ["gap", "identified", "tune"]
