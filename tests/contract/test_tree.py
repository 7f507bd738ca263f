"""The tree: turns and sessions as they stand, chapters over them, visits, and what goes with what it rests on."""

from __future__ import annotations

from collections.abc import Callable

from domain.imports import ImportedMessage, PastPiece
from domain.records import ErasureScope
from domain.tree import LIFE, Chapter, Leaf
from tests.contract.stores import Store, Teller, at


def saved(store: Store, teller: Teller, *sessions: str) -> None:
    """One round and a summary in each session, archived."""
    for session_id in sessions:
        if store.sessions.find(session_id) is None:
            store.start(session_id, at(teller.told))
        teller.say(session_id, f"of {session_id}")
        store.rounds.save(session_id, teller.summary(f"came to {session_id}"), {}, open_next=False)


def chapter_over(store: Store, teller: Teller, text_id: str, most: int = 8, height: int = 1) -> Chapter:
    """A chapter over the first that are in none."""
    members = store.chapters.ungrouped(height)[:most]
    assert store.at(at(800)).naming(text_id).chapters.add(height, members, f"Chapter {text_id}\nIt was so.")
    return store.chapters.all([text_id])[0]


def leaf(name: str) -> Leaf:
    """A message that is to be archived."""
    return Leaf(name, "s1", at(0), "", 0, 0, is_session=False)


def test_messages_and_sessions_are_nodes_as_they_stand_under_one_life(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1")
    store.start("s2", at(10))
    teller.say("s2", "not saved")
    nodes = {node.text_id: node for node in store.chapters.nodes()}
    summary = store.summaries.of("s1")
    assert summary is not None
    assert {name: (node.rank, node.parent) for name, node in nodes.items()} == {
        LIFE: (2, None), summary.text_id: (1, LIFE), "s2": (1, LIFE),
        "u1": (0, summary.text_id), "a1": (0, summary.text_id), "u3": (0, "s2"), "a3": (0, "s2"),
    }  # fmt: skip
    assert [node.text_id for node in store.chapters.nodes(summary.text_id)] == ["u1", "a1"]
    assert [node.text_id for node in store.chapters.nodes(LIFE)] == [summary.text_id, "s2"]
    assert (nodes[LIFE].start, nodes[LIFE].end) == (at(1), at(3))
    assert store.chapters.node("nobody") is None


def test_a_chapter_is_the_parent_of_its_sessions_and_covers_their_days(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1", "s2", "s3")
    made = chapter_over(store, teller, "c1", most=2)
    assert (made.children, made.height, made.parent) == (("s1", "s2"), 1, "")
    node = store.chapters.node("c1")
    assert node is not None
    assert (node.rank, node.parent, node.start, node.end) == (2, LIFE, at(1), at(3))
    assert (made.start, made.end, made.title) == (at(1), at(3), "Chapter c1")
    assert [one.name for one in store.chapters.ungrouped(1)] == ["s3"]
    saved(store, teller, "s4")
    chapter_over(store, teller, "c2")
    above = chapter_over(store, teller, "d1", height=2)
    assert (above.children, above.height) == (("c1", "c2"), 2)
    assert (above.start, above.end) == (at(1), at(7))
    assert [node.text_id for node in store.chapters.nodes("d1")] == ["c1", "c2"]
    assert store.database.problems() == []


def test_what_changed_since_it_was_read_is_not_put_into_a_chapter(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1", "s2")
    members = store.chapters.ungrouped(1)
    store.rounds.set_summary("s1", teller.summary("in other words"))
    assert not store.at(at(50)).naming("c1").chapters.add(1, members, "text")
    assert store.chapters.all() == []
    chapter_over(store, teller, "c1")
    assert not store.at(at(50)).naming("c2").chapters.add(1, members, "text")


def test_an_erased_message_takes_the_text_of_its_spine_and_of_nothing_else(store: Store, teller: Teller) -> None:
    saved(store, teller, *(f"s{number}" for number in range(1, 9)))
    for name in ("c1", "c2", "c3", "c4"):
        chapter_over(store, teller, name, most=2)
    for name in ("d1", "d2"):
        chapter_over(store, teller, name, most=2, height=2)
    summary = store.summaries.of("s3")
    assert summary is not None
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s3")[:1]), (summary,)))
    assert [one.text_id for one in store.chapters.all() if not one.text] == ["d1", "c2"]
    assert not store.erasure._still_stores("Chapter c2")
    assert store.chapters.members("c2") is None, "the summary is still to be made anew"
    assert store.chapters.members("d1") is None
    (anew,) = store.rebuilds.due_requests()
    store.rounds.rebuild_summary(anew, teller.summary("what is left"), 1)
    members = store.chapters.members("c2")
    assert members is not None
    assert [one.text for one in members] == ["what is left", "came to s4"]
    assert store.at(at(99)).chapters.rebuild("c2", members, "Anew")
    assert not store.at(at(99)).chapters.rebuild("c2", members, "Twice")
    assert store.chapters.members("d1") is not None
    assert [one.text_id for one in store.chapters.all() if not one.text] == ["d1"]


def test_a_chapter_with_less_than_two_sessions_is_none(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1", "s2", "s3", "s4")
    chapter_over(store, teller, "c1", most=2)
    chapter_over(store, teller, "c2", most=2)
    chapter_over(store, teller, "d1", height=2)
    session, summary = store.sessions.find("s1"), store.summaries.of("s1")
    assert session is not None
    assert summary is not None
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1")), (summary,), sessions=(session,)))
    assert [one.text_id for one in store.chapters.all()] == ["c2"]
    assert [one.name for one in store.chapters.ungrouped(1)] == ["s2"]
    assert store.database.problems() == []


def test_other_words_for_a_summary_and_a_save_taken_back_ask_for_the_chapter_anew(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1")
    store.start("s2", at(10))
    teller.say("s2", "of s2")
    store.opening("s3").rounds.save("s2", teller.summary("came to s2"), {})
    chapter_over(store, teller, "c1")
    store.rounds.set_summary("s1", teller.summary("in other words"))
    members = store.chapters.members("c1")
    assert members is not None
    assert store.at(at(50)).chapters.rebuild("c1", members, "Anew")
    assert store.at(at(60)).rounds.undo_save("s2", "s3") is not None
    (chapter,) = store.chapters.all()
    assert (chapter.text, chapter.children) == ("", ("s1", "s2"))
    assert store.chapters.members("c1") is None, "the session is open again"
    store.opening("s4").rounds.save("s2", teller.summary("came to more"), {})
    assert [one.text for one in store.chapters.members("c1") or ()] == ["in other words", "came to more"]


def test_going_on_in_a_session_leaves_its_chapter_as_it_is(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1", "s2")
    store.start("s3", at(10))
    chapter_over(store, teller, "c1")
    store.at(at(11)).rounds.resume("s1", "s3")
    teller.say("s1", "more")
    store.rounds.save("s1", teller.summary("came to more"), {}, open_next=False)
    assert [one.text for one in store.chapters.all()] == ["Chapter c1\nIt was so."]
    assert store.chapters.all()[0].end == at(5)


def test_messages_of_a_long_session_are_grouped_within_it(store: Store, teller: Teller) -> None:
    for words in ("one", "two", "three"):
        teller.say("s1", words)
    store.rounds.save("s1", teller.summary("came to three"), {}, open_next=False)
    members = store.chapters.ungrouped(1, "s1")
    assert [one.name for one in members] == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert store.at(at(50)).naming("g1").chapters.add(1, members[:4], "Two things", "s1")
    node, summary = store.chapters.node("g1"), store.summaries.of("s1")
    assert node is not None
    assert summary is not None
    assert (node.rank, node.parent, node.start, node.end) == (1, summary.text_id, at(1), at(2))
    assert [one.text_id for one in store.chapters.nodes(summary.text_id)] == ["g1", "u3", "a3"]
    assert store.chapters.long_sessions(10) == ["s1"]
    assert store.chapters.long_sessions(10_000) == []
    store.rounds.hide(["u1"])
    assert [one.text for one in store.chapters.all()] == [""]
    assert [one.name for one in store.chapters.members("g1") or ()] == ["a1", "u2", "a2"]
    store.rounds.hide(["a1", "u2"])
    assert store.chapters.all() == []
    assert [one.grouped_before for one in store.chapters.ungrouped(1, "s1")] == [0, 0, 0]
    store.rounds.unhide(["u1", "a1", "u2"])
    assert store.at(at(51)).naming("g2").chapters.add(1, store.chapters.ungrouped(1, "s1")[:4], "Two things", "s1")
    store.rounds.reset("s1")
    assert store.chapters.all() == []


def test_visits_are_counted_with_the_round_and_up_the_tree(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    saved(store, teller, "s1", "s2")
    store.start("s3", at(10))
    teller.say("s3", "what was it?", served=("u1", "a1"))
    chapter_over(store, teller, "c1")
    summary = store.summaries.of("s2")
    assert summary is not None
    teller.say("s3", "and then?", served=("u1", summary.text_id, "nobody"))
    store.close()
    again = reopen()
    counted = {node.name: (node.visit_count, node.last_visit) for node in again.chapters.nodes()}
    assert again.archive.rounds_counted() == 4
    assert counted == {
        "u1": (2, 4), "a1": (1, 3), "s1": (2, 4), "s2": (1, 4), "c1": (2, 4), LIFE: (2, 4),
        "u3": (0, 0), "a3": (0, 0), "s3": (0, 0),
        **{f"{who}{number}": (0, 0) for who in "ua" for number in (5, 6)},
    }  # fmt: skip
    again.close()


def test_what_goes_takes_its_visits_and_marks_along(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1")
    store.archive.set_never_delete(["u1", "s1"], True)
    store.at(at(70)).archive.archive([leaf("a1")])
    store.at(at(80)).archive.archive([leaf("a1")])
    assert store.archive.all() == {"a1": at(70)}
    assert {node.name for node in store.chapters.nodes() if node.never_delete} == {"u1", "s1"}
    store.archive.set_never_delete(["u1"], False)
    assert {node.name for node in store.chapters.nodes() if node.never_delete} == {"s1"}
    store.archive.restore(["a1"])
    assert store.archive.all() == {}
    store.at(at(90)).archive.archive([leaf("a1")])
    session, summary = store.sessions.find("s1"), store.summaries.of("s1")
    assert session is not None
    assert summary is not None
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1")), (summary,), sessions=(session,)))
    assert store.archive.all() == {}
    assert [node.text_id for node in store.chapters.nodes()] == [LIFE]


def test_no_chapter_reaches_over_a_session_that_is_still_to_be_made_anew(store: Store, teller: Teller) -> None:
    for session_id in ("s1", "s2", "s3"):
        saved(store, teller, session_id)
    summary = store.summaries.of("s2")
    assert summary is not None
    store.erasure.commit(ErasureScope((store.messages.of_session("s2")[0],), (summary,)))
    assert [(one.name, one.unready_before) for one in store.chapters.ungrouped(1)] == [("s1", 0), ("s3", 1)]
    (anew,) = store.rebuilds.due_requests()
    store.rounds.rebuild_summary(anew, teller.summary("what is left"), 1)
    assert [(one.name, one.unready_before) for one in store.chapters.ungrouped(1)] == [("s1", 0), ("s2", 0), ("s3", 0)]


def test_a_chapter_over_what_changed_is_due_once_all_under_it_is_ready(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1", "s2", "s3")
    chapter_over(store, teller, "c1", most=2)
    assert [one.text_id for one in store.chapters.chapters_above([], ["s1"])] == ["c1"]
    assert store.chapters.chapters_above(["u5"], ["s3"]) == []
    assert store.chapters.due_rebuilds() == []
    with store.database.write() as tx:
        store.chapters.void(tx, ["c1"])
    ((chapter, members),) = store.chapters.due_rebuilds()
    assert (chapter.text_id, [one.name for one in members]) == ("c1", ["s1", "s2"])


def test_a_session_without_its_messages_is_no_member_of_a_chapter_to_be_written(store: Store, teller: Teller) -> None:
    saved(store, teller, "s1", "s2", "s3")
    chapter_over(store, teller, "c1", most=3)
    store.rounds.hide(["u1"])
    assert store.chapters.due_rebuilds() == []
    assert [one.session_id for one in store.rebuilds.due_requests()] == ["s1"]


def test_what_is_shown_again_of_an_import_asks_for_its_summary(store: Store, teller: Teller) -> None:
    told = tuple(
        ImportedMessage(words, role, words, at(place, 2023), 0, replies=role == "assistant")
        for place, (role, words) in enumerate((("user", "one"), ("assistant", "two")))
    )
    store.imports.add(store.imports.begin("f", "chatgpt", "0", 1), [PastPiece("talk", "", False, told)])
    (session,) = [one.session_id for one in store.sessions.recent(None) if one.session_id != "s1"]
    before, messages = store.imports.summary_and_rest(session)
    store.rounds.hide([messages[0].text_id])
    assert store.imports.keep_summary(session, "of two", before, messages[1:])
    store.rounds.unhide([messages[0].text_id])
    assert store.summaries.of(session) is None
    assert [one.session_id for one in store.imports.due_sessions()] == [session]


def test_a_page_of_the_diary_is_of_an_archived_session_as_it_was_read_and_loses_its_text_with_a_message(
    store: Store, teller: Teller
) -> None:
    saved(store, teller, "s1", "s2")
    store.start("s3", at(20))
    teller.say("s3", "not saved")
    line = ("We spoke of s1.", ["u1"])
    assert not store.chapters.put_page("s1", ["u1"], [line]), "there is more by now"
    assert not store.chapters.put_page("s3", ["u5", "a5"], [line]), "it is not archived"
    assert store.at(at(800)).naming("p1", "p2").chapters.put_page("s1", ["u1", "a1"], [line])
    (page,) = store.chapters.pages()
    assert (page.text_id, page.session_id, page.sentences) == ("p1", "s1", (("We spoke of s1.", ("u1",)),))
    assert (page.start, page.end, page.text) == (at(1), at(1), "We spoke of s1.")
    assert store.chapters.all() == []
    assert store.chapters.node("p1") is None
    assert [one.text for one in store.chapters.all(pages=True)] == ["We spoke of s1."]
    assert [one.text_id for one in store.chapters.chapters_above(["u1"], [])] == ["p1"]
    assert store.chapters.put_page("s1", ["u1", "a1"], [("Of s1, and tea.", ["u1", "a1"])])
    assert [one.text_id for one in store.chapters.pages()] == ["p2"]
    store.rounds.hide(["u1"])
    assert store.chapters.pages() == []
    assert [one.session_id for one in store.chapters.pages(due=True)] == ["s1"]
    assert store.chapters.put_page("s1", ["a1"], [])
    assert store.chapters.all(pages=True) == []
