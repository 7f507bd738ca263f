"""Gemini's activity log is read in each of its forms, into conversations that pauses part."""

from __future__ import annotations

import json

import pytest

from tests.importers.exports import read, written


def entry(time, title, answer="", **more):
    items = {"safeHtmlItem": [{"html": answer}]} if answer else {}
    return {"header": "Gemini Apps", "title": title, "time": time, "products": ["Gemini Apps"], **items, **more}


def test_prompts_and_answers_are_read_oldest_first_and_parted_by_pauses(tmp_path):
    log = [
        entry("2026-03-02T12:00:00.000Z", "Prompted third"),
        entry("2026-03-02T09:20:00.000Z", "Prompted\u00a0second", "<ul><li>a &amp; b</li><li>c</li></ul>"),
        entry("2026-03-02T09:15:00.000Z", "Prompted 推荐一家火锅店", "<p>可以试试…</p>"),
    ]
    found = read(written(tmp_path / "MyActivity.json", log))
    assert found.sources == ["gemini"]
    assert [[(one.by, one.text) for one in talk.messages] for talk in found.talks] == [
        [("person", "third")],
        [("person", "推荐一家火锅店"), ("companion", "可以试试…"), ("person", "second"), ("companion", "- a & b\n- c")],
    ]


def test_only_what_has_a_time_is_known_by_itself_in_all_of_the_log(tmp_path):
    log = [entry("", "Prompted ok", titleUrl="https://gemini.google.com/app/aaaaaaa1"),
           entry("", "Prompted ok", titleUrl="https://gemini.google.com/app/bbbbbbb2"),
           entry("2026-03-02T09:15:00Z", "Prompted hi")]  # fmt: skip
    found = read(written(tmp_path / "x.json", log))
    assert [(talk.log, len(talk.messages)) for talk in found.talks] == [("", 1), ("", 1), ("log", 1)]


def test_what_is_no_prompt_is_counted(tmp_path):
    log = [entry("2026-03-02T09:15:00Z", "Used Gemini Apps"), entry("2026-03-02T09:15:00Z", "Gave feedback: good"),
           entry("2026-03-02T09:14:00Z", "Prompted hi"), "?"]  # fmt: skip
    found = read(written(tmp_path / "x.json", log))
    assert (found.said, found.left_out, found.seen) == ([("person", "hi")], {"no_talk": 2, "misshapen": 1}, 4)


@pytest.mark.parametrize(
    ("title", "said"), [("提示：你好", "你好"), ("Gefragt: 你好", "你好"), ("未知动词 你好", "未知动词 你好")]
)
def test_the_verb_before_a_prompt_goes_in_any_language_that_is_known(tmp_path, title, said):
    log = [entry("2026-03-02T09:15:00Z", title, "<p>好</p>", header="Gemini 应用")]
    assert read(written(tmp_path / "x.json", log)).said == [("person", said), ("companion", "好")]


def test_the_other_two_shapes_are_read_by_thread(tmp_path):
    inner = {"userInteraction": {"request": json.dumps({"prompt": "second"}), "response": json.dumps({"text": "yes"})}}
    log = [
        entry("2026-03-05T09:15:00Z", "x", titleUrl="https://gemini.google.com/app/abcdef123456", userInteractions=[inner]),
        entry("2026-03-02T09:15:00Z", "x", titleUrl="https://gemini.google.com/app/abcdef123456",
              details=[{"name": "Request", "value": "first"}, {"name": "Response", "value": "no"}]),
        entry("2026-03-02T09:14:00Z", "x", titleUrl="https://gemini.google.com/app/000000123456",
              details=[{"name": "Request", "value": "other"}]),
    ]  # fmt: skip
    found = read(written(tmp_path / "x.json", log))
    assert [[one.text for one in talk.messages] for talk in found.talks] == [
        ["first", "no", "second", "yes"],
        ["other"],
    ]


def test_entries_of_one_instant_have_keys_of_their_own_and_keep_them_in_a_newer_export(tmp_path):
    old = [entry("2026-03-02T09:15:00Z", "Prompted b"), entry("2026-03-02T09:15:00Z", "Prompted a")]
    new = [entry("2026-03-02T09:16:00Z", "Prompted c"), *old]
    (before,), (after,) = (read(written(tmp_path / "x.json", log)).talks for log in (old, new))
    assert [one.text for one in after.messages] == ["a", "b", "c"]
    assert before.key == after.key
    assert [one.key for one in before.messages] == [one.key for one in after.messages[:2]]
    assert len({one.key for one in after.messages}) == 3


def page(*cells):
    style = "<style>" + "a" * 100_000 + "</style>"
    body = "".join(
        '<div class="outer-cell mdl-cell mdl-cell--12-col"><div class="mdl-grid"><div class="header-cell mdl-cell">'
        '<p class="mdl-typography--title">Gemini Apps<br></p></div>'
        f'<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">{cell}</div>'
        '<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-typography--caption"><b>Products:</b><br>Gemini Apps</div></div></div>'
        for cell in cells
    )
    return f'<html><head>{style}</head><body><div class="mdl-grid">{body}</div></body></html>'


PAGE = page(
    "Prompted\u00a0second<br>Mar 2, 2026, 9:20:00\u202fAM GMT+8<br><p>It is <b>late</b>.</p><div><p>Yes</p></div>",
    "Prompted\u00a0推荐一家火锅店<br>还要便宜<br>2026年3月2日 上午9:15:00 CST<br><p>可以试试…</p>",
    "Used Gemini Apps<br>Mar 2, 2026, 9:10:00\u202fAM GMT+8<br>",
)


def test_the_page_is_read_with_the_instants_that_it_names(tmp_path):
    found = read(written(tmp_path / "MyActivity.html", PAGE), zone=None)
    assert (found.sources, found.left_out) == (["gemini"], {"no_talk": 1})
    assert found.said == [("person", "推荐一家火锅店\n还要便宜"), ("companion", "可以试试…"),
                          ("person", "second"), ("companion", "It is late.\n\nYes")]  # fmt: skip
    assert [one.said.isoformat() for one in found.talks[0].messages[::2]] == [
        "2026-03-02T09:15:00+08:00",
        "2026-03-02T09:20:00+08:00",
    ]


def test_a_page_that_is_cut_off_says_so(tmp_path):
    found = read(written(tmp_path / "MyActivity.html", PAGE[:-900]))
    assert (len(found.talks), found.reasons) == (1, ["cut"])
