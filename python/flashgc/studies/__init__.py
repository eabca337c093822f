"""Commands that run many simulations, each a study of its own kind on what :mod:`.study` has.

:mod:`.rounds` runs the simulations of a round in one call of the engine, :mod:`.cells` each in a
call of its own, on cores or on a cluster. Each kind of study has a folder, and :mod:`.plot` draws
what they find.
"""
