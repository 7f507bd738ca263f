"""One reply, from the first sign of thinking to the line that says what was remembered.

Words go to the screen of replies; everything else, the sign, reasoning, countdowns, notices, goes
to the screen beside it. In a chat both are the same screen; with ``-p`` they are stdout and stderr.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conversation import Recalled, Replied, TurnEvent
from domain.events import AskEvent, MemoryAnswer, Notice, ReasoningDelta, Reply, Retrying, TextDelta
from domain.quotations import QUOTATION_TAG, source_of, tells_enough
from domain.recollection import Recollection, SearchOutcome, SearchPlan, SearchReview, SearchStep
from interfaces.messages import Words
from interfaces.recollections import count_recalled
from interfaces.terminal.markdown import Stream, stream_for
from interfaces.terminal.screen import Screen
from interfaces.terminal.work_runner import Tick
from language.calendar import day_of, names_day

#: Seconds of silence after which a quiet sign shows that something is under way.
PATIENCE = 0.5
#: Seconds between two writings: fifteen frames a second.
_FRAME = 1 / 15
#: The longest text that may still become a tag, so that a splitter never delays more.
_LONGEST_TAG = 320
#: The longest beginning of a line that is waited for behind a quotation.
_LONGEST_LINE = 120


@dataclass(frozen=True)
class Piece:
    """A part of a reply: the model's own words, or a quotation."""

    text: str
    quoted: bool


class QuotationSplitter:
    """Separates quotations from own words while a reply streams; tags never come out, also when split.

    >>> splitter = QuotationSplitter()
    >>> splitter.feed("Hi <block") + splitter.feed("quote>old</blockquote> new") + splitter.finish()
    [Piece(text='Hi ', quoted=False), Piece(text='old', quoted=True), Piece(text=' new', quoted=False)]
    """

    def __init__(self) -> None:
        self._pending = ""
        self._depth = 0

    def feed(self, chunk: str) -> list[Piece]:
        """The pieces that are certain now; the beginning of a possible tag waits."""
        text = self._pending + chunk
        pieces: list[Piece] = []
        position = 0
        for tag in QUOTATION_TAG.finditer(text):
            pieces += self._make_piece(text[position : tag.start()])
            self._depth = max(0, self._depth - 1) if tag[1] else self._depth + 1
            position = tag.end()
        cut = self._possible_tag(text, position)
        self._pending = text[cut:]
        return pieces + self._make_piece(text[position:cut])

    def finish(self) -> list[Piece]:
        """The pending text, which turned out to be no tag."""
        rest, self._pending = self._pending, ""
        return self._make_piece(rest)

    def _make_piece(self, text: str) -> list[Piece]:
        return [Piece(text, self._depth > 0)] if text else []

    @staticmethod
    def _possible_tag(text: str, position: int) -> int:
        """Where a tag may be beginning; the end of the text if nowhere."""
        at = text.rfind("<", max(position, len(text) - _LONGEST_TAG))
        if at < 0:
            return len(text)
        start = re.sub(r"[\s/]", "", text[at + 1 : at + 24]).lower()
        return at if "blockquote".startswith(start[:10]) else len(text)


class QuotedStream:
    """Feeds a stream of words, with its quotations marked and dated.

    A day is shown once: the date of a quotation is left out where the words right before or behind it name that day,
    and where the quotation right before has the same. So the words behind it wait for the end of their line.

    ``unknown`` gives what is noted at a quotation that nothing recalled holds; "" for no note.
    """

    def __init__(
        self, stream: Stream, recollection: Recollection, unknown: Callable[[str], str] = lambda quotation: ""
    ) -> None:
        self._stream = stream
        self._recollection = recollection
        self._unknown = unknown
        self._splitter = QuotationSplitter()
        self._quotation: list[str] | None = None
        #: The words since the quotation before; that one's day; and the note of the last one, until it is written.
        self._between = ""
        self._day_before = ""
        self._note: str | None = None

    def feed(self, text: str) -> None:
        """The next piece of the reply."""
        self._feed_pieces(self._splitter.feed(text))

    def finish(self) -> None:
        """The reply has ended."""
        self._feed_pieces(self._splitter.finish())
        self._end_quote()
        self._write_note()
        self._stream.finish()

    def _feed_pieces(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if not piece.quoted:
                self._end_quote()
                self._own_words(piece.text)
                continue
            if self._quotation is None:
                self._write_note()
                self._stream.begin_quotation()
                self._quotation = []
            self._quotation.append(piece.text)
            self._stream.feed(piece.text)

    def _own_words(self, text: str) -> None:
        self._between += text
        if self._note is None:
            self._between = self._between[-_LONGEST_LINE:]
            self._stream.feed(text)
        elif "\n" in self._between.strip("\n ") or len(self._between) > _LONGEST_LINE:
            self._write_note()

    def _end_quote(self) -> None:
        """The quotation has ended; its note waits for the words behind it."""
        if self._quotation is None:
            return
        quotation, self._quotation = "".join(self._quotation), None
        memory = source_of(quotation, self._recollection)
        day = memory.timestamp[:10] if memory else ""
        repeated = bool(day) and (
            _names_the_day(self._between, day) or (day == self._day_before and not self._between.strip())
        )
        self._note = "" if repeated else day or self._unknown(quotation)
        self._day_before, self._between = day, ""

    def _write_note(self) -> None:
        """End the quotation with its note, unless the words behind it say the same, and write those."""
        if self._note is None:
            return
        note, self._note = self._note, None
        named = note == self._day_before and _names_the_day(self._between[:_LONGEST_LINE], note)
        self._stream.end_quotation("" if named else note)
        if self._between:
            self._stream.feed(self._between)


def _names_the_day(words: str, timestamp: str) -> bool:
    """Whether these words name this day."""
    day = day_of(timestamp)
    return day is not None and names_day(words, day)


def show_text(screen: Screen, text: str, *, quiet: bool = False) -> None:
    """A reply that is whole already, drawn as it was when it streamed."""
    quoted = QuotedStream(stream_for(screen, quiet=quiet), Recollection())
    quoted.feed(text)
    quoted.finish()


class ReplyView:
    """Shows the events of one turn, or of an answer from memory, as they come.

    ``moment`` is a monotonic clock in seconds.
    ``whole``: nothing of a reply is written before it is known to be one, for readers that are programs.
    ``said``: whether anything stored holds a quotation; one that nothing holds is marked.
    """

    def __init__(
        self,
        screen: Screen,
        aside: Screen,
        words: Words,
        moment: Callable[[], float],
        *,
        whole: bool = False,
        said: Callable[[str], bool] = lambda quotation: True,
    ) -> None:
        self._screen = screen
        self._aside = aside
        self._words = words
        self._moment = moment
        self._whole = whole
        self._said = said
        self._began = self._last_event = self._wrote = moment()
        self._recollection = Recollection()
        self._quoted: QuotedStream | None = None
        self._waiting = ""
        self._reasoning = ""
        self._retry_at: float | None = None
        self._failed = ""
        self._notices: list[Notice] = []
        self.replied: Replied | MemoryAnswer | None = None

    def show_events(self, events: Iterable[TurnEvent | AskEvent | Tick]) -> None:
        """Show a whole turn; its errors pass through, after what was shown has been ended properly."""
        try:
            for event in events:
                self._show_event(event)
        finally:
            self._write_waiting()
            if self._quoted:
                self._quoted.finish()
                self._quoted = None
            self._aside.clear_status()
            self._show_notices()
        if self.replied:
            self._show_footer(self.replied.reply)

    def _show_footer(self, reply: Reply | None) -> None:
        """The quiet lines under a reply: how it ended, what it remembered. Without one, that there is none to give."""
        if reply is None:
            self._screen.line(self._words.say("ask.unknown"))
        elif reply.finish != "stop":
            self._aside.line(self._words.say(f"turn.{reply.finish}"), "quiet")
        if self._recollection:
            self._aside.line(counted_line(self._words, count_recalled(self._recollection)), "quiet")

    def _show_event(self, event: TurnEvent | AskEvent | Tick) -> None:
        match event:
            case TextDelta(text):
                self._add_text(text)
            case ReasoningDelta(text):
                self._add_reasoning(text)
            case Retrying():
                self._show_retry(event)
            case Tick():
                self._draw_tick()
            case Recalled(recollection):
                self._recollection = recollection
            case Notice():
                self._notices.append(event)
                self._show_notices()
            case Replied() | MemoryAnswer():
                self.replied = event
            case SearchPlan() | SearchOutcome() | SearchReview():
                if self._aside.file.isatty():  # it goes by on a quiet row, for whoever watches
                    self._aside.one_row(step_line(self._words, event), "quiet")

    def _add_text(self, text: str) -> None:
        if self._quoted is None:
            self._end_reasoning()
            self._retry_at = None
            self._quoted = QuotedStream(stream_for(self._screen), self._recollection, self._note_unknown)
        self._waiting += text
        self._last_event = self._moment()
        if self._last_event - self._wrote >= _FRAME:
            self._write_waiting()

    def _note_unknown(self, quotation: str) -> str:
        """A quiet mark where the companion quotes what no one said."""
        if not tells_enough(quotation) or self._said(quotation):
            return ""
        return self._words.say("turn.not_in_memory")

    def _write_waiting(self) -> None:
        if self._whole and not self.replied:
            return
        if self._quoted and self._waiting:
            waiting, self._waiting = self._waiting, ""
            self._aside.clear_status()
            self._quoted.feed(waiting)
            self._wrote = self._moment()

    def _draw_tick(self) -> None:
        self._write_waiting()
        now = self._moment()
        if self._retry_at is not None and now < self._retry_at:
            left = math.ceil(self._retry_at - now)
            self._aside.show_status(self._words.say("turn.retry_countdown", seconds=left))
        elif self._reasoning and self._quoted is None:
            self._aside.show_status(self._reasoning_line(self._reasoning[-160:]))
        elif now - self._last_event >= PATIENCE:
            self._aside.show_status(self._words.say("turn.thinking", seconds=int(now - self._began)))

    def _add_reasoning(self, text: str) -> None:
        self._reasoning += text
        self._last_event = self._moment()
        if self._last_event - self._wrote >= _FRAME:
            self._aside.show_status(self._reasoning_line(self._reasoning[-160:]))
            self._wrote = self._last_event

    def _reasoning_line(self, text: str) -> str:
        return self._words.say("turn.thought", seconds=int(self._moment() - self._began), text=text)

    def _end_reasoning(self) -> None:
        """The reasoning stays behind as one dim line."""
        if self._reasoning and not self._aside.plain:
            self._aside.one_row(self._reasoning_line(self._reasoning[:400]), "quiet")
        self._reasoning = ""

    def _show_retry(self, retrying: Retrying) -> None:
        self._retry_at = self._moment() + retrying.seconds
        error = self._words.describe_error(retrying.error)
        again = self._words.say(
            "turn.retry", seconds=math.ceil(retrying.seconds), attempt=retrying.attempt, of=retrying.tries
        )
        first = error != self._failed
        self._aside.line(self._words.say("turn.retry_first", error=error, again=again) if first else again, "quiet")
        self._failed = error

    def _show_notices(self) -> None:
        """Notices wait while a reply is under way, so that none is shown inside it."""
        if self._quoted is None:
            for notice in self._notices:
                self._show_notice(notice)
            self._notices = []

    def _show_notice(self, notice: Notice) -> None:
        asked_for = notice.key.startswith(("forget_request.", "models."))
        self._aside.line(self._words.describe_notice(notice), "quiet" if asked_for else "warning")


def counted_line(words: Words, counts: Mapping[str, int]) -> str:
    """So much, on one line."""
    some = [words.count(thing, count) for thing, count in counts.items() if count]
    *before, last = some or [words.count("turn", 0)]
    names = [words.join(before)] if before else []
    return words.say("turn.recalled", what=words.say("turn.and").join([*names, last]))


def step_line(words: Words, step: SearchStep) -> str:
    """A step of a search, on one line."""
    match step:
        case SearchPlan(_, queries):
            return words.say("step.planned", queries=" · ".join(queries))
        case SearchOutcome(found, new):
            return words.say("step.looked", messages=words.count("turn", found), new=new)
        case SearchReview(enough=True):
            return words.say("step.enough")
        case SearchReview(_, missing, ()):
            return words.say("step.nowhere", missing=" · ".join(missing) or "…")
        case SearchReview(_, missing, queries):
            return words.say("step.missing", missing=" · ".join(missing or queries), queries=" · ".join(queries))
