"""A model that gets a share of its facts wrong: in its notes numbers, days, names, roles or details are changed.

The choice depends on each statement alone, so that a run can be repeated. Every other reply is the model's own.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from bench.kept_replies import KeptReplies, Messages

_NOTES = ("Task: take notes", "任务：做笔记")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"(?<![\d.:-])\d{1,6}(?![\d.:年月日-])")
_INVENTED = {
    True: (" every Thursday", " in Lisbon", " with a colleague", " for the first time"),
    False: ("，每周四都这样", "，在里斯本", "，和一个同事一起", "，这还是第一次"),
}
_MOST_DAYS = 20


@dataclass
class MistakenReplies(KeptReplies):
    """Replies with a ``share`` of the facts in notes wrong; ``wrong`` are these statements, with what is changed."""

    share: float = 0.0
    wrong: dict[str, str] = field(default_factory=dict)

    def reply(self, messages: Messages) -> str:
        """The reply to these messages, notes with mistakes. Raises httpx2.HTTPError as ``KeptReplies`` does."""
        text = super().reply(messages)
        if not self.share or not messages[0]["content"].startswith(_NOTES):
            return text
        notes = json.loads(text[text.index("{") : text.rindex("}") + 1])
        facts = [fact for note in notes["notes"] for fact in note.get("facts", ())]
        for fact in facts:
            fact.update(zip(("subject", "attribute", "value"), fact.pop("triple", ()), strict=False))
            fact.setdefault("restatement", fact.pop("fact", ""))
        names = {one for fact in facts for one in (str(fact.get("subject")), *fact.get("persons", ()))}
        for fact in facts:
            chance = random.Random(fact["restatement"])
            ways = sorted(_mistakes(fact, sorted(names - {"", "None"}), chance))
            if chance.random() < self.share and ways:
                kind, changed = chance.choice(ways)
                fact.update(json.loads(changed))
                self.wrong[fact["restatement"]] = kind
        return json.dumps(notes, ensure_ascii=False)


def _mistakes(fact: Mapping[str, Any], names: list[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    """Each kind of mistake that a fact allows, with the fields that it changes as JSON."""

    def changed(kind: str, before: str, after: str) -> tuple[str, str]:
        fields = {name: str(fact.get(name, "")) for name in ("restatement", "value", "subject", "start")}
        return kind, json.dumps({name: text.replace(before, after) for name, text in fields.items()})

    text = str(fact["restatement"])
    if day := _DAY.search(text):
        later = date.fromisoformat(day[0]) + timedelta(chance.randint(1, _MOST_DAYS))
        yield changed("date", day[0], later.isoformat())
    if number := _NUMBER.search(_DAY.sub(lambda found: "-" * len(found[0]), text)):
        yield changed("number", number[0], str(int(number[0]) + chance.randint(1, 9)))
    here, elsewhere = [one for one in names if one in text], [one for one in names if one not in text]
    if here and elsewhere:
        yield changed("name", chance.choice(here), chance.choice(elsewhere))
    apart = [(one, other) for one in here for other in here if one not in other and other not in one]
    if apart:
        one, other = chance.choice(apart)
        swapped = text.replace(one, "\0").replace(other, one).replace("\0", other)
        subject = {one: other, other: one}.get(str(fact.get("subject")), fact.get("subject"))
        yield "role", json.dumps({"restatement": swapped, "subject": subject})
    end = text[-1:] if text.endswith((".", "。")) else ""
    detail = text.removesuffix(end) + chance.choice(_INVENTED[text.isascii()]) + end
    yield "detail", json.dumps({"restatement": detail})
