"""What was ever stored is recognised when it comes again: our own export, the same under other ids, what was erased."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain.workers import CancelToken
from jobs.importing import ImportContext, Importing
from memory import restore_portable, write_portable
from tests.importers.exports import ZONE
from tests.support.house import House, friend, house
from tests.support.past import BEGAN, bring, talk, told
from tests.support.server import ScriptedServer

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


@pytest.fixture
def home(tmp_path: Path, server: ScriptedServer, clock, new_id, log) -> Iterator[House]:
    with house(tmp_path, server, clock, new_id, log) as opened:
        yield opened


@pytest.fixture
def other(tmp_path: Path, server: ScriptedServer, clock, new_id, log) -> Iterator[House]:
    """Another memory, that of somebody else or of the same person on another machine."""
    with house(tmp_path / "other", server, clock, new_id, log) as opened:
        yield opened


def exported(home: House, clock, name: str, change: Callable[[Rows], None] = lambda rows: None) -> Path:
    """Our own export of a memory; ``change`` is done to its rows."""
    path = home.memory.folder.parent / f"{name}.json"
    write_portable(home.memory.folder, path, clock)
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document["tables"])
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def imported(home: House, path: Path) -> int:
    """How many messages a file added."""
    from importers import ReadingOptions, recognise_export

    (file,) = recognise_export(path, ReadingOptions(zone=ZONE))
    *_, last = Importing(home.memory).run(file, path.name, path.name, ImportContext(frozenset(), BEGAN), CancelToken())
    return last.messages


def under_other_ids(rows: Rows) -> None:
    """The same talk as another memory would have it, in the same order."""
    for row in rows["conversation"]:
        row["text_id"], row["session_id"] = f"other-{row['text_id']}", f"other-{row['session_id']}"


def nothing(rows: Rows) -> None:
    """As it was written."""


@pytest.mark.parametrize("change", [nothing, under_other_ids])
def test_our_own_export_adds_nothing_to_the_memory_it_came_from(home: House, clock, change) -> None:
    home.say("I live in Oslo.")
    clock.pass_by(hours=9)
    home.say("我养了一只猫。")
    before = told(home.memory)
    assert imported(home, exported(home, clock, "one", change)) == 0
    home.save()
    home.say("And a dog.")
    assert imported(home, exported(home, clock, "two", change)) == 0
    assert [line for session in told(home.memory) for line in session][:4] == [
        line for session in before for line in session
    ]
    assert len(home.rows("conversation")) == 6


@pytest.mark.parametrize("change", [nothing, under_other_ids])
def test_what_was_erased_does_not_come_back_with_our_own_export(home: House, clock, change) -> None:
    home.say("My secret is a zeppelin.")
    home.say("It rains.")
    home.save()
    path = exported(home, clock, "before", change)
    proof = home.memory.erasure.erase(home.memory.erasure.scope_of_words("zeppelin"))
    assert not proof.traces
    left = told(home.memory)
    assert imported(home, path) == 0
    assert told(home.memory) == left
    assert "zeppelin" not in str(left)


def test_what_was_erased_stays_away_from_a_memory_that_was_laid_back_from_rows(
    home: House, tmp_path: Path, clock, new_id, log
) -> None:
    home.say("My secret is a zeppelin.")
    home.say("It rains.")
    full = exported(home, clock, "full")
    home.memory.erasure.erase(home.memory.erasure.scope_of_words("zeppelin"))
    document = json.loads(exported(home, clock, "without").read_text(encoding="utf-8"))
    rows = [(table, row) for table, found in document["tables"].items() for row in found]
    (tmp_path / "again" / "data").mkdir(parents=True)
    restore_portable(document["schema"], rows, tmp_path / "again" / "data", clock)
    with house(tmp_path / "again", None, clock, new_id, log) as again:
        assert imported(again, full) == 0
        assert "zeppelin" not in str(told(again.memory))


def test_what_another_memory_took_over_and_wrote_again_adds_nothing(home: House, other: House, clock) -> None:
    home.say("I live in Oslo.")
    home.say("It rains.")
    assert imported(other, exported(home, clock, "mine")) == 4
    other.say("This is new.")
    assert imported(home, exported(other, clock, "theirs")) == 2
    assert [len(session) for session in told(home.memory)] == [4, 2]


def test_what_was_put_in_other_words_at_the_save_is_recognised_as_it_was_and_as_it_is(home: House, clock) -> None:
    home.say("I live in Oslo.")
    before = exported(home, clock, "before")
    with home.memory._of.database.write() as tx:
        (message,) = [
            one for one in home.memory.messages.of_session(home.talk.session.session_id) if one.role == "assistant"
        ]
        home.memory._of.messages.set_words(tx, message, "Said otherwise.")
    assert imported(home, before) == 0
    assert imported(home, exported(home, clock, "after", under_other_ids)) == 0


def test_a_conversation_of_another_program_that_comes_under_other_ids_adds_only_what_is_new(home: House) -> None:
    said = ["P: My cat is called Momo.", "C: A fine name.", "P: She is grey.", "C: Like fog."]
    bring(home.memory, talk("cats", *said))
    home.memory.erasure.erase(home.memory.erasure.scope_of_words("grey"))
    again = bring(home.memory, talk("moggies", *said, "P: She purrs."), sha256="2")
    assert (again.messages, again.known, again.erased) == (1, 3, 1)
    assert [line for session in told(home.memory) for line in session] == [
        "u: My cat is called Momo.", "a: A fine name.", "a: Like fog.", "u: She purrs.",
    ]  # fmt: skip


def test_the_same_words_at_another_time_are_another_message(home: House) -> None:
    said = ("P: Good morning.", "C: Good morning.")
    bring(home.memory, talk("one", *said), talk("two", *said, began=BEGAN.replace(day=2)))
    assert len(home.rows("conversation")) == 4


def test_the_same_word_twice_in_a_second_is_two_messages(home: House) -> None:
    twice = talk("one", "P: Ha!", "C: Ha!", "P: Ha!", "C: Ha!")
    at_once = replace(twice, messages=tuple(replace(one, said=BEGAN) for one in twice.messages))
    assert bring(home.memory, at_once).messages == 4
    assert bring(home.memory, replace(at_once, key="other"), sha256="2").messages == 0


def test_what_was_said_to_two_people_in_the_same_minute_is_two_messages(home: House) -> None:
    wished = "Bob: Happy new year!"
    bring(home.memory, talk("ann", wished, "Ann: You too!"), me="Bob")
    assert bring(home.memory, talk("eve", wished, "Eve: Thanks!", wished), me="Bob", sha256="2").messages == 3
    longer = talk("eve", wished, "Eve: Thanks!", wished, "Eve: Twice?")
    assert bring(home.memory, longer, me="Bob", sha256="3").messages == 1


def test_an_undated_talk_that_begins_as_another_keeps_its_beginning(home: House) -> None:
    hello = ("P: Hello", "C: How can I help?")
    bring(home.memory, talk("a", *hello, "P: Bees?", began=None), talk("b", *hello, "P: Wasps?", began=None))
    assert len(home.rows("conversation")) == 6


def test_a_look_counts_what_is_recognised(home: House, clock) -> None:
    from importers import ReadingOptions, recognise_export
    from jobs.importing import preview_file

    home.say("I live in Oslo.")
    (file,) = recognise_export(exported(home, clock, "one"), ReadingOptions(zone=ZONE))
    *_, seen = preview_file(
        file, ImportContext(frozenset(), BEGAN), 50, 8, CancelToken(), home.memory.imports.count_known
    )
    assert (seen.messages, seen.known) == (2, 2)


def test_an_import_that_is_taken_back_may_come_again_under_any_ids(home: House) -> None:
    said = ("P: My cat is called Momo.", "C: A fine name.")
    bring(home.memory, talk("cats", *said))
    list(home.memory.imports.take_back(1))
    assert home.rows("stored_message") == []
    assert bring(home.memory, talk("moggies", *said)).messages == 2
