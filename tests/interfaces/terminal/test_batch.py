"""The program without a person at the keyboard: what goes to which stream, and the exit codes."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.interfaces.terminal.pseudo import ROOT
from tests.support.house import Mind, marked
from tests.support.program import connected, ended, interrupted, run, started, stored
from tests.support.served import until
from tests.support.server import ScriptedServer, closed_port, hang, say, status


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path) -> None:
    (tmp_path / "env").touch(0o600)


def said(home: Path, *arguments: str, given: str = "", **settings: str):
    return run(home, "--env-file", str(home / "env"), *arguments, given=given, **settings)


def test_p_prints_the_reply_alone_on_stdout(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(say("Hello **Ann**."))
    done = said(tmp_path, "-p", "Hi, I am Ann", **connected(server.base))
    assert (done.code, done.out, done.err) == (0, "Hello **Ann**.\n", "")


def test_p_dash_reads_stdin_and_piped_text_comes_before_the_rest(tmp_path: Path, server: ScriptedServer) -> None:
    said(tmp_path, "-p", "-", given="from stdin\n", **connected(server.base))
    said(tmp_path, "-p", "what is this?", given="a file\nof two lines\n", **connected(server.base))
    asked = [request["messages"][-1]["content"] for request in server.chats]
    assert asked[0] == "from stdin"
    assert asked[1].endswith("a file\nof two lines\n\nwhat is this?")


def test_with_no_model_the_stand_in_answers_and_says_so_on_stderr(tmp_path: Path) -> None:
    done = said(tmp_path, "-p", "hello")
    assert done.code == 0
    assert "hello" in done.out
    assert "demo model answers" not in done.out
    assert "demo model answers" in done.err


def test_json_is_one_object_with_what_was_recalled(tmp_path: Path, server: ScriptedServer) -> None:
    server.script("Nice.", "Ann has a parrot called Kiwi.", '{"notes": []}', "It is Kiwi.")
    said(tmp_path, "--batch", "-", given="I have a parrot called Kiwi\n/save\n", **connected(server.base))
    done = said(tmp_path, "--json", "-p", "what is my parrot called?", **connected(server.base))
    told = json.loads(done.out)
    assert (told["reply"], told["finish"], told["error"]) == ("It is Kiwi.", "stop", None)
    assert {"id", "type", "session", "score", "text"} <= set(told["recalled"][0])
    assert any("Kiwi" in memory["text"] for memory in told["recalled"])
    assert told["usage"] == {"prompt_tokens": 100_000, "completion_tokens": 5}


def test_json_tells_the_error_as_well(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(status(401))
    done = said(tmp_path, "--json", "-p", "hello", **connected(server.base))
    assert done.code == 1
    assert json.loads(done.out)["error"]["key"] == "model.unauthorized"


def test_batch_plays_messages_and_commands_and_asks_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    server.script("one", "two")
    lines = tmp_path / "lines.txt"
    lines.write_text("first\n\n/reset\nsecond\n/history\n")
    done = said(tmp_path, "--batch", str(lines), **connected(server.base))
    assert (done.code, done.out) == (0, "one\ntwo\n")
    assert "Cleared: 1 exchange." in done.err
    assert "[y/N]" not in done.err


def test_new_saves_the_present_session_first(tmp_path: Path, server: ScriptedServer) -> None:
    server.script("Hello.", "A summary.", '{"notes": []}', "Again hello.")
    said(tmp_path, "-p", "hi", "--here", **connected(server.base))
    done = said(tmp_path, "--new", "-p", "hi again", **connected(server.base))
    assert done.out == "Again hello.\n"
    assert "is archived" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--nonsense"], 2),
        (["--json"], 2),
        (["--here"], 2),
        (["-p", "x", "--batch", "y"], 2),
        (["--batch", "/nowhere/at/all"], 2),
        (["--env-file", "/nowhere/env", "-p", "x"], 2),
        (["-p", ""], 2),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(tmp_path: Path, arguments: list[str], code: int) -> None:
    done = run(tmp_path, "--env-file", str(tmp_path / "env"), *arguments)
    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err
    assert len([line for line in done.err.splitlines() if "demo model" not in line]) == 1


def test_a_failure_for_good_is_1_and_one_that_may_pass_is_3(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(status(401))
    assert said(tmp_path, "-p", "x", **connected(server.base)).code == 1
    gone = said(tmp_path, "-p", "x", **connected(f"http://127.0.0.1:{closed_port()}/v1"))
    assert gone.code == 3
    assert gone.out == ""


def hanging(home: Path, server: ScriptedServer, **settings: str) -> subprocess.Popen[bytes]:
    """A run that goes on until its model answers, or it is interrupted."""
    first = started(home, "--env-file", str(home / "env"), "-p", "x", piped=False, **settings)
    until(lambda: server.chats)
    return first


@pytest.mark.parametrize(("option", "out"), [("-p", "Second.\n"), ("--ask", "That is not in my memory.\n")])
def test_one_message_does_not_wait_for_another_that_is_under_way(
    tmp_path: Path, server: ScriptedServer, option: str, out: str
) -> None:
    answer = threading.Event()
    server.script(lambda exchange: answer.wait(120) and say("First.")(exchange))
    server.answer = lambda request: "Second."
    settings = connected(server.base, RECALL_PLANNING="off")
    first = hanging(tmp_path, server, **settings)
    done = run(tmp_path, "--env-file", str(tmp_path / "env"), option, "x y", **settings)
    assert (done.code, done.out) == (0, out)
    assert first.poll() is None
    answer.set()
    assert ended(first).out == "First.\n"
    assert sorted(one.user for one in stored(tmp_path)) == ["x", "x y"][: 2 if option == "-p" else 1]


def test_ctrl_c_while_a_line_is_awaited_ends_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "--data-dir", str(tmp_path / "data"), "--batch", "-",
         "--env-file", str(tmp_path / "env")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "LOG_DIR": str(tmp_path / "logs"), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert process.stdin
    assert process.stderr
    assert b"demo model" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    process.communicate()


def test_a_reader_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    process = started(tmp_path, "--env-file", str(tmp_path / "env"), "-p", "hello")
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stdin.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 1
    assert "BrokenPipe" not in told


def test_help_for_a_reader_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    process = started(tmp_path, "--help")
    assert process.stdout
    process.stdout.close()
    process.wait(60)
    assert process.stderr
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.stdin
    process.stdin.close()


def test_version_and_help_print_and_end(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").out.startswith("Old Friend ")
    helped = run(tmp_path, "--help")
    assert helped.code == 0
    for flag in ("-p", "--batch", "--json", "--new", "--incognito", "--plain", "--check", "--no-stream", "--debug",
                 "--data-dir", "--env-file", "--version"):  # fmt: skip
        assert flag in helped.out


def test_help_and_what_is_wrong_are_in_the_language_of_the_locale(tmp_path: Path) -> None:
    helped = run(tmp_path, "--help", LANG="zh_CN.UTF-8").out
    assert "用法：" in helped
    assert re.search(r"--check\s+检查", helped)
    assert "--data-dir" in helped
    wrong = {"--nonsense": "没有这样的选项：--nonsense", "--batch": "--batch 后面要有值"}
    for flag, said in wrong.items():
        assert run(tmp_path, flag, LANG="zh_CN.UTF-8").err.startswith(said)


def test_new_says_what_it_does_first(tmp_path: Path) -> None:
    run(tmp_path, "-p", "my boat is blue", "--here")
    told = run(tmp_path, "--new", "-p", "hello").err
    assert told.index("Saving the present session first; Ctrl-C") < told.index("1/4")


@pytest.mark.parametrize(("language", "friend", "person"), [("en", "Old Friend", "you"), ("zh", "老友", "你")])
def test_commands_speak_of_both_by_name_and_show_no_more_than_counts(
    tmp_path: Path, language: str, friend: str, person: str
) -> None:
    lines = "/persona diff\nmy boat is blue\n/save\nwhat is blue?\n/why\n/context\n/status all\n/forget boat\n"
    told = run(tmp_path, "--batch", "-", given=lines, LANGUAGE=language).err
    assert len(set(told.splitlines()[1:3])) == 2, "each persona is compared by its name"
    assert f" · {person} · my boat is blue" in told
    assert f" · {friend} · " in told
    assert " · assistant · " not in told
    assert " 0.00" not in told
    assert "DEBUG 0 · " in " ".join(told.split())
    assert "EMBEDDING_API_KEY – · " in " ".join(told.split()), "a key that is not set is not a secret"
    assert "REQUEST_TIMEOUT 120 · " in " ".join(told.split())
    assert ("system prompt: about " if language == "en" else "系统提示词：约") in told


def test_check_gives_a_verdict_a_line(tmp_path: Path, server: ScriptedServer) -> None:
    server.models = ["wanted-model"]
    done = said(tmp_path, "--check", **connected(server.base))
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["ok"] * 7
    server.script(status(401))
    broken = said(tmp_path, "--check", **connected(server.base))
    assert broken.code == 1
    assert "bad" in broken.out


def test_check_is_not_in_order_with_a_line_of_env_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("MAX_CONV_NUM=9\nCHAT MODEL = best\n")
    done = said(tmp_path, "--check")
    settings = [line for line in done.out.splitlines() if "settings" in line]
    assert done.code == 2
    assert len(settings) == 1
    assert settings[0].startswith("bad")
    assert "Line 2 of" in settings[0]
    assert done.err == ""


def test_a_line_of_env_that_cannot_be_read_is_said_at_every_start(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("CHAT MODEL = best\n")
    assert "Line 1 of" in said(tmp_path, "-p", "hello").err


@pytest.mark.parametrize("junk", [b"junk", b"no database " * 1000, b""], ids=["short", "long", "empty"])
def test_restoring_from_what_is_no_backup_says_just_that(tmp_path: Path, junk: bytes) -> None:
    said(tmp_path, "-p", "my boat is blue", "--here")
    (tmp_path / "junk").write_bytes(junk)
    done = said(tmp_path, "--restore", str(tmp_path / "junk"))
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith(f"{tmp_path / 'junk'} is not an Old Friend backup.")
    assert len(done.err.splitlines()) == 1
    assert "my boat is blue" in said(tmp_path, "-p", "/history").out + said(tmp_path, "-p", "/history").err


def test_a_folder_or_the_database_of_another_program_is_no_backup(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE things (name)")
        database.commit()
    for chosen in (tmp_path, other):
        done = said(tmp_path, "--restore", str(chosen))
        assert done.code == 4
        assert "is not an Old Friend backup" in done.err


def test_a_backup_that_is_damaged_is_said_to_be_one(tmp_path: Path) -> None:
    said(tmp_path, "-p", "my boat is blue")
    kept = tmp_path / "kept.db"
    said(tmp_path, "--backup", str(kept))
    kept.write_bytes(kept.read_bytes()[:5000] + b"\xff" * 20_000)
    assert "The backup" in said(tmp_path, "--restore", str(kept)).err


def sessions(home: Path) -> list[tuple[str, str, list[str]]]:
    """Each session's id and status, and what the person said in it."""
    with closing(sqlite3.connect(home / "data" / "memory.db")) as database:
        query = "SELECT session_id, status FROM session ORDER BY position"
        spoken = "SELECT text FROM conversation WHERE session_id = ? AND role = 'user' ORDER BY position"
        return [
            (name, status, [row[0].removeprefix("User: ") for row in database.execute(spoken, [name])])
            for name, status in database.execute(query).fetchall()
        ]


def test_p_has_a_session_of_its_own_beside_the_one_you_are_in(tmp_path: Path, server: ScriptedServer) -> None:
    settings = connected(server.base)
    said(tmp_path, "--batch", "-", given="I sail tomorrow\n", **settings)
    present = sessions(tmp_path)[0][0]
    server.script("It is a parrot.")
    done = said(tmp_path, "-p", "what is a Kakariki?", **settings)
    assert done.out == "It is a parrot.\n"
    assert all(one["content"] != "I sail tomorrow" for one in server.chats[-1]["messages"])
    said(tmp_path, "--batch", "-", given="I am back\n", **settings)
    assert [(status, texts) for _, status, texts in sessions(tmp_path)] == [
        ("archived", ["what is a Kakariki?"]),
        ("active", ["I sail tomorrow", "I am back"]),
    ]
    assert sessions(tmp_path)[-1][0] == present
    found = said(tmp_path, "-p", "/memory search Kakariki", **settings)
    assert "Kakariki" in found.out + found.err


def test_here_says_it_in_the_present_session_and_a_command_is_always_about_it(
    tmp_path: Path, server: ScriptedServer
) -> None:
    settings = connected(server.base)
    said(tmp_path, "--batch", "-", given="I sail tomorrow\n", **settings)
    said(tmp_path, "-p", "on a boat", "--here", **settings)
    assert "I sail tomorrow" in [one["content"] for one in server.chats[-1]["messages"]]
    history = said(tmp_path, "-p", "/history", **settings)
    assert "on a boat" in history.out + history.err
    assert [texts for *_, texts in sessions(tmp_path)] == [["I sail tomorrow", "on a boat"]]


@pytest.mark.parametrize("more", [("--incognito",), ("--json",), ()], ids=["incognito", "json", "failing"])
def test_nothing_is_left_of_a_session_in_which_nothing_was_stored(
    tmp_path: Path, server: ScriptedServer, more: tuple[str, ...]
) -> None:
    settings = connected(server.base)
    said(tmp_path, "--batch", "-", given="I sail tomorrow\n", **settings)
    if "--incognito" not in more:
        server.script(status(401))
    said(tmp_path, "-p", "hello there", *more, **settings)
    assert [(status, texts) for _, status, texts in sessions(tmp_path)] == [("active", ["I sail tomorrow"])]


def test_what_a_killed_p_leaves_is_not_what_the_next_start_goes_on_with(tmp_path: Path, server: ScriptedServer) -> None:
    settings = connected(server.base)
    said(tmp_path, "--batch", "-", given="I sail tomorrow\n", **settings)
    present = sessions(tmp_path)[0][0]
    server.script(hang)
    process = started(tmp_path, "--env-file", str(tmp_path / "env"), "-p", "hello", piped=False, **settings)
    while len(server.chats) < 2 and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    ended(process)
    said(tmp_path, "--batch", "-", given="I am back\n", **settings)
    assert (present, "active", ["I sail tomorrow", "I am back"]) in sessions(tmp_path)


def test_a_bare_argument_is_told_how_to_say_something(tmp_path: Path) -> None:
    for language, told in (("en_US.UTF-8", "To say one thing"), ("zh_CN.UTF-8", "只说一句")):
        done = run(tmp_path, "hello there", LANG=language)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(told)
        assert 'main.py -p "hello there"' in done.err


def test_wrong_settings_are_a_line_each_in_the_language_of_the_locale(tmp_path: Path) -> None:
    done = said(tmp_path, "-p", "x", MAX_CONV_NUM="none", DEBUG="maybe", LANG="zh_CN.UTF-8")
    assert done.code == 2
    assert [line.split("：")[0] for line in done.err.splitlines()] == ["MAX_CONV_NUM=none", "DEBUG=maybe"]


PARROT = json.dumps(
    {"notes": [{"turns": [1], "text": "The user has a parrot called Kiwi.", "topic": "pet", "importance": 6,
        "facts": [{"turns": [1], "restatement": "The user has a parrot called Kiwi.", "subject": "the user",
            "attribute": "pet", "value": "Kiwi", "about": "person", "stance": "stated"}]}]}
)  # fmt: skip


def left_unnoted(home: Path, server: ScriptedServer) -> Mind:
    """A session that was saved while the model could take no notes."""
    mind = Mind(server)
    mind.answers("notes", status(401))
    done = said(home, "--batch", "-", given="I have a parrot called Kiwi\n/save\n", **connected(server.base))
    assert "the program tries again" in done.err
    assert len(mind.asked("notes")) == 1
    mind.answers("notes", PARROT)
    return mind


@pytest.mark.parametrize("by", ["-p", "--ask", "--batch", "--json"])
def test_what_a_model_failed_to_note_is_made_up_behind_the_answer(
    tmp_path: Path, server: ScriptedServer, by: str
) -> None:
    mind = left_unnoted(tmp_path, server)
    lines = tmp_path / "lines"
    lines.write_text("hello\n")
    arguments = {"--batch": ["--batch", str(lines)], "--json": ["--json", "-p", "hello"]}.get(by, [by, "hello"])
    done = said(tmp_path, *arguments, **connected(server.base))
    assert done.code == 0
    asked = [at for at, request in enumerate(server.chats) if marked(request, "notes")]
    assert len(asked) == 2
    assert any("hello" in chat["messages"][-1]["content"] for chat in server.chats[asked[0] : asked[1]])
    again = said(tmp_path, "--batch", "-", given="/facts\n", **connected(server.base))
    assert "The user has a parrot called Kiwi." in again.out + again.err
    assert len(mind.asked("notes")) == 2


def test_an_answer_is_read_before_anything_is_made_up_and_ctrl_c_ends_that(
    tmp_path: Path, server: ScriptedServer
) -> None:
    mind = left_unnoted(tmp_path, server)
    mind.answers("notes", hang)
    process = started(
        tmp_path, "--env-file", str(tmp_path / "env"), "-p", "hello", piped=False, **connected(server.base)
    )
    with process:
        assert process.stdout is not None
        assert b"hello" in process.stdout.readline()
        assert interrupted(process, lambda: len(mind.asked("notes")) == 2).code == 0
    mind.answers("notes", PARROT)
    said(tmp_path, "-p", "hello", **connected(server.base))
    again = said(tmp_path, "--batch", "-", given="/facts\n", **connected(server.base))
    assert "The user has a parrot called Kiwi." in again.out + again.err


def test_nothing_is_made_up_where_the_answer_failed_or_nothing_is_to_be_written(
    tmp_path: Path, server: ScriptedServer
) -> None:
    mind = left_unnoted(tmp_path, server)
    server._chats.appendleft(status(401))
    assert said(tmp_path, "-p", "hello", **connected(server.base)).code == 1
    assert said(tmp_path, "--incognito", "-p", "hello", **connected(server.base)).code == 0
    assert len(mind.asked("notes")) == 1
