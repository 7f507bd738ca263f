"""Which known facts are worth a comparison with new ones: by slot, by what hangs on it, by words that few of them hold.

No model and no vectors: of many known facts only the letters are looked at, so that they take little time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log

from domain.facts import Fact, NewFact, Slot
from facts.evidence import telling, tells
from facts.slots import COMPANION, PERSON, depends_on, folded
from recall.words import terms

#: More known facts than this are not shown to one comparison.
MOST_SHOWN = 30
#: A word that stands in more known facts than this joins nothing.
_RARE = 4
_SAME_SLOT, _DEPENDENT, _SAME_SUBJECT = 100.0, 20.0, 1.5
#: What a change of these may make doubtful is more than the slot itself.
TRIGGERS = frozenset({"home", "employer", "job title", "partner", "relationship status", "death"})


def near(new: Sequence[NewFact], known: Sequence[Fact], most: int = MOST_SHOWN) -> tuple[Fact, ...]:
    """The known facts that are worth a comparison with the new ones, the nearest first; none: no call is needed."""
    texts = [(fact, _text(fact)) for fact in known if fact.current]
    own, slots = _own_names((*new, *(fact for fact, _ in texts))), by_slot(fact for fact, _ in texts)
    everything = "\n".join(text for _, text in texts)
    holding: dict[str, list[Fact]] = {}
    scores: dict[str, float] = defaultdict(float)
    for one in new:
        # In one order in every run: so sums of scores are equal to the last bit, and so is the prompt.
        roots = dict.fromkeys(_root(term) for term in terms(_text(one)) if tells(term) and term not in own)
        for root in roots.keys() - holding.keys():
            holding[root] = _holding(root, texts) if root in everything else []
        rare = [holding[root] for root in roots if 0 < len(holding[root]) <= _RARE]
        for name, score in _scores(one, slots, rare, len(texts)).items():
            scores[name] = max(scores[name], score)
    found = (fact for fact, _ in texts if scores[fact.text_id])
    kept = sorted(found, key=lambda fact: (-scores[fact.text_id], -fact.number))
    return tuple(kept[:most])


def _holding(root: str, texts: Iterable[tuple[Fact, str]]) -> list[Fact]:
    """The facts in whose text a word stands; of more than are rare only so many as show it."""
    found: list[Fact] = []
    for fact, text in texts:
        if root in text:
            found.append(fact)
            if len(found) > _RARE:
                break
    return found


def _text(fact: Fact | NewFact) -> str:
    return folded(" ".join((fact.restatement, fact.value, *fact.keywords, *fact.persons, *fact.entities)))


def _root(term: str) -> str:
    """The letters that every form of a word has."""
    return term[:-1] if len(term) > 3 and term.endswith("i") else term


def _own_names(facts: Iterable[Fact | NewFact]) -> frozenset[str]:
    """The words by which the two who talk are called: they stand everywhere, and join nothing."""
    names = {fact.subject for fact in facts if fact.slot.subject in (PERSON, COMPANION)}
    return telling(" ".join(names))


def by_slot(facts: Iterable[Fact]) -> Mapping[Slot, list[Fact]]:
    """Facts by what they are the value of."""
    found: dict[Slot, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact.slot].append(fact)
    return found


def _scores(
    new: NewFact, slots: Mapping[Slot, Sequence[Fact]], rare: Iterable[Sequence[Fact]], known: int
) -> Mapping[str, float]:
    """How near known facts are to a new one, by id: by slot, by what hangs on it, by words that few of them hold."""
    scores: defaultdict[str, float] = defaultdict(float)
    for found in rare:
        weight = log(1 + known / len(found))
        for fact in found:
            scores[fact.text_id] += weight * (_SAME_SUBJECT if fact.slot.subject == new.slot.subject else 1.0)
    for fact in slots.get(new.slot, ()):
        scores[fact.text_id] += _SAME_SLOT
    for attribute in depends_on(new.slot) if new.slot.attribute in TRIGGERS else ():
        for fact in slots.get(Slot(new.slot.subject, attribute), ()):
            scores[fact.text_id] += _DEPENDENT
    return scores
