"""What was drawn from talk goes with the turns it rests on, out of every file, in whatever words (P11, P20)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain.facts import Learned, LineEvidence, NewRelation, PersonaDraft
from domain.records import Round
from memory import Memory
from recall.embedding import HashedEmbedder
from storage import erasure
from tests.conftest import Count, SetClock
from tests.contract.test_knowing import new_fact, new_note, window_of

#: Nothing of these stands in what was said.
DRAWN = ("Quokkaberg", "Zyxquint", "Wombatine", "Numbatov", "Quollish")


@pytest.fixture
def memory(tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger) -> Iterator[Memory]:
    opened = Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)
    yield opened
    opened.close()


def say(memory: Memory, words: str, session_id: str = "") -> Round:
    session_id = session_id or memory.sessions.resume_or_start()[0].session_id
    return memory.rounds.store(session_id, words, "I see.", "2026-03-01T09:00:00+00:00", "stop")


def live(memory: Memory) -> tuple[Round, Round]:
    """An evening with a secret, learned and saved: its notes, facts and lines say it in other words."""
    secret, plain = say(memory, "I told her what happened."), say(memory, "The kettle is red.")
    home = new_fact(
        "secret", secret, "Wombatine", restatement="Ann met Numbatov.", persons=("Numbatov",), note="n1",
    )  # fmt: skip
    kettle = new_fact("kettle", plain, "red", single=False, restatement="The kettle of Ann is red.", note="n2")
    notes = (new_note(home), new_note(kettle))
    relations = (NewRelation("Ann", "met", "Quollish", "secret"),)
    window = window_of(secret, plain)
    memory.windows.store_reply(window.name, "notes", "base", "Quokkaberg")
    assert memory.fact_log.learn(Learned(window, notes, (home, kettle), relations))
    memory.windows.store_reply("of another session", "compare", "base", "Ann met Numbatov.")
    lines = (
        LineEvidence("Guards a Zyxquint.", (secret.user.text_id, plain.user.text_id)),
        LineEvidence("Has a red kettle.", (plain.user.text_id,)),
    )
    text = "Loves Mondays.\nGuards a Zyxquint.\nHas a red kettle."
    memory.rounds.save(secret.user.session_id, "They talked of a kettle.", {"user": PersonaDraft(text, lines)})
    return secret, plain


def traces(folder: Path) -> list[str]:
    return [
        f"{word} in {trace.path.name}"
        for word in DRAWN
        for trace in erasure.find_traces([folder], erasure.forms(word) | erasure.forms(word.lower()))
    ]


def test_with_a_message_goes_all_that_was_drawn_from_it_out_of_every_file(tmp_path: Path, memory: Memory) -> None:
    secret, _ = live(memory)
    memory.personas.write("user", "Loves Mondays.\nGuards a Zyxquint.", "hand")
    assert traces(tmp_path)
    scope = memory.erasure.scope_of_message(secret.user.text_id)
    assert [note.text_id for note in scope.notes] == ["n1"]
    assert [fact.text_id for fact in scope.facts] == ["secret"]
    assert [relation.target for relation in scope.relations] == ["Quollish"]
    assert scope.lines == ("Guards a Zyxquint.",)
    told = {"Of Wombatine.", "Ann met Numbatov.", "Wombatine", "Numbatov", "Quollish", "Guards a Zyxquint."}
    assert told <= set(scope.texts)
    found = memory.erasure.erase(scope)
    assert found.traces == ()
    assert found.searched >= len(told)
    assert traces(tmp_path) == []
    assert [fact.text_id for fact in memory.facts.all()] == ["kettle"]
    assert [version.text for version in memory.personas.history("user")] == [
        "Loves Mondays.\nHas a red kettle.",
        "Loves Mondays.",
    ]


def test_words_that_only_notes_and_facts_hold_are_found_and_go(tmp_path: Path, memory: Memory) -> None:
    secret, _ = live(memory)
    for word, facts in (("quollish", ["secret"]), ("numbatov", []), ("WOMBATINE", [])):
        scope = memory.erasure.scope_of_words(word)
        assert (scope.messages, [fact.text_id for fact in scope.facts]) == ((), facts)
        assert memory.erasure.erase(scope).traces == ()
    assert memory.facts.all() != []
    assert memory.notes.of_session(secret.user.session_id) != []
    for word in ("Quollish", "Numbatov", "Wombatine"):
        assert erasure.find_traces([tmp_path], erasure.forms(word) | erasure.forms(word.lower())) == []


def test_what_others_say_too_is_not_claimed_to_be_gone(memory: Memory) -> None:
    one, two = say(memory, "I met him."), say(memory, "I met him again.")
    facts = [
        new_fact(name, spoken, "Numbatov", single=False, restatement=f"Ann met Numbatov {name}.", note="")
        for name, spoken in (("once", one), ("twice", two))
    ]
    assert memory.fact_log.learn(Learned(window_of(one, two), (), tuple(facts)))
    found = memory.erasure.erase(memory.erasure.scope_of_message(one.user.text_id))
    assert found.traces == ()
    assert found.skipped == 1


def test_a_line_that_a_person_pinned_stays_when_what_it_rests_on_goes(memory: Memory) -> None:
    secret, _ = live(memory)
    memory.personas.pin("user", "Guards a Zyxquint.")
    memory.erasure.erase(memory.erasure.scope_of_message(secret.user.text_id))
    assert "Guards a Zyxquint." in memory.personas.read("user")


def test_a_line_that_rests_on_what_stays_is_not_taken_for_its_words(memory: Memory) -> None:
    one, two = say(memory, "Momo sleeps in the kitchen."), say(memory, "My cat is Momo.")
    lines = (LineEvidence("Momo is the cat.", (two.user.text_id,)),)
    memory.rounds.save(one.user.session_id, "", {"user": PersonaDraft("Momo is the cat.", lines)})
    memory.erasure.erase(memory.erasure.scope_of_message(one.user.text_id))
    assert memory.personas.read("user") == "Momo is the cat."


def hide(memory: Memory, secret: Round) -> None:
    memory.rounds.hide([secret.user.text_id])


def reset(memory: Memory, secret: Round) -> None:
    memory.rounds.reset(secret.user.session_id)


@pytest.mark.parametrize("go", [hide, reset])
def test_lines_that_rest_on_what_is_hidden_or_cleared_leave_the_persona_and_an_edit_by_hand_stays(
    memory: Memory, go: Callable[[Memory, Round], None]
) -> None:
    secret, plain = live(memory)
    memory.rounds.resume(secret.user.session_id, memory.sessions.resume_or_start()[0].session_id)
    path = memory.personas.path("user")
    path.write_text(path.read_text(encoding="utf-8") + "By hand.\n", encoding="utf-8")
    go(memory, secret)
    left = memory.personas.read("user").split("\n")
    assert "Guards a Zyxquint." not in left
    assert ("Has a red kettle." in left) == (go is hide)
    assert {"Loves Mondays.", "By hand."} <= set(left)
    assert path.read_text(encoding="utf-8").strip().split("\n") == left
    assert plain.user.text_id


def test_lines_of_a_round_that_gets_another_reply_leave_the_persona(memory: Memory) -> None:
    session_id = memory.sessions.resume_or_start()[0].session_id
    spoken = say(memory, "I sing.", session_id)
    memory.rounds.save(
        session_id, "", {"self": PersonaDraft("Sings.\nIs old.", (LineEvidence("Sings.", (spoken.user.text_id,)),))}
    )
    memory.rounds.resume(session_id, memory.sessions.resume_or_start()[0].session_id)
    memory.rounds.store(session_id, "I dance.", "Ah.", "2026-03-01T09:00:00+00:00", "stop", instead_of=spoken)
    assert memory.personas.read("self") == "Is old."


def test_a_save_is_taken_back_in_the_files_too_but_never_over_an_edit_by_hand(memory: Memory) -> None:
    memory.personas.write("self", "Old.", "setup")
    memory.personas.write("user", "Ann.", "setup")
    session_id = memory.sessions.resume_or_start()[0].session_id
    say(memory, "Hello.", session_id)
    opened = memory.rounds.save(session_id, "A greeting.", {"self": "Old. New.", "user": "Ann. New."})
    memory.personas.path("user").write_text("Ann, by hand.", encoding="utf-8")
    back = memory.rounds.undo_save(session_id, opened.session_id)
    assert back is not None
    assert (back.session_id, back.status) == (session_id, "active")
    assert memory.sessions.resume_or_start() == (back, True)
    assert (memory.personas.read("self"), memory.personas.read("user")) == ("Old.", "Ann, by hand.")
    assert memory.personas.path("self").read_text(encoding="utf-8") == "Old.\n"
    assert len(memory.messages.context(session_id)) == 1
    assert memory.summaries.of(session_id) is None
    assert memory.rounds.undo_save(session_id, opened.session_id) is None
