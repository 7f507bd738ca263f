"""What a model's text goes through before anybody sees it: repaired, and parted from the model's thinking.

Both work on a stream in chunks, hold back only what could still become something else, and are linear in the
text.
"""

from __future__ import annotations

import re

from domain import text as texts

_HALVES = re.compile("[\ud800-\udfff]")
_HIGH = range(0xD800, 0xDC00)


class Repair:
    """Text that any store and any terminal can take: no NUL, no control characters, no lone surrogates.

    The two halves of one character, sent in two chunks, become that character again; so do the two halves of
    a line end.

    >>> repair = Repair()
    >>> repair.feed("a\\ud83d") + repair.feed("\\ude00\\x00") + repair.finish()
    'a😀'
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, chunk: str) -> str:
        """The text that is certain now."""
        whole = self._held + chunk
        half = bool(whole) and (whole[-1] == "\r" or ord(whole[-1]) in _HIGH)
        self._held = whole[-1] if half else ""
        return _repaired(whole[:-1] if half else whole)

    def finish(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return _repaired(held)


def _repaired(text: str) -> str:
    if _HALVES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return texts.clean(text)


_OPENING = re.compile(r"\s*<(think|thinking)>", re.IGNORECASE)
_LONGEST_OPENING = len("<thinking>")
#: A closing tag alone on its line: some servers put the opening one into the prompt, and it never comes back.
_STRAY_CLOSING = re.compile(r"(?:^|\n)[ \t]*</(?:think|thinking)>[ \t]*(?:\n|$)", re.IGNORECASE)


class ThinkingSplitter:
    """Parts ``<think> ... </think>`` at the beginning of a reply from the reply itself.

    Later tags are the reply's own words. White space before the reply's first word goes.

    >>> splitter = ThinkingSplitter()
    >>> splitter.feed("<thi"), splitter.feed("nk>hm</think>\\n\\nHello")
    (('', ''), ('hm', 'Hello'))
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing: re.Pattern[str] | None = None
        self._replying = False

    def feed(self, chunk: str) -> tuple[str, str]:
        """The thinking and the reply in this chunk."""
        if self._replying:
            return "", chunk
        text, self._held = self._held + chunk, ""
        return self._split(text)

    def finish(self) -> tuple[str, str]:
        """What was held back: the beginning of a tag that never came."""
        held, self._held = self._held, ""
        return (held, "") if self._closing else ("", held)

    def _split(self, text: str) -> tuple[str, str]:
        thoughts: list[str] = []
        at = 0
        while True:
            if self._closing is None:
                opening = _OPENING.match(text, at)
                if not opening:
                    return "".join(thoughts), self._begin(text[at:].lstrip())
                self._closing = re.compile(f"</{opening[1]}>", re.IGNORECASE)
                at = opening.end()
            closing = self._closing.search(text, at)
            if not closing:
                thoughts.append(self._hold_back(text[at:]))
                return "".join(thoughts), ""
            thoughts.append(text[at : closing.start()])
            self._closing, at = None, closing.end()

    def _begin(self, text: str) -> str:
        """The first words of the reply, unless they may still become an opening tag."""
        if "<thinking>".startswith(text[:_LONGEST_OPENING].lower()):
            self._held = text
            return ""
        self._replying = True
        return text

    def _hold_back(self, text: str) -> str:
        at = text.rfind("<", max(0, len(text) - _LONGEST_OPENING))
        self._held = text[at:] if at >= 0 else ""
        return text[:at] if at >= 0 else text


def without_stray_thinking(text: str) -> str:
    """A whole reply without thinking that ended in a closing tag but had no opening one."""
    stray = list(_STRAY_CLOSING.finditer(text))
    return text[stray[-1].end() :].lstrip() if stray and "<think" not in text.lower() else text
