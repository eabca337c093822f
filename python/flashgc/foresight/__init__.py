"""The gap between a workload on a drive and what foresight could reach: ``flashgc gap``.

:mod:`flashgc.foresight.couples` names the schemes that know the past, :mod:`flashgc.foresight.task`
checks what was asked for, :mod:`flashgc.foresight.gap` runs it (:func:`flashgc.gap`),
:mod:`flashgc.foresight.outcome` has the rows, and :mod:`flashgc.foresight.curve` reads off the
error of a predictor that is as good.
"""
