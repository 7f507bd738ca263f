"""The self-image and the user persona: two plain text files, and every version they ever had.

The newest version in the database is the persona; the file is where a person reads and edits it. The database remembers
which version was last written to the file, so that three cases can be distinguished:

- the file says what was written to it, or any version since: nothing happened, or a newer version has not reached
  it yet (a crash between commit and file, or between file and the note of it). The newest version is written to it.
- the file says anything else: a hand edit. It wins, and becomes a version of origin ``hand``. A file emptied
  by hand is such an edit: the persona is empty then, and ``restore`` brings any version back.
- there is no file, or something that cannot be one (a folder, a pipe, more than 1 MB). It is kept aside under
  another name, and the newest version is written where it was: a file that is gone says nothing, it may have
  been lost in a copy.

Any number of programs read and write the files: each is judged inside of a write, after all that others committed.

A byte order mark, CRLF, a missing or doubled end of line are not edits. Bytes that are no UTF-8 are read with
U+FFFD in their place, and the original is kept aside. The files follow each commit that changes a persona.

A line that the program wrote is based on messages and has a day and an importance. A row of evidence belongs to the
version that added it; for a line the row of the newest version counts, and one without messages says that the line is
based on nothing. Rows stay as long as any version has their line, so that an erasure finds it. ``LineFilter`` decides
which lines of a version are removed with messages or words.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from domain import errors
from domain.facts import LineEvidence, PersonaDraft
from domain.files import make_private_folder, replace_file, storage_error
from domain.patterns import pattern_of
from domain.records import PERSONAS, Message, Origin, Persona, PersonaVersion, RebuildRequest
from domain.text import clean_text
from language.reactions import manner_lines
from language.scripts import is_unspaced
from storage.engine import EACH, Commit, Database, Row, Stamp, Transaction, read_meta, set_meta
from storage.jobs import Rebuilds
from storage.messages import UndoableSaves

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
        folder: Path | None,
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

    def path(self, persona: Persona) -> Path:
        """Where the person finds the file, if there is one."""
        return (self._folder or Path()) / _FILE[persona]

    def place(self, persona: Persona) -> Path | str:
        """Where the persona is: its file, or the database where there are no files."""
        return self.path(persona) if self._folder else self._database.path

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
        if self._folder is None:
            return self.versions.newest(persona)
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
        with self._database.write() as tx:
            self.settle(persona)
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
            self.settle(persona)
            if self.versions.newest(persona) != base or not self._rebuilds.remove_fulfilled(tx, requests):
                return False
            self.versions.replace(tx, persona, base, persona_draft(draft), self._stamp.now())
            self._saves.drop(tx)
        return True

    def pin(self, persona: Persona, text: str) -> None:
        """Keep a line through every rewrite, and put it into the persona at once: one commit, then the file."""
        with self._database.write() as tx:
            latest = self.newest(persona)
            before, now = latest.text if latest else "", self._stamp.now()
            after = as_persona(with_pins(before, [as_persona(text)]))
            self.versions.add_pin(tx, persona, now, text, added=after != before)
            if after != before:
                self.versions.add(tx, persona, after, "hand", now)

    def unpin(self, persona: Persona, text: str) -> None:
        """Let go of a pin; the line goes with it if the pin brought it, and it is there word for word."""
        with self._database.write() as tx:
            latest = self.newest(persona)
            before = latest.text if latest else ""
            brought = self.versions.remove_pin(tx, persona, text)
            after = without_block(before, as_persona(text)) if brought else before
            if after != before:
                self.versions.add(tx, persona, after, "hand", self._stamp.now())

    @contextmanager
    def losing_lines(self, messages: Sequence[str]) -> Iterator[None]:
        """One commit in which messages go, and with them the lines of the personas as they are that rest on them."""
        with self._database.write() as tx:
            if any(self.versions.lines_resting_on(persona, messages) for persona in PERSONAS):
                self.settle()
            lines = {persona: set(self.versions.lines_resting_on(persona, messages)) for persona in PERSONAS}
            yield
            latest = {persona: self.versions.newest(persona) for persona, gone in lines.items() if gone}
            for persona, text in ((persona, one.text) for persona, one in latest.items() if one):
                left = [line for line in text.split("\n") if line.strip() not in lines[persona]]
                self.versions.add(tx, persona, as_persona("\n".join(left)), "erase", self._stamp.now())

    @contextmanager
    def losing_all_lines(self, messages: Sequence[str]) -> Iterator[None]:
        """The same, with the lines of every version."""
        with self._database.write() as tx:
            if any(self.versions.lines_ever_resting_on(messages).values()):
                self.settle()
            lost = {persona: lines for persona, lines in self.versions.lines_ever_resting_on(messages).items() if lines}
            yield
            for persona, lines in lost.items():
                self.versions.remove_lines(tx, persona, lines)

    def settle(self, *personas: Persona) -> None:
        """Bring file and versions together, of both where none is named: note a hand edit, or write the newest version.

        The file is judged in one transaction: a version that was committed in between would make what was written
        before it look like an edit. Raises StorageError when the file can neither be read nor written.
        """
        if self._folder is None:
            return
        if not self._folder.is_dir():
            make_private_folder(self._folder)
        with self._database.write() as tx:
            if "personas" not in tx.commit.follows:  # else files follow this commit, and say nothing that may be undone
                for persona in personas or PERSONAS:
                    self._reconcile_file(persona)

    def replaced_files(self) -> list[Path]:
        """What was found in the place of a persona and is kept under another name."""
        return sorted(self._folder.glob("*.aside-*")) if self._folder and self._folder.is_dir() else []

    def write_changed(self, done: Commit) -> None:
        """Write the files that follow a commit; to be called after each."""
        if "personas" in done.follows:
            self.settle()

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
        elif laid is not None and self.versions.says_since(persona, laid, said):
            self._write_file(persona, latest)
        elif said or laid is not None:  # a hand edit; what could not be read is kept aside first
            content = self.path(persona).read_bytes()
            if not read_bytes(content)[1]:
                replace_file(self._aside_name(persona), content)
            with self._database.write() as tx:
                version = self.versions.add(tx, persona, said, "hand", self._stamp.now())
                self.versions.set_laid(persona, version.version)
        else:
            self._write_file(persona, latest)

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


def with_pins(text: str, pins: Iterable[str]) -> str:
    """The text with every pinned line in it; what a rewrite left out is added at the end.

    >>> with_pins("Likes tea.", ["Call her Ann.", "Likes  tea."])
    'Likes tea.\\nCall her Ann.'
    """
    said = " ".join(text.split())  # spaces and line ends do not count
    missing = [pin.strip() for pin in pins if " ".join(pin.split()) not in said]
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
    return PersonaDraft(as_persona(made.text), lines, tuple(map(as_persona, made.left_out)))


def read_bytes(content: bytes) -> tuple[str, bool]:
    """What the bytes of a file say, and whether every one of them could be read.

    A byte order mark chooses UTF-8 or UTF-16; without one it is UTF-8. What cannot be read becomes U+FFFD.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return as_persona(content.decode(encoding)), True
    except UnicodeDecodeError:
        return as_persona(content.decode(encoding, "replace")), False


_VERSION = "SELECT version, persona, timestamp, text, origin, session_id FROM persona"
_EVIDENCE = "SELECT l.seq, l.line, l.day, l.importance, l.version FROM line_evidence l WHERE l.persona = ?"
#: In ``meta``, before the name of a persona: the number of the version that its file says.
_LAID = "persona."
#: In ``meta``: the parts of the manner whose line a person changed or removed.
_MANNER = "manner"


class PersonaVersions:
    """Reads and writes the tables ``persona``, ``line_evidence``, ``line_message`` and ``pin``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, persona: Persona) -> list[PersonaVersion]:
        """Every version of a persona, oldest first."""
        rows = self._database.run(f"{_VERSION} WHERE persona = ? ORDER BY version", persona)
        return [PersonaVersion(*row) for row in rows]

    def newest(self, persona: Persona) -> PersonaVersion | None:
        """The version in force; None while there has never been one."""
        return self.newest_and_laid(persona)[0]

    def newest_and_laid(self, persona: Persona) -> tuple[PersonaVersion | None, int | None]:
        """Both in one look: the version in force, and the number of the one that is in the file."""
        laid = "(SELECT value FROM meta WHERE key = ?)"
        query = f"{_VERSION.replace(' FROM', f', {laid} FROM', 1)} WHERE persona = ? ORDER BY version DESC LIMIT 1"
        rows = self._database.run(query, _LAID + persona, persona)
        if not rows:
            return None, self.written_number(persona)
        return PersonaVersion(*tuple(rows[0])[:-1]), None if rows[0][-1] is None else int(rows[0][-1])

    def find(self, number: int) -> PersonaVersion | None:
        """One version by its number."""
        rows = self._database.run(f"{_VERSION} WHERE version = ?", number)
        return PersonaVersion(*rows[0]) if rows else None

    def says_since(self, persona: Persona, number: int, text: str) -> bool:
        """Whether a version says this, of those from ``number`` on."""
        query = "SELECT 1 FROM persona WHERE persona = ? AND version >= ? AND text = ? LIMIT 1"
        return bool(self._database.run(query, persona, number, text))

    def add(
        self, tx: Transaction, persona: Persona, text: str, origin: Origin, now: str, session_id: str | None = None
    ) -> PersonaVersion:
        """A new version, in force from this commit on; its file is written afterwards.

        A line on how the companion talks that a person changes or removes is theirs, until an older one is restored.
        """
        if persona == "self" and origin not in ("model", "erase"):
            latest, known, said = self.newest(persona), self.manner_by_hand(), manner_lines(text)
            was = manner_lines(latest.text if latest else "")
            changed = {part for part, _ in was.items() ^ said.items()}
            if (edited := known - changed if origin == "restore" else known | changed) != known:
                set_meta(self._database, _MANNER, json.dumps(sorted(edited)))
        version = PersonaVersion(tx.next("persona"), persona, now, text, origin, session_id)
        columns = "version, persona, timestamp, text, origin, session_id"
        values = (version.version, persona, now, text, origin, session_id)
        tx.do(f"INSERT INTO persona ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *values)
        tx.follows("personas")
        return version

    def manner_by_hand(self) -> frozenset[str]:
        """The parts of the manner whose line a person changed or removed."""
        return frozenset(json.loads(read_meta(self._database, _MANNER) or "[]"))

    def written_number(self, persona: Persona) -> int | None:
        """The number of the version that was last written to the file; 0 when that was erased, None when none was."""
        value = read_meta(self._database, _LAID + persona)
        return None if value is None else int(value)

    def set_laid(self, persona: Persona, number: int | None) -> None:
        """Note which version the file says; None when there is no file."""
        set_meta(self._database, _LAID + persona, None if number is None else str(number))

    def cut(self, tx: Transaction, versions: Iterable[tuple[PersonaVersion, str]]) -> None:
        """Leave less of versions; a file that says one of them as it was is not to be read again."""
        for version, left in versions:
            tx.do("UPDATE persona SET text = ? WHERE version = ?", left, version.version)
            laid = (_LAID + version.persona, str(version.version))
            tx.do("UPDATE meta SET value = '0' WHERE key = ? AND value = ?", *laid)
            tx.follows("personas")

    # -- drafts of a model ---------------------------------------------------------------------------------------

    def add_draft(
        self, tx: Transaction, persona: Persona, draft: PersonaDraft, now: str, session_id: str | None
    ) -> int:
        """A version that a model made, with what its lines rest on. Returns its number."""
        version = self.add(tx, persona, draft.text, "model", now, session_id)
        self._add_evidence(tx, version, draft.lines)
        if draft.left_out:
            left = f"UPDATE line_evidence SET left_out = ? WHERE persona = ? AND line IN {EACH}"
            tx.do(left, version.version, persona, list(draft.left_out))
        return version.version

    def left_out(self, version: PersonaVersion) -> frozenset[str]:
        """The lines that a version has no room for."""
        query = "SELECT DISTINCT line FROM line_evidence WHERE persona = ? AND left_out = ?"
        return frozenset(row["line"] for row in self._database.run(query, version.persona, version.version))

    def replace(
        self, tx: Transaction, persona: Persona, base: PersonaVersion | None, draft: PersonaDraft, now: str
    ) -> None:
        """The persona that was made from ``base``: no version where only what its lines rest on is new."""
        if draft.text != (base.text if base else ""):
            self.add_draft(tx, persona, draft, now, None)
        elif base:
            self._add_evidence(tx, base, draft.lines, known_version=True)

    def bring_back(self, tx: Transaction, persona: Persona, save: int, now: str) -> None:
        """Make a persona what it was before the version ``save``, what its lines rested on too."""
        older = [version.text for version in self.all(persona) if version.version < save]
        text = older[-1] if older else ""
        restored = self.add(tx, persona, text, "restore", now)
        lines = list(dict.fromkeys(lines_of(text)))
        before, after = self._newest_evidence(persona, lines, save), self._newest_evidence(persona, lines)
        was = {line: before.get(line, LineEvidence(line, ())) for line in lines if line in after}
        changed = {line: one for line, one in was.items() if not _adds_nothing(after[line], one)}
        self._write_evidence(tx, restored, changed)

    # -- what lines rest on --------------------------------------------------------------------------------------

    def line_evidence(self, persona: Persona) -> list[LineEvidence]:
        """What the lines of a persona as it is now rest on, in their order; lines that rest on nothing are left out."""
        newest = self.newest(persona)
        lines = list(dict.fromkeys(lines_of(newest.text))) if newest else []
        known = self._newest_evidence(persona, lines)
        return [known[line] for line in lines if line in known and known[line].messages]

    def every_line_evidence(self, persona: Persona) -> list[LineEvidence]:
        """What the lines of every version rest on, of each line all that was ever recorded."""
        return [one for _, one in self._read_evidence(self._database.run(f"{_EVIDENCE} ORDER BY l.seq", persona))]

    def lines_resting_on(self, persona: Persona, messages: Sequence[str]) -> list[str]:
        """The lines of a persona as it is now that rest on any of these messages."""
        if not self._any_rests_on(messages):
            return []
        return [one.line for one in self.line_evidence(persona) if not set(messages).isdisjoint(one.messages)]

    def lines_ever_resting_on(self, messages: Sequence[str]) -> dict[Persona, set[str]]:
        """The lines of any version that rest on any of these messages; a pinned one rests on the person's own word."""
        if not self._any_rests_on(messages):
            return {persona: set() for persona in PERSONAS}
        pinned = {line.strip() for persona in PERSONAS for pin in self.pins(persona) for line in pin.split("\n")}
        found: dict[Persona, set[str]] = {}
        for persona in PERSONAS:
            lines = dict.fromkeys(line for version in self.all(persona) for line in lines_of(version.text))
            known = self._newest_evidence(persona, list(lines))
            resting = {line for line, one in known.items() if not set(messages).isdisjoint(one.messages)}
            found[persona] = resting - pinned
        return found

    def text_without_hidden(self, version: PersonaVersion) -> str:
        """The text of a version without the lines that rest on messages which the person asked to have forgotten."""
        hidden = [row[0] for row in self._database.run("SELECT text_id FROM conversation WHERE hidden = 1")]
        gone = self.lines_ever_resting_on(hidden)[version.persona] if hidden else set()
        return "\n".join(line for line in version.text.split("\n") if line.strip() not in gone)

    def remove_lines(self, tx: Transaction, persona: Persona, lines: Collection[str]) -> None:
        """Leave these lines out of every version of a persona; the versions stay."""
        left = [(version, remove_pieces(version.text, set(), lines)) for version in self.all(persona)]
        self.cut(tx, [(version, text) for version, text in left if text != version.text])
        self.follow_lines(tx, ())

    def follow_lines(self, tx: Transaction, removed: Sequence[str]) -> None:
        """Let evidence follow the lines: a line that is removed takes it along, one that loses a part keeps it."""
        for persona in PERSONAS:
            there = {line for version in self.all(persona) for line in lines_of(version.text)}
            rows = self._database.run("SELECT seq, line, version FROM line_evidence WHERE persona = ?", persona)
            lost = [row for row in rows if row["line"] not in there or row["line"] in removed]
            left = [(row, remove_pieces(row["line"], set(removed))) for row in lost]
            gone = [(row["seq"],) for row, line in left if line not in there]
            tx.many("DELETE FROM line_evidence WHERE seq = ?", gone)
            taken = "DELETE FROM line_evidence WHERE persona = ? AND line = ? AND version = ? AND seq <> ?"
            for row, line in ((row, line) for row, line in left if line in there):
                tx.do(taken, persona, line, row["version"], row["seq"])
                tx.do("UPDATE line_evidence SET line = ? WHERE seq = ?", line, row["seq"])

    def _any_rests_on(self, messages: Sequence[str]) -> bool:
        query = (
            f"SELECT 1 FROM line_message t JOIN conversation c ON c.seq = t.message WHERE c.text_id IN {EACH} LIMIT 1"
        )
        return bool(messages and self._database.run(query, list(messages)))

    def _newest_evidence(
        self, persona: Persona, lines: Sequence[str], before: int | None = None
    ) -> dict[str, LineEvidence]:
        """What counts for each of these lines, or counted before a version."""
        rows = self._database.run(f"{_EVIDENCE} AND l.line IN {EACH}", persona, list(lines)) if lines else []
        counted = [row for row in rows if before is None or row["version"] < before]
        counted.sort(key=lambda row: int(row["version"]))
        return {row["line"]: one for row, one in self._read_evidence(counted)}

    def _read_evidence(self, rows: Sequence[Row]) -> list[tuple[Row, LineEvidence]]:
        query = (
            "SELECT t.line, c.text_id FROM line_message t JOIN conversation c ON c.seq = t.message"
            f" WHERE t.line IN {EACH} ORDER BY c.seq"
        )
        messages: dict[int, list[str]] = defaultdict(list)
        for line, text_id in self._database.run(query, [row["seq"] for row in rows]) if rows else ():
            messages[line].append(text_id)
        made = (LineEvidence(row["line"], tuple(messages[row["seq"]]), row["day"], row["importance"]) for row in rows)
        return list(zip(rows, made, strict=True))

    def _add_evidence(
        self, tx: Transaction, version: PersonaVersion, lines: Iterable[LineEvidence], *, known_version: bool = False
    ) -> None:
        there = list(dict.fromkeys(lines_of(version.text)))
        known = self._newest_evidence(version.persona, there)
        named = [(one.line.strip(), one) for one in lines if one.messages]
        new = {line: one for line, one in named if line in there and not _adds_nothing(known.get(line), one)}
        if known_version and new:
            again = f"DELETE FROM line_evidence WHERE persona = ? AND version = ? AND line IN {EACH}"
            tx.do(again, version.persona, version.version, list(new))
        self._write_evidence(tx, version, new)

    def _write_evidence(self, tx: Transaction, version: PersonaVersion, new: Mapping[str, LineEvidence]) -> None:
        if not new:
            return
        numbered = list(enumerate(new.items(), start=tx.next("line_evidence", len(new))))
        columns = "(persona, version, seq, line, day, importance) VALUES (?, ?, ?, ?, ?, ?)"
        made_by = version.persona, version.version
        rows = [(*made_by, seq, line, one.date, one.importance) for seq, (line, one) in numbered]
        tx.many(f"INSERT INTO line_evidence {columns}", rows)
        rested = "SELECT CAST(? AS INTEGER), seq FROM conversation WHERE text_id = ?"
        messages = [(seq, message) for seq, (_, one) in numbered for message in dict.fromkeys(one.messages)]
        tx.many(f"INSERT INTO line_message (line, message) {rested}", messages)

    def pins(self, persona: Persona) -> tuple[str, ...]:
        """The lines that rewrites of a persona must keep."""
        rows = self._database.run("SELECT text FROM pin WHERE persona = ? ORDER BY number", persona)
        return tuple(row["text"] for row in rows)

    def add_pin(self, tx: Transaction, persona: Persona, now: str, text: str, *, added: bool) -> None:
        """Add a line that rewrites must keep; ``added`` when it was put into the persona with that."""
        columns = "(number, persona, timestamp, text, added) VALUES (?, ?, ?, ?, ?)"
        tx.do(f"INSERT INTO pin {columns}", tx.next("pin"), persona, now, text, int(added))

    def remove_pin(self, tx: Transaction, persona: Persona, text: str) -> bool:
        """Remove such a line. Returns whether it was put into the persona with that."""
        rows = tx.run("DELETE FROM pin WHERE persona = ? AND text = ? RETURNING added", persona, text)
        return any(row["added"] for row in rows)


def lines_of(text: str) -> list[str]:
    """The lines of a persona that say something."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _adds_nothing(known: LineEvidence | None, other: LineEvidence) -> bool:
    if known is None or set(known.messages) != set(other.messages):
        return False
    return (known.date, known.importance) == (other.date, other.importance)


#: Cuts a text into words, without those that say nothing; marks begin with ``@``.
Tokens = Callable[[str], Sequence[str]]
Words = frozenset[str]

_SENTENCE = pattern_of(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\b[A-Z]\.)[ \t]+"
    r"|(?<=[;|])[ \t]+|(?<=[。！？；])"
)
#: Marks that may stand between sentences by themselves.
_BETWEEN = "|;；"
#: Two words of a script without spaces overlap as soon as three characters are the same; one alone is chance.
_UNSPACED_ENOUGH = 2


@dataclass(frozen=True)
class Filtered:
    """The versions that lose something, what remains of each, and the lines that go."""

    versions: tuple[PersonaVersion, ...] = ()
    left: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class LineFilter:
    """What is erased: ``words`` in any spelling, or "", and ``messages``, of ``sessions``.

    ``said_in`` tells what stays of a session. ``pins`` are lines that go only when they hold the words. ``rests``
    are the turns, by id, that lines are known to rest on.
    """

    tokens: Tokens
    words: str
    messages: Sequence[Message]
    sessions: Sequence[str]
    said_in: Callable[[str], Sequence[Message]]
    pins: Sequence[str] = ()
    rests: Mapping[str, Collection[str]] = field(default_factory=dict)
    _said: dict[str, list[Words]] = field(default_factory=dict)

    def filter_versions(self, versions: Sequence[PersonaVersion]) -> Filtered:
        """What becomes of the versions of one persona, oldest first."""
        whole = self._resting_on_what_goes
        gone = set(self._erased_lines(versions))
        changed = [(version, remove_pieces(version.text, gone, whole)) for version in versions]
        changed = [(version, left) for version, left in changed if left != version.text]
        return Filtered(
            tuple(version for version, _ in changed),
            tuple(left for _, left in changed),
            tuple(sorted(gone | {line for version in versions for line in lines_of(version.text) if line in whole})),
        )

    def _erased_lines(self, versions: Sequence[PersonaVersion]) -> Iterator[str]:
        first: dict[str, int] = {}  # which version wrote each piece
        for at, version in enumerate(versions):
            for piece in split_sentences(version.text):
                first.setdefault(piece, at)
        since = next((at for at, version in enumerate(versions) if version.session_id in self.sessions), len(versions))
        frame = _common_words(self._significant_words(piece) for piece in first)
        known: list[Words] = []
        accounted = {piece for line, messages in self.rests.items() if messages for piece in split_sentences(line)}
        for piece, at in first.items():
            writer, words = versions[at], self._significant_words(piece)
            spared = piece in self._pinned_lines or piece in accounted
            suspect = at >= since and writer.origin == "model" and not spared
            erased = bool(self.words) and normalise(self.words) in normalise(piece)
            if erased or (suspect and self._rests_on_erased(words - frame, writer.session_id, known)):
                yield piece
            elif not suspect:
                known.append(words)

    def _rests_on_erased(self, words: Words, session_id: str | None, known: Iterable[Words]) -> bool:
        """Whether a line was drawn from what is erased rather than from anything that stays."""
        shared = words & self._erased_words
        if not _is_significant(shared):
            return False
        staying = [*known, *(said for one in {*self.sessions, session_id or ""} for said in self._remaining_words(one))]
        return not any(shared <= said and 2 * len(words & said) > len(words) for said in staying)

    def _remaining_words(self, session_id: str) -> list[Words]:
        if session_id not in self._said:
            gone = {message.text_id for message in self.messages}
            left = [message for message in self.said_in(session_id) if message.text_id not in gone]
            self._said[session_id] = [self._significant_words(message.words) for message in left]
        return self._said[session_id]

    @cached_property
    def _erased_words(self) -> Words:
        return frozenset[str]().union(*(self._significant_words(message.words) for message in self.messages))

    @cached_property
    def _resting_on_what_goes(self) -> frozenset[str]:
        """The lines that rest on an erased turn; a line that a person pinned rests on their own word."""
        gone = {message.text_id for message in self.messages}
        resting = frozenset(line for line, messages in self.rests.items() if not gone.isdisjoint(messages))
        return resting - {line for pin in self.pins for line in lines_of(pin)}

    @cached_property
    def _pinned_lines(self) -> frozenset[str]:
        return frozenset(piece for pin in self.pins for piece in split_sentences(pin))

    def _significant_words(self, text: str) -> Words:
        found = (token for token in self.tokens(text) if not token.startswith("@"))
        return frozenset(token for token in found if len(token) > 1 or not is_unspaced(token))


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, line by line."""
    return [piece.strip() for line in text.split("\n") for piece in _SENTENCE.split(line) if piece and piece.strip()]


def remove_pieces(text: str, gone: set[str], whole: Collection[str] = ()) -> str:
    """A text without some of its pieces, and without some ``whole`` lines.

    A line with nothing else goes, and the others stay as they are.
    """
    kept = []
    for line in text.split("\n"):
        if line.strip() in whole:
            continue
        parts = split_sentences(line)
        left = [part for part in parts if part not in gone]
        if len(left) == len(parts):
            kept.append(line)
        elif rest := _join_sentences(left):
            kept.append(rest)
    return "\n".join(kept).strip()


def normalise(text: str) -> str:
    """A text as it is compared: the same in every case, width and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _join_sentences(sentences: Sequence[str]) -> str:
    """Sentences in one line; a mark that stood between two of them goes where either of them does."""
    joined = ""
    for sentence in sentences:
        if sentence in _BETWEEN and (not joined or joined[-1] in _BETWEEN):
            continue
        joined += sentence if not joined or joined[-1] in "。！？；" else f" {sentence}"
    return joined.rstrip(f" {_BETWEEN}")


def _common_words(lines: Iterable[Words]) -> Words:
    """Words in most lines, such as the name of whom the persona is of: they mean nothing."""
    counted, count = Counter[str](), 0
    for words in lines:
        counted.update(words)
        count += 1
    return frozenset(word for word, times in counted.items() if count > 2 and 2 * times > count)


def _is_significant(shared: Words) -> bool:
    unspaced = sum(1 for word in shared if is_unspaced(word[0]))
    return len(shared) > unspaced or unspaced >= _UNSPACED_ENOUGH
