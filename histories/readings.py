"""One file of a format that was recognised, as a reader is handed it; and the whole of what was recognised.

A reader turns a ``Reading`` into conversations and need not think of damage: what is cut off, broken or too long is put
down as a flaw, what is whole before and behind it is handed over, and the flaws come out beside the conversations.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any, Literal

from domain.histories import PastConversation, Unread
from histories import omissions
from histories.encodings import DecodedText
from histories.instants import instant, placed
from histories.parts import DAMAGES, Count, FilePart
from histories.streaming import LONGEST, CutOff, JsonError, JsonStream, TooLong, enter
from histories.talks import BY_BEGINNING, digest

#: What a reader may stumble over in a conversation whose shape nobody foresaw.
STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


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
    """Where the elements of a JSON file stand: in an array, at the end of a path of keys; one a line; or it is one."""

    kind: Literal["array", "lines", "object"] = "object"
    path: tuple[str, ...] = ()


def _uncounted(_: int) -> None:
    """Counts nothing."""


@dataclass
class Reading:
    """One file, ready to be read. ``outline`` is what of its shape was seen when it was recognised."""

    source: str
    part: FilePart
    options: ReadingOptions
    encoding: str = "utf-8-sig"
    layout: Layout = Layout()
    outline: Mapping[str, Any] = field(default_factory=dict)
    count: Count = _uncounted
    flaws: list[Unread] = field(default_factory=list)

    def flaw(self, reason: str, where: str = "", **details: object) -> None:
        """Put down what could not be read."""
        self.flaws.append(self.unread(reason, where, **details))

    def unread(self, reason: str, where: str = "", **details: object) -> Unread:
        """What could not be read, and where: in this file, unless that is named."""
        return Unread(self.source, where or self.part.name, reason, details)

    def time(self, value: Any) -> datetime | None:
        """A time of this file."""
        return instant(value, self.options.zone)

    def local(self, when: datetime) -> datetime | None:
        """A local time of this file, in the zone that was handed in."""
        return placed(when, self.options.zone)

    @contextmanager
    def sound(self) -> Iterator[None]:
        """What is done inside goes as far as the file is sound; where it is not, that is a flaw."""
        try:
            yield
        except CutOff:
            self.flaw(omissions.CUT)
        except JsonError as error:
            self.flaw(omissions.BROKEN, said=str(error))
        except DAMAGES as error:
            self.flaw(omissions.DAMAGED, said=type(error).__name__)

    @contextmanager
    def text(self, counted: bool = True, newline: str | None = None) -> Iterator[io.TextIOWrapper]:
        """Its text."""
        count = self.count if counted else _uncounted
        with (
            self.part.open(count) as file,
            io.TextIOWrapper(file, self.encoding, "replace", newline) as text,
        ):
            yield text

    def lines(self, counted: bool = True) -> Iterator[str]:
        """Its lines without their ends, as far as the file is sound."""
        with self.sound() if counted else suppress(*DAMAGES), self.text(counted) as text:
            while line := text.readline(LONGEST):
                yield line.rstrip("\n")

    def elements(self) -> Iterator[tuple[str, Any]]:
        """Its elements in their order, each with where it stands, as far as the file is sound."""
        yield from self.elements_of(self.layout)

    def elements_of(self, layout: Layout) -> Iterator[tuple[str, Any]]:
        """The elements that stand in this layout."""
        with self.sound():
            yield from self._by_line() if layout.kind == "lines" else self._from_stream(layout)

    @contextmanager
    def stream(self) -> Iterator[JsonStream]:
        """Its JSON, at the beginning."""
        with self.part.open(self.count) as file:
            yield JsonStream(DecodedText(file, self.encoding))

    def _from_stream(self, layout: Layout) -> Iterator[tuple[str, Any]]:
        with self.stream() as stream:
            if not enter(stream, layout.path):
                raise CutOff("ends")
            if layout.kind == "object":
                yield self.part.name, stream.value()
                return
            for number in stream.items():
                where = f"{self.part.name} #{number + 1}"
                try:
                    value = stream.value()
                except CutOff:
                    raise
                except JsonError as error:
                    stream.skip()
                    self.flaw(_flaw_of(error), where, said=str(error))
                else:
                    yield where, value

    def _by_line(self) -> Iterator[tuple[str, Any]]:
        with self.text(newline="\n") as text:
            number = 0
            while line := text.readline(LONGEST):
                number += 1
                if not line.strip():
                    continue
                try:
                    value = json.loads(line, strict=False)
                except (ValueError, RecursionError):
                    cut = not line.endswith("\n")
                    self.flaw(omissions.CUT if cut else omissions.BROKEN, f"{self.part.name}:{number}")
                else:
                    yield f"{self.part.name}:{number}", value


def _flaw_of(error: JsonError) -> str:
    return omissions.TOO_LONG if isinstance(error, TooLong) else omissions.BROKEN


Found = PastConversation | Unread
Reader = Callable[[Reading], Iterator[Found]]


def each(read_one: Callable[[Mapping[str, Any], str, Reading], Found]) -> Reader:
    """A reader of files whose elements are conversations: one that cannot be read costs only itself."""

    def read(reading: Reading) -> Iterator[Found]:
        for where, element in reading.elements():
            if not isinstance(element, dict):
                yield reading.unread(omissions.MISSHAPEN, where)
                continue
            try:
                yield read_one(element, where, reading)
            except STUMBLES as error:
                yield reading.unread(omissions.MISSHAPEN, where, said=type(error).__name__)

    return read


class Alike:
    """Tells conversations apart that have no keys and begin alike; of two that are all alike there is only one."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, int]] = {}

    def told_apart(self, found: PastConversation) -> PastConversation:
        """The conversation, under a key of its own."""
        if not found.key.startswith(BY_BEGINNING):
            return found
        known = self._known.setdefault(found.key, {})
        place = known.setdefault(digest(*(message.key for message in found.messages)), len(known))
        return replace(found, key=f"{found.key}-{place + 1}") if place else found


class RecognisedFile:
    """What was recognised as one export: a file, or several that belong together."""

    def __init__(
        self,
        source: str,
        name: str,
        reader: Reader,
        readings: Sequence[Reading],
        unread: Sequence[Unread] = (),
    ) -> None:
        self._source, self._reader = source, reader
        self._readings, self._unread = readings, unread
        self.name = name
        self._done = 0
        self._alike = Alike()

    @property
    def source(self) -> str:
        """The format."""
        return self._source

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
        self._done = 0
        self._alike = Alike()
        yield from self._unread
        for reading in self._readings:
            reading.count, reading.flaws = self._count, []
            yield from self._of(reading)
            yield from reading.flaws

    def _of(self, reading: Reading) -> Iterator[Found]:
        if reading.part.refused:
            yield reading.unread(omissions.SUSPICIOUS, said=reading.part.refused)
            return
        try:
            for found in self._reader(reading):
                yield from reading.flaws
                reading.flaws.clear()
                yield self._alike.told_apart(found) if isinstance(found, PastConversation) else found
        except (*DAMAGES, *STUMBLES, sqlite3.Error) as error:
            yield reading.unread(omissions.DAMAGED, said=type(error).__name__)

    def _count(self, count: int) -> None:
        self._done += count
