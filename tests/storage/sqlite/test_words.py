"""The index of words: found at once, gone at once, and the bytes too."""

from __future__ import annotations

import itertools
import logging
import random

import pytest

from language import words
from storage.embeddings import Embeddings
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.words import SqliteWords


@pytest.fixture
def database(tmp_path):
    opened = SqliteDatabase(tmp_path / "memory.db", logging.Logger("test", logging.CRITICAL))
    yield opened
    opened.close()


@pytest.fixture
def index(database):
    return SqliteWords(database)


def _seqs(index, term, cap=100):
    postings = index.postings("message", (term,), cap)
    return postings[term].seqs.tolist() if term in postings else None


def test_a_row_is_found_as_soon_as_its_transaction_ends_with_how_often_each_word_stands_in_it(database, index):
    with database.write() as tx:
        index.add(tx, "message", [(7, words.tokens("a cat and a cat and a dog"))])
    found = index.postings("message", ("cat", "dog"), 100)
    assert found["cat"].seqs.tolist() == [7]
    assert found["cat"].counts.tolist() == [2]
    assert found["dog"].counts.tolist() == [1]


def test_a_row_of_a_transaction_that_was_taken_back_is_not_found(database, index):
    with pytest.raises(ZeroDivisionError), database.write() as tx:
        index.add(tx, "message", [(7, ["cat"])])
        raise ZeroDivisionError
    assert _seqs(index, "cat") == []


def test_a_row_that_was_removed_and_added_again_is_found_by_its_new_words(database, index):
    with database.write() as tx:
        index.add(tx, "message", [(7, ["cat"])])
        index.remove(tx, "message", [7])
        index.add(tx, "message", [(7, ["dog"])])
    assert _seqs(index, "cat") == []
    assert _seqs(index, "dog") == [7]
    assert index.rows("message") == 7


def _pieces(database, table):
    return database.run(f"SELECT count(DISTINCT segid) FROM {table}_words_idx")[0][0]


def test_words_that_came_one_commit_after_another_lie_in_a_few_pieces_once_their_texts_have_vectors(database, index):
    embeddings = Embeddings(database, index.join_pieces)
    for seq in range(1, 61):
        with database.write() as tx:
            index.add(tx, "message", [(seq, ["cat", f"word{seq}"])])
            index.add(tx, "summary", [(seq, ["dog"])])
        embeddings.mark_done({}, "a-model")
    assert max(_pieces(database, table) for table in ("message", "summary")) <= 9
    assert _seqs(index, "cat") == list(range(1, 61))
    assert _seqs(index, "word7") == [7]


def test_what_was_removed_is_not_found_and_its_bytes_go(database, index, tmp_path):
    with database.write() as tx:
        index.add(tx, "message", [(7, ["zanzibarmarker"])])
        index.add(tx, "message", [(8, ["cat"])])
    with database.write() as tx:
        index.remove(tx, "message", [7])
        index.optimize(tx)
    database.vacuum()
    assert _seqs(index, "zanzibarmarker") == []
    assert _seqs(index, "cat") == [8]
    assert b"zanzibarmarker" not in (tmp_path / "memory.db").read_bytes()


def test_a_term_in_too_many_rows_is_left_out_and_one_in_none_is_empty(database, index):
    with database.write() as tx:
        for seq in range(1, 12):
            index.add(tx, "message", [(seq, ["common", f"own{seq}"])])
    assert _seqs(index, "common", cap=10) is None
    assert _seqs(index, "common", cap=11) == list(range(1, 12))
    assert _seqs(index, "own3", cap=10) == [3]
    assert _seqs(index, "nobody", cap=10) == []


def test_marks_are_kept_beside_the_length_and_are_no_words(database, index):
    with database.write() as tx:
        index.add(tx, "message", [(7, words.tokens("Ann: where were you yesterday?"))])
    assert _seqs(index, words.ASKS) == []
    assert _seqs(index, words.speaker_term("ann")) == [7]
    row = database.run("SELECT length, marks FROM message_length")[0]
    assert tuple(row) == (2, 0b11)


@pytest.mark.parametrize("term", ['"', '""x"', "a OR b", "x*", "NEAR(", "c++", "'; --", "^", "@:ann", "5", "喵,[]"])
def test_nothing_in_a_term_is_read_as_a_command(database, index, term):
    with database.write() as tx:
        for seq in (1, 2, 3):
            index.add(tx, "message", [(seq, ["cat"])])
    for cap in (2, 100):
        assert index.postings("message", (term,), cap)[term].seqs.tolist() == []


def test_many_terms_at_once_give_what_plain_counting_gives(database, index):
    chosen = random.Random(3)
    vocabulary = ["cat", "猫", "c++", "5月", "5", "@:ann", "dog", "it's", 'a"b', "bird", "rare"]
    texts = {seq: chosen.choices(vocabulary[:-1], k=chosen.randint(1, 9)) for seq in range(1, 60, 2)}
    texts[7].append("rare")
    with database.write() as tx:
        for seq, tokens in texts.items():
            index.add(tx, "message", [(seq, tokens)])
    terms = ["nobody", *vocabulary, "no one"]
    for cap in (0, 1, 12, 100):
        holding = {term: {seq: held.count(term) for seq, held in texts.items() if term in held} for term in terms}
        found = index.postings("message", terms, cap)
        assert list(found) == [term for term in terms if len(holding[term]) <= cap]
        for term, posting in found.items():
            pairs = zip(posting.seqs.tolist(), posting.counts.tolist(), strict=True)
            assert list(pairs) == list(holding[term].items())


def test_tables_of_words_do_not_mix(database, index):
    with database.write() as tx:
        index.add(tx, "summary", [(1, ["cat"])])
    assert _seqs(index, "cat") == []
    assert index.postings("summary", ("cat",), 9)["cat"].seqs.tolist() == [1]


def test_a_search_costs_no_more_than_the_cap_however_large_the_table(database, index):
    def steps(first: int, last: int) -> int:
        """The instructions of SQLite's machine for a search, once there are so many rows."""
        with database.write() as tx:
            for seq in range(first, last):
                index.add(tx, "message", [(seq, ["common", f"own{seq}"])])
        done = itertools.count()
        database._connection.set_progress_handler(lambda: next(done) < 0, 1)
        index.postings("message", ("common", "own77"), 50)
        database._connection.set_progress_handler(None, 1)
        return next(done)

    few = steps(1, 1_001)
    assert few > 100
    assert steps(1_001, 8_001) < 1.5 * few
