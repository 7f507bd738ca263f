"""Where the words of a fact are in its messages, and what has to be shown with them.

A model's copy of some words only finds them; the message's own characters count. Words are shown in whole sentences,
with what governs them ("if", "I dreamt", "Just kidding!"), a short answer with its question, so that no quotation says
more than was said.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from domain.facts import NewFact, Quote, Stance
from domain.patterns import Guarded, pattern_of
from domain.quotations import quotation_spans
from domain.records import Message
from facts.cues import begins_with_no, is_question
from language.references import says_what_it_means
from language.scripts import is_unspaced, unspaced_length
from language.sentences import sentence_spans
from language.words import terms

#: What a sentence opens that the next ones belong to: a dream, a tale, a supposition, a wish.
_OPENS = Guarded(
    "dream|nightmare|imagin|suppos|pretend|what if|if |wish|story|novel|film|movie|plot|book|campaign|role|once upon|梦|假如|如果|要是|假设|想象|设想|小说|故事|电影|剧|游戏|从前|扮演",
    r"\b(?:dream\w*|nightmare|imagine|suppose|supposing|pretend|what if|if|wish\w*|story|novel|film|movie|plot|book|campaign|role.?play\w*|once upon)\b"
    r"|梦|假如|如果|要是|假设|想象|设想|小说|故事|电影|剧|游戏|从前|扮演",
)
_TAKEN_BACK = Guarded(
    "kid|jok|haha|lol|lmao|not|wish|dream|no|nah|yeah|as if|玩笑|逗你|骗你|哈哈|嘿嘿|没有|才怪|梦|不是|假的|想得美",
    r"^\W*(?:just |only )?(?:kidding|joking|a joke)\b|^\W*(?:i'?m |was )?(?:just |only )?(?:kidding|joking)\b|^\W*(?:(?:ha){2,}|lol|lmao)\b|^\W*(?:or )?not (?:really|yet|any ?more|true)\b"
    r"|^\W*(?:i|you) wish\b|\bdreamt? (?:that|it)\b|^\W*(?:no|nah)\b[,.!]|yeah,? right|^\W*as if\b"
    r"|开玩笑|逗你|骗你|^\W*(?:哈哈|嘿嘿)|^\W*并?没有|才怪|做梦|^\W*(?:不是|假的)|想得美",
)


def governs_next(sentence: str) -> bool:
    """Whether what follows a sentence may belong to a dream, a tale or a supposition in it."""
    return _OPENS.search(sentence.casefold()) is not None


def takes_back_before(sentence: str) -> bool:
    """Whether a sentence takes back the one before it: "Just kidding!", "Not really.", 开玩笑的."""
    return _TAKEN_BACK.search(sentence.casefold().replace("’", "'")) is not None


#: Words count as found where a passage is this similar to them.
_SIMILAR = 0.8
#: As many texts as a window and its drafts have, and as many characters as people use.
_TEXTS_CACHED, _CHARACTERS_CACHED = 256, 10_000
#: Longer messages are not aligned character by character.
_MOST_ALIGNED = 6_000
#: So much of a message before is shown at the most, in characters; its end counts.
_MOST_BEFORE = 400
#: So many messages before the quoted ones are shown for what they refer to.
_BEFORE = 2


#: Code, attached files, quoted lines of a mail; and what is introduced as a text: "translate this:", 帮我看看这封信：.
_FENCED = pattern_of(r"(?P<fence>`{3,}).*?(?:(?P<end>(?P=fence))|\Z)|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE)
_INTRODUCED = Guarded(
    "mail|letter|text|message|msg|dm|post|article|paragraph|review|poem|lyrics|story|code|log|notice|chat|transcript|document"
    "|translate|proofread|summari|correct|rewrite|rephrase|paraphrase|from:|from：|subject:|subject：|to:|to：|dear "
    "|信|邮件|消息|文章|帖子|段话|文字|通知|代码|歌词|故事|留言|记录|内容|翻译|翻成|译成|润色|校对|改写|总结|概括|【转"
    "|发件人|主题|收件人|尊敬的",
    r"(?sm)\b(?:(?:this|the following|following|below|his|her|their) (?:[\w'’]+ ){0,2}"
    r"|(?P<lead>(?:that|an?|the) (?:[\w'’]+ ){0,2}))"
    r"(?:e-?mail|mail|letter|text|message|msg|dm|post|article|paragraph|review|poem|lyrics|story|code|log|notice|chat"
    r"|transcript|document)"
    r"\b[^\n:.!?]{0,60}:(?(lead)\s*\n)\s*(?P<en>.+)"
    r"|\b(?:translate|proofread|summari[sz]e|correct|rewrite|rephrase|paraphrase)\b[^\n:.!?]{0,60}:\s*(?P<task>.+)"
    r"|(?:这|那|下面|以下|收到|转发|转|发来?的)[^，。！？：:\n]{0,10}"
    r"(?:信|邮件|短信|微信|消息|文章|帖子|段话|文字|通知|代码|歌词|故事|留言|记录|内容)"
    r"[^，。！？：:\n]{0,16}[：:]\s*(?P<zh>.+)"
    r"|(?:翻译|翻成|译成|润色|校对|改写|总结|概括)[^。！？：:\n]{0,16}[：:]\s*(?P<han>.+)"
    r"|(?P<forwarded>【转(?:发|帖)?】.+)|(?P<head>^(?:(?:from|subject|to|发件人|主题|收件人)[:：][^\n]*|(?:dear [^\n]{1,40}|尊敬的[^\n]{1,20})[:：,，]?)\n.+)",
    any_case=True,
)
_IN_MARKS = Guarded(
    "\"|”|」|』|'|’",
    r'"[^"]*"|“[^”]{2,}”|「[^」]{2,}」|『[^』]{2,}』'
    r"|(?<![\w'’])(?:'(?=\w)(?:[^'\n]|(?<=\w)'(?=\w)){2,}'|‘(?:[^‘’\n]|(?<=\w)’(?=\w)){2,}’)(?!\w)",
)
_SENTENCE_INSIDE = pattern_of(r"[,;:.!?](?:\s|\W?$)|[，；：。！？]")
_SOMEBODY_SAYS = pattern_of(
    r"(?:\b(?:said|says|wrote|writes|texted|replied|goes|was like|told \w+|asked)|[说问写回喊道])[,:，：]?\s*$",
    re.IGNORECASE,
)


def pasted_spans(words: str, *, introduced: bool = True) -> list[tuple[int, int]]:
    """The parts of a message that are not its speaker's own: code, quoted lines, files, pasted texts, words of others.

    Where a text that is only ``introduced`` ("translate this: …") or a fence without an end stops is not to be seen:
    such are taken to reach to the end of the message, or with ``introduced`` False left out.

    >>> words = 'I read "War and Peace". Typos? "Dear Sir, I quit. Jo"'
    >>> [words[start:end] for start, end in pasted_spans(words)]
    ['"Dear Sir, I quit. Jo"']
    """
    found = [*quotation_spans(words)]
    if "```" in words or ">" in words:
        fenced = _FENCED.finditer(words)
        found += [one.span() for one in fenced if introduced or not one["fence"] or one["end"]]
    for each in _IN_MARKS.all_in(words):
        said = _SOMEBODY_SAYS.search(words, max(0, each.start() - 20), each.start())
        long = len(each[0]) >= (22 if each[0].isascii() else 10)
        if said or (long and _SENTENCE_INSIDE.search(each[0])):
            found.append(each.span())
    given = _INTRODUCED.search(words) if introduced and any(one in words for one in ":：\n【") else None
    if given:
        texts = [name for name, text in given.groupdict().items() if text is not None and name != "lead"]
        start, end = given.span(texts[0])
        if not any(first <= start < last for first, last in found):  # behind quotation marks the speaker goes on
            found.append((start, end))
    return sorted(found)


@lru_cache(_TEXTS_CACHED)
def own_words(words: str, *, introduced: bool = True) -> str:
    """A message with blanks where it is not its speaker's own, of the same length; see ``pasted_spans``."""
    for start, end in pasted_spans(words, introduced=introduced):
        words = words[:start] + re.sub(r"[^\n]", " ", words[start:end]) + words[end:]
    return words


def is_pasted(quote: Quote, words: str) -> bool:
    """Whether a passage of a message lies wholly in what is not its speaker's own."""
    return not own_words(words)[quote.start : quote.end].strip(' \n"”’」』.,，。')


@dataclass(frozen=True, slots=True)
class Testimony:
    """What a reader needs to judge whether words say a statement.

    ``passage``: a line for each message, oldest first: day and time, who speaks, the sentences around the words.
    ``places`` are those of the messages in their conversation. ``open``: as what it may be open, where that is asked.
    """

    passage: tuple[str, ...]
    statement: str
    stance: Stance
    places: tuple[int, ...]
    open: str = ""


def locate_quote(words: str, messages: Sequence[Message], statement: str = "", *, loosely: bool = True) -> Quote | None:
    """Where these words are in one of some messages; None if nothing in them is like them.

    Spaces, width, marks and case do not count. If the words are in none, the most similar passage of at least .8, else
    the clause that shares most words with them, and with ``statement``; not unless ``loosely``.
    """
    plain = [(message, _letters_of(message.words)) for message in messages]
    wanted = _letters_of(words)
    for message, text in plain if wanted else ():
        if (at := text.find(wanted)) >= 0:
            places = _places_of_letters(message.words)
            return _quote(message, places[at], places[at + len(wanted) - 1] + 1)
    similar = [found for each in plain if (found := _align(wanted, *each))]
    if similar:
        return max(similar, key=lambda each: each[0])[1]
    return _best_clause(f"{words} {statement}", messages) if loosely else None


@lru_cache(_TEXTS_CACHED)
def _letters_of(text: str) -> str:
    """The letters and digits of a text, normalised."""
    return "".join(map(_letters_in, text))


@lru_cache(_TEXTS_CACHED)
def _places_of_letters(text: str) -> Sequence[int]:
    """The place in a text of each of these."""
    return [place for place, character in enumerate(text) for _ in _letters_in(character)]


@lru_cache(_CHARACTERS_CACHED)
def _letters_in(character: str) -> str:
    """The letters and digits that a character is, normalised: one, none, or several for ㎏."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", character).casefold()))


def _align(wanted: str, message: Message, text: str) -> tuple[float, Quote] | None:
    """The passage of a message that is most like some words, with its similarity."""
    if not wanted or not 0 < len(text) <= _MOST_ALIGNED:
        return None
    matcher = SequenceMatcher(None, text, wanted, autojunk=False)
    best = (0.0, 0, 0)
    for block in sorted(matcher.get_matching_blocks(), key=lambda block: -block.size)[:3]:
        start = max(0, block.a - block.b)
        for length in {len(wanted), len(wanted) - 2, len(wanted) + 2}:
            end = min(len(text), max(start + 1, start + length))
            best = max(best, (SequenceMatcher(None, text[start:end], wanted, autojunk=False).ratio(), start, end))
    ratio, start, end = best
    if ratio < _SIMILAR:
        return None
    places = _places_of_letters(message.words)
    return ratio, _quote(message, places[start], places[end - 1] + 1)


def _best_clause(wanted: str, messages: Sequence[Message]) -> Quote | None:
    """The sentence that shares most words with some others; the last one of the best."""
    sought = set(terms(wanted))
    scored = [
        (len(sought.intersection(terms(message.words[start:end]))), number, start, end)
        for number, message in enumerate(messages)
        for start, end in sentence_spans(message.words)
    ]
    score, number, start, end = max(scored, default=(0, 0, 0, 0))
    return _quote(messages[number], start, end) if score else None


def _quote(message: Message, start: int, end: int) -> Quote:
    """A passage of a message, widened to whole words."""
    words = message.words
    while start > 0 and _joined(words[start - 1], words[start]):
        start -= 1
    while end < len(words) and _joined(words[end - 1], words[end]):
        end += 1
    return Quote(message.text_id, start, end, words[start:end], message.role)


def _joined(first: str, second: str) -> bool:
    return first.isalnum() and second.isalnum() and not is_unspaced(first) and not is_unspaced(second)


def sentences_around(words: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of the whole sentences with a passage, with the sentences beside them that change what they say."""
    found = sentence_spans(words)
    if not found:
        return start, end
    ends = [last for _, last in found]
    first = min(bisect_left(ends, start + 1), len(found) - 1)
    last = min(bisect_left(ends, end), len(found) - 1)
    while first and governs_next(words[slice(*found[first - 1])]):
        first -= 1
    for opened, closed in pasted_spans(words):
        if opened < end and start < closed:  # what is pasted is shown with what introduces it
            first = min(first, bisect_left(ends, len(words[:opened].rstrip())))
    if last + 1 < len(found) and takes_back_before(words[slice(*found[last + 1])]):
        last += 1
    return min(start, found[first][0]), max(end, found[last][1])


def quotation_of(quotes: Iterable[Quote], messages: Sequence[Message]) -> str:
    """The words of a fact as they may be shown: whole sentences with what governs them, and the question they need.

    Several messages are joined by " — ". ``messages`` are those of the quotes and the ones before and after each.
    """
    shown = (re.sub(r"\s+", " ", one.words).strip() for one in shown_quotes(quotes, messages))
    return " — ".join(shown)


def shown_quotes(quotes: Iterable[Quote], messages: Sequence[Message]) -> tuple[Quote, ...]:
    """The passages to show: whole sentences with what governs them, the questions they need, the answers to them.

    Each is one passage of its message, in the order of the messages.
    """
    bounds = _bounds_of(quotes, messages)
    found = ((messages[at], *bounds[at]) for at in sorted(bounds))
    return tuple(
        Quote(message.text_id, start, end, message.words[start:end], message.role, message.speaker)
        for message, start, end in found
        if message.words[start:end].strip()
    )


def _bounds_of(
    quotes: Iterable[Quote], messages: Sequence[Message], *, every_question: bool = False
) -> dict[int, tuple[int, int]]:
    """What is shown of each message, by place: quoted ones, the questions they need, the answers to them."""
    places = {message.text_id: place for place, message in enumerate(messages)}
    bounds: dict[int, tuple[int, int]] = {}
    for quote in quotes:
        if (at := places.get(quote.message)) is not None:
            start, end = bounds.get(at, (quote.start, quote.end))
            bounds[at] = sentences_around(messages[at].words, min(start, quote.start), max(end, quote.end))
    for at in [*bounds]:
        before, after = at - 1, at + 1
        words = messages[at].words
        opens = bounds[at][0] == _first(words) and (every_question or _is_short_answer(words[slice(*bounds[at])]))
        if opens and before >= 0 and before not in bounds and (question := _last_question(messages, before, at)):
            bounds[before] = question
        answered = after < len(messages) and messages[at].role != messages[after].role
        denied = answered and messages[at].role == "assistant" and begins_with_no(messages[after].words)
        if denied or (answered and is_question(messages[at].words[slice(*bounds[at])].strip())):
            spans = sentence_spans(messages[after].words) or ((0, 0),)
            end = bounds[after][1] if after in bounds else spans[min(1, len(spans) - 1)][1]
            bounds[after] = (spans[0][0], end)
    return bounds


#: What answers yes or no, or gives a reason.
_ANSWERS = pattern_of(
    r"^\W*(?:(?:yes|yeah|yep|yup|aye|no|nope|nah|not|never|always|sometimes|mostly|maybe|probably|sure|ok|okay|right|exactly|both"
    r"|neither|either|because|cause|cos|so that|to)\b|(?:因为|为了)|(?:是|对|嗯|哦|没有?|还没|不|不是|有|好|行|可以|会|要|能|当然|算是|差不多)"
    r"(?:[啊呀吧呢了的啦呗]*)(?:\W|$))",
    re.IGNORECASE,
)
#: What shows that words are a clause, and what in them means something said before.
_CLAUSE = pattern_of(
    r"\b(?:i|he|she|we|they|you|it|who|that|this|there|im|ive|its|is|are|was|were|am|has|have|had|will|would|can|could|do|does|did"
    r"|got|gets?|went|going|gonna|wanna)\b|n['’]?t\b|['’](?:m|re|ll|ve|d)\b|['’]s (?:\w+(?:ing|ed)|an?|the|not|been|got|gone|in|on|off)\b"
    r"|[我你您他她它咱了着过是说要会想在给有没不能去来做让叫买吃看住找得把被交约]",
    re.IGNORECASE,
)
#: What leaves out the words that were asked: "she does, every night", "I used to", "do that", 他会, 早就戒了.
_ELLIPTIC = pattern_of(
    r"^\W*(?:\w+(?:'\w+)*\W+){1,3}?(?:am|is|are|was|were|have|has|had|do|does|did|will|would|can|could|should|might|must)"
    r"(?:n['’]?t| not)?\s*(?=[,;.!…—–-]|$)"
    r"|^\W*(?:\w+(?:'\w+)*\W+){1,3}?(?:do|does|did|will|would|can|could|should|might|must)(?:n['’]?t| not)? (?:(?:at|in|on|for|when|if|but"
    r"|because|since|until|before|after|every|most|once|twice|as|though)\b|(?:now|then|too|still|sometimes|always|often|usually"
    r"|occasionally|again|yesterday|today)\b(?= (?:at|in|on|for|with|when|if|but|and|every|as)\b|\W*$|[,;.]))"
    r"|^[^,;.!?]{0,40}\bto(?=\s*(?:[,;.!…—–-]|$)| (?:some ?day|one day|soon|now|again|once|when|if|as|but)\b)"
    r"|^[^,;.!?]{0,40}\b(?:do|does|did|done|doing) (?:that|it|so|this)\b"
    r"|^\W*[我你您他她它咱]们?(?:都|也|真|就|只|还|一直|从来|不|没)*(?:会|是|有|在|要|能|想|行|可以|去过|做过)[啊呀吧呢了的]*(?=\W|$)"
    r"|^\W*(?:早就?|已经|都|还|刚刚?|一直|从来|从小|总是?|经常|偶尔|[前去今]年|昨天|又|也|就|才|其实)*(?![我你您他她它咱爸妈哥姐弟妹])"
    r"(?:[\u4e00-\u9fff]{1,2}[了过着完掉](?:[\d一二两三四五六七八九十百千几半好多]+个?(?:年|月|天|周|星期|小时|分钟|次|回|遍)[多半]?)?[了的]?"
    r"|[没不][\u4e00-\u9fff]{1,2})[啊呀吧呢]*(?=\W|$)",
    re.IGNORECASE,
)
_MEANS_WHAT_WAS_ASKED = pattern_of(r"\b(?:it|that|this|them|ones?|so|there)\b|[它这那]", re.IGNORECASE)
#: So long is a clause that is understood alone, and a phrase, in English words and in Chinese characters.
_WHOLE_CLAUSE, _WHOLE_PHRASE = (6, 5), (9, 11)


def _is_short_answer(words: str) -> bool:
    """Whether words may not be understood without the question before them: yes or no, a phrase, "I sold it"."""
    if _ANSWERS.search(words) or _ELLIPTIC.search(words):
        return True
    han = unspaced_length(words)
    length, kind = (han, 1) if han else (len(words.split()), 0)
    if not _CLAUSE.search(words):
        return length < _WHOLE_PHRASE[kind]
    unclear = _MEANS_WHAT_WAS_ASKED.search(words) is not None or len(set(terms(words))) < 2
    return length < _WHOLE_CLAUSE[kind] and unclear


def _first(words: str) -> int:
    return next((start for start, _ in sentence_spans(words)), 0)


def _last_question(messages: Sequence[Message], before: int, at: int) -> tuple[int, int] | None:
    """The question at the end of a message of the other side."""
    if messages[before].role == messages[at].role:
        return None
    spans = sentence_spans(messages[before].words)
    asked = [span for span in spans if messages[before].words[slice(*span)].strip().endswith(("?", "？"))]
    return asked[-1] if asked else None


def material_of(
    facts: Iterable[NewFact], messages: Sequence[Message], speakers: Mapping[str, str] | None = None
) -> list[Testimony]:
    """What decides about each fact: its messages, and those before them where its words are not clear alone.

    ``messages``: the window with those before it; ``speakers``: names by role. A message is the same for all facts:
    with every sentence that one of them rests on, and "[…]" for what is left out. What the person says later of the
    same things goes with a fact where it would not be shown otherwise: it may put it right.
    """
    cut: dict[int, set[int]] = defaultdict(set)
    whole: set[int] = set()
    rests: list[tuple[NewFact, set[int]]] = []
    called = frozenset(terms(" ".join((speakers or {}).values())))
    for fact in facts:
        bounds = _bounds_of(fact.quotes, messages, every_question=True)
        named = [place for place, message in enumerate(messages) if message.text_id in fact.messages]
        quoted = " ".join(one.words for one in fact.quotes)
        places = {*bounds, *named}
        clear = bool(quoted) and not _is_short_answer(quoted) and says_what_it_means(quoted)
        if places and not clear:
            places |= {*range(max(0, min(places) - _BEFORE), max(places) + 1)}
        for place in places:
            words, of_companion = messages[place].words, messages[place].role == "assistant"
            spans = sentence_spans(words)
            start, end = bounds.get(place, (0, 0))
            cut[place] |= {at for at, (first, last) in enumerate(spans) if first < end and start < last}
            # Of a companion's words, and of a question, the sentences are enough where they are clear; of what the
            # companion said before, else also those that name what the fact is about, and the last.
            if of_companion and place not in named and not clear:
                cut[place] |= _sentences_with(_terms_of(fact) - called, words) | {len(spans) - 1}
            elif not (clear and place in bounds and (of_companion or place not in named)):
                whole.add(place)
        rests.append((fact, {place for place in places if not messages[place].hidden}))
    for place, message in enumerate(messages):
        if place in cut or message.role != "user" or message.hidden:
            continue
        for fact, places in rests:
            if places and max(places) < place and _sentences_with(_terms_of(fact) - called, message.words):
                places.add(place)
                whole.add(place)
                cut[place] = set()
    lines = {}
    for place, kept in cut.items():
        message = messages[place]
        lines[place] = passage_line(message, _sentences_of(message, kept, whole=place in whole), speakers or {})
    return [
        Testimony(tuple(lines[place] for place in sorted(places)), fact.restatement, fact.stance, tuple(sorted(places)))
        for fact, places in rests
    ]


def _terms_of(fact: NewFact) -> frozenset[str]:
    return frozenset(terms(f"{fact.restatement} {fact.value}"))


def _sentences_with(wanted: frozenset[str], words: str) -> set[int]:
    """The numbers of the sentences that share a term with others."""
    found = enumerate(sentence_spans(words))
    return {at for at, (start, end) in found if not wanted.isdisjoint(terms(words[start:end]))}


def _sentences_of(message: Message, kept: Collection[int], *, whole: bool) -> str:
    """The sentences of a message by number, of a ``whole`` one those at its end as well, with marks between them."""
    words, spans = message.words, sentence_spans(message.words)
    for start, end in quotation_spans(words):
        words = words[:start] + "“…”".ljust(end - start) + words[end:]
    room = _MOST_BEFORE if whole else 0
    if not spans or len(words) <= room:
        return re.sub(r"\s+", " ", words).strip()
    shown = [at for at, (start, _) in enumerate(spans) if at in kept or len(words) - start <= room] or [len(spans) - 1]
    parts: list[str] = []
    for at, before in zip([*shown, len(spans)], [-1, *shown], strict=True):
        parts += ["[…]"] if at - before > 1 else []
        parts += [re.sub(r"\s+", " ", words[slice(*spans[at])])] if at < len(spans) else []
    return " ".join(parts)


def passage_line(message: Message, words: str, speakers: Mapping[str, str]) -> str:
    """Words of a message behind its time and its speaker, in one line."""
    who = message.speaker or speakers.get(message.role) or message.role
    return f"{message.timestamp[:16].replace('T', ' ')} {who}: {' '.join(words.split())}"
