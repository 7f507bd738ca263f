"""Conversations of other programs: stored once in their place in life, read, and taken back."""

from __future__ import annotations

from dataclasses import replace

from domain.imports import ImportedMessage, PastPiece
from domain.records import IMPORT_CLIENT, ErasureScope
from tests.contract.stores import Store, Teller, at

FILE = ("chats.json", "chatgpt", "0" * 64, 1)


def past(*words: str, year: int = 2023, stretch: int = 0) -> tuple[ImportedMessage, ...]:
    """Messages of the person and of a companion by turns."""
    return tuple(
        ImportedMessage(
            f"k-{one}", "assistant" if place % 2 else "user", one, at(place, year), stretch, replies=place % 2 == 1
        )
        for place, one in enumerate(words)
    )


def piece(*words: str, name: str = "talk", title: str = "A talk", year: int = 2023) -> PastPiece:
    return PastPiece(name, title, False, past(*words, year=year))


def brought(store: Store, *pieces: PastPiece) -> int:
    """An import of these pieces, ended. Returns its number."""
    number = store.imports.begin(*FILE)
    store.imports.add(number, pieces)
    store.imports.end(number, len(pieces))
    return number


def words_of(store: Store, session_id: str) -> list[str]:
    return [one.words for one in store.messages.of_session(session_id)]


def imported_sessions(store: Store) -> list[str]:
    return [one.session_id for one in store.sessions.recent(None) if one.client == IMPORT_CLIENT][::-1]


def test_an_import_is_a_closed_session_in_its_place_in_life_and_is_known_again(store: Store, teller: Teller) -> None:
    teller.say("s1", "today")
    talk = piece("long ago", "so long")
    assert store.imports.count_known(talk).messages == 0
    number = brought(store, talk)
    (source,) = store.imports.all()
    assert (source.number, source.name, source.state, source.messages) == (number, "chats.json", "done", 2)
    first, last = store.sessions.recent(None)[::-1]
    assert (first.client, first.status, last.session_id) == (IMPORT_CLIENT, "archived", "s1")
    assert words_of(store, first.session_id) == ["long ago", "so long"]
    assert store.imports.count_known(talk).messages == 2
    assert store.sessions.was_imported(first.session_id)
    assert not store.sessions.was_imported("s1")
    assert brought(store, talk) == number
    assert len(store.sessions.recent(None)) == 2


def test_what_a_later_export_adds_goes_into_its_session_in_its_place(store: Store) -> None:
    brought(store, piece("one", "two", "five", "six"))
    brought(store, replace(piece(), messages=past("one", "two", "three", "four", "five", "six", "seven", "eight")))
    (session,) = imported_sessions(store)
    assert words_of(store, session) == ["one", "two", "three", "four", "five", "six", "seven", "eight"]


def test_an_import_lies_between_the_sessions_around_it_however_many_there_are(store: Store) -> None:
    store.start("s2", at(1), began=at(0, 2027))
    for number in range(40):
        brought(store, piece(f"talk {number}", "yes", name=f"talk {number}", year=2024))
    order = [one.session_id for one in store.sessions.recent(None)[::-1]]
    assert order[-2:] == ["s1", "s2"]
    assert order[:-2] == imported_sessions(store)
    assert [words_of(store, one)[0] for one in order[:-2]] == [f"talk {number}" for number in range(40)]


def test_an_erased_message_does_not_come_back_with_its_file_under_any_name(store: Store) -> None:
    talk = piece("a secret", "I see")
    brought(store, talk)
    (session,) = imported_sessions(store)
    store.erasure.commit(ErasureScope(messages=tuple(store.messages.of_session(session))))
    brought(store, talk, replace(talk, conversation="the same elsewhere"))
    assert [words_of(store, one) for one in imported_sessions(store)] in ([], [[]])


def test_a_message_keeps_its_id_where_that_is_free(store: Store) -> None:
    first, second = past("one", "two")
    brought(store, PastPiece("talk", "", False, (replace(first, text_id="mine"), second)))
    brought(store, PastPiece("other", "", False, (replace(past("more")[0], text_id="mine"),)))
    sessions = imported_sessions(store)
    ids = [[one.text_id for one in store.messages.of_session(session)] for session in sessions]
    assert [one == "mine" for found in ids for one in found].count(True) == 1


def test_an_import_that_is_taken_back_never_was(store: Store, teller: Teller) -> None:
    teller.say("s1", "today")
    talk = piece("long ago", "so long")
    number = brought(store, talk)
    assert list(store.imports.take_back(number)) == [2]
    assert store.imports.all() == []
    assert [one.session_id for one in store.sessions.recent(None)] == ["s1"]
    assert store.imports.count_known(talk).messages == 0
    brought(store, talk)
    assert len(imported_sessions(store)) == 1


def test_a_session_that_was_gone_on_with_stays_without_what_is_taken_back(store: Store, teller: Teller) -> None:
    number = brought(store, piece("long ago", "so long"))
    (session,) = imported_sessions(store)
    store.rounds.resume(session, "s1")
    teller.say(session, "still there?")
    store.replace_summary(session, "of both", 2)
    assert list(store.imports.take_back(number)) == [2]
    assert words_of(store, session) == ["still there?", "You say still there?"]
    assert [one.session_id for one in store.rebuilds.due_requests()] == [session]


def test_what_is_to_be_read_comes_newest_month_first_and_ends_unless_asked_for_again(store: Store) -> None:
    older, newer = piece("one", "two", name="older"), piece("three", "four", name="newer", year=2024)
    brought(store, older, newer)
    due = store.imports.due_sessions(5)
    assert [words_of(store, one.session_id)[0] for one in due] == ["three", "one"]
    assert (store.imports.remaining_backlog().sessions, store.imports.remaining_backlog().messages) == (2, 4)
    store.imports.end_reading(due[0])
    brought(store, replace(older, messages=past("one", "two", "five", "six")))
    store.imports.end_reading(due[1])
    assert [one.session_id for one in store.imports.due_sessions(5)] == [due[1].session_id]


def test_a_summary_of_an_import_is_kept_where_nothing_of_it_changed_meanwhile(store: Store) -> None:
    brought(store, piece("one", "two", title=""))
    (session,) = imported_sessions(store)
    before, messages = store.imports.summary_and_rest(session)
    assert (before, [one.words for one in messages]) == ("", ["one", "two"])
    assert store.imports.keep_summary(session, "of one", before, messages)
    assert store.imports.summary_and_rest(session) == ("of one", [])
    assert not store.imports.keep_summary(session, "of one", before, messages)
    store.imports.ask_for_persona(session)
    assert [one.what for one in store.rebuilds.due_requests()] == ["user"]


def test_the_calls_of_a_day_are_counted_and_the_backlog_can_be_paused(store: Store) -> None:
    store.imports.count_calls(3)
    store.imports.count_calls(-1)
    store.imports.set_paused(True)
    assert (store.imports.remaining_backlog().calls_today, store.imports.remaining_backlog().resting) == (2, True)
    store.imports.set_paused(False)
    store.at("2026-03-02T09:00:00+00:00")
    assert (store.imports.remaining_backlog().calls_today, store.imports.remaining_backlog().resting) == (0, False)


def test_a_title_that_may_say_what_was_removed_is_in_no_session_of_its_conversation(store: Store) -> None:
    told = (*past("one", "two"), *past("three", "four", year=2024, stretch=1))
    brought(store, PastPiece("talk", "Her secret", False, told))
    first, second = imported_sessions(store)
    with store.database.write() as tx:
        store.rounds.forget_titles(tx, [first])
    assert store.summaries.of(second) is None
    brought(store, PastPiece("talk", "Her secret", False, (*told, *past("five", year=2025, stretch=2))))
    assert [store.summaries.of(one) for one in imported_sessions(store)[1:]] == [None, None]
