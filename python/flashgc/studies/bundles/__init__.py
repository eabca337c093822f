"""Bundles: an experiment with its code, its traces and its figures, in one file that verifies.

:mod:`.files` has the files that an experiment names, :mod:`.making` writes a bundle, and
:mod:`.verifying` runs one again.
"""
