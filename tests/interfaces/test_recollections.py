"""What was recalled, as programs and the page are told it: whose words they are, and what was drawn from them."""

from __future__ import annotations

from pathlib import Path

from domain.facts import Relation
from domain.recollection import RecalledChapter, RecalledExternal, RecalledFact, RecalledMessage, Recollection, Why
from domain.records import Message
from interfaces.http.page.views import message_view, recalled_view, relation_view
from interfaces.messages import Words
from interfaces.service.memory_service import distinct_relations, fact_text, recalled_memories
from tests.interfaces.service.opened import opened_service
from tests.support.known import fact as stored_fact

WHEN = "2025-05-01T10:00:00+00:00"
WHY = Why("owls", 1.0)
CHAPTER = RecalledChapter("c1", "Owls\nThey spoke of owls.", WHEN, "2025-06-02T10:00:00+00:00", 8, WHY)
MESSAGE = RecalledMessage("t1", "s1", WHEN, "assistant", "Assistant: An owl.", True, WHY, speaker="Ann")


def test_a_chapter_that_was_recalled_is_told_to_programs_with_its_days() -> None:
    (one,) = recalled_memories(Recollection((), (), (), chapters=(CHAPTER,)))
    assert one.text.startswith("[2025-05-01 – 2025-06-02] Owls")
    assert one.kind == "summary"


def test_the_page_is_told_who_said_what_neither_of_the_two_said_and_which_chapters_were_recalled() -> None:
    shown = recalled_view(Words("en"), Recollection((), (MESSAGE,), (), chapters=(CHAPTER,)))
    assert [(one["kind"], one["speaker"]) for one in shown["memories"]] == [("chapter", ""), ("turn", "Ann")]
    said = Message(1, "t1", "s1", WHEN, "assistant", "Assistant: Hi.", 1, speaker="Ann")
    assert message_view(said)["speaker"] == "Ann"


KNOWN = stored_fact("Ann marries a pirate.", stance="joked")
DOUBTED = stored_fact("Ann climbs in Oslo.", doubtful_since="2025-06-01T10:00:00+00:00")


def test_what_was_never_stated_or_may_be_over_says_so_wherever_programs_are_told_of_it() -> None:
    wanted = ["Ann marries a pirate. [only joked]", "Ann climbs in Oslo. [doubtful since 2025-06-01]"]
    assert [fact_text(one) for one in (KNOWN, DOUBTED)] == wanted
    recalled = [
        RecalledFact(1, "f", one.restatement, WHEN, (), WHY, doubtful_since=one.doubtful_since, stance=one.stance)
        for one in (KNOWN, DOUBTED)
    ]  # fmt: skip
    assert [one.text for one in recalled_memories(Recollection((), (), (), facts=tuple(recalled)))] == wanted
    stands = [Relation("Ann", "with", "Bo", one) for one in (KNOWN, DOUBTED)]
    to_programs = ["with [only joked]", "with [doubtful since 2025-06-01]"]
    assert [one.relation for one in distinct_relations(stands, 9)] == to_programs
    shown = [relation_view(Words("en"), one)["relation"] for one in stands]
    assert shown == ["with [joked]", "with [doubtful since 2025-06-01]"]


NOTE = RecalledExternal("o1", "notes", "garden.md", "", None, "The owl box hangs in the pear tree.", WHY)


def test_what_a_memory_of_others_holds_is_told_to_programs_with_the_name_of_its_source() -> None:
    said = RecalledExternal("o2", "Ann", "", WHEN, "user", "I saw an owl.", WHY)
    note, spoken = recalled_memories(Recollection((), (), (), external=(NOTE, said)))
    assert note.text == "[@notes · garden.md] The owl box hangs in the pear tree."
    assert (note.kind, note.date) == ("other", "")
    assert spoken.text == "[@Ann · 2025-05-01 · its person] I saw an owl."


def test_the_page_is_told_which_memory_of_others_something_is_from() -> None:
    shown = recalled_view(Words("en"), Recollection((), (), (), external=(NOTE,)))
    (one,) = shown["memories"]
    assert (one["kind"], one["speaker"], one["marks"]) == ("other", "notes", ["garden.md"])


def test_only_me_is_told_what_memories_of_others_hold(tmp_path: Path, server, clock, new_id) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "keys.md").write_text("The spare key lies under the blue flower pot.")
    with opened_service(tmp_path, server, clock, new_id, EXTERNAL_MEMORIES=f"notes={tmp_path / 'notes'}") as opened:
        opened.service.remember("I have a sister.", "ann")
        (found,) = opened.service.recall("Where is the spare key?", "me").memories
        assert (found.kind, found.text.partition("]")[0]) == ("other", f"[@notes · keys.md · {found.date[:10]}")
        assert all(one.kind != "other" for one in opened.service.recall("Where is the spare key?", "ann").memories)
