"""Cleans text on input, makes it inert for display and harmless for a prompt, and masks secrets in it.

Memories are data in a prompt: one line of JSON per record between two unguessable marks, with nothing that could end
the data, open a role or be invisible. Everything here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import unquote, unquote_plus, urlsplit

from domain import errors
from domain.patterns import pattern_of

#: The longest accepted message, in bytes of UTF-8.
MAX_INPUT_BYTES = 1_000_000

_BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_INVISIBLE = {0x00AD, 0x180E, 0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF, *range(0xFFF9, 0xFFFC)}
_CONTROLS = (set(range(0x20)) | {0x7F} | set(range(0x80, 0xA0))) - {0x0A, 0x09}
_TAG_CHARACTERS = set(range(0xE0000, 0xE0080))
_SURROGATES = range(0xD800, 0xE000)

_CLEAN = dict.fromkeys(_CONTROLS) | dict.fromkeys(_SURROGATES, "�")
_INERT = _CLEAN | dict.fromkeys(_BIDI | _INVISIBLE | _TAG_CHARACTERS)

#: Invisible characters that Unicode counts among letters, symbols and marks.
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0} | {
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
}
_BLANK_CATEGORIES = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))


def clean_text(text: str) -> str:
    """Input without what stores and terminals cannot take.

    Lone surrogates become U+FFFD; NUL and terminal controls are removed; line ends become ``\\n``.

    >>> clean_text("a\\r\\nb\\x1b[31m")
    'a\\nb[31m'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEAN)


def is_blank(text: str) -> bool:
    """Whether a text is invisible: spaces, controls, characters without width.

    >>> is_blank(" \\u200b\\u200d\\ufeff"), is_blank("👩\\u200d👧")
    (True, False)
    """
    return all(unicodedata.category(one) in _BLANK_CATEGORIES or ord(one) in _BLANK for one in text)


def check_input(said: str) -> str:
    """Cleaned input. Raises UsageError if it is blank or too long."""
    text = clean_text(said)
    if is_blank(text):
        raise errors.UsageError("input.empty")
    if len(text.encode("utf-8")) > MAX_INPUT_BYTES:
        raise errors.UsageError("input.too_long", most=MAX_INPUT_BYTES)
    return text


def make_inert(text: str) -> str:
    """Text of any origin, safe to show: no controls, no bidirectional overrides, no hidden characters.

    Works a code point at a time, so any chunking of a stream gives the same result.
    """
    return text.translate(_INERT)


def one_line(text: str, limit: int = 200) -> str:
    """One short inert line, for messages and logs."""
    line = " ".join(make_inert(text[: limit * 8]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


# --- quoting

_ZERO_WIDTH = dict.fromkeys((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200C, 0x200D, 0x3164, 0xFFA0))
_CONTROL_TOKEN = pattern_of(
    r"<[|｜][^<>|｜]{0,80}[|｜]>|\[/?INST\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk|(?:start|end)_of_turn)>", re.IGNORECASE
)
_ANY_TAG = pattern_of(r"</?[A-Za-z!][^<>]{0,300}>|<[|｜][^<>|｜]{0,80}[|｜]>|\[/?INST\]|<</?SYS>>", re.IGNORECASE)
_BRACKETS = str.maketrans("<>[]", "‹›［］")
#: Tokens nested deeper are code or an attack; then all brackets are replaced.
_NESTED = 6
_BARS = str.maketrans("=", "＝")
_LINE_ENDS = dict.fromkeys((0x85, 0x2028, 0x2029), " ")


def new_boundary() -> str:
    """A mark that no stored text can contain."""
    import secrets

    return f"=== {secrets.token_hex(12)} ==="


def make_harmless(text: str, boundary: str = "") -> str:
    """Text of a memory in which nothing can act and every word stays readable.

    Hidden characters are removed; tags, control tokens and the boundary get other brackets or bars, so that their
    content (an address, a link, code) stays.

    >>> make_harmless("Ann <ann@example.org>: [INST] List<String> </memory>")
    'Ann ‹ann@example.org›: ［INST］ List‹String› ‹/memory›'
    """
    text = make_inert(text).translate(_ZERO_WIDTH)
    if boundary:
        text = text.replace(boundary, boundary.translate(_BARS))
    return _disarm_tokens(_ANY_TAG, text).strip("\n").rstrip()


def without_control_tokens(text: str) -> str:
    """Text of the program's own layers with the control tokens of chat templates disarmed."""
    return _disarm_tokens(_CONTROL_TOKEN, make_inert(text)).strip()


def _disarm_tokens(tokens: re.Pattern[str], text: str) -> str:
    """The text with other brackets around these tokens, also nested ones."""
    for _ in range(_NESTED):
        text, found = tokens.subn(lambda token: token[0].translate(_BRACKETS), text)
        if not found:
            return text
    return text.translate(_BRACKETS)


def format_record(**fields: object) -> str:
    """One record as one line of JSON, without spaces between its parts."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).translate(_LINE_ENDS)


def encode_json(value: object) -> str:
    """Any value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS)


# --- masking

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
MASK = "[secret]"
#: Everything before the last "@" of a URL: an unencoded password may contain any character.
_USER_INFO = pattern_of(r"^(?P<scheme>[a-z][a-z0-9+.-]{0,20}://)?[^?]*@", re.IGNORECASE)
#: Query fields that are never secret.
_OPEN_FIELDS = ("api-version", "api_version", "version", "model")


def mask(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without known secrets and without anything that looks like one.

    >>> mask("Authorization: Bearer abcd1234")
    'Authorization: Bearer [secret]'
    """
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, MASK)
    return _SECRET.sub(lambda found: (found["lead"] or found["scheme"] or "") + MASK, text)


def mask_url(url: str) -> str:
    """The URL without user, password and query values.

    Other text is treated as a URL, so that a mistyped one reveals nothing either.

    >>> mask_url("https://ann:pass@host/v1?api_key=abc&api-version=2")
    'https://[secret]@host/v1?api_key=[secret]&api-version=2'
    """
    place, mark, query = _USER_INFO.sub(lambda found: (found["scheme"] or "") + MASK + "@", url).partition("?")
    return mask(place + mark + "&".join(_masked_field(field) for field in query.split("&")))


def url_secrets(url: str) -> tuple[str, ...]:
    """The secrets of a URL, in every form in which a server or a library may repeat them.

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
    """A query field without its value; nothing of it if it is not a pair."""
    name, separator, value = field.partition("=")
    if not field or name.lower() in _OPEN_FIELDS:
        return field
    return name + separator + MASK if separator and value else MASK
