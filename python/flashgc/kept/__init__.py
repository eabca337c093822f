"""Results that are kept: one file of them, for every kind of work, by what was simulated.

:mod:`~flashgc.kept.identity` says which results are of the same simulation,
:mod:`~flashgc.kept.store` is the file.
"""

from flashgc.kept.identity import Contents, check_unchanged, key_of
from flashgc.kept.store import Kept, Store

__all__ = ["Contents", "Kept", "Store", "check_unchanged", "key_of"]
