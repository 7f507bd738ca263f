"""Importing: conversations of other programs become sessions of the past, each at its time.

    conversation -> messages with times -> sessions split at long pauses -> pieces, some hundred messages a commit

Guarantees: every message is stored word for word, in the order shown; an unknown time is that of its neighbours, and is
flagged; nothing is stored twice, so an interrupted import can be repeated; a bad conversation costs only itself, and
everything left out is counted with its reason. Memory use is flat: one conversation at a time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from domain.file_reader import open_bytes
from domain.imports import (
    ASSISTANTS,
    HistoryFile,
    ImportedMessage,
    KnownMessages,
    Look,
    PastConversation,
    PastMessage,
    PastPiece,
    Unread,
)
from domain.records import PREFIX, Message, Role
from domain.text import clean_text, is_blank
from domain.workers import CancelToken
from language.calendar import in_zone
from memory import Memory
from prompts import TEMPLATES

#: A conversation that rested for so long went on as another one.
PAUSE = timedelta(hours=6)
#: So many messages are stored in one commit, so that no other program waits long.
_AT_ONCE = 100
#: Goes up when what is read of the same file may be more than before.
READER = 1
#: Of what cannot be read so much is named.
_NAMED = 20
#: A preview reports its progress after so many conversations.
_PROGRESS_EVERY = 25
_BYTES = 1 << 20
#: Years of which a time is taken for true.
YEARS = range(1970, 2900)
_FAR = timedelta(hours=14)
#: Titles and names are repeated in prompts, so they are cut.
_LONGEST_TITLE, _LONGEST_NAME = 300, 80
#: Reasons for which a message is left out here, besides those of the readers.
_EMPTY = "history.left_out.empty"


@dataclass(frozen=True)
class FileProgress:
    """How far a file is read: of ``size`` bytes, and so many messages."""

    done: int
    size: int
    messages: int


@dataclass(frozen=True)
class ImportDone:
    """The result of an import. ``known`` were imported before, ``erased`` left out because they were erased.

    Of what is ``unread`` the first are named.
    """

    source: str
    number: int
    conversations: int
    sessions: int
    messages: int
    known: int
    left_out: Mapping[str, int]
    unread: tuple[Unread, ...]
    unread_count: int
    erased: int = 0


@dataclass
class _Counts:
    """Counts over a file."""

    conversations: int = 0
    messages: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    unread_count: int = 0

    def count_unread(self, unread: Unread) -> None:
        """Something that could not be read."""
        self.unread_count += 1
        if len(self.unread) < _NAMED:
            self.unread.append(unread)

    def count_conversation(self, conversation: PastConversation, messages: Sequence[ImportedMessage]) -> None:
        """A conversation with the turns that are made of it."""
        self.conversations += 1
        self.messages += len(messages)
        self.left_out.update(conversation.left_out)
        if empty := len(conversation.messages) - len(messages):
            self.left_out[_EMPTY] += empty


@dataclass(frozen=True)
class ImportContext:
    """Who the person is in chats between people, by the names in the file; and when what has no time may have been."""

    me: frozenset[str]
    fallback: datetime


def make_context(me: Collection[str], path: Path, now: datetime) -> ImportContext:
    """For a file: what has no time at all was said before the file was written."""
    try:
        written = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    except (OSError, OverflowError, ValueError):
        written = now
    return ImportContext(frozenset(map(plain_name, me)), min(written, now))


def plain_name(name: str) -> str:
    """A name as it is compared: a chat program writes ``~ Ann`` for Ann."""
    return " ".join(clean_text(name).removeprefix("~").split()).casefold()


def preview_file(
    file: HistoryFile,
    who: ImportContext,
    window: int,
    group: int,
    cancel: CancelToken,
    known: Callable[[PastPiece], KnownMessages] = lambda one: KnownMessages(),
) -> Iterator[FileProgress | Look]:
    """Read a file without storing anything; the last event is what it contains. Raises Interrupted.

    ``window`` messages are read at once for notes, and ``group`` sessions become a chapter; ``known`` counts the turns
    of a piece that were brought before, or were erased.
    """
    preview = _Preview(file.source, who, window, group, known)
    for number, read in enumerate(file.read(), start=1):
        cancel.check()
        preview.add_conversation(read)
        if number % _PROGRESS_EVERY == 0:
            yield FileProgress(file.done, file.size, preview.counts.messages)
    yield preview.result()


class Importing:
    """Imports files into one memory."""

    def __init__(self, memory: Memory, at_once: int = _AT_ONCE) -> None:
        self._memory = memory
        self._past = memory.imports
        self._at_once = at_once

    def run(
        self,
        file: HistoryFile,
        name: str,
        sha256: str,
        who: ImportContext,
        cancel: CancelToken,
        *,
        with_erased: bool = False,
    ) -> Iterator[FileProgress | ImportDone]:
        """Import a file; the last event is ``ImportDone``. Raises Interrupted and StorageError.

        What was erased is left out and counted, unless the person wants it back: ``with_erased``.

        However it ends, what was stored by then stays, and the next run continues after it.
        """
        number = self._past.begin(name, file.source, sha256, READER)
        counts, messages, sessions, erased = _Counts(), 0, 0, 0
        for batch in self._batch_pieces(file, who, counts):
            cancel.check()
            added = self._past.add(number, batch, with_erased=with_erased)
            messages, sessions, erased = messages + added.messages, sessions + added.sessions, erased + added.erased
            yield FileProgress(file.done, file.size, counts.messages)
        self._past.end(number, counts.conversations)
        yield ImportDone(
            file.source, number, counts.conversations, sessions, messages, counts.messages - messages - erased,
            dict(counts.left_out), tuple(counts.unread), counts.unread_count, erased,
        )  # fmt: skip

    def _batch_pieces(self, file: HistoryFile, who: ImportContext, counts: _Counts) -> Iterator[list[PastPiece]]:
        """All that is to be stored of a file, in lists that are stored in one commit; what is met is counted."""
        batch: list[PastPiece] = []
        size = 0
        for piece in self._read_pieces(file, who, counts):
            if batch and size + len(piece.messages) > self._at_once:
                yield batch
                batch, size = [], 0
            batch.append(piece)
            size += len(piece.messages)
        if batch:
            yield batch

    def _read_pieces(self, file: HistoryFile, who: ImportContext, counts: _Counts) -> Iterator[PastPiece]:
        for read in file.read():
            if isinstance(read, Unread):
                counts.count_unread(read)
                continue
            messages = past_messages(read, who)
            counts.count_conversation(read, messages)
            yield from split_into_pieces(
                replace(read, summary=self._check_summary(read.summary, messages)), messages, self._at_once
            )

    def _check_summary(self, summary: str, messages: Sequence[ImportedMessage]) -> str:
        """What another program made of a conversation, as far as its messages say it."""
        if not summary:
            return ""
        from facts.summary_checks import SummarySources

        said = [
            Message(at, str(at), "", one.timestamp, one.role, PREFIX[one.role] + one.words, at, speaker=one.speaker)
            for at, one in enumerate(messages)
        ]
        names, language = self._memory.names(), self._memory.language()
        words = TEMPLATES[language]
        speakers = {"user": words.person, "assistant": words.companion}
        return SummarySources(said, names, speakers).check_text(summary, language)


def split_into_pieces(
    conversation: PastConversation, messages: Sequence[ImportedMessage], at_once: int = _AT_ONCE
) -> Iterator[PastPiece]:
    """A conversation, some hundred turns at a time."""
    name = f"{conversation.source}\n{conversation.key}"
    title = _single_line(conversation.title, _LONGEST_TITLE)
    log = conversation.log and f"{conversation.source}\n{conversation.log}"
    for start in range(0, len(messages), at_once):
        before = messages[start - 1] if start else None
        part = tuple(messages[start : start + at_once])
        summary = conversation.summary if start + at_once >= len(messages) else ""
        yield PastPiece(name, title, bool(conversation.persona), part, before, conversation.session_id, log, summary)


# -- turns ---------------------------------------------------------------------------------------------------------


def past_messages(conversation: PastConversation, who: ImportContext) -> list[ImportedMessage]:
    """The messages of a conversation as turns, each with its time, its stretch, and whether it is a reply."""
    shown = [(one, words) for one in conversation.messages if not is_blank(words := clean_text(one.text))]
    times = _fill_times([one.said for one, _ in shown], who.fallback)
    # A session that has an id there stays one.
    stretches = [0] * len(shown) if conversation.session_id else _split_stretches([time for time, _ in times])
    keys = _unique_keys([one.key for one, _ in shown])
    messages: list[ImportedMessage] = []
    said = Counter[tuple[str, ...]]()
    for (one, words), (time, known), stretch, key in zip(shown, times, stretches, keys, strict=True):
        role, speaker = _find_speaker(one, conversation, who)
        at = time.isoformat(timespec="seconds")
        before = messages[-1] if role == "assistant" and messages else None
        replies = before is not None and before.role == "user" and before.stretch == stretch
        same = (role, speaker, at, *words.split())
        copy, said[same] = said[same], said[same] + 1
        messages.append(
            ImportedMessage(
                key, role, words, at, stretch, speaker, not known, replies, one.text_id, copy,
                one.metadata, one.visits, one.never_delete,
            )
        )  # fmt: skip
    return messages


def _find_speaker(message: PastMessage, conversation: PastConversation, who: ImportContext) -> tuple[Role, str]:
    """The role of a message, and the name of its speaker if that is neither of the two."""
    match message.by:
        case "person":
            return "user", ""
        case "companion":
            name = conversation.persona or ASSISTANTS.get(conversation.source, "")
            return "assistant", _single_line(name, _LONGEST_NAME)
        case _ if plain_name(message.speaker) in who.me:
            return "user", ""
    return "assistant", _single_line(message.speaker, _LONGEST_NAME) or "?"


def _single_line(name: str, longest: int) -> str:
    line = " ".join(clean_text(name).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _fill_times(said: Sequence[datetime | None], fallback: datetime) -> list[tuple[datetime, bool]]:
    """When each message was said, and whether that is known; if not it is when the one before, or after, was said."""
    known = [_valid_time(one) for one in said]
    first = next(filter(None, known), fallback)
    times: list[tuple[datetime, bool]] = []
    for one in known:
        before = times[-1][0] if times else first
        times.append((one or before, one is not None))
    return times


def _valid_time(said: datetime | None) -> datetime | None:
    """A moment as it is stored: where it was seen from there, else here. None for one that cannot be."""
    if said is None or said.tzinfo is None or said.year not in YEARS:
        return None
    offset = said.utcoffset() or timedelta()
    return said if offset and abs(offset) <= _FAR else in_zone(said)


def _split_stretches(times: Sequence[datetime]) -> list[int]:
    """Which stretch each message belongs to; a clock that was set back begins none."""
    found = [0] if times else []
    for before, after in pairwise(times):
        found.append(found[-1] + (after - before > PAUSE))
    return found


def _unique_keys(keys: Sequence[str]) -> Iterator[str]:
    """The keys, each once: a file may give two messages the same."""
    seen = Counter[str]()
    for key in keys:
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key}\n{seen[key]}"


# -- looking -------------------------------------------------------------------------------------------------------


class _Preview:
    """Collects what a file contains."""

    def __init__(
        self, source: str, who: ImportContext, window: int, group: int, known: Callable[[PastPiece], KnownMessages]
    ) -> None:
        self.counts = _Counts()
        self._count_known = known
        self._known = self._erased = 0
        self._look = Look(source, 0, 0, 0, 0, "", "")
        self._who = who
        self._window, self._group = window, group
        self._sessions = 0
        self._words_of, self._names = Counter[str](), Counter[str]()

    def add_conversation(self, read: PastConversation | Unread) -> None:
        """Another conversation, or one that cannot be read."""
        if isinstance(read, Unread):
            self.counts.count_unread(read)
            return
        messages = past_messages(read, self._who)
        self.counts.count_conversation(read, messages)
        for known in map(self._count_known, split_into_pieces(read, messages)):
            self._known, self._erased = self._known + known.messages, self._erased + known.erased
        self._words_of.update(message.speaker or _ROLES[message.role] for message in messages)
        if not any(message.role == "user" for message in messages):
            self._names.update(one.speaker for one in read.messages if one.by == "somebody" and one.speaker)
        seen, lengths = self._look, Counter(message.stretch for message in messages).values()
        to_read = [] if read.persona else lengths  # role play is not read
        self._sessions += len(to_read)
        dated = [message.timestamp for message in messages if not message.undated]
        ends = [*dated, *filter(None, (seen.first, seen.last))]
        self._look = replace(
            seen,
            sessions=seen.sessions + len(lengths),
            undated=seen.undated + len(messages) - len(dated),
            first=min(ends, key=datetime.fromisoformat, default=""),
            last=max(ends, key=datetime.fromisoformat, default=""),
            windows=seen.windows + sum(-(-length // self._window) for length in to_read),
        )

    def result(self) -> Look:
        """All of it, with how many chapters so many sessions become, and those over them."""
        chapters, ungrouped = 0, self._sessions
        while ungrouped := ungrouped // self._group:
            chapters += ungrouped
        return replace(
            self._look,
            conversations=self.counts.conversations,
            messages=self.counts.messages,
            words_of=dict(self._words_of),
            names=dict(self._names),
            left_out=dict(self.counts.left_out),
            unread=tuple(self.counts.unread),
            unread_count=self.counts.unread_count,
            chapters=chapters,
            known=self._known,
            erased=self._erased,
        )


_ROLES: Mapping[Role, str] = {"user": "person", "assistant": "companion"}


def digest_of(path: Path, cancel: CancelToken) -> str:
    """A digest of a file, or of all files of a folder with their names. Raises OSError and Interrupted."""
    whole = hashlib.sha256()
    files = [path] if not path.is_dir() else sorted(one for one in path.rglob("*") if one.is_file())
    for one in files:
        if path.is_dir():
            whole.update(f"\n{one.relative_to(path).as_posix()}\n".encode("utf-8", "surrogatepass"))
        with open_bytes(one) as file:
            while part := file.read(_BYTES):
                cancel.check()
                whole.update(part)
    return whole.hexdigest()
