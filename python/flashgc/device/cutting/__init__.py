"""Power cuts for a command: it runs on a recorded drive, and its promises are checked after cuts.

A command and its notes become a :class:`~flashgc.device.cutting.recording.Recording`. From that a
drive is made as each cut leaves it, and a check of the user looks at its files.
"""
