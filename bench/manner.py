"""Whether the companion talks like an old friend: the old system prompt against the present one, judged blind.

    python -m bench.manner --keep FOLDER [--base http://127.0.0.1:8920/v1]

``sets/manner.json`` has 40 fixed situations, half of them Chinese: what is known, recalled and said. Each is put once
under the system prompt kept in that file and once under the one of ``prompts.py``; everything else is the same. Without
``--base`` the requests alone are written to the folder. With it, the replies are collected there, each asked for once,
and two files are written: ``sheet.md``, where the two replies to each situation are A and B in an order that only
``key.json`` tells. The judge writes a line ``NAME A`` or ``NAME B`` for each situation, with ``invented A`` or
``invented B`` behind it where a reply tells a memory that is not shown; ``--judged FILE`` counts them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.kept_replies import KeptReplies, Messages
from domain.recollection import RecalledMessage, Recollection, Why
from domain.records import Message, Round
from llm import Layers, assemble_prompt

SET = Path(__file__).parent / "sets" / "manner.json"
WHICH = ("old", "new")


def request(situation: dict[str, Any], system: str | None, now: datetime) -> Messages:
    """The messages of one situation; ``system`` takes the place of the present system prompt."""
    when = now.isoformat()
    rounds = tuple(
        Round(
            Message(2 * at, f"u{at}", "s", when, "user", f"User: {said}", at),
            Message(2 * at + 1, f"a{at}", "s", when, "assistant", f"Assistant: {reply}", at),
        )
        for at, (said, reply) in enumerate(situation["talk"], 1)
    )
    recalled = tuple(
        RecalledMessage(f"m{at}", f"r{time[:10]}", f"{time}:00{when[-6:]}", role, text, True, Why("", 1.0))
        for at, (time, role, text) in enumerate(situation["remembered"])
    )
    layers = Layers(
        situation["say"], now, situation["language"], None, situation["self_image"], situation["user_image"],
        recalled=Recollection((), recalled), rounds=rounds, person=situation["person"],
    )  # fmt: skip
    if system is not None:
        layers = replace(layers, system=system.format(**layers.names))
    return [{"role": one.role, "content": one.content} for one in assemble_prompt(layers, "=== memories ===")]


def requests(data: dict[str, Any]) -> dict[str, tuple[Messages, Messages]]:
    """The old and the new request of each situation, by name."""
    now, old = datetime.fromisoformat(data["now"]), data["old_system"]
    return {one["id"]: (request(one, old[one["language"]], now), request(one, None, now)) for one in data["situations"]}


def is_swapped(name: str) -> bool:
    """Whether the new reply is A: the same in every run, and not to be seen from the name."""
    return hashlib.sha256(f"manner {name}".encode()).digest()[0] % 2 == 0


def sheet(data: dict[str, Any], replies: dict[str, tuple[str, str]]) -> tuple[str, dict[str, dict[str, str]]]:
    """What the judge sees, and which reply is from which prompt."""
    parts, key = [], {}
    for one in data["situations"]:
        pair = [*zip(WHICH, replies[one["id"]], strict=True)]
        pair = pair[::-1] if is_swapped(one["id"]) else pair
        key[one["id"]] = {letter: which for letter, (which, _) in zip("AB", pair, strict=True)}
        known = [*filter(None, (one["self_image"], one["user_image"]))]
        known += [f"({time[:10]}, {role}) {text}" for time, role, text in one["remembered"]]
        said = [line for person, friend in one["talk"] for line in (f"person: {person}", f"friend: {friend}")]
        shown = "\n".join(["Known and recalled:", *(known or ["nothing"]), "", *said, f"person: {one['say']}"])
        answers = "\n\n".join(f"**{letter}**\n\n{text}" for letter, (_, text) in zip("AB", pair, strict=True))
        parts.append(f"## {one['id']}\n\n```\n{shown}\n```\n\n{answers}\n")
    return "\n".join(parts), key


def count_judged(text: str, key: dict[str, dict[str, str]]) -> Counter[str]:
    """How often each prompt was preferred ("new"), and how often its reply invented a memory ("new invented")."""
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        name, *judged = line.split()[:2] or [""]
        if name in key and judged and judged[0] in key[name]:
            counts[key[name][judged[0]]] += 1
            behind = line.partition(" invented ")[2].split()
            counts.update(f"{key[name][letter]} invented" for letter in behind if letter in key[name])
    return counts


def main() -> None:
    """Write the requests, collect the replies, write the sheet, or count what was judged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--base", default="")
    parser.add_argument("--model", default="relay")
    parser.add_argument("--judged", type=Path)
    given = parser.parse_args()
    data = json.loads(SET.read_text(encoding="utf-8"))
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.judged:
        key = json.loads((given.keep / "key.json").read_text(encoding="utf-8"))
        print(dict(count_judged(given.judged.read_text(encoding="utf-8"), key)))
        return
    asked = requests(data)
    if not given.base:
        for name, pair in asked.items():
            for which, messages in zip(WHICH, pair, strict=True):
                path = given.keep / f"{name}.{which}.json"
                path.write_text(json.dumps(messages, ensure_ascii=False, indent=1), encoding="utf-8")
        return
    model = KeptReplies(given.base, given.keep, given.model)
    replies = {name: (model.reply(old), model.reply(new)) for name, (old, new) in asked.items()}
    text, order = sheet(data, replies)
    (given.keep / "sheet.md").write_text(text, encoding="utf-8")
    (given.keep / "key.json").write_text(json.dumps(order, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
