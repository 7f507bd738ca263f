"""``-p`` and ``--ask`` while a chat, or another program, holds the memory: said or asked through that one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conversation import TurnEvent
from domain import errors
from domain.errors import Exit
from domain.events import MemoryAnswer, Reply
from domain.recollection import Recollection
from domain.settings import Settings
from domain.text import clean
from interfaces.interrupting import Wishes
from interfaces.messages import Words
from interfaces.socket import line
from interfaces.terminal.arguments import Options
from interfaces.terminal.attaching import with_files
from interfaces.terminal.batch import said, write_reply
from interfaces.terminal.commands.command_table import BY_NAME
from interfaces.terminal.parsing import Farewell, Typed, TypedMessage, parse
from interfaces.terminal.reply import ReplyView, counted_line
from interfaces.terminal.screen import Screen, wants_plain
from interfaces.terminal.wiring import Streams, steady, words_for


def say_beside(settings: Settings, options: Options, streams: Streams, wishes: Wishes) -> Exit | None:
    """Say what ``-p`` says, or ask what ``--ask`` asks, through whoever holds the memory.

    None where nobody does, or it is about his session.

    Raises what went wrong there, and Unreachable where it went away.
    """
    if not may_be_said_beside(options) or not is_held(settings):
        return None
    beside = _Beside(settings, options, streams, words_for(settings, streams.environment), wishes)
    try:
        return beside.say_as_json() if options.json else beside.say()
    except line.Gone as fault:
        raise errors.Unreachable("socket.lost") from fault


def may_be_said_beside(options: Options) -> bool:
    """Whether it is nothing about the present session, so that whoever holds the memory can be asked to take it."""
    if options.here or options.new:
        return False
    if options.ask is not None:
        return True
    entered = parse(Typed(clean(options.say or "").strip()), BY_NAME)
    return options.json or isinstance(entered, TypedMessage | Farewell)


def is_held(settings: Settings) -> bool:
    """Whether somebody holds the memory who can be asked."""
    try:
        line.connected(settings.data_dir).close()
    except line.Gone:
        return False
    return True


@dataclass(frozen=True)
class _Beside:
    settings: Settings
    options: Options
    streams: Streams
    words: Words
    wishes: Wishes

    def say(self) -> Exit:
        """Show the reply as it comes, or whole where a program reads it."""
        stdout, stderr = steady(self.streams.stdout), steady(self.streams.stderr)
        environment, plain = self.streams.environment, self.options.plain
        screen = Screen(stdout, plain=wants_plain(stdout, environment, plain))
        aside = Screen(stderr, plain=wants_plain(stderr, environment, plain))
        view = ReplyView(screen, aside, self.words, time.monotonic, whole=not stdout.isatty())
        answer: dict[str, Any] = {}
        view.show(self._events(self._text(), answer))
        if any(answer.get("counts", {}).values()):
            aside.line(counted_line(self.words, answer["counts"]), "quiet")
        return Exit.OK

    def say_as_json(self) -> Exit:
        """Write the reply, or what went wrong, as ``--json`` does."""
        answer: dict[str, Any] = {}
        try:
            for _ in self._events(self._text(), answer):
                pass
        except errors.OldFriendError as error:
            told: dict[str, object] = {"key": error.key, "message": self.words.error(error)}
            write_reply(self.streams.stdout, None, None, [], told)
            return error.exit_code
        write_reply(self.streams.stdout, _reply_of(answer), answer["session"], answer["recalled"])
        return Exit.OK

    def _text(self) -> str:
        if self.options.ask is not None:
            return self._given(clean(self.options.ask).strip())
        text = self._given(said(self.options, self.streams, self.wishes))
        by_hand = text == clean(self.options.say or "").strip()
        return with_files(text).text if by_hand else text

    @staticmethod
    def _given(text: str) -> str:
        if not text:
            raise errors.UsageError("input.empty")
        return text

    def _events(self, text: str, answer: dict[str, Any]) -> Iterator[TurnEvent | MemoryAnswer]:
        """What comes over the line; what was answered in the end stands in ``answer``."""
        from interfaces.socket.saying import event_of

        call = "say" if self.options.ask is None else "ask"
        given = {"text": text, "incognito": self.options.incognito}
        for one in line.asked(self.settings.data_dir, call, given, stop=self.wishes.stop):
            if "answer" in one:
                answer.update(one["answer"])
                reply = _reply_of(answer) if answer["reply"] else None
                yield MemoryAnswer(text, Recollection(), reply, known=answer.get("known", True))
            elif event := event_of(one):
                yield event


def _reply_of(answer: dict[str, Any]) -> Reply:
    return Reply(**answer["reply"])
