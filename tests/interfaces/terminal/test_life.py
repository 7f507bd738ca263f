"""``/life``: chapters as a tree with their days, one of them opened, and what a time holds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.jobs.writing_chapters import Life
from tests.support.program import run

MONTHS = ("January", "February", "March", "April")


@pytest.fixture(autouse=True)
def lived(tmp_path: Path) -> None:
    """A life of four sessions, two chapters and one over them, and one more session."""
    folder = tmp_path / "data"
    home = Life(folder, group_size=2)
    for month, name in enumerate(MONTHS, 1):
        home.now = datetime(2026, month, 5, 12, tzinfo=UTC)
        home.session(f"It is {name} and the owl is back.")
    home.grow()
    home.now = datetime(2026, 5, 5, 12, tzinfo=UTC)
    home.session("It is May and the owl is gone.")
    home.close()


def test_life_is_a_tree_with_days_whose_chapters_open(chat: Chat) -> None:
    terminal = chat(columns=110, rows=50, TZ="UTC")
    terminal.prompt()
    terminal.say("/life")
    terminal.see("  1 2026-01-05 – 2026-04-05 · A stretch of time")
    terminal.see("     2 2026-01-05 – 2026-02-05 · A stretch of time")
    terminal.see("     3 2026-03-05 – 2026-04-05")
    terminal.see("Not in a chapter yet: 1 session.")
    terminal.prompt()
    terminal.say("/life 3")
    terminal.see("It is March and the owl is back. It is April and the owl is back.")
    terminal.see("Written by the model on")
    terminal.see("2026-03-05 Thu")
    terminal.see("It is April and the owl is back.")
    terminal.prompt()
    terminal.say("/life 1")
    terminal.see("  3 2026-03-05 – 2026-04-05")
    terminal.prompt()


def test_a_time_shows_its_chapters_and_its_sessions(chat: Chat) -> None:
    terminal = chat(columns=110, rows=50, TZ="UTC")
    terminal.prompt()
    terminal.say("/life 2026-03")
    terminal.see("     3 2026-03-05 – 2026-04-05")
    terminal.see("It is March and the owl is back.")
    terminal.prompt()
    terminal.say("/life 2019")
    terminal.see("Nothing is remembered from 2019-01-01 to 2019-12-31.")
    terminal.prompt()
    terminal.say("/life banana")
    terminal.see("banana is neither a chapter nor a time.")
    terminal.prompt()


def test_what_would_be_forgotten_counts_the_chapters_that_tell_of_it(chat: Chat) -> None:
    terminal = chat(columns=110, rows=50, TZ="UTC")
    terminal.prompt()
    terminal.say("/forget January")
    terminal.see("1 message, 1 summary, 2 chapters, 0 notes, 0 facts")
    terminal.send("y\r")
    terminal.see("Erased: 1 message, 1 summary, 2 chapters")
    terminal.prompt()


def test_what_is_written_to_read_tells_the_chapters_the_widest_first(tmp_path: Path) -> None:
    assert run(tmp_path, "--export", str(tmp_path / "all.md"), LANGUAGE="en", TZ="UTC").code == 0
    written = (tmp_path / "all.md").read_text(encoding="utf-8")
    heads = ["# Chapters", "## 2026-01-05 – 2026-04-05", "## 2026-01-05 – 2026-02-05", "## 2026-03-05 – 2026-04-05"]
    places = [written.index(f"{head}\n") for head in heads]
    assert places == sorted(places)
    assert "It is March and the owl is back. It is April and the owl is back." in written
