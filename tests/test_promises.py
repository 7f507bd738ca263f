"""A failure changes nothing, a save goes on, words serve without vectors, clocks may jump, disks may fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conversation import Replied
from domain import errors
from domain.events import Notice, TextDelta
from domain.recollection import Recollection
from domain.workers import CancelToken
from jobs.saving import Stage
from storage.programs import FolderLock
from tests import torture
from tests.support.house import House, Mind, friend, house
from tests.support.server import Exchange, ScriptedServer, cut_body, delta, say, status, stream, vectors
from tests.torture import disks, kills, power, stops

ROOT = Path(torture.__file__).resolve().parents[2]
TABLES = ("session", "conversation", "summary", "persona", "embedding", "message_words", "step", "pin", "fact")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def remembered(open_house: House) -> dict[str, list[dict[str, object]]]:
    return {table: open_house.rows(table) for table in TABLES}


def without_ids(open_house: House) -> dict[str, list[tuple[object, ...]]]:
    """What is remembered, without ids and times."""
    kept = {
        "session": ("status", "current_conv_count"),
        "conversation": ("role", "text", "round", "finish", "compacted"),
        "summary": ("summary", "upto_round"),
        "persona": ("persona", "text", "origin"),
        "message_words": ("tokens",),
    }
    return {
        table: [tuple(row[name] for name in names) for row in open_house.rows(table)] for table, names in kept.items()
    }


@pytest.mark.parametrize(
    ("fault", "tries"),
    [(status(401), 1), (status(404), 1), (status(400), 1), (cut_body(b"<html>", 500), 3), (stream(end="cut"), 3)],
    ids=["401", "404", "400", "cut body", "cut stream"],
)
def test_p4_a_failed_model_call_changes_nothing(tmp_path, server, clock, new_id, log, fault, tries):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("one")
        before = remembered(first)
        server.script(*[fault] * tries)
        with pytest.raises(errors.ModelError):
            list(first.talk.turn("two", CancelToken()))
        first.settle()
        assert remembered(first) == before
        assert first.memory.sessions.in_flight(first.talk.session.session_id).text == "two"
        assert first.say("two") == "Reply to: two"
        assert first.memory.sessions.in_flight(first.talk.session.session_id) is None


def test_p4_who_stops_during_recall_is_not_told_what_was_recalled_and_no_model_is_asked(
    tmp_path, server, clock, new_id, log
):
    embedding = {"EMBEDDING_MODEL": "embedder", "EMBEDDING_API_BASE": server.base}
    with house(tmp_path, server, clock, new_id, log, **embedding) as first:
        first.say("one")
        stop, asked, events = CancelToken(), len(server.chats), []

        def stopping(exchange):
            stop.set()
            vectors()(exchange)

        server.script_embeddings(stopping)
        with pytest.raises(errors.Interrupted):
            events.extend(first.talk.turn("What was the one?", stop))
        assert events == []
        assert len(server.chats) == asked
        assert stop.is_set


def test_p4_who_stops_a_save_before_its_last_step_keeps_the_session_open(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("one")
        stop, session = CancelToken(), first.talk.session
        with pytest.raises(errors.Interrupted):
            for event in first.talk.save(stop):
                if event == Stage("archive", done=False):
                    stop.set()
        assert first.memory.sessions.find(session.session_id).status == "active"
        assert first.save().archived.session_id == session.session_id


def test_p3_a_reply_that_was_cut_off_is_never_presented_as_complete(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        server.script(say("one two three four five", pause=0.05))
        stop, finish = CancelToken(), ""
        for event in first.talk.turn("go on", stop):
            if isinstance(event, TextDelta) and "two" in event.text:
                stop.set()
            if isinstance(event, Replied):
                finish = event.round.assistant.finish
        assert finish == "interrupted"
        server.script(say("half a thou", finish="length"))
        first.say("again")
        finishes = [row["finish"] for row in first.rows("conversation") if row["role"] == "assistant"]
        assert finishes == ["interrupted", "length"]
        first.say("and?")
        assert "interrupted" not in str(server.chats[-1]["messages"])


@pytest.mark.parametrize("end", ["cut", "reset", "clean"])
def test_p3_what_came_before_a_connection_broke_is_kept_as_interrupted_where_somebody_saw_it(
    tmp_path, server, clock, new_id, log, end
):
    with house(tmp_path, server, clock, new_id, log) as first:
        broken = stream(delta(content="one two"), end=end)
        server.script(broken, broken, "Three.")
        with pytest.raises(errors.BadReply):
            list(first.talk.turn("go on", CancelToken()))
        assert first.rows("conversation") == []
        *_, notice, last = list(first.talk.turn("go on", CancelToken(), watched=True))
        assert (notice.key, notice.details["error"].key) == ("turn.broke_off", "model.cut_reply")
        assert (last.reply.text, last.reply.finish) == ("one two", "interrupted")
        assert [row["finish"] for row in first.rows("conversation")] == ["interrupted"] * 2
        assert first.memory.sessions.in_flight(first.talk.session.session_id) is None
        list(first.talk.turn("go on", CancelToken(), again=True, watched=True))
        assert [row["text"] for row in first.rows("conversation")] == ["User: go on", "Assistant: Three."]


def test_p4_a_reply_that_broke_off_before_any_word_changes_nothing_though_somebody_watches(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        server.script(*[stream(delta(role="assistant"), end="cut")] * 3)
        with pytest.raises(errors.ModelError):
            list(first.talk.turn("go on", CancelToken(), watched=True))
        assert first.rows("conversation") == []


@pytest.mark.parametrize("stage", ["fold", "notes", "self", "user"])
def test_p5_a_save_that_was_stopped_goes_on_and_ends_as_an_undisturbed_one(tmp_path, server, clock, new_id, log, stage):
    def spend_an_evening(open_house: House) -> None:
        for line in ("I planted a pear tree.", "It stands by the wall."):
            open_house.say(line)

    with house(tmp_path / "quiet", server, clock, new_id, log) as quiet:
        spend_an_evening(quiet)
        quiet.save()
        wanted = without_ids(quiet)
    stop, mind = CancelToken(), Mind(server)

    def stopping(exchange: Exchange) -> None:
        stop.set()
        exchange.pause(30)

    with house(tmp_path / "broken", server, clock, new_id, log) as broken:
        spend_an_evening(broken)
        mind.answers(stage, stopping)
        with pytest.raises(errors.Interrupted):
            list(broken.talk.save(stop))
        assert broken.rows("session")[0]["status"] == "active"
        asked = len(server.chats)
    with house(tmp_path / "broken", server, clock, new_id, log) as broken:
        mind.answers(stage, lambda exchange: say(friend(exchange.json))(exchange))
        broken.save()
        assert len(server.chats) - asked == 5 - ["fold", "notes", "verify", "self", "user"].index(stage)
        assert without_ids(broken) == wanted


def test_p5_a_hand_edit_between_two_tries_of_a_save_wins(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("I planted a pear tree.")
        stop, mind = CancelToken(), Mind(server)
        mind.answers("user", lambda exchange: (stop.set(), exchange.pause(30)))
        with pytest.raises(errors.Interrupted):
            list(first.talk.save(stop))
        first.memory.personas.path("self").write_text("Edited by hand.", encoding="utf-8")
        mind.answers("user", '{"operations": []}')
        first.save()
        assert first.memory.personas.read("self") == "Edited by hand.\nself: “I planted a pear tree.”"


@pytest.mark.parametrize("reply", ["Ann sings.", "", '{"operations": [{"operation": "drop", "line": 1}]}'])
def test_p6_no_answer_of_a_model_loses_what_stands_in_a_persona(tmp_path, server, clock, new_id, log, reply):
    with house(tmp_path, server, clock, new_id, log) as first:
        long = "Ann has a sister in Lund.\nAnn fears heights.\nAnn sings alto on Thursdays."
        first.memory.personas.write("user", long, "hand")
        first.say("I planted a pear tree.")
        Mind(server).answers("user", reply)
        first.save()
        assert first.memory.personas.read("user") == long


def test_p8_the_index_hears_of_each_commit_what_it_added_and_what_it_removed(
    tmp_path, server, clock, new_id, log, monkeypatch
):
    woken: list[str] = []
    dropped: list[str] = []
    with house(tmp_path, server, clock, new_id, log) as home:
        home.say("My canoe is called Tern.")
        session_id, rounds = home.talk.session.session_id, home.memory.rounds
        monkeypatch.setattr(home.memory.index, "wake", lambda: woken.append("woken"))
        monkeypatch.setattr(home.memory.index, "drop", dropped.extend)
        spoken = rounds.store(session_id, "She is green.", "I see.", clock().isoformat(), "stop")
        assert woken
        assert rounds.undo(session_id) == (spoken,)
        assert {message.text_id for message in spoken.messages} <= set(dropped)


def test_p9_words_serve_while_the_embedding_server_is_away(tmp_path, server, clock, new_id, log):
    settings = {"EMBEDDING_MODEL": "test-embedding"}
    with house(tmp_path, server, clock, new_id, log, **settings) as first:
        first.say("My canoe is called Tern.")
        first.save()
    server.script_embeddings(*[status(500)] * 200)
    with house(tmp_path, server, clock, new_id, log, **settings) as second:
        events = list(second.talk.turn("What is my canoe called?", CancelToken()))
        assert any("Tern" in message.text for message in second.talk.last.recollection.messages)
        assert [event.key for event in events if hasattr(event, "key")] == ["recall.degraded"]
        more = list(second.talk.turn("And who paddles the canoe?", CancelToken()))
        assert [event.key for event in more if hasattr(event, "key")] == []


def test_p9_an_index_that_opens_behind_the_start_is_told_of_by_the_second_turn_that_misses_it(
    tmp_path, server, clock, new_id, log, monkeypatch
):
    with house(tmp_path, server, clock, new_id, log) as first:
        monkeypatch.setattr(first.memory, "recall", lambda *_, **__: Recollection(degraded=("index",)))
        told = [list(first.talk.turn(text, CancelToken())) for text in ("one", "two", "three")]
        assert [[event.key for event in events if isinstance(event, Notice)] for events in told] == [
            [], ["recall.degraded"], []
        ]  # fmt: skip


def test_p12_a_second_program_is_told_who_holds_the_directory(tmp_path, clock):
    with FolderLock(tmp_path / "data", clock):
        done = run_program(tmp_path, "--plain")
    assert done.returncode == 4
    assert str(tmp_path / "data") in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.parametrize("jump", [{"days": -2}, {"days": 3650}], ids=["back two days", "forward ten years"])
def test_p13_the_clock_may_jump(tmp_path, server, clock, new_id, log, jump):
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        first.say("My kite is orange.")
        first.save()
        first.say("one")
        clock.pass_by(**jump)
        first.say("two")
        assert [spoken.user.words for spoken in first.talk.rounds_in_context()] == ["one", "two"]
        first.say("three")
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as second:
        assert [spoken.user.words for spoken in second.talk.open().rounds] == ["two", "three"]
        second.say("What colour is my kite?")
        assert any("orange" in message.text for message in second.talk.last.recollection.messages)
        second.save()
        numbers = [row["number"] for row in second.rows("session")]
        assert numbers == sorted(numbers)


def test_p15_a_damaged_database_is_named_left_alone_and_nothing_is_made_in_its_place(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memory.db").write_bytes(b"Dear diary, today I ate a plum.\n" * 500)
    done = run_program(tmp_path, "-p", "hello")
    assert done.returncode == 4
    assert "memory.db" in done.stderr
    assert (tmp_path / "data" / "memory.db").read_bytes().startswith(b"Dear diary")


def run_program(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "DATA_DIR": str(folder / "data"),
        "LOG_DIR": str(folder / "logs"),
        "LANG": "C.UTF-8",
    }
    command = [sys.executable, "-B", str(ROOT / "main.py"), "--env-file", str(_empty(folder)), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )


def _empty(folder: Path) -> Path:
    (folder / "empty.env").touch(0o600)
    return folder / "empty.env"


needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@needs_strace
def test_p1_a_round_whose_next_prompt_was_shown_survives_a_power_cut():
    tried = power.every_cut(seeds=2, stride=3)
    assert tried.points > 100
    assert tried.violations == []


@pytest.mark.parametrize(("scene", "stride"), [("round", 120), ("save", 200), ("erase", 800)])
def test_p2_a_kill_loses_at_most_the_round_in_flight(scene, stride):
    tried = kills.every_point(scene, first=30, stride=stride)
    assert tried.violations == []
    if tried.skipped:
        pytest.skip(tried.skipped)
    assert tried.points > 1


def test_a_kill_comes_before_each_writing_call_of_any_thread(tmp_path):
    def play() -> None:
        (tmp_path / "a").write_text("1", encoding="utf-8")
        writing = threading.Thread(target=(tmp_path / "b").write_text, args=("2",))
        writing.start()
        writing.join()
        (tmp_path / "a").rename(tmp_path / "c")

    if why := stops.why_not():
        pytest.skip(why)
    ended = [stops.run(play, point, tmp_path) for point in range(7)]
    assert [one.at for one in ended] == ["", "openat", "write", "openat", "write", "rename", ""]
    assert [one.fault for one in ended] == [""] * 7
    assert ended[0].calls == 5


def test_p14_a_full_or_read_only_disk_does_no_damage():
    for tried in (disks.full(step_kb=120), disks.full_below_the_index([0]), disks.read_only()):
        assert tried.violations == []
