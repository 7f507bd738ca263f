"""What the lines of the personas rest on, and a save that is taken back right after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain.facts import LineEvidence, PersonaDraft
from domain.records import ErasureScope, Message, Round
from tests.contract.stores import Store, Teller, at, said
from tests.contract.test_finding import embed_all
from tests.contract.test_knowing import current, finds, known, learn


def line(words: str, *messages: Message, date: str = "2026-03-01", importance: int = 5) -> LineEvidence:
    return LineEvidence(words, tuple(message.text_id for message in messages), date, importance)


def save(store: Store, teller: Teller, session_id: str, following: str, text: str, *lines: LineEvidence) -> None:
    """Archive a session with a persona."""
    store.opening(following).rounds.save(
        session_id, teller.summary(f"the end of {session_id}"), {"user": PersonaDraft(text, lines)}
    )


def persona(store: Store) -> str:
    newest = store.versions.newest("user")
    return newest.text if newest else ""


def test_lines_rest_on_what_they_were_given_in_their_order(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    one, two = teller.say("s1", "one"), teller.say("s1", "two")
    cat, home = line("A cat.", one.user, two.user, importance=8), line("In Lyon.", two.user)
    save(
        store,
        teller,
        "s1",
        "s2",
        "By hand.\n  In Lyon. \nA cat.",
        cat,
        home,
        line("Nowhere.", one.user),
        line("By hand."),
    )
    store.close()
    again = reopen()
    assert again.versions.line_evidence("user") == [home, cat]
    assert again.versions.line_evidence("self") == []
    assert again.versions.lines_resting_on("user", [one.user.text_id]) == ["A cat."]
    again.close()


def test_a_version_names_the_lines_that_it_has_no_room_for(store: Store, teller: Teller) -> None:
    one = teller.say("s1", "one")
    save(store, teller, "s1", "s2", "A cat.\nIn Lyon.", line("A cat.", one.user), line("In Lyon.", one.user))
    teller.say("s2", "two")
    draft = PersonaDraft("In Lyon.", (line("In Lyon.", one.user),), ("A cat.",))
    store.opening("s3").rounds.save("s2", teller.summary("two"), {"user": draft})
    first, second = store.versions.all("user")
    assert (store.versions.left_out(first), store.versions.left_out(second)) == (frozenset(), {"A cat."})
    assert store.messages.first_words(1) == ["one"]


def test_a_line_that_is_not_named_keeps_what_it_rested_on_and_plain_text_takes_nothing_away(
    store: Store, teller: Teller
) -> None:
    one = teller.say("s1", "one")
    save(store, teller, "s1", "s2", "A cat.\nIn Lyon.", line("A cat.", one.user), line("In Lyon.", one.user))
    two = teller.say("s2", "two")
    save(store, teller, "s2", "s3", "A cat.\nIn Lyon.", line("In Lyon.", two.user, date="2026-04"))
    assert store.versions.line_evidence("user") == [
        line("A cat.", one.user),
        line("In Lyon.", two.user, date="2026-04"),
    ]
    store.opening("s4").rounds.save("s3", teller.summary(""), {"user": "Changed by hand.\nA cat."})
    assert store.versions.line_evidence("user") == [line("A cat.", one.user)]
    assert {one.line for one in store.versions.every_line_evidence("user")} == {"A cat.", "In Lyon."}


def test_a_persona_that_is_made_anew_says_what_it_rests_on(store: Store, teller: Teller) -> None:
    one, two = (teller.say("s1", word) for word in ("one", "two"))
    save(store, teller, "s1", "s2", "A cat.", line("A cat.", one.user))
    drafts = (
        PersonaDraft("A cat.", (line("A cat.", two.user),)),
        PersonaDraft("A cat.\nIn Lyon.", (line("In Lyon.", one.user),)),
    )
    for number, draft in enumerate(drafts, 2):
        base = store.versions.newest("user")
        assert base is not None
        store.opening(f"s{number + 1}").rounds.save(f"s{number}", teller.summary("later"), {}, waiting=("user",))
        wishes = [wish for wish in store.rebuilds.due_requests() if wish.what == "user"]
        assert store.at(at(70)).personas.rebuild(wishes, base, draft)
    assert store.versions.line_evidence("user") == [line("A cat.", two.user), line("In Lyon.", one.user)]
    assert [version.text for version in store.versions.all("user")] == ["A cat.", "A cat.\nIn Lyon."]


def test_with_an_erased_line_goes_what_it_rested_on(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "one"), teller.say("s1", "two")
    text = "Has a cat. Lives in Lyon.\nSings."
    save(store, teller, "s1", "s2", text, line("Has a cat. Lives in Lyon.", one.user), line("Sings.", two.user))
    version = store.versions.newest("user")
    assert version is not None
    store.erasure.commit(ErasureScope(versions=(version,), left=("Lives in Lyon.",), lines=("Has a cat.", "Sings.")))
    assert store.versions.every_line_evidence("user") == [line("Lives in Lyon.", one.user)]


# -- taking a save back ----------------------------------------------------------------------------------------------


def lived(store: Store, teller: Teller) -> list[Round]:
    """A first evening that was saved, and a second one with a fold and a window that was read in the background."""
    first = teller.say("s1", "I live in Lyon")
    store.at(at(20)).rounds.keep_step("s1", "summary", "{}")
    learn(store, first, "Lyon")
    save(store, teller, "s1", "s2", "In Lyon.\nSings.", line("In Lyon.", first.user))
    rounds = [teller.say("s2", word) for word in ("amber", "birch", "copper")]
    store.rounds.compact("s2", rounds[0].user.round, teller.summary("of amber"))
    learn(store, rounds[0], "Nice")
    return [first, *rounds]


def saved_again(store: Store, teller: Teller, rounds: list[Round]) -> None:
    """The second evening, saved, with all that a save comes to."""
    store.at(at(40)).rounds.keep_step("s2", "summary", "{}")
    learn(store, rounds[2], "Oslo")
    lines = (
        line("In Lyon.", rounds[0].user, rounds[2].user),
        line("In Oslo.", rounds[2].user),
        line("Sings.", rounds[3].user),
    )
    save(store, teller, "s2", "s3", "In Lyon.\nIn Oslo.\nSings.", *lines)


def everything(store: Store) -> list[object]:
    """All that a save may change, but the dates and places of what it made."""
    summary = store.summaries.of("s2")
    return [
        store.facts.all(), store.notes.of_session("s2"), store.messages.unread("s2"), store.messages.context("s2"),
        summary, finds(store, "nice"),
        persona(store), store.versions.line_evidence("user"), [one.session_id for one in store.sessions.recent(9, 0)],
        store.sessions.find("s2"), store.rebuilds.due_requests(), store.rounds.steps("s2"),
    ]  # fmt: skip


def test_a_save_that_is_taken_back_leaves_everything_as_it_was(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    rounds = lived(store, teller)
    embed_all(store)
    before = everything(store)
    saved_again(store, teller, rounds)
    assert current(store) == ["Oslo"]
    assert store.versions.line_evidence("user") != []
    store.close()
    again = reopen()
    summary = again.summaries.of("s2")
    assert summary is not None
    again.removed()
    assert again.at(at(60)).rounds.undo_save("s2", "s3") is not None
    assert summary.text_id in again.removed()
    assert everything(again) == before
    assert [version.origin for version in again.versions.all("user")] == ["model", "model", "restore"]
    assert current(again) == ["Nice"]
    kept = again.summaries.of("s2")
    assert kept is not None
    assert kept.text_id in again.embeddings.waiting(99)
    assert again.at(at(61)).rounds.undo_save("s2", "s3") is None
    assert again.database.problems() == []
    again.close()


def test_the_lines_of_a_save_that_was_taken_back_are_still_known_for_an_erasure(store: Store, teller: Teller) -> None:
    rounds = lived(store, teller)
    saved_again(store, teller, rounds)
    store.at(at(60)).rounds.undo_save("s2", "s3")
    told = {one.line for one in store.versions.every_line_evidence("user") if rounds[2].user.text_id in one.messages}
    assert told == {"In Lyon.", "In Oslo."}
    assert store.versions.lines_resting_on("user", [rounds[2].user.text_id]) == []


def test_a_persona_that_was_edited_since_the_save_keeps_the_edit(store: Store, teller: Teller) -> None:
    rounds = lived(store, teller)
    saved_again(store, teller, rounds)
    store.add_version("user", "By hand.\nIn Oslo.", "hand", at(59))
    assert store.at(at(60)).rounds.undo_save("s2", "s3") is not None
    assert persona(store) == "By hand.\nIn Oslo."
    assert [one.line for one in store.versions.line_evidence("user")] == ["In Oslo."]


def say_more(store: Store, teller: Teller) -> None:
    teller.say("s3", "and then")


def say_elsewhere(store: Store, teller: Teller) -> None:
    store.start("s4", at(55))
    teller.say("s4", "and then")


def say_and_undo(store: Store, teller: Teller) -> None:
    teller.say("s3", "and then")
    store.rounds.undo("s3", 1)


def type_more(store: Store, teller: Teller) -> None:
    store.at(at(55)).sessions.note_in_flight("s3", "and th")


def erase_a_message(store: Store, teller: Teller) -> None:
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1"))))


def erase_words(store: Store, teller: Teller) -> None:
    store.erasure.commit(ErasureScope(words="anything"))


@pytest.mark.parametrize("meanwhile", [say_more, say_elsewhere, say_and_undo, type_more, erase_a_message, erase_words])
def test_a_save_is_not_taken_back_when_anything_was_said_or_went_since(
    store: Store, teller: Teller, meanwhile: Callable[[Store, Teller], None]
) -> None:
    saved_again(store, teller, lived(store, teller))
    meanwhile(store, teller)
    before = store.facts.all(), store.versions.all("user"), said(store, "s3")
    assert store.at(at(60)).rounds.undo_save("s2", "s3") is None
    assert (store.facts.all(), store.versions.all("user"), said(store, "s3")) == before
    session = store.sessions.find("s2")
    assert session is not None
    assert session.status == "archived"


def test_what_a_save_that_was_given_up_had_read_stays_read_when_the_next_one_is_taken_back(
    store: Store, teller: Teller
) -> None:
    one = teller.say("s1", "I live in Lyon")
    store.at(at(20)).rounds.keep_step("s1", "summary", "{}")
    learn(store, one, "Lyon")
    two = teller.say("s1", "I moved")
    store.at(at(21)).rounds.keep_step("s1", "summary", "{}")
    learn(store, two, "Oslo")
    save(store, teller, "s1", "s2", "In Oslo.")
    store.at(at(60)).rounds.undo_save("s1", "s2")
    assert current(store) == ["Lyon"]
    assert known(store, "Lyon").until == ""
    assert store.messages.unread("s1") == list(two.messages)
