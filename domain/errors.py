"""Everything that can go wrong, as one tree. The tree is the design:

    OldFriendError                 exit   what a person can do
    ├── SettingsError                 2   correct the named setting
    ├── UsageError                    2   look at --help
    ├── Interrupted                 130   nothing: they asked for it
    ├── ModelError                    1   (nothing was stored)
    │   ├── Unreachable               3   wait, or look at the base URL and the network
    │   ├── Insecure                  1   look at http or https in the base URL, and at the certificate
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

    def __init_subclass__(cls, *, key: str = "", exit_code: Exit | None = None) -> None:
        cls.default_key = key or cls.default_key
        cls.exit_code = cls.exit_code if exit_code is None else exit_code
        cls.retryable = cls.exit_code == Exit.TRY_LATER

    def __init__(self, key: str | None = None, /, **details: object) -> None:
        self.key = key or self.default_key
        self.details = details
        super().__init__(self.key)

    def __str__(self) -> str:
        """Key and details on one line, for logs."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.details.items())
        return f"{self.key}({said})"


class SettingsError(OldFriendError, key="settings.wrong", exit_code=Exit.USAGE):
    """One or more settings are wrong; ``problems`` has a (key, details) pair for each."""

    def __init__(self, problems: tuple[tuple[str, dict[str, object]], ...]) -> None:
        super().__init__(None, problems=problems)
        self.problems = problems


class UsageError(OldFriendError, key="usage.wrong", exit_code=Exit.USAGE):
    """The command line, or the arguments of a command, cannot be understood."""


class Interrupted(OldFriendError, key="interrupted", exit_code=Exit.INTERRUPTED):
    """The person cancelled before anything was shown, so nothing is stored."""


class ModelError(OldFriendError, key="model.failed"):
    """The model server did not give a usable reply."""

    #: Seconds the server asked us to wait (``Retry-After``), a floor for the next try.
    retry_after: float | None = None


class Unreachable(ModelError, key="model.unreachable", exit_code=Exit.TRY_LATER):
    """No connection: refused, no such host, reset."""


class Insecure(ModelError, key="model.insecure", exit_code=Exit.FAILED):
    """No trusted connection: TLS failed. Waiting does not help."""


class TimedOut(ModelError, key="model.timed_out", exit_code=Exit.TRY_LATER):
    """The server took longer than REQUEST_TIMEOUT."""


class RateLimited(ModelError, key="model.rate_limited", exit_code=Exit.TRY_LATER):
    """429: too many requests."""


class QuotaExhausted(ModelError, key="model.quota"):
    """429 insufficient_quota, 402: waiting does not help."""


class ServerFault(ModelError, key="model.server_fault", exit_code=Exit.TRY_LATER):
    """500, 502, 503, 529 and similar."""


class Unauthorized(ModelError, key="model.unauthorized"):
    """401, 403: the key is missing, wrong, or not allowed."""


class NotFound(ModelError, key="model.not_found"):
    """404: no such model, or no such path."""


class ContextTooLong(ModelError, key="model.context_too_long"):
    """The prompt does not fit into the model."""


class ContentFiltered(ModelError, key="model.content_filtered"):
    """The provider's filter refused the prompt or the reply."""


class BadRequest(ModelError, key="model.bad_request"):
    """Any other 4xx, with the server's explanation."""


class BadReply(ModelError, key="model.bad_reply", exit_code=Exit.TRY_LATER):
    """An answer that is not a complete reply: HTML, empty, malformed, truncated."""


class EmbeddingError(OldFriendError, key="embedding.failed", exit_code=Exit.TRY_LATER):
    """No vectors available now; recall uses words only."""


class StorageError(OldFriendError, key="storage.failed"):
    """The data directory could not be read or written."""


class DataInUse(StorageError, key="storage.in_use", exit_code=Exit.DATA):
    """Another program uses the data directory."""


class Damaged(StorageError, key="storage.damaged", exit_code=Exit.DATA):
    """The database is damaged. It is not changed."""


class NewerSchema(StorageError, key="storage.newer_schema", exit_code=Exit.DATA):
    """The database was written by a newer version. It is not changed."""


class DiskFull(StorageError, key="storage.disk_full"):
    """The disk is full; the last write was rolled back."""


class ReadOnly(StorageError, key="storage.read_only"):
    """The data directory is not writable."""
