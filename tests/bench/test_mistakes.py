"""A model that errs on purpose errs in the same facts each time, and in notes alone."""

from __future__ import annotations

import json

from bench.mistakes import MistakenReplies

_STATEMENTS = ("Ann moved to York on 2025-03-01.", "Bea has 3 cats.", "陈默在杭州工作。")


def _kept(folder, first, share):
    replies = MistakenReplies("http://x.invalid", folder, "m", share=share)
    asked = [{"role": "system", "content": first}, {"role": "user", "content": "…"}]
    facts = [{"fact": one, "triple": [one[:3], "", ""], "persons": ["Cleo"]} for one in _STATEMENTS]
    replies.put(asked, json.dumps({"notes": [{"facts": facts}]}))
    return replies, asked


def test_a_share_of_the_facts_in_notes_comes_back_wrong_the_same_each_time(tmp_path):
    replies, asked = _kept(tmp_path, "Task: take notes.", 1.0)
    once = replies.reply(asked)
    found = [one["restatement"] for one in json.loads(once)["notes"][0]["facts"]]
    assert found == list(replies.wrong)
    assert not set(found) & set(_STATEMENTS)
    assert once == replies.reply(asked)


def test_no_other_reply_is_changed(tmp_path):
    for first, share in (("Task: compare.", 1.0), ("Task: take notes.", 0.0)):
        replies, asked = _kept(tmp_path, first, share)
        found = json.loads(replies.reply(asked))["notes"][0]["facts"]
        assert [one["fact"] for one in found] == list(_STATEMENTS)
        assert replies.wrong == {}
