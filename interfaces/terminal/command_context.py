"""What a command gets to work with, and what it can return."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import TypeVar

from conversation import Conversation
from domain import errors
from domain.settings import Settings
from domain.workers import CancelToken
from interfaces.debug_log import DebugLog
from interfaces.interrupting import Wishes
from interfaces.messages import Words
from interfaces.terminal.line_source import Reader
from interfaces.terminal.screen import Meaning, Screen
from interfaces.terminal.work_runner import PATIENCE, TICK, Tick, WorkRunner, wait_for
from language.scripts import estimate
from llm import Llm
from memory import Memory

T = TypeVar("T")
_SHOWN_OF_KEY = 4
#: The assumed context of a model while it is unknown: a small one reports it when it refuses or cuts a prompt.
UNKNOWN_LIMIT = 128_000
#: From this share on a line under the reply says so.
_MUCH = 0.8
#: The beat at which a plain screen shows what is waited for.
_PLAIN_NOTE_AT = 20


@dataclass(frozen=True)
class Choice:
    """One completion, and what it means."""

    text: str
    help: str = ""


#: Completions at the cursor; called with the words before the present one.
Choices = Callable[[tuple[str, ...]], Iterable[Choice]]


@dataclass(frozen=True)
class Leave:
    """The person leaves."""


@dataclass(frozen=True)
class Say:
    """Say this to the companion, in place of the last round if ``again``."""

    text: str
    again: bool = False


@dataclass(frozen=True)
class Offer:
    """Put this text at the prompt; when sent, it replaces the last round if ``again``."""

    text: str
    again: bool = False


@dataclass(frozen=True)
class Restart:
    """Settings have changed: start again."""


Next = Leave | Say | Offer | Restart | None
#: What may follow a command; called with the words already typed behind it.
ChoicesOf = Callable[["CommandContext", tuple[str, ...]], Iterable[str | Choice]]


@dataclass(frozen=True)
class ContextUse:
    """Tokens of the last prompt, and of how many; ``known``: whether a server named the limit."""

    tokens: int
    limit: int
    known: bool

    @property
    def used_share(self) -> float:
        """How full the context is: 80 of 100 are 0.8."""
        return self.tokens / self.limit


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
    pump: WorkRunner = field(default_factory=WorkRunner)
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
    def stop(self) -> CancelToken:
        """What Ctrl-C sets for the work that was begun last."""
        return self.wishes.stop

    def begin_work(self) -> None:
        """A piece of work begins, and can be stopped."""
        self.wishes.begin()

    def tell(self, key: str, meaning: Meaning = "words", /, **details: object) -> None:
        """Say one message."""
        self.aside.line(self.words.say(key, **details), meaning)

    def confirm(self, key: str, /, **details: object) -> bool:
        """Ask before something that cannot be taken back lightly; no is the default. No one there: go on."""
        if not self.interactive:
            return True
        answer = self.reader.ask_question(self.words.say(key, **details) + " ")
        return is_yes(answer or "")

    def run_work(
        self,
        work: Iterator[T],
        *,
        patience: float | None = PATIENCE,
        last_step: Callable[[T], bool] = lambda event: False,
    ) -> Iterator[T | Tick]:
        """The events of the conversation's work, and beats, while the keys that are typed meanwhile are taken in.

        A program that is waited for, since it is still writing, is named.
        """
        named = None
        for event in self.pump.run_work(work, self.stop, patience=patience, last_step=last_step):
            self.reader.watch_typing()
            if (awaited := self.memory.awaited) and awaited is not named:
                named = awaited
                self.aside.fresh_line()
                self.tell("storage.awaited", "quiet", **awaited)
            yield event

    def wait_for(self, work: Callable[[], T], note: str) -> T:
        """The result of slow work that changes nothing, with a note while it goes on. Raises Interrupted at once.

        The note counts the seconds. A plain screen, where nothing is redrawn, gets it once as a line.
        """
        beats = count(1)

        def show_note() -> None:
            seconds = int((beat := next(beats)) * TICK)
            if self.aside.plain and beat == _PLAIN_NOTE_AT:
                self.aside.line(note, "quiet")
            self.aside.show_status(self.words.say("wait.seconds", note=note, seconds=seconds) if seconds else note)

        try:
            return wait_for(work, self.stop, show_note)
        finally:
            self.aside.clear_status()

    def explain_error(self, error: errors.OldFriendError) -> str:
        """What happened and what to do, on one line (a line each for settings)."""
        if isinstance(error, errors.Unauthorized):
            key = self.settings.openai_api_key
            source = self.words.say("source." + self.settings.sources.get("OPENAI_API_KEY", "default"))
            error.details["key_hint"] = (
                self.words.say("error.key_hint", key=mask_key(key), source=source) if key else ""
            )
        if isinstance(error, errors.NotFound) and not error.details.get("nearest_hint"):
            error.details["nearest_hint"] = self._nearest_hint(error)
        return self.words.describe_error(error)

    def _nearest_hint(self, error: errors.NotFound) -> str:
        """Names of models that resemble the one that is not there; asking for them may fail as well."""
        if error.key != "model.no_such_model":
            return ""
        try:
            names = self.conversation.llm.models()
        except errors.OldFriendError:
            return ""
        near = difflib.get_close_matches(str(error.details.get("model", "")), names, 3, 0.3) or names[:3]
        return self.words.say("error.nearest_hint", names=self.words.join(near)) if near else ""

    def context_use(self) -> ContextUse | None:
        """How full the context was at the last turn; None while nothing was sent."""
        last = self.conversation.last
        if last is None:
            return None
        reply = last.answered.reply
        guessed = sum(estimate(message.content) for message in last.answered.messages)
        if reply.truncated and reply.prompt_tokens:
            return ContextUse(guessed, reply.prompt_tokens, True)
        limit = self.context_limit
        return ContextUse(reply.prompt_tokens or guessed, limit or UNKNOWN_LIMIT, limit is not None)

    def note_limit(self, error: errors.OldFriendError) -> None:
        """A server that refuses a prompt often says how much it reads."""
        limit = error.details.get("limit")
        if isinstance(error, errors.ContextTooLong) and isinstance(limit, int) and limit > 0:
            self.context_limit = limit

    def warn_if_full(self) -> None:
        """One dim line under a reply whose prompt filled most of the context."""
        use = self.context_use()
        if use is not None and use.used_share >= _MUCH:
            share, limit = round(use.used_share * 100), f"{use.limit:,}"
            key = "context.much" if use.known else "context.much_guessed"
            self.tell(key, "quiet", share=share, tokens=f"{use.tokens:,}", limit=limit)


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
    """Whether an answer is a yes, in either language."""
    return answer.strip().lower() in ("y", "yes", "ｙ", "是", "好", "对", "嗯")


def is_no(answer: str) -> bool:
    """Whether an answer is a no, in either language."""
    return answer.strip().lower() in ("n", "no", "ｎ", "不", "否", "别")


def mask_key(key: str) -> str:
    """A key as it may be shown: its last four letters."""
    return "…" + key[-_SHOWN_OF_KEY:] if len(key) > 2 * _SHOWN_OF_KEY else "…"


def read_count(context: CommandContext, argument: str, default: int) -> int | None:
    """A whole number above 0 as an argument; None after saying that it is none."""
    if not argument:
        return default
    if argument.isdecimal() and int(argument[:9]) > 0:
        return int(argument[:9])
    context.tell("number.wrong", "warning", value=argument)
    return None


def read_switch(context: CommandContext, command: str, argument: str, is_on: bool) -> bool | None:
    """On or off as asked for; None after telling how it is, or what it takes."""
    word = argument.strip().lower()
    if word in ("on", "off"):
        return word == "on"
    if word:
        context.tell("switch.wrong", "warning", command=command)
    else:
        context.tell("switch.is_on" if is_on else "switch.is_off", command=command)
    return None
