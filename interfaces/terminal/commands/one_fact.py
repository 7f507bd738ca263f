"""One fact: all that is known of it, and what a person decides about it.

Promises: what it rests on is quoted word for word, with its dates; whatever is changed, the way back is told with it.
"""

from __future__ import annotations

from collections.abc import Callable

from domain.facts import Fact, FactEvent
from domain.records import IMAGES, Turn
from domain.text import one_line
from facts.corrections import corrected_fact
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.commands.memory_view import speaker
from interfaces.terminal.excerpts import excerpt
from interfaces.terminal.session_view import day_here, local

#: What may be said behind the number of a fact; anything else is how it is put right.
WRONG, KEEP = "wrong", "keep"
_ROWS_OF_TURN = 3
#: Longer than any fact is.
LONGEST = 2_000


def show_fact(context: CommandContext, fact: Fact) -> None:
    """What it says, since when, its note, the words it rests on, what happened to it, and its relations."""
    context.aside.line(one_line(fact.restatement, LONGEST), "title", lead=f"{fact.number}: ")
    context.aside.line(one_line(" · ".join(_details(context, fact)), LONGEST), "quiet")
    for note in context.memory.facts.notes_of(fact.session_id):
        if note.text_id == fact.note:
            key = "facts.note" if note.topic else "facts.note_bare"
            context.tell(key, text=note.text, topic=note.topic, importance=note.importance)
    context.tell("facts.evidence", "title")
    for turn in context.memory.messages.with_ids(fact.turns):
        _show_turn(context, fact, turn)
    context.tell("facts.history", "title")
    for event in context.memory.facts.history(fact.text_id):
        context.aside.line(one_line(_happened(context, event), LONGEST), lead="  ")
    _show_relations(context, fact)
    context.aside.gap()
    context.tell("facts.how_one", "quiet", number=fact.number)


def change_fact(context: CommandContext, fact: Fact, wish: str) -> None:
    """``wrong``, ``keep``, or the words that put it right."""
    decide: dict[str, Callable[[CommandContext, Fact], None]] = {WRONG: _take_out, KEEP: _keep}
    if wish.lower() in decide:
        decide[wish.lower()](context, fact)
    else:
        _put_right(context, fact, wish)


# -- showing


def _details(context: CommandContext, fact: Fact) -> list[str]:
    """About whom, what matter, from when until when, and how sure it is."""
    say = context.words.say
    about = {"person": speaker(context, "user"), "companion": speaker(context, "assistant")}
    matter = [about.get(fact.about, fact.subject), fact.topic or fact.attribute]
    told = [*dict.fromkeys(part for part in matter if part), say(f"facts.stance.{fact.stance}")]
    told += [say("facts.since", day=day_here(fact.began))] if fact.began else []
    told += [say("facts.until", day=day_here(fact.until))] if fact.until else []
    told += [say("facts.mark.wrong")] if fact.corrected else []
    told += [say("facts.mark.doubtful", day=day_here(fact.doubtful_since))] if fact.doubtful_since else []
    told += [say("facts.by_hand")] if fact.decided == "hand" else []
    return told + ([say("facts.mark.kept")] if fact.kept else [])


def _show_turn(context: CommandContext, fact: Fact, turn: Turn) -> None:
    """When and by whom it was said, and the words, with the value in their midst."""
    who = turn.speaker or speaker(context, turn.role)
    context.aside.line(f"  {local(turn.timestamp)} · {who}", "quiet")
    words = [fact.value, *fact.entities, *fact.persons]
    context.aside.excerpt(
        "    ",
        lambda cells: excerpt(turn.words, words, cells, plain=context.aside.plain),
        rows=_ROWS_OF_TURN,
    )


def _happened(context: CommandContext, event: FactEvent) -> str:
    """One thing that happened to a fact, and which fact did it."""
    told = f"{day_here(event.when)} · {context.words.say(f'facts.event.{event.what}')}"
    by = context.memory.facts.with_ids([event.by]) if event.by else []
    return told + "".join(f" · {one.number}: {one.restatement}" for one in by)


def _show_relations(context: CommandContext, fact: Fact) -> None:
    relations = [
        one for one in context.memory.facts.relations(current=False) if one.fact.number == fact.number
    ]
    if relations:
        context.tell("facts.relations", "title")
    for one in relations:
        context.aside.line(one_line(f"{one.source} — {one.relation} → {one.target}", LONGEST), lead="  ")


# -- deciding


def _take_out(context: CommandContext, fact: Fact) -> None:
    """``/facts ID wrong``: it never was."""
    if fact.corrected:
        context.tell("facts.is_wrong", text=fact.restatement)
    elif not context.sure("facts.wrong_ask", text=fact.restatement):
        context.tell("kept")
    else:
        context.conversation.undoing.put_right(fact.text_id, None)
        context.tell("facts.wrong_done", text=fact.restatement)
        context.tell("facts.wrong_back", "quiet", number=fact.number, text=fact.restatement)
        _tell_images(context, fact)


def _keep(context: CommandContext, fact: Fact) -> None:
    """``/facts ID keep``: it still holds and is kept, or not any more; what is past is not."""
    if not fact.current and not fact.kept:
        _tell_past(context, fact)
        return
    context.conversation.undoing.keep_fact(fact.text_id, not fact.kept)
    key = "facts.let_go" if fact.kept else "facts.kept"
    context.tell(key, number=fact.number, text=fact.restatement)
    context.tell("facts.undo", "quiet")


def _put_right(context: CommandContext, fact: Fact, text: str) -> None:
    """``/facts ID TEXT``: this is so instead, whatever a model says of it later."""
    if fact.until and not fact.corrected:
        _tell_past(context, fact)
        return
    if text == fact.restatement and not fact.corrected:
        context.tell("kept")
        return
    new = corrected_fact(fact, text, context.memory.facts.new_text_id())
    context.conversation.undoing.put_right(fact.text_id, new)
    (made,) = context.memory.facts.with_ids([new.text_id])
    context.aside.line(one_line(fact.restatement, LONGEST), "removed", lead="- ")
    context.aside.line(text, "added", lead="+ ")
    context.tell("facts.put_right", number=made.number)
    context.tell("facts.put_right_back", "quiet", number=made.number, text=fact.restatement)
    _tell_images(context, fact)


def _tell_past(context: CommandContext, fact: Fact) -> None:
    if fact.corrected:
        context.tell("facts.is_wrong", "warning", text=fact.restatement)
    else:
        context.tell("facts.is_past", "warning", number=fact.number, day=day_here(fact.until))


def _tell_images(context: CommandContext, fact: Fact) -> None:
    """Lines of an image that may still say what a fact said: images are the person's own to change."""
    for image in IMAGES:
        rests = {
            one.line for one in context.memory.personas.line_evidence(image) if {*one.turns} & {*fact.turns}
        }
        for line in context.memory.personas.read(image).splitlines():
            if fact.value and fact.value in line and line in rests:
                context.tell("facts.in_image", "quiet", image=image, line=line)
