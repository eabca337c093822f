"""Grids of experiments: their cells, the runs of these, the outcomes, and a report.

:mod:`.grid` has the axes and cells of a file, :mod:`.sweep` plans and runs the cells,
:mod:`.outcome` has their results, and :mod:`.report` makes a page of them.
"""
