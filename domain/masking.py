"""Masks secrets in texts and URLs before they are shown or logged."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import unquote, unquote_plus, urlsplit

from domain.patterns import pattern_of

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
