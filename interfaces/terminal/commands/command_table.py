"""The one table of commands: it feeds dispatch, completion, ``/help``, docs/commands.md and the READMEs.

The message ``command.NAME`` says what each does. ``/help`` shows the ten commands of every day, which fit 24 rows of 80
columns in both languages; ``/help all`` every command, each in exactly one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from interfaces.terminal import history_import
from interfaces.terminal.command_context import UNKNOWN_LIMIT, Choice, ChoicesOf, Command, CommandContext, Next
from interfaces.terminal.commands import (
    conversation_commands,
    diary,
    erased,
    fact_list,
    forget,
    memory_view,
    open_list,
    persona,
    program_commands,
    session_list,
)
from interfaces.terminal.parsing import ALIASES
from interfaces.terminal.screen import cells_of

#: What is used every day.
DAILY = ("save", "reset", "exit", "undo", "retry", "memory", "facts", "why", "forget", "sessions")
GROUPS = {
    "talk": ("save", "reset", "exit", "undo", "redo", "retry", "edit", "history", "copy", "incognito"),
    "memory": ("memory", "facts", "open", "ask", "life", "diary", "why", "forget", "erased", "remember", "persona"),
    "sessions": ("sessions", "export", "import"),
    "program": ("help", "status", "context", "model", "setup", "debug"),
}
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def show_help(context: CommandContext, argument: str) -> None:
    """``/help [COMMAND|all]``."""
    wanted = argument.strip().lstrip("/").lower()
    wanted = ALIASES.get(wanted, (wanted, ""))[0]
    if not wanted:
        column = max(cells_of(f"/{name}") for name in DAILY) + 2
        for name in DAILY:
            context.aside.name_and_text(f"/{name}", context.words.say(f"command.{name}"), column, ("strong", "words"))
        context.aside.line()
        context.tell("help.more", "quiet", count=len(BY_NAME))
        context.tell("help.keys", "quiet")
    elif wanted == "all":
        for group, names in GROUPS.items():
            context.tell(f"help.group.{group}", "title")
            _show_rows(context, [BY_NAME[name] for name in names])
            context.aside.line()
        context.tell("help.keys", "quiet")
    elif wanted in BY_NAME:
        _show_command(context, BY_NAME[wanted])
    else:
        context.tell("help.unknown", "warning", typed="/" + wanted)


def format_usage(command: Command) -> str:
    """A command as it is typed.

    >>> format_usage(Command("undo", "[n]", show_help))
    '/undo [n]'
    """
    return f"/{command.name} {command.arguments}".strip()


def _show_rows(context: CommandContext, commands: Iterable[Command]) -> None:
    usages = {command.name: format_usage(command) for command in commands}
    column = min(max(map(cells_of, usages.values())), _WIDEST_USAGE) + 2
    for name, usage in usages.items():
        context.aside.name_and_text(usage, context.words.say(f"command.{name}"), column, ("strong", "words"))


def _show_command(context: CommandContext, command: Command) -> None:
    """One command and how it is used."""
    _show_rows(context, [command])
    if context.words.has_message(f"help.about.{command.name}"):
        context.tell(f"help.about.{command.name}", "quiet", limit=f"{UNKNOWN_LIMIT:,}")
    examples = [example for example in EXAMPLES if example[0].split()[0] == f"/{command.name}"]
    column = max(cells_of(typed) for typed, _, _ in examples) + 4
    for typed, english, chinese in examples:
        meaning = chinese if context.words.language == "zh" else english
        context.aside.name_and_text(f"  {typed}", meaning, column, ("code", "quiet"))


def _command_names(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    return [] if words else [*BY_NAME, "all"]


def _offer(*first: str, then: Mapping[str, Sequence[str]] = MappingProxyType({})) -> ChoicesOf:
    """Choices of a command that takes one of these words, and of what may follow some of them."""

    def choices(context: CommandContext, typed: tuple[str, ...]) -> Sequence[str]:
        if not typed:
            return first
        return then.get(typed[0], ()) if len(typed) == 1 else ()

    return choices


def _run_setup(context: CommandContext, argument: str) -> Next:
    """``/setup``, loaded when it is asked for."""
    from interfaces.terminal.setup_wizard import run_setup

    return run_setup(context, argument)


TABLE: tuple[Command, ...] = (
    Command("save", "", conversation_commands.run_save),
    Command("reset", "", conversation_commands.reset_session, destructive=True),
    Command("exit", "", conversation_commands.leave_chat),
    Command("help", "[COMMAND|all]", show_help, choices=_command_names),
    Command("retry", "", conversation_commands.retry_reply),
    Command("edit", "", conversation_commands.edit_message, alone=False),
    Command("undo", "[n]", conversation_commands.undo_rounds),
    Command("redo", "", conversation_commands.redo_rounds),
    Command("history", "[n]", conversation_commands.show_history),
    Command(
        "memory",
        "[search|fading|keep ID] [WORDS]|recall on|off|reindex",
        memory_view.run_memory,
        choices=_offer("search", "fading", "keep", "recall", "reindex", then={"recall": ("on", "off")}),
    ),
    Command("life", "[N|DATE]", memory_view.show_life, choices=memory_view.life_choices),
    Command("diary", "[DATE|all] [full]|export FILE", diary.run_diary, choices=_offer("all", "export")),
    Command(
        "facts",
        "[all|past|inferred|WORDS|ID [wrong|right|keep|TEXT]]",
        fact_list.run_facts,
        choices=fact_list.fact_choices,
    ),
    Command("ask", "QUESTION", memory_view.ask_memory),
    Command("why", "[full]", memory_view.show_why, choices=_offer("full")),
    Command(
        "forget",
        "last|asked|session N|turn ID|WORDS",
        forget.run_forget,
        destructive=True,
        choices=forget.forget_choices,
    ),
    Command("erased", "[FILE]", erased.run_erased),
    Command("remember", "", forget.unhide_messages),
    Command(
        "persona",
        "[self|user] [show|edit|diff|restore N]|pin [self|user] [TEXT|N]",
        persona.run_persona,
        choices=persona.persona_choices,
    ),
    Command(
        "sessions",
        "[n]|show N|last|ID|resume N|last|ID",
        session_list.run_sessions,
        choices=session_list.sessions_choices,
    ),
    Command(
        "export",
        "[N|ID|all|hidden] [md|json] [FILE]",
        session_list.export_sessions,
        choices=session_list.export_choices,
    ),
    Command(
        "import",
        "FILE… [--me NAME] [--dry-run] [--with-erased]|undo N|rest|on",
        history_import.import_command,
        choices=history_import.import_choices,
    ),
    Command("copy", "", program_commands.copy_reply),
    Command(
        "context",
        "[summary [edit]]",
        program_commands.show_context,
        choices=_offer("summary", then={"summary": ("edit",)}),
    ),
    Command("status", "[all]", program_commands.show_status, choices=_offer("all")),
    Command("model", "[NAME|N]", program_commands.choose_model, alone=False),
    Command("debug", "on|off", program_commands.switch_debug, choices=_offer("on", "off")),
    Command("open", "[N done|drop|later DATE]", open_list.run_open, choices=open_list.open_choices),
    Command("setup", "", _run_setup, alone=False),
    Command("incognito", "on|off", conversation_commands.switch_incognito, choices=_offer("on", "off")),
)
BY_NAME: Mapping[str, Command] = {command.name: command for command in TABLE}


def choices_for(context: CommandContext, words: tuple[str, ...]) -> Iterable[Choice]:
    """What may follow the words of a line, for completion."""
    if not words:
        return [Choice(f"/{name}", context.words.say(f"command.{name}")) for name in BY_NAME]
    name, typed = words[0].removeprefix("/"), words[1:]
    if name in ALIASES:
        name, first = ALIASES[name]
        typed = (*first.split(), *typed)
    command = BY_NAME.get(name)
    if command is None or command.choices is None:
        return []
    found = command.choices(context, typed)
    return [each if isinstance(each, Choice) else Choice(each) for each in found]


#: Lines as they are typed, and what each does, in both languages.
EXAMPLES = (
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
    (
        "/memory search who:Tom when:2026-05 where:Oslo",
        "what is known of Tom in Oslo in May 2026; also what: and topic:",
        "2026 年 5 月与 Tom、Oslo 都有关的事；还可用 what:、topic:",
    ),
    ("/diary", "the last pages of the diary", "最近几页日记"),
    ("/diary 2026-03", "the pages of that month", "那个月的日记"),
    ("/diary export diary.html", "all pages as a book for printing", "全部日记，可以打印成书"),
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
    ("/open", "what is ahead or unsettled, by date, and who said it", "还没发生、还没了结的事，按日期，写明谁说的"),
    ("/open 3 drop", "never brought up again", "以后再也不提"),
    ("/open 3 later Friday", "not before Friday", "周五以后再说"),
    ("/why", "what came to mind, one line each", "想起了什么，每份一行"),
    ("/why full", "with queries, scores and whole texts", "连同查询、得分和全文"),
    ("/forget last", "the last round", "最后一轮"),
    ("/forget PLUM77", "everything that holds this word", "所有含有这个词的内容"),
    ("/forget asked", "what you asked it to forget", "你请它忘掉的内容"),
    (
        "/erased",
        "when something was erased, how much, and the proof; not what it was",
        "什么时候删除过、删了多少、核对结果；不含内容",
    ),
    ("/erased receipt.md", "the same as a file; .json for programs", "写成文件；.json 供程序读取"),
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
