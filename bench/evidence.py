"""How many labelled drafts rules keep and refute, and what is stated. ``python -m bench.evidence --help``.

Every line of the data holds a window of messages, one draft of a fact as a model would return it, and a label:
``supported`` (the messages state exactly this) or ``unsupported``. A draft is kept when it is stored as certain as it
claims to be and with the figures it claims. With ``--base`` the drafts that rules keep are put to a model, those of one
window in one question, and count as stated where it says yes.

``misleading_quotations``: of all drafts, how often the words shown lack a cue (a denial, a supposition, a wish, a
dream, a joke) of the sentences around them or of the question they answer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from bench.kept_replies import KeptReplies
from domain.facts import NewFact
from domain.records import PREFIX, Message, Role
from facts.checking import CheckedNotes, check_notes
from facts.cues import begins_with_no, is_denial, stance_of
from facts.drafts import NoteDraft, read_answers, read_notes
from facts.slots import Names
from facts.spans import Testimony, governs_next, locate_quote, material_of, quotation_of, takes_back_before
from language.scripts import language_of
from language.sentences import sentence_spans
from llm import names_in
from models.tasks import Task

_ADDED = re.compile(r"\s?[(（][^()（）]*[)）]")


@dataclass
class _Judged:
    """A labelled draft: why rules do not keep it, the fact it became, and what a model says of it."""

    row: Mapping[str, Any]
    reason: str
    fact: NewFact | None
    messages: Sequence[Message]
    answer: str = ""

    @property
    def supported(self) -> bool:
        return bool(self.row["label"] == "supported")


def main() -> None:
    """Check every draft and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="files of labelled drafts (JSON Lines)")
    parser.add_argument("--base", help="address of an OpenAI-compatible server that is asked about what rules keep")
    parser.add_argument("--model", default="model", help="name of its model")
    parser.add_argument("--keep", type=Path, help="folder of its replies, so that nothing is asked twice")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--wrong", action="store_true", help="list the drafts that are judged wrongly")
    asked = parser.parse_args()
    found = [_judge_draft(row) for path in asked.data for row in _read_rows(path)]
    if asked.base:
        keep = asked.keep or Path("kept-evidence")
        keep.mkdir(parents=True, exist_ok=True)
        _ask_model(found, KeptReplies(asked.base, keep, asked.model))
    if asked.wrong:
        for one in found:
            if _is_believed(one) != one.supported:
                told = [one.row["id"], one.row["kind"], one.row["label"], one.reason or one.answer, one.row["draft"]]
                print(json.dumps(told, ensure_ascii=False))
    report = _measure(found, with_model=bool(asked.base))
    if asked.json:
        print(json.dumps(report, ensure_ascii=False))
        return
    for name, value in report.items():
        if name != "by_kind":
            print(f"{name:<24}{'-' if value is None else format(value, '.3f' if isinstance(value, float) else 'd')}")
    for kind, (right, all_of_it) in sorted(report["by_kind"].items()):
        print(f"  {kind:<44}{right:>3} of {all_of_it}")


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _is_believed(one: _Judged) -> bool:
    """Whether a draft is stated; where no model was asked, whether rules keep it."""
    return not one.reason and one.answer in ("", "yes")


def _measure(found: Sequence[_Judged], *, with_model: bool) -> dict[str, Any]:
    labels: Counter[tuple[bool, bool]] = Counter((one.supported, not one.reason) for one in found)
    stated = [one for one in found if _is_believed(one)]
    right = sum(one.supported for one in stated)
    put = [one for one in found if one.answer]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for one in found:
        kinds[f"{one.row['label']}: {one.row['kind']}"].append(_is_believed(one) == one.supported)
    supported = max(1, sum(one.supported for one in found))
    return {
        "supported_kept": labels[True, True] / supported,
        "unsupported_refuted": labels[False, False] / max(1, len(found) - supported),
        "precision": right / max(1, len(stated)),
        "stated": right / supported if with_model else None,
        "misleading_quotations": sum(map(_misleads, found)),
        "false_yes": sum(one.answer == "yes" and not one.supported for one in put) if with_model else None,
        "false_no": sum(one.answer != "yes" and one.supported for one in put) if with_model else None,
        "by_kind": {kind: (sum(each), len(each)) for kind, each in kinds.items()},
    }


def _judge_draft(row: Mapping[str, Any]) -> _Judged:
    """Why the rules do not keep a draft as it is; "" where they do."""
    names = row["names"]
    window = [_read_message(one) for one in row["window"]]
    drafts = _read_draft(row["draft"], row.get("quote") or ())
    known = Names(tuple(names.get("person", ())), tuple(names.get("companion", ())))
    checked: CheckedNotes = check_notes(drafts, window, [], known, map(str, count(1)).__next__)
    if not checked.facts:
        return _Judged(row, ", ".join(checked.rejected) or "no draft", None, window)
    fact, stance = checked.facts[0], row["draft"].get("stance") or "stated"
    reason = ""
    if _ADDED.sub("", fact.restatement) != _ADDED.sub("", row["draft"]["restatement"]):
        reason = "corrected"
    elif fact.stance not in (stance, stance_of(row["draft"]["restatement"])):
        reason = f"only {fact.stance}"
    return _Judged(row, reason, fact, window)


def _misleads(one: _Judged) -> bool:
    """Whether the words that would be shown for a draft lack a cue that stands around them."""
    drafts = one.row.get("quote") or [{"words": one.row["draft"]["restatement"], "turn": 0}]
    found = []
    for draft in drafts:
        named = [message for message in one.messages if message.seq == draft["turn"]] or one.messages
        found.append(locate_quote(draft["words"], named))
    quotes = [quote for quote in found if quote]
    shown = quotation_of(quotes, one.messages)
    for quote in quotes:
        place = next(at for at, message in enumerate(one.messages) if message.text_id == quote.message)
        words = one.messages[place].words
        spans = sentence_spans(words)
        own = [at for at, (start, end) in enumerate(spans) if start < quote.end and quote.start < end]
        texts = [re.sub(r"\s+", " ", words[slice(*span)]) for span in spans]
        cues = [texts[at] for at in own if is_denial(texts[at]) or stance_of(texts[at]) != "stated"]
        cues += [texts[own[0] - 1]] if own and own[0] and governs_next(texts[own[0] - 1]) else []
        following = texts[own[-1] + 1] if own and own[-1] + 1 < len(texts) else ""
        cues += [following] if takes_back_before(following) else []
        after = one.messages[place + 1].words if place + 1 < len(one.messages) else ""
        if one.messages[place].role == "assistant" and begins_with_no(after):
            cues.append(after[: sentence_spans(after)[0][1]])
        if any(re.sub(r"\s+", " ", cue).strip() not in shown for cue in cues):
            return True
    return False


# --- the question to a model


def _ask_model(found: Sequence[_Judged], replies: KeptReplies) -> None:
    """Put the kept drafts of each window to a model in one question, as the program does."""
    windows: dict[str, list[_Judged]] = defaultdict(list)
    for one in found:
        if not one.reason and one.fact:
            windows[json.dumps(one.row["window"], ensure_ascii=False)].append(one)
    for told, kept in windows.items():
        random.Random(told).shuffle(kept)
        language = language_of(*(message.words for message in kept[0].messages))
        names = names_in(language, _name_of(kept[0], "companion"), _name_of(kept[0], "person"))
        task = Task(language, names, _BOUNDARY, datetime.fromisoformat(kept[0].messages[-1].timestamp))
        asked = task.verification_prompt([_candidate(one) for one in kept])
        answers = read_answers(replies.reply([{"role": one.role, "content": one.content} for one in asked]), len(kept))
        for number, one in enumerate(kept, 1):
            one.answer = answers.get(number, "no")


_BOUNDARY = "=== evidence ==="


def _name_of(one: _Judged, who: str) -> str:
    return str(next(iter(one.row["names"].get(who, ())), who))


def _candidate(one: _Judged) -> Testimony:
    assert one.fact
    called = {"user": _name_of(one, "person"), "assistant": _name_of(one, "companion")}
    return material_of([one.fact], one.messages, called)[0]


# --- reading


def _read_draft(draft: Mapping[str, Any], quote: Sequence[Mapping[str, Any]]) -> Sequence[NoteDraft]:
    fact = {**draft, "quote": [dict(one) for one in quote]}
    note = {"turns": draft["turns"], "text": draft["restatement"], "topic": "", "importance": 5, "facts": [fact]}
    return read_notes(json.dumps({"notes": [note]})).notes


def _read_message(given: Mapping[str, Any]) -> Message:
    role: Role = "assistant" if given["speaker"] == "companion" else "user"
    speaker = "" if given["speaker"] in ("user", "companion") else str(given["speaker"])
    number, text = int(given["turn"]), PREFIX[role] + given["text"]
    return Message(number, f"m{number}", "session", given["at"], role, text, (number + 1) // 2, speaker=speaker)


if __name__ == "__main__":
    main()
