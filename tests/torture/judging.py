"""What must hold when the house is opened again after a kill, a power cut or a failing disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from domain import errors
from domain.workers import CancelToken
from jobs.rebuild import rebuild
from storage import erasure
from tests.torture.scene import MARKER, TYPED, Stage

Contents = dict[str, list[tuple[Any, ...]]]


def contents(folder: Path, url: str = "") -> Contents:
    """What the house in a folder remembers."""
    stage = Stage(folder, url=url)
    try:
        return remembered(stage)
    finally:
        stage.close()


_OF_FILE = {
    "chapters": "SELECT c.height, c.text, (SELECT group_concat(s.number) FROM session s WHERE s.chapter = c.seq)"
    " FROM chapter c ORDER BY c.height, c.text",
    "words": "SELECT tokens FROM message_words ORDER BY tokens",
    "summary words": "SELECT tokens FROM summary_words ORDER BY tokens",
}
_OF_SERVER = {"words": "SELECT shelf, terms FROM indexed_words WHERE shelf <> 'fact' ORDER BY shelf, terms"}


def remembered(stage: Stage) -> Contents:
    """Everything, without ids and times, in a form that can be compared."""
    queries = {
        "sessions": "SELECT number, status, end_timestamp IS NULL, current_conv_count FROM session ORDER BY number",
        "turns": "SELECT s.number, c.role, c.text, c.round, c.finish, c.compacted FROM conversation c"
        " JOIN session s USING (session_id) ORDER BY s.number, c.round, c.role DESC",
        "summaries": "SELECT s.number, m.summary, m.upto_round FROM summary m JOIN session s USING (session_id)"
        " ORDER BY s.number",
        "personas": "SELECT persona, text, origin FROM persona ORDER BY persona, version",
        "in flight": "SELECT text FROM in_flight",
        "stages": "SELECT count(*) FROM step WHERE kind = 'save'",
        # Other jobs are hints: whoever runs them looks first whether there is anything to do.
        "to be rebuilt": "SELECT j.kind, s.number FROM job j JOIN session s ON s.session_id = j.key"
        " WHERE j.kind IN ('summary', 'self', 'user') ORDER BY 1, 2",
        "hidden": "SELECT text FROM conversation WHERE hidden = 1 ORDER BY text",
    }
    queries |= _OF_FILE if not stage.url else _OF_SERVER
    found = dict(zip(queries, stage.read_all(queries.values()), strict=True))
    found["files"] = [(stage.memory.personas.read(persona),) for persona in ("self", "user")]
    return found


def judge(name: str, folder: Path, before: Contents, wanted: Contents, url: str = "") -> Iterator[str]:
    """What was promised and does not hold after a kill."""
    try:
        stage = Stage(folder, index=True, debug=name == "erase", url=url)
    except errors.OldFriendError as error:
        yield f"cannot be opened: {error}"
        return
    try:
        yield from unsound(stage)
        yield from JUDGES[name](stage, before, wanted)
        yield from astray(stage)
    finally:
        stage.close()


def astray(stage: Stage) -> Iterator[str]:
    """The index holds every text and no other, once it had time."""
    if not stage.memory.index.settle(60):
        yield f"the index does not recover: {stage.memory.index.status()}"
        return
    texts = "SELECT text_id FROM conversation WHERE hidden = 0 UNION SELECT text_id FROM summary"
    wanted = sorted(row[0] for row in stage.read(texts))
    if stage.indexed() != wanted:
        yield "the index does not hold what is remembered"


def unsound(stage: Stage) -> Iterator[str]:
    """What must hold at any moment."""
    yield from stage.memory.problems()
    words = "seq FROM indexed_words WHERE shelf = 'message'" if stage.url else "rowid AS seq FROM message_words"
    never = {
        "a round with half its turns": "SELECT 1 FROM conversation GROUP BY session_id, round HAVING count(*) <> 2",
        "a wrong count": "SELECT 1 FROM session s WHERE current_conv_count <> (SELECT count(*) FROM conversation c"
        " WHERE c.session_id = s.session_id AND role = 'user' AND compacted = 0)",
        "a turn that words cannot find": f"SELECT 1 FROM conversation WHERE seq NOT IN (SELECT {words}) AND hidden = 0",
        "words of no turn": f"SELECT 1 FROM (SELECT {words}) AS of WHERE seq NOT IN (SELECT seq FROM conversation)",
        "a turn without vector and not waiting for one": "SELECT 1 FROM conversation"
        " WHERE text_id NOT IN (SELECT text_id FROM pending)"
        " AND text_id NOT IN (SELECT text_id FROM embedding) AND hidden = 0",
        "a vector of what is hidden": "SELECT 1 FROM conversation WHERE hidden = 1"
        " AND text_id IN (SELECT text_id FROM pending UNION SELECT text_id FROM embedding)",
        "more or less than one active session": "SELECT 1 FROM (SELECT count(*) AS n FROM session"
        " WHERE status = 'active') AS active WHERE n <> 1",
    }
    found = zip(never, stage.read_all(never.values()), strict=True)
    yield from (what for what, rows in found if rows)


def _judge_round(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """All of it or nothing, and then it can be said again from what is in flight."""
    found = remembered(stage)
    stored = any(TYPED in row[2] for row in found["turns"])
    kept = [row[:4] for row in before["turns"]]
    if [row[:4] for row in found["turns"]][: len(kept)] != kept:
        yield "an older round has changed"
    if not stored:
        flying = stage.memory.sessions.in_flight(stage.talk.session.session_id)
        if flying is not None and flying.text != TYPED:
            yield f"{flying.text!r} is offered"
        stage.say(TYPED)
    else:
        if stage.memory.sessions.in_flight(stage.talk.session.session_id) is not None:
            yield "a stored round is offered again"
        stage.talk.compact_now()
    yield from _different(stage, wanted)


def _judge_round_alone(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """A round without a fold is stored in one commit."""
    yield from _half(stage, before, wanted)
    yield from _judge_round(stage, before, wanted)


def _judge_fold(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """Folded or not yet; then it is folded as if nothing had been."""
    yield from _half(stage, before, wanted)
    stage.talk.compact_now()
    yield from _different(stage, wanted)


def _judge_save(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """Nothing yet or everything; what was interrupted goes on and ends as if it had not been."""
    yield from _half(stage, before, wanted)
    if stage.memory.messages.rounds(stage.talk.session.session_id):
        stage.save()
    yield from _different(stage, wanted)


def _judge_reset(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    yield from _half(stage, before, wanted, noted=())
    stage.talk.reset()
    yield from _different(stage, wanted)


def _judge_erase(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """Once a turn is gone, finishing leaves it in no file; until then all is there.

    What was made from it is made anew, then or at the next start, and once.
    """
    gone = not any(MARKER in row[2] for row in remembered(stage)["turns"])
    if not gone:
        if remembered(stage)["turns"] != before["turns"]:
            yield "half erased"
        stage.erase()
    stage.memory.erasure.finish()
    folders = [stage.settings.data_dir, stage.settings.log_dir]
    yield from (
        f"{trace.path.name} holds it as {trace.form}" for trace in erasure.find_traces(folders, erasure.forms(MARKER))
    )
    yield from (f"{table} holds it" for table, _ in stage.memory._of.database.find_traces(erasure.forms(MARKER))[1])
    if remembered(stage)["turns"] != wanted["turns"]:
        yield "other turns are not what they were"
    list(rebuild(stage.memory, stage.llm, CancelToken()))
    yield from _different(stage, wanted)
    if stage.memory.erasure.is_unfinished():
        yield "the erasure is not finished"


def _judge_chapters(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """Each chapter is there as a whole or not at all; what is missing is written, and nothing twice."""
    found = remembered(stage)
    if not set(found["chapters"]) <= set(wanted["chapters"]):
        yield f"a chapter is half written: {found['chapters']!r}"
    stage.write_chapters()
    yield from _different(stage, wanted)


def _judge_import(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """What was stored stays, nothing that was there has changed, and the same again ends as if it had not been cut."""
    found = [row[2] for row in remembered(stage)["turns"]]
    if found[: len(before["turns"])] != [row[2] for row in before["turns"]]:
        yield "what was there has changed"
    stage.bring()
    yield from _different(stage, wanted)


def _half(
    stage: Stage, before: Contents, wanted: Contents, noted: Sequence[str] = ("in flight", "stages")
) -> Iterator[str]:
    """Nothing of it or all of it, but for what is noted on the way."""
    found = remembered(stage)
    names = [name for name in found if name not in noted]
    new = [name for name in names if found[name] != before[name]]
    missing = [name for name in names if found[name] != wanted[name]]
    if new and missing:
        yield f"half done: {new} are as if all had been done, or wrong, and {missing} are not"


def _different(stage: Stage, wanted: Contents) -> Iterator[str]:
    found = remembered(stage)
    yield from (
        f"{name} differ: {found[name]!r} for {wanted[name]!r}" for name in wanted if found[name] != wanted[name]
    )


JUDGES: dict[str, Callable[[Stage, Contents, Contents], Iterator[str]]] = {
    "round": _judge_round_alone,
    "turn": _judge_round,
    "fold": _judge_fold,
    "save": _judge_save,
    "reset": _judge_reset,
    "erase": _judge_erase,
    "chapters": _judge_chapters,
    "import": _judge_import,
}
