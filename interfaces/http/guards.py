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
import struct
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from email.message import Message as Mail
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Header, HTTPException, Request
from pydantic import BeforeValidator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import errors
from domain.workers import CancelToken
from interfaces.http.error_responses import Problem, Problems
from interfaces.http.page.assets import OPEN_PAGE_PATHS
from interfaces.service.schemas import LONGEST_ID
from people import EVERYBODY, ME, Companion, People, Token

#: A host, an IP address without a name, and a port.
Address = tuple[str, int]
#: The account that owns the first end of a connection to the second; None where it cannot be known.
AccountOf = Callable[[Address, Address], int | None]

#: Where the system lists its connections.
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _ACCOUNT, _INODE = 1, 2, 7, 9
#: The inode of a connection whose program has ended: its account cannot be trusted.
_NO_PROGRAM = "0"
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


#: Decodes the header of a path operation.
AsText = BeforeValidator(lambda header: decode_header(header) if isinstance(header, str) else header)


@dataclass(frozen=True)
class Caller:
    """An authenticated program. Without a token it is on this machine, and there are no tokens at all.

    ``named`` are the values of ``X-User-Id``. ``admit`` is called with the person whose memory is used, or None, and
    raises where too many requests are active.
    """

    token: Token | None
    people: People
    named: tuple[str, ...] = ()
    admit: Callable[[str | None], None] = lambda person: None

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

    def companion(self) -> AbstractContextManager[Companion]:
        """The companion of the person that is meant, kept open meanwhile. Raises like ``person`` and StorageError."""
        return self.people.companion(self.person())

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

    An address always leads here, a name can be made to lead elsewhere. ``origins`` are those of pages of other sites
    that may call, each request with a token.

    >>> HostNames(["memory.example.org"]).include("memory.example.org:8123")
    True
    """

    def __init__(self, given: Iterable[str], origins: Collection[str] = ()) -> None:
        self.origins = origins
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
        people: People,
        names: HostNames,
        *,
        only_here: bool,
        account_of: AccountOf,
    ) -> None:
        self._app = app
        self._problems = problems
        self._people = people
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
        problem = self._check_headers(headers)
        if problem is None and scope["path"] not in OPEN_PATHS:
            self._lookups = self._lookups or CapacityLimiter(_LOOKING_UP)
            caller = await to_thread.run_sync(self._find_caller, headers, scope, limiter=self._lookups)
            problem = None if caller else self._problems.make_problem(401, "served.unauthenticated")
            scope.setdefault("state", {})["caller"] = caller
        if problem:
            await self._problems.make_response(scope["path"], problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check_headers(self, headers: Headers) -> Problem | None:
        make = self._problems.make_problem
        host = headers.getlist("host")
        if len(host) != 1 or not self._names.include(host[0]):
            return make(421 if len(host) == 1 else 400, "served.foreign_host")
        if any(one not in self._names.origins for one in _foreign_origins(headers)):
            return make(403, "served.foreign_origin")
        # Of a body of two lengths a proxy may see the end elsewhere than this server.
        if "content-length" in headers and "transfer-encoding" in headers:
            return replace(make(400, "served.two_lengths"), headers={"Connection": "close"})
        # A page of another site can send a body that is not declared as JSON without a preflight request.
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        if has_body and not _is_json(headers.get("content-type", "")):
            return make(415, "served.not_json")
        for name in TEXT_HEADERS:
            try:
                list(map(decode_header, headers.getlist(name)))
            except UnicodeDecodeError:  # read otherwise, it would name another person
                return make(400, "served.not_utf8", header=name)
        return None

    def _find_caller(self, headers: Headers, scope: Scope) -> Caller | None:
        registry = self._people.registry
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        named = tuple(filter(None, map(decode_header, headers.getlist(PERSON_HEADER))))
        if scheme.lower() == "bearer" and secret.strip() and (token := registry.token_of(secret.strip())):
            return Caller(token, self._people, named)
        if self._only_here and not _foreign_origins(headers) and not registry.tokens() and self._is_ours(scope):
            return Caller(None, self._people, named)
        return None

    def _is_ours(self, scope: Scope) -> bool:
        """Whether a request comes from this machine, and from the account that this server runs in."""
        client, server = scope.get("client"), scope.get("server")
        if not client or not server or server[1] is None or not _is_address(client[0]):
            return False
        if not ipaddress.ip_address(client[0].partition("%")[0]).is_loopback:
            return False
        return self._account_of(tuple(client), tuple(server)) == os.geteuid()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_json(content_type: str) -> bool:
    mail = Mail()
    mail["content-type"] = content_type
    kind = mail.get_content_type()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _foreign_origins(headers: Headers) -> list[str]:
    """The origins that a request names and that are not the one it calls."""
    host = headers.get("host", "")
    return [origin for origin in headers.getlist("origin") if not _is_same_origin(origin, host)]


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


# -- the account at the other end of a loopback connection, as far as the system knows
#
# Linux lists every connection with the account that owns it: IPv4 in ``/proc/net/tcp``, IPv6 in ``/proc/net/tcp6``,
# where an IPv6 socket that talks IPv4 is listed too. An address is written as words of the machine's own byte order.


def account_of(near: Address, far: Address) -> int | None:
    """The account that owns the end ``near`` of a connection to ``far``."""
    for table in TABLES:
        found: int | None = None
        with suppress(OSError), table.open(encoding="ascii", errors="replace") as lines:
            found = listed_account(lines, near, far)
        if found is not None:
            return found
    return None


def listed_account(lines: Iterable[str], near: Address, far: Address, order: str = sys.byteorder) -> int | None:
    """The account of a connection in such a table.

    >>> row = "0: 0100007F:9C40 0100007F:1FBB 01 00000000:00000000 00:00000000 00000000  1000        0 54321 1"
    >>> listed_account([row], ("127.0.0.1", 40000), ("127.0.0.1", 8123), "little")
    1000
    """
    wanted = set(zip(_table_entries(near, order), _table_entries(far, order), strict=True))
    for line in lines:
        fields = line.split()
        if len(fields) > _INODE and (fields[_LOCAL], fields[_REMOTE]) in wanted:
            return int(fields[_ACCOUNT]) if fields[_INODE] != _NO_PROGRAM else None
    return None


def can_be_known(host: str) -> bool:
    """Whether the account behind a connection to this loopback address is listed: tried with one of our own."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with (
            socket.create_server((host, 0), family=family) as server,
            socket.create_connection(server.getsockname()[:2]) as own,
        ):
            return account_of(own.getsockname()[:2], own.getpeername()[:2]) == os.geteuid()
    except OSError:
        return False


def _table_entries(address: Address, order: str) -> Iterator[str]:
    """The entries of an address in the tables: IPv4 and IPv4-mapped IPv6, or IPv6 twice."""
    host, port = ipaddress.ip_address(address[0].partition("%")[0]), address[1]
    if isinstance(host, ipaddress.IPv6Address) and host.ipv4_mapped:
        host = host.ipv4_mapped
    mapped = host if host.version == 6 else ipaddress.IPv6Address(f"::ffff:{host}")
    for packed in (host.packed, mapped.packed):
        words = struct.unpack(f"{'<' if order == 'little' else '>'}{len(packed) // 4}I", packed)
        yield "".join(f"{word:08X}" for word in words) + f":{port:04X}"
