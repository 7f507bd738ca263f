"""How long the rules take over one window of talk. ``python -m bench.facts --help``.

A window of forty turns in each language with thirty notes of two facts is checked, compared with what is known, and an
persona of it is changed. No model, no store: what is measured is our own time beside one model call.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import date
from itertools import count

from domain.facts import Fact, NewFact
from domain.records import PREFIX, Message, Role
from facts.checking import CheckedNotes, check_notes
from facts.comparing import compare_facts, find_near
from facts.drafts import FactDraft, NoteDraft
from facts.persona_lines import Grounds, Operation, PersonaEditing, QuotedFact
from facts.slots import Names

_ENGLISH = (
    "I'm a claims analyst at {place} Insurance, it pays £38,500. I go climbing at The {place} on Tuesdays.",
    "As thrilling as {place} sounds made me smile. Are you bouldering or on ropes?",
    "{place} is fifteen, yesterday she weighed 3.4 kilos. My dentist appointment is next Tuesday, I dread it.",
    "Fifteen is a proper age for a cat. Do you want me to distract you beforehand?",
)
_CHINESE = (
    "我在杭州{place}的净尘科技当嵌入式工程师，月薪两万六，昨天清明回绍兴给外公上坟。",
    "扫地机器人的嵌入式，那是让机器少撞墙的活儿。{place}加班多吗？",
    "女朋友叫林晓，在{place}那边的小学教美术。我打算今年十月十二号跟她求婚，这事谁也不知道。",
    "十月十二号，我替你守着。戒指有谱了吗？",
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
_Notes = tuple[tuple[str, str, int], ...]
_MESSAGES, _NOTES = 40, 30


def main() -> None:
    """Measure, and print a table."""
    asked = _arguments()
    print(f"{'one window':<28}{'median':>9}{'best':>9}   facts")
    for name, said, places, notes, names in (
        ("English", _ENGLISH, _ENGLISH_PLACES, _ENGLISH_NOTES, Names(("Mara",), ("Juniper",))),
        ("Chinese", _CHINESE, _CHINESE_PLACES, _CHINESE_NOTES, Names(("陈默",), ("老友",))),
    ):
        messages, drafts = _window(said, places), _drafts(notes, places)
        found = _checked(drafts, messages, names)
        known = [_known(fact, number) for number, fact in enumerate(found.facts, 1)]
        _report(f"{name}: check", asked.times, lambda: _checked(drafts, messages, names), len(found.facts))  # noqa: B023
        _report(f"{name}: compare", asked.times, lambda: _compared(found.facts, known), len(known))  # noqa: B023
        _report(f"{name}: persona", asked.times, lambda: _persona(known, names), len(known))  # noqa: B023


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="how often each is done")
    return parser.parse_args()


def _report(name: str, times: int, do: Callable[[], object], facts: int) -> None:
    taken = [_seconds(do) for _ in range(times)]
    print(f"{name:<28}{statistics.median(taken) * 1000:>6.1f} ms{min(taken) * 1000:>6.1f} ms   {facts}")


def _seconds(do: Callable[[], object]) -> float:
    """Time of the processor, so that what else runs on the machine counts little."""
    begun = time.process_time()
    do()
    return time.process_time() - begun


def _window(said: tuple[str, ...], places: list[str]) -> list[Message]:
    found = []
    for at in range(_MESSAGES):
        role: Role = "assistant" if at % 2 else "user"
        text = PREFIX[role] + said[at % len(said)].format(place=places[at // len(said)])
        found.append(Message(at, f"turn {at}", "session", f"2025-03-01T20:00:{at:02}+00:00", role, text, at // 2))
    return found


def _drafts(notes: _Notes, places: list[str]) -> list[NoteDraft]:
    found = []
    for at in range(_NOTES):
        text, statement, message = notes[at % len(notes)]
        place = at % (_MESSAGES // len(notes))
        texts = [one.format(place=places[place]) for one in (text, statement)]
        messages = (message + len(notes) * place,)
        facts = tuple(
            FactDraft(one, "", f"matter {at} {n}", "", "person", "stated", (), (), (), "", "", "", messages)
            for n, one in enumerate(texts)
        )
        found.append(NoteDraft(texts[0], "topic", 5, "active", True, messages, facts))
    return found


def _checked(drafts: list[NoteDraft], messages: list[Message], names: Names) -> CheckedNotes:
    numbers = count()
    return check_notes(drafts, messages, (), names, lambda: f"id {next(numbers)}")


def _compared(new: tuple[NewFact, ...], known: list[Fact]) -> None:
    compare_facts(new, known, find_near(new, known))


def _persona(known: list[Fact], names: Names) -> None:
    operations = [Operation("add", (), fact.restatement, "", (number,)) for number, fact in enumerate(known, 1)]
    grounds = Grounds([QuotedFact(fact) for fact in known], date(2025, 3, 1), 800, names)
    editing = PersonaEditing("", (), (), grounds, "en")
    editing.apply_operations(operations)
    editing.finish()


def _known(fact: NewFact, number: int) -> Fact:
    return Fact(
        number, f"known {number}", fact.note, "before", fact.restatement, fact.subject, fact.attribute, fact.value,
        fact.slot, fact.single, fact.about, fact.stance, fact.said, fact.said, fact.messages, since=fact.said,
    )  # fmt: skip


if __name__ == "__main__":
    main()
