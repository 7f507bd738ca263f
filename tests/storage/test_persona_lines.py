"""Lines of which nobody knows what they rest on: those that a model wrote after the erased turns were said."""

from __future__ import annotations

import pytest

from domain.records import Message, Origin, PersonaVersion
from storage.personas import LineFilter

TOLD = Message(1, "told", "later", "2026-03-01T09:00:00+00:00", "user", "User: I keep a parrot in the cellar.", 1)
BEFORE = "Likes long walks."


@pytest.mark.parametrize(("origin", "left"), [("model", BEFORE), ("hand", f"{BEFORE}\nKeeps a parrot in the cellar.")])
def test_a_line_without_evidence_goes_with_the_message_that_it_was_drawn_from_unless_a_person_wrote_it(
    origin: Origin, left: str
) -> None:
    first = PersonaVersion(1, "user", "2026-02-01T09:00:00+00:00", BEFORE, "model", "earlier")
    text = f"{BEFORE}\nKeeps a parrot in the cellar."
    second = PersonaVersion(2, "user", "2026-03-01T10:00:00+00:00", text, origin, "later")
    rule = LineFilter(lambda said: said.lower().rstrip(".").split(), "", [TOLD], ["later"], lambda _: [])
    assert (*rule.filter_versions([first, second]).left, text)[0] == left
