"""``/erased``: what was erased and when, without its content; and that list as a receipt in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from domain import errors
from domain.receipts import ErasureReceipt
from interfaces.messages import Words
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.file_export import write_new
from interfaces.terminal.session_view import format_local

#: So many days are named on the screen.
_DAYS = 6


def run_erased(context: CommandContext, argument: str) -> None:
    """``/erased [FILE]``."""
    receipts = context.memory.erased.receipts()
    if not receipts:
        context.tell("erased.none")
    elif name := argument.strip():
        path = write_new(name, _format_file(receipts, Path(name).suffix.lower(), context))
        context.tell("erased.written", "good", erasures=context.words.count("erasure", len(receipts)), path=path)
    else:
        for one in receipts:
            context.aside.line(" · ".join(_describe(one, context.words, _DAYS)), "words" if one.files else "warning")
        context.tell("erased.how", "quiet")


def _format_file(receipts: Sequence[ErasureReceipt], suffix: str, context: CommandContext) -> str:
    """The receipt as JSON or Markdown. Raises UsageError for another suffix."""
    if suffix == ".json":
        return json.dumps({"erasures": [asdict(one) for one in receipts]}, ensure_ascii=False, indent=2)
    if suffix != ".md":
        raise errors.UsageError("erased.format", suffix=suffix or "–")
    say = context.words.say
    lines = [f"# {say('erased.title')}", "", say("erased.about", when=format_local(context.clock().isoformat())), ""]
    for one in receipts:
        when, *details = _describe(one, context.words, len(one.days))
        lines += [f"## {when}", "", *(f"- {detail}" for detail in details), ""]
    return "\n".join(lines)


def _describe(one: ErasureReceipt, words: Words, most: int) -> list[str]:
    """When, why, how much of which days, and the proof."""
    said = words.say(
        "erased.messages", messages=words.count("message", one.messages), sessions=words.count("session", one.sessions)
    )
    days = [f"{day or words.say('erased.no_day')} ({count})" for day, count in one.days.items()]
    more = [words.say("forget.more", count=len(days) - most)] if len(days) > most else []
    proof = "erased.proof" if one.files else "erased.no_proof"
    return [
        format_local(one.erased_at),
        words.say(f"erased.reason.{one.reason}"),
        *([said, ", ".join([*days[:most], *more])] if one.messages else []),
        *([words.say("erased.derived", count=one.derived)] if one.derived else []),
        words.say(proof, places=words.count("place", one.files), searched=one.searched, traces=one.traces),
    ]
