"""The tables of a file of results, and the changes from an earlier form of them.

A row has a check sum over its columns, its key among them, and one column is the check sum of its
documents, bound to the key. ``state`` has the number of rows and the sum of their check sums, so a
row that vanishes is missed.
"""

from pathlib import Path

#: Their form.
FORM = 4

TABLES = Path(__file__).with_name("tables.sql").read_text(encoding="utf-8")

#: The statements that make form 4 of form 3; the check sums follow.
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

#: The state as it follows from the rows.
COUNTED = "SELECT count(*), coalesce(sum(sum & 4294967295), 0) FROM results"
