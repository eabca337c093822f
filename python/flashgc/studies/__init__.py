"""Commands that run many simulations. Each is a study of its own kind, based on :mod:`.study`.

:mod:`.rounds` runs the simulations of a round in one call of the engine. :mod:`.cells` runs each in
its own call, on cores or on a cluster. Each kind of study has a folder, and :mod:`.plot` draws the
results.
"""
