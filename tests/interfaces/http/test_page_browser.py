"""The page in a real browser: what it shows, what it lets nobody do, without a mouse, and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interfaces.http import browser as browsers
from tests.interfaces.http.browser import Browser, Page
from tests.interfaces.http.remembered import HOSTILE, remember
from tests.served import Server, here, until
from tests.server import ScriptedServer, delta, hang, say, status, stream

pytestmark = pytest.mark.skipif(
    browsers.found() is None, reason="there is no Chromium here: apt install chromium"
)
#: Whatever is pressed is large enough for a finger.
_PRESSED = "[...document.querySelectorAll('button, nav a')].filter((one) => one.offsetHeight)"
_LARGE_ENOUGH = f"{_PRESSED}.every((one) => one.offsetHeight >= 28)"
VIEWS = ("chat", "recalled", "known", "graph", "timeline", "sessions", "forget")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsers.chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Server]:
    with here(tmp_path, doors=lambda people: [], OPENAI_API_BASE=model.base, CHAT_MODEL="m") as server:
        yield server


def opened(browser: Browser, served: Server, view: str = "chat", **given: object) -> Page:
    return browser.page(f"http://127.0.0.1:{served.port}/#{view}", **given)


def look(page: Page, view: str) -> None:
    page.js(f"location.hash = '#{view}'")
    page.until(f"!document.getElementById('view-{view}').hidden")


def test_a_reply_streams_in_and_the_policy_holds(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(stream(delta(content="Once upon "), end="open"), say("The end."))
    page = opened(browser, served)
    page.js("document.getElementById('say').focus()")
    page.type("A story?")
    page.key("Enter")
    page.until("document.querySelector('.turn.assistant .words').textContent === 'Once upon '")
    assert page.js("!document.getElementById('stop').hidden")
    page.key("Escape")
    page.until("document.getElementById('stop').hidden")
    assert "stopped" in page.text("#talk")
    page.type("And then?")
    page.key("Enter")
    page.until("document.getElementById('told').textContent.includes('The end.')")
    for view in VIEWS:
        look(page, view)
    assert page.console == []
    assert all(address.startswith((f"http://127.0.0.1:{served.port}/", "data:")) for address in page.asked)
    assert page.js("fetch('http://127.0.0.1:9/').then(() => 'let through', () => 'refused')") == "refused"
    assert any("Content Security Policy" in line for line in page.console)


def test_what_looks_like_markup_is_shown_as_words_everywhere(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    remember(served.people, hostile=True)
    model.script(say(HOSTILE))
    page = opened(browser, served)
    page.js("document.getElementById('say').focus()")
    page.type("Momo?")
    page.key("Enter")
    page.until("document.getElementById('told').textContent")
    for view in ("chat", "known", "graph", "timeline", "sessions"):
        look(page, view)
        page.until(f"document.getElementById('view-{view}').innerText.includes('onerror')")
    assert page.js("document.body.dataset.harmed") is None
    assert page.js("document.querySelectorAll('main img, main script').length") == 0
    assert page.console == []


def test_what_got_no_reply_stands_in_the_field_again(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(hang, status(401))
    page = opened(browser, served)
    page.js("document.getElementById('say').focus()")
    page.type("A story?")
    page.key("Enter")
    until(lambda: model.chats)
    page.key("Escape")
    page.until("document.getElementById('say').value === 'A story?'")
    page.key("Enter")
    page.until("!document.getElementById('trouble').hidden")
    page.until("document.getElementById('say').value === 'A story?'")
    assert page.js("document.querySelectorAll('.turn').length") == 0


def test_forgetting_by_keyboard_alone_shows_what_would_go_asks_and_shows_the_proof(
    browser: Browser, served: Server
) -> None:
    remember(served.people)
    page = opened(browser, served)
    page.key("Tab")
    assert page.js("document.activeElement.className") == "skip"
    page.tab_to("nav a[href='#forget']")
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("Enter")
    page.until("!document.getElementById('view-forget').hidden")
    page.tab_to("#forget-words")
    page.type("Momo")
    page.key("Enter")
    page.until("document.getElementById('sure').open")
    assert "Momo" in page.text("#sure-what")
    page.key("Escape")
    page.until("!document.getElementById('sure').open")
    assert len(served.ask("GET", "/page/now").json["turns"]) == 2
    page.tab_to("#forget-words")
    page.key("Enter")
    page.until("document.getElementById('sure').open")
    page.tab_to("#sure-yes")
    page.key("Enter")
    page.until("document.querySelector('#proof h3')")
    assert ": 0 found." in page.text("#proof")
    assert [turn["role"] for turn in served.ask("GET", "/page/now").json["turns"]] == ["assistant"]


def test_a_fact_is_questioned_and_put_right(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served, "known")
    page.until("document.querySelector('[data-does=evidence]')")
    page.tab_to("[data-does=evidence]")
    page.key("Enter")
    page.until("document.querySelector('.item .turn.user')")
    assert "I moved from Lyon to Metz" in page.text("#known-list")
    page.tab_to("[data-does=wrong]")
    page.key("Enter")
    page.until("document.querySelector('.item.past')")
    known = [fact["text"] for fact in served.ask("GET", "/page/facts").json["facts"]]
    assert known == ["Ann lives in Lyon."]
    page.tab_to("[data-does=undo]")
    page.key("Enter")
    page.until("!document.querySelector('.item.past')")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_shows_one_column_and_nothing_reaches_beyond_its_edge(
    browser: Browser, served: Server, language: str
) -> None:
    remember(served.people, hostile=True)
    page = opened(browser, served, width=360, language=language)
    for view in VIEWS:
        look(page, view)
        page.until("document.querySelector('main section:not([hidden])').innerText.length > 9")
        assert page.js("document.documentElement.scrollWidth") <= 360, view
        assert page.js(_LARGE_ENOUGH), view


def test_the_page_speaks_chinese_where_the_browser_does_and_switches_without_losing_anything(
    browser: Browser, served: Server
) -> None:
    page = opened(browser, served, language="zh-CN,zh;q=0.9")
    assert (page.js("document.documentElement.lang"), page.text("h1")) == ("zh", "老友")
    assert page.js("document.querySelector('#say').placeholder") == "说点什么……"
    page.js("document.getElementById('language').click()")
    page.until("document.documentElement.lang === 'en'")
    assert page.text("h1") == "Old Friend"
    bare = "[...document.querySelectorAll('[data-say]')].filter((one) => !one.textContent.trim()).length"
    assert page.js(bare) == 0


def test_a_token_for_many_people_opens_nothing_before_a_person_is_named(
    browser: Browser, served: Server
) -> None:
    assert served.registry
    secret = served.registry.add_token("backend", "*")
    page = opened(browser, served)
    page.until("document.activeElement.id === 'token'")
    page.type(secret)
    page.key("Enter")
    page.until("document.activeElement.id === 'person'")
    assert served.registry.persons() == []
    page.type("张三")
    page.key("Enter")
    page.until("document.getElementById('view-person').hidden")
    page.until("!document.getElementById('view-chat').hidden")
    until(lambda: served.registry and served.registry.persons() == ["张三"])
    assert not page.js("location.href.includes('%E5')")


def test_the_token_is_asked_for_kept_in_the_tab_and_never_in_an_address(
    browser: Browser, served: Server
) -> None:
    secret = served.registry.add_token("phone", "me")
    page = opened(browser, served)
    page.until("document.activeElement.id === 'token'")
    page.type("wrong")
    page.key("Enter")
    page.until("!document.getElementById('trouble').hidden")
    page.until("document.activeElement.id === 'token'")
    page.type(secret)
    page.key("Enter")
    page.until("!document.getElementById('view-chat').hidden")
    page.until("document.getElementById('talk').children.length")
    assert page.js("Object.values(sessionStorage)") == [secret]
    assert secret not in page.js("JSON.stringify(localStorage) + document.cookie + location.href")
    assert not any(secret in address for address in page.asked)
