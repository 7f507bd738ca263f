"""What was erased or rejected: salted digests by which it is recognised, never its words; and receipts of erasures.

    add_receipt, add_scope     written by the commit that erases
    holds, recognise           which texts, which messages, say something that was erased
    add_values, find_values    values of facts that a person rejected, or that were erased
    receipts, record_proof     when, how many messages of which days, and what the search of every file found

A text is compared by its letters and digits alone (NFKC, case folded), whole and sentence by sentence, so that another
format, other quotation marks or other ids hide nothing. What is short or common ("ok", 好的) has no digest of its own.
A text is recognised if it was erased whole, if at least half of it was, or if it holds a long sentence of the
person's; replies only where they share a lot, since many replies share a phrase. Each message has digests of its id
and of its time too, by which also "ok" is recognised where it is the same one.

Digests travel with backups and exports, each with the salt of the memory that made it. What was said after an erasure
is new, whatever it says. Someone who has the whole file can test a guess, but read nothing.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, Self

from domain.facts import Fact, NewFact
from domain.patterns import pattern_of
from domain.receipts import ErasureReason, ErasureReceipt
from domain.records import ErasureScope, Message
from language.scripts import STOP_CHARACTERS, STOP_WORDS, is_unspaced
from storage.engine import EACH, Database, Stamp, Transaction, instant
from storage.sqlite import digests

#: ``message``: of an id or a time. ``person``: words of the person, or about them. ``whole``: a reply or a summary.
#: ``sentence``: of a reply. ``rejected``: a value that a person called wrong. ``fact``: a value that was erased.
Kind = Literal["message", "person", "whole", "sentence", "rejected", "fact"]
#: What a value is compared by: subject, attribute, value.
FactValue = tuple[str, str, str]
#: A piece that weighs less has no digest; one of the person's that weighs so much is recognised in any text; so much of
#: replies must be the same.
SHORTEST, ALONE, OF_REPLY = 12, 22, 40
#: What a digit and a character of a script without spaces weigh; any other letter weighs 1.
_DIGIT, _CHARACTER = 2, 2.4
_DIGEST = 16
#: Where a text is cut into sentences: their ends, lines, quotation marks, and colons before something that is quoted.
_CUT = pattern_of(
    r"[。！？；!?;\n…]+|\.(?=\s|$)|[:：](?=\s)|：|[“”\"「」『』«»]|(?<![^\W\d_])['‘’](?=\w)|(?<=\w)['‘’](?![^\W\d_])"
)
_WORD = pattern_of(r"[^\W_]+(?:['’][^\W_]+)*")
_NOT_IN_WORDS = pattern_of(r"[\W_]+")
_COLUMNS = "erased_at, number, reason, messages, sessions, days, derived, files, searched, traces"
#: In place of a number of files while there is no proof.
_UNPROVEN = -1
#: What is known of a piece that was not erased.
_NONE = (None, 0.0)
_NEVER = -1.0
#: Of a piece that was erased in several ways the first of these counts.
_STRONGEST: tuple[Kind, ...] = ("person", "whole", "sentence")


class _Piece(NamedTuple):
    """A sentence, or a whole text, as it is compared: its letters and digits, and how much they weigh."""

    words: str
    weight: float


def _pieces_of(text: str) -> tuple[_Piece, list[_Piece]]:
    """A text as a whole, and its sentences that are long enough to be recognised.

    >>> _pieces_of("Ok. My sister Patty is expecting!")[1]
    [_Piece(words='mysisterpattyisexpecting', weight=20)]
    """
    sentences = [one for part in _CUT.split(text) if part and (one := _as_piece(part)).weight >= SHORTEST]
    return _as_piece(text), sentences


def _as_piece(text: str) -> _Piece:
    folded = unicodedata.normalize("NFKC", text).casefold()
    weight = sum(map(_weigh_word, _WORD.findall(folded.replace("’", "'"))))
    return _Piece(_NOT_IN_WORDS.sub("", folded), weight)


def _weigh_word(word: str) -> float:
    """Characters of a word; nothing of one that says nothing about what a text is about."""
    if word in STOP_WORDS:
        return 0
    return sum(
        (_CHARACTER if one not in STOP_CHARACTERS else 0) if is_unspaced(one) else _DIGIT if one.isdigit() else 1
        for one in word
    )


def _long_enough(pieces: Iterable[_Piece]) -> Iterator[str]:
    """The pieces that have digests, each once."""
    yield from dict.fromkeys(one.words for one in pieces if one.weight >= SHORTEST)


def _every_piece(text: str) -> Iterator[str]:
    whole, sentences = _pieces_of(text)
    return _long_enough([whole, *sentences])


def _is_said_in(whole: _Piece, sentences: Sequence[_Piece], kind_of: Callable[[str], Kind | None]) -> bool:
    """Whether a text says something that was erased; ``kind_of`` knows the pieces that were."""
    kind = kind_of(whole.words) if whole.weight >= SHORTEST else None
    if kind == "person" or (kind == "whole" and whole.weight >= OF_REPLY):
        return True
    shared = [(one, kind) for one in sentences if (kind := kind_of(one.words))]
    weights = [one.weight for one, kind in shared if kind == "person"]
    if max(weights, default=0) >= ALONE:
        return True
    same = sum(one.weight for one, _ in shared)
    enough = bool(weights) or (len(shared) > 1 and same >= OF_REPLY)
    return enough and 2 * same >= whole.weight


def texts_like(texts: Sequence[str], hidden: Sequence[str]) -> set[str]:
    """Those of these texts that say what messages of the person say that are still stored, but hidden."""
    known = {word for text in hidden for word in _every_piece(text)}
    return {text for text in texts if _is_said_in(*_pieces_of(text), lambda word: "person" if word in known else None)}


def value_of(fact: Fact | NewFact) -> FactValue:
    """What the value of a fact is recognised by."""
    return fact.slot.subject or fact.subject, fact.slot.attribute or fact.attribute, fact.value


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """A message that may have been erased: ``ids`` are those under which it may have been stored."""

    role: str
    words: str
    timestamp: str
    ids: tuple[str, ...] = ()
    speaker: str = ""
    undated: bool = False

    @classmethod
    def of(cls, message: Message) -> Self:
        """A stored message."""
        return cls(message.role, message.words, message.timestamp, (message.text_id,), message.speaker, message.undated)

    @property
    def instant(self) -> float:
        """When it was said; long ago where no one knows."""
        return 0.0 if self.undated or not self.timestamp else instant(self.timestamp)


@dataclass(frozen=True, slots=True)
class ErasedRecord:
    """All that a memory knows of what was erased in it, and the ids of its hidden messages."""

    receipts: Sequence[tuple[object, ...]] = ()
    digests: Sequence[tuple[str, str, str, float]] = ()
    hidden: Sequence[str] = ()


@dataclass(frozen=True)
class ErasedTexts:
    """Reads and writes the tables ``erasure``, ``erased_salt`` and ``erased_text``.

    >>> memory.erased.holds(["Patty is expecting in May.", "It rains."])
    {'Patty is expecting in May.'}
    """

    database: Database
    stamp: Stamp

    # -- receipts ------------------------------------------------------------------------------------------------

    def add_receipt(self, tx: Transaction, chosen: ErasureScope, reason: ErasureReason) -> None:
        """Note that something is erased: when, how much, and of which days."""
        days = Counter("" if message.undated else message.timestamp[:10] for message in chosen.messages)
        sessions = {message.session_id for message in chosen.messages} | {one.session_id for one in chosen.sessions}
        derived = (chosen.summaries, chosen.chapters, chosen.notes, chosen.facts, chosen.lines, chosen.pins)
        self._add_receipts(
            tx,
            (
                self.stamp.now(), tx.next("erasure"), reason, len(chosen.messages), len(sessions),
                json.dumps(dict(sorted(days.items()))), sum(map(len, derived)), _UNPROVEN, 0, 0,
            ),
        )  # fmt: skip

    def _add_receipts(self, tx: Transaction, *receipts: tuple[object, ...]) -> None:
        new = f"INSERT INTO erasure ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        tx.many(f"{new} ON CONFLICT (erased_at, number) DO NOTHING", receipts)

    def unproven(self) -> list[tuple[str, int]]:
        """The erasures whose files have still to be cleaned and searched, by time and number."""
        query = "SELECT erased_at, number FROM erasure WHERE files = ?"
        return [(str(row[0]), int(row[1])) for row in self.database.run(query, _UNPROVEN)]

    def record_proof(
        self, tx: Transaction, erasures: Iterable[tuple[str, int]], files: int, searched: int, traces: int
    ) -> None:
        """Note what the search of every file found after these erasures; 0 files: that it has begun."""
        sql = "UPDATE erasure SET files = ?, searched = ?, traces = ? WHERE erased_at = ? AND number = ?"
        tx.many(sql, [(files, searched, traces, *one) for one in erasures])

    def receipts(self) -> list[ErasureReceipt]:
        """What was erased, oldest first."""
        return [
            ErasureReceipt(
                row["erased_at"], row["reason"], row["messages"], row["sessions"], json.loads(row["days"]),
                row["derived"], max(0, row["files"]), row["searched"], row["traces"],
            )
            for row in self.database.run(f"SELECT {_COLUMNS} FROM erasure ORDER BY erased_at, number")
        ]  # fmt: skip

    # -- digests -------------------------------------------------------------------------------------------------

    def add_scope(self, tx: Transaction, chosen: ErasureScope) -> None:
        """Store the digests of all that is erased."""
        if not (salt := self._own_salt()):
            return
        rows: list[tuple[str, Kind]] = []
        for message in chosen.messages:
            rows += [(one, "message") for one in _message_digests(salt, SaidMessage.of(message))]
            whole, sentences = _pieces_of(message.words)
            kinds: tuple[Kind, Kind] = ("person", "person") if message.role == "user" else ("whole", "sentence")
            rows += [(_text_digest(salt, one), kinds[0]) for one in _long_enough([whole])]
            rows += [(_text_digest(salt, one), kinds[1]) for one in _long_enough(sentences)]
        # A sentence of what was made from messages may be about something that stays.
        derived: list[tuple[str, Kind]] = [(one.summary, "whole") for one in chosen.summaries]
        about = [*(one.text for one in chosen.notes), *(one.restatement for one in chosen.facts)]
        derived += [(text, "person") for text in (*about, *chosen.lines, *chosen.pins)]
        rows += [(_text_digest(salt, one), kind) for text, kind in derived for one in _long_enough([_as_piece(text)])]
        rows += [(_value_digest(salt, value_of(fact)), "fact") for fact in chosen.facts if fact.value]
        self._add(tx, salt, rows)

    def add_values(self, tx: Transaction, facts: Sequence[Fact | NewFact]) -> None:
        """Store the digests of what the person called wrong: the values of these facts."""
        if salt := self._own_salt():
            values = (value_of(one) for one in facts if one.value)
            self._add(tx, salt, [(_value_digest(salt, one), "rejected") for one in values])

    def remove_values(self, tx: Transaction, facts: Sequence[Fact | NewFact]) -> None:
        """The person takes back that the values of these facts are wrong."""
        found = [_value_digest(salt, value_of(one)) for salt in self._salts().values() for one in facts]
        tx.many("DELETE FROM erased_text WHERE kind = 'rejected' AND digest = ?", [(one,) for one in found])

    def find_values(self, facts: Sequence[Fact | NewFact]) -> dict[str, Literal["rejected", "erased"]]:
        """Those of these facts, by ``text_id``, whose value was rejected, or was erased, by their slot and value.

        A fact whose words were said after that is new.
        """
        salts = self._salts().values()
        named = [(_value_digest(salt, value_of(one)), one) for one in facts for salt in salts]
        decided = {(digest, kind): when for digest, kind, when in self._find([digest for digest, _ in named])}
        found: dict[str, Literal["rejected", "erased"]] = {}
        for digest, one in named:
            if instant(one.said) <= decided.get((digest, "rejected"), _NEVER):
                found[one.text_id] = "rejected"
            elif instant(one.said) <= decided.get((digest, "fact"), _NEVER):
                found.setdefault(one.text_id, "erased")
        return found

    def holds(self, texts: Sequence[str]) -> set[str]:
        """Those of these texts that say something that was erased, whenever they were written."""
        if not (salts := self._salts()):
            return set()
        cut = {text: _pieces_of(text) for text in texts}
        kinds = self._kinds_of(salts, cut.values())
        return {text for text, pieces in cut.items() if _is_said_in(*pieces, lambda word: kinds.get(word, _NONE)[0])}

    def recognise(self, messages: Sequence[SaidMessage]) -> list[bool]:
        """Whether each message was erased, by its id, its time or its words; one that was said since then was not."""
        if not (salts := self._salts()):
            return [False] * len(messages)
        names = [[name for salt in salts.values() for name in _message_digests(salt, one)] for one in messages]
        same = {digest for digest, kind, _ in self._find([name for one in names for name in one]) if kind == "message"}
        cut = [_pieces_of(one.words) for one in messages]
        kinds = self._kinds_of(salts, cut)

        def kind_before(word: str, said: float) -> Kind | None:
            kind, erased = kinds.get(word, _NONE)
            return kind if said <= erased else None

        return [
            not same.isdisjoint(own) or _is_said_in(*pieces, partial(kind_before, said=one.instant))
            for own, one, pieces in zip(names, messages, cut, strict=True)
        ]

    def remove(self, tx: Transaction, messages: Sequence[SaidMessage]) -> None:
        """Let these messages be erased no more, since the person brings them back."""
        salts = self._salts().values()
        own = [name for salt in salts for one in messages for name in _message_digests(salt, one)]
        pieces = dict.fromkeys(word for one in messages for word in _every_piece(one.words))
        own += [_text_digest(salt, word) for salt in salts for word in pieces]
        tx.many("DELETE FROM erased_text WHERE digest = ?", [(one,) for one in own])

    def record(self) -> ErasedRecord:
        """All of it, for another copy of this memory."""
        receipts = self.database.run(f"SELECT {_COLUMNS} FROM erasure")
        query = "SELECT t.digest, s.salt, t.kind, t.instant FROM erased_text t JOIN erased_salt s ON s.number = t.salt"
        found = [(str(row[0]), str(row[1]), str(row[2]), float(row[3])) for row in self.database.run(query)]
        hidden = self.database.run("SELECT text_id FROM conversation WHERE hidden = 1")
        return ErasedRecord([tuple(row) for row in receipts], found, [str(row[0]) for row in hidden])

    def take_over(self, tx: Transaction, record: ErasedRecord) -> None:
        """Know also what another copy of this memory knows of what was erased."""
        self._add_receipts(tx, *record.receipts)
        for salt in dict.fromkeys(salt for _, salt, _, _ in record.digests):
            self._store(tx, salt, ((digest, kind, when) for digest, own, kind, when in record.digests if own == salt))

    # -- inside --------------------------------------------------------------------------------------------------

    def _own_salt(self) -> str:
        rows = self.database.run(digests.SALT)
        return str(rows[0][0]) if rows else ""

    def _salts(self) -> dict[int, str]:
        return {int(row[0]): str(row[1]) for row in self.database.run("SELECT number, salt FROM erased_salt")}

    def _add(self, tx: Transaction, salt: str, rows: Iterable[tuple[str, Kind]]) -> None:
        when = instant(self.stamp.now())
        self._store(tx, salt, ((digest, kind, when) for digest, kind in rows))

    def _store(self, tx: Transaction, salt: str, rows: Iterable[tuple[str, str, float]]) -> None:
        number = next((number for number, known in self._salts().items() if known == salt), 0)
        if not number:
            number = tx.next("erased_salt")
            tx.do("INSERT INTO erased_salt (number, salt) VALUES (?, ?)", number, salt)
        again = "ON CONFLICT (digest, salt, kind) DO UPDATE SET instant = excluded.instant"
        stored = f"INSERT INTO erased_text (digest, salt, kind, instant) VALUES (?, ?, ?, ?) {again}"
        tx.many(stored, [(digest, number, kind, when) for digest, kind, when in rows])

    def _kinds_of(
        self, salts: Mapping[int, str], cut: Iterable[tuple[_Piece, list[_Piece]]]
    ) -> dict[str, tuple[Kind | None, float]]:
        """The pieces of these texts that were erased, each with its kind and when that was last."""
        pieces = {word for whole, sentences in cut for word in _long_enough([whole, *sentences])}
        named = {_text_digest(salt, word): word for salt in salts.values() for word in pieces}
        kinds: dict[str, tuple[Kind | None, float]] = {}
        for digest, kind, when in self._find(named):
            before, erased = kinds.get(named[digest], (kind, when))
            kinds[named[digest]] = min(kind, before or kind, key=_STRONGEST.index), max(when, erased)
        return kinds

    def _find(self, found: Iterable[str]) -> list[tuple[str, Kind, float]]:
        query = f"SELECT digest, kind, instant FROM erased_text WHERE digest IN {EACH}"
        wanted = list(found)
        return [(row[0], row[1], float(row[2])) for row in self.database.run(query, wanted)] if wanted else []


def _message_digests(salt: str, said: SaidMessage) -> list[str]:
    under_ids = [digests.id_digest(salt, said.role, one, said.words) for one in said.ids]
    if not said.timestamp or not said.ids:
        return under_ids
    return [*under_ids, digests.said_digest(salt, said.role, said.speaker, said.timestamp, said.words)]


def _text_digest(salt: str, words: str) -> str:
    return _digest(salt, "words", words)


def _value_digest(salt: str, value: FactValue) -> str:
    return _digest(salt, "value", *(_as_piece(part).words for part in value))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
