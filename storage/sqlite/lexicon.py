"""The lexical index: our own tokens in SQLite's FTS5, written in the transaction of what they were made from.

Three tables of the same kind: ``turn``, ``summary`` and ``fact``; a row of a table has the ``seq`` of its
turn, its summary or its fact. FTS5 is used as an inverted index: for each term of a question it gives the
rows that hold it and how often (table type ``fts5vocab``,
https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module), and the ranking is made from that outside
of SQL, since FTS5's own ``bm25()`` has fixed parameters and knows no neighbours.

Beside it stands who stores rounds together with it, with the queue for vectors, with what is known and with the visits
of what served them: a visit is counted once for each node and for each that stands above it, and what had faded is
found again from then on.

Promises: a row can be found as soon as its transaction is committed, and never after it was removed; a term
that stands in more than ``cap`` rows costs no more than a probe, however large the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from domain.records import PREFIX, Finish, Kind, Round, Summary, Turn
from domain.text import own_words, with_references
from domain.tree import LIFE
from storage.fact_states import Renaming
from storage.sqlite.database import Database, Sql
from storage.sqlite.kept_vectors import EmbeddingTables
from storage.sqlite.learning import FactTables
from storage.sqlite.saves import SaveTables
from storage.sqlite.schema import WORD_TABLES, WordTable
from storage.store import NewTurn, Postings

#: In ``meta``: how often anything faded, came back or moved.
_FADINGS = "fadings"
#: The chapters with these numbers and all above them.
_WITH_THOSE_ABOVE = (
    "WITH RECURSIVE up (seq) AS (SELECT seq FROM chapter WHERE seq IN ({}) UNION"
    " SELECT c.parent FROM up JOIN chapter c USING (seq) WHERE c.parent IS NOT NULL) SELECT seq FROM up"
)

#: Tokens that say what a text is; the place in this list is the bit in the column ``marks``.
MARKS = ("@asks", "@time", "@number", "@named")

#: So many pages of an index are written at the most when pieces of it are joined, so that nobody waits for it.
_JOINED_PAGES = 64

#: All terms in one statement, and for each one string: read ten times faster than a row for each occurrence.
_READ = (
    "SELECT value, (SELECT group_concat(doc) FROM (SELECT doc FROM {0}_postings WHERE term = value))"
    " FROM json_each(?)"
)
#: A probe that never reads more than the cap, and no text. In quotes nothing in a term has a meaning of its own.
_UNCOMMON = (
    " WHERE (SELECT 1 FROM {0}_words WHERE {0}_words MATCH '\"' || replace(value, '\"', '\"\"') || '\"'"
    " LIMIT 1 OFFSET ?) IS NULL"
)


class Lexicon:
    """The index of words. Writes take the ``sql`` of the caller's transaction.

    >>> with database.write() as sql:
    ...     lexicon.add(sql, "turn", turn.seq, words.tokens(turn.words))
    >>> lexicon.postings("turn", ("picnic",), cap=20_000)["picnic"].seqs
    array([41, 77])
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sql: Sql, table: WordTable, seq: int, tokens: Sequence[str]) -> None:
        """Make a row findable; a row that was there before is replaced.

        Tokens in ``MARKS`` are kept as bits beside the length, not as words: they stand in too many rows.
        """
        self.remove(sql, table, (seq,))
        self.add_new(sql, table, seq, tokens)

    def add_new(self, sql: Sql, table: WordTable, seq: int, tokens: Sequence[str]) -> None:
        """The same for a row that was never there."""
        words = [token for token in tokens if token not in MARKS]
        length = sum(not word.startswith("@") for word in words)
        marks = sum(1 << bit for bit, mark in enumerate(MARKS) if mark in tokens)
        sql(f"INSERT INTO {table}_words (rowid, tokens) VALUES (?, ?)", (seq, " ".join(words)))
        sql(f"INSERT INTO {table}_length (seq, length, marks) VALUES (?, ?, ?)", (seq, length, marks))

    def remove(self, sql: Sql, table: WordTable, seqs: Iterable[int]) -> None:
        """Make rows unfindable. Their bytes go with the next ``optimize``."""
        for seq in seqs:
            sql(f"DELETE FROM {table}_words WHERE rowid = ?", (seq,))
            sql(f"DELETE FROM {table}_length WHERE seq = ?", (seq,))

    def optimize(self, sql: Sql) -> None:
        """Merge each table into one segment, so that (with ``secure_delete``) no removed token is left."""
        for table in WORD_TABLES:
            sql(f"INSERT INTO {table}_words ({table}_words) VALUES ('optimize')")

    def join_pieces(self, sql: Sql) -> None:
        """Join pieces of each table where four or more of one size lie (https://sqlite.org/fts5.html#the_merge_command).

        Each commit leaves a piece, and each term of a question is looked for in all of them.
        """
        for table in WORD_TABLES:
            sql(f"INSERT INTO {table}_words ({table}_words, rank) VALUES ('merge', ?)", (_JOINED_PAGES,))

    def rows(self, table: WordTable) -> int:
        """About how many rows a table has: the highest number in it, which costs nothing to know."""
        return int(self._database.read(f"SELECT coalesce(max(seq), 0) FROM {table}_length")[0][0])

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for a term that nobody used; a term in more than ``cap`` rows is left out."""
        rows = self.rows(table)
        if not rows:
            return _postings(dict.fromkeys(terms, ""))
        sql = _READ.format(table) + (_UNCOMMON.format(table) if rows > cap else "")
        found = self._database.read(sql, (json.dumps(terms), cap) if rows > cap else (json.dumps(terms),))
        return _postings({row[0]: row[1] or "" for row in found})


def _postings(joined: Mapping[str, str]) -> dict[str, Postings]:
    """The rows of terms out of ``7,7,9``: the number of a row for each time a term stands in it.

    All terms at once: one after another costs ten times as much.
    """
    import numpy as np

    held = {term: text.count(",") + 1 if text else 0 for term, text in joined.items()}
    rows = np.fromstring(",".join(filter(None, joined.values())), dtype=np.int64, sep=",")
    ends = np.cumsum(list(held.values()), dtype=np.int64)
    first = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    first[ends[ends < len(rows)]] = True
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(rows)))
    cuts = np.searchsorted(starts, ends).tolist()
    seqs = rows[starts]
    return {
        term: Postings(seqs[begin:end], counts[begin:end])
        for term, begin, end in zip(held, [0, *cuts], cuts, strict=False)
    }


def words_found_by(turn: Turn) -> str:
    """By what a turn is found: its own words, and the name of whoever else said it."""
    return f"{turn.speaker}\n{own_words(turn)}" if turn.speaker else own_words(turn)


class IndexWriter(FactTables, EmbeddingTables, SaveTables):
    """Stores turns, summaries and facts together with their indexes. ``tokens`` cuts a text into words."""

    def __init__(self, database: Database, tokens: Callable[[str], Sequence[str]]) -> None:
        super().__init__(database)
        self._tokens = tokens
        self._lexicon = Lexicon(database)

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for a term that nobody used; a term in more than ``cap`` rows is left out."""
        return self._lexicon.postings(table, terms, cap)

    def rows(self, table: WordTable) -> int:
        """About how many rows a table of words has."""
        return self._lexicon.rows(table)

    def store_round(
        self,
        session_id: str,
        turns: Sequence[NewTurn],
        finish: Finish,
        now: str,
        *,
        instead_of: Round | None = None,
        before: Round | None = None,
        served: Sequence[str] = (),
    ) -> Round:
        """A round at the end of its session, or right before another; what was in flight there is settled.

        The turns, summaries and chapters that ``served`` it are visited with that.
        """
        with self._database.write():
            if instead_of:
                self._remove_turns(instead_of.turns)
            spoken = self._add_round(session_id, turns, finish, now, before)
            self._index_turns(spoken.turns)
            self._count_round(served)
            if before:
                self._count_fading()
                self._embed_again(self._dependents(turn.text_id for turn in spoken.turns))
            self.drop_in_flight(session_id)
            self.drop_stages(session_id)
        return spoken

    def store_alone(self, session_id: str, turn: NewTurn, now: str) -> Turn:
        """A message that nobody answers, at the end of its session: it is found, read and erased as every turn is.

        It is a round without a reply, so it stands in no context and in no summary.
        """
        with self._database.write():
            self._add_turns(session_id, (turn,), "stop", now)
            stored = self.turns_with_ids([turn.text_id])[0]
            self._index_turns([stored])
            self.drop_stages(session_id)
        return stored

    def done(self, digests: Mapping[str, str], model: str) -> None:
        """Take texts off the queue; in the same commit, for which nobody waits, the index of words is kept in order."""
        with self._database.write() as sql:
            super().done(digests, model)
            self._lexicon.join_pieces(sql)

    def learn_fact(self, text_id: str, session_id: str, now: str, text: str, turns: Sequence[int]) -> None:
        """Keep a fact that was drawn from the turns with these numbers: it finds them from this commit on."""
        columns = "(text_id, session_id, timestamp, text) VALUES (?, ?, ?, ?)"
        with self._database.write() as sql:
            seq = sql(f"INSERT INTO fact {columns}", (text_id, session_id, now, text)).lastrowid or 0
            self._rest_on(sql, "fact", seq, turns)
            self._index_fact(sql, seq, text)

    def _index_fact(self, sql: Sql, number: int, text: str) -> None:
        self._lexicon.add(sql, "fact", number, self._tokens(text))

    def _index_facts(self, sql: Sql, numbers: Sequence[int]) -> None:
        there = self.facts_numbered(numbers)
        told = {fact.number: fact for fact in there if not (fact.corrected and fact.decided == "hand")}
        self._unindex_facts(sql, [number for number in numbers if number not in told])
        for number, fact in told.items():
            words = (fact.restatement, *fact.keywords, *fact.persons, *fact.entities, fact.location)
            self._index_fact(sql, number, " ".join(words))

    def _index_renamed(self, sql: Sql, before: Sequence[Renaming]) -> None:
        changed = {*before} ^ {*self._renamings()}
        names = [name for one in changed for name in (one.wrong, one.right)]
        if names:
            self._index_facts(
                sql, [one.number for one in self.facts() if any(name in one.words for name in names)]
            )

    def _unindex_facts(self, sql: Sql, numbers: Sequence[int]) -> None:
        self._lexicon.remove(sql, "fact", numbers)

    def _among_faded(self, names: Sequence[str]) -> set[str]:
        return {row[0] for row in self._read_parts("SELECT text_id FROM faded WHERE text_id IN ({})", names)}

    def _enqueue(self, text_id: str, kind: Kind) -> None:
        """Ask for a vector, of a new text or of one whose key has changed: an old vector is let go."""
        if self._among_faded([text_id]):
            return
        with self._database.write() as sql:
            sql("DELETE FROM embedding WHERE text_id = ?", (text_id,))
            sql("INSERT OR REPLACE INTO pending (text_id, kind) VALUES (?, ?)", (text_id, kind))

    def _index_turns(self, turns: Iterable[Turn]) -> None:
        """Turns can be found from this commit on, but those that are withheld or have faded."""
        given = list(turns)
        faded = self._among_faded([turn.text_id for turn in given])
        with self._database.write() as sql:
            for turn in given:
                if not turn.withheld and turn.text_id not in faded:
                    self._lexicon.add(sql, "turn", turn.seq, self._tokens(words_found_by(turn)))
                    self._enqueue(turn.text_id, "conversation")

    def _unindex_turns(self, turns: Sequence[Turn]) -> None:
        """Turns cannot be found from this commit on, nor what was drawn from them.

        The vectors of the turns after them are made again, since their keys hold words of these.
        """
        gone, seqs = [turn.text_id for turn in turns], [turn.seq for turn in turns]
        with self._database.write() as sql:
            self._drop_undoable_saves()
            self._embed_again(self._dependents(gone))
            self._lexicon.remove(sql, "turn", seqs)
            self._forget_known_of(seqs)
            self.forget_vectors(gone)

    def _index_summary(self, summary: Summary) -> None:
        """A summary can be found from this commit on, but one of a session that has faded."""
        if self._among_faded([summary.session_id]):
            return
        with self._database.write() as sql:
            self._lexicon.add(sql, "summary", summary.seq, self._tokens(summary.summary))
            self._enqueue(summary.text_id, "summary")

    def _refer_to_memories(self, turn: Turn) -> None:
        """Of quotations that were found in a memory leave a reference to it."""
        words = with_references(turn)
        if words != turn.words:
            self._set_words(turn, words)
            self._index_turns([replace(turn, text=PREFIX[turn.role] + words, quoted=())])
            self._embed_again(self._dependents([turn.text_id]))

    def _remove_turns(self, turns: Sequence[Turn]) -> None:
        """Turns with their words, vectors and facts."""
        with self._database.write():
            self._unindex_turns(turns)
            self._delete_turns(turns)

    def _remove_summary(self, summary: Summary | None) -> list[str]:
        """A summary with its words and vectors. Returns its id."""
        if summary is None:
            return []
        with self._database.write() as sql:
            self._lexicon.remove(sql, "summary", [summary.seq])
            self.forget_vectors([summary.text_id])
            self._delete_summary(summary.session_id)
        return [summary.text_id]

    def _embed_again(self, text_ids: Iterable[str]) -> None:
        for text_id in text_ids:
            self._enqueue(text_id, "conversation")

    # -- what served a round ---------------------------------------------------------------------------------------

    def rounds_told(self) -> int:
        """How many rounds this memory was ever told, also those that are gone."""
        return int(self._meta("rounds") or 0)

    def _count_round(self, served: Sequence[str]) -> None:
        """One more round, in which these turns, summaries and chapters were handed over: they are vivid again."""
        number = self.rounds_told() + 1
        with self._database.write() as sql:
            self._set_meta("rounds", str(number))
            for name in self._with_nodes_above(served):
                sql(
                    "INSERT INTO visit (text_id, visit_count, last_visit) VALUES (?1, 1, ?2) ON CONFLICT (text_id)"
                    " DO UPDATE SET visit_count = visit_count + 1, last_visit = ?2",
                    (name, number),
                )
            if back := sorted(self._among_faded(served)):
                self.unfade(back)

    def _with_nodes_above(self, served: Sequence[str]) -> list[str]:
        """The names of nodes and of all above them, each once."""
        ids = list(dict.fromkeys(served))
        if not ids:
            return []
        turns = self._read_parts(
            "SELECT text_id, session_id, chapter FROM conversation WHERE text_id IN ({})", ids
        )
        summaries = self._read_parts("SELECT session_id FROM summary WHERE text_id IN ({})", ids)
        sessions = list(dict.fromkeys(row["session_id"] for row in (*turns, *summaries)))
        below = self._chapters_of([row["text_id"] for row in turns], sessions)
        own = self._rows_of("SELECT seq FROM chapter WHERE text_id IN ({})", ids)
        chapters = self._read_parts(
            "SELECT text_id FROM chapter WHERE seq IN ({})", self._spine([*below, *own])
        )
        found = [*(row["text_id"] for row in turns), *sessions, *(row["text_id"] for row in chapters)]
        return [*found, LIFE] if found else []

    def unfade(self, names: Sequence[str]) -> None:
        """Let these be found again, with the summaries of the sessions that they are of."""
        turns, _ = self._named(names)
        back = list(dict.fromkeys([*names, *(turn.session_id for turn in turns)]))
        with self._database.write():
            self._note_vivid(back)
            turns, summaries = self._named(back)
            self._index_turns(turns)
            for summary in summaries:
                self._index_summary(summary)
            self._count_fading()

    def _note_vivid(self, names: Sequence[str]) -> None:
        with self._database.write() as sql:
            for name in names:
                sql("DELETE FROM faded WHERE text_id = ?", (name,))

    def any_faded(self) -> bool:
        """Whether anything has faded at all."""
        return bool(self._read("SELECT 1 FROM faded LIMIT 1"))

    def fadings(self) -> int:
        """A number that changes whenever turns fade, return to the search under their old numbers, or move."""
        return int(self._meta(_FADINGS) or 0)

    def _count_fading(self) -> None:
        self._set_meta(_FADINGS, str(self.fadings() + 1))

    def _named(self, names: Sequence[str]) -> tuple[list[Turn], list[Summary]]:
        """The turns, and the summaries of the sessions, with these names."""
        summaries = (self.summary(name) for name in names)
        return self.turns_with_ids(names), [one for one in summaries if one and one.summary]

    def _chapters_of(self, turns: Sequence[str], sessions: Sequence[str]) -> list[int]:
        query = "SELECT DISTINCT chapter FROM {0} WHERE chapter IS NOT NULL AND {1} IN ({{}})"
        of_turns = self._rows_of(query.format("conversation", "text_id"), turns)
        return [*of_turns, *self._rows_of(query.format("session", "session_id"), sessions)]

    def _spine(self, numbers: Sequence[int]) -> list[int]:
        """These chapters and all above them."""
        return self._rows_of(_WITH_THOSE_ABOVE, numbers)

    def _rows_of(self, query: str, values: Sequence[object]) -> list[int]:
        return list(dict.fromkeys(int(row[0]) for row in self._read_parts(query, values)))
