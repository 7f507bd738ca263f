"""A memory with something in it, for tests of the page: a session, and facts and relations drawn from it."""

from __future__ import annotations

from domain.facts import Change, Learned, NewFact, NewNote, NewRelation, Slot, Window
from domain.records import Round
from people import ME, People

#: What would do harm if it were ever read as markup.
HOSTILE = '<img src=x onerror="document.body.dataset.harmed=1"><script>document.body.dataset.harmed=1</script>'
THEN = "2026-05-01T13:05:00+00:00"


def remember(people: People, *, hostile: bool = False, person: str = ME) -> Round:
    """Ann lived in Lyon and lives in Metz, and has a cat. Returns the round that says so."""
    with people.companion(person) as companion:
        memory = companion.memory
        session, _ = memory.sessions.resume_or_start()
        told = "I moved from Lyon to Metz with my cat Momo." + (f" {HOSTILE}" if hostile else "")
        spoken = memory.rounds.store(session.session_id, told, "Metz is lovely.", THEN, "stop")
        facts = [_fact("lyon", spoken, "Lyon"), _fact("metz", spoken, "Metz")]
        if hostile:
            facts.append(_fact("bad", spoken, HOSTILE, slot=Slot("ann", "art")))
        relations = [NewRelation("Ann", "lives in", "Metz", "metz"), NewRelation("Momo", "cat of", "Ann", "metz")]
        if hostile:
            relations.append(NewRelation(HOSTILE, HOSTILE, "Ann", "metz"))
        window = Window(
            spoken.assistant.text_id, session.session_id, tuple(message.text_id for message in spoken.messages)
        )
        notes = tuple(NewNote(one.note, f"Of {one.value}.", "home", 7, "active", one.messages) for one in facts)
        changes = (Change("lyon", "changes", "2026-05-01", "metz"),)
        assert memory.fact_log.learn(Learned(window, notes, tuple(facts), tuple(relations), changes))
        return spoken


def _fact(name: str, spoken: Round, value: str, slot: Slot | None = None) -> NewFact:
    slot = slot or Slot("ann", "home")
    return NewFact(
        name, f"note of {name}", f"Ann lives in {value}.", "Ann", "home", value, slot, True, "person", "stated",
        THEN, (spoken.user.text_id,),
    )  # fmt: skip
