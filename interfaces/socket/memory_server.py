"""The memory server: the program that has a memory open serves it to the other programs of the machine.

Promises: there is a socket only while the memory is open; a server answers accepted requests before it closes; others
get no answer, so that the client tries the next server; an error in one request, or a temporary lack of files or
threads, affects no other request; no messages are logged.
"""

from __future__ import annotations

import errno
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conversation import Conversation, Replied
from domain import errors
from domain.events import MemoryAnswer
from domain.text import one_line
from domain.workers import CancelToken
from interfaces.messages import Words
from interfaces.operations import LocalMemories
from interfaces.recollections import count_recalled, recalled_values
from interfaces.service.memory_service import MemoryService
from interfaces.socket import protocol
from interfaces.socket.protocol import ServerGone
from jobs.asking import Asking
from memory import Memory
from people import ME, Companion, People

#: Seconds for a request, once a client is connected.
_PATIENCE = 10.0
#: Seconds between two checks of which sessions have ended.
_SWEEP = 60.0
#: Requests that are answered at the same time; others wait.
_AT_ONCE = 64
#: Temporary errors: too many open files, too little memory, or the client is gone already.
_TEMPORARY = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EINTR, errno.EAGAIN}
#: Seconds until the next try.
_AGAIN = 0.5
#: Seconds between two checks of whether the memory is free, for a client to release it, and for requests to finish.
_CHECK, _RELEASING, _FINISHING = 5.0, 10.0, 5.0
_Line = dict[str, object]
#: Characters of a message in the summary of its session.
_SUMMARY = 300


class MemoryServer:
    """The socket of a folder, with its threads. ``served`` returns whose memories it serves, when first asked.

    ``release`` closes the memory for a program that wants to open it itself; None where it stays open.
    """

    def __init__(
        self,
        folder: Path,
        served: Callable[[], tuple[People, MemoryService]],
        words: Words,
        log: logging.Logger,
        release: Callable[[], None] | None = None,
    ) -> None:
        self._served = served
        self._words = words
        self._log = log
        self._release_memory = release
        self._path = folder / protocol.SOCKET_NAME
        self._closing = CancelToken()
        self._changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._places = threading.Semaphore(_AT_ONCE)
        self._socket: socket.socket | None = None
        try:
            self._socket = protocol.listen_in(folder)
        except OSError as fault:
            log.error("no socket for other programs in %s: %s", folder, fault)
        else:
            threading.Thread(target=self._accept_clients, args=(self._socket,), name="socket", daemon=True).start()

    def start_sweeping(self) -> None:
        """End sessions whose time is over, at once and every minute, in a thread of its own."""
        threading.Thread(target=self._sweep_sessions, name="sweep", daemon=True).start()

    def close(self, timeout: float = 5.0, but: socket.socket | None = None) -> None:
        """Accept no new request and wait for those under way, ``timeout`` seconds at most. Safe to call twice."""
        with self._changed:
            if self._closing.is_set or self._socket is None:
                self._closing.set()
                return
            self._closing.set()
        with suppress(OSError):
            self._path.unlink()
        _shut_down(self._socket)
        self._socket.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._open - {but}, timeout)
            for one in self._open - {but}:
                _shut_down(one)

    # -- inside --------------------------------------------------------------------------------------------------

    def _accept_clients(self, bound: socket.socket) -> None:
        try:
            while not self._closing.is_set:
                self._accept_client(bound)
        except OSError as fault:
            if not self._closing.is_set:
                self._log.error("the socket was lost", exc_info=fault)
        finally:
            self.close()

    def _accept_client(self, bound: socket.socket) -> None:
        """Accept the next client. Raises OSError where the socket is lost."""
        try:
            client, _ = bound.accept()
        except OSError as fault:
            if self._closing.is_set or fault.errno not in _TEMPORARY:
                raise
            self._pause_accepting(fault)
            return
        self._places.acquire()
        with self._changed:
            self._open.add(client)
        try:
            threading.Thread(target=self._answer_client, args=(client,), name="asked", daemon=True).start()
        except RuntimeError as fault:  # there are too many threads
            self._disconnect(client)
            self._pause_accepting(fault)

    def _pause_accepting(self, fault: Exception) -> None:
        self._log.error("no client can be accepted for the moment", exc_info=fault)
        self._closing.wait(_AGAIN)

    def _disconnect(self, client: socket.socket) -> None:
        self._places.release()
        client.close()
        with self._changed:
            self._open.discard(client)
            self._changed.notify_all()

    def _answer_client(self, client: socket.socket) -> None:
        try:
            if protocol.is_same_user(client) and (asked := protocol.receive_object(client, _PATIENCE)):
                protocol.send_object(client, {"accepted": True})
                self._run_call(client, str(asked.get("call")), asked.get("arguments"))
        except (OSError, ValueError):
            pass  # the client is gone, or asked for nothing
        finally:
            self._disconnect(client)

    def _run_call(self, client: socket.socket, call: str, arguments: Any) -> None:
        given = arguments if isinstance(arguments, dict) else {}
        try:
            if call == "release":
                protocol.send_object(client, {"answer": self._release_to(client)})
            elif call in ("say", "ask"):
                self._run_turn(client, call, str(given.get("text", "")), bool(given.get("incognito")))
            else:
                body = LocalMemories(self._served()[1]).call(call, **given)
                protocol.send_text(client, f'{{"answer":{body.model_dump_json()}}}')
        except ServerGone:
            raise
        except Exception as fault:
            if self._closing.is_set:
                return
            if not isinstance(fault, errors.OldFriendError):
                self._log.error("unexpected", exc_info=fault)
                fault = errors.OldFriendError("served.unexpected")
            protocol.send_object(client, {"error": fault})

    def _release_to(self, client: socket.socket) -> bool:
        if self._release_memory is None:
            return False
        self.close(but=client)
        self._release_memory()
        return True

    def _run_turn(self, client: socket.socket, call: str, text: str, incognito: bool) -> None:
        stop = CancelToken()
        people, _ = self._served()
        threading.Thread(target=_watch_client, args=(client, stop), name="asked-watch", daemon=True).start()
        events = (
            _answer_question(people, text, stop)
            if call == "ask"
            else _answer_message(people, self._words, text, incognito, stop)
        )
        for event in events:
            protocol.send_object(client, event)

    def _sweep_sessions(self) -> None:
        due = 0.0
        while not self._closing.wait(1.0):
            if time.monotonic() < due:
                continue
            due = time.monotonic() + _SWEEP
            try:
                self._served()[1].sweep()
            except Exception as fault:  # tried again in a minute
                self._log.error("sessions could not be checked", exc_info=fault)


# -- messages and questions from another program (``-p``, ``--ask``)


def _answer_message(people: People, words: Words, text: str, incognito: bool, stop: CancelToken) -> Iterator[_Line]:
    """The events of a turn, the reply last.

    The message gets its own session, archived when it is answered and removed when nothing was stored; the chat here
    only finds it in memory. Raises ModelError, Interrupted, UsageError, StorageError.
    """
    with people.companion(ME) as companion, companion.turns:
        with _separate_session(companion, words, incognito) as conversation:
            reply = yield from _take_turn(conversation, text, stop)
        yield {"answer": reply}


def _take_turn(conversation: Conversation, text: str, stop: CancelToken) -> Generator[_Line, None, _Line]:
    """The events of a turn; the reply is returned."""
    reply: _Line = {}
    for event in conversation.turn(text, stop):
        if isinstance(event, Replied):
            reply = {
                "reply": asdict(event.reply),
                "session": event.round.user.session_id,
                "recalled": recalled_values(event.recollection),
                "counts": count_recalled(event.recollection),
            }
        yield from protocol.event_line(event)
    for notice in conversation.compact_now():
        yield from protocol.event_line(notice)
    return reply


def _answer_question(people: People, question: str, stop: CancelToken) -> Iterator[_Line]:
    """The events of an answer from memory alone, without a session, the answer last."""
    with people.companion(ME) as one:
        asking = Asking(one.settings, one.memory, one.llm)
        for event in asking.answer_question(question, "", stop):
            yield from _answer_line(event) if isinstance(event, MemoryAnswer) else protocol.event_line(event)


def _answer_line(answer: MemoryAnswer) -> Iterator[_Line]:
    reply = asdict(answer.reply) if answer.reply else None
    yield {"answer": {"reply": reply, "known": answer.known, "counts": count_recalled(answer.recollection)}}


@contextmanager
def _separate_session(companion: Companion, words: Words, incognito: bool) -> Iterator[Conversation]:
    """A conversation in a session before the present one, which the next start resumes."""
    memory = companion.memory
    present, _ = memory.sessions.resume_or_start()
    own = memory.sessions.start(before=present.session_id)
    conversation = Conversation(
        companion.turn_steps(), own, new_id=companion.new_id, incognito=incognito, maintenance=companion.maintenance
    )
    try:
        yield conversation
    finally:
        _archive_session(memory, words, own.session_id)


def _archive_session(memory: Memory, words: Words, session_id: str) -> None:
    with memory.in_one_commit():
        memory.sessions.drop_in_flight(session_id)
        if rounds := memory.messages.rounds(session_id):
            summary = words.say("batch.summary", said=one_line(rounds[0].user.words, _SUMMARY))
            memory.rounds.save(session_id, summary, {}, open_next=False)
        else:
            present, _ = memory.sessions.resume_or_start()
            memory.rounds.resume(present.session_id, session_id)


class BackgroundMemoryServer:
    """The memory of ``me`` in a program without a chat: served whenever no chat has it open.

    It begins at once, in a thread of its own. A chat that starts gets the memory as soon as what is under way is
    answered; when the chat has ended, it is opened and served here again.
    """

    def __init__(self, people: People, service: MemoryService, words: Words) -> None:
        self._people = people
        self._service = service
        self._words = words
        self._closing = CancelToken()
        self._lock = threading.Lock()
        #: What is open now; None while another program has the memory open.
        self._opened: ExitStack | None = None
        self._thread = threading.Thread(target=self._serve_when_free, name="memory-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._closing.set()
        self._thread.join(_RELEASING)
        self._close_memory()

    def _serve_when_free(self) -> None:
        try:
            while not self._closing.is_set:
                data_dir = self._people.settings.data_dir
                is_free = not self._open_memory() and protocol.request_release(data_dir, _RELEASING)
                self._closing.wait(0.0 if is_free else _CHECK)
        except errors.StorageError as fault:
            self._people.log.error("the memory cannot be served", exc_info=fault)

    def _open_memory(self) -> bool:
        """Open it unless another program has it. Returns whether it is open here. Raises StorageError."""
        people, folder = self._people, self._people.settings.data_dir
        with self._lock, ExitStack() as opened:
            if self._opened:
                return True
            try:
                opened.enter_context(people.companion(ME))
            except errors.DataInUse:
                return False
            server = MemoryServer(folder, lambda: (people, self._service), self._words, people.log, self._release)
            opened.callback(server.close, _FINISHING)
            self._opened = opened.pop_all()
            return True

    def _release(self) -> None:
        self._close_memory()
        self._people.release(ME)

    def _close_memory(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
        if opened:
            opened.close()


def _shut_down(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _watch_client(client: socket.socket, stop: CancelToken) -> None:
    """Set ``stop`` when the client goes away; the connection ends with the answer at the latest."""
    with suppress(OSError, ValueError):
        while not select.select([client], [], [], 1.0)[0] or client.recv(1):
            pass
    stop.set()
