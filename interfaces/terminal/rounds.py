"""Rounds of earlier, drawn by the renderer that draws live replies."""

from __future__ import annotations

from collections.abc import Sequence

from conversation import LARGE_GAP
from domain.records import Round
from interfaces.terminal.messages import Words
from interfaces.terminal.reading import PROMPT
from interfaces.terminal.reply import show_text
from interfaces.terminal.screen import Screen
from interfaces.terminal.times import between, local, pause
from interfaces.terminal.widths import cells_of


def show_rounds(screen: Screen, words: Words, rounds: Sequence[Round], *, quiet: bool = True) -> None:
    """Show rounds, oldest first, with the time where there was a long pause."""
    before: str | None = None
    for spoken in rounds:
        if before is not None and (gap := between(before, spoken.user.timestamp)) >= LARGE_GAP:
            screen.line(f"{pause(words, gap)} · {local(spoken.user.timestamp)}", "quiet")
            screen.line()
        before = spoken.assistant.timestamp
        show_person(screen, spoken.user.words)
        screen.line()
        show_text(screen, spoken.assistant.words, quiet=quiet)
        if spoken.assistant.finish != "stop":
            screen.line(words.say(f"turn.{spoken.assistant.finish}"), "quiet")
        screen.line()


def show_person(screen: Screen, text: str) -> None:
    """What the person said, as it stood at the prompt: its line breaks and numbers kept."""
    first, *others = text.split("\n")
    screen.line(PROMPT + first, "quiet")
    for line in others:
        screen.line((" " * len(PROMPT) + line).rstrip(), "quiet")


def last_that_fit(rounds: Sequence[Round], width: int, rows: int) -> Sequence[Round]:
    """As many of the last rounds as fill this many rows, at least one."""
    left = rows
    for at in range(len(rounds) - 1, -1, -1):
        left -= _rows(rounds[at].user.words, width) + _rows(rounds[at].assistant.words, width) + 2
        if left < 0:
            return rounds[min(at + 1, len(rounds) - 1) :]
    return rounds


def _rows(text: str, width: int) -> int:
    return sum(1 + cells_of(line) // max(1, width) for line in text.split("\n"))
