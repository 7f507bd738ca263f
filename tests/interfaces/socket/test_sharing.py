"""Several programs on one memory: hosts with ``--mcp``, the chat in a terminal, ``-p`` and a server."""

from __future__ import annotations

import json
import signal
import socket
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from interfaces.socket.protocol import SOCKET_NAME
from tests.interfaces.mcp.speaking import Host, host
from tests.interfaces.terminal.conftest import Chat, chat
from tests.support.program import _read as rows
from tests.support.program import connected, ended, run, started, stored
from tests.support.served import ended as served_ended
from tests.support.served import program, until
from tests.support.server import ScriptedServer, hang, say

__all__ = ["chat"]
BUILT_IN = {"EMBEDDING_MODEL": "built-in"}


def said(home: Path) -> list[str]:
    """What persons said, in order."""
    query = "SELECT text FROM conversation WHERE role = 'user' ORDER BY seq"
    return [text.removeprefix("User: ") for (text,) in rows(home, query)]


def whole(home: Path) -> bool:
    """Whether the database is."""
    return rows(home, "PRAGMA integrity_check") == [("ok",)]


def test_three_hosts_on_one_memory_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    with host(tmp_path) as one, host(tmp_path) as two, host(tmp_path) as three:
        hosts = {"one": one, "two": two, "three": three}

        def talk(name: str, to: Host) -> None:
            for number in range(8):
                to.process_memory(f"This is number {number} of {name}.")

        threads = [threading.Thread(target=talk, args=pair) for pair in hosts.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert one.call("get_session_status")["structuredContent"]["session_info"]["event_count"] == 24
        assert [each.ended() for each in hosts.values()] == [0, 0, 0]
    expected = [f"This is number {number} of {name}." for name in hosts for number in range(8)]
    assert sorted(said(tmp_path)) == sorted(expected)
    assert whole(tmp_path)


def test_the_others_go_on_when_the_one_that_holds_is_killed(tmp_path: Path) -> None:
    with host(tmp_path) as holder, host(tmp_path) as two, host(tmp_path) as three:
        holder.process_memory("The first holds it.")
        two.process_memory("The second asks the first.")
        assert (tmp_path / "data" / SOCKET_NAME).is_socket()
        holder.kill()
        two.process_memory("The second goes on.")
        three.process_memory("And the third.")
        two.kill()
        three.process_memory("The third alone.")
        assert three.ended() == 0
    assert said(tmp_path) == [
        "The first holds it.",
        "The second asks the first.",
        "The second goes on.",
        "And the third.",
        "The third alone.",
    ]
    assert not (tmp_path / "data" / SOCKET_NAME).exists()
    assert whole(tmp_path)


def test_a_holder_that_is_killed_in_the_middle_loses_nothing_that_was_answered_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    with host(tmp_path) as holder, host(tmp_path) as two, host(tmp_path) as three:
        holder.process_memory("I hold it.")
        answered = ["I hold it."]

        def talk(name: str, to: Host) -> None:
            for number in range(10):
                to.process_memory(text := f"This is number {number} of {name}.")
                answered.append(text)

        threads = [threading.Thread(target=talk, args=pair) for pair in (("two", two), ("three", three))]
        for thread in threads:
            thread.start()
        until(lambda: len(answered) > 6)
        holder.kill()
        for thread in threads:
            thread.join(120)
        assert [two.ended(), three.ended()] == [0, 0]
    assert len(answered) == 21
    assert sorted(said(tmp_path)) == sorted(answered)
    assert whole(tmp_path)


@pytest.mark.torture
def test_a_chat_takes_the_memory_from_a_host_and_both_go_on(tmp_path: Path, server: ScriptedServer, chat: Chat) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.script(say("Hello from here."), say("Still here."))
    with host(tmp_path, **settings) as other:
        other.process_memory("Before the chat.")
        terminal = chat(**settings)
        terminal.prompt()
        terminal.say("I am at the keyboard.")
        terminal.see("Hello from here.")
        other.process_memory("Beside the chat.")
        terminal.prompt()
        terminal.say("Are you there?")
        terminal.see("Still here.")
        terminal.prompt()
        terminal.say("/exit")
        assert terminal.ended() == 0
        other.process_memory("After the chat.")
        assert other.ended() == 0
    assert said(tmp_path) == [
        "Before the chat.",
        "I am at the keyboard.",
        "Beside the chat.",
        "Are you there?",
        "After the chat.",
    ]
    assert whole(tmp_path)


def test_beside_an_open_chat_p_answers_in_a_session_of_its_own(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.script(say("Hello."), say("It is noon."), say("One."), say("Good night."))
    terminal = chat(**settings)
    terminal.prompt()
    terminal.say("Good morning.")
    terminal.see("Hello.")
    terminal.wait((tmp_path / "data" / SOCKET_NAME).exists, "the socket")
    where = ("--env-file", str(tmp_path / "env"))
    beside = run(tmp_path, *where, "-p", "What time is it?", **settings)
    assert (beside.code, beside.out) == (0, "It is noon.\n")
    told = json.loads(run(tmp_path, *where, "--json", "-p", "Count.", **settings).out)
    assert (told["reply"], told["error"], told["finish"]) == ("One.", None, "stop")
    terminal.prompt()
    terminal.say("Bye now.")
    terminal.see("Good night.")
    assert [one["content"] for one in server.chats[-1]["messages"]].count("What time is it?") == 0
    terminal.prompt()
    terminal.say("/exit")
    assert terminal.ended() == 0
    users = [one.user for one in stored(tmp_path)]
    assert sorted(users) == ["Bye now.", "Count.", "Good morning.", "What time is it?"]
    sessions = rows(tmp_path, "SELECT session_id, status FROM session ORDER BY position")
    assert [status for _, status in sessions] == ["archived", "archived", "active"]
    assert told["session"] in [session for session, _ in sessions[:2]]


def test_beside_an_open_chat_ask_answers_from_memory_and_batch_is_told_who_holds_it(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    settings = connected(server.base, RECALL_PLANNING="off", **BUILT_IN)
    server.script(say("Nice cat."), say("Douban, you said."))
    terminal = chat(**settings)
    terminal.prompt()
    terminal.say("My cat is called Douban.")
    terminal.see("Nice cat.")
    terminal.wait((tmp_path / "data" / SOCKET_NAME).exists, "the socket")
    where = ("--env-file", str(tmp_path / "env"))
    found = run(tmp_path, *where, "--ask", "What is my cat called?", **settings)
    assert (found.code, found.out) == (0, "Douban, you said.\n")
    batch = run(tmp_path, *where, "--batch", "-", given="Hello\n", **settings)
    assert (batch.code, batch.out, len(batch.err.splitlines())) == (4, "", 1)
    assert "Another Old Friend (process" in batch.err
    terminal.prompt()
    terminal.say("/exit")
    assert terminal.ended() == 0
    assert said(tmp_path) == ["My cat is called Douban."]
    assert rows(tmp_path, "SELECT count(*) FROM session") == [(1,)]


def test_a_chat_three_hosts_a_server_and_p_on_one_memory_lose_nothing_double_nothing_and_damage_nothing(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.answer = lambda request: "Heard."
    typed = [f"I type number {number}." for number in range(4)]
    where = ("--env-file", str(tmp_path / "env"))
    terminal = chat(**settings)
    terminal.prompt()
    terminal.wait((tmp_path / "data" / SOCKET_NAME).exists, "the socket")
    with ExitStack() as opened:
        hosts = {name: opened.enter_context(host(tmp_path, **settings)) for name in ("one", "two", "three")}
        serving = opened.enter_context(program(tmp_path, **settings))

        def talk(name: str, to: Host) -> None:
            for number in range(5):
                to.process_memory(f"This is number {number} of {name}.")

        threads = [threading.Thread(target=talk, args=pair) for pair in hosts.items()]
        for thread in threads:
            thread.start()
        beside = [started(tmp_path, *where, "-p", f"Beside {name}.", piped=False, **settings) for name in "ab"]
        for text in typed:
            terminal.say(text)
            terminal.see("Heard.")
            terminal.prompt()
        for thread in threads:
            thread.join(120)
        assert [ended(one).code for one in beside] == [0, 0]
        busy = serving.ask("POST", "/process", {"input": "Too early.", "user_id": "me"})
        assert (busy.status, busy.json["message"]) == (
            503,
            "Another program is using this memory now. Nothing of this request is stored; try again.",
        )
        assert int(busy.headers["retry-after"]) > 0
        assert serving.ask("GET", "/health").json["status"] == "ok"
        terminal.say("/exit")
        assert terminal.ended() == 0
        over_http = {"input": "Over HTTP.", "user_id": "me"}
        until(lambda: serving.ask("POST", "/process", over_http).status == 200)
        hosts["one"].process_memory("Through the server.")
        assert served_ended(serving)[0] == 0
        assert [one.ended() for one in hosts.values()] == [0, 0, 0]
    handed = [f"This is number {number} of {name}." for name in hosts for number in range(5)]
    last = ["Beside a.", "Beside b.", "Over HTTP.", "Through the server."]
    assert sorted(said(tmp_path)) == sorted([*typed, *handed, *last])
    assert [text for text in said(tmp_path) if text in typed] == typed
    assert whole(tmp_path)


def test_what_a_model_refuses_beside_a_chat_has_the_same_words_and_exit_code(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    from tests.support.server import status

    settings = connected(server.base, **BUILT_IN)
    terminal = chat(**settings)
    terminal.prompt()
    terminal.wait((tmp_path / "data" / SOCKET_NAME).exists, "the socket")
    server.script(status(401))
    beside = run(tmp_path, "--env-file", str(tmp_path / "env"), "-p", "Hello?", **settings)
    assert (beside.code, beside.out) == (1, "")
    assert len(beside.err.splitlines()) == 1
    assert stored(tmp_path) == []
    assert len(rows(tmp_path, "SELECT session_id FROM session")) == 1


def test_ctrl_c_stops_what_is_said_beside_a_chat(tmp_path: Path, server: ScriptedServer, chat: Chat) -> None:
    settings = connected(server.base, **BUILT_IN)
    terminal = chat(**settings)
    terminal.prompt()
    terminal.wait((tmp_path / "data" / SOCKET_NAME).exists, "the socket")
    server.script(hang)
    process = started(tmp_path, "--env-file", str(tmp_path / "env"), "-p", "Wait.", piped=False, **settings)
    terminal.wait(lambda: bool(server.chats), "the question at the model")
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130
    terminal.wait(lambda: len(rows(tmp_path, "SELECT session_id FROM session")) == 1, "nothing left of it")
    assert stored(tmp_path) == []


def test_a_host_and_p_use_the_memory_that_a_server_holds(tmp_path: Path, server: ScriptedServer) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.script(say("From the server."))
    with program(tmp_path, **settings) as serving, host(tmp_path, **settings) as other:
        body = {"input": "Over HTTP.", "user_id": "me"}
        assert serving.ask("POST", "/process", body).status == 200
        other.process_memory("Over MCP.")
        beside = run(tmp_path, "--env-file", str(tmp_path / "env"), "-p", "By hand.", **settings)
        assert (beside.code, beside.out) == (0, "From the server.\n")
        assert serving.ask("GET", "/session-status/me").json["session_info"]["event_count"] == 2
    assert sorted(said(tmp_path)) == ["By hand.", "Over HTTP.", "Over MCP."]


def test_a_chat_takes_the_memory_from_a_server_which_has_it_again_when_the_chat_has_ended(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.script(say("Hello from here."))
    with program(tmp_path, **settings) as serving:
        body = {"input": "Over HTTP.", "user_id": "me"}
        assert serving.ask("POST", "/process", body).status == 200
        terminal = chat(**settings)
        terminal.prompt()
        terminal.say("I am at the keyboard.")
        terminal.see("Hello from here.")
        refused = serving.ask("POST", "/process", {**body, "input": "Beside the chat."})
        assert (refused.status, "retry-after" in map(str.lower, refused.headers)) == (503, True)
        terminal.prompt()
        terminal.say("/exit")
        assert terminal.ended() == 0
        until(lambda: serving.ask("POST", "/process", {**body, "input": "After it."}).status == 200)
        assert served_ended(serving)[0] == 0
    assert said(tmp_path) == ["Over HTTP.", "I am at the keyboard.", "After it."]
    assert whole(tmp_path)


@pytest.mark.torture
def test_a_server_takes_the_memory_from_a_host_and_both_go_on(tmp_path: Path, server: ScriptedServer) -> None:
    settings = connected(server.base, **BUILT_IN)
    with host(tmp_path, **settings) as other:
        other.process_memory("Before the server.")
        with program(tmp_path, **settings) as serving:
            other.process_memory("While it takes it.")
            body = {"input": "Over HTTP.", "user_id": "me"}
            until(lambda: serving.ask("POST", "/process", body).status == 200)
            other.process_memory("Beside it.")
            assert served_ended(serving)[0] == 0
        other.process_memory("After it.")
        assert other.ended() == 0
    expected = ["After it.", "Before the server.", "Beside it.", "Over HTTP.", "While it takes it."]
    assert sorted(said(tmp_path)) == expected


def test_the_socket_that_a_killed_holder_left_hinders_nobody(tmp_path: Path, server: ScriptedServer) -> None:
    settings = connected(server.base, **BUILT_IN)
    with host(tmp_path, **settings) as killed:
        killed.process_memory("I hold it.")
        killed.kill()
    assert (tmp_path / "data" / SOCKET_NAME).is_socket()
    server.script(say("Hello."))
    assert run(tmp_path, "--env-file", str(tmp_path / "env"), "-p", "Hello?", **settings).out == "Hello.\n"
    with host(tmp_path, **settings) as following:
        following.process_memory("I hold it now.")
        assert following.ended() == 0


def test_the_socket_is_for_its_owner_and_speaks_lines_of_json(tmp_path: Path) -> None:
    with host(tmp_path) as holder:
        holder.process_memory("I hold it.")
        path = tmp_path / "data" / SOCKET_NAME
        assert path.stat().st_mode & 0o777 == 0o600
        answers = []
        for asked in (
            b'{"call": "session_status", "arguments": {"user_id": "me"}}\n',
            b'{"call": "session_status", "arguments": {"user_id": 7}}\n',
            b'{"call": "settings", "arguments": {}}\n',
            b"what?\n",
        ):
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(str(path))
                line.sendall(asked)
                line.shutdown(socket.SHUT_WR)
                answers.append(b"".join(iter(lambda line=line: line.recv(4096), b"")))
        assert json.loads(answers[0].splitlines()[-1])["answer"]["session_info"]["event_count"] == 1
        assert json.loads(answers[1].splitlines()[-1])["error"]["key"] == "socket.invalid"
        assert json.loads(answers[2].splitlines()[-1])["error"]["key"] == "socket.unknown_call"
        assert answers[3] == b""
        holder.process_memory("Still here.")


def test_a_folder_with_a_very_long_path_has_a_socket_too(tmp_path: Path) -> None:
    home = tmp_path / ("a folder with a long name " * 4) / ("and another one " * 4)
    home.mkdir(parents=True)
    with host(home) as holder, host(home) as other:
        holder.process_memory("I hold it.")
        other.process_memory("I ask.")
    assert said(home) == ["I hold it.", "I ask."]


def test_without_a_socket_a_second_p_is_told_who_holds_the_memory(tmp_path: Path, server: ScriptedServer) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.script(hang)
    where = ("--env-file", str(tmp_path / "env"))
    (tmp_path / "env").touch(0o600)
    first = started(tmp_path, *where, "-p", "x", piped=False, **settings)
    while not server.chats:
        threading.Event().wait(0.02)
    second = run(tmp_path, *where, "-p", "y", **settings)
    assert second.code == 4
    assert f"process {first.pid}" in second.err
    first.send_signal(signal.SIGINT)
    assert ended(first).code == 130
