"""The chat as a person sees it: the opening, then line after line, a command or a turn, until they
leave.

The loop itself is in ``main.py``; here is each of its steps. Promises: what the person typed is
offered again when its turn failed; no failure of one turn or one command ends the chat.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from conversation import Replied, TurnEvent
from domain import errors
from domain.errors import Exit
from domain.events import Notice
from domain.text import is_blank
from interfaces.terminal.command_context import CommandContext, Leave, Next, Offer, Restart, Say, is_no, is_yes
from interfaces.terminal.parsing import Entered, Farewell, TypedCommand, TypedMessage, Unknown, parse_input, with_files
from interfaces.terminal.reply import ReplyView
from interfaces.terminal.screen import Meaning, is_gone
from interfaces.terminal.session_view import show_opening
from interfaces.terminal.work_runner import Tick


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

    def show_opening(self) -> None:
        """Show the opening of the session."""
        self._put_back(show_opening(self.context, self.context.conversation.open()))

    def read_input(self) -> Entered | None:
        """The next thing the person wants; None when they leave."""
        offered, self._offered = self._offered, ""
        typed = self.context.reader.read_input(offered, selected=self._selected)
        self.context.aside.note_typed()
        self.context.begin_work()
        if typed is None:
            return None
        self._again = self._again and typed.kept
        return parse_input(typed, self.context.commands)

    def run_input(self, entered: Entered) -> bool:
        """Do what was entered; whether the chat goes on. Whatever fails, it does."""
        again, self._again = self._again, False
        following: Next = None
        try:
            following = self._dispatch_input(entered, again)
        except Exception as fault:  # a fault of ours must not end a conversation
            self._report_fault(fault)
        if not isinstance(entered, TypedMessage) and following is None:
            self._write_gap()
        return self._follow_up(following)

    def _dispatch_input(self, entered: Entered, again: bool) -> Next:
        match entered:
            case TypedCommand(name, argument):
                command = self.context.commands[name]
                if name != "forget":
                    self.context.conversation.in_doubt = ()
                if not self.context.interactive and not command.alone:
                    raise errors.UsageError("batch.needs_terminal", command=f"/{name}")
                return command.run(self.context, argument)
            case Unknown(typed, nearest):
                self.context.tell("prompt.unknown", "warning", typed=typed, nearest=nearest)
            case Farewell(text):
                answer = self.context.reader.ask_question(self.context.words.say("prompt.leave_ask") + " ")
                return Offer(text) if answer is not None and is_no(answer) else Leave()
            case TypedMessage(text, attaching) if not is_blank(text):
                if self.context.interactive and self.context.conversation.in_doubt and self._answer_doubt(text):
                    return None
                self._run_turn(text, again=again, attaching=attaching)
        return None

    def _follow_up(self, following: Next) -> bool:
        match following:
            case Say(text, again):
                self._run_turn(text, again=again)
            case Offer(text, again):
                self._offered, self._again, self._selected = text, again, False
            case Leave() | Restart():
                self.ending = following
        return self.ending is None

    def _put_back(self, text: str, again: bool = False) -> None:
        """Put this at the prompt, to be sent as it is or replaced."""
        self._offered, self._again, self._selected = text, again, True

    def _run_turn(self, text: str, *, again: bool = False, attaching: bool = False) -> None:
        """Say something to the companion and show the reply; a failed message is put back at the prompt."""
        from interfaces.terminal.commands.memory_view import said_anywhere, said_here

        context = self.context
        context.begin_work()
        self._write_gap()
        whole = not context.interactive and not context.screen.file.isatty()
        try:
            # Before the turn: a reply that is still being shown may be stored already, and would bear itself out.
            here = [*said_here(context), text]
            view = ReplyView(
                context.screen, context.aside, context.words, self._moment, whole=whole,
                said=lambda quotation: said_anywhere(context, quotation, here),
            )  # fmt: skip
            said = self._with_files(text) if attaching else text
            turn = context.conversation.turn(said, context.stop, stream=self._stream, again=again, watched=not whole)
            view.show_events(map(self._note_limits, filter(self._is_shown, context.run_work(turn))))
            context.warn_if_full()
            if context.interactive and context.conversation.in_doubt:
                context.tell("forget_request.ask", "quiet")
            self._compact_ahead()
        except Exception as fault:  # a fault of ours must not lose what was typed
            self._report_fault(fault)
            self._put_back(text, again)
        self._write_gap()

    def _is_shown(self, event: TurnEvent | Tick) -> bool:
        """Whether an event is shown; what is asked at the prompt is not said as well."""
        return not (self.context.interactive and isinstance(event, Notice) and event.doubted)

    def _answer_doubt(self, text: str) -> bool:
        """Whether this answers the question whether something is to be kept out of future conversations."""
        conversation = self.context.conversation
        if not (is_yes(text) or is_no(text)):
            conversation.in_doubt = ()
            return False
        if shown := conversation.answer_doubt(keep=is_yes(text)):
            self.context.tell("remember.done", messages=self.context.words.count("turn", shown))
        else:
            self.context.tell("forget_request.kept")
        return True

    def _note_limits(self, event: TurnEvent | Tick) -> TurnEvent | Tick:
        """The event; a server that took only part of a prompt may have said in it how much it reads."""
        if isinstance(event, Notice) and isinstance(fault := event.details.get("error"), errors.ModelError):
            self.context.note_limit(fault)
        return event

    def _with_files(self, text: str) -> str:
        """The message with the files that it names, which are listed. Raises UsageError."""
        attached = with_files(text)
        for name in attached.missing:
            self.context.tell("attach.missing", "quiet", name=name)
        if attached.names:
            self.context.tell("attach.done", "quiet", names=self.context.words.join(attached.names))
        return attached.text

    def reply_silently(self, text: str, *, attaching: bool = False) -> Replied:
        """Say something and return the reply, showing nothing."""
        self.context.begin_work()
        said = self._with_files(text) if attaching else text
        turn = self.context.conversation.turn(said, self.context.stop, stream=self._stream)
        for event in self.context.run_work(turn):
            if isinstance(event, Replied):
                self._compact_ahead()
                return event
        raise errors.BadReply("model.no_reply")

    def _compact_ahead(self) -> None:
        """Older rounds leave the context while the person reads; a script waits for it."""
        if self.context.interactive:
            self.context.conversation.compact_ahead()
        else:
            for notice in self.context.conversation.compact_now():
                self.context.aside.line(self.context.words.describe_notice(notice), "warning")

    def _report_fault(self, fault: Exception) -> None:
        """Say what failed. Of what should not happen the traceback goes to the log, and one line to the person."""
        if isinstance(fault, errors.OldFriendError):
            self.context.note_limit(fault)
            self.exit = fault.exit_code
            self.context.aside.fresh_line()
            meaning: Meaning = "quiet" if isinstance(fault, errors.Interrupted) else "trouble"
            self.context.aside.line(self.context.explain_error(fault), meaning)
            return
        if is_gone(fault):  # no one reads any more
            raise fault
        self.context.debug.log.error("unexpected", exc_info=fault)
        self.exit = Exit.FAILED
        self.context.aside.fresh_line()
        log = self.context.settings.log_dir / "errors.log"
        self.context.tell("error.unexpected", "trouble", kind=type(fault).__name__, log=log)

    def _write_gap(self) -> None:
        if self.context.interactive:
            self.context.aside.empty_line()
