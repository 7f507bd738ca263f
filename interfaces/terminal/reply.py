"""One reply, from the first sign of thinking to the line that tells what was remembered.

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
from domain.languages import names_day
from domain.recollection import Looked, Planned, Recollection, Reflected, SearchStep
from domain.text import QUOTATION_TAG, day_of, source_of, tells_enough
from interfaces.messages import Words
from interfaces.terminal.markdown.stream import MarkdownStream, PlainStream, Stream
from interfaces.terminal.pump import Beat
from interfaces.terminal.screen import Screen

#: Seconds of silence after which a quiet sign shows that something is under way.
PATIENCE = 0.5
#: Seconds between two writings: fifteen frames a second.
_FRAME = 1 / 15
#: The longest text that may still become a tag, so that a splitter never holds back more.
_LONGEST_TAG = 320
#: The longest beginning of a line that is waited for behind a quotation.
_LONGEST_LINE = 120


def stream_for(screen: Screen, *, quiet: bool = False) -> Stream:
    """What renders replies on this screen; ``quiet`` for those of earlier."""
    if screen.plain:
        return PlainStream(screen)
    return MarkdownStream(screen, ("quiet",) if quiet else ("words",))


@dataclass(frozen=True)
class Piece:
    """A stretch of a reply: the model's own words, or a quotation."""

    text: str
    quoted: bool


class QuotationSplitter:
    """Tells quotations from own words while a reply streams; tags never come out, also when split.

    >>> splitter = QuotationSplitter()
    >>> splitter.feed("Hi <block") + splitter.feed("quote>old</blockquote> new") + splitter.finish()
    [Piece(text='Hi ', quoted=False), Piece(text='old', quoted=True), Piece(text=' new', quoted=False)]
    """

    def __init__(self) -> None:
        self._held = ""
        self._depth = 0

    def feed(self, chunk: str) -> list[Piece]:
        """The pieces that are certain now; the beginning of a possible tag is held back."""
        text = self._held + chunk
        pieces, position = self._split(text)
        cut = self._possible_tag(text, position)
        self._held = text[cut:]
        return pieces + self._piece(text[position:cut])

    def finish(self) -> list[Piece]:
        """What was held back and turned out to be no tag."""
        held, self._held = self._held, ""
        return self._piece(held)

    def _split(self, text: str) -> tuple[list[Piece], int]:
        pieces: list[Piece] = []
        position = 0
        for tag in QUOTATION_TAG.finditer(text):
            pieces += self._piece(text[position : tag.start()])
            self._depth = max(0, self._depth - 1) if tag[1] else self._depth + 1
            position = tag.end()
        return pieces, position

    def _piece(self, text: str) -> list[Piece]:
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
    """Feeds a stream of words, with its quotations told apart and dated.

    A day is shown once: the date of a quotation is left out where the words right before or behind it name that day,
    and where the quotation right before has the same. So the words behind it wait for the end of their line.

    ``unknown`` gives what is noted at a quotation that nothing recalled holds; "" for no note.
    """

    def __init__(
        self,
        stream: Stream,
        recollection: Recollection,
        unknown: Callable[[str], str] = lambda quotation: "",
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
        self._pieces(self._splitter.feed(text))

    def finish(self) -> None:
        """The reply has ended."""
        self._pieces(self._splitter.finish())
        self._unquote()
        self._write_note()
        self._stream.finish()

    def _pieces(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if piece.quoted:
                self._quote(piece.text)
            else:
                self._unquote()
                self._own_words(piece.text)

    def _quote(self, text: str) -> None:
        if self._quotation is None:
            self._write_note()
            self._stream.quote()
            self._quotation = []
        self._quotation.append(text)
        self._stream.feed(text)

    def _own_words(self, text: str) -> None:
        self._between += text
        if self._note is None:
            self._between = self._between[-_LONGEST_LINE:]
            self._stream.feed(text)
        elif "\n" in self._between.strip("\n ") or len(self._between) > _LONGEST_LINE:
            self._write_note()

    def _unquote(self) -> None:
        """The quotation has ended; its note waits for the words behind it."""
        if self._quotation is None:
            return
        quotation, self._quotation = "".join(self._quotation), None
        memory = source_of(quotation, self._recollection)
        day = memory.timestamp[:10] if memory else ""
        repeated = bool(day) and (
            _names(self._between, day) or (day == self._day_before and not self._between.strip())
        )
        self._note = "" if repeated else day or self._unknown(quotation)
        self._day_before, self._between = day, ""

    def _write_note(self) -> None:
        """End the quotation with its note, unless the words behind it say the same, and write those."""
        if self._note is None:
            return
        note, self._note = self._note, None
        named = note == self._day_before and _names(self._between[:_LONGEST_LINE], note)
        self._stream.unquote("" if named else note)
        if self._between:
            self._stream.feed(self._between)


def _names(words: str, timestamp: str) -> bool:
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

    ``moment`` tells seconds that only go forward.
    ``whole``: nothing of a reply is written before it is known to be one, for readers that are programs.
    ``said`` tells whether anything that is stored holds a quotation; one that nothing holds is marked.
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
        self._began = self._heard = self._wrote = moment()
        self._recollection = Recollection()
        self._quoted: QuotedStream | None = None
        self._waiting = ""
        self._reasoning = ""
        self._retry_at: float | None = None
        self._failed = ""
        self._notices: list[Notice] = []
        self.replied: Replied | MemoryAnswer | None = None

    def show(self, events: Iterable[TurnEvent | AskEvent | Beat]) -> None:
        """Show a whole turn; its errors pass through, after what was shown has been ended properly."""
        try:
            for event in events:
                self._event(event)
        finally:
            self._end()
        if self.replied:
            self._after(self.replied.reply)

    def _event(self, event: TurnEvent | AskEvent | Beat) -> None:
        match event:
            case TextDelta(text):
                self._text(text)
            case ReasoningDelta(text):
                self._reason(text)
            case Retrying():
                self._retry(event)
            case Beat():
                self._beat()
            case Recalled(recollection):
                self._recollection = recollection
            case Notice():
                self._notices.append(event)
                self._show_notices()
            case Replied() | MemoryAnswer():
                self.replied = event
            case Planned() | Looked() | Reflected():
                self._step(event)

    def _text(self, text: str) -> None:
        if self._quoted is None:
            self._end_reasoning()
            self._retry_at = None
            self._quoted = QuotedStream(stream_for(self._screen), self._recollection, self._note_unknown)
        self._waiting += text
        self._heard = self._moment()
        if self._heard - self._wrote >= _FRAME:
            self._write()

    def _step(self, step: SearchStep) -> None:
        """A step of a search goes by on a quiet row, for whoever watches."""
        if self._aside.file.isatty():
            self._aside.one_row(step_line(self._words, step), "quiet")

    def _note_unknown(self, quotation: str) -> str:
        """A quiet mark where the companion quotes what nobody said."""
        if not tells_enough(quotation) or self._said(quotation):
            return ""
        return self._words.say("turn.not_in_memory")

    def _write(self) -> None:
        if self._whole and not self.replied:
            return
        if self._quoted and self._waiting:
            waiting, self._waiting = self._waiting, ""
            self._aside.clear_status()
            self._quoted.feed(waiting)
            self._wrote = self._moment()

    def _beat(self) -> None:
        self._write()
        now = self._moment()
        if self._retry_at is not None and now < self._retry_at:
            self._sign("turn.retry_countdown", seconds=math.ceil(self._retry_at - now))
        elif self._reasoning and self._quoted is None:
            self._aside.status(self._reasoning_line())
        elif now - self._heard >= PATIENCE:
            self._sign("turn.thinking", seconds=int(now - self._began))

    def _sign(self, key: str, **details: object) -> None:
        self._aside.status(self._words.say(key, **details))

    def _reason(self, text: str) -> None:
        self._reasoning += text
        self._heard = self._moment()
        if self._heard - self._wrote >= _FRAME:
            self._aside.status(self._reasoning_line())
            self._wrote = self._heard

    def _reasoning_line(self) -> str:
        return self._words.say(
            "turn.thought", seconds=int(self._moment() - self._began), text=self._reasoning[-160:]
        )

    def _end_reasoning(self) -> None:
        """The reasoning stays behind as one dim line."""
        if self._reasoning and not self._aside.plain:
            first = self._words.say(
                "turn.thought", seconds=int(self._moment() - self._began), text=self._reasoning[:400]
            )
            self._aside.one_row(first, "quiet")
        self._reasoning = ""

    def _retry(self, retrying: Retrying) -> None:
        self._retry_at = self._moment() + retrying.seconds
        error = self._words.error(retrying.error)
        again = self._words.say(
            "turn.retry", seconds=math.ceil(retrying.seconds), attempt=retrying.attempt, of=retrying.of
        )
        self._aside.line(again if error == self._failed else f"{error} {again}", "quiet")
        self._failed = error

    def _show_notices(self) -> None:
        """Notices wait while a reply is under way, so that none stands inside of it."""
        if self._quoted is None:
            for notice in self._notices:
                self._notice(notice)
            self._notices = []

    def _notice(self, notice: Notice) -> None:
        if notice.key == "plea.heard":
            rounds = notice.details.get("rounds")
            many = self._words.count("round", rounds if isinstance(rounds, int) else 1)
            matter = notice.details.get("matter")
            key = "plea.heard_of" if matter else "plea.heard"
            self._aside.line(self._words.say(key, rounds=many, matter=matter), "quiet")
        else:
            self._aside.line(self._words.notice(notice), "warning")

    def _end(self) -> None:
        self._write()
        if self._quoted:
            self._quoted.finish()
            self._quoted = None
        self._aside.clear_status()
        self._show_notices()

    def _after(self, reply: Reply | None) -> None:
        """The quiet lines under a reply: how it ended, what it remembered. Without one, that there is none to give."""
        if reply is None:
            self._screen.line(self._words.say("ask.unknown"))
        elif reply.finish != "stop":
            self._aside.line(self._words.say(f"turn.{reply.finish}"), "quiet")
        if self._recollection:
            self._aside.line(recalled_line(self._words, self._recollection), "quiet")


def recalled_line(words: Words, recollection: Recollection) -> str:
    """How much was remembered, on one line."""
    return counted_line(words, counts_of(recollection))


def counts_of(recollection: Recollection) -> dict[str, int]:
    """How much was remembered, of each kind."""
    hits = sum(turn.hit for turn in recollection.turns)
    chapters = {"chapter": len(recollection.chapters)} if recollection.chapters else {}
    said = {"summary": len(recollection.summaries), "turn": hits}
    others = {"other": len(recollection.others)}
    return {**chapters, "fact": len(recollection.facts), **said, **others}


def counted_line(words: Words, counts: Mapping[str, int]) -> str:
    """So much, on one line."""
    some = [words.count(thing, count) for thing, count in counts.items() if count]
    *before, last = some or [words.count("turn", 0)]
    told = [words.say("why.comma").join(before)] if before else []
    return words.say("turn.recalled", what=words.say("turn.and").join([*told, last]))


def step_line(words: Words, step: SearchStep) -> str:
    """A step of a search, on one line."""
    match step:
        case Planned(_, queries):
            return words.say("step.planned", queries=" · ".join(queries))
        case Looked(found, new):
            return words.say("step.looked", turns=words.count("turn", found), new=new)
        case Reflected(enough=True):
            return words.say("step.enough")
        case Reflected(_, missing, ()):
            return words.say("step.nowhere", missing=" · ".join(missing) or "…")
        case Reflected(_, missing, queries):
            return words.say(
                "step.missing", missing=" · ".join(missing or queries), queries=" · ".join(queries)
            )
