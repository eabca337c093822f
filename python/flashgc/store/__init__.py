"""Stored results: one file holds them for every kind of work, keyed by what was simulated.

:mod:`~flashgc.store.identity` decides which results are of the same simulation, and
:mod:`~flashgc.store.file` is the file. :mod:`~flashgc.store.tidy` makes tidy rows from the file,
and :mod:`~flashgc.store.table` makes rows from other objects.
"""

from flashgc.store.file import Kept, Store
from flashgc.store.identity import Contents, check_unchanged, key_of

__all__ = ["Contents", "Kept", "Store", "check_unchanged", "key_of"]
