"""Grids of experiments: what the cells are, where they run, what came of them, their report.

:mod:`.grid` has the axes and cells of a file, :mod:`.plan` the cells to run, :mod:`.outcome` their
results, and :mod:`.report` the page of them.
"""
