"""``/ask``: a question answered from memory alone, shown with the steps of its search and its quotations checked."""

from __future__ import annotations

import time

from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.commands.memories import said_anywhere, said_here
from interfaces.terminal.reply import ReplyView


def ask(context: CommandContext, argument: str) -> Next:
    """``/ask QUESTION``"""
    if not argument.strip():
        context.tell("ask.what")
        return None
    context.begin()
    whole = not context.interactive and not context.screen.file.isatty()
    here = said_here(context)
    view = ReplyView(
        context.screen, context.aside, context.words, time.monotonic,
        whole=whole, said=lambda quotation: said_anywhere(context, quotation, here),
    )  # fmt: skip
    asking = context.conversation.asking
    view.show(context.pumped(asking.answer(argument, context.session_id, context.stop)))
    return None
