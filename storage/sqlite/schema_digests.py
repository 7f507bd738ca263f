"""The step that lays down digests, as SQL. Only text stands here.

``row_digest`` has the digest of the texts of each row, by which a bit that changed on the disk is noticed; rows that
were written since wait in ``changed_row``. ``stored_message`` has the salted digests by which an import recognises a
message that was ever stored; they outlive their turn (see ``digests``).
"""

from __future__ import annotations

DIGESTS = """
CREATE TABLE row_digest (
    name TEXT NOT NULL,
    key NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE TABLE changed_row (name TEXT NOT NULL, key NOT NULL, PRIMARY KEY (name, key)) WITHOUT ROWID;

CREATE TABLE stored_message (
    digest TEXT NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (digest, turn)
) WITHOUT ROWID;
CREATE INDEX stored_message_of_turn ON stored_message (turn);
"""
