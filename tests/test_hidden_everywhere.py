"""What a person asks to have forgotten is in no later request of any kind, nor in what was made before it (P22)."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from domain.workers import CancelToken
from interfaces.messages import Words
from interfaces.terminal.file_export import format_sessions, write_markdown
from interfaces.terminal.screen import Screen
from jobs.exporting import forest_of
from tests.support.house import House, friend, house, marked
from tests.support.server import ScriptedServer

LIVES = {
    "en": {
        "early": ["I moved to Leeds in May.", "My sister in law patty had an abortion, my brother has no idea.",
                  "I cook lentils every Friday."],
        "late": ["The owl is back.", "Guess what, I got the promotion!"],
        "request": "oh god i shouldnt of typed that about patty. please forget what i said about patty's abortion",
        "after": ["It rains again.", "What shall I cook on Sunday?", "The knee hurts, no running for ten weeks."],
        "beside": " Sunday lunch on Sunday.",
        "asked": "Who came to see us last spring, and what did we cook?",
        "kept": "lentils",
        "secret": re.compile("abortion|no idea", re.IGNORECASE),
    },
    "zh": {
        "early": ["我五月搬到了苏州。", "我嫂子小蓉打过一次胎，我哥完全不知道。", "我每周五都煮小扁豆汤。"],
        "late": ["院子里的猫头鹰回来了。", "告诉你，我升职了！"],
        "request": "哎，我不该说的，嫂子小蓉打胎的事你忘了吧，别再提。",
        "after": ["又下雨了。", "星期天做什么菜好？", "膝盖疼，十个星期不能跑步。"],
        "beside": "星期天一起吃饭，星期天做菜。",
        "asked": "去年春天谁来看过我们，当时做了什么菜？",
        "kept": "小扁豆",
        "secret": re.compile("打过一次胎|打胎|完全不知道"),
    },
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = lambda request: friend(request).replace("Reply to: ", "I hear you: ")
        yield running


def live(at: House, *lines: str) -> None:
    for line in lines:
        list(at.talk.turn(line, CancelToken()))
        at.talk.compact_now()
    at.settle()
    at.talk.start_maintenance()
    at.talk.maintenance.wait()


def derived(at: House) -> str:
    texts = [*at.rows("summary"), *at.rows("chapter"), *at.rows("note"), *at.rows("fact")]
    return json.dumps(texts, ensure_ascii=False) + "".join(at.memory.personas.read(one) for one in ("self", "user"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_secret_that_was_summarised_noted_and_put_into_chapters_is_in_none_of_it_afterwards(
    tmp_path, server, clock, new_id, log, language
):
    life: dict[str, Any] = LIVES[language]
    secret = life["secret"]
    notes = tmp_path / "vault"
    notes.mkdir()
    (notes / "diary.md").write_text(life["early"][1] + life["beside"], encoding="utf-8")
    settings = {"MAX_CONV_NUM": "2", "REFRESH_EVERY_CONV_NUM": "1", "GROUP_SIZE": "2", "RECALL_PLANNING": "always"}
    settings |= {"EXTERNAL_MEMORIES": f"vault={notes}", "DIARY": "on"}
    with house(tmp_path, server, clock, new_id, log, **settings) as at:
        live(at, *life["early"])
        at.save()
        live(at, life["late"][0])
        at.save()
        live(at, life["late"][1])
        assert secret.search(derived(at)), "there is something to be rebuilt"
        before = len(server.chats)
        live(at, life["request"])
        hidden = [message.words for message in at.memory.messages.hidden() if message.role == "user"]
        assert hidden == [life["early"][1], life["request"]]
        # The request itself is answered, and read once; nothing after that may hold it.
        answered = next(at for at in range(before, len(server.chats)) if _kind(server.chats[at]) == "talk")
        live(at, *life["after"])
        list(at.talk.asking.answer_question(life["asked"], at.talk.session.session_id, CancelToken()))
        list(at.talk.turn(life["asked"], CancelToken(), again=True))
        at.save()
        live(at, life["after"][0])
        later = server.chats[answered + 1 :]
        assert {_kind(one) for one in later} >= {"talk", "fold", "notes", "chapter", "diary", "self", "user", "plan"}
        assert not secret.search(derived(at))
        assert life["kept"] in derived(at), "the rest of the session is there"
        at.talk.maintenance.wait()
        pages = [one.text for one in at.memory.chapters.pages()]
        assert any(life["kept"] in one for one in pages)
        assert not any(secret.search(one) for one in pages)
        session = at.talk.session.session_id
    with house(tmp_path, server, clock, new_id, log, **settings) as at:
        assert at.talk.session.session_id == session
        live(at, *life["after"])
        at.save()
        later = server.chats[answered + 1 :]
        readings = [one for one in later if _kind(one) == "forget"]
        assert len(readings) == 1
        assert not secret.search(json.dumps([one for one in later if one not in readings], ensure_ascii=False))
        sessions = at.memory.sessions.recent(None)
        for form in ("md", "json"):
            plain = format_sessions(sessions, at.memory, at.talk, form, Words("en"))
            assert not secret.search(plain)
            assert life["kept"] in plain
            assert secret.search(format_sessions(sessions, at.memory, at.talk, form, Words("en"), hidden=True))
        assert not secret.search(str(forest_of(at.memory, "1", "2")))
        screen = Screen(io.StringIO(), plain=True)
        write_markdown(tmp_path / "all.md", at.talk, Words("en"), screen)
        assert not secret.search((tmp_path / "all.md").read_text(encoding="utf-8"))
        older = [one for one in at.memory.personas.history("user") if secret.search(one.text)]
        # The Chinese line did not pass the checks of a persona, so only the English life has such a version.
        assert bool(older) == (language == "en")
        restored = [at.memory.personas.restore(one.version) for one in older[-1:]]
        assert not secret.search("".join(one.text for one in restored if one))
        assert secret.search(str(at.rows("conversation"))), "it is still stored, until it is erased"


def _kind(request: Any) -> str:
    """Which task a request is; those of planned search are none that ``marked`` knows."""
    if re.match("Task: (?:plan|judge|answer)|任务：(?:规划|判断记忆|根据)", request["messages"][0]["content"]):
        return "plan"
    kinds = ("forget", "fold", "notes", "compare", "chapter", "diary", "self", "user")
    return next((kind for kind in kinds if marked(request, kind)), "talk")
