"""``/ask`` and ``--ask`` as a person and a script see them: steps while they happen, dated quotations, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal
from tests.support.house import friend
from tests.support.program import Ran, connected, interrupted, run, started, stored
from tests.support.server import ScriptedServer, closed_port, hang, say, status

PLAN = json.dumps({"needs": ["the parrot's name"], "queries": ["my parrot is called", "parrot Kiwi name"]})
MORE = json.dumps({"enough": False, "missing": ["its colour"], "queries": ["the parrot is green"]})
ENOUGH = '{"enough": true}'
ANSWER = "Kiwi.\n<blockquote>I have a parrot called Kiwi</blockquote>\n<blockquote>it has a red hat</blockquote>"
QUESTION = "What is my parrot called, and which colour is it?"


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path) -> None:
    (tmp_path / "env").touch(0o600)


def talked(chat: Chat, server: ScriptedServer, **settings: str) -> Terminal:
    """A chat in which a parrot was spoken of in an archived session."""
    server.script("Nice.", "A parrot.", '{"notes": []}')
    terminal = chat(columns=100, rows=60, **settings)
    terminal.prompt()
    terminal.say("I have a parrot called Kiwi")
    terminal.see("Nice.")
    terminal.prompt()
    terminal.say("/save")
    terminal.see("4/4")
    terminal.prompt()
    return terminal


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        (
            "en",
            [
                "looking for: my parrot is called · parrot Kiwi name",
                "found, ",
                "still missing: its colour; looking for: the parrot is green",
                "that is enough",
                "(not in memory)",
            ],
        ),
        (
            "zh",
            [
                "查找：my parrot is called · parrot Kiwi name",
                "其中新的",
                "还缺：its colour；再查找：the parrot is green",
                "够了",
                "（记忆中没有）",
            ],
        ),
    ],
)
def test_an_answer_shows_its_steps_and_dates_and_marks_its_quotations(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], language: str, shown: list[str]
) -> None:
    terminal = talked(chat, server, LANGUAGE=language, **connected)
    server.script(PLAN, MORE, ENOUGH, ANSWER)
    terminal.say(f"/ask {QUESTION}")
    terminal.see(shown[-1])
    terminal.prompt()
    rows = [row.strip() for row in terminal.text().splitlines()]
    places = [next(at for at, row in enumerate(rows) if text in row) for text in shown]
    assert places == sorted(places)
    said = rows.index("│ I have a parrot called Kiwi")
    assert re.fullmatch(r"│ \d{4}-\d{2}-\d{2}", rows[said + 1])
    assert rows[rows.index("│ it has a red hat") + 1] == f"│ {shown[-1]}"
    terminal.say("/why")
    terminal.see("/why full", times=1)
    terminal.prompt()
    told = terminal.text().rsplit("> /why", 1)[1]
    assert [text for text in shown[:4] if text not in told] == []
    assert "it has a red hat" in told


def test_the_steps_of_a_planned_reply_are_shown_and_told_by_why(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = talked(chat, server, **connected)
    server.script(PLAN, ENOUGH, "Kiwi it is.")
    terminal.say(QUESTION)
    terminal.see("Kiwi it is.")
    terminal.prompt()
    text = terminal.text()
    assert text.index("looking for: my parrot") < text.index("that is enough") < text.index("Kiwi it is.")
    terminal.say("/why")
    terminal.see("looking for: my parrot", times=2)


def test_what_is_asked_during_a_talk_leaves_it_alone(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = talked(chat, server, **connected)
    server.script("Sleep well.", PLAN, ENOUGH, "Kiwi.")
    terminal.say("I am tired")
    terminal.see("Sleep well.")
    terminal.prompt()
    terminal.say(f"/ask {QUESTION}")
    terminal.see("Kiwi.", times=1)
    terminal.prompt()
    terminal.say("/history")
    terminal.see("> I am tired", times=2)
    terminal.prompt()
    terminal.send("\x04")
    terminal.ended()
    assert [spoken.user for spoken in stored(tmp_path)] == ["I have a parrot called Kiwi", "I am tired"]


def test_ctrl_c_ends_a_search_and_the_chat_goes_on(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = talked(chat, server, **connected)
    before = len(server.chats)
    server.script(hang)
    terminal.say(f"/ask {QUESTION}")
    terminal.wait(lambda: len(server.chats) > before, "the call for a plan")
    terminal.send("\x03")
    terminal.see("Stopped.")
    terminal.prompt()
    server.script("Still here.")
    terminal.say("I am tired")
    terminal.see("Still here.")


def test_a_question_may_be_asked_while_nothing_is_written(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = talked(chat, server, **connected)
    server.script(PLAN, ENOUGH, "Kiwi.")
    terminal.say("/incognito on")
    terminal.see("Incognito")
    terminal.prompt()
    terminal.say("/ask What was the quetzal called?")
    terminal.see("Kiwi.", times=1)
    terminal.prompt()
    terminal.send("\x04")
    terminal.ended()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"quetzal" not in path.read_bytes(), path


# -- from a script


def asked(home: Path, *arguments: str, given: str = "", **settings: str) -> Ran:
    return run(home, "--env-file", str(home / "env"), *arguments, given=given, **settings)


def remembered(home: Path, server: ScriptedServer) -> None:
    server.script("Nice.", "A parrot.", '{"notes": []}')
    asked(home, "--batch", "-", given="I have a parrot called Kiwi\n/save\n", **connected(server.base))


def test_ask_prints_the_answer_alone_on_stdout(tmp_path: Path, server: ScriptedServer) -> None:
    remembered(tmp_path, server)
    server.script(PLAN, ENOUGH, ANSWER)
    done = asked(tmp_path, "--ask", QUESTION, **connected(server.base))
    first, _, quoted, date, *_, marked = done.out.splitlines()
    assert (done.code, first, quoted) == (0, "Kiwi.", "> I have a parrot called Kiwi")
    assert re.search(r"\d{4}-\d{2}-\d{2}", date)
    assert "(not in memory)" in marked
    assert "looking for" not in done.err
    assert [spoken.user for spoken in stored(tmp_path)] == ["I have a parrot called Kiwi"]


@pytest.mark.parametrize(
    ("language", "told", "asked_for", "quoted", "mark"),
    [
        (
            "en",
            ["The piano tuner comes on Thursday", "On Thursday comes the tuner, the piano", "My parrot is called Kiwi"],
            "What is my parrot called?", "the piano tuner comes on Thursday", "(not in memory)",
        ),
        (
            "zh", ["周四调音师来修钢琴", "钢琴周四调音师来修", "我有一只鹦鹉叫奇异果"],
            "我的鹦鹉叫什么？", "周四调音师来修钢琴", "（记忆中没有）",
        ),
    ],
)  # fmt: skip
def test_a_quotation_that_was_not_handed_over_is_looked_for_in_the_whole_memory(
    tmp_path: Path, server: ScriptedServer, language: str, told: list[str], asked_for: str, quoted: str, mark: str
) -> None:
    server.answer = friend
    few = {**connected(server.base), "LANGUAGE": language, "RECALL_CONV_NUM": "1", "RECALL_SESSION_NUM": "1"}
    asked(tmp_path, "--batch", "-", given="".join(f"{line}\n/save\n" for line in told), **few)
    server.script('{"queries": []}', f"Kiwi.\n> {quoted}\n<blockquote>{quoted}</blockquote>")
    done = asked(tmp_path, "--ask", asked_for, **few)
    assert done.code == 0
    assert quoted not in str(server.chats[-1]["messages"]), "it was not handed over"
    assert quoted in done.out
    assert mark not in done.out
    server.script('{"queries": []}', "Kiwi.\n<blockquote>it has a red hat, 它戴红帽子</blockquote>")
    assert mark in asked(tmp_path, "--ask", asked_for, **few).out


def test_the_steps_stand_beside_the_answer_where_somebody_watches(
    chat: Chat, tmp_path: Path, server: ScriptedServer
) -> None:
    remembered(tmp_path, server)
    server.script(PLAN, ENOUGH, "Kiwi.")
    terminal = chat("--ask", QUESTION, **connected(server.base))
    assert terminal.ended() == 0
    text = terminal.text()
    assert text.index("looking for: my parrot") < text.index("that is enough") < text.index("Kiwi.")


def test_what_memory_does_not_hold_is_said_without_a_model(tmp_path: Path, server: ScriptedServer) -> None:
    done = asked(tmp_path, "--ask", "What is my boat called?", **connected(server.base))
    assert (done.code, done.out) == (0, "That is not in my memory.\n")
    chinese = asked(tmp_path, "--ask", "我的船叫什么？", LANGUAGE="zh", **connected(server.base))
    assert (chinese.code, chinese.out) == (0, "我的记忆里没有。\n")
    assert server.chats == []


def test_the_stand_in_answers_with_a_dated_quotation(tmp_path: Path) -> None:
    asked(tmp_path, "--batch", "-", given="I have a parrot called Kiwi\n/save\n")
    done = asked(tmp_path, "--ask", "What is my parrot called?")
    assert done.code == 0
    assert "> I have a parrot called Kiwi" in done.out
    assert "demo model answers" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--ask", ""], 2), (["--ask", "x", "-p", "y"], 2), (["--ask", "x", "--batch", "y"], 2)]
)
def test_a_wrong_question_is_code_2(tmp_path: Path, arguments: list[str], code: int) -> None:
    done = asked(tmp_path, *arguments)
    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err


def test_a_model_that_fails_ends_with_its_exit_code(tmp_path: Path, server: ScriptedServer) -> None:
    remembered(tmp_path, server)
    server.script(status(401), status(401))
    assert asked(tmp_path, "--ask", QUESTION, **connected(server.base)).code == 1
    away = asked(tmp_path, "--ask", QUESTION, **connected(f"http://127.0.0.1:{closed_port()}/v1"))
    assert (away.code, away.out) == (3, "")


def test_ctrl_c_ends_a_question_with_code_130(tmp_path: Path, server: ScriptedServer) -> None:
    remembered(tmp_path, server)
    before = len(server.chats)
    server.script(say(PLAN), hang)
    process = started(tmp_path, "--env-file", str(tmp_path / "env"), "--ask", QUESTION, **connected(server.base))
    done = interrupted(process, lambda: len(server.chats) > before + 1)
    assert (done.code, done.out) == (130, "")
