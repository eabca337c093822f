"""Logs of real drives (SMART, OCP, placement, vendors' pages), and what the drive's writes cost.

``text``, ``formats``, ``sata``, ``pages`` and ``table`` turn a file into logs
(:class:`flashgc.logs.log.Log`). ``reading`` sorts them by time, ``counts`` has the arithmetic of
rounded counts, and ``compute`` makes the result. ``drive`` runs the programs that read a drive. It
simulates nothing.
"""
