"""The search for the victim policy, placement and frontier that suit one workload.

:mod:`.space` says what there is to choose from, :mod:`.course` what is run at each stage,
:mod:`.search` does it by successive halving, and :mod:`.outcome` ranks. The function is in
:mod:`.tune`.
"""
