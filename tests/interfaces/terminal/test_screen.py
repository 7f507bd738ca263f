"""Lines on a screen: where they wrap, where they hang, and the empty lines between them."""

from __future__ import annotations

import io
import re

from interfaces.terminal.commands.persona import show_difference
from interfaces.terminal.screen import Screen


class Narrow(Screen):
    """A screen of thirty columns, in memory."""

    def __init__(self, *, plain: bool = False) -> None:
        self.out = io.StringIO()
        super().__init__(self.out, plain=plain)

    @property
    def width(self) -> int:
        return 30

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", self.out.getvalue())


def test_what_wraps_hangs_under_its_beginning() -> None:
    screen = Narrow()
    screen.line("  one two three four five six seven")
    assert screen.text == "  one two three four five six\n  seven\n"


def test_a_deep_beginning_leaves_room_for_what_hangs_under_it() -> None:
    screen = Narrow()
    screen.line(" " * 25 + "one two three")
    assert screen.text == " " * 25 + "one\n" + " " * 7 + "two three\n"


def test_a_changed_line_hangs_behind_its_sign() -> None:
    screen = Narrow()
    show_difference(screen, "", "one two three four five six seven")
    assert screen.text == "+ one two three four five six\n  seven\n"


def test_there_is_one_empty_line_however_often_one_is_wanted() -> None:
    for plain in (False, True):
        screen = Narrow(plain=plain)
        screen.line("one")
        screen.line()
        screen.empty_line()
        screen.line("two")
        screen.empty_line()
        screen.empty_line()
        screen.note_typed()
        screen.empty_line()
        assert screen.text == "one\n\ntwo\n\n\n", "what a person typed stands between the last two"


def test_a_name_that_is_longer_than_its_column_stands_on_a_row_of_its_own() -> None:
    screen = Narrow()
    for name in ("short", "a longer name"):
        screen.name_and_text(name, "what is said of it", 10, ("strong", "words"))
    assert screen.text == "short     what is said of it\na longer name\n          what is said of it\n"
    plain = Narrow(plain=True)
    plain.name_and_text("a longer name", "what is said of it", 10, ("strong", "words"))
    assert plain.text == "a longer name  what is said of it\n"
