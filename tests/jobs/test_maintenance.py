"""Days and silence: what fell silent is kept by itself, and the model knows when the two last talked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from companion import Companion
from domain.records import Session
from domain.workers import CancelToken
from tests.support.house import House, friend, house, marked, records
from tests.support.server import ScriptedServer, status


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        started.answer = friend
        yield started


@pytest.fixture
def opened(tmp_path, server, clock, new_id, log):
    """Opens the house again and again on one folder."""
    return lambda **settings: house(tmp_path, server, clock, new_id, log, **{"AUTOSAVE_AFTER": "8", **settings})


def kept(at: House) -> list[tuple[str, str]]:
    """Keep what fell silent, to the end; which sessions there are and how they stand, oldest first."""
    at.talk.start_maintenance()
    at.talk.maintenance.wait()
    return statuses(at)


def statuses(at: House) -> list[tuple[str, str]]:
    sessions: list[Session] = at.memory.sessions.recent(None)[::-1]
    return [(session.session_id, session.status) for session in sessions]


def told(at: House) -> list[str]:
    """The keys of the notices of a turn."""
    return [event.key for event in at.talk.turn("Hello?", CancelToken()) if hasattr(event, "key")]


def system_of_last_turn(server: ScriptedServer) -> str:
    return str(server.chats[-1]["messages"][0]["content"])


def test_a_session_that_fell_silent_is_kept_by_itself_at_the_next_start(opened, clock, server):
    with opened() as before:
        before.say("I have a cat called Mimi")
        old = before.talk.session.session_id
    clock.pass_by(hours=9)
    with opened() as after:
        new = after.talk.session.session_id
        assert after.talk.open().keeping == 1
        assert kept(after) == [(old, "archived"), (new, "active")]
        assert "Mimi" in after.memory.summaries.of(old).summary
        assert "Mimi" in after.memory.personas.read("user")
        assert told(after) == ["opening.autosaved"]
        assert told(after) == []
        assert after.talk.open().keeping == 0


def test_a_companion_lets_go_of_no_session_that_is_being_autosaved(opened, clock, server, new_id):
    with opened() as before:
        before.say("I have a cat called Mimi")
        old = before.talk.session.session_id
    clock.pass_by(hours=9)
    with opened() as after:
        companion, taken = Companion("", None, after.talk.maintenance, new_id), []

        def answer(request):
            if marked(request, "fold"):
                companion.open_conversation(after.talk.session)
                taken.extend(after.memory.claims.taken("session"))
            return friend(request)

        server.answer = answer
        assert kept(after)[0] == (old, "archived")
        assert old in taken
        assert old not in after.memory.claims.taken("session")


def known(at: House) -> list[str]:
    return [fact.value for fact in at.memory.facts.all(current=True)]


def test_without_autosave_a_session_goes_on_however_long_ago_it_was_and_what_was_said_is_known(opened, clock, server):
    with opened(AUTOSAVE_AFTER="0") as before:
        before.say("I have a cat called Mimi")
        before.say("I live in Oslo")
        old = before.talk.session.session_id
    clock.pass_by(days=400)
    with opened(AUTOSAVE_AFTER="0") as after:
        assert after.talk.session.session_id == old
        opening = after.talk.open()
        assert (opening.resumed, opening.keeping, len(opening.rounds)) == (True, 0, 2)
        context = after.talk.rounds_in_context()
        assert kept(after) == [(old, "active")]
        assert "I have a cat called Mimi" in known(after)
        assert after.talk.rounds_in_context() == context
        assert after.memory.summaries.of(old) is None
        assert (after.memory.personas.read("self"), after.memory.personas.read("user")) == ("", "")
        asked = len(server.chats)
        kept(after)
        assert len(server.chats) == asked, "what was read once is not read again"
        after.say("I moved to Bergen")
        after.save()
        read = [
            record["text"]
            for request in server.chats if marked(request, "notes")
            for record in records(request) if "turn" in record and record["speaker"] == "the user"
        ]  # fmt: skip
        assert sorted(read) == ["I have a cat called Mimi", "I live in Oslo", "I moved to Bergen"]
        assert "Mimi" in after.memory.personas.read("user")


def test_a_session_is_left_alone_before_it_was_silent_for_so_long_and_where_that_is_never(opened, clock, server):
    for setting, hours in (("3", 2), ("0", 900)):
        with opened(AUTOSAVE_AFTER="0", EXTRACT_AFTER=setting) as at:
            at.say("I have a cat called Mimi")
            clock.pass_by(hours=hours)
            kept(at)
            assert known(at) == []
    assert not any(marked(request, "notes") for request in server.chats)


def test_what_could_not_be_extracted_is_told_once_and_tried_again_at_the_next_start(opened, clock, server):
    with opened(AUTOSAVE_AFTER="0") as before:
        before.say("I have a cat called Mimi")
    clock.pass_by(days=3)
    server.script(status(401, "no"))
    with opened(AUTOSAVE_AFTER="0") as after:
        kept(after)
        kept(after)
        assert [one.key for one in after.talk.maintenance.notices] == ["extraction.failed"]
        (failed,) = after.memory.jobs.failed()
        assert (failed.kind, failed.reason) == ("extract", 'model.unauthorized {"status": 401}')
    with opened(AUTOSAVE_AFTER="0") as again:
        kept(again)
        assert "I have a cat called Mimi" in known(again)
        assert again.memory.jobs.failed() == []


@pytest.mark.parametrize(("hours", "setting"), [(7, "8"), (900, "0"), (9, "10.5")])
def test_before_that_it_is_gone_on_with(opened, clock, hours, setting):
    with opened(AUTOSAVE_AFTER=setting) as before:
        before.say("Hello")
        old = before.talk.session.session_id
    clock.pass_by(hours=hours)
    with opened(AUTOSAVE_AFTER=setting) as after:
        assert after.talk.session.session_id == old
        assert kept(after) == [(old, "active")]


def test_what_could_not_be_kept_is_kept_at_the_next_start_and_told(opened, clock, server):
    with opened() as before:
        before.say("I have a cat called Mimi")
        old = before.talk.session.session_id
    clock.pass_by(days=3)
    server.script(status(401, "no"))
    with opened() as after:
        assert dict(kept(after))[old] == "active"
        assert "opening.autosave_failed" in [one.key for one in after.talk.maintenance.notices]
    with opened() as again:
        assert dict(kept(again))[old] == "archived"
        assert again.memory.messages.rounds(old)[0].user.words == "I have a cat called Mimi"


def test_a_message_that_waits_for_its_reply_is_offered_again_however_long_ago(opened, clock):
    with opened() as before:
        before.say("Hello")
        before.memory.sessions.note_in_flight(before.talk.session.session_id, "Are you there?")
        old = before.talk.session.session_id
    clock.pass_by(days=3)
    with opened() as after:
        assert after.talk.session.session_id == old
        assert after.talk.open().in_flight.text == "Are you there?"


def test_a_session_whose_last_message_was_erased_falls_silent_as_well(opened, clock):
    with opened() as before:
        before.say("I have a cat called Mimi")
        before.say("My word is Quintessenz")
        old = before.talk.session.session_id
        (message,) = [one for one in before.memory.messages.of_session(old) if one.words == "My word is Quintessenz"]
        list(before.talk.erase(before.memory.erasure.scope_of_message(message.text_id), CancelToken()))
        assert before.memory.last_round_end() == before.memory.messages.rounds(old)[0].assistant.timestamp
    clock.pass_by(days=3)
    with opened() as after:
        assert after.talk.session.session_id != old
        assert dict(kept(after))[old] == "archived"


def test_whoever_saves_meanwhile_comes_first_and_nothing_is_lost_or_doubled(opened, clock, server):
    with opened() as before:
        before.say("I have a cat called Mimi")
        old = before.talk.session.session_id
    clock.pass_by(days=3)
    with opened() as after:
        after.say("I have a dog called Rex")
        after.talk.start_maintenance()
        new = after.save().archived.session_id
        after.talk.maintenance.wait()
        assert dict(statuses(after))[old] == dict(statuses(after))[new] == "archived"
        assert all(name in after.memory.personas.read("user") for name in ("Mimi", "Rex"))


def test_keeping_that_is_called_for_during_a_pause_begins_after_it(opened, clock, server):
    with opened() as before:
        before.say("I have a cat called Mimi")
        old = before.talk.session.session_id
    clock.pass_by(days=3)
    with opened() as after:
        with after.talk.maintenance.paused():
            with after.talk.maintenance.paused():
                assert dict(kept(after))[old] == "active"
            after.talk.maintenance.wait()
            assert dict(statuses(after))[old] == "active"
        after.talk.maintenance.wait()
        assert dict(statuses(after))[old] == "archived"


def test_a_session_that_is_taken_up_while_others_are_kept_stays_open(opened, clock, server):
    with opened() as before:
        before.say("I have a cat called Mimi")
        old = before.talk.session
    clock.pass_by(days=3)
    with opened() as after:
        after.talk.switch_to(old, resumed=True)
        assert dict(kept(after))[old.session_id] == "active"


def test_a_session_in_the_other_language_turns_no_persona_into_that_language(opened, server):
    with opened() as talk:
        talk.memory.personas.write("user", "Ann has a cat called Mimi.", "hand")
        talk.say("我昨天带猫去看了医生，它好多了。")
        talk.save()
    asked = {name: one for one in server.chats for name in ("self", "user") if marked(one, name)}
    assert asked["user"]["messages"][0]["content"].startswith("Task: bring the persona of the user up to date.")
    assert asked["self"]["messages"][0]["content"].startswith(
        "Task: bring the persona of Old Friend (the assistant) up to date."
    )


def test_the_first_three_turns_of_a_talk_know_when_the_two_last_talked(opened, clock, server):
    with opened() as before:
        before.say("Hello")
    last = "You last talked seven weeks ago, Sunday 1 March 2026."
    clock.pass_by(days=55)
    with opened(AUTOSAVE_AFTER="8") as after:
        assert after.talk.open().last_spoken.startswith("2026-03-01")
        for message in range(4):
            after.say("Hi again")
            assert (last in system_of_last_turn(server)) is (message < 3), message


def test_a_pause_in_the_middle_of_a_session_is_told_and_its_days_are_marked(opened, clock, server):
    with opened(AUTOSAVE_AFTER="0") as talk:
        talk.say("Hello")
        clock.pass_by(days=2)
        talk.say("Hi again")
        assert "You last talked two days ago, Sunday 1 March 2026." in system_of_last_turn(server)
        said = [message["content"] for message in server.chats[-1]["messages"][1:]]
        assert said == ["[Sunday 2026-03-01]\nHello", "Reply to: Hello", "[Tuesday 2026-03-03]\nHi again"]
        talk.say("And now?")
        assert server.chats[-1]["messages"][3]["content"] == "[Tuesday 2026-03-03]\nHi again"


def test_personas_are_told_the_dates_of_the_talk_they_are_brought_up_to_date_from(opened, clock, server):
    with opened() as before:
        before.say("I have a cat")
    clock.pass_by(days=3)
    with opened() as after:
        kept(after)
    asked = [request for request in server.chats if marked(request, "self") or marked(request, "user")]
    assert len(asked) == 2
    for request in asked:
        assert '"today": "Wednesday 2026-03-04"' in request["messages"][1]["content"]
        assert '"dates_of_the_conversation": "Sunday 2026-03-01"' in request["messages"][1]["content"]


def test_what_the_stand_in_said_reaches_no_later_prompt_as_anybodys_words(tmp_path, opened, server, clock, new_id, log):
    with house(tmp_path, None, clock, new_id, log) as alone:
        alone.say("My zeppelin has nine rivets")
        old = alone.talk.session.session_id
        assert [stored_message.demo for stored_message in alone.memory.messages.of_session(old)] == [False, True]
    with opened() as real:
        real.say("Hello")
        real.talk.reset()
        real.talk.undo()
        assert [stored_message.demo for stored_message in real.memory.messages.of_session(old)] == [
            False,
            True,
            False,
            False,
        ]
        real.save()
        real.say("How many rivets has my zeppelin?")
    prompts = "".join(str(message["content"]) for request in server.chats for message in request["messages"])
    assert "nine rivets" in prompts
    assert "demo model" not in prompts
    assert "You said:" not in prompts


def test_when_to_look_again_is_found_without_reading_a_text(opened, clock, monkeypatch):
    with opened(EXTRACT_AFTER="2") as at:
        for _ in range(3):
            at.say("I have a cat called Mimi")
        last = at.memory.messages.of_session(at.talk.session.session_id)[-1].timestamp
        clock.pass_by(minutes=1)
        monkeypatch.setattr(at.memory.messages, "_read_messages", None)
        look = at.talk.maintenance.next_look()
        monkeypatch.undo()
    assert look == (datetime.fromisoformat(last) + timedelta(hours=2)).timestamp()
    with opened(AUTOSAVE_AFTER="0", EXTRACT_AFTER="0") as at:
        monkeypatch.setattr(at.memory.messages, "last_moment", None)
        look = at.talk.maintenance.next_look()
        monkeypatch.undo()
    assert look is None


def test_what_waits_for_the_results_of_tools_goes_after_a_day(opened, clock, server):
    with opened() as at:
        stored = clock().astimezone(UTC)
        at.memory.steps.store("tools", "a turn", "", "what was recalled", stored.isoformat())
        clock.pass_by(hours=23)
        kept(at)
        assert at.memory.steps.of("tools", "a turn")
        assert at.talk.maintenance.next_look() == (stored + timedelta(days=1)).timestamp()
    clock.pass_by(hours=2)
    with opened() as at:
        kept(at)
        assert at.memory.steps.of("tools", "a turn") == {}
