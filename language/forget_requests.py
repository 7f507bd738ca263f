"""Finds requests to forget something, and which messages they refer to, in English and Chinese.

Rules say how certain a request is: ``clear`` and ``likely`` ones are hidden at once, for an ``uncertain`` one the person
is asked, a ``possible`` one is hidden only after a model has read it. What a message reads like may make it more
certain. An idiom ("forget it, let's eat", 算了忘了吧) is at most possible. What a request refers to is read narrowly: the
message itself if it says what is meant, else what it names, else the round before it. Quoted text is ignored, and a
text is spelled as the forms are written first (``normalise``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from domain.patterns import Guarded, pattern_of
from domain.quotations import without_quotations
from domain.records import Round
from language import forget_forms as forms
from language.scripts import STOP_CHARACTERS, STOP_WORDS, UNSPACED, unspaced_length

Certainty = Literal["possible", "uncertain", "likely", "clear"]
#: How certain a request is by what its message reads like: a ``none`` outweighs a rule that only finds it possible.
Reading = Literal["none", "possible", "uncertain", "likely", "clear"]
_READINGS: tuple[Reading, ...] = get_args(Reading)

#: So many content words, or Chinese characters, beside a request are the matter itself.
_SUBSTANCE, _SUBSTANCE_UNSPACED = 2, 5
#: From so many shared words on, and half of them, a text repeats a message.
_RETOLD = 3
#: Only this many last characters of a message are searched.
_LOOKED_AT = 20_000
_Wording = tuple[tuple[Guarded, ...], tuple[Guarded, ...], Guarded, Guarded, Guarded, re.Pattern[str], re.Pattern[str]]
_WORDINGS: tuple[_Wording, ...] = (
    (forms.CLEAR, forms.LIKELY, forms.POSSIBLE, forms.IDIOM, forms.SIGN, forms.AGAINST, forms.NO_REQUEST),
    (
        forms.HAN_CLEAR, forms.HAN_LIKELY, forms.HAN_POSSIBLE, forms.HAN_IDIOM, forms.HAN_SIGN,
        forms.HAN_AGAINST, forms.HAN_NO_REQUEST,
    ),
)  # fmt: skip
#: What the orders of each wording need.
_NEEDED = {orders: frozenset(part for one in orders for part in one.parts) for each in _WORDINGS for orders in each[:2]}


@dataclass(frozen=True)
class ForgetRequest:
    """A forget request.

    ``alone``: the message does not say itself what is to be forgotten, so it refers to earlier messages. ``matter``: the
    things it names, in the person's words. ``points``: it names none, or also says "that" or "just". ``lately``: it
    refers to something recent, and so to what is nearest of it.
    """

    alone: bool
    matter: tuple[str, ...] = ()
    points: bool = True
    lately: bool = False
    certainty: Certainty = "clear"

    def names_enough(self, part: str) -> bool:
        """Whether a part of the matter says enough to look for it in older sessions; a name alone does not, lately."""
        return not self.lately or len(_content_words(part)) > 1

    @property
    def hides(self) -> bool:
        """Whether it counts before a model has read it, or the person has been asked."""
        return self.certainty in ("likely", "clear")


_QUOTED = pattern_of(r'"[^"\n]{0,300}"|“[^”\n]{0,300}”|「[^」\n]{0,300}」|『[^』\n]{0,300}』|‘[^’\n]{3,300}’')
_SENTENCE = pattern_of(r"[^.!?。！？\n]+[.!?。！？\n]*")

# --- spelling

_APOSTROPHE = Guarded(
    "'|`|´", r"\b(i|you|we|they|it|that|this|let|what)['`´](m|d|ve|ll|re|s)\b|\b([a-z]+n)['`´]t\b", any_case=True
)
_SPELLED = {
    "please": "pls plz plse pleas plese pleease pleaes",
    "you": "u ya",
    "your": "ur",
    "forget": "forgt fogret froget forgte foget forgett forgret frget forgetit",
    "forgot": "frogot forgott",
    "remember": "remeber rember remmember rememebr rembember remebmer remembr remeberr",
    "remembering": "remebering rembering",
    "mention": "menton mentoin metion mension menion",
    "mentioned": "mentoned mentionned metioned mensioned",
    "bring": "brign birng brng",
    "delete": "delte deelte delet deleet",
    "erase": "earse erace eraze errase",
    "pretend": "pretned pretent prentend pertend preten",
    "between": "betwen beetween btwn betwene",
    "secret": "secert seceret",
    "again": "agian agin agen",
    "never": "nver neva nvr",
    "what": "wat wot wut",
    "about": "abt bout",
    "said": "siad sayed",
    "dont": "dnt donot",
    "doesnt": "dosent doesent",
    "should": "shoud shuld shld",
    "shouldnt": "shoudnt shouldent shudnt shuldnt shoudlnt shouldnta shouldna",
    "confidential": "confidental confedential",
    "anymore": "anymor",
    "never mind": "nvm nevermind nvmd",
    "want to": "wanna",
}  # fmt: skip
_SPELLING = {wrong: right for right, wrongs in _SPELLED.items() for wrong in wrongs.split()}
_LATIN_WORD = pattern_of(r"[A-Za-z]+")
_SIMPLIFIED = str.maketrans(
    "別記請說話講當沒剛這個們對從裡裏憶錄許應該寫後會將關於題過還聽見麼為與間開刪談聊問條內傳誰學應讓錢給總實檔麻煩點嗎邊發氣樣號隨",
    "别记请说话讲当没刚这个们对从里里忆录许应该写后会将关于题过还听见么为与间开删谈聊问条内传谁学应让钱给总实档麻烦点吗边发气样号随",
)
#: What dictation and input methods put in the place of a character that sounds the same.
_HOMOPHONES = (
    (pattern_of(r"(?<=[别要想许后以])在(?=提|说起|聊起|跟我|和我)"), "再"),
    (pattern_of(r"别题"), "别提"),
    (pattern_of(r"忘调"), "忘掉"),
    (pattern_of(r"忘[啦咯喽嘞]"), "忘了"),
    (pattern_of(r"(?<=[事话吧它])[望旺](?=[了掉])"), "忘"),
    (pattern_of(r"保蜜"), "保密"),
    (pattern_of(r"别计(?=住|下|[，。！吧了]|$)"), "别记"),
)
_HAN_SPACE = pattern_of(r"(?<=[\u3400-\u9fff])[ \u3000]+(?=[\u3400-\u9fff])")


def normalise(text: str) -> str:
    """The text as the forms are written.

    >>> normalise("I shouldn't of typed that, pls dont remeber it. 別在提了")
    'I shouldnt have typed that, please dont remember it. 别再提了'
    """
    text = _APOSTROPHE.sub(
        lambda found: (found[1] or "") + (found[2] or "") + ((found[3] and found[3] + "t") or ""), text
    )
    if not _SPELLING.keys().isdisjoint(_LATIN_WORD.findall(text.lower())):
        text = _LATIN_WORD.sub(lambda found: _SPELLING.get(found[0].lower(), found[0]), text)
    text = _SHOULD_OF.sub(r"\1 have", text)
    if not text.isascii():
        text = _HAN_SPACE.sub("，", text.translate(_SIMPLIFIED))
        for pattern, right in _HOMOPHONES:
            text = pattern.sub(right, text)
    return text


_SHOULD_OF = Guarded(
    "should|could|would|must", r"\b((?:should|shouldnt|could|would|must)(?: not| never)?) (?:of|a|ve)\b", any_case=True
)

# --- what a forget request names

#: What may come before an order; where it ends, and a reason or a remark begins.
_PLEASE_FIRST = pattern_of(
    r"^(?:\W*(?:and|but|so|also|then|now|just|can|could|will|would|you)\b)*\W*please\b", re.IGNORECASE
)
_ASIDE = pattern_of(
    r"[;:—–(；：（]|,? (?:because|since|as i|before|unless)\b|因为"
    r"|, ?(?:and |but |or |so )?(?:it|that|this|i|im|ive|you|he|she|we|they|wipe|erase|delete|please|okay|ok|k|thanks?|will)\b"
    r"| (?:will|would|can|could) you\b(?! \w)| please\b.*|[、，](?:我不|我是|千万)|(?:,|\band) (?:never|dont|do not)\b(?! (?:ever )?(?:mention|bring|speak|talk|raise))"
    r"|[、，](?:别|不要|永远|再也)[^，。提]{0,4}(?!提)",
    re.IGNORECASE,
)
#: These words of an order name nothing.
_ORDER = (
    r"(?:please|want|need|beg|ask|like|love|prefer|rather|forgot|forget|forgotten|forgetting|unremember|disremember|unhear|unlearn|erase|wipe|delete"
    r"|scrub|purge|remove|strike|clear|clean|drop|cut|take|keep|leave|store|save|put|record|retain|remember|memori[sz]e"
    r"|pretend|try|memory|memories|mind|records?|notes?|head|database|logs?|files?|said|told|tell|say|wrote|write|typed?"
    r"|mention(?:ed|ing)?|bring(?:ing)?|raise|speak|repeat|discuss|refer|shared?|confided|admitted|sent|brought|asked|ever|even|never|everything|anything|whatever|whole|part"
    r"|regarding|concerning|last|previous|messages?|sentences?|words?|forever|good|completely|entirely|seriously|honestly"
    r"|stupid|silly|dumb|embarrassing|terrible|awful|tonight|today|yesterday|evening|morning|night|afternoon|week|earlier"
    r"|ago|minutes?|moments?|right|away|immediately|conversation|chat|talk(?:ing)?|anyone|anybody|again|any ?more|mean|serious|mine|might|story"
    r"|dont|doesnt|didnt|shouldnt|couldnt|wont|ive|id|im|hear|heard|see|saw|read|act|happened|secret|private|quiet|confidential|between|future"
    r"|lets|stop|quit|mentioning|having|typing|saying|can|could|may|would|dare|there|anyway|if|telling|business|thing|bit|stuff|wish|regret|appreciate|hang|hold|remind|stays?|scrap|scratch|unsay|back|yourself|soul)"
)
_EMPTY = pattern_of(rf"\b{_ORDER}\b", re.IGNORECASE)
_HAN_EMPTY = pattern_of(
    r"请你?|求求你?|求你|拜托你?|麻烦你?|我?希望你?|我?想让你|我?要你|能不能|可不可以|可以|必须|一定要|让你|帮我|替我|[跟和对]你|[跟和对]我|永远|再也|赶快|赶紧|现在|立刻|马上|彻底|以后|今后|往后"
    r"|忘掉|忘了|忘记|忘光|忘干净|忘却|删掉|删除|删了|抹掉|抹去|擦掉|擦除|清除|清掉|去掉|移除|消除|(?:记忆库?|记录|脑子|脑海|大脑|存档)(?:里面?|中|当中)?"
    r"|关于|有关|对于|刚才|刚刚|昨天|今天|前天|晚上|早上|上次|之前|以前|上面|前面|以上|一切|所有|全部|任何|千万|不要|不用|不许|不想|不愿意?|不希望|请?勿"
    r"|告诉|[说讲提]过?起?|聊起?|谈起?|的?[话事]情?|秘密|保密|对话|消息|内容|[这那][些段件句个条]?|那件|记住|记下来?|记着|记到|记在|记得|保存|存下|存进|留在|就?当(?:作|做)?没(?:听见|说|发生)?"
    r"|不该|不应该|打出来|发出来|说出来|好吗|行吗|可以吗|好不好|后悔|收回|撤回|嘴快了?|多嘴|打错了?|说漏了?嘴|往外|外传|烂在(?:肚子|心)里|哎呀|唉|是咱俩|咱们?俩?|写进|听见|听到|知道|记(?=$|\s|[，。我你这那])"
    r"|[我你它们把将从给刚别再全都吧了的也]|就(?=$|\s)|[句件段条]"
)
#: What an order is about, where it stands before the order.
_TOPIC = pattern_of(
    r"\b(?:what(?:ever)?|everything|anything|(?:that|the) (?:thing|stuff|bit|part|story|business|conversation)) (?:i|about|with|we)\b[^.!?]*$"
    r"|[^，,。！？]{1,20}(?:的事情?|的话|说的|事儿|内容|那段|这段|那句|这句)[，,]?[^，,。！？]{0,4}$",
    re.IGNORECASE,
)
_AND = pattern_of(r"\s*(?:,|\band\b|\bor\b|[、，,])\s*")
_ABOUT = pattern_of(
    r"\b(?:about|regarding|concerning|(?:memory|memories|mind|head|notes) of)\s+(?!it\b|this\b|that\b)", re.IGNORECASE
)
_OWNING = ("my", "our", "the", "his", "her", "their")
#: Words that point at something without naming it.
_POINTS = pattern_of(
    r"\b(?:it|this|these|those|just|last|previous)\b|\bthat\b(?! (?:i|my|the|we|he|she|they)\b)"
    r"|(?:what|everything|anything|all|whatever|things?)(?: that)? i(?:'ve| have)?(?: just| ever)? [a-z]+"
    r"(?!.*\b(?:about|regarding|concerning)\b)"
    r"|刚|[这那](?:些|句|段|个|件事(?!情?的))|它|上面|以上"
)
#: An order without a known form that points at something, and speaks of nothing of one's own.
_ONLY_POINTS = pattern_of(
    r"(?!.*(?:\b(?:my|our|about)\b|的[事话病]|我[的妈爸儿女家]))(?=.*(?:\b(?:it|this|that|him|her)\b|[这那][件段句些话事]|[他她它]))"
)
#: Words of a release that name nothing.
_RELEASING = pattern_of(
    r"\b(?:allowed|free|welcome|fine|alright|all right|now|longer|secret|use|do|it|unforget|unhide|ok(?:ay)?|after all)\b|可以|现在|已经|重新|随便|放心|不用|不必|不是|替我|帮我|瞒着?",
    re.IGNORECASE,
)
#: Regret of words that were just said.
_REGRET = pattern_of(
    r"\b(?:shouldnt|should never|should not) have (?:typed|said|mentioned|written)\b|不该(?:说|打|发|告诉你)"
)
#: Words that refer to something recent only.
_LATELY = pattern_of(
    r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\b(?:moments?|minutes?|seconds?) ago\b"
    r"|\b(?:i|we)(?:'ve| have)? just\b|\bjust now\b|\b(?:last|previous) (?:message|sentence|thing)"
    r"|刚|今[天晚早]|上面|以上"
)
#: A person's name, or a word for them, that continues the message before, near its beginning.
_CONTINUES = pattern_of(
    r"\W*(?:(?:and|then|but|so|because|yes|no|well|afterwards|later)\b\W*)?(?:[^\s.!?]+ ){0,4}?"
    r"(?:he|she|him|her|his|hers|they|them|their)\b|\W*(?:then|and|afterwards|later|because)\b|\W*(?:it|that)\b(?! is raining)"
    r"|[^，。！？]{0,5}[他她]|[^，。！？]{0,3}(?:对方|人家)|(?:后来|然后|结果|于是|而且|因为|接着)|[它这那其]"
)
#: A person that only the messages before can name.
_OF_SOMEBODY = pattern_of(r"\W*(?:[^\s.!?]+ ){0,2}?(?:he|she|him|her)\b|[^，。！？]{0,3}[他她]")
_BEGINS_LEANING = pattern_of(
    r"\W*(?:(?:and|then|but|so|because|yes|no)\b\W*)?(?:he|she|they|it|that|his|her|their)\b|[他她它这那]"
)
#: Characters that join others and are seldom part of a word; some stop characters are ("address", "allergy").
_JOINING = STOP_CHARACTERS - frozenset("地过会可能对向果因得")
_WORD = pattern_of(r"[^\W_]+(?:'[^\W_]+)?")
_NAME = pattern_of(r"(?<=[a-z,;] )[A-Z][a-z]+")
_HAN_RUN = pattern_of(f"[{UNSPACED}]+")
#: What is said beside a request and is not its matter.
_REMARK = pattern_of(
    r"\b(?:god|oh|ugh|sorry|embarrass\w*|stupid|drunk|silly|awkward|mistake|regret|tired|weird|serious(?:ly)?|mean it|thanks?|thank you|damn|shit"
    r"|shouldnt|should|have|said|told|typed?|mention(?:ed)?|i|that|this|it|you|not mine|wasnt|mine|promise|really|private|secret|ok|okay|hey|right|wait|actually)\b"
    r"|[啊哦唉哎呀哈嗯呃]|天哪|不好意思|对不起|抱歉|丢人|尴尬|喝多了|冲动|我是认真的|我说真的|谢谢|拜托|算我求你|不该(?:说|告诉你)?的?|说(?:多|漏)了|后悔|好吗|真的",
    re.IGNORECASE,
)


def _strip_empty_words(part: str) -> str:
    """A part of a request without the words that name nothing."""
    if unspaced_length(part):
        part = max(re.split(r"\s{2,}", _HAN_EMPTY.sub("  ", part)), key=len).strip()
        return part if _content_words(part) else ""
    words = _EMPTY.sub(" ", re.sub(r"\b(?:from|out of|in|of) (?:your|the record)\b.*", "", part)).split()
    telling = [at for at, word in enumerate(words) if _content_words(word)]
    if not telling:
        return ""
    first = telling[0] - (telling[0] > 0 and words[telling[0] - 1].lower() in _OWNING)
    return " ".join(words[first : telling[-1] + 1])


def _content_words(text: str) -> frozenset[str]:
    """The content words of a text without plural and possessive endings, and its pairs of Chinese characters."""
    lower = text.lower().replace("’", "'")
    words = {_word_root(word) for word in _WORD.findall(_HAN_RUN.sub(" ", lower)) if word not in STOP_WORDS}
    pairs = {run[at : at + 2] for run in _HAN_RUN.findall(lower) for at in range(len(run) - 1)}
    words = {word for word in words if len(word) > 1}
    return frozenset(words | {pair for pair in pairs if _JOINING.isdisjoint(pair)})


def _word_root(word: str) -> str:
    word = word.removesuffix("'s").rstrip("'")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _speaks_of(text: str, part: str) -> bool:
    """Whether a text contains the words of a thing: of three or more two thirds, in Chinese half of its pairs."""
    wanted, terms = _content_words(part), _content_words(text)
    found = sum(any(_is_same_word(one, term) for term in terms) for one in wanted)
    if unspaced_length(part):
        return found * 2 >= len(wanted)
    return found == len(wanted) or (len(wanted) > 2 and found * 3 >= len(wanted) * 2)


def _is_same_word(one: str, other: str) -> bool:
    """Whether two words are forms of one word."""
    if one == other or min(len(one), len(other)) < 4:
        return one == other
    shorter = min(len(one), len(other))
    common = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return common >= max(len(one), len(other)) - 3 and (common >= 5 or common == shorter)


def detect_forget_request(
    text: str, reply: str = "", reads: Reading | None = None, *, certain: bool = False
) -> ForgetRequest | None:
    """The forget request in a message, if there may be one; a ``reply`` that promises silence makes it more certain.

    ``reads``: how certain it is by what it reads like; None where nothing can tell. ``certain``: none is looked for
    that is only possible.

    >>> detect_forget_request("Please forget that, I mean it.").certainty
    'clear'
    >>> detect_forget_request("Please forget what I said about my boss's wife.").matter
    ("my boss's wife",)
    >>> detect_forget_request("Forget it, let's eat.").hides
    False
    """
    plain = normalise(_QUOTED.sub(" ", text[-_LOOKED_AT:].replace("’", "'")))
    message = plain.lower()
    english, chinese = _WORDINGS
    spoken = ([] if message.isascii() else [chinese]) + ([english] if _LATIN_WORD.search(message) else [])
    wordings = [here for one in spoken[::-1] if (here := _forms_in(one, message, certain=certain))]
    if not (wordings or reply or reads):
        return None
    sentences = [found[0].strip() for found in _SENTENCE.finditer(plain)]
    graded = [_grade(sentence.lower(), message, wordings) for sentence in sentences]
    certainty = _add_up([one[0] for one in graded if one])
    promised = reply and forms.REPLY.search(normalise(without_quotations(reply).replace("’", "'")).lower())
    if reads == "none":
        certainty = None if certainty == "possible" and not promised else certainty
    elif reads and _READINGS.index(reads) > _READINGS.index(certainty or "none"):
        certainty = reads
    if promised:
        certainty = "likely" if certainty in ("possible", "uncertain") else certainty or "possible"
    if certainty is None or not sentences:
        return None
    surely = [one is not None and one[0] != "possible" for one in graded]
    begins = [one[1] if one and sure in (True, any(surely)) else None for one, sure in zip(graded, surely, strict=True)]
    if reads not in (None, "none") and not any(graded):
        begins[-1] = 0
    found = [sentence[at:] for sentence, at in zip(sentences, begins, strict=True) if at is not None]
    orders = [_ASIDE.split(_PLEASE_FIRST.sub("", one))[0] for one in found]
    named = [_ABOUT.split(order, maxsplit=1)[-1].strip(" .!?。！？") for order in orders]
    things = [_strip_empty_words(part) for order in named for part in _AND.split(order)]
    if reads not in (None, "none") and not any(graded):
        things = _NAME.findall(sentences[-1]) or ([] if _ONLY_POINTS.match(sentences[-1].lower()) else things)
    matter = tuple(dict.fromkeys(filter(None, things)))
    points = not matter or any(_POINTS.search(order.lower()) for order in orders)
    lately = any(_LATELY.search(one.lower()) for one in found) or bool(_REGRET.search(message))
    return ForgetRequest(not _tells(sentences, begins), matter, points, lately, certainty)


def detect_release(text: str) -> ForgetRequest | None:
    """What a message allows to be mentioned again ("you may mention it again", 可以再提了), if it allows anything.

    >>> detect_release("You can talk about Sam again.").matter
    ('Sam',)
    """
    plain = normalise(_QUOTED.sub(" ", text[-_LOOKED_AT:].replace("’", "'")))
    for sentence in (found[0].strip() for found in _SENTENCE.finditer(plain)):
        if forms.RELEASE.search(sentence.lower()) or forms.HAN_RELEASE.search(sentence):
            if forms.AGAINST.search(sentence.lower()) or sentence.endswith(("?", "？")):
                continue
            things = [_strip_empty_words(_RELEASING.sub(" ", part)) for part in _AND.split(_ASIDE.split(sentence)[0])]
            return ForgetRequest(True, tuple(dict.fromkeys(filter(None, things))))
    return None


def rounds_spoken_of(
    request: ForgetRequest, said: Sequence[tuple[str, str]], elsewhere: Sequence[str] = ()
) -> tuple[int, ...]:
    """The indexes of the earlier rounds that a forget request refers to.

    ``said``: their messages and replies, oldest first. ``elsewhere``: messages of other sessions about the whole matter.
    A request that names something refers to the rounds about it, those that continue one of them ("she", "then"), and
    those that one of them continues. One that names nothing refers to the round before it, unless its own message says
    what is meant; so does one whose matter is nowhere, if that round only says "she" or "that".
    """
    before = (len(said) - 1,) if said and request.alone and request.points else ()
    if before and request.matter and not _CONTINUES.match(said[-1][0].lower()):
        before = ()
    matching = {at for at, texts in enumerate(said) if any(_speaks_of(" ".join(texts), one) for one in request.matter)}
    if not matching:
        return () if elsewhere else before
    if request.lately:
        last = max(matching)
        matching = {at for at in matching if all(between in matching for between in range(at, last))}
    going_on = matching | {at - 1 for at in matching if at and _BEGINS_LEANING.match(said[at][0].lower())}
    for at in range(1, len(said)):
        if at - 1 in going_on and _CONTINUES.match(said[at][0].lower()):
            going_on.add(at)
    names = {name for at in matching for name in _NAME.findall(said[at][0])} - set(" ".join(request.matter).split())
    newest = said[-1][0]
    if names & set(re.findall(r"\w+", newest)) or _OF_SOMEBODY.match(newest.lower()):
        going_on.add(len(said) - 1)
    return tuple(sorted(going_on))


def select_rounds(request: ForgetRequest, before: Sequence[Round], older: Sequence[Round] = ()) -> tuple[Round, ...]:
    """The earlier rounds that a forget request refers to, ignoring what they quote.

    ``older``: rounds of other sessions that contain what it names.
    """
    said = [(one.user.words, _replied(one)) for one in before]
    return tuple(before[at] for at in rounds_spoken_of(request, said, [one.user.words for one in older]))


def _replied(spoken: Round) -> str:
    """What the companion said in a round, first and in reply, without what it quotes."""
    return " ".join(without_quotations(one.words) for one in spoken.messages if one.role == "assistant")


def rounds_about(matter: str, rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds about a thing that a forget request names, ignoring what they quote."""
    said = [f"{one.user.words} {_replied(one)}" for one in rounds]
    return tuple(one for one, text in zip(rounds, said, strict=True) if _speaks_of(text, matter))


def retells_hidden(text: str, hidden: Sequence[str], question: str) -> bool:
    """Whether a text repeats one of the ``hidden`` messages that the question says no word of."""
    asked, words = _content_words(question), _content_words(text)
    for one in hidden:
        said = _content_words(one)
        if len(said & words) >= max(_RETOLD, len(said) / 2) and not said & asked:
            return True
    return False


def _grade(sentence: str, message: str, wordings: Sequence[_Wording]) -> tuple[Certainty, int] | None:
    """How certain a request a sentence is and where it starts. A sign that it is meant may be anywhere in the message."""
    for clear, likely, possible, idiom, sign, against, none in wordings:
        meant = idiom.may_stand_in(sentence) and sign.search(message)
        clearly = _starts(clear, sentence) + (_starts([idiom], sentence) if meant else [])
        starts = clearly + _starts(likely, sentence)
        if starts and not against.search(sentence):
            return "clear" if clearly else "likely", _start_of_order(sentence, min(starts))
        may_be = possible.search(sentence)
        if starts or (may_be and not none.search(sentence)):
            return "possible", min([*starts, *([may_be.start()] if may_be else [])])
    return None


def _forms_in(wording: _Wording, message: str, *, certain: bool) -> _Wording | None:
    """A wording with the orders that may be in a message; None where nothing of it may be."""
    present = {part for orders in wording[:2] for part in _NEEDED[orders] if part in message}
    clear, likely = (tuple(one for one in orders if not present.isdisjoint(one.parts)) for orders in wording[:2])
    possible, idiom = wording[2:4]
    may_be = not certain and possible.may_stand_in(message)
    there = clear or likely or may_be or idiom.may_stand_in(message)
    return (clear, likely, *wording[2:]) if there else None


def _starts(tried: Sequence[Guarded], text: str) -> list[int]:
    return [found.start() for form in tried if (found := form.search(text))]


def _start_of_order(sentence: str, at: int) -> int:
    """Where an order begins that matches at ``at``: what it is about may stand before it."""
    if topic := _TOPIC.search(sentence[:at]):
        return topic.start()
    clause = max(sentence.rfind(mark, 0, at) for mark in "，,；;") + 1
    return clause if unspaced_length(sentence[clause:at]) else at


def _add_up(grades: Sequence[Certainty]) -> Certainty | None:
    """How certain a message is whose sentences are: two that are likely leave no doubt."""
    if "clear" in grades or grades.count("likely") > 1:
        return "clear"
    return "likely" if "likely" in grades else "possible" if grades else None


def _tells(sentences: Sequence[str], begins: Sequence[int | None]) -> bool:
    """Whether a message says itself what is to be forgotten: before the request, or behind its colon."""
    asked = [at for at, begin in enumerate(begins) if begin is not None]
    if not asked:
        return False
    before = " ".join(sentences[: asked[0]]) + " " + sentences[asked[0]][: begins[asked[0]]]
    before += " ".join(part for at in asked for part in re.split("[:：]", sentences[at], maxsplit=1)[1:])
    rest = _REMARK.sub(" ", before)
    return unspaced_length(rest) >= _SUBSTANCE_UNSPACED or len(_content_words(_HAN_RUN.sub(" ", rest))) >= _SUBSTANCE
