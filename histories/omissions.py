"""Why something was not taken over, as message keys: of a message, of a conversation, of a file.

A conversation counts the messages it leaves out by the first kind; an ``Unread`` names one of the second; a UsageError
names one of the third, where nothing can be read at all.
"""

from __future__ import annotations

from typing import Final

# -- messages

SYSTEM: Final = "history.left_out.system"
INSTRUCTIONS: Final = "history.left_out.instructions"
HIDDEN: Final = "history.left_out.hidden"
TOOL: Final = "history.left_out.tool"
THINKING: Final = "history.left_out.thinking"
OTHER_BRANCH: Final = "history.left_out.other_branch"
EMPTY: Final = "history.left_out.empty"
ATTACHMENT: Final = "history.left_out.attachment"
DELETED: Final = "history.left_out.deleted"
FORWARDED: Final = "history.left_out.forwarded"
FAILED: Final = "history.left_out.failed"
NOT_REMEMBERED: Final = "history.left_out.not_remembered"
NO_TALK: Final = "history.left_out.no_talk"
MISSHAPEN_MESSAGE: Final = "history.left_out.misshapen"

# -- conversations, and parts of files

CUT: Final = "history.unread.cut"
BROKEN: Final = "history.unread.broken"
DAMAGED: Final = "history.unread.damaged"
MISSHAPEN: Final = "history.unread.misshapen"
NO_MESSAGES: Final = "history.unread.no_messages"
TOO_LONG: Final = "history.unread.too_long"
MISSING_FILE: Final = "history.unread.missing_file"
POINTS_ELSEWHERE: Final = "history.unread.points_elsewhere"
NOTES: Final = "history.unread.notes"
DAY_OR_MONTH: Final = "history.unread.day_or_month"
SOMEBODY_ELSES: Final = "history.unread.somebody_elses"
SUSPICIOUS: Final = "history.unread.suspicious"
DATABASE_INSIDE: Final = "history.unread.database_inside"
HELD: Final = "history.unread.held"
SKIPPED: Final = "history.unread.skipped"

# -- whole files

NOT_FOUND: Final = "history.not_found"
NOT_RECOGNISED: Final = "history.not_recognised"
NOTHING_INSIDE: Final = "history.nothing_inside"
NO_CONVERSATIONS: Final = "history.no_conversations"
DAMAGED_FILE: Final = "history.damaged"
HELD_FILE: Final = "history.held"
