"""Hints from real software: it tells the stored drive which pages its host will soon overwrite.

:mod:`.postgres` follows the server's log, :mod:`.page_cache` the kernel's page cache, and
:mod:`.link` is their link to the drive.
"""
