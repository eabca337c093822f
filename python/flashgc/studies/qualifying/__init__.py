"""``qualify``: the industry's tests of a drive, on a simulated one.

:mod:`~flashgc.studies.qualifying.lives` declares the tests of SNIA's Performance Test
Specification that have rounds. Each is one life of a drive: a fresh drive is preconditioned, then
round follows round. :mod:`~flashgc.studies.qualifying.requests` makes the requests of a life as one
trace, in which every cell of a round has a stream of its own, so that a single run has a result for
each cell.
:mod:`~flashgc.studies.qualifying.steady` has SNIA's rule. :mod:`~flashgc.studies.qualifying.phases`
adds rounds until it is met, :mod:`~flashgc.studies.qualifying.single` has the tests that are single
runs, and :mod:`~flashgc.studies.qualifying.sheet` the page.
"""
