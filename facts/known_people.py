"""The people and animals that are known, each with their other names and what they are to the person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain.facts import Fact
from facts.slots import PERSON, normalize_text
from language.words import is_name

#: The attributes of the person whose value is somebody, and those of somebody whose value is another name.
_RELATIONS = frozenset(
    {
        "partner",
        "child",
        "parent",
        "sibling",
        "pet",
        "friend",
        "colleague",
        "boss",
        "neighbour",
        "doctor",
        "living with",
    }
    | {"cousin", "aunt", "uncle", "grandmother", "grandfather", "teacher", "teammate", "landlord", "ex partner"}
)
_NAMES = frozenset(
    {"name", "nickname", "alias", "also called", "also known as", "real name", "又名", "也叫", "绰号", "真名", "别名"}
)


@dataclass(frozen=True, slots=True)
class NamedPerson:
    """Somebody by the name used first. ``relation`` is what they are to the person, as it was said, or ""."""

    name: str
    aliases: tuple[str, ...] = ()
    relation: str = ""


def known_people(facts: Iterable[Fact], most: int = 30) -> list[NamedPerson]:
    """Those whom facts that hold name, the last mentioned first, at most so many.

    Two of one name with different relations are two people; what somebody is also called joins their names.
    """
    held = [one for one in facts if one.current and one.basis == "verified" and is_name(one.value)]
    relations: dict[tuple[str, str], Fact] = {}
    for one in (one for one in held if one.slot.subject == PERSON and one.slot.attribute in _RELATIONS):
        relations[normalize_text(one.value), one.slot.attribute] = one
    found: list[tuple[str, list[str], str, str]] = [
        (one.value, [], one.attribute, one.seen) for one in relations.values()
    ]
    for one in (one for one in held if one.slot.attribute in _NAMES and one.about == "other"):
        named = {normalize_text(one.subject), one.slot.subject, normalize_text(one.value)}
        for at, (name, aliases, relation, seen) in enumerate(found):
            if named & {normalize_text(word) for word in (name, *aliases, relation)}:
                aliases += [word for word in (one.subject, one.value) if _is_new(word, name, aliases, relation)]
                found[at] = (name, aliases, relation, max(seen, one.seen))
                break
        else:
            found.append((one.subject, [one.value], "", one.seen))
    newest = sorted(found, key=lambda one: one[3], reverse=True)[:most]
    return [NamedPerson(name, tuple(aliases), relation) for name, aliases, relation, _ in newest]


def _is_new(word: str, *known: object) -> bool:
    plain = {normalize_text(one) for each in known for one in (each if isinstance(each, list) else [str(each)])}
    return is_name(word) and normalize_text(word) not in plain
