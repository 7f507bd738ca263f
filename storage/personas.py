"""The self-image and the user persona: two plain text files, and every version they ever had.

The newest version in the database is the persona; the file is where a person reads and edits it. The database remembers
which version was last written to the file, so that three cases can be distinguished:

- the file says what was written to it: nothing happened, or a newer version has not reached it yet (a crash
  between commit and file). The newest version is written to it.
- the file says anything else: a hand edit. It wins, and becomes a version of origin ``hand``. A file emptied
  by hand is such an edit: the persona is empty then, and ``restore`` brings any version back.
- there is no file, or something that cannot be one (a folder, a pipe, more than 1 MB). It is kept aside under
  another name, and the newest version is written where it was: a file that is gone says nothing, it may have
  been lost in a copy.

A byte order mark, CRLF, a missing or doubled end of line are not edits. Bytes that are no UTF-8 are read with
U+FFFD in their place, and the original is kept aside. The files follow each commit that changes a persona.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from domain import errors
from domain.facts import LineEvidence, PersonaDraft
from domain.files import make_private_folder, replace_file, storage_error
from domain.records import PERSONAS, Origin, Persona, PersonaVersion, RebuildRequest
from domain.text import clean_text
from storage.engine import Commit, Stamp
from storage.jobs import Rebuilds
from storage.persona_versions import PersonaVersions
from storage.sessions import UndoableSaves
from storage.sqlite.database import Database

_FILE: dict[Persona, str] = {"self": "self_image.txt", "user": "user_image.txt"}
_MAX_BYTES = 1_000_000
#: Instead of a version that was written: what the file says was erased and is not to be read again.
_ERASED = 0


class Personas:
    """Both personas. ``read`` notices hand edits, ``write`` is atomic, no version is ever lost.

    >>> personas.write("user", "Ann likes tea.", "model", session_id)
    >>> personas.read("user")
    'Ann likes tea.'
    """

    def __init__(
        self,
        folder: Path,
        database: Database,
        rebuilds: Rebuilds,
        saves: UndoableSaves,
        stamp: Stamp,
        log: logging.Logger,
    ) -> None:
        self.versions = PersonaVersions(database)
        self._folder = folder
        self._database = database
        self._rebuilds = rebuilds
        self._saves = saves
        self._stamp = stamp
        self._log = log
        database.on_commit(self._write_changed)

    def path(self, persona: Persona) -> Path:
        """Where the person finds the file."""
        return self._folder / _FILE[persona]

    def read(self, persona: Persona) -> str:
        """The persona as it is now; a hand edit has become a version by then.

        Trouble with the file is logged, and the newest version is the persona.
        """
        try:
            latest = self.newest(persona)
        except errors.StorageError as fault:
            self._log.warning("the file of the %s persona is out of reach: %s", persona, fault)
            latest = self.versions.newest(persona)
        return latest.text if latest else ""

    def newest(self, persona: Persona) -> PersonaVersion | None:
        """The version in force, hand edits noted; None while there has never been one.

        Where the file says what was last written to it, and that is the newest version, nothing has to be settled.
        """
        said = self._file_content(persona)
        latest, laid = self.versions.newest_and_laid(persona)
        if said is not None and latest and (said, laid) == (latest.text, latest.version):
            return latest
        nothing = latest is None and laid is None and not os.path.lexists(self.path(persona))
        if nothing and self._folder.is_dir():
            return None
        self.settle(persona)
        return self.versions.newest(persona)

    def history(self, persona: Persona) -> list[PersonaVersion]:
        """Every version, oldest first."""
        return self.versions.all(persona)

    def line_evidence(self, persona: Persona) -> list[LineEvidence]:
        """What the lines of a persona as it is now rest on; lines that a person wrote are not among them."""
        self.read(persona)
        return self.versions.line_evidence(persona)

    def pins(self, persona: Persona) -> tuple[str, ...]:
        """The lines that rewrites of a persona must keep."""
        return self.versions.pins(persona)

    def write(
        self, persona: Persona, text: str, origin: Origin, session_id: str | None = None
    ) -> PersonaVersion | None:
        """Make ``text`` the persona: one commit, then one atomic replacement of the file.

        Returns the version in force afterwards.
        """
        self.settle(persona)
        with self._database.write() as tx:
            self.versions.add(tx, persona, as_persona(text), origin, self._stamp.now(), session_id)
        return self.newest(persona)

    def restore(self, version: int) -> PersonaVersion | None:
        """Make an older version the newest one, without what is hidden; None when there is no such version."""
        older = self.versions.find(version)
        return self.write(older.persona, self.versions.text_without_hidden(older), "restore") if older else None

    def rebuild(
        self, requests: Sequence[RebuildRequest], base: PersonaVersion | None, draft: PersonaDraft | str
    ) -> bool:
        """Store a persona that was to be rebuilt from the version ``base``.

        False, and nothing is stored, when it is not asked for any more, or a newer version is in force by now.
        """
        if not requests:
            return False
        persona: Persona = "self" if requests[0].what == "self" else "user"
        with self._database.write() as tx:
            if self.versions.newest(persona) != base or not self._rebuilds.remove_fulfilled(tx, requests):
                return False
            self.versions.replace(tx, persona, base, persona_draft(draft), self._stamp.now())
            self._saves.drop(tx)
        return True

    def pin(self, persona: Persona, text: str) -> None:
        """Keep a line through every rewrite, and put it into the persona at once: one commit, then the file."""
        self.settle(persona)
        latest = self.versions.newest(persona)
        before, now = latest.text if latest else "", self._stamp.now()
        after = as_persona(with_pins(before, [as_persona(text)]))
        with self._database.write() as tx:
            self.versions.add_pin(tx, persona, now, text, added=after != before)
            if after != before:
                self.versions.add(tx, persona, after, "hand", now)

    def unpin(self, persona: Persona, text: str) -> None:
        """Let go of a pin; the line goes with it if the pin brought it, and it is there word for word."""
        self.settle(persona)
        latest = self.versions.newest(persona)
        before = latest.text if latest else ""
        with self._database.write() as tx:
            brought = self.versions.remove_pin(tx, persona, text)
            after = without_block(before, as_persona(text)) if brought else before
            if after != before:
                self.versions.add(tx, persona, after, "hand", self._stamp.now())

    @contextmanager
    def losing_lines(self, turns: Sequence[str]) -> Iterator[None]:
        """One commit in which messages go, and with them the lines of the personas as they are that rest on them."""
        if any(self.versions.lines_resting_on(persona, turns) for persona in PERSONAS):
            self.settle_all()
        with self._database.write() as tx:
            lines = {persona: set(self.versions.lines_resting_on(persona, turns)) for persona in PERSONAS}
            yield
            latest = {persona: self.versions.newest(persona) for persona, gone in lines.items() if gone}
            for persona, text in ((persona, one.text) for persona, one in latest.items() if one):
                left = [line for line in text.split("\n") if line.strip() not in lines[persona]]
                self.versions.add(tx, persona, as_persona("\n".join(left)), "erase", self._stamp.now())

    @contextmanager
    def losing_all_lines(self, turns: Sequence[str]) -> Iterator[None]:
        """The same, with the lines of every version."""
        if any(self.versions.lines_ever_resting_on(turns).values()):
            self.settle_all()
        with self._database.write() as tx:
            lost = {persona: lines for persona, lines in self.versions.lines_ever_resting_on(turns).items() if lines}
            yield
            for persona, lines in lost.items():
                self.versions.remove_lines(tx, persona, lines)

    def settle_all(self) -> None:
        """Bring both files and their versions together."""
        self.settle(*PERSONAS)

    def settle(self, *personas: Persona) -> None:
        """Bring file and versions together: note a hand edit, or write the newest version to the file.

        The file is judged in one transaction: a version that was committed in between would make what was written
        before it look like an edit. Raises StorageError when the file can neither be read nor written.
        """
        if not self._folder.is_dir():
            make_private_folder(self._folder)
        with self._database.write():
            for persona in personas:
                self._reconcile_file(persona)

    def replaced_files(self) -> list[Path]:
        """What was found in the place of a persona and is kept under another name."""
        return sorted(self._folder.glob("*.aside-*")) if self._folder.is_dir() else []

    def _write_changed(self, done: Commit) -> None:
        if "personas" in done.follows:
            self.settle_all()

    def _reconcile_file(self, persona: Persona) -> None:
        try:
            said = self._read_file(persona)
        except OSError as fault:
            raise storage_error(fault, self.path(persona)) from fault
        latest, laid = self.versions.newest_and_laid(persona)
        if said is None or laid == _ERASED:
            self._write_file(persona, latest)
        elif latest is not None and said == latest.text:
            if laid != latest.version:
                self.versions.set_laid(persona, latest.version)
        elif laid is not None and (written := self.versions.find(laid)) and said == written.text:
            self._write_file(persona, latest)
        elif said or laid is not None:
            self._take_edit(persona, said)
        else:
            self._write_file(persona, latest)

    def _take_edit(self, persona: Persona, said: str) -> None:
        """A hand edit becomes the newest version; what could not be read is kept aside first."""
        content = self.path(persona).read_bytes()
        if not read_bytes(content)[1]:
            replace_file(self._aside_name(persona), content)
        with self._database.write() as tx:
            version = self.versions.add(tx, persona, said, "hand", self._stamp.now())
            self.versions.set_laid(persona, version.version)

    def _write_file(self, persona: Persona, version: PersonaVersion | None) -> None:
        """Write a version to the file; without one there is no file."""
        if version is not None:
            replace_file(self.path(persona), f"{version.text}\n".encode() if version.text else b"")
            self.versions.set_laid(persona, version.version)
        elif self.versions.written_number(persona) is not None:
            self.path(persona).unlink(missing_ok=True)
            self.versions.set_laid(persona, None)

    def _read_file(self, persona: Persona) -> str | None:
        """What the file says; None when there is none, whatever stood in its place being aside now."""
        path = self.path(persona)
        try:
            found = path.stat()
        except FileNotFoundError:
            path.unlink(missing_ok=True)
            return None
        if _is_text_file(found):
            return read_bytes(path.read_bytes())[0]
        os.rename(path, self._aside_name(persona))
        return None

    def _file_content(self, persona: Persona) -> str | None:
        """What the file says, if it is one that can be read as it is; nothing is moved."""
        path = self.path(persona)
        try:
            if not _is_text_file(path.stat()):
                return None
            said, whole = read_bytes(path.read_bytes())
        except OSError:
            return None
        return said if whole else None

    def _aside_name(self, persona: Persona) -> Path:
        path, number = self.path(persona), 1
        while (aside := path.with_name(f"{path.name}.aside-{number}")).exists():
            number += 1
        return aside


def _is_text_file(found: os.stat_result) -> bool:
    """Whether something can be the file of a persona; a pipe would never end being read."""
    return stat.S_ISREG(found.st_mode) and found.st_size <= _MAX_BYTES


# -- what may become a persona: pure rules on text


_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def missing_pins(text: str, pins: Iterable[str]) -> list[str]:
    """Pinned lines that are not in the text; spaces and line ends do not count."""
    said = " ".join(text.split())
    return [pin.strip() for pin in pins if " ".join(pin.split()) not in said]


def with_pins(text: str, pins: Iterable[str]) -> str:
    """The text with every pinned line in it; what a rewrite left out is added at the end.

    >>> with_pins("Likes tea.", ["Call her Ann.", "Likes  tea."])
    'Likes tea.\\nCall her Ann.'
    """
    missing = missing_pins(text, pins)
    return "\n".join([text.rstrip(), *missing]).strip() if missing else text


def without_block(text: str, block: str) -> str:
    """The text without these lines, where they stand together word for word.

    >>> without_block("Likes tea.\\nCall her Ann.", "Call her Ann.")
    'Likes tea.'
    """
    lines, wanted = text.split("\n"), block.split("\n")
    for at in range(len(lines) - len(wanted) + 1):
        if lines[at : at + len(wanted)] == wanted:
            return as_persona("\n".join(lines[:at] + lines[at + len(wanted) :]))
    return text


def as_persona(content: str) -> str:
    """Text as it is kept and compared: no controls, ``\\n`` line ends, no blank edges."""
    return clean_text(content).strip()


def persona_draft(made: PersonaDraft | str) -> PersonaDraft:
    """What a model made of a persona, as it is kept."""
    if isinstance(made, str):
        return PersonaDraft(as_persona(made))
    lines = tuple(replace(one, line=as_persona(one.line)) for one in made.lines)
    return PersonaDraft(as_persona(made.text), lines)


def read_bytes(content: bytes) -> tuple[str, bool]:
    """What the bytes of a file say, and whether every one of them could be read.

    A byte order mark chooses UTF-8 or UTF-16; without one it is UTF-8. What cannot be read becomes U+FFFD.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return as_persona(content.decode(encoding)), True
    except UnicodeDecodeError:
        return as_persona(content.decode(encoding, "replace")), False
