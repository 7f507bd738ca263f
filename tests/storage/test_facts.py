"""What a correction does to a name."""

from __future__ import annotations

import pytest

from domain.facts import Slot
from storage.facts import CorrectedValue, find_misnamed, renaming_of


@pytest.mark.parametrize(
    ("right", "statement", "wrong"),
    [
        ("Annika", "Her name isn't Annette, it's Annika.", "Annette"),
        ("Mara", "The name is Mara, not Marta; she lives near Marseille.", "Marta"),
        ("Mara", "Her name is Mara, and she is a nurse at Marsden.", None),
        ("小雅", "她妹妹叫小雅，不叫小芽。", "小芽"),
        ("小雅", "我妹妹叫小雅，小时候就住重庆，你写错了。", None),
        ("林筱", "名字说错成了林晓，正确的是林筱", "林晓"),
    ],
)
def test_only_a_name_that_a_correction_calls_wrong_is_replaced_everywhere(
    right: str, statement: str, wrong: str | None
) -> None:
    for value in ("她是护士", "在小学教美术"):
        found = renaming_of(CorrectedValue(Slot("sister", "job title"), value, right, statement, "2025-01-01", 1))
        assert (found and found.wrong) == wrong


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("By the way it's Annika, not Annette, my phone kept autocorrecting it.", True),
        ("It's Annika. Not Annette, that was a typo.", True),
        ("I've been spelling Annette wrong, it's Annika.", True),
        ("林晓的“晓”我一直打错了，是竹字头那个筱，林筱。", True),
        ("我老是把林筱写成林晓，输入法的问题。", True),
        ("My boss is Annika, not Annette.", False),
        ("I misheard the time. My boss is Annika, not Annette.", False),
        ("Autocorrect keeps turning Annette to Annika.", False),
        ("I misspelt Annette.", False),
        ("Wrong number: it was Gareth, not Annette.", False),
        ("我同事叫林筱，不叫林晓。", False),
        ("你把林晓打成林筱了，打错了。", False),
        ("林晓没打错，林筱是她妹妹。", False),
        ("林晓我写错了。", False),
        ("I was wrong about Annette, she is nicer than Annika.", False),
        ("I got on the wrong bus with Annette, but Annika found me.", False),
        ("Annette and Annika both found the typo.", False),
        ("时间我记错了，林晓先到，林筱后到。", False),
        ("林晓和林筱都说我打错字了。", False),
    ],
)
def test_words_correct_a_name_where_they_name_both_and_a_mistake_and_nobody_has_the_right_one(
    said: str, found: bool
) -> None:
    sentences, given = said.split(". "), ["Annika", "Annette", "Gareth", "林筱", "林晓"]
    wrong, right = ("林晓", "林筱") if "林" in said else ("Annette", "Annika")
    misnamed = find_misnamed(sentences, given, ["Annette", "林晓"])
    assert (misnamed and (misnamed.wrong, misnamed.right)) == ((wrong, right) if found else None)
    assert find_misnamed(sentences, given, ["Annette", "林晓", "Annika", "林筱"]) is None
