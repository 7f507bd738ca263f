"""What the memory service promises of what it stores and answers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from domain.errors import UsageError
from interfaces.recollections import LONGEST_TEXT, safe_text
from interfaces.service.memory_schemas import Remembered
from interfaces.service.memory_service import within_budget
from interfaces.service.schemas import ProcessResponse
from jobs.maintenance import session_to_open
from people import folder_of
from tests.interfaces.service.known import LYON, lives_in, notes
from tests.interfaces.service.opened import PATIENCE, OpenedService, opened_service
from tests.support.house import Mind, records
from tests.support.server import ScriptedServer, hang


def contents(body: ProcessResponse) -> list[str]:
    return [one.content for one in body.memories]


def related(body: ProcessResponse) -> list[tuple[str, str, str]]:
    return [(one.source, one.relation, one.target) for one in body.relations]


# -- what is stored


def test_only_the_words_of_the_person_are_stored_as_they_came(opened: OpenedService) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    body = opened.service.process("  Where does she\n live now? ", "me")
    assert body.resolved_query == "Where does Ann\n live now?"
    assert opened.service.debug(" And now? ", "me").resolved_query == " And now? "
    assert opened.said() == [
        ("user", "User: My sister Ann lives in Lyon."),
        ("user", "User:   Where does she\n live now? "),
    ]


def test_nothing_that_a_model_reads_of_a_session_looks_as_if_somebody_had_answered(
    opened: OpenedService, mind: Mind
) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.service.process("She has two cats.", "me")
    opened.consolidate()
    (asked,) = mind.asked("notes")
    told = [(one["speaker"], one["text"]) for one in records(asked) if "turn" in one]
    assert told == [("the user", "My sister Ann lives in Lyon."), ("the user", "She has two cats.")]
    assert {role for role, _ in opened.said()} == {"user"}
    with opened.people.companion("me") as companion:
        assert companion.memory.messages.context(companion.memory.sessions.recent(1)[0].session_id) == ()


def test_what_a_programs_companion_says_is_never_the_persons_nor_ours(opened: OpenedService, mind: Mind) -> None:
    about_me = {**lives_in("the user", "Bergen", 2), "about": "person"}
    about_it = {**lives_in("Old Friend", "Oslo", 2), "about": "companion"}
    mind.answers("notes", notes({**lives_in("Ann", "Lyon"), "turns": [1]}, about_me, about_it))
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.service.process("You live in Bergen, I live in Oslo.", "me", role="assistant")
    assert opened.said()[1] == ("assistant", "Assistant: You live in Bergen, I live in Oslo.")
    opened.consolidate()
    with opened.people.companion("me") as companion:
        assert [one.restatement for one in companion.memory.facts.all()] == ["Ann lives in Lyon."]
        assert companion.read_persona("self") == ""
    assert contents(opened.service.process("Who lives in Bergen, Oslo or Lyon?", "me")) == ["Ann lives in Lyon."]


def test_a_companion_that_speaks_of_forgetting_hides_nothing(opened: OpenedService) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.service.process("Please forget that.", "me", role="assistant")
    assert opened.service.process("Is she well?", "me").resolved_query == "Is Ann well?"


def test_metadata_goes_with_its_message_and_is_returned_by_debug(opened: OpenedService, mind: Mind) -> None:
    mind.answers("notes", hang)
    opened.service.process("My sister Ann lives in Lyon.", "me", metadata={"channel": "web", "turn": 7, "tags": ["a"]})
    opened.service.end_session("me")
    (found,) = opened.service.debug("Who lives in Lyon?", "me").debug.candidates
    assert found.metadata == {"channel": "web", "turn": 7, "tags": ["a"]}
    opened.service.forget(found.text_id, "me")
    assert opened.read("SELECT * FROM message_metadata") == []


def test_a_memory_has_the_metadata_of_the_messages_it_is_based_on(opened: OpenedService, mind: Mind) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me", metadata={"channel": "web"})
    opened.consolidate()
    body = opened.service.debug("Where does Ann live?", "me")
    assert [(one.source, one.metadata) for one in body.debug.candidates] == [("fact", {"channel": "web"})]


def test_nothing_to_say_is_refused_and_nothing_is_stored(opened: OpenedService) -> None:
    with pytest.raises(UsageError):
        opened.service.process(" \n", "me")
    assert opened.service.session_status("me").has_active_session is False


def test_a_request_that_is_sent_again_under_its_name_is_stored_once(opened: OpenedService, clock) -> None:
    first = opened.service.process("My sister Ann lives in Lyon.", "me", "r1")
    clock.pass_by(minutes=3)
    opened.service.process("She has a cat.", "me", "r2")
    again = opened.service.process("She has a cat.", "me", "r2")
    opened.service.end_session("me")
    opened.service.process("She has a cat.", "me", "r2")
    assert first.resolved_query == "My sister Ann lives in Lyon."
    assert again.resolved_query == "Ann has a cat."
    assert len(opened.said()) == 2


def test_the_same_words_a_moment_later_are_one_event_and_later_are_another(opened: OpenedService, clock) -> None:
    for seconds in (0, 4):
        clock.pass_by(seconds=seconds)
        opened.service.process("Good night.", "me")
    assert len(opened.said()) == 1
    clock.pass_by(seconds=6)
    opened.service.process("Good night.", "me")
    assert len(opened.said()) == 2


def test_two_requests_with_names_of_their_own_are_two_events_though_they_say_the_same(opened: OpenedService) -> None:
    opened.service.process("Yes.", "me", "r1")
    opened.service.process("Yes.", "me", "r2")
    assert len(opened.said()) == 2


# -- what pronouns mean


@pytest.mark.parametrize(
    ("before", "asked", "meant"),
    [
        ("My sister Ann started at Acme.", "Does she like it?", "Does Ann like it?"),
        ("I read the book 《三体》.", "那个好看吗？", "《三体》好看吗？"),
        ("我姐姐住在里昂。", "她几岁？", "我姐姐几岁？"),
        ("Nothing happened.", "Does she like it?", "Does she like it?"),
        ("My sister Ann called.", "What did I eat?", "What did I eat?"),
    ],
)
def test_a_pronoun_is_given_what_it_means_and_stays_as_it_is_where_nothing_fits(
    opened: OpenedService, before: str, asked: str, meant: str
) -> None:
    opened.service.process(before, "me")
    assert opened.service.process(asked, "me").resolved_query == meant


def test_what_a_pronoun_means_stands_in_the_last_five_events(opened: OpenedService) -> None:
    opened.service.process("My sister Ann called.", "me")
    for count in range(4):
        opened.service.process(f"ok {count}", "me")
    assert opened.service.debug("Is she well?", "me").resolved_query == "Is Ann well?"
    opened.service.process("ok 4", "me")
    assert opened.service.debug("Is she well?", "me").resolved_query == "Is she well?"


def test_how_many_events_are_read_for_a_pronoun_is_a_setting(tmp_path, server: ScriptedServer, clock, new_id) -> None:
    with opened_service(tmp_path, server, clock, new_id, COREFERENCE_CONTEXT_SIZE="7") as seven:
        for said in ("My sister Ann called.", *(f"ok {count}" for count in range(6))):
            seven.service.process(said, "me")
        assert seven.service.debug("Is she well?", "me").resolved_query == "Is Ann well?"
    with opened_service(tmp_path / "none", server, clock, new_id, COREFERENCE_CONTEXT_SIZE="0") as none:
        none.service.process("My sister Ann called.", "me")
        assert none.service.process("Is she well?", "me").resolved_query == "Is she well?"


# -- what is answered


def test_memories_are_of_earlier_sessions_and_never_of_the_one_that_goes_on(opened: OpenedService, clock) -> None:
    opened.service.process("My parrot Kiwi is green.", "me")
    assert contents(opened.service.process("What colour is my parrot Kiwi?", "me")) == []
    opened.consolidate()
    clock.pass_by(minutes=1)
    found = contents(opened.service.process("What colour is my parrot Kiwi?", "me"))
    assert any("My parrot Kiwi is green." in one for one in found)


def test_relations_are_those_that_hold_now(opened: OpenedService, mind: Mind, clock) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    clock.pass_by(days=1)
    mind.answers("notes", notes(lives_in("Ann", "Nice")))
    mind.answers("compare", '{"verdicts": [{"new": 1, "known": 2, "verdict": "changes"}]}')
    opened.service.process("My sister Ann lives in Nice now, she moved.", "me")
    opened.consolidate()
    assert related(opened.service.process("Where does Ann live?", "me")) == [("Ann", "lives in", "Nice")]
    assert [one.target for one in opened.service.graph("me").relations] == ["Nice"]


def test_a_relation_is_told_where_only_its_name_is_called(opened: OpenedService, mind: Mind) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    assert related(opened.service.process("LYON, hm.", "me")) == [("Ann", "lives in", "Lyon")]
    assert related(opened.service.process("Paris, hm.", "me")) == []


def test_what_the_companion_said_is_told_as_its_words(opened: OpenedService, clock) -> None:
    with opened.people.companion("me") as companion:
        session = companion.memory.sessions.start()
        companion.memory.rounds.store(
            session.session_id, "Which cheese?", "You liked the Comté of Mr Petit.", clock().isoformat(), "stop"
        )
    found = contents(opened.service.process("Did I like the Comté of Mr Petit?", "me"))
    assert found
    assert all("Assistant: You liked the Comté" in one for one in found if "You liked" in one)


def test_a_memory_is_one_thing_that_was_said_and_a_reply_comes_with_what_it_answers(
    opened: OpenedService, clock
) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.service.process("Kiwi is my parrot.", "me")
    opened.consolidate()
    with opened.people.companion("me") as companion:
        session = companion.memory.sessions.start()
        said = ("Where?", "Under the blue pot.")
        companion.memory.rounds.store(session.session_id, *said, clock().isoformat(), "stop")
    assert "the user: “Kiwi is my parrot.”" in contents(opened.service.process("What is Kiwi?", "me"))
    found = contents(opened.service.process("What lies under the blue pot?", "me"))
    assert "Where?\nAssistant: Under the blue pot." in found


#: What a girl's father says, what a model notes of it, and a question that finds it.
FAMILY = ("我叫小朱", "我女儿叫灿灿", "她5岁了，喜欢画画", "北京是中国的首都", "她今年几岁了？")
ASKED = "小朱的女儿喜欢什么？"
_OTHER = {"about": "other", "subject": "灿灿", "persons": ["灿灿"]}
_FACTS = [
    {**_OTHER, "turns": [1, 2], "restatement": "灿灿是小朱的女儿", "attribute": "亲属", "value": "小朱的女儿",
     "relations": [{"source": "小朱", "relation": "女儿", "target": "灿灿"}]},
    {**_OTHER, "turns": [3], "restatement": "灿灿5岁", "attribute": "年龄", "value": "5岁"},
    {**_OTHER, "turns": [3], "restatement": "灿灿喜欢画画", "attribute": "爱好", "value": "画画",
     "relations": [{"source": "灿灿", "relation": "喜欢", "target": "画画"}]},
    {**_OTHER, "turns": [3], "restatement": "它爱画画", "subject": "它", "attribute": "爱好", "value": "画画"},
]  # fmt: skip
_MATTER = {"topic": "家人", "importance": 6}
_FAMILY_NOTE = {**_MATTER, "turns": [1, 2, 3], "text": "灿灿是小朱的女儿，5岁，喜欢画画", "facts": _FACTS}
_CAPITAL = {**_MATTER, "turns": [4], "text": "北京是中国的首都", "private": False, "facts": []}
FAMILY_NOTES = json.dumps({"notes": [_FAMILY_NOTE, _CAPITAL]})


def told(opened: OpenedService, *texts: str) -> None:
    for text in texts:
        opened.service.process(text, "me")


def test_memories_are_statements_made_by_consolidation_without_questions_and_common_knowledge(
    opened: OpenedService, mind: Mind
) -> None:
    mind.answers("notes", FAMILY_NOTES)
    told(opened, *FAMILY)
    opened.consolidate()
    body = opened.service.process(ASKED, "me")
    assert contents(body) == ["灿灿是小朱的女儿；灿灿5岁（2026-03-01；2020/2021年生）；灿灿喜欢画画"]
    assert all(one.consolidated for one in body.memories)
    assert "consolidated" not in body.model_dump_json()
    assert related(body) == [("小朱", "女儿", "灿灿"), ("灿灿", "喜欢", "画画")]
    assert {one.source for one in opened.service.debug(ASKED, "me").debug.candidates} == {"fact"}
    assert contents(opened.service.process("北京是哪国的首都？", "me")) == []


def test_what_nobody_verified_is_answered_as_its_words_with_references_resolved(
    opened: OpenedService, mind: Mind
) -> None:
    mind.answers("notes", FAMILY_NOTES)
    mind.answers("verify", "no idea")
    told(opened, *FAMILY)
    opened.consolidate()
    body = opened.service.process(ASKED, "me")
    assert contents(body) == ["我女儿叫灿灿；灿灿5岁了，喜欢画画"]
    assert related(body) == []  # a relation says more than the words
    assert opened.service.graph("me").relations == ()


def test_a_question_that_names_a_child_finds_what_a_pronoun_said_of_it(opened: OpenedService, mind: Mind) -> None:
    cancan = {"about": "other", "subject": "Cancan", "persons": ["Cancan"], "turns": [1, 2]}
    likes = {"restatement": "Cancan likes drawing.", "attribute": "likes", "value": "drawing"}
    mind.answers("notes", notes({**cancan, **likes}))
    told(opened, "My daughter is called Cancan.", "She likes drawing.", "What does she eat?")
    opened.consolidate()
    assert contents(opened.service.process("What does Cancan like?", "me")) == ["Cancan likes drawing."]


def test_messages_that_wait_for_consolidation_are_found_resolved_and_say_so(opened: OpenedService, mind: Mind) -> None:
    mind.answers("notes", hang)
    told(opened, *FAMILY)
    opened.service.end_session("me")
    body = opened.service.process(ASKED, "me")
    assert contents(body) == ["我女儿叫灿灿", "灿灿5岁了，喜欢画画", "我叫小朱"]
    assert body.model_dump_json().count('"consolidated":false') == 3


def test_looking_changes_nothing(opened: OpenedService, clock) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    clock.pass_by(hours=2)
    tables = ("session", "conversation", "fact", "note", "persona")
    before = [opened.read(f"SELECT * FROM {table} ORDER BY 1") for table in tables]
    found = opened.service.debug("Where does she live?", "me")
    opened.service.session_status("me")
    opened.service.graph("me")
    opened.service.recall("Ann", "me")
    opened.service.profile("me")
    assert found.debug.would_store is True
    assert [opened.read(f"SELECT * FROM {table} ORDER BY 1") for table in tables] == before


def test_who_was_never_heard_of_leaves_no_trace_by_being_asked_for(opened: OpenedService) -> None:
    service = opened.service
    service.session_status("ann")
    service.debug("Where is she?", "ann")
    service.graph("ann")
    service.recall("x y", "ann")
    service.profile("ann")
    service.end_session("ann")
    with pytest.raises(UsageError, match=r"memory\.unknown"):
        service.forget("0" * 32, "ann")
    assert not folder_of(opened.people.settings.data_dir, "ann").exists()
    assert not opened.people.registry.has_person("ann")


# -- sessions


@pytest.mark.parametrize(
    ("minutes", "goes_on"), [pytest.param(29, True, id="29 minutes"), pytest.param(30, False, id="30 minutes")]
)
def test_a_session_ends_after_half_an_hour_of_silence(
    opened: OpenedService, clock, minutes: int, goes_on: bool
) -> None:
    opened.service.process("Hello.", "me")
    clock.pass_by(minutes=minutes)
    assert opened.service.session_status("me").has_active_session is goes_on
    assert opened.service.sweep() == (0 if goes_on else 1)
    assert opened.service.settle("me", 60)
    opened.service.process("Here I am again.", "me")
    assert opened.statuses() == (["active"] if goes_on else ["archived", "active"])


def test_a_session_that_is_over_is_ended_by_the_next_request_too(opened: OpenedService, clock) -> None:
    opened.service.process("Hello.", "me")
    clock.pass_by(hours=1)
    opened.service.process("Here I am again.", "me")
    assert opened.service.settle("me", 60)
    assert opened.statuses() == ["archived", "active"]
    (ended,) = opened.read("SELECT end_timestamp FROM session WHERE status = 'archived'")
    assert ended == ("2026-03-01T09:30:00+00:00",)


def test_a_session_lives_a_day_at_the_most(opened: OpenedService, clock) -> None:
    for _ in range(72):
        opened.service.process("Still here.", "me")
        clock.pass_by(minutes=20)
    assert opened.service.session_status("me").has_active_session is False
    opened.service.process("And on.", "me")
    assert opened.service.settle("me", 60)
    assert opened.statuses() == ["archived", "active"]


def test_a_session_holds_a_hundred_events_and_one_more_opens_the_next(opened: OpenedService) -> None:
    for count in range(100):
        opened.service.process(f"This is number {count}.", "me")
    status = opened.service.session_status("me").session_info
    assert status is not None
    assert status.event_count == 100
    opened.service.process("This is one more.", "me")
    assert opened.service.settle("me", 120)
    assert opened.statuses() == ["archived", "active"]
    status = opened.service.session_status("me").session_info
    assert status is not None
    assert status.event_count == 1


def test_what_is_said_while_a_session_is_ending_opens_the_next(
    opened: OpenedService, mind: Mind, server: ScriptedServer
) -> None:
    mind.answers("notes", hang)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    ended = opened.service.end_session("me")
    assert ended.message == "Session ending, consolidation started"
    assert opened.service.end_session("me").message == "No active session"
    opened.service.process("Where does Ann live?", "me")
    assert opened.statuses() == ["ending", "active"]
    status = opened.service.session_status("me").session_info
    assert status is not None
    assert status.event_count == 1


def test_a_person_at_the_terminal_never_goes_on_in_a_session_of_the_service(opened: OpenedService, clock) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    with opened.people.companion("me") as companion:
        session, resumed = session_to_open(companion.memory, companion.settings, clock())
        assert (resumed, session.client) == (False, "")
        again, resumed = session_to_open(companion.memory, companion.settings, clock())
        assert (again.session_id, resumed) == (session.session_id, True)
    opened.service.process("She has a cat.", "me")
    assert opened.statuses() == ["active"]


def test_many_requests_at_once_of_one_person_are_in_one_session_and_each_is_stored(opened: OpenedService) -> None:
    with ThreadPoolExecutor(8) as pool:
        said = [f"This is number {number}." for number in range(24)]
        asked = [pool.submit(opened.service.process, one, "me") for one in (*said, *said)]
        assert all(one.result().status == "success" for one in asked)
    assert sorted({text for _, text in opened.said()}) == sorted(f"User: {one}" for one in said)
    assert opened.statuses() == ["active"]


# -- beyond the five


def test_what_is_to_be_remembered_is_stored_word_for_word_and_found_at_once(opened: OpenedService) -> None:
    stored = opened.service.remember("The key lies under the blue pot.", "me")
    assert (stored.text, stored.new) == ("The key lies under the blue pot.", True)
    again = opened.service.remember("The key lies under the blue pot.", "me")
    assert (again.id, again.new) == (stored.id, False)
    found = opened.service.recall("Where does the key lie?", "me")
    assert [(one.id, one.kind, one.date) for one in found.memories] == [(stored.id, "turn", "2026-03-01T09:00:00Z")]


def test_what_is_forgotten_is_erased_with_what_was_drawn_from_it_and_that_is_proven(
    opened: OpenedService, mind: Mind
) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    found = opened.service.recall("Where does Ann live?", "me").memories
    body = opened.service.forget(found[0].id, "me")
    assert (body.messages, body.notes, body.facts) == (1, 1, 1)
    assert body.proof.files_searched > 0
    assert body.proof.traces_left == 0
    assert opened.service.recall("Where does Ann live?", "me").memories == ()
    assert opened.service.graph("me").relations == ()
    with pytest.raises(UsageError, match=r"memory\.unknown"):
        opened.service.forget(found[0].id, "me")


def test_a_fact_is_forgotten_with_the_words_that_it_rests_on(opened: OpenedService, mind: Mind) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    ((fact,),) = opened.read("SELECT text_id FROM fact")
    body = opened.service.forget(fact, "me")
    assert (body.messages, body.facts) == (1, 1)
    assert opened.said() == []


def test_nobody_forgets_what_is_another_persons(opened: OpenedService) -> None:
    stored = opened.service.remember("The key lies under the blue pot.", "ann")
    opened.service.remember("I am Bob.", "bob")
    for person in ("bob", "whoever"):
        with pytest.raises(UsageError, match=r"memory\.unknown"):
            opened.service.forget(stored.id, person)
    assert len(opened.said("ann")) == 1


def test_what_is_told_fits_into_its_budget_and_says_when_there_was_more(opened: OpenedService) -> None:
    for said in ("Momo the cat broke a vase.", "Momo the cat broke a cup.", "Rex the dog sleeps.", "I ate soup."):
        opened.service.remember(said, "me")
    found = opened.service.recall("What did Momo the cat break?", "me")
    assert (len(found.memories), found.truncated) == (2, False)
    found = opened.service.recall("What did Momo the cat break?", "me", 1)
    assert (len(found.memories), found.truncated) == (1, True)
    assert len(safe_text("x" * 5_000)) == LONGEST_TEXT
    found = [
        Remembered(id=str(count), kind="turn", date="2026-03-01T09:00:00Z", text="x" * 900, score=0.5)
        for count in range(9)
    ]
    assert len(within_budget(found, 50, 2_000)) == 2


def test_what_cannot_be_seen_is_told_without_it(opened: OpenedService) -> None:
    opened.service.remember("The key \u202elies\u200b under\x1b[31m the pot.", "me")
    (found,) = opened.service.recall("Where does the key lie?", "me").memories
    assert not {"\u202e", "\u200b", "\x1b"} & set(found.text)


def test_the_profile_tells_what_is_known_of_the_person(opened: OpenedService, mind: Mind) -> None:
    fact = {**lives_in("the user", "Lyon"), "about": "person", "restatement": "The user lives in Lyon."}
    mind.answers("notes", notes(fact))
    opened.service.process("I live in Lyon.", "me")
    opened.consolidate()
    body = opened.service.profile("me")
    assert [(one.text, one.since) for one in body.facts] == [("The user lives in Lyon.", "2026-03-01")]
    assert "Lyon" in body.image


def test_the_profile_says_what_became_of_what_it_tells(opened: OpenedService, mind: Mind) -> None:
    fact = {**lives_in("the user", "Lyon"), "about": "person", "restatement": "The user lives in Lyon."}
    mind.answers("notes", notes(fact))
    opened.service.process("I live in Lyon.", "me")
    opened.consolidate()
    with opened.people.companion("me") as companion:
        assert companion.memory.fact_log.correct_by_hand(companion.memory.facts.all()[0].text_id, None)
    assert opened.service.profile("me").image.endswith(" [The user lives in Lyon: not true]")


def test_whoever_asks_to_have_something_forgotten_is_told_of_it_no_more(opened: OpenedService) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.service.process("Please forget that, I mean it.", "me")
    assert opened.service.recall("Where does Ann live?", "me").memories == ()
    assert opened.service.debug("Where does she live?", "me").resolved_query == "Where does she live?"


@pytest.mark.parametrize("secret", ["Josef drinks.", "约瑟夫又喝酒了。"])
def test_a_model_reads_what_a_program_sends_and_hides_what_the_rules_leave(
    opened: OpenedService, mind: Mind, secret: str
) -> None:
    mind.answers("forget", json.dumps({"asks": "hide", "turns": [1]}))
    for line in (secret, "It rains.", "Forget it."):
        opened.service.process(line, "me")
    with opened.people.companion("me") as companion:
        assert companion.maintenance.queue.settle("forget_request", PATIENCE)
        assert [one.words for one in companion.memory.messages.hidden()] == [secret, "Forget it."]
    (asked,) = mind.asked("forget")
    assert [one["text"] for one in records(asked)[:-1]] == [secret, "It rains.", "Forget it."]
    assert secret not in [one.text for one in opened.service.recall(secret, "me").memories]


def test_a_model_that_names_only_a_matter_hides_the_messages_of_programs_about_it(
    opened: OpenedService, mind: Mind
) -> None:
    mind.answers("forget", json.dumps({"asks": "hide", "turns": [], "matter": "Josef"}))
    opened.service.process("Josef has debts.", "me")
    opened.consolidate()
    for line in ("It rains.", "You know, as for Josef, drop it."):
        opened.service.process(line, "me")
    with opened.people.companion("me") as companion:
        assert companion.maintenance.queue.settle("forget_request", PATIENCE)
        assert next(one.words for one in companion.memory.messages.hidden()) == "Josef has debts."


def test_a_program_may_allow_what_was_hidden_to_be_mentioned_again(opened: OpenedService) -> None:
    for line in ("My sister Ann lives in Lyon.", "Please forget that, I mean it.", "You may mention Ann again."):
        opened.service.process(line, "me")
    with opened.people.companion("me") as companion:
        assert [one.words for one in companion.memory.messages.hidden()] == ["Please forget that, I mean it."]


# -- many people


def test_two_people_share_nothing(opened: OpenedService, mind: Mind) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "ann's brother")
    opened.consolidate("ann's brother")
    mind.answers("notes", '{"notes": []}')
    opened.service.process("Hello.", "bob")
    body = opened.service.debug("Where does my sister Ann live, in Lyon?", "bob")
    assert (body.memories, body.relations) == ((), ())
    opened.consolidate("bob")
    assert opened.service.graph("bob").relations == ()
    theirs = folder_of(opened.people.settings.data_dir, "bob")
    held = [path for path in theirs.rglob("*") if path.is_file() and b"Ann lives in Lyon" in path.read_bytes()]
    assert held == []
    prompts = [str(asked["messages"]) for asked in mind.asked("notes") if "Hello." in str(asked["messages"])]
    assert prompts
    assert not any("lives in Lyon" in prompt for prompt in prompts)


def test_what_is_open_is_listed_by_date_and_settled_by_its_number(opened: OpenedService, mind: Mind) -> None:
    said = "My eye check is on 12 December 2040."
    fact = {"turn": 1, "quote": said, "restatement": said, "subject": "the user", "attribute": "plan", "value": said}
    mind.answers("notes", json.dumps({"notes": [{"topic": "eyes", "facts": [{**fact, "open": "event"}]}]}))
    opened.service.process(said, "me")
    opened.consolidate()
    (found,) = opened.service.open_matters("me").open
    assert (found.kind, found.words, found.by, found.due, found.brought_up) == ("event", said, "user", "2040-12-12", 0)
    assert opened.service.open_matters("nobody").open == ()
    with pytest.raises(UsageError):
        opened.service.open_matters("me", found.number + 1)
    assert opened.service.open_matters("me", found.number, "drop").open == ()
