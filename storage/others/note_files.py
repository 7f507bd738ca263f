"""A folder of Markdown or text notes. A note is read anew at each start, so that a change is seen then."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from domain import errors
from domain.text import pattern_of
from storage.others.other_texts import LARGEST_FILE, MOST_TEXTS, OtherText, SourceTexts, pieces, stamp

_ENDINGS = (".md", ".markdown", ".txt")
#: So many files are looked at.
_MOST_FILES = 50_000
_DAY_IN_NAME = pattern_of(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_FRONT = pattern_of(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)
_DATE_IN_FRONT = pattern_of(
    r"^(?:date|created)[ \t]*:[ \t]*[\"']?(\S[^\"'\n]*)", re.MULTILINE | re.IGNORECASE
)
_HEADING = pattern_of(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_LONGEST_HEADING = 200
#: UTF-8, or what Chinese Windows writes.
_ENCODINGS = ("utf-8-sig", "gb18030")


def holds_notes(folder: Path) -> bool:
    """Whether there is any note below a folder."""
    return next(_files(folder), None) is not None


def read_notes(folder: Path) -> SourceTexts:
    """The notes below a folder, links and hidden folders left out; where there are too many the newest."""
    files = sorted(_files(folder), key=lambda path: (-_changed(path), str(path)))
    texts: list[OtherText] = []
    left_out = 0
    for path in files:
        found = _read(path, folder) if len(texts) < MOST_TEXTS else None
        left_out += found is None
        texts += found or ()
    if files and not texts and left_out:
        raise errors.StorageError("others.broken", reason="no note can be read")
    return SourceTexts(texts[:MOST_TEXTS], left_out + max(0, len(texts) - MOST_TEXTS))


def _files(folder: Path) -> Iterator[Path]:
    seen = 0
    for place, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and name.lower().endswith(_ENDINGS) and not path.is_symlink():
                seen += 1
                if seen > _MOST_FILES:
                    return
                yield path


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path, folder: Path) -> list[OtherText] | None:
    """The pieces of one note; None where it is too large, or no text."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    text = _decoded(content)
    if text is None:
        return None
    name = path.relative_to(folder).as_posix()
    when, body = _dated(path, text), _FRONT.sub("", text, count=1)
    return [
        OtherText(name, f"{name} · {heading}" if heading else name, when, piece)
        for heading, section in _sections(body)
        for piece in pieces(section)
    ]


def _decoded(content: bytes) -> str | None:
    """The text of a note, None for what is none; the ends of lines as one character."""
    if b"\0" in content:
        return None
    for encoding in _ENCODINGS:
        with suppress(UnicodeDecodeError):
            return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    return None


def _dated(path: Path, text: str) -> str:
    """When a note is from: what it says at its head, what its name says, or when it was last changed."""
    front, named = _FRONT.match(text), _DAY_IN_NAME.search(path.name)
    told = _DATE_IN_FRONT.search(front[1]) if front else None
    at_head = stamp(told[1].strip()) if told else ""
    return at_head or (stamp("-".join(named.groups())) if named else "") or stamp(_changed(path))


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """The text under each heading, with its heading."""
    starts = [
        (found.start(), found[1][:_LONGEST_HEADING].rstrip(" \t#") or "#")
        for found in _HEADING.finditer(body)
    ]
    before = body[: starts[0][0]] if starts else body
    if before.strip():
        yield "", before
    for at, (start, heading) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(body)
        if section := body[start:end].partition("\n")[2].strip():
            yield heading, f"{heading}\n{section}"
