"""What a person typed: a message, or a command.

A command is a first word of the shape ``/letters``. ``、`` and ``／``, which Chinese input methods
write where the key says ``/``, and letters of full width count as well. Everything else is a
message: ``/usr/bin``, ``/2``, a pasted block. ``//x`` is the message ``/x``.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

_COMMAND = re.compile(r"[/／、]([A-Za-zＡ-Ｚａ-ｚ]{1,20})(?:[\s\u3000]+(.*))?", re.DOTALL)
_ESCAPED = re.compile(r"(?:[/／]){2}")


@dataclass(frozen=True)
class Typed:
    """What came from the prompt.

    ``pasted``: a block of several lines was pasted into it. ``kept``: what was offered was never cleared away.
    """

    text: str
    pasted: bool = False
    kept: bool = True


@dataclass(frozen=True)
class TypedMessage:
    """Something to say to the companion."""

    text: str


@dataclass(frozen=True)
class TypedCommand:
    """A command with its argument."""

    name: str
    argument: str


@dataclass(frozen=True)
class Unknown:
    """Shaped like a command, but there is none of that name; ``nearest`` is the one it resembles most."""

    typed: str
    nearest: str


@dataclass(frozen=True)
class Farewell:
    """A bare ``exit`` or ``quit``: the person may want to leave, or to say that word."""

    text: str


Entered = TypedMessage | TypedCommand | Unknown | Farewell


def parse(typed: Typed, names: Collection[str]) -> Entered:
    """Tell what was typed; ``names`` are those of the commands.

    >>> parse(Typed("、save"), ["save"])
    TypedCommand(name='save', argument='')
    >>> parse(Typed("/usr/bin is a folder"), ["save"])
    TypedMessage(text='/usr/bin is a folder')
    >>> parse(Typed("/sav"), ["save", "show"])
    Unknown(typed='/sav', nearest='/save')
    """
    text = typed.text.strip()
    if typed.pasted:
        return TypedMessage(typed.text)
    if _ESCAPED.match(text):
        return TypedMessage(text[1:])
    if text.lower() in ("exit", "quit"):
        return Farewell(text)
    found = _COMMAND.fullmatch(text)
    if not found:
        return TypedMessage(typed.text)
    name = unicodedata.normalize("NFKC", found[1]).lower()
    if name in names:
        return TypedCommand(name, (found[2] or "").strip())
    return Unknown(f"/{name}", f"/{nearest(name, names)}")


def nearest(name: str, names: Collection[str]) -> str:
    """The name that resembles this one most; ``help`` where none does."""
    begun = sorted(known for known in names if known.startswith(name))
    inside = sorted(known for known in names if name.startswith(known))
    return (begun or difflib.get_close_matches(name, names, 1, 0.5) or inside or ["help"])[0]
