"""What a person typed: a message, or a command.

A command is a first word of the shape ``/letters``. ``、`` and ``／``, which Chinese input methods
write where the key says ``/``, and letters of full width count as well. Everything else is a
message: ``/usr/bin``, ``/2``, a pasted block. ``//x`` is the message ``/x``.

Other names for a command are looked up here, and a name that is none is never taken for one that destroys something.
Lines between two lines of three quotation marks are one message, whatever they look like.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from domain.text import pattern_of

_COMMAND = pattern_of(r"[/／、]([A-Za-zＡ-Ｚａ-ｚ]{1,20})(?:[\s\u3000]+(.*))?", re.DOTALL)
_ESCAPED = pattern_of(r"(?:[/／]){2}")
_HELP = ("help", "?", "/?", "？", "/？", "／?", "／？", "、?", "、？", "帮助")
_BLOCK_MARK = '"""'
#: Other names of commands, and what each stands for. Completion and help show the command itself.
ALIASES: Mapping[str, tuple[str, str]] = {
    "bye": ("exit", ""),
    "quit": ("exit", ""),
    "new": ("save", ""),
    "clear": ("reset", ""),
    "search": ("memory", "search"),
    "question": ("ask", ""),
    "show": ("sessions", "show"),
    "resume": ("sessions", "resume"),
    "pin": ("persona", "pin"),
    "recall": ("memory", "recall"),
    "reindex": ("memory", "reindex"),
    "summary": ("context", "summary"),
    "config": ("setup", ""),
}


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
    ``block``: it stood between two lines of three quotation marks.
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


def parse(typed: Typed, commands: Mapping[str, Known]) -> Entered:
    """Tell what was typed.

    >>> parse(Typed("、save"), commands)
    TypedCommand(name='save', argument='')
    >>> parse(Typed("/usr/bin is a folder"), commands)
    TypedMessage(text='/usr/bin is a folder', attaching=True)
    >>> parse(Typed("/sav"), commands)
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
    return _command(unicodedata.normalize("NFKC", found[1]).lower(), (found[2] or "").strip(), commands)


def _command(name: str, argument: str, commands: Mapping[str, Known]) -> TypedCommand | Unknown:
    if name in commands:
        return TypedCommand(name, argument)
    meant, first = ALIASES.get(name, ("", ""))
    if meant in commands:
        return TypedCommand(meant, f"{first} {argument}".strip())
    known = nearest(name, commands)
    folded = ALIASES.get(known, ("", ""))
    return Unknown(f"/{name}", f"/{' '.join(folded) if folded[1] else known}")


def nearest(name: str, commands: Mapping[str, Known]) -> str:
    """The name that resembles this one most, of those that destroy nothing; ``help`` where none does."""
    harmless = [known for known in commands if not commands[known].destructive]
    names = harmless + [other for other in ALIASES if ALIASES[other][0] in harmless]
    begun = sorted(known for known in names if known.startswith(name))
    inside = sorted(known for known in names if name.startswith(known))
    return (begun or difflib.get_close_matches(name, names, 1) or inside or ["help"])[0]


def is_block_mark(line: str) -> bool:
    """Whether this line opens a block, or ends the one that is open."""
    return unicodedata.normalize("NFKC", line.strip()) == _BLOCK_MARK


def opens_block(text: str) -> bool:
    """Whether a block was opened with the first line, and has not ended."""
    first, *others = text.split("\n")
    return is_block_mark(first) and not any(map(is_block_mark, others))


def block_of(text: str) -> str | None:
    """What stands between the marks of a text that is one block; None when it is none."""
    first, *others = text.strip("\n").split("\n")
    if not is_block_mark(first) or not others or not is_block_mark(others[-1]):
        return None
    return None if any(map(is_block_mark, others[:-1])) else "\n".join(others[:-1])
