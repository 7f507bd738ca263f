"""Holding a memory for the other programs of this machine: they ask over the socket, and are answered here.

Promises: only while the memory is held there is a socket; whoever lets go first answers what is under way; what could
not be answered because of that is not answered at all, so that it is asked again of the next holder; a fault of one
request ends nothing else, nor does a want of files or threads that passes; where nobody is answered any more there is
no socket that could be waited at; nothing of what is said is written to a log.
"""

from __future__ import annotations

import errno
import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from domain import errors
from domain.workers import Stop
from interfaces.messages import Words
from interfaces.service.memory_service import MemoryService
from interfaces.socket import line
from interfaces.socket.line import Gone
from interfaces.socket.saying import ask, say
from interfaces.socket.verbs import HeldHere
from people import People

#: Seconds for a request to come, once somebody is on the line.
_PATIENCE = 10.0
#: Seconds between two looks at which sessions have ended.
_SWEEP = 60.0
#: Requests that are answered at the same time; others wait.
_AT_ONCE = 64
#: Why nobody can be let in for the moment: too many open files, too little memory, or whoever came went away again.
_PASSES = {
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ENOMEM,
    errno.ECONNABORTED,
    errno.EINTR,
    errno.EAGAIN,
}
#: Seconds until the next try then.
_AGAIN = 0.5


class Holding:
    """The socket of a folder, with its threads. ``served`` gives whose memories it speaks for, when first asked.

    ``give_way`` lets the memory go for a program that wants to hold it itself; None where it stays.
    """

    def __init__(
        self,
        folder: Path,
        served: Callable[[], tuple[People, MemoryService]],
        words: Words,
        log: logging.Logger,
        give_way: Callable[[], None] | None = None,
    ) -> None:
        self._served = served
        self._words = words
        self._log = log
        self._give_way = give_way
        self._path = folder / line.NAME
        self._closing = Stop()
        self._changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._places = threading.Semaphore(_AT_ONCE)
        self._line = _heard(folder, log)
        if self._line:
            threading.Thread(target=self._run, args=(self._line,), name="socket", daemon=True).start()

    def sweep(self) -> None:
        """End sessions whose time is over, from now on and every minute, in a thread of its own."""
        threading.Thread(target=self._sweep, name="sweep", daemon=True).start()

    def close(self, timeout: float = 5.0, besides: socket.socket | None = None) -> None:
        """Take no new request and answer what is under way, so many seconds at the most. Safe to call twice."""
        with self._changed:
            if self._closing.is_set or self._line is None:
                self._closing.set()
                return
            self._closing.set()
        with suppress(OSError):
            self._path.unlink()
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._open - {besides}, timeout)
            for one in self._open - {besides}:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    # -- inside --------------------------------------------------------------------------------------------------

    def _run(self, bound: socket.socket) -> None:
        try:
            while not self._closing.is_set:
                self._let_in(bound)
        except OSError as fault:
            if not self._closing.is_set:
                self._log.error("the socket was lost", exc_info=fault)
        finally:
            self.close()

    def _let_in(self, bound: socket.socket) -> None:
        """Have the next one answered. Raises OSError where nobody ever will be."""
        try:
            came, _ = bound.accept()
        except OSError as fault:
            if self._closing.is_set or fault.errno not in _PASSES:
                raise
            self._put_off(fault)
            return
        self._places.acquire()
        with self._changed:
            self._open.add(came)
        try:
            threading.Thread(target=self._answer, args=(came,), name="asked", daemon=True).start()
        except RuntimeError as fault:  # there are too many threads
            self._leave(came)
            self._put_off(fault)

    def _put_off(self, fault: Exception) -> None:
        self._log.error("nobody can be let in for the moment", exc_info=fault)
        self._closing.wait(_AGAIN)

    def _leave(self, came: socket.socket) -> None:
        self._places.release()
        came.close()
        with self._changed:
            self._open.discard(came)
            self._changed.notify_all()

    def _answer(self, came: socket.socket) -> None:
        try:
            if line.is_ours(came) and (asked := line.received(came, _PATIENCE)):
                line.send(came, {"heard": True})
                self._do(came, str(asked.get("call")), asked.get("arguments"))
        except (OSError, ValueError):
            pass  # whoever asked is gone, or asked for nothing
        finally:
            self._leave(came)

    def _do(self, came: socket.socket, call: str, arguments: Any) -> None:
        given = arguments if isinstance(arguments, dict) else {}
        try:
            if call == "give_way":
                self._let_go(came)
            elif call in ("say", "ask"):
                self._say(came, call, str(given.get("text", "")), bool(given.get("incognito")))
            else:
                body = HeldHere(self._served()[1]).call(call, **given)
                line.send_text(came, f'{{"answer":{body.model_dump_json()}}}')
        except Gone:
            raise
        except Exception as fault:
            if not self._closing.is_set:
                line.send(came, {"error": self._told(fault)})

    def _say(self, came: socket.socket, call: str, text: str, incognito: bool) -> None:
        stop = Stop()
        people, _ = self._served()
        threading.Thread(target=_watch, args=(came, stop), name="asked-watch", daemon=True).start()
        said = ask(people, text, stop) if call == "ask" else say(people, self._words, text, incognito, stop)
        for event in said:
            line.send(came, event)

    def _let_go(self, came: socket.socket) -> None:
        if self._give_way:
            self.close(besides=came)
            self._give_way()
        line.send(came, {"answer": self._give_way is not None})

    def _told(self, fault: Exception) -> errors.OldFriendError:
        if isinstance(fault, errors.OldFriendError):
            return fault
        self._log.error("unexpected", exc_info=fault)
        return errors.OldFriendError("served.unexpected")

    def _sweep(self) -> None:
        due = 0.0
        while not self._closing.wait(1.0):
            if time.monotonic() < due:
                continue
            due = time.monotonic() + _SWEEP
            try:
                self._served()[1].sweep()
            except Exception as fault:  # the next minute may bring what this one did not
                self._log.error("sessions could not be looked at", exc_info=fault)


def _heard(folder: Path, log: logging.Logger) -> socket.socket | None:
    """The socket, or None with one line in the log: the memory is held all the same, and others have to wait."""
    try:
        return line.listening(folder)
    except OSError as fault:
        log.error("no socket for other programs in %s: %s", folder, fault)
        return None


def _watch(came: socket.socket, stop: Stop) -> None:
    """Set ``stop`` when whoever asked goes away; the line ends with the answer at the latest."""
    with suppress(OSError, ValueError):
        while not select.select([came], [], [], 1.0)[0] or came.recv(1):
            pass
    stop.set()
