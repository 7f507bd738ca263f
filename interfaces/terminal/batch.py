"""Conversations without a person at the keyboard: ``-p``, ``--ask``, ``--batch``, ``--json`` and piped lines.

Replies go to stdout, everything else to stderr; commands that would ask run without asking.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from conversation import TurnEvent
from domain import errors
from domain.errors import Exit
from domain.events import MemoryAnswer, Notice, Reply
from domain.recollection import Recollection
from domain.settings import Settings
from domain.text import clean_text, is_blank, one_line
from interfaces.interrupting import Wishes
from interfaces.recollections import recalled_values
from interfaces.socket import protocol
from interfaces.terminal.arguments import Options
from interfaces.terminal.command_context import CommandContext, explain_error
from interfaces.terminal.commands.command_table import BY_NAME
from interfaces.terminal.parsing import (
    Farewell,
    Typed,
    TypedCommand,
    TypedMessage,
    is_block_mark,
    parse_input,
    with_files,
)
from interfaces.terminal.repl import Repl
from interfaces.terminal.reply import ReplyView, counted_line
from interfaces.terminal.wiring import Program, Streams
from jobs.rebuild import rebuild_some

#: Seconds between two looks at whether Ctrl-C was pressed.
_LOOK = 0.1
_READ_SIZE = 65_536
#: Characters of the message in the summary of a session that holds nothing else.
_SUMMARY = 300
#: Steps of rebuilding after one run: a window takes two calls, a persona one.
_MOST_STEPS = 4


def run_batch(repl: Repl, options: Options, streams: Streams) -> Exit:
    """Say and do what the command line or the pipe gives. Returns the exit code."""
    _show_notices(repl.context)
    left = repl.context.memory.rebuilds.due_requests()
    code = _run_input(repl, options, streams, repl.context.wishes)
    if left and code == Exit.OK:
        _rebuild_some(repl.context)
    return code


def _run_input(repl: Repl, options: Options, streams: Streams, wishes: Wishes) -> Exit:
    if options.say is not None:
        return _say_alone(repl, read_message(options, streams, wishes), options)
    if options.ask is not None:
        return _ask_memory(repl, clean_text(options.ask).strip())
    if options.batch in (None, "-"):
        return _run_lines(repl, lines_of(streams.stdin, wishes))
    try:
        with open(str(options.batch), encoding="utf-8", errors="replace") as file:
            return _run_lines(repl, file, attaching=True)
    except OSError as fault:
        raise errors.UsageError("batch.no_file", path=options.batch, reason=fault.strerror) from fault


def read_message(options: Options, streams: Streams, wishes: Wishes) -> str:
    """What ``-p`` says: text that is piped in beside it comes first."""
    text = options.say or ""
    before = whole_of(streams.stdin, wishes) if streams.is_unattended or text == "-" else ""
    parts = [before] if text == "-" else [before, text]
    return "\n\n".join(clean_text(part).strip() for part in parts if part.strip())


def _say_alone(repl: Repl, text: str, options: Options) -> Exit:
    """Say what ``-p`` says: in a session of its own, unless the present one is meant.

    A command is always about the present session, and ``--new`` has just begun one.
    """
    entered = parse_input(Typed(text, pasted="\n" in text), repl.context.commands)
    by_hand = text == clean_text(options.say or "").strip()
    message = options.json or isinstance(entered, TypedMessage | Farewell)
    with nullcontext() if options.here or options.new or not message else _own_session(repl.context):
        if options.json:
            return _say_as_json(repl, text, attaching=by_hand)
        if not text:
            raise errors.UsageError("input.empty")
        repl.run_input(TypedMessage(text, attaching=by_hand) if message else entered)
    return repl.exit


def _ask_memory(repl: Repl, question: str) -> Exit:
    """Answer what ``--ask`` asks; no session is touched."""
    if not question:
        raise errors.UsageError("input.empty")
    repl.run_input(TypedCommand("ask", question))
    return repl.exit


@contextmanager
def _own_session(context: CommandContext) -> Iterator[None]:
    """A session of its own, archived afterwards under its first message; then the earlier one is present again.

    It disappears when nothing was stored. It is ordered before the present one, so that the next start never goes on
    with what a killed program left of it.
    """
    memory, present = context.memory, context.conversation.session
    own = memory.sessions.start(before=present.session_id)
    context.conversation.switch_to(own, resumed=False)
    try:
        yield
    finally:
        with memory.in_one_commit():
            last = own
            if rounds := memory.messages.rounds(own.session_id):
                said = one_line(rounds[0].user.words, _SUMMARY)
                last = memory.rounds.save(own.session_id, context.words.say("batch.summary", said=said), {})
            memory.sessions.drop_in_flight(own.session_id)
            memory.rounds.resume(present.session_id, last.session_id)
        context.conversation.switch_to(present, resumed=True)


def _run_lines(repl: Repl, lines: Iterable[str], *, attaching: bool = False) -> Exit:
    for typed in inputs_of(lines):
        entered = parse_input(typed, repl.context.commands)
        if isinstance(entered, TypedMessage):
            entered = TypedMessage(entered.text, attaching)
        if isinstance(entered, TypedMessage) and is_blank(entered.text):
            continue
        if isinstance(entered, Farewell) or not repl.run_input(entered):
            break
        if repl.context.stop.is_set:
            raise errors.Interrupted
    return repl.exit


def inputs_of(lines: Iterable[str]) -> Iterator[Typed]:
    """Each line as an input of its own, and the lines of each block as one.

    Raises UsageError for a block that never ends: what was to be in it cannot be known.
    """
    block: list[str] | None = None
    for line in (clean_text(line).rstrip("\n") for line in lines):
        if block is None and not is_block_mark(line):
            yield Typed(line)
        elif block is None:
            block = []
        elif is_block_mark(line):
            yield Typed("\n".join(block), block=True)
            block = None
        else:
            block.append(line)
    if block is not None:
        raise errors.UsageError("batch.open_block", lines=len(block))


def _show_notices(context: CommandContext) -> None:
    """The demo model says that it is one, and settings that look wrong are pointed out."""
    if context.conversation.llm.describe().demo:
        context.tell("open.demo", "quiet")
    for notice in context.settings.notices:
        context.aside.line(context.words.describe_notice(notice), "warning")


def _rebuild_some(context: CommandContext) -> None:
    """After the last answer: a little of what earlier runs left to extract or rebuild; the rest waits for the next.

    Not where nothing is to be written; Ctrl-C ends it at once.
    """
    conversation = context.conversation
    if conversation.incognito:
        return
    context.screen.file.flush()
    with suppress(errors.Interrupted):
        for event in context.run_work(rebuild_some(conversation.memory, conversation.llm, context.stop, _MOST_STEPS)):
            if isinstance(event, Notice):
                context.aside.line(context.words.describe_notice(event), "warning")


def _say_as_json(repl: Repl, text: str, *, attaching: bool) -> Exit:
    context = repl.context
    try:
        replied = repl.reply_silently(text, attaching=attaching)
    except errors.OldFriendError as error:
        payload: dict[str, object] = {"key": error.key, "message": explain_error(context, error)}
        write_reply(context.screen.file, None, context.session_id, [], payload)
        return error.exit_code
    write_reply(context.screen.file, replied.reply, context.session_id, recalled_values(replied.recollection))
    return Exit.OK


def write_reply(
    stream: TextIO,
    reply: Reply | None,
    session: str | None,
    memories: list[dict[str, object]],
    error: dict[str, object] | None = None,
) -> None:
    """The one object that ``--json`` writes."""
    payload = {
        "reply": reply.text if reply else None,
        "session": session,
        "finish": reply.finish if reply else None,
        "model": reply.model if reply else None,
        "recalled": memories,
        "usage": {
            "prompt_tokens": reply.prompt_tokens if reply else None,
            "completion_tokens": reply.completion_tokens if reply else None,
        },
        "error": error,
    }
    stream.write(json.dumps(payload, ensure_ascii=False, indent=2, default=float) + "\n")
    stream.flush()


def lines_of(stream: TextIO, wishes: Wishes) -> Iterator[str]:
    """The lines without their ends. Raises Interrupted when Ctrl-C was pressed while one was awaited."""
    begun: list[bytes] = []
    for part in _read_parts(stream.fileno(), wishes):
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).decode("utf-8", "replace").rstrip("\r")
            begun.clear()
        begun.append(rest)
    if any(begun):
        yield b"".join(begun).decode("utf-8", "replace")


def whole_of(stream: TextIO, wishes: Wishes) -> str:
    """Everything to the end. Raises Interrupted when Ctrl-C was pressed meanwhile."""
    return b"".join(_read_parts(stream.fileno(), wishes)).decode("utf-8", "replace")


def _read_parts(descriptor: int, wishes: Wishes) -> Iterator[bytes]:
    while True:
        while not select.select([descriptor], [], [], _LOOK)[0]:
            if wishes.stop.is_set:
                raise errors.Interrupted
        part = os.read(descriptor, _READ_SIZE)
        if not part:
            return
        yield part


def say_through_server(program: Program) -> Exit | None:
    """Say what ``-p`` says, or ask what ``--ask`` asks, through the memory server.

    None where there is none, or where the request is about the present session.

    Raises what went wrong there, and Unreachable where it went away.
    """
    if not may_use_server(program.options) or not server_is_running(program.settings):
        return None
    server = _ServerCall(program)
    try:
        return server.say_as_json() if program.options.json else server.show_reply()
    except protocol.ServerGone as fault:
        raise errors.Unreachable("socket.lost") from fault


def may_use_server(options: Options) -> bool:
    """Whether it is not about the present session, so that the memory server can take it."""
    if options.here or options.new:
        return False
    if options.ask is not None:
        return True
    entered = parse_input(Typed(clean_text(options.say or "").strip()), BY_NAME)
    return options.json or isinstance(entered, TypedMessage | Farewell)


def server_is_running(settings: Settings) -> bool:
    """Whether a memory server can be asked."""
    try:
        protocol.connect_to(settings.data_dir).close()
    except protocol.ServerGone:
        return False
    return True


@dataclass(frozen=True)
class _ServerCall:
    """One message or question to the memory server, over its socket."""

    program: Program

    def show_reply(self) -> Exit:
        """Show the reply as it comes, or whole where a program reads it."""
        program = self.program
        screen, aside = program.make_screen(program.streams.stdout), program.make_screen(program.streams.stderr)
        view = ReplyView(screen, aside, program.words, time.monotonic, whole=not screen.file.isatty())
        answer: dict[str, Any] = {}
        view.show_events(self._stream_events(self._read_text(), answer))
        if any(answer.get("counts", {}).values()):
            aside.line(counted_line(self.program.words, answer["counts"]), "quiet")
        return Exit.OK

    def say_as_json(self) -> Exit:
        """Write the reply, or what went wrong, as ``--json`` does."""
        answer: dict[str, Any] = {}
        try:
            for _ in self._stream_events(self._read_text(), answer):
                pass
        except errors.OldFriendError as error:
            payload: dict[str, object] = {"key": error.key, "message": self.program.words.describe_error(error)}
            write_reply(self.program.streams.stdout, None, None, [], payload)
            return error.exit_code
        write_reply(self.program.streams.stdout, _reply_of(answer), answer["session"], answer["recalled"])
        return Exit.OK

    def _read_text(self) -> str:
        if self.program.options.ask is not None:
            return self._require_text(clean_text(self.program.options.ask).strip())
        text = self._require_text(read_message(self.program.options, self.program.streams, self.program.wishes))
        by_hand = text == clean_text(self.program.options.say or "").strip()
        return with_files(text).text if by_hand else text

    @staticmethod
    def _require_text(text: str) -> str:
        if not text:
            raise errors.UsageError("input.empty")
        return text

    def _stream_events(self, text: str, answer: dict[str, Any]) -> Iterator[TurnEvent | MemoryAnswer]:
        """The events that the server sends; the final answer goes into ``answer``."""
        call = "say" if self.program.options.ask is None else "ask"
        given = {"text": text, "incognito": self.program.options.incognito}
        for one in protocol.send_request(self.program.settings.data_dir, call, given, stop=self.program.wishes.stop):
            if "answer" in one:
                answer.update(one["answer"])
                reply = _reply_of(answer) if answer["reply"] else None
                yield MemoryAnswer(text, Recollection(), reply, known=answer.get("known", True))
            elif event := protocol.read_event(one):
                yield event


def _reply_of(answer: dict[str, Any]) -> Reply:
    return Reply(**answer["reply"])
