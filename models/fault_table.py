"""The table of faults: what a failed call was, and which of our errors that makes it. First match wins.

A failure is what a server said, in whichever form it said it; ``models.faults`` reads the forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from domain import errors
from domain.text import pattern_of


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
    return pattern_of("|".join(patterns), re.IGNORECASE)


def _named(codes: str) -> frozenset[str]:
    return frozenset(codes.split())


#: Statuses under which servers refuse a prompt; 0 is an error inside a good answer, 500 an older llama.cpp.
_REFUSALS = frozenset({0, 400, 403, 404, 413, 422, 451, 500})

RULES: tuple[Rule, ...] = (
    Rule(errors.QuotaExhausted, frozenset({402})),
    Rule(
        errors.QuotaExhausted,
        frozenset({0, 400, 403, 429}),
        _named(
            "insufficient_quota billing_hard_limit_reached insufficient_user_quota arrearage 1113 "
            "insufficient_balance billing_not_active"
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
        _named("context_length_exceeded exceed_context_size_error context_window_exceeded"),
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
        _named(
            "content_filter content_policy_violation data_inspection_failed datainspectionfailed "
            "responsibleaipolicyviolation 1301 moderation_blocked content_moderation"
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
        _named("invalid_api_key invalid_authentication authentication_error"),
        _words(
            r"(?:incorrect|invalid|missing|no) api[ _-]?key",
            r"api[ _-]?key (?:is )?(?:not valid|invalid|required)",
        ),
    ),
    Rule(errors.Unauthorized, frozenset({401})),
    Rule(
        errors.NotFound,
        frozenset({0, 400, 403, 404, 422}),
        _named("model_not_found model_not_exist invalid_model unknown_model 1211"),
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
        _named("rate_limit_exceeded rate_limit_error"),
        _words("rate limit"),
    ),
    Rule(errors.ServerFault, frozenset({409, 425, *range(500, 600)})),
    Rule(errors.NotFound, frozenset(range(300, 400)), key="model.redirected"),
    Rule(errors.BadRequest, frozenset(range(400, 500))),
    Rule(errors.BadReply, key="model.error_in_reply"),
)


def error_of(failure: Failure) -> errors.ModelError:
    """The error that the table gives a failure."""
    rule = next(rule for rule in RULES if rule.fits(failure))
    details: dict[str, object] = {"status": failure.status, "said": failure.said}
    if rule.kind is errors.ContextTooLong:
        details["limit"] = failure.limit
    return rule.kind(rule.key, **details)
