"""MemForest's names over our memory, for programs that were written against them.

    memory = MemorySystem("bot", "life", EmbeddingHandler(), base_path="memories")
    memory.add_memory("What is the status?", source="user", metadata={"mood": "curious"})
    memory.query(query_vector=handler.get_embedding("status").tolist(), k_limit=2)

What is added is stored at once, in sessions like those of an import, and found at once. All storage, recall, filtering
and forgetting is that of ``Memory`` and its maintenance. Safe to use from several threads; the ``async`` methods run
their twins in a thread (``asyncio.to_thread``). Raises the errors of ``domain.errors``.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import uuid
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack

import config
from conversation import result_of
from domain import errors
from domain.forests import COMPANION, MemoryUnit, UnitFilter
from domain.imports import ImportedMessage, PastPiece
from domain.indexes import Embedder
from domain.records import Role
from domain.settings import Settings
from domain.text import check_input, clean_text
from domain.workers import CancelToken, Workers
from interfaces.debug_log import DebugLog
from interfaces.python import Closing, close_at_exit
from jobs import exporting
from jobs.chapters import ChapterWriter
from jobs.import_backlog import summarise_next
from jobs.importing import READER, YEARS, ImportDone, Importing, digest_of, make_context
from jobs.maintenance import Maintenance, archive_surplus
from jobs.unit_search import CHAIN, Range, UnitChoice, UnitSearch
from llm import Llm
from memory import Memory, Surroundings

if TYPE_CHECKING:
    from domain.indexes import Vector
    from models.langchain_model import Invoked

P = ParamSpec("P")
T = TypeVar("T")
_HOME = Path(__file__).resolve().parents[2]
_KIND = "memforest"
_LATEST = "LATEST"
_NAME, _UNIT = re.compile(r"\w[\w.-]{0,63}"), re.compile(r"[0-9A-Za-z_.:-]{1,128}")
_PERSON, _COMPANION = frozenset(("user", "human")), frozenset((COMPANION, "assistant"))
_PERSISTENCE = ("sqlite", "json")
#: Settings of a model that is given as an object; nothing is sent there.
_GIVEN_MODEL = {"OPENAI_API_BASE": "http://model.invalid/v1", "OPENAI_API_KEY": "none"}


__all__ = ["EmbeddingHandler", "MemorySystem", "MemoryUnit"]


class ForeignHandler(Protocol):
    """Another embedder: one text at a time."""

    def get_embedding(self, text: str) -> Any:
        """The vector of one text, as a sequence of numbers."""
        ...


class EncodingModel(Protocol):
    """A model like those of sentence-transformers."""

    def encode(self, texts: list[str]) -> Any:
        """A vector a text, as rows of numbers."""
        ...


class EmbeddingHandler:
    """An embedder under MemForest's name: a model with ``encode``, or that of the settings, built in by default."""

    def __init__(
        self,
        model: EncodingModel | str | None = None,
        device: str | None = None,
        *,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """``model`` may also be a name for the setting ``EMBEDDING_MODEL``; ``device`` is where the model is put."""
        self.embedder: Embedder
        if model is not None and not isinstance(model, str):
            if device and hasattr(model, "to"):
                model.to(device)
            self.embedder = HandlerEmbedder(model, lambda texts: list(model.encode(texts)))
            return
        given = {**(settings or {}), **({"EMBEDDING_MODEL": model} if model else {})}
        loaded = config.load_settings(config.home_of(_HOME), os.environ, given)
        debug = DebugLog(loaded.log_dir, loaded.secrets, on=loaded.debug)
        self.embedder = Llm(loaded, debug.log, clock=lambda: datetime.now().astimezone()).embedder

    def get_embedding(self, text: str) -> Vector:
        """The vector of a text. Raises EmbeddingError where there is none."""
        (vector,) = self.embedder.embed([check_input(text)])
        if vector is None:
            raise errors.EmbeddingError("embedding.unsound", norm=0)
        return vector


class HandlerEmbedder:
    """A foreign handler or model as an embedder; its vectors are never compared with those of another."""

    def __init__(self, source: object, embed: Callable[[list[str]], Iterable[Any]]) -> None:
        self._embed = embed
        self.model = f"handler:{type(source).__module__}.{type(source).__qualname__}"

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector a text."""
        import numpy as np

        return [np.asarray(vector, dtype=np.float32).reshape(-1) for vector in self._embed(list(texts))]


def _in_thread(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The ``async`` twin of a method: the same in a thread."""

    @wraps(method)
    async def twin(*given: P.args, **named: P.kwargs) -> T:
        return await asyncio.to_thread(method, *given, **named)

    return twin


class SystemOptions(TypedDict, total=False):
    """Where the memory's limit is, and what MemForest does not have: ``settings`` are those of ``.env``, by name."""

    milvus_config: Mapping[str, str]
    persistence_mode: str
    max_milvus_entities: int
    forget_percentage: float
    settings: Mapping[str, str]
    clock: Callable[[], datetime]
    new_id: Callable[[], str]


class MemorySystem(Closing):
    """One memory, under the names of a chatbot and of a life: the folder ``<base_path>/<chatbot_id>/<ltm_id>``."""

    def __init__(
        self,
        chatbot_id: str,
        ltm_id: str,
        embedding_handler: EmbeddingHandler | ForeignHandler | None = None,
        llm: Llm | Invoked | None = None,
        base_path: str | Path = "memory_storage",
        max_context_length: int = 10,
        **options: Unpack[SystemOptions],
    ) -> None:
        """``llm`` may be any chat model with ``invoke``. Raises UsageError, SettingsError, DataInUse."""
        for name in (chatbot_id, ltm_id):
            if not _NAME.fullmatch(name):
                raise errors.UsageError("memforest.name", given=name)
        if unknown := options.keys() - SystemOptions.__annotations__.keys():
            raise TypeError(f"MemorySystem got an unexpected keyword argument: {', '.join(sorted(unknown))}")
        self.chatbot_id, self.ltm_id = chatbot_id, ltm_id
        self._clock = options.get("clock", lambda: datetime.now().astimezone())
        self._new_id = options.get("new_id", lambda: uuid.uuid4().hex)
        self._milvus = options.get("milvus_config", {})
        folder = Path(base_path) / chatbot_id / ltm_id
        #: MemForest's files: written at the end, or where somebody had them written.
        self._json = folder.with_name(f"{ltm_id}+json") / chatbot_id
        self._writes_json = _persistence(options) == "json"
        given = {**options.get("settings", {}), **_limit_settings(options), "DATA_DIR": str(folder)}
        if llm is not None and not isinstance(llm, Llm):
            given |= {**_GIVEN_MODEL, "CHAT_MODEL": type(llm).__name__}
        loaded = config.load_settings(config.home_of(_HOME), os.environ, given)
        self._index_workers = Workers("old-friend-index", 1)
        with ExitStack() as opened:
            self._maintenance, embedder = self._open_memory(loaded, llm, embedding_handler, opened)
            self._opened = opened.pop_all()
        close_at_exit(self._opened, self._index_workers, self._maintenance.queue.scheduler.pool)
        self._memory, self._llm = self._maintenance.memory, self._maintenance.llm
        self._units = UnitSearch(self._memory, embedder, self._clock, ltm_id)
        self._lock = RLock()
        self._number: int | None = None
        self._session = self._new_id()
        #: Sessions with something that no summary covers yet.
        self._changed: dict[str, None] = {}
        self._context: deque[str] = deque()
        self._room = max_context_length
        #: How many units may be added until it is looked whether there are too many.
        self._until_check = self._check_every = max(1, loaded.max_memories * loaded.forget_percentage // 100)
        #: Short-term memory: ids, the oldest first, as many as its capacity; off at 0.
        self._stm: dict[str, None] = {}
        self._capacity = 0
        self._maintenance.start(self._memory.start)

    def _open_memory(
        self,
        settings: Settings,
        llm: Llm | Invoked | None,
        handler: EmbeddingHandler | ForeignHandler | None,
        opened: ExitStack,
    ) -> tuple[Maintenance, Embedder]:
        debug = DebugLog(settings.log_dir, settings.secrets, on=settings.debug)
        opened.callback(debug.close)
        speaking = llm if isinstance(llm, Llm) else Llm(settings, debug.log, clock=self._clock)
        embedder: Embedder = speaking.embedder
        if llm is not None and not isinstance(llm, Llm):
            from models.langchain_model import LangChainModel

            given = llm
            speaking = Llm(settings, debug.log, clock=self._clock, transport=lambda: LangChainModel(given))
        if speaking is not llm:
            opened.callback(speaking.close)
        if isinstance(handler, EmbeddingHandler):
            embedder = handler.embedder
        elif handler is not None:
            embedder = HandlerEmbedder(handler, lambda texts: map(handler.get_embedding, texts))
        memory = Memory(
            settings.data_dir, embedder,
            clock=self._clock, new_id=self._new_id, log=debug.log,
            around=Surroundings(
                [settings.log_dir], [lambda gone: debug.remove_files(gone.are_in)], settings.external_memories,
                self._index_workers,
            ),
        )  # fmt: skip
        opened.callback(memory.close)
        maintenance = Maintenance(settings, memory, speaking)
        opened.callback(maintenance.end, 5)
        return maintenance, embedder

    def close(self, auto_summarize: bool = False) -> None:
        """Close the memory; safe to call twice. With ``auto_summarize`` every session that went on is summarised first.

        In persistence mode "json" MemForest's files are written, too. Raises ModelError; the memory is closed then.
        """
        with self._lock:
            try:
                for session_id in list(self._changed) if auto_summarize else ():
                    self.summarize_session(session_id)
                if self._number is not None:
                    self._memory.imports.end(self._number, 1)
                if self._writes_json:
                    shutil.rmtree(self._json, ignore_errors=True)
                    exporting.copy_to_forest_json(self._memory, self._json.parent, self.chatbot_id, self.ltm_id)
            finally:
                self._number, self._writes_json = None, False
                self._changed.clear()
                self._opened.close()

    aclose = _in_thread(close)

    # -- sessions ------------------------------------------------------------------------------------------------

    @property
    def current_session_id(self) -> str:
        """The session that is added to."""
        return self._session

    _current_session_id = current_session_id

    def start_new_session(self, session_id: str | None = None) -> str:
        """Continue a session, or start one; the context of the last one is flushed. Returns its id."""
        wanted = session_id or self._new_id()
        with self._lock:
            known = self._memory.sessions.find(wanted) is not None
            if not _NAME.fullmatch(wanted) or (known and not self._memory.sessions.was_imported(wanted)):
                raise errors.UsageError("memforest.session", given=wanted)
            self.flush_context()
            self._session = wanted
        return wanted

    start_session = switch_session = start_new_session

    def remove_session(self, session_id: str) -> None:
        """Erase a session and everything derived from it, out of every file."""
        with self._lock, self._maintenance.paused():
            gone = {message.text_id for message in self._memory.messages.of_session(session_id)}
            if self._writes_json:
                shutil.rmtree(self._json, ignore_errors=True)
            self._memory.erasure.erase(self._memory.erasure.scope_of_session(session_id))
            self._changed.pop(session_id, None)
            self._context = deque(one for one in self._context if one not in gone)
            self._stm = {one: None for one in self._stm if one not in gone}

    def summarize_session(self, session_id: str | None = None) -> MemoryUnit | None:
        """Summarise a session, the current one by default. Raises ModelError; None for an empty session."""
        wanted = session_id or self._session
        with self._lock, self._maintenance.paused():
            while result_of(summarise_next(self._memory, self._llm, wanted, CancelToken())):
                pass
            self._changed.pop(wanted, None)
            return self._find_summary(wanted)

    asummarize_session = _in_thread(summarize_session)

    def summarize_long_term_memory(self) -> MemoryUnit | None:
        """Summarise the sessions that have no summary, and write the chapters that are due.

        Returns the unit above them all, None while there is none. Raises ModelError.
        """
        with self._lock, self._maintenance.paused():
            for session in reversed(self._memory.sessions.recent(None)):
                summary = self._memory.summaries.of(session.session_id)
                if summary is None or not summary.upto_round:
                    self.summarize_session(session.session_id)
            for _ in ChapterWriter(self._memory, self._llm, all_at_once=True).run(CancelToken()):
                pass
            return self._find_summary(self.ltm_id)

    asummarize_long_term_memory = _in_thread(summarize_long_term_memory)

    def _find_summary(self, unit_id: str) -> MemoryUnit | None:
        return next(iter(exporting.summary_units(self._memory, self.ltm_id, [unit_id])), None)

    # -- adding --------------------------------------------------------------------------------------------------

    def add_memory(
        self,
        message: Any,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        creation_time: datetime | None = None,
        memory_unit_id: str | None = None,
        never_delete: bool = False,
    ) -> MemoryUnit:
        """Store what somebody said, a text or a message with ``content`` and ``role``. Returns its unit.

        ``metadata`` are values that JSON can write; other values are stored as texts. What is under ``never_delete``
        is never forgotten. A ``creation_time`` without an offset is local.
        """
        words = check_input(str(getattr(message, "content", message)))
        said_by = source or str(getattr(message, "role", "") or getattr(message, "type", "") or COMPANION)
        if creation_time and self._memory.says_erased(words, creation_time.astimezone().isoformat()):
            raise errors.UsageError("memory.erased")
        with self._lock:
            text_id = self._id_for(memory_unit_id) if memory_unit_id else self._new_id()
            if text_id not in self._context:
                self._context.append(text_id)
            while len(self._context) > self._room:
                self._keep_in_mind([self._context.popleft()])
            if memory_unit_id and (known := self._memory.messages.with_ids([text_id])):
                return exporting.units_of_turns(self._memory, known)[0]
            at, (role, speaker) = _time_of(creation_time or self._clock()), _speaker_of(said_by)
            said = ImportedMessage(
                text_id, role, words, at, 0, speaker,
                text_id=text_id, metadata=dict(metadata or {}), never_delete=never_delete,
            )  # fmt: skip
            conversation = f"{_KIND}\n{self._session}"
            stored_message = self._memory.imports.append(self._source(), conversation, self._session, said)
            self._changed[self._session] = None
            self._until_check -= 1
            if not self._until_check:
                self._forget_later()
            return exporting.units_of_turns(self._memory, [stored_message])[0]

    aadd_memory = _in_thread(add_memory)

    def _id_for(self, wanted: str) -> str:
        """That id where it is valid and never used elsewhere; otherwise a new one."""
        if any(one.session_id == self._session for one in self._memory.messages.with_ids([wanted])):
            return wanted
        message = ImportedMessage(wanted, "user", "", "", 0)
        gone = self._memory.imports.count_known(PastPiece(f"{_KIND}\n{self._session}", "", False, (message,))).messages
        free = _UNIT.fullmatch(wanted) and not gone and self._memory.chapters.node(wanted) is None
        return wanted if free else self._new_id()

    def _source(self) -> int:
        """The number of what is added here among the imports."""
        if self._number is None:
            name = hashlib.sha256(f"{self.chatbot_id}\n{self.ltm_id}".encode()).hexdigest()
            self._number = self._memory.imports.begin(self.chatbot_id, _KIND, name, READER)
            self._memory.imports.end(self._number, 1)
        return self._number

    def get_context(self, length: int | None = None) -> list[MemoryUnit]:
        """The last units that were added, oldest first."""
        kept = list(self._context)
        return self._units.load(kept[-length:] if length else kept if length is None else [])

    def flush_context(self) -> None:
        """Empty the context; its units move to short-term memory where that is on."""
        with self._lock:
            self._keep_in_mind(self._context)
            self._context.clear()
            self._memory.index.wake()

    _flush_context = flush_context

    def flush(self, force: bool = False) -> None:
        """Write what was added to the disk; with ``force`` this waits for the vectors, too."""
        self._memory.commit()
        if force:
            self._units.settle()
        self._forget_later()

    _flush_cache = flush

    aflush = _in_thread(flush)

    # -- forgetting ----------------------------------------------------------------------------------------------

    def _check_and_forget_memory(self) -> None:
        """Archive what is above ``max_milvus_entities`` now; this is done in the background, too."""
        with self._lock, self._maintenance.paused():
            archive_surplus(self._memory, self._maintenance.settings.forget_limit, CancelToken())

    def _forget_later(self) -> None:
        self._until_check = self._check_every
        if self._maintenance.settings.forget_limit.most:
            self._maintenance.queue.request("archive")

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
            self._keep_in_mind(message.text_id for message in self._memory.messages.of_session(session_id))

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

        By a vector, or by a text, which also finds by its words, and in external memories; without either the newest
        that pass the filters. ``search_range`` bounds the likeness of vectors. ``short_term_only``: only what is in
        mind; ``long_term_only``: only what is not. What is found is visited, with all that is above it. Raises
        EmbeddingError for a vector of another length than ours, UsageError for a filter that makes no sense.
        """
        words = text or (query_vector if isinstance(query_vector, str) else None)
        with self._lock:
            among = list(self._stm) if short_term_only else None
            choice = UnitChoice(tuple(filters or ()), among, list(self._stm) if long_term_only else [])
            most = k_limit * (CHAIN if recall_context else 1)
            if words is not None:
                found = self._units.by_text(words, choice, most)
            elif query_vector is not None and not isinstance(query_vector, str):
                found = self._units.by_vector(query_vector, choice, most, search_range)
            else:
                found = self._units.newest(choice, most)
            chains = self._units.chains(found, k_limit, beside=recall_context)
            if add_ltm_to_stm:
                self._keep_in_mind(unit.id for chain in chains for unit in chain)
        return chains

    aquery = _in_thread(query)

    # -- other forms ---------------------------------------------------------------------------------------------

    def convert_sql_to_json(self, output_dir: str | Path | None = None) -> Path:
        """Write MemForest's JSON layout into ``<output_dir>/<chatbot_id>``. Raises StorageError where it exists."""
        folder = Path(output_dir) if output_dir else self._json.parent
        self._json = exporting.copy_to_forest_json(self._memory, folder, self.chatbot_id, self.ltm_id)
        return self._json

    def convert_to_memforest(self, output_dir: str | Path) -> Path:
        """Write MemForest's SQLite layout, ``<output_dir>/<chatbot_id>.db``."""
        return exporting.copy_to_forest_tables(self._memory, Path(output_dir), self.chatbot_id, self.ltm_id)

    def convert_sql_to_milvus(self, target: str = "", *, embedding_history_length: int = 1) -> int:
        """Write every text with its vector into a Milvus collection: a new file, or a server. Returns how many.

        By default on the server of ``milvus_config``, where an earlier copy is replaced. The collection is named
        ``m_<chatbot_id>_<ltm_id>``. ``embedding_history_length`` changes nothing: vectors take in what was said before.
        """
        given = self._milvus
        where = target or given.get("uri", "") or (given and f"http://{given.get('host')}:{given.get('port', '19530')}")
        if not where:
            raise errors.UsageError("memforest.no_milvus")
        name = re.sub(r"[^0-9A-Za-z]", "_", f"m_{self.chatbot_id}_{self.ltm_id}")
        return exporting.copy_to_milvus(self._memory, str(where), collection=name, replaces=True)[0]

    def convert_json_to_milvus(self, target: str = "", *, embedding_history_length: int = 1) -> int:
        """Import MemForest's JSON files where there are some, and write everything into a Milvus collection."""
        if self._json.exists():
            self.convert_json_to_sqlite()
        return self.convert_sql_to_milvus(target, embedding_history_length=embedding_history_length)

    def convert_json_to_sqlite(self, path: str | Path | None = None) -> int:
        """Import MemForest's data, in either of its layouts. Returns how many units were new.

        By default what ``convert_sql_to_json``, or the last ``close`` in persistence mode "json", wrote.
        """
        from importers import MachineZone, ReadingOptions, recognise_export

        given, brought = Path(path) if path else self._json, 0
        if path is None and not given.exists():
            raise errors.UsageError("memforest.no_files")
        for file in recognise_export(given, ReadingOptions(zone=MachineZone())):
            stop, who = CancelToken(), make_context([], given, self._clock())
            for event in Importing(self._memory).run(file, given.name, digest_of(given, stop), who, stop):
                brought += event.messages if isinstance(event, ImportDone) else 0
        return brought


def _speaker_of(source: str) -> tuple[Role, str]:
    """Of the person, of the companion, or of another speaker with that name."""
    said_by = clean_text(source).strip()
    name = said_by.casefold()
    return "user" if name in _PERSON else "assistant", "" if name in _PERSON | _COMPANION else said_by


def _time_of(said: datetime) -> str:
    if said.year not in YEARS:
        raise errors.UsageError("memforest.time", given=said.isoformat())
    return (said if said.tzinfo else said.astimezone()).isoformat(timespec="seconds")


def _persistence(options: SystemOptions) -> str:
    """How the memory is written: in SQLite always, in JSON too at the end."""
    mode = options.get("persistence_mode", "sqlite")
    if mode not in _PERSISTENCE:
        raise errors.UsageError("memforest.option", name="persistence_mode", given=mode, wanted=", ".join(_PERSISTENCE))
    return mode


def _limit_settings(options: SystemOptions) -> dict[str, str]:
    """The settings of the limit that was given: how many units, and which part of them goes at once."""
    given: dict[str, str] = {}
    if "max_milvus_entities" in options:
        given["MAX_MEMORIES"] = str(options["max_milvus_entities"])
    if "forget_percentage" in options:
        part = options["forget_percentage"]
        if not 0 < part <= 1:
            raise errors.UsageError("memforest.option", name="forget_percentage", given=part, wanted="0 < x <= 1")
        given["FORGET_PERCENTAGE"] = str(max(1, round(100 * part)))
    return given
