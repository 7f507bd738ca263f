"""The one table of commands: it feeds dispatch, completion, ``/help``, docs/commands.md and the READMEs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from domain.languages import Language
from interfaces.terminal.command_context import Choice, Choices, Command, CommandContext, Next
from interfaces.terminal.commands import (
    forgetting,
    helping,
    inspecting,
    memories,
    models,
    persona,
    reasons,
    saving,
    sessions,
    switches,
    talk,
)


def _help(en: str, zh: str) -> Mapping[Language, str]:
    return {"en": en, "zh": zh}


def _setup(context: CommandContext, argument: str) -> Next:
    """``/setup``, loaded when it is asked for."""
    from interfaces.terminal.setup.wizard import setup

    return setup(context, argument)


TABLE: tuple[Command, ...] = (
    Command(
        "save",
        "",
        _help(
            "Archive this session, update both images, begin a new one",
            "归档本次会话，更新两份形象，开始新会话",
        ),
        saving.save,
    ),
    Command(
        "reset",
        "",
        _help("Clear this session; older memories stay", "清空本次会话；更早的记忆不变"),
        saving.reset,
        destructive=True,
    ),
    Command("exit", "", _help("Leave; the next start goes on here", "离开；下次从这里继续"), talk.leave),
    Command(
        "help",
        "[COMMAND|all]",
        _help("What can be done", "能做什么"),
        helping.show_help,
        choices=helping.command_names,
    ),
    Command("retry", "", _help("Get another reply to your last message", "让上一句得到新的回复"), talk.retry),
    Command(
        "edit",
        "",
        _help("Change your last message and send it again", "修改上一句并重新发送"),
        talk.edit,
        alone=False,
    ),
    Command(
        "undo",
        "[n]",
        _help(
            "Take back the last n rounds; right after /reset, bring it back",
            "撤回最近 n 轮；紧接 /reset 之后则恢复",
        ),
        talk.undo,
    ),
    Command(
        "redo",
        "",
        _help(
            "Bring back what /undo took back, until something new is said",
            "恢复 /undo 撤回的内容，直到说出新的话",
        ),
        talk.redo,
    ),
    Command(
        "history",
        "[n]",
        _help("Show the last n rounds of this session", "显示本次会话最近 n 轮"),
        talk.history,
    ),
    Command(
        "memory",
        "[search] [WORDS]",
        _help("What is remembered, on one screen; or look for something", "一屏看完记忆；或在其中查找"),
        memories.memory,
        choices=lambda context, words: ["search"] if not words else [],
    ),
    Command(
        "why",
        "[full]",
        _help("What was recalled for the last reply; full: why", "上一条回复回忆了什么；full：为什么"),
        reasons.why,
        choices=lambda context, words: ["full"] if not words else [],
    ),
    Command(
        "forget",
        "last|asked|session N|turn ID|WORDS",
        _help("Erase from memory and disk, for good, with proof", "从记忆和磁盘上彻底抹去，并给出证明"),
        forgetting.forget,
        destructive=True,
        choices=forgetting.forget_choices,
    ),
    Command(
        "remember",
        "",
        _help("What you asked to have forgotten may be brought up again", "请它忘掉的内容，又可以提起了"),
        forgetting.remember,
    ),
    Command(
        "pin",
        "[self|user] [TEXT|N]",
        _help(
            "Put a line into an image, for good; a number lets it go",
            "把一行写进形象并一直保留；给编号则取消",
        ),
        persona.pin,
        choices=persona.pin_choices,
    ),
    Command(
        "persona",
        "[self|user] [show|edit|diff|restore N]",
        _help("The two images and all their versions", "两份形象及其全部版本"),
        persona.persona,
        choices=persona.persona_choices,
    ),
    Command(
        "sessions", "[n]", _help("The last n sessions, numbered", "最近 n 次会话，带编号"), sessions.sessions
    ),
    Command(
        "show",
        "N|last|ID",
        _help("Show a session, by its number in /sessions", "按 /sessions 里的编号显示一次会话"),
        sessions.show,
        choices=lambda context, words: ["last", *sessions.session_choices(context, words)],
    ),
    Command(
        "resume",
        "N|last|ID",
        _help("Save this session and go on in an archived one", "保存本次会话，继续一次已归档的会话"),
        sessions.resume,
        choices=sessions.session_choices,
    ),
    Command(
        "export",
        "[N|ID|all] [md|json] [FILE]",
        _help("Write sessions to a file", "把会话写入文件"),
        sessions.export,
        choices=sessions.export_choices,
    ),
    Command(
        "copy", "", _help("Copy the last reply to the clipboard", "复制上一条回复到剪贴板"), inspecting.copy
    ),
    Command(
        "summary",
        "[edit]",
        _help("The summary of this session so far", "本次会话至今的摘要"),
        inspecting.summary,
        choices=lambda context, words: ["edit"] if not words else [],
    ),
    Command(
        "context",
        "",
        _help("Exactly what was sent to the model last", "上次发给模型的全部内容"),
        inspecting.context,
    ),
    Command("status", "", _help("How everything stands", "各项状态"), inspecting.status),
    Command(
        "model",
        "[NAME|N]",
        _help("Which models there are; let another one answer", "有哪些模型；换一个来回答"),
        models.model,
        alone=False,
    ),
    Command(
        "debug",
        "on|off",
        _help("Write prompts and database traffic to the log", "把提示和数据库读写记入日志"),
        switches.debug,
        choices=switches.on_off,
    ),
    Command(
        "reindex",
        "",
        _help("Rebuild the vector index from what is stored", "用已存内容重建向量索引"),
        switches.reindex,
    ),
    Command(
        "setup", "", _help("Connect a model, name both of you", "连接模型，给双方起名"), _setup, alone=False
    ),
    Command(
        "incognito",
        "on|off",
        _help("Write nothing of what follows", "之后的内容一概不写下"),
        switches.incognito,
        choices=switches.on_off,
    ),
    Command(
        "recall",
        "on|off",
        _help("Bring memories into replies, or not", "回复时是否回忆"),
        switches.recall,
        choices=switches.on_off,
    ),
)
BY_NAME: Mapping[str, Command] = {command.name: command for command in TABLE}


def choices_for(context: Callable[[], CommandContext]) -> Choices:
    """What may follow the words of a line, for completion."""

    def choices(words: tuple[str, ...]) -> Iterable[Choice]:
        if not words:
            language = context().words.language
            return [Choice(f"/{command.name}", command.help[language]) for command in TABLE]
        command = BY_NAME.get(words[0].removeprefix("/"))
        if command is None or command.choices is None:
            return []
        found = command.choices(context(), words[1:])
        return [each if isinstance(each, Choice) else Choice(each) for each in found]

    return choices
