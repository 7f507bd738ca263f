"""What an erasure leaves to be made anew is made once, whatever fails in between, and keeps its place and date."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from domain.workers import CancelToken
from jobs.rebuild import Erased, Rebuilt, erase, rebuild, rebuild_some
from tests.support.house import House, Mind, friend, house, marked
from tests.support.server import ScriptedServer, status


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def keys(events) -> list[str]:
    return [event.key for event in events if hasattr(event, "key")]


def tell(open_house: House) -> None:
    """An evening with Anna and her wifi code, saved."""
    for line in ("I am Anna, a nurse in Turku", "My wifi code is PLUM77"):
        open_house.say(line)
    open_house.save()


def forget(open_house: House, words: str = "PLUM77") -> list:
    return list(
        erase(open_house.memory, open_house.llm, open_house.memory.erasure.scope_of_words(words), CancelToken())
    )


ANNA = "user: “I am Anna, a nurse in Turku”"


def leave_personas(open_house: House, server: ScriptedServer, said: str) -> None:
    """A save whose notes and personas are left for later."""
    mind = Mind(server)
    mind.answers("notes", status(401))
    open_house.say(said)
    open_house.save()
    server._chats.clear()


def test_when_a_summary_cannot_be_made_anew_the_personas_say_what_is_left_and_the_next_start_makes_it_once(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        versions = [version.version for version in first.memory.personas.history("user")]
        server.script(*[status(503)] * 20)
        events = forget(first)
        assert isinstance(events[-1], Erased)
        assert keys(events) == ["erase.not_rebuilt"]
        assert events[-1].proof.traces == ()
        assert first.memory.personas.read("user") == ANNA
        assert first.memory.personas.read("self") == ANNA.replace("user", "self")
        assert [version.version for version in first.memory.personas.history("user")] == versions
        assert first.memory.summaries.of(first.rows("session")[0]["session_id"]) is None
    server._chats.clear()
    with house(tmp_path, server, clock, new_id, log) as second:
        before = len(server.chats)
        assert keys(rebuild(second.memory, second.llm, CancelToken())) == []
        assert len(server.chats) - before == 1
        assert [row["summary"] for row in second.rows("summary")] == ["I am Anna, a nurse in Turku"]
        assert second.memory.personas.read("user") == ANNA
        assert second.memory.rebuilds.due_requests() == []
        assert list(rebuild(second.memory, second.llm, CancelToken())) == []
        assert len(server.chats) - before == 1


def test_what_is_left_of_an_older_version_can_be_restored(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        first.say("I moved to Oulu.")
        first.save()
        forget(first)
        older = first.memory.personas.history("user")[0]
        assert older.text == ANNA
        first.memory.personas.restore(older.version)
        assert first.memory.personas.read("user") == older.text


@pytest.mark.parametrize("done", range(4))
def test_a_kill_between_any_two_of_them_loses_none_and_doubles_none(tmp_path, server, clock, new_id, log, done):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        leave_personas(first, server, "I sing alto.")
        server.script(*[status(503)] * 20)
        forget(first)
        server._chats.clear()
        work = rebuild(first.memory, first.llm, CancelToken())
        for _ in range(done):
            assert any(isinstance(event, Rebuilt) for event in work)
        work.close()
        assert len(first.memory.rebuilds.due_requests()) == 3 - done
    with house(tmp_path, server, clock, new_id, log) as second:
        made = [event.what for event in rebuild(second.memory, second.llm, CancelToken()) if isinstance(event, Rebuilt)]
        assert made == ["summary", "self", "user"][done:]
        assert second.memory.personas.read("user") == f"{ANNA}\nuser: “I sing alto.”"
        summaries = [row["summary"] for row in second.rows("summary")]
        assert sorted(summaries) == ["I am Anna, a nurse in Turku", "I sing alto."]


def test_a_summary_made_anew_keeps_its_place_and_date(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        (before,) = first.memory.summaries.all()
        clock.pass_by(days=300)
        first.say("I moved to Oulu.")
        first.save()
        clock.pass_by(days=30)
        forget(first)
        anew, later = first.memory.summaries.all()
        assert (anew.session_id, anew.timestamp, anew.position, anew.upto_round) == (
            before.session_id, before.timestamp, before.position, 1,
        )  # fmt: skip
        assert anew.timestamp < later.timestamp


def test_a_persona_that_waits_for_several_sessions_takes_them_in_turn_and_nothing_that_changed_since(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        for said in ("I sing alto.", "I fear heights."):
            leave_personas(first, server, said)
        assert [one.what for one in first.memory.rebuilds.due_requests()] == ["self", "user"] * 2
        assert keys(rebuild(first.memory, first.llm, CancelToken())) == []
        assert first.memory.personas.read("user") == "user: “I sing alto.”\nuser: “I fear heights.”"
        texts = [version.text for version in first.memory.personas.history("user")]
        assert sorted(texts, key=len) == ["user: “I sing alto.”", first.memory.personas.read("user")]
        assert first.memory.rebuilds.due_requests() == []


def test_a_little_of_what_is_left_can_be_done_at_a_time_and_each_part_of_it_stays(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        for said in ("I sing alto.", "I fear heights."):
            leave_personas(first, server, said)
        before, left = len(server.chats), []
        while first.memory.rebuilds.due_requests():
            list(rebuild_some(first.memory, first.llm, CancelToken(), 2))
            left.append((len(server.chats) - before, len(first.memory.rebuilds.due_requests())))
        # Two sessions are noted and verified, the second is compared, and each brings both personas up to date.
        assert left[-1] == (4 + 1 + 4, 0)
        assert all(now - then <= 4 for (then, _), (now, _) in pairwise([(0, 4), *left]))
        assert first.memory.personas.read("user") == "user: “I sing alto.”\nuser: “I fear heights.”"


def test_an_edit_by_hand_while_a_persona_is_made_anew_stays(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        leave_personas(first, server, "I sing alto.")

        def edited(request):
            if marked(request, "user"):
                first.memory.personas.path("user").write_text("Anna, by hand.", encoding="utf-8")
                first.memory.personas.read("user")
            return friend(request)

        server.answer = edited
        list(rebuild(first.memory, first.llm, CancelToken()))
        assert first.memory.personas.read("user") == "Anna, by hand."
        server.answer = friend
        list(rebuild(first.memory, first.llm, CancelToken()))
        assert first.memory.personas.read("user") == "Anna, by hand.\nuser: “I sing alto.”"


def test_before_a_save_what_was_to_be_made_anew_is_made(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        for line in ("I am Anna, a nurse in Turku", "My wifi code is PLUM77", "I sing alto.", "Good night."):
            first.say(line)
        server.script(*[status(503)] * 20)
        forget(first)
        assert first.memory.summaries.of(first.talk.session.session_id) is None
        server._chats.clear()
        saved = first.save()
        assert saved.summary == "I am Anna, a nurse in Turku | I sing alto. | Good night."
        assert first.memory.rebuilds.due_requests() == []


def test_a_line_by_hand_and_a_line_of_another_session_stay(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.memory.personas.write("user", "Her router stands in the hall.", "hand")
        tell(first)
        first.say("I moved to Oulu.")
        first.save()
        message = first.memory.messages.rounds(first.rows("session")[0]["session_id"])[1].user
        server.script(*[status(503)] * 20)
        list(erase(first.memory, first.llm, first.memory.erasure.scope_of_round(message.text_id), CancelToken()))
        assert first.memory.personas.read("user") == (
            f"Her router stands in the hall.\n{ANNA}\nuser: “I moved to Oulu.”"
        )


def test_what_was_chosen_in_another_width_or_case_goes_too(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My code is ＰＬＵＭ７７")
        first.save()
        server.script(*[status(503)] * 20)
        assert len(first.memory.erasure.scope_of_words("plum77").messages) == 2
        forget(first, "plum77")
        assert first.memory.personas.read("user") == ""


def test_a_model_is_asked_for_nothing_where_nothing_was_made_from_it(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My wifi code is PLUM77")
        first.say("I sing alto.")
        before = len(server.chats)
        forget(first)
        assert len(server.chats) == before
