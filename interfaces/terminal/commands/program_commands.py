"""Commands that look into the program: the summary, the prompt that was sent, the status."""

from __future__ import annotations

import base64
import difflib
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from domain import errors
from domain.settings import TABLE
from domain.text import mask_url
from interfaces.terminal import file_export
from interfaces.terminal.command_context import CommandContext, Next, Restart, mask_key, read_switch
from interfaces.terminal.history_import import reading_left
from interfaces.terminal.screen import cells_of
from language.scripts import estimate
from llm import Layers, ModelAnswer
from people import PEOPLE

_COPY_BYTES = 100_000
#: Rows of ``/status``, and what it shows before anything else: what is wrong comes first.
_ROWS = 10
_FOREMOST = (
    "trouble", "failed_job", "degraded", "set_aside", "model", "session", "context", "data", "facts", "index",
    "embedder", "rounds", "base", "imported",
)  # fmt: skip
#: The layers in the system message, behind its rules.
_IN_SYSTEM = ("self_image", "user_image", "summary")


def _change_summary(context: CommandContext, argument: str) -> None:
    session_id = context.session_id
    if argument.strip().lower() == "edit":
        stored = context.memory.summaries.of(session_id)
        text = stored.summary if stored else ""
        edited = file_export.edit_text(context, text)
        if edited == text:
            context.tell("unchanged")
        else:
            context.memory.rounds.set_summary(session_id, edited)
            context.tell("summary.saved")
    elif (shown := context.memory.shown.summary(session_id)) and shown.summary:
        context.aside.line(shown.summary)
    else:
        context.tell("summary.nothing")


def show_context(context: CommandContext, argument: str) -> None:
    """``/context [summary [edit]]``."""
    first, _, rest = argument.strip().partition(" ")
    if first.lower() == "summary":
        _change_summary(context, rest)
    elif context.conversation.last:
        _show_prompt(context, context.conversation.last.answered)
    else:
        context.tell("context.nothing")


def _show_prompt(context: CommandContext, answered: ModelAnswer) -> None:
    """What was sent last: the tokens of each layer, every message word for word, and the tokens in all."""
    say, count = context.words.say, context.words.count
    parts = [(part, estimate(text)) for part, text in _layer_texts(answered.layers).items() if text]
    in_system = sum(tokens for part, tokens in parts if part in _IN_SYSTEM)
    rules = sum(estimate(one.content) for one in answered.messages if one.role == "system") - in_system
    for part, tokens in [("system", max(0, rules)), *parts]:
        context.tell("context.part", "quiet", part=say(f"layer.{part}"), tokens=count("token", tokens))
    for message in answered.messages:
        context.aside.line()
        tokens = estimate(message.content)
        context.tell("context.message", "title", role=message.role, tokens=count("token", tokens))
        context.aside.line(message.content)
    total = count("token", sum(estimate(message.content) for message in answered.messages))
    counted = answered.reply.prompt_tokens
    context.aside.line()
    context.tell(
        "context.total" if counted is None else "context.total_counted", "quiet", tokens=total, counted=counted
    )


def _layer_texts(layers: Layers) -> dict[str, str]:
    recalled = [one.text for one in layers.recalled.summaries]
    recalled += [one.text for one in layers.recalled.messages]
    recalled += [one.text for one in layers.recalled.facts]
    rounds = [message.words for spoken in layers.rounds for message in (spoken.user, spoken.assistant)]
    return {
        "self_image": layers.self_image,
        "user_image": layers.user_image,
        "summary": layers.summary,
        "recalled": "\n".join(recalled),
        "rounds": "\n".join(rounds),
        "input": layers.text,
    }


def show_status(context: CommandContext, argument: str) -> None:
    """``/status [all]``: what matters most, on ten rows; or everything, with all settings."""
    rows = [*_model_rows(context), *_session_rows(context), *_storage_rows(context)]
    rows.append(("version", context.version))
    whole = argument.strip().lower() == "all"
    if not whole:
        foremost = sorted((row for row in rows if row[0] in _FOREMOST), key=lambda row: _FOREMOST.index(row[0]))
        rows = [row for row in rows if row in foremost[: _ROWS - 1]]
    _show_table(context, [(context.words.say(f"status.{name}"), value) for name, value in rows])
    if not whole:
        context.tell("status.more", "quiet")
        return
    context.aside.line()
    context.tell("status.settings", "title")
    _show_table(context, _setting_rows(context))


def _show_table(context: CommandContext, rows: list[tuple[str, str]]) -> None:
    column = max(cells_of(name) for name, _ in rows) + 2
    for name, value in rows:
        context.aside.name_and_text(name, value, column, ("quiet", "words"))


def _model_rows(context: CommandContext) -> list[tuple[str, str]]:
    described, settings, say = context.conversation.llm.described, context.settings, context.words.say
    key = mask_key(settings.openai_api_key) if settings.openai_api_key else say("status.key_none")
    embedder = context.conversation.llm.embedder.model
    place = say("status.embedder_builtin") if settings.embeds_here else mask_url(settings.embedding_base)
    return [
        ("model", say("status.demo") if described.demo else described.model),
        ("base", "–" if described.demo else described.base),
        ("key", key),
        ("embedder", f"{embedder} · {place}"),
    ]


def _session_rows(context: CommandContext) -> list[tuple[str, str]]:
    conversation, say = context.conversation, context.words.say
    rounds = say(
        "status.rounds_value",
        context=len(conversation.rounds_in_context()),
        most=context.settings.max_conv_num,
        session=len(context.memory.messages.rounds(context.session_id)),
    )
    rows = [("session", context.session_id), ("rounds", rounds)]
    if use := context.context_use():
        key = "status.context_known" if use.known else "status.context_guessed"
        counts = {"tokens": f"{use.tokens:,}", "limit": f"{use.limit:,}", "share": round(use.used_share * 100)}
        rows.append(("context", say(key, **counts)))
    reply = conversation.last.answered.reply if conversation.last else None
    if reply and reply.prompt_tokens is not None and reply.completion_tokens is not None:
        counts = {"prompt": reply.prompt_tokens, "completion": reply.completion_tokens}
        rows.append(("tokens", say("status.tokens_value", **counts)))
    if spent := conversation.llm.spent:
        calls, tokens = (sum(each) for each in zip(*spent.values(), strict=True))
        tasks = " · ".join(
            say("status.background_task", task=say(f"task.{task}"), tokens=f"{tokens:,}")
            for task, (_, tokens) in sorted(spent.items())
        )
        counted = {"calls": context.words.count("call", calls), "tokens": f"{tokens:,}", "tasks": tasks}
        rows.append(("background", say("status.background_value", **counted)))
    return rows


def _storage_rows(context: CommandContext) -> list[tuple[str, str]]:
    memory, say, settings = context.memory, context.words.say, context.settings
    index, known = memory.index.status(), memory.facts.count_all()
    state = say(f"index.{index.doing}")
    facts, notes = context.words.count("fact", known.current), context.words.count("note", known.notes)
    counted = say("status.facts_value", current=facts, past=known.past, notes=notes, unread=known.unread)
    log = settings.log_dir / "debug.log"
    place = f"{settings.data_dir} · {size_of(settings.data_dir, PEOPLE)}"
    rows = [
        ("data", say("status.in_database", path=memory.path) if settings.database_url else place),
        ("facts", counted + (say("status.facts_quoted", quoted=known.quoted) if known.quoted else "")),
        *([("imported", backlog)] if (backlog := reading_left(context)) else []),
        ("index", say("status.index_value", state=state, vectors=index.vectors, waiting=index.waiting)),
        ("log", say("status.debug_on" if context.debug.on else "status.debug_off", path=log)),
    ]
    rows += _failed_job_rows(context)
    if index.trouble:
        rows.append(("trouble", context.words.describe_error(index.trouble)))
    if index.set_aside:
        rows.append(("set_aside", say("status.set_aside_value", count=len(index.set_aside))))
    if index.degraded:
        rows.append(("degraded", say("status.degraded_value", parts=index.degraded)))
    return rows


def _failed_job_rows(context: CommandContext) -> list[tuple[str, str]]:
    """A row for each background job that failed and is tried again; those of one kind and reason share it."""
    say, described = context.words.say, context.conversation.llm.described
    tries: dict[tuple[str, str], int] = {}
    for job in context.memory.jobs.failed():
        tries[job.kind, job.reason] = max(job.attempts, tries.get((job.kind, job.reason), 0))
    # The job stores which error it was, with its numbers; what is known of the model now fills the rest.
    details = {"base": described.base, "model": described.model, "key_hint": "", "nearest_hint": ""}
    rows = []
    for (kind, reason), count in tries.items():
        key, _, numbers = reason.partition(" ")
        said = say(key, **details | json.loads(numbers or "{}"))
        row = {"job": say(f"job.{kind}"), "tries": context.words.count("try", count), "reason": said}
        rows.append(("failed_job", say("status.failed_job_value", **row)))
    return rows


def _setting_rows(context: CommandContext) -> list[tuple[str, str]]:
    """Name, value and source of every setting; keys masked."""
    rows = []
    for setting in TABLE:
        value = getattr(context.settings, setting.field_name)
        shown = (mask_key(value) if value else "–") if setting.secret else setting.mask_value(_as_set(value))
        source = context.words.say(f"source.{context.settings.sources[setting.name]}")
        rows.append((setting.name, f"{shown} · {source}"))
    return rows


def _as_set(value: object) -> str:
    """A value as it would be written into ``.env``.

    >>> _as_set(True), _as_set(120.0), _as_set(timedelta(hours=8)), _as_set(""), _as_set(())
    ('1', '120', '8', '–', '–')
    """
    if isinstance(value, timedelta):
        return f"{value / timedelta(hours=1):g}"
    if isinstance(value, bool | float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "–"
    return str(value) or "–"


def size_of(folder: Path, besides: str = "") -> str:
    """How much a folder takes on the disk, ``besides`` a folder in it.

    >>> size_of(Path("/nowhere"))
    '0 B'
    """
    own = (path for path in folder.rglob("*") if not besides or folder / besides not in path.parents)
    size: float = sum(path.stat().st_size for path in own if path.is_file())
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError


def copy_reply(context: CommandContext, argument: str) -> None:
    """``/copy``."""
    rounds = context.conversation.rounds_in_context()
    words = rounds[-1].assistant.words.encode("utf-8") if rounds else b""
    if not rounds:
        context.tell("copy.nothing")
    elif context.screen.plain or len(words) > _COPY_BYTES:
        context.tell("copy.no_terminal", "warning")
    else:
        context.screen.to_clipboard(base64.b64encode(words).decode())
        context.tell("copy.done", "quiet")


def choose_model(context: CommandContext, argument: str) -> Next:
    """``/model [NAME|NUMBER]``."""
    described, wanted = context.conversation.llm.described, argument.strip()
    if described.demo:
        context.tell("models.demo_model")
        return None
    names = _list_models(context, wanted)
    if not wanted:
        for at, name in enumerate(names, 1):
            mark = f" · {context.words.say('models.now')}" if name == described.model else ""
            context.aside.line(f"{at:>3}  {name}{mark}", "good" if mark else "words")
        context.tell("models.how", "quiet")
        return None
    chosen = _find_model(wanted, names)
    if chosen is None:
        near = difflib.get_close_matches(wanted, names, 3, 0.3) or names[:3]
        context.tell("models.unknown", "warning", wanted=wanted, names=context.words.join(near))
    elif chosen == described.model:
        context.tell("models.present", model=chosen)
    else:
        return _switch_model(context, chosen)
    return None


def _list_models(context: CommandContext, wanted: str) -> list[str]:
    """The models that chat. A server that lists nothing may still have the one that is asked for."""
    from interfaces.terminal.setup_wizard import chats_of

    context.begin_work()
    try:
        names = context.wait_for(context.conversation.llm.models, context.words.say("models.asking"))
        return chats_of(names) or [wanted]
    except errors.ModelError:
        if not wanted or wanted.isdecimal():
            raise
        return [wanted]


def _find_model(wanted: str, names: Sequence[str]) -> str | None:
    """The model with this name or number, or the only one that has this in its name.

    >>> names = ["gpt-a", "gpt-b"]
    >>> _find_model("2", names), _find_model("-B", names), _find_model("gpt", names)
    ('gpt-b', 'gpt-b', None)
    """
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 0 < int(wanted[:6]) <= len(names):
        return names[int(wanted) - 1]
    found = [name for name in names if wanted.lower() in name.lower()]
    return found[0] if len(found) == 1 else None


def _switch_model(context: CommandContext, chosen: str) -> Next:
    """Write the model down as ``/setup`` does, and restart with it."""
    from interfaces.terminal.setup_wizard import write_settings

    path = context.settings.env_file
    if context.conversation.incognito:
        context.tell("models.incognito", "warning")
        return None
    try:
        write_settings(path, {"CHAT_MODEL": chosen}, context.words.language)
    except errors.StorageError as error:
        context.tell("setup.failed", "trouble", path=path, reason=error)
        return None
    if context.environment.get("CHAT_MODEL", chosen) != chosen:
        context.tell("setup.environment", "warning", names="CHAT_MODEL")
        return None
    context.tell("models.switched", "good", model=chosen, path=path)
    return Restart()


def switch_debug(context: CommandContext, argument: str) -> None:
    """``/debug on|off``."""
    wanted = read_switch(context, "/debug", argument, context.debug.on)
    if wanted is not None:
        context.debug.switch(wanted)
        path = context.settings.log_dir / "debug.log"
        context.tell("switch.debug_on" if wanted else "switch.debug_off", path=path)
