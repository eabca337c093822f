"""The search for a good victim policy, placement and frontier for one workload.

:mod:`.space` has the candidates, :mod:`.course` the runs of each stage, :mod:`.search` the search
by successive halving, and :mod:`.outcome` the ranking. The function is in :mod:`.tune`.
"""
