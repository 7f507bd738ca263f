"""Asking the model for a reply; where the prompt is refused as too long or filtered, asking again with less of the past.

A session can so never be stuck for good: neither a context that outgrew the model, nor a passage that a provider's
filter does not like, stands in the way of the next reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

import errors
from config import Notice
from llm import Layers, Llm, Message, assemble, new_boundary
from models.events import Beat, ReasoningDelta, Reply, Retrying, TextDelta
from models.stop import Stop
from recall.recollection import Recollection

#: Seconds between two writings of a reply that is still streaming.
_KEEP_PARTIAL_EVERY = 0.5

AskEvent = TextDelta | ReasoningDelta | Retrying | Beat | Notice


@dataclass(frozen=True)
class Asked:
    """What was sent in the end, and what came back. ``shortened``: not all of the past could be sent."""

    layers: Layers
    messages: tuple[Message, ...]
    reply: Reply
    shortened: bool


def ask(llm: Llm, layers: Layers, stop: Stop, *, stream: bool,
        keep_partial: Callable[[str], None]) -> Generator[AskEvent, None, Asked]:
    """Ask until there is a reply; ``keep_partial`` is handed what was shown so far, now and then.

    Raises ModelError or Interrupted.
    """
    refused: errors.ModelError | None = None
    for attempt, less in enumerate(_with_less(layers)):
        if attempt:
            yield Notice("turn.shortened", {"rounds": len(less.rounds), "recalled": bool(less.recalled)})
        messages = assemble(less, new_boundary())
        try:
            reply = yield from _ask_once(llm, messages, stop, stream, keep_partial)
        except (errors.ContextTooLong, errors.ContentFiltered) as fault:
            if fault.details.get("shown"):
                raise
            refused = fault
            continue
        return Asked(less, messages, reply, attempt > 0)
    raise refused or errors.BadReply("model.empty_reply")


def _ask_once(llm: Llm, messages: tuple[Message, ...], stop: Stop, stream: bool,
              keep_partial: Callable[[str], None]) -> Generator[AskEvent, None, Reply]:
    shown, kept_at = "", time.monotonic()
    for event in llm.chat(messages, stop, stream=stream):
        if isinstance(event, Reply):
            return event
        if isinstance(event, TextDelta):
            shown += event.text
            if time.monotonic() - kept_at > _KEEP_PARTIAL_EVERY:
                keep_partial(shown)
                kept_at = time.monotonic()
        yield event
    raise errors.BadReply("model.empty_reply")


def _with_less(layers: Layers) -> Iterator[Layers]:
    """The prompt, then without recalled memories, then with half of the rounds, and half again, to none."""
    yield layers
    if layers.recalled:
        layers = replace(layers, recalled=Recollection())
        yield layers
    while layers.rounds:
        layers = replace(layers, rounds=layers.rounds[(len(layers.rounds) + 1) // 2 :])
        yield layers
    if layers.summary:
        yield replace(layers, summary="")
