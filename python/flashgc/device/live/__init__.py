"""Drives under living software.

A *plan* says how large everything is. An *image* is a drive with its file system, its data and a
history of random writes. It is made once, and every policy gets it by doing the same commands
again.
"""
