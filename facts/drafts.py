"""A model's reply parsed into drafts of notes, facts and verdicts; nothing is checked against the messages yet.

Messages are numbered from 1 in the window. Every entry is validated separately, so that a bad one costs only itself;
rejected entries are counted by reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from domain.facts import About, MemoryType, Stance
from domain.matters import MatterKind
from domain.patterns import pattern_of
from facts.reply_json import Entries, first_of, handles_of, line_of, read_entries, read_object, truth_of, words_of

#: What a new fact does to a known one, as the comparison says; ``adds`` is to none.
Verdict = Literal["same", "adds", "changes", "ends", "corrects"]
#: Whether words say a statement.
Answer = Literal["yes", "no", "partly"]
#: What became of an open matter; ``drop``: the person does not want to be asked.
SettledHow = Literal["done", "off", "moved", "drop"]
_SETTLED_FORMS: Mapping[str, SettledHow] = {how: how for how in get_args(SettledHow)}
#: Longer statements and values are rejected.
_LONGEST_STATEMENT, _LONGEST_VALUE = 1_000, 300


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation between two things, as returned by the model."""

    source: str
    relation: str
    target: str


@dataclass(frozen=True, slots=True)
class QuoteDraft:
    """The words of a message that state a fact, as a model repeats them; ``message`` is its number, 0 if none is
    given.
    """

    message: int
    words: str


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A statement, as returned by the model. ``messages`` are message numbers of the window.

    ``quotes``: the words it rests on; none where the model left them out, None where it has no place for them.
    ``inferred``: the model concludes it, no one said it. ``open``: as what it is still ahead or unsettled, if it is,
    with ! where it is grave.
    """

    restatement: str
    subject: str
    attribute: str
    value: str
    about: About
    stance: Stance
    keywords: tuple[str, ...]
    persons: tuple[str, ...]
    entities: tuple[str, ...]
    location: str
    start: str
    end: str
    messages: tuple[int, ...]
    relations: tuple[RelationDraft, ...] = ()
    quotes: tuple[QuoteDraft, ...] | None = None
    inferred: bool = False
    open: str = ""


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A note with its facts, as returned by the model. ``messages`` are message numbers of the window."""

    text: str
    topic: str
    importance: int
    memory_type: MemoryType
    private: bool
    messages: tuple[int, ...]
    facts: tuple[FactDraft, ...] = ()


@dataclass(frozen=True, slots=True)
class VerdictDraft:
    """What a new fact does to a known one, as returned by the model; each by its place among its own, from 1."""

    new: int
    known: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class DoubtDraft:
    """A known fact that may no longer hold, as returned by the model; the new fact causes it (0: none given)."""

    known: int
    new: int


@dataclass(frozen=True, slots=True)
class SettledDraft:
    """What became of an open matter, by its number in the prompt, with the words of a message that say so."""

    number: int
    how: SettledHow
    message: int
    words: str


@dataclass(frozen=True, slots=True)
class NotesRead:
    """The drafts of a reply. ``understood``: it contained JSON; if not, it counts as no reply."""

    notes: tuple[NoteDraft, ...]
    rejected: Counter[str]
    understood: bool
    settled: tuple[SettledDraft, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonRead:
    """The verdicts and doubts of a reply. ``understood``: it contained JSON; if not, it counts as no reply."""

    verdicts: tuple[VerdictDraft, ...]
    doubts: tuple[DoubtDraft, ...]
    rejected: Counter[str]
    understood: bool


def read_notes(reply: str, finish: str = "stop", examples: Sequence[str] = ()) -> NotesRead:
    """The notes of a reply, each with its facts. ``examples`` are the statements of the prompt's own example."""
    found = read_entries(reply, finish, "notes", "entries", "memories", "items")
    rejected: Counter[str] = Counter()
    echoes = frozenset(map(_letters_only, examples))
    checks = _Checks(echoes, rejected)
    drafts = [_read_note(value, checks, cut) for value, cut in _with_cut(found)]
    settled = (read_object(reply) or {}).get("settled")
    rows = settled if isinstance(settled, list) else [settled] if settled else []
    ended = [one for row in rows for one in _read_settled(row)]
    rejected["shape"] += ended.count(None)
    return NotesRead(
        tuple(draft for draft in drafts if draft), +rejected, found.understood, tuple(one for one in ended if one)
    )


def _read_settled(value: object) -> Iterable[SettledDraft | None]:
    """What became of each matter that a row names; None where the row cannot be read."""
    row = {str(key).strip().casefold(): each for key, each in value.items()} if isinstance(value, Mapping) else {}
    how = _SETTLED_FORMS.get(_plain_word(row.get("how")))
    numbers, turns = (handles_of(each) for each in (first_of(row, "open", "n"), first_of(row, "turn", "turns")))
    words = line_of(first_of(row, "quote", "words"))[:_LONGEST_STATEMENT]
    for number in numbers or (0,):
        yield SettledDraft(number, how, next(iter(turns), 0), words) if how and number > 0 else None


def _plain_word(value: object) -> str:
    """A word without marks around it, in one width and case; the first of a list."""
    return unicodedata.normalize("NFKC", next(iter(words_of(value)), "")).casefold().strip(" .。!?\"'")


def _read_open(value: object) -> str:
    """The kind of an open matter, with ! where it is grave; a word that is no kind as it came."""
    word = _plain_word(line_of(value))[:20]
    kind = next((one for one in get_args(MatterKind) if word in (one, f"{one}s", f"{one[:-1]}ies")), word)
    return kind + "!" * bool(kind and re.search("[!！]", line_of(value)))


def read_comparison(reply: str, new: int, finish: str = "stop") -> ComparisonRead:
    """The verdicts of a reply, and the facts it doubts. In it the numbers of known facts follow those of the ``new``.

    A known fact by the number of a new one is no. 0, which is none. A verdict is a line, "1 changes 4, 5", or an entry
    of JSON.
    """
    lines = _VERDICT_LINE.finditer(unicodedata.normalize("NFKC", reply.rpartition("</think>")[2]))
    found = Entries(tuple(line.groupdict() for line in lines), understood=True, cut=False)
    found = found if found.values else read_entries(reply, finish, "verdicts", "comparisons", "results", "items")
    rejected: Counter[str] = Counter()
    rows = [value for value, cut in _with_cut(found) if not cut]
    listed = first_of(read_object(reply), "doubts", "doubtful", "may_no_longer_hold")
    doubts = listed if isinstance(listed, list) else [listed]
    verdicts = [verdict for row in rows if _is_verdict(row) for verdict in _read_verdicts(row)]
    rejected["shape"] += verdicts.count(None)
    return ComparisonRead(
        tuple(replace(verdict, known=max(0, verdict.known - new)) for verdict in verdicts if verdict),
        tuple(replace(doubt, known=max(0, doubt.known - new)) for doubt in _read_doubts(rows, doubts)),
        +rejected,
        found.understood,
    )


#: A new number, the verdict and known numbers, in a line of their own.
_VERDICT_LINE = pattern_of(
    r"^\W*(?P<new>\d+)\W+(?P<verdict>same|changes?|ends?|corrects?|doubts?)\W+(?P<known>\d[\d\s,、和and-]*)[.。]?$",
    re.IGNORECASE | re.MULTILINE,
)


def read_answers(reply: str, count: int) -> dict[int, Answer]:
    r"""The answers to ``count`` numbered questions; one that is missing, or answered in two ways, is left out.

    >>> read_answers('1: yes\n2 - No.\n"3": "部分"\n4 yes\n4 no\n9 yes', 5)
    {1: 'yes', 2: 'no', 3: 'partly'}
    """
    found: dict[int, set[Answer]] = {}
    for each in _ANSWER.finditer(unicodedata.normalize("NFKC", reply.rpartition("</think>")[2])):
        word = each["word"].casefold()
        answer: Answer = "yes" if word in ("yes", "是") else "no" if word in ("no", "否", "不是") else "partly"
        found.setdefault(int(each["number"]), set()).add(answer)
    return {
        number: next(iter(said)) for number, said in sorted(found.items()) if 0 < number <= count and len(said) == 1
    }


#: A number and the answer behind it, in lines, in a table or in JSON.
_ANSWER = pattern_of(
    r"(?<![\w.])(?P<number>\d{1,4})[^\w\n]{1,6}(?:(?:answer|verdict|回答|答案)[^\w\n]{1,6})?"
    r"(?P<word>yes|no|partly|partially|不是|是|否|部分)(?![A-Za-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Checks:
    """The statements of the prompt's own example, in their letters, and the numbers of rejected drafts by reason."""

    echoes: frozenset[str]
    rejected: Counter[str]

    def is_echo(self, text: str) -> bool:
        """Whether a text is the prompt's own example or a placeholder."""
        return _letters_only(text) in self.echoes or _is_placeholder(text)


def _with_cut(found: Entries) -> Iterable[tuple[object, bool]]:
    """Every entry, and whether the reply was truncated in it."""
    last = len(found.values) - 1
    return ((value, found.cut and at == last) for at, value in enumerate(found.values))


def _read_note(value: object, checks: _Checks, cut: bool) -> NoteDraft | None:
    if not isinstance(value, Mapping):
        checks.rejected["shape"] += 1
        return None
    if not truth_of(value.get("should_remember"), True):
        checks.rejected["unimportant"] += 1
        return None
    rows = value.get("facts")
    rows = list(rows) if isinstance(rows, list) else [rows] if isinstance(rows, Mapping) else []
    if cut:
        checks.rejected["cut"] += 1
        if not rows:
            return None
        rows = rows[:-1]
    facts = tuple(fact for row in _of_note(value, rows) if (fact := _read_fact(row, checks, value)))
    text = line_of(first_of(value, "text", "note", "summary", "statement", "restatement", "content"))
    text = text or " ".join(fact.restatement for fact in facts)
    messages = handles_of(first_of(value, "turns", "turn", "evidence", "ids"))
    messages = messages or tuple(dict.fromkeys(message for fact in facts for message in fact.messages))
    if not text or not messages:
        checks.rejected["shape"] += 1
        return None
    if checks.is_echo(text[:_LONGEST_STATEMENT]):
        checks.rejected["echo"] += 1
        return None
    importance = handles_of(first_of(value, "importance", "importance_score")) or (5,)
    return NoteDraft(
        text=text[:_LONGEST_STATEMENT],
        topic=line_of(value.get("topic"))[:80],
        importance=min(10, max(1, importance[0])),
        memory_type="passive" if line_of(first_of(value, "memory_type", "type")).casefold() == "passive" else "active",
        private=truth_of(value.get("private"), True),
        messages=messages,
        facts=facts,
    )


def _of_note(note: Mapping[str, object], rows: list[object]) -> list[object]:
    """The facts of a note; an entry that is itself a fact is a note of one fact."""
    return rows or ([note] if "attribute" in note or "restatement" in note else [])


def _read_fact(value: object, checks: _Checks, note: Mapping[str, object]) -> FactDraft | None:
    if not isinstance(value, Mapping):
        checks.rejected["shape"] += 1
        return None
    fact = {str(key).strip().casefold(): each for key, each in value.items()}
    named = first_of(fact, "turns", "turn", "evidence", "ids")
    words = first_of(fact, "quote", "quotes", "words")
    quotes = tuple(_read_quotes(words, handles_of(named)))
    if named is None:
        named = [quote.message for quote in quotes if quote.message] or first_of(note, "turns", "turn")
    messages = handles_of(named)
    restatement = line_of(first_of(fact, "restatement", "statement", "text", "fact"))[:_LONGEST_STATEMENT]
    if triple := _read_triple(fact.get("triple"), "subject", "attribute", "value"):
        fact |= dict(zip(("subject", "attribute", "value"), triple, strict=True))
    attribute = line_of(first_of(fact, "attribute", "predicate", "property", "key"))[:80]
    content = line_of(first_of(fact, "value", "object")) or "、".join(words_of(fact.get("value")))
    content = content[:_LONGEST_VALUE]
    said = line_of(fact.get("stance"))
    stance = _read_stance(said)
    if not (restatement and messages and (attribute or content)):
        checks.rejected["shape"] += 1
        return None
    if checks.is_echo(restatement) or (content and (checks.is_echo(content) or content == attribute)):
        checks.rejected["echo"] += 1
        return None
    if stance is None:
        checks.rejected["shape"] += 1
        return None
    return FactDraft(
        restatement=restatement,
        subject=line_of(first_of(fact, "subject", "who"))[:120],
        attribute=attribute,
        value=content,
        about=_read_about(line_of(fact.get("about"))),
        stance=stance,
        keywords=words_of(fact.get("keywords"))[:20],
        persons=words_of(fact.get("persons"))[:20],
        entities=words_of(fact.get("entities"))[:20],
        location=line_of(fact.get("location"))[:120],
        start=line_of(first_of(fact, "start", "since", "date"))[:40],
        end=line_of(first_of(fact, "end", "until"))[:40],
        messages=messages,
        relations=tuple(_read_relations(fact.get("relations"))),
        quotes=None if words is None else quotes,
        inferred=said.casefold() in _INFERRED,
        open=_read_open(fact.get("open")),
    )


def _read_quotes(value: object, messages: Sequence[int]) -> Iterable[QuoteDraft]:
    """One or several quotes: words alone, one for each of the ``messages``, or words with the number of their
    message.
    """
    rows = value if isinstance(value, list) else [value]
    for at, row in enumerate(rows):
        if isinstance(row, Mapping):
            words = line_of(first_of(row, "words", "quote", "text"))
            message = next(iter(handles_of(first_of(row, "turn", "message", "turns"))), 0)
        else:
            words, message = line_of(row), messages[at] if len(rows) == len(messages) else 0
        if words:
            yield QuoteDraft(message, words[:_LONGEST_STATEMENT])


def _read_about(said: str) -> About:
    """Whom a fact is about, whatever words the model used."""
    word = said.strip().casefold()
    if word in {"", "person", "user", "the user", "the person", "用户", "本人"}:
        return "person"
    return "companion" if word in {"companion", "assistant", "the assistant", "ai", "助手", "老友"} else "other"


#: The stances of what a model concludes.
_INFERRED = frozenset({"inferred", "inference", "concluded"})


def _read_stance(said: str) -> Stance | None:
    """The stance, whatever words the model used; None if they are no stance."""
    return _STANCE_FORMS.get(said.strip().casefold() or "stated")


_STANCE_FORMS: Mapping[str, Stance] = {
    **{stance: stance for stance in get_args(Stance)},
    "fact": "stated", "asserted": "stated", "past": "stated", "plan": "planned", "plans": "planned", "wish": "wished",
    "hypothetical": "supposed", "supposition": "supposed", "reported": "supposed", "inferred": "supposed",
    "inference": "supposed", "concluded": "supposed", "joke": "joked", "irony": "joked",
}  # fmt: skip


def _read_relations(value: object) -> Iterable[RelationDraft]:
    for row in value if isinstance(value, list) else []:
        parts = _read_triple(row, "source", "relation", "target")
        if parts and all(parts):
            yield RelationDraft(*(part[:120] for part in parts))


def _read_triple(row: object, *names: str) -> tuple[str, ...]:
    """Three texts in a list, or under their names; nothing where there are not three."""
    if isinstance(row, Mapping):
        return tuple(line_of(row.get(name)) for name in names)
    parts = tuple(map(line_of, row)) if isinstance(row, list) else words_of(row)
    return parts if len(parts) == len(names) else ()


def _is_verdict(row: object) -> bool:
    return isinstance(row, Mapping) and "verdict" in row and not _is_doubt(row)


def _read_verdicts(row: object) -> Iterable[VerdictDraft | None]:
    """A verdict for each known fact that the row names; None where it is none."""
    assert isinstance(row, Mapping)
    new = handles_of(first_of(row, "new", "fact", "new_fact"))
    verdict = _VERDICT_FORMS.get(line_of(row.get("verdict")).casefold())
    for known in handles_of(first_of(row, "known", "old", "known_fact", "known_facts")) or (0,):
        yield VerdictDraft(new[0], known, verdict) if new and verdict else None


_VERDICT_FORMS: Mapping[str, Verdict] = {
    **{verdict: verdict for verdict in get_args(Verdict)},
    "add": "adds", "new": "adds", "change": "changes", "changed": "changes", "update": "changes", "updates": "changes",
    "end": "ends", "ended": "ends", "correct": "corrects", "corrected": "corrects", "duplicate": "same", "none": "adds",
}  # fmt: skip


def _read_doubts(rows: Iterable[object], listed: Iterable[object]) -> Iterable[DoubtDraft]:
    """The doubts of their own list and those inside verdicts."""
    for row in listed:
        if isinstance(row, Mapping) and "verdict" not in row:
            because = handles_of(first_of(row, "new", "because", "by"))
            yield from (
                DoubtDraft(known, because[0] if because else 0)
                for known in handles_of(first_of(row, "known", "doubts", "fact"))
            )
        elif not isinstance(row, Mapping):
            yield from (DoubtDraft(known, 0) for known in handles_of(row))
    for row in rows:
        if isinstance(row, Mapping) and ("doubts" in row or _is_doubt(row)):
            because = handles_of(first_of(row, "new", "fact", "new_fact"))
            doubted = handles_of(row["doubts"] if "doubts" in row else row.get("known"))
            yield from (DoubtDraft(known, because[0] if because else 0) for known in doubted)


def _is_doubt(row: Mapping[str, object]) -> bool:
    """Whether a row calls its doubt a verdict."""
    return line_of(row.get("verdict")).casefold() in ("doubts", "doubt")


def _letters_only(text: str) -> str:
    return "".join(character for character in unicodedata.normalize("NFKC", text).casefold() if character.isalnum())


_BLANKS = frozenset(
    """
    text topic value subject attribute string name restatement statement unknown null na placeholder
    johndoe 示例 文本 未知
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)


def _is_placeholder(text: str) -> bool:
    """Whether a text is a placeholder: "<name>", "...", "{value}", "unknown"."""
    bare = _letters_only(text)
    plain = text.strip()
    return not bare or bare in _BLANKS or (plain[:1], plain[-1:]) in {("<", ">"), ("{", "}"), ("[", "]")}
