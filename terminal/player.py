"""Conversations without a person at the keyboard: ``-p``, ``--batch``, ``--json`` and piped lines.

Replies go to stdout, everything else to stderr; commands that would ask run without asking.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import errors
from conversation import Replied
from errors import Exit
from recall.recollection import RecalledSummary, RecalledTurn, Recollection
from storage.records import Kind
from terminal import piped
from terminal.arguments import Options
from terminal.chat import Chat
from terminal.desk import Desk
from terminal.explaining import explain
from terminal.interrupting import Wishes
from terminal.parsing import Farewell, Message, Typed, parse
from terminal.seating import Streams
from text import clean


def play(chat: Chat, options: Options, streams: Streams) -> Exit:
    """Play what the command line or the pipe gives. Returns the exit code."""
    wishes = chat.desk.wishes
    _say_what_is_there(chat.desk)
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
    entered = parse(Typed(text, pasted="\n" in text), chat.desk.commands)
    chat.do(Message(text) if isinstance(entered, Farewell) else entered)
    if not text:
        raise errors.UsageError("input.empty")
    return chat.exit


def _play(chat: Chat, lines: Iterable[str]) -> Exit:
    for line in lines:
        entered = parse(Typed(clean(line).rstrip("\n")), chat.desk.commands)
        if isinstance(entered, Message) and not entered.text.strip():
            continue
        if isinstance(entered, Farewell) or not chat.do(entered):
            break
        if chat.desk.stop.is_set:
            raise errors.Interrupted
    return chat.exit


def _say_what_is_there(desk: Desk) -> None:
    """The stand-in says that it is one, and settings that look wrong are pointed out."""
    if desk.conversation.llm.describe().standin:
        desk.tell("open.standin", "quiet")
    for notice in desk.settings.notices:
        desk.aside.line(desk.words.notice(notice), "warning")


def _play_json(chat: Chat, text: str) -> Exit:
    desk = chat.desk
    try:
        replied = chat.silently(text)
    except errors.OldFriendError as error:
        told: dict[str, object] = {"key": error.key, "message": explain(desk, error)}
        _write(desk, {**_object(desk, None), "error": told})
        return error.exit_code
    _write(desk, _object(desk, replied))
    return Exit.OK


def _object(desk: Desk, replied: Replied | None) -> dict[str, object]:
    reply = replied.reply if replied else None
    return {
        "reply": reply.text if reply else None,
        "session": desk.conversation.session.session_id,
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


def _write(desk: Desk, told: dict[str, object]) -> None:
    desk.screen.file.write(json.dumps(told, ensure_ascii=False, indent=2, default=float) + "\n")
    desk.screen.file.flush()
