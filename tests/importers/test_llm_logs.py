"""The log of llm is read in both of its generations, and never written."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from domain.errors import UsageError
from tests.importers.exports import read

OLD = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT, datetime_utc TEXT, reasoning TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
"""
NEW = """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT, payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT, datetime_utc TEXT);
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as connection:
        yield connection, path


def old(connection, *rows):
    connection.executescript(OLD)
    connection.execute("INSERT INTO conversations VALUES ('c1', 'Cats', 'gpt')")
    connection.executemany("INSERT INTO responses VALUES (?, ?, 'Be kind', ?, ?, ?, 'hm')", rows)
    connection.commit()


def chain(connection, above, *messages):
    for digest, role, kind, text in messages:
        connection.execute("INSERT INTO messages VALUES (?, ?, ?)", (digest, above, role))
        connection.execute("INSERT INTO parts VALUES (NULL, ?, 0, ?, NULL, ?, NULL)", (digest, kind, text))
        above = digest


def turn(connection, key, thread, parent, tip, forked=None):
    connection.execute("INSERT OR IGNORE INTO threads VALUES (?, 'Cats', NULL, ?, '')", (thread, forked))
    connection.execute(
        "INSERT INTO turns VALUES (?, ?, ?, ?, 'gpt', '2026-08-01T10:00:00')", (key, thread, parent, tip)
    )
    connection.commit()


OLD_ROWS = [
    ("r1", "我的猫叫豆包", "Cute!", "c1", "2025-01-02T10:00:00.123456"),
    ("r2", "", "Long.", "c1", "2025-01-02T10:01:00"),
    ("r3", "alone", "yes", None, "2025-01-03T10:00:00+00:00"),
]
OLD_SAID = [("person", "我的猫叫豆包"), ("companion", "Cute!"), ("person", "the piece\n\nmore"), ("companion", "Long.")]


def test_the_old_tables_are_read_with_the_pieces_of_prompts(log):
    connection, path = log
    old(connection, *OLD_ROWS)
    connection.executemany("INSERT INTO fragments VALUES (?, '', ?)", [(1, "more"), (2, "the piece")])
    connection.executemany("INSERT INTO prompt_fragments VALUES ('r2', ?, ?)", [(1, 1), (2, 0)])
    connection.commit()
    found = read(path)
    (talk, alone) = found.talks
    assert (found.sources, talk.key, talk.title) == (["llm"], "c1", "Cats")
    assert [(one.by, one.text) for one in talk.messages] == OLD_SAID
    assert talk.messages[0].said.isoformat() == "2025-01-02T10:00:00.123456+00:00"
    assert (alone.key, [one.key for one in alone.messages]) == ("r3", ["r3:prompt", "r3:response"])


def test_what_was_said_after_the_upgrade_goes_on_in_the_same_conversation(log):
    connection, path = log
    old(connection, OLD_ROWS[0])
    connection.executescript(NEW)
    chain(connection, None, ("s", "system", "text", "Be kind"), ("u1", "user", "text", "我的猫叫豆包"), ("a1", "assistant", "text", "Cute!"),
          ("u2", "user", "text", "and now?"), ("t2", "assistant", "tool_call", None), ("x2", "tool", "tool_result", None),
          ("a2", "assistant", "text", "Still."), ("u3", "user", "text", "good"), ("a3", "assistant", "text", "Yes."))  # fmt: skip
    turn(connection, "n1", "c1", "x2", "a2")
    turn(connection, "n2", "c1", "u3", "a3")
    found = read(path)
    assert found.said == [("person", "我的猫叫豆包"), ("companion", "Cute!"), ("person", "and now?"),
                          ("companion", "Still."), ("person", "good"), ("companion", "Yes.")]  # fmt: skip
    assert found.left_out == {"tool": 2}
    keys = [one.key for one in found.talks[0].messages]
    assert keys[:2] == ["r1:prompt", "r1:response"]
    assert keys[-2:] == ["n2:0", "n2:1"]


def test_the_new_tables_alone_are_read_and_messages_that_threads_share_belong_to_each(log):
    connection, path = log
    connection.executescript(NEW)
    connection.execute("CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT)")
    connection.execute("INSERT INTO fragments VALUES (7, '', '豆包')")
    chain(connection, None, ("u1", "user", "text", None), ("a1", "assistant", "text", "Cute!"))
    payload = '{"text_ref": [{"literal": "我的猫叫"}, {"fragment": 7}]}'
    connection.execute("UPDATE parts SET payload = ? WHERE message_hash = 'u1'", (payload,))
    chain(connection, "a1", ("u2", "user", "text", "forked"), ("a2", "assistant", "text", "Yes."))
    turn(connection, "n1", "t1", "u1", "a1")
    turn(connection, "n2", "t2", "u1", "a1")
    turn(connection, "n3", "t3", "u2", "a2", forked="t1")
    found = read(path)
    said = [[(one.by, one.text) for one in talk.messages] for talk in found.talks]
    assert said == [[("person", "我的猫叫豆包"), ("companion", "Cute!")]] * 2 + [
        [("person", "forked"), ("companion", "Yes.")]
    ]
    assert found.talks[0].messages[0].said.isoformat() == "2026-08-01T10:00:00+00:00"


def test_a_log_that_is_in_use_is_read_and_not_changed(log):
    connection, path = log
    old(connection, *OLD_ROWS)
    before = path.read_bytes()
    connection.execute("BEGIN IMMEDIATE")
    assert len(read(path).talks) == 2
    connection.rollback()
    assert path.read_bytes() == before


def test_a_log_that_another_program_holds_is_said_to_be_held_and_not_damaged(log):
    connection, path = log
    old(connection, *OLD_ROWS)
    connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UsageError, match=r"history\.locked"):
        read(path)


def test_a_log_that_is_damaged_in_the_middle_says_so(log):
    connection, path = log
    old(connection, *((f"r{n}", "a prompt " * 50, "a reply " * 50, f"c{n}", "2025-01-02T10:00:00") for n in range(200)))
    damaged = bytearray(path.read_bytes())
    damaged[-20_000:-12_000] = b"\xff" * 8_000
    path.write_bytes(bytes(damaged))
    found = read(path)
    assert (found.reasons, len(found.talks) < 200) == (["damaged"], True)


def test_a_log_whose_end_is_missing_is_said_to_be_damaged(log):
    connection, path = log
    old(connection, *OLD_ROWS)
    path.write_bytes(path.read_bytes()[:9_000])
    with pytest.raises(UsageError, match=r"history\.damaged"):
        read(path)
