"""Whether somebody else does what a statement says of its subject, by the words it rests on, in English and Chinese.

"My flatmate Ginny waters it" is not "Jo waters it", and 她送我的围巾 is no present of mine. Who does something is
whoever is named last before it in its sentence. Where that is unclear, by a "you", a "with" or an "and", nothing is refuted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from domain.facts import About
from domain.patterns import pattern_of
from facts.evidence import Sentence, telling_terms
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.relations import RELATIONS

_KIN = frozenset().union(*RELATIONS)
_KIN_HAN = "|".join(sorted((one for one in _KIN if not one.isascii()), key=len, reverse=True))
_TOKEN = pattern_of(
    r"(?P<word>[a-z][\w'-]*)"
    rf"|(?P<whose>[我咱他她你那这](?:们?家?的?|个))?(?P<kin>[大小老二三表堂]?(?:{_KIN_HAN}))"
    r"|(?P<self>[我咱](?!们?家))|(?P<pronoun>[他她它佢])|(?P<unclear>[你您]|人家|对方|大家|医生|大夫|人(?!民))"
)
_CLITIC = pattern_of(r"'(?:s|d|ll|re|ve|m)?$")
_SELF, _PRONOUN = frozenset("i im ive".split()), frozenset("he she hes shes".split())  # noqa: SIM905
_UNCLEAR = frozenset("we you they theyre your our us".split())  # noqa: SIM905
_AUXILIARY = frozenset(
    """
    am is are was were be been being has have had having do does did will would can could shall should may might must
    not never just also still now always often usually already going to only really it that the a an
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
_PASSIVE = frozenset("am is are was were be been being got".split())  # noqa: SIM905
#: Both do it, or each to the other.
_TOGETHER = pattern_of(
    r"\b(?:and|&) (?:i|me|we)\b|\b(?:i|me) and\b|\b(?:with|by|like|too|also|both|same|together|as well|n?either|us|we|each other)\b"
    r"|\bso (?:do|does|did|is|am|are|has|have|can)\b|\bas (?:do|does|did)\b",
    re.IGNORECASE,
)
_MUTUAL = pattern_of(
    r"me?et|marr|dat(?:e|ing)|divorc|hug|kiss|argu|f[io]ught|split|danc|kn[eo]w|chat|talk|spe?o?[ak]|play|wed"
)
_TOGETHER_HAN = pattern_of(r"[和跟与被由俩]|一起|互相")
#: What may precede a deed in a statement, and those to or for whom it is done.
_BEFORE_A_DEED = pattern_of(
    r"\d{4}年(?:\d+月)?(?:\d+日)?|已经|现在|目前|每天|经常|打算|计划|准备|^(?:\d+月\d+日|[想要会也都把将不])+"
)
_WORD = pattern_of(r"[A-Za-z][\w'-]*")
_FOR_WHOM = tuple("给帮陪跟替对比和同与为向离")
#: Characters of any sentence.
_EVERYWHERE = frozenset("的了是在有就也都还很这那和跟与去来到说要会能不没着过吧呢啊呀嘛吗已经今天现在年月日号上下个一")
#: So many words, or characters, are near.
_NEAR = 6
_TIMES = frozenset((*DAY_NAMES, *MONTH_NAMES))
_NAMED = pattern_of(
    r"(?P<where>\b(?:in|at|from|near|on|the) )?(?P<name>(?<=[a-z,:] )[A-Z][a-z]+|[小阿](?![时区心是家公学店吃事样气])[\u4e00-\u9fff])"
)
_CAPITAL = pattern_of(r"(?<=\w )[A-Z][a-z]+|^[A-Z][a-z]+")
_OF_SEVERAL = pattern_of(r"[^ ]| (?:and|or) ")
#: A possessive with something of theirs behind it.
_OWNS = pattern_of(r"[\w-]+'s \w")
_TO_THE_SPEAKER = pattern_of(r"\b(?:me|us|my)\b")
_LETS = pattern_of(r"[，,\s让叫请约带逼催派准许]|要求|规定|安排")
#: What may precede the one with whom a clause begins, and relations that need no "my".
_OPENING = pattern_of(
    r"\W*(?:(?:and|but|so|because|cos|since|well|then|though|although|that|btw|oh|ok|yeah|no|also|anyway|before)\W+)*"
    r"(?P<whose>(?:my|our|his|her|their) (?:[a-z]+ )?)?(?:可惜|但是?|不过|而且|因为|所以|就是|对了|倒是|那|哦|嗯|其实|反正|就|还有|另外)?"
)
_BARE = frozenset("mum dad mom mam gran grandma grandpa".split())  # noqa: SIM905
#: How somebody may be called: Ann, Ann Lee, 小枝.
_CALLED = pattern_of(r"[A-Z][\w-]+(?: [A-Z][\w-]+)?|[\u4e00-\u9fff]{2,3}")


class _Person(NamedTuple):
    """Somebody in a text: how they are called, and where."""

    kind: Literal["self", "pronoun", "name", "kin", "unclear"]
    word: str
    start: int
    end: int


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def names_in_talk(text: str) -> frozenset[str]:
    """What may be names of people in a talk, in lower case: words with a capital inside a sentence, 小枝.

    >>> sorted(names_in_talk("My flatmate Ginny from Leeds waters it on Monday. 小枝在成都"))
    ['ginny', '小枝']
    """
    found = {each["name"].casefold() for each in _NAMED.finditer(text) if not each["where"]}
    return frozenset(found - _TIMES)


def _persons_in(text: str, names: Collection[str]) -> list[_Person]:
    """Whoever is in a text in lower case, in order."""
    found = []
    for name in (one for one in names if not one.isascii()):
        while (at := text.find(name)) >= 0:
            found.append(_Person("name", name, at, at + len(name)))
            text = text[:at] + "\0" * len(name) + text[at + len(name) :]
    for each in _TOKEN.finditer(text):
        start, end = each.span()
        if word := each["word"]:
            called = _CLITIC.sub("", word)
            if called in names:
                found.append(_Person("name", called, start, end))
            elif called in _KIN or called.removesuffix("s") in _KIN:
                found.append(_Person("kin", called if called in _KIN else called[:-1], start, end))
            elif called in _SELF:
                found.append(_Person("self", called, start, end))
            elif called in _PRONOUN or called in _UNCLEAR:
                found.append(_Person("pronoun" if called in _PRONOUN else "unclear", called, start, end))
        elif each["kin"]:
            kind: Literal["kin", "unclear"] = "unclear" if (each["whose"] or "")[:1] in ("那", "这") else "kin"
            found.append(_Person(kind, each["kin"], start, end))
        else:
            kinds: tuple[Literal["self", "pronoun", "unclear"], ...] = ("self", "pronoun", "unclear")
            found.append(_Person(next(one for one in kinds if each[one]), each[0], start, end))
    return sorted(found, key=lambda one: one.start)


def _relations_of(word: str) -> frozenset[int]:
    """The relations that a word may be: "mum", 二叔."""
    forms = {word} if word.isascii() else {word, word[1:], word[-1:]}
    return frozenset(at for at, group in enumerate(RELATIONS) if not group.isdisjoint(forms))


_ENDS_IN_KIN = pattern_of(rf"(?:\b(?:{'|'.join(sorted(one for one in _KIN if one.isascii()))})|{_KIN_HAN})$")


@dataclass(frozen=True, slots=True)
class Doing:
    """What a statement says of its subject, with the names of the person and of all people, and all that was said."""

    statement: str
    subject: str
    about: About
    own: Collection[str]
    people: frozenset[str]
    said: str

    def is_done_by_another(self, evidence: Sequence[Sentence], quoted: Sequence[str]) -> bool:
        """Whether everyone who does it in these sentences is somebody else; ``quoted``: the words that say it."""
        if not self.subject or not self.statement.startswith(self.subject):
            return False
        if self.about == "person" and self.subject not in self.own and self.subject in self.said:
            return False  # who is spoken of by name may be somebody else, whatever a model calls them
        rest = self.statement[len(self.subject) :]
        find = self._doers_of if rest.isascii() else self._doers_han
        doers = [*find(rest, evidence, [_plain(one) for one in quoted])]
        return bool(doers) and all(each is not None and self._is_another(each) for each in doers)

    def is_about_another(self, clauses: Sequence[str], quoted: Sequence[str]) -> bool:
        """Whether the clauses begin with somebody whom a statement about another one does not mention."""
        return all(self._is_without(_plain(each), quoted) for each in clauses)

    def _names(self) -> frozenset[str]:
        in_statement = frozenset(one.casefold() for one in _CAPITAL.findall(self.statement))
        return self.people | (in_statement - _TIMES)

    def _doers_of(self, rest: str, evidence: Sequence[Sentence], quoted: Sequence[str]) -> Iterator[_Person | None]:
        """Who does it in English sentences, None where that is unclear."""
        words = [one.casefold() for one in _WORD.findall(rest)[:_NEAR]]
        deed = next((one for one in words if one not in _AUXILIARY and not one.endswith("ly")), "")
        passive = not deed.endswith("ing") and not _PASSIVE.isdisjoint(words[: words.index(deed)] if deed else ())
        if not deed or passive or _MUTUAL.match(deed) or _OF_SEVERAL.match(rest) or any(map(_TOGETHER.search, quoted)):
            return
        names, wanted = self._names(), telling_terms(deed)
        for sentence in (_plain(one.text) for one in evidence if not wanted.isdisjoint(one.terms)):
            persons = _persons_in(sentence, names)
            for found in _WORD.finditer(sentence):
                word = found[0]
                if (
                    wanted.isdisjoint(telling_terms(word))
                    or "'" in word
                    or word in names
                    or not any(word in one for one in quoted)
                ):
                    continue
                before = [one for one in persons if one.end <= found.start()]
                between = sentence[before[-1].start : found.start()] if before else ""
                # "Ann's friend waits", "he lends me the car".
                owns = before and before[-1].kind in ("name", "kin") and _OWNS.match(between)
                yield None if not before or owns or _TO_THE_SPEAKER.search(between) else before[-1]

    def _doers_han(self, rest: str, evidence: Sequence[Sentence], quoted: Sequence[str]) -> Iterator[_Person | None]:
        """Who does it in Chinese sentences, None where that is unclear."""
        deed = _BEFORE_A_DEED.sub("", re.split("[，。；]", rest)[0])
        if not deed or not quoted or rest[0] in "的、及们" or _TOGETHER_HAN.search(deed):
            return
        names = self.people if _ENDS_IN_KIN.search(self.subject) else self.people | {self.subject.casefold()}
        shared = [SequenceMatcher(None, deed, one, autojunk=False).find_longest_match() for one in quoted]
        found = max(shared, key=lambda one: one.size)
        words = deed[found.a : found.a + found.size]
        for sentence in (_plain(one.text) for one in evidence):
            at = sentence.find(words)
            if found.size < 2 or at < 0 or not words.isalnum() or _EVERYWHERE.issuperset(words):
                continue
            verb = sentence.find(deed[0], max(0, at - _NEAR), at + found.size)
            at = min(at, verb)
            before = [
                one
                for one in _persons_in(sentence, names)
                if one.end <= at and sentence[one.end] not in "的，," and not sentence.endswith(_FOR_WHOM, 0, one.start)
            ]
            # Without a word for whoever does it a clause is of the speaker: 公司要求每天加班.
            between = sentence[before[-1].end : at] if before else ""
            left_out = self.about == "person" and _LETS.search(between) is not None
            if before and before[-1].kind == "self":  # what the speaker does to the subject may be said of it
                near, called = f"{sentence} {' '.join(quoted)}", self.subject.rpartition("的")[2]
                kin = [_relations_of(one.word) for one in _persons_in(near, names) if one.kind == "kin"]
                left_out = left_out or called in near or any(_relations_of(called) & each for each in kin)
            own = [
                one for one in self.own if one in deed[: found.a] and not deed.endswith(_FOR_WHOM, 0, deed.find(one))
            ]
            yield None if verb < 0 or not before or left_out or own else before[-1]

    def _is_another(self, one: _Person) -> bool:
        subject, of_person = self.subject.casefold(), self.about == "person"
        if one.kind in ("self", "pronoun", "unclear"):
            return one.kind == ("pronoun" if of_person else "self")
        relation = _ENDS_IN_KIN.search(subject)
        if of_person:
            return one.word not in (_plain(self.statement) if one.kind == "kin" else _plain(" ".join(self.own)))
        if one.word in subject or subject in one.word or not (relation or subject in self.said.casefold()):
            return False  # one who is never named may be misspelt
        if one.kind == "name":
            return relation is None or (one.word.isascii() and one.word in _plain(self.statement))
        groups = _relations_of(one.word)
        return bool(groups) and (
            groups.isdisjoint(_relations_of(relation[0])) if relation else not self._is_called(groups)
        )

    def _is_called(self, groups: Collection[int]) -> bool:
        """Whether the subject, by name, is called by one of these relations somewhere: "my sister Ann"."""
        words, name = "|".join(one for at in groups for one in RELATIONS[at]), re.escape(self.subject)
        near = rf"(?:{words})[\W叫是]{{0,3}}(?:\w+ )?{name}|{name}\W{{0,3}}(?:is |'s |是)?(?:my |我的?)?(?:{words})"
        return re.search(near, self.said, re.IGNORECASE) is not None

    def _is_without(self, clause: str, quoted: Sequence[str]) -> bool:
        """Whether a clause begins with somebody else, and the statement mentions nobody in it, nor it the subject."""
        subject, names = _plain(self.subject), self._names()
        relation = _ENDS_IN_KIN.search(subject)
        named = re.split(r"'s |的", subject)[-1]
        if any(named in _plain(each) for each in (clause, *quoted)) or not (
            relation or _CALLED.fullmatch(self.subject)
        ):
            return False
        own = _relations_of(relation[0]) if relation else frozenset()
        persons = _persons_in(clause, names)
        opening = _OPENING.fullmatch(clause, 0, persons[0].start) if persons else None
        if opening is None:
            return False
        persons += _persons_in(_plain(" ".join(quoted)), names)
        kin = [_relations_of(one.word) for one in persons if one.kind == "kin"]
        if any(own & each for each in kin) or {one.kind for one in persons} - {"self", "kin", "pronoun"}:
            return False
        if persons[0].kind == "self":
            rest = self.statement
            for one in self.own:
                rest = re.sub(rf"{re.escape(one)}(?:['’]s|的|(?={_KIN_HAN}))", "", rest)
            return {one.kind for one in persons} == {"self"} and not any(one in rest for one in self.own)
        if persons[0].kind != "kin" or (
            persons[0].word.isascii() and not (opening["whose"] or persons[0].word in _BARE)
        ):
            return False
        stated = {*_WORD.findall(_plain(self.statement))}
        words = [one for at in kin[0] for one in RELATIONS[at]]
        mentioned = any(one in stated if one.isascii() else one in self.statement for one in words)
        return (
            bool(kin[0])
            and not mentioned
            and all(kin[0] & each for each in kin)
            and (bool(own) or not self._is_called(kin[0]))
        )


#: What parts what two do in a statement, and the clauses of talk.
_BESIDE = pattern_of(r",? (?:and|while|but|whereas) |[;；] ?|[，,]而?(?=[\u4e00-\u9fff])|而(?!且)")
_CLAUSES = pattern_of(
    r"[,;，；。.!！?？] ?| (?:and|while|but|whereas) |而(?!且)|(?<=[\u4e00-\u9fff\d]) (?=[\u4e00-\u9fff])"
)
_SPEAKER = pattern_of(r"\b(?:i|i'm|im|i've|i'll|i'd|me|my|mine)\b|[我咱俺]")
_THIRD_PERSON = pattern_of(r"\b(?:he|she|he's|she's|his|her|him)\b|[他她]")
#: Who does something, at the beginning of a part.
_AGENT = pattern_of(
    r"(?:[Tt]he |Mr\.? |Mrs\.? |Ms\.? |Dr\.? )?(?P<name>[A-Z][\w-]+)(?!['’\w-])"
    r"|(?:his|her|their|the) (?:own )?(?P<role>[a-z]+)(?= )"
    r"|(?:[他她]的)?(?P<han>(?![他她因所但就])[\u4e00-\u9fff]{2,3}?)(?=[想要不没负认觉嫌钓代坚给是在去做愿直])"
)
_ONESELF = "@"


def is_swapped(statement: str, own: Collection[str], quoted: Sequence[str]) -> bool:
    """Whether a statement of what each of two does gives each what the other one does in the quoted words.

    "Peter keeps the house and Ana the cabin" of "Peter keeps the cabin and I keep the house". ``own`` are the names of
    whoever speaks. Not where any of it is right.
    """
    parts = [(_agent_of(each, own), each) for each in _BESIDE.split(statement)]
    agents = [*dict.fromkeys(agent for agent, _ in parts if agent)]
    if len(agents) != 2 or not parts[0][0]:
        return False
    deeds = [_terms_of(part for agent, part in parts if agent == one) for one in agents]
    called = telling_terms(" ".join((*own, *agents)))
    said: dict[str, set[str]] = {agent: set() for agent in agents}
    for clause in (each for words in quoted for each in _CLAUSES.split(_plain(words))):
        named = [agent for agent in agents if _place_of(agent, clause, agents) >= 0]
        if len(named) == 1:  # "Ana asked me to bring salad" does not say who brings it
            said[named[0]] |= telling_terms(clause)
    if not all(said.values()):
        return False
    first, second = (deeds[0] - deeds[1] - called, deeds[1] - deeds[0] - called)
    of_first, of_second = said.values()
    if not first or not second:
        return False  # "Mara and Ellen booked Oslo" is of both
    right, crossed = (first & of_first) | (second & of_second), (first & of_second) | (second & of_first)
    return bool(crossed) and not right


def _terms_of(parts: Iterator[str]) -> frozenset[str]:
    return frozenset().union(*map(telling_terms, parts))


def _agent_of(part: str, own: Collection[str]) -> str:
    """Who does what a part of a statement says, by name; "" if that is unclear."""
    for name in filter(None, own):
        if part.startswith(name) and not part.startswith(("'s", "’s", "的"), len(name)):
            return _ONESELF
        part = part.removeprefix(f"{name}的")
    found = _AGENT.match(part)
    return (found["name"] or found["role"] or found["han"]) if found else ""


def _place_of(agent: str, clause: str, agents: Collection[str]) -> int:
    """Where a clause has one of two agents; below 0 if nowhere. "He" is whoever of them is not the speaker."""
    if agent == _ONESELF:
        found = _SPEAKER.search(clause)
    elif (at := clause.find(agent.casefold())) >= 0:
        return at
    else:
        found = _THIRD_PERSON.search(clause) if _ONESELF in agents else None
    return found.start() if found else -1
