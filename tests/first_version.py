"""A database as the first version of the program left it, made with its own schema and filled through SQL alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from domain.records import PREFIX, Role
from storage.sqlite import migrations
from storage.sqlite.schema import FIRST

MODEL = "old-model"
#: Sessions with what was said in their rounds, and how many of these are folded.
SAID: dict[str, tuple[list[tuple[str, str]], int]] = {
    "s-first": ([("My cat is Momo.", "A fine name."), ("Momo broke a vase.", "Oh dear.")], 2),
    "s-second": ([("I moved to Lyon.", "How is it there?")], 1),
    "s-now": (
        [("It rains.", "Take an umbrella."), ("It stopped.", "Good."), ("Now it snows.", "Lovely.")],
        1,
    ),
}


def lay_first_version(path: Path) -> None:
    """Make the database at ``path``, of a person who is in the middle of their third session."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in migrations.statements(FIRST):
            connection.execute(statement)
        connection.execute("BEGIN")
        for session_id in SAID:
            _lay_session(connection, session_id)
        _lay_the_rest(connection)
        connection.execute(f"PRAGMA application_id={migrations.APPLICATION_ID}")
        connection.execute("PRAGMA user_version=1")
        connection.execute("COMMIT")
    path.chmod(0o600)


def _lay_session(connection: sqlite3.Connection, session_id: str) -> None:
    rounds, folded = SAID[session_id]
    now, began = session_id == "s-now", "2026-01-05T09:00:00+00:00"
    connection.execute(
        "INSERT INTO session (session_id, start_timestamp, end_timestamp, status, current_conv_count)"
        " VALUES (?, ?, ?, ?, ?)",
        (session_id, began, None if now else began, "active" if now else "archived", len(rounds) - folded),
    )
    for number, words in enumerate(rounds, start=1):
        roles: tuple[Role, Role] = ("user", "assistant")
        for role, text in zip(roles, words, strict=True):
            text_id = f"{session_id}-{number}-{role}"
            seq = connection.execute(
                "INSERT INTO conversation (text_id, session_id, timestamp, role, text, round, folded)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (text_id, session_id, began, role, PREFIX[role] + text, number, int(number <= folded)),
            ).lastrowid
            _lay_index(connection, "turn", seq or 0, text_id, text)
    _lay_summary(connection, session_id, folded, began)


def _lay_summary(connection: sqlite3.Connection, session_id: str, upto: int, began: str) -> None:
    seq = connection.execute(
        "INSERT INTO summary (text_id, session_id, timestamp, summary, upto_round) VALUES (?, ?, ?, ?, ?)",
        (f"m-{session_id}", session_id, began, f"summary of {session_id}", upto),
    ).lastrowid
    _lay_index(connection, "summary", seq or 0, f"m-{session_id}", "summary")


def _lay_index(connection: sqlite3.Connection, table: str, seq: int, text_id: str, text: str) -> None:
    words = text.lower().replace(".", "")
    connection.execute(f"INSERT INTO {table}_words (rowid, tokens) VALUES (?, ?)", (seq, words))
    connection.execute(f"INSERT INTO {table}_length VALUES (?, ?, 0)", (seq, len(words.split())))
    vector = np.full(4, seq, "<f2").tobytes()
    connection.execute(
        "INSERT INTO embedding VALUES (?, ?, 4, ?, ?)", (text_id, MODEL, f"of {text_id}", vector)
    )


def _lay_the_rest(connection: sqlite3.Connection) -> None:
    time = "2026-01-05T10:00:00+00:00"
    run = connection.execute
    run("INSERT INTO in_flight VALUES (1, 's-now', ?, 'Shall I', 'You sh')", (time,))
    run("INSERT INTO save_stage VALUES ('s-now', 'summary', ?, '{}')", (time,))
    run("INSERT INTO pin (image, timestamp, text) VALUES ('user', ?, 'Call her Ann.')", (time,))
    for text in ("Ann.", "Ann, of Lyon."):
        run(
            "INSERT INTO persona (image, timestamp, text, origin, session_id)"
            " VALUES ('user', ?, ?, 'model', 's-second')",
            (time, text),
        )
    run("INSERT INTO meta VALUES (?, '4')", (f"dimension:{MODEL}",))
    run("INSERT INTO pending (text_id, kind) VALUES ('s-now-3-user', 'conversation')")
    run("DELETE FROM embedding WHERE text_id = 's-now-3-user'")
    fact = run(
        "INSERT INTO fact (text_id, session_id, timestamp, text) VALUES ('f1', 's-first', ?, 'has a cat')",
        (time,),
    ).lastrowid
    run("INSERT INTO fact_turn VALUES (?, 1)", (fact,))
    run("INSERT INTO fact_words (rowid, tokens) VALUES (?, 'has cat')", (fact,))
    run("INSERT INTO fact_length VALUES (?, 2, 0)", (fact,))
