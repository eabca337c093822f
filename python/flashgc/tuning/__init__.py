"""The search for the victim policy, placement and frontier that suit one workload.

:mod:`flashgc.tuning.space` says what there is to choose from, :mod:`flashgc.tuning.course` what is
run at each stage, :mod:`flashgc.tuning.search` does it by successive halving, and
:mod:`flashgc.tuning.outcome` ranks. :func:`flashgc.tune` is in :mod:`flashgc.tuning.tune`.
"""
