"""What the page asks for: one person's memory, read, corrected and forgotten with proof, and nobody else's."""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.events import Notice
from interfaces.http.page import assets
from interfaces.http.page.assets import preferred_language
from tests.interfaces.http.remembered import remember
from tests.interfaces.terminal.test_first_words import INTERVIEW, make_due
from tests.support.house import marked, talks
from tests.support.served import Server, here, until
from tests.support.server import ScriptedServer, delta, hang, say, status, stream

PAGE = Path(assets.__file__).parent


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Server]:
    with here(tmp_path, routers=lambda people: [], OPENAI_API_BASE=model.base, CHAT_MODEL="m") as server:
        yield server


def lines(served: Server, text: str, **headers: str) -> list[dict[str, Any]]:
    came = served.ask("POST", "/page/chat", {"text": text}, **headers)
    assert came.status == 200, came.body
    assert came.headers["cache-control"] == "no-store"
    return [json.loads(line) for line in came.body.splitlines()]


def begun(served: Server, text: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """A reply of which the first words have come."""
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    line.request("POST", "/page/chat", json.dumps({"text": text}), {"Content-Type": "application/json"})
    came = line.getresponse()
    while json.loads(came.readline())["is"] != "text":
        pass
    return line, came


# -- the page itself


def test_the_page_and_its_files_need_no_token_and_what_they_ask_for_does(served: Server) -> None:
    served.registry.add_token("phone", "me")
    for path in assets.OPEN_PAGE_PATHS:
        came = served.ask("GET", path)
        assert came.status == 200, path
        assert came.headers["content-security-policy"] == assets.POLICY
        assert came.headers["x-content-type-options"] == "nosniff"
        assert came.headers["referrer-policy"] == "no-referrer"
    asked = (
        "now", "recalled", "sessions", "sessions/x", "timeline", "diary", "facts", "facts/1", "relations", "personas",
        "import",
    )  # fmt: skip
    assert {served.ask("GET", f"/page/{path}").status for path in asked} == {401}
    assert {
        served.ask("POST", f"/page/{path}", {}).status
        for path in (
            "chat",
            "greeting",
            "forget",
            "forget/scope",
            "hide",
            "facts/1",
            "sessions/x/save",
            "personas/user",
            "personas/user/restore",
            "import",
            "import/parts",
            "import/1/undo",
        )
    } == {401}


def test_the_page_fetches_nothing_from_elsewhere_and_runs_nothing_that_stands_in_it() -> None:
    html = (PAGE / "page.html").read_text(encoding="utf-8")
    assert re.findall(r"(?:src|href)=\"(?!/page/|#|data:)[^\"]*\"", html) == []
    assert re.findall(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style", html) == []
    scripts = "".join(file.read_text(encoding="utf-8") for file in PAGE.glob("*.js"))
    assert (
        re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://(?!www\.w3)",
            scripts,
        )
        == []
    )


def test_every_text_of_the_page_exists_in_both_languages_and_is_used() -> None:
    en, zh = (json.loads((PAGE / "words" / f"{name}.json").read_text(encoding="utf-8")) for name in ("en", "zh"))
    assert list(en) == list(zh)
    gaps = re.compile(r"\{\w+\}")
    assert {key: sorted(gaps.findall(text)) for key, text in en.items()} == {
        key: sorted(gaps.findall(text)) for key, text in zh.items()
    }
    assert all(text.strip() for text in (*en.values(), *zh.values()))
    assert [key for key, text in zh.items() if not re.search(r"[一-鿿]", text)] == ["language"]
    html = (PAGE / "page.html").read_text(encoding="utf-8")
    scripts = "".join(file.read_text(encoding="utf-8") for file in PAGE.glob("*.js"))
    said = set(re.findall(r'data-(?:say|label|hint)="([^"]+)"', html))
    said |= {key for key in re.findall(r'"([a-z]+\.[a-z_]+)"', scripts) if key != "page.js"}
    said |= {key for key in re.findall(r'(?:say|button)\("([a-z]+)"|"(cancel)"', scripts) for key in key if key}
    made = [
        r"role\.", r"why\.(?:fact|summary|chapter|other)$", r"known\.(?:person|companion|other)$",
        r"save\.(?:summary|notes|self|user|archive)$", r"profile\.(?:user|self)(?:_help)?$",
    ]  # fmt: skip
    unused = {key for key in set(en) - said if not any(re.match(one, key) for one in made)}
    assert (said - set(en), unused) == (set(), set())


#: What a browser prefers, and the language of the page.
PREFERRED = [
    ("", "en"), ("zh-TW", "zh"), ("fr", "en"), ("en;q=0.3, zh;q=0.7", "zh"), ("zh;q=0, en", "en"), ("zh;q=x", "en"),
]  # fmt: skip


def test_the_page_begins_in_the_language_that_the_browser_prefers(served: Server) -> None:
    for accepted, language in PREFERRED:
        assert preferred_language(accepted) == language, accepted
        came = served.ask("GET", "/", Accept_Language=accepted)
        assert f'<html lang="{language}">'.encode() in came.body, accepted


# -- the chat


def test_a_reply_comes_in_pieces_and_its_end_is_told_when_the_round_is_stored(
    served: Server, model: ScriptedServer
) -> None:
    model.script(say("Nice little cat.", pieces=["Nice ", "little ", "cat."]))
    came = lines(served, "My cat is called Momo.")
    told = [line for line in came if line["is"] != "notice"]  # a busy machine may have something to say
    assert [line["is"] for line in told][:2] == ["begun", "recalled"], came
    assert "".join(line["text"] for line in told if line["is"] == "text") == "Nice little cat."
    assert came[-1]["is"] == "replied"
    now = served.ask("GET", "/page/now").json
    assert [message["text"] for message in now["turns"]] == ["My cat is called Momo.", "Nice little cat."]
    assert now["turns"][1]["id"] == came[-1]["assistant"]["id"]
    assert now["person"] == "me"


def test_what_fails_is_told_and_what_was_said_waits_to_be_said_again(served: Server, model: ScriptedServer) -> None:
    model.script(status(401))
    failed = lines(served, "Hello?", Accept_Language="zh")[-1]
    assert failed["is"] == "failed"
    assert re.search(r"[一-鿿]", failed["text"])
    now = served.ask("GET", "/page/now").json
    assert (now["turns"], now["unanswered"]) == ([], "Hello?")


def test_nothing_to_say_is_refused_before_anything_begins(served: Server) -> None:
    assert served.ask("POST", "/page/chat", {"text": "  "}).status == 422


def test_whoever_hangs_up_stops_the_reply_and_keeps_what_was_shown(served: Server, model: ScriptedServer) -> None:
    model.script(stream(delta(content="Once upon a time"), end="open"))
    line, came = begun(served, "A story?")
    came.close()
    line.close()
    until(lambda: served.ask("GET", "/page/now").json["turns"])
    messages = served.ask("GET", "/page/now").json["turns"]
    assert [(message["text"], message["finish"]) for message in messages][1] == ("Once upon a time", "interrupted")


def test_whoever_hangs_up_before_anything_came_stops_it_as_well(served: Server, model: ScriptedServer) -> None:
    model.script(hang)
    gone = socket.create_connection(("127.0.0.1", served.port))
    body = json.dumps({"text": "Are you there?"}).encode()
    head = "POST /page/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with served.people.companion("me") as companion, companion.turns:
        gone.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: any(thread.name == "page-chat" for thread in threading.enumerate()))
        gone.close()
    until(lambda: not any(thread.name == "page-chat" for thread in threading.enumerate()))
    assert served.ask("GET", "/page/now").json["unanswered"] == "Are you there?"


def test_a_server_that_ends_keeps_what_was_shown_of_a_reply(tmp_path: Path, model: ScriptedServer) -> None:
    model.script(stream(delta(content="Once upon a time"), end="open"))
    settings = {"OPENAI_API_BASE": model.base, "CHAT_MODEL": "m"}
    with here(tmp_path, routers=lambda people: [], grace=0.1, **settings) as server:
        line, came = begun(server, "A story?")
        server.running.stop()
        *_, last = came.read().splitlines()
        line.close()
    assert json.loads(last)["assistant"]["finish"] == "interrupted"


def test_looking_opens_no_session(served: Server) -> None:
    for path in ("now", "recalled", "timeline", "relations", "facts"):
        assert served.ask("GET", f"/page/{path}").status == 200
    assert served.ask("GET", "/page/sessions").json == []


# -- speaking first


def first_words(served: Server, **body: Any) -> list[dict[str, Any]]:
    came = served.ask("POST", "/page/greeting", body)
    assert came.status == 200, came.body
    return [json.loads(line) for line in came.body.splitlines()]


def test_the_page_greets_where_something_is_due_and_what_it_said_is_stored_with_the_answer(
    served: Server, model: ScriptedServer
) -> None:
    with served.people.companion("me") as companion:
        make_due(companion.memory)
    model.script(say("Hello again. How did the interview go?"), say("Congratulations!"))
    begun, *said = first_words(served)
    assert begun == {"is": "begun"}
    assert [one["text"] for one in said] == ["Hello again.", "Hello again. How did the interview go?"]
    ((memory,),) = [one["memories"] for one in said[-1:]]
    assert (memory["text"], memory["role"], memory["marks"][0]) == (INTERVIEW, "user", "ahead")
    asked = len(model.chats)
    assert first_words(served) == [begun]  # once a day, whoever asks
    assert len(model.chats) == asked
    *_, replied = lines(served, "They took me!")
    assert [one["content"] for one in model.chats[-1]["messages"]][-2:] == [said[-1]["text"], "They took me!"]
    assert (replied["greeting"]["text"], replied["greeting"]["first"]) == (said[-1]["text"], True)
    stored = served.ask("GET", "/page/now").json["turns"]
    assert [one["text"] for one in stored[-3:]] == [said[-1]["text"], "They took me!", "Congratulations!"]
    assert [one["first"] for one in stored[-3:]] == [True, False, False]


def test_a_greeting_that_nobody_answers_is_not_stored_and_one_not_due_opens_no_session(
    served: Server, model: ScriptedServer
) -> None:
    assert first_words(served) == [{"is": "begun"}]
    assert served.ask("GET", "/page/sessions").json == []
    assert model.chats == []
    with served.people.companion("me") as companion:
        make_due(companion.memory)
    model.script(say("How did the interview go?"))
    assert len(first_words(served)) == 2
    assert [one["text"] for one in served.ask("GET", "/page/now").json["turns"]] == [INTERVIEW, "Good luck!"]


def test_typing_ends_a_greeting_of_the_page(served: Server, model: ScriptedServer) -> None:
    with served.people.companion("me") as companion:
        make_due(companion.memory)
    model.script(hang)
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    line.request("POST", "/page/greeting", "{}", {"Content-Type": "application/json"})
    came = line.getresponse()
    until(lambda: model.chats)
    came.close()
    line.close()
    until(lambda: not any(thread.name == "page-chat" for thread in threading.enumerate()))
    with served.people.companion("me") as companion:
        assert companion.memory.matters.greeting()[1] == 0


# -- the diary


def test_the_diary_is_shown_by_month_with_what_each_sentence_rests_on(served: Server) -> None:
    assert served.ask("GET", "/page/diary").json["pages"] == []
    with served.people.companion("me") as companion:
        memory = companion.memory
        for day in ("2026-04-30", "2026-05-02", "2026-05-03"):
            session = memory.sessions.resume_or_start()[0].session_id
            spoken = memory.rounds.store(session, f"It is {day}.", "Yes.", f"{day}T12:00:00+00:00", "stop")
            memory.rounds.save(session, "A day.", {})
            ids = [one.text_id for one in spoken.messages]
            assert memory.chapters.put_page(session, ids, [(f"We spoke on {day}.", ids[:1])])
    last = served.ask("GET", "/page/diary").json
    assert last["months"] == ["2026-04", "2026-05"]
    assert [one["date"] for one in last["pages"]] == ["2026-05-02", "2026-05-03"]
    assert last["pages"][1]["sentences"] == [{"text": "We spoke on 2026-05-03.", "messages": ids[:1]}]
    (first,) = served.ask("GET", "/page/diary?month=2026-04").json["pages"]
    assert first["date"] == "2026-04-30"
    assert served.ask("GET", "/page/diary?month=x").status == 422
    assert served.ask("GET", "/diary/me?date=2026-05").json["pages"] == last["pages"]
    assert [one["date"] for one in served.ask("GET", "/diary/me?date=2026-05-02").json["pages"]] == ["2026-05-02"]
    assert served.ask("GET", "/diary/somebody").status == 404


# -- what is remembered


def test_what_was_recalled_is_told_with_its_reason_and_not_once_it_is_erased(
    served: Server, model: ScriptedServer
) -> None:
    spoken = remember(served.people)
    with served.people.companion("me") as companion:
        companion.memory.rounds.save(spoken.user.session_id, "Ann moved.", {})
    model.script(say("In Metz, with Momo."))
    told = next(line for line in lines(served, "Where does my cat Momo live?") if line["is"] == "recalled")
    assert spoken.user.text_id in [one["id"] for one in told["memories"]]
    reasons = {one["id"]: one["reasons"] for one in told["memories"]}
    assert all(reasons.values())
    assert reasons[spoken.user.text_id][:2] == ["same names: Momo", "same words: cat"]
    assert not any(re.search(r"\d\.\d", reason) for each in reasons.values() for reason in each)
    again = served.ask("GET", "/page/recalled").json
    assert again["memories"] == told["memories"]
    with served.people.companion("me") as companion:
        companion.memory.erasure.erase(companion.memory.erasure.scope_of_message(spoken.user.text_id))
    left = served.ask("GET", "/page/recalled").json
    assert "Momo" not in json.dumps(left["memories"])


def test_facts_stand_with_what_took_their_place_and_the_words_they_rest_on(served: Server) -> None:
    spoken = remember(served.people)
    assert [one["text"] for one in served.ask("GET", "/page/facts").json["facts"]] == ["Ann lives in Metz."]
    found = served.ask("GET", "/page/facts?past=true&holding=Lyon").json["facts"]
    assert [(one["text"], one["until"][:10]) for one in found] == [("Ann lives in Lyon.", "2026-05-01")]
    metz = served.ask("GET", f"/page/facts/{found[0]['replaced_by']}").json
    assert metz["fact"]["text"] == "Ann lives in Metz."
    assert [message["id"] for message in metz["turns"]] == [spoken.user.text_id]
    assert metz["history"]
    assert served.ask("GET", "/page/facts/999").status == 404
    assert served.ask("GET", f"/page/facts/{10**30}").status == 422


def test_a_person_decides_about_a_fact_and_can_take_it_back(served: Server) -> None:
    remember(served.people)
    number = served.ask("GET", "/page/facts").json["facts"][0]["number"]

    def decide(decision: str) -> Any:
        came = served.ask("POST", f"/page/facts/{number}", {"decision": decision})
        return came.json["fact"] if came.status == 200 else came.status

    assert decide("keep")["kept"]
    assert not decide("let_go")["kept"]
    assert not decide("wrong")["current"]
    assert decide("wrong") == 409
    assert decide("undo")["current"]
    assert decide("perhaps") == 422


def test_the_timeline_has_sessions_and_facts_by_day_the_latest_first(served: Server) -> None:
    remember(served.people)
    days = served.ask("GET", "/page/timeline").json
    assert [day["day"] for day in days] == sorted((day["day"] for day in days), reverse=True)
    texts = {one["text"] for day in days for one in day["facts"]}
    assert texts == {"Ann lives in Lyon.", "Ann lives in Metz."}
    assert sum(len(day["sessions"]) for day in days) == 1


def test_sessions_are_listed_and_read(served: Server) -> None:
    spoken = remember(served.people)
    (listed,) = served.ask("GET", "/page/sessions").json
    assert (listed["id"], listed["messages"], listed["active"]) == (spoken.user.session_id, 2, True)
    read = served.ask("GET", f"/page/sessions/{listed['id']}").json
    assert [message["text"] for message in read["turns"]] == [spoken.user.words, spoken.assistant.words]
    assert served.ask("GET", "/page/sessions/unheard-of").status == 404


def test_relations_name_the_fact_that_says_so(served: Server) -> None:
    remember(served.people)
    found = [(one["source"], one["relation"], one["target"]) for one in served.ask("GET", "/page/relations").json]
    assert found == [("Ann", "lives in", "Metz"), ("Momo", "cat of", "Ann")]


def test_a_corrected_fact_takes_the_place_of_the_old_one_and_rests_on_the_same_words(served: Server) -> None:
    spoken = remember(served.people)
    number = served.ask("GET", "/page/facts").json["facts"][0]["number"]
    wish = {"decision": "correct", "text": "Ann lives in Nancy."}
    made = served.ask("POST", f"/page/facts/{number}", wish).json
    assert (made["fact"]["text"], made["fact"]["by_hand"]) == ("Ann lives in Nancy.", True)
    assert [message["id"] for message in made["turns"]] == [spoken.user.text_id]
    assert [one["text"] for one in served.ask("GET", "/page/facts").json["facts"]] == ["Ann lives in Nancy."]
    assert served.ask("POST", f"/page/facts/{made['fact']['number']}", wish).status == 409
    assert served.ask("POST", f"/page/facts/{number}", {"decision": "correct", "text": " "}).status == 422


def test_sessions_are_found_by_what_was_said_in_them(served: Server) -> None:
    spoken = remember(served.people)
    (found,) = served.ask("GET", "/page/sessions?words=momo").json
    assert found["id"] == spoken.user.session_id
    assert "Momo" in found["found"]
    assert served.ask("GET", "/page/sessions?words=zeppelin").json == []


def test_what_is_hidden_is_no_title(served: Server) -> None:
    spoken = remember(served.people)
    with served.people.companion("me") as companion:
        companion.memory.rounds.hide([message.text_id for message in spoken.messages])
    assert "Momo" not in json.dumps(served.ask("GET", "/page/sessions").json)


# -- conversations


def test_something_is_said_in_the_session_that_is_named_or_in_a_new_one(served: Server, model: ScriptedServer) -> None:
    model.script(say("One."), say("Two."), say("Three."))
    first = begun_in(served, text="A", session=None)
    second = begun_in(served, text="B", session="")
    assert begun_in(served, text="C", session=first) == first != second
    texts = [message["text"] for message in served.ask("GET", f"/page/sessions/{first}").json["turns"]]
    assert texts == ["A", "One.", "C", "Three."]
    assert served.ask("POST", "/page/chat", {"text": "D", "session": "unheard-of"}).status == 404


def begun_in(served: Server, **said: Any) -> str:
    answer = served.ask("POST", "/page/chat", said)
    came = [json.loads(line) for line in answer.body.splitlines()]
    assert came[-1]["is"] == "replied", came
    return str(came[0]["session"])


def test_a_session_is_saved_in_stages_and_goes_on_when_something_is_said_in_it(
    served: Server, model: ScriptedServer
) -> None:
    model.script(say("One."))
    session = begun_in(served, text="A", session=None)
    model.answer = lambda request: '{"notes": []}' if marked(request, "notes") else "They said A."
    answer = served.ask("POST", f"/page/sessions/{session}/save", {})
    came = [json.loads(line) for line in answer.body.splitlines()]
    assert (came[0]["is"], came[-1]["is"]) == ("begun", "saved")
    assert next(one["name"] for one in came if one["is"] == "stage") == "summary"
    listed = served.ask("GET", f"/page/sessions/{session}").json
    assert (listed["session"]["active"], listed["summary"]) == (False, "They said A.")
    assert served.ask("POST", f"/page/sessions/{session}/save", {}).status == 409
    model.script(say("Two."))
    assert begun_in(served, text="B", session=session) == session
    assert served.ask("GET", f"/page/sessions/{session}").json["session"]["active"]


def test_a_session_of_another_program_can_be_read_and_not_written(served: Server) -> None:
    with served.people.companion("me") as companion:
        session = companion.memory.sessions.start(client="chat", client_key="key")
    assert served.ask("POST", "/page/chat", {"text": "A", "session": session.session_id}).status == 409
    assert served.ask("POST", f"/page/sessions/{session.session_id}/save", {}).status == 409


# -- personas


def test_a_persona_is_written_only_in_the_place_of_the_version_that_was_seen(served: Server) -> None:
    _, user = served.ask("GET", "/page/personas").json
    assert (user["persona"], user["text"], user["base"], user["versions"]) == ("user", "", 0, [])
    first = served.ask("POST", "/page/personas/user", {"text": "Likes tea.", "base": 0}).json
    assert served.ask("POST", "/page/personas/user", {"text": "Likes mud.", "base": 0}).status == 409
    second = served.ask("POST", "/page/personas/user", {"text": "Likes cocoa.", "base": first["base"]}).json
    assert [one["number"] for one in second["versions"]] == [2, 1]
    wish = {"version": first["base"], "base": second["base"]}
    assert served.ask("POST", "/page/personas/self/restore", {**wish, "base": 0}).status == 404
    restored = served.ask("POST", "/page/personas/user/restore", wish).json
    assert (restored["text"], len(restored["versions"])) == ("Likes tea.", 3)
    with served.people.companion("me") as companion:
        assert companion.memory.personas.path("user").read_text(encoding="utf-8") == "Likes tea.\n"


# -- importing


def parts(served: Server, name: str, content: bytes, size: int) -> None:
    for at in range(0, len(content), size):
        part = {"name": name, "at": at, "content": base64.b64encode(content[at : at + size]).decode()}
        assert served.ask("POST", "/page/import/parts", part).status == 200


def imported(served: Server, **wish: str) -> list[dict[str, Any]]:
    answer = served.ask("POST", "/page/import", wish)
    return [json.loads(line) for line in answer.body.splitlines()]


TALK = json.dumps({"messages": [{"role": "user", "content": "My canoe is called Wren."},
                                {"role": "assistant", "content": "A good name."}]}).encode()  # fmt: skip


def test_a_file_in_parts_is_imported_once_and_can_be_taken_back(served: Server) -> None:
    parts(served, "../talk.jsonl", TALK, 50)
    last = imported(served)[-1]
    assert (last["is"], last["messages"], last["sessions"]) == ("imported", 2, 1)
    assert served.ask("POST", "/page/import", {}).status == 404  # what was uploaded is deleted
    parts(served, "talk.jsonl", TALK, 1000)
    assert imported(served)[-1]["messages"] == 0
    listed = served.ask("GET", "/page/import").json
    assert listed[-1]["name"] == "talk.jsonl"
    for one in listed:
        assert served.ask("POST", f"/page/import/{one['number']}/undo", {}).status == 200
    assert served.ask("GET", "/page/sessions").json == []
    assert served.ask("POST", "/page/import/99/undo", {}).status == 404


def test_a_part_that_does_not_follow_and_a_file_of_no_known_kind_are_refused(served: Server) -> None:
    part = {"name": "x", "at": 5, "content": ""}
    assert served.ask("POST", "/page/import/parts", part).status == 409
    assert served.ask("POST", "/page/import/parts", {**part, "at": 0, "content": "?"}).status == 422
    parts(served, "holiday.png", b"\x89PNG\r\n\x1a\n nothing to read", 100)
    failed = imported(served)[-1]
    assert failed["is"] == "failed"
    assert "holiday.png" in failed["text"]
    assert "/" not in failed["text"].split("holiday.png")[0]


def test_in_a_chat_between_people_the_person_is_asked_for(served: Server) -> None:
    chat = b"[01/05/2026, 13:05:00] Ann: Hello Tom\n[01/05/2026, 13:06:00] Tom: Hello Ann\n"
    parts(served, "WhatsApp Chat with Tom.txt", chat, 1000)
    assert set(imported(served)[-1]["names"]) == {"Ann", "Tom"}
    assert imported(served, me="Ann")[-1]["messages"] == 2
    (listed,) = served.ask("GET", "/page/sessions").json
    read = served.ask("GET", f"/page/sessions/{listed['id']}").json
    assert [(message["role"], message["speaker"]) for message in read["turns"]] == [("user", ""), ("assistant", "Tom")]


# -- forgetting


@pytest.mark.parametrize("what", ["turn", "fact", "session", "words"])
def test_what_would_go_is_shown_first_and_then_it_is_gone_and_proven(served: Server, what: str, tmp_path: Path) -> None:
    spoken = remember(served.people)
    named = {"turn": spoken.user.text_id, "fact": "metz", "session": spoken.user.session_id, "words": "Momo"}[what]
    wish = {"what": what, "named": named}
    shown = served.ask("POST", "/page/forget/scope", wish).json
    assert spoken.user.text_id in [message["id"] for message in shown["turns"]]
    assert served.ask("GET", "/page/facts").json["facts"]
    proof = served.ask("POST", "/page/forget", {**wish, "mark": shown["mark"]}).json
    assert proof["traces"] == 0
    assert proof["files"] > 0
    assert str(proof["files"]) in proof["proof"]
    assert served.ask("GET", "/page/facts?past=true").json["facts"] == []
    assert served.ask("POST", "/page/forget/scope", wish).json["nothing"]


def test_a_message_is_kept_out_of_every_prompt_and_let_be_mentioned_again(served: Server) -> None:
    spoken = remember(served.people)
    for hidden in (True, False):
        wish = {"messages": [spoken.user.text_id], "hidden": hidden}
        assert served.ask("POST", "/page/hide", wish).status == 200
        turns = served.ask("GET", f"/page/sessions/{spoken.user.session_id}").json["turns"]
        assert {turn["hidden"] for turn in turns if turn["id"] == spoken.user.text_id} == {hidden}


def test_a_notice_in_doubt_names_the_messages_that_its_answer_is_about() -> None:
    assert Notice("forget_request.unsure", {"rounds": "one", "turns": ("u1",)}).doubted == ("u1",)
    assert Notice("forget_request.detected", {"rounds": "one", "turns": ("u1",)}).doubted == ()


def test_nothing_else_is_erased_than_what_was_shown(served: Server) -> None:
    spoken = remember(served.people)
    wish = {"what": "words", "named": "Momo"}
    shown = served.ask("POST", "/page/forget/scope", wish).json
    with served.people.companion("me") as companion:
        companion.memory.rounds.store(spoken.user.session_id, "Momo is ill.", "Oh.", spoken.user.timestamp, "stop")
    assert served.ask("POST", "/page/forget", {**wish, "mark": shown["mark"]}).status == 409
    assert len(served.ask("GET", "/page/now").json["turns"]) == 4


# -- whose


def test_a_token_shows_the_memory_of_its_own_person_and_no_other(served: Server) -> None:
    spoken = remember(served.people)
    bob = served.registry.add_token("bob-phone", "bob")
    mine = served.registry.add_token("phone", "me")
    assert served.ask("GET", "/page/now", token=bob).json["person"] == "bob"
    assert served.ask("GET", "/page/facts?past=true", token=bob).json["facts"] == []
    assert served.ask("GET", f"/page/sessions/{spoken.user.session_id}", token=bob).status == 404
    wish = {"what": "turn", "named": spoken.user.text_id}
    assert served.ask("POST", "/page/forget/scope", wish, token=bob).json["nothing"]
    assert served.ask("GET", "/page/facts", token=mine).json["facts"]
