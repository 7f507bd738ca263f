"""What stands before every request: the name it calls us by, the page it comes from, its form, and its token.

Promises: a page of another site reaches nothing, also under a name that was bent to lead here (Host and Origin are
checked); nothing but JSON is read; without any token only the account that runs the server is served, on this machine,
and only the person ``me``; a secret is looked up by its digest and written nowhere; a request has one end. These are
plain ASGI: a streamed answer passes as it comes.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterable
from dataclasses import replace
from email.message import Message as Mail
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from interfaces.http.accounts import AccountOf
from interfaces.http.callers import PERSON_HEADER, TEXT_HEADERS, Caller, text_of
from interfaces.http.error_answers import Problem, Problems
from interfaces.http.page import router as page_files
from people import Registry

#: Paths that anybody who reaches us may ask for: they tell nothing of anybody.
OPEN_PATHS = ("/health", "/docs", "/openapi.json", *page_files.OPEN)
#: Tokens are looked up in threads of their own: no turn that waits for a model stands in their way.
_LOOKING_UP = 4
_BY_DEFAULT = {"http": 80, "https": 443}


class HostNames:
    """What this server may be called: by any address, as this machine, and by the names that were given.

    An address cannot be bent to lead elsewhere, a name can.

    >>> HostNames(["memory.example.org"]).hold("memory.example.org:8123")
    True
    """

    def __init__(self, given: Iterable[str]) -> None:
        own = ("localhost", socket.gethostname())
        self._names = {name.strip().lower() for name in (*own, *given)} - {""}

    def hold(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname or "", parts.port
        except ValueError:
            return False
        return parts.netloc == host and "@" not in host and (name in self._names or _is_address(name))


class Guards:
    """Lets a request pass with its ``Caller``, or answers it with 400, 401, 403, 415 or 421."""

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
        #: Whether only this machine can reach us, so that somebody without a token may be let in.
        self._only_here = only_here
        self._account_of = account_of
        self._lookups: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what no guard lets through; pass everything else on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = (
            self._stranger(headers)
            or self._two_lengths(headers)
            or self._formless(headers)
            or self._unreadable(headers)
        )
        if problem is None and scope["path"] not in OPEN_PATHS:
            caller = await self._caller(headers, scope)
            problem = None if caller else self._problems.of(401, "served.unauthenticated")
            scope.setdefault("state", {})["caller"] = caller
        if problem:
            await self._problems.answer(scope["path"], problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _stranger(self, headers: Headers) -> Problem | None:
        """Whoever calls us by a name that is not ours, or comes from a page that is not ours."""
        host = headers.getlist("host")
        if len(host) != 1 or not self._names.hold(host[0]):
            return self._problems.of(421 if len(host) == 1 else 400, "served.foreign_host")
        if any(not _same_place(origin, host[0]) for origin in headers.getlist("origin")):
            return self._problems.of(403, "served.foreign_origin")
        return None

    def _two_lengths(self, headers: Headers) -> Problem | None:
        """A body of two lengths: a proxy may see the end of the request elsewhere than we do."""
        if "content-length" not in headers or "transfer-encoding" not in headers:
            return None
        problem = self._problems.of(400, "served.two_lengths")
        return replace(problem, headers={**problem.headers, "Connection": "close"})

    def _formless(self, headers: Headers) -> Problem | None:
        """A body that is not said to be JSON: a page of another site can send those without asking first."""
        if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
            return None
        mail = Mail()
        mail["content-type"] = headers.get("content-type", "")
        kind = mail.get_content_type()
        if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
            return None
        return self._problems.of(415, "served.not_json")

    def _unreadable(self, headers: Headers) -> Problem | None:
        """A header that carries text and is not UTF-8: read otherwise, it would name somebody else."""
        for name in TEXT_HEADERS:
            try:
                list(map(text_of, headers.getlist(name)))
            except UnicodeDecodeError:
                return self._problems.of(400, "served.not_utf8", header=name)
        return None

    async def _caller(self, headers: Headers, scope: Scope) -> Caller | None:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        shown = secret.strip() if scheme.lower() == "bearer" else ""
        self._lookups = self._lookups or CapacityLimiter(_LOOKING_UP)
        named = tuple(filter(None, map(text_of, headers.getlist(PERSON_HEADER))))
        return await to_thread.run_sync(self._known, shown, scope, named, limiter=self._lookups)

    def _known(self, secret: str, scope: Scope, named: tuple[str, ...]) -> Caller | None:
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


def _same_place(origin: str, host: str) -> bool:
    """Whether a page comes from the very place that it calls. ``null`` is nowhere."""
    try:
        page, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = _BY_DEFAULT.get(page.scheme)
        if default is None or f"{page.scheme}://{page.netloc}" != origin or "@" in origin:
            return False
        return (page.hostname, page.port or default) == (ours.hostname, ours.port or default)
    except ValueError:
        return False
