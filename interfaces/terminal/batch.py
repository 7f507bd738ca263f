"""Conversations without a person at the keyboard: ``-p``, ``--batch``, ``--json`` and piped lines.

Replies go to stdout, everything else to stderr; commands that would ask run without asking.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from conversation import Replied
from domain import errors
from domain.errors import Exit
from domain.recollection import RecalledSummary, RecalledTurn, Recollection
from domain.records import Kind
from domain.text import clean
from interfaces.terminal import piped
from interfaces.terminal.arguments import Options
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.explaining import explain
from interfaces.terminal.interrupting import Wishes
from interfaces.terminal.parsing import Farewell, Message, Typed, parse
from interfaces.terminal.repl import Chat
from interfaces.terminal.wiring import Streams


def play(chat: Chat, options: Options, streams: Streams) -> Exit:
    """Play what the command line or the pipe gives. Returns the exit code."""
    wishes = chat.context.wishes
    _say_what_is_there(chat.context)
    if options.json:
        return _play_json(chat, said(options, streams, wishes))
    if options.say is not None:
        return _play_one(chat, said(options, streams, wishes))
    if options.batch in (None, "-"):
        return _play(chat, piped.lines(streams.stdin, wishes))
    try:
        with open(str(options.batch), encoding="utf-8", errors="replace") as file:
            return _play(chat, file)
    except OSError as fault:
        raise errors.UsageError("player.no_file", path=options.batch, reason=fault.strerror) from fault


def said(options: Options, streams: Streams, wishes: Wishes) -> str:
    """What ``-p`` says: text that is piped in beside it comes first."""
    text = options.say or ""
    before = piped.whole(streams.stdin, wishes) if streams.alone or text == "-" else ""
    parts = [before] if text == "-" else [before, text]
    return "\n\n".join(clean(part).strip() for part in parts if part.strip())


def _play_one(chat: Chat, text: str) -> Exit:
    entered = parse(Typed(text, pasted="\n" in text), chat.context.commands)
    chat.do(Message(text) if isinstance(entered, Farewell) else entered)
    if not text:
        raise errors.UsageError("input.empty")
    return chat.exit


def _play(chat: Chat, lines: Iterable[str]) -> Exit:
    for line in lines:
        entered = parse(Typed(clean(line).rstrip("\n")), chat.context.commands)
        if isinstance(entered, Message) and not entered.text.strip():
            continue
        if isinstance(entered, Farewell) or not chat.do(entered):
            break
        if chat.context.stop.is_set:
            raise errors.Interrupted
    return chat.exit


def _say_what_is_there(context: CommandContext) -> None:
    """The stand-in says that it is one, and settings that look wrong are pointed out."""
    if context.conversation.llm.describe().standin:
        context.tell("open.standin", "quiet")
    for notice in context.settings.notices:
        context.aside.line(context.words.notice(notice), "warning")


def _play_json(chat: Chat, text: str) -> Exit:
    context = chat.context
    try:
        replied = chat.silently(text)
    except errors.OldFriendError as error:
        told: dict[str, object] = {"key": error.key, "message": explain(context, error)}
        _write(context, {**_object(context, None), "error": told})
        return error.exit_code
    _write(context, _object(context, replied))
    return Exit.OK


def _object(context: CommandContext, replied: Replied | None) -> dict[str, object]:
    reply = replied.reply if replied else None
    return {
        "reply": reply.text if reply else None,
        "session": context.session_id,
        "finish": reply.finish if reply else None,
        "model": reply.model if reply else None,
        "recalled": recalled(replied.recollection) if replied else [],
        "usage": {
            "prompt_tokens": reply.prompt_tokens if reply else None,
            "completion_tokens": reply.completion_tokens if reply else None,
        },
        "error": None,
    }


def recalled(recollection: Recollection) -> list[dict[str, object]]:
    """What was recalled, as plain values."""
    return [_memory(memory, "summary") for memory in recollection.summaries] + [
        _memory(memory, "conversation") for memory in recollection.turns
    ]


def _memory(memory: RecalledTurn | RecalledSummary, kind: Kind) -> dict[str, object]:
    return {
        "id": memory.text_id,
        "type": kind,
        "session": memory.session_id,
        "score": memory.why.score,
        "text": memory.text,
    }


def _write(context: CommandContext, told: dict[str, object]) -> None:
    context.screen.file.write(json.dumps(told, ensure_ascii=False, indent=2, default=float) + "\n")
    context.screen.file.flush()
