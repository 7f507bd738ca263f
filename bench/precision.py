"""How much of what is recalled was wanted. ``python -m bench.precision --data precisionmembench [--json]``.

The fixtures of tenurehq/precisionMemBench (MIT): each belief is said in a session of its own, and each case is asked of
all of them, through ``Memory`` with default settings. A case names what alone may be found by its words
(``shouldOnlyInclude``), and what must stand in the prompt anyway because it is pinned in that system (``mustInclude``):
to find that too is neither right nor wrong. Cases for which nothing is allowed by its words should be silent.

Precision and recall are means over the cases that allow something; ``passed`` are the cases with everything that must
and nothing that may not be found.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.recall_life import Embedding, opened_history
from bench.recall_sets import Said, Talk

Fixture = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """What is asked, after which messages, what may be found, and what was."""

    name: str
    allowed: frozenset[str]
    found: frozenset[str]

    @property
    def precision(self) -> float:
        """The share of what was found that may be."""
        return len(self.found & self.allowed) / len(self.found) if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of what may be found that was."""
        return len(self.found & self.allowed) / len(self.allowed)


def main(given: Sequence[str] | None = None) -> None:
    """Ask every case, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the fixtures")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cases", action="store_true", help="print every case")
    options = parser.parse_args(given)
    cases = list(ask_all(options.data))
    if options.cases:
        for one in cases:
            print(one.name, len(one.allowed), len(one.found), sorted(one.allowed ^ one.found))
    found = figures(cases)
    lines = "\n".join(f"{name}: {value}" for name, value in found.items())
    print(json.dumps(found, indent=1) if options.json else lines)


def ask_all(folder: Path) -> Iterator[Case]:
    """Every case, asked of all beliefs."""
    beliefs, alone, in_sessions = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("beliefs.seed.json", "retrieval.cases.json", "session-retrieval.cases.json")
    )
    with opened_history("en", Embedding(), None) as lived:
        for number, belief in enumerate(beliefs):
            when = datetime.fromisoformat(belief["created_at"])
            lived.live(number, Talk(when, ((Said("user", belief["content"], belief["_id"]), None),), "", ()))
        now = datetime.fromisoformat("2026-10-15T12:00:00+00:00")
        for case in alone:
            handed, _ = lived.handed_over(case["query"], "", now)
            yield _case(case["caseId"], case["expect"], handed.tids)
        for case in in_sessions:
            before = ""
            for turn in case["turns"]:
                handed, _ = lived.handed_over(turn["userMessage"], before, now)
                if turn.get("expect"):
                    yield _case(f"{case['caseId']} {turn['turnIndex']}", turn["expect"], handed.tids)
                before = f"{turn['userMessage']}\n{turn['assistantMessage']}"


def _case(name: str, expected: Fixture, found: frozenset[str]) -> Case:
    """What was found, without what stands in that system's prompt anyway."""
    by_words = frozenset(expected.get("relevantBeliefs", {}).get("shouldOnlyInclude", ()))
    parts = [part for part in expected.values() if isinstance(part, Mapping)]
    standing = {belief for part in parts for belief in part.get("mustInclude", ())}
    return Case(name, by_words, found - (standing - by_words))


def figures(cases: Sequence[Case]) -> dict[str, float]:
    """The figures of these cases."""
    wanted = [one for one in cases if one.allowed]
    silent = [one for one in cases if not one.allowed]
    return {
        "cases": len(cases),
        "passed": sum(one.found == one.allowed for one in cases),
        "precision": round(sum(one.precision for one in wanted) / len(wanted), 3),
        "recall": round(sum(one.recall for one in wanted) / len(wanted), 3),
        "need_nothing": len(silent),
        "silent": sum(not one.found for one in silent),
    }


if __name__ == "__main__":
    main()
