"""The texts that are embedded for what is stored, and for what is asked.

A turn alone often says too little ("Yes, in May!"), so its text also holds the two turns before it. The turn
itself stands first and counts most in every embedder; in front of it stand the date and the speaker. An embedder of
whole sentences knows what a sentence means and nothing else: for it a turn stands as it was said, and only a short one
has the turn before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from domain.languages import unspaced_length, unspaced_share
from domain.records import Role, Summary, Turn
from recall.weights import SENTENCE_MODEL

#: What a turn's text holds of the turn itself and of each turn before it, in characters.
_OWN, _BEFORE = 2000, 240
#: How many turns before a turn stand in its text.
TURNS_BEFORE = 2
#: A turn of fewer characters than this, a Han character counting three, says too little by itself.
_SHORT, _PER_HAN = 60, 3

#: How a turn is put to an embedder: with day, speaker and what came before, or as a sentence by itself.
KeyStyle = Literal["record", "sentence"]

#: Everyday sentences that have nothing to do with each other or with anything asked, by whether the script is
#: unspaced: how alike an embedder finds them and a question tells whether it speaks the language.
BACKGROUND: Mapping[bool, tuple[str, ...]] = {
    False: (
        "The lamp in the hallway flickers a little.",
        "Copper is heavier than aluminium.",
        "A ferry crosses the strait twice a day.",
        "The committee approved the minutes.",
    ),
    True: ("走廊里的灯有点闪。", "铜比铝重。", "渡轮每天往返海峡两次。", "委员会通过了会议纪要。"),
}

_SPEAKER: Mapping[Role, str] = {"user": "User", "assistant": "Assistant"}


def style_for(model: str) -> KeyStyle:
    """How a model is given turns."""
    return "sentence" if model == SENTENCE_MODEL else "record"


def turn_key(turn: Turn, before: Sequence[Turn], style: KeyStyle = "record") -> str:
    """The text that is embedded for a turn; ``before`` are the turns before it, nearest first."""
    if style == "sentence":
        return _sentence(turn, before)
    lines = [f"{_date(turn.timestamp, turn.words)} {_SPEAKER[turn.role]}: {_cut(turn.words, _OWN)}"]
    lines += [f"{_SPEAKER[other.role]}: {_cut(other.words, _BEFORE)}" for other in before[:TURNS_BEFORE]]
    return "\n".join(lines)


def summary_key(summary: Summary) -> str:
    """The text that is embedded for a summary."""
    return f"{_date(summary.timestamp, summary.summary)}: {_cut(summary.summary, _OWN)}"


def query_key(query: str) -> str:
    """The text that is embedded for a question: a long one is cut where most embedders cut it."""
    return _cut(query, _OWN)


def _sentence(turn: Turn, before: Sequence[Turn]) -> str:
    """What was said, and what it was said to where it is short."""
    words = _cut(turn.words, _OWN)
    weight = len(words) + (_PER_HAN - 1) * unspaced_length(words[:_SHORT])
    if weight >= _SHORT or not words or not before:
        return words
    return f"{words}\n{_cut(before[0].words, _BEFORE)}".strip()


def _cut(text: str, limit: int) -> str:
    return " ".join(text[: limit * 2].split())[:limit]


def _date(timestamp: str, text: str) -> str:
    """The day as people write it in the language of the text."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return ""
    if unspaced_share(text[:200]) > 0.5:
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {moment:%B %Y}"
