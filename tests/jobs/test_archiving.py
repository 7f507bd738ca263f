"""Archiving: what is of no use leaves the search and stays in the archive; what is kept never goes; what is asked for
by its words, or its day, comes back.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from domain.recollection import RecallLimits, Recollection
from domain.tree import ForgetLimit
from domain.workers import CancelToken
from jobs.maintenance import archive_surplus
from memory import back_up, restore
from tests.conftest import Count, SetClock
from tests.support.house import House, friend, house
from tests.support.server import ScriptedServer

LIMITS = RecallLimits(3, 30, 2000)
EVERYTHING = ForgetLimit(1, 100)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


@pytest.fixture(scope="module")
def told_all(tmp_path_factory) -> tuple[Path, datetime, int]:
    """A folder in which everything was said already, when that ended, and how many ids it took."""
    folder, clock, new_id = tmp_path_factory.mktemp("told"), SetClock(), Count()
    with ScriptedServer() as running:
        running.answer = friend
        with house(folder, running, clock, new_id, logging.Logger("test", logging.CRITICAL)) as opened:
            tell(opened, clock, *SAID)
    return folder, clock.now, new_id.given


@pytest.fixture
def home(request, tmp_path: Path, server: ScriptedServer, clock, new_id, log) -> Iterator[House]:
    if hasattr(request, "param"):
        folder, clock.now, new_id.given = request.getfixturevalue(request.param)
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    with house(tmp_path, server, clock, new_id, log) as opened:
        yield opened


#: Where everything was said before the test.
after_all = pytest.mark.parametrize("home", ["told_all"], indirect=True, ids=[""])


def tell(home: House, clock, *said: str, days: float = 1) -> None:
    """Each in a session of its own, days apart, and archived."""
    for words in said:
        home.say(words)
        home.save()
        clock.pass_by(days=days)


SAID = (
    "We saw a zeppelin over the lake.",
    "My cat Momo broke the blue vase.",
    "I bought a red bicycle in Utrecht.",
    "Ina plays the oboe on Fridays.",
)


def recalled(home: House, question: str, clock, limits: RecallLimits = LIMITS) -> Recollection:
    return home.memory.recall([question], home.talk.session.session_id, clock(), limits)


def told(found: Recollection) -> list[str]:
    return [message.text for message in found.messages]


def run(home: House, limit: ForgetLimit) -> list[str]:
    notices = archive_surplus(home.memory, limit, CancelToken())
    home.settle()
    return [notice.key for notice in notices]


@after_all
def test_without_a_limit_nothing_fades_however_much_there_is(home: House, clock):
    assert run(home, ForgetLimit(0, 10)) == []
    assert home.memory.archive.all() == {}


@after_all
def test_what_fades_leaves_the_words_and_the_vectors_and_stays_in_the_archive(home: House, clock):
    before = home.rows("conversation")
    searched = home.memory.archive.count_searched()
    assert run(home, ForgetLimit(searched // 2, 10)) == ["archive.fade"]
    faded = set(home.memory.archive.all())
    assert home.memory.archive.count_searched() <= searched // 2
    assert home.memory.archive.count_searched() == searched - len(faded)
    assert home.rows("conversation") == before
    messages = {row["text_id"] for row in before} & faded
    assert messages
    assert messages.isdisjoint(home.indexed())
    assert messages.isdisjoint(row["text_id"] for row in home.rows("embedding") + home.rows("pending"))
    words = {row["rowid"] for row in home.read("SELECT rowid FROM message_words")}
    assert words.isdisjoint(row["seq"] for row in before if row["text_id"] in faded)


@after_all
def test_a_part_of_all_goes_at_a_time_until_no_more_is_searched_than_may_be(home: House, clock):
    searched = home.memory.archive.count_searched()
    limit = ForgetLimit(searched - 1, 25)
    assert len(home.memory.archive.next_batch(limit)) == searched // 4
    run(home, limit)
    assert home.memory.archive.count_searched() == searched - searched // 4
    assert home.memory.archive.next_batch(limit) == []


@after_all
def test_first_goes_what_was_of_use_longest_ago_then_least_often_then_the_oldest(home: House, clock):
    home.say("Where did I see the zeppelin?")
    home.say("Where did I buy the bicycle?")
    home.say("Who broke the vase, and who bought the bicycle?")
    home.save()
    leaves = home.memory.archive.oldest_visited(100)
    place = {one.text: number for number, one in enumerate(leaves)}
    of = {words: place[f"User: {words}"] for words in SAID}
    assert of[SAID[3]] < of[SAID[0]] < min(of[SAID[1]], of[SAID[2]])
    never = [one for one in leaves if not one.last_visit]
    assert [one.timestamp for one in never] == sorted(one.timestamp for one in never)
    order = [(one.last_visit, one.visit_count) for one in leaves]
    assert order == sorted(order)


def test_a_session_fades_after_the_last_of_its_turns(home: House, clock):
    tell(home, clock, *SAID[:2])
    first = [one for one in home.memory.archive.oldest_visited(100) if one.is_session]
    assert first == []
    session = home.memory.sessions.recent(None)[-1].session_id
    home.memory.archive.archive([one for one in home.memory.archive.oldest_visited(100) if one.session_id == session])
    home.settle()
    (leaf,) = [one for one in home.memory.archive.oldest_visited(100) if one.is_session]
    assert leaf.name == session
    home.memory.archive.archive([leaf])
    home.settle()
    assert session in home.memory.archive.all()
    assert session not in {session_id for _, session_id in home.indexed().values()}


def test_what_is_not_archived_yet_never_fades(home: House, clock):
    home.say(SAID[0])
    assert home.memory.archive.oldest_visited(100) == []
    assert run(home, EVERYTHING) == []


@after_all
def test_what_is_asked_for_by_a_rare_word_comes_back_as_a_faint_memory(home: House, clock, server):
    run(home, EVERYTHING)
    clock.pass_by(days=430)
    found = recalled(home, "Where did we see the zeppelin?", clock)
    faint = [message for message in found.messages if message.archived]
    assert "User: We saw a zeppelin over the lake." in told(found)
    assert faint
    assert {message.text_id for message in faint} <= set(found.ranked)
    home.say("Where did we see the zeppelin?")
    lines = server.chats[-1]["messages"][1]["content"].splitlines()
    (line,) = [one for one in lines if one.startswith('{"when"') and "over the lake" in one]
    assert json.loads(line)["faint"] == "a faint memory, fourteen months ago"


def test_a_faint_memory_is_told_in_the_language_that_is_spoken(home: House, clock, server):
    tell(home, clock, "我们在湖上看见了一艘飞艇。")
    run(home, EVERYTHING)
    clock.pass_by(days=430)
    home.say("我们在哪里看见飞艇的？")
    assert "一段模糊的记忆，十四个月前" in json.dumps(server.chats[-1], ensure_ascii=False)


@after_all
def test_what_came_back_and_was_told_is_vivid_again(home: House, clock):
    run(home, EVERYTHING)
    home.say("Where did we see the zeppelin?")
    home.settle()
    (message,) = [row for row in home.rows("conversation") if row["text"] == f"User: {SAID[0]}"]
    assert message["text_id"] not in home.memory.archive.all()
    assert message["session_id"] not in home.memory.archive.all()
    assert message["text_id"] in home.indexed()
    found = recalled(home, "Where did we see the zeppelin?", clock)
    assert [message.archived for message in found.messages if "lake" in message.text] == [False] * len(
        [message for message in found.messages if "lake" in message.text]
    )


def test_a_day_brings_back_what_was_said_on_it(home: House, clock):
    day = clock()
    tell(home, clock, *SAID[:2], days=40)
    run(home, EVERYTHING)
    found = recalled(home, f"What did I tell you on {day.day} {day:%B} {day.year}?", clock)
    assert f"User: {SAID[0]}" in told(found)
    assert f"User: {SAID[1]}" not in told(found)


@after_all
def test_what_no_word_and_no_day_asks_for_stays_faded(home: House, clock):
    run(home, EVERYTHING)
    assert not any(message.archived for message in recalled(home, "How are you, my friend?", clock).messages)
    assert not any(message.archived for message in recalled(home, "thanks!", clock).messages)


def test_in_any_form_of_its_words_a_faded_message_is_found_by_hand(home: House, clock):
    tell(home, clock, *SAID, "Les cafés de Zürich sont chers.")
    run(home, EVERYTHING)
    for words, said in (("buy bicycles", SAID[2]), ("ZEPPELINS", SAID[0]), ("oboes", SAID[3]), ("cafe", "Zürich")):
        assert any(said in text for text in told(home.memory.search(words, LIMITS))), words
    assert told(home.memory.search("submarine", LIMITS)) == []


def test_what_came_back_takes_no_more_than_the_budget_has_room_for(home: House, clock):
    tell(home, clock, *(f"The zeppelin of day {n} flew over the lake. " * 8 for n in range(8)))
    run(home, EVERYTHING)
    little = recalled(home, "Where did we see the zeppelin?", clock, RecallLimits(3, 30, 300))
    much = recalled(home, "Where did we see the zeppelin?", clock)
    assert len([message for message in much.messages if message.archived]) > 0
    assert len(little.messages) < len(much.messages)


def kept_messages(home: House) -> set[str]:
    return {row["text_id"] for row in home.rows("conversation")} - set(home.memory.archive.all())


@after_all
def test_what_a_kept_fact_rests_on_never_fades(home: House, clock):
    fact = next(one for one in home.memory.facts.all() if "Momo" in one.restatement)
    assert home.memory.fact_log.keep_fact(fact.text_id, True)
    run(home, EVERYTHING)
    assert set(fact.messages) <= kept_messages(home)
    assert home.memory.facts.with_ids([fact.text_id])


@after_all
def test_what_a_pinned_line_rests_on_never_fades(home: House, clock):
    line = next(line for line in home.memory.personas.read("user").splitlines() if "oboe" in line)
    home.memory.personas.pin("user", line)
    run(home, EVERYTHING)
    kept = {message.text for message in home.memory.messages.with_ids(sorted(kept_messages(home)))}
    assert f"User: {SAID[3]}" in kept


@pytest.mark.parametrize("what", ["turn", "session", "life"])
def test_what_is_marked_never_fades_with_all_that_is_under_it(home: House, clock, what):
    tell(home, clock, *SAID[:2])
    message = home.rows("conversation")[0]
    name = {"turn": message["text_id"], "session": message["session_id"], "life": "life"}[what]
    home.memory.archive.set_never_delete([name], True)
    run(home, EVERYTHING)
    faded = set(home.memory.archive.all())
    assert message["text_id"] not in faded
    assert bool(faded) == (what != "life")
    same = {row["text_id"] for row in home.rows("conversation") if row["session_id"] == message["session_id"]}
    assert (len(same & faded) == 0) == (what != "turn")


def test_a_start_makes_no_index_of_what_has_faded(tmp_path: Path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as home:
        tell(home, clock, *SAID)
        run(home, EVERYTHING)
        faded = set(home.memory.archive.all())
    with house(tmp_path, server, clock, new_id, log) as home:
        home.memory.index.reindex()
        home.settle()
        assert faded.isdisjoint(home.indexed())
        assert home.memory.index.status().waiting == 0
        assert set(home.memory.archive.all()) == faded
        assert not any(
            message.archived
            for message in recalled(home, "What does Ina do?", clock).messages
            if "oboe" not in message.text
        )


def test_a_backup_that_is_restored_has_faded_what_had(tmp_path: Path, server, clock, new_id, log):
    with house(tmp_path / "one", server, clock, new_id, log) as home:
        tell(home, clock, *SAID)
        run(home, EVERYTHING)
        faded = dict(home.memory.archive.all())
        back_up(home.memory.folder, tmp_path / "backup")
    (tmp_path / "two").mkdir()
    restore(tmp_path / "backup", tmp_path / "two" / "data", clock)
    with house(tmp_path / "two", server, clock, new_id, log) as home:
        home.settle()
        assert dict(home.memory.archive.all()) == faded
        assert f"User: {SAID[0]}" in told(recalled(home, "Where did we see the zeppelin?", clock))
        assert set(faded).isdisjoint(home.indexed())


@after_all
def test_an_erasure_finds_what_has_faded_and_leaves_no_trace_of_it(home: House, clock):
    run(home, EVERYTHING)
    scope = home.memory.erasure.scope_of_words("zeppelin")
    assert {message.text for message in scope.messages} >= {f"User: {SAID[0]}"}
    assert home.memory.erasure.erase(scope).traces == ()
    assert not set(home.memory.archive.all()) & {message.text_id for message in scope.messages}
    assert told(recalled(home, "Where did we see the zeppelin?", clock)) == []


@after_all
def test_what_a_person_asked_to_have_forgotten_does_not_come_back(home: House, clock):
    run(home, EVERYTHING)
    message = next(row for row in home.rows("conversation") if row["text"] == f"User: {SAID[0]}")
    home.memory.rounds.hide([message["text_id"]])
    assert f"User: {SAID[0]}" not in told(recalled(home, "Where did we see the zeppelin?", clock))
    home.memory.rounds.unhide([message["text_id"]])
    assert {row["text_id"] for row in home.rows("pending")}.isdisjoint(home.memory.archive.all())
    home.settle()
    assert message["text_id"] not in home.indexed()
    assert f"User: {SAID[0]}" in told(recalled(home, "Where did we see the zeppelin?", clock))


def test_taking_a_save_back_takes_back_what_faded_after_it(home: House, clock):
    tell(home, clock, *SAID[:3], days=1)
    home.say(SAID[3])
    home.save()
    run(home, ForgetLimit(5, 10))
    assert home.memory.archive.all()
    home.talk.undo()
    home.settle()
    assert home.memory.archive.all() == {}
    assert f"User: {SAID[0]}" in told(recalled(home, "Where did we see the zeppelin?", clock))
    stored = {row["text_id"] for row in home.rows("conversation")}
    assert stored - set(home.indexed()) <= {row["text_id"] for row in home.rows("conversation") if row["demo"]}


def test_the_save_that_makes_it_too_much_lets_it_fade_in_the_background(tmp_path: Path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, MAX_MEMORIES="6") as home:
        for words in SAID:
            tell(home, clock, words)
            home.talk.maintenance.wait(60)
        home.settle()
        assert home.memory.archive.count_searched() <= 6
        assert home.memory.archive.all()
        assert "archive.fade" in [notice.key for notice in home.talk.compact_now()]


def test_deleting_erases_with_all_that_was_drawn_and_keeps_what_is_kept(home: House, clock, tmp_path: Path):
    home.talk.recalling = False  # a message that was recalled would stay
    tell(home, clock, *SAID)
    fact = next(one for one in home.memory.facts.all() if "Momo" in one.restatement)
    home.memory.fact_log.keep_fact(fact.text_id, True)
    assert run(home, ForgetLimit(4, 50, "delete")) == ["archive.delete"]
    assert home.memory.archive.count_searched() <= 4
    left = [row["text"] for row in home.rows("conversation")]
    assert f"User: {SAID[1]}" in left
    assert f"User: {SAID[0]}" not in left
    assert home.memory.facts.with_ids([fact.text_id])
    held = [path for path in (tmp_path / "data").rglob("*") if path.is_file() and b"zeppelin" in path.read_bytes()]
    assert held == []


def test_several_steps_of_deleting_are_cleaned_and_proven_together(home: House, clock, tmp_path: Path):
    home.talk.recalling = False  # a message that was recalled would stay
    tell(home, clock, *SAID)
    before = {row["text_id"] for row in home.rows("conversation")}
    cleaned = []
    home.memory.erasure.scrubbers = [cleaned.append]
    assert run(home, ForgetLimit(4, 10, "delete")) == ["archive.delete"]
    gone = before - {row["text_id"] for row in home.rows("conversation")}
    assert len(gone) > 2, "more than one step"
    (needles,) = cleaned
    assert "zeppelin" in str(needles.texts)
    assert "bicycle" in str(needles.texts)
    home.settle()
    assert not gone & home.indexed().keys()


@after_all
def test_what_was_deleted_and_is_still_in_files_goes_with_the_next_look(home: House, clock, tmp_path: Path):
    erasure = home.memory.erasure
    (first,), (second,) = (erasure.scopes_of_leaves([leaf]) for leaf in home.memory.archive.oldest_visited(2))
    erasure.remove(first)
    erasure.remove(second)
    assert home.memory.erasure.is_unfinished()
    run(home, ForgetLimit(100, 10, "delete"))
    assert not home.memory.erasure.is_unfinished()
    held = [one.read_bytes() for one in (tmp_path / "data").rglob("*") if one.is_file()]
    (gone,) = [said for said in SAID if said in first.messages[0].text]
    assert [any(said.encode() in each for each in held) for said in SAID] == [said != gone for said in SAID]


@after_all
def test_what_one_deletion_takes_from_a_persona_the_next_does_not_put_back(home: House, clock):
    messages = [leaf for leaf in home.memory.archive.oldest_visited(100) if not leaf.is_session]
    scopes = [chosen for leaf in messages for chosen in home.memory.erasure.scopes_of_leaves([leaf])]
    for chosen in scopes:
        home.memory.erasure.remove(chosen)
    assert home.memory.personas.read("user") == ""


@after_all
def test_deleting_never_takes_a_pinned_line_along(home: House, clock):
    home.memory.personas.write("self", "Once a ZEPPELIN flew: we saw a zeppelin over the lake.", "hand")
    home.memory.personas.pin("self", "we saw a zeppelin over the lake")
    run(home, ForgetLimit(1, 100, "delete"))
    assert "zeppelin over the lake" in home.memory.personas.read("self")
    assert f"User: {SAID[1]}" not in [row["text"] for row in home.rows("conversation")]


@after_all
def test_what_would_take_a_pinned_line_along_is_in_no_erasure(home: House, clock):
    leaves = home.memory.archive.oldest_visited(100)
    home.memory.personas.pin("user", "We saw a zeppelin over the lake.")
    (chosen,) = home.memory.erasure.scopes_of_leaves(leaves)
    assert not any("zeppelin" in line for line in chosen.lines)
    assert any("Momo" in line for line in chosen.lines)


def test_visited_memories_stay_at_a_limit_of_half_the_history(home: House, clock):
    tell(home, clock, *(f"Thing {n} is called {name}." for n, name in enumerate(_NAMES)))
    visited = _NAMES[:4]
    for name in visited:
        home.say(f"Which thing is called {name}?")
    home.save()
    run(home, ForgetLimit(home.memory.archive.count_searched() // 2, 10))
    vivid = {message.text for message in home.memory.messages.with_ids(sorted(kept_messages(home)))}
    assert all(any(f"is called {name}." in text for text in vivid) for name in visited)


_NAMES = (
    "Abakan",
    "Bergamo",
    "Cuzco",
    "Dakar",
    "Esbjerg",
    "Fargo",
    "Gomel",
    "Hobart",
    "Izmir",
    "Jinan",
    "Kazan",
    "Lugo",
)
