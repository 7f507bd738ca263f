"""How often memory is silent when it should be.

    python -m bench.silence --data silence-dev.json --lives FOLDER [--json]

Every message is asked in the lives, alone and in the middle of another talk, and those that need no memory also in
large histories (``--histories``, a folder of the sets of ``bench.recall``): the longest of each set with 600 messages
and more, and all Chinese sets as one. Nothing is answered by a model; default settings, the sentence embedder.

``none_silent``: of messages that need no memory, the share that gets nothing. ``near``: questions about the person
whose answer was never said; ``near_tokens`` is what they get on average, ``near_unknown`` how often the prompt says
that nothing is known of it. ``needed_found``: of messages that need memory, the share that gets one that is needed;
``needed_share``: of the messages that are handed over to them, the share that is needed; ``needed_share_rounds``: the
same, where the other message of a round with a needed one counts as needed too. ``halves`` has the same for each half
of the messages by text: the gate was fitted looking at half 0 alone.

``ceiling`` (with ``--ceiling``): the greatest share needed that any cut of the present order reaches where a needed
message arrives in 80 % (English) and 75 % (Chinese). ``rank``: the same cut for every message. ``perfect``: each
message cut where its needed ones say, which no program knows; ``perfect_rounds`` and ``perfect_person`` are the same
with rounds counted as above, and for the person's own messages alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

from bench.living import evenings, read_life
from bench.recall_life import Embedding, HandedOver, opened_history
from bench.recall_sets import Said, Talk, read

_LARGE = 600
Message = Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """What was lived before the messages: ``life`` for one of the lives."""

    name: str
    language: str
    talks: Sequence[Talk]
    asked_on: datetime
    life: bool


@dataclass(frozen=True)
class Asked:
    """A message in a history, and what a prompt would have held for it."""

    message: Message
    history: History
    way: str
    handed: HandedOver
    order: Sequence[str] = ()

    @property
    def needs(self) -> frozenset[str]:
        """The messages that it needs."""
        return frozenset(self.message["needs"])

    @property
    def rounds(self) -> frozenset[str]:
        """Those, and the other message of the round of each."""
        rounds = ({said.tid for said in one if said} for talk in self.history.talks for one in talk.rounds)
        return self.needs.union(*(one for one in rounds if one & self.needs))

    @property
    def by_person(self) -> frozenset[str]:
        """All that the person said."""
        return frozenset(user.tid for talk in self.history.talks for user, _ in talk.rounds if user)


def main(given: Sequence[str] | None = None) -> None:
    """Ask everything, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the messages")
    parser.add_argument("--lives", type=Path, required=True, help="a folder with lives")
    parser.add_argument("--histories", type=Path, help="a folder with sets; without it that above the messages' own")
    parser.add_argument("--cache", type=Path, help="a folder that keeps vectors between runs")
    parser.add_argument("--ceiling", action="store_true", help="what any cut of the present order could reach")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(given)
    messages = json.loads(options.data.read_text(encoding="utf-8"))
    sets = options.histories or options.data.resolve().parent.parent
    histories = [*map(life_history, sorted(options.lives.glob("*.json")))]
    if options.ceiling:
        messages = [one for one in messages if one["kind"] == "need"]
    else:
        histories += large_histories(sets)
    asked = [one for history in histories for one in ask_all(messages, history, options.cache)]
    found = summary(asked) | ({"ceiling": ceiling(asked)} if options.ceiling else {})
    print(json.dumps(found, ensure_ascii=False, indent=1) if options.json else "\n".join(_lines(found)))


def life_history(path: Path) -> History:
    """A life as a history."""
    life = read_life(path)
    talks = []
    for evening, session in zip(evenings(life), life["sessions"], strict=True):
        said = {message["text"]: message["tid"] for message in session["turns"]}
        rounds = tuple(
            (Said("user", user, said[user]), Said("assistant", reply, said[reply])) for _, user, reply in evening
        )
        talks.append(Talk(evening[0][0], rounds, "", ()))
    return History(life["name"], life["lang"], talks, datetime.fromisoformat(life["asked_on"]).astimezone(), life=True)


def large_histories(folder: Path) -> Iterator[History]:
    """The longest history of each set with enough messages, and the Chinese ones as one."""
    chinese: list[Talk] = []
    for path in sorted(folder.glob("*.json.gz")):
        data = read(path)
        if data.language == "zh":
            chinese += [_renamed(name, talk) for name, talks in data.histories.items() for talk in talks]
            continue
        name, talks = max(data.histories.items(), key=lambda one: _size(one[1]))
        if _size(talks) >= _LARGE:
            yield History(f"{data.name} {name}", data.language, talks, talks[-1].date + timedelta(days=1), life=False)
    if chinese:
        last = max(talk.date for talk in chinese)
        yield History("all Chinese sets", "zh", chinese, last + timedelta(days=1), life=False)


def _size(talks: Sequence[Talk]) -> int:
    return sum(said is not None for talk in talks for spoken in talk.rounds for said in spoken)


def _renamed(name: str, talk: Talk) -> Talk:
    def own(said: Said | None) -> Said | None:
        return replace(said, tid=f"{name} {said.tid}") if said else None

    return replace(talk, rounds=tuple((own(user), own(reply)) for user, reply in talk.rounds))


def ask_all(messages: Sequence[Message], history: History, cache: Path | None) -> Iterator[Asked]:
    """Every message that belongs to a history: those of its language, in a large one only those that need nothing."""
    with opened_history(history.language, Embedding(), cache) as lived:
        for number, talk in enumerate(history.talks):
            lived.live(number, talk)
        for message in messages:
            if message["lang"] == history.language and message["history"] in (None, history.name):
                ways = lived.handed_over(message["text"], "", history.asked_on)
                orders = lived.orders(message["text"], history.asked_on) if message["kind"] == "need" else ((), ())
                for way, handed, order in zip(("alone", "amid another talk"), ways, orders, strict=True):
                    yield Asked(message, history, way, handed, order)


# -- figures


def summary(asked: Sequence[Asked]) -> dict[str, Any]:
    """All figures: overall, by language, by history, by way, and for both halves of the messages."""
    groups: Mapping[str, Callable[[Asked], str]] = {
        "languages": lambda one: one.message["lang"],
        "histories": lambda one: one.history.name,
        "ways": lambda one: one.way,
        "halves": lambda one: str(crc32(one.message["text"].encode()) % 2),
    }
    found: dict[str, Any] = figures(asked)
    for group, name_of in groups.items():
        names = dict.fromkeys(map(name_of, asked))
        found[group] = {name: figures([one for one in asked if name_of(one) == name]) for name in names}
    return found


def figures(asked: Sequence[Asked]) -> dict[str, float]:
    """Shares in percent, and tokens; what nothing was asked for is left out."""
    found: dict[str, float] = {}

    def of(kind: str, *, life: bool = True) -> list[Asked]:
        return [one for one in asked if one.message["kind"] == kind and one.history.life == life]

    def percent(name: str, flags: Sequence[bool]) -> None:
        if flags:
            found[name] = round(100 * sum(flags) / len(flags), 1)

    percent("none_silent", [not one.handed.tokens for one in of("none")])
    percent("none_silent_large", [not one.handed.tokens for one in of("none", life=False)])
    if near := of("near"):
        found["near_tokens"] = round(sum(one.handed.tokens for one in near) / len(near), 1)
        percent("near_unknown", [one.handed.unknown for one in near])
    need = of("need")
    percent("needed_found", [not one.handed.tids.isdisjoint(one.needs) for one in need])
    if handed := sum(len(one.handed.tids) for one in need):
        for name, right in (("", [one.needs for one in need]), ("_rounds", [one.rounds for one in need])):
            arrived = sum(len(one.handed.tids & each) for one, each in zip(need, right, strict=True))
            found[f"needed_share{name}"] = round(100 * arrived / handed, 1)
        found["need_tokens"] = round(sum(one.handed.tokens for one in need) / len(need), 1)
    return found


# -- what a cut could reach


def ceiling(asked: Sequence[Asked]) -> dict[str, float]:
    """The greatest shares needed, in percent, and ``rank_messages``, how many each gets of the best rank."""
    least = {"en": 0.80, "zh": 0.75}
    plain = [(one.message["lang"], [tid in one.needs for tid in one.order]) for one in asked]
    rounds = [(one.message["lang"], [tid in one.rounds for tid in one.order]) for one in asked]
    own = [(one.message["lang"], [tid in one.needs for tid in one.order if tid in one.by_person]) for one in asked]
    rank = next(
        count
        for count in itertools.count(1)
        if all(_mean([any(a[:count]) for of, a in plain if of == name]) >= share for name, share in least.items())
    )
    shares = {"rank_messages": float(rank), "rank": 100 * _mean([one for _, a in plain for one in a[:rank]])}
    ways = {"perfect": plain, "perfect_rounds": rounds, "perfect_person": own}
    return {name: round(one, 1) for name, one in (shares | {n: _perfect(w, least) for n, w in ways.items()}).items()}


def _perfect(orders: Sequence[tuple[str, Sequence[bool]]], least: Mapping[str, float]) -> float:
    """The greatest share needed where each message is cut at the place that is best for all, and enough find one."""
    share = 0.0
    while True:
        given = right = 0
        for name, found in least.items():
            cuts = [_best_cut(needed, share) for of, needed in orders if of == name]
            cuts.sort(key=lambda cut: cut[1] - share * cut[0], reverse=True)
            must = math.ceil(found * len(cuts))
            taken = [cut for at, cut in enumerate(cuts) if at < must or cut[1] > share * cut[0]]
            given, right = given + sum(cut[0] for cut in taken), right + sum(cut[1] for cut in taken)
        if right / given <= share + 1e-9:
            return 100 * share
        share = right / given


def _best_cut(needed: Sequence[bool], share: float) -> tuple[int, int]:
    """How many messages the best cut of an order gives, and how many of them are needed, where others have a share."""
    right = list(itertools.accumulate(needed, initial=0))
    cuts = [(at, count) for at, count in enumerate(right) if count]
    return max(cuts, key=lambda cut: cut[1] - share * cut[0], default=(len(needed), 0))


def _mean(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A table of all figures."""
    rows = {"all": found} | {
        name: row for each in found.values() if isinstance(each, dict) for name, row in each.items()
    }
    names = [name for name, value in found.items() if not isinstance(value, dict)]
    yield f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}"
    for title, row in rows.items():
        yield f"| {title} | {' | '.join(str(row.get(name, '')) for name in names)} |"


if __name__ == "__main__":
    main()
