"""One file of a recognised format, all files of one export, and the conversations that are built from them.

A reader turns a ``Reading`` into conversations and need not handle damage: what is cut off, broken or too long is
recorded as a problem, everything intact around it is read, and problems are returned beside the conversations. In a
``ConversationBuilder`` every message is taken or counted as left out, so that the counts add up.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from domain.imports import PastConversation, PastMessage, Spoken, Unread
from domain.text import clean_text, is_blank
from importers.export_files import DAMAGE_ERRORS, Count, DecodedText, ExportFile, ignore_count
from importers.json_stream import LONGEST, CutOff, JsonError, JsonStream, TooLong, enter_path
from language.instants import parse_instant, utc_name, with_zone

#: Errors that a reader may raise on a malformed conversation.
SHAPE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
#: The longest cell of a table; a longer one is no message.
_LONGEST_CELL = 1 << 24


class NotRead(StrEnum):
    """Why a conversation or part of a file cannot be read: message keys of an ``Unread``."""

    CUT = "history.unread.cut"
    BROKEN = "history.unread.broken"
    DAMAGED = "history.unread.damaged"
    MISSHAPEN = "history.unread.misshapen"
    NO_MESSAGES = "history.unread.no_messages"
    TOO_LONG = "history.unread.too_long"
    MISSING_FILE = "history.unread.missing_file"
    POINTS_ELSEWHERE = "history.unread.points_elsewhere"
    NOTES = "history.unread.notes"
    DAY_OR_MONTH = "history.unread.day_or_month"
    SOMEBODY_ELSES = "history.unread.other_person"
    SUSPICIOUS = "history.unread.suspicious"
    DATABASE_INSIDE = "history.unread.database_inside"
    LOCKED = "history.unread.locked"
    SKIPPED = "history.unread.skipped"


@dataclass(frozen=True)
class ReadingOptions:
    """How files are to be read, as far as they do not say so themselves.

    ``me``: which speaker is the person, in chats between people. ``zone``: where local times were written down; without
    it they are unknown. ``day_first``: whether 3/4 is the third of April, where a file leaves that open.
    ``not_remembered``: also take what was marked as not to be remembered.
    """

    me: str = ""
    zone: tzinfo | None = None
    day_first: bool | None = None
    not_remembered: bool = False


@dataclass(frozen=True)
class Layout:
    """Where the elements of a JSON file are: in an array, at the end of a path of keys; one a line; or it is one."""

    kind: Literal["array", "lines", "object"] = "object"
    path: tuple[str, ...] = ()


@dataclass
class Reading:
    """One file, ready to be read. ``outline`` is what of its shape was seen when it was recognised."""

    source: str
    part: ExportFile
    options: ReadingOptions
    encoding: str = "utf-8-sig"
    layout: Layout = Layout()
    outline: Mapping[str, Any] = field(default_factory=dict)
    count_bytes: Count = ignore_count
    problems: list[Unread] = field(default_factory=list)

    def add_problem(self, reason: str, where: str = "", **details: object) -> None:
        """Record what could not be read."""
        self.problems.append(self.make_unread(reason, where, **details))

    def make_unread(self, reason: str, where: str = "", **details: object) -> Unread:
        """What could not be read, and where: in this file, unless that is named."""
        return Unread(self.source, where or self.part.name, reason, details)

    def parse_time(self, value: Any) -> datetime | None:
        """A time of this file."""
        return parse_instant(value, self.options.zone)

    def localize_time(self, when: datetime) -> datetime | None:
        """A local time of this file, in the zone that was passed."""
        return with_zone(when, self.options.zone)

    @contextmanager
    def tolerate_damage(self) -> Iterator[None]:
        """Run the block as far as the file is intact; damage is recorded as a problem."""
        try:
            yield
        except CutOff:
            self.add_problem(NotRead.CUT)
        except JsonError as error:
            self.add_problem(NotRead.BROKEN, said=str(error))
        except DAMAGE_ERRORS as error:
            self.add_problem(NotRead.DAMAGED, said=type(error).__name__)

    @contextmanager
    def open_text(self, counted: bool = True, newline: str | None = None) -> Iterator[io.TextIOWrapper]:
        """Its text."""
        count = self.count_bytes if counted else ignore_count
        with self.part.open(count) as file, io.TextIOWrapper(file, self.encoding, "replace", newline) as text:
            yield text

    def read_lines(self, counted: bool = True) -> Iterator[str]:
        """Its lines without their ends, as far as the file is sound."""
        with self.tolerate_damage() if counted else suppress(*DAMAGE_ERRORS), self.open_text(counted) as text:
            while line := text.readline(LONGEST):
                yield line.rstrip("\n")

    def read_rows(self) -> Iterator[Mapping[str, str]]:
        """The rows of a table of text (CSV), each by its columns in small letters, as far as the file is sound."""
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            with self.tolerate_damage(), self.open_text(newline="") as text:
                yield from self._whole_rows(text)
        except csv.Error as error:
            self.add_problem(NotRead.BROKEN, said=str(error))
        finally:
            csv.field_size_limit(before)

    def _whole_rows(self, text: io.TextIOWrapper) -> Iterator[Mapping[str, str]]:
        """The rows that are whole; a last one that is not was cut off."""
        rows = csv.reader(line.replace("\0", "") for line in text)
        columns = [cell.strip().lower() for cell in next(rows, [])]
        short = False
        for row in filter(None, rows):
            if short:
                self.add_problem(NotRead.BROKEN, said=f"{rows.line_num}")
            short = len(row) < len(columns)
            if not short:
                yield dict(zip(columns, row, strict=False))
        if short:
            self.add_problem(NotRead.CUT)

    def read_list(self, wanted: str) -> Iterator[Any]:
        """The elements of the list that the object of the file has under a key, as far as the file is intact."""
        with self.tolerate_damage(), self.open_json() as stream:
            for key in stream.iterate_fields():
                if key != wanted or stream.peek_mark() != "[":
                    stream.skip_value()
                    continue
                for _ in stream.iterate_items():
                    yield stream.read_value()

    def read_elements(self, layout: Layout | None = None) -> Iterator[tuple[str, Any]]:
        """Its elements in order, each with its place, as far as the file is intact."""
        layout = layout or self.layout
        with self.tolerate_damage():
            yield from self._by_line() if layout.kind == "lines" else self._from_stream(layout)

    @contextmanager
    def open_json(self) -> Iterator[JsonStream]:
        """Its JSON, at the beginning."""
        with self.part.open(self.count_bytes) as file:
            yield JsonStream(DecodedText(file, self.encoding))

    def _from_stream(self, layout: Layout) -> Iterator[tuple[str, Any]]:
        with self.open_json() as stream:
            if not enter_path(stream, layout.path):
                raise CutOff("ends")
            if layout.kind == "object":
                yield self.part.name, stream.read_value()
                return
            for number in stream.iterate_items():
                where = f"{self.part.name} #{number + 1}"
                try:
                    value = stream.read_value()
                except CutOff:
                    raise
                except JsonError as error:
                    stream.skip_value()
                    reason = NotRead.TOO_LONG if isinstance(error, TooLong) else NotRead.BROKEN
                    self.add_problem(reason, where, said=str(error))
                else:
                    yield where, value

    def _by_line(self) -> Iterator[tuple[str, Any]]:
        with self.open_text(newline="\n") as text:
            number = 0
            while line := text.readline(LONGEST):
                number += 1
                if not line.strip():
                    continue
                try:
                    value = json.loads(line, strict=False)
                except (ValueError, RecursionError):
                    cut = not line.endswith("\n")
                    self.add_problem(NotRead.CUT if cut else NotRead.BROKEN, f"{self.part.name}:{number}")
                else:
                    yield f"{self.part.name}:{number}", value


#: How the key of a conversation begins that has none in its file, and is named by how it begins.
CONTENT_KEY_PREFIX = "~"


class LeftOut(StrEnum):
    """Why a message is not imported: message keys, counted by each conversation."""

    SYSTEM = "history.left_out.system"
    INSTRUCTIONS = "history.left_out.instructions"
    HIDDEN = "history.left_out.hidden"
    TOOL = "history.left_out.tool"
    THINKING = "history.left_out.thinking"
    OTHER_BRANCH = "history.left_out.other_branch"
    EMPTY = "history.left_out.empty"
    ATTACHMENT = "history.left_out.attachment"
    DELETED = "history.left_out.deleted"
    FORWARDED = "history.left_out.forwarded"
    FAILED = "history.left_out.failed"
    NOT_REMEMBERED = "history.left_out.not_remembered"
    NO_TALK = "history.left_out.no_talk"
    MISSHAPEN = "history.left_out.misshapen"


def make_key(*fields: str) -> str:
    """A key made from what something says, where the format gives it none."""
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "replace")).hexdigest()[:24]


def is_same_name(one: str, other: str) -> bool:
    """Whether two names are written alike, but for case and form."""
    plain, same = (unicodedata.normalize("NFKC", name).casefold().strip() for name in (one, other))
    return bool(plain) and plain == same


def role_of_speaker(speaker: str, me: str) -> Spoken:
    """Whose words a speaker's are in a chat between people."""
    return "person" if me and is_same_name(speaker, me) else "somebody"


class ConversationBuilder:
    """A conversation that is being read.

    A message without a time has that of the one before it, the first that of the conversation: it cannot be older.
    """

    def __init__(
        self, source: str, key: str, title: str = "", *, began: datetime | None = None, persona: str = ""
    ) -> None:
        self.source, self.key, self.title, self.persona = source, clean_text(key), title, persona
        self._last = began
        self._messages: list[PastMessage] = []
        self._left_out: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    def add_message(
        self, key: str, by: Spoken, text: str, said: datetime | None, speaker: str = "", written: str = ""
    ) -> None:
        """Add a message, or count it as empty.

        Without a key it gets one from speaker, time and text; ``written`` is the time without a zone, so that
        the key does not depend on the zone.
        """
        words = clean_text(text).strip()
        if is_blank(words):
            self.leave_out(LeftOut.EMPTY)
            return
        if not key:
            when = written or (utc_name(said) if said else "")
            key = self.number_key(make_key(speaker or by, when, words))
        self._last = said or self._last
        self._messages.append(PastMessage(clean_text(key), by, words, self._last, clean_text(speaker).strip()))

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count messages that are not imported."""
        if count:
            self._left_out[reason] += count

    def build(self) -> PastConversation:
        """The conversation; one without a key is named by how it begins, so that one that grew is the same."""
        title = clean_text(self.title).strip()
        key = self.key or CONTENT_KEY_PREFIX + make_key(title, *(message.key for message in self._messages[:2]))
        return PastConversation(
            self.source, key, title, tuple(self._messages), clean_text(self.persona).strip(), dict(self._left_out)
        )

    def number_key(self, key: str) -> str:
        """The key, numbered from its second use on."""
        self._written[key] += 1
        return key if not key or self._written[key] == 1 else f"{key}-{self._written[key]}"


Found = PastConversation | Unread
Reader = Callable[[Reading], Iterator[Found]]
ReadOne = Callable[[Mapping[str, Any], str, Reading], Found]
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Format(Generic[Seen]):
    """A format: how it is recognised by what was seen of a file, and how files of it are read."""

    source: str
    matches: Callable[[Seen], bool]
    read: Reader


#: By an element of JSON or JSON Lines, or the outline of the whole file.
JsonFormat = Format[Mapping[str, Any]]
#: By the beginning of a text.
TextFormat = Format[str]
#: By the names of the tables.
DatabaseFormat = Format[frozenset[str]]


def column_names(head: str) -> set[str]:
    """The columns that the first line of a table of text names, in small letters."""
    line = head.lstrip("\ufeff").split("\n", 1)[0]
    return {cell.strip().lower() for cell in next(csv.reader([line]), [])} if len(line) < 10_000 else set()


def read_safely(read_one: ReadOne, element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    """The conversation that an element is, or why it cannot be read."""
    try:
        return read_one(element, where, reading)
    except SHAPE_ERRORS as error:
        return reading.make_unread(NotRead.MISSHAPEN, where, said=type(error).__name__)


def read_each(read_one: ReadOne) -> Reader:
    """A reader of files whose elements are conversations: one that cannot be read costs only itself."""

    def read(reading: Reading) -> Iterator[Found]:
        for where, element in reading.read_elements():
            if isinstance(element, dict):
                yield read_safely(read_one, element, where, reading)
            else:
                yield reading.make_unread(NotRead.MISSHAPEN, where)

    return read


class RecognisedFile:
    """What was recognised as one export: a file, or several that belong together."""

    def __init__(
        self, source: str, name: str, reader: Reader, readings: Sequence[Reading], unread: Sequence[Unread] = ()
    ) -> None:
        self.source, self.name = source, name
        self._reader = reader
        self._readings, self._unread = readings, unread
        self._done = 0
        #: The keys that were made from how conversations begin, each with the conversations that begin so.
        self._alike: dict[str, dict[str, int]] = {}

    @property
    def size(self) -> int:
        """How many bytes there are to be read."""
        return sum(reading.part.size for reading in self._readings)

    @property
    def done(self) -> int:
        """How many of them were read."""
        return min(self._done, self.size)

    def read(self) -> Iterator[Found]:
        """Everything in it, from the beginning, one conversation in memory at a time."""
        self._done, self._alike = 0, {}
        yield from self._unread
        for reading in self._readings:
            reading.count_bytes, reading.problems = self._count_bytes, []
            yield from self._read_one(reading)
            yield from reading.problems

    def _read_one(self, reading: Reading) -> Iterator[Found]:
        if reading.part.refused:
            yield reading.make_unread(NotRead.SUSPICIOUS, said=reading.part.refused)
            return
        try:
            for found in self._reader(reading):
                yield from reading.problems
                reading.problems.clear()
                yield self._with_own_key(found) if isinstance(found, PastConversation) else found
        except (*DAMAGE_ERRORS, *SHAPE_ERRORS, sqlite3.Error) as error:
            yield reading.make_unread(NotRead.DAMAGED, said=type(error).__name__)

    def _with_own_key(self, found: PastConversation) -> PastConversation:
        """The conversation; one that has no key and begins as another is numbered. Two identical ones share a key."""
        if not found.key.startswith(CONTENT_KEY_PREFIX):
            return found
        alike = self._alike.setdefault(found.key, {})
        place = alike.setdefault(make_key(*(message.key for message in found.messages)), len(alike))
        return replace(found, key=f"{found.key}-{place + 1}") if place else found

    def _count_bytes(self, count: int) -> None:
        self._done += count
