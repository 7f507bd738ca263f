"""Claude's export is read as it was shown, from before and after it became a tree."""

from __future__ import annotations

import json
import zipfile

import pytest

from tests.importers.exports import claude_message, claude_talk, lines, read, written

ROOT = "00000000-0000-4000-8000-000000000000"
PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"


def test_messages_stand_in_the_order_of_the_file_even_where_their_times_are_equal(tmp_path):
    talk = claude_talk(
        claude_message("m1", "human", "Hi"), claude_message("m2", "assistant", "Hello"),
        claude_message("m3", "human", "早", created_at="2025-01-01T00:00:00Z"),
    )  # fmt: skip
    found = read(written(tmp_path / "conversations.json", [talk]))
    assert (found.sources, found.said) == (["claude"], [("person", "Hi"), ("companion", "Hello"), ("person", "早")])
    assert found.talks[0].messages[0].said.isoformat() == "2026-02-14T10:04:22.123456+00:00"
    assert (found.talks[0].key, found.talks[0].title, found.talks[0].messages[0].key) == ("k1", "Trip", "m1")


def test_of_a_tree_the_newest_branch_is_read_and_the_others_are_counted(tmp_path):
    late = {"created_at": "2026-02-14T11:00:00Z"}
    talk = claude_talk(
        claude_message("m1", "human", "first", ROOT),
        claude_message("m1b", "human", "first, edited", ROOT, **late),
        claude_message("m2", "assistant", "old reply", "m1"),
        claude_message("m2b", "assistant", "new reply", "m1b", **late),
    )
    found = read(written(tmp_path / "x.json", [talk]))
    assert found.said == [("person", "first, edited"), ("companion", "new reply")]
    assert (found.left_out, found.seen) == ({"other_branch": 2}, 4)


def test_a_parent_that_is_gone_does_not_cost_what_stood_before(tmp_path):
    talk = claude_talk(
        claude_message("m1", "human", "a", ROOT),
        claude_message("m2", "assistant", "b", "m1"),
        claude_message("m3", "human", "c", "gone"),
    )
    assert len(read(written(tmp_path / "x.json", [talk])).said) == 3


def test_only_blocks_of_text_are_words_and_the_placeholder_is_none(tmp_path):
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "web_search", "input": {}},
              {"type": "tool_result", "content": []}, {"type": "token_budget"}, {"type": "text", "text": "Here."}]  # fmt: skip
    talk = claude_talk(
        claude_message("m1", "assistant", f"{PLACEHOLDER}\n\nHere.", content=blocks),
        claude_message("m2", "assistant", f"{PLACEHOLDER}\n\nThere.", content=[]),
        claude_message("m3", "assistant", PLACEHOLDER, content=blocks[:1]),
        claude_message("m4", "assistant", PLACEHOLDER, content=blocks[1:3]),
        claude_message("m5", "system", "You are"),
    )
    found = read(written(tmp_path / "x.json", [talk]))
    assert found.said == [("companion", "Here."), ("companion", "There.")]
    assert found.left_out == {"thinking": 1, "tool": 1, "system": 1}


def test_text_that_was_pasted_is_what_the_person_said_and_a_file_is_not(tmp_path):
    paste = {"file_name": "paste.txt", "extracted_content": "我的长信"}
    other = {"file_name": "law.pdf", "extracted_content": "§ 1"}
    talk = claude_talk(
        claude_message("m1", "human", "", content=[], attachments=[paste]),
        claude_message("m2", "human", "read it", attachments=[other]),
        claude_message("m3", "human", "", content=[], files=[{"file_name": "b.png"}]),
    )
    found = read(written(tmp_path / "x.json", [talk]))
    assert found.said == [("person", "我的长信"), ("person", "read it")]
    assert found.left_out == {"attachment": 1}


def test_an_archive_with_projects_and_memories_beside_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "data-batch-0000.zip", "w") as archive:
        for name, value in {
            "conversations.json": [claude_talk(claude_message("m1", "human", "Hi"))],
            "users.json": [{"uuid": "x"}], "projects.json": [{"uuid": "p"}],
            "memories.json": [{"conversations_memory": "Ann likes tea", "project_memories": {"p": "x"}}],
        }.items():  # fmt: skip
            archive.writestr(name, json.dumps(value))
    found = read(tmp_path / "data-batch-0000.zip")
    assert (found.said, found.reasons) == ([("person", "Hi")], ["notes"])


@pytest.mark.parametrize("layout", ["lines", "array"])
def test_conversations_one_a_line_are_read_too(tmp_path, layout):
    talks = [claude_talk(claude_message("m1", "human", "Hi"), uuid=key) for key in ("k1", "k2")]
    path = written(tmp_path / "x.json", lines(*talks) if layout == "lines" else talks)
    assert [talk.key for talk in read(path).talks] == ["k1", "k2"]


def test_a_list_of_where_the_export_can_be_fetched_says_so(tmp_path):
    given = {"data_files": [{"filename": "a.zip", "export_url": "https://example.org/a"}]}
    found = read(written(tmp_path / "manifest.json", given))
    assert (found.talks, found.reasons) == ([], ["points_elsewhere"])


def test_an_empty_conversation_and_a_broken_one_cost_only_themselves(tmp_path):
    talks = [claude_talk(uuid="empty"), "?", claude_talk(claude_message("m1", "human", "Hi"), "?", {"uuid": 3})]
    found = read(written(tmp_path / "x.json", talks))
    assert (found.reasons, found.said) == (["no_messages", "misshapen"], [("person", "Hi")])
    assert found.left_out == {"misshapen": 1, "system": 1}


def test_a_file_that_is_cut_off_gives_what_is_whole(tmp_path):
    whole = json.dumps([claude_talk(claude_message("m1", "human", "Hi"), uuid=key) for key in ("k1", "k2")])
    found = read(written(tmp_path / "x.json", whole[:-20]))
    assert ([talk.key for talk in found.talks], found.reasons) == (["k1"], ["cut"])


def test_a_file_of_which_not_even_the_first_conversation_is_whole_is_recognised(tmp_path):
    whole = json.dumps([claude_talk(claude_message("m1", "human", "Hi"))])
    found = read(written(tmp_path / "x.json", whole[:-20]))
    assert (found.sources, found.talks, found.reasons) == (["claude"], [], ["cut"])
