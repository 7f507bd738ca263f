-- Who is served, beside the memories. An instruction that was deleted keeps its number.

CREATE TABLE IF NOT EXISTS person (
    number INTEGER PRIMARY KEY,
    person TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS token (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    person TEXT NOT NULL,
    created_at TEXT NOT NULL,
    revoked_at TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS instruction (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    person TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- 1 is everybody's own companion, which needs no row.
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'instruction', 1 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'instruction');

CREATE TABLE IF NOT EXISTS owed (
    number INTEGER PRIMARY KEY,
    person TEXT NOT NULL,
    instruction INTEGER NOT NULL,
    UNIQUE (person, instruction)
) STRICT;

CREATE TABLE IF NOT EXISTS listened (
    number INTEGER PRIMARY KEY,
    person TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE IF NOT EXISTS erased_person (
    id INTEGER PRIMARY KEY,
    erased_at TEXT NOT NULL,
    messages INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    files INTEGER NOT NULL,
    searched INTEGER NOT NULL,
    traces INTEGER NOT NULL
) STRICT;
