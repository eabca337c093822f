"""The tables of a file of results, and the changes from an earlier form of them.

A row has a check sum over its columns, its key among them, and one column is the check sum of its
documents, bound to the key. ``state`` has the number of rows and the sum of their check sums, so a
row that vanishes is missed.
"""

#: Their form.
FORM = 4

TABLES = """
CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    made REAL NOT NULL,
    seconds REAL NOT NULL,
    version TEXT NOT NULL,
    engine TEXT NOT NULL,
    work TEXT NOT NULL,
    workload TEXT,
    victim TEXT,
    placement TEXT,
    frontier TEXT,
    mapping TEXT,
    drive TEXT,
    spare REAL,
    blocks INTEGER,
    seed INTEGER,
    write_amplification REAL,
    half REAL,
    digest TEXT,
    reason TEXT,
    place INTEGER NOT NULL,
    document TEXT NOT NULL DEFAULT '',
    sum INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY REFERENCES results ON DELETE CASCADE,
    config BLOB NOT NULL,
    asked BLOB,
    result BLOB
);
CREATE TABLE files (
    name TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (name, bytes, changed)
);
CREATE TABLE state (
    results INTEGER NOT NULL,
    total INTEGER NOT NULL
);
INSERT INTO state VALUES (0, 0)
"""

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
