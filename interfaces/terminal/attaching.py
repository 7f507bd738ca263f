"""Text files in a message: ``@path`` stands for a file, and its text goes along under its name.

Promises: only what exists as a file is touched; mail addresses, ``\\@`` and every other ``@`` stay as they were typed.
The message holds the file from then on, and saying it again adds nothing: a name that was attached has no ``@`` any
more, and what stands behind the first attached file is not looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from domain import errors
from domain.text import clean, inert, pattern_of

#: Bytes that a file may have.
MOST = 200_000
_OFFERED = 200
_START = r"(?<![A-Za-z0-9._%+\-\\@/])@"
_MENTION = pattern_of(_START + r'(?:"(?P<quoted>[^"\n]{1,300})"|(?P<bare>[^\s"@]{1,300}))')
_BEGUN = pattern_of(_START + r'("[^"\n]*|[^\s"@]*)$')
_ATTACHED = pattern_of(r"^--- .+ ---\n`{3,}\n", re.MULTILINE)
#: A name that can only be meant as a file's.
_LIKE_A_PATH = pattern_of(r"[\w./~-]*(?:/[\w.-]+|\w\.[A-Za-z]{1,4})")


@dataclass(frozen=True)
class Attached:
    """A message with its files: which they are, and which names look like files that are not there."""

    text: str
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def with_files(text: str) -> Attached:
    """The message with the text of each file that it names.

    Raises UsageError when a file is too large, no text, or may not be read.
    """
    begun = _ATTACHED.search(text)
    said, rest = (text[: begun.start()], text[begun.start() :]) if begun else (text, "")
    files: dict[str, str] = {}
    missing: list[str] = []

    def named(found: re.Match[str]) -> str:
        name = _name(found)
        if name is None:
            missing.extend(_missing(found["quoted"] or found["bare"]))
            return found[0]
        files.setdefault(name, _read(name))
        return name + ("" if found["quoted"] else found["bare"][len(name) :])

    said = _MENTION.sub(named, said)
    parts = [said.rstrip() if files else said, *(_fenced(name, files[name]) for name in files)]
    return Attached("\n\n".join(parts) + ("\n\n" * bool(files and rest)) + rest, tuple(files), tuple(missing))


def _name(found: re.Match[str]) -> str | None:
    """The file that a mention means: as much of it as is the name of one."""
    if found["quoted"]:
        return found["quoted"] if _is_file(found["quoted"]) else None
    bare = found["bare"]
    ends = [
        at for at in range(len(bare), 0, -1) if at == len(bare) or not re.match(r"[A-Za-z0-9_/~-]", bare[at])
    ]
    return next((bare[:at] for at in ends if _is_file(bare[:at])), None)


def _is_file(name: str) -> bool:
    try:
        return Path(name).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False


def _missing(name: str) -> Iterator[str]:
    """The name, if nothing else than a file can be meant by it."""
    found = _LIKE_A_PATH.match(name)
    if found and not Path(name).expanduser().is_dir():
        yield found[0]


def _read(name: str) -> str:
    try:
        with Path(name).expanduser().open("rb") as file:
            content = file.read(MOST + 1)
    except OSError as fault:
        raise errors.UsageError("attach.unreadable", name=name, reason=fault.strerror) from fault
    if len(content) > MOST:
        raise errors.UsageError("attach.too_large", name=name, most=MOST // 1000)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise errors.UsageError("attach.binary", name=name) from fault
    if "\0" in text:
        raise errors.UsageError("attach.binary", name=name)
    return clean(text)


def _fenced(name: str, text: str) -> str:
    """A file's text under its name, in a fence that nothing in it ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"--- {name} ---\n{fence}\n{text.rstrip()}\n{fence}"


def begun_path(before: str) -> str | None:
    """What was typed of a file's name behind an ``@``, up to the cursor; None where none is being typed.

    >>> begun_path("look at @no"), begun_path("write to ann@no")
    ('no', None)
    """
    found = _BEGUN.search(before[-300:])
    return found[1] if found else None


def paths_for(begun: str) -> list[str]:
    """The files and folders whose names go on from what was typed; with quotation marks where one has spaces."""
    typed = begun.removeprefix('"')
    folder, slash, start = typed.rpartition("/")
    names: list[str] = []
    with suppress(OSError, RuntimeError), os.scandir(Path(folder + slash or ".").expanduser()) as entries:
        names = sorted(
            folder + slash + entry.name + "/" * entry.is_dir()
            for entry in entries
            if entry.name.startswith(start) and (start or entry.name[0] != ".")
        )
    return [_quoted(name, begun) for name in names if inert(name) == name][:_OFFERED]


def _quoted(name: str, begun: str) -> str:
    if not begun.startswith('"') and not re.search(r"\s", name):
        return name
    return f'"{name}' if name.endswith("/") else f'"{name}"'
