"""What a person typed: a message, or a command.

A command is a first word of the shape ``/letters``. ``、`` and ``／``, which Chinese input methods
write where the key says ``/``, and letters of full width count as well. Everything else is a
message: ``/usr/bin``, ``/2``, a pasted block. ``//x`` is the message ``/x``.

Other names for a command are looked up here, and a name that is none is never taken for one that destroys something.
Lines between two lines of three quotation marks are one message, whatever they look like.
"""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from domain import errors
from domain.file_reader import open_bytes
from domain.patterns import pattern_of
from domain.text import clean_text, make_inert

_COMMAND = pattern_of(r"[/／、]([A-Za-zＡ-Ｚａ-ｚ]{1,20})(?:[\s\u3000]+(.*))?", re.DOTALL)
_ESCAPED = pattern_of(r"(?:[/／]){2}")
_HELP = ("help", "?", "/?", "？", "/？", "／?", "／？", "、?", "、？", "帮助")
_BLOCK_MARK = '"""'
#: Other names of commands, and what each means. Completion and help show the command itself.
ALIASES: Mapping[str, tuple[str, str]] = {
    "bye": ("exit", ""), "quit": ("exit", ""), "new": ("save", ""), "clear": ("reset", ""),
    "search": ("memory", "search"), "question": ("ask", ""), "show": ("sessions", "show"),
    "resume": ("sessions", "resume"), "pin": ("persona", "pin"), "recall": ("memory", "recall"),
    "reindex": ("memory", "reindex"), "summary": ("context", "summary"), "config": ("setup", ""),
}  # fmt: skip


class Known(Protocol):
    """What has to be known of a command to find it."""

    @property
    def destructive(self) -> bool:
        """Whether it destroys something."""
        ...


@dataclass(frozen=True)
class Typed:
    """What came from the prompt.

    ``pasted``: a block of several lines was pasted into it. ``kept``: what was offered was never cleared away.
    ``block``: it was between two lines of three quotation marks.
    """

    text: str
    pasted: bool = False
    kept: bool = True
    block: bool = False


@dataclass(frozen=True)
class TypedMessage:
    """Something to say to the companion. ``attaching``: files that it names with ``@`` go along."""

    text: str
    attaching: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class TypedCommand:
    """A command with its argument."""

    name: str
    argument: str


@dataclass(frozen=True)
class Unknown:
    """Shaped like a command, but there is none of that name; ``nearest`` is the harmless one it resembles most."""

    typed: str
    nearest: str


@dataclass(frozen=True)
class Farewell:
    """A bare ``exit`` or ``quit``: the person may want to leave, or to say that word."""

    text: str


Entered = TypedMessage | TypedCommand | Unknown | Farewell


def parse_input(typed: Typed, commands: Mapping[str, Known]) -> Entered:
    """Parse what was typed.

    >>> parse_input(Typed("、save"), commands)
    TypedCommand(name='save', argument='')
    >>> parse_input(Typed("/usr/bin is a folder"), commands)
    TypedMessage(text='/usr/bin is a folder', attaching=True)
    >>> parse_input(Typed("/sav"), commands)
    Unknown(typed='/sav', nearest='/save')
    """
    text = typed.text.strip()
    if typed.pasted or typed.block:
        return TypedMessage(typed.text, attaching=not typed.pasted)
    if text.lower() in _HELP:
        return TypedCommand("help", "")
    if _ESCAPED.match(text):
        return TypedMessage(text[1:])
    if text.lower() in ("exit", "quit"):
        return Farewell(text)
    found = _COMMAND.fullmatch(text)
    if not found:
        return TypedMessage(typed.text)
    name, argument = unicodedata.normalize("NFKC", found[1]).lower(), (found[2] or "").strip()
    meant, first = (name, "") if name in commands else ALIASES.get(name, ("", ""))
    if meant in commands:
        return TypedCommand(meant, f"{first} {argument}".strip())
    return Unknown(f"/{name}", f"/{_nearest_command(name, commands)}")


def _nearest_command(name: str, commands: Mapping[str, Known]) -> str:
    """What resembles this name most, of what destroys nothing; ``help`` where nothing does."""
    harmless = [known for known in commands if not commands[known].destructive]
    names = harmless + [other for other in ALIASES if ALIASES[other][0] in harmless]
    begun = sorted(known for known in names if known.startswith(name))
    inside = sorted(known for known in names if name.startswith(known))
    nearest = (begun or difflib.get_close_matches(name, names, 1) or inside or ["help"])[0]
    meant, first = ALIASES.get(nearest, ("", ""))
    return f"{meant} {first}" if first else nearest


def is_block_mark(line: str) -> bool:
    """Whether this line opens a block, or ends the one that is open."""
    return unicodedata.normalize("NFKC", line.strip()) == _BLOCK_MARK


def opens_block(text: str) -> bool:
    """Whether a block was opened with the first line, and has not ended."""
    first, *others = text.split("\n")
    return is_block_mark(first) and not any(map(is_block_mark, others))


def block_of(text: str) -> str | None:
    """The text between the marks of a block; None when it is no block."""
    first, *others = text.strip("\n").split("\n")
    if not is_block_mark(first) or not others or not is_block_mark(others[-1]):
        return None
    return None if any(map(is_block_mark, others[:-1])) else "\n".join(others[:-1])


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
        name = _mentioned_file(found)
        if name is None:
            # Only a name by which nothing else than a file can be meant.
            path = _LIKE_A_PATH.match(found["quoted"] or found["bare"])
            if path and not Path(path.string).expanduser().is_dir():
                missing.append(path[0])
            return found[0]
        files.setdefault(name, _read_file(name))
        return name + ("" if found["quoted"] else found["bare"][len(name) :])

    said = _MENTION.sub(named, said)
    parts = [said.rstrip() if files else said, *(_fence_file(name, files[name]) for name in files)]
    return Attached("\n\n".join(parts) + ("\n\n" * bool(files and rest)) + rest, tuple(files), tuple(missing))


def _mentioned_file(found: re.Match[str]) -> str | None:
    """The file that a mention means: as much of it as is the name of one."""
    if found["quoted"]:
        return found["quoted"] if _is_file(found["quoted"]) else None
    bare = found["bare"]
    ends = [at for at in range(len(bare), 0, -1) if at == len(bare) or not re.match(r"[A-Za-z0-9_/~-]", bare[at])]
    return next((bare[:at] for at in ends if _is_file(bare[:at])), None)


def _is_file(name: str) -> bool:
    try:
        return Path(name).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False


def _read_file(name: str) -> str:
    try:
        with open_bytes(Path(name).expanduser(), MOST + 1) as file:
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
    return clean_text(text)


def _fence_file(name: str, text: str) -> str:
    """A file's text under its name, in a fence that nothing in it ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"--- {name} ---\n{fence}\n{text.rstrip()}\n{fence}"


def begun_path(before: str) -> str | None:
    """What was typed of a file's name behind an ``@``, up to the cursor; None where none is being typed."""
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
    shown = [name for name in names if make_inert(name) == name][:_OFFERED]
    plain = not begun.startswith('"')
    return [
        name if plain and not re.search(r"\s", name) else f'"{name}' + '"' * (not name.endswith("/")) for name in shown
    ]
