"""Fleets: a trace of many volumes, each on a drive of its own size, and how they differ.

:mod:`.volumes` has the volumes of a trace, :mod:`.cells` a cell for each volume and policy, and
:mod:`.outcome` and :mod:`.distribution` how they differ. A cell copies the requests of its volume
to a file for as long as it runs. The engine reads that file instead of the trace; the configuration
is that of the trace with ``--devices NUMBER``, so digits and digest are those of the volume run
alone. The key of a kept result has the digest of the volume's requests, which is made while
splitting.
"""
