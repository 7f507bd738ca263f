"""Authentication: what is checked before every request, and whose memory its caller may use.

Promises: a page of another site reaches nothing, also under a name that resolves to this server (Host and Origin are
checked); only JSON is read; without any token only the account that runs the server is served, on this machine, and
only the person ``me``; a token is looked up by its digest and never logged; a request has one length. Another person's
memory is not found, never forbidden. A token for many people needs a person: in the call, or in the header
``X-User-Id``. The guards are plain ASGI, so streamed answers pass unchanged.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from email.message import Message as Mail
from typing import Annotated
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Header, HTTPException, Request
from pydantic import BeforeValidator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import errors
from domain.workers import CancelToken
from interfaces.http.accounts import AccountOf
from interfaces.http.error_responses import Problem, Problems
from interfaces.http.page.assets import OPEN_PAGE_PATHS
from interfaces.operations import LONGEST_ID
from people import EVERYBODY, ME, Registry, Token

#: The header that names the person.
PERSON_HEADER = "x-user-id"
#: Headers of ours that carry text. HTTP carries bytes: these are UTF-8, and refused where they are not.
TEXT_HEADERS = (PERSON_HEADER, "x-session-id", "x-openwebui-user-id", "x-openwebui-chat-id")
#: Paths without authentication: they contain no personal data.
OPEN_PATHS = ("/health", "/docs", "/openapi.json", *OPEN_PAGE_PATHS)
#: Threads that look up tokens, apart from those that wait for models.
_LOOKING_UP = 4
_BY_DEFAULT = {"http": 80, "https": 443}


def decode_header(header: str) -> str:
    """The text of a header that was read byte by byte. Raises UnicodeDecodeError where its bytes are not UTF-8.

    >>> decode_header("张三".encode().decode("latin-1"))
    '张三'
    """
    return header.encode("latin-1").decode("utf-8")


def _decode_if_text(header: object) -> object:
    return decode_header(header) if isinstance(header, str) else header


#: Decodes the header of a path operation.
AsText = BeforeValidator(_decode_if_text)


def _count_nothing(person: str | None) -> None:
    """Count nothing."""


@dataclass(frozen=True)
class Caller:
    """An authenticated program. Without a token it is on this machine, and there are no tokens at all.

    ``named`` are the values of ``X-User-Id``. ``admit`` is called with the person whose memory is used, or None, and
    raises where too many requests are active.
    """

    token: Token | None
    named: tuple[str, ...] = ()
    admit: Callable[[str | None], None] = _count_nothing

    @property
    def name(self) -> str:
        """The name by which its requests are counted."""
        return self.token.name if self.token else ""

    @property
    def only(self) -> str | None:
        """The one person that this caller acts for; None where it acts for everyone."""
        if self.token is None:
            return ME
        return None if self.token.person == EVERYBODY else self.token.person

    def person(self, named: str | None = None) -> str:
        """Whose memory is meant; ``named`` is the person in the call itself.

        Raises 404 where this caller does not act for that person, UsageError where none or two are named.
        """
        names = {*self.named, *(() if named is None else (named,))}
        wanted = self.only
        if wanted is not None and names - {wanted}:
            raise HTTPException(404, "Not Found")
        if wanted is None:
            wanted = _only_name(names - {""})
        self.admit(wanted)
        return wanted

    def without_person(self) -> None:
        """Count a request that uses no memory for the caller alone."""
        self.admit(self.only)


def _only_name(names: set[str]) -> str:
    if len(names) != 1:
        raise errors.UsageError("person.two" if names else "person.unnamed")
    (name,) = names
    if len(name) > LONGEST_ID:
        raise errors.UsageError("usage.person")
    return name


async def _get_caller(request: Request) -> Caller:
    """The authenticated caller of a request."""
    caller: Caller = request.state.caller
    return caller


async def _describe_person_header(
    x_user_id: Annotated[
        str | None,
        Header(
            description="Whose memory is meant, in UTF-8. Needed with a token for many people.",
            json_schema_extra={"maxLength": LONGEST_ID},
        ),
    ] = None,
) -> None:
    """Describes the header that names the person, for APIs whose bodies name no one."""


async def _get_server_token(request: Request) -> CancelToken:
    """Set when the server ends and can no longer wait for requests under way."""
    stop: CancelToken = request.app.state.stop
    return stop


async def _watch_client(request: Request) -> AsyncIterator[CancelToken]:
    """Set when the client hangs up or the server ends, so that no unused result is computed."""
    gone = CancelToken()

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    ending: CancelToken = request.app.state.stop
    listening = asyncio.create_task(listen())
    try:
        with ending.calling(gone.set):
            yield gone
    finally:
        listening.cancel()
        gone.set()  # also for a client that left before the answer began


#: A parameter of path operations: the caller.
CurrentCaller = Annotated[Caller, Depends(_get_caller)]
#: A dependency of APIs whose bodies do not name the person.
PersonHeader = Depends(_describe_person_header)
#: A parameter of path operations that call a model: set when the server ends.
ServerToken = Annotated[CancelToken, Depends(_get_server_token)]
#: The same, also set when the client hangs up.
ClientToken = Annotated[CancelToken, Depends(_watch_client)]


# -- guards


class HostNames:
    """The names of this server: any address, this machine's, and those that were given.

    An address always leads here, a name can be made to lead elsewhere.

    >>> HostNames(["memory.example.org"]).include("memory.example.org:8123")
    True
    """

    def __init__(self, given: Iterable[str]) -> None:
        own = ("localhost", socket.gethostname())
        self._names = {name.strip().lower() for name in (*own, *given)} - {""}

    def include(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname or "", parts.port
        except ValueError:
            return False
        return parts.netloc == host and "@" not in host and (name in self._names or _is_address(name))


class Guards:
    """Passes a request on with its ``Caller``, or answers it with 400, 401, 403, 415 or 421."""

    def __init__(
        self,
        app: ASGIApp,
        problems: Problems,
        registry: Registry,
        names: HostNames,
        *,
        only_here: bool,
        account_of: AccountOf,
    ) -> None:
        self._app = app
        self._problems = problems
        self._registry = registry
        self._names = names
        #: Whether only this machine can reach the server, so that a caller without a token may be let in.
        self._only_here = only_here
        self._account_of = account_of
        self._lookups: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then answer it or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = (
            self._check_names(headers)
            or self._check_length(headers)
            or self._check_type(headers)
            or self._check_headers(headers)
        )
        if problem is None and scope["path"] not in OPEN_PATHS:
            caller = await self._identify_caller(headers, scope)
            problem = None if caller else self._problems.make_problem(401, "served.unauthenticated")
            scope.setdefault("state", {})["caller"] = caller
        if problem:
            await self._problems.make_response(scope["path"], problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check_names(self, headers: Headers) -> Problem | None:
        """A request to another name than ours, or from a page that is not ours."""
        host = headers.getlist("host")
        if len(host) != 1 or not self._names.include(host[0]):
            return self._problems.make_problem(421 if len(host) == 1 else 400, "served.foreign_host")
        if any(not _is_same_origin(origin, host[0]) for origin in headers.getlist("origin")):
            return self._problems.make_problem(403, "served.foreign_origin")
        return None

    def _check_length(self, headers: Headers) -> Problem | None:
        """A body of two lengths: a proxy may see the end of the request elsewhere than this server."""
        if "content-length" not in headers or "transfer-encoding" not in headers:
            return None
        problem = self._problems.make_problem(400, "served.two_lengths")
        return replace(problem, headers={**problem.headers, "Connection": "close"})

    def _check_type(self, headers: Headers) -> Problem | None:
        """A body that is not declared as JSON: a page of another site can send it without a preflight request."""
        if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
            return None
        mail = Mail()
        mail["content-type"] = headers.get("content-type", "")
        kind = mail.get_content_type()
        if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
            return None
        return self._problems.make_problem(415, "served.not_json")

    def _check_headers(self, headers: Headers) -> Problem | None:
        """A header that carries text and is not UTF-8: read otherwise, it would name another person."""
        for name in TEXT_HEADERS:
            try:
                list(map(decode_header, headers.getlist(name)))
            except UnicodeDecodeError:
                return self._problems.make_problem(400, "served.not_utf8", header=name)
        return None

    async def _identify_caller(self, headers: Headers, scope: Scope) -> Caller | None:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        shown = secret.strip() if scheme.lower() == "bearer" else ""
        self._lookups = self._lookups or CapacityLimiter(_LOOKING_UP)
        named = tuple(filter(None, map(decode_header, headers.getlist(PERSON_HEADER))))
        return await to_thread.run_sync(self._find_caller, shown, scope, named, limiter=self._lookups)

    def _find_caller(self, secret: str, scope: Scope, named: tuple[str, ...]) -> Caller | None:
        if secret and (token := self._registry.token_of(secret)):
            return Caller(token, named)
        if self._only_here and not self._registry.tokens() and self._is_ours(scope):
            return Caller(None, named)
        return None

    def _is_ours(self, scope: Scope) -> bool:
        """Whether a request comes from this machine, and from the account that this server runs in."""
        client, server = scope.get("client"), scope.get("server")
        if not client or not server or server[1] is None or not _is_here(client[0]):
            return False
        return self._account_of(tuple(client), tuple(server)) == os.geteuid()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_here(address: str) -> bool:
    return _is_address(address) and ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _is_same_origin(origin: str, host: str) -> bool:
    """Whether a page comes from the very origin that it calls. ``null`` is none."""
    try:
        page, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = _BY_DEFAULT.get(page.scheme)
        if default is None or f"{page.scheme}://{page.netloc}" != origin or "@" in origin:
            return False
        return (page.hostname, page.port or default) == (ours.hostname, ours.port or default)
    except ValueError:
        return False
