"""How the companion has talked, for a model that takes over: its replies that were taken well, what it said of itself.

Nothing is copied: the replies are read from the messages when they are wanted, so what is erased or hidden is in none.
Stored are only the model that replied last, since which message, and the ids of contradicted facts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from domain.quotations import own_words
from domain.records import Message
from language.reactions import reaction_of
from language.scripts import estimate
from language.words import tokens
from storage.sqlite.database import Database

_KEY = "voice"
#: So many of the last messages are looked at; there are so many examples at most, each of so many tokens at most.
_LOOKED_AT, _MOST, _LONGEST = 600, 5, 80
#: After so many rounds a new model has found the tone.
_ROUNDS = 12


@dataclass(frozen=True)
class VoiceState:
    """The ``model`` that replied last; ``since``: the last message before it took over, 0 where that is long ago or
    nothing was before it. ``contradicted`` are the facts about the companion that a later statement took back.
    """

    model: str = ""
    since: int = 0
    contradicted: Sequence[str] = ()

    def is_left_by(self, model: str) -> bool:
        """Whether another model takes over with this one."""
        return self.model not in ("", model)


class Voice:
    """Reads how the companion talked, and follows which model talks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self) -> VoiceState:
        """What is stored of it."""
        return VoiceState(**json.loads(self._database.meta(_KEY) or "{}"))

    def contradict(self, facts: Sequence[str]) -> None:
        """Remind the companion in the next prompt of what it said of itself before."""
        state = self.state()
        self._put(VoiceState(state.model, state.since, [*state.contradicted, *facts]))

    def store_turn(self, state: VoiceState, model: str) -> None:
        """Note that this model replies, and that it was reminded; in the commit of the round, before that is stored."""
        since = state.since
        if state.is_left_by(model):
            since = self._last()
        elif since and self._replies_after(since) >= _ROUNDS:
            since = 0
        if (state.model, state.since) != (model, since) or state.contradicted:
            later = [one for one in self.state().contradicted if one not in state.contradicted]
            self._put(VoiceState(model, since, later))

    def examples(self, state: VoiceState, model: str, text: str) -> list[tuple[str, str]]:
        """What was said with replies from before this model that were taken well, the nearest to ``text`` first."""
        changed = state.is_left_by(model)
        if not changed and not state.since:
            return []
        rows = self._database.run(
            "SELECT c.seq, c.text_id, c.session_id, c.timestamp, c.role, c.text, c.round, c.finish FROM conversation c"
            " JOIN session s ON s.session_id = c.session_id WHERE c.seq <= ? AND c.hidden = 0 AND c.demo = 0"
            " AND c.speaker = '' AND s.client = '' ORDER BY c.seq DESC LIMIT ?",
            self._last() if changed else state.since, _LOOKED_AT,
        )  # fmt: skip
        return _choose([Message(*row) for row in rows][::-1], text)

    def _put(self, state: VoiceState) -> None:
        self._database.set_meta(_KEY, json.dumps(asdict(state)))

    def _last(self) -> int:
        return int(self._database.run("SELECT coalesce(max(seq), 0) FROM conversation")[0][0])

    def _replies_after(self, seq: int) -> int:
        query = "SELECT count(*) FROM conversation WHERE seq > ? AND role = 'assistant'"
        return int(self._database.run(query, seq)[0][0])


def _choose(messages: Sequence[Message], text: str) -> list[tuple[str, str]]:
    usual = int(median([len(one.words) for one in messages if one.role == "user"] or [0]))
    wanted, scored = set(tokens(text)), []
    for at, (said, reply, then) in enumerate(zip(messages, messages[1:], messages[2:], strict=False)):
        if (said.role, reply.role, then.role) != ("user", "assistant", "user") or reply.finish != "stop":
            continue
        if len({said.session_id, reply.session_id, then.session_id}) > 1 or said.round != reply.round:
            continue
        words, score = own_words(reply).strip(), reaction_of(then.words, usual)
        if score > 0 and words and estimate(said.words) + estimate(words) <= _LONGEST:
            near = len(wanted & set(tokens(f"{said.words} {words}")))
            scored.append((score, at, near, said.words, words))
    best = sorted(scored, key=lambda each: each[:2], reverse=True)[:_MOST]
    return [(said, words) for _, _, _, said, words in sorted(best, key=lambda each: -each[2])]
