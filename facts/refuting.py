"""Reasons why a sentence does not say what a draft says, although it has its words, in English and Chinese.

Each rule refutes: it names what is wrong, and says nothing where it is not sure. They are asked in this order: stories
and dreams, what almost happened, what happens every day, numbers that count something else, and whom the sentence is
about. They were tuned on one half of labelled drafts; ``python -m bench.evidence`` gives the figures of the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from domain.facts import About
from domain.patterns import Guarded, pattern_of
from facts.cues import split_clauses
from facts.evidence import Sentence
from language.numbers import parse_number
from language.words import terms

_STORY = Guarded(
    "dream|nightmare|novel|story|book|film|movie|play|script|campaign|game|role|character|hero|protagonist|avatar|plot"
    "|once upon|梦|小说|故事|电影|剧|游戏|书里|角色|扮演|主角|主人公|从前有",
    r"\b(?:dream(?:s|t|ed)?(?! (?:of|job|house|home|car|about))|nightmares?"
    r"|in (?:my|the|a|an|our|that) (?:\w+ )?(?:novel|story|book|film|movie|play|script|campaign|game)|role.?play\w*"
    r"|(?:my|the|our) (?:\w+ )?(?:character|hero|heroine|protagonist|avatar)|plot (?:is|of)|once upon a time)\b"
    r"|梦[见到]|做了?个?[^，。！]{0,4}梦|(?:小说|故事|电影|剧|游戏|剧本|书)里|扮演|(?:主角|主人公|角色)(?:是|叫)|从前有",
)
_ALMOST = Guarded(
    "almost|nearly|差点|险些|talked|out of",
    r"\b(?:almost|nearly) (?P<word>[a-z]+)|(?:差点儿?|险些)(?:没|就|要)?(?P<han>[^，。！？]{2,6})",
)
_DAILY = Guarded(
    "day|daily|morning|evening|night|天|日|晚|早",
    r"\b(?:every (?:single )?(?:day|morning|evening|night)|each day|daily|seven days a week)\b|每[天日晚早]|天天|日日",
)
_COUNTED = pattern_of(
    r"(?<![\w.,:])(?P<number>\d{1,3}(?:st|nd|rd|th)?|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[ -](?P<noun>[a-z]{3,})"
    r"|(?P<han>[一二两三四五六七八九十百]+|\d{1,3})(?P<measure>[楼层级台条只个口位名间套辆本家])"
)
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10,
}  # fmt: skip
#: What follows a number without being counted by it, or is converted into another unit.
_NO_NOUN = frozenset(
    """
    and or of in on at to a the is are was were years year old hours hour minutes minute days day weeks week months
    month more less times percent per pounds euros dollars kilos thousand hundred million grand
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: Relations of which one can have only one at a time, or that say who is meant; with the gender that pronouns show.
_SHE = "mother|mum|mom|wife|sister|daughter|grandmother|grandma|gran|aunt|niece|girlfriend"
_HE = "father|dad|husband|brother|son|grandfather|grandpa|uncle|nephew|boyfriend"
_KIN = rf"{_SHE}|{_HE}|cousin|boss|colleague|neighbou?r|friend|partner"
_KIN_HAN = (
    "老婆|妻子|媳妇|老公|丈夫|妈妈|母亲|老妈|爸爸|父亲|老爸|婆婆|公公|岳母|岳父|姐姐|妹妹|哥哥|弟弟|女儿|儿子|外婆|外公|奶奶|爷爷"
    "|姥姥|姥爷|小姨|舅舅|姑姑|叔叔|女朋友|男朋友|女友|男友|老板|同事|室友|邻居"
)
#: The subject at the beginning of a clause that is somebody else.
_OTHER_SUBJECT = pattern_of(
    rf"^\W*(?:(?:and|but|so|because|since|as|well|then|though|although|that)\W+)*"
    rf"(?:(?:he|she)(?:'s|'d|'ll)?|my (?:\w+ )?(?:{_KIN})|mum|mom|dad|gran|grandma|grandpa)\b"
    rf"|^(?:可惜|但是?|不过|而且|因为|所以|就是)?(?:(?:我|咱)(?:们?家?的?)?)?(?:{_KIN_HAN})(?!的)"
    rf"|^(?:可惜|但是?|不过|而且|因为|所以|就是)?[他她](?!们|的)",
    re.IGNORECASE,
)
_FIRST_PERSON = pattern_of(
    r"\b(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'll|me|us|myself)\b|(?:让|给|跟|和|陪|带|帮|叫|对|比|催|劝|把)[我咱]"
)
_ANY_KIN = pattern_of(rf"\b(?:{_KIN})s?\b|{_KIN_HAN}", re.IGNORECASE)
_ANOTHER = pattern_of(r"\b(?:he|she|his|her|him|hers|they|their|them)\b|[他她它]")
_FEMALE, _MALE = pattern_of(r"\b(?:she|her|hers)\b|她"), pattern_of(r"\b(?:he|his|him)\b|他")
_SHE_IS = pattern_of(rf"\b(?:{_SHE})\b|老婆|妻子|媳妇|妈|母亲|婆婆|岳母|姐|妹|女儿|外婆|奶奶|姥姥|姨|姑|女友|女朋友")
_HE_IS = pattern_of(rf"\b(?:{_HE})\b|老公|丈夫|爸|父亲|公公|岳父|哥|弟|儿子|外公|爷|叔|舅|男友|男朋友")


def find_fault(
    statement: str, subject: str, about: About, others: Collection[str], evidence: Sequence[Sentence]
) -> str:
    """What is wrong with a statement that rests on these sentences; "" if no rule knows.

    ``subject`` is whom it is about, by name; ``others`` are the names in it that are not the person's.
    """
    if about == "companion":
        return ""
    if not _STORY.search(statement.casefold()) and all(_is_story(each.text, each.before) for each in evidence):
        return "story"
    sentences = [each.text for each in evidence]
    for fault, rule in _RULES:
        if rule(statement, sentences):
            return fault
    if about == "person":
        wrong = not others and all(_is_of_another(statement, _best_clause(statement, each)) for each in sentences)
    else:
        wrong = all(_lacks_subject(statement, subject, _best_clause(statement, each), each) for each in sentences)
    return "subject" if wrong else ""


def _is_story(sentence: str, before: str) -> bool:
    return any(_STORY.search(each.casefold()) for each in (sentence, before))


def _is_almost(statement: str, sentences: Sequence[str]) -> bool:
    """Whether what a statement reports only nearly happened: "Carla almost fainted", 差点迟到."""
    if _ALMOST.search(statement.casefold()):
        return False
    wanted = set(terms(statement))
    found = [each for one in sentences for each in _ALMOST.all_in(one.casefold())]
    return any(wanted.intersection(terms(each["word"] or each["han"] or "")) for each in found)


def _is_daily(statement: str, sentences: Sequence[str]) -> bool:
    """Whether a statement says that something is done every day, and no sentence does."""
    return bool(_DAILY.search(statement.casefold())) and not any(_DAILY.search(one.casefold()) for one in sentences)


def _is_miscounted(statement: str, sentences: Sequence[str]) -> bool:
    """Whether a number counts other things than in the sentences: "67th floor" from "third floor, 67 steps"."""
    stated = _counts(statement)
    said: dict[str, set[int]] = defaultdict(set)
    for sentence in sentences:
        for noun, numbers in _counts(sentence).items():
            said[noun] |= numbers
    return any(noun in said and not numbers & said[noun] for noun, numbers in stated.items())


_RULES: tuple[tuple[str, Callable[[str, Sequence[str]], bool]], ...] = (
    ("almost", _is_almost), ("every day", _is_daily), ("number", _is_miscounted),
)  # fmt: skip


def _counts(text: str) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for each in _COUNTED.finditer(text.casefold()):
        noun = each["measure"] or each["noun"]
        word = each["han"] or each["number"]
        number = _ORDINALS.get(word) or parse_number(re.sub(r"(?<=\d)(?:st|nd|rd|th)", "", word))
        if noun not in _NO_NOUN and number is not None:
            found[noun.removesuffix("s")].add(number)
    return found


def _best_clause(statement: str, sentence: str) -> str:
    """The clause of a sentence that shares most with a statement."""
    wanted = set(terms(statement))
    return max(split_clauses(sentence), key=lambda clause: len(wanted.intersection(terms(clause))), default=sentence)


def _is_of_another(statement: str, clause: str) -> bool:
    """Whether a clause is about somebody, and a statement about the person mentions nobody else."""
    found = _OTHER_SUBJECT.search(clause)
    if not found or _FIRST_PERSON.search(clause.casefold()):
        return False
    return not (_ANY_KIN.search(statement) or _ANOTHER.search(statement.casefold()))


def _lacks_subject(statement: str, subject: str, clause: str, sentence: str) -> bool:
    """Whether a sentence is about a relation or a gender that the subject of a statement has not."""
    plain, parts = sentence.casefold(), _parts(subject)
    if any(part in plain for part in parts) or not any(part in statement.casefold() for part in parts):
        return False
    if _SHE_IS.search(subject.casefold()):
        return bool(_MALE.search(plain)) and not _FEMALE.search(plain)
    if _HE_IS.search(subject.casefold()):
        return bool(_FEMALE.search(plain)) and not _MALE.search(plain)
    return bool(re.match(r"(?:i|i'm|i've|we)\b|我(?!们?[家的])", clause.casefold())) and not _ANOTHER.search(plain)


def _parts(subject: str) -> Collection[str]:
    """The words of a name by which a sentence may mention it."""
    plain = subject.casefold().replace("'s", " ").replace("的", " ")
    return [part for part in plain.split() if len(part) > 1]
