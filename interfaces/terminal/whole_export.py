"""Taking the whole memory along, and bringing it back: ``--export``, and ``--import`` of what it wrote.

As JSON it is every row, so that what is read back is equal; as Markdown it is for reading: the two images, chapters,
then every session with its summary, its words and what is known from it. Other programs get what they can read: a
LanceDB table, a Milvus collection, MemForest's layouts.

Promises: a file that exists is never overwritten; nothing is written into a memory that holds a conversation already,
into that one only its conversations are brought along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from conversation import Conversation
from domain import errors
from domain.errors import Exit
from domain.records import IMAGES
from interfaces.messages import Words
from interfaces.terminal.own_files import exported, write_new
from interfaces.terminal.screen import Screen
from interfaces.terminal.session_view import day_here, local
from jobs import exporting
from memory import Memory, restore_portable, write_portable

#: What ``--export`` takes, as it is told where something else was given.
FORMS = "FILE.json, FILE.md, lancedb:FOLDER, milvus:FILE.db|URI, memforest:FOLDER, memforest-json:FOLDER"
#: What a memory is called in MemForest's layouts: the program, and the life that it holds.
_CHATBOT, _LIFE = "old_friend", "life"


@dataclass(frozen=True)
class Elsewhere:
    """A copy for another program: of which kind, and where."""

    kind: str
    target: str


def elsewhere(given: str) -> Elsewhere | None:
    """What ``KIND:TARGET`` asks for; None where it is the name of a file."""
    kind, _, target = given.partition(":")
    return Elsewhere(kind, target) if kind in (*_TEXTS, *_FORESTS) and target else None


def write_elsewhere(copy: Elsewhere, memory: Memory, words: Words, screen: Screen) -> Exit:
    """Write the memory for another program. Raises StorageError."""
    with _faults_of(Path(copy.target)):
        if copy.kind in _FORESTS:
            path = _FORESTS[copy.kind](memory, Path(copy.target), _CHATBOT, _LIFE)
            screen.line(words.say("export.forest_done", path=path), "good")
            return Exit.OK
        copied, waiting = _TEXTS[copy.kind](memory, copy.target)
    screen.line(words.say("export.texts_done", path=copy.target, texts=f"{copied:,}"), "good")
    if waiting:
        screen.line(words.say("export.texts_waiting", texts=f"{waiting:,}"), "warning")
    return Exit.OK


@contextmanager
def _faults_of(target: Path) -> Iterator[None]:
    """What cannot be written there is no fault of the data folder."""
    place = target.expanduser().absolute()
    try:
        yield
    except errors.StorageError as fault:
        where = Path(str(fault.details.get("path", "")))
        if fault.key not in ("storage.failed", "storage.read_only") or where.parent not in (
            place,
            place.parent,
        ):
            raise
        raise errors.StorageError("export.failed", path=target, reason=fault.details.get("reason")) from fault


_TEXTS: Mapping[str, Callable[[Memory, str], tuple[int, int]]] = {
    "lancedb": lambda memory, target: exporting.copy_to_lance(memory, Path(target)),
    "milvus": exporting.copy_to_milvus,
}
_FORESTS: Mapping[str, Callable[[Memory, Path, str, str], Path]] = {
    "memforest": exporting.copy_to_forest_tables,
    "memforest-json": exporting.copy_to_forest_json,
}


def write_rows(
    target: Path, folder: Path, words: Words, screen: Screen, clock: Callable[[], datetime]
) -> Exit:
    """Write the memory of a data directory as JSON, also while another program chats with it."""
    with _faults_of(target):
        rows = write_portable(folder, target.expanduser().absolute(), clock)
    screen.line(words.say("export.rows_done", path=target, rows=f"{rows:,}"), "good")
    return Exit.OK


def write_markdown(target: Path, conversation: Conversation, words: Words, screen: Screen) -> Exit:
    """Write everything that can be read of a memory as Markdown."""
    memory = conversation.memory
    sessions = list(reversed(memory.sessions.recent(None)))
    path = write_new(
        str(target),
        "\n".join(
            [
                *_images(conversation, words),
                *_chapters(memory, words),
                exported(sessions, memory, conversation, "md", words),
            ]
        ),
    )
    screen.line(words.say("export.done", sessions=words.count("session", len(sessions)), path=path), "good")
    return Exit.OK


def _images(conversation: Conversation, words: Words) -> list[str]:
    """The two images with what became of what they tell, and what they were before."""
    lines = [f"# {words.say('export.images')}", ""]
    for image in IMAGES:
        versions = conversation.memory.personas.history(image)
        lines += [f"## {words.say(f'image.{image}')}", "", conversation.image(image), ""]
        for version in versions[:-1]:
            when = words.say("export.image_version", when=local(version.timestamp))
            lines += [f"### {when}", "", version.text, ""]
    return lines


def _chapters(memory: Memory, words: Words) -> list[str]:
    """What several sessions came to together, the earliest first, the widest before those under it."""
    told = [one for one in memory.chapters.all() if one.text and not one.session_id]
    lines = [f"# {words.say('export.chapters')}", ""] if told else []
    for one in sorted(told, key=lambda one: (one.start, -one.height)):
        lines += [f"## {day_here(one.start)} – {day_here(one.end)}", "", one.text, ""]
    return lines


def bring_back(
    path: Path,
    settings_folder: Path,
    memory_is_empty: Callable[[], bool],
    words: Words,
    screen: Screen,
    clock: Callable[[], datetime],
) -> bool:
    """Lay a whole memory back from the rows of a file, where nothing was ever said. False where it is none of that.

    Raises Damaged (``import.whole_damaged``): nothing was changed then.
    """
    from histories.own_export import whole_export
    from histories.streaming import JsonError

    if not path.is_file() or not _can_be_read(path):  # whoever reads it as talk says so
        return False
    with whole_export(path) as whole:
        if whole is None:
            return False
        if not memory_is_empty():
            screen.line(words.say("import.whole_elsewhere", path=path), "warning")
            return False
        try:
            restore_portable(whole.schema, whole.rows, settings_folder, clock)
        except (JsonError, errors.Damaged) as fault:
            details = fault.details if isinstance(fault, errors.Damaged) else {"reason": fault}
            reason = details.get("what") or details.get("reason")
            raise errors.Damaged("import.whole_damaged", path=str(path), reason=reason) from fault
    screen.line(words.say("import.whole_done", path=path), "good")
    return True


def _can_be_read(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return bool(file.read(1))
    except OSError:
        return False
