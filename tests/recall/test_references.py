"""What "she", "it" and "there" mean is read from the messages before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.questions import resolve_references
from tests.support.growing import growth


@pytest.mark.parametrize(
    ("recent", "question", "meant"),
    [
        pytest.param(
            ["My brother Tom started at Acme in Boston.", "How nice!"], "does he still work there?", "Tom, Boston"
        ),
        pytest.param(["我妹妹叫小红，在上海工作。", "真好！"], "她今年几岁了？", "小红"),
        pytest.param(['I just read "The Dead Zone".'], "What do you think of it?", "The Dead Zone"),
        pytest.param(["我昨天看了《出租车司机》"], "那部电影好看吗", "出租车司机"),
        pytest.param(["We visited my aunt."], "How old is she?", "aunt"),
        pytest.param(["I bought a new car yesterday."], "Is it big?", "new car"),
    ],
)
def test_a_pronoun_is_given_the_latest_that_fits(recent, question, meant):
    assert resolve_references(question, recent) == f"{question} ({meant})"


@pytest.mark.parametrize(
    ("recent", "question"),
    [
        pytest.param(["my friend Bob came"], "Where does Anna live, is she well?", id="names somebody itself"),
        pytest.param([], "does he still work there?", id="nothing was said before"),
        pytest.param(["ok"], "她今年几岁了？", id="nothing fits"),
        pytest.param(["I met Tom in Boston"], "What did I cook?", id="no pronoun"),
    ],
)
def test_a_question_stays_as_it_is_where_nothing_is_meant_or_nothing_fits(recent, question):
    assert resolve_references(question, recent) == question


def test_only_the_last_five_messages_are_read():
    recent = ["I met Tom Baker here.", "ok", "ok", "ok", "ok", "ok"]
    assert resolve_references("how is he?", recent) == "how is he?"


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=6))
def test_the_question_itself_is_never_lost(question, recent):
    assert resolve_references(question, recent).startswith(question)


def test_work_grows_with_the_length_of_a_message_and_no_faster():
    assert growth(lambda message: resolve_references("is it there with her?", [message]), "in The A ") < 9
