"""Hears when a person asks, in earnest, that something be forgotten. Pure functions, English and Chinese.

Strict on purpose: "forget it, let's eat" withdraws a thought and asks for nothing, and so does 算了忘了吧. A plea is an
order to forget, erase or not remember, said of what was told; where the words alone are those of an idiom, another sign
of earnest must stand beside them. What stands in quotation marks is somebody else's.

    heard     the plea in a message, and the matter that it names, if any
    meant     of what was said before, what the plea speaks of; in doubt more rather than less
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from domain.languages import STOP_CHARACTERS, STOP_WORDS, UNSPACED, unspaced_length
from domain.records import PREFIX, Round
from domain.text import pattern_of, without_quotations

#: What a message says beside its plea counts as something of its own from this length on.
_SUBSTANCE, _SUBSTANCE_UNSPACED = 60, 25
#: Of a very long message only so many last characters are looked at.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class Plea:
    """A plea was heard. ``alone``: the message says little else, so it speaks of what was said before it.

    ``matter`` are the things that it names, each in the person's words. ``points``: it names none, or speaks of "that"
    or of what was "just" said beside it, so that the round before is meant in any case. ``lately``: it speaks of what
    was said a little while ago, and so of no older session.
    """

    alone: bool
    matter: tuple[str, ...] = ()
    points: bool = True
    lately: bool = False


_QUOTED = pattern_of(r'"[^"\n]{0,300}"|“[^”\n]{0,300}”|「[^」\n]{0,300}」|『[^』\n]{0,300}』|‘[^’\n]{3,300}’')
_SENTENCE = pattern_of(r"[^.!?。！？\n]+[.!?。！？\n]*")

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

#: Of each form: what a sentence holds one of that it can stand in, and its pattern. Most sentences hold none.
_Form = tuple[tuple[str, ...], str]
_YOURS, _NOT = ("your ",), ("don't", "do not", "never")
_EARNEST: tuple[_Form, ...] = (
    (_YOURS, rf"(?:{_START}|{_WISH}){_REMOVE}\b[^.!?\n]{{1,80}}?\b(?:from|out of) {_MEMORY}"),
    (_YOURS, rf"(?:{_START}|{_WISH})(?:wipe|clear|clean) {_MEMORY}[^.!?\n]{{0,20}}\bof\b"),
    (("erase", "wipe", "delete", "scrub", "purge"),
     rf"(?:{_START}|{_WISH})(?:erase|wipe|delete|scrub|purge) {_TOLD}"),
    (_YOURS, rf"(?:{_START}|{_WISH})(?:keep|leave) [^.!?\n]{{1,40}}? out of {_MEMORY}"),
    (("forget", "remember"),
     rf"{_WISH}(?:forget|unremember|disremember)(?: about)? (?:{_THAT}|{_TOLD}|everything about|all about|my )"),
    (("forget",), rf"{_WISH}forget(?: that)? i (?:ever |even |just )*{_SAID}\b(?! anything)"),
    (("forget",), rf"(?:{_WISH}|{_START})forget(?: about)? {_TOLD.replace('said|', '')}"),
    (("forget",), rf"(?:{_WISH}|{_START})forget(?: about)? (?:my|the) (?:last|previous) (?:message|sentence|thing i)"),
    (("forget",), r"(?:^|[,;]\s*|\bplease )forget(?: that)? i ever (?:said|told|mentioned)\b(?! anything)"),
    (("remember", "memori", "retain"),
     rf"\bplease (?:don't|do not|never)(?: ever)? (?:remember|memori[sz]e|retain) (?:{_THAT}|{_TOLD}|my )"),
    (_NOT,
     rf"{_START}(?:don't|do not|never)(?: ever)? (?:remember|memori[sz]e|retain|store|save|keep|record) {_TOLD}"),
    (_NOT,
     rf"{_START}(?:don't|do not|never)(?: ever)? (?:store|save|keep|put|record) [^.!?\n]{{1,40}}? in {_MEMORY}"),
    (_NOT, rf"\bi (?:don't|do not) want you to (?:remember|keep|retain|store) (?:{_THAT}|{_TOLD}|my )"),
    (("forgot", "remember"),
     rf"\bi'?d (?:rather|prefer)(?: it if)? you (?:forgot|didn't remember)(?: about)? (?:{_THAT}|{_TOLD})"),
    (("forget",), r"^(?:please,? |just )*forget(?: about)? (?:my|our) [^.!?\n]{2,60}?\b(?:never|don't|do not)(?: ever)?"
     r" (?:(?:bring|mention|repeat) (?:it|this|that|him|her|them)\b|(?:speak|talk) (?:of|about)\b)"),
    (("pretend",),
     r"\bpretend(?: that)? i (?:never|didn't) (?:say|said|tell|told|mention|mentioned|write|wrote)\b(?! anything)"),
)  # fmt: skip
#: These are idioms by themselves, and earnest only beside a sign of it.
_WEAK: _Form = (("forget",),
    rf"{_START}forget(?: about)? (?:{_THAT}|{_TOLD}|everything\b|(?:that )?i (?:just |even )?{_SAID}\b)")  # fmt: skip
_SIGN = (
    r"\bi mean it\b|\bi'?m serious\b|\b(?:wipe|erase|delete|scrub) (?:it|that|this)\b|\bforever\b|\bfor good\b"
    r"|\bnever(?: ever)? (?:bring|mention|speak|talk|raise|repeat|tell)"
    r"|\b(?:don't|do not)(?: ever)? (?:bring|repeat|speak of|talk about|tell|mention (?:this|that|it again))"
    r"|\b(?:don't|do not)(?: ever)? (?:(?:note|write|put) (?:it|this|that) down|(?:note|record|store) (?:it|this|that))\b"
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

_HAN_WISH = r"(?:请你?|求求?你|拜托你?|麻烦你?|我要你|我?希望你|我想让你|你能不能|能不能请你|你必须|你一定要)"
_HAN_THAT = r"(?:这|那|它|刚才|刚刚|我刚|我说|我讲|我告诉|我[跟和对]你|我家|我的|上面|以上|前面)"
_HAN_REMOVE = r"(?:删掉|删除|删了|抹掉|抹去|擦掉|擦除|清除|清掉|去掉|移除|消除)"
_HAN_MEMORY = r"(?:记忆|记录|脑子|脑海|记忆库|大脑|存档)(?:库)?(?:里面|里|中|当中)?"
_HAN_FORGET = r"(?:忘掉|忘了|忘记|忘光|忘干净|彻底忘)"
_CLAUSE = r"(?:^|[，,；;：:。！？\s]|你就?|快|赶紧|现在)"
_HAN_NOT = r"(?:别|不要|请勿|勿|不用|不许|不准)"

_HAN_IT = r"(?:(?:这|那|刚才|刚刚)(?:[一几]?[件句段个些])?(?:事情?|话)?儿?)[，,]?"
_KEPT = ("记", "脑", "存档")
_HAN_EARNEST: tuple[_Form, ...] = (
    (_KEPT, rf"(?:[把将][^，。！？\n]{{1,24}}?从?|从)你?的?{_HAN_MEMORY}[^，。！？\n]{{0,4}}{_HAN_REMOVE}"),
    (("忘", "删", "抹", "擦", "清", "去掉", "移除", "消除"),
     rf"{_HAN_WISH}[^，。！？\n别不没未勿问]{{0,6}}[把将][^，。！？\n别不没未勿]{{1,24}}?(?:{_HAN_FORGET}|{_HAN_REMOVE}吧?$)"),
    (("忘",), rf"{_HAN_WISH}[就都]?(?:彻底|永远|赶快)?{_HAN_FORGET}(?:吧，?)?{_HAN_THAT}"),
    (("忘",),
     rf"{_CLAUSE}[把将](?:我)?(?:刚才|刚刚|这|那)[^，。！？\n别不没未勿]{{0,14}}?(?:彻底|全|都|给)*(?:忘掉|忘了|忘记)"),
    (("记", "存", "留在"),
     rf"(?:{_HAN_THAT})[^，。！？\n]{{0,12}}?(?:你|，你|，)?(?:可|就|都|请|千万){{0,2}}{_HAN_NOT}(?:再)?(?:记住|记下|记着|记到|记在|保存|存下|存进|留在)"),
    (("记", "存"),
     rf"{_HAN_NOT}(?:把|将)?(?:这|那|我刚|我说的|刚才|刚刚)[^，。！？\n]{{0,12}}?(?:记住|记下|记着|记到|记在|保存|存进|存下)"),
    (("记", "存"), rf"{_HAN_NOT}(?:记住|记下来?|保存|记着)(?:我刚|我说|我告诉|刚才|刚刚|这|那)"),
    (("记",), rf"我不(?:想|希望)你(?:记住|记得|记着){_HAN_THAT}"),
    (("记",), rf"{_HAN_IT}你(?:可|就|都|也|千万)?{_HAN_NOT}记(?:[，,；;。！!吧啊哦]|$)"),
    (("忘",), rf"{_HAN_IT}{_HAN_WISH}[就都]?(?:彻底|永远|赶快)?{_HAN_FORGET}"),
    (("没说", "没讲", "没提"), rf"(?:就|请)[你]?当(?:作|做)?我?(?:刚才|从来)?没[说讲提]过?{_HAN_IT}"),
)  # fmt: skip
_HINTS = frozenset(part for needs, _ in (*_EARNEST, *_HAN_EARNEST) for part in needs)
_HAN_WEAK: _Form = (("忘", "没"),
    rf"{_CLAUSE}{_HAN_FORGET}(?:{_HAN_THAT}|吧)|{_HAN_IT}你就?{_HAN_FORGET}吧(?![？?])"
    rf"|{_CLAUSE}{_HAN_FORGET}[^，。！？\n别不没未]{{1,14}}[事话]情?吧(?![？?])|{_CLAUSE}忘掉[^，。！？\n别不没未]{{1,14}}[事话]"
    rf"|{_CLAUSE}[把将][^，。！？\n别不没未]{{1,14}}?[都全给]?{_HAN_FORGET}吧(?![？?])"
    rf"|{_CLAUSE}就?当(?:作|做)?我?(?:刚才|从来)?没[说讲提]过?")  # fmt: skip
_HAN_SIGN = (
    rf"(?:{_HAN_NOT}|永远不要|再也不要|再也别|永远别)再?(?:跟我|和我|对任何人)?提"
    rf"|(?:^|[，,；;。！!\s也你个事话儿])(?:可|千万)?{_HAN_NOT}(?:记(?![得仇恨挂者性忆错混反])|写下|存下|留着)"
    r"|我是认真的|我说真的|不该(?:说|告诉)"
)
_HAN_WITHDRAWN = r"算了|没关系|不重要|无所谓|我是说|我的意思|[他她妈爸]们?(?:跟我)?[说讲]"

# --- what a plea names

#: Where the order ends and a reason or a remark begins.
_ASIDE = pattern_of(
    r"[;:—–(；：（]|,? (?:because|since|as i|before|unless)\b|因为"
    r"|, ?(?:and |but |or |so )?(?:it|that|this|i|i'm|you|he|she|we|they|wipe|erase|delete|please|okay|ok|thanks?)\b"
    r"|[、，](?:我不|我是|千万)|(?:,|\band) (?:never|don't|do not)\b(?! (?:ever )?(?:mention|bring|speak|talk|raise))"
    r"|[、，](?:别|不要|永远|再也)[^，。提]{0,4}(?!提)",
    re.IGNORECASE,
)
#: These words of an order name nothing.
_ORDER = (
    r"(?:please|want|need|beg|ask|like|love|prefer|rather|forgot|forget|forgotten|unremember|disremember|erase|wipe|delete"
    r"|scrub|purge|remove|strike|clear|clean|drop|cut|take|keep|leave|store|save|put|record|retain|remember|memori[sz]e"
    r"|pretend|try|memory|memories|mind|records?|notes?|head|database|logs?|files?|said|told|tell|say|wrote|write|typed?"
    r"|mention(?:ed)?|bring|raise|speak|repeat|shared?|confided|admitted|sent|brought|asked|ever|even|never|everything|anything|whatever|whole|part"
    r"|regarding|concerning|last|previous|messages?|sentences?|words?|forever|good|completely|entirely|seriously|honestly"
    r"|stupid|silly|dumb|embarrassing|terrible|awful|tonight|today|yesterday|evening|morning|night|afternoon|week|earlier"
    r"|ago|minutes?|moments?|right|away|immediately|conversation|chat|talk|anyone|again|mean|serious|mine|might|story)"
)
_EMPTY = pattern_of(rf"\b{_ORDER}\b", re.IGNORECASE)
_HAN_EMPTY = pattern_of(
    r"请你?|求求你?|求你|拜托你?|麻烦你?|我?希望你?|我?想让你|我?要你|能不能|必须|一定要|让你|[跟和对]你|永远|再也|赶快|赶紧|现在|立刻|马上|彻底"
    r"|忘掉|忘了|忘记|忘光|忘干净|删掉|删除|删了|抹掉|抹去|擦掉|擦除|清除|清掉|去掉|移除|消除|(?:记忆库?|记录|脑子|脑海|大脑|存档)(?:里面?|中|当中)?"
    r"|关于|有关|对于|刚才|刚刚|昨天|今天|前天|晚上|早上|上次|之前|以前|上面|前面|以上|一切|所有|全部|任何|千万|不要|不用|不许|不准|请?勿"
    r"|告诉|[说讲提]过?|的?[话事]情?|秘密|对话|消息|内容|[这那][些段件句个]?|那件|记住|记下来?|记着|记到|记在|记得|保存|存下|存进|留在"
    r"|[我你它们把将从给刚别再全都吧了的]|就(?=$|\s)|[句件段]"
)
_AND = pattern_of(r"\s*(?:,|\band\b|\bor\b|[、，,])\s*")
_ABOUT = pattern_of(
    r"\b(?:about|regarding|concerning|(?:memory|memories|mind|head|notes) of)\s+(?!it\b|this\b|that\b)",
    re.IGNORECASE,
)
_LEADING = pattern_of(
    r"^(?:(?:i|you|your|do|not|don't|never|that|of|to|from|out|with|in|up)\b\s*)+", re.IGNORECASE
)
#: What is pointed at rather than named.
_POINTS = pattern_of(
    r"\b(?:it|this|these|those|just|last|previous)\b|\bthat\b(?! (?:i|my|the|we|he|she|they)\b)"
    r"|(?:what|everything|anything|all|whatever|things?)(?: that)? i(?:'ve| have)?(?: just| ever)? [a-z]+"
    r"(?!.*\b(?:about|regarding|concerning)\b)"
    r"|刚|[这那](?:些|句|段|个|件事(?!情?的))|它|上面|以上"
)
#: What was said a little while ago is meant, and nothing older.
_LATELY = pattern_of(
    r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\b(?:moments?|minutes?|seconds?) ago\b"
    r"|\b(?:i|we)(?:'ve| have)? just\b|\bjust now\b|\b(?:last|previous) (?:message|sentence|thing)"
    r"|刚|今[天晚早]|上面|以上"
)
#: What goes on from what was said before it: of somebody, or of anything.
_SOMEBODY = (
    r"\b(?:he|she|him|her|his|hers|they|them|their)\b|^\s*(?:then|and|after(?:wards)?|later|because)\b"
    r"|[他她]|对方|人家|^\s*(?:后来|然后|结果|于是|而且|因为|接着)"
)
_LEANS_ON_SOMEBODY = pattern_of(_SOMEBODY)
_LEANS = pattern_of(
    rf"{_SOMEBODY}|\b(?:it|that|this|those|these|one|both)\b|^\s*(?:so|but|also)\b|[它这那其]|^\s*(?:但|所以|还)"
)
#: Characters that join others and are seldom part of a word; some stop characters are ("address", "allergy").
_JOINING = STOP_CHARACTERS - frozenset("地过会可能对向果因得")
_BEGINS_LEANING = pattern_of(
    r"\W*(?:(?:and|then|but|so|because|yes|no)\b\W*)?(?:he|she|they|it|that|his|her|their)\b|[他她它这那]"
)
_WORD = pattern_of(r"[^\W_]+(?:'[^\W_]+)?")
_HAN_RUN = pattern_of(f"[{UNSPACED}]+")


def _named(order: str) -> list[str]:
    """The things that an order to forget names, in the person's words."""
    named = _ABOUT.split(order, maxsplit=1)[-1].strip(" .!?。！？")
    return [found for part in _AND.split(named) if (found := _bared(part))]


def _bared(part: str) -> str:
    """What is left of a part of an order without the words that name nothing; "" when that is nothing."""
    if unspaced_length(part):
        part = max(re.split(r"\s{2,}", _HAN_EMPTY.sub("  ", part)), key=len)
    else:
        part = _EMPTY.sub(" ", re.sub(r"\b(?:from|out of|in|of) your\b.*", "", part))
        part = _LEADING.sub("", " ".join(part.split()))
    return part.strip() if _terms(part) else ""


def _terms(text: str) -> frozenset[str]:
    """The words that tell something, each without its ending of a plural or an owner, and pairs of characters."""
    lower = text.lower().replace("’", "'")
    words = {_root(word) for word in _WORD.findall(_HAN_RUN.sub(" ", lower)) if word not in STOP_WORDS}
    pairs = {run[at : at + 2] for run in _HAN_RUN.findall(lower) for at in range(len(run) - 1)}
    return frozenset(word for word in words if len(word) > 1) | {
        pair for pair in pairs if not _JOINING.intersection(pair)
    }


def _root(word: str) -> str:
    word = word.removesuffix("'s").rstrip("'")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _holds(text: str, part: str) -> bool:
    """Whether a text speaks of a thing: it holds its words, of Chinese most of its pairs of characters."""
    terms, wanted = _terms(text), _terms(part)
    held = sum(1 for one in wanted if any(_same(one, term) for term in terms))
    return held * 2 >= len(wanted) if unspaced_length(part) else held == len(wanted)


def _shares(text: str, wanted: Collection[str]) -> bool:
    """Whether a text holds one of these words."""
    return any(_same(one, term) for term in _terms(text) for one in wanted)


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one word."""
    if one == other or min(len(one), len(other)) < 4:
        return one == other
    common = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    return common >= max(len(one), len(other)) - 3 and (common >= 5 or common == min(len(one), len(other)))


def heard(text: str) -> Plea | None:
    """The plea in what a person said, if there is one.

    >>> heard("Please forget that, I mean it.")
    Plea(alone=True, matter=(), points=True, lately=False)
    >>> heard("Please forget what I said about my boss's wife.")
    Plea(alone=True, matter=("my boss's wife",), points=False, lately=False)
    >>> heard("Forget it, let's eat.") is None
    True
    """
    plain = _QUOTED.sub(" ", text[-_LOOKED_AT:].replace("’", "'"))
    lower = plain.lower()
    if not any(part in lower for part in _HINTS):
        return None
    sentences = [found[0].strip() for found in _SENTENCE.finditer(plain)]
    begins = [_begins(sentence, plain) for sentence in sentences]
    pleas = [sentence[at:] for sentence, at in zip(sentences, begins, strict=True) if at is not None]
    if not pleas:
        return None
    orders = [_ASIDE.split(plea)[0] for plea in pleas]
    matter = tuple(dict.fromkeys(part for order in orders for part in _named(order)))
    points = not matter or any(_POINTS.search(order.lower()) for order in orders)
    lately = any(_LATELY.search(plea.lower()) for plea in pleas)
    return Plea(_is_little(_rest(sentences, begins)), matter, points, lately)


def meant(plea: Plea, said: Sequence[tuple[str, str]], elsewhere: Sequence[str] = ()) -> tuple[int, ...]:
    """Which of the rounds before a plea it speaks of; ``said`` are their messages and replies, oldest first.

    A plea that names no matter speaks of the round before it. One that names a matter speaks of the rounds that hold
    it, of those that go on from one of them with "she" or "then", and of what one of them goes on from. The round
    before it is spoken of too wherever that is not certain: where no round holds the whole matter, or where it leans on
    what was said, or shares a word. ``elsewhere`` are the messages of other sessions that hold the whole matter.
    """
    before = {len(said) - 1} if said and plea.alone else set[int]()
    if not plea.matter:
        return tuple(before)
    holding = {at for at, told in enumerate(said) if any(_holds(" ".join(told), one) for one in plea.matter)}
    if not holding and not elsewhere:
        if not plea.alone:
            return ()
        named = frozenset[str]().union(*map(_terms, plea.matter))
        return tuple(sorted(before | {at for at, told in enumerate(said) if _shares(" ".join(told), named)}))
    going_on = holding | {at - 1 for at in holding if at and _BEGINS_LEANING.match(said[at][0].lower())}
    for at in range(1, len(said)):
        leans = _LEANS if at - 1 in holding else _LEANS_ON_SOMEBODY
        if at - 1 in going_on and leans.search(said[at][0].lower()):
            going_on.add(at)
    doubtful = plea.points or (
        bool(before) and _in_doubt(said[-1][0], [*elsewhere, *(said[at][0] for at in holding)])
    )
    return tuple(sorted(going_on | (before if doubtful else set())))


def spoken_of(plea: Plea, before: Sequence[Round], older: Sequence[Round] = ()) -> tuple[Round, ...]:
    """The rounds before a plea that it speaks of; what they quote counts for nothing.

    ``older`` are the rounds of other sessions that hold what it names.
    """
    said = [(one.user.words, without_quotations(one.assistant.words)) for one in before]
    return tuple(before[at] for at in meant(plea, said, [one.user.words for one in older]))


def holding(matter: str, rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds that hold the words of a thing that a plea names; what they quote counts for nothing."""
    said = [f"{one.user.words} {without_quotations(one.assistant.words)}" for one in rounds]
    return tuple(one for one, text in zip(rounds, said, strict=True) if _holds(text, matter))


def _in_doubt(text: str, told: Sequence[str]) -> bool:
    """Whether a round may still speak of what these tell: it leans on what was said before, or shares a word."""
    terms = _terms(text)
    return bool(_LEANS.search(text.lower())) or any(terms & _terms(one) for one in told)


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


def _begins(sentence: str, message: str) -> int | None:
    """Where a plea begins in a sentence; None when there is none. A sign of earnest may stand anywhere beside it."""
    lower = sentence.lower()
    found = _first(_EARNEST, lower) or _meant_so(_WEAK, _SIGN, lower, message.lower())
    if found and not re.search(_WITHDRAWN, lower):
        return found.start()
    found = _first(_HAN_EARNEST, sentence) or _meant_so(_HAN_WEAK, _HAN_SIGN, sentence, message)
    return found.start() if found and not re.search(_HAN_WITHDRAWN, sentence) else None


def _first(forms: Sequence[_Form], text: str) -> re.Match[str] | None:
    tried = (pattern for needs, pattern in forms if any(part in text for part in needs))
    return next((found for pattern in tried if (found := re.search(pattern, text))), None)


def _meant_so(weak: _Form, sign: str, sentence: str, message: str) -> re.Match[str] | None:
    """An idiom where the message holds a sign that it is meant in earnest."""
    found = _first([weak], sentence)
    return found if found and re.search(sign, message) else None


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
