"""What may become an image: pure rules on text, no files and no database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from domain.text import clean

#: A rewrite that keeps less than this part of the old text has lost it.
_LEAST_KEPT = 0.6
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

#: The longest image that a model may make, in bytes: it stands in every prompt.
_LONGEST = 60_000

Refusal = Literal["empty", "shrunk", "grown", "pins"]


def refusal(old: str, new: str, pins: Iterable[str] = ()) -> Refusal | None:
    """Why a model's rewrite of an image is not taken, or None when it is.

    ``empty``: nothing in it. ``shrunk``: more than 40 % of the text is lost. ``grown``: longer than the old
    one and than any image that should stand in every prompt. ``pins``: a pinned line is gone.

    Measured in bytes of UTF-8, so that a Chinese rewrite of an English image does not look like a loss.

    >>> refusal("Likes tea. Lives in Lyon. Has a cat.", "Likes tea.")
    'shrunk'
    """
    if not new.strip():
        return "empty"
    if len(new.strip().encode()) < _LEAST_KEPT * len(old.strip().encode()):
        return "shrunk"
    if len(new.strip().encode()) > max(_LONGEST, len(old.strip().encode())):
        return "grown"
    return "pins" if missing_pins(new, pins) else None


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


def read_bytes(content: bytes) -> tuple[str, bool]:
    """What the bytes of a file say, and whether every one of them could be read.

    A byte order mark chooses UTF-8 or UTF-16; without one it is UTF-8. What cannot be read becomes U+FFFD.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return as_image(content.decode(encoding)), True
    except UnicodeDecodeError:
        return as_image(content.decode(encoding, "replace")), False
