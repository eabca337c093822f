"""Results that are kept: one file of them, for every kind of work, by what was simulated.

:mod:`~flashgc.store.identity` says which results are of the same simulation,
:mod:`~flashgc.store.file` is the file. :mod:`~flashgc.store.tidy` makes tidy rows of it, and
:mod:`~flashgc.store.table` of all else that has rows.
"""

from flashgc.store.file import Kept, Store
from flashgc.store.identity import Contents, check_unchanged, key_of

__all__ = ["Contents", "Kept", "Store", "check_unchanged", "key_of"]
