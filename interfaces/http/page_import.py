"""Importing on the page: a file comes in parts, then is looked through, then becomes sessions of the past.

    POST /page/import/parts ...      a part of the file, in order
    POST /page/import                lines: begun, progress ..., imported; or names, where the person is not known

Promises: a file of any size needs no more memory than a part; what was uploaded is deleted once it was read, when the
same person uploads another file, and when the server ends.
"""

from __future__ import annotations

import base64
import binascii
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from threading import Lock
from typing import Annotated

from fastapi import APIRouter, HTTPException, Response
from pydantic import BaseModel, Field

from companion import Companion
from domain import errors
from domain.histories import HistoryFile
from domain.imports import Look
from domain.workers import Stop
from interfaces.http.callers import Calling, Stopping
from interfaces.http.page.preferred_language import InLanguage
from interfaces.http.page_chat import Line, PageWork, Work, begun
from interfaces.messages import Words
from jobs.importing import Brought, FileProgress, Importing, digest_of, look, teller
from people import People

#: Bytes of one upload, at most.
_LARGEST = 4 << 30
_NAME = 200
#: Names that are offered where people talk with each other, those who said most first.
_NAMES = 30


class PagePart(BaseModel):
    """A part of a file, in base64, that begins at a byte of it. One at 0 begins an upload, in the place of another."""

    name: Annotated[str, Field(min_length=1, max_length=_NAME)]
    at: Annotated[int, Field(ge=0, le=_LARGEST)]
    content: str


class PageImport(BaseModel):
    """Import what was uploaded. ``me`` is the person's name in a chat between people."""

    me: Annotated[str, Field(max_length=_NAME)] = ""


@dataclass(frozen=True)
class PageUpload:
    """How much of a file is there."""

    size: int


@dataclass(frozen=True)
class PageSource:
    """A file that was imported."""

    number: int
    name: str
    source: str
    messages: int
    when: str
    done: bool


class _Uploads:
    """The one file of each person that is being uploaded, in a private folder."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._folder: Path | None = None
        self._files: dict[str, Path] = {}

    def add(self, person: str, part: PagePart) -> int:
        """Store a part. Returns how much is there; 409 where it does not follow, 413 where it is too much."""
        content = _decoded(part.content)
        with self._lock:
            path = self._file(person, part.name) if part.at == 0 else self._files.get(person)
            size = path.stat().st_size if path and path.exists() else 0
            if path is None or size != part.at:
                raise HTTPException(409, "Conflict")
            if size + len(content) > _LARGEST:
                raise HTTPException(413, "Content Too Large")
            with path.open("ab") as file:
                file.write(content)
            return size + len(content)

    def path(self, person: str) -> Path:
        """What a person uploaded; 404 where there is nothing."""
        path = self._files.get(person)
        if path is None:
            raise HTTPException(404, "Not Found")
        return path

    def drop(self, person: str) -> None:
        """Delete what a person uploaded."""
        with self._lock:
            if path := self._files.pop(person, None):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _file(self, person: str, name: str) -> Path:
        if old := self._files.pop(person, None):
            shutil.rmtree(old.parent, ignore_errors=True)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="old-friend-upload-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        self._files[person] = folder / (PurePath(name.replace("\\", "/")).name.strip(". ") or "upload")
        return self._files[person]


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise HTTPException(422, "Unprocessable Content") from None


def add_routes(api: APIRouter, people: People) -> None:
    """What the page asks of imports."""
    uploads = _Uploads()

    @api.get("/import")
    def imports(caller: Calling, words: InLanguage) -> list[PageSource]:
        """What was imported, the newest first."""
        with people.companion(caller.person()) as companion:
            return [
                PageSource(
                    one.number, one.name, _source(words, one.kind), one.messages, one.stored_at, one.state == "done"
                )
                for one in reversed(companion.memory.imports.all())
            ]  # fmt: skip

    @api.post("/import/parts")
    def add_part(part: PagePart, caller: Calling) -> PageUpload:
        return PageUpload(uploads.add(caller.person(), part))

    @api.post("/import")
    async def run(wish: PageImport, caller: Calling, words: InLanguage, server: Stopping) -> Response:
        work = _import_work(words, uploads, caller.person(), wish.me.strip())
        return await begun(PageWork(people, words, caller.person(), work), server)

    @api.post("/import/{number}/undo")
    def undo(number: int, caller: Calling) -> PageUpload:
        """Take a whole import back, with all that was learned from it; how many messages are gone."""
        with people.companion(caller.person()) as companion, companion.turns, companion.background.paused():
            if number not in {one.number for one in companion.memory.imports.all()}:
                raise HTTPException(404, "Not Found")
            return PageUpload(max(companion.memory.imports.take_back(number), default=0))


def _import_work(words: Words, uploads: _Uploads, person: str, me: str) -> Work:
    """Read an upload into the memory; where it is not clear who the person is, ``names`` and the upload stays."""

    def work(companion: Companion, stop: Stop) -> Iterator[Line]:
        from histories import MachineZone, ReadingOptions, recognise

        path = uploads.path(person)
        yield {"is": "begun"}
        try:
            files = [one for one in recognise(path, ReadingOptions(me, MachineZone())) if one.source]
            if not me and (names := _unclear(companion, files, path, stop)):
                yield {"is": "names", "names": names}
                return
            digest = digest_of(path, stop)
            for file in files:
                yield from _imported(companion, words, file, path, digest, me, stop)
        except errors.UsageError as fault:
            uploads.drop(person)
            raise errors.UsageError(fault.key, **{**fault.details, "path": path.name}) from fault
        uploads.drop(person)

    return work


def _unclear(companion: Companion, files: list[HistoryFile], path: Path, stop: Stop) -> list[str]:
    """The names in chats between people where nobody is known to be the person."""
    names: dict[str, int] = {}
    settings, who = companion.settings, teller((), path, companion.clock())
    for file in files:
        *_, seen = look(file, who, settings.window_size, settings.group_size, stop)
        assert isinstance(seen, Look)
        if seen.unclear:
            names |= seen.names
    return sorted(names, key=lambda name: -names[name])[:_NAMES]


def _imported(
    companion: Companion, words: Words, file: HistoryFile, path: Path, digest: str, me: str, stop: Stop
) -> Iterator[Line]:
    who = teller([me] if me else (), path, companion.clock())
    for event in Importing(companion.memory).run(file, path.name, digest, who, stop):
        if isinstance(event, FileProgress):
            share = min(1.0, event.done / event.size) if event.size else 0.0
            yield {"is": "progress", "share": share, "messages": event.messages}
        elif isinstance(event, Brought):
            yield {
                "is": "imported", "source": _source(words, event.source), "messages": event.messages,
                "known": event.known, "sessions": event.sessions,
                "left_out": sum(event.left_out.values()) + event.unread_count,
            }  # fmt: skip


def _source(words: Words, kind: str) -> str:
    """What a format is called."""
    key = f"import.source.{kind.replace('-', '_')}"
    return words.say(key) if words.has(key) else kind
