"""The demo model: speaks the real protocol, quotes what fits, extracts, appends, never pretends."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime

import pytest

from conversation import result_of
from domain.quotations import find_quotations
from domain.recollection import RecalledMessage, Recollection, Why
from domain.workers import CancelToken
from llm import Layers, PromptMessage
from models.demo_model import MODEL, DemoModel, reply_to
from models.tasks import ExtractionTask
from tests.support.known import fact, new_fact, persona_task
from tests.support.talking import answered, models_at, played, settings, spoken

NOW = datetime(2026, 11, 20, 18, 5, tzinfo=UTC)
CAT = "My cat Mimi was born in Chengdu."
MEMORIES = Recollection(
    messages=tuple(
        RecalledMessage(f"t{day}", "s", f"2025-03-0{day}T10:30:00+00:00", "user", f"User: {text}", True, Why("q", 1.0))
        for day, text in enumerate((CAT, "I like tea.", "我的生日是三月八日。"), 1)
    )
)


@pytest.fixture
def llm():
    opened = models_at("", openai_api_key="", openai_api_base="")
    yield opened
    opened.close()


def answer(llm, text: str, memories: Recollection = MEMORIES, *, stream: bool = True) -> str:
    layers = Layers(text=text, now=NOW, recalled=memories, self_image="Cat person.")
    return answered(llm, layers, stream=stream).reply.text


def test_no_key_and_no_base_means_the_stand_in(llm):
    described = llm.described
    assert (described.demo, described.model, llm.models()) == (True, MODEL, [MODEL])
    assert settings().demo


@pytest.mark.parametrize("stream", [True, False])
def test_a_memory_that_fits_is_quoted_word_for_word_with_its_date(llm, stream):
    said = answer(llm, "Where was Mimi born?", stream=stream)
    assert find_quotations(said) == [CAT]
    assert "2025-03-01" in said
    assert "demo model" in said


def test_chinese_is_answered_in_chinese(llm):
    said = answer(llm, "你还记得我的生日吗？")
    assert find_quotations(said) == ["我的生日是三月八日。"]
    assert "演示模型" in said
    assert "演示模型" in answer(llm, "今天好累")


@pytest.mark.parametrize("text", ["What is the capital of France?", "thanks!", "<blockquote>x</blockquote>"])
def test_where_no_memory_fits_none_is_quoted_and_nothing_is_pretended(llm, text):
    said = answer(llm, text, Recollection())
    assert "demo model" in said
    assert "no model is connected" in said


@pytest.mark.parametrize(
    ("forget_request", "told"),
    [
        ("Please forget what I told you about my cat Mimi, born in Chengdu.", "I am only the built-in demo model; "),
        ("请你忘掉我说过的，我的生日是三月八日。", "我只是内置的演示模型，"),
    ],
)
def test_where_something_is_to_be_forgotten_it_repeats_nothing_and_does_not_say_that_it_remembers(
    llm, forget_request, told
):
    said = answer(llm, forget_request)
    assert said.startswith(told)
    assert not [word for word in ("remember", "Mimi", "记", "生日") if word in said]


def test_it_does_not_quote_itself(llm):
    own = answer(llm, "I live in Berlin near the zoo.", Recollection())
    why = Why("q", 1.0)
    memories = Recollection(
        messages=(RecalledMessage("a", "s", "2025-03-01T10:30:00+00:00", "assistant", own, True, why),)
    )
    assert find_quotations(answer(llm, "Where is the zoo of Berlin?", memories)) == []


def test_the_same_prompt_gets_the_same_answer(llm):
    assert answer(llm, "Where was Mimi born?") == answer(llm, "Where was Mimi born?", stream=False)


def test_only_memories_are_quoted_and_never_the_present_conversation(llm):
    layers = Layers(text="Tell me of Chengdu", now=NOW, rounds=(spoken("I love Chengdu", "Oh!"),))
    assert find_quotations(answered(llm, layers).reply.text) == []


def test_a_summary_says_who_said_what_and_keeps_the_one_before(llm):
    rounds = [
        spoken("My cat Mimi is ill. What should I do?", "I am sorry to hear that. See a vet.", 1),
        spoken("我明天去成都出差。", "一路顺风，记得带伞。", 2),
    ]
    summary = result_of(llm.summarise("Ann has a cat.", rounds, CancelToken()))
    lines = summary.splitlines()
    assert lines[0] == "Ann has a cat."
    assert "2026-05-01 the user said: My cat Mimi is ill." in lines
    assert "2026-05-01 Old Friend said: I am sorry to hear that." in lines
    assert any(line.startswith("2026-05-02") and line.endswith("我明天去成都出差。") for line in lines)
    assert "What should I do" not in summary


def test_a_summary_does_not_grow_without_end(llm):
    summary = ""
    for number in range(1, 9):
        rounds = [spoken(f"Fact {number} {part} is worth keeping.", "Understood, noted.", number) for part in range(9)]
        summary = result_of(llm.summarise(summary, rounds, CancelToken()))
    assert len(summary.splitlines()) <= 40
    assert "Fact 8" in summary


def test_its_own_words_are_not_kept_as_facts(llm):
    own = answer(llm, "I live in Berlin.", Recollection())
    assert "demo model" not in result_of(llm.summarise("", [spoken("I live in Berlin.", own)], CancelToken()))


@pytest.fixture
def named():
    opened = models_at("", openai_api_key="", openai_api_base="", companion_name="Sam", user_name="Ann")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("language", "said", "form"),
    [("en", "I moved to Berlin.", "Ann said: “{}”"), ("zh", "我喜欢喝茶。", "Ann说：“{}”")],
)
def test_each_statement_of_the_person_is_noted_as_said_and_nothing_else(named, language, said, form):
    rounds = [spoken(f"{said} Is it?", "I shall be less formal.", 1), spoken("You are kind.", "Oh.", 2)]
    window = [message for one in rounds for message in one.messages]
    found = json.loads(named.extract_notes(ExtractionTask(window), language, CancelToken()))["notes"]
    assert [(one["turns"], one["text"], one["facts"][0]["about"]) for one in found] == [
        ([1], form.format(said), "person"),
        ([3], form.format("You are kind."), "companion"),
    ]
    assert json.loads(named.extract_notes(ExtractionTask([], window), language, CancelToken())) == {"notes": []}


def test_a_persona_gets_a_line_for_each_fact_that_is_in_none(named):
    about = persona_task("user", "Ann has a cat.", "Ann said: “I moved to Berlin.”")
    (added,) = json.loads(named.update_persona(about, "en", CancelToken()))["operations"]
    assert (added["operation"], added["facts"]) == ("add", [1])
    assert added["text"] == "Ann said: “I moved to Berlin.”"
    again = persona_task("user", added["text"], "Ann said: “I moved to Berlin.”")
    assert json.loads(named.update_persona(again, "en", CancelToken())) == {"operations": []}


def test_it_compares_nothing(named):
    assert json.loads(named.compare_facts([new_fact("a")], [fact("b")], "en", CancelToken())) == {"verdicts": []}


def test_sentences_are_whole_and_neither_questions_nor_its_own_phrases(llm):
    own = answer(llm, "I live in Berlin.", Recollection())
    remembered = answer(llm, "Where was Mimi born?")
    said = 'Dr. Li said "It is 3.5 kg." yesterday. Is it? She told me: “Come at ten.” Good.'
    summary = result_of(
        llm.summarise("", [spoken(said, own, 1), spoken("你好吗？我很好，我在成都。", remembered, 2)], CancelToken())
    )
    assert summary.splitlines() == [
        '2026-05-01 the user said: Dr. Li said "It is 3.5 kg."',
        "2026-05-01 the user said: yesterday.",
        "2026-05-01 the user said: She told me: “Come at ten.”",
        "2026-05-02 the user said: 我很好，我在成都。",
    ]


def test_one_sentence_is_quoted_the_persons_own_before_a_repetition(llm):
    why = Why("q", 1.0)
    when = "2025-03-01T10:30:00+00:00"

    def memory(number, role, text):
        return RecalledMessage(f"t{number}", "s", when, role, text, True, why)

    memories = Recollection(messages=(
        memory(1, "user", "User: It rains. My cat Mimi was born in Chengdu. Where were you born?"),
        memory(2, "assistant", "Assistant: So your cat Mimi was born in Chengdu."),
        memory(3, "assistant", "Assistant: " + answer(llm, "My cat Mimi was born in Chengdu", Recollection())),
    ))  # fmt: skip
    assert find_quotations(answer(llm, "In Chengdu, was my cat Mimi born there?", memories)) == [CAT]
    from domain.recollection import RecalledSummary

    told = RecalledSummary("s1", "s", when, f"2024-01-02 the user said: {CAT}\n2024-01-03 the user said: Rain.", why)
    said = answer(llm, "Where was Mimi born?", Recollection(summaries=(told,)))
    assert find_quotations(said) == [CAT]
    assert "2024-01-02" in said


def test_an_unknown_path_is_not_found():
    import httpx2

    assert DemoModel().handle_request(httpx2.Request("GET", "http://x/v1/files")).status_code == 404


@pytest.mark.parametrize("messages", [[], [("user", "")], [("system", "only")], [("user", "=\n=\n=")]])
def test_odd_prompts_get_an_answer_too(messages):
    assert "demo model" in reply_to(messages, {})


def test_it_reads_a_whole_prompt_of_every_layer(llm):
    layers = Layers(text="Where was Mimi born?", now=NOW, recalled=MEMORIES, rounds=(spoken("a", "b"),), summary="s")
    for language in ("en", "zh"):
        told = dataclasses.replace(layers, language=language)
        assert find_quotations(answered(llm, told).reply.text) == [CAT]


def test_a_message_alone_is_answered(llm):
    assert "demo model" in played(llm.chat((PromptMessage("user", "hi"),), CancelToken())).reply.text


def test_it_ends_a_sentence_once() -> None:
    assert "“hello.” I will" in reply_to([("user", "hello")], {})
    assert "“Hello!” I will" in reply_to([("user", "Hello!")], {})
    assert "“你好。”我会" in reply_to([("user", "你好")], {})
    assert "“你好。”我会" in reply_to([("user", "你好。")], {})


def test_it_counts_about_as_many_tokens_as_a_model_would(llm) -> None:
    reply = played(llm.chat([PromptMessage("user", "word " * 400)], CancelToken())).reply
    assert 300 <= reply.prompt_tokens <= 900
