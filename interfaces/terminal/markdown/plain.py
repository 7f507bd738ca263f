"""A reply as plain text: the model's own characters, quotations behind ``> ``, nothing else."""

from __future__ import annotations

from interfaces.terminal.screen import Screen


class PlainStream:
    """Writes text as it comes; a quotation stands on lines of its own."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._due = ""
        self._swallow = True
        self._begins = False
        self._quoted = False
        self._anything = False

    def feed(self, text: str) -> None:
        """The next piece of the reply, cut anywhere. Line ends wait until something follows them."""
        text = text.lstrip() if self._swallow else text
        if not text:
            return
        self._swallow = False
        words = text.rstrip("\n")
        if words:
            self._out(words)
        self._due += text[len(words) :]

    def quote(self) -> None:
        """What follows is a quotation of a memory."""
        self._part()
        self._quoted = self._begins = True

    def unquote(self, note: str = "") -> None:
        """The quotation has ended; ``note`` tells where it comes from."""
        if note:
            self._due, self._swallow = "\n", False
            self._out(note)
        self._quoted = False
        self._part()

    def finish(self) -> None:
        """The reply has ended: its last line ends too."""
        if self._anything:
            self._screen.line()

    def _part(self) -> None:
        """What follows stands apart from what was before."""
        self._due = "\n\n" if self._anything else ""
        self._swallow = True

    def _out(self, words: str) -> None:
        due, self._due = self._due, ""
        if self._quoted:
            words = words.replace("\n", "\n> ")
            due = due if self._begins else due.replace("\n", "\n> ")
            words = "> " + words if self._begins else words
        self._begins, self._anything = False, True
        self._screen.spans([(due + words, ("words",))])
