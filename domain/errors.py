"""Everything that can go wrong, as one tree. The tree is the design:

    OldFriendError                 exit   what a person can do
    ├── SettingsError                 2   correct the named setting
    ├── UsageError                    2   look at --help
    ├── Interrupted                 130   nothing: they asked for it
    ├── ModelError                    1   (nothing was stored)
    │   ├── Unreachable               3   wait, or look at the base URL and the network
    │   │   └── Insecure              1   look at http or https in the base URL, and at the certificate
    │   ├── TimedOut                  3   wait, or raise REQUEST_TIMEOUT
    │   ├── RateLimited               3   wait as long as the server says
    │   ├── ServerFault               3   wait
    │   ├── QuotaExhausted            1   look at the account
    │   ├── Unauthorized              1   look at the key
    │   ├── NotFound                  1   look at the model's name or the base URL
    │   ├── ContextTooLong            1   compact or shorten
    │   ├── ContentFiltered           1   say it differently
    │   ├── BadRequest                1   look at what the server says
    │   └── BadReply                  3   try again; look at the base URL
    ├── EmbeddingError                3   recall uses words only
    └── StorageError                  1
        ├── DataInUse                 4   close the other program
        ├── Damaged                   4   restore a backup; nothing was touched
        ├── NewerSchema               4   use the newer program
        ├── DiskFull                  1   free some space
        └── ReadOnly                  1   make the folder writable

An error has a message key and details, never a sentence; the texts are in ``interfaces/messages``, one table per
language. ``str(error)`` is for logs only.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class Exit(IntEnum):
    """Exit codes of the process."""

    OK = 0
    FAILED = 1
    USAGE = 2
    TRY_LATER = 3
    DATA = 4
    INTERRUPTED = 130


class OldFriendError(Exception):
    """The root. ``key`` names the message, ``details`` fill it in.

    >>> error = RateLimited("model.rate_limited", seconds=20)
    >>> error.key, error.details, error.retryable
    ('model.rate_limited', {'seconds': 20}, True)
    """

    default_key: ClassVar[str] = "error.unknown"
    exit_code: ClassVar[Exit] = Exit.FAILED
    retryable: ClassVar[bool] = False

    def __init__(self, key: str | None = None, /, **details: object) -> None:
        self.key = key or self.default_key
        self.details = details
        super().__init__(self.key)

    def __str__(self) -> str:
        """Key and details on one line, for logs."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.details.items())
        return f"{self.key}({said})"


class SettingsError(OldFriendError):
    """One or more settings are wrong; ``problems`` has a (key, details) pair for each."""

    default_key = "settings.wrong"
    exit_code = Exit.USAGE

    def __init__(self, problems: tuple[tuple[str, dict[str, object]], ...]) -> None:
        super().__init__(None, problems=problems)
        self.problems = problems


class UsageError(OldFriendError):
    """The command line, or the arguments of a command, cannot be understood."""

    default_key = "usage.wrong"
    exit_code = Exit.USAGE


class Interrupted(OldFriendError):
    """The person cancelled before anything was shown, so nothing is stored."""

    default_key = "interrupted"
    exit_code = Exit.INTERRUPTED


class ModelError(OldFriendError):
    """The model server did not give a usable reply."""

    default_key = "model.failed"

    #: Seconds the server asked us to wait (``Retry-After``), a floor for the next try.
    retry_after: float | None = None


class Unreachable(ModelError):
    """No connection: refused, no such host, reset."""

    default_key = "model.unreachable"
    exit_code = Exit.TRY_LATER
    retryable = True


class Insecure(Unreachable):
    """No trusted connection: TLS failed. Waiting does not help."""

    default_key = "model.insecure"
    exit_code = Exit.FAILED
    retryable = False


class TimedOut(ModelError):
    """The server took longer than REQUEST_TIMEOUT."""

    default_key = "model.timed_out"
    exit_code = Exit.TRY_LATER
    retryable = True


class RateLimited(ModelError):
    """429: too many requests."""

    default_key = "model.rate_limited"
    exit_code = Exit.TRY_LATER
    retryable = True


class QuotaExhausted(ModelError):
    """429 insufficient_quota, 402: waiting does not help."""

    default_key = "model.quota"


class ServerFault(ModelError):
    """500, 502, 503, 529 and similar."""

    default_key = "model.server_fault"
    exit_code = Exit.TRY_LATER
    retryable = True


class Unauthorized(ModelError):
    """401, 403: the key is missing, wrong, or not allowed."""

    default_key = "model.unauthorized"


class NotFound(ModelError):
    """404: no such model, or no such path."""

    default_key = "model.not_found"


class ContextTooLong(ModelError):
    """The prompt does not fit into the model."""

    default_key = "model.context_too_long"


class ContentFiltered(ModelError):
    """The provider's filter refused the prompt or the reply."""

    default_key = "model.content_filtered"


class BadRequest(ModelError):
    """Any other 4xx, with the server's explanation."""

    default_key = "model.bad_request"


class BadReply(ModelError):
    """An answer that is not a complete reply: HTML, empty, malformed, truncated."""

    default_key = "model.bad_reply"
    exit_code = Exit.TRY_LATER
    retryable = True


class EmbeddingError(OldFriendError):
    """No vectors available now; recall uses words only."""

    default_key = "embedding.failed"
    exit_code = Exit.TRY_LATER
    retryable = True


class StorageError(OldFriendError):
    """The data directory could not be read or written."""

    default_key = "storage.failed"


class DataInUse(StorageError):
    """Another program uses the data directory."""

    default_key = "storage.in_use"
    exit_code = Exit.DATA


class Damaged(StorageError):
    """The database is damaged. It is not changed."""

    default_key = "storage.damaged"
    exit_code = Exit.DATA


class NewerSchema(StorageError):
    """The database was written by a newer version. It is not changed."""

    default_key = "storage.newer_schema"
    exit_code = Exit.DATA


class DiskFull(StorageError):
    """The disk is full; the last write was rolled back."""

    default_key = "storage.disk_full"


class ReadOnly(StorageError):
    """The data directory is not writable."""

    default_key = "storage.read_only"
