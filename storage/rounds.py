"""What happens to rounds and sessions, with everything that follows from it, each in one commit.

    store, store_alone                       a round, or a message that no one answers, that can be found at once
    compact, set_summary                     rounds leave the context into a summary
    save, resume, undo_save                  a session from ``/save`` to its undo
    undo, redo, reset, put_back              the last rounds, or a whole session, taken back
    hide, unhide                             in no prompt and no index, but stored

A message that goes takes along its words and vectors, what was extracted from it, the lines of the personas that rest
on it, and the text of every chapter above it. Order is by ``position``, never by clock; what belongs to one session is
never touched by a verb on another. ``Voice`` is how the companion has talked: its replies are read from the messages
when they are wanted, so what is erased or hidden is in none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any

from domain.errors import UsageError
from domain.facts import PersonaDraft
from domain.quotations import own_words, with_references
from domain.records import (
    PERSONAS,
    PREFIX,
    Finish,
    Message,
    Persona,
    Quoted,
    RebuildRequest,
    Removed,
    Role,
    Round,
    Session,
    pair_messages,
)
from language.reactions import reaction_of
from language.scripts import estimate
from language.words import tokens
from storage.engine import Database, Transaction, read_meta, set_meta
from storage.messages import MESSAGE, NewMessage, NewSummary, message_of
from storage.personas import persona_draft
from storage.repositories import Repositories


class Rounds:
    """Changes rounds and sessions with all that rests on them.

    >>> rounds.store(session_id, "Hello", "Hello, Ann.", now, "stop")
    """

    def __init__(self, of: Repositories) -> None:
        self._of = of
        self._database = of.database
        self._stamp = of.stamp

    def store(
        self,
        session_id: str,
        user: str,
        assistant: str,
        started: str,
        finish: Finish,
        instead_of: Round | None = None,
        *,
        ended: str | None = None,
        quoted: Sequence[Quoted] = (),
        demo: bool = False,
        served: Sequence[str] = (),
        greeting: tuple[str, str] | None = None,
    ) -> Round:
        """Store a round with its words and its place in the queue, and clear what was in flight, in one commit.

        ``instead_of`` goes in the same commit. What is of the past ``ended`` then.
        ``quoted`` are the quotations of the reply found in a memory; what was recalled and ``served`` it is visited.
        ``demo``: the demo model answered, and no model is ever given that as the companion's words. ``greeting``: when
        the companion spoke first, and its words, which the person answers.
        """
        new_id, ended = self._stamp.new_id, ended or self._stamp.now()
        messages = [
            NewMessage(new_id(), started, "user", user),
            NewMessage(new_id(), ended, "assistant", assistant, tuple(quoted), demo),
        ]
        if greeting:
            messages.insert(0, NewMessage(new_id(), greeting[0], "assistant", greeting[1], greeting=True))
        replaced = [message.text_id for message in instead_of.messages] if instead_of else []
        with self._of.personas.losing_lines(replaced) if replaced else nullcontext():
            return self.add(session_id, messages, finish, instead_of=instead_of, served=served)

    def add(
        self,
        session_id: str,
        messages: Sequence[NewMessage],
        finish: Finish,
        *,
        instead_of: Round | None = None,
        served: Sequence[str] = (),
    ) -> Round:
        """The same of given messages."""
        with self._database.write() as tx:
            if instead_of:
                self.remove(tx, instead_of.messages)
            added = self._of.messages.add_round(tx, session_id, messages, finish, self._stamp.now())
            self._of.sessions.count(tx, session_id)
            self._of.index.add_messages(tx, added, new=True)
            self._of.archive.visit(served)
            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)
            self._forget_steps(tx, session_id)
        return pair_messages(added)[0]

    def store_alone(
        self,
        session_id: str,
        words: str,
        text_id: str,
        *,
        said: str | None = None,
        role: Role = "user",
        speaker: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """A message that no one answers, at the end of its session: it is found, read and erased as every one is.

        It is a round without a reply, so it is in no context and in no summary. What is of the past was ``said`` then.
        It is the person's, or that of another ``speaker``; ``metadata`` is what a program says of it.
        """
        now = self._stamp.now()
        with self._database.write() as tx:
            message = NewMessage(text_id, said or now, "assistant" if speaker else role, words, speaker=speaker)
            added = self._of.messages.add_round(tx, session_id, (message,), "stop", now)
            self._of.units.add(tx, added[0].seq, metadata or {})
            self._of.sessions.count(tx, session_id)
            self._of.index.add_messages(tx, added, new=True)
            self._forget_steps(tx, session_id)
        return added[0]

    # -- summaries -----------------------------------------------------------------------------------------------

    def compact(self, session_id: str, upto: int, summary: str) -> None:
        """Let the rounds up to ``upto`` leave the context into ``summary``."""
        with self._database.write() as tx:
            self._compact_rounds(tx, session_id, upto, self._new_summary(summary))

    def set_summary(self, session_id: str, summary: str) -> None:
        """Put a person's own wording in place of a session's summary; steps of a save are void."""
        with self._database.write() as tx:
            present = self._of.summaries.of(session_id)
            upto = present.upto_round if present else 0
            self._of.summaries.replace(tx, session_id, self._new_summary(summary), upto)
            self._of.chapters.void_above(tx, sessions=[session_id])
            self._forget_steps(tx, session_id)
            self._of.rebuilds.drop(tx, session_id, "summary")

    def rebuild_summary(self, request: RebuildRequest, text: str, upto: int) -> bool:
        """Store a summary that was to be rebuilt, dated as the one before; with "" there is none.

        False, and nothing is stored, when it is not asked for any more, or from more by now.
        """
        with self._database.write() as tx:
            if not self._of.rebuilds.remove_fulfilled(tx, [request]):
                return False
            new = NewSummary(self._stamp.new_id(), request.timestamp, text)
            self._of.summaries.replace(tx, request.session_id, new, upto)
        return True

    def _compact_rounds(self, tx: Transaction, session_id: str, upto: int, summary: NewSummary) -> None:
        self._of.summaries.replace(tx, session_id, summary, upto)
        self._of.messages.leave_context(tx, session_id, upto)
        self._of.sessions.count(tx, session_id)
        self._of.rebuilds.ask_again(tx, session_id)

    # -- saving --------------------------------------------------------------------------------------------------

    def save(
        self,
        session_id: str,
        summary: str,
        personas: Mapping[Persona, PersonaDraft | str],
        *,
        waiting: Sequence[Persona] = (),
        open_next: bool = True,
    ) -> Session:
        """Archive a session with its final summary and new personas, and open the next one, in one commit.

        Those that are ``waiting`` could not be brought up to date now, and are to be rebuilt.
        Of quotations that were found in a memory a reference to it stays. Returns the session that is open. Raises
        UsageError where it is archived by now.
        """
        following = self._stamp.new_session_id() if open_next else None
        new, now = self._new_summary(summary), self._stamp.now()
        with self._database.write() as tx:
            messages = self._of.messages.of_session(session_id)
            was = self._of.saves.about_to_replace(session_id, self._of.summaries.of(session_id))
            for message in messages:
                self._refer_to_memories(tx, message)
            self._compact_rounds(tx, session_id, messages[-1].round if messages else 0, new)
            made = {
                persona: self._of.personas.versions.add_draft(tx, persona, persona_draft(draft), now, session_id)
                for persona, draft in personas.items()
            }
            if following:
                self._of.saves.store(tx, (session_id, following), was, made, now)
            self._forget_steps(tx, session_id)
            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)
            if not self._of.sessions.close(tx, session_id, now):
                raise UsageError("session.saved")
            for persona in waiting:
                self._of.rebuilds.request(tx, persona, session_id, now)
            if not following:
                return self._of.sessions.require(session_id)
            self._of.claims.take("session", following)
            return self._of.sessions.add(tx, following, now)

    def undo_save(self, session_id: str, present: str) -> Session | None:
        """Undo a ``/save`` right after it. Returns the session, active again in place of the empty ``present``.

        Its windows are unlearned, its personas are again what they were unless one was edited since, and its context
        and summary are as before. None, and nothing, when anything was said, or is gone, since.
        """
        now = self._stamp.now()
        with self._database.write() as tx:
            self._of.personas.settle()
            session, was = self._of.sessions.find(session_id), self._of.saves.find(session_id)
            said = self._of.messages.of_session(present) or self._of.sessions.in_flight(present)
            if was is None or session is None or session.status != "archived" or said:
                return None
            archived = self._of.saves.archived_since(session_id)
            self._of.fact_log.unlearn_windows(was.windows)
            newest = {persona: self._of.personas.versions.newest(persona) for persona in was.personas}
            unedited = [persona for persona, one in newest.items() if one and one.version == was.personas[persona]]
            for persona in unedited:
                self._of.personas.versions.bring_back(tx, persona, was.personas[persona], now)
            self._of.summaries.remove(tx, self._of.summaries.of(session_id))
            if was.summary:
                self._of.summaries.put_back(tx, was.summary)
            self._of.rebuilds.drop(tx, session_id, *PERSONAS)
            self._of.messages.enter_context(tx, session_id, was.context)
            self._of.sessions.count(tx, session_id)
            self._reopen_session(tx, session_id, present, now)
            self._of.saves.drop(tx)
            self._of.archive.restore(archived)
        return self._of.sessions.find(session_id)

    def resume(self, session_id: str, present: str) -> Session:
        """Make an archived session active again in place of the present one, which goes if it is empty.

        Raises UsageError where another program has it.
        """
        with self._database.write() as tx:
            if not self._of.claims.take("session", session_id):
                raise UsageError("session.in_use")
            self._reopen_session(tx, session_id, present, self._stamp.now())
        return self._of.sessions.require(session_id)

    def leave(self, session_id: str) -> None:
        """A session in which nothing was ever said goes, where another one is active, to go on in."""
        with self._database.write() as tx:
            said = self._of.messages.of_session(session_id) or self._of.sessions.in_flight(session_id)
            kept = said or self._of.summaries.of(session_id) or self._of.saves.last(session_id)
            others = [one for one in self._of.sessions.active("") if one.session_id != session_id]
            if others and not kept and self._of.sessions.is_open(session_id):
                self.remove_session(tx, session_id)

    def _reopen_session(self, tx: Transaction, session_id: str, present: str, now: str) -> None:
        """An imported session that was not read is the person's own from then on, and gets its summary as theirs do."""
        if self._of.messages.of_session(present) or self._of.summaries.of(present):
            self._of.sessions.close(tx, present, now)
        else:
            self.remove_session(tx, present)
        self._of.sessions.reopen(tx, session_id)
        own = (
            "UPDATE imported_session SET due = 0 WHERE session_id = ? AND due > 0 AND role_play = 0"
            " RETURNING session_id"
        )
        if tx.run(own, session_id):
            title = self._of.summaries.of(session_id)
            self._of.rebuilds.request(tx, "summary", session_id, title.timestamp if title else now)

    def _refer_to_memories(self, tx: Transaction, message: Message) -> None:
        """Of quotations that were found in a memory leave a reference to it."""
        words = with_references(message)
        if words != message.words:
            self._of.messages.set_words(tx, message, words)
            self._move_quotes(tx, message, words)
            self._of.index.add_messages(tx, [replace(message, text=PREFIX[message.role] + words, quoted=())])
            self._embed_dependents(tx, [message])

    def _move_quotes(self, tx: Transaction, message: Message, words: str) -> None:
        """Let what rests on a message point at the same words in its new ones; a matter goes where they are gone."""
        for table, key in (("fact_message", "fact"), ("open_matter", "seq")):
            rows = tx.run(f"SELECT {key}, quote_start, quote_end FROM {table} WHERE message = ?", message.seq)
            moved = []
            for number, start, end in rows:
                at = words.find(quote := message.words[start:end])
                moved.append((max(at, 0), at + len(quote) if at >= 0 else 0, number, message.seq))
            tx.many(f"UPDATE {table} SET quote_start = ?, quote_end = ? WHERE {key} = ? AND message = ?", moved)
        tx.do("DELETE FROM open_matter WHERE message = ? AND quote_end = 0", message.seq)

    def steps(self, session_id: str) -> dict[str, str]:
        """What the steps of a save that are done resulted in, by step."""
        return {step: result for step, (result, _) in self._of.steps.of("save", session_id).items()}

    def keep_step(self, session_id: str, step: str, result: str) -> None:
        """Store what a step of a save resulted in, as soon as it is there."""
        self._of.steps.store("save", session_id, step, result, self._stamp.now())

    # -- taking back ---------------------------------------------------------------------------------------------

    def undo(self, session_id: str, count: int = 1) -> tuple[Round, ...]:
        """Remove the last rounds of a session, as far as they are still in the context. Returns them."""
        with self._database.write() as tx:
            going = self._of.messages.context(session_id)[-count:] if count > 0 else ()
            messages = [message for spoken in going for message in spoken.messages]
            with self._of.personas.losing_lines([message.text_id for message in messages]):
                self.remove(tx, messages)
                self._forget_steps(tx, session_id)
        return going

    def redo(self, rounds: Sequence[Round], epoch: int | None = None) -> None:
        """Put back, where they were, rounds that ``undo`` removed and after which nothing new was said.

        Raises ErasedMeanwhile where anything was erased after this erasure ``epoch``: they may say that.
        """
        messages = [message for spoken in rounds for message in spoken.messages]
        with self._database.write() as tx:
            self._of.epoch.require(epoch)
            self._put_back(tx, messages)
            for session_id in {message.session_id for message in messages}:
                self._forget_steps(tx, session_id)

    def reset(self, session_id: str) -> Removed:
        """Remove a session's messages and summary. Returns what was removed; ``put_back`` undoes it."""
        with self._database.write() as tx:
            messages = self._of.messages.of_session(session_id)
            summary, epoch = self._of.summaries.of(session_id), self._of.epoch.number()
            removed = Removed(session_id, tuple(messages), summary, epoch)
            with self._of.personas.losing_lines([message.text_id for message in messages]):
                self.remove(tx, removed.messages)
                self._of.summaries.remove(tx, removed.summary)
                tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)
                self._forget_steps(tx, session_id)
                self._of.rebuilds.drop(tx, session_id, "summary")
        return removed

    def put_back(self, removed: Removed) -> None:
        """Put back what a reset removed, in front of what was said since; a summary written since gives way.

        Raises ErasedMeanwhile where anything was erased since.
        """
        with self._database.write() as tx:
            self._of.epoch.require(removed.epoch)
            self._of.summaries.remove(tx, self._of.summaries.of(removed.session_id))
            self._of.messages.make_room_for(tx, removed.messages)
            self._put_back(tx, removed.messages)
            if removed.summary:
                self._of.summaries.put_back(tx, removed.summary)
            elif folded := [message for message in removed.messages if message.compacted]:
                self._of.rebuilds.request(tx, "summary", removed.session_id, folded[-1].timestamp)
            self._forget_steps(tx, removed.session_id)

    def _put_back(self, tx: Transaction, messages: Sequence[Message]) -> None:
        self._of.messages.add(tx, messages)
        for session_id in {message.session_id for message in messages}:
            self._of.sessions.count(tx, session_id)
        self._of.index.add_messages(tx, messages)
        self._of.messages.note_moves(tx)

    # -- hiding --------------------------------------------------------------------------------------------------

    def hide(self, text_ids: Sequence[str]) -> None:
        """Keep messages out of every prompt and every index until they are erased or shown again; they stay stored.

        A summary that was made from one of them goes, and is to be rebuilt from the others. Nothing that waits for the
        results of tools goes on with them.
        """
        with self._of.personas.losing_lines(text_ids), self._database.write() as tx:
            messages = self._of.messages.with_ids(text_ids)
            sessions = list(dict.fromkeys(message.session_id for message in messages))
            self.forget_titles(tx, sessions)
            self._remove_from_indexes(tx, messages)
            self._of.messages.set_hidden(tx, messages, True)
            self._of.steps.drop(tx, "tools")
            for session_id in sessions:
                self._forget_steps(tx, session_id)
            summarised = list(dict.fromkeys(message.session_id for message in messages if message.compacted))
            for summary in filter(None, map(self._of.summaries.of, summarised)):
                self._of.summaries.remove(tx, summary)
                self._of.rebuilds.request(tx, "summary", summary.session_id, summary.timestamp)
            for session_id in summarised:
                self._of.rebuilds.ask_again(tx, session_id)
            self._of.chapters.drop_small(tx)

    def unhide(self, text_ids: Sequence[str]) -> None:
        """Let hidden messages be shown and found again; what was made without them is to be rebuilt."""
        with self._database.write() as tx:
            messages = [message for message in self._of.messages.with_ids(text_ids) if message.hidden]
            self._of.messages.set_hidden(tx, messages, False)
            self._of.index.add_messages(tx, [replace(message, hidden=False) for message in messages])
            self._of.messages.note_moves(tx)
            self._embed_dependents(tx, messages)
            self._of.chapters.void_above(tx, messages=[message.text_id for message in messages])
            for message in {message.session_id: message for message in messages if message.compacted}.values():
                self._ask_with(tx, message)

    def _ask_with(self, tx: Transaction, message: Message) -> None:
        """Ask for the summary of a session that one of its messages is missing in.

        It stays until then; that of an import goes, which else would be gone on with from where it ends.
        """
        summary = self._of.summaries.of(message.session_id)
        self._of.rebuilds.request(
            tx, "summary", message.session_id, summary.timestamp if summary else message.timestamp
        )
        if summary and summary.upto_round and self._of.sessions.was_imported(message.session_id):
            self._of.summaries.remove(tx, summary)

    def remove(self, tx: Transaction, messages: Sequence[Message]) -> None:
        """Messages go with their words, their vectors, and all that was extracted from them."""
        if not messages:
            return
        self._remove_from_indexes(tx, messages)
        self._of.messages.delete(tx, messages)
        for session_id in {message.session_id for message in messages}:
            self._of.sessions.count(tx, session_id)
        self._of.chapters.forget_nodes(tx, [message.text_id for message in messages])
        self._of.chapters.drop_small(tx)

    def remove_session(self, tx: Transaction, session_id: str) -> None:
        """A session of which no message and no summary is left."""
        self._of.chapters.forget_session(tx, session_id)
        self._of.rebuilds.drop(tx, session_id, "summary", *PERSONAS)
        self._of.steps.drop(tx, "save", session_id)
        tx.do("DELETE FROM session WHERE session_id = ?", session_id)
        self._of.chapters.drop_small(tx)

    def forget_titles(self, tx: Transaction, sessions: Sequence[str]) -> None:
        """Let no other session of the conversations of these have their title, which may say what was removed.

        Neither one that is there, nor one that a newer export brings.
        """
        there = "FROM imported_message m JOIN conversation c ON c.seq = m.seq"
        marked = (
            "INSERT INTO imported_message (conversation, message, seq, source)"
            f" SELECT DISTINCT m.conversation, '', 0, m.source {there} WHERE c.session_id = ?"
            " ON CONFLICT (conversation, message) DO NOTHING"
        )
        titled = (
            "SELECT session_id FROM summary WHERE upto_round = 0 AND session_id IN (SELECT c.session_id"
            f" {there} WHERE m.conversation IN (SELECT m.conversation {there} WHERE c.session_id = ?))"
        )
        for session_id in sessions if self._database.run("SELECT 1 FROM imported_message LIMIT 1") else ():
            tx.do(marked, session_id)
            for other in (row[0] for row in self._database.run(titled, session_id) if row[0] not in sessions):
                self._of.summaries.remove(tx, self._of.summaries.of(other))

    def _remove_from_indexes(self, tx: Transaction, messages: Sequence[Message]) -> None:
        """Messages cannot be found from this commit on, nor what was extracted from them.

        The vectors of the messages after them are made again, since their keys hold words of these.
        """
        self._of.chapters.void_above(tx, messages=[message.text_id for message in messages])
        self._of.saves.drop(tx)
        self._embed_dependents(tx, messages)
        self._of.fact_log.forget_messages(tx, [message.seq for message in messages])
        self._of.index.remove_messages(tx, messages)

    def _embed_dependents(self, tx: Transaction, messages: Sequence[Message]) -> None:
        self._of.index.embed_again(tx, self._of.messages.dependents(message.text_id for message in messages))

    def _forget_steps(self, tx: Transaction, session_id: str) -> None:
        """The steps of a save are done, or the session has gone on. What was read for them is read."""
        self._of.steps.drop(tx, "save", session_id)
        tx.do("UPDATE read_window SET saving = 0 WHERE session_id = ? AND saving = 1", session_id)

    def _new_summary(self, text: str) -> NewSummary:
        return NewSummary(self._stamp.new_id(), self._stamp.now(), text)


_VOICE = "voice"
#: So many of the last messages are looked at; there are so many examples at most, each of so many tokens at most.
_LOOKED_AT, _MOST, _LONGEST = 600, 5, 80
#: So many of its last replies show how the companion talks.
_REPLIES = 60
_FROM = f"{MESSAGE} JOIN session s ON s.session_id = c.session_id"
#: What was said to this companion here, and is not hidden.
_SPOKEN = "c.hidden = 0 AND c.demo = 0 AND c.speaker = '' AND s.client = ''"
#: So many rounds of a new model have the examples in their prompt.
_ROUNDS = 12


@dataclass(frozen=True)
class VoiceState:
    """The ``model`` that replied last; ``since``: the last message before it took over, 0 where that is long ago or
    nothing was before it. ``contradicted`` are the facts about the companion that a later statement took back.
    """

    model: str = ""
    since: int = 0
    contradicted: Sequence[str] = ()

    def is_left_by(self, model: str) -> bool:
        """Whether another model takes over with this one."""
        return self.model not in ("", model)


class Voice:
    """Reads how the companion talked, and follows which model talks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self) -> VoiceState:
        """What is stored of it."""
        return VoiceState(**json.loads(read_meta(self._database, _VOICE) or "{}"))

    def contradict(self, facts: Sequence[str]) -> None:
        """Remind the companion in the next prompt of what it said of itself before."""
        state = self.state()
        self._put(VoiceState(state.model, state.since, [*state.contradicted, *facts]))

    def store_turn(self, state: VoiceState, model: str) -> None:
        """Note that this model replies, and that it was reminded; in the commit of the round, before that is stored."""
        since = state.since
        if state.is_left_by(model):
            since = self._last()
        elif since and self._replies_after(since) >= _ROUNDS - 1:
            since = 0
        if (state.model, state.since) != (model, since) or state.contradicted:
            later = [one for one in self.state().contradicted if one not in state.contradicted]
            self._put(VoiceState(model, since, later))

    def examples(self, state: VoiceState, model: str, text: str) -> list[tuple[str, str]]:
        """What was said with replies from before this model that were taken well, the nearest to ``text`` first."""
        changed = state.is_left_by(model)
        if not changed and not state.since:
            return []
        query = f"{_FROM} WHERE c.seq <= ? AND {_SPOKEN} ORDER BY c.seq DESC LIMIT ?"
        rows = self._database.run(query, self._last() if changed else state.since, _LOOKED_AT)
        return _choose([message_of(row) for row in rows][::-1], text)

    def replies(self, saving: str) -> list[tuple[Message, str]]:
        """The last whole replies, of saved sessions and of the one that is being saved, oldest first.

        Each with what the person said next, "" where that is nothing.
        """
        query = (
            f"{_FROM} WHERE c.finish = 'stop' AND {_SPOKEN}"
            " AND (s.status = 'archived' OR s.session_id = ?) ORDER BY c.seq DESC LIMIT ?"
        )
        rows = [message_of(row) for row in self._database.run(query, saving, 2 * _REPLIES)][::-1]
        return [
            (one, then.words if then and then.role == "user" and then.session_id == one.session_id else "")
            for one, then in zip_longest(rows, rows[1:])
            if one.role == "assistant"
        ][-_REPLIES:]

    def _put(self, state: VoiceState) -> None:
        set_meta(self._database, _VOICE, json.dumps(asdict(state)))

    def _last(self) -> int:
        return int(self._database.run("SELECT coalesce(max(seq), 0) FROM conversation")[0][0])

    def _replies_after(self, seq: int) -> int:
        query = "SELECT count(*) FROM conversation WHERE seq > ? AND role = 'assistant'"
        return int(self._database.run(query, seq)[0][0])


def _choose(messages: Sequence[Message], text: str) -> list[tuple[str, str]]:
    from statistics import median

    usual = int(median([len(one.words) for one in messages if one.role == "user"] or [0]))
    wanted, scored = set(tokens(text)), []
    for at, (said, reply, then) in enumerate(zip(messages, messages[1:], messages[2:], strict=False)):
        if (said.role, reply.role, then.role) != ("user", "assistant", "user") or reply.finish != "stop":
            continue
        if len({said.session_id, reply.session_id, then.session_id}) > 1 or said.round != reply.round:
            continue
        words, score = own_words(reply).strip(), reaction_of(then.words, usual)
        if score > 0 and words and estimate(said.words) + estimate(words) <= _LONGEST:
            near = len(wanted & set(tokens(f"{said.words} {words}")))
            scored.append((score, at, near, said.words, words))
    best = sorted(scored, key=lambda each: each[:2], reverse=True)[:_MOST]
    return [(said, words) for _, _, _, said, words in sorted(best, key=lambda each: -each[2])]
