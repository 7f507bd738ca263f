"""``main.py --serve``: everything from the first line of its start to the last of its end.

Promises: whoever cannot listen, would stand open to other machines without a token (also behind a proxy), or comes
second to another server of the same people, says so in one line before anything heavy is loaded. Where it cannot be
known which account of this machine a caller belongs to, the first start makes a token and shows it. Asked to end, the
server takes no new request, finishes what is under way within ``GRACE`` seconds, then hangs up on the models; every
memory is closed whole. A second Ctrl-C waits for nothing; a second SIGTERM, which `make` passes on, changes nothing.

Exit codes: 0 all was finished; 1 it cannot listen, or something had to be given up; 2 the command line, a setting, a
package or a token is missing; 4 another server is there; 130 a second Ctrl-C.

FastAPI and uvicorn are imported where they are needed, so that their absence can be told in words.
"""

from __future__ import annotations

import errno
import importlib.util
import ipaddress
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from domain import errors
from domain.errors import Exit
from domain.files import replace_file
from domain.settings import Settings
from domain.workers import Stop
from interfaces.http import accounts
from interfaces.interrupting import Wishes
from interfaces.messages import Words
from llm import Llm
from people import ME, People, Registry, Scrub, registry_in

if TYPE_CHECKING:
    from fastapi import FastAPI

    from interfaces.socket.offering import Offering

#: Makes the application of these people; True where nobody but this machine reaches it.
MakeApp = Callable[[People, bool], "FastAPI"]

#: Seconds that what is under way has to be finished when the server ends.
GRACE = 30.0
#: Seconds that are left afterwards for hanging up, and then for closing memories.
_HANGING_UP, _CLOSING = 5.0, 10.0
#: The name of the token that the first start makes, and where its secret is stored.
_FIRST_TOKEN, _TOKEN_FILE = "this-machine", "server-token"
_PACKAGES = ("fastapi", "uvicorn", "mcp")
#: Seconds of a thread's turn.
_TURN = 0.0005
#: Connections at the same time, and seconds that one may stay silent between two requests.
_CONNECTIONS, _KEEP_ALIVE = 1000, 15
_BACKLOG = 256
_CANNOT = {
    errno.EADDRINUSE: "serve.port_in_use",
    errno.EADDRNOTAVAIL: "serve.no_such_host",
    errno.EACCES: "serve.port_forbidden",
}


@dataclass(frozen=True)
class Served:
    """What serving needs of the program around it. ``tell`` shows a line to whoever started it; ``scrubbers_of``
    the folder of a memory clean what lies beside the memories of what is erased."""

    settings: Settings
    log: logging.Logger
    words: Words
    tell: Callable[[str], None]
    wishes: Wishes
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    scrubbers_of: Callable[[Path], Sequence[Scrub]]

    def say(self, key: str, **details: object) -> None:
        """Show a message."""
        self.tell(self.words.say(key, **details))


def serve(served: Served, host: str, port: int, make: MakeApp, grace: float = GRACE) -> Exit:
    """Serve until somebody asks to end. Raises OldFriendError where it cannot begin."""
    needed(*_PACKAGES)
    settings = served.settings
    registry = Registry(registry_in(settings.data_dir), served.clock)
    try:
        take_short_turns()
        with _alone(registry), listening(host, port) as bound:
            only_here = _is_here(bound)
            names = [token.name for token in registry.tokens() if token.revoked_at is None]
            if not names and not only_here:
                raise errors.UsageError("serve.needs_token", host=host)
            if not names and settings.server_names.strip():
                raise errors.UsageError("serve.names_need_token")
            if not registry.tokens() and not accounts.can_be_known(bound.getsockname()[0]):
                names = [_make_token(served, registry, _url(bound))]
            with _people(served, registry) as people:
                app = make(people, only_here)
                running = Running(app, bound, grace, served.log)
                offering = _offered(people, app, served.words)
                served.say(
                    "serve.ready", url=_url(bound), path=settings.data_dir, who=_who(served, names, registry)
                )
                return _until_the_end(served, running, partial(_closed, people, offering), grace)
    finally:
        registry.close()


# -- beginning


def take_short_turns() -> None:
    """Let the threads of this process take shorter turns than Python lets them by itself.

    A round comes back from the disk, the network or SQLite some hundred times, and each time waits until whoever
    computes has had their turn: with many people at once that is most of what the slowest rounds take.
    """
    sys.setswitchinterval(_TURN)


def needed(*packages: str) -> None:
    """Raises UsageError where one of these packages is not installed."""
    if missing := [name for name in packages if importlib.util.find_spec(name) is None]:
        raise errors.UsageError("serve.packages_missing", package=missing[0])


@contextmanager
def _alone(registry: Registry) -> Iterator[None]:
    """Raises DataInUse where another server serves the same people."""
    try:
        held = registry.served_alone()
        held.acquire()
    except errors.DataInUse as fault:
        raise errors.DataInUse("serve.already", **fault.details) from fault
    with held:
        yield


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that hears whoever calls; they wait until all is loaded. Raises OldFriendError."""
    bound: socket.socket | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = sorted(found)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except (OSError, UnicodeError) as fault:
        if bound:
            bound.close()
        raise _cannot(fault, host, port) from fault
    with bound:
        yield bound


def _cannot(fault: OSError | UnicodeError, host: str, port: int) -> errors.OldFriendError:
    if isinstance(fault, (socket.gaierror, UnicodeError)):
        return errors.OldFriendError("serve.no_such_host", host=host)
    key = _CANNOT.get(fault.errno or 0, "serve.cannot_listen")
    return errors.OldFriendError(key, host=host, port=port, reason=fault.strerror or fault)


def _is_here(bound: socket.socket) -> bool:
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback


def _make_token(served: Served, registry: Registry, url: str) -> str:
    """The first token, shown once and stored for this account alone; its name."""
    secret, path = registry.add_token(_FIRST_TOKEN, ME), served.settings.data_dir / _TOKEN_FILE
    replace_file(path, f"{secret}\n".encode())
    served.say("serve.first_token", url=url, path=path)
    served.tell(secret)
    return _FIRST_TOKEN


def _url(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    if ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _offered(people: People, app: FastAPI, words: Words) -> Offering:
    from interfaces.socket.offering import Offering

    return Offering(people, app.state.service, words)


def _who(served: Served, names: list[str], registry: Registry) -> str:
    if names:
        return served.words.say("serve.to_tokens", names=", ".join(names))
    return served.words.say("serve.to_nobody" if registry.tokens() else "serve.alone", person=ME)


@contextmanager
def _people(served: Served, registry: Registry) -> Iterator[People]:
    served.say("serve.loading")
    settings = served.settings
    llm = Llm(settings, served.log, clock=served.clock)
    try:
        people = People(
            settings, llm, registry, served.log,
            clock=served.clock, new_id=served.new_id, most_open=settings.open_memories,
            scrubbers_of=served.scrubbers_of,
        )  # fmt: skip
        people.prepare()
        served.say("serve.opening", path=settings.data_dir)
        if llm.describe().standin:
            served.say("serve.standin")
        yield people
    finally:
        llm.close()


# -- being there


class Running:
    """The server in a thread of its own, so that the signals stay with the program and no end waits for ever."""

    def __init__(
        self,
        app: FastAPI,
        bound: socket.socket,
        grace: float,
        log: logging.Logger,
        *,
        connections: int = _CONNECTIONS,
        head_timeout: float | None = None,
    ) -> None:
        """At most so many ``connections``, and so many seconds for the head of each request."""
        import uvicorn

        from interfaces.http.connections import HEAD_TIMEOUT, Connection

        self._stop: Stop = app.state.stop
        #: Whether something was under way for longer than the time of grace.
        self.gave_up = False
        self._patience = threading.Timer(grace, self._give_up)
        self._patience.daemon = True
        config = uvicorn.Config(
            app, http=cast("type[Connection]", partial(Connection, head_timeout=head_timeout or HEAD_TIMEOUT)),
            ws="none", loop="asyncio", lifespan="on", log_config=None, access_log=False,
            proxy_headers=False, server_header=False, limit_concurrency=connections,
            timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=round(grace + _HANGING_UP),
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._bound = bound
        self._log = log
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)
        self._thread.start()
        while not self._server.started and self.alive:
            time.sleep(0.01)
        if not self._server.started:
            raise errors.OldFriendError("error.unknown", key="serve")

    @property
    def alive(self) -> bool:
        """Whether it is still there."""
        return self._thread.is_alive()

    def leave(self) -> None:
        """Take no new request, finish what is under way, and hang up on the models when the time of grace is over."""
        if not self._server.should_exit:
            self._server.should_exit = True
            self._patience.start()

    def ended(self, seconds: float) -> bool:
        """Wait for its end, so long at the most; whether it came."""
        self._thread.join(seconds)
        if not self.alive:
            self._patience.cancel()
        return not self.alive

    def _give_up(self) -> None:
        self.gave_up = True
        self._stop.set()

    def _run(self) -> None:
        with _logged(self._log):
            self._server.run(sockets=[self._bound])


@contextmanager
def _logged(log: logging.Logger) -> Iterator[None]:
    """What the libraries have to say goes into our log, masked and private, and not to the screen."""
    forward = _Forward(log)
    loggers = [logging.getLogger(name) for name in ("uvicorn", "asyncio", "mcp")]
    before = [(one, one.propagate) for one in loggers]
    for one in loggers:
        one.addHandler(forward)
        one.propagate = False
    try:
        yield
    finally:
        for one, propagate in before:
            one.removeHandler(forward)
            one.propagate = propagate


class _Forward(logging.Handler):
    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record over."""
        if self._log.isEnabledFor(record.levelno):
            self._log.handle(record)


# -- ending


def _until_the_end(served: Served, running: Running, closed: Callable[[], bool], grace: float) -> Exit:
    asked = served.wishes.stop
    while running.alive and not asked.wait(0.5):
        pass
    if not asked.is_set:
        return Exit.FAILED  # it broke down by itself; the log says why
    served.say("serve.leaving")
    again = _next_wish(served.wishes)
    running.leave()
    late = time.monotonic() + grace + _HANGING_UP + _CLOSING
    while not running.ended(0.05) and time.monotonic() < late:
        if again.is_set and not served.wishes.leaving:
            return Exit.INTERRUPTED
        if again.is_set:  # whoever started us may pass on what we heard ourselves
            again = _next_wish(served.wishes)
    if running.ended(0) and closed() and not running.gave_up:
        served.say("serve.left")
        return Exit.OK
    served.say("serve.cut_off", seconds=round(grace))
    return Exit.FAILED


def _next_wish(wishes: Wishes) -> Stop:
    wishes.leaving = False
    return wishes.begin()


def _closed(people: People, offering: Offering) -> bool:
    """Close every memory; False where that takes too long."""

    def close() -> None:
        offering.close()
        people.close()

    closing = threading.Thread(target=close, name="closing", daemon=True)
    closing.start()
    closing.join(_CLOSING)
    return not closing.is_alive()
