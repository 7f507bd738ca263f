"""The protocol between programs of one person on one machine: a Unix socket in the data folder, a request a connection.

    {"call": "process", "arguments": {"input": "Hello.", "user_id": "me"}}   ->   {"accepted": true} {"answer": {...}}
    {"call": "say", "arguments": {"text": "Hello."}}    ->   {"accepted": true} {"event": ...} ... {"answer": {...}}

Promises: only programs of the same account are answered; neither the socket file of a killed program nor, on Linux, a
path too long for a socket's name is an obstacle; a client never waits forever. Errors keep their type. Imports nothing
heavy: the terminal tries the socket before it opens anything.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat

from domain import errors
from domain.events import AskEvent, Notice, ReasoningDelta, Recalled, Retrying, TextDelta, TurnEvent
from domain.workers import CancelToken
from interfaces.recollections import count_recalled

SOCKET_NAME = ".socket"
#: Bytes that the name of a socket may have on every system.
_LONGEST_NAME = 100
#: Bytes of one line at most: an input of 100,000 characters and much more.
_LONGEST_LINE = 8 * 1024 * 1024
_AT_ONCE = 65_536
#: Seconds between two checks for Ctrl-C.
_LOOK = 0.1
_WAITING = 64
#: Seconds in which the other end has to read a line, and in which a request is accepted.
_SENDING, _ACCEPTING = 30.0, 30.0
#: Seconds without a line after which an accepted request is given up.
_ANSWERING = 600.0


class ServerGone(ConnectionError):
    """No program is at the other end, or it ended before it answered."""


# -- connections


def listen_in(folder: Path) -> socket.socket:
    """The listening socket of a folder, for the program that has its memory open. Raises OSError."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            (folder / SOCKET_NAME).unlink()
        with _socket_address(folder) as address:
            line.bind(address)
        (folder / SOCKET_NAME).chmod(0o600)
        line.listen(_WAITING)
    except BaseException:
        line.close()
        raise
    return line


def connect_to(folder: Path) -> socket.socket:
    """A connection to the program that has the memory of a folder open. Raises ServerGone where none listens."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _socket_address(folder) as address:
            line.connect(address)
    except OSError as fault:
        line.close()
        raise ServerGone(str(fault)) from fault
    return line


def is_same_user(line: socket.socket) -> bool:
    """Whether a program of the same account is at the other end, as far as the system knows."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder and the socket are closed to everyone else
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.geteuid())


@contextmanager
def _socket_address(folder: Path) -> Iterator[str]:
    """The name of a socket that is short enough: by way of the open folder where its own is too long."""
    path = folder / SOCKET_NAME
    if len(os.fsencode(path)) <= _LONGEST_NAME:
        yield str(path)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_NAME}"
    finally:
        os.close(descriptor)


# -- requests


def send_request(
    folder: Path,
    call: str,
    arguments: Mapping[str, object],
    stop: CancelToken | None = None,
    *,
    accepted_in: float = _ACCEPTING,
    patience: float = _ANSWERING,
) -> Iterator[dict[str, Any]]:
    """The objects sent back for a request, the answer last.

    Raises ServerGone, Interrupted, Unreachable where it is not accepted within ``accepted_in`` seconds or nothing comes
    for ``patience`` seconds, and any error that the other program reports.
    """
    with connect_to(folder) as line:
        send_object(line, {"call": call, "arguments": arguments})
        patient = _Patience(accepted_in)
        try:
            yield from _read_answer(line, stop, patient, patience)
        except TimeoutError as fault:
            raise errors.Unreachable("socket.no_answer", seconds=round(patient.seconds)) from fault


def _read_answer(
    line: socket.socket, stop: CancelToken | None, patient: _Patience, patience: float
) -> Iterator[dict[str, Any]]:
    for came in _read_objects(line, stop, patient):
        if isinstance(error := came.get("error"), errors.OldFriendError):
            raise error
        patient.seconds = patience
        if "accepted" not in came:
            yield came
        if "answer" in came:
            return
    raise ServerGone("no answer")


def request_release(folder: Path, patience: float) -> bool:
    """Ask the program that has the memory of a folder open to close it. Returns whether it did."""
    try:
        (answer,) = send_request(folder, "release", {}, accepted_in=patience, patience=patience)
    except (OSError, ValueError, errors.OldFriendError):
        return False
    return bool(answer["answer"])


# -- lines


def send_object(line: socket.socket, value: Mapping[str, object]) -> None:
    """Send one object. Raises ServerGone."""
    send_text(line, json.dumps(value, ensure_ascii=True, default=_as_json))


def send_text(line: socket.socket, text: str) -> None:
    """Send one object that is JSON already. Raises ServerGone."""
    try:
        line.settimeout(_SENDING)
        line.sendall(text.encode("utf-8", "backslashreplace") + b"\n")
    except OSError as fault:
        raise ServerGone(str(fault)) from fault


@dataclass
class _Patience:
    """Seconds to wait for the next line; may change while a caller waits."""

    seconds: float


def receive_object(line: socket.socket, patience: float) -> dict[str, Any] | None:
    """The first object that is received; None without any."""
    return next(_read_objects(line, None, _Patience(patience)), None)


def _read_objects(line: socket.socket, stop: CancelToken | None, patience: _Patience) -> Iterator[dict[str, Any]]:
    rest = b""
    for part in _read_parts(line, stop, patience):
        rest += part
        *whole, rest = rest.split(b"\n")
        yield from map(_parse_line, whole)
        if len(rest) > _LONGEST_LINE:
            raise ServerGone("a line that never ends")


def _read_parts(line: socket.socket, stop: CancelToken | None, patience: _Patience) -> Iterator[bytes]:
    line.settimeout(_LOOK)
    waited = 0.0
    while True:
        part = _receive_part(line)
        if part == b"":
            return
        if part:
            waited = 0.0
            yield part
            continue
        waited += _LOOK
        if stop is not None and stop.is_set:
            raise errors.Interrupted
        if waited >= patience.seconds:
            raise TimeoutError


def _receive_part(line: socket.socket) -> bytes | None:
    """What comes next, empty at the end; None where nothing comes for a moment."""
    try:
        return line.recv(_AT_ONCE)
    except TimeoutError:
        return None
    except OSError as fault:
        raise ServerGone(str(fault)) from fault


def _parse_line(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, object_hook=_as_error)
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    return found if isinstance(found, dict) else {}


def _as_json(value: object) -> object:
    if isinstance(value, errors.OldFriendError):
        return {"kind": type(value).__name__, "key": value.key, "details": value.details}
    if isinstance(value, (set, frozenset)):
        return list(value)
    return float(value) if isinstance(value, SupportsFloat) else str(value)


def _as_error(found: dict[str, Any]) -> object:
    """An error that was received, with its type; anything else unchanged."""
    if found.keys() != {"kind", "key", "details"}:
        return found
    kind = getattr(errors, str(found["kind"]), None)
    if not isinstance(kind, type) or not issubclass(kind, errors.OldFriendError):
        kind = errors.OldFriendError
    if issubclass(kind, errors.SettingsError):
        return errors.OldFriendError(found["key"], **found["details"])
    return kind(found["key"], **found["details"])


# -- events of a turn


def event_line(event: TurnEvent | AskEvent) -> Iterator[dict[str, object]]:
    """An event as it is sent; nothing for one that the other program does not show."""
    match event:
        case TextDelta(text):
            yield {"event": "text", "text": text}
        case ReasoningDelta(text):
            yield {"event": "reasoning", "text": text}
        case Notice(key, details):
            yield {"event": "notice", "key": key, "details": dict(details)}
        case Retrying(failed, attempt, of, seconds):
            yield {"event": "retrying", "failed": failed, "attempt": attempt, "of": of, "seconds": seconds}
        case Recalled(recollection):
            yield {"event": "recalled", "counts": count_recalled(recollection)}


def read_event(line: Mapping[str, object]) -> TurnEvent | None:
    """A line that was received, as an event of a turn; None where it is nothing to show."""
    match line:
        case {"event": "text", "text": str(text)}:
            return TextDelta(text)
        case {"event": "reasoning", "text": str(text)}:
            return ReasoningDelta(text)
        case {"event": "notice", "key": str(key), "details": dict(details)}:
            return Notice(key, details)
        case {"event": "retrying", "failed": failed, "attempt": attempt, "of": of, "seconds": seconds}:
            return Retrying(failed, attempt, of, seconds)  # type: ignore[arg-type]
    return None
