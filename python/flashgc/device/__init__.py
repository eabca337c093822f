"""The stored drive: a drive that keeps data, in one file, under a real file system or database.

:class:`flashgc.Device` opens one in this process. Other hosts reach it through a file (FUSE) or a
socket (NBD), which :mod:`flashgc.device.serving` runs; :mod:`flashgc.device.up` puts a file system
on it, and :mod:`flashgc.device.execution` runs a command there.
"""
