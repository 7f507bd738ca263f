"""Who calls: the token of a request, and whose memory it may use.

Somebody else's memory is not found, never forbidden: who may not see it learns nothing of it. A token for many people
opens no memory until a person is named: by the call itself, or by the header ``X-User-Id``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, HTTPException, Request
from pydantic import BeforeValidator

from domain import errors
from domain.workers import Stop
from interfaces.service.bodies import LONGEST_ID
from people import EVERYBODY, ME, Token

#: The header that names the person.
PERSON_HEADER = "x-user-id"
#: Headers of ours that carry text. HTTP carries bytes: these are UTF-8, and refused where they are not.
TEXT_HEADERS = (PERSON_HEADER, "x-session-id", "x-openwebui-user-id", "x-openwebui-chat-id")


def text_of(header: str) -> str:
    """The text of a header that was read byte by byte. Raises UnicodeDecodeError where its bytes are not UTF-8.

    >>> text_of("张三".encode().decode("latin-1"))
    '张三'
    """
    return header.encode("latin-1").decode("utf-8")


def _text(header: object) -> object:
    return text_of(header) if isinstance(header, str) else header


#: Turns the header of a path operation into its text.
AsText = BeforeValidator(_text)


def _uncounted(person: str | None) -> None:
    """Counts nothing."""


@dataclass(frozen=True)
class Caller:
    """A program that was let in. Without a token it is on this machine, while there are no tokens at all.

    ``named`` is what each ``X-User-Id`` of the request says. ``admit`` is called before a person's memory is used, with
    None for a request that uses none, and raises where too many are under way.
    """

    token: Token | None
    named: tuple[str, ...] = ()
    admit: Callable[[str | None], None] = _uncounted

    @property
    def name(self) -> str:
        """What its requests are counted by."""
        return self.token.name if self.token else ""

    @property
    def only(self) -> str | None:
        """The one person that this caller speaks for; None where it speaks for everybody."""
        if self.token is None:
            return ME
        return None if self.token.person == EVERYBODY else self.token.person

    def person(self, named: str | None = None) -> str:
        """Whose memory is meant; ``named`` is whom the call itself names.

        Raises 404 where this caller does not speak for that person, UsageError where nobody is named, or two are.
        """
        names = {*self.named, *(() if named is None else (named,))}
        wanted = self.only
        if wanted is not None and names - {wanted}:
            raise HTTPException(404, "Not Found")
        if wanted is None:
            wanted = _one_of(names - {""})
        self.admit(wanted)
        return wanted

    def nobody(self) -> None:
        """For a request that uses no memory: it is counted for nobody but the caller."""
        self.admit(self.only)


def _one_of(names: set[str]) -> str:
    if len(names) != 1:
        raise errors.UsageError("person.two" if names else "person.unnamed")
    (name,) = names
    if len(name) > LONGEST_ID:
        raise errors.UsageError("usage.person")
    return name


async def calling(request: Request) -> Caller:
    """The caller of a request, whom the guards let in."""
    caller: Caller = request.state.caller
    return caller


async def naming(
    x_user_id: Annotated[
        str | None,
        Header(
            description="Whose memory is meant, in UTF-8. Needed with a token for many people.",
            json_schema_extra={"maxLength": LONGEST_ID},
        ),
    ] = None,
) -> None:
    """Describes the header that names the person, of a door whose bodies name nobody."""


async def stopping(request: Request) -> Stop:
    """Set when the server ends and can wait no longer for what is under way."""
    stop: Stop = request.app.state.stop
    return stop


async def leaving(request: Request) -> AsyncIterator[Stop]:
    """Set when whoever asked hangs up, or the server ends: what nobody waits for is not gone on with."""
    gone = Stop()

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    ending: Stop = request.app.state.stop
    listening = asyncio.create_task(listen())
    try:
        with ending.calling(gone.set):
            yield gone
    finally:
        listening.cancel()
        gone.set()  # whoever left before the answer began is noticed by nobody else


#: The parameter of a path operation that needs to know who calls.
Calling = Annotated[Caller, Depends(calling)]
#: Of a door whose bodies name nobody.
Naming = Depends(naming)
#: The parameter of a path operation that asks a model: what it hands to a turn.
Stopping = Annotated[Stop, Depends(stopping)]
#: The same, which is also set when the caller hangs up. For answers whose cost is not worth paying for nobody.
Leaving = Annotated[Stop, Depends(leaving)]
