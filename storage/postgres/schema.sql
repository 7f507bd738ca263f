-- Every person's memory, in one set of tables. What each holds is said by the module of `storage/` that reads and writes
-- it; `storage/sqlite/schema.sql` has the same tables for one person, and a test compares them. `person` comes first in
-- every key: statements do not name it, `own_person()` is what the transaction set, and the policies at the end hide the
-- rows of everyone else. Numbers of rows come from `counter`, so they are counted per person; flags are 0 or 1; an
-- `instant` is a moment in seconds since 1970, beside the timestamp that a person reads. Ids are compared by their bytes:
-- the database is created with the collation C.

CREATE FUNCTION own_person() RETURNS bigint STABLE LANGUAGE sql
    RETURN current_setting('friend.person')::bigint;

-- Who has a memory here. Each write begins by changing the stamp of its person, so one waits for the other.

CREATE TABLE person (
    person bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    stamp uuid NOT NULL DEFAULT gen_random_uuid()
);

CREATE TABLE meta (
    person bigint NOT NULL DEFAULT own_person(),
    key text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (person, key)
);

CREATE TABLE counter (
    person bigint NOT NULL DEFAULT own_person(),
    name text NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (person, name)
);

-- Sessions, messages, summaries.

CREATE TABLE chapter (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    text_id text NOT NULL,
    session_id text,
    height bigint NOT NULL CHECK (height >= 0),
    parent bigint,
    text text NOT NULL,
    evidence text NOT NULL DEFAULT '',
    stored_at text NOT NULL,
    PRIMARY KEY (person, seq),
    UNIQUE (person, text_id),
    FOREIGN KEY (person, parent) REFERENCES chapter (person, seq) ON DELETE SET NULL (parent)
);
CREATE INDEX chapter_of_parent ON chapter (person, parent) WHERE parent IS NOT NULL;
CREATE INDEX chapter_of_session ON chapter (person, session_id) WHERE session_id IS NOT NULL;

CREATE TABLE session (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    session_id text NOT NULL,
    start_timestamp text NOT NULL,
    end_timestamp text,
    status text NOT NULL CHECK (status IN ('active', 'archived')),
    current_conv_count bigint NOT NULL DEFAULT 0 CHECK (current_conv_count >= 0),
    stored_at text NOT NULL,
    position bigint NOT NULL,
    instant double precision NOT NULL,
    client text NOT NULL DEFAULT '',
    client_key text,
    chapter bigint,
    PRIMARY KEY (person, number),
    UNIQUE (person, session_id),
    FOREIGN KEY (person, chapter) REFERENCES chapter (person, seq) ON DELETE SET NULL (chapter)
);
CREATE INDEX session_in_time ON session (person, position);
CREATE INDEX session_by_status ON session (person, status, position);
CREATE INDEX session_began ON session (person, instant, position);
CREATE INDEX session_of_client ON session (person, client, client_key, position) WHERE client <> '';
CREATE INDEX session_of_chapter ON session (person, chapter) WHERE chapter IS NOT NULL;

ALTER TABLE chapter ADD FOREIGN KEY (person, session_id) REFERENCES session (person, session_id) ON DELETE CASCADE;

CREATE TABLE conversation (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    text_id text NOT NULL,
    session_id text NOT NULL,
    timestamp text NOT NULL,
    instant double precision NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    text text NOT NULL,
    round bigint NOT NULL,
    position bigint NOT NULL,
    stored_at text NOT NULL,
    finish text NOT NULL DEFAULT 'stop' CHECK (finish IN ('stop', 'length', 'interrupted')),
    compacted bigint NOT NULL DEFAULT 0 CHECK (compacted IN (0, 1)),
    hidden bigint NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
    demo bigint NOT NULL DEFAULT 0 CHECK (demo IN (0, 1)),
    undated bigint NOT NULL DEFAULT 0 CHECK (undated IN (0, 1)),
    quoted text NOT NULL DEFAULT '',
    speaker text NOT NULL DEFAULT '',
    window_id text NOT NULL DEFAULT '',
    chapter bigint,
    PRIMARY KEY (person, seq),
    UNIQUE (person, text_id),
    UNIQUE (person, session_id, round, role),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id),
    FOREIGN KEY (person, chapter) REFERENCES chapter (person, seq) ON DELETE SET NULL (chapter)
);
CREATE INDEX conversation_in_time ON conversation (person, session_id, position);
CREATE INDEX conversation_hidden ON conversation (person, seq) WHERE hidden = 1;
CREATE INDEX conversation_of_window ON conversation (person, window_id) WHERE window_id <> '';
CREATE INDEX conversation_of_chapter ON conversation (person, chapter) WHERE chapter IS NOT NULL;

-- The columns of all messages of a block that recall needs, packed; see `Messages.seal`. Gone with the first change.
CREATE TABLE message_block (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (person, number)
);
ALTER TABLE message_block ALTER data SET STORAGE EXTERNAL;

CREATE TABLE message_metadata (
    person bigint NOT NULL DEFAULT own_person(),
    message bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    number double precision,
    PRIMARY KEY (person, message, key),
    FOREIGN KEY (person, message) REFERENCES conversation (person, seq) ON DELETE CASCADE
);
CREATE INDEX metadata_of_key ON message_metadata (person, key, number);

CREATE TABLE summary (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    text_id text NOT NULL,
    session_id text NOT NULL,
    timestamp text NOT NULL,
    summary text NOT NULL,
    upto_round bigint NOT NULL,
    stored_at text NOT NULL,
    PRIMARY KEY (person, seq),
    UNIQUE (person, text_id),
    UNIQUE (person, session_id),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id)
);

CREATE TABLE in_flight (
    person bigint NOT NULL DEFAULT own_person(),
    session_id text NOT NULL,
    timestamp text NOT NULL,
    text text NOT NULL,
    partial text NOT NULL DEFAULT '',
    PRIMARY KEY (person, session_id),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id)
);

CREATE TABLE undoable_save (
    person bigint NOT NULL DEFAULT own_person(),
    session_id text NOT NULL,
    following text NOT NULL,
    windows text NOT NULL,
    personas text NOT NULL,
    summary text NOT NULL,
    context bigint,
    last_message bigint NOT NULL,
    instant double precision NOT NULL,
    PRIMARY KEY (person, session_id),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id) ON DELETE CASCADE
);

-- What is still to be done, and results of steps that are done before all of it is.

CREATE TABLE job (
    person bigint NOT NULL DEFAULT own_person(),
    kind text NOT NULL,
    key text NOT NULL,
    payload text NOT NULL DEFAULT '',
    generation bigint NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    not_before double precision NOT NULL DEFAULT 0,
    reason text NOT NULL DEFAULT '',
    priority bigint NOT NULL DEFAULT 0,
    program text NOT NULL DEFAULT '',
    PRIMARY KEY (person, kind, key)
);

-- What one program alone does or uses, as long as it lives.

CREATE TABLE claim (
    person bigint NOT NULL DEFAULT own_person(),
    kind text NOT NULL,
    key text NOT NULL,
    program text NOT NULL,
    PRIMARY KEY (person, kind, key)
);

CREATE TABLE step (
    person bigint NOT NULL DEFAULT own_person(),
    kind text NOT NULL,
    key text NOT NULL,
    step text NOT NULL,
    base text NOT NULL DEFAULT '',
    result text NOT NULL,
    stored_at text NOT NULL,
    PRIMARY KEY (person, kind, key, step)
);

-- The vector of every text, and the texts that still need one.

CREATE TABLE embedding (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    text_id text NOT NULL,
    model text NOT NULL,
    dimension bigint NOT NULL,
    digest text NOT NULL,
    vector halfvec NOT NULL CHECK (vector_dims(vector) = dimension),
    kind text NOT NULL,
    session_id text NOT NULL,
    place bigint,
    cell bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (person, number),
    UNIQUE (person, text_id, model)
);
-- In the row as long as it has room there: searching them all then takes a third of the time.
ALTER TABLE embedding ALTER vector SET STORAGE MAIN;
-- The kind comes first: else a plan made while there are no statistics may look for one text among all of a model.
CREATE INDEX embedding_of_kind ON embedding (person, kind, model, cell);

-- Where a person has many messages, their vectors are in cells, and only the nearest cells are searched (`vectors.py`).
-- The centroid of a cell is the mean of what is in it; 0 is no cell, and always searched.
CREATE TABLE cell (
    person bigint NOT NULL DEFAULT own_person(),
    model text NOT NULL,
    dimension bigint NOT NULL,
    number bigint NOT NULL CHECK (number > 0),
    centroid halfvec NOT NULL CHECK (vector_dims(centroid) = dimension),
    PRIMARY KEY (person, model, dimension, number)
);
ALTER TABLE cell ALTER centroid SET STORAGE MAIN;

-- What a vector is of is noted beside it, with the number of the message, or of the session of the summary, so that the
-- nearest are found without a look at their texts. One that takes the place of another is new, so that the other leaves
-- its cell.
CREATE FUNCTION note_embedded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM embedding WHERE text_id = NEW.text_id AND model = NEW.model;
    SELECT 'conversation', session_id, seq INTO NEW.kind, NEW.session_id, NEW.place
        FROM conversation WHERE text_id = NEW.text_id;
    IF NOT FOUND THEN
        SELECT 'summary', session_id, number INTO NEW.kind, NEW.session_id, NEW.place
            FROM summary JOIN session USING (person, session_id) WHERE text_id = NEW.text_id;
    END IF;
    NEW.kind := coalesce(NEW.kind, '');
    NEW.session_id := coalesce(NEW.session_id, '');
    NEW.cell := coalesce((SELECT number FROM cell WHERE NEW.kind = 'conversation' AND model = NEW.model
        AND dimension = NEW.dimension ORDER BY centroid <#> NEW.vector LIMIT 1), 0);
    RETURN NEW;
END $$;
CREATE TRIGGER note_embedded BEFORE INSERT ON embedding FOR EACH ROW EXECUTE FUNCTION note_embedded();

-- Nothing of a vector that was removed stays in a centroid, or is found in the memory of a process that has not searched since.
CREATE FUNCTION leave_cells() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO change (place, key) SELECT 'embedding', number FROM lost;
    IF EXISTS (SELECT 1 FROM lost WHERE cell > 0) THEN
        DELETE FROM cell WHERE (model, dimension, number) IN (SELECT model, dimension, cell FROM lost);
        INSERT INTO cell (model, dimension, number, centroid)
            SELECT model, dimension, cell, l2_normalize(avg(vector)) FROM embedding WHERE kind = 'conversation'
                AND (model, dimension, cell) IN (SELECT model, dimension, cell FROM lost WHERE cell > 0)
                GROUP BY model, dimension, cell;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER leave_cells AFTER DELETE ON embedding REFERENCING OLD TABLE AS lost
    FOR EACH STATEMENT EXECUTE FUNCTION leave_cells();

CREATE TABLE pending (
    person bigint NOT NULL DEFAULT own_person(),
    text_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('conversation', 'summary')),
    failures bigint NOT NULL DEFAULT 0,
    reason text NOT NULL DEFAULT '',
    PRIMARY KEY (person, text_id)
);

CREATE TABLE index_file (
    person bigint NOT NULL DEFAULT own_person(),
    path text NOT NULL,
    checksum text NOT NULL,
    PRIMARY KEY (person, path)
);

-- Notes and facts, each with the messages it rests on, and what happened to each fact. The columns of a fact from
-- `since` on follow from its events and from the other facts in its slot.

CREATE TABLE note (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    text_id text NOT NULL,
    session_id text NOT NULL,
    window_id text NOT NULL,
    timestamp text NOT NULL,
    text text NOT NULL,
    topic text NOT NULL,
    importance bigint NOT NULL CHECK (importance BETWEEN 1 AND 10),
    memory_type text NOT NULL CHECK (memory_type IN ('active', 'passive')),
    private bigint NOT NULL CHECK (private IN (0, 1)),
    stored_at text NOT NULL,
    instant double precision NOT NULL,
    PRIMARY KEY (person, seq),
    UNIQUE (person, text_id),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id)
);
CREATE INDEX note_of_session ON note (person, session_id);
CREATE INDEX note_of_window ON note (person, window_id);
CREATE INDEX ix_user_system_created ON note (person, stored_at);

CREATE TABLE note_message (
    person bigint NOT NULL DEFAULT own_person(),
    note bigint NOT NULL,
    message bigint NOT NULL,
    PRIMARY KEY (person, note, message),
    FOREIGN KEY (person, note) REFERENCES note (person, seq) ON DELETE CASCADE
);
CREATE INDEX note_of_message ON note_message (person, message);

CREATE TABLE fact (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    text_id text NOT NULL,
    session_id text NOT NULL,
    timestamp text NOT NULL,
    text text NOT NULL,
    note bigint,
    window_id text NOT NULL DEFAULT '',
    subject text NOT NULL DEFAULT '',
    attribute text NOT NULL DEFAULT '',
    value text NOT NULL DEFAULT '',
    slot_subject text NOT NULL DEFAULT '',
    slot_attribute text NOT NULL DEFAULT '',
    single bigint NOT NULL DEFAULT 0 CHECK (single IN (0, 1)),
    about text NOT NULL DEFAULT 'other' CHECK (about IN ('person', 'companion', 'other')),
    stance text NOT NULL DEFAULT 'stated' CHECK (stance IN ('stated', 'planned', 'wished', 'supposed', 'joked')),
    said text NOT NULL DEFAULT '',
    keywords text NOT NULL DEFAULT '',
    persons text NOT NULL DEFAULT '',
    entities text NOT NULL DEFAULT '',
    location text NOT NULL DEFAULT '',
    start_day text NOT NULL DEFAULT '',
    end_day text NOT NULL DEFAULT '',
    learned_as text NOT NULL DEFAULT 'verified' CHECK (learned_as IN ('verified', 'quoted', 'inferred')),
    by_hand bigint NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)),
    since text NOT NULL DEFAULT '',
    until text NOT NULL DEFAULT '',
    replaced_by text NOT NULL DEFAULT '',
    corrected bigint NOT NULL DEFAULT 0 CHECK (corrected IN (0, 1)),
    doubtful_since text NOT NULL DEFAULT '',
    kept bigint NOT NULL DEFAULT 0 CHECK (kept IN (0, 1)),
    decided text NOT NULL DEFAULT 'model' CHECK (decided IN ('model', 'hand')),
    seen text NOT NULL DEFAULT '',
    verified bigint NOT NULL DEFAULT 1 CHECK (verified IN (0, 1)),
    PRIMARY KEY (person, seq),
    UNIQUE (person, text_id),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id),
    FOREIGN KEY (person, note) REFERENCES note (person, seq) ON DELETE SET NULL (note)
);
CREATE INDEX fact_in_slot ON fact (person, slot_subject, slot_attribute) WHERE window_id <> '';
CREATE INDEX fact_of_window ON fact (person, window_id) WHERE window_id <> '';
CREATE INDEX fact_of_note ON fact (person, note) WHERE note IS NOT NULL;
CREATE INDEX fact_in_time ON fact (person, since) WHERE window_id <> '';
CREATE UNIQUE INDEX one_current_value ON fact (person, slot_subject, slot_attribute)
    WHERE single = 1 AND stance = 'stated' AND verified = 1 AND until = '' AND corrected = 0;

CREATE TABLE fact_message (
    person bigint NOT NULL DEFAULT own_person(),
    fact bigint NOT NULL,
    message bigint NOT NULL,
    quote_start bigint NOT NULL DEFAULT 0,
    quote_end bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (person, fact, message),
    FOREIGN KEY (person, fact) REFERENCES fact (person, seq) ON DELETE CASCADE
);
CREATE INDEX fact_of_message ON fact_message (person, message);

CREATE TABLE fact_part (
    person bigint NOT NULL DEFAULT own_person(),
    fact bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('person', 'entity', 'location', 'topic')),
    name text NOT NULL,
    PRIMARY KEY (person, fact, kind, name),
    FOREIGN KEY (person, fact) REFERENCES fact (person, seq) ON DELETE CASCADE
);
CREATE INDEX fact_part_named ON fact_part (person, kind, name);

CREATE TABLE relation (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    fact bigint NOT NULL,
    source text NOT NULL,
    relation text NOT NULL,
    target text NOT NULL,
    PRIMARY KEY (person, seq),
    UNIQUE (person, fact, source, relation, target),
    FOREIGN KEY (person, fact) REFERENCES fact (person, seq) ON DELETE CASCADE
);

CREATE TABLE fact_event (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    fact bigint NOT NULL,
    what text NOT NULL CHECK (what IN ('confirmed', 'verified', 'changed', 'ended', 'corrected', 'renamed', 'doubted', 'put_right', 'kept', 'let_go')),
    moment text NOT NULL,
    by_fact bigint,
    window_id text NOT NULL,
    stored_at text NOT NULL,
    PRIMARY KEY (person, seq),
    FOREIGN KEY (person, fact) REFERENCES fact (person, seq) ON DELETE CASCADE,
    FOREIGN KEY (person, by_fact) REFERENCES fact (person, seq) ON DELETE CASCADE
);
CREATE INDEX event_of_fact ON fact_event (person, fact);
CREATE INDEX event_by_fact ON fact_event (person, by_fact) WHERE by_fact IS NOT NULL;
CREATE INDEX event_of_window ON fact_event (person, window_id) WHERE window_id <> '';

CREATE TABLE read_window (
    person bigint NOT NULL DEFAULT own_person(),
    name text NOT NULL,
    session_id text NOT NULL,
    saving bigint NOT NULL CHECK (saving IN (0, 1)),
    stored_at text NOT NULL,
    rejected text NOT NULL DEFAULT '',
    PRIMARY KEY (person, name),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id) ON DELETE CASCADE
);
CREATE INDEX read_window_of_session ON read_window (person, session_id);

-- What is open between the two, each with the words of one message that it rests on, and what became of it. `due_from` and
-- `due_to` are days, or days and times, where the person is; `yearly` is a day of every year.

CREATE TABLE open_matter (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    window_id text NOT NULL,
    message bigint NOT NULL,
    quote_start bigint NOT NULL,
    quote_end bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('event', 'deadline', 'promise', 'question', 'worry', 'birthday', 'anniversary')),
    due_from text NOT NULL DEFAULT '',
    due_to text NOT NULL DEFAULT '',
    precision text NOT NULL DEFAULT '' CHECK (precision IN ('', 'time', 'day', 'week', 'month', 'year')),
    yearly text NOT NULL DEFAULT '',
    sensitivity text NOT NULL CHECK (sensitivity IN ('routine', 'care')),
    key text NOT NULL,
    next_review text NOT NULL,
    expires text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN
        ('unverified', 'pending', 'asked', 'answered', 'closed', 'expired', 'dropped')),
    asked bigint NOT NULL DEFAULT 0,
    asked_at text NOT NULL DEFAULT '',
    shown bigint NOT NULL DEFAULT 0 CHECK (shown IN (0, 1)),
    stored_at text NOT NULL,
    PRIMARY KEY (person, seq)
);
CREATE INDEX open_matter_of_message ON open_matter (person, message);
CREATE INDEX open_matter_of_window ON open_matter (person, window_id);

-- The two personas: every version, what their lines rest on, and the lines that are pinned.

CREATE TABLE persona (
    person bigint NOT NULL DEFAULT own_person(),
    version bigint NOT NULL,
    persona text NOT NULL CHECK (persona IN ('self', 'user')),
    timestamp text NOT NULL,
    text text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('model', 'hand', 'setup', 'restore', 'erase')),
    session_id text,
    PRIMARY KEY (person, version)
);
CREATE INDEX persona_of_persona ON persona (person, persona, version);

CREATE TABLE line_evidence (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    persona text NOT NULL CHECK (persona IN ('self', 'user')),
    version bigint NOT NULL,
    line text NOT NULL,
    day text NOT NULL,
    importance bigint NOT NULL,
    left_out bigint,
    PRIMARY KEY (person, seq),
    UNIQUE (person, persona, line, version),
    FOREIGN KEY (person, version) REFERENCES persona (person, version)
);

CREATE TABLE line_message (
    person bigint NOT NULL DEFAULT own_person(),
    line bigint NOT NULL,
    message bigint NOT NULL,
    PRIMARY KEY (person, line, message),
    FOREIGN KEY (person, line) REFERENCES line_evidence (person, seq) ON DELETE CASCADE
);
CREATE INDEX line_of_message ON line_message (person, message);

CREATE TABLE pin (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    persona text NOT NULL CHECK (persona IN ('self', 'user')),
    timestamp text NOT NULL,
    text text NOT NULL,
    added bigint NOT NULL DEFAULT 0 CHECK (added IN (0, 1)),
    PRIMARY KEY (person, number)
);

-- What clients keep: which of their rounds are stored, what is to be read of them, and the memories they list. A chain
-- outlives its message, so that what was erased does not come back with a history that is sent again.

CREATE TABLE client_round (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    chain text NOT NULL,
    session_id text NOT NULL,
    text_id text NOT NULL,
    message bigint NOT NULL,
    stored_at text NOT NULL,
    PRIMARY KEY (person, number)
);
CREATE INDEX client_round_of_chain ON client_round (person, chain);
CREATE INDEX client_round_of_session ON client_round (person, session_id);
CREATE INDEX client_round_of_message ON client_round (person, text_id);

CREATE TABLE client_extraction (
    person bigint NOT NULL DEFAULT own_person(),
    chain text NOT NULL,
    conversation_round bigint NOT NULL CHECK (conversation_round > 0),
    client_key text NOT NULL,
    chains text NOT NULL,
    stored_at text NOT NULL,
    done_at text NOT NULL DEFAULT '',
    PRIMARY KEY (person, chain, conversation_round)
);
CREATE INDEX client_extraction_left ON client_extraction (person, stored_at) WHERE done_at = '';

CREATE TABLE note_deletion (
    person bigint NOT NULL DEFAULT own_person(),
    note bigint NOT NULL,
    deleted_at text NOT NULL,
    PRIMARY KEY (person, note),
    FOREIGN KEY (person, note) REFERENCES note (person, seq) ON DELETE CASCADE
);
CREATE INDEX ix_user_system_deleted ON note_deletion (person, deleted_at);

CREATE TABLE note_vector (
    person bigint NOT NULL DEFAULT own_person(),
    note bigint NOT NULL,
    model text NOT NULL,
    vector bytea NOT NULL,
    embedding text NOT NULL,
    PRIMARY KEY (person, note, model),
    FOREIGN KEY (person, note) REFERENCES note (person, seq) ON DELETE CASCADE
);

CREATE VIEW conversation_memories WITH (security_invoker = true) AS SELECT
    n.seq AS id,
    (SELECT value FROM meta WHERE key = 'person') AS user_id,
    (SELECT value FROM meta WHERE key = 'instruction') AS system_instruction_id,
    coalesce((SELECT max(h.message) / CAST(coalesce((SELECT value FROM meta
        WHERE key = 'conversation_batch'), '50') AS bigint) + 1 FROM note_message t JOIN conversation c ON c.seq = t.message
        JOIN client_round h ON h.text_id = c.text_id WHERE t.note = n.seq), 0) AS conversation_round,
    (SELECT string_agg(c.text, chr(10) ORDER BY c.position) FROM note_message t JOIN conversation c ON c.seq = t.message
        WHERE t.note = n.seq) AS original_content,
    n.text AS summary,
    coalesce((SELECT json_agg(f.text ORDER BY f.seq) FROM fact f WHERE f.note = n.seq AND f.corrected = 0
        AND f.verified = 1), '[]')::text
        AS key_points,
    n.importance AS importance_score,
    n.memory_type AS memory_type,
    1 AS should_remember,
    (SELECT v.embedding FROM note_vector v WHERE v.note = n.seq ORDER BY v.model DESC LIMIT 1) AS embedding,
    n.stored_at AS created_at,
    coalesce(d.deleted_at, n.stored_at) AS updated_at,
    (d.note IS NOT NULL)::int AS is_deleted,
    d.deleted_at AS deleted_at
FROM note n LEFT JOIN note_deletion d ON d.note = n.seq;

-- Which memories were used when, and which are no longer searched. A session is named by its own id.

CREATE TABLE visit (
    person bigint NOT NULL DEFAULT own_person(),
    text_id text NOT NULL,
    visit_count bigint NOT NULL DEFAULT 0,
    last_visit bigint NOT NULL DEFAULT 0,
    never_delete bigint NOT NULL DEFAULT 0 CHECK (never_delete IN (0, 1)),
    PRIMARY KEY (person, text_id)
);

CREATE TABLE archived_memory (
    person bigint NOT NULL DEFAULT own_person(),
    text_id text NOT NULL,
    stored_at text NOT NULL,
    instant double precision NOT NULL,
    PRIMARY KEY (person, text_id)
);

-- What other programs exported. A message is known by the digests of its conversation and of itself, which outlive it;
-- a row without a message is the title.

CREATE TABLE import_source (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    sha256 text NOT NULL,
    reader bigint NOT NULL,
    state text NOT NULL CHECK (state IN ('begun', 'done')),
    conversations bigint NOT NULL DEFAULT 0,
    messages bigint NOT NULL DEFAULT 0,
    stored_at text NOT NULL,
    PRIMARY KEY (person, number),
    UNIQUE (person, kind, sha256)
);

CREATE TABLE imported_session (
    person bigint NOT NULL DEFAULT own_person(),
    session_id text NOT NULL,
    source bigint NOT NULL,
    role_play bigint NOT NULL CHECK (role_play IN (0, 1)),
    messages bigint NOT NULL DEFAULT 0,
    due bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (person, session_id),
    FOREIGN KEY (person, session_id) REFERENCES session (person, session_id) ON DELETE CASCADE
);
CREATE INDEX imported_session_due ON imported_session (person, due) WHERE due > 0;
CREATE INDEX imported_session_of_source ON imported_session (person, source);

CREATE TABLE imported_message (
    person bigint NOT NULL DEFAULT own_person(),
    conversation text NOT NULL,
    message text NOT NULL,
    seq bigint NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (person, conversation, message)
);
CREATE INDEX imported_message_of_seq ON imported_message (person, seq);

-- The digests of every message that was ever stored, by which an import knows it again. Rows have no digests of their own
-- here: PostgreSQL has checksums of its pages.

CREATE TABLE stored_message (
    person bigint NOT NULL DEFAULT own_person(),
    digest text NOT NULL,
    message bigint NOT NULL,
    PRIMARY KEY (person, digest, message)
);
CREATE INDEX stored_message_of_message ON stored_message (person, message);

-- Messages that were changed, whose digests are made before the transaction ends.
CREATE TABLE changed_row (
    person bigint NOT NULL DEFAULT own_person(),
    key bigint NOT NULL,
    PRIMARY KEY (person, key)
);
CREATE FUNCTION queue_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO changed_row (key) VALUES (NEW.seq) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER queue_message AFTER UPDATE OF text_id, timestamp, role, text, speaker ON conversation
    FOR EACH ROW EXECUTE FUNCTION queue_message();

-- What was erased or rejected, without its words: receipts, and digests, each under the salt of the memory that made it.

CREATE TABLE erasure (
    person bigint NOT NULL DEFAULT own_person(),
    erased_at text NOT NULL,
    number bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN ('person', 'limit', 'restore')),
    messages bigint NOT NULL,
    sessions bigint NOT NULL,
    days text NOT NULL,
    derived bigint NOT NULL,
    files bigint NOT NULL,
    searched bigint NOT NULL,
    traces bigint NOT NULL,
    PRIMARY KEY (person, erased_at, number)
);

CREATE TABLE erased_salt (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint NOT NULL,
    salt text NOT NULL,
    PRIMARY KEY (person, number)
);

CREATE TABLE erased_text (
    person bigint NOT NULL DEFAULT own_person(),
    digest text NOT NULL,
    salt bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('message', 'person', 'whole', 'sentence', 'rejected', 'fact')),
    instant double precision NOT NULL,
    PRIMARY KEY (person, digest, salt, kind)
);

-- The index of words: of each term the rows of each 512 that have it, two bytes for each; and the terms of a row, by
-- which it is taken out again. Beside it how long the texts are.

CREATE TABLE posting (
    person bigint NOT NULL DEFAULT own_person(),
    shelf text NOT NULL,
    term text NOT NULL,
    block bigint NOT NULL,
    n bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (person, shelf, term, block)
) WITH (fillfactor = 80);
ALTER TABLE posting ALTER data SET STORAGE MAIN;
CREATE TABLE indexed_words (
    person bigint NOT NULL DEFAULT own_person(),
    shelf text NOT NULL,
    seq bigint NOT NULL,
    terms text[] NOT NULL,
    PRIMARY KEY (person, shelf, seq)
);

CREATE TABLE message_length (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    length bigint NOT NULL,
    marks bigint NOT NULL,
    PRIMARY KEY (person, seq)
);

CREATE FUNCTION void_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM message_block WHERE number IN (SELECT (seq - 1) / 2048 FROM changed);
    RETURN NULL;
END $$;
CREATE TRIGGER void_block_found AFTER INSERT ON message_length REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION void_blocks();
CREATE TRIGGER void_block_lost AFTER DELETE ON message_length REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION void_blocks();
CREATE FUNCTION void_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM message_block WHERE number = (OLD.seq - 1) / 2048;
    RETURN NULL;
END $$;
CREATE TRIGGER void_block_moved AFTER UPDATE OF position, timestamp, session_id, hidden, demo ON conversation
    FOR EACH ROW EXECUTE FUNCTION void_block();

CREATE TABLE summary_length (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    length bigint NOT NULL,
    marks bigint NOT NULL,
    PRIMARY KEY (person, seq)
);
CREATE TABLE fact_length (
    person bigint NOT NULL DEFAULT own_person(),
    seq bigint NOT NULL,
    length bigint NOT NULL,
    marks bigint NOT NULL,
    PRIMARY KEY (person, seq)
);

-- The tree: message (rank 0) -> group of messages (1, in a long session) -> session (1) -> chapters (2) -> life (2).

CREATE VIEW node WITH (security_invoker = true) AS
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
    SELECT DISTINCT ON (session_id) session_id, instant, timestamp FROM conversation ORDER BY session_id, instant, seq
),
ended (session_id, moment, timestamp) AS (
    SELECT DISTINCT ON (session_id) session_id, instant, timestamp FROM conversation
        ORDER BY session_id, instant DESC, seq
),
covered (chapter, place, first, start, last, "end") AS (
    SELECT a.chapter, s.position, b.moment, b.timestamp, e.moment, e.timestamp FROM above_session a
        JOIN session s USING (session_id) JOIN began b USING (session_id) JOIN ended e USING (session_id)
    UNION ALL
    SELECT a.chapter, t.position, t.instant, t.timestamp, t.instant, t.timestamp
        FROM above_message a JOIN conversation t ON t.seq = a.message
),
first_of (chapter, moment, start, place) AS (
    SELECT DISTINCT ON (chapter) chapter, first, start, min(place) OVER (PARTITION BY chapter)
        FROM covered ORDER BY chapter, first
),
last_of (chapter, moment, "end") AS (
    SELECT DISTINCT ON (chapter) chapter, last, "end" FROM covered ORDER BY chapter, last DESC
),
shown_node (name, text_id, rank, parent, place, source, start, "end", metadata) AS (
    SELECT t.text_id, t.text_id, 0, coalesce(g.text_id, m.text_id, t.session_id), t.position, s.client, t.timestamp,
        t.timestamp, json_build_object('session_id', t.session_id, 'role', t.role, 'round', t.round)::text
        FROM conversation t JOIN session s USING (session_id) LEFT JOIN summary m USING (session_id)
        LEFT JOIN chapter g ON g.seq = t.chapter
    UNION ALL
    SELECT s.session_id, coalesce(m.text_id, s.session_id), 1, coalesce(c.text_id, 'life'), s.position, s.client,
        b.timestamp, e.timestamp, json_build_object('session_id', s.session_id, 'status', s.status)::text
        FROM session s JOIN began b USING (session_id) JOIN ended e USING (session_id)
        LEFT JOIN summary m USING (session_id) LEFT JOIN chapter c ON c.seq = s.chapter
    UNION ALL
    SELECT c.text_id, c.text_id, CASE WHEN c.session_id IS NULL THEN 2 ELSE 1 END,
        coalesce(p.text_id, m.text_id, c.session_id, 'life'), f.place, coalesce(s.client, ''), f.start, l."end",
        json_build_object('height', c.height, 'session_id', c.session_id, 'made', c.stored_at)::text
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

-- What else than new messages is new in the rows that a process has a copy of (`copies.py`), and which vectors are gone,
-- by their keys; of each person the last 5,000 are kept, and some more. Writes of one person follow each other, so their numbers are in the order of the commits.

CREATE TABLE change (
    person bigint NOT NULL DEFAULT own_person(),
    number bigint GENERATED ALWAYS AS IDENTITY,
    place text NOT NULL,
    key text,
    PRIMARY KEY (person, number)
);
CREATE FUNCTION forget_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM change WHERE person = NEW.person AND number <=
        (SELECT number FROM change WHERE person = NEW.person ORDER BY number DESC LIMIT 1 OFFSET 5000);
    RETURN NULL;
END $$;
CREATE TRIGGER forget_changes AFTER INSERT ON change FOR EACH ROW WHEN (random() < 0.005)
    EXECUTE FUNCTION forget_changes();
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO change (place, key) VALUES (TG_TABLE_NAME, to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[0]);
    RETURN NULL;
END $$;
CREATE FUNCTION rows_now(place text, columns text, key text) RETURNS json STABLE LANGUAGE plpgsql AS $$
DECLARE found json;
BEGIN
    EXECUTE format('SELECT json_agg(json_build_array(%s)) FROM %I WHERE person = %s', columns, place, own_person())
        || coalesce(format(' AND %I = ', split_part(columns, ',', 1)) || key, '') INTO found;
    RETURN found;
END $$;
DO $$
DECLARE found record;
BEGIN
    FOR found IN SELECT * FROM (VALUES ('conversation', 'DELETE OR UPDATE', 'seq'), ('summary', '', 'seq'),
        ('session', 'INSERT OR DELETE OR UPDATE OF position, client, chapter', 'number'), ('chapter', '', 'seq'),
        ('note', '', 'seq'), ('fact', '', 'seq'), ('fact_message', '', 'fact'), ('fact_event', '', 'seq'),
        ('archived_memory', '', '')) AS t (place, act, key) LOOP
        EXECUTE format('CREATE TRIGGER note_change AFTER %s ON %I FOR EACH ROW EXECUTE FUNCTION note_change(%L)',
            coalesce(nullif(found.act, ''), 'INSERT OR DELETE OR UPDATE'), found.place, found.key);
    END LOOP;
END $$;

-- A person's rows are seen and written only where the transaction says whose they are. FORCE: the owner of the tables,
-- too; but for the table of persons, whose names only the functions below look up.

DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own_rows ON %I USING (person = own_person())', name);
    END LOOP;
END $$;

-- Only while a whole memory is brought here are references looked at when it is complete.
DO $$
DECLARE found record;
BEGIN
    FOR found IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
        WHERE contype = 'f' AND connamespace = current_schema()::regnamespace LOOP
        EXECUTE format('ALTER TABLE %s ALTER CONSTRAINT %I DEFERRABLE', found.place, found.conname);
    END LOOP;
END $$;
ALTER TABLE person NO FORCE ROW LEVEL SECURITY;

CREATE FUNCTION find_person(wanted text) RETURNS bigint STABLE LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
    RETURN (SELECT person FROM person WHERE name = wanted);

CREATE FUNCTION add_person(wanted text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO person (name) VALUES (wanted) ON CONFLICT DO NOTHING;
    RETURN find_person(wanted);
END $$;

CREATE FUNCTION schema_version() RETURNS bigint IMMUTABLE LANGUAGE sql RETURN 1;
