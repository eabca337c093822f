"""Fleets: a trace of many volumes, each on a drive of its own size, and how the drives differ.

:mod:`.volumes` has the volumes of a trace, :mod:`.fleet` runs a cell for each volume and policy,
and :mod:`.outcome` shows how they differ. A cell copies the requests of its volume to a file while
it runs, and the engine reads that file instead of the trace. The configuration is that of the trace
with ``--devices NUMBER``, so that results and digest equal those of the volume run alone. The key
of a stored result has the digest of the volume's requests, which is computed during the split.
"""
