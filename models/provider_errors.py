"""What a failed model call means: exceptions of the client library, refusals, errors inside successful answers.

``RULES`` maps a ``Failure`` to one of our errors; the first match wins. Every error has the details ``status``
(0: none), ``said`` (the server's own words, on one line, masked), ``model`` and ``base``; some have ``seconds``,
``limit`` or ``location``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from domain import errors
from domain.patterns import pattern_of
from domain.text import mask, mask_url, one_line


@dataclass(frozen=True)
class Place:
    """Where a call went: what an error says about itself. ``base`` is safe to show; ``secrets`` never appear."""

    base: str
    model: str
    secrets: tuple[str, ...] = ()


_LIMITS = pattern_of(
    r"(?:maximum (?:context|model) length (?:is|of)|context size[^0-9]{0,30}|n_ctx\"?:)\s{0,4}\(?(\d{2,9})",
    re.IGNORECASE,
)


def read_failure(body: object, status: int = 0) -> Failure:
    """What an error body says, in any of the forms that servers use.

    ``{"error": {...}}``, ``{"error": "words"}``, ``{"object": "error", ...}``, ``{"detail": ...}``, or plain
    text.
    """
    outer = body if isinstance(body, Mapping) else {}
    inner = outer.get("error", outer)
    fields: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    said = _words_of_error(body if not outer else inner, fields, outer)
    code = fields.get("code", outer.get("code"))
    if not status and str(code).isdecimal() and 400 <= int(str(code)[:9]) < 600:
        status = int(str(code))
    size, found = fields.get("n_ctx"), _LIMITS.search(said)
    limit = size if isinstance(size, int) else int(found[1]) if found else None
    return Failure(status, _read_name(code), _read_name(fields.get("type")), said, limit)


def is_error(body: object) -> bool:
    """Whether an answer with a good status is an error all the same."""
    if not isinstance(body, Mapping):
        return False
    if body.get("error"):
        return True
    useful = body.get("choices") or body.get("data")
    named = body.get("object") == "error" or body.get("detail") or (body.get("code") and body.get("message"))
    return bool(named and not useful)


def error_from_exception(fault: BaseException, place: Place, now: Callable[[], datetime]) -> errors.ModelError:
    """The error that an exception of the client library or of the network means."""
    import openai

    if isinstance(fault, errors.ModelError):
        return add_place(fault, place)
    if isinstance(fault, openai.APIStatusError):
        body: object = fault.body
        with suppress(Exception):  # a body that was never read has nothing to say
            body = fault.response.text[:4_000] if body is None else body
        body = {"error": body} if isinstance(body, Mapping) else body or ""
        return add_place(error_from_refusal(fault.response.status_code, fault.response.headers, body, now), place)
    if isinstance(fault, openai.APIError) and not isinstance(fault, openai.APIConnectionError):
        return add_place(error_of(read_failure({"error": fault.body})), place)
    return add_place(_of_network(fault), place)


def add_place(error: errors.ModelError, place: Place) -> errors.ModelError:
    """The error with every detail a message may want, safe to show."""
    common: dict[str, object] = {"status": 0, "said": "", "model": place.model, "base": place.base}
    error.details = {**common, **error.details}
    for name in ("said", "location"):
        if name in error.details:
            error.details[name] = one_line(mask(str(error.details[name])[:4_000], place.secrets))
    return error


def retry_after(headers: Mapping[str, str], now: Callable[[], datetime]) -> float | None:
    """Seconds a server asks us to wait; a date counts from the server's own clock when it tells it."""
    milliseconds = _read_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "")
    until = _read_date(asked)
    if until is None:
        return _read_number(asked)
    return max(0.0, (until - (_read_date(headers.get("date", "")) or now())).total_seconds())


def error_from_refusal(
    status: int, headers: Mapping[str, str], body: object, now: Callable[[], datetime]
) -> errors.ModelError:
    """The error that an answer with a bad status means."""
    error = error_of(read_failure(body, status))
    error.retry_after = retry_after(headers, now)
    if error.retry_after is not None:
        error.details["seconds"] = error.retry_after
    if error.key == "model.redirected":
        error.details["location"] = mask_url(one_line(headers.get("location", "")))
    return error


def _of_network(fault: BaseException) -> errors.ModelError:
    """What failed below HTTP, found along the chain of causes."""
    import socket
    import ssl

    import httpx2

    chain, cause = [fault], fault.__cause__ or fault.__context__
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    meanings: tuple[tuple[tuple[type[BaseException], ...], type[errors.ModelError], str | None], ...] = (
        ((socket.gaierror,), errors.Unreachable, "model.no_such_host"),
        ((ssl.SSLError,), errors.Insecure, None),
        ((httpx2.TimeoutException, TimeoutError), errors.TimedOut, None),
        ((httpx2.UnsupportedProtocol, httpx2.InvalidURL), errors.NotFound, "model.no_such_path"),
        ((httpx2.DecodingError,), errors.BadReply, "model.malformed_reply"),
        (
            (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError),
            errors.Unreachable,
            "model.connection_lost",
        ),
        ((httpx2.TransportError, OSError), errors.Unreachable, None),
        ((BaseException,), errors.BadReply, "model.malformed_reply"),
    )
    kind, key = next((kind, key) for types, kind, key in meanings if any(isinstance(cause, types) for cause in chain))
    return kind(key, said=f"{type(chain[-1]).__name__}: {chain[-1]}")


def _words_of_error(inner: object, fields: Mapping[str, Any], outer: Mapping[str, Any]) -> str:
    words = fields.get("message") or outer.get("message") or outer.get("detail") or inner or ""
    said = (words if isinstance(words, str) else repr(words))[:4_000]
    if not said.lstrip().startswith("<"):
        return said
    title = re.search(r"<title[^<>]{0,100}>([^<]{1,300})", said, re.IGNORECASE)
    return title[1].strip() if title else "(HTML)"


def _read_name(value: object) -> str:
    return str(value).lower()[:100] if isinstance(value, str | int) else ""


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _read_date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Failure:
    """What is known of a failed call. ``code`` and ``type`` are the server's, in lower case."""

    status: int = 0
    code: str = ""
    type: str = ""
    message: str = ""
    limit: int | None = None


@dataclass(frozen=True)
class Rule:
    """A failure with one of ``statuses`` (empty: any) and one of ``codes`` or fitting ``words`` is this error."""

    kind: type[errors.ModelError]
    statuses: frozenset[int] = frozenset()
    codes: str = ""
    words: re.Pattern[str] | None = None
    key: str | None = None

    def fits(self, failure: Failure) -> bool:
        """Whether this rule speaks of this failure."""
        if self.statuses and failure.status not in self.statuses:
            return False
        if not self.codes and not self.words:
            return True
        named = {failure.code, failure.type} & {*self.codes.split()}
        return bool(named or (self.words and self.words.search(failure.message)))


def _any_of(*patterns: str) -> re.Pattern[str]:
    return pattern_of("|".join(patterns), re.IGNORECASE)


#: Statuses under which servers refuse a prompt; 0 is an error inside a good answer, 500 an older llama.cpp.
_REFUSALS = frozenset({0, 400, 403, 404, 413, 422, 451, 500})

RULES: tuple[Rule, ...] = (
    Rule(errors.QuotaExhausted, frozenset({402})),
    Rule(
        errors.QuotaExhausted,
        frozenset({0, 400, 403, 429}),
        "insufficient_quota billing_hard_limit_reached insufficient_user_quota arrearage 1113 "
        "insufficient_balance billing_not_active",
        _any_of(
            r"exceeded your current quota", r"insufficient.{0,20}(?:quota|balance|credit|funds)", "余额不足", "欠费"
        ),
    ),
    Rule(
        errors.ContextTooLong,
        _REFUSALS,
        "context_length_exceeded exceed_context_size_error context_window_exceeded",
        _any_of(
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
        "content_filter content_policy_violation data_inspection_failed datainspectionfailed "
        "responsibleaipolicyviolation 1301 moderation_blocked content_moderation",
        _any_of(
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
        "invalid_api_key invalid_authentication authentication_error",
        _any_of(
            r"(?:incorrect|invalid|missing|no) api[ _-]?key", r"api[ _-]?key (?:is )?(?:not valid|invalid|required)"
        ),
    ),
    Rule(errors.Unauthorized, frozenset({401})),
    Rule(
        errors.NotFound,
        frozenset({0, 400, 403, 404, 422}),
        "model_not_found model_not_exist invalid_model unknown_model 1211",
        _any_of(
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
    Rule(errors.RateLimited, frozenset({0}), "rate_limit_exceeded rate_limit_error", _any_of("rate limit")),
    Rule(errors.ServerFault, frozenset({409, 425, *range(500, 600)})),
    Rule(errors.NotFound, frozenset(range(300, 400)), key="model.redirected"),
    Rule(errors.BadRequest, frozenset(range(400, 500))),
    Rule(errors.BadReply, key="model.error_in_reply"),
)


def error_of(failure: Failure) -> errors.ModelError:
    """The error that the table gives a failure."""
    rule = next(rule for rule in RULES if rule.fits(failure))
    details: dict[str, object] = {"status": failure.status, "said": failure.message}
    if rule.kind is errors.ContextTooLong:
        details["limit"] = failure.limit
    return rule.kind(rule.key, **details)
