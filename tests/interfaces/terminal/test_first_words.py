"""The companion speaks first above the prompt, in a real terminal; ``/open`` shows and settles what is open."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from domain.facts import Learned
from domain.matters import NewMatter
from tests.contract.test_knowing import window_of
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.test_facts import opened, told
from tests.support.server import Exchange, ScriptedServer, hang, say

INTERVIEW = "I have a job interview at the harbour office."


def due(home: Path) -> None:
    """An interview that took place yesterday, as was said two days before."""
    now = datetime.now().astimezone()
    said, day = (now - timedelta(days=3)).isoformat(timespec="seconds"), (now - timedelta(days=1)).date().isoformat()
    later = (now + timedelta(days=9)).date().isoformat()
    with opened(home) as memory:
        spoken = told(memory, INTERVIEW, "Good luck!", said)
        matter = NewMatter("event", spoken.user.text_id, 0, len(INTERVIEW), due_from=day, due_to=day, precision="day",
                           key="harbour interview job office", next_review=day, expires=later)  # fmt: skip
        assert memory.fact_log.learn(Learned(window_of(spoken)), [matter])


def test_it_asks_above_the_prompt_and_the_answer_goes_on_from_there(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    due(tmp_path)
    server.script(say("", pieces=["How did the ", "interview go", "? Tell me."]))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.see("How did the interview go? Tell me.")
    terminal.wait(lambda: terminal.line().startswith(">"), "the prompt below the greeting")
    terminal.say("/why")
    terminal.see("this is due")
    terminal.see(INTERVIEW[:30])
    terminal.say("They took me!")
    terminal.see("You said:")
    sent = [one["content"] for one in server.chats[-1]["messages"]]
    assert sent[-2:] == ["How did the interview go? Tell me.", "They took me!"]
    terminal.say("/exit")
    terminal.see("Take care. See you.")


def test_a_model_that_says_nothing_never_keeps_the_first_key(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    due(tmp_path)

    def play(exchange: Exchange) -> None:
        first = "Say the first words" in exchange.json["messages"][-1]["content"]
        (hang if first else say("Hello to you."))(exchange)

    server.script(*[play] * 9)
    terminal = chat(**connected)
    terminal.prompt()
    terminal.wait(lambda: bool(server.chats), "the request for a greeting")
    terminal.send("Hello")
    terminal.wait(lambda: terminal.line().startswith("> Hello"), "the first keys")
    terminal.send("\r")
    terminal.see("Hello to you.")
    assert server.chats[-1]["messages"][-1]["content"].endswith("Hello")


def test_open_lists_what_is_open_and_settles_it(chat: Chat, tmp_path: Path) -> None:
    due(tmp_path)
    terminal = chat(columns=120)
    terminal.prompt()
    terminal.say("/open")
    terminal.see(INTERVIEW)
    terminal.see("/open N done")
    terminal.say("/open 7 done")
    terminal.see("Nothing open has the number 7.")
    terminal.say("/open 1 later whenever")
    terminal.see("names no day ahead")
    terminal.say("/open 1 later tomorrow")
    tomorrow = (datetime.now().astimezone() + timedelta(days=1)).date().isoformat()
    terminal.see(f"Not before {tomorrow}")
    terminal.say("/open 1 drop")
    terminal.see("I won't bring it up again")
    terminal.say("/open")
    terminal.see("Nothing is open.")
