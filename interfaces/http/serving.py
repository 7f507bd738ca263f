"""``main.py --serve``: everything from the first line of its start to the last of its end.

Promises: a server that cannot listen, would be open to other machines without a token (also behind a proxy), or is the
second one of the same data folder, reports it in one line before anything heavy is loaded. Where the account behind a
local connection cannot be determined, the first start creates a token and shows it. On shutdown the server accepts no
new request, finishes active ones within ``GRACE`` seconds, then cancels model calls, and closes every memory. A second
Ctrl-C ends it at once; a second SIGTERM, which `make` passes on, changes nothing.

Exit codes: 0 everything was finished; 1 it cannot listen, or something had to be given up; 2 the command line, a
setting, a package or a token is missing; 4 another server is running; 130 a second Ctrl-C.

FastAPI and uvicorn are imported where they are needed, so that a missing package is reported in a sentence.
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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

from domain import errors
from domain.errors import Exit
from domain.files import replace_file
from domain.workers import CancelToken
from interfaces.debug_log import Forwarding
from interfaces.interrupting import Wishes
from llm import Llm
from people import ME, People, Registry, registry_in

if TYPE_CHECKING:
    from fastapi import FastAPI

    from interfaces.terminal.wiring import Program

#: Seconds that what is under way has to be finished when the server ends.
GRACE = 30.0
#: Seconds afterwards for hanging up, and then for closing memories.
_HANGING_UP, _CLOSING = 5.0, 10.0
#: The name of the token that the first start makes, and where its secret is stored.
_FIRST_TOKEN, _TOKEN_FILE = "this-machine", "server-token"
_PACKAGES = ("fastapi", "uvicorn", "mcp")
#: Seconds of a thread's turn.
_MESSAGE = 0.0005
#: Connections at the same time, and seconds that one may be idle between two requests.
_CONNECTIONS, _KEEP_ALIVE = 1000, 15
_BACKLOG = 256
_CANNOT = {
    errno.EADDRINUSE: "serve.port_in_use",
    errno.EADDRNOTAVAIL: "serve.no_such_host",
    errno.EACCES: "serve.port_forbidden",
}


def _say(program: Program, key: str, **details: object) -> None:
    _show(program, program.words.say(key, **details))


def _show(program: Program, line: str) -> None:
    program.streams.stdout.write(line + "\n")
    program.streams.stdout.flush()


def serve(program: Program, grace: float = GRACE) -> Exit:
    """Serve until asked to end. Raises OldFriendError where it cannot begin."""
    check_installed(*_PACKAGES)
    settings, host = program.settings, program.options.host
    registry = Registry(registry_in(settings.data_dir), program.clock, settings.database_url)
    shorten_thread_turns()
    with closing(registry), _only_server(registry), listening_on(host, program.options.port) as bound:
        only_here = ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback
        names = [token.name for token in registry.tokens() if token.revoked_at is None]
        if not names and not only_here:
            raise errors.UsageError("serve.needs_token", host=host)
        if not names and settings.server_names.strip():
            raise errors.UsageError("serve.names_need_token")
        if not registry.tokens():
            names = _make_first_token(program, registry, bound)
        with _open_people(program, registry) as people:
            from interfaces.http.app import make_app  # only once it is known to be installed

            app = make_app(people, program.version, only_here=only_here)
            running = ServerThread(app, bound, grace, program.debug.log)
            say = program.words.say
            unnamed = "serve.to_no_one" if registry.tokens() else "serve.alone"
            who = say("serve.to_tokens", names=program.words.join(names)) if names else say(unnamed, person=ME)
            _say(program, "serve.ready", url=_url_of(bound), path=settings.data_dir, who=who)
            return _run_until_stopped(program, running, partial(_close_all, people), grace)


# -- beginning


def shorten_thread_turns() -> None:
    """Shorten the switch interval of Python's threads.

    A turn waits for the disk, the network or SQLite about a hundred times, and each time for the running thread to
    yield: with many people at once this takes most of the time of the slowest turns.
    """
    sys.setswitchinterval(_MESSAGE)


def check_installed(*packages: str) -> None:
    """Raises UsageError where one of these packages is not installed."""
    if missing := [name for name in packages if importlib.util.find_spec(name) is None]:
        raise errors.UsageError("serve.packages_missing", package=missing[0])


@contextmanager
def _only_server(registry: Registry) -> Iterator[None]:
    """Raises DataInUse where another server serves the same people; from a database server any number may."""
    if registry.server:
        yield
        return
    try:
        lock = registry.served_alone()
        lock.acquire()
    except errors.DataInUse as fault:
        raise errors.DataInUse("serve.already", **fault.details) from fault
    with lock:
        yield


@contextmanager
def listening_on(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket; clients wait until everything is loaded. Raises OldFriendError."""
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
        if isinstance(fault, (socket.gaierror, UnicodeError)):
            raise errors.OldFriendError("serve.no_such_host", host=host) from fault
        key = _CANNOT.get(fault.errno or 0, "serve.cannot_listen")
        raise errors.OldFriendError(key, host=host, port=port, reason=fault.strerror or fault) from fault
    with bound:
        yield bound


def _make_first_token(program: Program, registry: Registry, bound: socket.socket) -> list[str]:
    """Create the first token where it is needed, show it once, and store it for this account alone. Its name."""
    from interfaces.http.guards import can_be_known

    if can_be_known(bound.getsockname()[0]):
        return []
    secret, path = registry.add_token(_FIRST_TOKEN, ME), program.settings.data_dir / _TOKEN_FILE
    replace_file(path, f"{secret}\n".encode())
    _say(program, "serve.first_token", url=_url_of(bound), path=path)
    _show(program, secret)
    return [_FIRST_TOKEN]


def _url_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    if ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _open_people(program: Program, registry: Registry) -> Iterator[People]:
    _say(program, "serve.loading")
    settings = program.settings
    llm = Llm(settings, program.debug.log, clock=program.clock)
    try:
        people = People(llm, registry, new_id=program.new_id, scrubbers_of=program.scrubbers)
        people.prepare()
        _say(program, "serve.opening", path=settings.data_dir)
        if llm.described.demo:
            _say(program, "serve.demo")
        yield people
    finally:
        llm.close()


# -- running


class ServerThread:
    """The server in its own thread, so that the program handles signals and shutdown is bounded."""

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

        from interfaces.http.limits import HEAD_TIMEOUT, Connection

        self._stop: CancelToken = app.state.stop
        #: Whether a request took longer than the time of grace.
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
        self._thread = threading.Thread(target=self._run_server, args=(bound, log), name="server", daemon=True)
        self._thread.start()
        while not self._server.started and self.alive:
            time.sleep(0.01)
        if not self._server.started:
            raise errors.OldFriendError("error.unknown", key="serve")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Accept no new request, finish active ones, and cancel model calls when the grace time is over."""
        if not self._server.should_exit:
            self._server.should_exit = True
            self._patience.start()

    def wait_for_end(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for its end. Returns whether it ended."""
        self._thread.join(seconds)
        if not self.alive:
            self._patience.cancel()
        return not self.alive

    def _give_up(self) -> None:
        self.gave_up = True
        self._stop.set()

    def _run_server(self, bound: socket.socket, log: logging.Logger) -> None:
        with _library_logs(log):
            self._server.run(sockets=[bound])


@contextmanager
def _library_logs(log: logging.Logger) -> Iterator[None]:
    """Send the logs of libraries to our log, masked and private, not to the screen."""
    forward = Forwarding(log)
    before = {one: one.propagate for one in map(logging.getLogger, ("uvicorn", "asyncio", "mcp"))}
    for one in before:
        one.addHandler(forward)
        one.propagate = False
    try:
        yield
    finally:
        for one, propagate in before.items():
            one.removeHandler(forward)
            one.propagate = propagate


# -- ending


def _run_until_stopped(program: Program, running: ServerThread, closed: Callable[[], bool], grace: float) -> Exit:
    asked = program.wishes.stop
    while running.alive and not asked.wait(0.5):
        pass
    if not asked.is_set:
        return Exit.FAILED  # it failed; the log says why
    again = _next_wish(program.wishes)  # before anybody reads that it is leaving, and presses Ctrl-C once more
    _say(program, "serve.leaving")
    running.stop()
    late = time.monotonic() + grace + _HANGING_UP + _CLOSING
    while not running.wait_for_end(0.05) and time.monotonic() < late:
        if again.is_set and not program.wishes.leaving:
            return Exit.INTERRUPTED
        if again.is_set:  # the parent process may pass on the signal that we received ourselves
            again = _next_wish(program.wishes)
    if running.wait_for_end(0) and closed() and not running.gave_up:
        _say(program, "serve.closed")
        return Exit.OK
    _say(program, "serve.cut_off", seconds=round(grace))
    return Exit.FAILED


def _next_wish(wishes: Wishes) -> CancelToken:
    wishes.leaving = False
    return wishes.begin()


def _close_all(people: People) -> bool:
    """Close every memory; False where that takes too long."""
    thread = threading.Thread(target=people.close, name="closing", daemon=True)
    thread.start()
    thread.join(_CLOSING)
    return not thread.is_alive()
