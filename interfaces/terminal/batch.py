"""Conversations without a person at the keyboard: ``-p``, ``--ask``, ``--batch``, ``--json`` and piped lines.

Replies go to stdout, everything else to stderr; commands that would ask run without asking.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, TextIO

from domain import errors
from domain.errors import Exit
from domain.events import Notice, Reply
from domain.text import clean_text, is_blank, one_line
from interfaces.interrupting import Wishes
from interfaces.recollections import recalled_values
from interfaces.terminal.arguments import Options
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.parsing import Farewell, Typed, TypedCommand, TypedMessage, is_block_mark, parse_input
from interfaces.terminal.repl import Repl
from interfaces.terminal.wiring import Streams
from jobs.rebuild import rebuild_some

#: Seconds between two looks at whether Ctrl-C was pressed, or the other program is done.
_LOOK = 0.1
_READ_SIZE = 65_536
#: Characters of the message in the summary of a session that holds nothing else.
_SUMMARY = 300
#: Steps of rebuilding after one run: a window takes two calls, a persona one.
_MOST_STEPS = 4


def run_batch(repl: Repl, options: Options, streams: Streams) -> Exit:
    """Say and do what the command line or the pipe gives. Returns the exit code."""
    context = repl.context
    if context.conversation.llm.described.demo:
        context.tell("open.demo", "quiet")
    for notice in context.settings.notices:
        context.aside.line(context.words.describe_notice(notice), "warning")
    left = context.memory.rebuilds.due_requests()
    code = _run_input(repl, options, streams)
    if left and code == Exit.OK:
        _rebuild_some(context)
    return code


def _run_input(repl: Repl, options: Options, streams: Streams) -> Exit:
    wishes = repl.context.wishes
    if options.ask is not None:  # no session is touched
        repl.run_input(TypedCommand("ask", _read_request(options, streams, wishes)))
        return repl.exit
    if options.say is not None:
        return _say_alone(repl, options, _read_message(options, streams, wishes))
    if options.batch in (None, "-"):
        return _run_lines(repl, lines_of(streams.stdin, wishes))
    try:
        with open(str(options.batch), encoding="utf-8", errors="replace") as file:
            return _run_lines(repl, file, attaching=True)
    except OSError as fault:
        raise errors.UsageError("batch.no_file", path=options.batch, reason=fault.strerror) from fault


def _read_message(options: Options, streams: Streams, wishes: Wishes) -> str:
    """What ``-p`` says: text that is piped in beside it comes first."""
    text = options.say or ""
    piped = streams.is_unattended or text == "-"
    before = b"".join(_read_parts(streams.stdin, wishes)).decode("utf-8", "replace") if piped else ""
    parts = [before] if text == "-" else [before, text]
    return "\n\n".join(clean_text(part).strip() for part in parts if part.strip())


def _read_request(options: Options, streams: Streams, wishes: Wishes) -> str:
    """What ``--ask`` asks or ``-p`` says. Raises UsageError where that is nothing."""
    asked = options.ask is not None
    text = clean_text(options.ask or "").strip() if asked else _read_message(options, streams, wishes)
    if not text:
        raise errors.UsageError("input.empty")
    return text


def _say_alone(repl: Repl, options: Options, text: str) -> Exit:
    """Say what ``-p`` says: in a session of its own, unless the present one is meant.

    A command is always about the present session, and ``--new`` has just begun one.
    """
    context = repl.context
    by_hand = text == clean_text(options.say or "").strip()  # nothing was piped in, so it may name files
    entered = parse_input(Typed(text, pasted="\n" in text), context.commands)
    message = options.json or isinstance(entered, TypedMessage | Farewell)

    def answer() -> dict[str, Any]:
        replied = repl.reply_silently(text, attaching=by_hand)
        recalled = recalled_values(replied.recollection)
        return {"reply": replied.reply, "session": context.session_id, "recalled": recalled}

    with nullcontext() if options.here or options.new or not message else _own_session(context):
        if options.json:
            return _write_json(context.screen.file, answer, context.explain_error, context.session_id)
        if not text:
            raise errors.UsageError("input.empty")
        repl.run_input(TypedMessage(text, attaching=by_hand) if message else entered)
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
            memory.sessions.drop_in_flight(own.session_id)
            if rounds := memory.messages.rounds(own.session_id):
                summary = context.words.say("batch.summary", said=one_line(rounds[0].user.words, _SUMMARY))
                memory.rounds.save(own.session_id, summary, {}, open_next=False)
            else:
                memory.rounds.resume(present.session_id, own.session_id)
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


def _rebuild_some(context: CommandContext) -> None:
    """After the last answer: a little of what earlier runs left to extract or rebuild; the rest waits for the next.

    Not where nothing is to be written; Ctrl-C ends it at once.
    """
    conversation = context.conversation
    if conversation.incognito:
        return
    context.screen.file.flush()
    with suppress(errors.Interrupted):
        events = context.run_work(rebuild_some(conversation.memory, conversation.llm, context.stop, _MOST_STEPS))
        for notice in (event for event in events if isinstance(event, Notice)):
            context.aside.line(context.words.describe_notice(notice), "warning")


def _write_json(
    stream: TextIO,
    ask: Callable[[], dict[str, Any]],
    explain: Callable[[errors.OldFriendError], str],
    session: str | None = None,
) -> Exit:
    """Write the one object of ``--json``: the answer that ``ask`` returns, or why there is none in ``session``."""
    answer: dict[str, Any] = {"reply": None, "session": session, "recalled": []}
    failed: errors.OldFriendError | None = None
    try:
        answer = ask()
    except errors.OldFriendError as error:
        failed = error
    reply: Reply | None = answer["reply"]
    payload = {
        "reply": reply.text if reply else None,
        "session": answer["session"],
        "finish": reply.finish if reply else None,
        "model": reply.model if reply else None,
        "recalled": answer["recalled"],
        "usage": {
            "prompt_tokens": reply.prompt_tokens if reply else None,
            "completion_tokens": reply.completion_tokens if reply else None,
        },
        "error": {"key": failed.key, "message": explain(failed)} if failed else None,
    }
    stream.write(json.dumps(payload, ensure_ascii=False, indent=2, default=float) + "\n")
    stream.flush()
    return failed.exit_code if failed else Exit.OK


def lines_of(stream: TextIO, wishes: Wishes) -> Iterator[str]:
    """The lines without their ends. Raises Interrupted when Ctrl-C was pressed while one was awaited."""
    begun: list[bytes] = []
    for part in _read_parts(stream, wishes):
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).decode("utf-8", "replace").rstrip("\r")
            begun.clear()
        begun.append(rest)
    if any(begun):
        yield b"".join(begun).decode("utf-8", "replace")


def _read_parts(stream: TextIO, wishes: Wishes) -> Iterator[bytes]:
    while True:
        while not select.select([stream.fileno()], [], [], _LOOK)[0]:
            if wishes.stop.is_set:
                raise errors.Interrupted
        if not (part := os.read(stream.fileno(), _READ_SIZE)):
            return
        yield part
