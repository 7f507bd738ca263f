"""Rounds and sessions: their order, their place in time, what leaves the context, what is taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain.records import ErasureScope, Quoted
from storage.messages import NewMessage
from storage.rounds import Voice
from tests.contract.stores import Store, Teller, at, holding, said


def names(store: Store) -> list[str]:
    """All sessions, oldest first."""
    return [session.session_id for session in store.sessions.recent(None)][::-1]


def test_rounds_are_there_in_order_after_the_store_is_opened_again(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    told = [teller.say("s1", words) for words in ("one", "two", "three")]
    assert store.messages.rounds("s1") == store.messages.context("s1") == tuple(told)
    assert store.messages.rounds("s1", 2) == tuple(told[1:])
    store.close()
    again = reopen()
    assert again.messages.rounds("s1") == tuple(told)
    assert [message.words for message in again.messages.before(told[2].user, 2)] == ["two", "You say two"]
    assert again.sessions.counts() == (0, 3)
    again.close()


def test_a_round_says_when_it_was_said_and_when_it_was_stored(store: Store) -> None:
    messages = (
        NewMessage("u", at(1, 2023), "user", "said long ago"),
        NewMessage("a", at(2, 2023), "assistant", "so long"),
    )
    spoken = store.at(at(5)).rounds.add("s1", messages, "length")
    assert (spoken.user.timestamp, spoken.assistant.timestamp) == (at(1, 2023), at(2, 2023))
    assert spoken.user.stored_at == spoken.assistant.stored_at == at(5)
    assert spoken.assistant.finish == "length"


def test_a_session_of_2023_that_is_stored_after_one_of_2026_stands_first(store: Store, teller: Teller) -> None:
    teller.say("s1", "of today")
    old = store.start("of-2023", at(7), began=at(0, 2023))
    assert (old.start_timestamp, old.stored_at) == (at(0, 2023), at(7))
    store.start("of-2024", at(8), began=at(0, 2024))
    store.start("of-2022", at(9), began=at(0, 2022))
    for session_id in ("of-2024", "of-2023", "of-2022"):
        teller.say(session_id, f"said in {session_id}")
        store.replace_summary(session_id, teller.summary(f"summary of {session_id}"), 1)
    store.replace_summary("s1", teller.summary("summary of s1"), 1)
    assert names(store) == ["of-2022", "of-2023", "of-2024", "s1"]
    assert [summary.session_id for summary in store.summaries.all()] == names(store)
    assert [one.session_id for one in store.sessions.active()] == names(store)
    newest = store.sessions.newest_active()
    assert newest is not None
    assert newest.session_id == "s1"
    ids = [store.messages.rounds(session_id)[0].user.text_id for session_id in ("s1", "of-2024", "of-2022")]
    words = [message.words for message in store.messages.with_ids(ids)]
    assert words == ["said in of-2022", "said in of-2024", "of today"]


def test_there_is_always_room_between_two_sessions(store: Store) -> None:
    store.start("first", at(1), began=at(0, 2020))
    with store.embeddings.in_one_commit():
        for number in range(1100):
            store.start(f"up-{number:04}", at(2), began=at(0, 2021))
        for number in range(60):
            store.start(f"down-{number:04}", at(2), began=f"2020-05-{28 - number % 28:02d}T00:00:00+00:00")
    order = names(store)
    assert order[0] == "first"
    assert order[-1] == "s1"
    assert [name for name in order if name.startswith("up")] == [f"up-{number:04}" for number in range(1100)]
    down = [store.sessions.find(name) for name in order if name.startswith("down")]
    begun = [session.start_timestamp for session in down if session]
    assert begun == sorted(begun)
    assert len({session.position for session in store.sessions.recent(None)}) == len(order)


def test_the_last_rounds_are_the_last_whole_ones_whatever_was_erased_of_others(store: Store, teller: Teller) -> None:
    one, *others = (teller.say("s1", words) for words in ("one", "two", "three", "four", "five"))
    store.erasure.commit(ErasureScope(tuple(spoken.user for spoken in others[1:])))
    assert store.messages.rounds("s1", 1) == (others[0],)
    assert (
        store.messages.rounds("s1", 2)
        == store.messages.rounds("s1", 3)
        == store.messages.rounds("s1")
        == (one, others[0])
    )
    assert store.messages.rounds("s1", 0) == ()


def test_a_session_right_before_another_is_not_the_newest(store: Store) -> None:
    for session_id in ("aside", "aside-too"):
        store.start(session_id, at(1), before="s1")
    assert names(store) == ["aside", "aside-too", "s1"]
    newest = store.sessions.newest_active()
    assert newest is not None
    assert newest.session_id == "s1"


def test_several_sessions_are_active_and_none_touches_another(store: Store, teller: Teller) -> None:
    store.start("s2", at(1))
    for words in ("one", "two"):
        teller.say("s1", f"{words} here")
        teller.say("s2", f"{words} there")
    store.rounds.compact("s1", 1, teller.summary("one here"))
    there, summary = store.messages.rounds("s2"), store.summaries.of("s1")
    assert [spoken.user.words for spoken in store.messages.context("s1")] == ["two here"]
    assert store.messages.context("s2") == there
    store.rounds.undo("s1", 1)
    store.rounds.reset("s1")
    assert store.messages.rounds("s1") == ()
    assert store.messages.rounds("s2") == there
    assert summary is not None
    assert store.summaries.of("s1") is None
    store.opening("s3").rounds.save("s1", teller.summary(""), {})
    statuses = {session.session_id: session.status for session in store.sessions.recent(None)}
    assert statuses == {"s1": "archived", "s2": "active", "s3": "active"}
    assert store.messages.context("s2") == there
    newest = store.sessions.newest_active()
    assert newest is not None
    assert newest.session_id == "s3"


def test_a_round_takes_the_place_of_another_in_one_commit(store: Store, teller: Teller) -> None:
    first = teller.say("s1", "what is a quokka")
    teller.say("s1", "what is a wombat", instead_of=first)
    assert said(store, "s1") == ["what is a wombat"]
    assert holding(store, "quokka") == []


def test_all_in_one_commit_is_all_or_nothing(store: Store, teller: Teller) -> None:
    with pytest.raises(ZeroDivisionError), store.embeddings.in_one_commit():
        teller.say("s1", "one")
        store.start("s2", at(1))
        raise ZeroDivisionError
    assert said(store, "s1") == []
    assert names(store) == ["s1"]
    assert holding(store, "one") == []


def test_folding_and_other_wording_leave_one_summary(store: Store, teller: Teller) -> None:
    for words in ("one", "two", "three"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("just one"))
    assert store.removed() == []
    (first,) = store.summaries.all()
    store.rounds.compact("s1", 2, teller.summary("one and two"))
    assert store.removed() == [first.text_id]
    assert [spoken.user.words for spoken in store.messages.context("s1")] == ["three"]
    (second,) = store.summaries.all()
    assert second.upto_round == 2
    store.rounds.set_summary("s1", teller.summary("one, two"))
    assert store.removed() == [second.text_id]
    (third,) = store.summaries.all()
    assert (third.summary, third.upto_round) == ("one, two", 2)
    store.rounds.set_summary("s1", teller.summary(""))
    assert store.removed() == [third.text_id]
    assert store.summaries.all() == []


def test_summaries_are_read_by_their_ids_in_the_order_of_their_sessions(store: Store, teller: Teller) -> None:
    for session_id, year in (("s0", 2023), ("s2", 2027)):
        store.start(session_id, at(1), began=at(0, year))
    for session_id in ("s2", "s1", "s0"):
        teller.say(session_id, "one")
        store.rounds.compact(session_id, 1, teller.summary(f"of {session_id}"))
    ids = {summary.session_id: summary.text_id for summary in store.summaries.all()}
    found = store.summaries.with_ids([ids["s2"], "nobody", ids["s0"]])
    assert found == [summary for summary in store.summaries.all() if summary.session_id != "s1"]
    store.rounds.reset("s2")
    assert [summary.session_id for summary in store.summaries.with_ids([*ids.values()])] == ["s0", "s1"]
    assert store.summaries.with_ids([]) == []


def test_undo_takes_only_what_is_in_the_context(store: Store, teller: Teller) -> None:
    for words in ("one", "two", "three"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("one"))
    assert [spoken.user.words for spoken in store.rounds.undo("s1", 9)] == ["two", "three"]
    assert store.rounds.undo("s1", 1) == ()
    assert said(store, "s1") == ["one"]
    teller.say("s1", "four")
    assert said(store, "s1") == ["one", "four"]


def test_rounds_that_were_taken_back_come_back_where_they_stood_with_words_and_a_place_in_the_queue(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    store.start("s2", at(1))
    for words in ("one", "two", "three"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("one"))
    rounds, session = store.messages.rounds("s1"), store.sessions.find("s1")
    undone = store.rounds.undo("s1", 2)
    teller.say("s2", "meanwhile")
    store.at(at(9)).rounds.keep_step("s1", "summary", "{}")
    store.rounds.redo(undone)
    assert store.rounds.steps("s1") == {}
    store.close()
    again = reopen()
    assert (again.messages.rounds("s1"), again.sessions.find("s1")) == (rounds, session)
    assert again.messages.context("s1") == rounds[1:]
    assert holding(again, "three") == [message.text_id for message in rounds[2].messages]
    assert {message.text_id for spoken in rounds for message in spoken.messages} <= set(again.embeddings.waiting(99))
    assert said(again, "s2") == ["meanwhile"]
    assert again.database.problems() == []
    teller.store = again
    teller.say("s1", "four")
    assert said(again, "s1") == ["one", "two", "three", "four"]
    again.close()


def test_a_round_that_is_hidden_or_quotes_comes_back_hidden_or_quoting(store: Store, teller: Teller) -> None:
    quoting(store, (Quoted(0, "1a2b3c4d5e", at(0)),))
    hidden = teller.say("s1", "a secret quokka")
    store.rounds.hide([message.text_id for message in hidden.messages])
    rounds = store.messages.rounds("s1")
    store.rounds.redo(store.rounds.undo("s1", 2))
    assert store.messages.rounds("s1") == rounds
    assert (holding(store, "quokka"), holding(store, "kiwi")) == ([], ["u"])
    assert not {message.text_id for message in hidden.messages} & set(store.embeddings.waiting(99))


def test_a_reset_gives_back_what_it_took_also_when_a_summary_was_written_meanwhile(
    store: Store, teller: Teller
) -> None:
    for words in ("one", "two"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("one"))
    rounds, summary, before = store.messages.rounds("s1"), store.summaries.of("s1"), store.sessions.find("s1")
    removed = store.rounds.reset("s1")
    assert removed.rounds == rounds
    assert holding(store, "two") == []
    assert store.sessions.counts() == (0, 0)
    store.rounds.set_summary("s1", teller.summary("written meanwhile"))
    store.rounds.put_back(removed)
    assert store.messages.rounds("s1") == rounds
    assert store.summaries.of("s1") == summary
    assert store.sessions.find("s1") == before
    assert holding(store, "two") == [message.text_id for message in rounds[1].messages]


def test_archiving_keeps_personas_and_starts_the_next(store: Store, teller: Teller) -> None:
    teller.say("s1", "plain words")
    store.at(at(3)).rounds.keep_step("s1", "summary", "{}")
    store.at(at(4)).sessions.note_in_flight("s1", "and")
    store.opening("s2").rounds.save("s1", teller.summary("the end"), {"user": "Ann."})
    session, summary = store.sessions.find("s1"), store.summaries.of("s1")
    assert session is not None
    assert summary is not None
    assert (session.status, session.current_conv_count, summary.summary) == ("archived", 0, "the end")
    assert session.end_timestamp == summary.timestamp
    assert store.messages.context("s1") == ()
    assert store.rounds.steps("s1") == {}
    assert store.sessions.in_flight("s1") is None
    version = store.versions.newest("user")
    assert version is not None
    assert (version.text, version.origin, version.session_id) == ("Ann.", "model", "s1")
    store.at(at(9)).rounds.resume("s1", "s2")
    assert names(store) == ["s1"]
    active = store.sessions.newest_active()
    assert active is not None
    assert (active.session_id, active.end_timestamp) == ("s1", None)


QUOTING = "I sing: <blockquote>Kiwi is green</blockquote> and <blockquote>a yacht</blockquote>!"


def quoting(store: Store, quoted: tuple[Quoted, ...]) -> None:
    """A round in which both quote something."""
    messages = (
        NewMessage("u", at(1), "user", "Look: <blockquote>Kiwi is green</blockquote>"),
        NewMessage("a", at(2), "assistant", QUOTING, quoted),
    )
    store.at(at(2)).rounds.add("s1", messages, "stop")


def test_of_a_quotation_that_was_found_in_a_memory_a_reference_stays_and_all_else_stays_word_for_word(
    store: Store, teller: Teller
) -> None:
    quoting(store, (Quoted(0, "1a2b3c4d5e", at(0)),))
    store.opening("s2").rounds.save("s1", teller.summary("the end"), {})
    (spoken,) = store.messages.rounds("s1")
    assert spoken.user.words == "Look: <blockquote>Kiwi is green</blockquote>"
    assert spoken.assistant.words == "I sing: [2026-03-01 · 1a2b3c4d] and <blockquote>a yacht</blockquote>!"


def test_a_reply_is_found_by_its_own_words_and_not_by_those_that_it_quotes(store: Store, teller: Teller) -> None:
    quoting(store, (Quoted(0, "1a2b3c4d5e", at(0)),))
    wanted = (["u"], [], ["a"])
    assert tuple(holding(store, word) for word in ("kiwi", "yacht", "sing")) == wanted
    store.opening("s2").rounds.save("s1", teller.summary("the end"), {})
    assert tuple(holding(store, word) for word in ("kiwi", "yacht", "sing")) == wanted


def test_a_quotation_that_was_found_in_no_memory_stays(store: Store, teller: Teller) -> None:
    quoting(store, ())
    store.opening("s2").rounds.save("s1", teller.summary("the end"), {})
    assert store.messages.rounds("s1")[0].assistant.words == QUOTING


def test_which_quotations_were_found_survives_a_reset_that_is_taken_back(store: Store) -> None:
    quoting(store, (Quoted(1, "m", at(0)),))
    (before,) = store.messages.rounds("s1")
    assert before.assistant.quoted == (Quoted(1, "m", at(0)),)
    store.rounds.put_back(store.rounds.reset("s1"))
    assert store.messages.rounds("s1") == (before,)


def test_a_session_of_which_a_lone_message_is_left_is_archived_and_not_deleted_when_another_is_resumed(
    store: Store, teller: Teller
) -> None:
    teller.say("s1", "long ago")
    store.opening("s2").rounds.save("s1", teller.summary("the end"), {})
    spoken = teller.say("s2", "a secret", "So you say.")
    store.erasure.commit(ErasureScope((spoken.user,)))
    store.at(at(9)).rounds.resume("s1", "s2")
    left = store.sessions.find("s2")
    assert left is not None
    assert (left.status, left.end_timestamp) == ("archived", at(9))
    assert [message.words for message in store.messages.of_session("s2")] == ["So you say."]
    active = store.sessions.newest_active()
    assert active is not None
    assert active.session_id == "s1"
    assert store.database.problems() == []


def test_a_reset_takes_a_lone_message_too_and_gives_it_back(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "a secret", "So you say.")
    store.erasure.commit(ErasureScope((spoken.user,)))
    removed = store.rounds.reset("s1")
    assert store.messages.of_session("s1") == []
    store.rounds.put_back(removed)
    assert [message.words for message in store.messages.of_session("s1")] == ["So you say."]


def test_what_was_said_after_a_reset_follows_what_is_put_back(store: Store, teller: Teller) -> None:
    for words in ("one", "two"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("one"))
    removed = store.rounds.reset("s1")
    teller.say("s1", "three")
    store.rounds.compact("s1", 1, teller.summary("three"))
    store.rounds.put_back(removed)
    assert said(store, "s1") == ["one", "two", "three"]
    assert store.summaries.of("s1") == removed.summary
    assert len({spoken.user.round for spoken in store.messages.rounds("s1")}) == 3
    assert store.database.problems() == []
    assert teller.say("s1", "four") == store.messages.rounds("s1")[-1]


def test_what_is_hidden_stays_stored_and_is_found_by_nothing(store: Store, teller: Teller) -> None:
    told, after = teller.say("s1", "a secret quokka"), teller.say("s1", "plain words")
    store.at(at(3)).naming("f").learn_key("s1", "has a quokka", [told.user.seq])
    store.rounds.hide([message.text_id for message in told.messages])
    assert [message.text_id for message in store.messages.hidden()] == [message.text_id for message in told.messages]
    assert [spoken.hidden for spoken in store.messages.rounds("s1")] == [True, False]
    assert holding(store, "quokka") == []
    assert store.messages.by_number([message.seq for message in told.messages]) == []
    assert list(store.messages.columns_after(0, 9).seq) == [message.seq for message in after.messages]
    assert store.messages.numbers_of([message.text_id for message in told.messages]) == {}
    assert store.messages.words_of([message.text_id for message in told.messages]) == {}
    assert store.messages.before(after.user, 9) == []
    assert set(store.embeddings.waiting(9)) == {message.text_id for message in after.messages}
    store.embeddings.take_stock("a model")
    assert set(store.embeddings.waiting(9)) == {message.text_id for message in after.messages}
    store.rounds.put_back(store.rounds.reset("s1"))
    assert store.words.postings("message", ("quokka",), 9)["quokka"].seqs.tolist() == []
    assert set(store.embeddings.waiting(9)) == {message.text_id for message in after.messages}
    store.rounds.unhide([told.user.text_id])
    assert holding(store, "quokka") == [told.user.text_id]
    assert told.user.text_id in store.embeddings.waiting(9)
    store.rounds.unhide([told.assistant.text_id])
    assert store.messages.hidden() == []


def test_a_session_of_another_client_is_found_by_its_key_and_is_never_the_newest_of_the_terminal(store: Store) -> None:
    held = store.start("held", at(5), client="chat", key="a-key")
    other = store.start("other", at(6), client="chat", key="another")
    store.start("served", at(7), client="service", key="")
    newest = store.sessions.newest_active()
    assert newest is not None
    assert (newest.session_id, newest.client, newest.client_key) == ("s1", "", None)
    assert store.sessions.of_client("chat") == [held, other]
    assert store.sessions.of_client("chat", "a-key") == [held]
    assert store.sessions.of_client("") == []


def test_what_nobody_answers_is_stored_found_and_read_and_stands_in_no_context(store: Store) -> None:
    store.start("served", at(5), client="service", key="")
    said = store.at(at(6)).rounds.store_alone("served", "Momo sleeps.", "alone", said=at(6))
    assert [message.text for message in store.messages.of_session("served")] == ["User: Momo sleeps."]
    assert (said.role, store.messages.rounds("served"), store.messages.context("served")) == ("user", (), ())
    assert store.messages.unread("served") == [said]
    assert "alone" in store.embeddings.waiting(9)
    assert store.database.problems() == []


def test_what_a_program_says_of_a_message_goes_with_it(store: Store) -> None:
    store.start("served", at(5), client="service", key="")
    metadata = {"channel": "web", "turn": 7, "tags": ["a"]}
    store.at(at(6)).rounds.store_alone("served", "Hello.", "ours", role="assistant", metadata=metadata)
    said = store.at(at(7)).rounds.store_alone("served", "Momo sleeps.", "alone")
    assert [message.text for message in store.messages.of_session("served")] == [
        "Assistant: Hello.",
        "User: Momo sleeps.",
    ]
    assert store.units.metadata(["ours", "alone", "gone"]) == {"ours": metadata}
    assert store.units.metadata([]) == {}
    assert store.messages.unread_among(["ours", "alone", "gone"]) == {"ours", "alone"}
    store.rounds.hide([said.text_id])
    assert store.messages.unread_among(["ours", "alone"]) == {"ours"}
    assert store.sessions.is_of_program("served")
    assert not store.sessions.is_of_program("s1")
    store.erasure.erase(store.erasure.scope_of_messages(["ours", "alone"]))
    assert store.database.run("SELECT * FROM message_metadata") == []


def test_a_session_that_has_ended_waits_with_the_time_of_its_end_until_it_is_archived(store: Store) -> None:
    store.start("served", at(5), client="service", key="")
    store.at(at(6)).rounds.store_alone("served", "Momo sleeps.", "alone", said=at(6))
    store.sessions.end("served", at(7))
    store.sessions.end("served", at(8))
    waiting = store.sessions.find("served")
    assert waiting is not None
    assert (waiting.status, waiting.end_timestamp) == ("active", at(7))
    store.at(at(9)).rounds.save("served", "", {}, open_next=False)
    archived = store.sessions.find("served")
    assert archived is not None
    assert (archived.status, archived.end_timestamp) == ("archived", at(7))
    store.start("present", at(10))
    store.at(at(11)).rounds.resume("served", "present")
    resumed = store.sessions.find("served")
    assert resumed is not None
    assert (resumed.status, resumed.end_timestamp, resumed.client) == ("active", None, "")


def test_a_message_is_found_by_the_beginning_of_its_id(store: Store, teller: Teller) -> None:
    teller.say("s1", "one")
    teller.say("s1", "two")
    assert [message.text_id for message in store.messages.with_prefix("u")] == ["u1", "u2"]
    assert [message.text_id for message in store.messages.with_prefix("u2")] == ["u2"]
    assert store.messages.with_prefix("") == []


def test_a_session_of_a_client_is_found_by_its_key_and_is_never_the_terminals(store: Store) -> None:
    made = store.opening("c1").sessions.start(client="page", client_key="k")
    assert store.sessions.of_client("page", "k") == [made]
    assert store.sessions.resume_or_start()[0].session_id == "s1"


def test_a_save_is_the_last_until_something_is_said(store: Store, teller: Teller) -> None:
    teller.say("s1", "one")
    store.opening("s2").rounds.save("s1", teller.summary("just one"), {})
    assert store.saves.last("s2") == "s1"
    teller.say("s2", "two")
    assert store.saves.last("s2") is None


def test_the_replies_that_show_the_manner_are_those_of_saved_sessions_and_of_the_one_that_is_saved(
    store: Store, teller: Teller
) -> None:
    voice = Voice(store.of.database)
    teller.say("s1", "Hello.", "Rain again.")
    assert voice.replies("s2") == []
    assert [one.words for one, _ in voice.replies("s1")] == ["Rain again."]
    store.opening("s2").rounds.save("s1", teller.summary("rain"), {})
    for number in range(60):
        teller.say("s2", "Hello.", f"Day {number}.")
    assert [(one.words, then) for one, then in voice.replies("")] == [("Rain again.", "")]
    found = [*((f"Day {number}.", "Hello.") for number in range(59)), ("Day 59.", "")]
    assert [(one.words, then) for one, then in voice.replies("s2")] == found


def test_which_model_talks_is_followed_and_replies_that_were_taken_well_are_its_examples(
    store: Store, teller: Teller
) -> None:
    voice = Voice(store.of.database)
    first = voice.state()
    voice.store_turn(first, "old")
    for words, reply in (("The cello again.", "Borodin wins."), ("hahaha", "Told you."), ("It rains.", "Still?")):
        teller.say("s1", words, reply)
    assert voice.examples(voice.state(), "old", "cello") == []
    assert voice.examples(voice.state(), "new", "cello") == [("The cello again.", "Borodin wins.")]
    voice.contradict(["f1"])
    before = voice.state()
    assert (before.model, before.since, before.contradicted) == ("old", 0, ["f1"])
    voice.store_turn(before, "new")
    taken = voice.state()
    assert (taken.model, taken.since > 0, taken.contradicted) == ("new", True, [])
    for number in range(11):
        assert voice.examples(voice.state(), "new", "x") == [("The cello again.", "Borodin wins.")]
        teller.say("s1", f"line {number}")
        voice.store_turn(voice.state(), "new")
    assert voice.state().since == 0


def test_a_session_in_which_nothing_was_said_goes_when_it_is_left(store: Store, teller: Teller) -> None:
    teller.say("s1", "amber")
    store.start("s2", at(5))
    assert store.sessions.is_open("s2")
    store.rounds.leave("s2")
    store.rounds.leave("s1")
    assert (store.sessions.is_open("s2"), store.sessions.is_open("s1")) == (False, True)
