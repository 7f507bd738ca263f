"""A history lived in the real ``Memory``: sessions stored and archived one after the other, questions in between."""

from __future__ import annotations

import hashlib
import itertools
import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from bench.given_facts import learned
from bench.recall_sets import Said, Set, SetQuestion, Talk
from config import load_settings
from conversation import result_of
from domain.recollection import Recollection
from domain.records import Round
from domain.settings import Settings
from domain.workers import CancelToken
from language.scripts import estimate, language_of
from language.words import label_of
from llm import Layers, Llm, assemble_prompt
from memory import Memory
from models.embeddings import SentenceEmbedder
from recall import ranking
from recall.embedding import HashedEmbedder
from recall.questions import build_queries
from recall.ranking import Evidence, Ranked, ScoreParts

if TYPE_CHECKING:
    from domain.indexes import Embedder, Vector

_PATIENCE = 3600.0
_AT_MOST = 20
#: Another talk, in the middle of which a question may come: rounds that have nothing to do with any set.
_ANOTHER_TALK: Mapping[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("How long do I boil an egg?", "About seven minutes for a soft yolk, ten for a hard one."),
        ("The printer is jammed again.", "Open the tray at the back and pull the sheet out slowly."),
        ("Why is the sky red at dusk?", "The light has a longer way through the air, which scatters the blue."),
        ("My keyboard has a sticky key.", "Try a little rubbing alcohol on a cotton bud."),
    ),
    "zh": (
        ("鸡蛋要煮多久？", "溏心大约七分钟，全熟大约十分钟。"),
        ("打印机又卡纸了。", "打开后面的纸盒，慢慢把纸抽出来。"),
        ("傍晚的天为什么是红的？", "光穿过的空气更厚，蓝光被散射掉了。"),
        ("键盘有个键粘住了。", "用棉签蘸一点酒精擦一擦。"),
    ),
}


@dataclass(frozen=True, slots=True)
class Embedding:
    """What a history is lived with: ``hashed``, ``sentence`` or ``server``, which has an address and a model."""

    kind: str = "sentence"
    base: str = ""
    model: str = ""

    @property
    def settings(self) -> Mapping[str, str]:
        """What the settings must say."""
        if self.kind != "server":
            return {}
        return {"EMBEDDING_MODEL": self.model, "EMBEDDING_API_BASE": self.base, "EMBEDDING_API_KEY": "none"}

    def opened(self, llm: Llm) -> Embedder:
        """The embedder."""
        if self.kind == "sentence":
            return SentenceEmbedder()
        return HashedEmbedder() if self.kind == "hashed" else llm.embedder


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What stood in a prompt with default settings: ids in the set, and tokens of the whole block of memories.

    ``facts`` counts the facts in it; ``known`` are its turns, and those on which its facts rest. ``unknown``: the
    prompt says that nothing is known of what was asked.
    """

    tids: frozenset[str]
    tokens: int
    facts: int = 0
    known: frozenset[str] = frozenset()
    unknown: bool = False


@dataclass(frozen=True)
class AskedQuestion:
    """One question as it was searched for: what was handed over, and the evidence, parts and weights behind it.

    ``tids`` (P,) gives each turn of the pool its id in the set, ``sessions`` (S,) those found best, best
    first. ``alone`` and ``amid`` another talk are what a chat would have put before a model.
    """

    question: SetQuestion
    recollection: Recollection
    evidence: Evidence
    parts: ScoreParts
    weights: Mapping[str, float]
    tids: tuple[str, ...]
    found: tuple[str, ...]
    sessions: tuple[int, ...]
    session_of: Mapping[str, int]
    milliseconds: float
    alone: HandedOver
    amid: HandedOver


@dataclass
class StandingClock:
    """A clock that stands where it was put, and goes on by a second at every look."""

    now: datetime

    def __call__(self) -> datetime:
        """The time."""
        self.now += timedelta(seconds=1)
        return self.now


class Timed:
    """An embedder that remembers what it embedded, in a folder too if there is one, and how long its calls took."""

    def __init__(self, inner: Embedder, folder: Path | None) -> None:
        self.seconds = 0.0
        self._inner = inner
        self._folder = folder
        self._known: dict[str, Vector | None] = {}

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._inner.model

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """One vector a text."""
        started = time.perf_counter()
        new = [text for text in dict.fromkeys(texts) if not self._knows(text)]
        for text, vector in zip(new, self._inner.embed(new) if new else [], strict=True):
            self._keep(text, vector)
        vectors = [self._known[text] for text in texts]
        self.seconds += time.perf_counter() - started
        return vectors

    def _knows(self, text: str) -> bool:
        if text not in self._known and self._folder and (path := self._path(text)).exists():
            import numpy as np

            self._known[text] = np.load(path)
        return text in self._known

    def _keep(self, text: str, vector: Vector | None) -> None:
        self._known[text] = vector
        if self._folder and vector is not None:
            import numpy as np

            self._path(text).parent.mkdir(parents=True, exist_ok=True)
            np.save(self._path(text), vector)

    def _path(self, text: str) -> Path:
        digest = hashlib.sha256(f"{self.model}\0{text}".encode()).hexdigest()
        assert self._folder is not None
        return self._folder / digest[:2] / f"{digest}.npy"


@dataclass
class LivedHistory:
    """One history, as far as it has been lived.

    Relevance is judged with the ``usual`` settings, the order with ``generous`` ones, which cut nothing short.
    """

    memory: Memory
    llm: Llm
    clock: StandingClock
    usual: Settings
    generous: Settings
    embedder: Timed
    language: str
    with_facts: bool = False
    tid_of: dict[int, str] = field(default_factory=dict)
    text_tid: dict[str, str] = field(default_factory=dict)
    number_of: dict[str, int] = field(default_factory=dict)
    session_of: dict[str, int] = field(default_factory=dict)
    seen: list[Evidence] = field(default_factory=list)

    def live(self, number: int, talk: Talk) -> None:
        """Store a session and archive it."""
        session = self.memory.sessions.resume_or_start()[0]
        self.clock.now = talk.date
        self.number_of[session.session_id] = number
        self.session_of.update((said.tid, number) for one in talk.rounds for said in one if said)
        stored: list[Round] = []
        with self.memory.in_one_commit():
            for user, assistant in talk.rounds:
                stored.append(self._store(session.session_id, user, assistant))
            messages = [message for spoken in stored for message in spoken.messages]
            facts = learned(session.session_id, talk.facts, messages, self.text_tid) if self.with_facts else None
            if facts:
                self.memory.fact_log.learn(facts)
        summary = talk.summary or result_of(self.llm.summarise("", stored, CancelToken()))
        self.memory.rounds.save(session.session_id, summary, {})

    def _store(self, session_id: str, user: Said | None, assistant: Said | None) -> Round:
        started = self.clock().isoformat(timespec="seconds")
        words = [said.text if said else "" for said in (user, assistant)]
        spoken = self.memory.rounds.store(session_id, words[0], words[1], started, "stop")
        for message, said in ((spoken.user, user), (spoken.assistant, assistant)):
            if said:
                self.tid_of[message.seq] = self.text_tid[message.text_id] = said.tid
        return spoken

    def ask(self, question: SetQuestion, when: datetime) -> AskedQuestion:
        """Search for a question as a chat does, alone and amid another talk, and once whatever is found."""
        self.memory.index.settle(_PATIENCE)
        alone = (*([question.context] if question.context else []), question.text)
        as_chatted = self.handed_over(question.text, question.context, when)
        self.seen.clear()
        self.embedder.seconds, started = 0.0, time.perf_counter()
        recollection = self.memory.recall(alone, self._present(), when, self.generous.recall_limits, gated=False)
        spent = time.perf_counter() - started - self.embedder.seconds
        evidence = self.seen[0]
        return AskedQuestion(
            question,
            recollection,
            evidence,
            ranking.score_parts(evidence),
            ranking.weights_for(evidence),
            tuple(self.tid_of.get(int(seq), "") for seq in evidence.seqs),
            self.found_of(recollection),
            tuple(self.number_of[summary.session_id] for summary in recollection.summaries),
            self.session_of,
            spent * 1000,
            *as_chatted,
        )

    def _present(self) -> str:
        return self.memory.sessions.resume_or_start()[0].session_id

    def _another_talk(self, text: str) -> tuple[str, str]:
        rounds = _ANOTHER_TALK[language_of(text)]
        return rounds[sum(map(ord, text)) % len(rounds)]

    def handed_over(self, text: str, context: str, when: datetime) -> tuple[HandedOver, HandedOver]:
        """What a prompt holds for a message, after its own context, and in the middle of another talk."""
        self.memory.index.settle(_PATIENCE)
        alone, another = (*([context] if context else []), text), self._another_talk(text)
        return (self._handed_over(alone, when, ()), self._handed_over(build_queries(another, text), when, another))

    def orders(self, text: str, when: datetime) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The ids of the turns that rank best for a message, alone and amid another talk, whatever its gate says."""
        another, limits = self._another_talk(text), self.generous.recall_limits
        alone, amid = (
            self.memory.recall(asked, self._present(), when, limits, recent=recent, gated=False)
            for asked, recent in (((text,), ()), (build_queries(another, text), another))
        )
        return self.found_of(alone), self.found_of(amid)

    def _handed_over(self, asked: Sequence[str], when: datetime, recent: Sequence[str]) -> HandedOver:
        found = self.memory.recall(asked, self._present(), when, self.usual.recall_limits, recent=recent)
        tids = frozenset(
            self.text_tid[message.text_id] for message in found.messages if message.text_id in self.text_tid
        )
        known = frozenset(self.text_tid.get(message, "") for fact in found.facts for message in fact.messages)
        tokens = _block_tokens(found, asked[-1], when) if found else 0
        return HandedOver(tids, tokens, len(found.facts), known | tids, found.unknown)

    def ask_by_pronoun(self, text: str, speaker: str, when: datetime) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What is handed over for a question about "she", without and with the messages before it."""
        self.memory.index.settle(_PATIENCE)
        said = (f"I saw my friend {speaker} today.", "How nice!", "The soup was good.", "Glad to hear.")
        about = text.replace(f"{speaker}'s", "her").replace(speaker, "she")
        without, resolved = (
            self.memory.recall(
                build_queries(said, about), self._present(), when, self.usual.recall_limits, recent=recent
            )
            for recent in ((), said)
        )
        return self.found_of(without), self.found_of(resolved)

    def found_of(self, recollection: Recollection) -> tuple[str, ...]:
        """The ids of its turns in the set, best first."""
        return tuple(dict.fromkeys(self.text_tid[text_id] for text_id in recollection.ranked))

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Keep the evidence of everything that is ranked."""
        rank = ranking.rank

        def noticed(evidence: Evidence) -> Ranked:
            self.seen.append(evidence)
            return rank(evidence)

        with patch.object(ranking, "rank", noticed):
            yield


def lived(data: Set, embedding: Embedding, cache: Path | None, *, with_facts: bool = False) -> Iterator[AskedQuestion]:
    """Every question of a set, asked when the sessions before it, and no others, had been lived."""
    for name, talks in data.histories.items():
        waiting = sorted((question for question in data.questions if question.history == name), key=lambda q: q.before)
        with opened_history(data.language, embedding, cache) as history:
            history.with_facts = with_facts
            for number in range(len(talks) + 1):
                while waiting and waiting[0].before == number:
                    when = talks[min(number, len(talks) - 1)].date + timedelta(days=number == len(talks))
                    yield history.ask(waiting.pop(0), when)
                if not waiting:
                    break
                history.live(number, talks[number])


def elsewhere(data: Set, embedding: Embedding, cache: Path | None, most: int) -> Iterator[AskedQuestion]:
    """Questions asked where their answer is not: each history is asked the questions of the others."""
    for name, talks in data.histories.items():
        foreign = [question for question in data.questions if question.history != name]
        with opened_history(data.language, embedding, cache) as history:
            for number, talk in enumerate(talks):
                history.live(number, talk)
            for question in itertools.islice(foreign[:: max(1, len(foreign) // most)], most):
                yield history.ask(question, talks[-1].date + timedelta(days=1))


def by_pronoun(
    data: Set, embedding: Embedding, cache: Path | None, most: int
) -> Iterator[tuple[SetQuestion, tuple[str, ...], tuple[str, ...]]]:
    """Questions that name one speaker, with "she" in the name's place, without and with the messages that name her.

    She was named two rounds before the question, so that only what is resolved can lead to her.
    """
    for name, talks in data.histories.items():
        asked = [(question, _named(question, talks)) for question in data.questions if question.history == name]
        named = [(question, speaker) for question, speaker in asked if speaker]
        if not named:
            continue
        with opened_history(data.language, embedding, cache) as history:
            for number, talk in enumerate(talks):
                history.live(number, talk)
            for question, speaker in named[:: max(1, len(named) // most)][:most]:
                when = talks[-1].date + timedelta(days=1)
                yield question, *history.ask_by_pronoun(question.text, speaker, when)


def _named(question: SetQuestion, talks: Sequence[Talk]) -> str:
    """The one speaker whom a question names; none where it names nobody or two."""
    speakers = {label_of(said.text) for talk in talks for spoken in talk.rounds for said in spoken if said}
    named = [speaker for speaker in speakers if speaker and speaker in question.text]
    return named[0] if len(named) == 1 else ""


@contextmanager
def opened_history(language: str, embedding: Embedding, cache: Path | None) -> Iterator[LivedHistory]:
    """Live a history through the program in a folder of its own, and open what it left for recall."""
    with tempfile.TemporaryDirectory(prefix="old-friend-bench-") as folder:
        home = Path(folder)
        more = {"RECALL_SESSION_NUM": "5", "RECALL_CONV_NUM": str(_AT_MOST * 2), "RECALL_TOKENS": "100000"}
        usual = load_settings(home, {}, embedding.settings)
        generous = load_settings(home, {}, {**embedding.settings, **more})
        log = logging.Logger("bench", logging.CRITICAL)
        clock = StandingClock(datetime(2020, 1, 1).astimezone())
        llm = Llm(usual, log, clock=clock)
        embedder = Timed(embedding.opened(llm), cache)
        memory = Memory(home / "data", embedder, clock=clock, new_id=_ids(), log=log)
        try:
            memory.start()
            history = LivedHistory(memory, llm, clock, usual, generous, embedder, language)
            with history.watch():
                yield history
        finally:
            memory.close()
            llm.close()


def _block_tokens(found: Recollection, text: str, when: datetime) -> int:
    """How many tokens a prompt has more for its memories, in whatever they are wrapped."""
    layers = Layers(text, when, language_of(text))
    with_memories, without = (
        assemble_prompt(each, "=== 000000000000000000000000 ===")[-1].content
        for each in (replace(layers, recalled=found), layers)
    )
    return estimate(with_memories) - estimate(without)


def _ids() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"{next(numbers):08x}"
