"""Recall as a whole, over a real database: what is found, what never is, and what happens when a part is missing."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from domain import errors
from domain.indexes import Hit
from domain.recollection import RecallLimits, RecallRequest, Recollection
from domain.records import Message
from models.embeddings import SentenceEmbedder
from recall.candidates import CandidateSearch, Hidden, MessageTable
from recall.embedding import HashedEmbedder, message_key, style_for
from recall.questions import parse_question
from recall.relevance import Features, MessageKinds, examples_for, judge
from recall.retriever import OwnMemories
from recall.selection import ENTRY, FRAME, RECORD
from storage.messages import NewMessage, NewSummary
from tests.contract.stores import sqlite

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIMITS = RecallLimits(sessions=3, messages=4, tokens=4000)
LOG = logging.Logger("test", logging.CRITICAL)

OLD = (
    ("Hi there!", "Hello, how are you?"),
    ("We adopted a puppy called Biscuit last weekend.", "How lovely! What breed is he?"),
    ("A beagle, and he chews every shoe.", "Hide the good ones."),
    ("My sister moved to Lisbon for a job at a bank.", "That is far away."),
    ("I am learning the violin.", "Since when?"),
    ("Since March, every Tuesday.", "Good luck with it."),
)
OLDER = (
    ("I cooked ramen for twelve people.", "Twelve! Did it work?"),
    ("The broth took two days.", "Worth it, I hope."),
    ("The garden is full of tomatoes.", "Make sauce of them."),
)


_EMBED = HashedEmbedder().embed


class Vectors:
    """An index of vectors in a list."""

    def __init__(self):
        self.state = "ready"
        self.rows = []
        self.fault = None

    def search(self, *vectors, kind, exclude_session, limit):
        if self.fault:
            raise self.fault
        near = [
            [
                Hit(text_id, session_id, float(held @ vector))
                for text_id, session_id, of, held in self.rows
                if of == kind and session_id != exclude_session
            ]
            for vector in vectors
        ]
        return [sorted(hits, key=lambda hit: -hit.similarity)[:limit] for hits in near]


class StoredLife:
    """A database that sessions are stored in, and a finder over it, which embeds with what it is asked with."""

    def __init__(self, folder, embedder=None):
        self.embedder = embedder or HashedEmbedder()
        self.store = sqlite(folder)
        self.vectors = Vectors()
        self.finder = OwnMemories(self.store.of, self.vectors, self, LOG)
        self.asked_with = _EMBED

    @property
    def model(self):
        return self.embedder.model

    def embed(self, texts):
        if self.asked_with is None:
            raise errors.EmbeddingError("embeddings.unreachable")
        return self.asked_with(texts)

    def live(self, session_id, rounds, when, *, summary="", archived=True):
        with self.store.database.write():
            self.store.start(session_id, when.isoformat())
            for number, spoken in enumerate(rounds):
                self.say(session_id, number, spoken, when + timedelta(minutes=number))
            ended = self.store.at(when.isoformat()).naming(f"{session_id}-m")
            if archived:
                ended.opening(f"after-{session_id}").rounds.save(session_id, summary, {})
            else:
                ended.rounds.compact(session_id, len(rounds), summary)

    def say(self, session_id, number, spoken, when):
        at = when.isoformat()
        told = (
            NewMessage(f"{session_id}-{number}u", at, "user", spoken[0]),
            NewMessage(f"{session_id}-{number}a", at, "assistant", spoken[1]),
        )
        for message in self.store.at(at).rounds.add(session_id, told, "stop").messages:
            (vector,) = self.embedder.embed([message_key(message, (), style_for(self.embedder.model))])
            self.vectors.rows.append((message.text_id, session_id, "conversation", vector))

    def recall(self, *queries, embed=_EMBED, **options):
        self.asked_with = embed
        asked = {"session_id": "now", "now": NOW, "limits": LIMITS, **options}
        return self.finder.find(RecallRequest(queries, **asked), Recollection())


def _tokens(most):
    return replace(LIMITS, tokens=most)


@pytest.fixture
def life(tmp_path):
    lived = _lived(StoredLife(tmp_path))
    yield lived
    lived.store.close()


def _lived(lived):
    lived.live("older", OLDER, NOW - timedelta(days=200), summary="They spoke of ramen and tomatoes.")
    lived.live("old", OLD, NOW - timedelta(days=9), summary="They spoke of a puppy, Lisbon and the violin.")
    return lived


@pytest.fixture(scope="module")
def dull(tmp_path_factory):
    """Opens a large history of which nothing is worth remembering, again and again: it is told once."""
    folder = tmp_path_factory.mktemp("dull")
    first = StoredLife(folder)
    for number in range(20):
        rounds = [(f"Today was number {number} and {at}, nothing new.", "I see.") for at in range(90)]
        first.live(f"dull{number}", rounds, NOW - timedelta(days=8))
    first.store.close()

    def opened(folder_of_its_own):
        shutil.copytree(folder, folder_of_its_own, dirs_exist_ok=True)
        lived = StoredLife(folder_of_its_own)
        lived.vectors.rows = [*first.vectors.rows]
        return lived

    return opened


@pytest.fixture
def large_life(tmp_path, dull):
    lived = _lived(dull(tmp_path))
    yield lived
    lived.store.close()


def test_what_was_said_is_found_with_where_and_when_and_why(life):
    recalled = life.recall("What is the puppy called?")
    assert recalled.ranked[0] == "old-1u"
    (best,) = [message for message in recalled.messages if message.text_id == "old-1u"]
    assert (best.session_id, best.role, best.hit) == ("old", "user", True)
    assert best.text.startswith("User: We adopted")
    assert "puppy" in best.why.words
    assert dict(best.why.parts)
    assert recalled.summaries[0].session_id == "old"
    assert recalled.degraded == ()


def test_each_name_in_a_message_brings_the_best_that_is_known_of_it_however_far_the_cut_goes(life):
    asked, most = "What did the bank in Lisbon say about Biscuit?", replace(LIMITS, share=0.99)
    assert {"old-1u", "old-3u"} <= set(life.recall(asked, limits=most).ranked)
    assert len(life.recall(asked.replace("Biscuit", "it"), limits=most).ranked) == 1


def test_what_a_remark_brings_is_not_measured_by_what_the_talk_before_it_brings(life):
    before = "I cooked ramen for twelve people. The broth took two days, twelve people ate ramen."
    found = life.recall(before, "My sister has moved.", limits=replace(LIMITS, share=0.99)).ranked
    assert {"older-0u", "old-3u"} == set(found)


def test_a_reply_without_words_is_nothing_that_a_message_is_compared_with(life):
    before = life.store.of.messages.columns_after(0, 100).seq
    life.live("silent", [("The piano is out of tune.", "")], NOW - timedelta(days=1))
    assert len(life.store.of.messages.columns_after(0, 100).seq) == len(before) + 1
    assert life.recall("Where is the piano?").ranked[0] == "silent-0u"


def test_thousands_of_messages_are_ready_for_recall_after_a_few_rows_are_read(large_life, monkeypatch):
    read, run = [], large_life.store.database.run

    def count_rows(*asked):
        rows = run(*asked)
        read.extend(rows)
        return rows

    monkeypatch.setattr(large_life.store.database, "run", count_rows)
    large_life.finder.warm()
    assert large_life.store.messages.highest_number() > 3600
    assert len(read) <= 8


def test_the_first_question_is_asked_of_all_messages_however_few_are_read_at_once(life, monkeypatch):
    monkeypatch.setattr("recall.retriever._AT_ONCE", 8)
    assert life.recall("Where did my sister move?").ranked[0] == "old-3u"


def test_what_a_question_finds_in_a_short_reply_counts_for_what_that_answers(life):
    meant = life.embedder.embed(["a question in quite other words"])[0]
    life.vectors.rows = [
        (of, session, kind, meant if of == "old-3a" else vector * 0) for of, session, kind, vector in life.vectors.rows
    ]
    found = life.recall("¿Adónde?", embed=lambda texts: [meant] * len(texts), gated=False)
    near = {message.text_id: dict(message.why.parts)["dense"] for message in found.messages if message.hit}
    assert near["old-3u"] > 0.9 * near["old-3a"]
    assert all(of in ("old-3u", "old-3a") or one < 0 for of, one in near.items())


WORK = (
    ("我在城南一家卖乐器的铺子当学徒，铺子叫回声。", "听着就热闹，学的是修琴吗？"),
    ("周末带狗去河边跑了一圈，它追了半天鸭子。", "鸭子没受惊吧？"),
    ("回声关门了，房东涨租，我们几个上个月底散的伙。", "可惜了，那些琴怎么办？"),
    ("妈妈的膝盖好多了，能自己上楼。", "那太好了。"),
    ("昨晚梦见小学的操场，醒来还记得单杠的味道。", "铁锈味吧。"),
    ("楼下新开的面馆太咸。", "少喝汤。"),
    ("我开始学游泳，憋气还是不行。", "慢慢来。"),
    ("表弟考上了西安的大学，学地质。", "石头也有意思。"),
)


def test_who_asks_about_themselves_is_given_what_has_a_few_of_the_words_and_is_somewhat_near(tmp_path):
    lived = StoredLife(tmp_path, SentenceEmbedder())
    lived.live("work", WORK, NOW - timedelta(days=60))
    asked = partial(lived.recall, embed=lived.embedder.embed, limits=_tokens(500))
    assert "work-0u" in {message.text_id for message in asked("我原来在哪家店？怎么走的？").messages}
    never_said = asked("我的血型是什么？")
    assert never_said.unknown
    assert len(never_said.ranked) <= 4
    assert not never_said.summaries
    lived.store.close()


@pytest.mark.parametrize(("across", "amount"), [(True, "enough"), (False, "little")])
def test_who_asks_about_themselves_in_a_language_that_nothing_was_said_in_is_refused_less(across, amount):
    found = Features(0.0, 0.0, 0.0, 0.0, 0.0, 4, 200, likeness=0.0, near=0.3, kind=0.3, across=across)
    assert judge(found, "What did my grandfather teach me?", seeks=True) == amount


@pytest.fixture(scope="module")
def talkative(tmp_path_factory):
    lived = StoredLife(tmp_path_factory.mktemp("talkative"), SentenceEmbedder())
    lived.live("work", WORK, NOW - timedelta(days=60))
    lived.live(
        "home",
        [
            ("Hi! I moved to Ghent with my cat Tiger.", "How is the new flat?"),
            ("The flat is small, I sold my piano.", "Do you miss it?"),
            ("I'm allergic to shellfish, found out the hard way.", "Goodness. What happened?"),
            ("My code for the shop finally works.", "Well done!"),
        ],
        NOW - timedelta(days=30),
    )
    yield lived
    lived.store.close()


@pytest.mark.parametrize(
    "said",
    [
        "Could you explain how tides work?",
        "What's the Spanish word for window?",
        "Please shorten this: we regret to inform you that the lift is out of order.",
        "Ha, that's a good one.",
        "What is 14 percent of 300?",
        "潮汐是怎么形成的？",
        "窗户用西班牙语怎么说？",
        "哈哈，说得好。",
        "300的14%是多少？",
    ],
)
@pytest.mark.parametrize("before", [(), ("The printer is jammed again.\nPull the sheet out slowly.",)])
def test_a_task_a_reaction_or_a_question_for_any_stranger_recalls_nothing(talkative, said, before):
    assert not talkative.recall(*before, said, embed=talkative.embedder.embed)


@pytest.mark.parametrize(
    "said", ["I'd like to play music again.", "Tiger has been sneezing all day.", "我想找份新工作。"]
)
def test_a_remark_about_ones_own_life_still_recalls(talkative, said):
    found = talkative.recall(said, embed=talkative.embedder.embed)
    assert found.messages
    assert not found.unknown


@pytest.mark.parametrize("said", ["I felt so small when they laughed.", "一想到下周我心里就发慌。"])
def test_a_remark_about_a_feeling_recalls_also_in_the_middle_of_another_talk(talkative, said):
    before = "The printer is jammed again.\nPull the sheet out slowly."
    assert talkative.recall(before, said, embed=talkative.embedder.embed).messages


def test_a_key_word_brings_what_holds_it_and_little_else(talkative):
    found = talkative.recall("piano", embed=talkative.embedder.embed)
    everything = talkative.recall("piano", embed=talkative.embedder.embed, gated=False)
    assert "piano" in next(message.text for message in found.messages if message.text_id == found.ranked[0])
    assert len(found.ranked) < len(everything.ranked) / 2
    assert not found.unknown


@pytest.mark.parametrize(
    ("kind", "seeks", "amount"), [(-0.4, False, "best"), (-0.4, True, "best"), (0.3, False, "enough")]
)
def test_a_message_of_a_kind_that_seldom_needs_memory_gets_no_more_than_the_best(kind, seeks, amount):
    found = Features(1.0, 1.0, 1.0, 12.0, 1.0, 20, 200, likeness=0.4, near=0.3, kind=kind)
    assert judge(found, "How do we deploy the landing page?", seeks=seeks) == amount


@pytest.mark.parametrize(("likeness", "amount"), [(0.4, "best"), (0.1, "nothing")])
def test_what_the_words_surely_name_is_recalled_whatever_kind_of_message_it_is(likeness, amount):
    found = Features(1.0, 1.0, 1.0, 5.0, 1.0, 1, 200, likeness=likeness, near=0.02, kind=-1.0)
    assert judge(found, "fastify?", seeks=False) == amount


@pytest.mark.parametrize(("heard", "near", "amount"), [(0.0, 0.0, "nothing"), (0.0, 0.2, "best"), (0.3, 0.0, "best")])
def test_a_message_of_which_no_word_was_ever_said_gets_nothing_unless_something_is_near(heard, near, amount):
    found = Features(0.0, 0.0, heard, 0.0, 0.0, 3, 200, likeness=0.1, near=near, kind=-0.1)
    assert judge(found, "mango connection pooling", seeks=False) == amount


@pytest.mark.parametrize("asked", ["What's my shoe size?", "Which school did I go to?", "我的车牌号是多少？"])
def test_a_question_about_oneself_that_was_never_answered_gets_little_and_says_so(talkative, asked):
    found = talkative.recall(asked, embed=talkative.embedder.embed)
    assert found.unknown
    assert len(found.ranked) <= 4


def test_another_embedder_is_shown_examples_once_and_tells_kinds_apart(talkative):
    embedder = talkative.embedder
    told = MessageKinds("other", embedder.embed(examples_for("other")))
    tasks, remarks = (
        [told.kind_of(vector) for vector in embedder.embed(texts)]
        for texts in (
            ("What is the capital of Peru?", "写一首关于海的诗。", "Translate this into German: it is late."),
            ("I had a fight with my sister.", "我明天要去看医生。", "What should I cook for my parents?"),
        )
    )
    assert max(tasks) < min(remarks)
    assert MessageKinds("other").kind_of(embedder.embed(["I am ill."])[0]) is None


FRIENDS = (
    ("Oona is a midwife in Tampere.", "A good trade."),
    ("She drove north with her brother.", "In winter?"),
    ("老周开了一家修表店。", "手很稳吧。"),
    ("The bread did not rise today.", "Old yeast, perhaps."),
    ("It rained on the tents.", "All night?"),
)


@pytest.mark.parametrize(("known", "stranger"), [("Oona", "Marit"), ("老周", "老郑")])
def test_a_question_about_somebody_who_was_spoken_of_is_refused_less_than_one_about_a_stranger(
    tmp_path, known, stranger
):
    lived = StoredLife(tmp_path)
    lived.live("friends", FRIENDS, NOW - timedelta(days=60))
    for number in range(30):
        lived.live(f"d{number}", [(f"Day {number} was long.", "Rest.")], NOW - timedelta(days=30 - number))
    asked = "{}是哪里人？" if known == "老周" else "Which places has {} been travelling to?"
    assert any(known in message.text for message in lived.recall(asked.format(known), limits=_tokens(500)).messages)
    assert not lived.recall(asked.format(stranger), limits=_tokens(500))
    lived.store.close()


def test_messages_stand_oldest_first_with_their_neighbours_and_hits_are_named_best_first(life):
    recalled = life.recall("Where did my sister move for a job, to Lisbon?")
    times = [message.timestamp for message in recalled.messages]
    assert times == sorted(times)
    assert {"old-3u", "old-3a"} <= {message.text_id for message in recalled.messages}
    assert set(recalled.ranked) == {message.text_id for message in recalled.messages if message.hit}


def test_the_current_session_is_never_recalled(life):
    life.live("now", OLD, NOW, archived=False)
    recalled = life.recall("What is the puppy called?", session_id="now", gated=False)
    assert recalled
    assert {message.session_id for message in recalled.messages} <= {"old", "older"}
    assert {summary.session_id for summary in recalled.summaries} <= {"old", "older"}


def test_a_summary_that_was_replaced_says_no_more_how_near_its_session_is(life):
    def nearest():
        search = CandidateSearch(life.store.of, life.vectors, table, Hidden("now"), LOG)
        (found,) = search.find([parse_question("a puppy", NOW.date())], [vector], [()])
        return max(found.evidence.summary_similarity)

    table, (vector,) = MessageTable(), _EMBED(["a puppy"])
    table.extend(life.store.of.messages.columns_after(0, 100))
    life.vectors.rows.append(("old-m", "old", "summary", -vector))
    assert nearest() == pytest.approx(-1.0, abs=0.01)
    with life.store.database.write() as tx:
        life.store.of.summaries.replace(tx, "old", NewSummary("new-m", NOW.isoformat(), "They spoke of a puppy."), 6)
    life.vectors.rows.append(("new-m", "old", "summary", vector))
    assert nearest() == pytest.approx(1.0, abs=0.01)


def test_a_message_can_be_found_the_moment_it_is_stored(life):
    life.recall("What is the puppy called?")
    life.live("late", (("My passport number begins with X77.", "Noted."),), NOW - timedelta(days=1))
    assert life.recall("What does my passport number begin with?").ranked[0] == "late-0u"


@pytest.mark.parametrize(
    "said", ["thanks!", "ok", "写个快排", "谢谢你", "好的，晚安", "Write a quicksort in Rust", "", "   "]
)
def test_what_needs_no_memory_gets_none(life, said):
    assert not life.recall(said)


@pytest.mark.parametrize("said", ["今天天气不错", "The stock market fell sharply today."])
@pytest.mark.parametrize("budget", [120, 4000])
def test_a_remark_of_which_nothing_was_ever_said_reminds_of_nothing(life, said, budget):
    assert not life.recall(said, limits=_tokens(budget))


def test_what_a_remark_finds_by_itself_and_with_what_came_before_it_is_likelier_than_what_one_of_them_finds(life):
    life.live("zither", (("My zither is out of tune.", "Oh."),), NOW - timedelta(days=3))
    life.live("kettle", (("My kettle is out of tune.", "Oh."),), NOW - timedelta(days=3))
    before = "The zither and the kettle make such a noise."
    for named, other in (("zither", "kettle"), ("kettle", "zither")):
        found = life.recall(before, f"That {named} of mine.", embed=None, gated=False)
        scores = {message.text_id: message.why.score for message in found.messages}
        both = {message.text_id: sum(score for _, score in message.why.parts) for message in found.messages}
        gained = {text_id: scores[text_id] - both[text_id] for text_id in scores}
        assert gained[f"{named}-0u"] > gained[f"{other}-0u"] + 0.1


def test_who_asks_for_advice_is_reminded_of_what_may_matter(life):
    assert "old-5u" in life.recall("What should I practise for the violin?", limits=_tokens(400)).ranked
    assert not life.recall("What should the embassy paint on its submarine?", limits=_tokens(400))


def test_a_remark_reminds_of_what_is_like_it(life):
    assert life.recall("The puppy barked all night.", limits=_tokens(400)).ranked[0] == "old-1u"


def test_a_question_about_nothing_that_was_ever_said_gets_nothing(life):
    assert not life.recall("What colour was the submarine of the Norwegian embassy?")


@pytest.mark.parametrize("asked", ["What did we talk about nine days ago?", "我们九天前聊了什么？"])
def test_the_day_that_a_question_is_about_is_an_answer_though_no_word_meets(life, asked):
    recalled = life.recall(asked, limits=_tokens(400))
    assert recalled
    assert recalled.ranked[0].startswith("old-")
    assert not life.recall(asked.replace("nine", "five").replace("九", "五"), limits=_tokens(400))


def test_a_question_finds_the_past_form_of_its_verb(life):
    life.live("shop", (("I bought a red bicycle.", "Lovely."),), NOW - timedelta(days=3))
    assert life.recall("What did I buy?", embed=None, limits=_tokens(400)).ranked[0] == "shop-0u"


def test_what_is_asked_about_tonight_is_no_question_about_a_day_that_is_over(life):
    life.live("today", (("The tap drips.", "Call a plumber."),), NOW)
    assert not life.recall("Which opera should we hear tonight?", limits=_tokens(400))


def test_the_words_that_only_ask_do_not_weigh(life):
    life.live("pets", (("我的狗叫饼干，它很怕打雷。", "好名字。"),), NOW - timedelta(days=3))
    assert life.recall("狗叫什么名字", limits=_tokens(400)).ranked[0] == "pets-0u"


def test_a_time_that_is_named_makes_its_turns_likelier(life):
    life.live("may", (("I cooked soup.", "Nice."),), datetime(2026, 5, 4, tzinfo=UTC))
    life.live("july", (("I cooked soup.", "Nice."),), datetime(2026, 7, 9, tzinfo=UTC))
    assert life.recall("What did I cook on May 4th?").ranked[0] == "may-0u"
    assert life.recall("What soup did I cook in July?").ranked[0] == "july-0u"


@pytest.mark.parametrize(
    ("asked", "first"),
    [("What did Petra tell Bruno of the boat?", "Petra"), ("What did Bruno tell Petra of the boat?", "Bruno")],
)
def test_who_is_named_first_is_asked_about_and_who_is_named_after_counts_less(life, asked, first):
    told = [("Petra: The boat is slow.", "Bruno: The boat is slow."), ("Bruno: Oh my.", "Petra: Oh my.")]
    life.live("two", told, NOW - timedelta(days=3))
    meant = {}
    for message in life.recall(asked, embed=None, gated=False).messages:
        meant[message.text_id] = dict(message.why.parts).get("meant", 0.0)
    of = {"Petra": meant["two-0u"], "Bruno": meant["two-0a"]}
    other = ({"Petra", "Bruno"} - {first}).pop()
    assert of[first] > of[other] > 0.0


def test_she_is_looked_up_in_the_messages_before(life):
    life.live(
        "anna", (("Anna works at the harbour.", "Good."), ("Peter bakes bread.", "Good.")), NOW - timedelta(days=3)
    )
    recalled = life.recall("Where does she work?", recent=["I saw my friend Anna today.", "Nice!"])
    assert recalled.ranked[0] == "anna-0u"
    assert recalled.resolved[-1] == "Where does Anna work?"


def test_the_last_round_and_the_input_are_both_searched_for_and_embedded_in_one_call(life):
    calls = []

    def embed(texts):
        calls.append(list(texts))
        return HashedEmbedder().embed(texts)

    recalled = life.recall("I planted tomatoes again.", "What did we say about the violin?", embed=embed)
    assert len(calls) == 1
    assert "old-4u" in recalled.ranked


def _refuses(texts):
    raise errors.EmbeddingError


def _index_fails(life):
    life.vectors.fault = errors.StorageError("index.failed")


def _index_is_rebuilt(life):
    life.vectors.state = "rebuilding"


@pytest.mark.parametrize(
    ("change", "embed", "missing"),
    [
        pytest.param(lambda life: None, None, "embeddings", id="no embedder"),
        pytest.param(lambda life: None, _refuses, "embeddings", id="server away"),
        pytest.param(_index_is_rebuilt, HashedEmbedder().embed, "index", id="index being rebuilt"),
        pytest.param(_index_fails, HashedEmbedder().embed, "index", id="index broken"),
    ],
)
def test_without_vectors_it_goes_on_by_words_and_says_so(life, change, embed, missing):
    change(life)
    recalled = life.recall("What is the puppy called?", embed=embed)
    assert recalled.ranked[0] == "old-1u"
    assert recalled.degraded == (missing,)


def test_without_words_it_goes_on_by_vectors_and_says_so(life):
    with life.store.database.write() as tx:
        tx.do("DROP TABLE message_postings")
    recalled = life.recall("puppy called Biscuit", gated=False)
    assert "old-1u" in recalled.ranked
    assert recalled.degraded == ("words",)


def test_what_is_handed_over_stays_inside_the_budget_best_first(life):
    recalled = life.recall("What is the puppy called?", limits=_tokens(FRAME + RECORD + ENTRY + 20), gated=False)
    assert recalled.ranked == ("old-1u",)
    assert not life.recall("What is the puppy called?", limits=_tokens(FRAME + RECORD + ENTRY)).messages


def test_what_was_removed_is_not_recalled_though_an_index_still_has_it(life):
    life.recall("What is the puppy called?")
    with life.store.database.write() as tx:
        tx.do("DELETE FROM conversation WHERE text_id = 'old-1u'")
    assert "old-1u" not in {
        message.text_id for message in life.recall("What is the puppy called?", gated=False).messages
    }


def test_a_fact_finds_the_message_it_was_drawn_from(life):
    question = "Which musical instrument?"
    seq = life.store.messages.numbers_of(["old-4u"])["old-4u"]
    life.store.at(NOW.isoformat()).naming("f1").learn_key("old", "plays a musical instrument", [seq])
    assert life.recall(question, embed=None, gated=False).ranked[0] == "old-4u"


def test_an_empty_memory_gives_nothing_and_no_fault(tmp_path):
    empty = StoredLife(tmp_path)
    assert not empty.recall("What is the puppy called?")
    assert not empty.recall("What is the puppy called?", gated=False)
    empty.store.close()


def test_asking_twice_gives_the_same(life):
    assert life.recall("Where is my sister?") == life.recall("Where is my sister?")


def test_a_large_history_is_searched_like_a_small_one(large_life):
    recalled = large_life.recall("What is the puppy called?")
    assert recalled.ranked[0] == "old-1u"


def test_both_searches_of_a_question_in_a_large_history_find_what_one_at_a_time_finds(large_life):
    said, question = "Nothing new, number 7. My sister called.", "Where did my sister move to?"
    both = large_life.recall(said, question, gated=False)
    alone = large_life.recall(question, gated=False)
    assert alone.ranked[0] == "old-3u"
    assert "old-3u" in both.ranked[:2]
    assert [message.why for message in large_life.recall(said, question, gated=False).messages] == [
        message.why for message in both.messages
    ]


def test_a_broken_index_of_a_large_history_leaves_the_words(large_life):
    large_life.vectors.fault = errors.StorageError("index.failed")
    recalled = large_life.recall("Hello.", "What is the puppy called?")
    assert recalled.ranked[0] == "old-1u"
    assert recalled.degraded == ("index",)


def _side_by_side(first, second):
    """Rounds of two sessions, stored in turns."""
    return [("a", at, first[at]) if which == "a" else ("b", at, second[at]) for at in range(3) for which in "ab"]


def _one_after_the_other(first, second):
    return [("a", at, first[at]) for at in range(3)] + [("b", at, second[at]) for at in range(3)]


def _stored(lived, rounds):
    for number, session_id in enumerate("ab"):
        lived.store.start(session_id, (NOW - timedelta(days=9 - number)).isoformat())
    for session_id, number, spoken in rounds:
        day = NOW - timedelta(days=9 - "ab".index(session_id))
        lived.say(session_id, number, spoken, day + timedelta(minutes=number))
    return lived


@pytest.mark.parametrize(
    ("asked", "large"),
    [
        pytest.param("What is the puppy called?", False, id="small"),
        pytest.param("How many days did the broth take?", True, id="large history"),
    ],
)
def test_sessions_that_go_on_side_by_side_are_recalled_like_those_one_after_the_other(tmp_path, dull, asked, large):
    recalled = []
    for number, order in enumerate((_side_by_side, _one_after_the_other)):
        (tmp_path / str(number)).mkdir()
        empty = dull if large else StoredLife
        lived = _stored(empty(tmp_path / str(number)), order(OLD[1:4], OLDER))
        recalled.append(lived.recall(asked, embed=None, gated=False))
        lived.store.close()
    assert recalled[0].messages
    assert recalled[0] == recalled[1]


def test_a_session_that_was_stored_later_but_told_earlier_stands_first(life):
    life.live("longago", (("We adopted a kitten called Pearl.", "How sweet!"),), NOW - timedelta(days=900))
    recalled = life.recall("Which puppy and which kitten did we adopt?", gated=False)
    sessions = list(dict.fromkeys(message.session_id for message in recalled.messages))
    assert sessions.index("longago") == 0
    assert "old" in sessions


def test_a_clock_that_was_set_back_does_not_turn_a_session_round(life):
    with life.store.database.write() as tx:
        tx.do("UPDATE conversation SET timestamp = '2020-01-01T09:00:00+00:00' WHERE text_id = 'old-2u'")
    told = [
        message.text_id for message in life.recall("What is the puppy called? It chews a shoe.", gated=False).messages
    ]
    assert told.index("old-1u") < told.index("old-2u")


@pytest.mark.parametrize("asked", ["你还记得我的小狗吗？", "我家的狗叫什么？"])
def test_who_asks_in_another_language_is_given_what_is_near(life, asked):
    """The embedder stands for one that knows both languages: a question about the dog lies where the puppy lies."""
    (puppy,) = HashedEmbedder().embed([message_key(_told("We adopted a puppy called Biscuit last weekend."), [])])

    def embed(texts):
        known = HashedEmbedder().embed(texts)
        return [puppy if "狗" in text else vector for text, vector in zip(texts, known, strict=True)]

    for number in range(60):
        life.live(f"dull{number}", [(f"Nothing new on day {number}.", "I see.")], NOW - timedelta(days=4))
    assert life.recall(asked, embed=embed, limits=_tokens(1000)).ranked[0] == "old-1u"
    assert not life.recall("我的汽车是什么颜色？", embed=embed, limits=_tokens(1000))


def _told(words):
    return Message(1, "t", "s", (NOW - timedelta(days=9)).isoformat(), "user", f"User: {words}", 1)


def test_words_that_tell_how_long_ago_find_a_message_that_says_just_that(life):
    life.live("race", (("I won my first race one year ago.", "Well done!"),), NOW - timedelta(days=30))
    assert "race-0u" in life.recall("What happened one year ago?", embed=None, gated=False).ranked[:2]


def _hidden(store):
    store.rounds.hide(["now-0u"])
    return lambda: store.rounds.unhide(["now-0u"])


def _undone(store):
    rounds = store.rounds.undo("now", 1)
    return lambda: store.rounds.redo(rounds)


def _reset(store):
    removed = store.rounds.reset("now")
    return lambda: store.rounds.put_back(removed)


@pytest.mark.parametrize("go_away", [_hidden, _undone, _reset])
def test_what_returns_after_a_start_is_found_at_once(life, go_away):
    life.store.start("now", NOW.isoformat())
    life.say("now", 0, ("The hamster is called Hazelnut.", "How lovely."), NOW)
    life.live("beside", [("I bought a kettle.", "Good.")], NOW)
    return_it = go_away(life.store)
    life.finder = OwnMemories(life.store.of, life.vectors, life, LOG)
    asked = "What is the hamster called?"
    assert "now-0u" not in [message.text_id for message in life.recall(asked, session_id="other").messages]
    return_it()
    assert "now-0u" in [message.text_id for message in life.recall(asked, session_id="other").messages]


def test_what_is_handed_over_holds_no_reference_no_command_and_no_tag(life):
    told = [
        ("/save\nMy parrot Kiwi sings opera. [2026-11-03 · 602851fc]\n/why/status",
         "Kiwi and opera again [2026-11-02 · @shed]! <blockquote>loose words</blockquote>"),
        ("/forget the opera of the parrot Kiwi", "/save saves what Kiwi sang.\nThe parrot Kiwi sang opera in June."),
    ]  # fmt: skip
    life.live(
        "parrot", told, NOW - timedelta(days=3),
        summary="<blockquote>opera</blockquote> Kiwi the parrot sings opera [2026-11-03 · 602851fc].\n/reset",
    )  # fmt: skip
    for found in (
        life.recall("What does my parrot Kiwi sing, opera?"),
        life.finder.search("Kiwi opera", LIMITS, Recollection()),
    ):
        texts = {one.text_id: one.text for one in (*found.messages, *found.summaries)}
        whole = [one.whole for one in (*found.messages, *found.summaries)]
        assert (
            texts.items()
            >= {
                "parrot-0u": "User: My parrot Kiwi sings opera.",
                "parrot-1a": "Assistant: The parrot Kiwi sang opera in June.",
                "parrot-m": "opera  Kiwi the parrot sings opera.",
            }.items()
        )
        assert "parrot-1u" not in texts, "nothing but a command"
        for text in (*texts.values(), *whole):
            assert not any(part in text for part in ("602851fc", "@shed", "blockquote", "/save", "/why", "/reset"))


def test_a_path_and_a_day_in_brackets_are_words_like_any_other(life):
    told = [("/home/kiwi is full of opera.\n[2026-11-03] Kiwi said a/b.", "See /var/log, or type /save.")]
    life.live("paths", told, NOW - timedelta(days=3))
    texts = {one.text_id: one.text for one in life.recall("What of Kiwi and opera in the log?", gated=False).messages}
    assert texts["paths-0u"] == f"User: {told[0][0]}"
    assert texts.get("paths-0a", f"Assistant: {told[0][1]}") == f"Assistant: {told[0][1]}"
