"""Copies of a whole memory for other programs: a LanceDB table, a Milvus collection, MemForest's two layouts.

Guarantees: nothing that exists is overwritten, but for a collection that is to be replaced; a copy is complete or
absent; hidden messages are in none of them.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from domain import errors
from domain.files import make_private, make_private_folder, put_in_place, storage_error, write_file
from domain.forests import Forest, LongTermMemory, MemoryUnit, SessionMemory, as_values, unit_of_message
from domain.indexes import TextRow, VectorRow
from domain.records import Message, Summary
from domain.tree import LIFE, Chapter, Node
from memory import Memory
from storage.sqlite.forest_tables import write_forest

#: Seconds that vectors which are still to be made are waited for.
_PATIENCE = 3_600.0


# -- texts with their vectors ----------------------------------------------------------------------------------------


def copy_to_lance(memory: Memory, folder: Path) -> tuple[int, int]:
    """Write every text with its vector into a LanceDB table. Returns how many, and how many have no vector yet."""
    from storage.vectors.exports import write_lance

    copied = _Copy(memory)
    write_lance(folder.expanduser().absolute(), copied.read_batches(), copied.model, copied.dimension)
    return copied.counts()


def copy_to_milvus(memory: Memory, target: str, *, collection: str = "", replaces: bool = False) -> tuple[int, int]:
    """The same into a Milvus collection: of a new file of Milvus Lite, or of a server, where it may replace a copy."""
    from storage.vectors.exports import write_milvus

    copied = _Copy(memory)
    write_milvus(target, copied.read_batches(), copied.dimension, collection, replaces=replaces)
    return copied.counts()


class _Copy:
    """A copy in progress; it first waits for missing vectors."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        memory.index.start()
        memory.index.settle(_PATIENCE)
        status = memory.index.status()
        if not status.vectors or status.dimension is None:
            raise errors.StorageError("export.no_vectors", fault=status.fault)
        self.model, self.dimension = status.model, status.dimension
        self._copied = 0
        self._waiting = status.waiting + len(status.set_aside)

    def counts(self) -> tuple[int, int]:
        """How many texts were copied, and how many have no vector."""
        return self._copied, self._waiting

    def read_batches(self) -> Iterator[list[TextRow]]:
        """The texts, some at a time."""
        summaries = {one.text_id: one for one in self._memory.summaries.all()}
        for rows in self._memory.index.rows():
            messages = {
                message.text_id: message for message in self._memory.messages.with_ids([row.text_id for row in rows])
            }
            spoken = [(row, message) for row in rows if (message := messages.get(row.text_id))]
            summed = [(row, one) for row in rows if (one := summaries.get(row.text_id))]
            copied = [_text_row(row, message.words, message.role, message.timestamp) for row, message in spoken]
            copied += [_text_row(row, one.summary, "summary", one.timestamp) for row, one in summed]
            self._copied += len(copied)
            if copied:
                yield copied


def _text_row(row: VectorRow, text: str, role: str, timestamp: str) -> TextRow:
    return TextRow(row.text_id, row.type, row.session_id, text, role, timestamp, row.vector)


# -- MemForest -------------------------------------------------------------------------------------------------------


def copy_to_forest_tables(memory: Memory, folder: Path, chatbot_id: str, ltm_id: str) -> Path:
    """Write MemForest's SQLite layout, ``<chatbot_id>.db`` in a folder. Returns where it is."""
    target = folder.expanduser().absolute() / f"{chatbot_id}.db"
    with _written_beside(target) as unfinished:
        make_private(unfinished)
        write_forest(unfinished, forest_of(memory, chatbot_id, ltm_id))
    return target


def copy_to_forest_json(memory: Memory, folder: Path, chatbot_id: str, ltm_id: str) -> Path:
    """Write MemForest's JSON layout, three files in ``<chatbot_id>/`` in a folder. Returns where they are."""
    target = folder.expanduser().absolute() / chatbot_id
    with _written_beside(target) as unfinished:
        forest = forest_of(memory, chatbot_id, ltm_id)
        make_private_folder(unfinished)
        files: dict[str, Sequence[MemoryUnit | SessionMemory | LongTermMemory]] = {
            "long_term_memories.json": [forest.life],
            "session_memories.json": forest.sessions,
            "memory_units.json": forest.units,
        }
        for name, units in files.items():
            make_private(unfinished / name)
            values = {one.id: as_values(one) for one in units}
            text = json.dumps(values, ensure_ascii=False, indent=2)
            write_file(unfinished / name, text.encode("utf-8", "replace"))
    return target


@contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """Where a file or folder is written before it is put in its place; nothing of it stays when that fails."""
    if target.exists():
        raise errors.StorageError("backup.exists", path=str(target))
    unfinished = target.with_name(f".{target.name}.new")

    def remove() -> None:
        shutil.rmtree(unfinished, ignore_errors=True)
        with suppress(OSError):
            unfinished.unlink()

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove()
        yield unfinished
        put_in_place(unfinished, target)
    except OSError as fault:
        raise storage_error(fault, target) from fault
    finally:
        remove()


def forest_of(memory: Memory, chatbot_id: str, ltm_id: str) -> Forest:
    """The whole memory in MemForest's shapes."""
    sessions = list(reversed(memory.sessions.recent(None)))
    said = {one.session_id: units_of_turns(memory, memory.messages.of_session(one.session_id)) for one in sessions}
    not_empty = [one for one in sessions if said[one.session_id]]
    stored = memory.summaries.all(), memory.chapters.all()
    above = _node_units(memory, ltm_id, *stored)
    joined = _link_units([*above, *(unit for one in not_empty for unit in said[one.session_id])])
    times = sorted(unit.creation_time for unit in joined if unit.rank == 0 and unit.creation_time)
    life = LongTermMemory(
        id=ltm_id,
        chatbot_id=chatbot_id,
        session_ids=tuple(one.session_id for one in not_empty),
        summary_unit_ids=tuple(unit.id for unit in joined if unit.rank == 2),
        visit_count=memory.archive.rounds_counted(),
        last_session_id=not_empty[-1].session_id if not_empty else None,
        creation_time=times[0] if times else None,
        end_time=times[-1] if times else None,
    )
    memories = []
    for one in not_empty:
        own = said[one.session_id]
        ids = tuple(unit.id for unit in own)
        memories.append(SessionMemory(one.session_id, ids, own[0].creation_time, own[-1].end_time))
    return Forest(tuple(joined), tuple(memories), life)


def units_of_turns(memory: Memory, messages: Sequence[Message]) -> list[MemoryUnit]:
    """Messages as units, in this order; hidden ones are left out."""
    ids = [message.text_id for message in messages]
    places, metadata = memory.units.places(ids), memory.units.metadata(ids)
    shown = [message for message in messages if message.text_id in places]
    return [unit_of_message(message, places[message.text_id], metadata.get(message.text_id, {})) for message in shown]


def summary_units(memory: Memory, ltm_id: str, wanted: Sequence[str]) -> list[MemoryUnit]:
    """These of the units above messages, in this order, linked; a session's summary by the id of its session."""
    shown = memory.shown.all_summaries(), memory.shown.chapters()
    found = {unit.id: unit for unit in _link_units(_node_units(memory, ltm_id, *shown))}
    chosen = [found[one] for one in dict.fromkeys(wanted) if one in found]
    return [replace(unit, children_ids=unit.children_ids or _child_messages(memory, unit)) for unit in chosen]


def _child_messages(memory: Memory, unit: MemoryUnit) -> tuple[str, ...]:
    messages = memory.messages.of_session(str(unit.metadata.get("session_id") or ""))
    return tuple(one.id for one in units_of_turns(memory, messages) if one.parent_id == unit.id)


def _node_units(
    memory: Memory, ltm_id: str, summaries: Iterable[Summary], chapters: Iterable[Chapter]
) -> list[MemoryUnit]:
    """Session summaries, chapters and the life above them, the highest first."""
    nodes = {node.text_id: node for node in memory.chapters.nodes(rank=1)}
    texts = {one.text_id: one.summary for one in summaries}
    texts |= {one.text_id: one.text for one in chapters if one.text}
    names = {one.session_id for one in memory.sessions.recent(None)}
    found = {
        node.text_id: _node_unit(node, texts[node.text_id], node.name if node.name in names else "", ltm_id)
        for node in sorted(nodes.values(), key=lambda node: (-node.rank, node.place or 0))
        if node.text_id in texts
    }
    if found and LIFE in nodes:
        top = [unit for unit in found.values() if unit.parent_id == LIFE]
        content = "\n".join(unit.content.strip().partition("\n")[0] for unit in top)
        found = {LIFE: replace(_node_unit(nodes[LIFE], content, "", ltm_id), id=ltm_id), **found}
    renamed = {old: new.id for old, new in found.items()}
    return [replace(unit, parent_id=renamed.get(unit.parent_id or "")) for unit in found.values()]


def _node_unit(node: Node, text: str, session_id: str, ltm_id: str) -> MemoryUnit:
    """A unit above messages; the summary of a session has the id of the session."""
    metadata = json.loads(node.metadata)
    within = metadata.get("session_id") if node.rank == 1 and not session_id else None
    return MemoryUnit(
        id=session_id or node.text_id,
        content=text,
        rank=node.rank,
        source="ai",
        creation_time=datetime.fromisoformat(node.start) if node.start else None,
        end_time=datetime.fromisoformat(node.end) if node.end else None,
        parent_id=node.parent,
        group_id=within or ltm_id,
        metadata=metadata,
        last_visit=node.last_visit,
        visit_count=node.visit_count,
        never_delete=node.never_delete,
    )


def _link_units(units: Sequence[MemoryUnit]) -> list[MemoryUnit]:
    """The units linked to their children, and those above messages to their neighbours."""
    children: dict[str, list[MemoryUnit]] = defaultdict(list)
    for unit in units:
        if unit.parent_id:
            children[unit.parent_id].append(unit)
    before: dict[str, str] = {}
    for each in children.values():
        above = [one for one in each if one.rank]
        before |= {later.id: earlier.id for earlier, later in pairwise(above)}
    after = {earlier: later for later, earlier in before.items()}
    return [
        replace(
            unit,
            children_ids=tuple(child.id for child in children[unit.id]),
            pre_id=unit.pre_id or before.get(unit.id),
            next_id=unit.next_id or after.get(unit.id),
        )
        for unit in units
    ]
