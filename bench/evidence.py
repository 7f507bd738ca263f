"""How many labelled drafts the rules of evidence keep and refute. ``python -m bench.evidence --help``.

Every line of the data holds a window of messages, one draft of a fact as a model would return it, and a label:
``supported`` (the messages state exactly this) or ``unsupported``. A draft counts as believed when it is stored as
certain as it claims to be. No model is asked.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from domain.records import PREFIX, Message, Role
from facts.checking import CheckedNotes, check_notes
from facts.drafts import NoteDraft, read_notes
from facts.slots import Names


def main() -> None:
    """Check every draft and print what the rules made of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="files of labelled drafts (JSON Lines)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--wrong", action="store_true", help="list the drafts that the rules judge wrongly")
    asked = parser.parse_args()
    found = [(row, _judge_draft(row)) for path in asked.data for row in _read_rows(path)]
    if asked.wrong:
        for row, reason in found:
            if (reason == "") != (row["label"] == "supported"):
                print(json.dumps([row["id"], row["kind"], row["label"], reason, row["draft"]], ensure_ascii=False))
    report = _measure(found)
    if asked.json:
        print(json.dumps(report, ensure_ascii=False))
        return
    for name in ("supported_kept", "unsupported_refuted", "precision"):
        print(f"{name:<22}{report[name]:.3f}")
    for kind, (right, all_of_it) in sorted(report["by_kind"].items()):
        print(f"  {kind:<32}{right:>3} of {all_of_it}")


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _measure(found: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, Any]:
    labels: Counter[tuple[str, bool]] = Counter((row["label"], reason == "") for row, reason in found)
    kept, lost = labels["supported", True], labels["supported", False]
    believed, refuted = labels["unsupported", True], labels["unsupported", False]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for row, reason in found:
        kinds[f"{row['label']}: {row['kind']}"].append((reason == "") == (row["label"] == "supported"))
    return {
        "supported_kept": kept / max(1, kept + lost),
        "unsupported_refuted": refuted / max(1, believed + refuted),
        "precision": kept / max(1, kept + believed),
        "by_kind": {kind: (sum(right), len(right)) for kind, right in kinds.items()},
    }


def _judge_draft(row: Mapping[str, Any]) -> str:
    """Why the rules do not believe a draft as it is; "" where they do."""
    names = row["names"]
    window = [_read_message(one, names) for one in row["window"]]
    drafts = _read_draft(row["draft"], row["quote"])
    known = Names(tuple(names.get("person", ())), tuple(names.get("companion", ())))
    checked: CheckedNotes = check_notes(drafts, window, [], known, map(str, count(1)).__next__)
    if not checked.facts:
        return ", ".join(checked.rejected) or "no draft"
    stance = row["draft"].get("stance") or "stated"
    return "" if checked.facts[0].stance == stance else f"only {checked.facts[0].stance}"


def _read_draft(draft: Mapping[str, Any], quote: Sequence[Mapping[str, Any]]) -> Sequence[NoteDraft]:
    fact = {**draft, "quote": [one["words"] for one in quote]}
    note = {"turns": draft["turns"], "text": draft["restatement"], "topic": "", "importance": 5, "facts": [fact]}
    return read_notes(json.dumps({"notes": [note]})).notes


def _read_message(given: Mapping[str, Any], names: Mapping[str, Any]) -> Message:
    role: Role = "assistant" if given["speaker"] == "companion" else "user"
    speaker = "" if given["speaker"] in ("user", "companion") else str(given["speaker"])
    number = int(given["turn"])
    return Message(
        number,
        f"m{number}",
        "session",
        given["at"],
        role,
        PREFIX[role] + given["text"],
        (number + 1) // 2,
        speaker=speaker,
    )


if __name__ == "__main__":
    main()
