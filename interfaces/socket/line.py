"""The line between programs of one person on one machine: a Unix socket in the data folder, a request a connection.

    {"call": "process", "arguments": {"input": "Hello.", "user_id": "me"}}   ->   {"heard": true} {"answer": {...}}
    {"call": "say", "arguments": {"text": "Hello."}}    ->   {"heard": true} {"event": ...} ... {"answer": {...}}

Promises: nobody but the person, by the account of the machine, is heard; what a killed program left of a socket holds
nobody back; a folder whose path is too long for a socket's name is no obstacle where the system can help it; whoever
asks never waits without end. An error comes over the line as itself. Imports nothing heavy: the terminal looks here
before it opens anything.
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
from domain.workers import Stop

NAME = ".socket"
#: As long may the name of a socket be everywhere, in bytes.
_LONGEST_NAME = 100
#: As long may one line be: an input of 100,000 characters and much more.
_LONGEST_LINE = 8 * 1024 * 1024
_AT_ONCE = 65_536
#: Seconds between two looks at whether Ctrl-C was pressed.
_LOOK = 0.1
_WAITING = 64
#: Seconds in which whoever is at the other end has to take in a line, and in which a request is taken up.
_SENDING, _HEARD = 30.0, 30.0
#: Seconds without a word after which a request that was taken up is given up.
_ANSWERING = 600.0


class Gone(ConnectionError):
    """Nobody is at the other end, or whoever was there went away before it had answered."""


# -- beginning


def listening(folder: Path) -> socket.socket:
    """The socket of a folder, heard from now on. For whoever holds the memory there. Raises OSError."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            (folder / NAME).unlink()
        with _address(folder) as address:
            line.bind(address)
        (folder / NAME).chmod(0o600)
        line.listen(_WAITING)
    except BaseException:
        line.close()
        raise
    return line


def connected(folder: Path) -> socket.socket:
    """A line to whoever holds the memory of a folder. Raises Gone where nobody listens."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(folder) as address:
            line.connect(address)
    except OSError as fault:
        line.close()
        raise Gone(str(fault)) from fault
    return line


def is_ours(line: socket.socket) -> bool:
    """Whether a program of the same person is at the other end, as far as the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder and the socket are closed to everybody else
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.geteuid())


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """The name of a socket that is short enough: by way of the open folder where its own is too long."""
    path = folder / NAME
    if len(os.fsencode(path)) <= _LONGEST_NAME:
        yield str(path)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{NAME}"
    finally:
        os.close(descriptor)


# -- asking


def asked(
    folder: Path,
    call: str,
    arguments: Mapping[str, object],
    stop: Stop | None = None,
    *,
    taken_up: float = _HEARD,
    patience: float = _ANSWERING,
) -> Iterator[dict[str, Any]]:
    """What comes for a request, one object after another, the answer last.

    Raises Gone, Interrupted, Unreachable where it is not ``taken_up`` within so many seconds, or after ``patience``
    seconds of silence, and what went wrong there.
    """
    with connected(folder) as line:
        send(line, {"call": call, "arguments": arguments})
        patient = _Patience(taken_up)
        try:
            for came in _lines(line, stop, patient):
                if isinstance(error := came.get("error"), errors.OldFriendError):
                    raise error
                patient.seconds = patience
                if "heard" not in came:
                    yield came
                if "answer" in came:
                    return
        except TimeoutError as fault:
            raise errors.Unreachable("socket.silent", seconds=round(patient.seconds)) from fault
    raise Gone("no answer")


def gave_way(folder: Path, patience: float) -> bool:
    """Ask whoever holds the memory of a folder to let it go; whether it did."""
    try:
        (answer,) = asked(folder, "give_way", {}, taken_up=patience, patience=patience)
    except (OSError, ValueError, errors.OldFriendError):
        return False
    return bool(answer["answer"])


# -- lines


def send(line: socket.socket, value: Mapping[str, object]) -> None:
    """One object. Raises Gone."""
    send_text(line, json.dumps(value, ensure_ascii=True, default=_as_json))


def send_text(line: socket.socket, text: str) -> None:
    """One object that is JSON already. Raises Gone."""
    try:
        line.settimeout(_SENDING)
        line.sendall(text.encode("utf-8", "backslashreplace") + b"\n")
    except OSError as fault:
        raise Gone(str(fault)) from fault


@dataclass
class _Patience:
    """How many seconds of silence are waited for; it may change while somebody waits."""

    seconds: float


def received(line: socket.socket, patience: float) -> dict[str, Any] | None:
    """The first object that comes; None where none does."""
    return next(_lines(line, None, _Patience(patience)), None)


def _lines(line: socket.socket, stop: Stop | None, patience: _Patience) -> Iterator[dict[str, Any]]:
    held = b""
    for part in _parts(line, stop, patience):
        held += part
        *whole, held = held.split(b"\n")
        yield from map(_read, whole)
        if len(held) > _LONGEST_LINE:
            raise Gone("a line that never ends")


def _parts(line: socket.socket, stop: Stop | None, patience: _Patience) -> Iterator[bytes]:
    line.settimeout(_LOOK)
    silent = 0.0
    while True:
        try:
            part = line.recv(_AT_ONCE)
        except TimeoutError:
            silent += _LOOK
            if stop is not None and stop.is_set:
                raise errors.Interrupted from None
            if silent >= patience.seconds:
                raise
            continue
        except OSError as fault:
            raise Gone(str(fault)) from fault
        if not part:
            return
        silent = 0.0
        yield part


def _read(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, object_hook=_as_ours)
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    return found if isinstance(found, dict) else {}


def _as_json(value: object) -> object:
    if isinstance(value, errors.OldFriendError):
        return {"kind": type(value).__name__, "key": value.key, "details": value.details}
    if isinstance(value, (set, frozenset)):
        return list(value)
    return float(value) if isinstance(value, SupportsFloat) else str(value)


def _as_ours(found: dict[str, Any]) -> object:
    """An error that came over the line, as itself; anything else as it is."""
    if found.keys() != {"kind", "key", "details"}:
        return found
    kind = getattr(errors, str(found["kind"]), None)
    if not isinstance(kind, type) or not issubclass(kind, errors.OldFriendError):
        kind = errors.OldFriendError
    if issubclass(kind, errors.SettingsError):
        return errors.OldFriendError(found["key"], **found["details"])
    return kind(found["key"], **found["details"])
