"""Where turns stand follows session and position, whatever the order in which they were stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall.candidates import MessageTable, Pool, with_answered
from storage.messages import MessageColumns


@dataclass(frozen=True)
class Row:
    seq: int
    session: int
    position: float
    by_user: bool = True
    length: int = 3
    marks: int = 0
    day: int = 739_617


def _columns(rows):
    return MessageColumns(*([getattr(row, name) for row in rows] for name in MessageColumns._fields))


def _table(told, cuts):
    """A table of (session, position), taken in piece by piece."""
    rows = [Row(seq, session, position) for seq, (session, position) in enumerate(told, 1)]
    table, ends = MessageTable(), sorted({cut % (len(rows) + 1) for cut in cuts})
    for start, end in zip([0, *ends], [*ends, len(rows)], strict=True):
        table.extend(_columns(rows[start:end]))
    return table


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), unique=True, max_size=40),
    st.lists(st.integers(0, 40), max_size=6),
)
def test_neighbours_and_places_follow_the_position_in_any_order_of_storing(told, cuts):
    table = _table(told, cuts)
    ordered = sorted(range(len(told)), key=lambda row: told[row])
    assert table.in_order(np.arange(len(told))).tolist() == ordered
    for session in (1, 2, 3):
        mine = [row for row in ordered if told[row][0] == session]
        assert table.place[mine].tolist() == list(range(len(mine)))
        assert table.next[mine].tolist() == [*mine[1:], -1][: len(mine)]
        assert table.previous[mine].tolist() == [-1, *mine[:-1]][: len(mine)]


def test_messages_are_joined_only_with_what_follows_them_in_their_session():
    table = _table([(1, 0), (2, 0), (1, 2), (2, 1), (1, 1)], [])
    rows = table.in_order(np.arange(5))
    assert rows.tolist() == [0, 4, 2, 1, 3]
    assert table.are_adjacent(rows).tolist() == [True, True, False, True]
    assert table.are_adjacent(rows[[0, 2]]).tolist() == [False]


def test_a_session_is_older_by_the_sessions_that_went_on_after_it():
    table, asked = _table([(5, 0), (6, 0), (7, 0)], []), np.array([5, 6, 7])
    assert table.sessions_after(asked).tolist() == [2, 1, 0]
    table.extend(_columns([Row(4, 7, 1)]))
    assert table.sessions_after(asked).tolist() == [2, 1, 0]
    table.extend(_columns([Row(5, 5, 1), Row(6, 5, 2)]))
    assert table.sessions_after(asked).tolist() == [0, 2, 1]


def test_taking_in_a_round_does_not_touch_what_is_known():
    table = _table([(session, place) for session in range(2000) for place in range(10)], [])
    known = table.next[:-1].copy()
    table.extend(_columns([Row(20_001, 1999, 10), Row(20_002, 1999, 11)]))
    assert (table.next[:19_999] == known).all()
    assert table.next[19_999:].tolist() == [20_000, 20_001, -1]
    assert table.sessions == 2000


def test_what_one_question_reads_stays_as_it_is_while_messages_are_taken_in():
    table = _table([(1, 0), (2, 0), (1, 2)], [])
    still = table.snapshot()
    assert table.snapshot() is still
    table.extend(_columns([Row(4, 1, 1), Row(5, 2, 1)]))
    assert (len(still), len(table.snapshot())) == (3, 5)
    assert still.next.tolist() == [2, -1, -1]
    assert still.place.tolist() == [0, 0, 1]
    assert still.rows(np.array([3, 4]))[0].tolist() == [2]
    assert table.snapshot().next.tolist() == [3, 4, -1, 2, -1]


def _near(similarity, short, joined):
    rows = np.arange(10, 10 + len(similarity))
    pool = Pool(rows, np.array(joined), np.zeros((0, len(rows)), np.float32), np.array(similarity, np.float32))
    lifted = with_answered(pool, lambda rows: np.isin(rows, [10 + at for at in short])).similarity
    return [round(float(one), 2) for one in lifted]


def test_a_message_is_hardly_less_near_than_the_short_one_that_answers_it():
    assert _near([0.2, 0.6, 0.1], {1}, [True, True]) == [0.55, 0.6, 0.1]
    assert _near([0.7, 0.6, 0.1], {1}, [True, True]) == [0.7, 0.6, 0.1]


def test_a_long_message_or_one_of_another_session_lends_nothing_to_the_message_before_it():
    assert _near([0.2, 0.6, 0.1], {0, 2}, [True, True]) == [0.2, 0.6, 0.1]
    assert _near([0.2, 0.6, 0.1], {1}, [False, True]) == [0.2, 0.6, 0.1]
    assert _near([0.6, 0.2], {0, 1}, [True]) == [0.6, 0.2]
