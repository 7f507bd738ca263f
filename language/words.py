"""The words of a text, normalised in the same way for stored texts and queries, and those that are names.

Any mix of languages goes through one function:

* text is normalised (NFKC, case folded, Latin accents removed), so that ``Ｃａｆé`` and ``cafe`` are one word;
* words of scripts that use spaces are stemmed (Porter2,
  https://snowballstem.org/algorithms/english/stemmer.html) and English stop words are left out;
* scripts without spaces (Han, Kana, Thai, Lao, Khmer, Burmese) and Hangul give single characters and pairs of
  neighbours inside one run, which finds two-character words without a dictionary;
* numbers lose leading zeros, separators and ordinal endings, and also join the character that counts
  (``5月``);
* names in code (``camelCase``, ``snake_case``) give their parts and the whole; ``c++`` and ``c#`` stay what
  they are.

A token contains no space, so that tokens can be joined and split. Tokens that begin with ``@`` are marks: properties of
a text rather than words of it (it asks, who is speaking).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import chain

from domain.patterns import Guarded, pattern_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.scripts import STOP_CHARACTERS, STOP_WORDS, UNSPACED, is_unspaced, unspaced_length

_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff\u20d0-\u20ff"
_PIECE = pattern_of(
    rf"(?P<unspaced>[{UNSPACED}]+)"
    r"|(?P<number>\d+(?:[.,]\d+)*)(?P<ordinal>(?:st|nd|rd|th)(?![^\W\d]))?"
    r"|(?P<code>[a-z](?:\+\+|\#))"
    rf"|(?P<word>[^\W\d{UNSPACED}](?:[^\W{UNSPACED}]|[{_MARKS}]|['’](?=[^\W\d_]))*)"
)
#: The same where there are no other letters than those of ASCII, in half the time.
_PLAIN_PIECE = pattern_of(
    r"\d+(?:[.,]\d+)*(?:(?:st|nd|rd|th)(?![^\W\d]))?|[a-z](?:\+\+|\#)|[^\W\d](?:\w|'(?=[^\W\d_]))*", re.ASCII
)
_WORD = pattern_of(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[\w'’+#.,-])*(?:(?![{UNSPACED}])[\w+#])")
_CAMEL = pattern_of(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDENTIFIER = pattern_of(r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[A-Za-z]*[a-z0-9][A-Z][A-Za-z0-9]*\b")
_HUMP = pattern_of("[a-z0-9][A-Z]")
_ACCENTS = pattern_of("[\u0300-\u036f]")
#: Letters and marks of others than ASCII.
_OTHER_LETTER = pattern_of(rf"[^\W\x00-\x7f]|[{UNSPACED}{_MARKS}]")
_THOUSANDS = pattern_of(r"(?<=\d),(?=\d{3}(?:\D|$))")

#: Marks: the text asks, names its speaker; and the prefix of the speaker's mark.
ASKS, NAMED, SPEAKER = "@asks", "@named", "@:"
_LABEL = pattern_of(r"\s*([^\W\d_][\w.'’-]{0,24}(?: [^\W\d_][\w.'’-]{0,24}){0,2})[:：]\s")

#: Chinese question words: pairs of a neighbour and one of them are in no memory.
_ASKING = pattern_of(
    "什么时候|什么|怎么样|怎么|怎样|为什么|为何|哪里|哪儿|哪些|哪个|哪|谁|多少|是不是|有没有|能不能|可不可以|请问|是否|[吗呢]"
)


#: Irregular English forms; the first of each entry is the base form. Forms that are as often a word of their own
#: (``lives``, ``leaves``, ``ground``, ``rose``) are left out.
_IRREGULAR = """
    arise arose arisen; awake awoke awoken; beat beaten; become became; begin began begun; bend
    bent; bet; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed
    bred; bring brought; build built; burn burnt; buy bought; catch caught; child children; choose
    chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn; dream
    dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel
    felt; fight fought; find found; flee fled; fly flew flown; foot feet; forbid forbade forbidden;
    forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; goose geese; grow grew
    grown; half halves; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt;
    knife knives; know knew known; lay laid; lead led; lean leant; leap leapt; learn learnt; leave
    left; lend lent; light lit; lose lost; make made; man men; mean meant; meet met; mistake mistook
    mistaken; mouse mice; overcome overcame; pay paid; person people; prove proven; ride rode
    ridden; ring rang rung; rise risen; run ran; say said; see saw seen; seek sought; sell sold;
    send sent; sew sewn; shake shook shaken; shelf shelves; shine shone; shoot shot; show shown;
    shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell
    smelt; speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun; spit
    spat; spoil spoilt; stand stood; steal stole stolen; stick stuck; sting stung; strike struck;
    strive strove striven; swear swore sworn; sweep swept; swell swollen; swim swam swum; swing
    swung; take took taken; teach taught; tear tore torn; tell told; thief thieves; think thought;
    throw threw thrown; tooth teeth; understand understood; wake woke woken; wear wore worn; weave
    wove woven; weep wept; wife wives; win won; withdraw withdrew withdrawn; wolf wolves; woman
    women; write wrote written
"""
#: The stems of this many words are cached: people use some thousands.
_WORDS_CACHED = 10_000
#: The names of this many texts are cached: a statement is looked up repeatedly.
_TEXTS_CACHED = 1_024
_BASE = {form: base for base, *forms in (entry.split() for entry in _IRREGULAR.split(";")) for form in forms}


def tokens(text: str) -> list[str]:
    """All tokens of a stored text in order, with repetitions, followed by its marks.

    >>> tokens("Tim's cafés in 北京, May 5th: quick_sort()")
    ['tim', 'cafe', '北', '北京', '京', 'may', '5', 'quick', 'sort', 'quicksort']
    """
    found = _word_tokens(text)
    if text.rstrip()[-3:].rstrip("\"'”’)）").endswith(("?", "？")):
        found.append(ASKS)
    if label := label_of(text):
        found += [NAMED, *map(speaker_term, dict.fromkeys(_word_tokens(label)))]
    return found


@lru_cache(_TEXTS_CACHED)
def terms(text: str) -> tuple[str, ...]:
    """The distinct tokens of a question in order, without marks."""
    return tuple(dict.fromkeys(_word_tokens(text)))


def search_terms(text: str) -> tuple[str, ...]:
    """The distinct tokens of a question without Chinese question words.

    >>> search_terms("狗怕什么？")
    ('狗', '狗怕', '怕')
    """
    return terms(_ASKING.sub(" ", text))


def matching_forms(text: str, wanted: AbstractSet[str]) -> tuple[str, ...]:
    """The words of a text that are forms of the wanted terms, as written, each once.

    >>> matching_forms("She bought 铆钉枪 and was buying nails", {"buy", "铆钉"})
    ('bought', '铆钉', 'buying')
    """
    found: list[str] = []
    for word in dict.fromkeys(_WORD.findall(text)):
        if not word.isascii() and is_unspaced(word[0]):
            found += _covered_runs(word, wanted)
        elif not wanted.isdisjoint(_tokens_of_word(word)):
            found.append(word)
    return tuple(dict.fromkeys(found))


def forms_of_all(text: str, words: str) -> tuple[str, ...] | None:
    """The words of a text that are forms of these words; None unless it contains all of them.

    >>> forms_of_all("She bought a house", "buy houses"), forms_of_all("She bought a boat", "buy houses")
    (('bought', 'house'), None)
    """
    wanted = frozenset(terms(words))
    if words.casefold() in text.casefold() or (wanted and wanted <= set(_word_tokens(text))):
        return matching_forms(text, wanted)
    return None


def _covered_runs(run: str, wanted: AbstractSet[str]) -> Iterator[str]:
    """The parts of a run that wanted terms cover."""
    covered = {at for at, character in enumerate(run) if character in wanted}
    for at in range(len(run) - 1):
        if run[at : at + 2] in wanted:
            covered |= {at, at + 1}
    start = 0
    for at in range(1, len(run) + 1) if covered else ():
        if at == len(run) or (at in covered) != (start in covered):
            if start in covered:
                yield run[start:at]
            start = at


def fold_text(text: str) -> str:
    """A text for comparison: without case, accents, wide forms and apostrophes."""
    return _fold_case(text).replace("'", "").replace("’", "")


def term_prefixes(term: str) -> tuple[str, ...]:
    """What words of this term start with in a folded text: its stem without changing endings, and its irregular forms.

    >>> term_prefixes("buy"), term_prefixes("stori"), term_prefixes("北京"), term_prefixes("12500")
    (('buy', 'bought'), ('stor',), ('北京',), ('500',))
    """
    if term[:1].isdigit() and not is_unspaced(term[-1]):
        return (max(re.findall(r"\d+", term), key=len)[-3:],)
    whole = len(term) <= 3 or is_unspaced(term) or term[-1] not in "ie"
    return (term if whole else term[:-1], *_irregular_forms().get(term, ()))


@cache
def _irregular_forms() -> Mapping[str, tuple[str, ...]]:
    """The irregular forms of each term."""
    forms_of = defaultdict[str, list[str]](list)
    for form, base in _BASE.items():
        forms_of[_stem_word(base)].append(form)
    return {term: tuple(forms) for term, forms in forms_of.items()}


def speaker_term(term: str) -> str:
    """The mark of messages whose speaker's name contains ``term``."""
    return f"{SPEAKER}{term}"


def label_of(text: str) -> str:
    """The speaker's name at the start of a text: ``Caroline`` in ``Caroline: I went ...``; else ""."""
    found = _LABEL.match(text)
    return found[1] if found else ""


def _word_tokens(text: str) -> list[str]:
    found: list[str] = []
    if "_" in text or _HUMP.search(text):
        text = _IDENTIFIER.sub(_split_identifier, text)
    folded = _fold_case(text).replace("’", "'")
    if folded.isascii() or not _OTHER_LETTER.search(folded):
        return list(chain.from_iterable(map(_of_piece, _PLAIN_PIECE.findall(folded))))
    for piece in _PIECE.finditer(folded):
        if piece.lastgroup == "word":
            found += _of_word(piece[0])
        elif piece.lastgroup == "unspaced":
            found += _of_run(piece[0])
        elif piece.lastgroup == "code":
            found.append(piece[0])
        else:
            found += _of_number(piece[0], folded[piece.end() : piece.end() + 1])
    return found


@lru_cache(_WORDS_CACHED)
def _of_piece(piece: str) -> tuple[str, ...]:
    """The tokens of a word, a number or a name of code in ASCII."""
    if piece[0].isdigit():
        return tuple(_of_number(piece, ""))
    return (piece,) if piece[-1] in "+#" else _of_word(piece)


@lru_cache(_WORDS_CACHED)
def _tokens_of_word(word: str) -> list[str]:
    return _word_tokens(word)


def _stem_word(word: str) -> str:
    """A word's stem, with the endings of possession removed first.

    Each call has its own stemmer: a shared one would not be thread-safe.
    """
    import Stemmer

    if "'" in word or "’" in word:
        word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    return str(Stemmer.Stemmer("english").stemWord(_BASE.get(word, word)))


def _split_identifier(name: re.Match[str]) -> str:
    """A name in code as its parts and the whole: ``quickSort`` becomes ``quick Sort quickSort``."""
    parts = [part for piece in name[0].split("_") for part in _CAMEL.split(piece) if part]
    return " ".join([*parts, "".join(parts)]) if len(parts) > 1 else name[0]


def _fold_case(text: str) -> str:
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _of_run(run: str) -> list[str]:
    """Single characters and pairs: 你好吗 gives 你, 你好, 好, 好吗, 吗 without the stop characters."""
    found: list[str] = []
    before, joins = "", True
    for character in run:
        joined, joins = joins, character in STOP_CHARACTERS
        if before and not (joined and joins):
            found.append(before + character)
        if not joins:
            found.append(character)
        before = character
    return found


def _of_number(piece: str, after: str) -> Iterator[str]:
    number = _THOUSANDS.sub("", piece.rstrip("stndrh"))
    whole = number.lstrip("0") or "0"
    yield f"0{whole}" if whole.startswith(".") else whole
    if after and is_unspaced(after):
        yield whole + after


@lru_cache(_WORDS_CACHED)
def _of_word(word: str) -> tuple[str, ...]:
    """A word's stem; nothing for a stop word; letters and digits run together stay one token."""
    plain = word.replace("’", "'").strip("_'")
    token = _stem_word(plain) if plain and plain not in STOP_WORDS else ""
    return (token,) if token else ()


# -- names of people and places --------------------------------------------------------------------------------


def is_name(text: str) -> bool:
    """Whether a text could be a name: a few short words, none of which only a sentence has.

    >>> is_name("Mara Lindqvist"), is_name("陈默"), is_name("ignore all that"), is_name("34")
    (True, True, False, False)
    >>> is_name("Ludwig van Beethoven"), is_name("Gary from work"), is_name("我媳妇还夸好吃")
    (True, False, False)
    """
    letters = all(character.isalpha() or character in " -'’.·" for character in text)
    short = 0 < len(text) <= 40 and unspaced_length(text) <= 10 and len(text.split()) <= 4
    return letters and short and not text[0].islower() and not _IN_A_SENTENCE.search(text)


#: What no name has: a word in lower case that joins no names, a pronoun, and characters of a sentence.
_IN_A_SENTENCE = pattern_of(
    r"(?:^|\s)(?!(?:a[lf]|and|bin|bint|da|de[lnr]?|di|do[ns]?|du|el|ibn|l[ae]|of|och|te[nr]?|the|und|v[ao]n|y|zu[mr]?)\b"
    r"|[a-z]['’])[a-zà-ÿ]"
    r"|^(?:I|You|He|She|It|We|They|My|Your|His|Her|Our|Their|There|This|That)\b|[我你您他她它们这了吗呢吧说很还没是被把啥谁]"
)
_NAME = pattern_of(r"[A-ZÀ-Þ](?<![A-Za-zÀ-ÿ0-9'’].)[A-Za-zÀ-ÿ0-9'’&-]*")
_FIRST_WORD = pattern_of(r"(?:^|[.!?:;]\s+|[\"“(])([A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*)")
_USED_AS_NAME = pattern_of(
    r"[\w-]+(?:['’]s?\b|, | and [A-ZÀ-Þ]| (?:is|was|has|had|will|would|can|does|did|told|said|went|came|got|met"
    r"|gave|took|left|ran|made|and|who)\b| (?!as\b|his\b|its\b|this\b|less\b)[a-z]+(?:s|ed)\b)"
)
_OPENING = pattern_of(r"^\W*\w+")
_CALLED = Guarded(
    "叫|名字是|改名", r"(?:名叫|叫做|叫|名字是|改名)(?!人|醒|她|他|我|做|[全本大小真原]名|[外花]号)([\u4e00-\u9fff]{2})"
)
_POSSESSED = pattern_of(r"['’]s?$")
_FEASTS = ("christmas", "easter", "thanksgiving", "halloween")
_NO_NAMES = STOP_WORDS.union(DAY_NAMES, MONTH_NAMES, (f"{day}s" for day in DAY_NAMES), _FEASTS)


def names_in(text: str, *, opening: bool = True) -> Iterator[str]:
    """Every name in a text, in either script; without ``opening`` its first word never counts."""
    yield from latin_names(text if opening else f"- {_OPENING.sub('', text)}")
    yield from (found[1] for found in _CALLED.all_in(text))


@lru_cache(_TEXTS_CACHED)
def latin_names(text: str) -> tuple[str, ...]:
    """The words of a text that are written like names.

    The first word of a sentence counts if it is used like a name: "Tom Okafor", "Mara's", "Pickle died".
    """
    first = {found.start(1) for found in _FIRST_WORD.finditer(text)}
    possesses = "'" in text or "’" in text
    return tuple(
        word
        for found in _NAME.finditer(text)
        if (word := (_POSSESSED.sub("", found[0]) if possesses else found[0]).rstrip("-&")).casefold() not in _NO_NAMES
        and (found.start() not in first or _USED_AS_NAME.match(text, found.start()))
    )


def whole_names(text: str) -> tuple[str, ...]:
    """The names of a text, adjacent ones joined.

    >>> whole_names("I met Tom Okafor in York.")
    ('Tom Okafor', 'York')
    """
    found: list[str] = []
    for name in latin_names(text):
        adjacent = bool(found) and f"{found[-1]} {name}" in text
        found.append(f"{found.pop()} {name}" if adjacent else name)
    return tuple(found)
