"""What a command is given to work with, and what it can hand back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from conversation import Conversation
from domain import errors
from domain.events import Stop
from domain.languages import Language
from domain.settings import Settings
from interfaces.debug_log import DebugLog
from interfaces.terminal.interrupting import Wishes
from interfaces.terminal.messages import Words
from interfaces.terminal.reading import Reader
from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning
from llm import Llm
from memory import Memory

if TYPE_CHECKING:
    from interfaces.terminal.history import PromptHistory

T = TypeVar("T")


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
    commands: Mapping[str, Command]
    clock: Callable[[], datetime]
    #: Makes the models that settings name, for trying them.
    connect: Callable[[Settings], Llm]
    interactive: bool = True
    history: PromptHistory | None = None
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

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

    def watched(self, events: Iterable[T]) -> Iterator[T]:
        """The events, while the keys that are typed meanwhile are taken in."""
        for event in events:
            self.reader.watch()
            yield event

    def edited(self, text: str) -> str:
        """The text after the person edited it. Raises UsageError when there is no terminal or no editor."""
        from interfaces.terminal.editor import edited

        if not self.interactive:
            raise errors.UsageError("player.needs_terminal", command="$EDITOR")
        with self.reader.lent():
            return edited(text, self.environment)

    @property
    def history_path(self) -> Path:
        """Where the prompt's history lies."""
        return self.settings.data_dir / "history"


@dataclass(frozen=True)
class Command:
    """One row of the table of commands."""

    name: str
    arguments: str
    help: Mapping[Language, str]
    run: Callable[[CommandContext, str], Next]
    destructive: bool = False
    #: What may follow, for completion: the words before, and the context.
    choices: Callable[[CommandContext, tuple[str, ...]], Iterable[str]] | None = None
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
