"""How long the rules take over one window of talk. ``python -m bench.facts --help``

A window of forty turns in each language with thirty notes of two facts is checked, compared with what is known, and an
image of it is changed. No model, no store: what is measured is our own time beside one model call.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import date
from itertools import count

from domain.facts import Fact, NewFact
from domain.records import PREFIX, Role, Turn
from facts.comparing import changes, near
from facts.drafts import FactDraft, NoteDraft
from facts.grounding import Checked, grounded
from facts.operations import Operation, applied
from facts.slots import Names

_ENGLISH = (
    "I'm a claims analyst at Brightwater Insurance, it pays £38,500. I go climbing at The Foundry on Tuesdays.",
    "As thrilling as it sounds made me smile. Are you bouldering or on ropes?",
    "Pickle is fifteen, yesterday she weighed 3.4 kilos. My dentist appointment is next Tuesday, I dread it.",
    "Fifteen is a proper age for a cat. Do you want me to distract you beforehand?",
)
_CHINESE = (
    "我在杭州滨江的净尘科技当嵌入式工程师，月薪两万六，昨天清明回绍兴给外公上坟。",
    "扫地机器人的嵌入式，那是让机器少撞墙的活儿。加班多吗？",
    "女朋友叫林晓，在西溪那边的小学教美术。我打算今年十月十二号跟她求婚，这事谁也不知道。",
    "十月十二号，我替你守着。戒指有谱了吗？",
)
_ENGLISH_NOTES = (
    ("Mara is a claims analyst at Brightwater Insurance for £38,500.", 1),
    ("Mara climbs at The Foundry on Tuesdays.", 1),
    ("Pickle weighed 3.4 kilos on 28 February 2025.", 3),
    ("Mara has a dentist appointment on Tuesday 4 March 2025.", 3),
)
_CHINESE_NOTES = (
    ("陈默在净尘科技当嵌入式工程师，月薪26000元。", 1),
    ("陈默2025年2月28日回绍兴给外公上坟。", 1),
    ("陈默的女朋友林晓在西溪的小学教美术。", 3),
    ("陈默打算2025年10月12日求婚。", 3),
)
_TURNS, _NOTES, _FACTS = 40, 30, 2


def main() -> None:
    """Measure, and print a table."""
    asked = _arguments()
    print(f"{'one window':<28}{'median':>9}{'best':>9}   facts")
    for name, said, notes, names in (
        ("English", _ENGLISH, _ENGLISH_NOTES, Names(("Mara",), ("Juniper",), frozenset({"Pickle"}))),
        ("Chinese", _CHINESE, _CHINESE_NOTES, Names(("陈默",), ("老友",))),
    ):
        turns, drafts = _window(said), _drafts(notes)
        found = _checked(drafts, turns, names)
        known = [_known(fact, number) for number, fact in enumerate(found.facts, 1)]
        _report(f"{name}: check", asked.times, lambda: _checked(drafts, turns, names), len(found.facts))  # noqa: B023
        _report(f"{name}: compare", asked.times, lambda: _compared(found.facts, known), len(known))  # noqa: B023
        _report(f"{name}: image", asked.times, lambda: _image(notes, turns, names), _NOTES)  # noqa: B023


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


def _window(said: tuple[str, ...]) -> list[Turn]:
    found = []
    for at in range(_TURNS):
        role: Role = "assistant" if at % 2 else "user"
        text = PREFIX[role] + said[at % len(said)]
        found.append(
            Turn(at, f"turn {at}", "session", f"2025-03-01T20:00:{at:02}+00:00", role, text, at // 2)
        )
    return found


def _drafts(notes: tuple[tuple[str, int], ...]) -> list[NoteDraft]:
    found = []
    for at in range(_NOTES):
        text, turn = notes[at % len(notes)]
        turn += 4 * (at % (_TURNS // 4))
        facts = tuple(
            FactDraft(text, "", f"matter {at} {n}", "", "person", "stated", (), (), (), "", "", "", (turn,))
            for n in range(_FACTS)
        )
        found.append(NoteDraft(text, "topic", 5, "active", True, (turn,), facts))
    return found


def _checked(drafts: list[NoteDraft], turns: list[Turn], names: Names) -> Checked:
    numbers = count()
    return grounded(drafts, turns, (), names, lambda: f"id {next(numbers)}")


def _compared(new: tuple[NewFact, ...], known: list[Fact]) -> None:
    changes(new, known, near(new, known))


def _image(notes: tuple[tuple[str, int], ...], turns: list[Turn], names: Names) -> None:
    operations = [
        Operation("add", 0, notes[at % len(notes)][0], "", 5, (notes[at % len(notes)][1],))
        for at in range(_NOTES)
    ]
    applied("", (), operations, turns, (), "en", 800, date(2025, 3, 1), names=names)


def _known(fact: NewFact, number: int) -> Fact:
    return Fact(
        number, f"known {number}", fact.note, "before", fact.restatement, fact.subject, fact.attribute, fact.value,
        fact.slot, fact.single, fact.about, fact.stance, fact.said, fact.said, fact.turns, since=fact.said,
    )  # fmt: skip


if __name__ == "__main__":
    main()
