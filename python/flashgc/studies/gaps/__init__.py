"""The gap between a workload on a drive and what foresight could reach: ``flashgc gap``.

:mod:`.online` has the schemes that know only the past, :mod:`.task` checks the options,
:mod:`.gap` runs the task (:func:`~.gap.gap`), and :mod:`.outcome` has the rows of the result, with
the error of a predictor that is as good as a scheme.
"""
