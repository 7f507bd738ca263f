"""The tables, as SQL: what each step of ``migrations`` lays down. Only text stands here."""

from __future__ import annotations

from typing import Literal

WordTable = Literal["turn", "summary", "fact"]
WORD_TABLES: tuple[WordTable, ...] = ("turn", "summary", "fact")

#: Between the places of two sessions, and of two turns of a session, as they are stored one after another.
SESSION_SPACE = 1 << 20
TURN_SPACE = 512

#: Every category but separators and controls belongs to a token: the tokens are cut before they come here.
_TOKENIZER = "unicode61 remove_diacritics 0 categories ''L* N* M* P* S* Co Cn''"


def _word_table_schema(table: WordTable) -> str:
    return f"""
CREATE VIRTUAL TABLE {table}_words USING fts5(tokens, tokenize='{_TOKENIZER}');
CREATE VIRTUAL TABLE {table}_postings USING fts5vocab({table}_words, 'instance');
CREATE TABLE {table}_length (seq INTEGER PRIMARY KEY, length INTEGER NOT NULL, marks INTEGER NOT NULL);
"""


_WORD_TABLES = "".join(_word_table_schema(table) for table in WORD_TABLES)

_FACTS = """
CREATE TABLE fact (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE fact_turn (
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    PRIMARY KEY (fact, turn)
) WITHOUT ROWID;
CREATE INDEX fact_of_turn ON fact_turn (turn);
"""

FIRST = f"""
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    start_timestamp TEXT NOT NULL,
    end_timestamp TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'archived')),
    current_conv_count INTEGER NOT NULL DEFAULT 0 CHECK (current_conv_count >= 0)
);
CREATE UNIQUE INDEX one_active_session ON session (status) WHERE status = 'active';

CREATE TABLE conversation (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    round INTEGER NOT NULL,
    finish TEXT NOT NULL DEFAULT 'stop' CHECK (finish IN ('stop', 'length', 'interrupted')),
    folded INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session_id, round, role)
);
CREATE INDEX conversation_of_session ON conversation (session_id, seq);

CREATE TABLE summary (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL UNIQUE REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    summary TEXT NOT NULL,
    upto_round INTEGER NOT NULL
);

CREATE TABLE embedding (
    text_id TEXT NOT NULL,
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (text_id, model)
);

CREATE TABLE pending (
    text_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('conversation', 'summary')),
    failures INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

CREATE TABLE in_flight (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    session_id TEXT NOT NULL REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    partial TEXT NOT NULL DEFAULT ''
);

CREATE TABLE persona (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    image TEXT NOT NULL CHECK (image IN ('self', 'user')),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('model', 'hand', 'setup', 'restore', 'erase')),
    session_id TEXT
);

CREATE TABLE pin (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    image TEXT NOT NULL CHECK (image IN ('self', 'user')),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE TABLE save_stage (
    session_id TEXT NOT NULL REFERENCES session (session_id),
    stage TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (session_id, stage)
) WITHOUT ROWID;

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

{_WORD_TABLES}
{_FACTS}
"""

#: Several sessions may be active, each with what is in flight; and everything stands where it happened, not where it
#: was stored. Places are spaced, so that something can be put between two of them.
SECOND = f"""
DROP INDEX one_active_session;
ALTER TABLE session ADD COLUMN stored_at TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
UPDATE session SET stored_at = start_timestamp, position = number * {SESSION_SPACE};
CREATE INDEX session_in_time ON session (position);
CREATE INDEX session_by_status ON session (status, position);

ALTER TABLE conversation ADD COLUMN stored_at TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
UPDATE conversation SET stored_at = timestamp, position = (2 * round + (role = 'assistant')) * {TURN_SPACE};
DROP INDEX conversation_of_session;
CREATE INDEX conversation_in_time ON conversation (session_id, position);

ALTER TABLE summary ADD COLUMN stored_at TEXT NOT NULL DEFAULT '';
UPDATE summary SET stored_at = timestamp;

ALTER TABLE in_flight RENAME TO in_flight_of_one;
CREATE TABLE in_flight (
    session_id TEXT PRIMARY KEY REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    partial TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
INSERT INTO in_flight SELECT session_id, timestamp, text, partial FROM in_flight_of_one;
DROP TABLE in_flight_of_one;
"""

#: What an erasure left to be made anew; what a person asked to have forgotten; quotations that were found in a memory
#: when they were stored; and whether a pin put its line into the image.
THIRD = """
CREATE TABLE renewal (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL CHECK (what IN ('summary', 'self', 'user')),
    session_id TEXT NOT NULL REFERENCES session (session_id) ON DELETE CASCADE,
    timestamp TEXT NOT NULL,
    UNIQUE (what, session_id)
);
ALTER TABLE conversation ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN quoted TEXT NOT NULL DEFAULT '';
CREATE INDEX conversation_withheld ON conversation (withheld) WHERE withheld;
ALTER TABLE pin ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
"""

#: What the built-in stand-in said is nobody's words; what it said before there was this mark is known by its phrases.
STANDIN_MARKED = """
ALTER TABLE conversation ADD COLUMN standin INTEGER NOT NULL DEFAULT 0;
UPDATE conversation SET standin = 1 WHERE role = 'assistant' AND (
    text LIKE '%I am only the built-in stand-in; no model is connected yet.'
    OR text LIKE '%I am only the built-in stand-in: no model is connected, so I cannot really answer.'
    OR text LIKE '%我只是内置的替身，还没有接上模型。'
    OR text LIKE '%我只是内置的替身，还没有接上模型，不能真正回答。'
);
"""

#: What is known: notes and facts with the turns they rest on, what happened to each fact, and which window read a turn.
#: A fact that was learned before has no window: it finds its turns and says nothing. The last columns of a fact, from
#: ``since`` on, follow from it, from its events and from what else stands in its slot.
KNOWN = """
CREATE TABLE note (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (session_id),
    window TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    topic TEXT NOT NULL,
    importance INTEGER NOT NULL CHECK (importance BETWEEN 1 AND 10),
    memory_type TEXT NOT NULL CHECK (memory_type IN ('active', 'passive')),
    private INTEGER NOT NULL,
    stored_at TEXT NOT NULL
);
CREATE INDEX note_of_session ON note (session_id);
CREATE INDEX note_of_window ON note (window);
CREATE TABLE note_turn (
    note INTEGER NOT NULL REFERENCES note (seq) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    PRIMARY KEY (note, turn)
) WITHOUT ROWID;
CREATE INDEX note_of_turn ON note_turn (turn);

ALTER TABLE fact ADD COLUMN note INTEGER REFERENCES note (seq) ON DELETE SET NULL;
ALTER TABLE fact ADD COLUMN window TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN attribute TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN value TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN slot_subject TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN slot_attribute TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN single INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact ADD COLUMN about TEXT NOT NULL DEFAULT 'other'
    CHECK (about IN ('person', 'companion', 'other'));
ALTER TABLE fact ADD COLUMN stance TEXT NOT NULL DEFAULT 'stated'
    CHECK (stance IN ('stated', 'planned', 'wished', 'supposed', 'joked'));
ALTER TABLE fact ADD COLUMN said TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN keywords TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN persons TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN entities TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN location TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN start_day TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN end_day TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN by_hand INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact ADD COLUMN since TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN until TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN replaced_by TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN corrected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact ADD COLUMN doubtful_since TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact ADD COLUMN decided TEXT NOT NULL DEFAULT 'model' CHECK (decided IN ('model', 'hand'));
ALTER TABLE fact ADD COLUMN seen TEXT NOT NULL DEFAULT '';
CREATE INDEX fact_in_slot ON fact (slot_subject, slot_attribute) WHERE window <> '';
CREATE INDEX fact_of_window ON fact (window) WHERE window <> '';
CREATE INDEX fact_of_note ON fact (note) WHERE note IS NOT NULL;
CREATE UNIQUE INDEX one_current_value ON fact (slot_subject, slot_attribute)
    WHERE single = 1 AND stance = 'stated' AND until = '' AND corrected = 0;

CREATE TABLE relation (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    source TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    UNIQUE (fact, source, relation, target)
);

CREATE TABLE fact_event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    what TEXT NOT NULL CHECK (what IN
        ('confirmed', 'changed', 'ended', 'corrected', 'doubted', 'put_right', 'kept', 'let_go')),
    moment TEXT NOT NULL,
    by_fact INTEGER REFERENCES fact (seq) ON DELETE CASCADE,
    window TEXT NOT NULL,
    stored_at TEXT NOT NULL
);
CREATE INDEX event_of_fact ON fact_event (fact);
CREATE INDEX event_by_fact ON fact_event (by_fact) WHERE by_fact IS NOT NULL;
CREATE INDEX event_of_window ON fact_event (window) WHERE window <> '';

ALTER TABLE conversation ADD COLUMN window TEXT NOT NULL DEFAULT '';
CREATE INDEX conversation_of_window ON conversation (window) WHERE window <> '';
CREATE TABLE read_window (
    name TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (session_id) ON DELETE CASCADE,
    saving INTEGER NOT NULL,
    stored_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX read_window_of_session ON read_window (session_id);
CREATE TABLE kept_reply (
    window TEXT NOT NULL,
    stage TEXT NOT NULL,
    base TEXT NOT NULL,
    reply TEXT NOT NULL,
    stored_at TEXT NOT NULL,
    PRIMARY KEY (window, stage)
) WITHOUT ROWID;

CREATE TABLE line_evidence (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    image TEXT NOT NULL CHECK (image IN ('self', 'user')),
    version INTEGER NOT NULL REFERENCES persona (version),
    line TEXT NOT NULL,
    day TEXT NOT NULL,
    importance INTEGER NOT NULL,
    UNIQUE (image, line, version)
);
CREATE TABLE line_turn (
    line INTEGER NOT NULL REFERENCES line_evidence (seq) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    PRIMARY KEY (line, turn)
) WITHOUT ROWID;
CREATE INDEX line_of_turn ON line_turn (turn);

CREATE TABLE undoable_save (
    session_id TEXT PRIMARY KEY REFERENCES session (session_id) ON DELETE CASCADE,
    windows TEXT NOT NULL,
    images TEXT NOT NULL,
    summary TEXT NOT NULL,
    context INTEGER,
    last_turn INTEGER NOT NULL,
    stored_at TEXT NOT NULL
) WITHOUT ROWID;
"""

#: Sessions of other doors than the terminal; which of their clients' messages are stored; what is to be read; and
#: what the chat API says of a note beyond the note. In ``held_round`` a ``chain`` is the digest of a message, which
#: outlives it, so that what was erased does not come back with a history that is sent again; in ``cleaning`` it names
#: the last message of a stretch.
DOORS = """
ALTER TABLE session ADD COLUMN door TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN door_key TEXT;
CREATE INDEX session_of_door ON session (door, door_key, position) WHERE door <> '';

CREATE TABLE held_round (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chain TEXT NOT NULL,
    session_id TEXT NOT NULL,
    text_id TEXT NOT NULL,
    message INTEGER NOT NULL,
    stored_at TEXT NOT NULL
);
CREATE INDEX held_round_of_chain ON held_round (chain);
CREATE INDEX held_round_of_session ON held_round (session_id);
CREATE INDEX held_round_of_turn ON held_round (text_id);

CREATE TABLE cleaning (
    chain TEXT NOT NULL,
    conversation_round INTEGER NOT NULL CHECK (conversation_round > 0),
    door_key TEXT NOT NULL,
    chains TEXT NOT NULL,
    stored_at TEXT NOT NULL,
    done_at TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (chain, conversation_round)
) WITHOUT ROWID;
CREATE INDEX cleaning_left ON cleaning (stored_at) WHERE done_at = '';

CREATE TABLE note_deletion (
    note INTEGER PRIMARY KEY REFERENCES note (seq) ON DELETE CASCADE,
    deleted_at TEXT NOT NULL
);
CREATE TABLE note_vector (
    note INTEGER NOT NULL REFERENCES note (seq) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (note, model)
);
CREATE INDEX ix_user_system_created ON note (stored_at);
CREATE INDEX ix_user_system_deleted ON note_deletion (deleted_at);
CREATE VIEW conversation_memories AS SELECT
    n.seq AS id,
    (SELECT value FROM meta WHERE key = 'person') AS user_id,
    (SELECT value FROM meta WHERE key = 'instruction') AS system_instruction_id,
    coalesce((SELECT max(h.message) / 50 + 1 FROM note_turn t JOIN conversation c ON c.seq = t.turn
        JOIN held_round h ON h.text_id = c.text_id WHERE t.note = n.seq), 0) AS conversation_round,
    n.text AS summary,
    (SELECT json_group_array(f.text) FROM (SELECT text FROM fact WHERE note = n.seq AND NOT corrected
        ORDER BY seq) f) AS key_points,
    n.importance AS importance_score,
    n.memory_type AS memory_type,
    1 AS should_remember,
    (SELECT v.vector FROM note_vector v WHERE v.note = n.seq ORDER BY v.rowid DESC LIMIT 1) AS embedding,
    n.stored_at AS created_at,
    coalesce(d.deleted_at, n.stored_at) AS updated_at,
    d.note IS NOT NULL AS is_deleted,
    d.deleted_at AS deleted_at
FROM note n LEFT JOIN note_deletion d ON d.note = n.seq;
"""
