"""What hangs on one line each: what is taken back stays away, what is erased leaves no byte, a key goes nowhere."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from domain import errors
from domain.events import TextDelta
from domain.records import ErasureScope
from domain.workers import CancelToken
from jobs.rebuild import rebuild
from jobs.saving import Stage
from storage.messages import NewMessage
from tests.contract.stores import Store, sqlite
from tests.support.house import House, Mind, friend, house
from tests.support.program import connected, run, stored
from tests.support.server import ScriptedServer, redirect, say, status
from tests.support.talking import ASKED, models_at, played

ROOT = Path(__file__).parents[1]
MARKER = "Zyxquint-7731"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def spoken(open_house: House) -> list[str]:
    return [row["text"] for row in open_house.rows("conversation")]


def test_p4_a_retry_that_fails_leaves_the_round_that_was_to_be_replaced(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("one")
        before = spoken(first)
        server.script(status(401))
        with pytest.raises(errors.Unauthorized):
            list(first.talk.turn("one", CancelToken(), again=True))
        assert spoken(first) == before
        assert [each.user.words for each in first.talk.rounds_in_context()] == ["one"]
        server.script("Another reply.")
        list(first.talk.turn("one", CancelToken(), again=True))
        assert spoken(first) == ["User: one", "Assistant: Another reply."]


def test_p4_the_retry_command_loses_no_round_when_the_server_fails(tmp_path, server):
    (tmp_path / "env").touch(0o600)
    server.script("The first reply.", *[status(401)] * 3)
    run(
        tmp_path, "--env-file", str(tmp_path / "env"), "--batch", "-",
        given="hello\n/retry\n", **connected(server.base),
    )  # fmt: skip
    assert [(each.user, each.assistant) for each in stored(tmp_path)] == [("hello", "The first reply.")]


def test_p5_a_round_that_is_said_after_a_save_failed_voids_its_stages_and_is_in_the_summary(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("I planted a pear tree.")
        stop, mind = CancelToken(), Mind(server)
        mind.answers("notes", lambda exchange: (stop.set(), exchange.pause(30)))
        with pytest.raises(errors.Interrupted):
            list(first.talk.save(stop))
        assert len(first.rows("step WHERE kind = 'save'")) == 1
        mind.answers("notes", '{"notes": []}')
        first.say("The gate is green.")
        assert first.rows("step WHERE kind = 'save'") == []
        first.save()
        assert [row["summary"] for row in first.rows("summary")] == ["I planted a pear tree. | The gate is green."]


def test_p10_what_was_erased_after_a_reset_is_not_brought_back_by_undo(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say(f"My word is {MARKER}.")
        first.save()
        first.say(f"Again: {MARKER}.")
        first.talk.reset()
        list(first.talk.erase(first.memory.erasure.scope_of_words(MARKER), CancelToken()))
        first.talk.undo()
        assert MARKER not in str(spoken(first))


def test_p10_the_vectors_of_a_round_that_was_taken_back_leave_the_index(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("one")
        kept = {row["text_id"] for row in first.rows("conversation")}
        first.say("two")
        assert len(first.indexed()) == 4
        assert first.talk.undo() == 1
        first.settle()
        assert set(first.indexed()) == kept


def told(folder: Path, texts: list[str]) -> None:
    """A store with a session in which these texts were said."""
    with closing(sqlite(folder)) as opened:
        opened.start("s1", "2026-03-01T09:00:00+00:00")
        for number, text in enumerate(texts):
            now = f"2026-03-01T09:{number:02d}:00+00:00"
            messages = (
                NewMessage(f"u{number}", now, "user", text),
                NewMessage(f"a{number}", now, "assistant", "I see."),
            )
            opened.at(now).rounds.add("s1", messages, "stop")


def erase(opened: Store, texts: list[str]) -> None:
    chosen = [message for message in opened.messages.of_session("s1") if message.words in texts]
    opened.erasure.commit(ErasureScope(messages=tuple(chosen)))
    opened.erasure._clean_database()


def test_p11_the_word_index_keeps_no_word_that_was_erased(tmp_path):
    said = ["We met at noon.", "zyxquint", "The kettle is red."]
    told(tmp_path, said)
    assert b"zyxquint" in (tmp_path / "memory.db").read_bytes()
    with closing(sqlite(tmp_path)) as opened:
        erase(opened, ["zyxquint"])
    assert b"zyxquint" not in (tmp_path / "memory.db").read_bytes()


def test_p11_no_page_of_what_was_erased_is_left_in_the_file(tmp_path):
    said = ["We met at noon.", *(f"{number} " + "pear " * 20_000 for number in range(5))]
    told(tmp_path, said)
    before = (tmp_path / "memory.db").stat().st_size
    with closing(sqlite(tmp_path)) as opened:
        erase(opened, said[1:])
        assert opened.database.run("PRAGMA freelist_count")[0][0] == 0
    assert (tmp_path / "memory.db").stat().st_size < before - 5 * 80_000


def test_p11_forget_takes_what_was_erased_out_of_the_history_and_the_logs(tmp_path, server):
    (tmp_path / "env").touch(0o600)
    server.answer = friend
    (tmp_path / "data").mkdir(mode=0o700)
    history = tmp_path / "data" / "history"
    history.write_text("".join(json.dumps(line) + "\n" for line in ("tea", f"say {MARKER}")), encoding="utf-8")
    settings = {"DEBUG": "1", **connected(server.base)}
    given = (tmp_path, "--env-file", str(tmp_path / "env"), "--batch", "-")
    run(*given, given=f"My word is {MARKER}.\nThe kettle is red.\n", **settings)
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "logs").iterdir())
    assert MARKER in written
    done = run(*given, given=f"/forget {MARKER}\n", **(settings | {"DEBUG": "0"}))
    assert done.code == 0, done.err
    assert history.read_text(encoding="utf-8") == '"tea"\n'
    left = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "logs").iterdir())
    assert MARKER not in left


def test_p12_a_lock_on_a_file_that_was_removed_meanwhile_holds_nothing_and_is_not_taken_for_one(tmp_path):
    """The file is removed in the moment between opening and locking it, as a person who tidies up may."""
    script = """
        import os, sys
        from datetime import UTC, datetime
        from pathlib import Path
        from domain import errors
        from storage.programs import FolderLock
        folder = Path(sys.argv[1])
        removed = []
        def remove(event, arguments):
            if event == "fcntl.flock" and not removed:
                removed.append(True)
                os.unlink(folder / ".owner")
        sys.addaudithook(remove)
        clock = lambda: datetime(2026, 1, 2, tzinfo=UTC)
        first, second = FolderLock(folder, clock), FolderLock(folder, clock)
        first.acquire()
        assert removed
        try:
            second.acquire()
        except errors.DataInUse:
            print("refused")
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_p18_no_key_is_sent_to_another_port_of_the_same_host(server):
    with ScriptedServer() as other:
        there = f"http://127.0.0.1:{other.port}/v1/chat/completions"
        server.script(redirect(there))
        llm = models_at(server.base)
        error = played(llm.chat(ASKED, CancelToken())).error
        llm.close()
        assert (error.key, error.details["location"]) == ("model.redirected", there)
        assert other.requests == []


def test_nothing_of_a_reply_is_written_while_nothing_may_be_written(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        session_id = first.talk.session.session_id
        first.memory.sessions.note_in_flight(session_id, "from before")
        first.talk.set_incognito(True)
        server.script(say("", pieces=[f"{MARKER} ", "one ", "two ", "three."], pause=0.7))
        shown = [each.text for each in first.talk.turn("go on", CancelToken()) if isinstance(each, TextDelta)]
        assert MARKER in "".join(shown)
        assert [(row["text"], row["partial"]) for row in first.rows("in_flight")] == [("from before", "")]


def test_p7_an_edit_that_is_made_while_a_save_archives_wins(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("I planted a pear tree.")
        for event in first.talk.save(CancelToken()):
            if event == Stage("archive", done=False):
                first.memory.personas.path("user").write_text("Edited by hand.", encoding="utf-8")
        assert first.memory.personas.read("user") == "Edited by hand."


def test_p21_a_save_that_archived_leaves_no_stage_behind(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("I planted a pear tree.")
        first.save()
        assert first.rows("step WHERE kind = 'save'") == []
        assert len(first.rows("summary")) == 1


def test_p13_sessions_stand_in_the_order_in_which_they_were_begun_whatever_the_clock_said(tmp_path):
    with closing(sqlite(tmp_path)) as opened:
        for day in (5, 9, 3, 1, 7):
            opened.start(f"s{day}", f"2026-03-0{day}T09:00:00+00:00")
        assert [one.session_id for one in opened.sessions.recent(9)] == ["s7", "s1", "s3", "s9", "s5"]
        newest = opened.sessions.newest_active()
        assert newest is not None
        assert newest.session_id == "s7"


def test_p20_a_line_of_a_persona_goes_with_the_messages_it_was_made_from(tmp_path, server, clock, new_id, log):
    line = {"operation": "add", "date": "2026-03-01"}
    lines = [
        {**line, "facts": [1], "text": f"User: My word is {MARKER}."},
        {**line, "facts": [2], "text": "Planted a pear tree."},
    ]
    Mind(server).answers("user", json.dumps({"operations": lines}))
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say(f"My word is {MARKER}.")
        first.say("I planted a pear tree.")
        first.save()
        assert first.memory.personas.read("user") == f"User: My word is {MARKER}.\nPlanted a pear tree."
        chosen = first.memory.erasure.scope_of_words(MARKER)
        assert f"User: My word is {MARKER}." in chosen.lines
        first.memory.erasure.erase(first.memory.erasure.refresh_scope(chosen))
        assert first.memory.personas.read("user") == "Planted a pear tree."
        assert first.memory.personas.read("self") == "self: “I planted a pear tree.”"
        assert [noted.what for noted in first.memory.rebuilds.due_requests()] == ["summary"]
        list(rebuild(first.memory, first.llm, CancelToken()))
        assert first.memory.rebuilds.due_requests() == []
