"""Hints from real software, on the pages of the stored drive that the host will soon overwrite.

:mod:`.postgres` follows the server's log, :mod:`.page_cache` the kernel's page cache, and
:mod:`.link` is their link to the drive.
"""
