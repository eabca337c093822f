"""Drives under real software.

A *plan* says how large everything is. An *image* is a drive with its file system, its data and a
history of random writes. The history is made once; for every policy, a drive executes the same
commands again.
"""
