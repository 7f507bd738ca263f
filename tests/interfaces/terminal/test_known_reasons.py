"""What ``/why`` tells of facts: those that were handed over, and what became of what a recalled turn says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from domain.facts import Slot
from domain.recollection import Annotation, RecalledFact, RecalledMessage, Recollection, Why
from interfaces.messages import Words, load_table
from interfaces.recollections import count_recalled, recalled_values
from interfaces.terminal.reply import counted_line
from language.scripts import Language
from tests.contract.test_knowing import new_fact
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.test_facts import KNOWN, SAID, learned, lived, opened
from tests.interfaces.terminal.test_facts import told as said_and_stored
from tests.support.server import ScriptedServer

WHY = Why("where", 1.0)
FACT = RecalledFact(4, "bergen", "Ann lives in Bergen.", "2026-05-02T19:00:00+00:00", ("t1",), WHY)
MESSAGE = RecalledMessage(
    "t1", "s1", "2026-03-01T19:00:00+00:00", "user", "User: I live in Oslo.", hit=True, why=WHY,
    annotations=(Annotation("changed", "2026-05-01", "Ann lives in Bergen."),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", ["remembered 1 message · /why", "remembered 1 fact · /why", "remembered 1 fact and 1 message · /why"]),
        ("zh", ["想起了 1 条消息 · /why", "想起了 1 条事实 · /why", "想起了 1 条事实、1 条消息 · /why"]),
    ],
)
def test_facts_are_counted_among_what_was_remembered(language: Language, shown: list[str]) -> None:
    all_of = (
        Recollection(messages=(MESSAGE,)),
        Recollection(facts=(FACT,)),
        Recollection(messages=(MESSAGE,), facts=(FACT,)),
    )
    assert [counted_line(Words(language), count_recalled(each)) for each in all_of] == shown


def test_a_program_that_asks_is_told_of_facts_too() -> None:
    told = recalled_values(Recollection(messages=(MESSAGE,), facts=(FACT,)))
    assert [(each["type"], each["text"]) for each in told] == [
        ("conversation", "User: I live in Oslo."),
        ("fact", "Ann lives in Bergen."),
    ]


@pytest.mark.parametrize(
    ("language", "question", "changed", "fact"),
    [
        ("en", "Where do I live, in Oslo?", "changed on 2026-05-01", "fact"),
        ("zh", "我住在奥斯陆吗？", "2026-05-01 变了", "事实"),
    ],
)
def test_why_tells_what_became_of_a_message_and_which_facts_were_handed_over(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, language: Language,
    question: str, changed: str, fact: str,
) -> None:  # fmt: skip
    lived(tmp_path, language)
    terminal = chat(rows=60, columns=120, LANGUAGE=language, **connected)
    terminal.prompt()
    server.script("I see.")
    terminal.say(question)
    terminal.see("I see.")
    terminal.prompt()
    terminal.say("/why")
    terminal.see(f"{changed} · {KNOWN[language][2]}")
    terminal.see(f"2026-05-02 · {fact} ")
    terminal.see(SAID[language][0].split()[0])
    terminal.prompt()
    assert not re.search(r"\b\d+\.\d\d\b", terminal.text()), "a score"
    terminal.say("/why full")
    terminal.see(f"{changed} · {KNOWN[language][2]}", times=2)
    terminal.see(f"2026-05-02 · {fact} ", times=2)
    terminal.see(load_table(language)["reason.answers"], times=2)
    assert not re.search(r"\b\d+\.\d\d\b", terminal.text()), "how well it fits is said in words"


@pytest.mark.parametrize(
    ("language", "said", "question", "shown"),
    [
        (
            "en",
            "My interview at Osprey is on the 3rd of June.",
            "When is my interview at Osprey?",
            "was planned for 2025-06-03, which has passed",
        ),
        ("zh", "我六月三号去鱼鹰能源面试。", "我什么时候去鱼鹰能源面试？", "原定 2025-06-03，日子已经过了"),
    ],
)
def test_why_tells_of_a_message_and_of_a_summary_that_the_day_of_a_plan_is_past(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, language: Language, said: str,
    question: str, shown: str,
) -> None:  # fmt: skip
    with opened(tmp_path) as memory:
        spoken = said_and_stored(memory, said, "Good luck.", "2025-05-17T19:00:00+00:00")
        plan = new_fact(
            "plan", spoken, said, restatement=said, slot=Slot("person", "interview"), stance="planned",
            start="2025-06-03",
        )  # fmt: skip
        learned(memory, spoken, plan)
        memory.rounds.save(spoken.user.session_id, said, {})
    terminal = chat(rows=60, columns=120, LANGUAGE=language, **connected)
    terminal.prompt()
    server.script("I see.")
    terminal.say(question)
    terminal.see("I see.")
    terminal.prompt()
    terminal.say("/why")
    terminal.see(shown, times=2)
