"""``/ask``: a question answered from memory alone, shown with the steps of its search and its quotations checked."""

from __future__ import annotations

import time

from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.reply import ReplyView


def ask(context: CommandContext, argument: str) -> Next:
    """``/ask QUESTION``"""
    if not argument.strip():
        context.tell("ask.what")
        return None
    context.begin()
    whole = not context.interactive and not context.screen.file.isatty()
    view = ReplyView(
        context.screen, context.aside, context.words, time.monotonic,
        whole=whole, said=lambda quotation: False,
    )  # fmt: skip
    asking = context.conversation.asking
    view.show(context.pumped(asking.answer(argument, context.session_id, context.stop)))
    return None
