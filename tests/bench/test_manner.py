"""The judging of manner: two requests that differ in the standing prompt alone, and a blind sheet."""

import json

from bench.manner import SET, count_judged, requests, sheet

DATA = json.loads(SET.read_text(encoding="utf-8"))


def test_forty_situations_half_of_them_chinese_differ_in_the_standing_prompt_alone() -> None:
    assert [one["language"] for one in DATA["situations"]] == ["en"] * 20 + ["zh"] * 20
    pairs = requests(DATA)
    assert len(pairs) == 40
    for one in DATA["situations"]:
        old, new = pairs[one["id"]]
        assert old[1:] == new[1:]
        assert old[-1]["content"].endswith(one["say"])
        before, now = old[0]["content"], new[0]["content"]
        assert before != now
        assert before.partition("\n\n# ")[2] == now.partition("\n\n# ")[2]


def test_the_sheet_does_not_tell_which_reply_is_new_and_the_key_counts_what_was_judged() -> None:
    replies = {one["id"]: (f"first of {one['id']}", f"second of {one['id']}") for one in DATA["situations"]}
    text, key = sheet(DATA, replies)
    assert {which["A"] for which in key.values()} == {"old", "new"}
    for name, which in key.items():
        shown = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        first = shown.index("second of" if which["A"] == "new" else "first of")
        assert first < shown.index("first of" if which["A"] == "new" else "second of")
    one, other = [*key][:2]
    judged = count_judged(f"{one} A invented B\n{other} B\nnobody A\n", key)
    assert sum(judged[which] for which in ("old", "new")) == 2
    assert judged[f"{key[one]['B']} invented"] == 1
