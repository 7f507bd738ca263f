"""Files of the person's own: texts edited in their editor, sessions written as Markdown or JSON."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from conversation import Conversation
from domain import errors
from domain.errors import Exit
from domain.facts import Fact
from domain.file_reader import open_bytes
from domain.records import IMPORT_CLIENT, PERSONAS, Message, Session
from domain.text import clean_text, one_line
from interfaces.messages import Words
from interfaces.recollections import describe_fact
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.screen import Screen
from interfaces.terminal.session_view import day_here, format_local
from jobs import exporting
from language.calendar import UNKNOWN_DATE
from memory import Memory, Prepare, restore_portable, write_portable

FORMATS = ("md", "json")
#: Longer than any note or fact is.
_WHOLE = 10_000
#: Editors that are tried where the person chose none.
_FALLBACKS = ("editor", "nano", "vim", "vi", "ed")


def format_sessions(
    chosen: Sequence[Session],
    memory: Memory,
    conversation: Conversation,
    form: str,
    words: Words,
    *,
    hidden: bool = False,
) -> str:
    """Sessions, oldest first, in one of ``FORMATS``; the words of hidden messages only with ``hidden``."""
    if form == "json":
        return json.dumps(
            {"sessions": [_session_values(session, memory, hidden) for session in chosen]}, ensure_ascii=False, indent=2
        )
    names = {"user": conversation.person(words.language), "assistant": conversation.companion(words.language)}
    return "\n".join(_session_markdown(session, memory, names, words, hidden) for session in chosen)


def write_new(name: str, content: str) -> Path:
    """Write a new file that only its owner may read. Raises UsageError, also when there is such a file."""
    path = Path(name).expanduser().absolute()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(content.rstrip("\n") + "\n")
    except FileExistsError as fault:
        raise errors.UsageError("export.exists", path=path) from fault
    except OSError as fault:
        raise errors.UsageError("export.failed", path=path, reason=fault.strerror) from fault
    return path


def _session_values(session: Session, memory: Memory, hidden: bool) -> dict[str, object]:
    summary = memory.summaries.of(session.session_id)
    stored_messages = memory.messages.of_session(session.session_id)
    alone = _one_sided(session, stored_messages)
    messages = [
        {
            "text_id": message.text_id, "timestamp": message.timestamp, "role": message.role,
            "text": message.words if hidden or not message.hidden else "",
            "finish": message.finish, "alone": message.text_id in alone, "hidden": message.hidden,
            "speaker": message.speaker, "undated": message.undated,
        }
        for message in stored_messages
    ]  # fmt: skip
    known = {
        "notes": [asdict(note) for note in memory.notes.of_session(session.session_id)],
        "facts": [
            {**asdict(fact), "current": fact.current, "basis": fact.basis}
            for fact in _session_facts(memory, stored_messages)
        ],
    }
    return {**asdict(session), "summary": summary.summary if summary else None, "turns": messages, **known}


def _session_facts(memory: Memory, messages: Sequence[Message]) -> list[Fact]:
    """The facts that rest on these turns, in the order in which they were learned."""
    resting = memory.facts.of_messages([message.text_id for message in messages])
    by_number = {fact.number: fact for found in resting.values() for fact in found}
    return [by_number[number] for number in sorted(by_number)]


def _one_sided(session: Session, messages: Sequence[Message]) -> set[str]:
    """The messages whose partner was erased; in an imported session many never had one."""
    if session.client == IMPORT_CLIENT:
        return set()
    counts = Counter(message.round for message in messages)
    return {message.text_id for message in messages if message.round > 0 and counts[message.round] == 1}


def _session_markdown(session: Session, memory: Memory, names: dict[str, str], words: Words, hidden: bool) -> str:
    summary = memory.summaries.of(session.session_id)
    parts = [f"# {format_local(session.start_timestamp)} · {session.session_id}", ""]
    if summary:
        parts += ["> " + line for line in summary.summary.splitlines()] + [""]
    messages = memory.messages.of_session(session.session_id)
    alone = _one_sided(session, messages)
    for message in messages:
        erased = f"*{words.say(f'export.alone.{message.role}')}*"
        marked = [f"*{words.say('export.hidden')}*", ""] if message.hidden else []
        who, when = (
            message.speaker or names[message.role],
            UNKNOWN_DATE if message.undated else format_local(message.timestamp),
        )
        said = [f"**{who}** · {when}", "", *marked, *([message.words, ""] if hidden or not message.hidden else [])]
        if message.text_id not in alone:
            parts += said
        else:
            parts += [*said, erased, ""] if message.role == "user" else [erased, "", *said]
    return "\n".join([*parts, *_known_markdown(memory, session, messages, words, names)])


def _known_markdown(
    memory: Memory, session: Session, messages: Sequence[Message], words: Words, names: Mapping[str, str]
) -> list[str]:
    """The notes of a session, each with its facts and when the words were said on which they rest."""
    notes, facts = memory.notes.of_session(session.session_id), _session_facts(memory, messages)
    if not notes and not facts:
        return []
    when = {message.text_id: format_local(message.timestamp) for message in messages}
    alone = [fact for fact in facts if fact.note not in {note.text_id for note in notes}]
    lines = [f"## {words.say('export.facts')}", ""]
    for note in notes:
        lines.append(f"- {one_line(note.text, _WHOLE)} ({_date_range(note.messages, when)})")
        lines += [f"  {_format_bullet(fact, when, words, names)}" for fact in facts if fact.note == note.text_id]
    return [*lines, *(_format_bullet(fact, when, words, names) for fact in alone), ""]


def _format_bullet(fact: Fact, when: Mapping[str, str], words: Words, names: Mapping[str, str]) -> str:
    """A fact, whether it holds, and what it rests on."""
    details = [words.say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" and fact.verified else []
    details += [words.say("facts.since", day=day_here(fact.holds_since))] if fact.holds_since else []
    details += [words.say("facts.until", day=day_here(fact.until))] if fact.until else []
    details += [words.say("why.became.untrue")] if fact.corrected else []
    doubtful = fact.doubtful_since and day_here(fact.doubtful_since)
    details += [words.say("why.became.doubtful_since", day=doubtful)] if doubtful else []
    text = one_line(describe_fact(words, fact, names), _WHOLE)
    return f"- {text} [{' · '.join(details)}] ({_date_range(fact.messages, when)})"


def _date_range(messages: Sequence[str], when: Mapping[str, str]) -> str:
    return ", ".join(when.get(message, "–") for message in messages)


def edit_text(context: CommandContext, text: str) -> str:
    """The text after the person edited it in ``$VISUAL`` or ``$EDITOR``.

    The file that the editor sees is for its owner only and is gone afterwards.
    Raises UsageError when there is no terminal, or when no editor can be started.
    """
    if not context.interactive:
        raise errors.UsageError("batch.needs_terminal", command="$EDITOR")
    with context.reader.lend_terminal():
        return _run_editor(text, context.environment)


def _run_editor(text: str, environment: Mapping[str, str]) -> str:
    import shlex
    import subprocess
    import tempfile

    chosen = environment.get("VISUAL") or environment.get("EDITOR")
    command = shlex.split(chosen) if chosen else [next((name for name in _FALLBACKS if shutil.which(name)), "vi")]
    descriptor, name = tempfile.mkstemp(suffix=".txt", prefix="old-friend-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") or not text else text + "\n")
        if subprocess.run([*command, name], check=False).returncode != 0:
            return text
        return clean_text(path.read_text(encoding="utf-8", errors="replace")).rstrip("\n")
    except OSError as fault:
        raise errors.UsageError("prompt.no_editor", command=" ".join(command)) from fault
    finally:
        path.unlink(missing_ok=True)


#: The copies for another program that ``--export`` makes; and all that it takes, shown where something else was given.
COPIES = ("lancedb", "milvus", "memforest", "memforest-json")
FORMS = "FILE.json, FILE.md, lancedb:FOLDER, milvus:FILE.db|URI, memforest:FOLDER, memforest-json:FOLDER"
#: What a memory is called in MemForest's layouts: the program, and the life that it holds.
_CHATBOT, _LIFE = "old_friend", "life"


def write_copy(kind: str, target: str, memory: Memory, words: Words, screen: Screen) -> Exit:
    """Write the memory for another program, one of ``COPIES``. Raises StorageError."""
    folder = Path(target)
    with _faults_of(folder):
        if kind.startswith("memforest"):
            copy = exporting.copy_to_forest_tables if kind == "memforest" else exporting.copy_to_forest_json
            path = copy(memory, folder, _CHATBOT, _LIFE)
            screen.line(words.say("export.forest_done", path=path), "good")
            return Exit.OK
        to_lance = kind == "lancedb"
        copied, waiting = (
            exporting.copy_to_lance(memory, folder) if to_lance else exporting.copy_to_milvus(memory, target)
        )
    screen.line(words.say("export.texts_done", path=target, texts=f"{copied:,}"), "good")
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
        if fault.key not in ("storage.failed", "storage.read_only") or where.parent not in (place, place.parent):
            raise
        raise errors.StorageError("export.failed", path=target, reason=fault.details.get("reason")) from fault


def write_rows(target: Path, folder: Path, words: Words, screen: Screen, clock: Callable[[], datetime]) -> Exit:
    """Write the memory of a data directory as JSON, also while another program chats with it."""
    with _faults_of(target):
        rows = write_portable(folder, target.expanduser().absolute(), clock)
    screen.line(words.say("export.rows_done", path=target, rows=f"{rows:,}"), "good")
    return Exit.OK


def write_markdown(target: Path, conversation: Conversation, words: Words, screen: Screen) -> Exit:
    """Write everything that can be read of a memory as Markdown."""
    memory = conversation.memory
    sessions = list(reversed(memory.sessions.recent(None)))
    lines = [*_persona_markdown(conversation, words), *_chapter_markdown(memory, words)]
    path = write_new(str(target), "\n".join([*lines, format_sessions(sessions, memory, conversation, "md", words)]))
    screen.line(words.say("export.done", sessions=words.count("session", len(sessions)), path=path), "good")
    return Exit.OK


def _persona_markdown(conversation: Conversation, words: Words) -> list[str]:
    """The two personas with what became of what they tell, and what they were before."""
    lines = [f"# {words.say('export.personas')}", ""]
    for persona in PERSONAS:
        versions = conversation.memory.personas.history(persona)
        lines += [f"## {words.say(f'persona.{persona}')}", "", conversation.persona(persona), ""]
        for version in versions[:-1]:
            when = words.say("export.persona_version", when=format_local(version.timestamp))
            text = conversation.memory.personas.versions.text_without_hidden(version)
            lines += [f"### {when}", "", text, ""]
    return lines


def _chapter_markdown(memory: Memory, words: Words) -> list[str]:
    """The chapters, the earliest first, each before those under it."""
    chapters = [one for one in memory.chapters.all() if one.text and not one.session_id]
    lines = [f"# {words.say('export.chapters')}", ""] if chapters else []
    for one in sorted(chapters, key=lambda one: (one.start, -one.height)):
        lines += [f"## {day_here(one.start)} – {day_here(one.end)}", "", one.text, ""]
    return lines


def restore_whole(
    path: Path,
    settings_folder: Path,
    memory_is_empty: Callable[[], bool],
    words: Words,
    screen: Screen,
    clock: Callable[[], datetime],
    prepare: Prepare,
) -> bool:
    """Restore a whole memory from the rows of a file into an empty one. False where the file is another format.

    Raises Damaged (``import.whole_damaged``): nothing was changed then.
    """
    from importers.json_stream import JsonError
    from importers.memory_dumps import open_whole_export

    begun = b""
    with suppress(OSError), open_bytes(path, 1) as file:  # whoever reads it as talk says so
        begun = file.read(1)
    if not begun:
        return False
    with open_whole_export(path) as whole:
        if whole is None:
            return False
        if not memory_is_empty():
            screen.line(words.say("import.whole_elsewhere", path=path), "warning")
            return False
        try:
            restore_portable(*whole, settings_folder, clock, prepare)
        except (JsonError, errors.Damaged) as fault:
            details = fault.details if isinstance(fault, errors.Damaged) else {"reason": fault}
            reason = details.get("what") or details.get("reason")
            raise errors.Damaged("import.whole_damaged", path=str(path), reason=reason) from fault
    screen.line(words.say("import.whole_done", path=path), "good")
    return True
