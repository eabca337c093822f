"""Check sums of kept results, each bound to the key of its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from flashgc.store.query import COLUMNS

#: The columns that the check sum of a row covers, in this order.
SUMMED = (*COLUMNS, "document")

#: Numbers that SQLite keeps as floating point, whatever they were.
_REAL = ("made", "seconds", "spare", "write_amplification", "half")


def of_documents(key: str, documents: Sequence[bytes | None]) -> str:
    """Return the check sum of the packed documents of the result with this key."""
    found = hashlib.blake2b(key.encode(errors="replace"), digest_size=16)
    for document in documents:
        found.update(b"-" if document is None else b"%d:%b" % (len(document), document))
    return found.hexdigest()


def of_row(row: Mapping[str, Any]) -> int:
    """Return the check sum of a row of results, from 0 to 2^63 - 1."""
    values = [
        float(row[name]) if name in _REAL and row[name] is not None else row[name]
        for name in SUMMED
    ]
    text = json.dumps(values, default=repr).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
