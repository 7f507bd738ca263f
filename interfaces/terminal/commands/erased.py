"""``/erased``: what was erased and when, without its content; that list as a receipt in a file; and the
question before something that was erased comes back with a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from domain import errors
from domain.receipts import ErasureReceipt
from interfaces.messages import Words
from interfaces.terminal.command_context import CommandContext, is_no
from interfaces.terminal.file_export import write_new
from interfaces.terminal.line_source import Reader
from interfaces.terminal.screen import Screen
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


@dataclass(frozen=True)
class ErasedQuestion:
    """Asks whether to leave out what was erased, before it comes back with a file.

    ``reader`` is None where no one can answer: then it is left out, with a line that says how to bring it back.
    ``with_erased`` was said beforehand.
    """

    words: Words
    screen: Screen
    reader: Reader | None
    with_erased: bool

    def leaves_out(self, count: int | None, path: Path) -> bool:
        """Whether to leave out what was erased, so many things; None where the present memory cannot say."""
        if count is None:
            self.screen.line(self.words.say("erased.unknown"), "warning")
            return True
        found = {"things": self.words.count("thing", count), "path": path}
        if self.with_erased:
            self.screen.line(self.words.say("erased.brought_back", **found), "warning")
            return False
        if self.reader is None:
            self.screen.line(self.words.say("erased.left_out", **found), "warning")
            return True
        return not is_no(self.reader.ask_question(self.words.say("erased.ask", **found) + " ") or "")
