"""What is done without a conversation: ``--check`` examines everything and gives each part one line; ``--backup`` and
``--restore`` carry the whole memory as one file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TextIO

from config import ENV_LINE
from domain import errors
from domain.errors import Exit
from domain.settings import Settings
from domain.workers import Stop
from interfaces.messages import Words
from interfaces.terminal.pump import waited
from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning, cells_of
from llm import Llm, Message
from memory import Memory, back_up, restore

#: Seconds that the index has to catch up while it is examined.
_PATIENCE = 20.0
#: So many rows that differ are named.
_ROWS_SHOWN = 8
#: What the file itself is to blame for when it is restored from.
_NO_BACKUP = ("storage.damaged", "storage.not_ours", "storage.failed")
_LOOKS: dict[str, Meaning] = {"ok": "good", "note": "warning", "bad": "trouble"}


@dataclass
class Check:
    """One examination. ``open_memory`` opens the data directory, and may fail."""

    settings: Settings
    llm: Llm
    open_memory: Callable[[], Memory]
    screen: Screen
    words: Words
    stop: Stop
    _worst: Exit = field(default=Exit.OK)

    def run(self) -> Exit:
        """Examine everything. Returns the exit code of the first thing that is bad."""
        self._settings()
        self._examine("chat", self._chat)
        self._examine("embedding", self._embedding)
        try:
            memory = self.open_memory()
        except errors.OldFriendError as error:
            self._bad("database", error)
            return self._worst
        try:
            self._examine("database", lambda: self._database(memory))
            self._examine("index", lambda: self._index(memory))
            self._examine("persona", lambda: self._persona(memory))
        finally:
            memory.close()
        return self._worst

    def _settings(self) -> None:
        for notice in self.settings.notices:
            if notice.key == ENV_LINE:
                self._bad("settings", errors.SettingsError(((notice.key, dict(notice.details)),)))
            else:
                self._line("note", "settings", self.words.notice(notice))
        if not self.settings.notices:
            self._line("ok", "settings", self.words.say("check.settings_ok"))

    def _examine(self, part: str, examination: Callable[[], str]) -> None:
        """Run one examination; what it returns is said, what it raises is bad."""
        try:
            said = examination()
        except errors.OldFriendError as error:
            self._bad(part, error)
        else:
            self._line("ok", part, said)

    def _chat(self) -> str:
        described = self.llm.describe()
        if described.standin:
            return self.words.say("check.chat_standin")
        hello = [Message("user", "Hello! / 你好！")]
        waited(lambda: list(self.llm.chat(hello, self.stop, stream=True)), self.stop)
        return self.words.say("check.chat_ok", model=described.model, base=described.base)

    def _embedding(self) -> str:
        vector = waited(lambda: self.llm.embedder.embed(["hello"]), self.stop)[0]
        if vector is None:
            raise errors.EmbeddingError()
        return self.words.say("check.embedding_ok", model=self.llm.embedder.model, dimension=len(vector))

    def _database(self, memory: Memory) -> str:
        if problems := memory.problems():
            raise errors.Damaged(path=memory.folder / "memory.db", reason=problems[0])
        if differing := memory.differing():
            shown = ", ".join(differing[:_ROWS_SHOWN]) + (" …" if len(differing) > _ROWS_SHOWN else "")
            raise errors.Damaged(
                "storage.differs", path=memory.folder / "memory.db", count=len(differing), what=shown
            )
        sessions, rounds = memory.sessions.counts()
        count = self.words.count
        return self.words.say(
            "check.database_ok", sessions=count("session", sessions), rounds=count("round", rounds)
        )

    def _index(self, memory: Memory) -> str:
        memory.start_index()
        memory.settle_index(_PATIENCE)
        status = memory.index_status()
        if status.trouble:
            raise status.trouble
        return self.words.say("check.index_ok", vectors=status.vectors, waiting=status.waiting)

    def _persona(self, memory: Memory) -> str:
        memory.personas.read("self")
        memory.personas.read("user")
        return self.words.say("check.persona_ok")

    def _bad(self, part: str, error: errors.OldFriendError) -> None:
        self._line("bad", part, self.words.error(error))
        if self._worst is Exit.OK:
            self._worst = error.exit_code

    def _line(self, verdict: str, part: str, said: str) -> None:
        shown, name = self.words.say(f"check.{verdict}"), self.words.say(f"check.{part}")
        pads = [" " * max(1, width - cells_of(text)) for text, width in ((shown, 6), (name, 12))]
        self.screen.spans([(shown + pads[0], (_LOOKS[verdict],)), (name + pads[1] + said + "\n", ("words",))])


def back_up_to(target: Path, folder: Path, words: Words, out: TextIO) -> Exit:
    """Copy the memory in ``folder`` to a new file. Raises StorageError."""
    size = back_up(folder, target)
    out.write(words.say("backup.done", path=target, size=f"{size / 1024:.0f} KB") + "\n")
    return Exit.OK


def restore_from(
    backup: Path, folder: Path, words: Words, out: TextIO, clock: Callable[[], datetime]
) -> Exit:
    """Put a backup in the place of the memory in ``folder``. Raises StorageError."""
    try:
        former = restore(backup, folder, clock)
    except errors.StorageError as error:
        if error.details.get("path") != str(backup) or error.key not in _NO_BACKUP:
            raise
        raise _refused(backup, error) from error
    key = "backup.restored_over" if former else "backup.restored"
    out.write(words.say(key, path=backup, former=former) + "\n")
    return Exit.OK


def _refused(backup: Path, error: errors.StorageError) -> errors.Damaged:
    """Why a file is not restored: it is no backup at all, or one that is damaged."""
    if error.key == "storage.damaged" and _is_database(backup):
        return errors.Damaged("backup.damaged", path=str(backup), reason=error.details.get("reason"))
    return errors.Damaged("backup.not_one", path=str(backup))


def _is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's files do."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False
