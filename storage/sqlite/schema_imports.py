"""The step that lays down what was brought along from other programs, as SQL. Only text stands here.

A message is known by two digests, of its conversation and of itself. They outlive its turn, so that what was erased
does not come back with the next import; a row without a message says so of the title. ``speaker`` names who spoke where
that was neither the person nor the companion; ``undated`` marks a turn of which nobody knows when it was said, and
whose ``timestamp`` is that of its neighbours.
"""

from __future__ import annotations

IMPORTED = """
ALTER TABLE conversation ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN undated INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_began ON session (julianday(start_timestamp), position);

CREATE TABLE import_source (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    reader INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'done')),
    conversations INTEGER NOT NULL DEFAULT 0,
    messages INTEGER NOT NULL DEFAULT 0,
    stored_at TEXT NOT NULL,
    UNIQUE (kind, sha256)
);

CREATE TABLE imported_session (
    session_id TEXT PRIMARY KEY REFERENCES session (session_id) ON DELETE CASCADE,
    source INTEGER NOT NULL,
    role_play INTEGER NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE INDEX imported_session_due ON imported_session (due) WHERE due;
CREATE INDEX imported_session_of_source ON imported_session (source);

CREATE TABLE imported_message (
    conversation TEXT NOT NULL,
    message TEXT NOT NULL,
    turn INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (conversation, message)
) WITHOUT ROWID;
CREATE INDEX imported_message_of_turn ON imported_message (turn);
"""
