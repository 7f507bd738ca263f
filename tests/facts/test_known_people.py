"""Who is known: under all their names, and two of one name apart."""

from __future__ import annotations

from dataclasses import replace

from facts.known_people import NamedPerson, known_people
from facts.slots import COMPANION
from tests.facts.test_persona_lines import fact


def test_people_have_their_other_names_and_what_they_are_to_the_person() -> None:
    facts = [
        fact("1", "Jim is Mara's boss.", "boss", "Jim", said="2025-01-01"),
        fact("2", "Mara's brother is Jim.", "brother", "Jim", said="2025-01-02"),
        fact("3", "Duncan is a friend.", "friend", "Duncan", said="2025-01-03"),
        fact("4", "Duncan is called Skip.", "nickname", "Skip", subject="Duncan", about="other", said="2025-01-04"),
        fact("5", "Duncan is 老邓.", "also called", "老邓", subject="Duncan", about="other", said="2025-01-05"),
        fact("6", "Skip is 船长.", "绰号", "船长", subject="Skip", about="other", said="2025-01-06"),
        fact("7", "Mara likes Oslo.", "likes", "Oslo", said="2025-01-07"),
    ]
    assert known_people(facts) == [
        NamedPerson("Duncan", ("Skip", "老邓", "船长"), "friend"),
        NamedPerson("Jim", (), "brother"),
        NamedPerson("Jim", (), "boss"),
    ]
    assert known_people(facts, most=1) == [NamedPerson("Duncan", ("Skip", "老邓", "船长"), "friend")]


def test_who_is_only_quoted_or_was_corrected_is_not_known() -> None:
    one = fact("1", "Jim is Mara's boss.", "boss", "Jim")
    assert known_people([replace(one, learned_as="quoted", verified=False)]) == []
    assert known_people([replace(one, corrected=True)]) == []
    assert known_people([replace(one, slot=replace(one.slot, subject=COMPANION))]) == []
