"""Power cuts for a command: it runs on a recorded drive, and a check runs after each cut.

A run of the command and its acknowledgements become a
:class:`~flashgc.device.cutting.recording.Recording`. From it, a drive is made in the state that
each cut leaves, and the user's check looks at its files.

:mod:`.recording` runs the command and keeps what it acknowledged. :mod:`.log` reads the drive's
log. :mod:`.checking` mounts and checks a drive after a cut. :mod:`.keeping` has the folder from
which a stopped run goes on. :mod:`.running` chooses the cuts, makes the drives and finds the
smallest cut that breaks a promise.
"""
