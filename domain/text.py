"""What is done to text at the doors of the house.

Four doors: what a person types comes in (``clean``), what anybody wrote is shown (``inert``), quotations of older
memories are told apart from new words (``without_quotations``), and what was said once is put before a model without
being taken for an order (``harmless``, ``record``): one line of JSON a record, between two marks that nobody could have
known, with nothing in it that could end it, open a role or hide.
Everything here is linear in the length of the text, whatever the text is. With what every room looks through text:
regular expressions that are compiled when they are first looked for (``pattern_of``).
"""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo
from typing import Any, cast
from urllib.parse import unquote, unquote_plus, urlsplit

from domain import errors
from domain.recollection import RecalledOther, RecalledTurn, Recollection
from domain.records import PREFIX, Quoted, Turn


def pattern_of(source: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, made at the first look; a mistake in it shows only then. Not for functions of ``re``.

    There are some three hundred, and a program that starts needs few of them: to compile them all took a quarter of the
    time until its prompt stood.

    >>> pattern_of("b+").search("abba").group()
    'bb'
    """
    return cast("re.Pattern[str]", _Late(source, flags))


class _Late:
    """Stands for a pattern; whatever is asked of it is asked of the compiled one, and remembered."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        asked = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, asked)
        return asked


#: The longest message taken from a person, in bytes of UTF-8.
MAX_INPUT_BYTES = 1_000_000

#: What opens a quotation of a reply, or ends it.
QUOTATION_TAG = pattern_of(r"<\s{0,8}(/?)\s{0,8}blockquote(?:\s[^<>]{0,256})?\s{0,8}/?>", re.IGNORECASE)

_BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_INVISIBLE = {0x00AD, 0x180E, 0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF, *range(0xFFF9, 0xFFFC)}
_CONTROLS = (set(range(0x20)) | {0x7F} | set(range(0x80, 0xA0))) - {0x0A, 0x09}
_TAG_CHARACTERS = set(range(0xE0000, 0xE0080))
_SURROGATES = range(0xD800, 0xE000)

_CLEAN = dict.fromkeys(_CONTROLS) | dict.fromkeys(_SURROGATES, "�")
_INERT = _CLEAN | dict.fromkeys(_BIDI | _INVISIBLE | _TAG_CHARACTERS)

#: Characters that show nothing although Unicode counts them among letters, symbols and marks.
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0} | {
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
}
_BLANK_CATEGORIES = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))

_SECRET = pattern_of(
    r"(?P<lead>(?:bearer|basic)\s+|[?&](?:api[-_]?key|key|token|access_token|auth|secret|password|sig|signature)="
    r"|api[-_]key['\"]?\s*[:=]\s*['\"]?)"
    r"(?P<value>[^\s'\"&,}]{4,})"
    r"|(?P<scheme>\bhttps?://)[^\s/@'\"<>]{1,500}(?=@)"
    r"|\b(?:sk|rk|pk|gsk|xai|hf|ghp|AIza)[-_]?[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,10000}-----END [A-Z ]{0,40}PRIVATE KEY-----",
    re.IGNORECASE,
)
#: What stands for a quotation in a stored reply (``with_references``), with the space before it.
_REFERENCE = pattern_of(r"[ \t]?\[\d{4}-\d\d-\d\d · (?:[0-9a-f]{8}|@[^\]\n]{1,80})\]")
#: The names of the program's commands, which say nothing of anybody's life.
COMMAND_NAMES = (
    "ask", "context", "copy", "debug", "edit", "exit", "export", "facts", "forget", "help", "history", "import",
    "incognito", "life", "memory", "model", "persona", "pin", "recall", "redo", "reindex", "remember", "reset",
    "resume", "retry", "save", "sessions", "setup", "show", "status", "summary", "undo", "why",
)  # fmt: skip
_COMMAND_LINE = pattern_of(rf"^[ \t]*(?:/(?:{'|'.join(COMMAND_NAMES)}))+(?:[ \t][^\n]*)?$\n?", re.MULTILINE)
_GAPS = pattern_of(r"(?:[ \t]*\n){3,}")
MASK = "[secret]"
#: Everything before the last "@" of a URL: a password may hold any character when nobody encoded it.
_USER_INFO = pattern_of(r"^(?P<scheme>[a-z][a-z0-9+.-]{0,20}://)?[^?]*@", re.IGNORECASE)
#: Fields of a query that are no secret in any API.
_OPEN_FIELDS = ("api-version", "api_version", "version", "model")


def clean(text: str) -> str:
    """What a person typed, without what no store and no terminal can take.

    Lone surrogates become U+FFFD; NUL and terminal controls go; line ends become ``\\n``.

    >>> clean("a\\r\\nb\\x1b[31m")
    'a\\nb[31m'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEAN)


def is_blank(text: str) -> bool:
    """Whether nothing in a text can be seen: spaces, controls, characters without width.

    >>> is_blank(" \\u200b\\u200d\\ufeff"), is_blank("👩\\u200d👧")
    (True, False)
    """
    return all(unicodedata.category(one) in _BLANK_CATEGORIES or ord(one) in _BLANK for one in text)


def admitted(said: str) -> str:
    """What a person said, cleaned. Raises UsageError where that is nothing, or too much."""
    text = clean(said)
    if is_blank(text):
        raise errors.UsageError("input.empty")
    if len(text.encode("utf-8")) > MAX_INPUT_BYTES:
        raise errors.UsageError("input.too_long", most=MAX_INPUT_BYTES)
    return text


def inert(text: str) -> str:
    """Text of any origin, safe to show: no controls, no bidirectional overrides, no hidden characters.

    Works a code point at a time, so any chunking of a stream gives the same result.
    """
    return text.translate(_INERT)


def one_line(text: str, limit: int = 200) -> str:
    """A short inert line out of anything, for messages and logs."""
    line = " ".join(inert(text[: limit * 8]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def mask(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without the secrets that are known, and without what looks like one.

    >>> mask("Authorization: Bearer abcd1234")
    'Authorization: Bearer [secret]'
    """
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, MASK)
    return _SECRET.sub(lambda found: (found["lead"] or found["scheme"] or "") + MASK, text)


def mask_url(url: str) -> str:
    """A URL as it may be shown: without user and password, and without the values of its query.

    What is no URL is treated as one, so that a mistyped one shows nothing either.

    >>> mask_url("https://ann:pass@host/v1?api_key=abc&api-version=2")
    'https://[secret]@host/v1?api_key=[secret]&api-version=2'
    """
    place, mark, query = _USER_INFO.sub(lambda found: (found["scheme"] or "") + MASK + "@", url).partition(
        "?"
    )
    return mask(place + mark + "&".join(_masked_field(field) for field in query.split("&")))


def url_secrets(url: str) -> tuple[str, ...]:
    """What is secret in a URL, in each form in which a server or a library may repeat it.

    >>> url_secrets("https://ann:pa%73s@host/v1?api_key=abc&api-version=2")
    ('pa%73s', 'pass', 'YW5uOnBhc3M=', 'abc')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ()
    found: list[str] = []
    if "@" in parts.netloc:
        user, _, password = parts.netloc.rpartition("@")[0].partition(":")
        both = f"{unquote(user)}:{unquote(password)}"
        found += [password or user, unquote(password or user), b64encode(both.encode()).decode()]
    for name, separator, value in (field.partition("=") for field in parts.query.split("&")):
        if name.lower() not in _OPEN_FIELDS:
            found += [value, unquote_plus(value)] if separator else [name]
    return tuple(dict.fromkeys(secret for secret in found if secret))


def _masked_field(field: str) -> str:
    """A field of a query without its value; the whole of it where it is no pair."""
    name, separator, value = field.partition("=")
    if not field or name.lower() in _OPEN_FIELDS:
        return field
    return name + separator + MASK if separator and value else MASK


def without_quotations(text: str) -> str:
    """The text without ``<blockquote>`` and what stands inside it.

    A tag that has no partner is removed alone: its text may be somebody's own words. Nesting is
    followed. Lines left empty by a quotation close up.
    """
    tags = list(QUOTATION_TAG.finditer(text))
    if not tags:
        return text
    kept, position = [], 0
    for start, end in _removed_spans(tags):
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip()


def quotations(text: str) -> list[str]:
    """The outermost quotations of a text, in order, their tags removed."""
    found = []
    for start, end in _pairs(list(QUOTATION_TAG.finditer(text))):
        found.append(QUOTATION_TAG.sub("", text[start:end]).strip())
    return [quotation for quotation in found if quotation]


def quotation_spans(text: str) -> list[tuple[int, int]]:
    """Where the outermost quotations of a text begin and end, their tags included."""
    return _pairs(list(QUOTATION_TAG.finditer(text)))


def outside_quotations(text: str) -> str:
    """What a reply says itself: no quotation in it, nor what follows a tag that is never closed.

    The words of a quotation are somebody else's, or nobody's. What is shown as quoted counts as quoted.

    >>> outside_quotations("I see. <blockquote>old</blockquote> Go on. <blockquote>cut o")
    'I see.   Go on.'
    """
    own: list[str] = []
    depth = position = 0
    for tag in QUOTATION_TAG.finditer(text):
        own += [] if depth else [text[position : tag.start()], " "]
        depth, position = max(0, depth - 1) if tag[1] else depth + 1, tag.end()
    if not position:
        return text
    own += [] if depth else [text[position:]]
    return re.sub(r"\n{3,}", "\n\n", "".join(own)).strip()


def without_tags(text: str) -> str:
    """The text without the tags of quotations; what they hold stays."""
    return QUOTATION_TAG.sub(" ", text)


def _pairs(tags: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Spans of the outermost matched pairs of tags."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for tag in tags:
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, tag.end()))
    return spans


def _removed_spans(tags: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Pairs whole, and single tags outside of them, in order."""
    spans = _pairs(tags)
    removed, at = list(spans), 0
    for tag in tags:
        while at < len(spans) and spans[at][1] <= tag.start():
            at += 1
        if at == len(spans) or tag.start() < spans[at][0]:
            removed.append(tag.span())
    return sorted(removed)


# --- quoting

_ZERO_WIDTH = dict.fromkeys((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200C, 0x200D, 0x3164, 0xFFA0))
_CONTROL_TOKEN = pattern_of(
    r"<[|｜][^<>|｜]{0,80}[|｜]>|\[/?INST\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk|(?:start|end)_of_turn)>",
    re.IGNORECASE,
)
_ANY_TAG = pattern_of(
    r"</?[A-Za-z!][^<>]{0,300}>|<[|｜][^<>|｜]{0,80}[|｜]>|\[/?INST\]|<</?SYS>>", re.IGNORECASE
)
_BRACKETS = str.maketrans("<>[]", "‹›［］")
#: Tokens that stand in one another so deep are code or an attack; then all brackets become others.
_NESTED = 6
_BARS = str.maketrans("=", "＝")


def new_boundary() -> str:
    """A mark that no stored text can contain."""
    import secrets

    return f"=== {secrets.token_hex(12)} ==="


def harmless(text: str, boundary: str = "") -> str:
    """Text of a memory in which nothing can act, and every word can be read.

    Hidden characters go; tags, control tokens and the boundary get other brackets or bars, so that what they held
    (an address, a link, code) stays.

    >>> harmless("Ann <ann@example.org>: [INST] List<String> </memory>")
    'Ann ‹ann@example.org›: ［INST］ List‹String› ‹/memory›'
    """
    text = inert(text).translate(_ZERO_WIDTH)
    if boundary:
        text = text.replace(boundary, boundary.translate(_BARS))
    return _disarmed(_ANY_TAG, text).strip("\n").rstrip()


def without_control_tokens(text: str) -> str:
    """Text of the program's own layers: as it is, but that the tokens by which chat templates part the roles are
    only to be read."""
    return _disarmed(_CONTROL_TOKEN, inert(text)).strip()


def _disarmed(tokens: re.Pattern[str], text: str) -> str:
    """The text with other brackets around these tokens, one inside another as well."""
    for _ in range(_NESTED):
        text, found = tokens.subn(lambda token: token[0].translate(_BRACKETS), text)
        if not found:
            return text
    return text.translate(_BRACKETS)


def record(**fields: object) -> str:
    """One record as one line of JSON."""
    return _one_line(json.dumps(fields, ensure_ascii=False))


def encoded(value: object) -> str:
    """Any value as one line of JSON."""
    return _one_line(json.dumps(value, ensure_ascii=False))


#: The date of what nobody knows when it was said.
UNKNOWN_DATE = "?"


def entry(timestamp: str, boundary: str, text: str, **more: str) -> Mapping[str, str]:
    """What was said, when and by whom, ready to be encoded."""
    return {"date": date_of(timestamp), **more, "text": harmless(text, boundary)}


def date_of(timestamp: str) -> str:
    """The day and minute of an ISO 8601 timestamp.

    >>> date_of("2026-05-04T13:05:22.123+02:00")
    '2026-05-04 13:05'
    """
    return timestamp[:16].replace("T", " ")


def day_of(timestamp: str) -> date | None:
    """The day of an ISO 8601 timestamp, where it was written; None for what is none."""
    try:
        return date.fromisoformat(timestamp[:10])
    except ValueError:
        return None


def in_zone(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """A moment as a clock of that zone, or here, shows it; as it is where the calendar ends before it gets there.

    A clock that was wrong may have said the first hour of the year 1, or the last one of the year 9999.
    """
    try:
        return moment.astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return moment


def seconds_of(timestamp: str) -> float:
    """An ISO 8601 timestamp in seconds since 1970; 0 for a time that nobody can read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _one_line(encoded_text: str) -> str:
    return encoded_text.replace("\u2028", " ").replace("\u2029", " ").replace("\x85", " ")


# -- quotations of a reply, checked against the memories that were recalled for it


_NOT_WORDS = pattern_of(r"[\W_]+")
#: A quotation shorter than this fits too many memories to say which one it is.
_SHORTEST = 2


#: Whatever can be quoted: words that somebody said or wrote. A summary, a chapter, a fact are a model's own.
Quotable = RecalledTurn | RecalledOther


def source_of(quotation: str, recollection: Recollection) -> Quotable | None:
    """The memory that holds these words, or that these words hold; None where no memory does.

    Punctuation, case and spacing do not count: a model seldom copies them. What an earlier reply quotes is no source:
    a quotation that was made up would bear itself out the next time.
    """
    if not tells_enough(quotation):
        return None
    wanted = _bare(quotation)
    memories: tuple[Quotable, ...] = (*recollection.turns, *recollection.others)
    for memory in memories:
        bare = _bare(outside_quotations(memory.text) if memory.role == "assistant" else memory.text)
        if wanted in bare or (len(bare) > len(wanted) // 2 and bare in wanted):
            return memory
    return None


def holds(text: str, quotation: str) -> bool:
    """Whether a text says these words; punctuation, case and spacing do not count."""
    return tells_enough(quotation) and _bare(quotation) in _bare(text)


def tells_enough(quotation: str) -> bool:
    """Whether a quotation is long enough to say which memory it is from."""
    return len(_bare(quotation)) >= _SHORTEST


def checked(reply: str, recollection: Recollection) -> tuple[Quoted, ...]:
    """The quotations of a reply that stand in a memory that was recalled for it."""
    spans = enumerate(quotation_spans(reply))
    found = (
        (number, source_of(without_tags(reply[start:end]), recollection)) for number, (start, end) in spans
    )
    return tuple(Quoted(number, memory.text_id, memory.timestamp) for number, memory in found if memory)


def with_references(turn: Turn) -> str:
    """The words of a turn, with a reference in the place of each quotation that was found in a memory."""
    text, checked_ones = turn.words, {quoted.number: quoted for quoted in turn.quoted}
    if not checked_ones:
        return text
    kept, position = "", 0
    for number, (start, end) in enumerate(quotation_spans(text)):
        if quoted := checked_ones.get(number):
            kept += f"{text[position:start]}[{quoted.timestamp[:10]} · {_named(quoted)}]"
            position = end
    return kept + text[position:]


def _named(quoted: Quoted) -> str:
    """What a quotation is from: the beginning of an id, or of a memory that is not ours its name."""
    of_others = quoted.text_id.startswith("@")
    return quoted.text_id.rpartition("·")[0] if of_others else quoted.text_id[:8]


def own_words(turn: Turn) -> str:
    """What a turn says itself: of a reply what it does not quote; what a person pastes is their own."""
    return outside_quotations(turn.words) if turn.role == "assistant" else without_tags(turn.words)


def as_memory(turn: Turn) -> Turn:
    """The turn as it is handed over when it is recalled: its own words, and nothing the program put into it.

    Quotations of older memories, references to them, tags and commands to the program are no part of what was said.
    """
    said = memory_text(own_words(turn))
    return turn if said == turn.words else replace(turn, text=PREFIX[turn.role] + said.strip(), quoted=())


def memory_text(text: str) -> str:
    """A text of memory without references, tags of quotations, and lines that are commands to the program.

    >>> memory_text("So it was [2026-11-23 · 602851fc].\\n/save\\nGood night.")
    'So it was.\\nGood night.'
    """
    plain = _COMMAND_LINE.sub("", _REFERENCE.sub("", without_tags(text)))
    return text if plain == text else _GAPS.sub("\n\n", plain).strip()


def _bare(text: str) -> str:
    return _NOT_WORDS.sub("", text.removeprefix("User: ").removeprefix("Assistant: ")).casefold()
