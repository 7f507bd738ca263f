"""Examples of every command, for ``/help COMMAND`` and docs/commands.md: what is typed, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.languages import Language


@dataclass(frozen=True)
class Example:
    """One line as it is typed, and what it does."""

    typed: str
    meaning: Mapping[Language, str]


def _example(typed: str, en: str, zh: str) -> Example:
    return Example(typed, {"en": en, "zh": zh})


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "save": (
        _example(
            "/save",
            "ends the evening: it is kept, and both images learn from it",
            "一晚结束：保存下来，两份形象从中学习",
        ),
    ),
    "reset": (
        _example(
            "/reset", "this session is empty again; /undo brings it back", "本次会话重新清空；/undo 可以恢复"
        ),
    ),
    "exit": (_example("/exit", "leaves; nothing is lost", "离开；什么都不会丢"),),
    "help": (
        _example("/help forget", "one command, with examples", "一个命令，附例子"),
        _example("/help all", "all commands in full", "全部命令的完整说明"),
    ),
    "retry": (_example("/retry", "the last reply is replaced by a new one", "用新的回复替换上一条"),),
    "edit": (_example("/edit", "your last message stands at the prompt again", "上一句重新放到输入处"),),
    "undo": (
        _example("/undo", "the last round goes; /redo brings it back", "撤回最后一轮；/redo 可以恢复"),
        _example("/undo 3", "the last three rounds go", "撤回最后三轮"),
    ),
    "redo": (_example("/redo", "what /undo took back is there again", "/undo 撤回的内容又回来了"),),
    "history": (_example("/history 3", "the last three rounds of this session", "本次会话的最后三轮"),),
    "memory": (
        _example("/memory", "all of it, on one screen", "一屏看完"),
        _example("/memory Oslo", "where Oslo was spoken of, the newest first", "哪里谈到过 Oslo，最新的在前"),
    ),
    "ask": (
        _example(
            "/ask When did I move, and what did I say of it?",
            "searched step by step, then answered in your own words of then",
            "一步步查找，再用你当时的原话回答",
        ),
        _example(
            "/ask 我去过哪些城市？",
            "Chinese or English, whatever you talked in",
            "中文英文都可以，不论当时用哪种语言说的",
        ),
    ),
    "why": (
        _example("/why", "what came to mind, one line each", "想起了什么，每份一行"),
        _example("/why full", "with queries, scores and whole texts", "连同查询、得分和全文"),
    ),
    "forget": (
        _example("/forget last", "the last round", "最后一轮"),
        _example("/forget PLUM77", "everything that holds this word", "所有含有这个词的内容"),
        _example("/forget asked", "what you asked it to forget", "你请它忘掉的内容"),
    ),
    "remember": (
        _example(
            "/remember",
            "what you asked to have forgotten may be brought up again",
            "请它忘掉的内容，又可以提起了",
        ),
    ),
    "pin": (
        _example(
            "/pin I am allergic to peanuts",
            "stands in the image of you from now on",
            "从现在起就在“我眼里的你”里",
        ),
        _example("/pin 2", "lets the second one go", "取消第 2 行"),
    ),
    "persona": (
        _example("/persona user edit", "change the image of you in your editor", "用编辑器修改“我眼里的你”"),
        _example("/persona self restore 3", "its third version is in force again", "它的第 3 版重新生效"),
    ),
    "sessions": (_example("/sessions 5", "the last five", "最近五次"),),
    "show": (
        _example("/show 1", "the one that /sessions calls 1", "/sessions 里的第 1 次"),
        _example("/show last", "the one before this", "这次之前的一次"),
    ),
    "resume": (_example("/resume 2", "go on where that one ended", "接着那一次往下说"),),
    "export": (
        _example("/export", "this session, as Markdown", "本次会话，写成 Markdown"),
        _example("/export all json", "everything, as JSON", "全部会话，写成 JSON"),
    ),
    "copy": (_example("/copy", "the last reply is in the clipboard", "上一条回复已在剪贴板里"),),
    "summary": (_example("/summary edit", "put it right in your editor", "用编辑器改正它"),),
    "context": (_example("/context", "every layer, word for word", "每一层，一字不差"),),
    "status": (
        _example("/status", "model, context, data, index, settings", "模型、上下文、数据、索引、设置"),
    ),
    "model": (
        _example("/model", "what the server offers, numbered", "服务器提供的模型，带编号"),
        _example("/model 2", "the second one answers from now on", "从现在起由第 2 个回答"),
    ),
    "debug": (
        _example("/debug on", "until /debug off, all is in the log", "直到 /debug off，一切都记入日志"),
    ),
    "reindex": (_example("/reindex", "slow, and seldom needed", "较慢，也很少需要"),),
    "setup": (
        _example("/setup", "a few questions; Ctrl-C changes nothing", "几个问题；按 Ctrl-C 则一切不变"),
    ),
    "incognito": (
        _example(
            "/incognito on", "until /incognito off, nothing is written", "直到 /incognito off，什么都不写下"
        ),
    ),
    "recall": (_example("/recall off", "it answers without its memories", "回复时不再回忆"),),
}
