"""What is open is stored with the window it was read in, changes by what is noted of it, and goes with its message."""

from __future__ import annotations

from dataclasses import replace

from domain.facts import Learned
from domain.matters import NewMatter, OpenMatter
from domain.records import Round
from tests.contract.stores import Store, Teller, at
from tests.contract.test_knowing import window_of

WORDS = "I fly to Oslo on Friday."
OPEN = ("pending", "asked")


def new_matter(spoken: Round, **given: object) -> NewMatter:
    usual = NewMatter("event", spoken.user.text_id, 0, len(WORDS), due_from="2026-03-06", due_to="2026-03-06",
                      precision="day", key="fli oslo", next_review="2026-03-06", expires="2026-03-20")  # fmt: skip
    return replace(usual, **given)  # type: ignore[arg-type]


def learn(store: Store, spoken: Round, *matters: NewMatter) -> None:
    assert store.at(at(90)).fact_log.learn(Learned(window_of(spoken)), matters or [new_matter(spoken)])


def matters(store: Store) -> list[OpenMatter]:
    return store.of.matters.with_status(OPEN)


def test_a_matter_is_read_as_it_was_stored_with_its_message(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", WORDS)
    learn(store, spoken)
    (found,) = matters(store)
    assert (found.words, found.place, found.said, found.role) == (
        WORDS, spoken.user.seq, spoken.user.timestamp, "user"
    )  # fmt: skip
    assert (found.kind, found.due_from, found.key, found.asked, found.shown) == (
        "event",
        "2026-03-06",
        "fli oslo",
        0,
        False,
    )


def test_a_matter_is_visible_until_its_message_is_hidden(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", WORDS)
    learn(store, spoken)
    (number,) = [one.number for one in matters(store)]
    assert store.of.matters.are_visible([number])
    assert not store.of.matters.are_visible([number, number + 1])
    store.rounds.hide([spoken.user.text_id])
    assert not store.of.matters.are_visible([number])


def test_the_same_words_of_one_message_are_one_matter(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", WORDS)
    learn(store, spoken, new_matter(spoken))
    store.fact_log.unlearn_windows([spoken.assistant.text_id])
    learn(store, spoken, new_matter(spoken), new_matter(spoken, key="other"))
    assert [one.key for one in matters(store)] == ["fli oslo", "other"]


def test_what_was_dropped_or_asked_is_not_fresh_when_its_window_is_read_again(store: Store, teller: Teller) -> None:
    dropped, asked = teller.say("s1", WORDS), teller.say("s1", WORDS)
    for spoken in (dropped, asked):
        learn(store, spoken)
    first, second = (one.number for one in matters(store))
    store.of.matters.set_status(first, "dropped", "", "2026-03-06")
    store.of.matters.note_asked({second: "2026-03-09"}, at(95))
    for spoken in (dropped, asked):
        store.fact_log.unlearn_windows([spoken.assistant.text_id])
        learn(store, spoken)
    assert [(one.number, one.asked) for one in matters(store)] == [(second, 1)]


def test_what_is_noted_of_a_matter_is_kept(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", WORDS)
    learn(store, spoken)
    (number,) = [one.number for one in matters(store)]
    store.of.matters.note_asked({number: "2026-03-09"}, at(95))
    store.of.matters.note_shown([number])
    (found,) = matters(store)
    assert (found.status, found.asked, found.asked_at, found.next_review, found.shown) == (
        "asked", 1, at(95), "2026-03-09", True
    )  # fmt: skip
    store.of.matters.postpone(number, "2026-04-01")
    (found,) = matters(store)
    assert (found.status, found.due_from, found.next_review, found.asked) == ("pending", "2026-04-01", "2026-04-01", 0)
    store.of.matters.set_status(number, "dropped", "", "2026-11-20")
    store.of.matters.set_status(number, "pending", "", "2026-11-20")
    assert matters(store) == []  # what is not to be brought up stays so
    assert store.of.matters.greeting() == ("", 0)
    store.of.matters.set_greeting(at(95), 1)
    assert store.of.matters.greeting() == (at(95), 1)


def test_what_no_window_has_read_is_read_of_all_sessions_on_the_newest_of_it(store: Store, teller: Teller) -> None:
    store.start("s2", at(1))
    first, second, third = (teller.say(session, WORDS) for session in ("s1", "s2", "s1"))
    learn(store, first)
    ids = [one.text_id for one in (*second.messages, *third.messages)]
    assert [one.text_id for one in store.messages.said_after(0, 10, read=False)] == ids
    assert [one.text_id for one in store.messages.said_after(0, 1, read=False)] == ids[-1:]
    assert [one.text_id for one in store.messages.said_after(second.assistant.seq, 10, read=False)] == ids[2:]


def test_a_matter_of_which_no_model_has_said_that_it_is_open_is_found_by_its_window(
    store: Store, teller: Teller
) -> None:
    spoken, other = teller.say("s1", WORDS), teller.say("s1", WORDS)
    learn(store, spoken, new_matter(spoken, status="unverified"))
    learn(store, other, new_matter(other, status="unverified"))
    assert matters(store) == []
    (found,) = store.of.matters.unverified_in(window_of(spoken).name)
    assert found.place == spoken.user.seq
    store.of.matters.set_status(found.number, "pending", "", found.next_review)
    assert store.of.matters.unverified_in(window_of(spoken).name) == []
    assert [one.number for one in matters(store)] == [found.number]


def test_a_matter_goes_with_its_message_its_window_or_when_that_is_hidden(store: Store, teller: Teller) -> None:
    for remove in (
        lambda spoken: store.rounds.hide([spoken.user.text_id]),
        lambda spoken: store.rounds.undo("s1"),
        lambda spoken: store.fact_log.unlearn_windows([spoken.assistant.text_id]),
    ):
        spoken = teller.say("s1", WORDS)
        learn(store, spoken)
        remove(spoken)
        assert store.database.run("SELECT seq FROM open_matter") == []


def test_a_matter_stays_where_another_message_of_its_window_goes(store: Store, teller: Teller) -> None:
    spoken, other = teller.say("s1", WORDS), teller.say("s1", "It rains.")
    window = replace(window_of(spoken, other))
    assert store.at(at(90)).fact_log.learn(Learned(window), [new_matter(spoken)])
    store.rounds.hide([other.user.text_id])
    assert len(matters(store)) == 1


def test_a_greeting_is_a_message_before_the_round_that_answers_it(store: Store) -> None:
    store.at(at(2)).rounds.store("s1", "Hi", "Hello", at(2), "stop")
    store.at(at(9)).rounds.store("s1", "Fine!", "Good.", at(8), "stop", greeting=(at(7), "How was Oslo?"))
    first, second = store.messages.rounds("s1")
    assert first.greeting is None
    assert second.greeting is not None
    assert [one.words for one in second.messages] == ["How was Oslo?", "Fine!", "Good."]
    assert second.greeting.timestamp == at(7)
    assert [one.words for one in store.messages.of_session("s1")][2:] == ["How was Oslo?", "Fine!", "Good."]
    removed = store.rounds.reset("s1")
    store.at(at(20)).rounds.store("s1", "Later", "Yes", at(19), "stop", greeting=(at(18), "Anew?"))
    store.rounds.put_back(removed)
    rounds = store.messages.rounds("s1")
    assert [one.user.words for one in rounds] == ["Hi", "Fine!", "Later"]
    assert [one.greeting.words if one.greeting else "" for one in rounds] == ["", "How was Oslo?", "Anew?"]
