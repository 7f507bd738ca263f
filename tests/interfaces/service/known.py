"""What a model notes in tests of the service: facts with relations, as it would write them."""

from __future__ import annotations

import json
from typing import Any


def notes(*facts: dict[str, Any]) -> str:
    """The reply to a window: one note a fact."""
    told = [
        {"turns": fact["turns"], "text": fact["restatement"], "topic": "life", "importance": 6, "facts": [fact]}
        for fact in facts
    ]
    return json.dumps({"notes": told})


def lives_in(who: str, place: str, message: int = 1) -> dict[str, Any]:
    """A fact about where somebody lives, with its relation."""
    return {
        "turns": [message],
        "restatement": f"{who} lives in {place}.",
        "about": "other",
        "subject": who,
        "attribute": "home",
        "value": place,
        "persons": [who],
        "entities": [place],
        "relations": [{"source": who, "relation": "lives in", "target": place}],
    }


LYON = notes(lives_in("Ann", "Lyon"))
