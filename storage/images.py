"""The self-image and the user image: two plain text files, and every version they ever had.

The newest version in the store is the image; the file is where a person reads and edits it. The store remembers
which version was last laid into the file, so that three cases can be told apart:

- the file says what was laid into it: nothing happened, or a newer version has not reached it yet (a crash
  between commit and file). The newest version is laid into it.
- the file says anything else: a hand edit. It wins, and becomes a version of origin ``hand``. A file emptied
  by hand is such an edit: the image is empty then, and ``restore`` brings any version back.
- there is no file, or something that cannot be one (a folder, a pipe, more than 1 MB). It is kept aside under
  another name, and the newest version is laid where it was: a file that is gone says nothing, it may have
  been lost in a copy.

A byte order mark, CRLF, a missing or doubled end of line are not edits. Bytes that are no UTF-8 are read with
U+FFFD in their place, and the original is kept aside.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from domain import errors
from domain.facts import ImageDraft
from domain.files import make_private_folder, replace_file, storage_error
from domain.records import Image, ImageVersion, Origin
from domain.text import clean
from storage.store import ImageStore

_FILE: dict[Image, str] = {"self": "self_image.txt", "user": "user_image.txt"}
_MAX_BYTES = 1_000_000
#: Instead of a version that was laid: what the file says was erased and is not to be read again.
_ERASED = 0


class Images:
    """Both images. ``read`` notices hand edits, ``write`` is atomic, no version is ever lost.

    >>> images.write("user", "Ann likes tea.", "model", session_id)
    >>> images.read("user")
    'Ann likes tea.'
    """

    def __init__(
        self, folder: Path, store: ImageStore, clock: Callable[[], datetime], log: logging.Logger
    ) -> None:
        self._folder = folder
        self._store = store
        self._clock = clock
        self._log = log

    def path(self, image: Image) -> Path:
        """Where the person finds the file."""
        return self._folder / _FILE[image]

    def read(self, image: Image) -> str:
        """The image as it stands now; a hand edit has become a version by then.

        Trouble with the file is logged, and the newest version is the image.
        """
        try:
            self.settle(image)
        except errors.StorageError as fault:
            self._log.warning("the file of the %s image is out of reach: %s", image, fault)
        latest = self._store.newest_version(image)
        return latest.text if latest else ""

    def newest(self, image: Image) -> ImageVersion | None:
        """The version in force, hand edits noted; None while there has never been one."""
        self.settle(image)
        return self._store.newest_version(image)

    def versions(self, image: Image) -> list[ImageVersion]:
        """Every version, oldest first."""
        return self._store.versions(image)

    def write(
        self, image: Image, text: str, origin: Origin, session_id: str | None = None
    ) -> ImageVersion | None:
        """Make ``text`` the image: one commit, then one atomic replacement of the file.

        Returns the version in force afterwards.
        """
        self.settle(image)
        self._store.add_version(image, as_image(text), origin, self._now(), session_id)
        return self.newest(image)

    def take_lines(self, image: Image, lines: Iterable[str]) -> None:
        """Write a version without these lines, in the commit of the caller; the file follows when it is next read."""
        gone, latest = set(lines), self._store.newest_version(image)
        if gone and latest:
            left = [line for line in latest.text.split("\n") if line.strip() not in gone]
            self._store.add_version(image, as_image("\n".join(left)), "erase", self._now())

    def restore(self, version: int) -> ImageVersion | None:
        """Make an older version the newest one; None when there is no such version."""
        older = self._store.version(version)
        return self.write(older.image, older.text, "restore") if older else None

    def pin(self, image: Image, text: str) -> None:
        """Keep a line through every rewrite, and put it into the image at once: one commit, then the file."""
        self.settle(image)
        latest = self._store.newest_version(image)
        before = latest.text if latest else ""
        after = as_image(with_pins(before, [as_image(text)]))
        with self._store.in_one_commit():
            self._store.pin(image, self._now(), text, added=after != before)
            if after != before:
                self._store.add_version(image, after, "hand", self._now())
        self.settle(image)

    def unpin(self, image: Image, text: str) -> None:
        """Let go of a pin; the line goes with it if the pin brought it, and it stands there word for word."""
        self.settle(image)
        latest = self._store.newest_version(image)
        before = latest.text if latest else ""
        with self._store.in_one_commit():
            brought = self._store.unpin(image, text)
            after = without_block(before, as_image(text)) if brought else before
            if after != before:
                self._store.add_version(image, after, "hand", self._now())
        self.settle(image)

    def publish(self) -> None:
        """Bring both files to their newest version, after a commit that added or erased one."""
        for image in _FILE:
            self.settle(image)

    def asides(self) -> list[Path]:
        """What was found in the place of an image and is kept under another name."""
        return sorted(self._folder.glob("*.aside-*")) if self._folder.is_dir() else []

    def settle(self, image: Image) -> None:
        """Bring file and versions together: note a hand edit, or lay the newest version into the file.

        The file is read and judged in one transaction: a version that was committed in between would make what was laid
        before it look like an edit. Raises StorageError when the file can neither be read nor written.
        """
        if not self._folder.is_dir():
            make_private_folder(self._folder)
        with self._store.in_one_commit():
            self._reconcile(image)

    def _reconcile(self, image: Image) -> None:
        try:
            said = self._said(image)
        except OSError as fault:
            raise storage_error(fault, self.path(image)) from fault
        latest, laid = self._store.newest_version(image), self._store.laid_version(image)
        if said is None or laid == _ERASED:
            self._lay(image, latest)
        elif latest is not None and said == latest.text:
            if laid != latest.version:
                self._store.set_laid_version(image, latest.version)
        elif laid is not None and said == self._text_of(laid):
            self._lay(image, latest)
        elif said or laid is not None:
            self._take_edit(image, said)
        else:
            self._lay(image, latest)

    def _take_edit(self, image: Image, said: str) -> None:
        """A hand edit becomes the newest version; what could not be read is kept aside first."""
        content = self.path(image).read_bytes()
        if not read_bytes(content)[1]:
            replace_file(self._aside_name(image), content)
        self._store.add_laid_version(image, said, "hand", self._now())

    def _lay(self, image: Image, version: ImageVersion | None) -> None:
        """Put a version into the file; without one there is no file."""
        if version is None:
            self._remove(image)
            return
        replace_file(self.path(image), f"{version.text}\n".encode() if version.text else b"")
        self._store.set_laid_version(image, version.version)

    def _remove(self, image: Image) -> None:
        if self._store.laid_version(image) is not None:
            self.path(image).unlink(missing_ok=True)
            self._store.set_laid_version(image, None)

    def _said(self, image: Image) -> str | None:
        """What the file says; None when there is none, whatever stood in its place being aside now."""
        path = self.path(image)
        try:
            found = path.stat()
        except FileNotFoundError:
            path.unlink(missing_ok=True)
            return None
        if stat.S_ISREG(found.st_mode) and found.st_size <= _MAX_BYTES:
            return read_bytes(path.read_bytes())[0]
        os.rename(path, self._aside_name(image))
        return None

    def _aside_name(self, image: Image) -> Path:
        path, number = self.path(image), 1
        while (aside := path.with_name(f"{path.name}.aside-{number}")).exists():
            number += 1
        return aside

    def _text_of(self, number: int) -> str | None:
        version = self._store.version(number)
        return version.text if version else None

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")


# -- what may become an image: pure rules on text


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
            return as_image("\n".join(lines[:at] + lines[at + len(wanted) :]))
    return text


def as_image(content: str) -> str:
    """Text as it is kept and compared: no controls, ``\\n`` line ends, no blank edges."""
    return clean(content).strip()


def image_draft(made: ImageDraft | str) -> ImageDraft:
    """What a model made of an image, as it is kept."""
    if isinstance(made, str):
        return ImageDraft(as_image(made))
    lines = tuple(replace(one, line=as_image(one.line)) for one in made.lines)
    return ImageDraft(as_image(made.text), lines)


def read_bytes(content: bytes) -> tuple[str, bool]:
    """What the bytes of a file say, and whether every one of them could be read.

    A byte order mark chooses UTF-8 or UTF-16; without one it is UTF-8. What cannot be read becomes U+FFFD.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return as_image(content.decode(encoding)), True
    except UnicodeDecodeError:
        return as_image(content.decode(encoding, "replace")), False
