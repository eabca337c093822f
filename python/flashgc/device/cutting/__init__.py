"""Power cuts for a command: it runs on a recorded drive, and its promises are checked after cuts.

A command and its notes become a :class:`~flashgc.device.cutting.recording.Recording`. From that a
drive is made as each cut leaves it, and a check of the user looks at its files.

:mod:`.acknowledging` has what the command acknowledged, :mod:`.places` the places of cuts and what
each loses. :mod:`.log` and :mod:`.images` make drives from the log, and :mod:`.checking` checks
them. :mod:`.shrinking` and :mod:`.naming` find and name the smallest cut, :mod:`.keeping` has the
folder that a run goes on from, and :mod:`.running` is the run.
"""
