"""What an erasure leaves to be made anew is made once, whatever fails in between, and keeps its place and date."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from domain.events import Stop
from jobs.erasing import Erased, Erasing, renew
from jobs.renewing import Renewed
from tests.house import House, friend, house, marked
from tests.server import ScriptedServer, status


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = lined
        yield running


def lined(request) -> str:
    """The friend whose images take a line for each thing that was said."""
    return friend(request).replace(" | ", "\n") if marked(request, "user") else friend(request)


def keys(events) -> list[str]:
    return [event.key for event in events if hasattr(event, "key")]


def tell(open_house: House) -> None:
    """An evening with Anna and her wifi code, saved."""
    for line in ("I am Anna, a nurse in Turku", "My wifi code is PLUM77"):
        open_house.say(line)
    open_house.save()


def forget(open_house: House, words: str = "PLUM77") -> list:
    return list(
        Erasing(open_house.memory, open_house.llm).run(open_house.memory.scope_of_words(words), Stop())
    )


def test_when_the_rewrite_fails_the_images_still_say_who_anna_is_and_the_next_start_makes_them_anew_once(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        versions = [version.version for version in first.memory.image_versions("user")]
        server.script(*[status(503)] * 20)
        events = forget(first)
        assert isinstance(events[-1], Erased)
        assert keys(events) == ["erase.not_made_anew"]
        assert events[-1].proof.traces == ()
        assert first.memory.image("user") == "user: I am Anna, a nurse in Turku"
        assert first.memory.image("self") == "self: I am Anna, a nurse in Turku"
        assert [version.version for version in first.memory.image_versions("user")] == versions
        assert first.memory.summary(first.rows("session")[0]["session_id"]) is None
    server._chats.clear()
    with house(tmp_path, server, clock, new_id, log) as second:
        before = len(server.chats)
        assert keys(renew(second.memory, second.llm, Stop())) == []
        assert len(server.chats) - before == 3
        assert [row["summary"] for row in second.rows("summary")] == ["I am Anna, a nurse in Turku"]
        assert second.memory.image("user").count("Anna") == 2
        assert second.memory.renewals() == []
        assert list(renew(second.memory, second.llm, Stop())) == []
        assert len(server.chats) - before == 3


def test_what_is_left_of_an_older_version_can_be_restored(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        first.say("I moved to Oulu.")
        first.save()
        forget(first)
        older = first.memory.image_versions("user")[0]
        assert older.text == "user: I am Anna, a nurse in Turku"
        first.memory.restore_image(older.version)
        assert first.memory.image("user") == older.text


@pytest.mark.parametrize("done", range(4))
def test_a_kill_between_any_two_of_them_loses_none_and_doubles_none(
    tmp_path, server, clock, new_id, log, done
):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        server.script(*[status(503)] * 20)
        forget(first)
        server._chats.clear()
        work = renew(first.memory, first.llm, Stop())
        for _ in range(done):
            assert any(isinstance(event, Renewed) for event in work)
        work.close()
        assert len(first.memory.renewals()) == 3 - done
    with house(tmp_path, server, clock, new_id, log) as second:
        made = [
            event.what for event in renew(second.memory, second.llm, Stop()) if isinstance(event, Renewed)
        ]
        assert made == ["summary", "self", "user"][done:]
        assert second.memory.image("user").count("user: I am Anna") == 2
        assert [row["summary"] for row in second.rows("summary")] == ["I am Anna, a nurse in Turku"]


def test_a_summary_made_anew_keeps_its_place_and_date(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        (before,) = first.memory.summaries()
        clock.pass_by(days=300)
        first.say("I moved to Oulu.")
        first.save()
        clock.pass_by(days=30)
        forget(first)
        anew, later = first.memory.summaries()
        assert (anew.session_id, anew.timestamp, anew.position, anew.upto_round) == (
            before.session_id, before.timestamp, before.position, 1,
        )  # fmt: skip
        assert anew.timestamp < later.timestamp


def test_images_are_made_anew_from_the_summaries_of_all_sessions_that_lost_something(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        first.say("I sing alto.")
        first.save()
        for line in ("PLUM77 is still my code", "I fear heights."):
            first.say(line)
        first.save()
        server.answer = lambda request: "Anna." if marked(request, "user") else lined(request)
        events = forget(first)
        assert keys(events) == ["save.image_kept.shrunk"]
        told = [str(request) for request in server.chats if marked(request, "user")][-1]
        assert told.index("a nurse in Turku") < told.index("I fear heights.")
        assert first.memory.renewals() == []


def test_an_edit_by_hand_while_an_image_is_made_anew_stays(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        tell(first)
        server.script(*[status(503)] * 20)
        forget(first)
        server._chats.clear()

        def edited(request):
            if marked(request, "user"):
                first.memory.image_path("user").write_text("Anna, by hand.", encoding="utf-8")
                first.memory.image("user")
            return lined(request)

        server.answer = edited
        list(renew(first.memory, first.llm, Stop()))
        assert first.memory.image("user") == "Anna, by hand."
        server.answer = lined
        list(renew(first.memory, first.llm, Stop()))
        assert first.memory.image("user").startswith("Anna, by hand.\n")


def test_before_a_save_what_was_to_be_made_anew_is_made(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        for line in ("I am Anna, a nurse in Turku", "My wifi code is PLUM77", "I sing alto.", "Good night."):
            first.say(line)
        server.script(*[status(503)] * 20)
        forget(first)
        assert first.memory.summary(first.talk.session.session_id) is None
        server._chats.clear()
        saved = first.save()
        assert saved.summary == "I am Anna, a nurse in Turku | I sing alto. | Good night."
        assert first.memory.renewals() == []


def test_a_line_goes_that_was_drawn_from_what_is_erased_in_other_words(tmp_path, server, clock, new_id, log):
    written = "\n".join(
        ("Anna is a nurse in Turku.", "Josef owes Anna £2,000. Annika has no idea.", "Anna sings alto.")
    )
    server.answer = lambda request: written if marked(request, "user") else friend(request)
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("I am Anna, a nurse in Turku")
        first.say("Josef borrowed two thousand pounds and Annika has no idea")
        first.save()
        turn = first.memory.rounds(first.rows("session")[0]["session_id"])[1].user
        server.script(*[status(503)] * 20)
        list(Erasing(first.memory, first.llm).run(first.memory.scope_of_round(turn.text_id), Stop()))
        assert first.memory.image("user") == "Anna is a nurse in Turku.\nAnna sings alto."


def test_a_line_by_hand_and_a_line_of_another_session_stay(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.memory.write_image("user", "Her router stands in the hall.", "hand")
        tell(first)
        first.say("I moved to Oulu.")
        first.save()
        turn = first.memory.rounds(first.rows("session")[0]["session_id"])[1].user
        server.script(*[status(503)] * 20)
        list(Erasing(first.memory, first.llm).run(first.memory.scope_of_round(turn.text_id), Stop()))
        assert first.memory.image("user") == (
            "Her router stands in the hall.\nuser: I am Anna, a nurse in Turku\nuser: I moved to Oulu."
        )


def test_what_was_chosen_in_another_width_or_case_goes_too(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My code is ＰＬＵＭ７７")
        first.save()
        server.script(*[status(503)] * 20)
        assert len(first.memory.scope_of_words("plum77").turns) == 2
        forget(first, "plum77")
        assert first.memory.image("user") == ""


def test_a_model_is_asked_for_nothing_where_nothing_was_made_from_it(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My wifi code is PLUM77")
        first.say("I sing alto.")
        before = len(server.chats)
        forget(first)
        assert len(server.chats) == before
