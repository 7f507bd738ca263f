"""What the companion invents stays an invention, however often it quotes it: only original messages verify words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from domain.facts import Quote
from domain.quotations import as_memory, check_quotations, source_of
from domain.recollection import (
    RecalledChapter,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    RecallLimits,
    Recollection,
    Why,
)
from domain.records import PREFIX
from tests.support.house import House, house, marked
from tests.support.server import ScriptedServer

WHY = Why("q", 1.0)
AT = "2026-05-04T13:05:22+00:00"
#: By language: what the person said, what the companion invents, a word of it, and a question about it.
INVENTED = {
    "en": (
        "I planted a pear tree.",
        "I keep seven beehives on the roof",
        "beehives",
        "How many beehives did I mention?",
    ),
    "zh": ("我种了一棵梨树。", "我在屋顶上养了七箱蜜蜂", "蜜蜂", "我说过养了几箱蜜蜂？"),
}
#: How a reply may quote.
FORMS = {
    "tag": "You said: <blockquote>{}</blockquote> Indeed.",
    "tag in other letters": "You said: <BLOCKQUOTE cite='you'>{}</ blockquote > Indeed.",
    "nested tags": "You said: <blockquote>As <blockquote>{}</blockquote></blockquote> Indeed.",
    "unclosed tag": "You said: <blockquote>{}",
    "Markdown": "You said:\n\n> {}\n\nIndeed.",
    "beside words that were said": "You said: <blockquote>{said} {}</blockquote> Indeed.",
}


@pytest.fixture
def home(tmp_path, server, clock, new_id, log) -> Iterator[House]:
    with house(tmp_path, server, clock, new_id, log) as opened:
        yield opened


def quoting(server: ScriptedServer, reply: str, asked_of: list[str]) -> None:
    """The companion answers all talk with this reply; what each task is shown is kept."""

    def answer(request):
        shown = "\n".join(one["content"] for one in request["messages"][1:])
        if marked(request, "talk"):
            return reply
        asked_of.append(shown)
        return '{"notes": []}' if marked(request, "notes") else '{"operations": []}' if "image" in shown else "Talk."

    server.answer = answer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_invented_quotation_is_stored_but_never_indexed_searched_shown_or_believed(home, server, language, form):
    said, made_up, word, question = INVENTED[language]
    reply, tasks = FORMS[form].format(made_up, said=said), list[str]()
    quoting(server, reply, tasks)
    home.say(said)
    for _ in range(3):
        home.say(said)
        spoken = home.talk.rounds_in_context()[-1].assistant
        assert word in spoken.words, "it is stored as it was written"
        assert spoken.quoted == ()
    home.save()
    for _ in range(2):
        home.say(question)
        recalled = home.talk.last.recollection
        assert not [one for one in (*recalled.messages, *recalled.summaries) if word in one.text]
        assert home.talk.rounds_in_context()[-1].assistant.quoted == ()
    fenced = server.chats[-1]["messages"][1]["content"].partition(question)[0]
    assert made_up not in fenced.rpartition("===")[0]
    assert not [one for one in tasks if made_up in one]
    found = home.memory.search(made_up, RecallLimits(9, 30, 9_000))
    assert not [one for one in found.messages if made_up in one.text]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_said_is_still_verified_after_it_was_quoted_and_a_reply_says_of_which_day_it_is(
    home, server, clock, language
):
    said, _, _, _ = INVENTED[language]
    home.say(said)
    home.save()
    reply = f"Yes: <blockquote>{said}</blockquote> Well."
    server.answer = lambda request: reply if marked(request, "talk") else "T."
    question = {"en": "What did I plant, a pear tree?", "zh": "我种了什么，梨树吗？"}[language]
    home.say(question)
    (first,) = home.talk.rounds_in_context()[-1].assistant.quoted
    session = home.talk.session.session_id
    home.save()
    home.say(question)
    (again,) = home.talk.rounds_in_context()[-1].assistant.quoted
    assert again.text_id == first.text_id, "the message itself, not the reply that quoted it"
    for quoting_reply in (home.memory.messages.of_session(session)[-1], home.talk.rounds_in_context()[-1].assistant):
        assert as_memory(quoting_reply).words == f"Yes: [“…” {first.timestamp[:10]}] Well."


def recalled(text: str, role: str = "user") -> RecalledMessage:
    return RecalledMessage("t", "s", AT, role, PREFIX[role] + text, True, WHY)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_that_was_drawn_from_messages_verifies_a_quotation(language):
    made_up = INVENTED[language][1]
    fact = RecalledFact(1, "f", made_up, AT, ("t",), WHY, quotes=(Quote("t", 0, 9, made_up, "user"),))
    for found in (
        Recollection(summaries=(RecalledSummary("m", "s", AT, made_up, WHY),)),
        Recollection(chapters=(RecalledChapter("c", made_up, AT, AT, 2, WHY),)),
        *(Recollection(facts=(replace(fact, basis=basis),)) for basis in ("verified", "quoted", "inferred")),
        *(
            Recollection(messages=(recalled(form.format(made_up, said="Yes."), "assistant"),))
            for form in FORMS.values()
        ),
    ):
        assert source_of(made_up, found) is None
        assert check_quotations(f"<blockquote>{made_up}</blockquote>", found) == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_quotation_that_adds_to_what_was_said_is_not_verified(language):
    said, made_up, _, _ = INVENTED[language]
    other = {"en": "It bore fruit.", "zh": "结果了。"}[language]
    found = Recollection(messages=(recalled(said), recalled(other)))
    for quotation in (f"{said} {made_up}", f"{made_up}\n{said}", f"{said[:-1]}, no.", f"{other} {said}"):
        assert source_of(quotation, found) is None
    assert source_of(said, found) == found.messages[0]
    assert source_of(said.upper().rstrip(".。") + "!", found) == found.messages[0]


def test_code_and_prompts_of_python_are_a_replys_own_words():
    reply = "Try:\n>>> len('kiwi')\n4\na > b"
    assert source_of("len('kiwi')", Recollection(messages=(recalled(reply, "assistant"),)))
