"""Commands that look into the program: the summary, the prompt that was sent, how everything stands."""

from __future__ import annotations

import base64
from pathlib import Path

from config import TABLE
from llm import Layers
from models.tokens import estimate
from terminal.desk import Desk, Next
from terminal.explaining import masked
from terminal.widths import cells_of

_COPY_BYTES = 100_000
#: The layers that stand in the system message, behind its rules.
_IN_SYSTEM = ("self_image", "user_image", "summary")


def summary(desk: Desk, argument: str) -> Next:
    """``/summary [edit]``"""
    session_id = desk.conversation.session.session_id
    found = desk.conversation.memory.sessions.summary(session_id)
    text = found.summary if found else ""
    if argument.strip().lower() == "edit":
        edited = desk.edited(text)
        if edited == text:
            desk.tell("kept")
        else:
            desk.conversation.memory.set_summary(session_id, edited)
            desk.tell("summary.saved")
    elif text:
        desk.aside.line(text)
    else:
        desk.tell("summary.nothing")
    return None


def context(desk: Desk, argument: str) -> Next:
    """``/context``"""
    last = desk.conversation.last
    if last is None:
        desk.tell("context.nothing")
        return None
    parts = [(part, estimate(text)) for part, text in _parts(last.asked.layers) if text]
    in_system = sum(tokens for part, tokens in parts if part in _IN_SYSTEM)
    rules = sum(estimate(one.content) for one in last.asked.messages if one.role == "system") - in_system
    for part, tokens in [("system", max(0, rules)), *parts]:
        desk.tell("context.part", "quiet", part=desk.words.say(f"layer.{part}"), tokens=tokens)
    for message in last.asked.messages:
        desk.aside.line()
        desk.tell("context.message", "title", role=message.role, tokens=estimate(message.content))
        desk.aside.line(message.content)
    total = sum(estimate(message.content) for message in last.asked.messages)
    counted = last.asked.reply.prompt_tokens
    desk.aside.line()
    key = "context.total" if counted is None else "context.total_counted"
    desk.tell(key, "quiet", tokens=total, counted=counted)
    return None


def _parts(layers: Layers) -> list[tuple[str, str]]:
    """The layers of the prompt in their order, as texts to be weighed."""
    recalled = [memory.text for memory in layers.recalled.summaries]
    recalled += [memory.text for memory in layers.recalled.turns]
    rounds = [turn.words for spoken in layers.rounds for turn in (spoken.user, spoken.assistant)]
    return [
        ("self_image", layers.self_image),
        ("user_image", layers.user_image),
        ("summary", layers.summary),
        ("recalled", "\n".join(recalled)),
        ("rounds", "\n".join(rounds)),
        ("input", layers.text),
    ]


def status(desk: Desk, argument: str) -> Next:
    """``/status``"""
    rows = [*_model_rows(desk), *_session_rows(desk), *_storage_rows(desk)]
    rows.append(("version", desk.version))
    _table(desk, [(desk.words.say(f"status.{name}"), value) for name, value in rows])
    desk.aside.line()
    desk.tell("status.settings", "title")
    _table(desk, [(name, f"{value} · {source}") for name, value, source in _settings(desk)])
    return None


def _table(desk: Desk, rows: list[tuple[str, str]]) -> None:
    column = max(cells_of(name) for name, _ in rows) + 2
    for name, value in rows:
        desk.aside.pair(name, value, column, ("quiet", "words"))


def _model_rows(desk: Desk) -> list[tuple[str, str]]:
    described, settings, say = desk.conversation.llm.describe(), desk.settings, desk.words.say
    key = masked(settings.openai_api_key) if settings.openai_api_key else say("status.key_none")
    embedder = settings.embedding_model
    return [
        ("model", say("status.standin") if described.standin else described.model),
        ("base", "–" if described.standin else described.base),
        ("key", key),
        (
            "embedder",
            f"{embedder} · {settings.embedding_base}" if embedder else say("status.embedder_builtin"),
        ),
    ]


def _session_rows(desk: Desk) -> list[tuple[str, str]]:
    conversation, say = desk.conversation, desk.words.say
    session_id = conversation.session.session_id
    rounds = say(
        "status.rounds_value",
        context=len(conversation.rounds_in_context()),
        most=desk.settings.max_conv_num,
        session=len(conversation.memory.sessions.rounds(session_id)),
    )
    rows = [("session", session_id), ("rounds", rounds)]
    if conversation.last:
        reply = conversation.last.asked.reply
        counts = {"prompt": reply.prompt_tokens, "completion": reply.completion_tokens}
        rows.append(("tokens", say("status.tokens_value", **counts)))
    return rows


def _storage_rows(desk: Desk) -> list[tuple[str, str]]:
    memory, say, settings = desk.conversation.memory, desk.words.say, desk.settings
    index = memory.index.status()
    state = say(f"index.{index.doing}")
    log = settings.log_dir / "debug.log"
    rows = [
        ("data", say("status.size", path=settings.data_dir, size=size_of(settings.data_dir))),
        ("index", say("status.index_value", state=state, vectors=index.vectors, waiting=index.waiting)),
        ("log", say("status.debug_on" if desk.debug.on else "status.debug_off", path=log)),
    ]
    if index.set_aside:
        rows.append(("set_aside", say("status.set_aside_value", count=len(index.set_aside))))
    if index.degraded:
        rows.append(("degraded", say("status.degraded_value", parts=index.degraded)))
    return rows


def _settings(desk: Desk) -> list[tuple[str, str, str]]:
    """Name, value and source of every setting; keys masked."""
    rows = []
    for setting in TABLE:
        value = getattr(desk.settings, setting.field)
        shown = masked(value) if setting.secret and value else _as_set(value)
        rows.append((setting.name, shown, desk.words.say(f"source.{desk.settings.sources[setting.name]}")))
    return rows


def _as_set(value: object) -> str:
    """A value as it would be written into ``.env``.

    >>> _as_set(True), _as_set(120.0), _as_set("")
    ('1', '120', '–')
    """
    if isinstance(value, bool | float):
        return f"{value:g}"
    return str(value) or "–"


def size_of(folder: Path) -> str:
    """How much a folder takes on the disk.

    >>> size_of(Path("/nowhere"))
    '0 B'
    """
    size: float = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError


def copy(desk: Desk, argument: str) -> Next:
    """``/copy``"""
    rounds = desk.conversation.rounds_in_context()
    if not rounds:
        desk.tell("copy.nothing")
        return None
    words = rounds[-1].assistant.words.encode("utf-8")
    if desk.screen.plain or len(words) > _COPY_BYTES:
        desk.tell("copy.no_terminal", "warning")
        return None
    desk.screen.to_clipboard(base64.b64encode(words).decode())
    desk.tell("copy.done", "quiet")
    return None
