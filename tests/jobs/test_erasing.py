"""Erase means bytes: what was chosen is in no file afterwards, what was made from it is made anew, the rest stays."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from domain.events import Notice
from domain.workers import CancelToken
from interfaces.debug_log import DebugLog
from jobs.rebuild import Erased
from jobs.rebuild import erase as run_erasure
from storage import erasure
from tests.support.house import House, friend, house
from tests.support.server import ScriptedServer, say, status

MARKER = "Quintessenz-7731 的秘密"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def erase(open_house: House, chosen) -> Erased:
    events = list(run_erasure(open_house.memory, open_house.llm, chosen, CancelToken()))
    open_house.settle()
    assert isinstance(events[-1], Erased)
    return events[-1]


def plant(open_house: House) -> None:
    """The marker in two sessions: in turns, summaries, personas, a pin, in flight; and other things beside it."""
    for line in ("I like rain.", f"My word is {MARKER}.", "The kettle is red."):
        open_house.say(line)
    open_house.save()
    for line in ("A second evening.", f"Again: {MARKER}", "Then we slept."):
        open_house.say(line)
    open_house.memory.personas.pin("user", f"Keep {MARKER}")
    open_house.memory.sessions.note_in_flight(open_house.talk.session.session_id, f"unsent {MARKER}")
    open_house.settle()


def holding(folder: Path) -> list[str]:
    return [
        f"{trace.path.relative_to(folder)}: {trace.form}"
        for trace in erasure.find_traces([folder], erasure.forms(MARKER))
    ]


def test_a_saved_session_of_which_nothing_is_left_goes_too(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as open_house:
        open_house.say(f"My word is {MARKER}.")
        open_house.save()
        open_house.say("I like rain.")
        open_house.say(f"Again: {MARKER}")
        open_house.save()
        open_house.say(f"Once more: {MARKER}")
        erase(open_house, open_house.memory.erasure.scope_of_words(MARKER))
        left = open_house.memory.sessions.recent(None)
        rounds = [len(open_house.memory.messages.rounds(one.session_id)) for one in left]
        assert sorted(rounds) == [0, 1]
        assert open_house.talk.session.session_id in [one.session_id for one in left]


def test_everything_that_holds_a_word_goes_from_every_file(tmp_path, server, clock, new_id, log):
    debug = DebugLog(tmp_path / "logs", on=True)
    with house(tmp_path, server, clock, new_id, debug.log) as first:
        first.memory.erasure.scrubbers = (lambda needles: debug.remove_files(needles.are_in),)
        plant(first)
        (tmp_path / "data" / "memory.before-1.db").write_bytes(MARKER.encode())
        (tmp_path / "data" / "persona" / "user_image.txt.aside-1").write_text(MARKER, encoding="utf-8")
        assert len(holding(tmp_path)) >= 6
        erased = erase(first, first.memory.erasure.scope_of_words(MARKER.lower()))
        assert erased.proof.traces == ()
        assert erased.proof.searched > 4
        assert holding(tmp_path) == []
        assert MARKER not in str(first.rows("conversation")) + str(first.rows("persona")) + str(first.rows("meta"))
        assert [row["text"] for row in first.rows("conversation") if row["role"] == "user"] == [
            "User: I like rain.",
            "User: The kettle is red.",
            "User: A second evening.",
            "User: Then we slept.",
        ]
    debug.close()
    assert holding(tmp_path) == []


def test_what_finishes_erasures_waits_for_one_that_is_under_way_so_that_its_proof_is_of_it(
    tmp_path, server, clock, new_id, log
):
    begun, go_on = Event(), Event()

    def scrub(_: object) -> None:
        begun.set()
        assert go_on.wait(60)

    with house(tmp_path, server, clock, new_id, log) as first, ThreadPoolExecutor(2) as threads:
        first.say(f"My word is {MARKER}.")
        first.settle()
        first.memory.erasure.scrubbers = (scrub,)
        erasing = threads.submit(first.memory.erasure.erase, first.memory.erasure.scope_of_words(MARKER))
        assert begun.wait(60)
        finishing = threads.submit(first.memory.erasure.finish)
        go_on.set()
        assert finishing.result(60) is None, "nothing was left for it"
        assert erasing.result(60).searched > 0


def test_what_was_made_from_it_is_made_anew_from_what_is_left_and_personas_without_a_model(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        chosen = first.memory.erasure.scope_of_words(MARKER)
        assert (len(chosen.summaries), {version.persona for version in chosen.versions}) == (1, {"user", "self"})
        before = len(server.chats)
        erased = erase(first, chosen)
        assert (erased.summaries_rebuilt, erased.personas_rebuilt) == (1, ())
        assert len(server.chats) - before == 1
        assert [row["summary"] for row in first.rows("summary")] == ["I like rain. | The kettle is red."]
        assert first.memory.personas.read("user") == "user: “I like rain.”\nuser: “The kettle is red.”"


def test_without_a_model_what_was_made_from_it_stays_away_and_that_is_told(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        server.script(*[status(401)] * 4)
        events = list(run_erasure(first.memory, first.llm, first.memory.erasure.scope_of_words(MARKER), CancelToken()))
        assert "erase.not_rebuilt" in [getattr(event, "key", "") for event in events]
        assert first.rows("summary") == []
        assert first.memory.personas.read("user") == "user: “I like rain.”\nuser: “The kettle is red.”"
        assert holding(tmp_path) == []


def keys(events) -> list[str]:
    return [event.key for event in events if isinstance(event, Notice)]


def test_rounds_that_the_filter_refuses_are_left_out_of_what_is_made_anew_and_that_is_told(
    tmp_path, server, clock, new_id, log
):
    def filtered(exchange):
        if "kettle" in str(exchange.json):
            status(400, "flagged", error_code="content_filter")(exchange)
        else:
            say(friend(exchange.json))(exchange)

    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        server.script(*[filtered] * 20)
        events = list(run_erasure(first.memory, first.llm, first.memory.erasure.scope_of_words(MARKER), CancelToken()))
        assert keys(events) == ["compaction.left_out"]
        assert events[-1].summaries_rebuilt == 1
        assert [row["summary"] for row in first.rows("summary")] == ["I like rain."]


def test_where_every_round_is_refused_no_summary_is_claimed(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        server.script(*[status(400, "flagged", error_code="content_filter")] * 20)
        events = list(run_erasure(first.memory, first.llm, first.memory.erasure.scope_of_words(MARKER), CancelToken()))
        assert keys(events) == ["compaction.left_out"]
        assert (events[-1].summaries_rebuilt, events[-1].personas_rebuilt) == (0, ())
        assert first.rows("summary") == []


def test_one_message_goes_and_its_partner_stays(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("The garage code is 4711-zulu.")
        first.say("Something else.")
        message = first.memory.messages.rounds(first.talk.session.session_id)[0].user
        server.answer = lambda request: "fine"
        erase(first, first.memory.erasure.scope_of_message(message.text_id))
        assert [row["role"] for row in first.rows("conversation")] == ["assistant", "user", "assistant"]
        assert message.text_id not in first.indexed()
        assert len(first.talk.rounds_in_context()) == 1


@pytest.mark.parametrize("by_hand", ["", "I said something once."])
def test_a_session_of_which_only_a_reply_is_left_can_be_saved(tmp_path, server, clock, new_id, log, by_hand):
    server.answer = lambda request: friend(request) if request["messages"][0]["content"].startswith("Task") else "ok"
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say(f"My word is {MARKER}.")
        first.memory.rounds.set_summary(first.talk.session.session_id, by_hand)
        erase(first, first.memory.erasure.scope_of_words(MARKER))
        saved = first.save()
        assert saved.summary == by_hand
        assert [message.words for message in first.memory.messages.of_session(saved.archived.session_id)] == ["ok"]


def test_a_round_goes_whole(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("The garage code is 4711-zulu.")
        first.say("Something else.")
        message = first.memory.messages.rounds(first.talk.session.session_id)[0].assistant
        erased = erase(first, first.memory.erasure.scope_of_round(message.text_id))
        assert erased.proof.traces == ()
        assert erasure.find_traces([tmp_path / "data"], erasure.forms("4711-zulu")) == []
        assert len(first.rows("conversation")) == 2


def test_a_session_goes_whole_with_its_vectors(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        archived = first.rows("session")[0]["session_id"]
        ids = {row["text_id"] for row in first.rows("conversation") if row["session_id"] == archived}
        vectors = first.memory._of.index.embeddings.bytes_of(sorted(ids))
        assert erasure.find_traces([tmp_path / "data"], {"vector": vectors[0]})
        erase(first, first.memory.erasure.scope_of_session(archived))
        assert [row["session_id"] for row in first.rows("session")] == [first.talk.session.session_id]
        assert not ids & set(first.indexed())
        assert [
            trace for vector in vectors for trace in erasure.find_traces([tmp_path / "data"], {"vector": vector})
        ] == []


def test_a_summary_that_was_made_while_the_person_was_asked_goes_too(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        list(first.talk.turn(f"My word is {MARKER}.", CancelToken()))
        list(first.talk.turn("second", CancelToken()))
        list(first.talk.turn("third", CancelToken()))
        chosen = first.memory.erasure.scope_of_words(MARKER)
        assert chosen.summaries == ()
        assert first.talk.compact_now() == []
        assert MARKER in str(first.rows("summary"))
        assert list(first.talk.erase(chosen, CancelToken()))[-1].proof.traces == ()
        assert holding(tmp_path) == []


def test_what_was_erased_is_never_recalled(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        first.save()
        first.say("Which word, Quintessenz?")
        assert any("Quintessenz" in message.text for message in first.talk.last.recollection.messages)
        chosen = first.memory.erasure.scope_of_words("Quintessenz")
        erase(first, chosen)
        first.say("Which word, please?")
        assert "Quintessenz" not in str(first.talk.last.recollection)


def test_an_erasure_that_was_cut_short_is_finished_at_the_next_start(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        plant(first)
        first.memory.erasure.remove(first.memory.erasure.scope_of_words(MARKER))
        assert first.memory.erasure.is_unfinished()
    with house(tmp_path, server, clock, new_id, log) as second:
        found = second.memory.erasure.finish()
        assert found is not None
        assert found.traces == ()
        assert holding(tmp_path) == []
        assert second.memory.erasure.finish() is None


def test_a_text_that_others_hold_too_is_not_claimed_to_be_gone(tmp_path, server, clock, new_id, log):
    server.answer = lambda request: "Good night, then."
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("Good night, dear")
        first.say("Good night, dear")
        message = first.memory.messages.rounds(first.talk.session.session_id)[0].user
        assert erase(first, first.memory.erasure.scope_of_message(message.text_id)).proof.skipped == 1


def test_nothing_is_chosen_by_nothing(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("hello")
        for chosen in (
            first.memory.erasure.scope_of_words("  "),
            first.memory.erasure.scope_of_message("x"),
            first.memory.erasure.scope_of_session("x"),
        ):
            assert not chosen
