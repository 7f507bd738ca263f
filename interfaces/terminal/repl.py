"""The chat as a person sees it: the opening, then line after line, a command or a turn, until they
leave.

The loop itself stands in ``main.py``; here is each of its steps. Promises: what the person typed is
offered again when its turn failed; no failure of one turn or one command ends the chat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from conversation import Replied, TurnEvent
from domain import errors
from domain.errors import Exit
from domain.events import Notice
from domain.text import is_blank
from interfaces.terminal.attaching import with_files
from interfaces.terminal.command_context import (
    Command,
    CommandContext,
    Leave,
    Next,
    Offer,
    Restart,
    Say,
    explain,
    is_no,
)
from interfaces.terminal.context_use import heard_limit, tell_much
from interfaces.terminal.parsing import Entered, Farewell, TypedCommand, TypedMessage, Unknown, parse
from interfaces.terminal.pump import Beat
from interfaces.terminal.reply import ReplyView
from interfaces.terminal.screen import is_gone
from interfaces.terminal.session_view import show_opening
from interfaces.terminal.style import Meaning


class Repl:
    """The loop's steps with one context."""

    def __init__(
        self, context: CommandContext, *, stream: bool = True, moment: Callable[[], float] = time.monotonic
    ) -> None:
        self.context = context
        self.ending: Leave | Restart | None = None
        self._stream = stream
        self._moment = moment
        self._offered = ""
        self._selected = False
        self._again = False
        #: The exit code of what failed last; OK while nothing did.
        self.exit = Exit.OK

    def begin_anew(self) -> None:
        """Save the present session and go on in a new one."""
        from interfaces.terminal.commands.ending import begin_anew

        begin_anew(self.context)

    def open(self) -> None:
        """Show how the session stands."""
        self._put_back(show_opening(self.context, self.context.conversation.open()))

    def read(self) -> Entered | None:
        """The next thing the person wants; None when they leave."""
        offered, self._offered = self._offered, ""
        typed = self.context.reader.read(offered, selected=self._selected)
        self.context.aside.typed()
        self.context.begin()
        if typed is None:
            return None
        self._again = self._again and typed.kept
        return parse(typed, self.context.commands)

    def do(self, entered: Entered) -> bool:
        """Do what was entered; whether the chat goes on. Whatever fails, it does."""
        again, self._again = self._again, False
        try:
            following = self._do(entered, again)
        except errors.OldFriendError as error:
            self._failed(error)
            following = None
        except Exception as fault:  # a fault of ours must not end a conversation
            self._unexpected(fault)
            following = None
        if not isinstance(entered, TypedMessage) and following is None:
            self._gap()
        return self._follow(following)

    def _do(self, entered: Entered, again: bool) -> Next:
        match entered:
            case TypedCommand(name, argument):
                return self._command(self.context.commands[name], argument)
            case Unknown(typed, nearest):
                self.context.tell("prompt.unknown", "warning", typed=typed, nearest=nearest)
            case Farewell(text):
                answer = self.context.reader.ask(self.context.words.say("prompt.leave_ask") + " ")
                return Offer(text) if answer is not None and is_no(answer) else Leave()
            case TypedMessage(text, attaching) if not is_blank(text):
                self.turn(text, again=again, attaching=attaching)
        return None

    def _command(self, command: Command, argument: str) -> Next:
        if not self.context.interactive and not command.alone:
            raise errors.UsageError("batch.needs_terminal", command=f"/{command.name}")
        return command.run(self.context, argument)

    def _follow(self, following: Next) -> bool:
        match following:
            case Say(text, again):
                self.turn(text, again=again)
            case Offer(text, again):
                self._offered, self._again, self._selected = text, again, False
            case Leave() | Restart():
                self.ending = following
        return self.ending is None

    def _put_back(self, text: str, again: bool = False) -> None:
        """Let this stand at the prompt, to be sent as it is or replaced."""
        self._offered, self._again, self._selected = text, again, True

    def turn(self, text: str, *, again: bool = False, attaching: bool = False) -> None:
        """Say something to the companion and show the reply; what failed stands at the prompt again."""
        from interfaces.terminal.commands.memory_view import said_anywhere, said_here

        context = self.context
        context.begin()
        self._gap()
        whole = not context.interactive and not context.screen.file.isatty()
        try:
            # Before the turn: a reply that is still being shown may be stored already, and would bear itself out.
            here = [*said_here(context), text]
            view = ReplyView(
                context.screen, context.aside, context.words, self._moment, whole=whole,
                said=lambda quotation: said_anywhere(context, quotation, here),
            )  # fmt: skip
            said = self._with_files(text) if attaching else text
            turn = context.conversation.turn(
                said, context.stop, stream=self._stream, again=again, watched=not whole
            )
            view.show(self._heard(context.pumped(turn)))
            tell_much(context)
            self._afterwards()
        except errors.OldFriendError as error:
            self._failed(error)
            self._put_back(text, again)
        except Exception as fault:  # a fault of ours must not lose what was typed
            self._unexpected(fault)
            self._put_back(text, again)
        self._gap()

    def _heard(self, events: Iterator[TurnEvent | Beat]) -> Iterator[TurnEvent | Beat]:
        """The events of a turn; a server that took only part of a prompt may have said how much it reads."""
        for event in events:
            if isinstance(event, Notice) and isinstance(
                fault := event.details.get("error"), errors.ModelError
            ):
                heard_limit(self.context, fault)
            yield event

    def _with_files(self, text: str) -> str:
        """The message with the files that it names, which are told. Raises UsageError."""
        attached = with_files(text)
        for name in attached.missing:
            self.context.tell("attach.missing", "quiet", name=name)
        if attached.names:
            self.context.tell("attach.done", "quiet", names=", ".join(attached.names))
        return attached.text

    def silently(self, text: str, *, attaching: bool = False) -> Replied:
        """Say something and hand over the reply, showing nothing."""
        self.context.begin()
        said = self._with_files(text) if attaching else text
        turn = self.context.conversation.turn(said, self.context.stop, stream=self._stream)
        for event in self.context.pumped(turn):
            if isinstance(event, Replied):
                self._afterwards()
                return event
        raise errors.BadReply("model.no_reply")

    def _afterwards(self) -> None:
        """Older rounds leave the context while the person reads; a script waits for it."""
        if self.context.interactive:
            self.context.conversation.fold_ahead()
        else:
            for notice in self.context.conversation.fold_now():
                self.context.aside.line(self.context.words.notice(notice), "warning")

    def _unexpected(self, fault: Exception) -> None:
        """Something that should not happen: the traceback goes to the log, one line to the person."""
        if is_gone(fault):  # nobody reads any more, so there is nobody to tell
            raise fault
        self.context.debug.log.error("unexpected", exc_info=fault)
        self.exit = Exit.FAILED
        self.context.aside.fresh_line()
        log = self.context.settings.log_dir / "errors.log"
        self.context.tell("error.unexpected", "trouble", kind=type(fault).__name__, log=log)

    def _failed(self, error: errors.OldFriendError) -> None:
        heard_limit(self.context, error)
        self.exit = error.exit_code
        self.context.aside.fresh_line()
        meaning: Meaning = "quiet" if isinstance(error, errors.Interrupted) else "trouble"
        self.context.aside.line(explain(self.context, error), meaning)

    def _gap(self) -> None:
        if self.context.interactive:
            self.context.aside.gap()
