"""The tables of a file of results, and the upgrade from an earlier format.

A row has a checksum over its columns, which include its key. One of the columns is the checksum of
its documents, which also covers the key. ``state`` has the number of rows and the sum of their
checksums, so that a missing row is detected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashgc.store.query import COLUMNS

#: The columns that the checksum of a row covers, in this order.
SUMMED = (*COLUMNS, "document")

#: Columns that SQLite stores as floating point, even for whole numbers.
_REAL = ("made", "seconds", "spare", "write_amplification", "half")


def of_documents(key: str, documents: Sequence[bytes | None]) -> str:
    """Return the checksum of the compressed documents of the result with this key."""
    hasher = hashlib.blake2b(key.encode(errors="replace"), digest_size=16)
    for document in documents:
        hasher.update(b"-" if document is None else b"%d:%b" % (len(document), document))
    return hasher.hexdigest()


def of_row(row: Mapping[str, Any]) -> int:
    """Return the checksum of a row of results, from 0 to 2^63 - 1."""
    values = [
        float(row[name]) if name in _REAL and row[name] is not None else row[name]
        for name in SUMMED
    ]
    text = json.dumps(values, default=repr).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


#: The number of the format.
FORM = 4

TABLES = Path(__file__).with_name("tables.sql").read_text(encoding="utf-8")

#: Statements that upgrade format 3 to format 4; the checksums are computed afterwards.
FROM_3 = (
    "ALTER TABLE results ADD COLUMN document TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE results ADD COLUMN sum INTEGER NOT NULL DEFAULT 0",
    "DELETE FROM files",
    "CREATE TABLE state (results INTEGER NOT NULL, total INTEGER NOT NULL)",
    "INSERT INTO state VALUES (0, 0)",
)

#: All objects of a file, by kind and name.
OBJECTS = {
    ("index", "sqlite_autoindex_files_1"),
    ("index", "sqlite_autoindex_results_1"),
    ("table", "documents"),
    ("table", "files"),
    ("table", "results"),
    ("table", "state"),
}

#: A query that computes the values of ``state`` from the rows.
COUNTED = "SELECT count(*), coalesce(sum(sum & 4294967295), 0) FROM results"
