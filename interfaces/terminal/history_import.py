"""Importing from other programs, as a person sees it: a look first, a progress bar, then the counts.

``--import`` and ``/import`` do the same. In a chat between people the program cannot know which of them the person is:
it asks where someone can answer, and else needs ``--me``. Ctrl-C stops between two commits; the same again goes on.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain import errors
from domain.errors import Exit
from domain.imports import HistoryFile, KnownMessages, Look, Unread
from domain.settings import Settings
from domain.workers import CancelToken
from interfaces.messages import Words
from interfaces.terminal.arguments import ImportOrder
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.commands.forget import ErasedQuestion
from interfaces.terminal.line_source import Reader
from interfaces.terminal.screen import Meaning, Screen
from interfaces.terminal.session_view import format_local
from interfaces.terminal.work_runner import Tick, single_step
from jobs.importing import (
    FileProgress,
    ImportContext,
    ImportDone,
    Importing,
    digest_of,
    make_context,
    plain_name,
    preview_file,
)
from memory import Memory

_BAR = 20
#: So many names are offered in a question.
_NAMES = 12


@dataclass
class HistoryImport:
    """Imports files. ``run_work`` runs work while the terminal lives; ``reader`` is None where no one can answer."""

    settings: Settings
    memory: Memory | None
    screen: Screen
    words: Words
    stop: CancelToken
    clock: Callable[[], datetime]
    run_work: Callable[[Iterator[object]], Iterator[object]]
    reader: Reader | None
    #: How many messages were new.
    messages: int = 0

    def run_order(self, order: ImportOrder) -> Exit:
        """Do all of it; a file that is none of an export costs only itself. Raises Interrupted and StorageError.

        Returns the exit code of the first thing that went wrong.
        """
        worst = Exit.OK
        for path in order.paths:
            try:
                ended = self._import_path(path, order)
                worst = worst or ended
            except errors.UsageError as error:
                self.screen.line(self.words.describe_error(error), "trouble")
                worst = worst or error.exit_code
            except OSError as fault:
                self._tell_message("import.unreadable", "trouble", path=path, reason=fault.strerror or fault)
                worst = worst or Exit.FAILED
        return worst

    def _import_path(self, path: Path, order: ImportOrder) -> Exit:
        """One file or folder; whether anything in it could be read."""
        from importers import MachineZone, ReadingOptions, recognise_export

        me, day_first = "".join(order.me[:1]), None if order.dates is None else order.dates == "day"
        files = recognise_export(path, ReadingOptions(me, MachineZone(), day_first))
        digest = single_step(lambda: digest_of(path, self.stop))
        sha256 = "" if order.only_look else str(self._last_event(digest, ""))
        read = Exit.FAILED
        for file in files:
            if not file.source:  # it only lists what was skipped
                self._show_left_out({}, [one for one in file.read() if isinstance(one, Unread)])
                continue
            who = make_context(order.me, path, self.clock())
            seen, who = self._clear_up_speaker(file, path, who)
            read = Exit.OK if seen.conversations else read
            if order.only_look:
                self._show_look(seen)
            elif seen.conversations:
                self._import_file(file, path, sha256, who, with_erased=self._wants_erased(seen, path, order))
            elif seen.left_out or seen.unread:
                self._show_left_out(seen.left_out, seen.unread, seen.unread_count)
            else:
                self._tell_message("history.no_conversations", "warning", path=path)
        return read

    def _clear_up_speaker(self, file: HistoryFile, path: Path, who: ImportContext) -> tuple[Look, ImportContext]:
        """What a file holds, once it is clear who the person is. Raises UsageError where it cannot be."""
        seen = self._look_through(file, who)
        if not seen.unclear:
            return seen, who
        names = sorted(seen.names, key=lambda name: -seen.names[name])
        listed = self.words.join(names[:_NAMES])
        if who.me:
            raise errors.UsageError("import.no_such_name", path=path, names=listed)
        if self.reader is None:
            raise errors.UsageError("import.needs_me", path=path, names=listed)
        question = self.words.say("import.who", path=path.name, names=listed) + " "
        answer = self.reader.ask_question(question, choices=names)
        chosen = plain_name(answer or "")
        if chosen not in map(plain_name, names):
            raise errors.UsageError("import.needs_me", path=path, names=listed)
        who = ImportContext(frozenset([chosen]), who.fallback)
        return self._look_through(file, who), who

    def _look_through(self, file: HistoryFile, who: ImportContext) -> Look:
        known = self.memory.imports.count_known if self.memory else lambda piece: KnownMessages()
        window, group = self.settings.window_size, self.settings.group_size
        seen = self._last_event(preview_file(file, who, window, group, self.stop, known), "import.looking")
        assert isinstance(seen, Look)
        return seen

    def _show_look(self, seen: Look) -> None:
        count = self.words.count
        self._tell_message(
            "import.look", "title", source=self.words.name_format(seen.source),
            sessions=count("session", seen.sessions), conversations=count("conversation", seen.conversations),
            messages=count("message", seen.messages),
        )  # fmt: skip
        if seen.first:
            self._tell_message("import.when", first=seen.first[:10], last=seen.last[:10])
        if seen.undated:
            self._tell_message("import.undated", messages=count("message", seen.undated))
        known = {name: self.words.say(f"import.{name}") for name in ("person", "companion")}
        first = sorted(seen.words_of, key=lambda name: -seen.words_of[name])[:_NAMES]
        speakers = " · ".join(f"{known.get(name, name)} {seen.words_of[name]:,}" for name in first) or "–"
        self._tell_message("import.whose", words=speakers)
        if seen.known:
            self._tell_message("import.duplicates", messages=count("message", seen.known))
        if seen.erased:
            self._tell_message("import.erased", messages=count("message", seen.erased))
        self._show_left_out(seen.left_out, seen.unread, seen.unread_count)
        most, window, calls = self.settings.import_calls, self.settings.window_size, count("call", seen.calls)
        if most:
            days = count("day", -(-seen.calls // most))
            self._tell_message("import.cost", "quiet", calls=calls, window=window, most=most, days=days)
        else:
            self._tell_message("import.cost_never", "quiet", calls=calls, window=window)

    def _wants_erased(self, seen: Look, path: Path, order: ImportOrder) -> bool:
        """Whether to import what was erased; asked where there is any."""
        ask = ErasedQuestion(self.words, self.screen, self.reader, with_erased=order.with_erased)
        return bool(seen.erased) and not ask.leaves_out(seen.erased, path)

    def _import_file(
        self, file: HistoryFile, path: Path, sha256: str, who: ImportContext, *, with_erased: bool
    ) -> None:
        assert self.memory is not None
        work = Importing(self.memory).run(file, path.name, sha256, who, self.stop, with_erased=with_erased)
        brought = self._last_event(work, "import.reading")
        assert isinstance(brought, ImportDone)
        self.messages += brought.messages
        count = self.words.count
        done = "import.done" if brought.messages or not (brought.known or brought.erased) else "import.nothing_new"
        self._tell_message(
            done, "good", source=self.words.name_format(brought.source), number=brought.number,
            messages=count("message", brought.messages), sessions=count("session", brought.sessions),
            conversations=count("conversation", brought.conversations),
        )  # fmt: skip
        if brought.known:
            self._tell_message("import.duplicates", messages=count("message", brought.known))
        if brought.erased:
            self._tell_message("import.erased", messages=count("message", brought.erased))
        self._show_left_out(brought.left_out, brought.unread, brought.unread_count)

    def _show_left_out(self, left_out: Mapping[str, int], unread: Sequence[Unread], count: int = 0) -> None:
        """What was left out, each with its reason."""
        for reason in sorted(left_out, key=lambda reason: -left_out[reason]):
            self._tell_message("import.left_out", "quiet", count=f"{left_out[reason]:,}", reason=self.words.say(reason))
        for one in unread:
            self._tell_message(one.reason, "warning", where=one.where, **one.details)
        if count > len(unread):
            self._tell_message("import.more_unread", "warning", count=count - len(unread))

    def _last_event(self, work: Iterator[object], key: str) -> object:
        """The last event of some work, with a progress bar meanwhile."""
        last: object = None
        try:
            for event in self.run_work(work):
                last = last if isinstance(event, FileProgress | Tick) else event
                if isinstance(event, FileProgress):
                    share = min(1.0, event.done / event.size) if event.size else 0.0
                    bar = "█" * int(share * _BAR) + "░" * (_BAR - int(share * _BAR))
                    said = self.words.say(key, bar=bar, share=f"{share:.0%}", messages=f"{event.messages:,}")
                    self.screen.show_status(said)
        finally:
            self.screen.clear_status()
        return last

    def _tell_message(self, key: str, meaning: Meaning = "words", /, **details: object) -> None:
        self.screen.line(self.words.say(key, **details), meaning)


def import_command(context: CommandContext, argument: str) -> Next:
    """``/import FILE… [--me NAME] [--dry-run] [--with-erased] | undo N | rest | on``."""
    try:
        words = shlex.split(argument)
    except ValueError as fault:
        raise errors.UsageError("import.quotes") from fault
    match words:
        case []:
            _list_imports(context)
        case ["undo", number] if number.isdecimal():
            _take_back(context, int(number))
        case ["rest" | "on" as wanted]:
            context.memory.imports.set_paused(wanted == "rest")
            context.tell(f"import.{wanted}")
            context.conversation.start_maintenance()
        case _:
            _run_import(context, _parse_order(words))
    return None


def import_choices(context: CommandContext, words: tuple[str, ...]) -> Sequence[str]:
    """What may follow ``/import`` besides the names of files."""
    if words == ("undo",):
        return [str(one.number) for one in context.memory.imports.all()]
    return ["undo", "rest", "on"] if not words else ["--me", "--dates", "--dry-run", "--with-erased"]


def _parse_order(words: Sequence[str]) -> ImportOrder:
    """What was typed, as the flags of the same names mean it."""
    paths: list[Path] = []
    me: list[str] = []
    dates: str | None = None
    rest = iter(words)
    for word in rest:
        if word == "--me":
            me.append(next(rest, ""))
        elif word == "--dates":
            dates = next(rest, "")
        elif word not in ("--dry-run", "--with-erased"):
            paths.append(Path(word).expanduser())
    if not paths or "" in {*me, *words} or dates not in (None, "day", "month"):
        raise errors.UsageError("import.which")
    return ImportOrder(tuple(paths), tuple(me), "--dry-run" in words, dates, "--with-erased" in words)


def _run_import(context: CommandContext, order: ImportOrder) -> None:
    context.begin_work()

    def run_work(work: Iterator[object]) -> Iterator[object]:
        return context.run_work(work, patience=None)

    bringing = HistoryImport(
        context.settings, context.memory, context.aside, context.words, context.stop, context.clock, run_work,
        context.reader if context.interactive else None,
    )  # fmt: skip
    try:
        bringing.run_order(order)
    except errors.Interrupted:
        context.tell("import.stopped", "warning")
    if not order.only_look:
        context.conversation.start_maintenance()


def _list_imports(context: CommandContext) -> None:
    """The imports, and the size of the import backlog."""
    found = context.memory.imports.all()
    for one in found:
        row = context.words.say(
            f"import.row.{one.state}", number=one.number, name=one.name or one.kind, kind=one.kind,
            messages=context.words.count("message", one.messages), day=format_local(one.stored_at)[:10],
        )  # fmt: skip
        context.aside.one_row(row)
    if found:
        context.aside.line(reading_left(context), "quiet")
    else:
        context.tell("import.none", "quiet")


def reading_left(context: CommandContext) -> str:
    """The size of the import backlog; "" without imports."""
    if not context.memory.imports.all():
        return ""
    left, say = context.memory.imports.remaining_backlog(), context.words.say
    if not left.sessions:
        return say("import.backlog_empty")
    return say(
        "import.backlog_resting" if left.resting else "import.backlog",
        sessions=context.words.count("session", left.sessions), messages=context.words.count("message", left.messages),
        calls=left.calls_today, most=context.settings.import_calls,
    )  # fmt: skip


def _take_back(context: CommandContext, number: int) -> None:
    """Undo a whole import."""
    found = {one.number: one for one in context.memory.imports.all()}
    if number not in found:
        raise errors.UsageError("import.unknown", number=number)
    name = found[number].name or found[number].kind
    if not context.confirm("import.undo_ask", name=name):
        context.tell("unchanged")
        return
    context.begin_work()
    gone = 0

    def take_back() -> Iterator[int]:
        # The import backlog is paused meanwhile: it would learn from what is removed.
        with context.conversation.maintenance.paused():
            for removed in context.memory.imports.take_back(number):
                yield removed
                context.stop.check()

    try:
        for event in context.run_work(take_back(), patience=None):
            gone = gone if isinstance(event, Tick) else event
            context.aside.show_status("…" if isinstance(event, Tick) else context.words.count("message", gone))
    except errors.Interrupted:
        context.tell("import.undo_stopped", "warning", number=number)
        return
    context.tell("import.undone", name=name, messages=context.words.count("message", gone))
