"""Putting a reply together from its parts, and saying whether it is one."""

from __future__ import annotations

from domain import errors
from domain.events import ReasoningDelta, Reply, TextDelta
from domain.records import Finish
from models.repair import Repair, ThinkingSplitter, without_stray_thinking
from models.replies import Part, finish_of

#: The longest reply that is taken, thinking included, in characters; a longer one is cut there.
MAX_REPLY = 4_000_000


class Collected:
    """What came so far of one reply."""

    def __init__(self, limit: int = MAX_REPLY) -> None:
        self._room = limit
        self._text_repair = Repair()
        self._reasoning_repair = Repair()
        self._thinking = ThinkingSplitter()
        self._text: list[str] = []
        self._reasoned: list[str] = []
        self._model = ""
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None
        self.finish = ""

    @property
    def text(self) -> str:
        """The reply's own words so far."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """The thinking so far."""
        return "".join(self._reasoned)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is taken."""
        return self._room <= 0

    def take(self, part: Part) -> list[TextDelta | ReasoningDelta]:
        """Add a part; what of it can be shown.

        Raises ContentFiltered or ServerFault for a finish reason that is no end of a reply.
        """
        self._model = part.model or self._model
        self._prompt_tokens = part.prompt_tokens if part.prompt_tokens is not None else self._prompt_tokens
        self._completion_tokens = part.completion_tokens or self._completion_tokens
        shown = self._show(self._reasoning_repair.feed(part.reasoning), self._text_repair.feed(part.text))
        if part.finish:
            self.finish = finish_of(part.finish)
        return shown

    def end(self) -> list[TextDelta | ReasoningDelta]:
        """What was held back, now that nothing more comes."""
        shown = self._show(self._reasoning_repair.finish(), self._text_repair.finish())
        thought, words = self._thinking.finish()
        return shown + self._keep(thought, words)

    def reply(self, finish: Finish | None, model: str, seconds: float, truncated: bool) -> Reply:
        """The reply, if it is one. ``finish`` overrules what the server said.

        Raises BadReply for one that did not end, or that says nothing; Interrupted for one that was stopped
        before it said anything.
        """
        how: Finish | None = finish or ("length" if self.is_full or self.finish == "length" else None)
        if how is None and not self.finish:
            raise errors.BadReply("model.cut_reply")
        text = without_stray_thinking(self.text).strip()
        if not text and finish == "interrupted":
            raise errors.Interrupted()
        if not text:
            raise errors.BadReply("model.only_thinking" if self._reasoned else "model.empty_reply")
        return Reply(
            text,
            how or "stop",
            self._model or model,
            self._prompt_tokens,
            self._completion_tokens,
            seconds,
            truncated,
        )

    @property
    def prompt_tokens(self) -> int | None:
        """Prompt tokens as the server counted them."""
        return self._prompt_tokens

    def _show(self, reasoning: str, text: str) -> list[TextDelta | ReasoningDelta]:
        thought, words = self._thinking.feed(text) if text else ("", "")
        return self._keep(reasoning + thought, words)

    def _keep(self, reasoning: str, text: str) -> list[TextDelta | ReasoningDelta]:
        reasoning = reasoning[: max(0, self._room)]
        self._room -= len(reasoning)
        text = text[: max(0, self._room)]
        self._room -= len(text)
        shown: list[TextDelta | ReasoningDelta] = []
        if reasoning:
            self._reasoned.append(reasoning)
            shown.append(ReasoningDelta(reasoning))
        if text:
            self._text.append(text)
            shown.append(TextDelta(text))
        return shown
