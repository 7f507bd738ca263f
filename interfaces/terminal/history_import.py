"""Bringing along what other programs kept, as a person sees it: a look first, a bar while it goes on, then the counts.

``--import`` and ``/import`` do the same. In a chat between people nobody knows which of them the person is: it is asked
where somebody can be asked, and else ``--me`` must say it. Ctrl-C stops between two commits; the same again goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from domain import errors
from domain.errors import Exit
from domain.histories import HistoryFile, Unread
from domain.imports import Look
from domain.records import IMAGES
from domain.settings import Settings
from domain.workers import Stop
from interfaces.interrupting import Wishes
from interfaces.messages import Words
from interfaces.terminal.arguments import ImportOrder
from interfaces.terminal.line_source import Reader
from interfaces.terminal.pump import Beat, Pump
from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning
from interfaces.terminal.whole_export import bring_back
from jobs.importing import Brought, FileProgress, Importing, Teller, digest_of, look, plain_name, teller
from memory import Memory

T = TypeVar("T")
_BAR = 20
#: So many names are offered in a question.
_NAMES = 12


@dataclass
class HistoryImport:
    """Brings files along. ``pumped`` runs work while the terminal lives; ``ask`` is None where nobody can be asked."""

    settings: Settings
    memory: Memory | None
    screen: Screen
    words: Words
    stop: Stop
    clock: Callable[[], datetime]
    pumped: Callable[[Iterator[object]], Iterator[object]]
    ask: Callable[[str, Sequence[str]], str | None] | None
    #: How many messages were new.
    messages: int = 0

    def run(self, order: ImportOrder) -> Exit:
        """Do all of it; a file that is none of an export costs only itself. Raises Interrupted and StorageError.

        Returns the exit code of the first thing that went wrong.
        """
        worst = Exit.OK
        for path in order.paths:
            try:
                ended = self._file(path, order)
                worst = worst or ended
            except errors.UsageError as error:
                self.screen.line(self.words.error(error), "trouble")
                worst = worst or error.exit_code
            except OSError as fault:
                self._tell("import.unreadable", "trouble", path=path, reason=fault.strerror or fault)
                worst = worst or Exit.FAILED
        return worst

    def _file(self, path: Path, order: ImportOrder) -> Exit:
        """One file or folder; whether anything in it could be read."""
        from histories import MachineZone, ReadingOptions, recognise

        me, day_first = "".join(order.me[:1]), None if order.dates is None else order.dates == "day"
        files = recognise(path, ReadingOptions(me, MachineZone(), day_first))
        sha256 = "" if order.only_look else self._digest(path)
        read = Exit.FAILED
        for file in files:
            if not file.source:  # it only tells what was passed over
                self._show_left_out({}, [one for one in file.read() if isinstance(one, Unread)])
                continue
            who = teller(order.me, path, self.clock())
            seen, who = self._clear(file, path, who)
            read = Exit.OK if seen.conversations else read
            if order.only_look:
                self._show_look(seen)
            elif not seen.conversations:
                self._show_left_out(seen.left_out, seen.unread, seen.unread_count)
                if not (seen.left_out or seen.unread):
                    self._tell("history.no_conversations", "warning", path=path)
            else:
                self._bring(file, path, sha256, who)
        return read

    def _digest(self, path: Path) -> str:
        def work() -> Iterator[object]:
            yield digest_of(path, self.stop)

        return str(self._last(work(), ""))

    # -- looking -------------------------------------------------------------------------------------------------

    def _clear(self, file: HistoryFile, path: Path, who: Teller) -> tuple[Look, Teller]:
        """What a file holds, once it is clear who the person is. Raises UsageError where it cannot be."""
        seen = self._look(file, who)
        if not seen.unclear:
            return seen, who
        names = sorted(seen.names, key=lambda name: -seen.names[name])
        told = ", ".join(names[:_NAMES])
        if who.me:
            raise errors.UsageError("import.nobody_of_that_name", path=path, names=told)
        if self.ask is None:
            raise errors.UsageError("import.needs_me", path=path, names=told)
        answer = self.ask(self.words.say("import.who", path=path.name, names=told) + " ", names)
        chosen = plain_name(answer or "")
        if chosen not in map(plain_name, names):
            raise errors.UsageError("import.needs_me", path=path, names=told)
        who = Teller(frozenset([chosen]), who.fallback)
        return self._look(file, who), who

    def _look(self, file: HistoryFile, who: Teller) -> Look:
        known = self.memory.imports.known if self.memory else lambda piece: 0
        window, group = self.settings.window_size, self.settings.group_size
        seen = self._last(look(file, who, window, group, self.stop, known), "import.looking")
        assert isinstance(seen, Look)
        return seen

    def _show_look(self, seen: Look) -> None:
        count = self.words.count
        self._tell("import.look", "title", source=self._source(seen.source), **{
            "conversations": count("conversation", seen.conversations),
            "messages": count("message", seen.messages),
            "sessions": count("session", seen.sessions),
        })  # fmt: skip
        if seen.first:
            self._tell("import.when", first=seen.first[:10], last=seen.last[:10])
        if seen.undated:
            self._tell("import.undated", messages=count("message", seen.undated))
        self._tell("import.whose", words=self._whose(seen.words_of))
        if seen.known:
            self._tell("import.known", messages=count("message", seen.known))
        self._show_left_out(seen.left_out, seen.unread, seen.unread_count)
        self._show_cost(seen)

    def _show_cost(self, seen: Look) -> None:
        most = self.settings.import_calls
        calls = self.words.count("call", seen.calls)
        if not most:
            self._tell("import.cost_never", "quiet", calls=calls, window=self.settings.window_size)
            return
        days = self.words.count("day", -(-seen.calls // most))
        self._tell(
            "import.cost", "quiet", calls=calls, window=self.settings.window_size, most=most, days=days
        )

    def _whose(self, words_of: Mapping[str, int]) -> str:
        known = {name: self.words.say(f"import.{name}") for name in ("person", "companion")}
        first = sorted(words_of, key=lambda name: -words_of[name])[:_NAMES]
        return " · ".join(f"{known.get(name, name)} {words_of[name]:,}" for name in first) or "–"

    # -- bringing ------------------------------------------------------------------------------------------------

    def _bring(self, file: HistoryFile, path: Path, sha256: str, who: Teller) -> None:
        assert self.memory is not None
        importing = Importing(self.memory)
        work = importing.run(file, path.name, sha256, who, self.stop)
        brought = self._last(work, "import.reading")
        assert isinstance(brought, Brought)
        self.messages += brought.messages
        count = self.words.count
        done = "import.done" if brought.messages or not brought.known else "import.nothing_new"
        self._tell(done, "good", source=self._source(brought.source), **{
            "number": brought.number,
            "messages": count("message", brought.messages),
            "sessions": count("session", brought.sessions),
            "conversations": count("conversation", brought.conversations),
        })  # fmt: skip
        if brought.known:
            self._tell("import.known", messages=count("message", brought.known))
        self._show_left_out(brought.left_out, brought.unread, brought.unread_count)

    def _show_left_out(self, left_out: Mapping[str, int], unread: Sequence[Unread], count: int = 0) -> None:
        """What was not taken over, each with its reason."""
        for reason in sorted(left_out, key=lambda reason: -left_out[reason]):
            self._tell(
                "import.left_out", "quiet", count=f"{left_out[reason]:,}", reason=self.words.say(reason)
            )
        for one in unread:
            self._tell(one.reason, "warning", where=one.where, **one.details)
        if count > len(unread):
            self._tell("import.more_unread", "warning", count=count - len(unread))

    def _last(self, work: Iterator[object], key: str) -> object:
        """What comes last of some work, with a bar while it goes on."""
        last: object = None
        try:
            for event in self.pumped(work):
                if isinstance(event, FileProgress):
                    self.screen.status(self._bar(event, key))
                elif not isinstance(event, Beat):
                    last = event
        finally:
            self.screen.clear_status()
        return last

    def _bar(self, at: FileProgress, key: str) -> str:
        share = min(1.0, at.done / at.size) if at.size else 0.0
        full = int(share * _BAR)
        bar = "█" * full + "░" * (_BAR - full)
        return self.words.say(key, bar=bar, share=f"{share:.0%}", messages=f"{at.messages:,}")

    def _source(self, kind: str) -> str:
        """What a format is called."""
        key = f"import.source.{kind.replace('-', '_')}"
        return self.words.say(key) if self.words.has(key) else kind

    def _tell(self, key: str, meaning: Meaning = "words", /, **details: object) -> None:
        self.screen.line(self.words.say(key, **details), meaning)


def import_alone(
    order: ImportOrder,
    settings: Settings,
    open_memory: Callable[[], Memory],
    screen: Screen,
    words: Words,
    reader: Reader | None,
    wishes: Wishes,
    clock: Callable[[], datetime],
) -> Exit:
    """``--import``: without a conversation. A look needs no memory, and touches none.

    Raises Interrupted, saying how to go on, and StorageError.
    """
    stop = wishes.begin()

    def pumped(work: Iterator[object]) -> Iterator[object]:
        return Pump().run(work, stop, patience=None)

    def ask(question: str, names: Sequence[str]) -> str | None:
        return reader.ask(question, choices=names) if reader else None

    if not order.only_look and len(order.paths) == 1:
        empty = partial(_holds_nothing, open_memory)
        if bring_back(order.paths[0], settings.data_dir, empty, words, screen, clock):
            return Exit.OK
    memory = None if order.only_look else open_memory()
    try:
        asking = ask if reader else None
        work = HistoryImport(settings, memory, screen, words, stop, clock, pumped, asking)
        ended = work.run(order)
        if memory and work.messages and memory.imports.left().sessions:
            screen.line(words.say("import.later"), "quiet")
        return ended
    except errors.Interrupted:
        raise errors.Interrupted("import.only_looked" if order.only_look else "import.stopped") from None
    finally:
        if memory:
            memory.close()


def _holds_nothing(open_memory: Callable[[], Memory]) -> bool:
    """Whether nothing was ever said in a memory, nor brought along, nor written into an image.

    In a talk of others a person may have no word; and who wrote an image, or pinned a line, would miss it.
    """
    with closing(open_memory()) as memory:
        said = memory.sessions.counts()[1] or memory.imports.all() or memory.facts.all()
        return not said and not any(
            memory.personas.read(one) or memory.personas.history(one) for one in IMAGES
        )
