"""How long the rules take over one window of talk. ``python -m bench.facts --help``.

A window of forty turns in each language with notes of two facts is checked, compared with what is known, and a persona
of it is changed. Talk gives 12 to 30 facts a window, hence 20; ``--facts`` for more. No model, no store: what is
measured is our own time beside one model call. Each window is read for the first time: its places are new, and caches
of texts are empty.
"""

from __future__ import annotations

import argparse
import functools
import gc
import statistics
import time
from datetime import date
from itertools import count, pairwise

from domain.facts import Fact, NewFact
from domain.records import PREFIX, Message, Role
from facts.checking import check_notes
from facts.comparing import compare_facts, find_near
from facts.drafts import FactDraft, NoteDraft
from facts.persona_lines import Grounds, Operation, PersonaEditing, QuotedFact
from facts.slots import Names
from language.scripts import Language
from language.words import _WORDS_CACHED

_ENGLISH = (
    "I'm a claims analyst at {place} Insurance, it pays £38,500. I go climbing at The {place} on Tuesdays.",
    "As thrilling as {place} sounds made me smile. Are you bouldering or on ropes at {place}? Do mind your wrists.",
    "{place} is fifteen, yesterday she weighed 3.4 kilos. My dentist appointment is next Tuesday, I dread it.",
    "Fifteen is a proper age for {place}. Do you want me to distract you before {place}, or to count ceiling tiles?",
)
_CHINESE = (
    "我在杭州{place}的净尘科技当嵌入式工程师，月薪两万六，昨天清明回绍兴给外公上坟。",
    "扫地机器人的嵌入式，那是让机器少撞墙的活儿。{place}加班多吗？",
    "女朋友叫林晓，在{place}那边的小学教美术。我打算今年十月十二号跟她求婚，这事谁也不知道。",
    "十月十二号，我替{place}的你守着。{place}的戒指有谱了吗？",
)
#: Where each window's rounds play, so that hardly a text stands there twice.
_ENGLISH_PLACES = "Foundry Ashby Bexley Carlow Denby Elmet Farleigh Granby Hexham Ilkley".split()  # noqa: SIM905
_CHINESE_PLACES = "滨江 西溪 拱墅 余杭 萧山 临平 富阳 上城 钱塘 临安".split()  # noqa: SIM905
#: Of each matter a note, a fact in it, and the turn that tells it.
_ENGLISH_NOTES = (
    ("Mara is a claims analyst at {place} Insurance for £38,500.", "Mara earns £38,500 at {place} Insurance.", 1),
    ("Mara climbs at The {place} on Tuesdays.", "Mara goes climbing on Tuesdays at The {place}.", 1),
    ("{place} weighed 3.4 kilos on 28 February 2025.", "Mara's cat {place} weighed 3.4 kilos.", 3),
    ("Mara has a dentist appointment on Tuesday 4 March 2025.", "Mara dreads the dentist on 2025-03-04.", 3),
)
_CHINESE_NOTES = (
    ("陈默在{place}的净尘科技当嵌入式工程师，月薪26000元。", "陈默在{place}当嵌入式工程师。", 1),
    ("陈默2025年2月28日从{place}回绍兴给外公上坟。", "陈默2025年2月28日回绍兴上坟。", 1),
    ("陈默的女朋友林晓在{place}的小学教美术。", "林晓在{place}教美术。", 3),
    ("陈默打算2025年10月12日求婚。", "陈默打算2025年10月12日跟林晓求婚。", 3),
)
#: What makes the places of every window new, by language.
_ENGLISH_ENDINGS, _CHINESE_ENDINGS = "abcdefghij", "岭溪湾桥渡泉塘坡岗坪"
_Notes = tuple[tuple[str, str, int], ...]
_MESSAGES, _FACTS, _FACTS_A_NOTE = 40, 20, 2


def main() -> None:
    """Measure, and print a table."""
    asked = _arguments()
    print(f"{'one window':<28}{'median':>9}{'best':>9}   facts")
    for name, said, places, endings, notes, names in (
        ("English", _ENGLISH, _ENGLISH_PLACES, _ENGLISH_ENDINGS, _ENGLISH_NOTES, Names(("Mara",), ("Juniper",))),
        ("Chinese", _CHINESE, _CHINESE_PLACES, _CHINESE_ENDINGS, _CHINESE_NOTES, Names(("陈默",), ("老友",))),
    ):
        taken: dict[str, list[float]] = {"check": [], "compare": [], "persona": [], "together": []}
        known: list[Fact] = []
        language: Language = "en" if name == "English" else "zh"
        for number in range(asked.times + 1):
            unread = [place + endings[number % 10] + endings[number // 10 % 10] for place in places]
            messages, drafts = _window(said, unread), _drafts(notes, unread, asked.facts // _FACTS_A_NOTE)
            _forget_texts()
            seconds, facts = _read_window(messages, drafts, known, names, language)
            for step, each in zip(taken, (*seconds, sum(seconds)), strict=True) if number else ():
                taken[step].append(each * 1000)
            known = facts
        for step, times in taken.items():
            print(f"{f'{name}: {step}':<28}{statistics.median(times):>6.1f} ms{min(times):>6.1f} ms   {len(known)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="how many windows are read")
    parser.add_argument("--facts", type=int, default=_FACTS, help="how many facts a window has, 80 at the most")
    return parser.parse_args()


def _forget_texts() -> None:
    """Empty the caches of texts. Those of words stay: people repeat words."""
    for one in gc.get_objects():
        of_rules = isinstance(one, functools._lru_cache_wrapper) and one.__module__.startswith(("facts.", "language."))
        if of_rules and one.cache_parameters()["maxsize"] != _WORDS_CACHED:
            one.cache_clear()


def _read_window(
    messages: list[Message], drafts: list[NoteDraft], known: list[Fact], names: Names, language: Language
) -> tuple[list[float], list[Fact]]:
    """The seconds of the processor for each step, so that what else runs on the machine counts little; the facts."""
    numbers = count()
    times = [time.process_time()]
    new = check_notes(drafts, messages, (), names, lambda: f"id {next(numbers)}").facts
    times.append(time.process_time())
    compare_facts(new, known, find_near(new, known))
    times.append(time.process_time())
    facts = [_known(fact, number) for number, fact in enumerate(new, 1)]
    operations = [Operation("add", (), fact.restatement, "", (fact.number,)) for fact in facts]
    grounds = Grounds([QuotedFact(fact) for fact in facts], date(2025, 3, 1), 800, names)
    editing = PersonaEditing("", (), (), grounds, language)
    editing.apply_operations(operations)
    editing.finish()
    times.append(time.process_time())
    return [after - before for before, after in pairwise(times)], facts


def _window(said: tuple[str, ...], places: list[str]) -> list[Message]:
    found = []
    for at in range(_MESSAGES):
        role: Role = "assistant" if at % 2 else "user"
        text = PREFIX[role] + said[at % len(said)].format(place=places[at // len(said)])
        found.append(Message(at, f"turn {at}", "session", f"2025-03-01T20:00:{at:02}+00:00", role, text, at // 2))
    return found


def _drafts(notes: _Notes, places: list[str], many: int) -> list[NoteDraft]:
    found = []
    for at in range(many):
        text, statement, message = notes[at % len(notes)]
        place = at // len(notes)
        texts = [one.format(place=places[place]) for one in (text, statement)]
        messages = (message + len(notes) * place,)
        facts = tuple(
            FactDraft(one, "", f"matter {at} {n}", "", "person", "stated", (), (), (), "", "", "", messages)
            for n, one in enumerate(texts)
        )
        found.append(NoteDraft(texts[0], "topic", 5, "active", True, messages, facts))
    return found


def _known(fact: NewFact, number: int) -> Fact:
    return Fact(
        number, f"known {number}", fact.note, "before", fact.restatement, fact.subject, fact.attribute, fact.value,
        fact.slot, fact.single, fact.about, fact.stance, fact.said, fact.said, fact.messages, since=fact.said,
    )  # fmt: skip


if __name__ == "__main__":
    main()
