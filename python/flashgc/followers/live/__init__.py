"""Zombie Chasing on a living system: a drive under PostgreSQL, and under the micro-benchmark.

A *plan* says how large everything is. An *image* is a drive with its file system, its data and a
history of random writes. It is made once, and every policy gets it by doing the same commands
again. A *session* runs a workload on a copy of an image while the host's hints are followed. A
*study* runs the sessions of all policies in turns, several times, and goes on where it was stopped.
"""
