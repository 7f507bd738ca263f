"""Wires the chat to its streams, with the screen and the reader that fit them.

Little is loaded before the first prompt: whatever it does not need is imported at first use, and loaded in a thread
once the prompt is drawn.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from conversation import Conversation, TurnSteps
from domain.settings import Settings
from interfaces.debug_log import DebugLog
from interfaces.interrupting import Wishes
from interfaces.messages import Words, words_for
from interfaces.terminal.arguments import Options
from interfaces.terminal.command_context import Choice, Command, CommandContext
from interfaces.terminal.line_source import NoReader, PlainReader, TypeAhead, scrub_history
from interfaces.terminal.repl import Repl
from interfaces.terminal.screen import Screen, wants_plain
from interfaces.terminal.work_runner import FirstWords
from jobs.maintenance import session_to_open
from llm import Llm
from memory import Memory, Surroundings, own_place

if TYPE_CHECKING:
    from people import Scrub

#: What a turn or a command needs and the first prompt does not: our own rooms, then libraries, in the order of a turn.
BEHIND_THE_PROMPT = (
    "interfaces.terminal.commands.command_table", "models.tasks", "jobs.forgetting", "jobs.saving", "jobs.rebuild",
    "Stemmer", "numpy", "openai", "rich.text", "rich.table",
    "pyarrow", "lancedb",
)  # fmt: skip


#: Seconds that leaving waits for vectors in the making; the rest is made at the next start.
_SETTLE = 2.0


@dataclass(frozen=True)
class Streams:
    """Where text comes from and goes to, and the environment that says how."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environment: Mapping[str, str]

    @property
    def is_unattended(self) -> bool:
        """Whether no one sits at a keyboard."""
        return not self.stdin.isatty()


def make_steady(stream: TextIO) -> TextIO:
    """The stream, so that no character it cannot show ever stops the program."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


@dataclass(frozen=True)
class Program:
    """One run of the program: its settings and command line, its streams, and what is injected everywhere."""

    settings: Settings
    options: Options
    streams: Streams
    debug: DebugLog
    wishes: Wishes
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    version: str

    @property
    def words(self) -> Words:
        """The messages in the language of the settings."""
        return words_for(self.settings, self.streams.environment)

    def make_screen(self, stream: TextIO) -> Screen:
        """A screen on one of the streams."""
        stream = make_steady(stream)
        return Screen(stream, plain=wants_plain(stream, self.streams.environment, self.options.plain))

    def make_llm(self, settings: Settings | None = None) -> Llm:
        """The models that the settings name, or other settings that are tried."""
        return Llm(settings or self.settings, self.debug.log, clock=self.clock)

    def scrubbers(self, folder: Path) -> list[Scrub]:
        """What removes an erased text from the history of the prompt and from the logs."""
        return [
            lambda gone: scrub_history(folder / "history", gone.texts),
            lambda gone: self.debug.remove_files(gone.are_in),
        ]

    def open_memory(self, llm: Llm) -> Memory:
        """The memory in the data directory, or in the database. Raises StorageError."""
        return Memory(
            own_place(self.settings.data_dir, self.settings.database_url), llm.embedder,
            clock=self.clock, new_id=self.new_id, log=self.debug.log,
            around=Surroundings(
                [self.settings.log_dir], self.scrubbers(self.settings.data_dir), self.settings.external_memories
            ),
        )  # fmt: skip


@contextmanager
def open_conversation(program: Program) -> Iterator[Conversation]:
    """The conversation to go on with."""
    settings = program.settings
    with closing(program.make_llm()) as llm, ExitStack() as open_things:
        memory = program.open_memory(llm)
        open_things.callback(memory.close, settle=_SETTLE)
        session, resumed = session_to_open(memory, settings, program.clock())
        conversation = Conversation(
            TurnSteps(settings, memory, llm), session,
            new_id=program.new_id, resumed=resumed, incognito=program.options.incognito,
        )  # fmt: skip
        yield conversation
        conversation.close()


@contextmanager
def wire_chat(conversation: Conversation, program: Program, warm: Callable[[], None]) -> Iterator[Repl]:
    """The chat for a person, or a script, at these streams; the terminal is given back as it was.

    ``warm`` is called when the first prompt is drawn.
    """
    options, streams, wishes = program.options, program.streams, program.wishes
    screen = program.make_screen(streams.stdout)
    by_hand = not streams.is_unattended and all(given is None for given in (options.say, options.ask, options.batch))
    aside = screen if by_hand and streams.stdout.isatty() else program.make_screen(streams.stderr)
    context = CommandContext(
        program.settings, conversation, program.debug, screen, aside, program.words,
        reader=NoReader(), wishes=wishes, table=_load_commands, clock=program.clock, connect=program.make_llm,
        interactive=by_hand, version=program.version, environment=streams.environment,
    )  # fmt: skip
    first_words = FirstWords(conversation, program.debug.log)
    with ExitStack() as open_things:
        # NO_COLOR takes the colours of a line editor, not its keys.
        plain = options.plain or streams.environment.get("ACCESSIBLE", "0") not in ("", "0")
        dumb = plain or not streams.stdout.isatty() or streams.environment.get("TERM", "dumb") in ("dumb", "")
        if by_hand and not dumb:
            _give_editor_line(context, streams, wishes, warm, first_words, open_things)
        elif by_hand:
            warm()
            context.reader = PlainReader(
                streams.stdin, aside, wishes, lambda: context.tell("prompt.leave_hint", "quiet"), first_words
            )
        yield Repl(context, stream=options.stream)


def _give_editor_line(
    context: CommandContext,
    streams: Streams,
    wishes: Wishes,
    warm: Callable[[], None],
    first_words: FirstWords,
    open_things: ExitStack,
) -> None:
    from interfaces.terminal.prompting import EditorLine, PromptHistory, PromptHooks, Terminal

    ahead = open_things.enter_context(TypeAhead(streams.stdin.fileno(), streams.stdout))
    history = PromptHistory(context.settings.data_dir / "history", lambda: not context.conversation.incognito)
    context.forget_typed = history.forget_text

    def choices_for(words: tuple[str, ...]) -> Iterable[Choice]:
        from interfaces.terminal.commands import command_table

        return command_table.choices_for(context, words)

    def last_said() -> str:
        from interfaces.terminal.commands import conversation_commands

        return conversation_commands.last_said(context)

    prompt = PromptHooks(
        choices=choices_for,
        hint=lambda: context.tell("prompt.leave_hint", "quiet"),
        last_message=last_said,
        mark=lambda: context.words.say("prompt.incognito") if context.conversation.incognito else "",
        warm=warm,
        first_words=first_words,
    )
    output = Terminal(streams.stdin, streams.stdout, colour=not streams.environment.get("NO_COLOR"))
    context.reader = EditorLine(output, history, ahead, wishes, prompt)


def _load_commands() -> Mapping[str, Command]:
    from interfaces.terminal.commands.command_table import BY_NAME

    return BY_NAME


def make_warmer(
    log: logging.Logger, names: Sequence[str] = BEHIND_THE_PROMPT, then: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    """A function that loads these modules in a thread, then calls ``then``.

    Failures are only logged: whoever needs the module reports them.
    """

    def load() -> None:
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:  # a broken library may raise anything while it is loaded
                log.exception("%s cannot be loaded", name)
        try:
            then()
        except Exception:
            log.exception("what was to be ready once the libraries are loaded is not")

    return lambda: threading.Thread(target=load, name="warming", daemon=True).start()
