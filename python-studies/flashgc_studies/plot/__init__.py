"""Pictures of what studies found, made as those of :mod:`flashgc.plot` are."""

from flashgc_studies.plot.foreseen import gap
from flashgc_studies.plot.identification import identified
from flashgc_studies.plot.tuned import tune

__all__ = ["gap", "identified", "tune"]
