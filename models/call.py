"""One request, read in a thread of its own, so that nobody who waits for it is ever blocked by it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from domain import errors
from models import replies
from models.client import Line

if TYPE_CHECKING:
    from openai import APIResponse

    #: Makes the request, ready to be entered; entering it sends it.
    Send = Callable[[], AbstractContextManager[APIResponse[Any]]]
    #: An exception as one of our errors; None when the same request may be sent in a plainer form. The second
    #: argument tells whether the answer had begun.
    AsError = Callable[[BaseException, bool], errors.ModelError | None]

#: Seconds to wait for the token counts once the reply has ended.
_AFTER_THE_END = 1.0
#: A server may keep the connection open with comments for so many times the timeout, and no longer.
_COMMENTS_ONLY = 10
#: Seconds that our watch is later than the client library's, at most, so that the library speaks first.
_GRACE = 3.0


class Call:
    """A request under way. ``timeout``: seconds without any sign of life that are taken for the end."""

    def __init__(self, line: Line, send: Send, as_error: AsError, timeout: float) -> None:
        self._line = line
        self._send = send
        self._as_error = as_error
        self._timeout = timeout
        self._queue: queue.SimpleQueue[replies.Part | errors.ModelError] = queue.SimpleQueue()
        self._dropped = threading.Event()
        self._ended = False
        self._heard = self._worded = time.monotonic()

    def start(self) -> None:
        """Send the request."""
        self._heard = self._worded = time.monotonic()
        threading.Thread(target=self._run, name="chat", daemon=True).start()

    def next(self, seconds: float, *, after_the_end: bool) -> replies.Part | None:
        """The next part within ``seconds``, or None.

        Raises the ModelError that ended the call; once the reply has ended, an error is only the end of it.
        """
        try:
            item = self._queue.get(timeout=seconds)
        except queue.Empty:
            return self._silence(after_the_end)
        self._heard = time.monotonic()
        if item == replies.ALIVE:
            return self._silence(after_the_end)
        if isinstance(item, errors.ModelError):
            if not after_the_end:
                raise item
            item = replies.Part(done=True)
        self._worded = self._heard
        return item

    def drop(self) -> None:
        """End the call: the server is told by the closed connection, and the thread ends."""
        if not self._ended:
            self._dropped.set()
            self._line.hang_up()

    def _silence(self, after_the_end: bool) -> replies.Part | None:
        now = time.monotonic()
        if after_the_end and now - self._worded > _AFTER_THE_END:
            return replies.Part(done=True)
        grace = min(_GRACE, self._timeout)
        silent = now - self._heard > self._timeout + grace
        if silent or now - self._worded > self._timeout * _COMMENTS_ONLY + grace:
            raise errors.TimedOut(seconds=self._timeout)
        return None

    def _run(self) -> None:
        try:
            with self._line:
                while not self._read_once():
                    pass
        except BaseException as fault:  # nobody else would hear it in this thread
            self._queue.put(errors.BadReply("model.malformed_reply", said=repr(fault)[:200]))

    def _read_once(self) -> bool:
        """Send and read; false when it should be sent again in a plainer form."""
        began = False
        try:
            with self._send() as response:
                began = True
                self._line.answered(response.http_response)
                self._read(response.http_response.iter_bytes())
            return True
        except Exception as fault:
            error = self._as_error(fault, began)
            if error is not None:
                self._queue.put(error)
            return error is not None

    def _read(self, chunks: Iterator[bytes]) -> None:
        for part in replies.parts(chunks):
            self._queue.put(part)
            if self._dropped.is_set() or part.done:
                break
        self._ended = True
        self._queue.put(replies.Part(done=True))
        for _ in range(4):  # what follows the last event, so that the connection can serve again
            if self._dropped.is_set() or next(chunks, None) is None:
                return
