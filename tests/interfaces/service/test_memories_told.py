"""What was recalled, as programs and the page are told it: whose words they are, and what was drawn from them."""

from __future__ import annotations

from domain.recollection import RecalledChapter, RecalledTurn, Recollection, Why
from domain.records import Turn
from interfaces.http.page_shapes import recalled_shape, turn_shape
from interfaces.messages import Words
from interfaces.service.memories_told import told

WHEN = "2025-05-01T10:00:00+00:00"
WHY = Why("owls", 1.0)
CHAPTER = RecalledChapter("c1", "Owls\nThey spoke of owls.", WHEN, "2025-06-02T10:00:00+00:00", 8, WHY)
TURN = RecalledTurn("t1", "s1", WHEN, "assistant", "Assistant: An owl.", True, WHY, speaker="Ann")


def test_a_chapter_that_was_recalled_is_told_to_programs_with_its_days() -> None:
    (one,) = told(Recollection((), (), (), chapters=(CHAPTER,)))
    assert one.text.startswith("[2025-05-01 – 2025-06-02] Owls")
    assert one.kind == "summary"


def test_the_page_is_told_who_said_what_neither_of_the_two_said_and_which_chapters_were_recalled() -> None:
    shown = recalled_shape(Words("en"), Recollection((), (TURN,), (), chapters=(CHAPTER,)))
    assert [(one.kind, one.speaker) for one in shown.memories] == [("chapter", ""), ("turn", "Ann")]
    assert (
        turn_shape(Turn(1, "t1", "s1", WHEN, "assistant", "Assistant: Hi.", 1, speaker="Ann")).speaker
        == "Ann"
    )
