"""The chat as a person sees it: the opening, then line after line, a command or a turn, until they
leave.

The loop itself stands in ``main.py``; here is each of its steps. Promises: what the person typed is
offered again when its turn failed; no failure of one turn or one command ends the chat.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import errors
from conversation import Replied
from errors import Exit
from terminal.desk import Command, Desk, Leave, Next, Offer, Restart, Say, is_no
from terminal.explaining import explain
from terminal.leaves.saving import begin_anew
from terminal.opening import show_opening
from terminal.parsing import Call, Entered, Farewell, Message, Unknown, parse
from terminal.reply import ReplyView
from terminal.screen import is_gone
from terminal.style import Meaning


class Chat:
    """One chat at one desk."""

    def __init__(
        self, desk: Desk, *, stream: bool = True, moment: Callable[[], float] = time.monotonic
    ) -> None:
        self.desk = desk
        self.ending: Leave | Restart | None = None
        self._stream = stream
        self._moment = moment
        self._offered = ""
        self._again = False
        #: The exit code of what failed last; OK while nothing did.
        self.exit = Exit.OK

    def begin_anew(self) -> None:
        """Save the present session and go on in a new one."""
        begin_anew(self.desk)

    def open(self) -> None:
        """Show how the session stands."""
        self._offered = show_opening(self.desk, self.desk.conversation.open())

    def read(self) -> Entered | None:
        """The next thing the person wants; None when they leave."""
        offered, self._offered = self._offered, ""
        typed = self.desk.reader.read(offered)
        self.desk.aside.typed()
        self.desk.begin()
        if typed is None:
            return None
        self._again = self._again and typed.kept
        return parse(typed, self.desk.commands)

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
        if not isinstance(entered, Message) and following is None:
            self._gap()
        return self._follow(following)

    def _do(self, entered: Entered, again: bool) -> Next:
        match entered:
            case Call(name, argument):
                return self._command(self.desk.commands[name], argument)
            case Unknown(typed, nearest):
                self.desk.tell("prompt.unknown", "warning", typed=typed, nearest=nearest)
            case Farewell(text):
                answer = self.desk.reader.ask(self.desk.words.say("prompt.leave_ask") + " ")
                return Offer(text) if answer is not None and is_no(answer) else Leave()
            case Message(text) if text.strip():
                self.turn(text, again=again)
        return None

    def _command(self, command: Command, argument: str) -> Next:
        if not self.desk.interactive and not command.alone:
            raise errors.UsageError("player.needs_terminal", command=f"/{command.name}")
        return command.run(self.desk, argument)

    def _follow(self, following: Next) -> bool:
        match following:
            case Say(text, again):
                self.turn(text, again=again)
            case Offer(text, again):
                self._offered, self._again = text, again
            case Leave() | Restart():
                self.ending = following
        return self.ending is None

    def turn(self, text: str, *, again: bool = False) -> None:
        """Say something to the companion and show the reply; what failed stands at the prompt again."""
        desk = self.desk
        desk.begin()
        self._gap()
        whole = not desk.interactive and not desk.screen.file.isatty()
        view = ReplyView(desk.screen, desk.aside, desk.words, self._moment, whole=whole)
        try:
            view.show(desk.watched(desk.conversation.turn(text, desk.stop, stream=self._stream, again=again)))
            self._afterwards()
        except errors.OldFriendError as error:
            self._failed(error)
            self._offered, self._again = text, again
        except Exception as fault:  # a fault of ours must not lose what was typed
            self._unexpected(fault)
            self._offered, self._again = text, again
        self._gap()

    def silently(self, text: str) -> Replied:
        """Say something and hand over the reply, showing nothing."""
        self.desk.begin()
        for event in self.desk.conversation.turn(text, self.desk.stop, stream=self._stream):
            if isinstance(event, Replied):
                self._afterwards()
                return event
        raise errors.BadReply("model.no_reply")

    def _afterwards(self) -> None:
        """Older rounds leave the context while the person reads; a script waits for it."""
        if self.desk.interactive:
            self.desk.conversation.fold_ahead()
        else:
            for notice in self.desk.conversation.fold_now():
                self.desk.aside.line(self.desk.words.notice(notice), "warning")

    def _unexpected(self, fault: Exception) -> None:
        """Something that should not happen: the traceback goes to the log, one line to the person."""
        if is_gone(fault):  # nobody reads any more, so there is nobody to tell
            raise fault
        self.desk.debug.log.error("unexpected", exc_info=fault)
        self.exit = Exit.FAILED
        self.desk.aside.fresh_line()
        log = self.desk.settings.log_dir / "errors.log"
        self.desk.tell("error.unexpected", "trouble", kind=type(fault).__name__, log=log)

    def _failed(self, error: errors.OldFriendError) -> None:
        self.exit = error.exit_code
        self.desk.aside.fresh_line()
        meaning: Meaning = "quiet" if isinstance(error, errors.Interrupted) else "trouble"
        self.desk.aside.line(explain(self.desk, error), meaning)

    def _gap(self) -> None:
        if self.desk.interactive:
            self.desk.aside.gap()
