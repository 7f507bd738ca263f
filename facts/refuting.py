"""Reasons why a sentence does not say what a draft says, although it has its words, in English and Chinese.

Each rule refutes: it names what is wrong, and says nothing where it is not sure. They are asked in this order: stories
and dreams, what almost happened, numbers that count something else, and whom the sentence is about.
``python -m bench.evidence`` counts what each refutes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, lru_cache
from itertools import combinations, pairwise

from domain.facts import About
from domain.patterns import Guarded, pattern_of
from facts.cues import is_denial
from facts.evidence import Sentence, TextFigures, telling_terms
from language.calendar import MONTH_NAMES
from language.numbers import (
    ENGLISH_COUNT,
    ORDINAL,
    asserted_numbers,
    derived_numbers,
    find_numbers,
    may_mention,
    parse_number,
)
from language.relations import kin_words
from language.sentences import split_clauses, split_sentences
from language.times import TimeRange, read_times, without_times
from language.words import terms

#: Nouns that make "in the film industry" or "in our book club" a place of everyday life.
_REAL = "area|club|class|company|crew|department|festival|group|industry|orchestra|room|school|shop|store|studio|world"
_FICTION = rf"(?:novel|story|book|film|movie|play|script|campaign|game)\b(?! (?:{_REAL})s?\b)"
#: A dream, or a tale: what follows may belong to it.
_DREAM = (
    r"\b(?:(?:i|and|we|just) dream(?:t|ed)(?! (?:of|for)\b)|nightmare|in (?:my|the|a|that) (?:\w+ )?dream"
    r"|(?:(?:had|have|having) (?:a|an|this|that|the) (?:\w+ )?|(?:weird|strange|odd|craz|mad|bad|funn|awful|horribl|wild)\w* )"
    r"dream(?! (?:of|job|house|home|car)\b)"
    r"|role.?play\w*|once upon a time)\b"
    r"|梦[见到]|(?<![你您])做了?个?[^，。！]{0,4}梦(?![想吧])|从前有"
)
_TALE = Guarded(
    "dream|nightmare|role|once upon|novel|story|book|film|movie|play|script|campaign|game|梦|从前有",
    rf"{_DREAM}|(?:^|[,;:] )(?:\w+ )?in (?:my|our|this|that) (?:\w+ )?{_FICTION}",
)
_STORY = Guarded(
    "dream|nightmare|novel|story|book|film|movie|play|script|campaign|game|role|character|hero|protagonist|avatar|plot"
    "|once upon|梦|小说|故事|电影|剧|游戏|书里|角色|扮演|主角|主人公|从前有",
    rf"{_DREAM}|\b(?:dream(?:s|t|ed)?(?! (?:of|job|house|home|car|about|for|is|was to|has|had|came|come|to)\b)"
    rf"|in (?:my|our|this|that) (?:\w+ )?{_FICTION}|in (?:the|a|an) (?:\w+ )?(?:novel|story|campaign)\b"
    rf"|(?:my|the|our) (?:\w+ )?(?:character|hero|heroine|protagonist|avatar)|plot (?:is|of))\b"
    rf"|(?:^|[,;:] )(?:\w+ )?in (?:the|a|an) (?:\w+ )?{_FICTION}"
    r"|(?:小说|故事|电影|剧|游戏|剧本|书)里|扮演|(?:主角|主人公|角色)(?:是|叫)",
)
#: After these a dream is over, or has come true.
_AWAKE = pattern_of(
    r"\b(?:woke|wake|waking|awake|finally|actually|in real life)\b|醒|现实|真的|终于|所以", re.IGNORECASE
)
#: What is so now is no part of a dream before it.
_IS_SO = pattern_of(r"\b(?:is|are|am|has|have|says|lives|wants|works)\b|\w['’](?:s|m|re|ve)\b|现在|目前|一直|平时")
_ALMOST = Guarded(
    "almost|nearly|差点|险些",
    r"\b(?:almost|nearly) (?:(?:got|get|had|took|went|made|did|was|were|came|bought|gave)\b(?P<rest>[^,.;!?]*)|(?P<word>[a-z]+))|(?:差点儿?|险些)(?:没|就|要)?(?P<han>[^，。！？]{2,6})",
)
#: A number with what it counts; the first look is only at the letters that begin one.
_COUNTED = pattern_of(
    r"(?=[\dfstne一二两三四五六七八九十百])(?:(?<![\w.,:])(?<!hundred and )(?<!thousand and )(?<!hundred )(?<!thousand )(?P<number>\d{1,3}(?:st|nd|rd|th)?|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[ -](?P<noun>[a-z]{3,})"
    r"|(?P<han>(?<![一二两三四五六七八九十百])[一二两三四五六七八九十百]{1,12}|\d{1,3})(?P<measure>[楼层级台条只个口位名间套辆本家]))"
)
#: What follows a number without being counted by it, or is converted into another unit.
_NO_NOUN = frozenset(
    """
    and or of in on at to a the is are was were years year old hours hour minutes minute days day weeks week months
    month more less times percent per pounds euros dollars kilos thousand hundred million grand
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
).union(MONTH_NAMES)
#: Whoever is called by a relation; a trade needs more to be somebody.
_KIN, _KIN_HAN = "|".join(kin_words(han=False)), "|".join(one for one in kin_words(han=True) if len(one) > 1)
_ROLES = "mate|pal|(?:flat|house|room)mate|landlord|landlady|teacher|coach|doctor|tutor|manager|client"
_MY_KIN = rf"{_KIN_HAN}|丈人|亲家|室友|[爸妈哥姐弟妹爷奶姥姨姑舅叔伯婶嫂婆娃侄]|公(?![园司寓路交里斤共])|孩子"
#: The subject at the beginning of a clause that is somebody else.
_OTHER_SUBJECT = pattern_of(
    rf"^\W*(?:(?:and|but|so|because|since|as|well|then|though|although|that|btw|guess what)\W+)*"
    rf"(?:it'?s (?:my )?(?:{_KIN}) (?:who|that)|(?:his|her|their) [a-z]+|(?:he|she)(?:'?s|'d|d|'?ll)?|(?:my|our) (?:\w+ )?(?:{_KIN}|{_ROLES})s?|mum|mom|dad|gran|grandma|grandpa)\b"
    rf"|^(?:可惜|但是?|不过|而且|因为|所以|就是|对了)?(?:(?:我|咱)(?:们?家?的?)?[大小老二三堂表]?(?:{_MY_KIN})|(?:{_KIN_HAN}|室友))(?!的|[和跟与]我)"
    rf"|^(?:可惜|但是?|不过|而且|因为|所以|就是)?[他她](?!们|的)"
    rf"|^[他她]们?(?:的|家|公司|单位)|^[男女]的|^[^我咱，]{{0,8}}[那这]个?(?:男的|女的|人|家伙|小子|姑娘)(?!的)|^(?:人家|对方)",
    re.IGNORECASE,
)
_FIRST_PERSON = pattern_of(
    r"\b(?:i|i'm|i've|i'?d|i'll|we|we're|we've|we'll|me|us|myself|mine)\b"
    rf"|(?<=[^，。自\s])(?<!^可惜)(?<!^[但就]是)(?<!^不过)(?<!^而且)(?<!^因为)(?<!^所以)[我咱](?!们?家?的?(?:{_MY_KIN})|们?的)"
)
#: The speaker, alone or with others, not as the owner of a relation.
_SELF = pattern_of(rf"[我咱](?!们?家?的?(?:{_MY_KIN}))")
#: Something of the person's that somebody else did something to.
_OWN_THING = pattern_of(r"(?<!^)\b(?:my|our) (?P<thing>[a-z]+)|(?<=.)(?:我|我们|咱们?)的(?P<han>[^，。！]{2})")
#: Anybody whom a statement mentions beside the person; what may be an occupation, or a dislike, only as "Mara's".
_SOMEBODY = pattern_of(
    rf"\b(?:{_KIN}|grand(?:son|daughter|child)|step\w+|\w+-in-law|spouse|fianc[eé]e?)s?\b|\bwives\b"
    r"|'s (?:\w+ ){0,2}(?:nan|ex|child|children|kid|baby|babies|parent|grandparent|sibling|twin|relative|family"
    r"|flatmate|housemate|roommate|landlord|landlady|tenant|manager|teacher|coach|doctor|dentist|therapist|student|pupil|client|patient"
    r"|guest|man|woman|boy|girl|people|pet|dog|cat|puppy|kitten|horse|pony|rabbit|hamster|parrot|bird|tortoise)s?\b"
    rf"|室友|客人|顾客|客户|乘客|病人|{_KIN_HAN}|[堂表大小二三老][哥姐弟妹姨姑舅叔伯婶嫂爷奶]|丈人|爸妈|父母|的[^，。的]{{0,3}}(?:孩子|小孩|宝宝|娃|爹|娘|家人|亲戚|长辈|爱人|对象|伴侣|朋友|同学|老师|医生|教练|房东"
    r"|客户|学生|上司|领导|经理|[哥姐弟妹姨姑舅叔伯婶嫂爷奶孙侄狗猫兔鸟马])",
    re.IGNORECASE,
)
_ANOTHER = pattern_of(r"\b(?:(?:he|she)(?:'?s|'?d|'?ll)?|his|her|him|hers|they(?:'?re|'?ve)?|their|them)\b|[他她它佢]")
_FEMALE = pattern_of(r"\b(?:she(?:'?s|'?d|'?ll)?|her|hers)\b|她")
_MALE = pattern_of(r"\b(?:he(?:'?s|'d|'ll)?|his|him)\b|他")
_A_RELATIVE = pattern_of(rf"\b(?:{_KIN})\b|{'|'.join(kin_words(han=True))}")


#: Text that speaks to the program about "the user" was written by somebody else.
_POISON = Guarded(
    "ignore|disregard|user|system|<memory|<tool|忽略|用户|系统",
    r"\b(?:ignore|disregard) (?:all |any )?(?:the )?(?:above|previous|prior|earlier)\b|\b(?:remember|note|store|save|record)\b[^.;]{0,20}\bthe user\b"
    r"|\bsystem prompt\b|<(?:system|memory|tool)\b"
    r"|忽略(?:以上|上面|之前|前面)|(?:记[住下录]|保存)[^。；]{0,6}用户|系统提示",
    any_case=True,
)
_SAYS = pattern_of(
    r"\b(?:says?|said|thinks?|thought|believes?|reckons?|claims?|bets?|predict\w*|convinced|according|opinion|joke[sd]?)\b|说|觉得|认为|以为|断定|看来|猜",
    re.IGNORECASE,
)


class Around:
    """All that was said around some sentences, with cached properties."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def plain(self) -> str:
        """It in lower case, with plain apostrophes."""
        return _plain(self.text)

    @cached_property
    def _words(self) -> Mapping[str, int]:
        return Counter(_WORD.findall(self.text))

    @cached_property
    def _pieces(self) -> Collection[str]:
        return frozenset(self.text.split())

    @cached_property
    def _corrections(self) -> Sequence[tuple[int, frozenset[str], frozenset[str]]]:
        return tuple(_corrections_in(self.plain)) if _MAY_CORRECT.search(self.plain) else ()

    def takes_back(self, statement: str, quoted: Sequence[str]) -> bool:
        """Whether a number that a statement has of the ``quoted`` words was put right in it."""
        if not self._corrections or is_denial(statement):
            return False
        stated = find_numbers(statement)
        found = [(self.plain.find(words), len(words)) for words in map(_plain, quoted)]
        return any(
            wrong <= stated
            and right.isdisjoint(stated)
            and any(0 <= at - start < length for start, length in found if start >= 0)
            for at, wrong, right in self._corrections
        )

    def is_name(self, word: str) -> bool:
        """Whether a word with a capital is twice in it, and never without."""
        return min(self._words[part] for part in _WORD.findall(word)) > 1 and word.casefold() not in self._pieces


_WORD = pattern_of(r"\w+")
_SILENCE = Around("")


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def find_fault(
    statement: str,
    about: About,
    others: Iterable[str],
    evidence: Sequence[Sentence],
    around: Around = _SILENCE,
    quoted: Sequence[str] = (),
) -> str:
    """What is wrong with a statement that rests on these sentences; "" if no rule knows.

    ``others`` are the names in it that are not the person's, ``around`` all messages of the conversation, ``quoted``
    the very words that it rests on.
    """
    if about == "companion":
        return ""
    if all(_is_story(statement, each) for each in evidence) and not _STORY.search(statement.casefold()):
        return "story"
    sentences = [each.text for each in evidence]
    if any(map(_POISON.search, sentences)):
        return "quoted text"
    if _is_almost(statement, sentences):
        return "almost"
    if _is_miscounted(statement, sentences):
        return "number"
    if any(_is_bygone(statement, each, quoted, around) for each in evidence):
        return "polarity"
    if (
        _is_bygone_number(statement, sentences)
        or _is_number_of_another(statement, quoted)
        or _is_turned_around(statement, sentences)
    ):
        return "polarity"
    of_another = (
        about == "person"
        and not any(map(_THAN_THE_SPEAKER.search, sentences))
        and all(_is_of_another(statement, governing_clause(statement, one, quoted), around) for one in sentences)
    )
    # A place is nobody else: "my sister moved, flat's in Leeds" is not of the person's flat.
    alone = of_another and all(
        re.search(rf"\b(?:in|near|to|at|from) {re.escape(name)}(?!\w|['’]s)", statement) for name in others
    )
    return "subject" if alone else ""


#: Somebody else's opinion, an offer that was refused, what was so before it changed; and a statement that says as much.
_THINKS = pattern_of(
    r"(?<!\bi )(?<!\bwe )\b(?:thinks?|reckons?|figures?(?! out\b)|believes?(?! in\b)|claims?|swears(?! by\b)|(?:is|was|'s) convinced)\b"
    r"|(?<![我咱])(?:觉得|认为|非说|以为|一口咬定)"
)
_BECAUSE = pattern_of(r"\b(?:because|cos|cause|since|when|after|so (?=(?:i|we)\b))\b|因为|所以")
_LEAVES_OPEN = pattern_of(
    r"\b(?:think|thought|reckon|believ|sa(?:y|id)|tell|told|claim|accord|opinion|view|fear|afraid|worr|predict|expect|feel|felt"
    r"|suspect|convinc|guess|hop(?:e|ing)|want|wish|suggest|advi[cs]|offer|ask|invit|propos|consider|may|might|could|would"
    r"|should|declin|refus|turn|cancel|reject|against|instead)\w*"
    r"|觉得|认为|[说称想让劝提问邀请求怕嫌]|以为|看来|估计|怀疑|担心|猜|建议|希望|拒|取消|推迟|反对|犹豫|考虑|退回",
    re.IGNORECASE,
)
_ADVERBS = "(?:可|就|也|都|还|倒|又|根本|才|反正|结果|到现在|至今|后来|一分钱|一直|坚决|死活)*"
_REFUSED = pattern_of(
    r"^(?:but |and |so |i (?:said |told (?:him |her |them )))*(?:(?:i|we|he|she|they) (?:do|did|does|have|has|would|will|am|is|are|was|wo|ca)(?: not|n't|nt)"
    r"(?: (?:be|have|yet))?\W*$|(?:i'?m|he's|she's|they're|we're) not\W*$|no,? thank|i said no\b(?! at first\b)|(?:nah|nope)?,? ?not (?:me|for me)\W*$|nah\W*$|(?:he|she|they) (?:says?|said) (?:no|dont|don't|not to)\b"
    r"|(?:(?:i|we|he|she) )?turned (?:it|that|him|her|them)? ?down"
    r"|(?:(?:i|we|they|he|she) )?ha(?:ve|s)(?:n't|nt| not) (?:said|asked|done|decided|signed|booked|sent|agreed|sold|bought|paid)"
    r"(?: (?:it|that|this|them|one|yet))*\W*$)"
    rf"|^(?!.*(.)[不没]\1)(?:[我咱他她]们?|人家)?{_ADVERBS}[没不未](?:有|肯|想|敢)?(?:答应|同意|让|乐意|愿意|松口|接受|理|干|下手|要|想好|定|(?P<deed>[去借转戒买卖收给签辞换动]))"
    r"[^，。]{0,6}$|想得美|没谱"
)
#: 我不切, 还没谈.
_UNDONE = pattern_of(rf"^(?:[我咱他她]们?)?{_ADVERBS}[没不沒](?P<deed>[\u4e00-\u9fff]{{1,2}}?)(?:[成了完下来]|呢|啊)*$")
_STOPS = " .!。！…"
#: Who does something, or does not; and what is asked of somebody else, who may refuse.
_BY_SPEAKER = pattern_of(rf"\W*(?:(?:and|but|so) )*(?:(?:i|we)\b|[我咱](?!们?家?的?(?:{_MY_KIN})))")
_BY_ANOTHER = pattern_of(r"(?:(?:and|but|so) )*(?:(?:he|she|they)\b|人家|[他她])")
_PROPOSES = pattern_of(
    r"\b(?:says?|said|tell|told|ask|beg|offer|invit|propos|suggest|want|let)\w*|[叫让劝说求请约找邀提给借]|[想要]"
)
#: That something is not believed.
_DISBELIEVED = pattern_of(
    r"(?:^\W*|\bthat'?s |\b(?:load|lot) of |\b(?:all|total|complete|utter|absolute|pure) )(?:rubbish|nonsense|bollocks|bullshit)\W*$"
    r"|\byeah,? right\b|^\W*as if\W*$|\bi don'?t (?:believe|buy) (?:it|that|a word)\b"
    r"|骗鬼|瞎扯|胡扯|扯淡|[乱亂][讲講说說]|鬼才信|谁信|(?:^|我)(?:才|可|都|也|反正|根本)?不信|哪来的|才怪|胡说|编的|其实[不没]"
)


def find_refusal(statement: str, parts: Sequence[Sentence]) -> str:
    """What the clauses with the quoted words, or the next one, say against a statement; "" if no rule knows.

    ``parts`` are these clauses. It is somebody else's opinion, or was offered and refused.
    """
    if not parts or is_denial(statement) or _LEAVES_OPEN.search(statement):
        return ""
    said = [split_clauses(_plain(each.text)) for each in parts]
    wanted = telling_terms(statement)
    if all(_is_opinion(wanted, clauses) for clauses in said):
        return "opinion"
    following = [one for each in split_sentences(_plain(parts[-1].following)) for one in split_clauses(each)][:1]
    near = [one.rstrip(_STOPS) for one in (*said[-1][-1:], *following)]
    refusals = [each for one in near for rule in (_REFUSED, _UNDONE) for each in rule.finditer(one)]
    refused = len(parts) == 1 and any(
        (each["deed"] or "") in statement and not _is_contrast(_plain(parts[0].text), each[0]) for each in refusals
    )
    return "polarity" if refused or any(map(_DISBELIEVED.search, following)) else ""


def _is_contrast(clause: str, refusal: str) -> bool:
    """Whether a refusal only says that somebody else is not so: "I get up at five, he doesn't", 我做饭，他不做."""
    if _PROPOSES.search(clause):
        return False
    if _BY_ANOTHER.match(refusal):
        return _BY_SPEAKER.match(clause) is not None
    return _BY_SPEAKER.match(refusal) is not None and not (_FIRST_PERSON.search(clause) or _SELF.search(clause))


def _best_of(wanted: frozenset[str], clauses: Sequence[str]) -> str:
    """The clause that shares most with a statement; "" if none shares anything."""
    best = max(clauses, key=lambda each: len(wanted & telling_terms(each)), default="")
    return best if wanted & telling_terms(best) else ""


def _is_opinion(wanted: frozenset[str], clauses: Sequence[str]) -> bool:
    """Whether the clause that says most of a statement is what somebody else thinks."""
    best = _best_of(wanted, clauses)
    thinks = _THINKS.search(best)
    thought = _BECAUSE.split(best[thinks.end() :])[0] if thinks else ""
    return not wanted.isdisjoint(telling_terms(thought))


#: What says of another tells as much of the speaker: "seven minutes quicker than me", 比我大两岁.
_THAN_THE_SPEAKER = pattern_of(r"\b(?:than|as) (?:me|i|us|mine)\b|[比跟和]我(?!们?[爸妈哥姐弟妹])", re.IGNORECASE)
#: What was so once, in words, and what shows that a statement says so.
_BYGONE = Guarded(
    "used to|at first|formerly|was |原先|从前|起初|当初|原本|本来",
    r"(?<!get )(?<!got )(?<!getting )(?<!am )(?<!i'm )(?<!im )(?<!are )(?<!'re )\bused to (?P<deed>[a-z]+)"
    r"|\b(?:at first|formerly|was (?:going|meant) to)\b|原先|从前|起初|当初|(?:原本|本来)(?!就|[^，。]{0,4}是)",
)
_OF_THE_PAST = pattern_of(
    r"\b(?:was|were|had|used|until|former\w*|previous\w*|before|originally|first|once|no longer|stopped|quit|\w{2,}ed)\b|[曾原过前改后]|本来|当初|起初|不再|[没不]|了"
)


#: What is so now, in the clause that says what was so once.
_IS_STILL = pattern_of(r"\b(?:still|and (?:i|we|now)) (?P<rest>.*)", re.IGNORECASE)


def _is_bygone(statement: str, sentence: Sentence, quoted: Sequence[str], around: Around) -> bool:
    """Whether what a statement says is so was so only once: "used to take one", 原先一片.

    It is so again, or something else is, where another clause has words of the statement that this one lacks, or all.
    """
    if not _BYGONE.may_stand_in(sentence.text.casefold()):
        return False
    clause = _whole_clause(statement, sentence.text, quoted)
    found = _BYGONE.search(clause.casefold().replace("’", "'"))
    if not found or _OF_THE_PAST.search(statement) or is_denial(clause) or is_denial(statement):
        return False
    wanted, once = telling_terms(statement), telling_terms(clause)
    if any(not wanted.isdisjoint(telling_terms(each["rest"])) for each in _IS_STILL.finditer(clause, found.end())):
        return False
    if wanted.isdisjoint(once) or not wanted.issuperset(telling_terms(found["deed"] or "")):
        return False
    beside = split_sentences(f"{sentence.before} {_with_next(sentence.text, around)}")
    for other in (one for part in beside for one in split_clauses(part)):
        shared = wanted & telling_terms(other) if clause not in other else frozenset()
        again = shared and wanted & once <= shared and find_numbers(other) <= find_numbers(clause)
        if again or shared - once:
            return False
    return True


#: A number that was so before another: "down from 7.9", 原来八千二; what shows that a statement says so.
_ONCE = Guarded(
    "from|was|used to be|instead of|本来|原本|原来|起初|以前",
    r"\b(?:(?:down|up|moved) from|(?<!i )(?<!he )(?<!she )was (?:on |at |the |for )?|used to be|it was (?:gonna|going to) be|before it was|instead of) ?[£$€]?"
    r"(?P<number>\d[\d,.]*|[a-z]+(?:[ -][a-z]+)?)|(?:本来|原本|原来|起初|以前)(?:是|要|说|讲|媒人讲|开价)?[^，。\d]{0,6}?(?P<han>\d[\d,.]*万?|[一二两三四五六七八九十百千万]+)",
)


def _is_bygone_number(statement: str, sentences: Sequence[str]) -> bool:
    """Whether the only number that a statement has of its sentences was so before another: "6.8, down from 7.9"."""
    if _OF_THE_PAST.search(statement) or not (stated := find_numbers(statement)):
        return False
    said = _plain(" ".join(sentences))
    once = frozenset().union(*(find_numbers(each["number"] or each["han"]) for each in _ONCE.all_in(said)))
    if stated.isdisjoint(once):
        return False
    now = find_numbers(_ONCE.sub(" ", said))
    return bool(now) and not stated.isdisjoint(once - now) and stated.isdisjoint(now - once)


#: A day that something had before it was moved: "it was going to be Monday", 本来周五.
_MOVED_FROM = Guarded(
    "was |were |from |instead of|本来|原定|原先|原本",
    r"(?:本来|原定|原先|原本)(?:是|说|定|要|打算|约)?[^，。；,; ]*|\binstead of [^,.;]*"
    r"|\b(?:was|were) (?:gonna|going|supposed|meant|due|to be)\b[^,.;]*?(?=[,;.]| but\b| now\b|$)"
    r"|\b(?:moved|bumped|pushed|changed|shifted|put back|brought forward|switched) (?:back )?from [^,.;]*? to\b",
)
_TELLS_A_MOVE = pattern_of(r"\b(?:was|were|had|originally|instead|before|not|from|moved)\b|本来|原|之前|改|不")


def is_day_of_before(statement: str, stated: Sequence[TimeRange], sentences: Sequence[str], said: date) -> bool:
    """Whether a day ``stated`` as the one of now is in the words only as the one before a move."""
    text = _plain(" ".join(sentences))
    if not stated or not _MOVED_FROM.may_stand_in(text) or _TELLS_A_MOVE.search(statement):
        return False
    before = " ".join(each[0] for each in _MOVED_FROM.all_in(text))
    once, now = (
        {day.first for day in TextFigures(each, said).days if day.days == 1}
        for each in (before, _MOVED_FROM.sub(" ", text))
    )
    return bool(before) and any(day.first in once - now for day in stated)


#: The characters behind a sentence in which what it says may be taken back.
_NEXT = 150


def _with_next(sentence: str, around: Around) -> str:
    """A sentence with what was said right after it."""
    at = around.text.find(sentence)
    return around.text[at : at + len(sentence) + _NEXT] if at >= 0 else sentence


#: What a statement tells as done, what is still ahead in what was said, and what shows that some of it is done.
_IRREGULAR = "got|bought|flown|gone|left|lost|made|met|paid|put|said|sold|told|won"
_DONE = pattern_of(
    rf"\b(?:has|have|had) (?:already |now |just )?(?:[a-z]+ed|be(?:en|gun|come)|taken|given|eaten|written|chosen|gotten|done|come|{_IRREGULAR})\b"
    r"|\b(?:already|moved|started|went|bought|sold|booked|ordered|signed|quit|left|joined|finished|passed|agreed|took|accepted"
    r"|married|retired|opened|called|paid|got|flew|ran|visited|planted|hired|adopted)\b"
    r"|已经|已[入搬辞结买]|了(?=[。，\u4e00-\u9fff]|$)"
)
_STILL_AHEAD = pattern_of(
    r"\b(?:going to|gonna|will|wo?n'?t|til|till|until|then (?:i'm |we're )?\w+ing|next (?:week|month|year)|tomorrow|tmrw|thinking (?:of|about)"
    r"|plan\w*|want(?:s|ing)? (?:to|me|us)|hop(?:e|es|ing) to|might|may|maybe|not yet|ha[vs]en'?t|supposed to|about to|going back|would like (?:me|us|him|her|them))\b|'ll\b"
    r"|还没|尚未|打算|准备|计划|想(?=[^，。])|要(?=[^，。])|将|会(?=[^，。])|下个?[周月]|明[天年]|再说|可能|应该|考虑|到时候|[月号点](?:初|底)?就|再看看|如果|要是"
)
_PARTLY_DONE = pattern_of(
    rf"\b(?:(?!need|bed|red|shed|wed)[a-z]{{2,}}ed|went|came|took|began|ran|gave|flew|saw|became|had|was|were|did|have|has|done|been|{_IRREGULAR})\b"
    r"|'ve\b|[了过刚]|已经|上[个周次]|昨|去年|前[天年]|的$"
)


def is_still_ahead(statement: str, evidence: Sequence[Sentence], quoted: Sequence[str], *, ahead: bool) -> bool:
    """Whether a statement tells as done what is only wanted or planned, or, with ``ahead``, what has its day to come."""
    plain = statement.casefold()
    if not _DONE.search(plain) or _STILL_AHEAD.search(plain) or is_denial(statement):
        return False
    clauses = [_plain(_whole_clause(statement, each.text, quoted)) for each in evidence]
    done = any(map(_PARTLY_DONE.search, (*clauses, *map(_plain, quoted))))
    return not done and (ahead or (bool(clauses) and all(map(_STILL_AHEAD.search, clauses))))


_NUMBER = (
    r"\d(?:[\d,.:]*\d)?|(?<![周期拜])[零一二两三四五六七八九十百千万]{1,8}"
    rf"|\b(?:{ENGLISH_COUNT.replace('?P<count>', '?:')}|{ORDINAL})\b"
)
_A_NUMBER = pattern_of(_NUMBER)
#: What takes back the number before it, and what is not the number behind it.
_ENGLISH_RATHER = (
    r"(?:no,? wait|wait,? no|no,? sorry|sorry,? no|i mean|i meant|make (?:that|it)|scratch that|correction|oops|no an?"
    r"|hang on|or rather)"
)
_HAN_RATHER = r"(?:不对|[打说记看搞写]错了|口误|[哦啊噢哎]不|更正)"
_RATHER = pattern_of(rf"\b{_ENGLISH_RATHER}\b[^.!?\w]*(?:\w+\W+){{0,2}}[£$€]?$|{_HAN_RATHER}[^。！？]{{0,6}}$")
_NOT = r" ?(?:the |on |at |in )?[£$€]?"
_NOT_THIS = pattern_of(rf"(?:\bnot|不是){_NOT}$")
#: A text without any of these puts no number right; "not a" is not "not a dozen".
_MAY_CORRECT = pattern_of(
    rf"{_ENGLISH_RATHER}|{_HAN_RATHER}|(?:not|不是){_NOT}(?!an?\b(?! (?:couple|few|dozen|and a half)))(?:{_NUMBER})"
)
#: What a number counts: the word or the character behind it.
_COUNTS = pattern_of(
    r"(?:st|nd|rd|th)?(?: ?(?!(?:st|nd|rd|th|not|no|but|and|or|wait|sorry|i|make|oops|hang|still|now|so|anymore|of)\b)(?P<unit>[a-z]+)| ?(?P<han>[\u4e00-\u9fff]))"
)
_AS_FAR, _NEAR = 150, 80


def _corrections_in(plain: str) -> Iterator[tuple[int, frozenset[str], frozenset[str]]]:
    """The numbers in a text that are put right, where the wrong one stands, wrong and right: "400 euro … no wait, 450", 是145不是155."""
    found = ((each.start(), each.end(), find_numbers(each[0])) for each in _A_NUMBER.finditer(plain))
    numbers = [each for each in found if each[2]]
    for (start, end, one), (begin, behind, other) in pairwise(numbers):
        between = plain[end:begin]
        if len(between) > _AS_FAR or not one.isdisjoint(other):
            continue
        units = [_COUNTS.match(plain, at) for at in (end, behind)]
        if len({each["unit"] or each["han"] for each in units if each}) > 1:
            continue  # "6 chairs, oops, 20 minutes until the bus"
        if _RATHER.search(between):
            yield start, one, other
        if len(between) < _NEAR and _NOT_THIS.search(between):
            yield begin, other, one
        if len(between) < _NEAR and _NOT_THIS.search(plain[max(0, start - _NEAR) : start]):
            yield start, one, other


def _is_story(statement: str, evidence: Sentence) -> bool:
    """Whether the clause that says it, or one before it, is of a dream or a tale; "I write novels" is of neither."""
    sentence, before = evidence.text.casefold(), evidence.before.casefold()
    if not (_STORY.may_stand_in(sentence) or _TALE.may_stand_in(before)):
        return False
    clause = _best_clause(statement, sentence)
    upto = sentence[: sentence.find(clause) + len(clause)]
    tale = _TALE.search(upto)
    if _STORY.search(clause) or (tale and not _AWAKE.search(upto, tale.end())):
        return True
    return bool(_TALE.search(before)) and not _AWAKE.search(before + upto) and not _IS_SO.search(clause)


def _is_almost(statement: str, sentences: Sequence[str]) -> bool:
    """Whether what a statement reports only nearly happened: "Carla almost fainted", 差点迟到.

    It did if it is said once more without such a word; and who almost finished something is finishing it.
    """
    if _ALMOST.search(statement.casefold()):
        return False
    plain = [one.casefold() for one in sentences]
    words = [each["rest"] or each["word"] or each["han"] or "" for one in plain for each in _ALMOST.all_in(one)]
    if not words:
        return False
    wanted = set(terms(re.sub(r"\w+ing\b", "", statement)))
    rest = {term for one in plain for term in terms(_ALMOST.pattern.sub(" ", one))}
    return any(parse_number(word) is None and wanted.intersection(terms(word)) - rest for word in words)


def _is_miscounted(statement: str, sentences: Sequence[str]) -> bool:
    """Whether a number counts other things than in the sentences: "67th floor" from "third floor, 67 steps"."""
    stated = _counts(statement)
    said: dict[str, set[int]] = defaultdict(set)
    for noun, numbers in (each for sentence in sentences if stated for each in _counts(sentence).items()):
        said[noun] |= numbers
    others = [numbers for noun, numbers in stated.items() if noun in said and not numbers & said[noun]]
    if not others:
        return False
    # "80 pages, I'm at 52" does not say what the 52 are.
    whole = " ".join(sentences).casefold()
    given = find_numbers(_COUNTED.sub(" ", whole)) | derived_numbers(whole, find_numbers(whole))
    bare = {int(each) for each in given if each.isdecimal()}
    values = sorted(bare.union(*said.values()))
    bare |= {more - less for less, more in combinations(values, 2)}  # "14 of 16 done": two are left
    return any(not numbers & bare for numbers in others)


#: From one number to another.
_FROM_TO = Guarded(
    "从|from ",
    r"(?:从|\bfrom )(?P<one>[^，。到,]{1,12}?)(?:[升降掉加减涨跌调改提]*到| (?:down |up )?to )(?P<other>[^，。,]{1,12})",
)


def _is_turned_around(statement: str, sentences: Sequence[str]) -> bool:
    """Whether a statement says from where to where a number went the wrong way around."""
    turned = {(other, one) for one, other in _ways(statement)}
    return bool(turned) and turned <= {*_ways(" ".join(sentences))}


def _ways(text: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    found = ((find_numbers(each["one"]), find_numbers(each["other"])) for each in _FROM_TO.all_in(text.casefold()))
    yield from (each for each in found if all(each) and each[0] != each[1])


#: What parts what two numbers are of, also without a comma: "I said 2800 and he laughed".
_BETWEEN = pattern_of(
    r"[;!?，。；！？、：]+ ?|[,.:](?!\d) ?| (?=(?:and|but|or|now|then|so|which|instead)\b)|(?<=[\u4e00-\u9fff\d]) (?=[\u4e00-\u9fff])"
)
#: What is counted or measured; two numbers of unlike things are not mistaken for each other.
_MEASURE = pattern_of(
    r"(?<=[\d一二两三四五六七八九十百千万])(?:[层楼次吨斤平岁]|毫[克升]|公[里斤])|(?<=\d)(?: ?(?:mg|kg|km|ml|mm|cm)\b|%)"
)
#: A written date means the same day whenever it was said.
_ANY_DAY = date(2000, 1, 1)
#: Terms that hold numbers and units are of any number.
_OF_NUMBERS = pattern_of(
    r"\d|[一二两三四五六七八九十百千万]|[元块岁个点月日号年分次]$|公[里斤]|毫[克升]|^(?:euro|pound|dollar|hour|month|minute|week|day|year|night|kilo)s?$"
)


def _is_number_of_another(statement: str, quoted: Sequence[str]) -> bool:
    """Whether the one number of a statement is of something else, and what it says has the other of the two quoted.

    "Emyr wants 3200 for it. I said 2800": the clause with 2800 has no word of "Emyr asks 2800", the other one has.
    """
    stated = _amounts(statement)
    if len(stated) != 1:
        return False
    wanted = {term for term in telling_terms(statement) if not _OF_NUMBERS.search(term)}
    clauses = [(_amounts(each), each) for words in quoted for each in _BETWEEN.split(words) if each]
    if sum(len(amounts) for amounts, _ in clauses) != 2:
        return False
    found = [(any(not stated[0].isdisjoint(one) for one in amounts), clause) for amounts, clause in clauses if amounts]
    its, others = ([clause for own, clause in found if own == way] for way in (True, False))
    if (
        not its
        or not all(_is_of_something_else(each, statement) for each in its)
        or {*_MEASURE.findall("，".join(its))} != {*_MEASURE.findall("，".join(others))}
    ):
        return False
    return all(wanted.isdisjoint(telling_terms(each)) for each in its) and any(
        not wanted.isdisjoint(telling_terms(each)) for each in others
    )


#: What is said, wanted or was before, not what is; a statement may say the same.
_NOT_THE_ONE = pattern_of(
    r"\b(?P<cue>sa(?:id|ys?)|told|ask|want|think|thought|need|promis|hop(?:e|ing)|was|were|used|ago|before|last)\w*"
    r"|(?P<han>[说要想问前]|本来|原来|一开始|上次|目标|以为|其中|最后欠)"
)
_OFFERS = pattern_of(r"\b(?:offer|quot)\w*|报价|开价|出价")
_A_NAME = pattern_of(
    r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+|^(?!(?:It|They|He|She|We|My|Our|The|This|That|Now|And|But|Then)\b)[A-Z][a-z]+(?= [a-z]|['’]s)"
    r"|[\u4e00-\u9fff]{2}(?<![在前后到了过约有剩成是才只要掉年月天日])(?=才?是?\d)"
)


def _is_of_something_else(clause: str, statement: str) -> bool:
    """Whether a clause tells a number as wanted, said or of before, or of a name that a statement does not have."""
    if any(each[0] not in statement for each in _A_NAME.finditer(clause)):
        return True
    in_clause, in_statement = (
        {each["cue"] or each["han"] for each in _NOT_THE_ONE.finditer(_plain(text))} for text in (clause, statement)
    )
    return bool(in_clause - in_statement) and not _OFFERS.search(statement)


def _amounts(text: str) -> Sequence[frozenset[str]]:
    """The numbers of a text that are no times, each in its forms."""
    if not may_mention(text):
        return ()
    return [frozenset(each) for each in asserted_numbers(without_times(text, read_times(text, _ANY_DAY)))]


def _counts(text: str) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for each in _COUNTED.finditer(text.casefold()):
        noun = each["measure"] or each["noun"]
        word = each["han"] or each["number"]
        number = parse_number(re.sub(r"(?<=\d)(?:st|nd|rd|th)", "", word))
        # 一家公司 is "a company".
        if noun not in _NO_NOUN and number is not None and not (word == "一" and noun not in "楼层级"):
            found[noun.removesuffix("s")].add(number)
    return found


@lru_cache(256)
def _best_clause(statement: str, sentence: str) -> str:
    """The clause of a sentence that shares most with a statement."""
    clauses = split_clauses(sentence)
    if len(clauses) < 2:
        return clauses[0] if clauses else sentence
    wanted = set(terms(statement))
    return max(clauses, key=lambda clause: len(wanted.intersection(terms(clause))))


#: A name like 阿珂 or 老魏, or a name with a verb, at the beginning of a clause.
_NICKNAME = pattern_of(
    r"^(?:[^，。]{0,5}?[，,])?(?:对了|还有|另外|话说|那|可|就|今天|昨天)?(?P<name>[阿老小][\u4e00-\u9fff])(?<!小[时区孩学伙组说])(?<!老[家人是年了师伙])(?!和我|跟我)"
)
_OPENING_NAME = pattern_of(
    r"^\W*(?:(?:and|but|so|because|since|well|then|also|today|yesterday)\W+)*(?P<name>[A-Z][\w-]+)(?='s\b| [a-z])"
)


def _opens_with_name(clause: str, statement: str, around: Around) -> str:
    """The name that a clause begins with, if a statement does not mention it; else "".

    A word with a capital is a name where the conversation has it so in the middle of a sentence, or twice.
    """
    found = _OPENING_NAME.match(clause) or _NICKNAME.match(clause)
    name = found["name"] if found else ""
    if not found or name.casefold() in statement.casefold():
        return ""
    third = _A_WORD_BEFORE.fullmatch(clause, 0, found.start("name")) and _DOES.match(clause, found.end("name"))
    return name if not name.isascii() or third or around.is_name(name) else ""


_A_WORD_BEFORE = pattern_of(r"\W*(?:\w+ )?")
_DOES = pattern_of(r" (?!was\b|has\b|does\b|always\b)[a-z]+[a-rt-z]s\b")


def _whole_clause(statement: str, sentence: str, quoted: Sequence[str]) -> str:
    """The clause that says most of a statement, in the quoted words if the sentence has them, else in all of it."""
    best = _best_clause(statement, next((words for words in quoted if words in sentence), sentence))
    return next((each for each in split_clauses(sentence) if best in each), best)


#: A thing of which the clause is: "scan's a week on friday", "the rent is due".
_HAS_SUBJECT = pattern_of(
    r"^(?:(?:the|a|my|our) )?(?!(?:he|she|it|that|this|there|here|what|who|where|how|let)\b)[a-z]+(?:'s|’s| is| was)\b"
    r"(?! (?:\w+(?:'s|’s| is| was)|gone|got|been|had)\b)"
)


@lru_cache(256)
def _has_other_subject(clause: str) -> bool:
    return _OTHER_SUBJECT.match(clause) is not None


@lru_cache(256)
def _speaks_of_speaker(clause: str) -> bool:
    return _FIRST_PERSON.search(clause.casefold()) is not None


def governing_clause(statement: str, sentence: str, quoted: Sequence[str]) -> str:
    """The clause with the subject of the one that says a statement: itself, or one before it."""
    best = _whole_clause(statement, sentence, quoted)
    if split_clauses(sentence) == (best,):
        return best
    before = split_clauses(sentence[: sentence.find(best) + len(best)])
    others = (each for each in before if _has_other_subject(each) and not _ONLY_THINKS.search(each))
    if _HAS_SUBJECT.match(best) and not any(others):
        return best
    for clause in reversed(before):
        if _speaks_of_speaker(clause) or _has_other_subject(clause) or "我" in clause:
            # Where the first clause leaves the subject out it is the speaker, and perhaps of the later ones, too.
            left_out = clause != best and clause != before[0] and not before[0].isascii()
            return best if left_out and not _has_other_subject(before[0]) else clause
    return best


#: Somebody else who only says or thinks it; the thing need not be theirs: "he's not sure, scan's on friday".
_ONLY_THINKS = pattern_of(rf"\bsure\b|{_SAYS.pattern}", re.IGNORECASE)
#: What somebody wants of the speaker, who need not be named.
_FOR_THE_SPEAKER = pattern_of(
    r"(?:[他她]们?(?:要求|规定|不让|允许|不许|批准|安排)|(?:公司|单位|领导|老板)(?:要求|规定|不让|不许))(?!.*[他她])"
)


def _is_of_another(statement: str, clause: str, around: Around) -> bool:
    """Whether a clause is about somebody, and a statement about the person mentions no one else."""
    if _speaks_of_speaker(clause):
        return False
    plain, stated = clause.casefold(), statement.casefold()
    named = _opens_with_name(clause, statement, around)
    if not (_has_other_subject(clause) or named):
        return False
    if _FOR_THE_SPEAKER.search(plain):
        return False
    if named and re.search(r"\b(?:my|our|your|you)\b|我|咱|[他她]", plain):
        return False
    if any((each["thing"] or each["han"]) in stated for each in _OWN_THING.finditer(plain)):
        return False
    return not (_SOMEBODY.search(statement) or _mentions_again(clause, stated))


def _mentions_again(clause: str, stated: str) -> bool:
    """Whether a pronoun of a statement may be whom a clause is about; "his" is not "she"."""
    other = _FEMALE if _MALE.search(clause.casefold()) else _MALE if _FEMALE.search(clause.casefold()) else None
    return _ANOTHER.search(other.sub(" ", stated) if other else stated) is not None


def mentions_kin(text: str) -> bool:
    """Whether a text names a relation, which people call by many words: father, dad, 爸爸, 老爸."""
    return any(each.search(text.casefold()) for each in (_SOMEBODY, _A_RELATIVE))
