"""What stands before every request: the name it calls us by, the page it comes from, its form, and its token.

Promises: a page of another site reaches nothing, also under a name that was bent to lead here (Host and Origin are
checked); nothing but JSON is read; without any token only this machine is served, and only the person ``me``; a secret
is looked up by its digest and written nowhere; a request has one end. These are plain ASGI: a streamed answer passes as
it comes.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import replace
from email.message import Message as Mail
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from interfaces.http.callers import Caller
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
        self, app: ASGIApp, problems: Problems, registry: Registry, names: HostNames, *, only_here: bool
    ) -> None:
        self._app = app
        self._problems = problems
        self._registry = registry
        self._names = names
        #: Whether only this machine can reach us, so that somebody without a token may be let in.
        self._only_here = only_here
        self._lookups: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._stranger(headers) or self._two_lengths(headers) or self._formless(headers)
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

    async def _caller(self, headers: Headers, scope: Scope) -> Caller | None:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        shown = secret.strip() if scheme.lower() == "bearer" else ""
        self._lookups = self._lookups or CapacityLimiter(_LOOKING_UP)
        return await to_thread.run_sync(self._known, shown, scope, limiter=self._lookups)

    def _known(self, secret: str, scope: Scope) -> Caller | None:
        if secret and (token := self._registry.token_of(secret)):
            return Caller(token)
        near = self._only_here and _is_here((scope.get("client") or ("",))[0])
        return Caller(None) if near and not self._registry.tokens() else None


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
