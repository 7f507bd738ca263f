"""``/help``: the ten commands of every day; ``/help all``: every command, in groups; one of them with examples.

Promises: the ten fit 24 rows of 80 columns in both languages; every command is in exactly one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from interfaces.terminal.command_context import UNKNOWN_LIMIT, Command, CommandContext, Next
from interfaces.terminal.parsing import ALIASES
from interfaces.terminal.styled_text import cells_of
from language.scripts import Language

#: What is used every day.
DAILY = ("save", "reset", "exit", "undo", "retry", "memory", "facts", "why", "forget", "sessions")
GROUPS = {
    "talk": ("save", "reset", "exit", "undo", "redo", "retry", "edit", "history", "copy", "incognito"),
    "memory": ("memory", "facts", "ask", "life", "why", "forget", "remember", "persona"),
    "sessions": ("sessions", "export", "import"),
    "program": ("help", "status", "context", "model", "setup", "debug"),
}
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def show_help(context: CommandContext, argument: str) -> Next:
    """``/help [COMMAND|all]``."""
    wanted = argument.strip().lstrip("/").lower()
    wanted = ALIASES.get(wanted, (wanted, ""))[0]
    if not wanted:
        _show_overview(context)
    elif wanted == "all":
        _show_all(context)
    elif wanted in context.commands:
        _show_command(context, context.commands[wanted])
    else:
        context.tell("help.unknown", "warning", typed="/" + wanted)
    return None


def command_names(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """The names of all commands, for completion."""
    return [] if words else [*context.commands, "all"]


def format_usage(command: Command) -> str:
    """A command as it is typed.

    >>> format_usage(Command("undo", "[n]", show_help))
    '/undo [n]'
    """
    return f"/{command.name} {command.arguments}".strip()


def _show_overview(context: CommandContext) -> None:
    """The commands of every day."""
    say = context.words.say
    column = max(cells_of(f"/{name}") for name in DAILY) + 2
    for name in DAILY:
        context.aside.name_and_text(f"/{name}", say(f"command.{name}"), column, ("strong", "words"))
    context.aside.line()
    context.tell("help.more", "quiet", count=len(context.commands))
    _show_keys(context)


def _show_all(context: CommandContext) -> None:
    """Every command, in groups."""
    for group, names in GROUPS.items():
        context.tell(f"help.group.{group}", "title")
        _show_rows(context, [context.commands[name] for name in names])
        context.aside.line()
    _show_keys(context)


def _show_keys(context: CommandContext) -> None:
    context.tell("help.keys", "quiet")


def _show_rows(context: CommandContext, commands: Iterable[Command]) -> None:
    rows = list(commands)
    column = min(max(cells_of(format_usage(command)) for command in rows), _WIDEST_USAGE) + 2
    for command in rows:
        context.aside.name_and_text(
            format_usage(command), context.words.say(f"command.{command.name}"), column, ("strong", "words")
        )


def _show_command(context: CommandContext, command: Command) -> None:
    """One command and how it is used."""
    _show_rows(context, [command])
    if context.words.has_message(f"help.about.{command.name}"):
        context.tell(f"help.about.{command.name}", "quiet", limit=f"{UNKNOWN_LIMIT:,}")
    examples = examples_of(command.name)
    column = max(cells_of(example.typed) for example in examples) + 4
    for example in examples:
        meaning = example.meaning[context.words.language]
        context.aside.name_and_text(f"  {example.typed}", meaning, column, ("code", "quiet"))


@dataclass(frozen=True)
class Example:
    """One line as it is typed, and what it does."""

    typed: str
    meaning: Mapping[Language, str]


_ROWS = (
    ("/save", "ends the evening: it is kept, and both personas learn from it", "一晚结束：保存下来，两份画像从中学习"),
    ("/reset", "this session is empty again; /undo brings it back", "本次会话重新清空；/undo 可以恢复"),
    ("/exit", "leaves; nothing is lost", "离开；什么都不会丢"),
    ("/help forget", "one command, with examples", "一个命令，附例子"),
    ("/help all", "all commands in full", "全部命令的完整说明"),
    ("/retry", "the last reply is replaced by a new one", "用新的回复替换上一条"),
    ("/edit", "your last message is back at the prompt", "上一句重新放到输入处"),
    ("/undo", "the last round goes; /redo brings it back", "撤回最后一轮；/redo 可以恢复"),
    ("/undo", "right after /save: its personas, notes and facts go, too", "紧接 /save：画像、笔记和事实一并撤回"),
    ("/undo 3", "the last three rounds go", "撤回最后三轮"),
    ("/redo", "what /undo took back is there again", "/undo 撤回的内容又回来了"),
    ("/history 3", "the last three rounds of this session", "本次会话的最后三轮"),
    ("/memory", "all of it, on one screen", "一屏看完"),
    ("/memory fading", "what will be searched no more, or would first", "什么将淡出查找，或会最先淡出"),
    ("/memory keep ID", "a turn or a session that never fades", "永不淡忘的一句话或一次会话"),
    ("/memory Oslo", "where Oslo was spoken of, the newest first", "哪里谈到过 Oslo，最新的在前"),
    ("/life", "the chapters of your life together, oldest first, numbered", "你们一起的日子，分成章，从早到晚，带编号"),
    ("/life 2", "one chapter, and the sessions it was drawn from", "一章的内容，以及它由哪些会话归纳而来"),
    ("/life 2026-03", "what that time holds: chapters and sessions", "那段时间里的章和会话"),
    ("/facts", "what holds now, of you first, numbered", "现在成立的事，你的在前，带编号"),
    ("/facts Oslo", "the facts that hold this word, in any form", "含有这个词的事实，不论词形"),
    ("/facts past", "what was true until when, and what replaced it", "从前成立到何时，后来换成什么"),
    ("/facts 12", "the words it rests on, and what happened to it", "它依据的原话，以及经过"),
    ("/facts 12 wrong", "it never was so", "从来不是"),
    ("/facts 12 Ann lives in Bergen.", "put right, for good; give the whole sentence", "改正，从此为准；请写整句"),
    (
        "/facts 12 keep",
        "still holds, and no change doubts it; once more ends that",
        "仍然成立，别的变化不再使它存疑；再来一次则取消",
    ),
    (
        "/ask When did I move, and what did I say of it?",
        "searched step by step, then answered in your own words of then",
        "一步步查找，再用你当时的原话回答",
    ),
    ("/ask 我去过哪些城市？", "Chinese or English, whatever you talked in", "中文英文都可以，不论当时用哪种语言说的"),
    ("/why", "what came to mind, one line each", "想起了什么，每份一行"),
    ("/why full", "with queries, scores and whole texts", "连同查询、得分和全文"),
    ("/forget last", "the last round", "最后一轮"),
    ("/forget PLUM77", "everything that holds this word", "所有含有这个词的内容"),
    ("/forget asked", "what you asked it to forget", "你请它忘掉的内容"),
    ("/remember", "what you asked to have forgotten may be mentioned again", "请它忘掉的内容，又可以提起了"),
    ("/persona pin I am allergic to peanuts", "is in the user persona from now on", "从现在起就在“你的画像”里"),
    ("/persona pin 2", "lets the second one go", "取消第 2 行"),
    ("/persona user edit", "change the user persona in your editor", "用编辑器修改“你的画像”"),
    ("/persona self restore 3", "its third version is in force again", "它的第 3 版重新生效"),
    ("/sessions 5", "the last five", "最近五次"),
    ("/sessions show 1", "the one that /sessions calls 1", "/sessions 里的第 1 次"),
    ("/sessions show last", "the one before this", "这次之前的一次"),
    ("/sessions resume 2", "go on where that one ended", "接着那一次往下说"),
    ("/export", "this session, as Markdown", "本次会话，写成 Markdown"),
    ("/export all json", "everything, as JSON", "全部会话，写成 JSON"),
    ("/import ~/Downloads/chatgpt.zip", "what ChatGPT exported", "ChatGPT 导出的对话"),
    ("/import chat.txt --me Ann --dry-run", "only look; you are Ann there", "只看不写；里面 Ann 是你"),
    ("/import undo 1", "take a whole import back", "撤销一整次导入"),
    ("/copy", "the last reply is in the clipboard", "上一条回复已在剪贴板里"),
    ("/context summary edit", "put it right in your editor", "用编辑器改正它"),
    ("/context", "every layer, word for word", "每一层，一字不差"),
    ("/status", "model, session, context, data, index, on ten rows", "模型、会话、上下文、数据、索引，共十行"),
    ("/status all", "the rest as well, and where each setting comes from", "连同其余各项，以及每个设置的来源"),
    ("/model", "what the server offers, numbered", "服务器提供的模型，带编号"),
    ("/model 2", "the second one answers from now on", "从现在起由第 2 个回答"),
    ("/debug on", "until /debug off, all is in the log", "直到 /debug off，一切都记入日志"),
    ("/memory reindex", "slow, and seldom needed", "较慢，也很少需要"),
    ("/setup", "a few questions; Ctrl-C changes nothing", "几个问题；按 Ctrl-C 则一切不变"),
    ("/incognito on", "until /incognito off, nothing is written", "直到 /incognito off，什么都不写下"),
    ("/memory recall off", "it answers without its memories", "回复时不再回忆"),
)


def examples_of(command: str) -> list[Example]:
    """The examples of one command."""
    rows = (row for row in _ROWS if row[0].split()[0] == f"/{command}")
    return [Example(typed, {"en": en, "zh": zh}) for typed, en, zh in rows]
