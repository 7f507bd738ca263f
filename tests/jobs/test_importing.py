"""What other programs kept becomes sessions of the past: every word once, in its place in life; nothing comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from domain import errors
from domain.facts import LineEvidence, PersonaDraft
from domain.imports import Look, Unread
from domain.workers import CancelToken
from jobs.importing import ImportContext, Importing, preview_file
from tests.importers.exports import read, written
from tests.importers.test_gemini import entry
from tests.support.house import house
from tests.support.past import BEGAN, Handmade, bring, continued, talk, told
from tests.support.server import ScriptedServer, say

WHO = ImportContext(frozenset(), BEGAN)
NOW = "2026-03-01T10:00:00+00:00"


@pytest.fixture
def opened(tmp_path, clock, new_id, log) -> Callable[..., Any]:
    """Opens the house again and again on one folder."""
    return lambda server=None, **settings: house(tmp_path, server, clock, new_id, log, **settings)


@pytest.fixture
def home(opened) -> Iterator[Any]:
    with opened() as at:
        yield at


CATS = talk("cats", "P: My cat is called Momo.", "C: A fine name.", "P: She is grey.", "C: Like fog.")


def test_every_message_is_a_message_of_its_own_word_for_word_in_the_order_in_which_it_stood(home):
    said = ["C: Hello, who is there?", "P: Me.", "P: And  my cat:\n\n  Momo", "C: Ah.", "C: Both of you."]
    brought = bring(home.memory, talk("row", *said))
    assert (brought.messages, brought.sessions, brought.known) == (5, 1, 0)
    assert told(home.memory) == [[line.replace("C:", "a:").replace("P:", "u:") for line in said]]
    (session,) = [one for one in home.memory.sessions.recent(None) if one.client]
    messages = home.memory.messages.of_session(session.session_id)
    assert [message.round for message in messages] == [1, 2, 3, 3, 4]
    assert messages[2].timestamp == (BEGAN + timedelta(minutes=2)).astimezone().isoformat(timespec="seconds")
    assert messages[2].stored_at.startswith("2026-03-01")


def test_sessions_end_at_long_pauses_and_stand_where_they_happened(home):
    early = talk("early", "P: One.", "C: Yes.", "... 5h later", "P: Two.", "... 7h later", "P: Three.", began=BEGAN)
    between = talk("between", "P: Meanwhile.", began=BEGAN + timedelta(hours=8))
    brought = bring(home.memory, early, between)
    assert brought.sessions == 3
    assert told(home.memory) == [["u: One.", "a: Yes.", "u: Two."], ["u: Meanwhile."], ["u: Three."]]
    for session in home.memory.sessions.recent(None)[1:]:
        assert session.status == "archived"
        messages = home.memory.messages.of_session(session.session_id)
        assert (session.start_timestamp, session.end_timestamp) == (messages[0].timestamp, messages[-1].timestamp)


def test_a_talk_goes_on_where_it_was_and_never_in_what_was_brought_along(opened):
    with opened() as at:
        at.say("Here I am.")
        present = at.talk.session.session_id
        bring(at.memory, talk("later", "P: Much later.", began=at.talk._clock() + timedelta(minutes=30)))
    with opened() as again:
        assert again.talk.session.session_id == present
        assert again.memory.last_round_end() < again.memory.sessions.recent(1)[0].start_timestamp


def test_the_same_file_twice_adds_nothing_and_a_newer_export_only_what_is_new(home):
    bring(home.memory, CATS)
    before = home.read("SELECT * FROM conversation")
    again = bring(home.memory, CATS)
    assert (again.messages, again.known, again.sessions) == (0, 4, 0)
    assert home.read("SELECT * FROM conversation") == before
    newer = continued(CATS, "P: She sleeps.", "C: Quietly.", "... 9h later", "P: She is awake.")
    third = bring(home.memory, newer, sha256="2")
    assert (third.messages, third.known, third.sessions) == (3, 4, 1)
    assert [len(session) for session in told(home.memory)] == [6, 1]
    assert told(home.memory)[0][-2:] == ["u: She sleeps.", "a: Quietly."]
    assert [one.messages for one in home.memory.imports.all()] == [4, 3]


def test_a_reply_that_only_a_newer_export_has_belongs_to_the_round_that_waited_for_it(home):
    asked = talk("asked", "P: Who are you?")
    bring(home.memory, asked)
    bring(home.memory, continued(asked, "C: A friend."), sha256="2")
    (session,) = [one for one in home.memory.sessions.recent(None) if one.client]
    (spoken,) = home.memory.messages.rounds(session.session_id)
    assert (spoken.user.words, spoken.assistant.words) == ("Who are you?", "A friend.")


def test_what_an_older_export_has_before_and_between_stands_before_and_between(home):
    whole = talk("part", "P: One.", "P: Two.", "P: Three.", "P: Four.", "P: Five.")
    part = whole.messages[1], whole.messages[3]
    bring(home.memory, type(whole)(whole.source, whole.key, "", part))
    assert told(home.memory) == [["u: Two.", "u: Four."]]
    bring(home.memory, whole, sha256="2")
    assert told(home.memory) == [["u: One.", "u: Two.", "u: Three.", "u: Four.", "u: Five."]]


def test_what_was_erased_does_not_come_back_with_the_next_import(home):
    bring(home.memory, CATS)
    home.memory.start()
    proof = home.memory.erasure.erase(home.memory.erasure.scope_of_words("Momo"))
    assert not proof.traces
    again = bring(home.memory, continued(CATS, "P: She purrs."), sha256="2")
    assert (again.messages, again.known, again.erased) == (1, 3, 1)
    assert told(home.memory) == [["a: A fine name.", "u: She is grey.", "a: Like fog.", "u: She purrs."]]


def test_an_import_that_is_stopped_goes_on_behind_it_and_ends_as_if_it_had_not_been(
    opened, tmp_path, clock, new_id, log
):
    conversations = [
        talk(f"c{number}", *[f"P: word {number} {at}" for at in range(7)], "... 8h later", "C: late")
        for number in range(4)
    ]
    with opened() as at:
        for enough in range(1, 6):
            work = Importing(at.memory, 3).run(Handmade(conversations), "f", "1", WHO, CancelToken())
            for _ in range(enough):
                next(work)
            work.close()
        assert at.memory.imports.all()[0].state == "begun"
        bring(at.memory, *conversations, at_once=3)
        assert at.memory.imports.all()[0].state == "done"
        stopped = told(at.memory)
    with house(tmp_path / "other", None, clock, new_id, log) as other:
        bring(other.memory, *conversations)
        assert told(other.memory) == stopped


def test_ctrl_c_stops_between_two_commits(home):
    stop = CancelToken()
    work = Importing(home.memory, 2).run(Handmade([CATS, talk("b", "P: x")]), "f", "1", WHO, stop)
    next(work)
    stop.set()
    with pytest.raises(errors.Interrupted):
        next(work)
    assert [len(session) for session in told(home.memory)] == [2]


def test_one_bad_conversation_costs_only_itself_and_everything_left_out_is_counted(home):
    bad = Unread("chatgpt", "conversations.json #2", "history.unread.misshapen")
    strange = talk("strange", "P: \x00 \ud800ok\x1b[2J", "P:   ", "C: fine")
    brought = bring(home.memory, CATS, bad, strange)
    assert (brought.conversations, brought.messages, brought.unread, brought.unread_count) == (2, 6, (bad,), 1)
    assert brought.left_out == {"history.left_out.empty": 1}
    assert ["u:  �ok[2J", "a: fine"] in told(home.memory)


def test_in_a_talk_of_people_everybody_else_has_a_name_and_the_person_none(home):
    chat = talk("chat", "Ann: Are you coming?", "Bob: No.", "Ann: Why?", "~ Eve: He is ill.")
    bring(home.memory, chat, me="bob")
    assert told(home.memory) == [["Ann: Are you coming?", "u: No.", "Ann: Why?", "~ Eve: He is ill."]]


def test_the_name_of_who_spoke_is_told_in_recalled_memories(opened, tmp_path):
    with ScriptedServer() as server, opened(server) as at:
        bring(at.memory, talk("chat", "Ann: The key lies under the blue pot.", "Bob: Thanks."), me="Bob")
        server.script(say("Under the pot."))
        at.say("Where is the key, under the blue pot?")
        prompt = server.chats[-1]["messages"]
        recalled = next(one["content"] for one in prompt if "blue pot" in one["content"])
        assert '{"Ann":"The key lies under the blue pot."}' in recalled


def test_a_name_and_a_title_take_no_more_room_than_a_name_and_a_title(home):
    bring(home.memory, talk("k", "X" * 30_000 + ": My zebra is called Momo.", "P: Ah.", title="zebra " * 5_000))
    (message, _) = home.memory.messages.of_session(home.memory.sessions.recent(None)[-1].session_id)
    (summary,) = home.memory.summaries.all()
    assert (len(message.speaker), len(summary.summary)) == (80, 300)
    assert message.words == "My zebra is called Momo."


def test_what_somebody_said_is_found_by_their_name(home):
    bring(home.memory, talk("chat", "Ann: Are you coming?", "Bob: No.", "Eve: Why?"), me="Bob")
    found = home.memory.search("Ann", home.settings.recall_limits)
    assert [(message.speaker, message.text) for message in found.messages] == [("Ann", "Assistant: Are you coming?")]


def test_who_is_erased_by_name_goes_with_all_that_they_said(home):
    bring(home.memory, talk("chat", "Ann Marie: Are you coming?", "Bob: No."), me="Bob")
    home.memory.start()
    proof = home.memory.erasure.erase(home.memory.erasure.scope_of_words("Ann Marie"))
    assert not proof.traces
    assert told(home.memory) == [["u: No."]]


@pytest.mark.parametrize("how", ["erased", "hidden"])
def test_a_title_that_went_with_what_was_forgotten_does_not_come_back_with_a_newer_export(home, how):
    cats = replace(CATS, title="Momo and her fur")
    bring(home.memory, cats)
    chosen = home.memory.erasure.scope_of_words("Momo")
    if how == "erased":
        home.memory.start()
        home.memory.erasure.erase(chosen)
    else:
        home.memory.rounds.hide([message.text_id for message in chosen.messages])
    newer = continued(cats, "P: What a day.", hours=9)
    assert bring(home.memory, newer, talk("b", "P: Else.", title="Else"), sha256="2").sessions == 2
    titles = [home.memory.summaries.of(one.session_id) for one in home.memory.sessions.recent(None)]
    assert [one.summary for one in titles if one] == ["Else"]
    assert [one.messages for one in home.memory.imports.all()] == [4, 2]


@pytest.mark.parametrize("how", ["erased", "hidden"])
def test_a_title_goes_from_every_session_of_a_talk_of_which_something_was_forgotten(home, how):
    cats = talk("cats", "P: My cat is called Momo.", "... 9h later", "P: What a day.", title="The fur of my cat")
    bring(home.memory, cats, talk("dogs", "P: My dog is called Rex.", title="The fur of my dog"))
    first = next(
        one
        for one in home.memory.sessions.recent(None)
        if "Momo" in str(home.memory.messages.of_session(one.session_id))
    )
    if how == "erased":
        home.memory.start()
        home.memory.erasure.erase(home.memory.erasure.scope_of_session(first.session_id))
    else:
        home.memory.rounds.hide([message.text_id for message in home.memory.messages.of_session(first.session_id)])
    assert [one.summary for one in home.memory.summaries.all()] == ["The fur of my dog"]
    assert ["u: What a day."] in told(home.memory)


def test_words_that_stand_in_the_name_of_a_file_alone_are_erased_there_in_any_case(home):
    file = Handmade([CATS])
    list(Importing(home.memory).run(file, "Gespräch mit ÄNNE.json", "1", WHO, CancelToken()))
    home.memory.start()
    chosen = home.memory.erasure.scope_of_words("änne")
    assert chosen
    assert not home.memory.erasure.erase(chosen).traces
    assert [one.name for one in home.memory.imports.all()] == [""]
    assert len(told(home.memory)[0]) == 4


def test_every_case_in_which_a_name_was_written_is_searched_for(home):
    bring(home.memory, talk("chat", "ANN MARIE: Are you coming?", "Bob: No."), me="Bob")
    assert {"ann marie", "ANN MARIE"} <= {*home.memory.erasure.scope_of_words("ann marie").texts}


def test_a_message_that_is_called_as_a_format_is_proves_nothing_by_its_name(home):
    bring(home.memory, talk("short", "P: chatgpt", "C: Yes?"))
    home.memory.start()
    (session,) = [one for one in home.memory.sessions.recent(None) if one.client]
    message = home.memory.messages.of_session(session.session_id)[0]
    assert not home.memory.erasure.erase(home.memory.erasure.scope_of_message(message.text_id)).traces


def test_a_time_that_nobody_knows_is_that_of_the_neighbours_and_is_marked(home):
    known = talk("mixed", "P: One.", "C: Two.", "P: Three.")
    without = [type(one)(one.key, one.by, one.text, None) for one in known.messages]
    bring(home.memory, type(known)("chatgpt", "mixed", "", (without[0], known.messages[1], without[2])))
    bring(home.memory, type(known)("chatgpt", "never", "", tuple(without)), sha256="2")
    messages = [
        message
        for one in home.memory.sessions.recent(None)
        for message in home.memory.messages.of_session(one.session_id)
    ]
    assert [message.undated for message in messages] == [True, True, True, True, False, True]
    minute = (BEGAN + timedelta(minutes=1)).astimezone().isoformat(timespec="seconds")
    assert {message.timestamp for message in messages[3:]} == {minute}


def test_a_year_that_no_clock_shows_is_as_good_as_no_time(home, opened):
    odd = talk("odd", "P: Old.", began=datetime(1, 1, 2).astimezone())
    bring(home.memory, odd)
    (message,) = [
        message
        for one in home.memory.sessions.recent(None)
        for message in home.memory.messages.of_session(one.session_id)
    ]
    assert message.undated
    assert home.memory.problems() == []


def test_what_was_said_in_a_role_is_found_and_never_read_for_what_is_known(home):
    bring(home.memory, talk("play", "P: I am the captain.", "C: Aye!", persona="Bosun"))
    (session,) = [one for one in home.memory.sessions.recent(None) if one.client]
    assert told(home.memory) == [["u: I am the captain.", "Bosun: Aye!"]]
    assert home.memory.messages.unread(session.session_id) == []
    assert home.memory.imports.due_sessions() == []
    assert [message.text for message in home.memory.search("captain", home.settings.recall_limits).messages]


def gemini(folder: Any, *prompts: tuple[int, str]) -> list[Any]:
    """What is read of a log with these prompts, each so many minutes after nine; the newest stands first there."""
    log = [entry(f"2026-03-02T09:{at:02d}:00.000Z", f"Prompted {said}", "<p>Yes.</p>") for at, said in prompts]
    return read(written(folder / "MyActivity.json", log[::-1])).talks


def test_a_log_that_lost_its_oldest_entries_brings_only_what_is_new(home, tmp_path):
    bring(home.memory, *gemini(tmp_path, (0, "One"), (20, "Two"), (40, "Three")))
    again = bring(home.memory, *gemini(tmp_path, (20, "Two"), (40, "Three"), (50, "Four")), sha256="2")
    assert (again.messages, again.known, again.sessions) == (2, 4, 0)
    assert [line for line in told(home.memory)[0] if line.startswith("u:")] == [
        "u: One",
        "u: Two",
        "u: Three",
        "u: Four",
    ]


def test_a_log_that_was_brought_before_its_entries_were_known_by_themselves_is_known_again(home, tmp_path):
    talks = gemini(tmp_path, (0, "One"), (20, "Two"))
    bring(home.memory, *(replace(one, log="") for one in talks))
    assert bring(home.memory, *talks, sha256="2").messages == 0


def test_a_whole_import_is_taken_back_and_may_come_again(home):
    home.say("Here I am.")
    before = told(home.memory)
    bring(home.memory, CATS, talk("b", "P: Something else."))
    assert len(told(home.memory)) == 3
    assert list(home.memory.imports.take_back(1))[-1] == 5
    assert told(home.memory) == before
    assert home.memory.imports.all() == []
    for table in ("imported_message", "imported_session"):
        assert home.rows(table) == []
    assert bring(home.memory, CATS).messages == 4


def drawn(home: Any, *texts: str) -> None:
    """Versions of the persona of the person, each with what its lines rest on: a word of their own, one of the past."""
    session = home.talk.session.session_id
    (past,) = [one for one in home.memory.sessions.recent(None) if one.client]
    own, brought = (home.memory.messages.of_session(one)[0].text_id for one in (session, past.session_id))
    lines = (LineEvidence("Sings.", (own,)), LineEvidence("Has a cat.", (brought,)))
    home.memory.rounds.save(session, "What was said.", {"user": PersonaDraft(texts[0], lines)})
    for text in texts[1:]:
        home.memory.personas.write("user", text, "model")


@pytest.mark.parametrize("now", ["Sings.\nHas a cat.", "Sings."])
def test_what_an_import_taught_goes_with_it_out_of_the_persona_and_of_all_that_it_was_before(home, now):
    home.say("I sing.")
    bring(home.memory, CATS)
    drawn(home, "Sings.\nHas a cat.", "Has a cat.\nSings. Loudly.", now)
    file = home.settings.data_dir / "persona" / "user_image.txt"
    assert file.read_text().strip() == now
    list(home.memory.imports.take_back(1))
    assert [one.text for one in home.memory.personas.history("user")] == ["Sings.", "Sings. Loudly.", "Sings."]
    assert home.memory.personas.read("user") == file.read_text().strip() == "Sings."
    assert [row["line"] for row in home.rows("line_evidence")] == ["Sings."]


def test_a_line_that_a_person_pinned_outlives_the_import_that_it_was_drawn_from(home):
    home.say("I sing.")
    bring(home.memory, CATS)
    drawn(home, "Has a cat.")
    home.memory.personas.pin("user", "Has a cat.")
    list(home.memory.imports.take_back(1))
    assert [one.text for one in home.memory.personas.history("user")] == ["Has a cat."]


def test_taking_one_import_back_leaves_what_another_brought_into_the_same_talk(home):
    bring(home.memory, CATS)
    bring(home.memory, continued(CATS, "P: She purrs."), sha256="2")
    list(home.memory.imports.take_back(1))
    assert told(home.memory) == [["u: She purrs."]]
    assert bring(home.memory, CATS).messages == 4
    assert told(home.memory) == [[*map(_line, CATS.messages)], ["u: She purrs."]]


def test_taking_back_an_import_asks_anew_for_what_a_session_that_was_gone_on_with_came_to(home):
    bring(home.memory, CATS)
    (session,) = [one for one in home.memory.sessions.recent(None) if one.client]
    home.memory.rounds.resume(session.session_id, home.talk.session.session_id)
    home.memory.rounds.store(session.session_id, "She purrs.", "Does she?", NOW, "stop", ended=NOW)
    home.memory.rounds.save(session.session_id, "A cat that purrs.", {})
    list(home.memory.imports.take_back(1))
    assert told(home.memory) == [["u: She purrs.", "a: Does she?"]]
    assert home.memory.summaries.of(session.session_id) is None
    assert [(one.what, one.session_id) for one in home.memory.rebuilds.due_requests()] == [
        ("summary", session.session_id)
    ]


def _line(message: Any) -> str:
    return f"{'u' if message.by == 'person' else 'a'}: {message.text}"


def test_a_look_counts_everything_and_stores_nothing(home):
    seen = _look([CATS, talk("x", "P: Then.", "... 8h later", "P: Now."), talk("chat", "Ann: Hi.", "Bob: Yes.")])
    assert (seen.conversations, seen.messages, seen.sessions) == (3, 8, 4)
    assert seen.words_of == {"person": 4, "companion": 2, "Ann": 1, "Bob": 1}
    assert seen.names == {"Ann": 1, "Bob": 1}
    assert (seen.windows, seen.chapters, seen.calls) == (5, 3, 21)
    assert (seen.first[:10], seen.last[:10]) == ("2025-05-01", "2025-05-01")
    assert told(home.memory) == []


def _look(conversations: list[Any]) -> Look:
    *_, seen = preview_file(Handmade(conversations), WHO, 2, 2, CancelToken())
    assert isinstance(seen, Look)
    return seen
