"""Identifies the garbage collection of a real drive from write amplification at several skews.

:mod:`.measurements` reads the measurements, :mod:`.schemes` lists possible schemes, :mod:`.curves`
simulates them, and :mod:`.fit` compares curves. :mod:`.search` decides what is simulated next.
:mod:`.deciding` decides what should be measured next, and answers other questions. :mod:`.outcome`
holds the results, with the rate of false answers, and :mod:`.describe` makes sentences of them.
"""
