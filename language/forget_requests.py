"""Detects serious requests to forget something, and which messages they refer to, in English and Chinese.

Strict on purpose: "forget it, let's eat" and 算了忘了吧 ask for nothing. A forget request orders to forget, erase or not
remember what was said; an idiom counts only with another sign that it is meant. Quoted text is ignored. In doubt a
request refers to more rounds rather than fewer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from domain.patterns import pattern_of
from domain.quotations import without_quotations
from domain.records import PREFIX, Round
from language.scripts import STOP_CHARACTERS, STOP_WORDS, UNSPACED, unspaced_length

#: From this length on, the rest of a message counts as content of its own.
_SUBSTANCE, _SUBSTANCE_UNSPACED = 60, 25
#: Only this many last characters of a message are searched.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class ForgetRequest:
    """A detected forget request. ``alone``: the message says little else, so it refers to earlier messages.

    ``matter``: the things it names, in the person's words. ``points``: it names none, or also says "that" or "just", so
    the round before is always meant. ``lately``: it refers to something recent, and so to no older session.
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

#: A form: substrings of which a sentence must contain one, as a quick check, and its pattern.
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
#: Idioms, which count only together with a sign that they are meant.
_WEAK: _Form = (("forget",),
    rf"{_START}forget(?: about)? (?:{_THAT}|{_TOLD}|everything\b|(?:that )?i (?:just |even )?{_SAID}\b)")  # fmt: skip
_SIGN = (
    r"\bi mean it\b|\bi'?m serious\b|\b(?:wipe|erase|delete|scrub) (?:it|that|this)\b|\bforever\b|\bfor good\b"
    r"|\bnever(?: ever)? (?:bring|mention|speak|talk|raise|repeat|tell)"
    r"|\b(?:don't|do not)(?: ever)? (?:bring|repeat|speak of|talk about|tell|mention (?:this|that|it again))"
    r"|\b(?:don't|do not)(?: ever)? (?:(?:note|write|put) (?:it|this|that) down|(?:note|record|store) (?:it|this|that))\b"
    r"|\bshouldn't have (?:said|told|mentioned|written|shared)"
)
#: With one of these a thought is withdrawn or corrected, and nothing is to be forgotten.
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

# --- what a forget request names

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
    r"\b(?:about|regarding|concerning|(?:memory|memories|mind|head|notes) of)\s+(?!it\b|this\b|that\b)", re.IGNORECASE
)
_LEADING = pattern_of(r"^(?:(?:i|you|your|do|not|don't|never|that|of|to|from|out|with|in|up)\b\s*)+", re.IGNORECASE)
#: Words that point at something without naming it.
_POINTS = pattern_of(
    r"\b(?:it|this|these|those|just|last|previous)\b|\bthat\b(?! (?:i|my|the|we|he|she|they)\b)"
    r"|(?:what|everything|anything|all|whatever|things?)(?: that)? i(?:'ve| have)?(?: just| ever)? [a-z]+"
    r"(?!.*\b(?:about|regarding|concerning)\b)"
    r"|刚|[这那](?:些|句|段|个|件事(?!情?的))|它|上面|以上"
)
#: Words that refer to something recent only.
_LATELY = pattern_of(
    r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\b(?:moments?|minutes?|seconds?) ago\b"
    r"|\b(?:i|we)(?:'ve| have)? just\b|\bjust now\b|\b(?:last|previous) (?:message|sentence|thing)"
    r"|刚|今[天晚早]|上面|以上"
)
#: Words that continue the message before: about a person, or about anything.
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


def _strip_empty_words(part: str) -> str:
    """A part of a request without the words that name nothing."""
    if unspaced_length(part):
        part = max(re.split(r"\s{2,}", _HAN_EMPTY.sub("  ", part)), key=len)
    else:
        part = _EMPTY.sub(" ", re.sub(r"\b(?:from|out of|in|of) your\b.*", "", part))
        part = _LEADING.sub("", " ".join(part.split()))
    return part.strip() if _content_words(part) else ""


def _content_words(text: str) -> frozenset[str]:
    """The content words of a text without plural and possessive endings, and its pairs of Chinese characters."""
    lower = text.lower().replace("’", "'")
    words = {_word_root(word) for word in _WORD.findall(_HAN_RUN.sub(" ", lower)) if word not in STOP_WORDS}
    pairs = {run[at : at + 2] for run in _HAN_RUN.findall(lower) for at in range(len(run) - 1)}
    return frozenset(word for word in words if len(word) > 1) | {
        pair for pair in pairs if not _JOINING.intersection(pair)
    }


def _word_root(word: str) -> str:
    word = word.removesuffix("'s").rstrip("'")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _speaks_of(text: str, part: str) -> bool:
    """Whether a text contains all words of a thing, or in Chinese half of its character pairs."""
    wanted = _content_words(part)
    found = _count_found(wanted, text)
    return found * 2 >= len(wanted) if unspaced_length(part) else found == len(wanted)


def _count_found(wanted: Collection[str], text: str) -> int:
    terms = _content_words(text)
    return sum(any(_is_same_word(one, term) for term in terms) for one in wanted)


def _is_same_word(one: str, other: str) -> bool:
    """Whether two words are forms of one word."""
    if one == other or min(len(one), len(other)) < 4:
        return one == other
    shorter = min(len(one), len(other))
    common = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return common >= max(len(one), len(other)) - 3 and (common >= 5 or common == shorter)


def detect_forget_request(text: str) -> ForgetRequest | None:
    """The forget request in a message, if there is one.

    >>> detect_forget_request("Please forget that, I mean it.")
    ForgetRequest(alone=True, matter=(), points=True, lately=False)
    >>> detect_forget_request("Please forget what I said about my boss's wife.")
    ForgetRequest(alone=True, matter=("my boss's wife",), points=False, lately=False)
    >>> detect_forget_request("Forget it, let's eat.") is None
    True
    """
    plain = _QUOTED.sub(" ", text[-_LOOKED_AT:].replace("’", "'"))
    lower = plain.lower()
    if not any(part in lower for part in _HINTS):
        return None
    sentences = [found[0].strip() for found in _SENTENCE.finditer(plain)]
    begins = [_find_start(sentence, plain) for sentence in sentences]
    forget_requests = [sentence[at:] for sentence, at in zip(sentences, begins, strict=True) if at is not None]
    if not forget_requests:
        return None
    orders = [_ASIDE.split(found)[0] for found in forget_requests]
    named = [_ABOUT.split(order, maxsplit=1)[-1].strip(" .!?。！？") for order in orders]
    things = [_strip_empty_words(part) for order in named for part in _AND.split(order)]
    matter = tuple(dict.fromkeys(filter(None, things)))
    points = not matter or any(_POINTS.search(order.lower()) for order in orders)
    lately = any(_LATELY.search(found.lower()) for found in forget_requests)
    rest = _other_text(sentences, begins)
    han = unspaced_length(rest)
    alone = han < _SUBSTANCE_UNSPACED and len(rest) - han < _SUBSTANCE
    return ForgetRequest(alone, matter, points, lately)


def rounds_spoken_of(
    request: ForgetRequest, said: Sequence[tuple[str, str]], elsewhere: Sequence[str] = ()
) -> tuple[int, ...]:
    """The indexes of the earlier rounds that a forget request refers to.

    ``said``: their messages and replies, oldest first. ``elsewhere``: messages of other sessions about the whole matter.
    A request that names nothing refers to the round before it. Otherwise it refers to the rounds about the matter, those
    that continue one of them ("she", "then"), and those that one of them continues. In doubt the round before the
    request is included too: if no round is about the whole matter, or it continues or shares a word with one that is.
    """
    before = {len(said) - 1} if said and request.alone else set[int]()
    if not request.matter:
        return tuple(before)
    matching = {at for at, texts in enumerate(said) if any(_speaks_of(" ".join(texts), one) for one in request.matter)}
    if not matching and not elsewhere:
        if not request.alone:
            return ()
        named = frozenset[str]().union(*map(_content_words, request.matter))
        sharing = {at for at, texts in enumerate(said) if _count_found(named, " ".join(texts))}
        return tuple(sorted(before | sharing))
    going_on = matching | {at - 1 for at in matching if at and _BEGINS_LEANING.match(said[at][0].lower())}
    for at in range(1, len(said)):
        leans = _LEANS if at - 1 in matching else _LEANS_ON_SOMEBODY
        if at - 1 in going_on and leans.search(said[at][0].lower()):
            going_on.add(at)
    naming = [*elsewhere, *(said[at][0] for at in matching)]
    last = said[-1][0] if before else ""
    shares_word = any(_content_words(last) & _content_words(one) for one in naming)
    doubtful = request.points or shares_word or bool(_LEANS.search(last.lower()))
    return tuple(sorted(going_on | (before if doubtful else set())))


def select_rounds(request: ForgetRequest, before: Sequence[Round], older: Sequence[Round] = ()) -> tuple[Round, ...]:
    """The earlier rounds that a forget request refers to, ignoring what they quote.

    ``older``: rounds of other sessions that contain what it names.
    """
    said = [(one.user.words, without_quotations(one.assistant.words)) for one in before]
    return tuple(before[at] for at in rounds_spoken_of(request, said, [one.user.words for one in older]))


def rounds_about(matter: str, rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds about a thing that a forget request names, ignoring what they quote."""
    said = [f"{one.user.words} {without_quotations(one.assistant.words)}" for one in rounds]
    return tuple(one for one, text in zip(rounds, said, strict=True) if _speaks_of(text, matter))


def mark_hidden(spoken: Round) -> Round:
    """The round, marked as hidden by a forget request."""
    return Round(replace(spoken.user, hidden=True), replace(spoken.assistant, hidden=True))


def replace_hidden(rounds: Sequence[Round], user: str, assistant: str) -> tuple[Round, ...]:
    """The rounds as a model gets them: hidden ones are replaced by neutral lines."""
    return tuple(
        Round(
            replace(spoken.user, text=PREFIX["user"] + user),
            replace(spoken.assistant, text=PREFIX["assistant"] + assistant),
        )
        if spoken.hidden
        else spoken
        for spoken in rounds
    )


def _find_start(sentence: str, message: str) -> int | None:
    """Where a forget request starts in a sentence, or None. A sign that it is meant may be anywhere in the message."""
    lower = sentence.lower()
    found = _first_match(_EARNEST, lower) or _meant_so(_WEAK, _SIGN, lower, message.lower())
    if found and not re.search(_WITHDRAWN, lower):
        return found.start()
    found = _first_match(_HAN_EARNEST, sentence) or _meant_so(_HAN_WEAK, _HAN_SIGN, sentence, message)
    return found.start() if found and not re.search(_HAN_WITHDRAWN, sentence) else None


def _first_match(forms: Sequence[_Form], text: str) -> re.Match[str] | None:
    tried = (pattern for needs, pattern in forms if any(part in text for part in needs))
    return next((found for pattern in tried if (found := re.search(pattern, text))), None)


def _meant_so(weak: _Form, sign: str, sentence: str, message: str) -> re.Match[str] | None:
    """The match of an idiom if the message has a sign that it is meant."""
    found = _first_match([weak], sentence)
    return found if found and re.search(sign, message) else None


def _other_text(sentences: Sequence[str], begins: Sequence[int | None]) -> str:
    """The sentences without the forget request and what only stresses it."""
    rest = []
    for sentence, at in zip(sentences, begins, strict=True):
        if at is not None:
            rest.append(sentence[:at])
        elif not re.search(_SIGN, sentence.lower()) and not re.search(_HAN_SIGN, sentence):
            rest.append(sentence)
    return " ".join(rest)
