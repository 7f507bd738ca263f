"""How a failure becomes one of our errors: one table, read from the top, first match wins.

A failure is an exception of the client library, a status with a body, or an error that a server hides in a
good answer. Every error leaves here with the same details: ``status`` (0: none), ``said`` (the server's own
words, on one line, masked), ``model``, ``base``; some have more: ``seconds``, ``limit``, ``location``.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import errors
from debuglog import mask
from text import one_line


@dataclass(frozen=True)
class Place:
    """Where a call went: what an error says about itself. ``secrets`` never appear in one."""

    base: str
    model: str
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """What is known of a failed call. ``code`` and ``type`` are the server's, in lower case."""

    status: int = 0
    code: str = ""
    type: str = ""
    said: str = ""
    limit: int | None = None


@dataclass(frozen=True)
class Rule:
    """A failure with one of ``statuses`` (empty: any) and one of ``codes`` or fitting ``words`` is this
    error."""

    kind: type[errors.ModelError]
    statuses: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    words: re.Pattern[str] | None = None
    key: str | None = None

    def fits(self, failure: Failure) -> bool:
        """Whether this rule speaks of this failure."""
        if self.statuses and failure.status not in self.statuses:
            return False
        if not self.codes and not self.words:
            return True
        named = failure.code in self.codes or failure.type in self.codes
        return named or bool(self.words and self.words.search(failure.said))


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _any(*names: str) -> frozenset[str]:
    return frozenset(names)


#: Statuses under which servers refuse a prompt; 0 is an error inside a good answer, 500 an older llama.cpp.
_REFUSALS = frozenset({0, 400, 403, 404, 413, 422, 451, 500})

RULES: tuple[Rule, ...] = (
    Rule(errors.QuotaExhausted, frozenset({402})),
    Rule(
        errors.QuotaExhausted,
        frozenset({0, 400, 403, 429}),
        _any(
            "insufficient_quota",
            "billing_hard_limit_reached",
            "insufficient_user_quota",
            "arrearage",
            "1113",
            "insufficient_balance",
            "billing_not_active",
        ),
        _words(
            r"exceeded your current quota",
            r"insufficient.{0,20}(?:quota|balance|credit|funds)",
            "余额不足",
            "欠费",
        ),
    ),
    Rule(
        errors.ContextTooLong,
        _REFUSALS,
        _any("context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"),
        _words(
            r"maximum (?:context|model) length",
            r"context (?:length|window|size)",
            r"max_model_len",
            r"(?:prompt|input|request) is too (?:long|large)",
            r"too many (?:input )?tokens",
            r"range of input length",
            r"reduce the length",
            "上下文.{0,10}(?:超|过长)",
            "超.{0,12}(?:最大|上下文)",
        ),
    ),
    Rule(errors.ContextTooLong, frozenset({413})),
    Rule(
        errors.ContentFiltered,
        _REFUSALS,
        _any(
            "content_filter",
            "content_policy_violation",
            "data_inspection_failed",
            "datainspectionfailed",
            "responsibleaipolicyviolation",
            "1301",
            "moderation_blocked",
            "content_moderation",
        ),
        _words(
            r"content (?:management|policy|filter|exists risk)",
            r"content_filter",
            r"inappropriate content",
            r"safety (?:system|filter|polic|setting)",
            r"(?:was|been|input|prompt) flagged",
            "敏感|不安全|违规",
        ),
    ),
    Rule(
        errors.Unauthorized,
        frozenset({0, 400}),
        _any("invalid_api_key", "invalid_authentication", "authentication_error"),
        _words(
            r"(?:incorrect|invalid|missing|no) api[ _-]?key",
            r"api[ _-]?key (?:is )?(?:not valid|invalid|required)",
        ),
    ),
    Rule(errors.Unauthorized, frozenset({401})),
    Rule(
        errors.NotFound,
        frozenset({0, 400, 403, 404, 422}),
        _any("model_not_found", "model_not_exist", "invalid_model", "unknown_model", "1211"),
        _words(
            r"model\b.{0,200}(?:not (?:found|exist|supported|available|loaded)|is unknown|no access)",
            r"(?:no such|unknown|invalid|unsupported) model",
            "模型.{0,40}不存在",
        ),
        "model.no_such_model",
    ),
    Rule(errors.Unauthorized, frozenset({403, 407}), key="model.forbidden"),
    Rule(errors.NotFound, frozenset({404, 405}), key="model.no_such_path"),
    Rule(errors.TimedOut, frozenset({408, 504, 524})),
    Rule(errors.RateLimited, frozenset({429})),
    Rule(
        errors.RateLimited,
        frozenset({0}),
        _any("rate_limit_exceeded", "rate_limit_error"),
        _words("rate limit"),
    ),
    Rule(errors.ServerFault, frozenset({409, 425, *range(500, 600)})),
    Rule(errors.NotFound, frozenset(range(300, 400)), key="model.redirected"),
    Rule(errors.BadRequest, frozenset(range(400, 500))),
    Rule(errors.BadReply, key="model.error_in_reply"),
)

_LIMITS = re.compile(
    r"(?:maximum (?:context|model) length (?:is|of)|context size[^0-9]{0,30}|n_ctx\"?:)\s{0,4}\(?(\d{2,9})",
    re.IGNORECASE,
)


def error_of(failure: Failure) -> errors.ModelError:
    """The error that the table gives a failure."""
    rule = next(rule for rule in RULES if rule.fits(failure))
    details: dict[str, object] = {"status": failure.status, "said": failure.said}
    if rule.kind is errors.ContextTooLong:
        details["limit"] = failure.limit
    return rule.kind(rule.key, **details)


def failure_of(body: object, status: int = 0) -> Failure:
    """What an error body says, in any of the forms that servers use.

    ``{"error": {...}}``, ``{"error": "words"}``, ``{"object": "error", ...}``, ``{"detail": ...}``, or plain
    text.
    """
    outer = body if isinstance(body, Mapping) else {}
    inner = outer.get("error", outer)
    fields: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    said = _said(body if not outer else inner, fields, outer)
    code = fields.get("code", outer.get("code"))
    if not status and str(code).isdecimal() and 400 <= int(str(code)[:9]) < 600:
        status = int(str(code))
    return Failure(status, _name(code), _name(fields.get("type")), said, _limit(fields, said))


def is_error(body: object, name: str = "") -> bool:
    """Whether an answer with a good status is an error all the same."""
    if not isinstance(body, Mapping) or body.get("choices") or body.get("data"):
        return isinstance(body, Mapping) and bool(body.get("error"))
    marks = (
        body.get("error"),
        body.get("detail"),
        body.get("object") == "error",
        body.get("code") and body.get("message"),
    )
    return name == "error" or any(marks)


def from_exception(fault: BaseException, place: Place, now: Callable[[], datetime]) -> errors.ModelError:
    """The error that an exception of the client library or of the network stands for."""
    import openai

    if isinstance(fault, errors.ModelError):
        return complete(fault, place)
    if isinstance(fault, openai.APIStatusError):
        return complete(_of_response(fault, now), place)
    return complete(_of_network(fault), place)


def complete(error: errors.ModelError, place: Place) -> errors.ModelError:
    """The error with every detail a message may want, safe to show."""
    common: dict[str, object] = {"status": 0, "said": "", "model": place.model, "base": place.base}
    error.details = {**common, **error.details}
    error.details["said"] = one_line(mask(str(error.details["said"])[:4_000], place.secrets))
    return error


def retry_after(headers: Mapping[str, str], now: Callable[[], datetime]) -> float | None:
    """Seconds a server asks us to wait; a date counts from the server's own clock when it tells it."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "")
    until = _date(asked)
    if until is None:
        return _number(asked)
    return max(0.0, (until - (_date(headers.get("date", "")) or now())).total_seconds())


def _of_response(fault: Any, now: Callable[[], datetime]) -> errors.ModelError:
    response = fault.response
    body = fault.body if fault.body is not None else _text(response)
    error = error_of(failure_of({"error": body} if isinstance(body, Mapping) else body, response.status_code))
    error.retry_after = retry_after(response.headers, now)
    if error.retry_after is not None:
        error.details["seconds"] = error.retry_after
    if error.key == "model.redirected":
        error.details["location"] = one_line(response.headers.get("location", ""))
    return error


def _of_network(fault: BaseException) -> errors.ModelError:
    """What failed below HTTP, found along the chain of causes."""
    import httpx2

    chain = list(_causes(fault))
    said = f"{type(chain[-1]).__name__}: {chain[-1]}"
    if any(isinstance(cause, socket.gaierror) for cause in chain):
        return errors.Unreachable("model.no_such_host", said=said)
    if any(isinstance(cause, ssl.SSLError) for cause in chain):
        return errors.Insecure(said=said)
    if any(isinstance(cause, httpx2.TimeoutException | TimeoutError) for cause in chain):
        return errors.TimedOut(said=said)
    if any(isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL) for cause in chain):
        return errors.NotFound("model.no_such_path", said=said)
    if any(isinstance(cause, httpx2.DecodingError) for cause in chain):
        return errors.BadReply("model.malformed_reply", said=said)
    if any(
        isinstance(cause, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError)
        for cause in chain
    ):
        return errors.Unreachable("model.connection_lost", said=said)
    if any(isinstance(cause, httpx2.TransportError | OSError) for cause in chain):
        return errors.Unreachable(said=said)
    return errors.BadReply("model.malformed_reply", said=said)


def _causes(fault: BaseException | None) -> Iterator[BaseException]:
    """An exception and what caused it, down to the first."""
    seen: set[int] = set()
    while fault is not None and id(fault) not in seen:
        seen.add(id(fault))
        yield fault
        fault = fault.__cause__ or fault.__context__


def _said(inner: object, fields: Mapping[str, Any], outer: Mapping[str, Any]) -> str:
    for words in (fields.get("message"), outer.get("message"), outer.get("detail"), inner):
        if words:
            return _plain(words[:4_000] if isinstance(words, str) else repr(words)[:4_000])
    return ""


def _plain(words: str) -> str:
    """The title of an HTML page, anything else as it is."""
    if not words.lstrip().startswith("<"):
        return words
    title = re.search(r"<title[^<>]{0,100}>([^<]{1,300})", words, re.IGNORECASE)
    return title[1].strip() if title else "(HTML)"


def _limit(fields: Mapping[str, Any], said: str) -> int | None:
    """How many tokens the model takes, where the server tells it."""
    told = fields.get("n_ctx")
    if isinstance(told, int):
        return told
    found = _LIMITS.search(said)
    return int(found[1]) if found else None


def _name(value: object) -> str:
    return str(value).lower()[:100] if isinstance(value, str | int) else ""


def _text(response: Any) -> str:
    try:
        return str(response.text)[:4_000]
    except Exception:  # a body that was never read has nothing to say
        return ""


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
