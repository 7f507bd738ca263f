"""Hears when a person asks, in earnest, that something be forgotten. Pure functions, English and Chinese.

Strict on purpose: "forget it, let's eat" withdraws a thought and asks for nothing, and so does 算了忘了吧. A plea is an
order to forget, erase or not remember, said of what was told; where the words alone are those of an idiom, another sign
of earnest must stand beside them. What stands in quotation marks is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.languages import STOP_WORDS, unspaced_length
from domain.records import PREFIX, Round

# The patterns are compiled when a plea is first listened for: most take longer than all the rest of this file.

#: What a message says beside its plea counts as something of its own from this length on.
_SUBSTANCE, _SUBSTANCE_UNSPACED = 60, 25
#: Of a very long message only so many last characters are looked at.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class Plea:
    """A plea was heard. ``alone``: the message says little else, so it speaks of what was said before it.

    ``names``: the words, or pairs of characters, by which it names what is meant; none where it only points at it.
    """

    alone: bool
    names: tuple[str, ...] = ()


_QUOTED = re.compile(r'"[^"\n]{0,300}"|“[^”\n]{0,300}”|「[^」\n]{0,300}」|『[^』\n]{0,300}』|‘[^’\n]{3,300}’')
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")

# --- English

_START = r"(?:^|[,;:(—–…-]\s*|\b(?:please|just|now|so|and|then|but|ok|okay|seriously|honestly|also)\s+)"
_WISH = (
    r"(?:\bplease,?\s+(?:just\s+|do\s+|now\s+|try to\s+)?|\bi (?:really )?(?:want|need|beg|ask) you to\s+(?:just\s+)?"
    r"|\bi'?d (?:like|love|prefer) you to\s+|\b(?:can|could|would) you (?:please|just)\s+"
    r"|\byou (?:must|have to|need to)\s+)"
)
_TOLD = (
    r"(?:what|everything|anything|all|whatever|the things?|the part)(?: that)? i(?:'ve| have)?(?: just| ever)?"
    r" (?:said|told|wrote|typed|mentioned|shared|confided|admitted|sent)"
)
_SAID = r"(?:said|told|mentioned|wrote|brought|asked|shared)"
_THAT = r"(?:it|this|that|all (?:of )?(?:it|this|that)|any of (?:it|this|that)|the whole thing)\b"
_MEMORY = r"your (?:memory|memories|mind|records?|notes|head|database|logs?|files)\b"
_REMOVE = r"(?:erase|wipe|delete|scrub|purge|remove|strike|clear|drop|cut|take)"

_EARNEST = (
    rf"(?:{_START}|{_WISH}){_REMOVE}\b[^.!?\n]{{1,80}}?\b(?:from|out of) {_MEMORY}",
    rf"(?:{_START}|{_WISH})(?:wipe|clear|clean) {_MEMORY}[^.!?\n]{{0,20}}\bof\b",
    rf"(?:{_START}|{_WISH})(?:erase|wipe|delete|scrub|purge) {_TOLD}",
    rf"(?:{_START}|{_WISH})(?:keep|leave) [^.!?\n]{{1,40}}? out of {_MEMORY}",
    rf"{_WISH}(?:forget|unremember|disremember)(?: about)? (?:{_THAT}|{_TOLD}|everything about|all about|my )",
    rf"{_WISH}forget(?: that)? i (?:ever |even |just )*{_SAID}\b(?! anything)",
    rf"(?:{_WISH}|{_START})forget(?: about)? {_TOLD.replace('said|', '')}",
    rf"(?:{_WISH}|{_START})forget(?: about)? (?:my|the) (?:last|previous) (?:message|sentence|thing i)",
    r"(?:^|[,;]\s*|\bplease )forget(?: that)? i ever (?:said|told|mentioned)\b(?! anything)",
    rf"\bplease (?:don't|do not|never)(?: ever)? (?:remember|memori[sz]e|retain) (?:{_THAT}|{_TOLD}|my )",
    rf"{_START}(?:don't|do not|never)(?: ever)? (?:remember|memori[sz]e|retain|store|save|keep|record) {_TOLD}",
    rf"{_START}(?:don't|do not|never)(?: ever)? (?:store|save|keep|put|record) [^.!?\n]{{1,40}}? in {_MEMORY}",
    rf"\bi (?:don't|do not) want you to (?:remember|keep|retain|store) (?:{_THAT}|{_TOLD}|my )",
    rf"\bi'?d (?:rather|prefer)(?: it if)? you (?:forgot|didn't remember)(?: about)? (?:{_THAT}|{_TOLD})",
    r"\bpretend(?: that)? i (?:never|didn't) (?:say|said|tell|told|mention|mentioned|write|wrote)\b(?! anything)",
)
#: These are idioms by themselves, and earnest only beside a sign of it.
_WEAK = rf"{_START}forget(?: about)? (?:{_THAT}|{_TOLD}|everything\b)"
_SIGN = (
    r"\bi mean it\b|\bi'?m serious\b|\b(?:wipe|erase|delete|scrub) (?:it|that|this)\b|\bforever\b|\bfor good\b"
    r"|\bnever(?: ever)? (?:bring|mention|speak|talk|raise|repeat|tell)"
    r"|\b(?:don't|do not)(?: ever)? (?:bring|repeat|speak of|talk about|tell)"
    r"|\bdon't(?: ever)? mention (?:this|that|it again)"
    r"|\bshouldn't have (?:said|told|mentioned|written|shared)"
)
#: Beside one of these a thought is withdrawn or corrected, and nothing is to be forgotten.
_WITHDRAWN = (
    r"\blet'?s\b|\bnever ?mind\b|\bnot important\b|\b(?:doesn't|does not) matter\b|\binstead\b|\bactually\b|\bi meant\b"
    r"|\bi was wrong\b|\bwho cares\b|\bno big deal\b|\bif you\b|\bis better\b"
    r"|\btoo (?:expensive|late|far|hard|much work)\b"
    r"|\b(?:she|he|they|we|who|mum|mom|dad)\b[^.!?\n]{0,20} (?:said|says|told|asked|begged|wrote)\b"
)

# --- Chinese

_HAN_WISH = (
    r"(?:请你?|求求?你|拜托你?|麻烦你?|我要你|我希望你|希望你|我想让你|你能不能|能不能请你|你必须|你一定要)"
)
_HAN_THAT = r"(?:这|那|它|刚才|刚刚|我刚|我说|我讲|我告诉|我的|上面|以上|前面)"
_HAN_REMOVE = r"(?:删掉|删除|删了|抹掉|抹去|擦掉|擦除|清除|清掉|去掉|移除|消除)"
_HAN_MEMORY = r"(?:记忆|记录|脑子|脑海|记忆库|大脑|存档)(?:库)?(?:里面|里|中|当中)?"
_HAN_FORGET = r"(?:忘掉|忘了|忘记|忘光|忘干净|彻底忘)"
_CLAUSE = r"(?:^|[，,；;：:。！？\s]|你就?|快|赶紧|现在)"
_HAN_NOT = r"(?:别|不要|请勿|勿|不用|不许|不准)"

_HAN_EARNEST = (
    rf"[把将][^，。！？\n]{{1,24}}?从?你?的?{_HAN_MEMORY}[^，。！？\n]{{0,4}}{_HAN_REMOVE}",
    rf"从你?的?{_HAN_MEMORY}[^，。！？\n]{{0,4}}{_HAN_REMOVE}",
    rf"{_HAN_WISH}[^，。！？\n别不没未勿问]{{0,6}}[把将][^，。！？\n别不没未勿]{{1,24}}?(?:{_HAN_FORGET}|{_HAN_REMOVE}吧?$)",
    rf"{_HAN_WISH}[就都]?(?:彻底|永远|赶快)?{_HAN_FORGET}(?:吧，?)?{_HAN_THAT}",
    rf"{_CLAUSE}[把将](?:我)?(?:刚才|刚刚|这|那)[^，。！？\n别不没未勿]{{0,14}}?(?:彻底|全|都|给)*(?:忘掉|忘了|忘记)",
    rf"(?:{_HAN_THAT})[^，。！？\n]{{0,12}}?(?:你|，你|，)?(?:可|就|都|请|千万){{0,2}}{_HAN_NOT}(?:再)?(?:记住|记下|记着|记到|记在|保存|存下|存进|留在)",
    rf"{_HAN_NOT}(?:把|将)?(?:这|那|我刚|我说的|刚才|刚刚)[^，。！？\n]{{0,12}}?(?:记住|记下|记着|记到|记在|保存|存进|存下)",
    rf"{_HAN_NOT}(?:记住|记下来?|保存|记着)(?:我刚|我说|我告诉|刚才|刚刚|这|那)",
    rf"我不(?:想|希望)你(?:记住|记得|记着){_HAN_THAT}",
)
_HAN_WEAK = rf"{_CLAUSE}{_HAN_FORGET}(?:{_HAN_THAT}|吧)"
_HAN_SIGN = (
    rf"(?:{_HAN_NOT}|永远不要|再也不要|再也别|永远别)再?(?:跟我|和我|对任何人)?提"
    r"|我是认真的|我说真的|不该(?:说|告诉)"
)
_HAN_WITHDRAWN = r"算了|没关系|不重要|无所谓|我是说|我的意思|[他她妈爸]们?(?:跟我)?[说讲]"

# --- what a plea names

_NAMED = (
    r"\b(?:about|regarding|concerning|mentioned|forgot|forget|unremember|disremember|remember|memori[sz]e|retain|erase|wipe"
    r"|delete|scrub|purge|remove|strike|clear|drop|store|save|keep|put|record)\s+"
    r"([^,.;:!?—…\n]{1,80}?)(?=\s+(?:from|out of|and|in your)\b|[,.;:!?—…\n]|$)"
)
#: Words that stand in what a plea names and name nothing.
_NAMELESS = STOP_WORDS | frozenset(
    """
    ago all anything asked before brought confided earlier evening ever everything last memory mentioned message
    messages minute moment morning never night part parts previous said say sent sentence shared something today told
    typed week whole word words wrote yesterday
    """.split()  # noqa: SIM905 - words are easier to read than a list of strings
)
_HAN_NAMELESS = (
    rf"{_HAN_WISH}|{_HAN_FORGET}|{_HAN_REMOVE}|{_HAN_MEMORY}|{_HAN_SIGN}|记住|记下来?|记着|记得|保存|存[进下]|留在"
    r"|[这那]件事情?|[这那][些句]?[话事]?|刚才|刚刚|上面|以上|前面|告诉|提到|关于|对话|[我你]?[说讲]过?的?[话事]?|的[话事]|什么|一切"
    r"|彻底|永远|千万|赶[快紧]|认真|不[该要许准用]|昨[天晚]|今[天晚]"
)
_HAN_RUN = r"[\u3400-\u9fff]+"
_HAN_EDGES = "我你他她它的了吧啊把将从里中就都也再别请说讲勿快全可给跟"


def meant(plea: Plea, said: Sequence[str]) -> tuple[int, ...]:
    """Which of the rounds before a plea it speaks of, by their places among what was said in each.

    Those that hold most of what it names; the last one where none does, or where it names nothing.

    >>> meant(Plea(alone=True, names=("ruth",)), ["Ruth is ill.", "I cook lentils."])
    (0,)
    """
    if not plea.alone:
        return ()
    found = [sum(_holds(text.casefold(), name) for name in plea.names) for text in said]
    most = max(found, default=0)
    if not most:
        return tuple(range(len(said)))[-1:]
    return tuple(at for at, count in enumerate(found) if count == most)


def rounds_meant(plea: Plea, before: Sequence[Round]) -> list[Round]:
    """Those of the rounds before a plea that it speaks of."""
    said = ["\n".join(turn.words for turn in spoken.turns) for spoken in before]
    return [before[at] for at in meant(plea, said)]


def _holds(text: str, name: str) -> bool:
    if unspaced_length(name):
        return name in text
    return re.search(rf"\b{re.escape(name)}(?:e?s)?\b", text) is not None


def heard(text: str) -> Plea | None:
    """The plea in what a person said, if there is one.

    >>> heard("Please forget that, I mean it.")
    Plea(alone=True, names=())
    >>> heard("Forget it, let's eat.") is None
    True
    """
    plain = _QUOTED.sub(" ", text[-_LOOKED_AT:].replace("’", "'"))
    sentences = [found[0].strip() for found in _SENTENCE.finditer(plain)]
    signs = re.search(_SIGN, plain.lower()) is not None, re.search(_HAN_SIGN, plain) is not None
    begins = [_begins(sentence, *signs) for sentence in sentences]
    if all(at is None for at in begins):
        return None
    pleading = [sentence for sentence, at in zip(sentences, begins, strict=True) if at is not None]
    return Plea(_is_little(_rest(sentences, begins)), _names(" ".join(pleading)))


def kept_back(spoken: Round) -> Round:
    """The round, marked as one that the person asked to have forgotten."""
    return Round(replace(spoken.user, withheld=True), replace(spoken.assistant, withheld=True))


def left_unsaid(rounds: Sequence[Round], user: str, assistant: str) -> tuple[Round, ...]:
    """The rounds as a model is shown them: neutral lines stand where something was asked to be forgotten."""
    return tuple(
        Round(
            replace(spoken.user, text=PREFIX["user"] + user),
            replace(spoken.assistant, text=PREFIX["assistant"] + assistant),
        )
        if spoken.withheld
        else spoken
        for spoken in rounds
    )


def _begins(sentence: str, sign: bool, han_sign: bool) -> int | None:
    """Where a plea begins in a sentence; None when there is none. A sign of earnest may stand anywhere beside it."""
    lower = sentence.lower()
    if not re.search(_WITHDRAWN, lower):
        found = _first(_EARNEST, lower) or (re.search(_WEAK, lower) if sign else None)
        if found:
            return found.start()
    if not re.search(_HAN_WITHDRAWN, sentence):
        found = _first(_HAN_EARNEST, sentence) or (re.search(_HAN_WEAK, sentence) if han_sign else None)
        if found:
            return found.start()
    return None


def _names(pleading: str) -> tuple[str, ...]:
    """What the sentences of a plea name: words without their ending of many, pairs where there are no spaces."""
    named = " ".join(re.findall(_NAMED, pleading.lower()))
    words = (word.removesuffix("'s") for word in re.findall(r"[^\W_][\w'-]*", named))
    spaced = (word.removesuffix("s") for word in words if len(word) > 2 and word not in _NAMELESS)
    runs = (run.strip(_HAN_EDGES) for run in re.findall(_HAN_RUN, re.sub(_HAN_NAMELESS, " ", pleading)))
    pairs = (run[at : at + 2] for run in runs for at in range(len(run) - 1))
    return tuple(dict.fromkeys([*(word for word in spaced if not unspaced_length(word)), *pairs]))


def _first(patterns: Sequence[str], text: str) -> re.Match[str] | None:
    return next((found for pattern in patterns if (found := re.search(pattern, text))), None)


def _rest(sentences: Sequence[str], begins: Sequence[int | None]) -> str:
    """What the sentences say without the plea and without what only lends weight to it."""
    told = []
    for sentence, at in zip(sentences, begins, strict=True):
        if at is not None:
            told.append(sentence[:at])
        elif not re.search(_SIGN, sentence.lower()) and not re.search(_HAN_SIGN, sentence):
            told.append(sentence)
    return " ".join(told)


def _is_little(text: str) -> bool:
    han = unspaced_length(text)
    return han < _SUBSTANCE_UNSPACED and len(text) - han < _SUBSTANCE
