"""Step 7: the tree of all that was said. Chapters are rows; turns and sessions are nodes as they stand.

    turn (rank 0) -> group of turns (1, in a long session) -> session, with its summary (1) -> chapters (2) -> life (2)

A session and a turn name the chapter above them, a chapter the one above it. A chapter without text is asked for anew:
something under it is gone. A visit is a round in which a node, or anything under it, was handed over; ``last_visit`` is
the number of that round. In ``visit`` and ``faded`` a session goes by its own id, since its summary is often replaced.
"""

from __future__ import annotations

#: The node above all others, which is no row.
LIFE = "life"

_NODES = f"""
CREATE VIEW node AS
WITH RECURSIVE
above_session (chapter, session_id) AS (
    SELECT chapter, session_id FROM session WHERE chapter IS NOT NULL
    UNION ALL
    SELECT c.parent, a.session_id FROM above_session a JOIN chapter c ON c.seq = a.chapter WHERE c.parent IS NOT NULL
),
above_turn (chapter, turn) AS (
    SELECT chapter, seq FROM conversation WHERE chapter IS NOT NULL
    UNION ALL
    SELECT c.parent, a.turn FROM above_turn a JOIN chapter c ON c.seq = a.chapter WHERE c.parent IS NOT NULL
),
began (session_id, moment, timestamp) AS (
    SELECT session_id, min(julianday(timestamp)), timestamp FROM conversation GROUP BY session_id
),
ended (session_id, moment, timestamp) AS (
    SELECT session_id, max(julianday(timestamp)), timestamp FROM conversation GROUP BY session_id
),
covered (chapter, place, first, start, last, "end") AS (
    SELECT a.chapter, s.position, b.moment, b.timestamp, e.moment, e.timestamp FROM above_session a
        JOIN session s USING (session_id) JOIN began b USING (session_id) JOIN ended e USING (session_id)
    UNION ALL
    SELECT a.chapter, t.position, julianday(t.timestamp), t.timestamp, julianday(t.timestamp), t.timestamp
        FROM above_turn a JOIN conversation t ON t.seq = a.turn
),
first_of (chapter, moment, start, place) AS (
    SELECT chapter, min(first), start, (SELECT min(place) FROM covered o WHERE o.chapter = c.chapter)
        FROM covered c GROUP BY chapter
),
last_of (chapter, moment, "end") AS (SELECT chapter, max(last), "end" FROM covered GROUP BY chapter),
told (name, text_id, rank, parent, place, source, start, "end", metadata) AS (
    SELECT t.text_id, t.text_id, 0, coalesce(g.text_id, m.text_id, t.session_id), t.position, s.door, t.timestamp,
        t.timestamp, json_object('session_id', t.session_id, 'role', t.role, 'round', t.round)
        FROM conversation t JOIN session s USING (session_id) LEFT JOIN summary m USING (session_id)
        LEFT JOIN chapter g ON g.seq = t.chapter
    UNION ALL
    SELECT s.session_id, coalesce(m.text_id, s.session_id), 1, coalesce(c.text_id, '{LIFE}'), s.position, s.door,
        b.timestamp, e.timestamp, json_object('session_id', s.session_id, 'status', s.status)
        FROM session s JOIN began b USING (session_id) JOIN ended e USING (session_id)
        LEFT JOIN summary m USING (session_id) LEFT JOIN chapter c ON c.seq = s.chapter
    UNION ALL
    SELECT c.text_id, c.text_id, CASE WHEN c.session_id IS NULL THEN 2 ELSE 1 END,
        coalesce(p.text_id, m.text_id, c.session_id, '{LIFE}'), f.place, coalesce(s.door, ''), f.start, l."end",
        json_object('height', c.height, 'session_id', c.session_id, 'made', c.stored_at)
        FROM chapter c LEFT JOIN chapter p ON p.seq = c.parent LEFT JOIN summary m ON m.session_id = c.session_id
        LEFT JOIN session s ON s.session_id = c.session_id
        LEFT JOIN first_of f ON f.chapter = c.seq LEFT JOIN last_of l ON l.chapter = c.seq
    UNION ALL
    SELECT '{LIFE}', '{LIFE}', 2, NULL, 0, '', (SELECT timestamp FROM began ORDER BY moment LIMIT 1),
        (SELECT timestamp FROM ended ORDER BY moment DESC LIMIT 1), '{{}}'
)
SELECT n.text_id, n.rank, n.parent, n.place, n.source, n.start, n."end", n.metadata,
    coalesce(v.visit_count, 0) AS visit_count, coalesce(v.last_visit, 0) AS last_visit,
    coalesce(v.never_delete, 0) AS never_delete, n.name
FROM told n LEFT JOIN visit v ON v.text_id = n.name;
"""

CHAPTERS = f"""
CREATE TABLE chapter (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    text_id TEXT NOT NULL UNIQUE,
    session_id TEXT REFERENCES session (session_id) ON DELETE CASCADE,
    height INTEGER NOT NULL CHECK (height > 0),
    parent INTEGER REFERENCES chapter (seq) ON DELETE SET NULL,
    text TEXT NOT NULL,
    stored_at TEXT NOT NULL
);
CREATE INDEX chapter_of_parent ON chapter (parent) WHERE parent IS NOT NULL;
CREATE INDEX chapter_of_session ON chapter (session_id) WHERE session_id IS NOT NULL;
ALTER TABLE session ADD COLUMN chapter INTEGER REFERENCES chapter (seq) ON DELETE SET NULL;
CREATE INDEX session_of_chapter ON session (chapter) WHERE chapter IS NOT NULL;
ALTER TABLE conversation ADD COLUMN chapter INTEGER REFERENCES chapter (seq) ON DELETE SET NULL;
CREATE INDEX conversation_of_chapter ON conversation (chapter) WHERE chapter IS NOT NULL;

CREATE TABLE visit (
    text_id TEXT PRIMARY KEY,
    visit_count INTEGER NOT NULL DEFAULT 0,
    last_visit INTEGER NOT NULL DEFAULT 0,
    never_delete INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE faded (text_id TEXT PRIMARY KEY, stored_at TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta SELECT 'rounds', CAST(n AS TEXT)
    FROM (SELECT count(*) AS n FROM conversation WHERE role = 'user') WHERE n > 0;
{_NODES}
"""
