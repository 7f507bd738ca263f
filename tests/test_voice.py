"""The companion's way of talking: lines of its persona, and for a new model replies that were taken well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from domain.events import Notice
from domain.workers import CancelToken
from language.reactions import manner_lines, manner_of, reaction_of, running_jokes
from language.scripts import estimate
from tests.support.house import House, Mind, house, marked
from tests.support.server import ScriptedServer

Opens = Callable[[str], AbstractContextManager[House]]

REPLIES = {
    "The cello again.": "Borodin wins, three to nil.",
    "hahaha yes": "Told you.",
    "How is the weather?": "Weather: 1. rain 2. sun",
    "No, that's wrong, stop it": "Sorry.",
    "My knee hurts.": "Stairs or rain?",
    "Thanks, that helps.": "Good.",
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = lambda request: REPLIES.get(request["messages"][-1]["content"].splitlines()[-1], "Hm.")
        yield running


@pytest.fixture
def opens(tmp_path: Path, server: ScriptedServer, clock: Any, new_id: Any, log: Any) -> Opens:
    def opened(model: str) -> AbstractContextManager[House]:
        return house(tmp_path, server, clock, new_id, log, CHAT_MODEL=model)

    return opened


def turn(at: House, text: str) -> list[Notice]:
    """Say something; what is worth saying of the model, which the reply goes with."""
    events = list(at.talk.turn(text, CancelToken()))
    return [one for one in events if isinstance(one, Notice) and one.key == "models.before"]


def shown(server: ScriptedServer) -> list[dict[str, str]]:
    """The examples in the last prompt of a turn."""
    sent = [one for one in server.chats if marked(one, "talk")][-1]["messages"]
    lines = "\n".join(one["content"] for one in sent).splitlines()
    return [json.loads(line) for line in lines if line.startswith('{"they":"')]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("hahaha", 1), ("哈哈哈笑死", 1), ("lol", 1), ("Thank you, I needed that.", 1), ("谢谢，说得好", 1),
        ("w" * 90, 1), ("一" * 50, 1), ("I bought a kettle.", 0), ("我买了个壶", 0), ("No, I said Ruth.", -1),
        ("haha, but no, that's wrong", -1), ("别这样说", -1), ("哈哈，不对吧", -1),
    ],
)  # fmt: skip
def test_laughter_thanks_and_a_long_answer_count_for_a_reply_and_annoyance_against_it(text: str, taken: int) -> None:
    found = reaction_of(text, 20)
    assert (found > 0) - (found < 0) == taken


def test_a_new_model_is_shown_the_replies_that_were_taken_well_and_the_person_one_of_them_beside_its_first(
    opens: Opens, server: ScriptedServer
) -> None:
    with opens("old-model") as at:
        for text in REPLIES:
            assert turn(at, text) == []
        assert shown(server) == []
    with opens("new-model") as at:
        (notice,) = turn(at, "My knee hurts again.")
        told = {"said": "My knee hurts.", "reply": "Stairs or rain?"}
        assert notice.details == told
        said = [one["they"] for one in shown(server)]
        assert said[0] == "My knee hurts."
        assert set(said) == {"The cello again.", "My knee hurts."}
        assert shown(server)[0] == {"they": "My knee hurts.", "you": "Stairs or rain?"}
        assert turn(at, "And it rains.") == []
        assert shown(server)


def test_the_examples_travel_for_a_bounded_number_of_rounds(opens: Opens, server: ScriptedServer) -> None:
    with opens("old-model") as at:
        for text in REPLIES:
            turn(at, text)
    with opens("new-model") as at:
        seen = []
        for number in range(16):
            turn(at, f"Line {number}.")
            seen.append(bool(shown(server)))
        assert seen == [True] * 12 + [False] * 4
    with opens("new-model") as at:
        turn(at, "Still here.")
        assert shown(server) == []


@pytest.mark.parametrize(
    ("reply", "language", "manner"),
    [
        ("老兄，今天又下雨了。", "zh", {"length": "每次回复通常在 10 个字左右。", "calls": "管用户叫“老兄”。"}),
        (
            "Well, Kim! 1. tea\n- rest", "en",
            {"length": "Usually replies in about 5 words.", "calls": "Calls the user “Kim”."},
        ),
        ("Kim likes tea.", "en", {"length": "Usually replies in about 5 words."}),
    ],
)  # fmt: skip
def test_manner_is_what_the_replies_show(reply: str, language: Any, manner: dict[str, str]) -> None:
    found = {part: line for part, (line, _) in manner_of([reply] * 12, "Kim", language).items()}
    assert manner_lines("\n".join(found.values())) == found
    never = found.pop("never", "")
    assert found == manner
    assert ("exclamation marks" in never) == (language == "en" and "!" not in reply)
    assert manner_of([reply] * 11, "Kim", language) == {}


def test_a_line_on_the_length_changes_only_when_it_is_off_by_more_than_a_third() -> None:
    before = "Usually replies in about 15 words."
    lines = [manner_of(["word " * size] * 12, "", "en", before)["length"][0] for size in (9, 10, 20, 21)]
    assert [int(line.split()[4]) for line in lines] == [10, 15, 15, 20]
    assert manner_of(["word " * 9] * 12, "", "en", f"Usually replies in about {'9' * 5000} words.")["length"]


#: What is said, the reply to it, its lines, a longer reply and the line on its length.
TALK = {
    "en": (
        "It rains again.", "Rain again, mate. Tea?", "Usually replies in about 5 words.", "Calls the user “mate”.",
        "Never in its replies: lists, headings, emoji, exclamation marks, “how can I help”.",
        "Rain again, mate. " + "And on and on it goes, " * 4, "Usually replies in about 25 words.",
    ),
    "zh": (
        "今天又下雨了。", "老兄，又下雨了。喝茶吗？", "每次回复通常在 10 个字左右。", "管用户叫“老兄”。",
        "回复里从来没有列表、标题、表情符号、感叹号、“有什么可以帮你”。",
        "老兄，又下雨了。" + "下了一天又一天，" * 4, "每次回复通常在 35 个字左右。",
    ),
}  # fmt: skip


def talk(at: House, mind: Mind, said: str, reply: str, rounds: int) -> None:
    """Say the same several times, and save."""
    mind.answers("talk", reply)
    mind.answers("notes", '{"notes": []}')
    for _ in range(rounds):
        at.say(said)
    at.save()


def self_lines(at: House) -> list[str]:
    return at.memory.personas.read("self").split("\n")


@pytest.mark.parametrize("language", TALK)
def test_how_the_companion_talks_is_kept_in_its_persona_with_the_replies_that_show_it(
    opens: Opens, server: ScriptedServer, mind: Mind, language: str
) -> None:
    said, reply, length, calls, never, longer, length_then = TALK[language]
    with opens("old-model") as at:
        at.memory.personas.write("self", "Calm.", "hand")
        talk(at, mind, said, reply, 11)
        assert self_lines(at) == ["Calm."]  # of so few replies nothing is said
        talk(at, mind, said, f"{reply} 1", 1)
        assert self_lines(at) == ["Calm.", length, calls, never]
        replies = [one.text_id for one, _ in at.memory.voice.replies("")]
        assert [one.messages for one in at.memory.personas.line_evidence("self")] == [tuple(replies)] * 3
    with opens("new-model") as at:
        for _ in range(14):
            at.say(said)
        assert calls in "\n".join(one["content"] for one in server.chats[-1]["messages"])
        versions = len(at.memory.personas.history("self"))
        at.save()
        assert len(at.memory.personas.history("self")) == versions  # nothing changed
        talk(at, mind, said, longer, 40)
        assert self_lines(at)[:3] == ["Calm.", length_then, calls]
        assert at.talk.undo()
        assert self_lines(at) == ["Calm.", length, calls, never]
        assert [one.messages for one in at.memory.personas.line_evidence("self")] == [tuple(replies)] * 3


#: What comes back, each with the laughter at it; what else is said; the line.
JOKES = {
    "en": (
        ("Beige food for the tractor, then.", "haha beige, always"), ("Fine weather today.", "Yes."),
        "They keep laughing about “beige”, “food”, “tractor”.",
    ),
    "zh": (("又是那个蛋挞事件。", "哈哈哈蛋挞事件过不去了"), ("今天天气不错。", "嗯。"), "两个人的老梗：“蛋挞事件”。"),
}  # fmt: skip


@pytest.mark.parametrize("language", JOKES)
def test_what_is_laughed_at_again_and_again_is_a_running_joke_and_rests_on_those_replies(language: Any) -> None:
    (joke, laughter), plain, line = JOKES[language]
    laughter += " food tractor"
    days = [(day, *said) for day in "abcd" for said in [(joke, laughter), *[plain] * 9]]
    assert running_jokes(days, language) == {"jokes": (line, [0, 10, 20, 30])}
    assert manner_lines(line) == {"jokes": line}
    assert running_jokes(days[:20], language) == {}  # of two days
    assert running_jokes([(day, joke, "haha 哈哈") for day, *_ in days], language) == {}  # the person never says it
    assert running_jokes([(day, words, laughter) for day, words, _ in days], language) == {}  # laughs at everything
    assert running_jokes([(day, joke, then) for day, _, then in days], language) == {}  # mostly not laughed at
    assert running_jokes([], language) == {}


@pytest.mark.parametrize("language", JOKES)
def test_a_running_joke_is_a_line_of_the_persona_until_one_of_its_replies_is_erased(
    opens: Opens, server: ScriptedServer, mind: Mind, language: str
) -> None:
    (joke, laughter), plain, line = JOKES[language]
    with opens("old-model") as at:
        for _ in range(4):
            talk(at, mind, plain[1], plain[0], 9)
            mind.answers("talk", joke)
            at.say(plain[1])
            mind.answers("talk", plain[0])
            at.say(f"{laughter} food tractor")
        talk(at, mind, plain[1], plain[0], 1)
        assert line in self_lines(at)
        (found,) = [one for one in at.memory.personas.line_evidence("self") if one.line == line]
        texts = {one.text_id: one.words for one, _ in at.memory.voice.replies("")}
        assert [texts[one] for one in found.messages] == [joke] * 3  # said once there were so many
        at.memory.erasure.erase(at.memory.erasure.scope_of_messages([found.messages[0]]))
        assert line not in self_lines(at)


@pytest.mark.parametrize("language", TALK)
def test_a_line_on_the_manner_that_the_person_changed_removed_or_pinned_stays_so(
    opens: Opens, mind: Mind, language: str
) -> None:
    said, reply, length, _, never, longer, length_then = TALK[language]
    with opens("old-model") as at:
        talk(at, mind, said, reply, 12)
        first = at.memory.personas.newest("self")
        assert first
        changed = length.replace("5", "7").replace("10", "7")
        at.memory.personas.write("self", f"{changed}\n{never}", "hand")
        at.memory.personas.pin("self", never)
        talk(at, mind, said, f"{longer}！?", 40)
        assert self_lines(at) == [changed, never]
        at.memory.erasure.erase(at.memory.erasure.scope_of_words(reply))
        talk(at, mind, said, longer, 1)
        assert self_lines(at) == [changed, never]
        at.memory.personas.restore(first.version)
        talk(at, mind, said, longer, 1)
        assert length_then in self_lines(at)  # the person wants its line, which is the program's again


@pytest.mark.parametrize("language", TALK)
@pytest.mark.parametrize("how", ["erased", "hidden"])
def test_lines_on_the_manner_go_with_a_reply_they_rest_on_and_are_made_of_those_that_stay(
    opens: Opens, mind: Mind, language: str, how: str
) -> None:
    said, reply, length, calls, never, *_ = TALK[language]
    with opens("old-model") as at:
        talk(at, mind, said, reply, 12)
        at.say(said)
        first = at.memory.voice.replies("")[0][0].text_id
        if how == "hidden":
            at.memory.rounds.hide([first])
        else:
            at.memory.erasure.erase(at.memory.erasure.scope_of_messages([first]))
        assert self_lines(at) == [""]
        assert (how == "erased") != (calls in at.memory.personas.history("self")[0].text)
        talk(at, mind, said, reply, 1)
        assert self_lines(at) == [length, calls, never]
        resting = at.memory.personas.line_evidence("self")[0].messages
        assert first not in resting
        assert len(resting) == 13


def test_lines_on_the_manner_get_only_the_room_that_is_left(opens: Opens, mind: Mind) -> None:
    said, reply, length, calls, *_ = TALK["en"]
    with opens("old-model") as at:
        limit = at.llm.settings.persona_tokens
        texts = ("tea" + " tea" * size for size in count(2 * limit, -1))
        at.memory.personas.write(
            "self", next(one for one in texts if estimate(f"{one}\n{length}\n{calls}") <= limit), "hand"
        )
        talk(at, mind, said, reply, 12)
        assert self_lines(at)[1:] == [length, calls]
        assert all(one.importance == 1 for one in at.memory.personas.line_evidence("self"))


def test_what_is_erased_or_hidden_is_no_example(opens: Opens, server: ScriptedServer) -> None:
    with opens("old-model") as at:
        for text in REPLIES:
            turn(at, text)
        at.memory.rounds.hide(
            [one.text_id for one in at.memory.messages.context(at.talk.session.session_id)[0].messages]
        )
        at.memory.erasure.erase(at.memory.erasure.scope_of_words("knee"))
    with opens("new-model") as at:
        assert turn(at, "Who won?") == []
        assert shown(server) == []
