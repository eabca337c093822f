"""The gap between a workload on a drive and what foresight could reach: ``flashgc gap``.

:mod:`.couples` names the schemes that know the past, :mod:`.task` checks what was asked for,
:mod:`.gap` runs it (:func:`~.gap.gap`), :mod:`.outcome` has the rows, and :mod:`.curve` reads off
the error of a predictor that is as good.
"""
