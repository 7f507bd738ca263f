"""The one table of commands: it feeds dispatch, completion, ``/help``, docs/commands.md and the READMEs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from terminal.completion import Choice
from terminal.desk import Command, Desk
from terminal.leaves import saving, talk

TABLE: tuple[Command, ...] = (
    Command(
        "save",
        "",
        {
            "en": "Archive this session, rewrite both images, begin a new one",
            "zh": "归档本次会话，改写两份形象，开始新会话",
        },
        saving.save,
    ),
    Command(
        "reset",
        "",
        {"en": "Clear this session; older memories stay", "zh": "清空本次会话；更早的记忆不变"},
        saving.reset,
        destructive=True,
    ),
    Command(
        "exit", "", {"en": "Leave; the next start goes on here", "zh": "离开；下次从这里继续"}, talk.leave
    ),
    Command("help", "[COMMAND]", {"en": "What can be done", "zh": "能做什么"}, talk.show_help),
    Command("retry", "", {"en": "Ask for the last reply again", "zh": "重新回答上一句"}, talk.retry),
    Command(
        "edit",
        "",
        {"en": "Change your last message and send it again", "zh": "修改上一句并重新发送"},
        talk.edit,
        alone=False,
    ),
    Command(
        "undo",
        "[n]",
        {
            "en": "Take back the last round, or n rounds; after /reset: bring it back",
            "zh": "撤回最后一轮或 n 轮；在 /reset 之后则恢复",
        },
        talk.undo,
    ),
    Command(
        "history",
        "[n]",
        {"en": "Show the last rounds of this session", "zh": "显示本次会话最近的几轮"},
        talk.history,
    ),
)
BY_NAME: Mapping[str, Command] = {command.name: command for command in TABLE}


def choices_for(desk: Callable[[], Desk]) -> Callable[[tuple[str, ...]], Iterable[Choice]]:
    """What may follow the words of a line, for completion."""

    def choices(words: tuple[str, ...]) -> Iterable[Choice]:
        if not words:
            language = desk().words.language
            return [Choice(f"/{command.name}", command.help[language]) for command in TABLE]
        command = BY_NAME.get(words[0].removeprefix("/"))
        if command is None or command.choices is None:
            return []
        return [Choice(text) for text in command.choices(desk(), words[1:])]

    return choices
