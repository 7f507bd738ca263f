"""Facts that a person states or corrects by hand, worded for storage. Rules only, no model.

A correction has the same slot and evidence; names missing from the new words are dropped. "I prefer short answers"
becomes "Ann prefers short answers" where the rules are sure; otherwise the statement is quoted word for word.
"""

from __future__ import annotations

import re

from domain.facts import Fact, NewFact
from domain.patterns import pattern_of
from language.scripts import language_of

#: Stances that a correction keeps.
_STAYS = ("planned", "wished")


def corrected_fact(fact: Fact, text: str, text_id: str) -> NewFact:
    """The fact that replaces ``fact`` when a person says ``text`` instead."""
    return NewFact(
        text_id, fact.note, text, fact.subject, fact.attribute, _corrected_value(fact, text), fact.slot, fact.single,
        fact.about, fact.stance if fact.stance in _STAYS else "stated", fact.said, fact.messages,
        keywords=_names_still_in(fact.keywords, text), persons=_names_still_in(fact.persons, text),
        entities=_names_still_in(fact.entities, text), location=fact.location if fact.location in text else "",
        start=fact.start,
    )  # fmt: skip


def _names_still_in(names: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in text)


def _corrected_value(fact: Fact, text: str) -> str:
    """The new value: the part that replaces the old value if only that differs, else the whole text."""
    if not fact.value or fact.value not in fact.restatement:
        return text
    before, _, after = fact.restatement.partition(fact.value)
    differs = text[len(before) : len(text) - len(after)].strip()
    return differs if text == before + differs + after else text


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
#: Irregular third persons.
_FORMS = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "don’t": "doesn’t", "haven't": "hasn't"}
_SAME = frozenset(
    """
    was had did could can can't cannot couldn't will won't would wouldn't should shouldn't must may might didn't
    wasn't hadn't lived worked studied grew moved started stopped was
    """.split()  # noqa: SIM905
)
_SHORT = {"m": "is", "ve": "has", "ll": "will"}
#: A second verb joined to the first, which would have to change as well.
_JOINED = pattern_of(rf"(?:\b(?:and|but|or|then)|[,;])\s+(?:{_ADVERBS}\s+)*(?P<verb>[a-z'’]+)")
_MY = pattern_of(r"[Mm]y (?P<rest>[a-z].*)", re.DOTALL)
_SENTENCES = pattern_of(r"(?<=[.!])\s+")
_CLAUSES = pattern_of(r"([，。；！,;!\n]\s*)")
#: "我" alone, or what is mine; not "我们", "我国".
_I_ZH = pattern_of(r"我(?![们国校司方军党等辈])")
_ASKS = ("?", "？")


def attribute_words(name: str, words: str) -> str:
    """Words as somebody's, word for word.

    >>> attribute_words("Ann", "I like tea."), attribute_words("小雨", "我喜欢茶。")
    ('Ann said: "I like tea."', '小雨说过：“我喜欢茶。”')
    """
    return _ATTRIBUTED[language_of(words)].format(name=name, said=words)


def about_person(said: str, name: str) -> str:
    """A first-person statement rewritten about the person called ``name``; any other statement is returned as it is.

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
        if language == "zh":
            turned = _turned_zh(text, name)
        else:
            sentences = [_message_sentence(one, called) for one in _SENTENCES.split(text)]
            turned = " ".join(one for one in sentences if one) if all(sentences) else None
    return turned or attribute_words(called, text)


def _message_sentence(said: str, name: str) -> str | None:
    """The sentence in the third person; None where that is not safe."""
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
        turned = third and f"{found['adverb'].lstrip()} {third}{verb[len(verb.rstrip('.!')) :]}{space}{rest}".lstrip()
    joined = {one["verb"] for one in _JOINED.finditer(found["rest"])}
    unsafe = _OF_ONESELF.search(found["rest"]) or joined & (_VERBS | _FORMS.keys() | {"i'm", "was", "were"})
    return None if unsafe or not turned else f"{name} {turned}"


def _third_person(verb: str) -> str | None:
    """The third person of a verb; None for a word that may not be a verb.

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


def _turned_zh(text: str, name: str) -> str | None:
    """The text with a leading "我" of each clause replaced by the name; None where "我" occurs elsewhere."""
    pieces = [_I_ZH.sub(name, one, count=1) if one.startswith("我") else one for one in _CLAUSES.split(text)]
    turned = "".join(pieces)
    rest = turned.replace(name, "")
    return None if _OF_ONESELF.search(rest) else turned
