"""Reading failures: exceptions of the client library, refusals, errors hidden in good answers.

What each one means stands in ``models.fault_table``. Every error leaves here with the same details:
``status`` (0: none), ``said`` (the server's own words, on one line, masked), ``model``, ``base``; some have
more: ``seconds``, ``limit``, ``location``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from domain import errors
from domain.text import mask, mask_url, one_line, pattern_of
from models.fault_table import Failure, error_of


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
    """Whether an answer with a good status is an error all the same; ``name`` is that of a streamed event."""
    if not isinstance(body, Mapping):
        return False
    if body.get("error") or name == "error":
        return True
    useful = body.get("choices") or body.get("data")
    named = body.get("object") == "error" or body.get("detail") or (body.get("code") and body.get("message"))
    return bool(named and not useful)


def from_exception(fault: BaseException, place: Place, now: Callable[[], datetime]) -> errors.ModelError:
    """The error that an exception of the client library or of the network stands for."""
    import openai

    if isinstance(fault, errors.ModelError):
        return complete(fault, place)
    if isinstance(fault, openai.APIStatusError):
        return complete(_of_response(fault, now), place)
    if isinstance(fault, openai.APIError) and not isinstance(fault, openai.APIConnectionError):
        return complete(error_of(failure_of({"error": fault.body})), place)
    return complete(_of_network(fault), place)


def complete(error: errors.ModelError, place: Place) -> errors.ModelError:
    """The error with every detail a message may want, safe to show."""
    common: dict[str, object] = {"status": 0, "said": "", "model": place.model, "base": place.base}
    error.details = {**common, **error.details}
    for name in ("said", "location"):
        if name in error.details:
            error.details[name] = one_line(mask(str(error.details[name])[:4_000], place.secrets))
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


def of_refusal(
    status: int, headers: Mapping[str, str], body: object, now: Callable[[], datetime]
) -> errors.ModelError:
    """The error that an answer with a bad status stands for."""
    error = error_of(failure_of(body, status))
    error.retry_after = retry_after(headers, now)
    if error.retry_after is not None:
        error.details["seconds"] = error.retry_after
    if error.key == "model.redirected":
        error.details["location"] = mask_url(one_line(headers.get("location", "")))
    return error


def _of_response(fault: Any, now: Callable[[], datetime]) -> errors.ModelError:
    body = fault.body if fault.body is not None else _text(fault.response)
    body = {"error": body} if isinstance(body, Mapping) else body
    return of_refusal(fault.response.status_code, fault.response.headers, body, now)


def _of_network(fault: BaseException) -> errors.ModelError:
    """What failed below HTTP, found along the chain of causes."""
    import socket
    import ssl

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
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
