"""What a correction does to a name."""

from __future__ import annotations

import pytest

from domain.facts import Slot
from storage.facts import CorrectedValue, renaming_of


@pytest.mark.parametrize(
    ("right", "statement", "wrong"),
    [
        ("Annika", "Her name isn't Annette, it's Annika.", "Annette"),
        ("Mara", "The name is Mara, not Marta; she lives near Marseille.", "Marta"),
        ("Mara", "Her name is Mara, and she is a nurse at Marsden.", None),
        ("小雅", "她妹妹叫小雅，不叫小芽。", "小芽"),
        ("小雅", "我妹妹叫小雅，小时候就住重庆，你写错了。", None),
    ],
)
def test_only_a_name_that_a_correction_calls_wrong_is_replaced_everywhere(
    right: str, statement: str, wrong: str | None
) -> None:
    about = CorrectedValue(Slot("sister", "job title"), "她是护士", right, statement, "2025-01-01", 1)
    found = renaming_of(about)
    assert (found and found.wrong) == wrong
