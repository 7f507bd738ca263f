"""Wires the chat to its streams: which screen and which reader fit them; and loads meanwhile what is needed later.

The way to the first prompt is short because little is loaded on it. Whatever is not needed for it is imported where it
is first used, and loaded behind the prompt, while nobody waits for it.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TextIO

from conversation import Conversation
from domain.settings import Settings
from interfaces.debug_log import DebugLog
from interfaces.interrupting import Wishes
from interfaces.messages import Words, choose
from interfaces.terminal.arguments import Options
from interfaces.terminal.command_context import Choice, Command, CommandContext
from interfaces.terminal.line_source import PlainReader, Reader
from interfaces.terminal.repl import Repl
from interfaces.terminal.screen import Screen, wants_plain
from llm import Llm

#: What a turn or a command needs and the first prompt does not: our own rooms, then libraries, in the order of a turn.
BEHIND_THE_PROMPT = (
    "interfaces.terminal.commands.command_table", "models.tasks", "jobs.saving", "jobs.erasing",
    "Stemmer", "numpy", "openai", "openai.resources.chat.completions", "rich.text", "rich.table",
    "pyarrow", "lancedb",
)  # fmt: skip


@dataclass(frozen=True)
class Streams:
    """Where text comes from and goes to, and the environment that says how."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environment: Mapping[str, str]

    @property
    def alone(self) -> bool:
        """Whether nobody sits at a keyboard."""
        return not self.stdin.isatty()


def steady(stream: TextIO) -> TextIO:
    """The stream, so that no character it cannot show ever stops the program."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


def words_for(settings: Settings | None, environment: Mapping[str, str]) -> Words:
    """The messages in the language of the settings, or of the locale while there are none."""
    return Words(choose(settings.language if settings else environment.get("LANGUAGE", "auto"), environment))


@contextmanager
def wired(
    conversation: Conversation,
    debug: DebugLog,
    options: Options,
    streams: Streams,
    wishes: Wishes,
    *,
    clock: Callable[[], datetime],
    connect: Callable[[Settings], Llm],
    warm: Callable[[], None],
    version: str,
) -> Iterator[Repl]:
    """The chat for a person, or a script, at these streams; the terminal is given back as it was.

    ``connect`` makes models for ``/setup``; ``warm`` is called when the first prompt stands.
    """
    settings = conversation.settings
    stdout, stderr = steady(streams.stdout), steady(streams.stderr)
    screen = Screen(stdout, plain=wants_plain(stdout, streams.environment, options.plain))
    by_hand = not streams.alone and all(given is None for given in (options.say, options.ask, options.batch))
    aside = screen
    if not by_hand or not stdout.isatty():
        aside = Screen(stderr, plain=wants_plain(stderr, streams.environment, options.plain))
    context = CommandContext(
        settings,
        conversation,
        debug,
        screen,
        aside,
        words_for(settings, streams.environment),
        reader=_Nobody(),
        wishes=wishes,
        table=_commands,
        clock=clock,
        connect=connect,
        interactive=by_hand,
        version=version,
        environment=streams.environment,
    )
    with ExitStack() as open_things:
        if by_hand and _editable(streams, options):
            _give_editor_line(context, streams, wishes, warm, open_things)
        elif by_hand:
            warm()
            context.reader = PlainReader(
                streams.stdin, aside, wishes, lambda: context.tell("prompt.leave_hint", "quiet")
            )
        yield Repl(context, stream=options.stream)


def _editable(streams: Streams, options: Options) -> bool:
    """Whether a line editor can and may draw here. NO_COLOR takes its colours, not its keys."""
    environment = streams.environment
    plain = options.plain or environment.get("ACCESSIBLE", "0") not in ("", "0")
    return not plain and streams.stdout.isatty() and environment.get("TERM", "dumb") not in ("dumb", "")


def _give_editor_line(
    context: CommandContext,
    streams: Streams,
    wishes: Wishes,
    warm: Callable[[], None],
    open_things: ExitStack,
) -> None:
    from interfaces.terminal.prompt_sources import PromptHistory
    from interfaces.terminal.prompting import EditorLine
    from interfaces.terminal.typeahead import TypeAhead

    ahead = open_things.enter_context(TypeAhead(streams.stdin.fileno(), streams.stdout))
    history = PromptHistory(context.history_path, lambda: not context.conversation.incognito)
    context.forget_typed = history.forget
    line = EditorLine(
        streams.stdin,
        streams.stdout,
        history,
        ahead,
        wishes,
        colour=not streams.environment.get("NO_COLOR"),
        choices=partial(_choices, context),
        hint=lambda: context.tell("prompt.leave_hint", "quiet"),
        last_message=partial(_last_said, context),
        mark=lambda: context.words.say("prompt.incognito") if context.conversation.incognito else "",
        warm=warm,
    )
    context.reader = line


def _commands() -> Mapping[str, Command]:
    from interfaces.terminal.commands.command_table import BY_NAME

    return BY_NAME


def _choices(context: CommandContext, words: tuple[str, ...]) -> Iterable[Choice]:
    from interfaces.terminal.commands.command_table import choices_for

    return choices_for(context, words)


def _last_said(context: CommandContext) -> str:
    from interfaces.terminal.commands.talk import last_said

    return last_said(context)


def warmer(
    log: logging.Logger, names: Sequence[str] = BEHIND_THE_PROMPT, then: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    """What begins loading these modules in a thread of its own, then does ``then``.

    What fails here is written into the log and is not this thread's trouble: whoever needs it will say so.
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


class _Nobody(Reader):
    """Nobody is there to type or to answer."""

    def read(self, prefill: str = "", *, selected: bool = False) -> None:
        """Nothing."""

    def ask(self, question: str, *, hidden: bool = False, choices: object = (), default: str = "") -> None:
        """No answer."""

    def watch(self) -> None:
        """Nothing is typed."""

    def lent(self) -> AbstractContextManager[None]:
        """There is no terminal."""
        return nullcontext()
