"""The garbage collection of a real drive, from its measured write amplification over skew.

:mod:`.measurements` reads what was measured, :mod:`.schemes` lists what a drive may do,
:mod:`.curves` simulates, :mod:`.fit` compares, :mod:`.search` decides what is simulated next,
:mod:`.deciding` what is to be measured next, and :mod:`.questions` answers others. :mod:`.found`
holds what came of it, :mod:`.describe` says it in sentences, and :mod:`.open_set` knows how often
they are wrong.
"""
