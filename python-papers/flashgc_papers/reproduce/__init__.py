"""The papers' tables and figures, run again: tasks, cache, verdicts, the page that shows them.

A runner in the paper's folder turns one claim into a task (simulations and computations) and judges
the measured values. ``execute.py`` gives all simulations of all claims to the engine in one call,
each only once. It stores each result as soon as it is complete, under a digest of its configuration
and the version. So an interrupted call loses only the unfinished simulations. No verdict is read
from a file.
"""
