"""Summaries of sessions, in the language of the memory, checked against the messages of the session."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING

from domain.events import Notice
from domain.records import Message, Round
from domain.workers import CancelToken
from facts.slots import Names
from llm import Llm, names_for_prompt
from memory import Memory

if TYPE_CHECKING:
    from facts.summary_checks import SummarySources


def write_summary(
    memory: Memory,
    llm: Llm,
    session_id: str,
    so_far: str,
    rounds: Sequence[Round],
    cancel: CancelToken,
    following: Sequence[Round] = (),
) -> Generator[Notice, None, str]:
    """One new summary of a session out of the one so far and these rounds. Raises ModelError or Interrupted."""
    language, names = memory.language(), memory.names()
    text = yield from llm.summarise(so_far, rounds, cancel, following, names, language)
    return sources_of(memory, llm, names, memory.messages.of_session(session_id)).check_text(text, language)


def sources_of(memory: Memory, llm: Llm, names: Names, messages: Iterable[Message]) -> SummarySources:
    """Messages as what a summary rests on, under the names of the two."""
    from facts.summary_checks import SummarySources

    called = names_for_prompt(memory.language(), llm.settings, names)
    return SummarySources(messages, names, {"user": called["person"], "assistant": called["companion"]})
