-- One person's memory. What each table holds is said by the module of `storage/` that reads and writes it.
-- Numbers of rows come from `counter`; flags are 0 or 1; an `instant` is a moment in seconds since 1970, beside the
-- timestamp that a person reads.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions, messages, summaries.

CREATE TABLE chapter (
    seq INTEGER PRIMARY KEY,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT REFERENCES session (session_id) ON DELETE CASCADE,
    height INTEGER NOT NULL CHECK (height >= 0),
    parent INTEGER REFERENCES chapter (seq) ON DELETE SET NULL,
    text TEXT NOT NULL,
    evidence TEXT NOT NULL DEFAULT '',
    stored_at TEXT NOT NULL
) STRICT;
CREATE INDEX chapter_of_parent ON chapter (parent) WHERE parent IS NOT NULL;
CREATE INDEX chapter_of_session ON chapter (session_id) WHERE session_id IS NOT NULL;

CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    start_timestamp TEXT NOT NULL,
    end_timestamp TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'archived')),
    current_conv_count INTEGER NOT NULL DEFAULT 0 CHECK (current_conv_count >= 0),
    stored_at TEXT NOT NULL,
    position INTEGER NOT NULL,
    instant REAL NOT NULL,
    client TEXT NOT NULL DEFAULT '',
    client_key TEXT,
    chapter INTEGER REFERENCES chapter (seq) ON DELETE SET NULL
) STRICT;
CREATE INDEX session_in_time ON session (position);
CREATE INDEX session_by_status ON session (status, position);
CREATE INDEX session_began ON session (instant, position);
CREATE INDEX session_of_client ON session (client, client_key, position) WHERE client <> '';
CREATE INDEX session_of_chapter ON session (chapter) WHERE chapter IS NOT NULL;

CREATE TABLE conversation (
    seq INTEGER PRIMARY KEY,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    instant REAL NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    round INTEGER NOT NULL,
    position INTEGER NOT NULL,
    stored_at TEXT NOT NULL,
    finish TEXT NOT NULL DEFAULT 'stop' CHECK (finish IN ('stop', 'length', 'interrupted')),
    compacted INTEGER NOT NULL DEFAULT 0 CHECK (compacted IN (0, 1)),
    hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
    demo INTEGER NOT NULL DEFAULT 0 CHECK (demo IN (0, 1)),
    undated INTEGER NOT NULL DEFAULT 0 CHECK (undated IN (0, 1)),
    quoted TEXT NOT NULL DEFAULT '',
    speaker TEXT NOT NULL DEFAULT '',
    window_id TEXT NOT NULL DEFAULT '',
    chapter INTEGER REFERENCES chapter (seq) ON DELETE SET NULL,
    UNIQUE (session_id, round, role)
) STRICT;
CREATE INDEX conversation_in_time ON conversation (session_id, position);
CREATE INDEX conversation_hidden ON conversation (seq) WHERE hidden = 1;
CREATE INDEX conversation_of_window ON conversation (window_id) WHERE window_id <> '';
CREATE INDEX conversation_of_chapter ON conversation (chapter) WHERE chapter IS NOT NULL;

-- The columns of all messages of a block that recall needs, packed; see `Messages.seal`. Gone with the first change.

CREATE TABLE message_block (number INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;

CREATE TABLE message_metadata (
    message INTEGER NOT NULL REFERENCES conversation (seq) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    number REAL,
    PRIMARY KEY (message, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX metadata_of_key ON message_metadata (key, number);

CREATE TABLE summary (
    seq INTEGER PRIMARY KEY,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL UNIQUE REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    summary TEXT NOT NULL,
    upto_round INTEGER NOT NULL,
    stored_at TEXT NOT NULL
) STRICT;

CREATE TABLE in_flight (
    session_id TEXT PRIMARY KEY REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    partial TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TABLE undoable_save (
    session_id TEXT PRIMARY KEY REFERENCES session (session_id) ON DELETE CASCADE,
    following TEXT NOT NULL,
    windows TEXT NOT NULL,
    personas TEXT NOT NULL,
    summary TEXT NOT NULL,
    context INTEGER,
    last_message INTEGER NOT NULL,
    instant REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- What is still to be done, and results of steps that are done before all of it is.

CREATE TABLE job (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL DEFAULT '',
    generation INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    priority INTEGER NOT NULL DEFAULT 0,
    program TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- What one program alone does or uses, as long as it lives.

CREATE TABLE claim (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    program TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    step TEXT NOT NULL,
    base TEXT NOT NULL DEFAULT '',
    result TEXT NOT NULL,
    stored_at TEXT NOT NULL,
    PRIMARY KEY (kind, key, step)
) STRICT, WITHOUT ROWID;

-- The vector of every text, and the texts that still need one.

CREATE TABLE embedding (
    number INTEGER PRIMARY KEY,
    text_id TEXT NOT NULL,
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL CHECK (length(vector) = 2 * dimension),
    UNIQUE (text_id, model)
) STRICT;

CREATE TABLE pending (
    text_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('conversation', 'summary')),
    failures INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TABLE index_file (path TEXT PRIMARY KEY, checksum TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Notes and facts, each with the messages it rests on, and what happened to each fact. The columns of a fact from
-- `since` on follow from its events and from the other facts in its slot.

CREATE TABLE note (
    seq INTEGER PRIMARY KEY,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (session_id),
    window_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    topic TEXT NOT NULL,
    importance INTEGER NOT NULL CHECK (importance BETWEEN 1 AND 10),
    memory_type TEXT NOT NULL CHECK (memory_type IN ('active', 'passive')),
    private INTEGER NOT NULL CHECK (private IN (0, 1)),
    stored_at TEXT NOT NULL,
    instant REAL NOT NULL
) STRICT;
CREATE INDEX note_of_session ON note (session_id);
CREATE INDEX note_of_window ON note (window_id);
CREATE INDEX ix_user_system_created ON note (stored_at);

CREATE TABLE note_message (
    note INTEGER NOT NULL REFERENCES note (seq) ON DELETE CASCADE,
    message INTEGER NOT NULL,
    PRIMARY KEY (note, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX note_of_message ON note_message (message);

CREATE TABLE fact (
    seq INTEGER PRIMARY KEY,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES session (session_id),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    note INTEGER REFERENCES note (seq) ON DELETE SET NULL,
    window_id TEXT NOT NULL DEFAULT '',
    subject TEXT NOT NULL DEFAULT '',
    attribute TEXT NOT NULL DEFAULT '',
    value TEXT NOT NULL DEFAULT '',
    slot_subject TEXT NOT NULL DEFAULT '',
    slot_attribute TEXT NOT NULL DEFAULT '',
    single INTEGER NOT NULL DEFAULT 0 CHECK (single IN (0, 1)),
    about TEXT NOT NULL DEFAULT 'other' CHECK (about IN ('person', 'companion', 'other')),
    stance TEXT NOT NULL DEFAULT 'stated' CHECK (stance IN ('stated', 'planned', 'wished', 'supposed', 'joked')),
    said TEXT NOT NULL DEFAULT '',
    keywords TEXT NOT NULL DEFAULT '',
    persons TEXT NOT NULL DEFAULT '',
    entities TEXT NOT NULL DEFAULT '',
    location TEXT NOT NULL DEFAULT '',
    start_day TEXT NOT NULL DEFAULT '',
    end_day TEXT NOT NULL DEFAULT '',
    learned_as TEXT NOT NULL DEFAULT 'verified' CHECK (learned_as IN ('verified', 'quoted', 'inferred')),
    by_hand INTEGER NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)),
    since TEXT NOT NULL DEFAULT '',
    until TEXT NOT NULL DEFAULT '',
    replaced_by TEXT NOT NULL DEFAULT '',
    corrected INTEGER NOT NULL DEFAULT 0 CHECK (corrected IN (0, 1)),
    doubtful_since TEXT NOT NULL DEFAULT '',
    kept INTEGER NOT NULL DEFAULT 0 CHECK (kept IN (0, 1)),
    decided TEXT NOT NULL DEFAULT 'model' CHECK (decided IN ('model', 'hand')),
    seen TEXT NOT NULL DEFAULT '',
    verified INTEGER NOT NULL DEFAULT 1 CHECK (verified IN (0, 1))
) STRICT;
CREATE INDEX fact_in_slot ON fact (slot_subject, slot_attribute) WHERE window_id <> '';
CREATE INDEX fact_of_window ON fact (window_id) WHERE window_id <> '';
CREATE INDEX fact_of_note ON fact (note) WHERE note IS NOT NULL;
CREATE INDEX fact_in_time ON fact (since) WHERE window_id <> '';
CREATE UNIQUE INDEX one_current_value ON fact (slot_subject, slot_attribute)
    WHERE single = 1 AND stance = 'stated' AND verified = 1 AND until = '' AND corrected = 0;

CREATE TABLE fact_message (
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    message INTEGER NOT NULL,
    quote_start INTEGER NOT NULL DEFAULT 0,
    quote_end INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (fact, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_of_message ON fact_message (message);

CREATE TABLE fact_part (
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('person', 'entity', 'location', 'topic')),
    name TEXT NOT NULL,
    PRIMARY KEY (fact, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_part_named ON fact_part (kind, name);

CREATE TABLE relation (
    seq INTEGER PRIMARY KEY,
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    source TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    UNIQUE (fact, source, relation, target)
) STRICT;

CREATE TABLE fact_event (
    seq INTEGER PRIMARY KEY,
    fact INTEGER NOT NULL REFERENCES fact (seq) ON DELETE CASCADE,
    what TEXT NOT NULL CHECK (what IN
        ('confirmed', 'verified', 'changed', 'ended', 'corrected', 'renamed', 'doubted', 'put_right',
            'kept', 'let_go')),
    moment TEXT NOT NULL,
    by_fact INTEGER REFERENCES fact (seq) ON DELETE CASCADE,
    window_id TEXT NOT NULL,
    stored_at TEXT NOT NULL
) STRICT;
CREATE INDEX event_of_fact ON fact_event (fact);
CREATE INDEX event_by_fact ON fact_event (by_fact) WHERE by_fact IS NOT NULL;
CREATE INDEX event_of_window ON fact_event (window_id) WHERE window_id <> '';

CREATE TABLE read_window (
    name TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (session_id) ON DELETE CASCADE,
    saving INTEGER NOT NULL CHECK (saving IN (0, 1)),
    stored_at TEXT NOT NULL,
    rejected TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX read_window_of_session ON read_window (session_id);

-- What is open between the two, each with the words of one message that it rests on, and what became of it. `due_from` and
-- `due_to` are days, or days and times, where the person is; `yearly` is a day of every year.

CREATE TABLE open_matter (
    seq INTEGER PRIMARY KEY,
    window_id TEXT NOT NULL,
    message INTEGER NOT NULL,
    quote_start INTEGER NOT NULL,
    quote_end INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN
        ('event', 'deadline', 'promise', 'question', 'worry', 'birthday', 'anniversary')),
    due_from TEXT NOT NULL DEFAULT '',
    due_to TEXT NOT NULL DEFAULT '',
    precision TEXT NOT NULL DEFAULT '' CHECK (precision IN ('', 'time', 'day', 'week', 'month', 'year')),
    yearly TEXT NOT NULL DEFAULT '',
    sensitivity TEXT NOT NULL CHECK (sensitivity IN ('routine', 'care')),
    key TEXT NOT NULL,
    next_review TEXT NOT NULL,
    expires TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN
        ('unverified', 'pending', 'asked', 'answered', 'closed', 'expired', 'dropped')),
    asked INTEGER NOT NULL DEFAULT 0,
    asked_at TEXT NOT NULL DEFAULT '',
    shown INTEGER NOT NULL DEFAULT 0 CHECK (shown IN (0, 1)),
    stored_at TEXT NOT NULL
) STRICT;
CREATE INDEX open_matter_of_message ON open_matter (message);
CREATE INDEX open_matter_of_window ON open_matter (window_id);

-- The two personas: every version, what their lines rest on, and the lines that are pinned.

CREATE TABLE persona (
    version INTEGER PRIMARY KEY,
    persona TEXT NOT NULL CHECK (persona IN ('self', 'user')),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('model', 'hand', 'setup', 'restore', 'erase')),
    session_id TEXT
) STRICT;
CREATE INDEX persona_of_persona ON persona (persona, version);

CREATE TABLE line_evidence (
    seq INTEGER PRIMARY KEY,
    persona TEXT NOT NULL CHECK (persona IN ('self', 'user')),
    version INTEGER NOT NULL REFERENCES persona (version),
    line TEXT NOT NULL,
    day TEXT NOT NULL,
    importance INTEGER NOT NULL,
    left_out INTEGER,
    UNIQUE (persona, line, version)
) STRICT;

CREATE TABLE line_message (
    line INTEGER NOT NULL REFERENCES line_evidence (seq) ON DELETE CASCADE,
    message INTEGER NOT NULL,
    PRIMARY KEY (line, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX line_of_message ON line_message (message);

CREATE TABLE pin (
    number INTEGER PRIMARY KEY,
    persona TEXT NOT NULL CHECK (persona IN ('self', 'user')),
    timestamp TEXT NOT NULL,
    text TEXT NOT NULL,
    added INTEGER NOT NULL DEFAULT 0 CHECK (added IN (0, 1))
) STRICT;

-- What clients keep: which of their rounds are stored, what is to be read of them, and the memories they list. A chain
-- outlives its message, so that what was erased does not come back with a history that is sent again.

CREATE TABLE client_round (
    number INTEGER PRIMARY KEY,
    chain TEXT NOT NULL,
    session_id TEXT NOT NULL,
    text_id TEXT NOT NULL,
    message INTEGER NOT NULL,
    stored_at TEXT NOT NULL
) STRICT;
CREATE INDEX client_round_of_chain ON client_round (chain);
CREATE INDEX client_round_of_session ON client_round (session_id);
CREATE INDEX client_round_of_message ON client_round (text_id);

CREATE TABLE client_extraction (
    chain TEXT NOT NULL,
    conversation_round INTEGER NOT NULL CHECK (conversation_round > 0),
    client_key TEXT NOT NULL,
    chains TEXT NOT NULL,
    stored_at TEXT NOT NULL,
    done_at TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (chain, conversation_round)
) STRICT, WITHOUT ROWID;
CREATE INDEX client_extraction_left ON client_extraction (stored_at) WHERE done_at = '';

CREATE TABLE note_deletion (
    note INTEGER PRIMARY KEY REFERENCES note (seq) ON DELETE CASCADE,
    deleted_at TEXT NOT NULL
) STRICT;
CREATE INDEX ix_user_system_deleted ON note_deletion (deleted_at);

CREATE TABLE note_vector (
    note INTEGER NOT NULL REFERENCES note (seq) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    embedding TEXT NOT NULL,
    PRIMARY KEY (note, model)
) STRICT, WITHOUT ROWID;

CREATE VIEW conversation_memories AS SELECT
    n.seq AS id,
    (SELECT value FROM meta WHERE key = 'person') AS user_id,
    (SELECT value FROM meta WHERE key = 'instruction') AS system_instruction_id,
    coalesce((SELECT max(h.message) / CAST(coalesce((SELECT value FROM meta
        WHERE key = 'conversation_batch'), '50') AS INTEGER) + 1 FROM note_message t JOIN conversation c ON c.seq = t.message
        JOIN client_round h ON h.text_id = c.text_id WHERE t.note = n.seq), 0) AS conversation_round,
    (SELECT group_concat(m.text, char(10)) FROM (SELECT c.text FROM note_message t JOIN conversation c ON c.seq = t.message
        WHERE t.note = n.seq ORDER BY c.position) m) AS original_content,
    n.text AS summary,
    (SELECT json_group_array(f.text) FROM (SELECT text FROM fact WHERE note = n.seq AND corrected = 0 AND verified = 1
        ORDER BY seq) f) AS key_points,
    n.importance AS importance_score,
    n.memory_type AS memory_type,
    1 AS should_remember,
    (SELECT v.embedding FROM note_vector v WHERE v.note = n.seq ORDER BY v.model DESC LIMIT 1) AS embedding,
    n.stored_at AS created_at,
    coalesce(d.deleted_at, n.stored_at) AS updated_at,
    d.note IS NOT NULL AS is_deleted,
    d.deleted_at AS deleted_at
FROM note n LEFT JOIN note_deletion d ON d.note = n.seq;

-- Which memories were used when, and which are no longer searched. A session is named by its own id.

CREATE TABLE visit (
    text_id TEXT PRIMARY KEY,
    visit_count INTEGER NOT NULL DEFAULT 0,
    last_visit INTEGER NOT NULL DEFAULT 0,
    never_delete INTEGER NOT NULL DEFAULT 0 CHECK (never_delete IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE archived_memory (
    text_id TEXT PRIMARY KEY,
    stored_at TEXT NOT NULL,
    instant REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- What other programs exported. A message is known by the digests of its conversation and of itself, which outlive it;
-- a row without a message is the title.

CREATE TABLE import_source (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    reader INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'done')),
    conversations INTEGER NOT NULL DEFAULT 0,
    messages INTEGER NOT NULL DEFAULT 0,
    stored_at TEXT NOT NULL,
    UNIQUE (kind, sha256)
) STRICT;

CREATE TABLE imported_session (
    session_id TEXT PRIMARY KEY REFERENCES session (session_id) ON DELETE CASCADE,
    source INTEGER NOT NULL,
    role_play INTEGER NOT NULL CHECK (role_play IN (0, 1)),
    messages INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_session_due ON imported_session (due) WHERE due > 0;
CREATE INDEX imported_session_of_source ON imported_session (source);

CREATE TABLE imported_message (
    conversation TEXT NOT NULL,
    message TEXT NOT NULL,
    seq INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (conversation, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_message_of_seq ON imported_message (seq);

-- Digests: of the texts of each row, by which a bit that changed on the disk is noticed (rows that were written since wait
-- in `changed_row`), and of every message that was ever stored, by which an import knows it again.

CREATE TABLE row_digest (
    name TEXT NOT NULL,
    key ANY NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE changed_row (name TEXT NOT NULL, key ANY NOT NULL, PRIMARY KEY (name, key)) STRICT, WITHOUT ROWID;

CREATE TABLE stored_message (
    digest TEXT NOT NULL,
    message INTEGER NOT NULL,
    PRIMARY KEY (digest, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX stored_message_of_message ON stored_message (message);

-- What was erased or rejected, without its words: receipts, and digests, each under the salt of the memory that made it.

CREATE TABLE erasure (
    erased_at TEXT NOT NULL,
    number INTEGER NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('person', 'limit', 'restore')),
    messages INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    days TEXT NOT NULL,
    derived INTEGER NOT NULL,
    files INTEGER NOT NULL,
    searched INTEGER NOT NULL,
    traces INTEGER NOT NULL,
    PRIMARY KEY (erased_at, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE erased_salt (number INTEGER PRIMARY KEY, salt TEXT NOT NULL) STRICT;

CREATE TABLE erased_text (
    digest TEXT NOT NULL,
    salt INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('message', 'person', 'whole', 'sentence', 'rejected', 'fact')),
    instant REAL NOT NULL,
    PRIMARY KEY (digest, salt, kind)
) STRICT, WITHOUT ROWID;

-- The index of words, over our own tokens: every category but separators and controls belongs to one.

CREATE VIRTUAL TABLE message_words USING fts5(tokens, tokenize='unicode61 remove_diacritics 0 categories ''L* N* M* P* S* Co Cn''');
CREATE VIRTUAL TABLE message_postings USING fts5vocab(message_words, 'instance');
CREATE TABLE message_length (seq INTEGER PRIMARY KEY, length INTEGER NOT NULL, marks INTEGER NOT NULL) STRICT;
CREATE TRIGGER void_block_found AFTER INSERT ON message_length BEGIN DELETE FROM message_block WHERE number = (NEW.seq - 1) / 2048; END;
CREATE TRIGGER void_block_lost AFTER DELETE ON message_length BEGIN DELETE FROM message_block WHERE number = (OLD.seq - 1) / 2048; END;
CREATE TRIGGER void_block_moved AFTER UPDATE OF position, timestamp, session_id, hidden, demo ON conversation BEGIN DELETE FROM message_block WHERE number = (OLD.seq - 1) / 2048; END;
CREATE VIRTUAL TABLE summary_words USING fts5(tokens, tokenize='unicode61 remove_diacritics 0 categories ''L* N* M* P* S* Co Cn''');
CREATE VIRTUAL TABLE summary_postings USING fts5vocab(summary_words, 'instance');
CREATE TABLE summary_length (seq INTEGER PRIMARY KEY, length INTEGER NOT NULL, marks INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE fact_words USING fts5(tokens, tokenize='unicode61 remove_diacritics 0 categories ''L* N* M* P* S* Co Cn''');
CREATE VIRTUAL TABLE fact_postings USING fts5vocab(fact_words, 'instance');
CREATE TABLE fact_length (seq INTEGER PRIMARY KEY, length INTEGER NOT NULL, marks INTEGER NOT NULL) STRICT;

-- The tree: message (rank 0) -> group of messages (1, in a long session) -> session (1) -> chapters (2) -> life (2).

CREATE VIEW node AS
WITH RECURSIVE
above_session (chapter, session_id) AS (
    SELECT chapter, session_id FROM session WHERE chapter IS NOT NULL
    UNION ALL
    SELECT c.parent, a.session_id FROM above_session a JOIN chapter c ON c.seq = a.chapter WHERE c.parent IS NOT NULL
),
above_message (chapter, message) AS (
    SELECT chapter, seq FROM conversation WHERE chapter IS NOT NULL
    UNION ALL
    SELECT c.parent, a.message FROM above_message a JOIN chapter c ON c.seq = a.chapter WHERE c.parent IS NOT NULL
),
began (session_id, moment, timestamp) AS (
    SELECT session_id, min(instant), timestamp FROM conversation GROUP BY session_id
),
ended (session_id, moment, timestamp) AS (
    SELECT session_id, max(instant), timestamp FROM conversation GROUP BY session_id
),
covered (chapter, place, first, start, last, "end") AS (
    SELECT a.chapter, s.position, b.moment, b.timestamp, e.moment, e.timestamp FROM above_session a
        JOIN session s USING (session_id) JOIN began b USING (session_id) JOIN ended e USING (session_id)
    UNION ALL
    SELECT a.chapter, t.position, t.instant, t.timestamp, t.instant, t.timestamp
        FROM above_message a JOIN conversation t ON t.seq = a.message
),
first_of (chapter, moment, start, place) AS (
    SELECT chapter, min(first), start, (SELECT min(place) FROM covered o WHERE o.chapter = c.chapter)
        FROM covered c GROUP BY chapter
),
last_of (chapter, moment, "end") AS (SELECT chapter, max(last), "end" FROM covered GROUP BY chapter),
shown_node (name, text_id, rank, parent, place, source, start, "end", metadata) AS (
    SELECT t.text_id, t.text_id, 0, coalesce(g.text_id, m.text_id, t.session_id), t.position, s.client, t.timestamp,
        t.timestamp, json_object('session_id', t.session_id, 'role', t.role, 'round', t.round)
        FROM conversation t JOIN session s USING (session_id) LEFT JOIN summary m USING (session_id)
        LEFT JOIN chapter g ON g.seq = t.chapter
    UNION ALL
    SELECT s.session_id, coalesce(m.text_id, s.session_id), 1, coalesce(c.text_id, 'life'), s.position, s.client,
        b.timestamp, e.timestamp, json_object('session_id', s.session_id, 'status', s.status)
        FROM session s JOIN began b USING (session_id) JOIN ended e USING (session_id)
        LEFT JOIN summary m USING (session_id) LEFT JOIN chapter c ON c.seq = s.chapter
    UNION ALL
    SELECT c.text_id, c.text_id, CASE WHEN c.session_id IS NULL THEN 2 ELSE 1 END,
        coalesce(p.text_id, m.text_id, c.session_id, 'life'), f.place, coalesce(s.client, ''), f.start, l."end",
        json_object('height', c.height, 'session_id', c.session_id, 'made', c.stored_at)
        FROM chapter c LEFT JOIN chapter p ON p.seq = c.parent LEFT JOIN summary m ON m.session_id = c.session_id
        LEFT JOIN session s ON s.session_id = c.session_id
        LEFT JOIN first_of f ON f.chapter = c.seq LEFT JOIN last_of l ON l.chapter = c.seq WHERE c.height > 0
    UNION ALL
    SELECT 'life', 'life', 2, NULL, 0, '', (SELECT timestamp FROM began ORDER BY moment LIMIT 1),
        (SELECT timestamp FROM ended ORDER BY moment DESC LIMIT 1), '{}'
)
SELECT n.text_id, n.rank, n.parent, n.place, n.source, n.start, n."end", n.metadata,
    coalesce(v.visit_count, 0) AS visit_count, coalesce(v.last_visit, 0) AS last_visit,
    coalesce(v.never_delete, 0) AS never_delete, n.name
FROM shown_node n LEFT JOIN visit v ON v.text_id = n.name;
