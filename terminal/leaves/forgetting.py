"""``/forget``: shows what would go, asks, erases, and shows the proof that it is gone."""

from __future__ import annotations

from config import Notice
from jobs.erasing import Erased
from models.events import Beat
from storage.erasing import Eraser, Selection
from storage.records import Turn
from terminal.desk import Desk, Next
from terminal.leaves.memories import speaker
from terminal.leaves.sessions import found_session, session_ids
from terminal.times import local
from text import one_line

_SHOWN = 12
_SNIPPET = 120


def forget(desk: Desk, argument: str) -> Next:
    """``/forget last | session ID | turn ID | WORDS``"""
    if not argument.strip():
        desk.tell("forget.what")
        return None
    chosen = _chosen(desk, argument.strip())
    if not chosen:
        desk.tell("forget.nothing", query=argument)
        return None
    _show(desk, chosen)
    desk.aside.gap()
    if not desk.sure("forget.ask", turns=desk.words.count("turn", len(chosen.turns))):
        desk.tell("kept")
        return None
    _erase(desk, chosen)
    return None


def forget_choices(desk: Desk, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/forget``."""
    if not words:
        return ["last", "session", "turn"]
    return session_ids(desk, ()) if words == ("session",) else []


def _chosen(desk: Desk, argument: str) -> Selection:
    eraser: Eraser = desk.conversation.memory.eraser
    first, _, rest = argument.partition(" ")
    match first.lower(), rest.strip():
        case "last", "":
            rounds = desk.conversation.memory.sessions.rounds(desk.conversation.session.session_id, 1)
            return eraser.round(rounds[-1].user.text_id) if rounds else Selection()
        case "session", wanted if wanted:
            return eraser.session(found_session(desk, wanted).session_id)
        case "turn", wanted if wanted:
            return eraser.turn(wanted)
    return eraser.words(argument)


def _show(desk: Desk, chosen: Selection) -> None:
    """What would go, the turns themselves and what was made from them."""
    desk.tell("forget.would", "title")
    for turn in chosen.turns[:_SHOWN]:
        desk.aside.line(_turn_line(desk, turn))
    if len(chosen.turns) > _SHOWN:
        desk.tell("forget.more", "quiet", count=len(chosen.turns) - _SHOWN)
    desk.tell("forget.counts", "quiet", **_counts(desk, chosen))


def _turn_line(desk: Desk, turn: Turn) -> str:
    return f"{local(turn.timestamp)} · {speaker(desk, turn.role)} · {one_line(turn.words, _SNIPPET)}"


def _counts(desk: Desk, chosen: Selection) -> dict[str, object]:
    count = desk.words.count
    return {
        "turns": count("turn", len(chosen.turns)),
        "summaries": count("summary", len(chosen.summaries)),
        "versions": count("version", len(chosen.versions)),
    }


def _erase(desk: Desk, chosen: Selection) -> None:
    desk.begin()
    if desk.history:
        for text in chosen.texts:
            desk.history.forget(text)
    for event in desk.watched(desk.conversation.erase(chosen, desk.stop)):
        match event:
            case Beat():
                desk.aside.status("…")
            case Notice():
                desk.aside.line(desk.words.notice(event), "warning")
            case Erased():
                _show_erased(desk, event)


def _show_erased(desk: Desk, erased: Erased) -> None:
    desk.tell("forget.done", **_counts(desk, erased.selection))
    if erased.summaries_anew or erased.images_anew:
        made = [desk.words.count("summary", erased.summaries_anew)] if erased.summaries_anew else []
        made += [desk.words.say(f"image.{image}") for image in erased.images_anew]
        desk.tell("forget.anew", what=", ".join(made))
    proof = erased.proof
    desk.tell(
        "forget.proof",
        "trouble" if proof.traces else "good",
        files=desk.words.count("file", proof.files),
        searched=proof.searched,
        found=len(proof.traces),
    )
    for trace in proof.traces:
        desk.tell("forget.left", "trouble", path=trace.path)
