"""Of what a model notes, only what stands in the turns that it names is believed. Sentences of an English life."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from facts.checking import MOST_FACTS_A_MESSAGE, check_notes
from facts.drafts import QuoteDraft
from facts.evidence import TextFigures
from facts.slots import Names
from tests.facts.talk import CHEN, MARA, checked, fact_draft, note_draft, reason, talk

FIRST = talk(
    "2025-03-01",
    "Hi! I'm Mara, Mara Lindqvist, 34 until the 12th of June. I live in Headingley, in Leeds, with my cat Pickle.",
    "> Hi Mara. So: Headingley and Pickle. Does the flat have 300 windows?",
    "I'm a claims analyst at Brightwater Insurance. It pays £38,500. The gym, The Foundry, is two streets away,"
    " so I go Tuesdays and Thursdays.",
    "> That's a good antidote. My favourite season is late autumn, November most of all.",
    "Pickle is fifteen. Yesterday she weighed 3.4 kilos. My dentist appointment is next Tuesday.",
    "> Fifteen is a proper age.",
    'please never call me "sweetheart" and no pep talk, just be straight with me. Promise?',
    '> I promise: no "sweetheart", no pep talk, just straight.',
)


@pytest.mark.parametrize(
    ("statement", "messages"),
    [
        ("Mara Lindqvist lives in Headingley, Leeds, with the cat Pickle.", (1,)),
        ("Mara is a claims analyst at Brightwater Insurance for £38,500.", (3,)),
        ("Mara earns 38500 pounds at Brightwater Insurance.", (3,)),
        ("Mara climbs at The Foundry on Tuesdays and Thursdays.", (3,)),
        ("Pickle weighed 3.4 kilos on 28 February 2025.", (5,)),
        ("Pickle is 15 years old.", (5,)),
        ("Mara has a dentist appointment on Tuesday 4 March 2025.", (5,)),
        ("Mara was born on 12 June 1990.", (1,)),
        ('Mara does not want to be called "sweetheart".', (7,)),
    ],
)
def test_what_stands_in_its_turns_or_follows_from_their_day_is_believed(
    statement: str, messages: tuple[int, ...]
) -> None:
    assert reason(statement, FIRST, *messages) == ""


@pytest.mark.parametrize(
    ("statement", "messages", "why"),
    [
        ("Mara works at Google.", (3,), "name"),
        ("Beth Smith lives in Headingley.", (1,), "name"),
        ("Mara earns £45,000 at Brightwater Insurance.", (3,), "number"),
        ("Mara climbs at The Foundry on Mondays.", (3,), "date"),
        ("Pickle weighed 3.4 kilos on 25 May 2023.", (5,), "date"),
        ("Mara was born on 12 June 1985.", (1,), "date"),
        ("Mara likes skiing and cooking.", (3,), "unsupported"),
        ("I live in Headingley.", (1,), "pronoun"),
        ("Mara's flat has 300 windows.", (2,), "companion's words"),
        ("Mara's favourite season is late autumn.", (4,), "companion's words"),
        ("Mara lives in Headingley.", (9,), "no turn"),
        ("Mara lives in Headingley.", (0, -1, 99), "no turn"),
    ],
)
def test_what_is_invented_or_left_open_is_not_believed(statement: str, messages: tuple[int, ...], why: str) -> None:
    assert reason(statement, FIRST, *messages) == why


def test_a_statement_that_begins_with_a_pronoun_says_whom_it_is_about_where_that_was_said() -> None:
    drafts = [
        fact_draft("She lives in Headingley.", 1, subject="Mara"),
        fact_draft("Her flat is in Leeds.", 1, subject="Mara"),
        fact_draft("She lives in Leeds.", 1, subject="Ines"),
    ]
    found = [fact.restatement for draft in drafts for fact in checked(draft, FIRST).facts]
    assert found == ["Mara lives in Headingley.", "Mara's flat is in Leeds.", "She lives in Leeds."]


@pytest.mark.parametrize(
    ("statement", "message", "kept"),
    [
        ("She lives in Headingley.", 1, "She lives in Headingley."),
        ("玛拉住在利兹的公寓里。", 1, "玛拉住在利兹的公寓里。"),
        ("Pickle weighed 3.4 kilos yesterday.", 5, "Pickle weighed 3.4 kilos yesterday (2025-02-28)."),
        (
            "Mara has a dentist appointment next Tuesday.",
            5,
            "Mara has a dentist appointment next Tuesday (2025-03-04).",
        ),
        ("Mara has a dentist appointment on 11 March 2025.", 5, "Mara has a dentist appointment on 4 March 2025."),
    ],
)
def test_what_a_statement_refers_to_is_no_gate_and_its_day_is_worked_out(
    statement: str, message: int, kept: str
) -> None:
    quote = QuoteDraft(5, "My dentist appointment is next Tuesday.") if "dentist" in statement else None
    draft = fact_draft(statement, message, quotes=(quote,) if quote else ())
    assert [fact.restatement for fact in checked(draft, FIRST).facts] == [kept]


def test_a_statement_in_the_first_person_is_told_by_its_value() -> None:
    draft = fact_draft("I live in Headingley.", 1, subject="Mara", attribute="home", value="Headingley")
    assert [fact.restatement for fact in checked(draft, FIRST).facts] == ["Mara: home Headingley"]


def test_a_relative_day_with_its_date_behind_it_is_explained() -> None:
    said = talk("2025-07-12", "Tom and I are over. He told me last Sunday.")
    assert reason("Tom told Mara last Sunday (2025-07-06) that Tom and Mara are over.", said, 1) == ""
    assert reason("Tom told Mara last Sunday (2024-05-05) that Tom and Mara are over.", said, 1) == "date"


def test_a_value_may_be_written_otherwise_than_it_was_said() -> None:
    said = talk("2026-03-07", "Rafe has a daughter, Ines, she's six.")
    statement = "Ines, the daughter of Rafe, is six years old."
    assert reason(statement, said, 1, subject="Ines", attribute="age", value="6", about="other") == ""
    (fact,) = checked(
        fact_draft(statement, 1, subject="Ines", attribute="age", value="7 or 8", about="other"), said
    ).facts
    assert fact.value == statement
    assert reason(statement, said, 1, subject="Ines", attribute="school", value="ballet class") == "value"


def test_several_who_were_named_may_be_they() -> None:
    said = talk("2026-03-07", "Annika and I were in Iceland, we saw the lights.")
    assert reason("Annika and Mara were in Iceland, where they saw the lights.", said, 1) == ""


def test_words_in_quotation_marks_are_nobodys_pronouns() -> None:
    said = talk("2025-03-01", 'The song I love most is "Where did you sleep last night".')
    assert reason('Mara loves the song "Where did you sleep last night" most.', said, 1) == ""


def test_a_companion_is_believed_of_itself() -> None:
    found = checked(
        fact_draft("Juniper's favourite season is late autumn.", 4, about="companion", subject="Juniper"), FIRST
    )
    assert [fact.slot.subject for fact in found.facts] == ["companion"]
    promise = 'Juniper promised no "sweetheart" and no pep talk.'
    assert reason(promise, FIRST, 7, 8, about="companion", subject="Juniper") == ""


def test_a_companion_is_believed_of_a_person_who_said_yes_and_both_messages_are_the_evidence() -> None:
    said = talk("2025-10-25", "Tom carried the wardrobe.", "> You mean Tom Okafor?", "Yes, the one at work.", "> Good.")
    for messages in ((2,), (3,), (1, 2)):
        found = checked(fact_draft("Mara means Tom Okafor, the one at work.", *messages), said).facts
        assert [set(fact.messages) >= {"2025-10-25/2", "2025-10-25/3"} for fact in found] == [True]
    refused = talk("2025-10-25", "Tom carried it.", "> You mean Tom Okafor?", "No, the other one.", "> Sorry.")
    assert reason("Mara means Tom Okafor.", refused, 2) == "companion's words"


def test_a_name_that_stands_in_another_message_of_the_person_makes_that_message_evidence() -> None:
    said = talk(
        "2025-11-16", "Pickle died.", "> I'm sorry.", "Asleep on the green jumper when it happened.", "> Gentle."
    )
    (fact,) = checked(fact_draft("Pickle died asleep on the green jumper.", 3), said).facts
    assert fact.messages == ("2025-11-16/1", "2025-11-16/3")
    before = talk("2025-11-15", "Pickle is my cat.", "> Nice.")
    (fact,) = checked(fact_draft("Pickle was asleep on the green jumper.", 1), said[2:], before=before).facts
    assert fact.messages == ("2025-11-15/1", "2025-11-16/3")


def test_a_name_that_only_the_companion_said_is_no_evidence_of_a_person() -> None:
    said = talk("2025-11-16", "> Is your sister called Beth?", "No idea who you mean.", "> And?", "My sister rang.")
    assert reason("Beth, the sister of Mara, rang.", said, 4) == "name"
    known = Names(MARA.person, MARA.companion, frozenset({"Beth"}))
    assert reason("Beth, the sister of Mara, rang.", said, 4, names=known) == ""


IRONY = "My boss Gareth dumped his backlog on me. Oh brilliant, I'll just marry him and move to Monaco."
VINEYARD = "If I won the lottery I'd buy a vineyard in the Douro. Imagine: Mara the winemaker, six dogs."


@pytest.mark.parametrize(
    ("said", "statement", "stance"),
    [
        (IRONY, "Mara is going to marry Gareth and move to Monaco.", "joked"),
        (IRONY, "Gareth is the boss of Mara.", "stated"),
        (VINEYARD, "Mara has six dogs and is a winemaker.", "supposed"),
        (VINEYARD, "Mara buys a vineyard in the Douro.", "supposed"),
        ("I heard Annika suspects that Josef stole the ring.", "Josef stole the ring.", "supposed"),
        ("I'm moving to Mars tomorrow, haha", "Mara moves to Mars.", "joked"),
        ("I live on the moon. Just kidding!", "Mara lives on the moon.", "joked"),
        ("Ha, my favourite season is spring.", "The favourite season of Mara is spring.", "stated"),
        ("We are thinking of Portugal in September.", "Mara thinks of Portugal in September 2025.", "planned"),
        ("I'd love to see the northern lights in Iceland.", "Mara sees the northern lights in Iceland.", "wished"),
        ("Will you ask about Tom's birthday, the 3rd of November?  Hard.", "Tom's birthday is 3 November.", "supposed"),
        ("Rafe has a daughter, did I say? Ines, she's six.", "Rafe has a daughter.", "stated"),
    ],
)  # fmt: skip
def test_nothing_becomes_more_certain_than_it_was_said(said: str, statement: str, stance: str) -> None:
    found = checked(fact_draft(statement, 1), talk("2025-03-29", said))
    assert [fact.stance for fact in found.facts] == [stance]


@pytest.mark.parametrize(
    ("said", "statement", "stance"),
    [
        ("If only I could marry a pirate, haha.", "Nora Vance marries a pirate.", "joked"),
        ("Maybe I'll learn the harp one day.", "Nora Vance learns the harp.", "supposed"),
        ("I play the harp.", "Nora Vance plays the harp.", "stated"),
    ],
)
def test_a_message_that_only_lends_a_name_makes_nothing_more_certain(said: str, statement: str, stance: str) -> None:
    evening = talk("2025-03-29", "I am Nora Vance and I live in York.", "> Hello Nora.", said)
    found = checked(fact_draft(statement, 3, subject="Nora Vance"), evening, Names(("the user",)))
    assert [(fact.stance, len(fact.messages)) for fact in found.facts] == [(stance, 2)]


def test_a_stance_that_a_model_gave_is_never_made_more_certain() -> None:
    found = checked(fact_draft("Gareth is the boss of Mara.", 1, stance="supposed"), talk("2025-03-29", IRONY))
    assert found.facts[0].stance == "supposed"


def test_a_message_that_only_asks_is_no_evidence() -> None:
    said = talk("2025-03-29", "Do I have a dog? Is Rex my dog?", "> No.")
    assert reason("Mara has a dog called Rex.", said, 1) == "question"


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("I've stopped coffee altogether, since the 4th of August.", "Mara drinks coffee."),
        ("I'm not going to Portugal, it's too far.", "Mara is going to Portugal."),
        ("I live in York.", "Mara does not live in York."),
        ("I quit the cello, no regrets.", "Mara plays the cello."),
    ],
)
def test_a_statement_that_turns_its_evidence_round_is_not_believed(said: str, statement: str) -> None:
    assert reason(statement, talk("2025-08-30", said), 1) == "polarity"


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("I've stopped coffee altogether, since the 4th of August.", "Mara has not drunk coffee since 4 August 2025."),
        ("Tom and I are over. He told me last Sunday.", "Tom and Mara have not been together since 6 July 2025."),
        ("Nobody at work knows, but I've got an interview at Osprey.", "Mara has an interview at Osprey."),
        (
            "I've got an interview at Osprey Energy on the 3rd of June. Nobody at work knows.",
            "Mara has an interview at Osprey Energy on 3 June, which nobody at work knows about.",
        ),
    ],
)
def test_what_ended_may_be_told_as_not_being_so(said: str, statement: str) -> None:
    assert reason(statement, talk("2025-07-12" if "Tom" in said else "2025-08-30", said), 1) == ""


def test_what_a_person_asked_to_have_forgotten_leaves_nothing_nor_does_the_forget_request() -> None:
    secret = "Josef borrowed two thousand pounds from me."
    forget_request = "God, I shouldn't have said that. Please forget it, I mean it, wipe it and never bring it up."
    at_once = talk(
        "2025-07-12", "My sister is Annika.", "> Yes.", f"{secret} {forget_request}", "> Understood, it's wiped."
    )
    later = talk("2025-07-12", "My sister is Annika.", "> Yes.", secret, "> I see.", forget_request, "> Understood.")
    for said, messages in (
        (at_once, (3,)),
        (at_once, (1, 3)),
        (at_once, (4,)),
        (later, (3,)),
        (later, (4,)),
        (later, (5,)),
    ):
        assert reason("Josef borrowed two thousand pounds from Mara.", said, *messages) == "forgotten"
        assert reason("Mara asked Juniper to forget what Josef borrowed.", said, *messages) == "forgotten"
    assert reason("Annika is the sister of Mara.", later, 1) == ""
    assert reason("Annika is the sister of Josef.", later, 1) == "name"


def test_a_forget_request_that_names_its_matter_bars_what_holds_it_and_not_the_round_before() -> None:
    forget_request = "Please forget what I said about Josef."
    said = talk(
        "2025-07-12", "Josef has debts.", "> I see.", "Annika bakes bread.", "> Nice.", forget_request, "> Yes."
    )
    assert reason("Josef has debts.", said, 1) == "forgotten"
    assert reason("Annika bakes bread.", said, 3) == ""


@pytest.mark.parametrize(
    ("asked", "answered", "forget_request", "statement", "other"),
    [
        ("Guess who called me?", "> Josef, about his debts.", "Please forget what I said about Josef.",
         "Mara was called.", ("Annika bakes bread.", "Annika bakes bread.")),
        ("你猜谁给我打电话了？", "> 是约瑟夫吧，他欠了债。", "请把约瑟夫的事忘掉。",
         "有人给陈默打电话了。", ("安妮会烤面包。", "安妮会烤面包。")),
    ],
    ids=["en", "zh"],
)  # fmt: skip
def test_a_round_in_which_only_the_companion_names_the_matter_is_barred_too(
    asked: str, answered: str, forget_request: str, statement: str, other: tuple[str, str]
) -> None:
    said = talk("2025-07-12", asked, answered, other[0], "> Nice.", forget_request, "> Yes.")
    for messages in ((1,), (2,), (1, 2), (5,), (6,)):
        assert reason(statement, said, *messages) == "forgotten", messages
    assert reason(other[1], said, 3) == ""


def test_what_is_hidden_leaves_nothing() -> None:
    said = talk("2025-07-12", "Josef has debts.", "> I see.", "I bake bread.", "> Nice.")
    said[0] = replace(said[0], hidden=True)
    assert reason("Josef has debts.", said, 1) == "forgotten"
    assert reason("Josef bakes bread.", said, 3) == "name"
    assert reason("Mara bakes bread.", said, 3) == ""


def test_a_fact_that_rests_on_what_was_to_be_forgotten_is_none_though_its_note_rests_elsewhere() -> None:
    said = talk("2025-07-12", "Josef has debts. Please forget it, wipe it.", "> Understood.", "I bake.", "> Nice.")
    drafts = [note_draft("Mara bakes.", fact_draft("Josef has debts.", 1), fact_draft("Mara bakes.", 3), messages=(3,))]
    found = check_notes(drafts, said, (), MARA, lambda: "id")
    assert [fact.restatement for fact in found.facts] == ["Mara bakes."]


@pytest.mark.parametrize(
    ("said", "statement", "shown"),
    [
        ("They took me for the job!", "Mara got the job at the harbour office.", "interview at the harbour office"),
        ("他们要我了，拿到工作了！", "陈默拿到了港务局的工作。", "周五去港务局面试"),
    ],
)
def test_no_fact_says_what_only_an_older_message_says_that_was_shown(said: str, statement: str, shown: str) -> None:
    names = MARA if said.isascii() else CHEN
    drafts = [note_draft(statement, fact_draft(statement, 1, subject=names.person[0], value=statement))]
    window = talk("2025-07-12", said, "> Great.")
    for older, found in ((), {statement}), ((shown,), set()):
        kept = check_notes(drafts, window, (), names, lambda: "id", older).facts
        assert {fact.restatement for fact in kept} == found


def test_a_note_of_what_was_to_be_forgotten_takes_its_facts_along() -> None:
    said = talk(
        "2025-07-12", "Josef has debts. Please forget it, I mean it, wipe it.", "> Understood.", "I bake.", "> Nice."
    )
    drafts = [note_draft("Josef has debts.", fact_draft("Mara bakes.", 3), messages=(1,))]
    found = check_notes(drafts, said, (), MARA, lambda: "id")
    assert (found.notes, found.facts) == ((), ())


def test_an_old_memory_that_is_quoted_is_no_evidence() -> None:
    quoted = talk("2026-03-07", "> As I wrote: <blockquote>I love the mountains and Gertrude.</blockquote> Here it is.")
    assert reason("Juniper loves the mountains.", quoted, 1, about="companion", subject="Juniper") == "unsupported"


def test_common_knowledge_goes_with_its_facts() -> None:
    said = talk("2025-03-01", "Paris is the capital of France.")
    draft = note_draft(
        "Paris is the capital of France.", fact_draft("Paris is the capital of France.", 1), private=False
    )
    found = check_notes([draft], said, (), MARA, lambda: "id")
    assert (found.notes, found.facts) == ((), ())
    assert found.rejected["common knowledge"] == 2


def test_a_note_that_does_not_hold_is_told_by_its_facts_that_do() -> None:
    draft = note_draft(
        "She lives with Zed.",
        fact_draft("Mara lives in Headingley.", 1),
        fact_draft("Mara lives in Paris.", 1),
        fact_draft("I live with my cat.", 1),
        fact_draft("Pickle is the cat of Mara.", 1),
    )
    found = check_notes([draft], FIRST, (), MARA, lambda: "id")
    assert [note.text for note in found.notes] == ["Mara lives in Headingley. Pickle is the cat of Mara."]
    assert found.notes[0].messages == ("2025-03-01/1",)
    assert dict(found.rejected) == {"name": 1, "pronoun": 1}


def test_details_that_do_not_hold_cost_only_themselves() -> None:
    draft = fact_draft(
        "Mara has a dentist appointment on 4 March 2025.", 5, subject="Mara", attribute="appointment", value="dentist",
        start="2025-03-11", entities=("Harley Street",), persons=("Mara", "Dr Okonjo"), keywords=("dentist", "health", "Rex", "Dr Okonjo"),
        location="London",
    )  # fmt: skip
    (fact,) = checked(draft, FIRST).facts
    assert (fact.start, fact.persons, fact.entities, fact.location, fact.keywords) == (
        "2025-03-04", ("Mara",), (), "", ("dentist", "health"),
    )  # fmt: skip


def test_a_relation_stands_only_between_names_of_its_turns() -> None:
    from facts.drafts import RelationDraft

    relations = (RelationDraft("Mara", "has", "Pickle"), RelationDraft("Mara", "knows", "Zed"))
    found = checked(fact_draft("Mara lives with the cat Pickle.", 1, relations=relations), FIRST)
    assert [(one.source, one.target, one.fact) for one in found.relations] == [
        ("Mara", "Pickle", found.facts[0].text_id)
    ]
    assert found.rejected["relation"] == 1


def test_so_many_facts_on_one_message_are_made_up() -> None:
    facts = [fact_draft("Mara lives in Headingley.", 1, attribute=f"matter {n}") for n in range(30)]
    found = check_notes([note_draft("Mara lives in Headingley.", *facts)], FIRST, (), MARA, lambda: "id")
    assert len(found.facts) == MOST_FACTS_A_MESSAGE
    assert found.rejected["too many"] == 30 - MOST_FACTS_A_MESSAGE


def test_the_work_of_a_window_does_not_grow_with_the_messages_that_nobody_names() -> None:
    """A window of 40 turns with 30 notes of two facts: what a turn says is worked out once, where it is named."""
    import sys

    said = (FIRST * 5)[:40]
    facts = [fact_draft("Mara climbs at The Foundry on Tuesdays and Thursdays.", 3 + 8 * (n % 5)) for n in range(2)]
    drafts = [note_draft(f"Mara climbs at The Foundry, {n}.", *facts, messages=(3,)) for n in range(30)]
    calls = 0

    def seen(frame: object, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(seen)
    try:
        check_notes(drafts, said, (), MARA, lambda: "id")
    finally:
        sys.setprofile(None)
    assert calls < 66_000


def test_what_the_companion_says_that_it_will_do_is_stated_whatever_it_depends_on() -> None:
    said = talk("2025-07-12", "Will you ask me around the 3rd?", "> I'll ask, if you turn up around then.")
    found = checked(fact_draft("Old Friend will ask Mara.", 1, 2, subject="Old Friend", about="companion"), said)
    assert [fact.stance for fact in found.facts] == ["stated"]
    found = checked(
        fact_draft("Old Friend would take the viola.", 1, subject="Old Friend", about="companion"),
        talk("2025-07-12", "> If I could, I would take the viola."),
    )
    assert [fact.stance for fact in found.facts] == ["supposed"]


SEA = (
    "From my flat you can see the sea, I'd pick a place where you can watch the weather and nobody expects you to swim."
)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("From the flat of Mara you can see the sea.", ""),
        ("Mara picks a place where you can watch the weather and nobody expects you to swim.", ""),
        ("Mara hopes that you can see the sea.", "pronoun"),
        ("Mara picks a place where you can watch the weather and you should swim.", "pronoun"),
        ("You watch the weather.", "pronoun"),
        ("From your flat you can see the sea.", "pronoun"),
    ],
)
def test_you_may_stand_where_it_means_anybody_and_nowhere_else(statement: str, why: str) -> None:
    assert reason(statement, talk("2026-03-07", SEA), 1) == why


KEPT = "It's Annika, not Annette, my phone kept changing my sister's name and I never noticed. She kept Lindqvist."


@pytest.mark.parametrize(
    ("said", "statement", "why"),
    [
        (KEPT, "Annika kept the name Lindqvist.", ""),
        ("Annika didn't change her name, Lindqvist.", "Annika kept the name Lindqvist.", ""),
        ("Annika kept her name, Lindqvist.", "Annika did not change the name Lindqvist.", ""),
        ("Annika changed her name, it was Lindqvist.", "Annika did not change the name Lindqvist.", "polarity"),
        ("Annika didn't keep the name Lindqvist.", "Annika keeps the name Lindqvist.", "polarity"),
        ("I quit the cello. I kept the bow.", "Mara does not play the cello any more, she kept it.", ""),
        ("I live in Leeds.", "Mara does not live in Leeds.", "polarity"),
        ("I've quit the cello and I don't miss it.", "Mara plays the cello.", "polarity"),
        ("I'd buy a vineyard in Douro and never see a sheet again.", "Mara buys a vineyard in Douro.", ""),
    ],
)
def test_what_was_kept_was_not_changed_and_a_denial_is_of_its_own_clause(said: str, statement: str, why: str) -> None:
    assert reason(statement, talk("2025-05-17", said), 1, subject="Annika", about="other") == why


@pytest.mark.parametrize(
    ("asked", "answer", "statement", "why"),
    [
        ("> How did the speech go on 3 May?", "It went well!", "Mara's speech on 2025-05-03 went well.", ""),
        ("> So the speech is on 3 May?", "Agreed!", "Mara's speech is on 2025-05-03.", ""),
        ("> How did the speech go on 3 May?", "No, it went well before.", "Mara's speech on 2025-05-03 went well.", "date"),
        ("> How did the speech go on 3 May?", "Which one went well?", "Mara's speech on 2025-05-03 went well.", "question"),
        ("> How did the speech go on 3 May?", "It went well!", "Mara's speech on 2025-05-04 went well.", "date"),
        ("> Did you ski with Beth on 3 May?", "It went well!", "Mara skied on 2025-05-03.", "unsupported"),
    ],
)  # fmt: skip
def test_the_day_of_a_question_is_that_of_its_answer(asked: str, answer: str, statement: str, why: str) -> None:
    assert reason(statement, talk("2025-05-17", asked, answer), 2) == why


def test_a_question_that_gives_an_answer_its_day_is_evidence_too() -> None:
    said = talk("2025-05-17", "> How did the speech go on 3 May?", "It went well!")
    (fact,) = checked(fact_draft("Mara's speech on 2025-05-03 went well.", 2), said).facts
    assert fact.messages == ("2025-05-17/1", "2025-05-17/2")


@pytest.mark.parametrize(
    ("said", "statement", "attribute", "stance"),
    [
        ("I'll be 36, my birthday is on 3 May.", "Mara's birthday is on 3 May.", "birthday", "stated"),
        ("I'll have a party, my birthday is on 3 May.", "Mara is going to celebrate on 3 May.", "birthday", "planned"),
        ("I'll have a party on 3 May.", "Mara has a party on 3 May.", "plan", "planned"),
        ("If I were a king my birthday would be on 3 May.", "Mara's birthday is on 3 May.", "birthday", "supposed"),
    ],
)
def test_a_birthday_that_lies_ahead_is_no_plan(said: str, statement: str, attribute: str, stance: str) -> None:
    draft = fact_draft(statement, 1, subject="Mara", attribute=attribute, stance="planned")
    assert [fact.stance for fact in checked(draft, talk("2026-03-07", said)).facts] == [stance]


@pytest.mark.parametrize(
    ("said", "statement", "attribute", "kept"),
    [
        ("Mum is Birgit, she's 71.", "Birgit is 71.", "age", "Birgit is 71 (on 2026-03-07; born 1954/1955)."),
        ("Ines is six.", "Rafe's daughter Ines is six.", "daughter", "Rafe's daughter Ines is six (on 2026-03-07; born 2019/2020)."),
        ("I'm 34 until 12 June.", "Mara is 34 until 12 June.", "age", "Mara is 34 until 12 June (on 2026-03-07; born 1991)."),
        ("My sister is 20 minutes away.", "Mara's sister is 20 minutes away.", "sister", "Mara's sister is 20 minutes away."),
        ("I was six when Beth came.", "Mara was six when Beth came.", "event", "Mara was six when Beth came."),
        ("I live at Fishergate, 12.", "Mara lives at Fishergate, 12.", "home", "Mara lives at Fishergate, 12."),
    ],
)  # fmt: skip
def test_an_age_is_kept_with_its_day_and_the_year_of_birth(
    said: str, statement: str, attribute: str, kept: str
) -> None:
    names = Names(MARA.person, MARA.companion, frozenset({"Rafe"}))
    found = checked(fact_draft(statement, 1, attribute=attribute), talk("2026-03-07", said), names)
    assert [fact.restatement for fact in found.facts] == [kept]


def test_a_value_that_nobody_said_is_not_believed() -> None:
    said = talk("2025-03-02", "My mum Ellen lives in Whitby and keeps bees.")
    of_mother = {"subject": "Ellen", "about": "other"}
    assert reason("Ellen breeds chickens.", said, 1, value="chickens", **of_mother) == "value"
    assert reason("Mara's mum Ellen keeps bees.", said, 1, value="bees", **of_mother) == ""


@pytest.mark.parametrize(
    ("said", "statement", "start"),
    [
        ("The vet can see Pip a week from Tuesday.", "Pip can see the vet on 24 March 2026.", "2026-03-24"),
        ("My exam is Thursday week.", "Mara's exam is on 19 March 2026.", "2026-03-19"),
        ("The fair is on 21 March, we leave the day after the fair.", "Mara leaves on 22 March 2026.", "2026-03-22"),
        ("I handed in my notice this time last year.", "Mara handed in her notice in March 2025.", ""),
        ("Half a dozen eggs a week, that's what I eat.", "Mara eats 6 eggs a week.", ""),
        ("I start on the first Monday of next month.", "Mara starts on 6 April 2026.", "2026-04-06"),
        ("Two Sundays ago we lost the cat.", "Mara lost her cat on 1 March 2026.", "2026-03-01"),
        ("上个月最后一个周五发的工资。", "Mara 2026年2月27日发了工资。", "2026-02-27"),
        ("我身高一米七八。", "Mara 身高178厘米。", ""),
        ("一个半小时的车程。", "Mara 的车程是90分钟。", ""),
        ("庙会是三月二十一号，庙会第二天我们就走。", "Mara 2026年3月22日走。", "2026-03-22"),
        ("我每天跑六里地。", "Mara 每天跑3公里。", ""),
    ],
)
def test_a_day_by_its_distance_from_another_and_a_unit_are_worked_out(said: str, statement: str, start: str) -> None:
    (fact,) = checked(fact_draft(statement), talk("2026-03-11", said)).facts
    assert (fact.restatement, fact.start) == (statement, start)


def test_of_a_day_by_its_distance_from_another_neither_is_certain() -> None:
    for text in ("The clinic is two days after Friday the 6th of March.", "3月6日庙会，第二天去看灯。"):
        days = {one.first for one in TextFigures(text, date(2026, 3, 1)).own_days}
        assert date(2026, 3, 6) in days, text
        assert len(days) > 1, text


def test_a_number_in_another_unit_is_not_put_right_with_the_one_that_was_said() -> None:
    said = talk("2026-03-11", "The new flat is 650 square feet.")
    assert reason("Mara's new flat is 60 square metres.", said) == "number"


@pytest.mark.parametrize(
    ("said", "stance"),
    [
        ("It hurts so bad I want to scream.", "stated"),
        ("I want to scream at the sea.", "wished"),
        ("It was late, so I want to sleep in.", "wished"),
    ],
)
def test_how_much_something_hurts_is_no_wish(said: str, stance: str) -> None:
    (fact,) = checked(fact_draft("Mara wants to scream and sleep in."), talk("2026-03-11", said)).facts
    assert fact.stance == stance


def test_of_a_draft_that_is_worded_wrongly_the_copied_words_are_kept() -> None:
    said = talk("2026-03-11", "I pay 900 for a room.", "> A lot!", "Is it 950 in Hull?")
    wrong = fact_draft("Mara pays Quentin.", 1, attribute="rent", value="Quentin")
    found = checked(replace(wrong, quotes=(QuoteDraft(1, "I pay 900 for a room"),)), said)
    (kept,) = found.facts
    assert (kept.basis, kept.attribute, kept.value) == ("quoted", "", "")
    assert [one.words for one in kept.quotes] == ["I pay 900 for a room"]
    assert "Quentin" not in f"{kept.restatement} {found.notes}"
    assert found.rejected["name"]
    for words, message in (
        ("I sold my boat", 1),
        ("Is it 950 in Hull?", 3),
        ("A lot!", 2),
    ):  # invented, asked, not theirs
        assert not checked(replace(wrong, messages=(message,), quotes=(QuoteDraft(message, words),)), said).facts


@pytest.mark.parametrize(
    ("said", "statement", "stance"),
    [
        ("Will you check on me around Tom's birthday, the 3rd of November?", "Tom's birthday is the 3rd of November.", "stated"),
        ("Could you remind me that my flight is at 8 tomorrow?", "Mara's flight is at 8 tomorrow.", "stated"),
        ("Is Tom's birthday the 3rd of November?", "Tom's birthday is the 3rd of November.", ""),
        ("Can you tell me when Tom's birthday is?", "Tom has a birthday.", ""),
        ("Ellen said she would call and didn't.", "Ellen said she would call, but did not.", "stated"),
        ("Ellen would call if she could.", "Ellen calls.", "supposed"),
        ("Dad would have been seventy on Thursday.", "Mara's dad would have been seventy on 2026-03-12.", "stated"),
        ("I would have been lost without it.", "Mara was lost.", "supposed"),
        ("你能提醒我三月二十号给我妈过生日吗？", "Mara 的妈妈三月二十号过生日。", "stated"),
        ("三月二十号是我妈生日吗？", "Mara 的妈妈三月二十号过生日。", ""),
        ("我爸要是还在，今年七十了。", "Mara 的爸爸要是还在，今年七十了。", "stated"),
        ("我爸要是还在，我就去成都了。", "Mara 去了成都。", "supposed"),
    ],
)  # fmt: skip
def test_what_is_taken_for_granted_in_a_request_or_was_promised_is_no_supposition(
    said: str, statement: str, stance: str
) -> None:
    found = checked(fact_draft(statement, quotes=(QuoteDraft(1, said),)), talk("2026-03-11", said))
    assert [fact.stance for fact in found.facts] == ([stance] if stance else [])


@pytest.mark.parametrize(
    ("said", "statement", "fields", "start"),
    [
        ("My interview at Osprey is on 3 June. Nobody knows.", "Nobody knows about Mara's interview.", {}, ""),
        ("I moved out on 3 June, Osprey pays well.", "Mara's job pays well.", {}, ""),
        ("I'm at 124 over 79, so the doctor is pleased.", "Mara's blood pressure is 124 over 79.", {}, ""),
        ("Mum had her hip done on Monday. Birgit, 71.", "Mara's mum is Birgit.", {}, ""),
        ("The dentist is on Tuesday at 10.", "Mara has the dentist.", {"stance": "planned"}, "2026-03-17T10:00"),
        ("I am 34 until 12 June.", "Mara is 34 until 12 June 2026.", {"attribute": "status"}, ""),
        ("My knee hurts today.", "Mara's knee hurts today.", {}, ""),
        ("体检是六月三号，谁也不知道。", "没有人知道 Mara 要体检。", {}, ""),
        ("我妈周一做了手术，她叫碧云。", "Mara 的妈妈叫碧云。", {}, ""),
    ],
)  # fmt: skip
def test_a_day_that_a_fact_does_not_name_is_not_its_beginning(
    said: str, statement: str, fields: dict[str, str], start: str
) -> None:
    draft = fact_draft(statement, quotes=(QuoteDraft(1, said),), **fields)
    (fact,) = checked(draft, talk("2026-03-11", said)).facts
    assert fact.start == start


@pytest.mark.parametrize(
    ("said", "statement", "value"),
    [
        ("Ellen and I booked Oslo! 14 to 21 June.", "Mara and Ellen booked Oslo from 2026-06-14 to 2026-06-21.", "14 to 21 June"),
        ("六月十四号到二十一号去奥斯陆，订好了。", "Mara 2026-06-14 到 2026-06-21 去奥斯陆。", "六月十四号到二十一号"),
        ("My doctor wants it down by spring.", "Mara's doctor wants it down by spring 2027.", "down by spring"),
        ("医生说春天以前要降下来。", "Mara 的医生说2027年春天以前要降下来。", "春天以前"),
        ("My boss and my brother are both Tom.", "The two Toms are Mara's boss and brother.", "boss"),
    ],
)  # fmt: skip
def test_the_ends_of_a_journey_the_year_of_a_season_and_two_of_one_name_are_borne_out(
    said: str, statement: str, value: str
) -> None:
    assert reason(statement, talk("2026-05-11", said), 1, value=value) == ""


def test_a_poem_is_kept_though_it_speaks_of_you() -> None:
    poem = "Asleep on green wool. Sunlight keeps your place."
    said = talk("2026-03-11", "Would you write me a haiku for Pickle?", f"> I'll keep it.\n\n{poem}")
    draft = fact_draft(
        f"Juniper's haiku for Pickle: {poem}", 2, attribute="haiku", value=poem, subject="Juniper", about="companion"
    )
    (fact,) = checked(replace(draft, quotes=(QuoteDraft(2, poem),)), said).facts
    assert (fact.attribute, fact.restatement) == ("haiku", f"Juniper's haiku for Pickle: “{poem}”")


def test_words_that_are_worded_wrongly_are_kept_beside_a_fact_that_does_not_say_them() -> None:
    said = talk(
        "2026-03-11",
        "I pay 900 for a room in Hull.",
        "> I'll keep 12 June free. Is 7 June free?\n<blockquote>You owe 70</blockquote>",
    )
    room = fact_draft(
        "Mara pays for a room in Hull.", 1, attribute="room", value="room", quotes=(QuoteDraft(1, said[0].words),)
    )
    wrong = replace(room, restatement="Mara pays Quentin.", value="Quentin")
    numbers = iter(range(99))
    found = check_notes([note_draft("Room", room, wrong)], said, (), MARA, lambda: f"id{next(numbers)}")
    assert [one.attribute for one in found.facts] == ["room", ""]
    # The companion's own words are kept as well, but not what it only quotes.
    free = fact_draft(
        "Juniper keeps 13 and 14 June free.", 2, attribute="promise", about="companion", subject="Juniper"
    )
    for words, kept in ("I'll keep 12 June free.", ["companion"]), ("Is 7 June free?", []), ("You owe 70", []):
        found = checked(replace(free, quotes=(QuoteDraft(2, words),)), said)
        assert [one.about for one in found.facts] == kept


@pytest.mark.parametrize(
    ("names", "question", "answer", "wrong", "right"),
    [
        (
            MARA,
            "Are you allergic to nuts?",
            "not allergic",
            "Mara is allergic to nuts.",
            "Mara is not allergic to nuts.",
        ),
        (CHEN, "你对坚果过敏吗？", "不过敏", "陈默对坚果过敏。", "陈默对坚果不过敏。"),
    ],
)
def test_a_bare_denial_refutes_what_was_asked(names: Names, question: str, answer: str, wrong: str, right: str) -> None:
    said = talk("2026-03-07", "Hi.", f"> {question}", answer)
    found = [
        check_notes(
            [note_draft(text, fact_draft(text, 2, 3, subject=names.person[0], attribute="health"))],
            said,
            (),
            names,
            lambda: "id",
        )
        for text in (wrong, right)
    ]
    assert [[fact.restatement for fact in one.facts if fact.attribute] for one in found] == [[], [right]]


@pytest.mark.parametrize(
    ("value", "shown"), [("中秋月饼", "中秋月饼"), ("国庆去苏州", "2026-10-01去苏州"), ("中秋的月饼", "中秋的月饼")]
)
def test_a_feast_that_names_a_thing_stays_as_it_was_said(value: str, shown: str) -> None:
    assert TextFigures("国庆去苏州，带中秋月饼", date(2026, 9, 1), ahead=True).with_values(value) == shown


@pytest.mark.parametrize(
    ("said", "answer", "fact", "statement"),
    [
        (
            "One book you'd take?", "It's the one where you're alone awake in a sleeping house.",
            {"statement": "Juniper says it is the one where you are alone awake in a sleeping house.",
             "attribute": "opinion of the book", "value": "the one where you're alone awake in a sleeping house"},
            "Juniper: opinion of the book “the one where you're alone awake in a sleeping house”",
        ),
        (
            "哪本书最好？", "那本让你一个人在睡着的房子里醒着的书。",
            {"statement": "老友说那是让你一个人醒着的书。", "attribute": "对书的看法",
             "value": "那本让你一个人在睡着的房子里醒着的书"},
            "老友: 对书的看法 “那本让你一个人在睡着的房子里醒着的书”",
        ),
        (
            "Hi.", "I owe you a question, first thing: how did the speech go?",
            {"statement": "Juniper asked Mara first thing how the speech went.", "attribute": "promise",
             "value": "kept: asked first thing how the speech went"},
            "Juniper asked Mara first thing how the speech went.",
        ),
        (
            "好久不见。", "演讲讲得怎么样了呢？",
            {"statement": "老友一上来就问陈默演讲讲得怎么样了。", "attribute": "承诺", "value": "问演讲怎么样"},
            "老友一上来就问陈默演讲讲得怎么样了。",
        ),
    ],
)  # fmt: skip
def test_what_the_companion_says_of_anyone_or_asks_is_stated_of_it(
    said: str, answer: str, fact: dict[str, str], statement: str
) -> None:
    names = MARA if answer.isascii() else CHEN
    who = {"subject": names.companion[0], "about": "companion", "quotes": (QuoteDraft(2, answer),)}
    more = {"attribute": fact["attribute"], "value": fact["value"]}
    found = checked(fact_draft(fact["statement"], 2, **who, **more), talk("2025-05-17", said, f"> {answer}"), names)
    assert [(one.restatement, one.stance, bool(one.attribute)) for one in found.facts] == [(statement, "stated", True)]


@pytest.mark.parametrize(
    ("said", "given", "kept"),
    [
        ("Tom's birthday came and went. It was all right, I baked bread.",
         "Tom's birthday, 2025-11-03, was all right for Mara; she baked bread.",
         "Tom's birthday was all right for Mara; she baked bread."),
        ("赵磊的生日过去了，还好，我烤了面包。", "赵磊的生日（11月3日）过去了，陈默烤了面包。",
         "赵磊的生日过去了，陈默烤了面包。"),
    ],
)  # fmt: skip
def test_a_date_that_is_only_added_to_a_statement_costs_only_itself(said: str, given: str, kept: str) -> None:
    names = MARA if said.isascii() else CHEN
    draft = fact_draft(given, 1, subject=names.person[0], attribute="day", value="", quotes=(QuoteDraft(1, said),))
    assert [one.restatement for one in checked(draft, talk("2025-11-16", said), names).facts] == [kept]
