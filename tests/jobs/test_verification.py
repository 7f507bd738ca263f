"""What words say is asked once a window, and only a yes makes a statement of them; all else stays the words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from domain.errors import ModelError
from domain.workers import CancelToken
from facts.by_hand import corrected_fact
from jobs.extraction import Extraction
from tests.support.house import House, Mind, house, records
from tests.support.server import Exchange, Play, say, status

Opened = Callable[..., Any]
LYON, CAT, EARLY = "I live in Lyon.", "I have a cat called Momo.", "Up at five again, lovely."


def fact(message: int | list[int], quote: str | list[str], restatement: str, value: str, **more: Any) -> dict[str, Any]:
    """A fact as a model writes it: where the user lives, unless something else is given."""
    said = {"turn": message, "quote": quote, "restatement": restatement, "subject": "the user", "attribute": "home"}
    return {**said, "value": value, "about": "person", "stance": "stated", **more}


def notes(*facts: dict[str, Any]) -> str:
    """A reply with one note of these facts."""
    return json.dumps({"notes": [{"topic": "life", "importance": 5, "facts": list(facts)}]}, ensure_ascii=False)


IN_LYON = fact(1, LYON, "the user lives in Lyon.", "Lyon")
IN_OSLO = fact(1, "I live in Oslo now.", "the user lives in Oslo.", "Oslo")
MOMO = fact(3, CAT, "the user has a cat called Momo.", "Momo", attribute="pet")
PREFERS = fact(1, EARLY, "the user prefers mornings.", "mornings", attribute="routine", stance="inferred")


def saved(home: House, *said: str) -> None:
    """Say these and save."""
    for one in said:
        home.say(one)
    list(home.talk.save(CancelToken()))
    home.settle()


def believed(home: House) -> list[tuple[str, str]]:
    return [(one.basis, one.believed) for one in home.memory.facts.all(current=True)]


def answering(**answers: str) -> Play:
    """Answers each statement by the first of these words that it holds, else with yes."""

    def play(exchange: Exchange) -> None:
        asked = [one for one in records(exchange.json) if "statement" in one]
        found = [next((answer for word, answer in answers.items() if word in one["says"]), "yes") for one in asked]
        say("\n".join(f"{one['statement']} {answer}" for one, answer in zip(asked, found, strict=True)))(exchange)

    return play


@pytest.mark.parametrize("answer", ["no", "partly", "perhaps", "yes\n1 no\n2 no"])
def test_what_is_not_answered_with_yes_is_quoted_and_costs_its_neighbours_nothing(
    opened: Opened, mind: Mind, answer: str
) -> None:
    mind.answers("notes", notes(IN_LYON, MOMO))
    mind.answers("verify", answering(Lyon=answer) if "\n" not in answer else say(f"1 {answer}"))
    with opened() as home:
        saved(home, LYON, CAT)
        cat = ("verified", "the user has a cat called Momo.") if "\n" not in answer else ("quoted", CAT)
        assert sorted(believed(home)) == sorted([("quoted", LYON), cat])
        (note,) = home.memory.notes.all()
        assert f'the user said: "{LYON}"' in note.text
        assert "lives in Lyon" not in note.text


def test_all_statements_of_a_window_are_asked_in_one_call_with_the_messages_they_rest_on(
    opened: Opened, mind: Mind
) -> None:
    answer = fact([2, 3], ["Is it Lyon?", "Yep."], "the user lives in Lyon.", "Lyon")
    mind.answers("talk", "Is it Lyon?")
    mind.answers("notes", notes(answer, fact(3, CAT, "the user has a cat called Momo.", "Momo", attribute="pet")))
    with opened() as home:
        saved(home, "Guess where I live.", f"Yep. {CAT}")
        (request,) = mind.asked("verify")
        shown = [one for one in records(request) if "statement" in one]
        messages = {one["message"]: one["text"] for one in records(request) if "message" in one}
        assert {one["says"] for one in shown} == {"the user lives in Lyon.", "the user has a cat called Momo."}
        (lyon,) = (one for one in shown if "Lyon" in one["says"])
        first, last = map(int, lyon["of"].split("-"))
        texts = [messages[number] for number in range(first, last + 1)]
        assert [text.partition(": ")[2] for text in texts[-2:]] == ["Is it Lyon?", f"Yep. {CAT}"]
        assert texts[0].startswith("2026-")
        assert len(messages) == len({*messages.values()})


def test_the_words_of_an_answer_are_quoted_with_their_question(opened: Opened, mind: Mind) -> None:
    mind.answers("talk", "So it is Lyon, is it?")
    mind.answers("notes", notes(fact(3, "Yep.", "the user lives in Lyon.", "Lyon", messages=[2, 3])))
    mind.answers("verify", "1 no")
    with opened() as home:
        saved(home, "Guess where I live.", "Yep.")
        (found,) = home.memory.facts.all()
        assert [(one.role, one.words) for one in found.quotes] == [
            ("assistant", "So it is Lyon, is it?"), ("user", "Yep.")
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "words", "shown"),
    [
        (("My sister Nora was here. We had soup. She moves to Bonn in May.",), "She moves to Bonn in May.",
         "My sister Nora was here. We had soup. She moves to Bonn in May."),
        (("My sister Nora was here.", "She moves to Bonn in May."), "She moves to Bonn in May.",
         "My sister Nora was here. — She moves to Bonn in May."),
        (("I had tea. Cello is lovely, but it sounds like a cow.",), "Cello is lovely, but it sounds like a cow.",
         "Cello is lovely, but it sounds like a cow."),
        (("Nora moves to Bonn in May.",), "Nora moves to Bonn in May.", "Nora moves to Bonn in May."),
        (("It's Nora, not Nova, my sister. She keeps Lindt. Her house is in Bonn.",), "Her house is in Bonn.",
         "She keeps Lindt. Her house is in Bonn."),
        (("Soup again.", "She moves to Bonn in May."), "She moves to Bonn in May.", "She moves to Bonn in May."),
        (("My sister Nora was here.", "Old Friend, hello. She moves to Bonn in May."), "She moves to Bonn in May.",
         "My sister Nora was here. — She moves to Bonn in May."),
        (("Soup. It's my sister Nora who was here. She moves to Bonn in May.",), "She moves to Bonn in May.",
         "It's my sister Nora who was here. She moves to Bonn in May."),
        (("我妹妹小敏来过。", "老友你好。她五月搬去成都。"), "她五月搬去成都。", "我妹妹小敏来过。 — 她五月搬去成都。"),
        (("我妹妹小敏来过。我们喝了汤。她五月搬去成都。",), "她五月搬去成都。",
         "我妹妹小敏来过。我们喝了汤。她五月搬去成都。"),
        (("我妹妹小敏来过。", "她五月搬去成都。"), "她五月搬去成都。", "我妹妹小敏来过。 — 她五月搬去成都。"),
        (("小敏五月搬去成都。",), "小敏五月搬去成都。", "小敏五月搬去成都。"),
        (("又喝汤。", "她五月搬去成都。"), "她五月搬去成都。", "她五月搬去成都。"),
    ],
)  # fmt: skip
def test_words_that_do_not_say_whom_they_mean_are_quoted_with_the_sentence_that_does(
    opened: Opened, mind: Mind, said: tuple[str, ...], words: str, shown: str
) -> None:
    sister = fact(2 * len(said) - 1, words, "Nora moves to Bonn.", "Bonn", subject="Nora", about="other")
    mind.answers("talk", "…")
    mind.answers("notes", notes(sister))
    mind.answers("verify", say("1 no"))
    with opened() as home:
        saved(home, *said)
        assert believed(home) == [("quoted", shown)]
        assert [one["quote"] for one in records(mind.asked("user")[-1]) if "quote" in one] == [shown]


def test_a_quoted_fact_fills_no_slot_changes_nothing_and_is_not_compared(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes(IN_LYON), notes(IN_OSLO))
    mind.answers("verify", "1 yes", "1 no")
    with opened() as home:
        saved(home, LYON)
        saved(home, "I live in Oslo now.")
        assert believed(home) == [("verified", "the user lives in Lyon."), ("quoted", "I live in Oslo now.")]
        assert mind.asked("compare") == []
        assert home.memory.facts.all(current=False) == []


def test_what_is_said_again_and_verified_then_verifies_what_was_only_quoted(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes(IN_LYON))
    mind.answers("verify", "1 no", "1 yes")
    with opened() as home:
        saved(home, LYON)
        assert believed(home) == [("quoted", LYON)]
        saved(home, LYON)
        assert believed(home) == [("verified", "the user lives in Lyon.")]
        (known,) = home.memory.facts.all()
        assert [one.kind for one in home.memory.facts.events_of(known.text_id)] == ["learned", "confirmed", "verified"]


SISTER = "My sister is called Annette."
RENAMES = "It's Annika, not Annette: my phone autocorrects it."


@pytest.mark.parametrize(
    ("first", "attribute", "known", "said", "more", "names"),
    [
        (SISTER, "sister", "the user's sister is Annette", RENAMES,
         "the user's elder sister Annika, a bride, was wrongly called Annette", ("Annette", "Annika")),
        ("我女朋友叫林晓。", "女朋友", "用户的女朋友叫林晓", "林晓的“晓”我一直打错了，是竹字头那个筱，林筱。",
         "用户的女朋友、美术老师林筱，以前写成林晓", ("林晓", "林筱")),
    ],
    ids=["en", "zh"],
)  # fmt: skip
@pytest.mark.parametrize("pasted", [False, True])
def test_a_name_is_corrected_by_the_words_though_a_model_says_more_than_these_but_not_by_a_pasted_text(
    opened: Opened, mind: Mind, first: str, attribute: str, known: str, said: str, more: str,
    names: tuple[str, str], pasted: bool,
) -> None:  # fmt: skip
    wrong, right = names
    called = {"subject": right, "attribute": "name", "about": "other"}
    mind.answers("notes", notes(fact(1, first, known, wrong, attribute=attribute)),
                 notes(fact(1, said, more, right, **called)))  # fmt: skip
    mind.answers("verify", answering(bride="partly", 美术="partly"))
    mind.answers("compare", '{"verdicts": []}')
    with opened() as home:
        saved(home, first)
        saved(home, f"> {said}" if pasted else said)
        now = known if pasted else known.replace(wrong, right)
        assert next(one.restatement for one in home.memory.facts.all() if one.value in names) == now
        assert more not in [text for _, text in believed(home)]


def test_a_model_that_does_not_answer_leaves_the_facts_quoted_and_is_asked_again_later(
    opened: Opened, mind: Mind
) -> None:
    mind.answers("notes", notes(IN_LYON), notes(IN_OSLO))
    with opened() as home:
        saved(home, LYON)
        mind.answers("verify", status(500))
        saved(home, "I live in Oslo now.")
        assert believed(home) == [("verified", "the user lives in Lyon."), ("quoted", "I live in Oslo now.")]
        (job,) = (one for one in home.memory.jobs.waiting(["verify"]))
        with pytest.raises(ModelError):
            Extraction(home.memory, home.llm).verify_window(job.key, CancelToken())
        assert believed(home)[1] == ("quoted", "I live in Oslo now.")
    mind.answers("verify", "1 yes")
    asked = len(mind.asked("verify"))
    with opened() as home:
        home.talk.start_maintenance()
        home.talk.maintenance.wait()
        assert believed(home) == [("verified", "the user lives in Oslo.")]
        assert [one.value for one in home.memory.facts.all(current=False)] == ["Lyon"]
        assert home.memory.jobs.waiting(["verify"]) == []
        assert home.memory.windows.replies(job.key) == {}
        Extraction(home.memory, home.llm).verify_window(job.key, CancelToken())
        assert len(mind.asked("verify")) == asked + 1


def test_a_stored_answer_is_not_asked_for_again_after_a_failure(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes(IN_LYON))
    with opened() as home:
        saved(home, LYON)
        mind.answers("compare", status(500))
        saved(home, LYON)
    asked = len(mind.asked("verify"))
    mind.answers("compare", '{"verdicts": []}')
    with opened() as home:
        home.talk.start_maintenance()
        home.talk.maintenance.wait()
        assert len(mind.asked("verify")) == asked
        assert [basis for basis, _ in believed(home)] == ["verified"]


def test_without_a_model_everything_is_quoted(tmp_path, clock, new_id, log) -> None:
    with house(tmp_path, None, clock, new_id, log) as home:
        saved(home, "My dog is called Biscuit.")
        assert believed(home) == [("quoted", "My dog is called Biscuit.")]
        assert home.memory.jobs.waiting(["verify"]) == []


def test_a_fact_that_fails_costs_neither_its_note_nor_its_neighbours_and_is_counted(opened: Opened, mind: Mind) -> None:
    invented = fact(1, LYON, "the user lives in Paris.", "Paris")
    mind.answers("notes", notes(invented, MOMO, fact(99, "", "the user has a dog.", "dog", attribute="pet")))
    with opened() as home:
        saved(home, LYON, CAT)
        assert ("verified", "the user has a cat called Momo.") in believed(home)
        assert sum(home.memory.windows.rejected().values()) >= 2


def test_of_a_fact_that_is_worded_wrongly_the_words_are_kept_and_never_verified(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes(fact(1, LYON, "the user lives in Paris.", "Paris"), MOMO))
    with opened() as home:
        saved(home, LYON, CAT)
        assert sorted(believed(home)) == [("quoted", LYON), ("verified", "the user has a cat called Momo.")]
        assert not any("Paris" in one.restatement for one in home.memory.facts.all())
        assert not any("Paris" in one.text for one in home.memory.notes.all())
        assert sum("statement" in one for one in records(mind.asked("verify")[-1])) == 1
        home.talk.start_maintenance()
        home.talk.maintenance.wait()
        assert ("quoted", LYON) in believed(home)


@pytest.mark.parametrize("instead", ["", "The user lives in Bergen."])
def test_what_a_person_called_wrong_comes_back_only_by_new_words(
    opened: Opened, mind: Mind, clock: Any, instead: str
) -> None:
    mind.answers("notes", notes(IN_LYON))
    with opened(WINDOW_SIZE="2") as home:
        home.say(LYON)
        session = home.talk.session.session_id
        home.say(LYON)
        list(Extraction(home.memory, home.llm).run(session, CancelToken(), all_of_it=True, most_calls=3))
        (wrong,) = home.memory.facts.all()
        clock.pass_by(hours=1)
        new = corrected_fact(wrong, instead, home.memory.fact_log.new_id()) if instead else None
        home.memory.fact_log.correct_by_hand(wrong.text_id, new)
        list(Extraction(home.memory, home.llm).run(session, CancelToken(), all_of_it=True))
        assert [one.value for one in home.memory.facts.all(current=True)] == ([new.value] if new else [])
        assert home.memory.windows.rejected()["rejected by the person"] == 1
        clock.pass_by(hours=1)
        home.say(LYON)
        list(Extraction(home.memory, home.llm).run(session, CancelToken(), all_of_it=True))
        assert "Lyon" in [one.value for one in home.memory.facts.all() if not one.corrected]


def test_what_a_model_concludes_stands_apart_in_no_prompt_and_does_not_come_back_once_rejected(
    opened: Opened, mind: Mind, server: Any
) -> None:
    nowhere = {**PREFERS, "turn": 2, "value": "tea", "restatement": "the user likes tea."}
    named = {**PREFERS, "value": "Zurich", "restatement": "the user misses Zurich."}
    mind.answers("notes", notes(PREFERS, nowhere, named), notes(PREFERS))
    with opened() as home:
        saved(home, EARLY)
        (inferred,) = home.memory.facts.inferred()
        assert (inferred.restatement, inferred.stance, inferred.quotation) == (
            "the user prefers mornings.", "supposed", EARLY
        )  # fmt: skip
        assert home.memory.facts.all() == []
        assert mind.asked("verify") == []
        assert home.memory.windows.rejected()["inferred from nothing"] == 2
        home.say("Do I prefer mornings?")
        assert "prefers mornings" not in json.dumps([one["messages"] for one in server.chats])
        home.memory.fact_log.correct_by_hand(inferred.text_id, None)
        saved(home, EARLY)
        assert home.memory.facts.inferred() == []


def test_who_is_known_is_shown_with_all_names_and_whose_they_are(opened: Opened, mind: Mind) -> None:
    jim = {"attribute": "brother", "value": "Jim"}
    boss = {"attribute": "boss", "value": "Jim"}
    skip = {"subject": "Duncan", "about": "other", "attribute": "nickname"}
    said = "My brother is Jim. My boss is Jim. Duncan is called Skip, 老邓 too."
    mind.answers("notes", notes(
        fact(1, "My brother is Jim.", "the user's brother is Jim.", **jim),
        fact(1, "My boss is Jim.", "the user's boss is Jim.", **boss),
        fact(1, "Duncan is called Skip", "Duncan is called Skip.", "Skip", **skip),
        fact(1, "Duncan is called Skip, 老邓 too", "Duncan is called 老邓.", "老邓", **skip),
    ), notes())  # fmt: skip
    with opened() as home:
        saved(home, said)
        saved(home, "Jim and 老邓 came.")
        first, second = mind.asked("notes")
        assert not any("people" in one for one in records(first))
        (people,) = (one["people"] for one in records(second) if "people" in one)
        assert people == ["Duncan = Skip = 老邓", "Jim (brother, the user)", "Jim (boss, the user)"]


def test_a_window_is_written_in_the_language_of_the_memory(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes(IN_LYON), notes())
    with opened() as home:
        saved(home, LYON)
        saved(home, "我养了一只猫，叫豆包。")
        assert all("attribute, in English" in one["messages"][0]["content"] for one in mind.asked("notes"))


def test_what_is_asked_to_be_forgotten_right_after_a_window_is_shown_with_it(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes())
    with opened(WINDOW_SIZE="2") as home:
        for said in (LYON, "What a day.", "I will remember this day."):
            home.say(said)
        session = home.talk.session.session_id
        list(Extraction(home.memory, home.llm).run(session, CancelToken(), all_of_it=True))
        first = records(mind.asked("notes")[0])
        assert [(one.get("turn"), one["text"]) for one in first if one["speaker"] == "the user"] == [
            (1, LYON), (None, "I will remember this day.")
        ]  # fmt: skip


def test_the_calls_and_tokens_of_each_task_are_counted(opened: Opened, mind: Mind) -> None:
    mind.answers("notes", notes(IN_LYON))
    with opened() as home:
        saved(home, LYON)
        spent = home.llm.spent
        assert spent["notes"][0] == spent["verify"][0] == 1
        assert spent["verify"][1] > 100_000
