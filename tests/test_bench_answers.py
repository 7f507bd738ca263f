"""The measure of answers: the figures are those of LoCoMo's scripts, and what was answered once is not asked again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from Stemmer import Stemmer

from bench import answers
from bench.kept_replies import KeptReplies
from bench.recall_sets import Set, SetQuestion, read
from tests.support.server import Play, ScriptedServer, say, status

SET = {
    "name": "small", "lang": "en", "licence": "ours",
    "hays": {"one": {"sessions": [
        {"sid": "S1", "date": "8 May, 2023", "summary": "Ann saw the sea.", "facts": [], "turns": [
            {"tid": "1", "speaker": "Ann", "text": "I painted the sea at Hvar yesterday."},
            {"tid": "2", "speaker": "Bob", "text": "How lovely."}]},
        {"sid": "S2", "date": "9 June, 2023", "summary": "Ann has bees.", "facts": [], "turns": [
            {"tid": "3", "speaker": "Ann", "text": "My bees and my goats are well."},
            {"tid": "4", "speaker": "Bob", "text": "Good."}]},
    ]}},
    "questions": [
        {"qid": "1", "hid": "one", "q": "When did Ann paint the sea?", "cat": "temporal", "groups": [["1"]],
         "answer": "7 May 2023"},
        {"qid": "2", "hid": "one", "q": "Which animals does Ann keep?", "cat": "multi-hop", "groups": [["3"]],
         "answer": "Bees, goats"},
        {"qid": "3", "hid": "one", "q": "Which car does Ann drive?", "cat": "adversarial", "groups": [], "answer": ""},
    ],
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = reply
        yield running


def reply(request: Any) -> str:
    task = request["messages"][0]["content"].splitlines()[0]
    asked = json.loads(request["messages"][1]["content"].splitlines()[1]).get("question", "")
    if "summarise" in task:
        return "Ann and Bob talked."
    if "plan" in task:
        return '{"needs": ["it"], "queries": ["Ann said"]}'
    if "judge" in task:
        return '{"enough": true}'
    if "paint" in asked:
        return "On **7 May 2023**.\n<blockquote>the sea at Hvar</blockquote>"
    return "Goats, and bees" if "animals" in asked else "That is not in my memory."


def question(category: str, answer: str) -> SetQuestion:
    return SetQuestion("q", "", category, "one", (), 1, answer)


@pytest.mark.parametrize(
    ("category", "right", "told", "known", "figure"),
    [
        ("single-hop", "painting landscapes", "She painted a landscape", True, 0.8),
        ("single-hop", "Oslo", "Rome", True, 0.0),
        ("temporal", "7 May 2023", "7 May, 2023.", True, 1.0),
        ("multi-hop", "Bees, goats", "goats, cats", True, 0.5),
        ("open-domain", "Likely no; she hates it", "likely no", True, 1.0),
        ("adversarial", "", "That is not in my memory.", False, 1.0),
        ("adversarial", "", "A red one.", True, 0.0),
        ("adversarial", "a trap", "That is not in my memory.", False, 1.0),
        ("adversarial", "a trap", "A trap.", True, 0.0),
        ("single-hop", "去年五月", "五月", True, 2 / 3),
    ],
)
def test_an_answer_is_scored_as_locomo_scores_it(category, right, told, known, figure):
    found = answers.score(told, known, question(category, right), Stemmer("porter"))
    assert found == pytest.approx(figure)


def measured(home: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str], *more: str, **changed: Any) -> str:
    path = home / "small.json"
    path.write_text(json.dumps({**SET, **changed}), encoding="utf-8")
    answers.main([
        "--data", str(path), "--base", server.base, "--model", "m", "--keep", str(home / "kept"),
        "--embeddings", "hashed", *more,
    ])  # fmt: skip
    return capsys.readouterr().out


def test_a_run_tells_the_figures_by_category_and_a_second_one_asks_nothing(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    first = measured(tmp_path, server, capsys)
    assert "| multi-hop | 1 | 100.0 |" in first
    assert "| adversarial | 1 | 100.0 |" in first
    assert "| temporal | 1 | 85.7 |" in first
    asked = len(server.chats)
    again = measured(tmp_path, server, capsys)
    assert len(server.chats) == asked > 0
    assert again.splitlines()[:-1] == first.splitlines()[:-1]
    assert again.splitlines()[-1].startswith("0 new replies")


def test_a_run_that_was_cut_off_goes_on_with_what_it_has(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(reply_play(), status(500))
    with pytest.raises(SystemExit, match=r"stopped at question 1 of 3: .*500.*run it again"):
        measured(tmp_path, server, capsys)
    kept = len(list((tmp_path / "kept").glob("*.reply.txt")))
    assert kept == 1
    whole = measured(tmp_path, server, capsys)
    assert "| all with an answer | 2 |" in whole


def test_the_figures_of_what_was_answered_are_told_where_the_server_gave_up(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = measured(tmp_path, server, capsys)
    for path in (tmp_path / "kept").glob("*.json"):
        if "Which car" in path.read_text():
            path.with_suffix(".reply.txt").unlink()
    server.script(status(500))
    with pytest.raises(SystemExit, match="stopped at question 3 of 3"):
        measured(tmp_path, server, capsys)
    told = capsys.readouterr().out
    assert "| all with an answer | 2 |" in told
    assert measured(tmp_path, server, capsys).splitlines()[:-1] == whole.splitlines()[:-1]


def reply_play() -> str:
    return '{"needs": ["it"], "queries": ["Ann said"]}'


def test_a_sample_takes_so_many_of_each_category(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    told = measured(tmp_path, server, capsys, "--sample", "1", "--limit", "2", "--show")
    assert "adversarial" not in told
    assert "On **7 May 2023" in told


def test_a_limit_takes_the_categories_in_turn_and_no_question_that_cannot_be_judged() -> None:
    asked = [question("temporal", "May")] * 3 + [question("adversarial", "")] + [question("single-hop", "")]
    data = Set("s", "en", {}, (*asked, question("single-hop", "0")))
    for limit, wanted in (
        (1, ["temporal"]),
        (3, ["temporal", "adversarial", "single-hop"]),
        (None, ["temporal", "adversarial", "single-hop", "temporal", "temporal"]),
    ):
        assert [one.category for one in answers.chosen(data, None, limit)] == wanted
    assert len(answers.chosen(data, 2, None)) == 4


def test_an_answer_that_is_a_number_is_read_also_when_it_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    asked = [{**SET["questions"][0], "answer": answer} for answer in (0, 2022, None)]
    path.write_text(json.dumps({**SET, "questions": asked}), encoding="utf-8")
    assert [one.answer for one in read(path).questions] == ["0", "2022", ""]


def test_a_set_without_answers_is_refused(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="none of its questions has an answer"):
        measured(tmp_path, server, capsys, questions=[{**SET["questions"][0], "answer": ""}])
    assert server.chats == []


@pytest.mark.parametrize(
    "unfinished", [say(""), say("Half of", finish="length")], ids=["nothing", "cut off by its length"]
)
def test_a_reply_that_is_not_whole_is_not_kept(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str], unfinished: Play
) -> None:
    server.script(unfinished)
    with pytest.raises(SystemExit, match="no whole reply"):
        measured(tmp_path, server, capsys)
    assert list((tmp_path / "kept").iterdir()) == []
    assert "| all with an answer | 2 |" in measured(tmp_path, server, capsys)


def test_half_a_file_of_a_run_that_was_cut_off_is_no_reply(tmp_path: Path) -> None:
    kept = KeptReplies("http://model.invalid/v1", tmp_path, "m")
    messages = [{"role": "user", "content": "Why?"}]
    kept.put(messages, "Because of the rain.")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{kept.path(messages).stem}.json", f"{kept.path(messages).stem}.reply.txt"]
    kept.path(messages).with_suffix(".reply.txt").rename(tmp_path / f"{kept.path(messages).stem}.reply.txt.part")
    with pytest.raises(httpx2.HTTPError):
        kept.reply(messages)


def test_a_reply_is_known_again_whatever_the_mark_around_the_data(tmp_path: Path) -> None:
    kept = KeptReplies("http://model.invalid/v1", tmp_path, "m")
    for marks in ("aa", "bb"):
        mark = f"=== {marks} ==="
        content = f'{mark}\n{{"question": "Why?"}}\n{mark}'
        messages = [{"role": "system", "content": "Task: answer."}, {"role": "user", "content": content}]
        if marks == "aa":
            kept.put(messages, "Because.")
        assert kept.reply(messages) == "Because."
    assert kept.asked == 0


def test_the_file_that_locomo_publishes_is_read_and_judged_by_category(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    said = SET["hays"]["one"]["sessions"]  # type: ignore[index]
    conversation: dict[str, Any] = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_3_date_time": "1:00 pm on 1 July, 2023",
    }
    for number, session in enumerate(said, 1):
        messages = [
            {"speaker": one["speaker"], "dia_id": f"D{number}:{one['tid']}", "text": one["text"]}
            for one in session["turns"]
        ]
        messages[0]["blip_caption"] = "a photo of a beach"
        conversation |= {f"session_{number}": messages, f"session_{number}_date_time": f"1:56 pm on {session['date']}"}
    asked = [
        {"question": "When did Ann paint the sea?", "answer": "7 May 2023", "evidence": ["D1:1"], "category": 2},
        {"question": "Which animals does Ann keep?", "answer": "Bees, goats", "evidence": ["D2:3"], "category": 1},
        {"question": "How many bees?", "answer": 2022, "evidence": [], "category": 4},
        {"question": "Which car does Ann drive?", "adversarial_answer": "A van", "evidence": ["D2:3"], "category": 5},
    ]  # fmt: skip
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": asked}]), encoding="utf-8")
    data = read(file)
    assert [len(talk.rounds) for talk in data.histories["conv-1"]] == [1, 1]
    assert data.histories["conv-1"][0].rounds[0][0].text.endswith("[picture: a photo of a beach]")  # type: ignore[union-attr]
    assert [(one.category, one.answer) for one in data.questions] == [
        ("temporal", "7 May 2023"), ("multi-hop", "Bees, goats"), ("single-hop", "2022"), ("adversarial", ""),
    ]  # fmt: skip
    answers.main(["--data", str(file), "--base", server.base, "--model", "m", "--embeddings", "hashed"])
    printed = capsys.readouterr().out
    for row in ("temporal | 1 | 85.7", "multi-hop | 1 | 100.0", "single-hop | 1 | 0.0", "adversarial | 1 | 100.0"):
        assert f"| {row} |" in printed
