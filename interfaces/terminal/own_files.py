"""Files of the person's own: texts edited in their editor, sessions written as Markdown or JSON."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from conversation import Conversation
from domain import errors
from domain.facts import Fact
from domain.imports import IMPORT_DOOR
from domain.records import Session, Turn
from domain.text import UNKNOWN_DATE, clean, one_line
from interfaces.messages import Words
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.session_view import day_here, local
from memory import Memory

FORMATS = ("md", "json")
#: Longer than any note or fact is.
_WHOLE = 10_000
_FALLBACKS = ("editor", "nano", "vim", "vi", "ed")


def exported(
    chosen: Sequence[Session], memory: Memory, conversation: Conversation, form: str, words: Words
) -> str:
    """Sessions, oldest first, in one of ``FORMATS``."""
    if form == "json":
        return json.dumps(
            {"sessions": [_values(session, memory) for session in chosen]}, ensure_ascii=False, indent=2
        )
    names = {"user": conversation.person(words.language), "assistant": conversation.companion(words.language)}
    return "\n".join(_markdown(session, memory, names, words) for session in chosen)


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


def _values(session: Session, memory: Memory) -> dict[str, object]:
    summary = memory.summaries.of(session.session_id)
    turns = memory.messages.of_session(session.session_id)
    alone = _alone(session, turns)
    told = [
        {
            "text_id": turn.text_id,
            "timestamp": turn.timestamp,
            "role": turn.role,
            "text": turn.words,
            "finish": turn.finish,
            "alone": turn.text_id in alone,
            "withheld": turn.withheld,
            "speaker": turn.speaker,
            "undated": turn.undated,
        }
        for turn in turns
    ]
    known = {
        "notes": [asdict(note) for note in memory.facts.notes_of(session.session_id)],
        "facts": [_fact_values(fact) for fact in _facts(memory, turns)],
    }
    return {**asdict(session), "summary": summary.summary if summary else None, "turns": told, **known}


def _facts(memory: Memory, turns: Sequence[Turn]) -> list[Fact]:
    """The facts that rest on these turns, in the order in which they were learned."""
    resting = memory.facts.of_turns([turn.text_id for turn in turns])
    return sorted({fact.number: fact for found in resting.values() for fact in found}.values(), key=_number)


def _number(fact: Fact) -> int:
    return fact.number


def _fact_values(fact: Fact) -> dict[str, object]:
    return {**asdict(fact), "current": fact.current}


def _alone(session: Session, turns: Sequence[Turn]) -> set[str]:
    """The turns whose partner was erased; of a session that was brought along many never had one."""
    if session.door == IMPORT_DOOR:
        return set()
    counts = Counter(turn.round for turn in turns)
    return {turn.text_id for turn in turns if counts[turn.round] == 1}


def _markdown(session: Session, memory: Memory, names: dict[str, str], words: Words) -> str:
    summary = memory.summaries.of(session.session_id)
    parts = [f"# {local(session.start_timestamp)} · {session.session_id}", ""]
    if summary:
        parts += ["> " + line for line in summary.summary.splitlines()] + [""]
    turns = memory.messages.of_session(session.session_id)
    alone = _alone(session, turns)
    for turn in turns:
        erased = f"*{words.say(f'export.alone.{turn.role}')}*"
        marked = [f"*{words.say('export.withheld')}*", ""] if turn.withheld else []
        who, when = turn.speaker or names[turn.role], UNKNOWN_DATE if turn.undated else local(turn.timestamp)
        said = [f"**{who}** · {when}", "", *marked, turn.words, ""]
        if turn.text_id not in alone:
            parts += said
        else:
            parts += [*said, erased, ""] if turn.role == "user" else [erased, "", *said]
    return "\n".join([*parts, *_known(memory, session, turns, words)])


def _known(memory: Memory, session: Session, turns: Sequence[Turn], words: Words) -> list[str]:
    """The notes of a session, each with its facts and when the words were said on which they rest."""
    notes, facts = memory.facts.notes_of(session.session_id), _facts(memory, turns)
    if not notes and not facts:
        return []
    when = {turn.text_id: local(turn.timestamp) for turn in turns}
    alone = [fact for fact in facts if fact.note not in {note.text_id for note in notes}]
    lines = [f"## {words.say('export.known')}", ""]
    for note in notes:
        lines.append(f"- {one_line(note.text, _WHOLE)} ({_dates(note.turns, when)})")
        lines += [f"  {_bullet(fact, when, words)}" for fact in facts if fact.note == note.text_id]
    return [*lines, *(_bullet(fact, when, words) for fact in alone), ""]


def _bullet(fact: Fact, when: Mapping[str, str], words: Words) -> str:
    """A fact, whether it holds, and what it rests on."""
    held = [words.say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    held += [words.say("facts.since", day=day_here(fact.began))] if fact.began else []
    held += [words.say("facts.until", day=day_here(fact.until))] if fact.until else []
    held += [words.say("facts.mark.wrong")] if fact.corrected else []
    doubtful = fact.doubtful_since and day_here(fact.doubtful_since)
    held += [words.say("facts.mark.doubtful", day=doubtful)] if doubtful else []
    return f"- {one_line(fact.restatement, _WHOLE)} [{' · '.join(held)}] ({_dates(fact.turns, when)})"


def _dates(turns: Sequence[str], when: Mapping[str, str]) -> str:
    return ", ".join(when.get(turn, "–") for turn in turns)


def edited(context: CommandContext, text: str) -> str:
    """The text after the person edited it in ``$VISUAL`` or ``$EDITOR``.

    The file that the editor sees is for its owner only and is gone afterwards.
    Raises UsageError when there is no terminal, or when no editor can be started.
    """
    if not context.interactive:
        raise errors.UsageError("batch.needs_terminal", command="$EDITOR")
    with context.reader.lent():
        return _edited(text, context.environment)


def _edited(text: str, environment: Mapping[str, str]) -> str:
    import subprocess
    import tempfile

    command = editor_command(environment)
    descriptor, name = tempfile.mkstemp(suffix=".txt", prefix="old-friend-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") or not text else text + "\n")
        if subprocess.run([*command, name], check=False).returncode != 0:
            return text
        return clean(path.read_text(encoding="utf-8", errors="replace")).rstrip("\n")
    except OSError as fault:
        raise errors.UsageError("prompt.no_editor", command=" ".join(command)) from fault
    finally:
        path.unlink(missing_ok=True)


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The editor that the person chose, or the first that is installed."""
    import shlex

    chosen = environment.get("VISUAL") or environment.get("EDITOR")
    if chosen:
        return shlex.split(chosen)
    return [next((name for name in _FALLBACKS if shutil.which(name)), "vi")]
