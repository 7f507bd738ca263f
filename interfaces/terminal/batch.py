"""Conversations without a person at the keyboard: ``-p``, ``--ask``, ``--batch``, ``--json`` and piped lines.

Replies go to stdout, everything else to stderr; commands that would ask run without asking.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Literal, TextIO

from domain import errors
from domain.errors import Exit
from domain.events import Notice, Reply
from domain.recollection import RecalledOther, RecalledSummary, RecalledTurn, Recollection
from domain.records import Kind
from domain.text import clean, is_blank, one_line
from interfaces.interrupting import Wishes
from interfaces.terminal.arguments import Options
from interfaces.terminal.command_context import CommandContext, explain
from interfaces.terminal.parsing import Farewell, Typed, TypedCommand, TypedMessage, is_block_mark, parse
from interfaces.terminal.repl import Repl
from interfaces.terminal.wiring import Streams
from jobs.renewing import renew_some

#: Seconds between two looks at whether Ctrl-C was pressed.
_LOOK = 0.1
_AT_ONCE = 65_536
#: How much of what was said stands in the summary of a session that holds nothing else.
_SUMMARY = 300
#: So many steps of what was left earlier are made up behind one run: a window takes two calls, an image one.
_MOST_STEPS = 4


def run_batch(repl: Repl, options: Options, streams: Streams) -> Exit:
    """Say and do what the command line or the pipe gives. Returns the exit code."""
    _say_what_is_there(repl.context)
    left = repl.context.memory.rebuilds.due()
    code = _run(repl, options, streams, repl.context.wishes)
    if left and code == Exit.OK:
        _make_up(repl.context)
    return code


def _run(repl: Repl, options: Options, streams: Streams, wishes: Wishes) -> Exit:
    if options.say is not None:
        return _say_alone(repl, said(options, streams, wishes), options)
    if options.ask is not None:
        return _ask(repl, clean(options.ask).strip())
    if options.batch in (None, "-"):
        return _run_lines(repl, lines_of(streams.stdin, wishes))
    try:
        with open(str(options.batch), encoding="utf-8", errors="replace") as file:
            return _run_lines(repl, file, attaching=True)
    except OSError as fault:
        raise errors.UsageError("batch.no_file", path=options.batch, reason=fault.strerror) from fault


def said(options: Options, streams: Streams, wishes: Wishes) -> str:
    """What ``-p`` says: text that is piped in beside it comes first."""
    text = options.say or ""
    before = whole_of(streams.stdin, wishes) if streams.alone or text == "-" else ""
    parts = [before] if text == "-" else [before, text]
    return "\n\n".join(clean(part).strip() for part in parts if part.strip())


def _say_alone(repl: Repl, text: str, options: Options) -> Exit:
    """Say what ``-p`` says: in a session of its own, unless the present one is meant.

    A command is always about the present session, and ``--new`` has just begun one.
    """
    entered = parse(Typed(text, pasted="\n" in text), repl.context.commands)
    by_hand = text == clean(options.say or "").strip()
    message = options.json or isinstance(entered, TypedMessage | Farewell)
    with nullcontext() if options.here or options.new or not message else _apart(repl.context):
        if options.json:
            return _say_as_json(repl, text, attaching=by_hand)
        if not text:
            raise errors.UsageError("input.empty")
        repl.do(TypedMessage(text, attaching=by_hand) if message else entered)
    return repl.exit


def _ask(repl: Repl, question: str) -> Exit:
    """Answer what ``--ask`` asks; no session is touched."""
    if not question:
        raise errors.UsageError("input.empty")
    repl.do(TypedCommand("ask", question))
    return repl.exit


@contextmanager
def _apart(context: CommandContext) -> Iterator[None]:
    """A session of its own; afterwards it is archived under what was said, and the one before is present again.

    Nothing is left of it when nothing was stored. It stands before the present one, so that what a killed program
    leaves of it is not what the next start goes on with.
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
        entered = parse(typed, repl.context.commands)
        if isinstance(entered, TypedMessage):
            entered = TypedMessage(entered.text, attaching)
        if isinstance(entered, TypedMessage) and is_blank(entered.text):
            continue
        if isinstance(entered, Farewell) or not repl.do(entered):
            break
        if repl.context.stop.is_set:
            raise errors.Interrupted
    return repl.exit


def inputs_of(lines: Iterable[str]) -> Iterator[Typed]:
    """Each line as an input of its own, and the lines of each block as one.

    Raises UsageError for a block that never ends: what was to be in it cannot be known.
    """
    block: list[str] | None = None
    for line in (clean(line).rstrip("\n") for line in lines):
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


def _say_what_is_there(context: CommandContext) -> None:
    """The stand-in says that it is one, and settings that look wrong are pointed out."""
    if context.conversation.llm.describe().standin:
        context.tell("open.standin", "quiet")
    for notice in context.settings.notices:
        context.aside.line(context.words.notice(notice), "warning")


def _make_up(context: CommandContext) -> None:
    """Behind the last answer: a little of what earlier runs left to be noted or made anew; the rest waits for the next.

    Not where nothing is to be written; Ctrl-C ends it at once.
    """
    conversation = context.conversation
    if conversation.incognito:
        return
    context.screen.file.flush()
    with suppress(errors.Interrupted):
        for event in context.pumped(
            renew_some(conversation.memory, conversation.llm, context.stop, _MOST_STEPS)
        ):
            if isinstance(event, Notice):
                context.aside.line(context.words.notice(event), "warning")


def _say_as_json(repl: Repl, text: str, *, attaching: bool) -> Exit:
    context = repl.context
    try:
        replied = repl.silently(text, attaching=attaching)
    except errors.OldFriendError as error:
        told: dict[str, object] = {"key": error.key, "message": explain(context, error)}
        write_reply(context.screen.file, None, context.session_id, [], told)
        return error.exit_code
    write_reply(context.screen.file, replied.reply, context.session_id, recalled(replied.recollection))
    return Exit.OK


def write_reply(
    stream: TextIO,
    reply: Reply | None,
    session: str | None,
    memories: list[dict[str, object]],
    error: dict[str, object] | None = None,
) -> None:
    """The one object that ``--json`` writes."""
    told = {
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
    stream.write(json.dumps(told, ensure_ascii=False, indent=2, default=float) + "\n")
    stream.flush()


def recalled(recollection: Recollection) -> list[dict[str, object]]:
    """What was recalled, as plain values."""
    told: list[dict[str, object]] = [
        {"id": one.text_id, "type": "chapter", "session": None, "score": one.why.score, "text": one.text}
        for one in recollection.chapters
    ]
    told += [_memory(memory, "summary") for memory in recollection.summaries]
    told += [
        {**_memory(turn, "conversation"), "speaker": turn.speaker or None} for turn in recollection.turns
    ]
    told += [
        {**_memory(other, "other"), "source": other.source, "place": other.place}
        for other in recollection.others
    ]
    return told + [
        {"id": fact.text_id, "type": "fact", "session": None, "score": fact.why.score, "text": fact.text}
        for fact in recollection.facts
    ]


def _memory(
    memory: RecalledTurn | RecalledSummary | RecalledOther, kind: Kind | Literal["other"]
) -> dict[str, object]:
    return {
        "id": memory.text_id,
        "type": kind,
        "session": None if isinstance(memory, RecalledOther) else memory.session_id,
        "score": memory.why.score,
        "text": memory.text,
    }


def lines_of(stream: TextIO, wishes: Wishes) -> Iterator[str]:
    """The lines without their ends. Raises Interrupted when Ctrl-C was pressed while one was awaited."""
    begun: list[bytes] = []
    for part in _parts(stream.fileno(), wishes):
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).decode("utf-8", "replace").rstrip("\r")
            begun.clear()
        begun.append(rest)
    if any(begun):
        yield b"".join(begun).decode("utf-8", "replace")


def whole_of(stream: TextIO, wishes: Wishes) -> str:
    """Everything to the end. Raises Interrupted when Ctrl-C was pressed meanwhile."""
    return b"".join(_parts(stream.fileno(), wishes)).decode("utf-8", "replace")


def _parts(descriptor: int, wishes: Wishes) -> Iterator[bytes]:
    while True:
        while not select.select([descriptor], [], [], _LOOK)[0]:
            if wishes.stop.is_set:
                raise errors.Interrupted
        part = os.read(descriptor, _AT_ONCE)
        if not part:
            return
        yield part
