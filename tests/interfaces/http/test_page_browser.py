"""The page in a real browser: what it shows, what it lets nobody do, without a mouse, and on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.records import Quoted
from tests.interfaces.http import browser as browsers
from tests.interfaces.http.browser import Browser, Page
from tests.interfaces.http.remembered import HOSTILE, remember
from tests.interfaces.terminal.test_first_words import INTERVIEW, make_due
from tests.support.house import marked, talks
from tests.support.served import Server, here, until
from tests.support.server import ScriptedServer, delta, hang, say, status, stream

pytestmark = pytest.mark.skipif(browsers.found() is None, reason="there is no Chromium here: apt install chromium")
#: Whatever is pressed is large enough for a finger.
_PRESSED = "[...document.querySelectorAll('button, nav a')].filter((one) => one.offsetHeight)"
_LARGE_ENOUGH = f"{_PRESSED}.every((one) => one.offsetHeight >= 28)"
TABS = ("memory", "memory/profiles", "memory/timeline", "memory/diary", "memory/connections", "memory/import")
VIEWS = ("chat", "new", *TABS)
_SHOWN = "[...document.querySelectorAll('main > section')].find((one) => !one.hidden)"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsers.chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    yield chromium
    chromium.empty_pages()


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One whose pages alone are tried: no one says anything."""
    with here(tmp_path_factory.mktemp("silent"), routers=lambda people: []) as server:
        yield server


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Server]:
    with here(tmp_path, routers=lambda people: [], OPENAI_API_BASE=model.base, CHAT_MODEL="m") as server:
        yield server


def opened(browser: Browser, served: Server, view: str = "chat", **given: object) -> Page:
    return browser.page(f"http://127.0.0.1:{served.port}/#{view}", **given)


def look(page: Page, view: str) -> None:
    page.js(f"location.hash = '#{view}'")
    name, _, tab = view.partition("/")
    shown = "memory" if name == "memory" else "chat"
    page.until(f"!document.getElementById('view-{shown}').hidden")
    if shown == "memory":
        page.until(f"!document.getElementById('tab-{tab or 'facts'}').hidden")


def write(page: Page, text: str) -> None:
    page.js("document.getElementById('say').focus()")
    page.type(text)
    page.key("Enter")


def choose(page: Page, opener: str, entry: str) -> None:
    """Open a menu and choose from it, by keyboard."""
    page.js(f"document.querySelector({json.dumps(opener)}).focus()")
    page.key("Enter")
    page.until("document.querySelector('.menu')")
    assert page.js("document.activeElement.getAttribute('role')") == "menuitem"
    for _ in range(12):
        if page.js("document.activeElement.dataset.does") == entry:
            break
        page.key("ArrowDown")
    assert page.js("document.activeElement.dataset.does") == entry
    page.key("Enter")


def turns(served: Server) -> list[str]:
    return [turn["text"] for turn in served.ask("GET", "/page/now").json["turns"]]


# -- talking


def test_a_reply_streams_in_and_the_policy_holds(browser: Browser, served: Server, model: ScriptedServer) -> None:
    model.script(stream(delta(content="Once **upon** "), end="open"), say("The *end*."))
    page = opened(browser, served)
    write(page, "A story?")
    page.until("document.querySelector('.turn.assistant .words strong')?.textContent === 'upon'")
    assert page.js("!document.getElementById('stop').hidden")
    page.key("Escape")
    page.until("document.getElementById('stop').hidden")
    page.until("document.querySelector('#talk').innerText.includes('stopped')")
    until(lambda: len(turns(served)) == 2)
    write(page, "And then?")
    page.until("document.getElementById('told').textContent.includes('The end.')")
    page.until("[...document.querySelectorAll('.turn em')].some(one => one.textContent === 'end')")
    for view in VIEWS:
        look(page, view)
    assert page.console == []
    assert all(address.startswith((f"http://127.0.0.1:{served.port}/", "data:")) for address in page.asked)
    assert page.js("fetch('http://127.0.0.1:9/').then(() => 'let through', () => 'refused')") == "refused"
    assert any("Content Security Policy" in line for line in page.console)


def greeted(browser: Browser, served: Server) -> Page:
    """A page on which the companion has begun to speak first."""
    with served.people.companion("me") as companion:
        make_due(companion.memory)
    page = opened(browser, served)
    page.until("document.querySelector('.turn.first .words')?.textContent.includes('Hello again.')")
    assert shown(page) == [INTERVIEW, "Good luck!", page.text(".turn.first .words").strip()]
    return page


def shown(page: Page) -> list[str]:
    found = page.js("[...document.querySelectorAll('.turn .words')].map((one) => one.textContent.trim())")
    assert isinstance(found, list)
    return found


def test_typing_ends_what_is_said_first_and_the_answer_stores_it_once(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(stream(delta(content="Hello again. How "), end="open"), say("Congratulations!"))
    page = greeted(browser, served)
    write(page, "They took me!")
    page.until("document.getElementById('told').textContent.includes('Congratulations!')")
    assert shown(page) == [INTERVIEW, "Good luck!", "Hello again.", "They took me!", "Congratulations!"]
    assert turns(served) == shown(page)


def test_what_was_said_first_is_shown_once_after_its_answer_was_stopped(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(say("Hello again."), stream(delta(content="Congratulations"), end="open"))
    page = greeted(browser, served)
    write(page, "They took me!")
    page.until("document.querySelector('#talk li:last-child .words').textContent.includes('Congratulations')")
    page.key("Escape")
    until(lambda: len(turns(served)) == 5)
    page.js("document.getElementById('language').click()")  # which draws what is stored
    page.until("[...document.querySelectorAll('.turn.user')].every((one) => one.dataset.turn)")
    assert shown(page) == [INTERVIEW, "Good luck!", "Hello again.", "They took me!", "Congratulations"]
    assert turns(served) == shown(page)


def test_what_was_said_first_goes_with_the_message_that_it_rests_on(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(say("Hello again."))
    page = greeted(browser, served)
    page.until("document.querySelector('.turn.first .below')")
    choose(page, ".turn.user .more", "turn.hide")
    page.until("document.querySelector('.turn.user .mark')")
    assert shown(page) == [INTERVIEW, "Good luck!"]
    assert page.js("document.querySelector('.below')") is None


def test_what_got_no_reply_is_in_the_field_again_before_what_was_typed_since(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(hang, hang, status(401))
    page = opened(browser, served)
    write(page, "A story?")
    until(lambda: model.chats)
    page.key("Escape")
    page.until("document.getElementById('say').value === 'A story?'")
    page.key("Enter")
    until(lambda: len(model.chats) == 2)
    page.type("Please.")
    page.key("Escape")
    page.until("document.getElementById('say').value === 'A story?\\nPlease.'")
    page.key("Enter")
    page.until("!document.getElementById('trouble').hidden")
    page.until("document.getElementById('say').value === 'A story?\\nPlease.'")
    assert page.js("document.querySelectorAll('.turn').length") == 0
    assert page.js("document.getElementById('trouble').offsetHeight") < 100


def test_what_was_typed_and_not_sent_is_there_after_a_reload(browser: Browser, served: Server) -> None:
    page = opened(browser, served)
    page.js("document.getElementById('say').focus()")
    page.type("Half a thought")
    page.js("delete document.body.dataset.ready")
    page.call("Page.reload")
    page.until("document.body && document.body.dataset.ready")
    assert page.js("document.getElementById('say').value") == "Half a thought"


def test_a_reply_is_tried_again_in_the_place_of_the_last_one(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(say("Blue."), say("Green."))
    page = opened(browser, served)
    write(page, "Which colour?")
    page.until("document.getElementById('told').textContent.includes('Blue.')")
    page.until("document.getElementById('stop').hidden && !document.getElementById('save').hidden")
    choose(page, ".turn.assistant .more", "turn.again")
    page.until("document.getElementById('told').textContent.includes('Green.')")
    assert page.js("document.querySelectorAll('.turn').length") == 2
    assert turns(served) == ["Which colour?", "Green."]


def test_why_tells_what_was_recalled_in_words_without_numbers(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    spoken = remember(served.people)
    with served.people.companion("me") as companion:
        companion.memory.rounds.save(spoken.user.session_id, "Ann moved.", {})
    model.script(say("In Metz, with Momo."))
    page = opened(browser, served)
    write(page, "Where does my cat Momo live?")
    page.until("document.getElementById('told').textContent.includes('In Metz')")
    choose(page, ".turn.assistant .more", "turn.why")
    page.until("document.getElementById('sheet').open")
    told = page.text("#sheet-body")
    assert "I moved from Lyon to Metz with my cat Momo." in told
    assert "same words: " in told
    assert "score" not in told
    assert page.js("/[0-9][.][0-9]/.test(document.getElementById('sheet-body').textContent)") is False
    page.key("Escape")
    page.until("!document.getElementById('sheet').open")


def test_a_quotation_shows_its_day_or_that_it_is_in_no_memory_and_never_its_tags(
    browser: Browser, served: Server
) -> None:
    with served.people.companion("me") as companion:
        session, _ = companion.memory.sessions.resume_or_start()
        reply = "You said:\n<blockquote>Momo is **old**</blockquote>\nand <blockquote>I fly</blockquote> </blockquote>"
        when = "2026-05-01T13:05:00+00:00"
        companion.memory.rounds.store(session.session_id, "Hm?", reply, when, "stop", quoted=(Quoted(0, "x", when),))
    page = opened(browser, served)
    page.until("document.querySelectorAll('blockquote.memory').length === 2")
    assert page.text("blockquote.memory footer") == "said on May 1, 2026"
    assert "not found in memory" in page.text("blockquote.memory:nth-of-type(2) footer")
    assert page.js("document.querySelector('blockquote.memory strong').textContent") == "old"
    assert "blockquote" not in page.text("#talk")


# -- Markdown


def drawn(page: Page, text: str) -> str:
    """What Markdown becomes, as the browser writes it."""
    return str(
        page.js(
            "import('/page/markdown.js').then(({rendered}) => { const place = document.createElement('div');"
            f" place.append(rendered({json.dumps(text)})); window.drawn = place; return place.innerHTML; }})"
        )
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Title\nText", "<h3>Title</h3><p>Text</p>"),
        ("a **b *c* d** e", "<p>a <strong>b <em>c</em> d</strong> e</p>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        ("snake_case_name 2*3*4", "<p>snake_case_name 2<em>3</em>4</p>"),
        ("- a\n- b\n  - c\n\n1. d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol start=\"1\"><li>d</li></ol>"),
        ("> said\n> so", "<blockquote><p>said<br>so</p></blockquote>"),
        ("`a*b*` \\*c\\*", "<p><code>a*b*</code> *c*</p>"),
        ("~~old~~", "<p><del>old</del></p>"),
        ("```py\n<b>*x*</b>\n```", "<pre tabindex=\"0\"><code>&lt;b&gt;*x*&lt;/b&gt;</code></pre>"),
        (
            "| a | b |\n|---|:-:|\n| 1 | 2 |",
            '<div class="table"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
            "<tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>",
        ),
        ("**open", "<p>**open</p>"),
    ],
)  # fmt: skip
def test_markdown_is_shown_as_what_it_means(browser: Browser, silent: Server, text: str, shown: str) -> None:
    assert drawn(opened(browser, silent), text) == shown


def test_hostile_markdown_is_inert(browser: Browser, served: Server) -> None:
    page = opened(browser, served)
    hostile = [
        HOSTILE, "[x](javascript:document.body.dataset.harmed=1)", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,x)",
        "![x](http://127.0.0.1:9/x.png)", "[x](//127.0.0.1:9/)", "[x](vbscript:x)", "[x](\tjavascript:x)",
        "<svg onload=document.body.dataset.harmed=1>", "[<img src=x onerror=alert(1)>](https://a.example/)",
        "```\n</code></pre><script>document.body.dataset.harmed=1</script>\n```",
        "<blockquote onclick=x>q</blockquote>",
        "| <img src=x onerror=x> |\n|---|\n| <b>x</b> |", "[x](https://a.example/\" onmouseover=\"x)",
    ]  # fmt: skip
    for text in hostile:
        drawn(page, text)
        page.js("document.body.append(window.drawn)")
        assert page.js("window.drawn.querySelectorAll('img, script, svg, iframe, b, [onclick]').length") == 0
        links = page.js("[...window.drawn.querySelectorAll('a')].map((one) => [one.protocol, one.rel])")
        assert all(protocol in ("https:", "http:") and "noopener" in rel for protocol, rel in links)
    assert "<script>" in drawn(page, HOSTILE).replace("&lt;", "<").replace("&gt;", ">")
    assert page.js("document.body.dataset.harmed") is None
    assert page.console == []


@pytest.mark.parametrize("piece", ["[", "*a ", "**", "`", "> ", "- ", "<blockquote>", "|", "# ", "h", "[a](", "~~x"])
def test_markdown_of_any_length_makes_about_as_many_elements_as_it_has_characters(
    browser: Browser, silent: Server, piece: str
) -> None:
    page = opened(browser, silent)
    drawn(page, piece * 20_000)
    assert page.js("window.drawn.querySelectorAll('*').length") <= 20_000 * len(piece)
    assert page.js("document.body.dataset.ready") == "yes"


def test_what_looks_like_markup_is_shown_as_words_everywhere(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    remember(served.people, hostile=True)
    model.script(say(HOSTILE))
    page = opened(browser, served)
    write(page, "Momo?")
    page.until("document.getElementById('told').textContent")
    for view in ("chat", "memory", "memory/timeline", "memory/connections"):
        look(page, view)
        page.until(f"{_SHOWN}.innerText.includes('onerror')")
    page.until("document.getElementById('side').innerText.includes('I moved')")
    assert page.js("document.body.dataset.harmed") is None
    assert page.js("document.querySelectorAll('main img, main script').length") == 0
    assert page.console == []


# -- the side list


def test_conversations_are_begun_saved_found_and_continued(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    model.script(say("A lovely name."))
    page = opened(browser, served)
    write(page, "My parrot is called Pepe.")
    page.until("document.getElementById('told').textContent.includes('A lovely name.')")
    page.until("document.querySelector('#sessions-list a[aria-current]')")
    first = page.js("document.querySelector('#sessions-list a').dataset.session")
    model.answer = lambda request: '{"notes": []}' if marked(request, "notes") else "Ann named her parrot."
    page.js("document.getElementById('save').focus()")
    page.key("Enter")
    page.until("location.hash === '#new' && document.getElementById('hello').innerText.includes('Saved')")
    assert served.ask("GET", f"/page/sessions/{first}").json["session"]["active"] is False
    model.script(say("Rain again."))
    write(page, "What weather!")
    page.until("document.getElementById('told').textContent.includes('Rain again.')")
    page.until("document.querySelectorAll('#sessions-list a').length === 2")
    second = page.js("document.querySelector('#sessions-list a[aria-current]').dataset.session")
    assert second != first
    page.js("document.getElementById('begin').click()")
    page.until("location.hash === '#new' && !document.querySelector('.turn')")
    model.script(say("A third."))
    write(page, "Something else.")
    page.until("document.querySelectorAll('#sessions-list a').length === 3")
    page.js("document.getElementById('find').focus()")
    page.type("parrot")
    page.until("document.querySelectorAll('#sessions-list a').length === 1")
    assert "parrot" in page.text("#sessions-list .found")
    page.key("Tab")
    page.tab_to("#sessions-list a")
    page.key("Enter")
    page.until("document.querySelector('.turn.user')?.innerText.includes('Pepe')")
    assert not page.js("document.getElementById('say-note').hidden")
    assert served.ask("GET", f"/page/sessions/{first}").json["session"]["active"] is False
    model.script(say("Green, I think."))
    write(page, "What colour is he?")
    page.until("document.getElementById('told').textContent.includes('Green, I think.')")
    read = served.ask("GET", f"/page/sessions/{first}").json
    assert (read["session"]["active"], len(read["turns"])) == (True, 4)


# -- memory


def test_erasing_by_keyboard_alone_shows_what_would_go_asks_and_shows_the_proof(
    browser: Browser, served: Server
) -> None:
    remember(served.people)
    page = opened(browser, served)
    page.key("Tab")
    assert page.js("document.activeElement.className") == "skip"
    page.tab_to("#to-memory")
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("Enter")
    page.until("!document.getElementById('view-memory').hidden")
    page.tab_to("#holding")
    page.type("Momo")
    page.until("!document.getElementById('erase-words').hidden")
    page.tab_to("#erase-words button")
    page.key("Enter")
    page.until("document.getElementById('sheet').open && document.querySelector('#sheet .danger')")
    assert "Momo" in page.text("#sheet-body")
    page.key("Escape")
    page.until("!document.getElementById('sheet').open")
    assert len(turns(served)) == 2
    page.tab_to("#erase-words button")
    page.key("Enter")
    page.until("document.getElementById('sheet').open")
    page.tab_to("#sheet .danger")
    page.key("Enter")
    page.until("document.querySelector('#sheet .proof')")
    assert ": 0 found." in page.text("#sheet .proof")
    assert [turn["role"] for turn in served.ask("GET", "/page/now").json["turns"]] == ["assistant"]


def test_a_message_is_erased_from_its_menu_with_proof(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served)
    choose(page, ".turn.user .more", "turn.forget")
    page.until("document.querySelector('#sheet .danger')")
    page.tab_to("#sheet .danger")
    page.key("Enter")
    page.until("document.querySelector('#sheet .proof')")
    page.key("Escape")
    page.until("!document.querySelector('.turn.user')")
    assert turns(served) == ["Metz is lovely."]


def test_a_message_is_hidden_and_shown_again_from_its_menu(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served)
    choose(page, ".turn.user .more", "turn.hide")
    page.until("document.querySelector('.turn.user')?.textContent.includes('not used in any reply')")
    choose(page, ".turn.user .more", "turn.unhide")
    page.until("!document.body.textContent.includes('not used in any reply')")


def test_a_fact_is_questioned_corrected_rejected_and_erased(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served, "memory")
    page.until("document.querySelector('.fact .more')")
    choose(page, ".fact .more", "fact.evidence")
    page.until("document.querySelector('.evidence .quotation')")
    assert "I moved from Lyon to Metz" in page.text(".evidence")
    choose(page, ".fact .more", "fact.edit")
    page.until("document.querySelector('.edit textarea')")
    page.type("Ann lives in Nancy.")
    page.key("Enter")
    page.until("document.querySelector('.fact')?.innerText.includes('Nancy')")
    known = [fact["text"] for fact in served.ask("GET", "/page/facts").json["facts"]]
    assert known == ["Ann lives in Nancy."]
    choose(page, ".fact .more", "fact.keep")
    page.until("document.querySelector('.fact .mark')")
    choose(page, ".fact .more", "fact.wrong")
    page.until("document.querySelector('.fact.past')")
    assert "Nancy" not in json.dumps(served.ask("GET", "/page/facts").json)
    choose(page, ".fact .more", "fact.undo")
    page.until("!document.querySelector('.fact.past')")
    page.js("document.getElementById('holding').focus()")
    page.type("zeppelin")
    page.until("document.querySelector('#known-list .empty')")
    page.js("document.getElementById('holding').value = ''")
    page.key("Enter")
    page.until("document.querySelector('.fact .more')")
    choose(page, ".fact .more", "fact.forget")
    page.until("document.querySelector('#sheet .danger')")
    page.tab_to("#sheet .danger")
    page.key("Enter")
    page.until("document.querySelector('#sheet .proof')")
    assert served.ask("GET", "/page/facts?past=true").json["facts"] == []


def test_a_profile_is_edited_and_an_older_version_is_restored(browser: Browser, served: Server) -> None:
    with served.people.companion("me") as companion:
        companion.memory.personas.write("user", "Ann likes tea.", "model")
    page = opened(browser, served, "memory/profiles")
    field = "#profile-user textarea"
    page.until(f"document.querySelector('{field}')?.value === 'Ann likes tea.'")
    page.js(f"document.querySelector('{field}').select(), document.querySelector('{field}').focus()")
    page.type("Ann likes coffee.")
    page.tab_to("#profile-user .primary")
    page.key("Enter")
    page.until("document.getElementById('told').textContent.includes('saved')")
    with served.people.companion("me") as companion:
        assert companion.memory.personas.read("user") == "Ann likes coffee."
    page.tab_to("#profile-user summary")
    page.key("Enter")
    page.tab_to("#profile-user .history button")
    page.key("Enter")
    page.until(f"document.querySelector('{field}').value === 'Ann likes tea.'")
    with served.people.companion("me") as companion:
        assert companion.memory.personas.read("user") == "Ann likes tea."
        assert len(companion.memory.personas.history("user")) == 3


CHAT = {
    "chat": [{"role": "user", "content": "My canoe is called Wren."}, {"role": "assistant", "content": "A good name."}]
}


def test_a_file_that_is_dropped_is_imported_and_can_be_taken_back(browser: Browser, served: Server) -> None:
    page = opened(browser, served)
    lines = json.dumps({"messages": CHAT["chat"]})
    page.js(
        "(() => { const data = new DataTransfer();"
        f" data.items.add(new File([{json.dumps(lines)}], 'talk.jsonl'));"
        " const drop = {bubbles: true, cancelable: true, dataTransfer: data};"
        " document.body.dispatchEvent(new DragEvent('drop', drop)); })()"
    )
    page.until("location.hash === '#memory/import' && document.querySelector('#import-list .line')")
    assert "talk.jsonl" in page.text("#import-list")
    page.until("document.querySelector('#import-state').innerText.includes('2 messages')")
    page.until("document.getElementById('sessions-list').innerText.includes('Wren')")
    page.tab_to("#import-list button")
    page.key("Enter")
    page.until("document.querySelector('#sheet .danger')")
    page.tab_to("#sheet .danger")
    page.key("Enter")
    page.until("!document.querySelector('#import-list .line')")
    assert "Wren" not in json.dumps(served.ask("GET", "/page/sessions").json)


# -- how it looks


@pytest.mark.parametrize(("width", "height"), [(390, 700), (1280, 800), (360, 480)])
def test_the_composer_is_in_view_however_much_was_said(
    browser: Browser, served: Server, width: int, height: int
) -> None:
    with served.people.companion("me") as companion:
        session, _ = companion.memory.sessions.resume_or_start()
        for number in range(12):
            when = f"2026-05-01T13:{number:02}:00+00:00"
            companion.memory.rounds.store(session.session_id, "Well? " * 30, "So. " * 90, when, "stop")
    page = opened(browser, served, width=width, height=height)
    page.until("document.querySelectorAll('.turn').length === 24")
    assert page.js("document.documentElement.scrollHeight <= innerHeight")
    for id in ("say", "send", "title"):
        box = page.js(f"(({{top, bottom}}) => [top, bottom])(document.getElementById('{id}').getBoundingClientRect())")
        assert 0 <= box[0] < box[1] <= height, id
    assert page.js("document.querySelector('header').offsetHeight") <= 60
    last = page.js("document.querySelector('.turn:last-child').getBoundingClientRect().bottom")
    assert last <= page.js("document.getElementById('say-form').getBoundingClientRect().top") + 1


def _light(colour: str) -> float:
    numbers = [float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    return sum(numbers) / 3


def test_the_colours_follow_the_preference_of_the_browser(browser: Browser, served: Server) -> None:
    remember(served.people)
    for dark in (False, True):
        page = opened(browser, served, dark=dark)
        page.until("document.querySelector('.turn.user .words')")
        for selector in ("body", "#side", ".turn.user .words", ".composer"):
            style = f"getComputedStyle(document.querySelector('{selector}'))"
            paper, ink = _light(page.js(f"{style}.backgroundColor")), _light(page.js(f"{style}.color"))
            assert (paper < 90 and ink > 160) if dark else (paper > 200 and ink < 90), selector


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_shows_one_column_and_nothing_reaches_beyond_its_edge(
    browser: Browser, served: Server, language: str
) -> None:
    remember(served.people, hostile=True)
    page = opened(browser, served, width=360, language=language)
    for view in VIEWS:
        look(page, view)
        page.until(f"{_SHOWN}.innerText.length > 5")
        assert page.js("document.documentElement.scrollWidth") <= 360, view
        assert page.js(_LARGE_ENOUGH), view


def test_on_a_phone_the_conversations_are_a_drawer_that_escape_closes(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served, width=390, height=700)
    assert page.js("document.getElementById('side').inert")
    page.js("document.getElementById('side-open').focus()")
    page.key("Enter")
    page.until("document.getElementById('side').getBoundingClientRect().left === 0")
    assert page.js("document.getElementById('stage').inert")
    page.until("document.activeElement.id === 'find'")
    page.key("Escape")
    page.until("document.getElementById('side').inert")
    assert page.js("document.activeElement.id") == "side-open"


def test_a_menu_is_left_with_escape_and_gives_the_focus_back(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served)
    page.js("document.querySelector('.turn .more').focus()")
    page.key("Enter")
    page.until("document.querySelector('.menu')")
    page.key("Escape")
    assert page.js("document.querySelector('.menu')") is None
    assert page.js("document.activeElement === document.querySelector('.turn .more')")
    assert page.js("document.activeElement.getAttribute('aria-expanded')") == "false"


def test_everything_that_can_be_pressed_or_filled_in_has_a_name(browser: Browser, served: Server) -> None:
    remember(served.people)
    page = opened(browser, served)
    nameless = (
        "[...document.querySelectorAll('button, a, input, textarea')].filter((one) => one.checkVisibility()"
        " && !one.textContent.trim() && !one.getAttribute('aria-label') && !one.getAttribute('aria-labelledby')"
        " && !one.labels?.length).map((one) => one.outerHTML)"
    )
    for view in VIEWS:
        look(page, view)
        page.until(f"{_SHOWN}.innerText.length > 5")
        assert page.js(nameless) == [], view


def test_the_page_speaks_chinese_where_the_browser_does_and_switches_without_losing_anything(
    browser: Browser, served: Server
) -> None:
    page = opened(browser, served, language="zh-CN,zh;q=0.9")
    assert (page.js("document.documentElement.lang"), page.text(".brand")) == ("zh", "老友")
    assert page.js("document.querySelector('#say').placeholder") == "说点什么……"
    assert "你好，我是老友" in page.text("#hello")
    assert "PingFang SC" in page.js("getComputedStyle(document.body).fontFamily").split(",")[0]
    page.js("document.getElementById('say').focus()")
    page.type("Half a thought")
    page.js("document.getElementById('language').click()")
    page.until("document.documentElement.lang === 'en'")
    page.until("document.getElementById('hello').innerText.includes('Old Friend')")
    bare = "[...document.querySelectorAll('[data-say]')].filter((one) => !one.textContent.trim()).length"
    assert page.js(bare) == 0
    assert page.js("document.getElementById('say').value") == "Half a thought"


def test_a_token_for_many_people_opens_nothing_before_a_person_is_named(browser: Browser, served: Server) -> None:
    assert served.registry
    secret = served.registry.add_token("backend", "*")
    page = opened(browser, served)
    assert page.js("document.activeElement.id") == "token"
    page.type(secret)
    page.key("Enter")
    page.until("document.activeElement.id === 'person'")
    assert served.registry.persons() == []
    page.js("document.getElementById('language').click()")
    page.until("document.documentElement.lang === 'zh' && document.activeElement.id === 'person'")
    page.type("张三")
    page.key("Enter")
    page.until("document.getElementById('view-person').hidden")
    page.until("!document.getElementById('view-chat').hidden")
    until(lambda: served.registry and served.registry.persons() == ["张三"])
    assert not page.js("location.href.includes('%E5')")


def test_an_enter_that_ends_a_word_of_an_input_method_sends_nothing(
    browser: Browser, served: Server, model: ScriptedServer
) -> None:
    page = opened(browser, served)
    page.js("document.getElementById('say').value = 'nihao'")
    page.js(
        "document.getElementById('say').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true}))"
    )
    assert page.js("document.querySelectorAll('.turn').length") == 0
    assert model.chats == []


def test_a_token_is_asked_for_once_and_stays_in_the_tab(browser: Browser, served: Server) -> None:
    secret = served.registry.add_token("phone", "me")
    page = opened(browser, served)
    assert page.js("document.activeElement.id") == "token"
    page.type("wrong")
    page.key("Enter")
    page.until("!document.getElementById('trouble').hidden")
    page.js("document.getElementById('token').focus()")
    page.type(secret)
    page.key("Enter")
    page.until("!document.getElementById('view-chat').hidden")
    page.until("document.getElementById('trouble').hidden")
    assert secret in page.js("Object.values(sessionStorage)")
    assert secret not in page.js("JSON.stringify(localStorage) + document.cookie + location.href")
    assert not any(secret in address for address in page.asked)
