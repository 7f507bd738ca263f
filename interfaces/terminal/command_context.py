"""What a command is given to work with, and what it can hand back."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TypeVar

from conversation import Conversation
from domain import errors
from domain.settings import Settings
from domain.workers import Stop
from interfaces.debug_log import DebugLog
from interfaces.interrupting import Wishes
from interfaces.messages import Words
from interfaces.terminal.line_source import Reader
from interfaces.terminal.pump import BEAT, PATIENCE, Beat, Pump, waited
from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning
from llm import Llm
from memory import Memory

T = TypeVar("T")
_SHOWN_OF_KEY = 4
#: The beat at which a plain screen is told what is waited for.
_PLAIN_NOTE_AT = 20


@dataclass(frozen=True)
class Choice:
    """One thing that may stand at the cursor, and what it means."""

    text: str
    help: str = ""


#: What may stand at the cursor; called with the words before the present one.
Choices = Callable[[tuple[str, ...]], Iterable[Choice]]


@dataclass(frozen=True)
class Leave:
    """The person leaves."""


@dataclass(frozen=True)
class Say:
    """This is to be said to the companion, in place of the last round if ``again``."""

    text: str
    again: bool = False


@dataclass(frozen=True)
class Offer:
    """This text is to stand at the prompt; when it is sent, in place of the last round if ``again``."""

    text: str
    again: bool = False


@dataclass(frozen=True)
class Restart:
    """Settings have changed: everything is to be opened anew."""


Next = Leave | Say | Offer | Restart | None
#: What may follow a command; called with the words behind it that stand there already.
ChoicesOf = Callable[["CommandContext", tuple[str, ...]], Iterable[str | Choice]]


@dataclass
class CommandContext:
    """Everything a command may need. ``screen`` is for replies, ``aside`` for all other words."""

    settings: Settings
    conversation: Conversation
    debug: DebugLog
    screen: Screen
    aside: Screen
    words: Words
    reader: Reader
    wishes: Wishes
    #: The table of commands, by name; loaded when it is first asked for.
    table: Callable[[], Mapping[str, Command]]
    clock: Callable[[], datetime]
    #: Makes the models that settings name, for trying them.
    connect: Callable[[Settings], Llm]
    #: How many tokens the model reads, once its server has said so.
    context_limit: int | None = None
    pump: Pump = field(default_factory=Pump)
    interactive: bool = True
    #: Takes a text that is erased out of what was typed at the prompt.
    forget_typed: Callable[[str], None] = lambda text: None
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def commands(self) -> Mapping[str, Command]:
        """Every command, by name."""
        return self.table()

    @property
    def memory(self) -> Memory:
        """What is remembered."""
        return self.conversation.memory

    @property
    def session_id(self) -> str:
        """The id of the present session."""
        return self.conversation.session.session_id

    @property
    def stop(self) -> Stop:
        """What Ctrl-C sets for the work that was begun last."""
        return self.wishes.stop

    def begin(self) -> None:
        """A piece of work begins, and can be stopped."""
        self.wishes.begin()

    def tell(self, key: str, meaning: Meaning = "words", /, **details: object) -> None:
        """Say one message."""
        self.aside.line(self.words.say(key, **details), meaning)

    def sure(self, key: str, /, **details: object) -> bool:
        """Ask before something that cannot be taken back lightly; no is the default. Nobody there: go on."""
        if not self.interactive:
            return True
        answer = self.reader.ask(self.words.say(key, **details) + " ")
        return is_yes(answer or "")

    def pumped(
        self,
        work: Iterator[T],
        *,
        patience: float | None = PATIENCE,
        last_step: Callable[[T], bool] = lambda event: False,
    ) -> Iterator[T | Beat]:
        """The events of the conversation's work, and beats, while the keys that are typed meanwhile are taken in."""
        for event in self.pump.run(work, self.stop, patience=patience, last_step=last_step):
            self.reader.watch()
            yield event

    def waited(self, work: Callable[[], T], note: str) -> T:
        """The result of slow work that changes nothing, with a note while it goes on. Raises Interrupted at once.

        The note counts the seconds. A plain screen, where nothing is redrawn, gets it once as a line.
        """
        beats = count(1)

        def show_note() -> None:
            seconds = int((beat := next(beats)) * BEAT)
            if self.aside.plain and beat == _PLAIN_NOTE_AT:
                self.aside.line(note, "quiet")
            self.aside.status(self.words.say("wait.seconds", note=note, seconds=seconds) if seconds else note)

        try:
            return waited(work, self.stop, show_note)
        finally:
            self.aside.clear_status()

    @property
    def history_path(self) -> Path:
        """Where the prompt's history lies."""
        return self.settings.data_dir / "history"


@dataclass(frozen=True)
class Command:
    """One row of the table of commands."""

    name: str
    arguments: str
    run: Callable[[CommandContext, str], Next]
    destructive: bool = False
    #: What may follow, for completion.
    choices: ChoicesOf | None = None
    #: Whether it makes sense without a terminal.
    alone: bool = True


def is_yes(answer: str) -> bool:
    """Whether an answer is a yes, in either language.

    >>> is_yes("Y"), is_yes("是"), is_yes("")
    (True, True, False)
    """
    return answer.strip().lower() in ("y", "yes", "ｙ", "是", "好", "对", "嗯")


def is_no(answer: str) -> bool:
    """Whether an answer is a no, in either language."""
    return answer.strip().lower() in ("n", "no", "ｎ", "不", "否", "别")


def explain(context: CommandContext, error: errors.OldFriendError) -> str:
    """What happened and what to do, on one line (a line each for settings)."""
    if isinstance(error, errors.Unauthorized):
        error.details["key_hint"] = _key_hint(context)
    if isinstance(error, errors.NotFound) and not error.details.get("nearest_hint"):
        error.details["nearest_hint"] = _nearest_hint(context, error)
    return context.words.error(error)


def masked(key: str) -> str:
    """A key as it may be shown: its last four letters.

    >>> masked("sk-0123456789abcd")
    '…abcd'
    """
    return "…" + key[-_SHOWN_OF_KEY:] if len(key) > 2 * _SHOWN_OF_KEY else "…"


def _key_hint(context: CommandContext) -> str:
    key = context.settings.openai_api_key
    if not key:
        return ""
    source = context.words.say("source." + context.settings.sources.get("OPENAI_API_KEY", "default"))
    return context.words.say("error.key_hint", key=masked(key), source=source)


def _nearest_hint(context: CommandContext, error: errors.NotFound) -> str:
    """Names of models that resemble the one that is not there; asking for them may fail as well."""
    if error.key != "model.no_such_model":
        return ""
    try:
        names = context.conversation.llm.models()
    except errors.OldFriendError:
        return ""
    near = difflib.get_close_matches(str(error.details.get("model", "")), names, 3, 0.3) or names[:3]
    return context.words.say("error.nearest_hint", names=", ".join(near)) if near else ""
