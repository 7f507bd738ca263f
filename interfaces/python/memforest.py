"""MemForest's names over our memory, for programs that were written against them.

    system = MemorySystem("bot", "life", EmbeddingHandler(), base_path="memories")
    system.add_memory("What is the status?", source="user")
    system.query(query_vector=handler.get_embedding("status").tolist(), k_limit=2)

What is added is stored at once, in sessions like those of an import, and found at once. All storage and recall is that
of ``Memory``. Different from MemForest: ``metadata`` is not stored, and summaries are made from messages alone. Raises
the errors of ``domain.errors``.
"""

from __future__ import annotations

import hashlib
import operator
import os
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypedDict, Unpack

import config
from conversation import result_of
from domain import errors
from domain.forests import MemoryUnit, unit_of_turn
from domain.imports import ImportedMessage, PastPiece
from domain.indexes import Embedder
from domain.recollection import RecallLimits
from domain.records import Role
from domain.settings import Settings
from domain.text import check_input, clean_text
from domain.workers import CancelToken
from interfaces.debug_log import DebugLog
from jobs import exporting
from jobs.chapters import ChapterWriter
from jobs.import_backlog import summarise_next
from jobs.importing import READER, YEARS, ImportDone, Importing, digest_of, make_context
from llm import Llm
from memory import Memory

if TYPE_CHECKING:
    from domain.indexes import Vector

_HOME = Path(__file__).resolve().parents[2]
_KIND = "memforest"
_LATEST = "LATEST"
_NAME, _UNIT = re.compile(r"\w[\w.-]{0,63}"), re.compile(r"[0-9A-Za-z_.:-]{1,128}")
_PERSON, _COMPANION = frozenset(("user", "human")), frozenset(("ai", "assistant"))
#: Seconds to wait for the vectors of new texts.
_PATIENCE = 60.0
#: Most results of a text that are filtered.
_LOOKED_THROUGH = 200
_TOKENS = 1_000_000

Range = tuple[float | None, float | None]

__all__ = ["EmbeddingHandler", "MemorySystem", "MemoryUnit"]

#: A field, or a key of the metadata, with what it has to be.
UnitFilter = tuple[str, str, Any]

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "in": lambda value, among: value in among,
    "not in": lambda value, among: value not in among,
    "contains": lambda value, part: part in value,
}
_FIELDS = frozenset(one.name for one in fields(MemoryUnit))


class ForeignHandler(Protocol):
    """Another embedder: one text at a time."""

    def get_embedding(self, text: str) -> Any:
        """The vector of one text, as a sequence of numbers."""
        ...


class EmbeddingHandler:
    """Our embedder under MemForest's name: that of the settings, built in where none is set."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        loaded = config.load_settings(config.home_of(_HOME), os.environ, settings or {})
        debug = DebugLog(loaded.log_dir, loaded.secrets, on=loaded.debug)
        self.embedder = Llm(loaded, debug.log, clock=lambda: datetime.now().astimezone()).embedder

    def get_embedding(self, text: str) -> Vector:
        """The vector of a text. Raises EmbeddingError where there is none."""
        (vector,) = self.embedder.embed([check_input(text)])
        if vector is None:
            raise errors.EmbeddingError("embedding.unsound", norm=0)
        return vector


class HandlerEmbedder:
    """A foreign handler as an embedder; its vectors are never compared with those of another."""

    def __init__(self, handler: ForeignHandler) -> None:
        self._handler = handler
        self.model = f"handler:{type(handler).__module__}.{type(handler).__qualname__}"

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector a text."""
        import numpy as np

        return [np.asarray(self._handler.get_embedding(text), dtype=np.float32).reshape(-1) for text in texts]


class SystemOptions(TypedDict, total=False):
    """What MemForest does not have: ``settings`` are those of ``.env``, by their names."""

    settings: Mapping[str, str]
    clock: Callable[[], datetime]
    new_id: Callable[[], str]


class MemorySystem:
    """One memory, under the names of a chatbot and of a life: the folder ``<base_path>/<chatbot_id>/<ltm_id>``."""

    def __init__(
        self,
        chatbot_id: str,
        ltm_id: str,
        embedding_handler: EmbeddingHandler | ForeignHandler | None = None,
        llm: Llm | None = None,
        base_path: str | Path = "memory_storage",
        max_context_length: int = 10,
        **options: Unpack[SystemOptions],
    ) -> None:
        """Raises UsageError, SettingsError, DataInUse."""
        for name in (chatbot_id, ltm_id):
            if not _NAME.fullmatch(name):
                raise errors.UsageError("memforest.name", given=name)
        self.chatbot_id, self.ltm_id = chatbot_id, ltm_id
        self._clock = options.get("clock", lambda: datetime.now().astimezone())
        self._new_id = options.get("new_id", lambda: uuid.uuid4().hex)
        folder = Path(base_path) / chatbot_id / ltm_id
        loaded = config.load_settings(
            config.home_of(_HOME), os.environ, {**options.get("settings", {}), "DATA_DIR": str(folder)}
        )
        with ExitStack() as opened:
            self._llm, self._memory = self._open_memory(loaded, llm, embedding_handler, opened)
            self._opened = opened.pop_all()
        self._number: int | None = None
        self._session = self._new_id()
        self._context: deque[str] = deque()
        self._room = max_context_length
        #: Short-term memory: ids, the oldest first, as many as its capacity; off at 0.
        self._stm: dict[str, None] = {}
        self._capacity = 0

    def _open_memory(
        self, settings: Settings, llm: Llm | None, handler: EmbeddingHandler | ForeignHandler | None, opened: ExitStack
    ) -> tuple[Llm, Memory]:
        debug = DebugLog(settings.log_dir, settings.secrets, on=settings.debug)
        opened.callback(debug.close)
        speaking = llm or Llm(settings, debug.log, clock=self._clock)
        if llm is None:
            opened.callback(speaking.close)
        embedder: Embedder = speaking.embedder
        if handler is not None:
            embedder = handler.embedder if isinstance(handler, EmbeddingHandler) else HandlerEmbedder(handler)
        memory = Memory(
            settings.data_dir, embedder,
            clock=self._clock, new_id=self._new_id, log=debug.log, also_searched=[settings.log_dir],
            scrubbers=[lambda gone: debug.remove_files(gone.are_in)],
        )  # fmt: skip
        opened.callback(memory.close)
        return speaking, memory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, auto_summarize: bool = False) -> None:
        """Close the memory; safe to call twice. With ``auto_summarize`` the session is summarised first."""
        try:
            if auto_summarize and self._context:
                self.summarize_session(self._session)
            if self._number is not None:
                self._memory.imports.end(self._number, 1)
        finally:
            self._number = None
            self._opened.close()

    # -- sessions ------------------------------------------------------------------------------------------------

    def start_session(self, session_id: str | None = None) -> str:
        """Continue a session, or start one. Returns its id."""
        wanted = session_id or self._new_id()
        if not _NAME.fullmatch(wanted) or (
            self._memory.sessions.find(wanted) and not self._memory.sessions.was_imported(wanted)
        ):
            raise errors.UsageError("memforest.session", given=wanted)
        self.flush_context()
        self._session = wanted
        return wanted

    def remove_session(self, session_id: str) -> None:
        """Erase a session and everything derived from it, out of every file."""
        gone = {turn.text_id for turn in self._memory.messages.of_session(session_id)}
        self._memory.erasure.erase(self._memory.erasure.scope_of_session(session_id))
        self._context = deque(one for one in self._context if one not in gone)
        self._stm = {one: None for one in self._stm if one not in gone}

    def summarize_session(self, session_id: str) -> MemoryUnit | None:
        """Summarise a session with the model. Raises ModelError; None for an empty session."""
        while result_of(summarise_next(self._memory, self._llm, session_id, CancelToken())):
            pass
        return self._find_unit(session_id)

    def summarize_long_term_memory(self) -> MemoryUnit | None:
        """Write the chapters that are due with the model. Returns the unit above them all, None while there is none."""
        for _ in ChapterWriter(self._memory, self._llm, all_at_once=True).run(CancelToken()):
            pass
        return self._find_unit(self.ltm_id)

    def _find_unit(self, unit_id: str) -> MemoryUnit | None:
        return next((unit for unit in self._all_units() if unit.id == unit_id), None)

    def _all_units(self) -> Sequence[MemoryUnit]:
        """Summaries and chapters, then messages, oldest first."""
        return exporting.forest_of(self._memory, self.chatbot_id, self.ltm_id).units

    # -- adding --------------------------------------------------------------------------------------------------

    def add_memory(
        self,
        message: Any,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        creation_time: datetime | None = None,
        memory_unit_id: str | None = None,
    ) -> MemoryUnit:
        """Store what somebody said, a text or a message with ``content`` and ``role``. ``metadata`` is not kept."""
        words = check_input(str(getattr(message, "content", message)))
        said_by = source or str(getattr(message, "role", "") or getattr(message, "type", "") or "ai")
        if creation_time and self._memory.says_erased(words, creation_time.astimezone().isoformat()):
            raise errors.UsageError("memory.erased")
        text_id = self._id_for(memory_unit_id or "")
        turn = _past_turn(text_id, words, clean_text(said_by).strip(), creation_time or self._clock())
        self._store_message(turn)
        if text_id not in self._context:
            self._context.append(text_id)
        while len(self._context) > self._room:
            self._keep_in_mind([self._context.popleft()])
        return next(self._load_units([text_id]))

    def _id_for(self, wanted: str) -> str:
        """That id where it is valid and never used elsewhere; otherwise a new one."""
        if any(one.session_id == self._session for one in self._memory.messages.with_ids([wanted])):
            return wanted
        turn = ImportedMessage(wanted, "user", "", "", 0)
        gone = self._memory.imports.count_known(PastPiece(f"{_KIND}\n{self._session}", "", False, (turn,))).messages
        free = _UNIT.fullmatch(wanted) and not gone and self._memory.chapters.node(wanted) is None
        return wanted if free else self._new_id()

    def _store_message(self, turn: ImportedMessage) -> None:
        past = self._memory.imports
        if self._number is None:
            name = hashlib.sha256(f"{self.chatbot_id}\n{self.ltm_id}".encode()).hexdigest()
            self._number = past.begin(self.chatbot_id, _KIND, name, READER)
            past.end(self._number, 1)
        before = None
        for one in self._memory.messages.of_session(self._session)[-1:]:
            before = ImportedMessage(one.text_id, one.role, one.words, one.timestamp, 0, one.speaker)
        replies = turn.role == "assistant" and before is not None and before.role == "user"
        added = replace(turn, replies=replies)
        piece = PastPiece(f"{_KIND}\n{self._session}", "", False, (added,), before, self._session, live=True)
        past.add(self._number, [piece])

    def get_context(self, length: int | None = None) -> list[MemoryUnit]:
        """The last units that were added, oldest first."""
        kept = list(self._context)
        return list(self._load_units(kept[-length:] if length else kept if length is None else []))

    def flush_context(self) -> None:
        """Empty the context; its units move to short-term memory where that is on."""
        self._keep_in_mind(self._context)
        self._context.clear()

    _flush_context = flush_context

    # -- short-term memory ---------------------------------------------------------------------------------------

    def enable_stm(self, capacity: int = 200, restore_session_id: str | None = None) -> None:
        """Keep in mind the last ``capacity`` units that were recalled or left the context.

        It begins with those of a session, or of the latest one ("LATEST").
        """
        self._stm, self._capacity = {}, max(1, capacity)
        session_id = restore_session_id
        if session_id == _LATEST:
            recent = self._memory.sessions.recent(1)
            session_id = recent[0].session_id if recent else None
        if session_id:
            self._keep_in_mind(turn.text_id for turn in self._memory.messages.of_session(session_id))

    def disable_stm(self) -> None:
        """Keep nothing in mind."""
        self._stm, self._capacity = {}, 0

    def _keep_in_mind(self, ids: Iterable[str]) -> None:
        for one in ids:
            self._stm.pop(one, None)
            self._stm[one] = None
            if len(self._stm) > self._capacity:
                del self._stm[next(iter(self._stm))]

    # -- finding -------------------------------------------------------------------------------------------------

    def query(
        self,
        query_vector: Sequence[float] | str | None = None,
        filters: Sequence[UnitFilter] | None = None,
        k_limit: int = 5,
        search_range: Range = (None, None),
        recall_context: bool = True,
        add_ltm_to_stm: bool = True,
        short_term_only: bool = False,
        long_term_only: bool = False,
        *,
        text: str | None = None,
    ) -> list[list[MemoryUnit]]:
        """What fits best, a chain for each: with ``recall_context`` what was said right before and after it too.

        By a vector, or by a text, which also finds by its words; without either the newest that pass the filters.
        ``search_range`` bounds the likeness of vectors. ``short_term_only``: only what is in mind; ``long_term_only``:
        only what is not. Raises EmbeddingError for a vector of another length than ours.
        """
        words = text or (query_vector if isinstance(query_vector, str) else None)
        narrowed = bool(filters) or short_term_only or long_term_only
        if words is not None:
            found = self._load_units(self._by_text(words, _LOOKED_THROUGH if narrowed else k_limit))
        elif query_vector is not None and not isinstance(query_vector, str):
            found = self._load_units(self._by_vector(query_vector, None if narrowed else k_limit, search_range))
        else:
            found = reversed(self._all_units())
        if short_term_only or long_term_only:
            mind = set(self._stm)
            found = (unit for unit in found if (unit.id in mind) == short_term_only)
        fits = unit_filter(filters or ())
        chains: list[list[MemoryUnit]] = []
        for unit in found:
            if len(chains) >= k_limit:
                break
            if fits(unit) and not any(unit in chain for chain in chains):
                chains.append(self._unit_chain(unit) if recall_context else [unit])
        if add_ltm_to_stm:
            self._keep_in_mind(unit.id for chain in chains for unit in chain)
        return chains

    def _by_text(self, words: str, most: int) -> Iterable[str]:
        self._wait_for_index()
        limits = RecallLimits(sessions=0, turns=most, tokens=_TOKENS)
        found = self._memory.recall([check_input(words)], "", self._clock(), limits, gated=False)
        hits = [turn.text_id for turn in found.turns if turn.hit]
        return dict.fromkeys([*(one for one in found.ranked if one in hits), *hits])

    def _by_vector(self, vector: Sequence[float], most: int | None, within: Range) -> list[str]:
        import numpy as np

        self._wait_for_index()
        status, sought = self._memory.index.status(), np.asarray(vector, dtype=np.float32)
        if status.dimension is not None and sought.shape != (status.dimension,):
            raise errors.EmbeddingError("embedding.dimension", found=list(sought.shape), expected=status.dimension)
        low, high = within
        hits = self._memory.index.nearest(sought, "conversation", most or max(1, status.vectors))
        return [
            one.text_id
            for one in hits
            if (low is None or one.similarity >= low) and (high is None or one.similarity <= high)
        ]

    def _wait_for_index(self) -> None:
        """Wait until new texts have vectors, so that they are found."""
        self._memory.index.start()
        self._memory.index.settle(_PATIENCE)

    def _unit_chain(self, unit: MemoryUnit) -> list[MemoryUnit]:
        beside = {one.id: one for one in self._load_units([one for one in (unit.pre_id, unit.next_id) if one])}
        chain = [beside.get(unit.pre_id or ""), unit, beside.get(unit.next_id or "")]
        return [one for one in chain if one is not None]

    def _load_units(self, ids: Iterable[str]) -> Iterator[MemoryUnit]:
        """The units with these ids that are not hidden, in this order."""
        for turn in (one for text_id in ids for one in self._memory.messages.with_ids([text_id])):
            shown = [one for one in self._memory.messages.of_session(turn.session_id) if not one.hidden]
            names = [None, *(one.text_id for one in shown), None]
            if turn.text_id in names:
                at = names.index(turn.text_id)
                node = self._memory.chapters.node(turn.text_id)
                unit = unit_of_turn(turn, node, names[at - 1], names[at + 1])
                yield replace(unit, parent_id=self._parent_id(unit))

    def _parent_id(self, unit: MemoryUnit) -> str | None:
        """A session's summary goes by the id of the session, and is no unit while there is none."""
        session_id = unit.group_id or ""
        summary = self._memory.summaries.of(session_id)
        if summary and unit.parent_id == summary.text_id:
            return session_id
        return unit.parent_id if unit.parent_id != session_id else None

    # -- other forms ---------------------------------------------------------------------------------------------

    def convert_sql_to_json(self, output_dir: str | Path) -> Path:
        """Write MemForest's JSON layout into ``<output_dir>/<chatbot_id>``. Raises StorageError where it exists."""
        return exporting.copy_to_forest_json(self._memory, Path(output_dir), self.chatbot_id, self.ltm_id)

    def convert_to_memforest(self, output_dir: str | Path) -> Path:
        """Write MemForest's SQLite layout, ``<output_dir>/<chatbot_id>.db``."""
        return exporting.copy_to_forest_tables(self._memory, Path(output_dir), self.chatbot_id, self.ltm_id)

    def convert_sql_to_milvus(self, target: str) -> int:
        """Write every text with its vector into a Milvus collection: a new file, or a server. Returns how many."""
        return exporting.copy_to_milvus(self._memory, target)[0]

    def convert_json_to_sqlite(self, path: str | Path) -> int:
        """Import MemForest's data, in either of its layouts. Returns how many units were new."""
        from importers import MachineZone, ReadingOptions, recognise_export

        given, brought = Path(path), 0
        for file in recognise_export(given, ReadingOptions(zone=MachineZone())):
            stop, who = CancelToken(), make_context([], given, self._clock())
            for event in Importing(self._memory).run(file, given.name, digest_of(given, stop), who, stop):
                brought += event.messages if isinstance(event, ImportDone) else 0
        return brought


def _past_turn(text_id: str, words: str, source: str, said: datetime) -> ImportedMessage:
    """A message of the person, of the companion, or of another speaker with that name."""
    name = source.casefold()
    role: Role = "user" if name in _PERSON else "assistant"
    speaker = "" if name in _PERSON | _COMPANION else source
    if said.year not in YEARS:
        raise errors.UsageError("memforest.time", given=said.isoformat())
    at = (said if said.tzinfo else said.astimezone()).isoformat(timespec="seconds")
    return ImportedMessage(text_id, role, words, at, 0, speaker, text_id=text_id)


def unit_filter(filters: Sequence[UnitFilter]) -> Callable[[MemoryUnit], bool]:
    """Whether a unit is as all of these say. Raises UsageError, once it is used, where one makes no sense."""
    for one in filters:
        if len(one) != 3 or one[1] not in _OPERATORS:
            raise errors.UsageError("memforest.filter", given=one, operators=", ".join(_OPERATORS))
    return lambda unit: all(_unit_matches(unit, *one) for one in filters)


def _unit_matches(unit: MemoryUnit, name: str, how: str, wanted: Any) -> bool:
    value = getattr(unit, name) if name in _FIELDS else unit.metadata.get(name.removeprefix("metadata."))
    if isinstance(value, datetime):
        wanted = _as_time(wanted)
    if value is None:
        return (how == "==" and wanted is None) or (how in ("!=", "not in") and wanted is not None)
    try:
        return bool(_OPERATORS[how](value, wanted))
    except TypeError as fault:
        given = (name, how, wanted)
        raise errors.UsageError("memforest.filter", given=given, operators=", ".join(_OPERATORS)) from fault


def _as_time(wanted: Any) -> Any:
    """A time as a unit has it: a local one gets the offset of this machine."""
    try:
        given = datetime.fromisoformat(wanted) if isinstance(wanted, str) else wanted
    except ValueError:
        return wanted
    return given.astimezone() if isinstance(given, datetime) and given.tzinfo is None else given
