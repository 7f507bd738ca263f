"""How much of what is recalled was wanted. ``python -m bench.precision --data precisionmembench [--json]``.

The fixtures of tenurehq/precisionMemBench (MIT), counted as its own runner does: a memory holds what one user said in
the scopes of a case, each belief with its names in a session of its own, and is asked the query through ``Memory`` with
default settings. What is pinned in a scope stands in that system's prompt anyway, so to find it is neither right nor
wrong; a relation that is found brings what it relates. Nothing is searched for without a query, or where what is pinned
leaves no room. ``shouldOnlyInclude`` names what has to be found, and nothing else.

``precision`` is the mean over the cases that want something or get something, ``precision_wanted`` and ``recall`` over
those that want something. ``passed``: everything that is wanted was found, and nothing else.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.recall_life import Embedding, opened_history
from bench.recall_sets import Said, Talk

Fixture = Mapping[str, Any]
#: Whom most cases are about, and how many beliefs their prompts have room for.
_USER, _MOST = "test-user", 20


@dataclass(frozen=True)
class Case:
    """What may be found, and what was."""

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
    """Every case, asked of what its user said in its scopes."""
    beliefs, cases = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("beliefs.seed.json", "retrieval.cases.json")
    )
    now = datetime.fromisoformat("2026-10-15T12:00:00+00:00")
    for (user, scope), asked in groupby(sorted(cases, key=_memory_of), _memory_of):
        said = [one for one in beliefs if one["user_id"] == user and not set(scope).isdisjoint(one["scope"])]
        standing = {one["_id"] for one in said if _stands_anyway(one)}
        stated = {one["_id"] for one in said if one["type"] != "open_question"}
        linked = {one["_id"]: stated.intersection(one.get("participants", ())) for one in said}
        with opened_history("en", Embedding(), None) as lived:
            for number, belief in enumerate(said):
                when = datetime.fromisoformat(belief["created_at"])
                lived.live(number, Talk(when, ((Said("user", text_of(belief), belief["_id"]), None),), "", ()))
            for case in asked:
                found = frozenset[str]()
                if case["query"].strip() and len(standing) < case.get("budget", {}).get("maxBeliefs", _MOST):
                    found = lived.handed_over(case["query"], "", now)[0].tids
                    found = found.union(*(linked[one] for one in found)) - standing
                allowed = frozenset(case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude", ()))
                yield Case(case["caseId"], allowed, found)


def _stands_anyway(belief: Fixture) -> bool:
    is_open = belief["type"] == "open_question" or belief["superseded_by"] or belief["resolved_at"]
    return bool(belief["pinned"] and not is_open)


def text_of(belief: Fixture) -> str:
    """A belief as that system's runner gives it to others: its names, what it says, and why it matters."""
    return " ".join((belief["canonical_name"], *belief["aliases"], belief["content"], belief["why_it_matters"]))


def _memory_of(case: Fixture) -> tuple[str, tuple[str, ...]]:
    """Whose memory a case is asked of, and which scopes of it."""
    return case.get("userId", _USER), tuple(sorted(case["scope"]))


def figures(cases: Sequence[Case]) -> dict[str, float]:
    """The figures of these cases."""
    wanted = [one for one in cases if one.allowed]
    counted = [one for one in cases if one.allowed or one.found]
    silent = [one for one in cases if not one.allowed]
    return {
        "cases": len(cases),
        "passed": sum(one.found == one.allowed for one in cases),
        "precision": round(sum(one.precision for one in counted) / len(counted), 3),
        "precision_wanted": round(sum(one.precision for one in wanted) / len(wanted), 3),
        "recall": round(sum(one.recall for one in wanted) / len(wanted), 3),
        "need_nothing": len(silent),
        "silent": sum(not one.found for one in silent),
    }


if __name__ == "__main__":
    main()
