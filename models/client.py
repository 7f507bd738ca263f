"""The door to one model server: the official client, made late, with our transport, our limits and no
retries.

Promises: a key goes to the host it was given for and nowhere else (a redirect to another place is refused);
nothing of the environment (organisation, project, proxy for a server on this machine) finds its way into a
request unasked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import errors
from text import one_line

if TYPE_CHECKING:
    import httpx2
    from openai import OpenAI

    #: Makes what takes the place of the network, once it is needed.
    Transport = Callable[[], httpx2.BaseTransport]

#: Seconds for the connection itself; a server that is there answers at once.
_CONNECT = 10.0
#: Redirects that keep method and body.
_KEEPS_BODY = (307, 308)
#: Headers that nobody set: an account of the environment, and what tells about this machine.
_UNASKED = ("openai-organization", "openai-project", "x-stainless-")
#: This one the client library reads again when the answer comes.
_NEEDED = "x-stainless-raw-response"
_HERE = ("localhost", "127.0.0.1", "::1")


class Client:
    """One server: base URL, key, timeout in seconds. ``transport`` makes what takes the place of the
    network."""

    def __init__(self, base: str, key: str, timeout: float, transport: Transport | None = None) -> None:
        self.base = base
        self._key = key
        self._timeout = timeout
        self._transport = transport
        self._lock = threading.Lock()
        self._openai: OpenAI | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown or logged."""
        return (self._key,) if self._key else ()

    def openai(self) -> OpenAI:
        """The official client; importing it takes most of a second, so the first caller waits."""
        with self._lock:
            self._openai = self._openai or self._make()
            return self._openai

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        with self._lock:
            if self._openai is not None:
                self._openai.close()
            self._openai = None

    def _make(self) -> OpenAI:
        import httpx2
        from openai import OpenAI

        http = httpx2.Client(
            transport=self._transport() if self._transport else None,
            timeout=httpx2.Timeout(self._timeout, connect=min(_CONNECT, self._timeout)),
            follow_redirects=True,
            trust_env=urlsplit(self.base).hostname not in _HERE,
            event_hooks={"request": [self._bare], "response": [_stay_here]},
        )
        return OpenAI(api_key=self._key or "none", base_url=self.base, max_retries=0, http_client=http)

    def _bare(self, request: httpx2.Request) -> None:
        """Take out what nobody set for this server, and what tells it about this machine."""
        for name in list(request.headers):
            unset = name == "authorization" and not self._key
            if unset or (name.startswith(_UNASKED) and name != _NEEDED):
                del request.headers[name]


def _stay_here(response: httpx2.Response) -> None:
    """Refuse a redirect that leaves the host, or that would lose what was said."""
    if not response.has_redirect_location:
        return
    location = response.headers.get("location", "")
    here, there = response.request.url, response.request.url.join(location)
    same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
    if not same or response.status_code not in _KEEPS_BODY:
        raise errors.NotFound("model.redirected", status=response.status_code, location=one_line(str(there)))
