"""What a person says of themselves, as a sentence about them: "I prefer short answers" is "Ann prefers short answers".

By rules, no model, in English and Chinese. A statement is turned only where every word of it is sure to stay true;
otherwise it is attributed, word for word. What does not speak of oneself stays as it is.
"""

from __future__ import annotations

import re

from domain.languages import language_of
from domain.text import pattern_of

_OF_ONESELF = pattern_of(
    r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]urs?|[Oo]urselves)\b|[我咱俺]|本人|\bi(?:'m|'ve| am| have)\b"
)
_ATTRIBUTED = {"en": '{name} said: "{said}"', "zh": "{name}说过：“{said}”"}
#: A sentence of "I", a verb that may have an adverb before it, and what follows.
_ADVERBS = r"(?:always|never|often|usually|sometimes|really|only|still|also|rarely|mostly|generally|just)"
_STATEMENT = pattern_of(rf"I(?P<short>['’](?:m|ve|ll))?(?P<adverb>(?: {_ADVERBS})*) ?(?P<rest>.*)", re.DOTALL)
_VERBS = frozenset(
    """
    admire adore appreciate avoid believe belong buy call care collect come cook cycle dance dislike draw drink drive
    eat enjoy expect fear feel fish follow forget garden get give go grow hate hear hike hope keep know learn like
    listen live look love make mean meet miss need own paint pay plan play practise practice prefer raise read remember
    ride run see sell sew sing skate ski sleep smoke speak spend stay struggle study suffer suggest support swim
    take teach tend think travel trust try understand use visit wake walk want watch wear weigh wish work worry write
    """.split()  # noqa: SIM905 - a list of verbs is hard to read with a mark at each
)
#: Forms that are the same, or have one other form, whoever is spoken of.
_FORMS = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "don’t": "doesn’t",
    "haven't": "hasn't",
}
_SAME = frozenset(
    """
    was had did could can can't cannot couldn't will won't would wouldn't should shouldn't must may might didn't
    wasn't hadn't lived worked studied grew moved started stopped was
    """.split()  # noqa: SIM905
)
_SHORT = {"m": "is", "ve": "has", "ll": "will"}
#: What joins a second verb to the first, which would have to be turned as well.
_JOINED = pattern_of(rf"(?:\b(?:and|but|or|then)|[,;])\s+(?:{_ADVERBS}\s+)*(?P<verb>[a-z'’]+)")
_MY = pattern_of(r"[Mm]y (?P<rest>[a-z].*)", re.DOTALL)
_SENTENCES = pattern_of(r"(?<=[.!])\s+")
_CLAUSES = pattern_of(r"([，。；！,;!\n]\s*)")
#: "我" alone, or what is mine; not "我们", "我国".
_I_ZH = pattern_of(r"我(?![们国校司方军党等辈])")
_ASKS = ("?", "？")


def about_person(said: str, name: str) -> str:
    """The statement of a person called ``name`` as one about them; what is not of oneself stays.

    >>> about_person("I prefer short answers", "Xiaoyu"), about_person("我喜欢简短的回答", "小雨")
    ('Xiaoyu prefers short answers', '小雨喜欢简短的回答')
    >>> about_person("I prefer tea and hate coffee", "Ann"), about_person("Call her Ann.", "Ann")
    ('Ann said: "I prefer tea and hate coffee"', 'Call her Ann.')
    """
    text = said.strip()
    if not _OF_ONESELF.search(text):
        return said
    language = language_of(text)
    called = name[:1].upper() + name[1:]
    turned = None
    if not text.endswith(_ASKS) and not any(mark in text for mark in '"“”「」'):
        turned = _turned_zh(text, name) if language == "zh" else _turned_en(text, called)
    return turned or _ATTRIBUTED[language].format(name=called, said=text)


def _turned_en(text: str, name: str) -> str | None:
    """Every sentence about the person; None where one of them cannot be turned safely."""
    turned = [_sentence(one, name) for one in _SENTENCES.split(text)]
    return " ".join(one for one in turned if one) if all(turned) else None


def _sentence(said: str, name: str) -> str | None:
    if mine := _MY.fullmatch(said):
        return f"{name}'s {mine['rest']}" if not _OF_ONESELF.search(mine["rest"]) else None
    found = _STATEMENT.fullmatch(said)
    if found is None or not found["rest"]:
        return None
    verb, space, rest = found["rest"].partition(" ")
    if found["short"]:
        turned: str | None = f"{_SHORT[found['short'][1:]]}{found['adverb']} {found['rest']}"
    else:
        third = _third_person(verb.rstrip(".!"))
        turned = (
            third
            and f"{found['adverb'].lstrip()} {third}{verb[len(verb.rstrip('.!')) :]}{space}{rest}".lstrip()
        )
    unsafe = _OF_ONESELF.search(found["rest"]) or _joins_a_verb(found["rest"])
    return None if unsafe or not turned else f"{name} {turned}"


def _third_person(verb: str) -> str | None:
    """The form of a verb for somebody else; None for a word that is not sure to be one.

    >>> [_third_person(verb) for verb in ("go", "study", "play", "am", "lived", "blue")]
    ['goes', 'studies', 'plays', 'is', 'lived', None]
    """
    if verb in _SAME:
        return verb
    if verb in _FORMS or verb not in _VERBS:
        return _FORMS.get(verb)
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeou" else f"{verb}s"


def _joins_a_verb(text: str) -> bool:
    joined = (found["verb"] for found in _JOINED.finditer(text))
    return any(word in _VERBS or word in _FORMS or word in ("i'm", "was", "were") for word in joined)


def _turned_zh(text: str, name: str) -> str | None:
    """Every clause that begins with "我" about the person; None where it stands anywhere else."""
    pieces = [_I_ZH.sub(name, one, count=1) if one.startswith("我") else one for one in _CLAUSES.split(text)]
    turned = "".join(pieces)
    rest = turned.replace(name, "")
    return None if _OF_ONESELF.search(rest) else turned
