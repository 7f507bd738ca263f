"""``--token``: which programs are let in. A secret is shown once, when it is made, alone on its line."""

from __future__ import annotations

from typing import TextIO

from domain import errors
from domain.errors import Exit
from interfaces.messages import Words
from interfaces.terminal.arguments import TokenOrder
from people import EVERYBODY, ME, Registry


def do(order: TokenOrder, registry: Registry, words: Words, out: TextIO) -> Exit:
    """Add, list or revoke. Raises UsageError where there is no such token, or its name is taken."""
    if order.what == "add":
        secret = registry.add_token(order.name, order.person)
        print(words.say("token.added", name=order.name, person=_named(order.person, words)), file=out)
        print(secret, file=out, flush=True)
    elif order.what == "revoke":
        if not registry.revoke(order.name):
            raise errors.UsageError("token.unknown", name=order.name)
        print(words.say("token.revoked", name=order.name), file=out, flush=True)
    else:
        print("\n".join(_rows(registry, words)) or words.say("token.none", person=ME), file=out, flush=True)
    return Exit.OK


def _rows(registry: Registry, words: Words) -> list[str]:
    return [
        words.say(
            "token.row_revoked" if token.revoked_at else "token.row",
            name=token.name, person=_named(token.person, words),
            since=token.created_at[:10], revoked=(token.revoked_at or "")[:10],
        )
        for token in registry.tokens()
    ]  # fmt: skip


def _named(person: str, words: Words) -> str:
    return words.say("token.everybody") if person == EVERYBODY else person
