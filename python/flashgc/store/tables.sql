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
