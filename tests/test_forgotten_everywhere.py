"""What was erased is gone, comes back from nowhere, and that it was erased can be shown; in both languages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from domain import errors
from domain.facts import Fact
from domain.workers import CancelToken
from importers import ReadingOptions, recognise_export
from jobs.exporting import copy_to_lance
from jobs.importing import ImportContext, ImportDone, Importing
from memory import back_up, leaving_out_erased, restore, restore_portable, write_portable
from storage.erasure import Proof, find_traces, forms
from tests.importers.exports import ZONE, claude_message, claude_talk, gpt_talk, written
from tests.interfaces.service.opened import opened_service
from tests.support.house import House, friend, house
from tests.support.past import BEGAN, bring, talk
from tests.support.server import ScriptedServer


@dataclass(frozen=True)
class Told:
    """What is said: a secret, the same as others would write it, more of it, a word of it, and things beside it."""

    secret: str
    quoted: str
    retold: str
    more: str
    word: str
    beside: tuple[str, str]
    short: str


EN = Told(
    "My sister Patty is expecting a child in May, nobody knows yet.",
    "Notes of today: he said “My sister Patty is expecting a child in May, nobody knows yet!” Keep the kettle warm.",
    "**My sister  PATTY** is expecting a child in May, nobody knows yet…",
    "She told me so at the station in Lund on Friday.",
    "Patty",
    ("The kettle is red and old.", "I planted nine tulips in the garden."),
    "ok",
)
ZH = Told(
    "我表妹小莉五月要生孩子了，家里还没人知道。",
    "今天的笔记：他说“我表妹小莉五月要生孩子了，家里还没人知道！”记得烧水。",
    "**我表妹小莉**五月要生孩子了,家里还没人知道",
    "上周五她在南京火车站亲口告诉我的。",
    "小莉",
    ("那把水壶是红色的，已经很旧了。", "我在花园里种了九株郁金香。"),
    "好的",
)
BOTH = pytest.mark.parametrize("told", [EN, ZH], ids=["en", "zh"])


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


Opens = Callable[..., Any]


@pytest.fixture
def opens(tmp_path: Path, server: ScriptedServer, clock, new_id, log) -> Opens:
    """Opens the memory of a folder below that of the test."""

    @contextmanager
    def opened(name: str = "home", **settings: str) -> Iterator[House]:
        with house(tmp_path / name, server, clock, new_id, log, **settings) as found:
            yield found

    return opened


def live(home: House, told: Told) -> None:
    """Two sessions, the secret in the first; what was said beside it."""
    home.say(told.beside[0])
    home.say(told.secret)
    home.say(told.short)
    home.save()
    home.say(told.beside[1])


def erase(home: House, told: Told) -> Proof:
    """Erase what holds the word of the secret."""
    proof = home.memory.erasure.erase(home.memory.erasure.scope_of_words(told.word))
    home.settle()
    return proof


def found(home: House, told: Told) -> int:
    """How many memories hold the word."""
    seen = home.memory.search(told.word, home.settings.recall_limits)
    known = [one for one in home.memory.facts_with(told.word) if not one[0].corrected]
    return len(seen.messages) + len(seen.summaries) + len(seen.external) + len(known)


def imported(home: House, path: Path, *, with_erased: bool = False) -> ImportDone:
    """The result of importing a file."""
    (file,) = recognise_export(path, ReadingOptions(zone=ZONE))
    who, name = ImportContext(frozenset(), BEGAN), f"{path.name}{with_erased}"
    *_, last = Importing(home.memory).run(file, path.name, name, who, CancelToken(), with_erased=with_erased)
    assert isinstance(last, ImportDone)
    return last


def stored(home: House) -> str:
    """All that is stored as said."""
    return "\n".join(row["text"] for row in home.rows("conversation"))


# -- the steps


@BOTH
def test_1_to_4_what_is_written_is_found_and_once_erased_it_is_in_no_later_prompt(
    opens: Opens, server: ScriptedServer, told: Told
) -> None:
    with opens() as home:
        live(home, told)
        assert found(home, told) > 0
        assert not erase(home, told).traces
        assert found(home, told) == 0
        asked = len(server.chats)
        home.say(f"{told.word}?")
        home.save()
        later = json.dumps(server.chats[asked:], ensure_ascii=False)
        assert told.beside[1] in later
        assert told.secret not in later
        assert told.beside[0] in stored(home)


@BOTH
def test_5_our_own_export_does_not_bring_it_back_unless_that_is_wanted(
    opens: Opens, told: Told, clock, tmp_path: Path
) -> None:
    with opens() as home:
        live(home, told)
        path = tmp_path / "own.json"
        write_portable(home.memory.folder, path, clock)
        erase(home, told)
        done = imported(home, path)
        assert (done.messages, done.erased) == (0, 2)
        assert told.word not in stored(home)
        assert imported(home, path, with_erased=True).messages == 2
        assert stored(home).count(told.secret) == 2
        again = imported(home, path)
        assert (again.messages, again.erased) == (0, 0)


@BOTH
@pytest.mark.parametrize("program", ["chatgpt", "claude"])
def test_6_an_export_of_another_program_does_not_bring_it_back(
    opens: Opens, told: Told, program: str, tmp_path: Path
) -> None:
    if program == "chatgpt":
        content: Any = [gpt_talk("c9", (told.retold, "Oh!", "What a rainy week in Bergen.", "Yes."))]
    else:
        content = [claude_talk(claude_message("m1", "human", told.retold), claude_message("m2", "assistant", "Oh!"))]
    path = written(tmp_path / "conversations.json", content)
    with opens() as home:
        live(home, told)
        erase(home, told)
        done = imported(home, path)
        assert done.erased == 1
        assert done.messages == (3 if program == "chatgpt" else 1)
        assert told.word not in stored(home).replace("PATTY", "Patty")


@BOTH
def test_7_the_same_talk_under_other_ids_at_other_times_and_cut_otherwise_does_not_bring_it_back(
    opens: Opens, told: Told
) -> None:
    with opens() as home:
        home.say(f"{told.secret} {told.more}")
        home.say(told.beside[0])
        erase(home, told)
        joined = f"{told.beside[1]} {told.secret}"
        done = bring(home.memory, talk("x", f"P: {told.secret}", f"P: {told.more}", "C: Oh.", f"P: {joined}"))
        assert (done.messages, done.erased) == (1, 3)
        assert told.word not in stored(home)
        assert told.more not in stored(home)


@BOTH
def test_7_an_import_that_is_taken_back_comes_again_without_what_was_erased_of_it(opens: Opens, told: Told) -> None:
    with opens() as home:
        said = [f"P: {told.beside[0]}", "C: I see.", f"P: {told.secret}", f"C: {told.short}"]
        bring(home.memory, talk("cats", *said))
        home.memory.erasure.erase(home.memory.erasure.scope_of_words(told.word))
        home.memory.erasure.erase(home.memory.erasure.scope_of_message(_message(home, told.short, "Assistant")))
        list(home.memory.imports.take_back(1))
        assert stored(home) == ""
        again = bring(home.memory, talk("cats", *said), sha256="2")
        assert (again.messages, again.erased) == (2, 2)
        assert told.word not in stored(home)
        assert told.short not in stored(home)


@BOTH
def test_8_notes_that_quote_it_are_left_out_of_an_external_memory_and_that_is_said_first(
    opens: Opens, told: Told, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "today.md").write_text(told.quoted, encoding="utf-8")
    (notes / "garden.md").write_text(told.beside[1], encoding="utf-8")
    with opens() as home:
        live(home, told)
        erase(home, told)
    with opens(EXTERNAL_MEMORIES=f"diary={notes}") as home:
        home.memory.start()
        assert home.memory.external.wait_until_read(60)
        (notice,) = home.memory.external.take_notices()
        assert (notice.key, notice.details["count"]) == ("external.erased", 1)
        assert found(home, told) == 0
    with opens(EXTERNAL_MEMORIES=f"diary+erased={notes}") as home:
        home.memory.start()
        assert home.memory.external.wait_until_read(60)
        assert home.memory.external.take_notices() == []
        assert found(home, told) == 1


@BOTH
def test_8_what_is_erased_or_hidden_while_an_external_memory_is_read_is_not_recalled_from_it_either(
    opens: Opens, told: Told, tmp_path: Path
) -> None:
    with opens("other") as other:
        live(other, told)
        copy_to_lance(other.memory, tmp_path / "lance")
    with opens(EXTERNAL_MEMORIES=f"lance={tmp_path / 'lance'}") as home:
        live(home, told)
        home.memory.start()
        assert home.memory.external.wait_until_read(60)
        seen = home.memory.search(told.word, home.settings.recall_limits)
        assert seen.external
        messages = [one.text_id for one in seen.messages]
        home.memory.rounds.hide(messages)
        hidden = home.memory.search(told.word, home.settings.recall_limits).external
        assert told.secret not in "\n".join(one.text for one in hidden if one.role == "user")
        home.memory.rounds.unhide(messages)
        erase(home, told)
        assert found(home, told) == 0


@BOTH
def test_8_a_program_cannot_remember_it_again_but_the_person_can_say_it(
    told: Told, tmp_path: Path, server: ScriptedServer, clock, new_id
) -> None:
    with opened_service(tmp_path, server, clock, new_id) as opened:
        service = opened.service
        kept = service.remember(told.secret, "me", "request-1")
        service.forget(kept.id, "me")
        for text, request in ((told.retold, None), (told.secret, "request-1"), (told.quoted, "request-2")):
            with pytest.raises(errors.UsageError, match=r"memory\.erased"):
                service.remember(text, "me", request)
        with pytest.raises(errors.UsageError, match=r"memory\.erased"):
            service.process(told.secret, "me", "request-1")
        assert opened.said() == []
        assert service.remember(told.beside[0], "me").new
        assert service.process(told.secret, "me", "request-3").status == "success"
        assert service.remember(told.secret, "me", "request-1", bring_back=True).new


@BOTH
def test_8_the_history_of_a_client_does_not_bring_it_back(opens: Opens, told: Told, clock) -> None:
    from datetime import timedelta

    from client_history import ClientHistory, ClientMessage

    with opens() as home:
        live(home, told)
        erase(home, told)
        history = ClientHistory(home.memory, "chat", clock, archive_after=timedelta(hours=8))
        sent = [("user", told.secret), ("assistant", "Oh."), ("user", told.beside[1]), ("assistant", "Nice.")]
        messages = [ClientMessage(role, text) for role, text in [*sent, ("user", "Hello again, how is it going?")]]
        history.store_request("one", messages, "Fine.", "stop", clock().isoformat())
        assert told.word not in stored(home)
        assert "Hello again" in stored(home)
        assert stored(home).count(told.beside[1]) == 3  # said, repeated in the reply, and in the history


@BOTH
def test_9_and_10_it_stays_gone_after_a_save_a_new_index_and_a_new_start_and_is_in_no_file(
    opens: Opens, told: Told
) -> None:
    with opens() as home:
        live(home, told)
        erase(home, told)
        home.save()
        home.memory.index.reindex()
        home.settle()
        folders = [home.memory.folder, home.settings.log_dir]
    with opens() as home:
        assert found(home, told) == 0
        home.say(f"{told.word}?")
        assert told.secret not in stored(home)
    assert find_traces(folders, forms(told.secret)) == []


@BOTH
def test_11_the_erasure_can_be_shown_without_what_it_was(
    opens: Opens, told: Told, tmp_path: Path, server: ScriptedServer, clock, new_id
) -> None:
    with opens() as home:
        live(home, told)
        erase(home, told)
        home.memory.erasure.erase(home.memory.erasure.scope_of_session(home.talk.session.session_id))
        first, second = home.memory.erased.receipts()
        assert (first.messages, first.sessions, first.reason, first.traces) == (2, 1, "person", 0)
        assert dict(first.days) == {"2026-03-01": 2}
        assert first.files > 0 < first.searched
        assert (second.messages, second.sessions) == (2, 1)
        assert first.erased_at < second.erased_at
        assert told.word not in str([first, second])
    with opened_service(tmp_path / "home", server, clock, new_id) as opened:
        one, _ = opened.service.erased("me").erasures
        assert (one.messages, one.days, one.proof.traces_left) == (2, {"2026-03-01": 2}, 0)


def _asked(answers: list[bool], counts: list[int | None]) -> Callable[[int | None], bool]:
    def leave_out(count: int | None) -> bool:
        counts.append(count)
        return answers.pop(0)

    return leave_out


@BOTH
@pytest.mark.parametrize("form", ["backup", "rows"])
def test_12_a_restored_memory_leaves_out_what_was_erased_and_asks_before_it_is_there(
    opens: Opens, told: Told, tmp_path: Path, clock, new_id, log, form: str
) -> None:
    data, copy = tmp_path / "home" / "data", tmp_path / "copy"
    with opens() as home:
        live(home, told)
        _write_copy(form, data, copy, clock)
        erase(home, told)
        home.memory.rounds.hide([_message(home, told.beside[1])])
        home.say(told.secret)  # said again: these are new words
        _write_copy(form, data, tmp_path / "later", clock)
    counts: list[int | None] = []
    lay = _restore_backup if form == "backup" else _restore_rows
    lay(copy, data, clock, leaving_out_erased(clock, new_id, log, _asked([True, False], counts)))
    assert find_traces([data], forms(told.secret), list(data.glob("*.before-restore-*"))) == []
    with opens() as home:
        assert counts == [2]
        assert found(home, told) == 0
        assert told.beside[0] in stored(home)
        assert told.short in stored(home)
        assert [message.words for message in home.memory.messages.hidden()] == [told.beside[1]]
        assert [one.reason for one in home.memory.erased.receipts()] == ["person", "restore"]
    lay(copy, data, clock, leaving_out_erased(clock, new_id, log, _asked([False], counts)))
    with opens() as home:
        assert counts == [2, 2]
        assert stored(home).count(told.secret) == 2
        assert len(home.memory.erased.receipts()) == 2
    lay(copy, data, clock, leaving_out_erased(clock, new_id, log, _asked([], counts)))


@BOTH
def test_12_what_was_said_again_after_the_erasure_is_restored_without_a_question(
    opens: Opens, told: Told, tmp_path: Path, clock, new_id, log
) -> None:
    data = tmp_path / "home" / "data"
    with opens() as home:
        live(home, told)
        erase(home, told)
        home.say(told.secret)
        back_up(data, tmp_path / "later")
    restore(tmp_path / "later", data, clock, leaving_out_erased(clock, new_id, log, _asked([], [])))
    with opens() as home:
        assert stored(home).count(told.secret) == 2


@BOTH
def test_12_a_message_that_is_still_here_is_restored_although_another_that_says_the_same_was_erased(
    opens: Opens, told: Told, tmp_path: Path, clock, new_id, log
) -> None:
    data, counts = tmp_path / "home" / "data", list[int | None]()
    with opens() as home:
        home.say(told.secret)
        first = _message(home, told.secret)
        home.say(told.secret)
        back_up(data, tmp_path / "copy")
        home.memory.erasure.erase(home.memory.erasure.scope_of_message(first))
    restore(tmp_path / "copy", data, clock, leaving_out_erased(clock, new_id, log, _asked([True], counts)))
    with opens() as home:
        assert counts == [1]
        assert stored(home).count(f"User: {told.secret}") == 1


def test_12_a_damaged_memory_is_restored_over_and_the_person_learns_that_erasures_are_not_known(
    opens: Opens, tmp_path: Path, clock, new_id, log
) -> None:
    data, counts = tmp_path / "home" / "data", list[int | None]()
    with opens() as home:
        live(home, EN)
        back_up(data, tmp_path / "copy")
        erase(home, EN)
    (data / "memory.db").write_bytes(b"no database at all" * 99)
    restore(tmp_path / "copy", data, clock, leaving_out_erased(clock, new_id, log, _asked([True], counts)))
    assert counts == [None]
    with opens() as home:
        assert EN.secret in stored(home)


@BOTH
def test_13_a_value_that_was_rejected_or_erased_is_recognised_until_the_person_says_it_anew(
    opens: Opens, told: Told, tmp_path: Path, clock, new_id, log
) -> None:
    data = tmp_path / "home" / "data"
    with opens() as home:
        live(home, told)
        back_up(data, tmp_path / "copy")
        wrong, right = _fact(home, told.beside[0]), _fact(home, told.secret)
        assert home.memory.erased.find_values([wrong, right]) == {}
        home.memory.fact_log.correct_by_hand(wrong.text_id, None)
        erase(home, told)
        verdicts = {wrong.text_id: "rejected", right.text_id: "erased"}
        assert home.memory.erased.find_values([wrong, right]) == verdicts
        anew = [_said_at(one, clock().isoformat()) for one in (wrong, right)]
        assert home.memory.erased.find_values(anew) == {}
        counts: list[int | None] = []
    restore(tmp_path / "copy", data, clock, leaving_out_erased(clock, new_id, log, _asked([True], counts)))
    with opens() as home:
        assert _fact(home, told.beside[0]).corrected
        assert counts == [3]
        home.memory.fact_log.undo_decision(wrong.text_id)
        assert wrong.text_id not in home.memory.erased.find_values([wrong])


COMMON = ("ok", "Yes.", "yes, please", "Thank you so much!", "Good night.", "好的", "好的，谢谢你", "嗯，我知道了。")


@pytest.mark.parametrize("text", COMMON)
def test_what_is_short_and_common_is_never_recognised_by_its_words(opens: Opens, text: str) -> None:
    with opens() as home:
        bring(home.memory, talk("a", f"P: {text}", f"C: {text}"))
        home.memory.erasure.erase(home.memory.erasure.scope_of_everything())
        assert home.memory.erased.holds([text]) == set()
        assert bring(home.memory, talk("b", f"P: {text}", began=BEGAN.replace(day=9)), sha256="2").messages == 1


def test_a_sentence_of_a_reply_alone_blocks_no_text_that_shares_it(opens: Opens) -> None:
    common, reply = (
        "Let me know whether you would like another recipe!",
        "Nine herbs, that is a lot of green for a soup.",
    )
    with opens() as home:
        bring(home.memory, talk("a", "P: My secret recipe has nine herbs.", f"C: {reply} {common}"))
        home.memory.erasure.erase(home.memory.erasure.scope_of_everything())
        other = f"Bake the pumpkin for forty minutes, then let it cool on the balcony. {common}"
        assert home.memory.erased.holds([other, common, reply, f"{common} {reply}"]) == {f"{common} {reply}"}


def test_a_sentence_of_an_erased_summary_blocks_nothing_that_stays(opens: Opens) -> None:
    with opens() as home:
        live(home, EN)
        erase(home, EN)
        assert home.memory.erased.holds(EN.beside) == set()
        assert home.memory.erasure.find_erased() == []


def _write_copy(form: str, data: Path, target: Path, clock: Callable[[], datetime]) -> None:
    if form == "backup":
        back_up(data, target)
    else:
        write_portable(data, target, clock)


def _restore_backup(copy: Path, data: Path, clock: Callable[[], datetime], prepare: Any) -> None:
    restore(copy, data, clock, prepare)


def _restore_rows(copy: Path, data: Path, clock: Callable[[], datetime], prepare: Any) -> None:
    document = json.loads(copy.read_text(encoding="utf-8"))
    rows = [(table, row) for table, found in document["tables"].items() for row in found]
    restore_portable(document["schema"], rows, data, clock, prepare)


def _message(home: House, words: str, role: str = "User") -> str:
    return next(row["text_id"] for row in home.rows("conversation") if row["text"] == f"{role}: {words}")


def _fact(home: House, words: str) -> Fact:
    return next(one for one in home.memory.facts.all() if one.value == words and one.about == "person")


def _said_at(one: Fact, said: str) -> Fact:
    return replace(one, said=said)
