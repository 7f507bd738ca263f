"""What is known, as a person sees it: by matter, by words, what is past, where it comes from; kept and put right."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from domain.facts import About, Change, Learned, LineEvidence, NewFact, NewRelation, PersonaDraft, Quote, Slot, Window
from domain.records import Round
from interfaces.terminal.commands.fact_list import _share_rows
from language.scripts import Language
from memory import Memory
from recall.embedding import HashedEmbedder
from tests.conftest import SetClock
from tests.contract.test_knowing import new_fact, new_note, window_of
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.test_hostile_screen import foreign
from tests.support.hostile import CANARY, STEERING
from tests.support.program import run
from tests.support.server import ScriptedServer

#: What is said in each language, and what is known from it: home, gym, new home, companion, sister.
SAID = {
    "en": ("I live in Oslo and climb at Klatreverket.", "I have moved to Bergen.", "My sister Ina is a pilot."),
    "zh": ("我住在奥斯陆，在岩之道攀岩。", "我搬到卑尔根了。", "我姐姐小燕是飞行员。"),
}
KNOWN = {
    "en": ("Ann lives in Oslo.", "Ann climbs at Klatreverket.", "Ann lives in Bergen.",
           "Old Friend is fond of rain.", "Ina is a pilot."),
    "zh": ("安住在奥斯陆。", "安在岩之道攀岩。", "安住在卑尔根。", "老友喜欢下雨。", "小燕是飞行员。"),
}  # fmt: skip
VALUES = {"en": ("Oslo", "Klatreverket", "Bergen"), "zh": ("奥斯陆", "岩之道", "卑尔根")}
HOME, GYM = Slot("person", "home"), Slot("person", "gym")


@contextmanager
def opened(home: Path) -> Iterator[Memory]:
    """The memory of a person who is not in the chat now."""
    memory = Memory(
        home / "data",
        HashedEmbedder(),
        clock=SetClock(),
        new_id=lambda: uuid4().hex,
        log=logging.Logger("test", logging.CRITICAL),
    )
    try:
        yield memory
    finally:
        memory.close()


def told(memory: Memory, words: str, reply: str, when: str) -> Round:
    session_id = memory.sessions.resume_or_start()[0].session_id
    return memory.rounds.store(session_id, words, reply, when, "stop", ended=when)


def learned(memory: Memory, spoken: Round, *facts: NewFact, changes: Sequence[Change] = ()) -> None:
    relations = tuple(NewRelation("Ann", "sister", "Ina", fact.text_id) for fact in facts if fact.subject == "Ina")
    notes = tuple(replace(new_note(fact), topic="sport" if fact.slot == GYM else fact.attribute) for fact in facts)
    assert memory.fact_log.learn(Learned(window_of(spoken), notes, facts, relations, tuple(changes)))


def lived(home: Path, language: Language = "en", *, archived: bool = True) -> None:
    """Three rounds, read: Ann moved, so that her gym is in doubt; the companion told of itself; there is a sister."""
    said, known, (oslo, wall, bergen) = SAID[language], KNOWN[language], VALUES[language]
    with opened(home) as memory:
        first = told(memory, said[0], "I am fond of rain.", "2026-03-01T19:00:00+00:00")
        second = told(memory, said[1], "Oh!", "2026-05-02T19:00:00+00:00")
        third = told(memory, said[2], "Good.", "2026-05-03T19:00:00+00:00")
        home_then = new_fact("oslo", first, oslo, restatement=known[0], slot=HOME, keywords=("flat",))
        gym = new_fact("gym", first, wall, restatement=known[1], slot=GYM, single=False, attribute="gym")
        rain = new_fact(
            "rain", first, "rain", restatement=known[3], about="companion", subject="Old Friend",
            slot=Slot("companion", "likes"), single=False, attribute="likes", messages=(first.assistant.text_id,),
        )  # fmt: skip
        learned(memory, first, home_then, gym, rain)
        now = new_fact("bergen", second, bergen, restatement=known[2], slot=HOME, start="2026-05")
        doubt = Change("gym", "doubts", "2026-05-02", "bergen")
        learned(memory, second, now, changes=[Change("oslo", "changes", "2026-05-01", "bergen"), doubt])
        ina = new_fact(
            "ina", third, "pilot", restatement=known[4], about="other", subject="Ina",
            slot=Slot("ina", "job title"), attribute="job",
        )  # fmt: skip
        learned(memory, third, ina)
        if archived:
            memory.rounds.save(first.user.session_id, "Ann moved.", {})


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., str]:
    """What the program says to commands that come through a pipe."""

    def ask(*commands: str, **settings: str) -> str:
        (tmp_path / "env").touch(0o600)
        ran = run(tmp_path, "--env-file", str(tmp_path / "env"), given="\n".join(commands) + "\n", **settings)
        assert ran.code == 0, ran.err
        return ran.out + ran.err

    return ask


def number_of(home: Path, text_id: str) -> int:
    with opened(home) as memory:
        (fact,) = memory.facts.with_ids([text_id])
        return fact.number


# -- lists


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_holds_now_is_listed_of_the_person_first_then_the_companion_then_others(
    chat: Chat, tmp_path: Path, language: Language
) -> None:
    lived(tmp_path, language)
    terminal = chat(rows=30, columns=100, LANGUAGE=language, USER_NAME="Ann", COMPANION_NAME="Old Friend")
    terminal.see("Learned from our last conversation: 4 new" if language == "en" else "上次聊天记下的事实：新增 4 条")
    terminal.prompt()
    terminal.say("/facts")
    terminal.see("/facts past")
    terminal.prompt()
    shown = terminal.text().split("> /facts\n")[1]
    before, gym, now, rain, ina = KNOWN[language]
    places = [shown.index(words) for words in ("Ann · 2", now, gym, "Old Friend · 1", rain, "Ina", ina)]
    assert places[0] < min(places[1:3]) < max(places[1:3]) < places[3] < places[4] < places[5] <= places[6]
    assert before not in shown
    assert f" · 2026-05 · {now}" in shown
    doubtful = "[doubtful since 2026-05-02]" if language == "en" else "[自 2026-05-02 起存疑]"
    assert f"{doubtful} {gym}" in shown


@pytest.mark.parametrize(
    ("language", "words", "found"),
    [
        ("en", "climbing", [1]), ("en", "lived", [2, 0]), ("en", "flats", [0]), ("en", "berg", [2]),
        ("zh", "攀岩", [1]), ("zh", "住在", [2, 0]), ("zh", "飞行员", [4]), ("en", "pilots 3", []),
    ],
)  # fmt: skip
def test_facts_are_found_by_words_in_any_form_what_holds_now_first(
    asked: Callable[..., str], tmp_path: Path, language: Language, words: str, found: list[int]
) -> None:
    lived(tmp_path, language)
    shown = asked(f"/facts {words}", LANGUAGE=language).replace("[", "").replace("]", "")
    known = KNOWN[language]
    assert sorted(found, key=lambda at: shown.find(known[at])) == found
    assert [at for at in range(len(known)) if known[at] in shown] == sorted(found)
    assert ("No fact contains: pilots 3" in shown) is not found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_past_tells_until_when_it_held_and_what_took_its_place(
    asked: Callable[..., str], tmp_path: Path, language: Language
) -> None:
    lived(tmp_path, language)
    rows = [row.strip() for row in asked("/facts past", LANGUAGE=language).splitlines()]
    at = next(at for at, row in enumerate(rows) if KNOWN[language][0] in row)
    assert "2026-03-01 – 2026-05-0" in rows[at]
    assert rows[at + 1] == f"→ {number_of(tmp_path, 'bergen')} · {KNOWN[language][2]}"
    assert sum(known in "\n".join(rows) for known in KNOWN[language]) == 2


def test_a_list_fits_the_screen_and_says_how_much_more_there_is(chat: Chat, tmp_path: Path) -> None:
    lived(tmp_path)
    with opened(tmp_path) as memory:
        spoken = told(memory, "I own a lot.", "Do you?", "2026-05-04T19:00:00+00:00")
        many = [
            new_fact(f"thing {at}", spoken, f"thing-{at}", restatement=f"Ann owns thing-{at}.", single=False, slot=GYM)
            for at in range(60)
        ]
        learned(memory, spoken, *many)
    terminal = chat(rows=24, columns=80)
    terminal.prompt()
    terminal.say("/facts")
    terminal.see("more: /facts all")
    terminal.prompt()
    display = [row.strip() for row in terminal.screen.display]
    assert "> /facts" in display, "the list pushed its own beginning out of the window"
    assert any("Ina is a pilot." in row for row in display), "the long list of one leaves no room for the others"
    terminal.say("/facts all")
    terminal.see("thing-59.")
    terminal.prompt()
    assert "thing-0." in terminal.text()
    assert _share_rows([62, 3, 3], 18) == [12, 3, 3]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_fact_goes_on_in_the_next_row_and_a_list_of_them_fits_the_screen(
    chat: Chat, tmp_path: Path, language: Language
) -> None:
    end = {"en": "and that is the end", "zh": "到此为止"}[language]
    said = {"en": "Ann keeps bees, and the hives stand behind the house; " * 3, "zh": "安养蜂，蜂箱在屋后；" * 12}
    with opened(tmp_path) as memory:
        spoken = told(memory, "I keep bees.", "Good.", "2026-03-01T19:00:00+00:00")
        facts = [
            new_fact(f"f{at}", spoken, str(at), restatement=f"{said[language]}{end} {at}.", single=False)
            for at in range(9)
        ]  # fmt: skip
        learned(memory, spoken, *facts)
    terminal = chat(columns=60, LANGUAGE=language)

    def whole(text: str) -> set[str]:
        """The numbers of the facts that stand there to their end."""
        squeezed = "".join(text.split())
        return {str(at) for at in range(9) if "".join(f"{end}{at}.".split()) in squeezed}

    terminal.prompt()
    for command, least in (("/facts", 1), (f"/facts {end}", 1), ("/facts all", 9)):
        terminal.say(command)
        terminal.wait(lambda typed=command: f"> {typed}" in terminal.text(), "the command")  # type: ignore[misc]
        terminal.prompt()
        told_of_it = terminal.text().rpartition(f"> {command}")[2]
        assert len(whole(told_of_it)) >= least, command
        if command != "/facts all":
            assert f"> {command}" in "\n".join(terminal._lines()), "the list is no longer than the screen"
            assert "…" in told_of_it, "how much more there is"


@pytest.mark.parametrize(
    ("language", "nothing", "unknown"),
    [("en", "I know nothing yet.", "There is no fact 77."), ("zh", "还什么都不知道。", "没有第 77 条事实。")],
)
def test_where_nothing_is_known_or_a_number_is_none_one_line_says_so(
    asked: Callable[..., str], language: str, nothing: str, unknown: str
) -> None:
    shown = asked("/facts", "/facts past", "/facts 77", "/facts 77 wrong", "/facts 77 keep", LANGUAGE=language)
    assert shown.count(nothing) == 1
    assert shown.count(unknown) == 3


def test_the_numbers_are_completed_with_what_they_stand_for(chat: Chat, tmp_path: Path) -> None:
    lived(tmp_path)
    terminal = chat(rows=30, columns=100)
    terminal.prompt()
    terminal.send("/facts ")
    terminal.see("Ann lives in Bergen.")
    terminal.see("past")
    terminal.send("\x15")
    terminal.send(f"/facts {number_of_shown(terminal.text(), 'Ann lives in Bergen.')} ")
    terminal.see("wrong")
    terminal.see("keep")


def number_of_shown(text: str, says: str) -> str:
    """The number that stands in front of a fact on the screen."""
    return next(row.split(says)[0].split()[-1] for row in text.splitlines() if says in row)


# -- one


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_fact_shows_the_words_it_rests_on_and_what_happened_to_it(
    asked: Callable[..., str], tmp_path: Path, language: Language
) -> None:
    lived(tmp_path, language)
    numbers = [number_of(tmp_path, name) for name in ("oslo", "gym", "ina")]
    shown = asked(*(f"/facts {number}" for number in numbers), LANGUAGE=language, USER_NAME="Ann", TZ="UTC")
    plain = shown.replace("[", "").replace("]", "")
    assert "2026-03-01 19:00 · Ann" in shown
    assert plain.count(SAID[language][0]) == 2
    bergen = f"{number_of(tmp_path, 'bergen')} · {KNOWN[language][2]}"
    changed, doubted = ("changed", "in doubt") if language == "en" else ("变了", "存疑")
    assert f"2026-05-01 · {changed} · {bergen}" in shown
    assert f"2026-05-02 · {doubted} · {bergen}" in shown
    assert "Ann — sister → Ina" in shown


# -- decided by a person


@pytest.mark.parametrize(("language", "note"), [("en", "Note (of some importance): "), ("zh", "笔记（一般）：")])
def test_a_note_without_a_topic_names_none(asked: Callable[..., str], language: str, note: str) -> None:
    assert note in asked("My dog is called Biscuit.", "/save", "/facts 1", LANGUAGE=language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_model_concluded_is_listed_apart_and_rejected_by_its_number(
    chat: Chat, tmp_path: Path, language: Language
) -> None:
    said, concluded = {
        "en": ("Up at five again, lovely.", ("Ann prefers mornings.", "Ann sleeps little.")),
        "zh": ("又是五点起床，真好。", ("安喜欢早晨。", "安睡得少。")),
    }[language]
    with opened(tmp_path) as memory:
        spoken = told(memory, said, "Oh!", "2026-05-02T19:00:00+00:00")
        quote = (Quote(spoken.user.text_id, 0, len(said), "user", said),)
        facts = [
            new_fact(name, spoken, restatement=text, slot=Slot("person", name), note="", stance="supposed",
                     quotes=quote, basis="inferred")
            for name, text in zip(("mornings", "sleep"), concluded, strict=True)
        ]  # fmt: skip
        assert memory.fact_log.learn(Learned(window_of(spoken), (), tuple(facts)))
    number = number_of(tmp_path, "mornings")
    terminal = chat(rows=40, columns=110, LANGUAGE=language)
    terminal.prompt()
    answers = (("", concluded), (str(number), concluded), ("", concluded[1:]))
    for times, (answer, left) in enumerate(answers, 1):
        terminal.say("/facts inferred")
        terminal.see("Enter" if language == "en" else "回车", times=times)
        shown = terminal.text().rsplit("> /facts inferred\n", maxsplit=1)[-1]
        assert [text for text in concluded if text in shown] == [*left]
        terminal.send(f"{answer}\r")
        terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    with opened(tmp_path) as memory:
        assert [one.restatement for one in memory.facts.inferred()] == [concluded[1]]
        assert memory.facts.all() == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_never_was_is_taken_out_after_a_yes_and_can_be_brought_back(
    chat: Chat, tmp_path: Path, language: Language
) -> None:
    lived(tmp_path, language)
    number, text = number_of(tmp_path, "gym"), KNOWN[language][1]
    terminal = chat(rows=40, columns=110, LANGUAGE=language)
    terminal.prompt()
    for times, answer in ((1, "n"), (2, "y")):
        terminal.say(f"/facts {number} wrong")
        terminal.see("[y/N]", times=times)
        terminal.send(f"{answer}\r")
        terminal.prompt()
    assert ("Nothing was changed." if language == "en" else "什么都没改。") in terminal.text()
    back = f"/facts {number} {text}"
    terminal.see(("To revert this: /undo, or later " if language == "en" else "要撤销：/undo，或以后 ") + back)
    terminal.say("/facts")
    terminal.see("/facts past")
    terminal.prompt()
    assert text not in terminal.text().rsplit("> /facts\n", maxsplit=1)[-1]
    terminal.say(back)
    terminal.see("whatever a model says" if language == "en" else "模型怎么说")
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    with opened(tmp_path) as memory:
        assert text in [fact.restatement for fact in memory.facts.all(current=True)]


def test_what_was_over_before_anybody_told_of_it_began_on_no_day_that_anybody_said(
    asked: Callable[..., str], tmp_path: Path
) -> None:
    lived(tmp_path)
    with opened(tmp_path) as memory:
        spoken = told(memory, "Tom and I broke up in 2024.", "Oh.", "2026-05-02T19:00:00+00:00")
        over = new_fact("over", spoken, "Tom", slot=Slot("person", "partner"), restatement="It is over.", end="2024")
        gone = Change("over", "ends", "2024")
        assert memory.fact_log.learn(Learned(window_of(spoken), (new_note(over),), (over,), changes=(gone,)))
    shown = asked("/facts past", f"/facts {number_of(tmp_path, 'over')}")
    assert f"{number_of(tmp_path, 'over')} · – 2024 · It is over." in shown
    assert "stated · until 2024" in shown


@pytest.mark.parametrize(("language", "only", "doubt"), [("en", "joked", "doubtful since"), ("zh", "玩笑", "起存疑")])
def test_an_export_tells_how_sure_each_fact_is(tmp_path: Path, language: Language, only: str, doubt: str) -> None:
    lived(tmp_path, language)
    with opened(tmp_path) as memory:
        spoken = told(memory, "I shall marry a pirate!", "Ha.", "2026-05-03T19:00:00+00:00")
        jest = new_fact("jest", spoken, "pirate", slot=Slot("person", "plan"), stance="joked")
        assert memory.fact_log.learn(Learned(window_of(spoken), (new_note(jest),), (jest,)))
    assert run(tmp_path, "--export", str(tmp_path / "all.md"), LANGUAGE=language).code == 0
    lines = (tmp_path / "all.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if jest.restatement in line and f"[{only} · " in line]
    assert [line for line in lines if KNOWN[language][1] in line and doubt in line]


@pytest.mark.parametrize(
    ("language", "mark"), [("en", "Home: Bergen. [{}: not true]"), ("zh", "住处：卑尔根。【{}：不是真的】")]
)
def test_a_persona_is_shown_with_what_became_of_its_lines_and_stays_as_it_is(
    asked: Callable[..., str], tmp_path: Path, language: Language, mark: str
) -> None:
    lived(tmp_path, language, archived=False)
    now = KNOWN[language][2]
    line = mark.split("。", maxsplit=1)[0] + "。" if language == "zh" else mark.split(" [", maxsplit=1)[0]
    with opened(tmp_path) as memory:
        (fact,) = memory.facts.with_ids(["bergen"])
        draft = PersonaDraft(line, (LineEvidence(line, fact.messages),))
        memory.rounds.save(fact.session_id, "Ann moved.", {"user": draft})
        memory.fact_log.correct_by_hand("bergen", None)
    for command in ("/persona user", "/memory"):
        assert mark.format(now.rstrip(".。")) in asked(command, LANGUAGE=language).splitlines(), command
    assert run(tmp_path, "--export", str(tmp_path / "all.md"), LANGUAGE=language).code == 0
    assert mark.format(now.rstrip(".。")) in (tmp_path / "all.md").read_text(encoding="utf-8").splitlines()
    with opened(tmp_path) as memory:
        assert memory.personas.read("user") == line
        assert len(memory.personas.history("user")) == 1


def test_what_a_person_puts_right_wins_for_good_over_what_a_model_says_later(
    asked: Callable[..., str], tmp_path: Path
) -> None:
    lived(tmp_path)
    number = number_of(tmp_path, "bergen")
    shown = asked(f"/facts {number} Ann  lives in   Voss.")
    assert "- Ann lives in Bergen.\n+ Ann lives in Voss.\n" in shown
    assert "/facts" in shown
    with opened(tmp_path) as memory:
        (right,) = [fact for fact in memory.facts.all(current=True) if fact.slot == HOME]
        (before,) = memory.facts.with_ids(["bergen"])
        assert (right.restatement, right.value, right.decided) == ("Ann lives in Voss.", "Voss", "hand")
        assert (right.messages, right.start, right.single) == (before.messages, "2026-05", True)
        assert (before.corrected, before.replaced_by) == (True, right.text_id)
        later = told(memory, "I live in Rome.", "Oh!", "2026-09-01T19:00:00+00:00")
        rome = new_fact("rome", later, "Rome", slot=HOME)
        learned(memory, later, rome, changes=[Change(right.text_id, "changes", "2026-09-01", "rome")])
        assert [fact.value for fact in memory.facts.all(current=True) if fact.slot == HOME] == ["Voss"]


def test_what_is_past_is_not_put_right_as_if_it_were_so_now(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    number = number_of(tmp_path, "oslo")
    shown = asked(f"/facts {number} Ann lives in Rome.", f"/facts {number} keep")
    assert shown.count(f"Fact {number} stopped being true on 2026-05-0") == 2
    with opened(tmp_path) as memory:
        assert not any(fact.kept for fact in memory.facts.all())
        assert [fact.value for fact in memory.facts.all(current=True) if fact.slot == HOME] == ["Bergen"]


def test_a_fact_is_kept_until_that_is_said_again(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    number = number_of(tmp_path, "gym")
    shown = asked(f"/facts {number} keep", "/facts", f"/facts {number} keep")
    assert "will be kept: Ann climbs at Klatreverket." in shown
    assert " · [kept] Ann climbs at Klatreverket." in shown
    assert "no longer has to be kept" in shown
    with opened(tmp_path) as memory:
        assert not any(fact.kept for fact in memory.facts.all())


@pytest.mark.parametrize(("language", "told"), [("en", "Your change to fact"), ("zh", "撤销你对事实")])
def test_undo_right_after_a_decision_about_a_fact_takes_it_back(
    asked: Callable[..., str], tmp_path: Path, language: Language, told: str
) -> None:
    lived(tmp_path, language)
    number = number_of(tmp_path, "bergen")

    def known() -> list[object]:
        with opened(tmp_path) as memory:
            return [(fact, memory.facts.events_of(fact.text_id)) for fact in memory.facts.all()]

    before = known()
    for wish in ("wrong", "keep", "Voss"):
        asked(f"/facts {number} {wish}", LANGUAGE=language)
        assert known() != before
        with opened(tmp_path) as memory:
            assert memory.fact_log.undo_decision("bergen")
        shown = asked(f"/facts {number} {wish}", "/undo", LANGUAGE=language)
        assert told in shown
        assert f"{number} ·" in shown.partition(told)[2]
        assert known() == before


def test_decisions_are_taken_back_one_after_another_the_last_first(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    number = number_of(tmp_path, "bergen")
    shown = asked(f"/facts {number} keep", f"/facts {number} Ann lives in Voss.", "/undo", "/undo", "/undo")
    assert shown.count("Your change to fact") == 2
    assert shown.count("There is nothing to take back.") == 1
    with opened(tmp_path) as memory:
        (fact,) = memory.facts.with_ids(["bergen"])
        assert (fact.current, fact.kept, fact.decided) == (True, False, "model")
        assert not [one for one in memory.facts.all() if one.value == "Voss"]


def test_what_was_said_since_is_taken_back_before_a_decision(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    number = number_of(tmp_path, "bergen")
    shown = asked(f"/facts {number} keep", "It rains.", "/undo", "/undo")
    assert "Took back 1 exchange." in shown
    assert "As before" not in shown
    with opened(tmp_path) as memory:
        assert [fact.kept for fact in memory.facts.with_ids(["bergen"])] == [True]


@pytest.mark.parametrize(
    ("language", "row"),
    [
        ("en", "only quoted; not believed: not in the words 2, a different number 1"),
        ("zh", "没有采信：原话里没有 2、数字对不上 1"),
    ],
)
def test_a_check_says_how_many_drafts_were_not_believed_and_why(tmp_path: Path, language: str, row: str) -> None:
    with opened(tmp_path) as memory:
        spoken = told(memory, "I live in Oslo.", "Oh!", "2026-05-02T19:00:00+00:00")
        rejected = {"unsupported": 2, "number": 1}
        assert memory.fact_log.learn(
            Learned(window_of(spoken), (), (new_fact("oslo", spoken, note=""),), rejected=rejected)
        )
    (tmp_path / "env").touch(0o600)
    assert row in run(tmp_path, "--env-file", str(tmp_path / "env"), "--check", LANGUAGE=language).out


# -- saving


@pytest.mark.parametrize(
    ("language", "news", "back", "nothing"),
    [
        ("en", "Facts: 4 new.", "/save undone: that session is open again (3 exchanges).", "nothing to bring back"),
        ("zh", "事实：新增 4 条。", "已撤销 /save：那次会话又打开了（3 轮）。", "没有可恢复的"),
    ],
)
def test_a_save_tells_what_is_new_and_is_taken_back_by_undo(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, language: Language,
    news: str, back: str, nothing: str,
) -> None:  # fmt: skip
    lived(tmp_path, language, archived=False)
    server.script("A summary.", "I am a friend of Ann.", "Ann moved.")
    terminal = chat(rows=40, columns=110, LANGUAGE=language, EXTRACT_AFTER="0", **connected)
    terminal.prompt()
    terminal.say("/save")
    terminal.see(news)
    terminal.prompt()
    terminal.say("/undo")
    terminal.see(back)
    terminal.prompt()
    terminal.say("/redo")
    terminal.see(nothing)
    terminal.prompt()
    terminal.say("/history")
    terminal.see(f"> {SAID[language][2]}")


# -- hostile


def named(text: str, about: About) -> dict[str, Any]:
    """A fact that says this text wherever it says anything."""
    return {
        "restatement": text,
        "subject": text,
        "attribute": text,
        "persons": (text,),
        "about": about,
        "single": False,
    }


def test_what_facts_say_is_shown_inert(chat: Chat, tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        spoken = told(memory, "Hello.", "Hello.", "2026-03-01T19:00:00+00:00")
        hostile = [
            new_fact(f"h{at}", spoken, text, **named(text, "other" if at % 2 else "person"))
            for at, text in enumerate(STEERING.values())
        ]
        notes = tuple(replace(new_note(fact), topic=fact.value) for fact in hostile)
        window = Window(spoken.assistant.text_id, spoken.user.session_id, (spoken.user.text_id,))
        relations = tuple(NewRelation(fact.value, fact.value, fact.value, fact.text_id) for fact in hostile)
        assert memory.fact_log.learn(Learned(window, notes, tuple(hostile), relations))
        numbers = [fact.number for fact in memory.facts.all()]
    terminal = chat(rows=40, columns=100)
    terminal.prompt()
    lists = [("/facts", "more: /facts all"), ("/facts all", "Others"), (f"/facts {CANARY}", CANARY)]
    for command, shown in [*lists, *((f"/facts {number}", f"/facts {number} keep") for number in numbers)]:
        before = terminal.text().count(shown)
        terminal.say(command)
        terminal.wait(lambda shown=shown, before=before: terminal.text().count(shown) > before, command)
        terminal.prompt()
    terminal.send("/facts ")
    terminal.see("past")
    terminal.send("\x15")
    terminal.prompt()
    assert foreign(terminal.raw) == []
    assert not (tmp_path / "logs" / "errors.log").exists()


# -- other commands


@pytest.mark.parametrize("language", ["en", "zh"])
def test_memory_and_status_count_what_is_known(asked: Callable[..., str], tmp_path: Path, language: Language) -> None:
    lived(tmp_path, language)
    with opened(tmp_path) as memory:
        told(memory, "One more.", "Yes?", "2026-05-04T19:00:00+00:00")
    shown = asked("/memory", "/status", LANGUAGE=language)
    if language == "en":
        assert "Known: 4 facts now, 1 past, from 5 notes; not read yet: 2 messages." in shown
        assert "4 facts now, 1 past, 5 notes; 2 messages not read yet" in shown
    else:
        assert "已知：现在 4 条事实，过去 1，来自 5 条笔记；还没读的有 2 条消息。" in shown
        assert "现在 4 条事实，过去 1，5 条笔记；还有 2 条消息没读" in shown


def test_forgetting_names_and_counts_what_was_drawn(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    shown = asked("/forget sister")
    assert "  Ina is a pilot." in shown
    assert "  Of pilot." in shown
    assert "Erased: 1 message, 1 summary, 0 chapters, 1 note, 1 fact, 0 persona versions." in shown
    assert "0 found" in shown
    with opened(tmp_path) as memory:
        assert memory.facts.with_ids(["ina"]) == []


def test_an_export_holds_notes_and_facts_with_what_they_rest_on(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    asked(f"/export all json {tmp_path / 'all.json'}", f"/export 1 md {tmp_path / 'one.md'}", TZ="UTC")
    (session, *_) = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["sessions"]
    facts = {fact["text_id"]: fact for fact in session["facts"]}
    messages = {message["text_id"]: message["text"] for message in session["turns"]}
    assert [messages[message] for message in facts["bergen"]["messages"]] == ["I have moved to Bergen."]
    assert (facts["oslo"]["current"], facts["oslo"]["replaced_by"]) == (False, "bergen")
    assert [note["text"] for note in session["notes"]][:1] == ["Of Oslo."]
    told_of = (tmp_path / "one.md").read_text(encoding="utf-8").split("## What I learned from this session")[1]
    assert "- Ann lives in Oslo. [since 2026-03-01 · until 2026-05-0" in told_of
    assert "- Ann lives in Bergen. [since 2026-05] (2026-05-02 19:00)" in told_of


def test_facts_are_searched_by_their_parts(asked: Callable[..., str], tmp_path: Path) -> None:
    lived(tmp_path)
    shown = asked("/memory search who:Ann topic:sport", LANGUAGE="en")
    assert "climbs at Klatreverket." in shown
    assert "pilot" not in shown
    assert "is a pilot." in asked('/memory search who:"Ina"', LANGUAGE="en")
    assert "Nothing found for: who:Tom" in asked("/memory search who:Tom", LANGUAGE="en")
    refused = run(tmp_path, "--batch", "-", given="/memory search when:blurry\n", LANGUAGE="en")
    assert "blurry is not a time" in refused.err
