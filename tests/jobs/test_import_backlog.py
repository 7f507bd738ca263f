"""What was brought along becomes known little by little: so many calls a day, the newest first, nothing held up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from domain.events import Notice
from domain.workers import CancelToken
from jobs.import_backlog import BacklogRead, ImportBacklog
from jobs.rebuild import rebuild
from tests.support.house import House, records
from tests.support.past import bring, talk
from tests.support.server import hang, say, status


def read_up(at: House) -> list[Any]:
    return list(ImportBacklog(at.memory, at.llm).run(CancelToken()))


def in_month(month: int, key: str, *said: str) -> Any:
    return talk(key, *said, began=datetime(2025, month, 3, 10, 0, tzinfo=UTC), title=f"About {key}")


MAY = in_month(5, "cats", "P: My cat is called Momo.", "C: A fine name.")
LONG = in_month(5, "long", "P: I play chess.", "C: Well?", "P: On Sundays.", "C: Nice.")
MARCH = in_month(3, "town", "P: I live in Lyon.", "C: By the Rhone.")


def test_what_was_brought_along_comes_to_a_summary_to_facts_and_into_the_persona(opened, mind):
    with opened() as at:
        bring(at.memory, MAY)
        (session,) = [one for one in at.memory.sessions.recent(None) if one.client]
        assert at.memory.summaries.of(session.session_id).summary == "About cats"
        events = read_up(at)
        assert [type(event) for event in events] == [BacklogRead]
        assert at.memory.summaries.of(session.session_id).summary == "My cat is called Momo."
        assert "Momo" in at.memory.personas.read("user")
        assert at.memory.imports.remaining_backlog().sessions == 0
        assert at.memory.imports.remaining_backlog().calls_today == 4
        assert read_up(at) == []
        assert len(mind.asked("notes") + mind.asked("fold") + mind.asked("user")) == 3


def test_what_another_program_says_of_itself_is_not_known_of_the_companion(opened):
    with opened() as at:
        bring(at.memory, MAY)
        read_up(at)
        assert {fact.about for fact in at.memory.facts.all()} == {"person"}
        assert at.memory.personas.read("self") == ""


def test_the_newest_month_is_read_first_and_in_it_what_was_talked_of_most(opened, mind):
    with opened() as at:
        bring(at.memory, MARCH, MAY, LONG)
        assert len(read_up(at)) == 3
        read = [records(request)[0]["text"] for request in mind.asked("notes")]
        assert read == ["I play chess.", "My cat is called Momo.", "I live in Lyon."]


def test_no_day_has_more_calls_than_the_settings_allow_also_after_a_new_start(opened, mind, clock, server):
    with opened(IMPORT_CALLS="4") as at:
        bring(at.memory, MARCH, MAY, LONG)
        read_up(at)
        assert len(server.chats) <= 4
        done = len(server.chats)
    with opened(IMPORT_CALLS="4") as again:
        read_up(again)
        assert len(server.chats) <= 4
        clock.pass_by(days=1)
        read_up(again)
        assert done < len(server.chats) <= 8
        for _ in range(2):
            clock.pass_by(days=1)
            read_up(again)
        assert again.memory.imports.remaining_backlog().sessions == 0


@pytest.mark.parametrize("off", ["settings", "rest"])
def test_nothing_is_read_up_where_nothing_may_be(opened, server, off):
    with opened(IMPORT_CALLS="0" if off == "settings" else "50") as at:
        bring(at.memory, MAY)
        at.memory.imports.set_paused(off == "rest")
        assert read_up(at) == []
        assert server.chats == []
        assert at.memory.imports.remaining_backlog().sessions == 1


def test_a_model_that_fails_leaves_it_for_later_with_a_notice(opened, mind):
    with opened() as at:
        bring(at.memory, MAY)
        mind.answers("fold", status(500))
        events = read_up(at)
        assert [event.key for event in events if isinstance(event, Notice)] == ["import.backlog_failed"]
        assert at.memory.imports.remaining_backlog().sessions == 1
        mind.answers("fold", "They talked of a cat.")
        read_up(at)
        assert at.memory.imports.remaining_backlog().sessions == 0
        assert len(mind.asked("notes")) == 1


def test_it_is_done_in_the_background_once_everything_is_ready(opened):
    with opened() as at:
        bring(at.memory, MAY)
        at.talk.start_maintenance()
        at.talk.maintenance.wait()
        assert at.memory.imports.remaining_backlog().sessions == 0


def test_a_chat_goes_on_while_a_model_thinks_about_the_past_and_leaving_stops_it(opened, mind):
    mind.answers("notes", hang)
    with opened() as at:
        bring(at.memory, MAY)
        at.talk.start_maintenance()
        while not mind.asked("notes"):
            CancelToken().wait(0.01)
        assert at.say("Are you there?").startswith("Reply to:")
        assert at.talk.maintenance.busy
    mind.answers("notes", notes_of_nothing())
    with opened() as again:
        assert again.memory.imports.remaining_backlog().sessions == 1
        read_up(again)
        assert again.memory.imports.remaining_backlog().sessions == 0


def notes_of_nothing() -> str:
    return json.dumps({"notes": []})


def test_what_the_others_say_in_a_talk_of_people_is_evidence_for_nobody_but_them(opened, mind):
    def claim(about: str, subject: str, value: str, message: int) -> dict[str, Any]:
        told = {"turns": [message], "restatement": f"{subject} lives in {value}.", "subject": subject}
        return {**told, "attribute": "home", "value": value, "about": about, "stance": "stated"}

    claims = [
        claim("person", "the user", "Oslo", 1),
        claim("companion", "Old Friend", "Oslo", 1),
        claim("other", "Eve", "Oslo", 1),
        claim("other", "Ann", "Oslo", 1),
        claim("person", "the user", "Lyon", 2),
    ]
    text = {"turns": [1, 2], "text": "Where they live.", "topic": "home", "importance": 5, "facts": claims}
    mind.answers("notes", json.dumps({"notes": [text]}))
    with opened() as at:
        bring(at.memory, talk("chat", "Ann: I live in Oslo.", "Bob: I live in Lyon."), me="Bob")
        read_up(at)
        assert [(fact.about, fact.subject, fact.value) for fact in at.memory.facts.all()] == [
            ("other", "Ann", "Oslo"),
            ("person", "the user", "Lyon"),
        ]
        shown = records(mind.asked("notes")[0])
        assert [one["speaker"] for one in shown] == ["Ann", "the user"]


def test_a_long_talk_is_summarised_in_parts_that_are_kept(opened, mind):
    words = " ".join(["chess"] * 3_000)
    mind.answers("fold", "They play chess.")
    mind.answers("notes", '{"notes": []}')
    with opened() as at:
        bring(at.memory, talk("long", *[f"P: {number} {words}" for number in range(5)]))
        read_up(at)
        assert len(mind.asked("fold")) == 3
        assert at.memory.imports.remaining_backlog().sessions == 0


def test_after_an_erasure_a_session_of_the_past_is_read_up_again_when_its_turn_comes(opened, server):
    with opened(IMPORT_CALLS="0") as at:
        bring(at.memory, MAY, LONG)
        list(at.talk.erase(at.memory.erasure.scope_of_words("Momo"), CancelToken()))
        assert server.chats == []
        assert at.memory.rebuilds.due_requests() == []
        assert at.memory.imports.remaining_backlog().sessions == 2


def test_what_is_hidden_while_it_is_read_is_in_no_summary_and_the_rest_is_read_again(opened, mind):
    with opened() as at:
        bring(at.memory, LONG)
        (session,) = [one for one in at.memory.sessions.recent(None) if one.client]
        secret = at.memory.messages.of_session(session.session_id)[0]

        def forget_request(exchange: Any) -> None:
            at.memory.rounds.hide([secret.text_id])
            say("They play chess.")(exchange)

        mind.answers("fold", forget_request, "On Sundays.")
        read_up(at)
        assert at.memory.summaries.of(session.session_id).summary == "On Sundays."


def test_what_is_hidden_after_its_summary_was_made_is_read_again_before_it_is_done(opened, mind):
    with opened() as at:
        bring(at.memory, LONG)
        (session,) = [one for one in at.memory.sessions.recent(None) if one.client]
        secret = at.memory.messages.of_session(session.session_id)[0]

        def forget_request(exchange: Any) -> None:
            at.memory.rounds.hide([secret.text_id])
            status(500)(exchange)

        mind.answers("fold", "They play chess.", "On Sundays.")
        mind.answers("user", forget_request, say("{}"))
        read_up(at)
        read_up(at)
        assert at.memory.summaries.of(session.session_id).summary == "On Sundays."
        assert at.memory.imports.remaining_backlog().sessions == 0


def test_a_session_of_the_past_that_is_gone_on_with_before_it_was_read_gets_its_summary_all_the_same(opened):
    with opened(IMPORT_CALLS="0") as at:
        bring(at.memory, MAY)
        (session,) = [one for one in at.memory.sessions.recent(None) if one.client]
        at.memory.rounds.resume(session.session_id, at.talk.session.session_id)
        list(rebuild(at.memory, at.llm, CancelToken()))
        assert at.memory.summaries.of(session.session_id).summary == "My cat is called Momo."
        at.memory.rounds.save(session.session_id, "My cat is called Momo.", {})
        assert [one.name for one in at.memory.chapters.ungrouped(1)] == [session.session_id]
