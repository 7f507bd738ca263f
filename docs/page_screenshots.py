"""The screenshots of docs/page.md: ``python -m docs.page_screenshots``.

A server of this machine with a scripted model, a memory with some evenings in it, and the browser of the tests.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from domain.facts import Learned, NewFact, NewNote, Slot, Window
from domain.records import Quoted
from language.scripts import Language
from memory import Memory
from people import ME, People
from tests.interfaces.http import browser as browsers
from tests.interfaces.http.browser import Browser
from tests.support.served import here
from tests.support.server import ScriptedServer

DOCS = Path(__file__).resolve().parent
WIDE, PHONE = (1280, 800), (390, 844)

#: Evenings that are over: how long ago in days, what was said and answered, and the summary.
_EARLIER: dict[Language, tuple[tuple[int, str, str, str], ...]] = {
    "en": (
        (16, "We adopted a dog! He is called Biscuit and he is afraid of thunder.",
         "Welcome to the family, Biscuit!", "Adopting Biscuit, who is afraid of thunder"),
        (9, "I started learning the cello. My teacher is Mrs Moreau.",
         "What a brave instrument to begin with.", "First cello lesson with Mrs Moreau"),
        (3, "Tom and I are planning a week in Lisbon in May.",
         "The light there in May is something else.", "Planning a week in Lisbon with Tom"),
        (1, "I got the job at the library! I start on the first.",
         "Congratulations! You waited so long for this.", "A new job at the library"),
    ),
    "zh": (
        (16, "我们收养了一只狗，叫饼干，它很怕打雷。", "欢迎饼干来到你们家！", "收养了怕打雷的饼干"),
        (9, "我开始学大提琴了，老师姓莫。", "真好，大提琴的声音很温柔。", "跟莫老师上第一节大提琴课"),
        (3, "我和小林打算五月去里斯本玩一周。", "五月那里的阳光特别美。", "和小林计划五月去里斯本"),
        (1, "图书馆的工作定下来了，一号上班！", "太好了，你等这个消息等了很久。", "图书馆的新工作"),
    ),
}  # fmt: skip
#: What is asked tonight, and the reply; the quotation is from the first evening.
_TONIGHT: dict[Language, tuple[str, str]] = {
    "en": (
        "There is a storm tonight. What can I do for Biscuit?",
        "Poor Biscuit. You told me about this when he first came home:\n\n"
        "<blockquote>He is called Biscuit and he is afraid of thunder.</blockquote>\n\n"
        "A few things that **often help**:\n\n"
        "1. Close the curtains and leave a small lamp on.\n"
        "2. Make a den under the table, with *your* old jumper in it.\n"
        "3. Practise the cello. Low notes cover the thunder, and you get your half hour in.\n\n"
        "Stay near him, but let him choose where to hide.",
    ),
    "zh": (
        "今晚有雷雨，我能为饼干做点什么？",
        "可怜的饼干。它刚到家时你跟我说过：\n\n"
        "<blockquote>我们收养了一只狗，叫饼干，它很怕打雷。</blockquote>\n\n"
        "下面几件事**通常有用**：\n\n"
        "1. 拉上窗帘，留一盏小灯。\n"
        "2. 在桌子底下铺个小窝，放一件*你*穿过的旧毛衣。\n"
        "3. 练练大提琴，低音能盖住雷声，今天的半小时也练完了。\n\n"
        "陪在它身边，让它自己选躲在哪里。",
    ),
}
#: What is known: the matter, the fact, and the evening that it is from.
_FACTS: dict[Language, tuple[tuple[str, str, int], ...]] = {
    "en": (
        ("Biscuit", "Nora has a dog called Biscuit.", 0),
        ("Biscuit", "Biscuit is afraid of thunder.", 0),
        ("Music", "Nora is learning the cello with Mrs Moreau.", 1),
        ("Travel", "Nora and Tom plan a week in Lisbon in May.", 2),
        ("Work", "Nora works at the library from the first.", 3),
    ),
    "zh": (
        ("饼干", "小雨养了一只叫饼干的狗。", 0),
        ("饼干", "饼干怕打雷。", 0),
        ("音乐", "小雨跟莫老师学大提琴。", 1),
        ("旅行", "小雨和小林打算五月去里斯本玩一周。", 2),
        ("工作", "小雨从一号起在图书馆上班。", 3),
    ),
}
_NAMES: dict[Language, str] = {"en": "Nora", "zh": "小雨"}


def main() -> None:
    """Write every screenshot again."""
    with tempfile.TemporaryDirectory(prefix="friend-") as folder:
        home = Path(folder)
        (home / "browser").mkdir()
        with browsers.chromium(home / "browser") as browser:
            for language in ("en", "zh"):
                _pictures(browser, home / language, language)


def _pictures(browser: Browser, home: Path, language: Language) -> None:
    home.mkdir()
    with (
        ScriptedServer() as model,
        here(
            home, routers=lambda people: [], OPENAI_API_BASE=model.base, CHAT_MODEL="m", USER_NAME=_NAMES[language]
        ) as served,
    ):  # fmt: skip
        assert served.people
        live(served.people, language)
        base = f"http://127.0.0.1:{served.port}/"
        for view, size, dark in (
            ("chat", WIDE, False), ("chat", PHONE, False), ("memory", WIDE, False), ("memory", PHONE, False),
            ("chat", WIDE, True),
        ):  # fmt: skip
            page = browser.page(f"{base}#{view}", width=size[0], height=size[1], language=language, dark=dark)
            name = f"page.{view}.{size[0]}{'.dark' if dark else ''}.{language}.png"
            if not dark or language == "en":
                page.picture(DOCS / name)
            page.close()


def live(people: People, language: Language) -> None:
    """Some evenings, what is known from them, and one that goes on."""
    with people.companion(ME) as companion:
        memory = companion.memory
        spoken = [_evening(memory, *evening) for evening in _EARLIER[language]]
        for evening, (session, message, when) in enumerate(spoken):
            notes, facts = [], []
            for number, (matter, text, of) in enumerate(_FACTS[language]):
                if of == evening:
                    notes.append(NewNote(f"note {number}", text, matter, 7, "active", (message,)))
                    facts.append(_fact(number, matter, text, language, when, message))
            learned = Learned(Window(message, session, (message,)), tuple(notes), tuple(facts))
            assert memory.fact_log.learn(learned)
        said, reply = _TONIGHT[language]
        tonight = memory.sessions.start()
        when = _ago(0)
        quoted = (Quoted(0, spoken[0][1], spoken[0][2]),)
        memory.rounds.store(tonight.session_id, said, reply, when, "stop", ended=when, quoted=quoted)


def _fact(number: int, matter: str, text: str, language: Language, when: str, message: str) -> NewFact:
    return NewFact(
        f"fact {number}", f"note {number}", text, _NAMES[language], matter, text, Slot(f"{number}", matter),
        False, "person", "stated", when, (message,),
    )  # fmt: skip


def _evening(memory: Memory, days: int, said: str, reply: str, summary: str) -> tuple[str, str, str]:
    when = _ago(days)
    session = memory.sessions.start(when)
    spoken = memory.rounds.store(session.session_id, said, reply, when, "stop", ended=when)
    memory.rounds.save(session.session_id, summary, {}, open_next=False)
    return session.session_id, spoken.user.text_id, when


def _ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


if __name__ == "__main__":
    main()
