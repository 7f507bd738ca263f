"""Quotations in replies: their places and sources, and the text outside them.

Only the original words of a message, or of an external memory, verify a quotation. The words of a quotation are no part
of what a reply says: they are neither indexed nor searched nor shown as memory, and they verify nothing.
Everything here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from domain.patterns import pattern_of
from domain.recollection import RecalledExternal, RecalledMessage, Recollection
from domain.records import PREFIX, Message, Quoted

#: What opens a quotation of a reply, or ends it.
QUOTATION_TAG = pattern_of(r"<\s{0,8}(/?)\s{0,8}blockquote(?:\s[^<>]{0,256})?\s{0,8}/?>", re.IGNORECASE)
#: A reference in place of a quotation (``with_references``), with the space before it.
_REFERENCE = pattern_of(r"[ \t]?\[(\d{4}-\d\d-\d\d) · (?:[0-9a-f]{8}|@[^\]\n]{1,80})\]")
#: A line that Markdown shows as a quotation; not the prompt of Python.
_QUOTED_LINES = pattern_of(r"(?:^[ ]{0,3}>(?!>)[^\n]*(?:\n|\Z))+", re.MULTILINE)
#: The names of the program's commands, which are not content.
COMMAND_NAMES = (
    "ask", "context", "copy", "debug", "diary", "edit", "erased", "exit", "export", "facts", "forget", "help",
    "history", "import", "incognito", "life", "memory", "model", "open", "persona", "pin", "recall", "redo", "reindex",
    "remember", "reset", "resume", "retry", "save", "sessions", "setup", "show", "status", "summary", "undo", "why",
)  # fmt: skip
_COMMAND_LINE = pattern_of(rf"^[ \t]*(?:/(?:{'|'.join(COMMAND_NAMES)}))+(?:[ \t][^\n]*)?$\n?", re.MULTILINE)
_GAPS = pattern_of(r"(?:[ \t]*\n){3,}")


def without_quotations(text: str) -> str:
    """The text without ``<blockquote>`` and its content.

    Of an unmatched tag only the tag is removed. Tags may be nested. Lines left empty by a quotation are removed.
    """
    edges = [0, *(edge for span in quotation_spans(text) for edge in span), len(text)]
    pieces = (text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    kept = "".join(QUOTATION_TAG.sub("", piece) for piece in pieces)
    return text if kept == text else re.sub(r"\n{3,}", "\n\n", kept).strip()


def find_quotations(text: str) -> list[str]:
    """The outermost quotations of a text, in order, their tags removed; one that is not closed goes to the end.

    >>> find_quotations("<blockquote>a</blockquote> and <blockquote>b")
    ['a', 'b']
    """
    depth = 0
    for tag in QUOTATION_TAG.finditer(text):
        depth = max(0, depth - 1) if tag[1] else depth + 1
    text += "</blockquote>" * depth
    found = (QUOTATION_TAG.sub("", text[start:end]).strip() for start, end in quotation_spans(text))
    return [quotation for quotation in found if quotation]


def quotation_spans(text: str) -> list[tuple[int, int]]:
    """Where the outermost quotations of a text begin and end, their tags included."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for tag in QUOTATION_TAG.finditer(text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, tag.end()))
    return spans


def outside_quotations(text: str, mark: str = "") -> str:
    """The reply's own text: without quotations, references, quoted lines, and what follows an unclosed tag.

    ``mark`` is put where words are left out.

    >>> outside_quotations("I see. <blockquote>old</blockquote> Go on. <blockquote>cut o")
    'I see.   Go on.'
    >>> outside_quotations("As I wrote:\\n> Asleep\\n> on wool\\nGood.", "“…”")
    'As I wrote:\\n“…”\\nGood.'
    """
    text = _QUOTED_LINES.sub(f"{mark}\n" if mark else "", text)
    text = _REFERENCE.sub(f" {mark}", text).lstrip(" ") if mark else _REFERENCE.sub("", text)
    own: list[str] = []
    depth = position = 0
    for tag in QUOTATION_TAG.finditer(text):
        own += [] if depth else [text[position : tag.start()], (not tag[1] and mark) or " "]
        depth, position = max(0, depth - 1) if tag[1] else depth + 1, tag.end()
    if not position:
        return text
    own += [] if depth else [text[position:]]
    return re.sub(r"\n{3,}", "\n\n", "".join(own)).strip()


def without_tags(text: str) -> str:
    """The text without the tags of quotations; their content stays."""
    return QUOTATION_TAG.sub(" ", text)


# -- quotations of a reply, checked against the memories that were recalled for it


_NOT_WORDS = pattern_of(r"[\W_]+")
#: A quotation shorter than this fits too many memories to say which one it is.
_SHORTEST = 2


#: Whatever can be quoted: words that somebody said or wrote. A summary, a chapter, a fact are a model's own.
Quotable = RecalledMessage | RecalledExternal


def source_of(quotation: str, recollection: Recollection) -> Quotable | None:
    """The memory that contains all of these words, in their order; None if there is none.

    Punctuation, case and spacing are ignored, as models seldom copy them. Quotations in an earlier reply are no source,
    or an invented quotation would confirm itself the next time.
    """
    if not tells_enough(quotation):
        return None
    wanted = _strip_marks(quotation)
    memories: tuple[Quotable, ...] = (*recollection.messages, *recollection.external)
    for memory in memories:
        text = memory.text.removeprefix(PREFIX["assistant"])
        if wanted in _strip_marks(outside_quotations(text) if memory.role == "assistant" else memory.text):
            return memory
    return None


def contains_quotation(text: str, quotation: str) -> bool:
    """Whether a text contains these words; punctuation, case and spacing are ignored."""
    return tells_enough(quotation) and _strip_marks(quotation) in _strip_marks(text)


def tells_enough(quotation: str) -> bool:
    """Whether a quotation is long enough to identify its memory."""
    return len(_strip_marks(quotation)) >= _SHORTEST


def check_quotations(reply: str, recollection: Recollection) -> tuple[Quoted, ...]:
    """The quotations of a reply that are found in a memory recalled for it."""
    spans = enumerate(quotation_spans(reply))
    found = ((number, source_of(without_tags(reply[start:end]), recollection)) for number, (start, end) in spans)
    return tuple(Quoted(number, memory.text_id, memory.timestamp) for number, memory in found if memory)


def with_references(message: Message) -> str:
    """The words of a message, without its prefix, with a reference for each quotation that has a source."""
    text, checked_ones = message.words, {quoted.number: quoted for quoted in message.quoted}
    if not checked_ones:
        return text
    kept, position = "", 0
    for number, (start, end) in enumerate(quotation_spans(text)):
        if quoted := checked_ones.get(number):
            # An external memory is named, a message by the beginning of its id.
            name = quoted.text_id.rpartition("·")[0] if quoted.text_id.startswith("@") else quoted.text_id[:8]
            kept += f"{text[position:start]}[{quoted.timestamp[:10]} · {name}]"
            position = end
    return kept + text[position:]


def own_words(message: Message) -> str:
    """The own words of a message: a reply without its quotations; what a person pastes counts as own."""
    return outside_quotations(message.words) if message.role == "assistant" else QUOTATION_TAG.sub(" ", message.words)


def as_memory(message: Message) -> Message:
    """The message as it is recalled: its own words without anything the program added.

    Quotations of older memories, tags and commands to the program are no part of what was said; where a reply quoted
    words that were found, it says of which day they are.

    >>> as_memory(Message(1, "a", "s", "", "assistant", "Assistant: Yes: [2026-11-23 · 602851fc] Nice!", 1)).words
    'Yes: [“…” 2026-11-23] Nice!'
    """
    if message.role == "assistant":
        words = with_references(message) if message.quoted else message.words
        text = PREFIX["assistant"] + _REFERENCE.sub(r" [“…” \1]", words)
        message = replace(message, text=text, quoted=()) if message.quoted or text != message.text else message
    said = memory_text(own_words(message))
    return message if said == message.words else replace(message, text=PREFIX[message.role] + said.strip(), quoted=())


def memory_text(text: str) -> str:
    """A text of memory without references, tags of quotations, and lines that are commands to the program.

    >>> memory_text("So it was [2026-11-23 · 602851fc].\\n/save\\nGood night.")
    'So it was.\\nGood night.'
    """
    plain = _COMMAND_LINE.sub("", _REFERENCE.sub("", without_tags(text)))
    return text if plain == text else _GAPS.sub("\n\n", plain).strip()


def _strip_marks(text: str) -> str:
    return _NOT_WORDS.sub("", text.removeprefix("User: ").removeprefix("Assistant: ")).casefold()
