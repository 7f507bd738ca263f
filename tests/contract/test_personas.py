"""The two personas: text files and their versions, edited by hand, pinned, and kept free of what was removed."""

from __future__ import annotations

from domain.facts import LineEvidence, PersonaDraft
from tests.contract.stores import Store, Teller, with_files


def test_a_persona_is_its_newest_version_and_any_version_can_be_restored(store: Store) -> None:
    store.personas.write("user", "Likes tea.", "model", "s1")
    second = store.personas.write("user", "Likes coffee.", "hand")
    assert store.personas.read("user") == "Likes coffee."
    assert second == store.personas.newest("user")
    first = store.personas.history("user")[0]
    store.personas.restore(first.version)
    assert store.personas.read("user") == "Likes tea."
    assert [one.origin for one in store.personas.history("user")] == ["model", "hand", "restore"]
    assert store.personas.restore(99) is None


@with_files
def test_the_file_is_read_and_an_edit_by_hand_wins(store: Store) -> None:
    store.personas.write("self", "I like rain.", "model")
    path = store.personas.path("self")
    assert path.read_text(encoding="utf-8") == "I like rain.\n"
    assert store.personas.place("self") == path
    path.write_text("I like snow.\n", encoding="utf-8")
    assert store.personas.read("self") == "I like snow."
    assert [one.origin for one in store.personas.history("self")] == ["model", "hand"]


def test_a_pinned_line_is_put_in_and_goes_with_its_pin(store: Store) -> None:
    store.personas.write("user", "Likes tea.", "model")
    store.personas.pin("user", "Allergic to peanuts.")
    assert store.personas.pins("user") == ("Allergic to peanuts.",)
    assert store.personas.read("user").split("\n")[-1] == "Allergic to peanuts."
    store.personas.unpin("user", "Allergic to peanuts.")
    assert (store.personas.pins("user"), store.personas.read("user")) == ((), "Likes tea.")


def test_lines_go_with_the_messages_they_rest_on_out_of_this_version_or_of_all(store: Store, teller: Teller) -> None:
    first, second = teller.say("s1", "I like tea"), teller.say("s1", "I have a cat")
    lines = tuple(
        LineEvidence(line, (spoken.user.text_id,)) for line, spoken in (("Likes tea.", first), ("Has a cat.", second))
    )
    store.opening("s2").rounds.save(
        "s1", teller.summary("of both"), {"user": PersonaDraft("Likes tea.\nHas a cat.", lines)}
    )
    assert [one.line for one in store.personas.line_evidence("user")] == ["Likes tea.", "Has a cat."]
    assert store.versions.lines_ever_resting_on([first.user.text_id])["user"] == {"Likes tea."}
    with store.personas.losing_lines([first.user.text_id]), store.database.write() as tx:
        store.rounds.remove(tx, first.messages)
    assert [one.text for one in store.personas.history("user")] == ["Likes tea.\nHas a cat.", "Has a cat."]
    with store.personas.losing_all_lines([second.user.text_id]), store.database.write() as tx:
        store.rounds.remove(tx, second.messages)
    assert [one.text for one in store.personas.history("user")] == ["Likes tea.", ""]
    assert store.personas.replaced_files() == []
