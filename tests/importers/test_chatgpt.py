"""ChatGPT's export is read as it was shown, in every form in which it comes."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from domain.errors import UsageError
from importers import recognise_export
from tests.importers.exports import gpt_message, gpt_talk, gpt_tree, read, written
from tests.importers.making import chatgpt_export


def zipped(path: Path, members: dict[str, object], **more: object) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def test_the_branch_that_was_shown_is_read_and_everything_else_is_counted(tmp_path):
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "…", "content": "…"}]}
    context = {"content_type": "user_editable_context", "user_profile": "I am Ann", "user_instructions": "Be kind"}
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    talk = gpt_tree(
        (None, None),
        ("node0", gpt_message("ctx", "user", None, context, **hidden)),
        ("ctx", gpt_message("sys", "system", None, "You are")),
        ("sys", gpt_message("u0", "user", 1.0, "a first wording")),
        ("sys", gpt_message("u1", "user", 1_756_000_001.0, "我的猫叫豆包")),
        ("u1", gpt_message("a0", "assistant", 1_756_000_002.0, thoughts)),
        ("a0", gpt_message("b0", "assistant", 1_756_000_002.0, "let me look", channel="commentary")),
        (
            "b0",
            gpt_message("c0", "assistant", 1_756_000_002.0, {"content_type": "code", "text": "x"}, recipient="python"),
        ),
        ("c0", gpt_message("t0", "tool", 1_756_000_002.0, "3")),
        ("t0", gpt_message("h0", "assistant", 1_756_000_002.0, "hidden", **hidden)),
        ("h0", gpt_message("a1", "assistant", 1_756_000_003.0, "真可爱！", channel="final")),
    )
    found = read(written(tmp_path / "conversations.json", [talk]))
    assert found.sources == ["chatgpt"]
    assert found.said == [("person", "我的猫叫豆包"), ("companion", "真可爱！")]
    assert found.left_out == {"instructions": 1, "system": 1, "other_branch": 1, "thinking": 2, "tool": 2, "hidden": 1}
    assert found.seen == 10
    (talk,) = found.talks
    assert (talk.key, talk.title, talk.messages[0].key) == ("c1", "Cats", "u1")
    assert talk.messages[0].said.isoformat() == "2025-08-24T01:46:41+00:00"


def test_a_tree_without_children_root_or_current_node_is_walked_from_its_newest_leaf(tmp_path):
    talk = gpt_tree(
        (None, gpt_message("u1", "user", 10.0, "hi")),
        ("u1", gpt_message("a2", "assistant", 30.0, "the newer reply")),
        ("u1", gpt_message("a1", "assistant", 20.0, "the older reply")),
        current_node="gone",
    )
    found = read(written(tmp_path / "x.json", [talk]))
    assert found.said == [("person", "hi"), ("companion", "the newer reply")]


def test_a_circle_of_parents_ends(tmp_path):
    talk = gpt_tree(("a1", gpt_message("u1", "user", 1.0, "hi")), ("u1", gpt_message("a1", "assistant", 2.0, "yes")))
    assert read(written(tmp_path / "x.json", [talk])).seen == 2


def test_a_parent_that_is_missing_is_found_by_the_children(tmp_path):
    talk = gpt_tree((None, gpt_message("u1", "user", 1.0, "hi")), (None, gpt_message("a1", "assistant", 2.0, "yes")))
    talk["mapping"]["u1"]["children"] = ["a1"]
    assert len(read(written(tmp_path / "x.json", [talk])).said) == 2


def test_a_message_without_a_time_has_that_of_the_one_before_or_of_the_conversation(tmp_path):
    talk = gpt_tree(
        (None, gpt_message("u1", "user", None, "hi")),
        ("u1", gpt_message("a1", "assistant", 1_756_000_100.5, "yes")),
        ("a1", gpt_message("u2", "user", 0, "and")),
    )
    (found,) = read(written(tmp_path / "x.json", [talk])).talks
    assert [one.said.timestamp() for one in found.messages] == [1_756_000_000.12, 1_756_000_100.5, 1_756_000_100.5]


def test_what_was_spoken_is_read_and_what_is_only_a_picture_is_counted(tmp_path):
    spoken = {"content_type": "multimodal_text", "parts": [
        {"content_type": "audio_transcription", "text": "你好"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {"asset_pointer": "sediment://x"}},
    ]}  # fmt: skip
    picture = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, None],
    }
    talk = gpt_tree(
        (None, gpt_message("u1", "user", 1.0, spoken)),
        ("u1", gpt_message("u2", "user", 2.0, picture)),
        ("u2", gpt_message("a1", "assistant", 3.0, ["", None])),
    )
    found = read(written(tmp_path / "x.json", [talk]))
    assert found.said == [("person", "你好")]
    assert found.left_out == {"attachment": 1, "empty": 1}


def test_marks_of_citations_go_and_names_that_were_linked_stay(tmp_path):
    said = 'Rain\ue200cite\ue202turn0search3\ue201 in \ue200entity\ue202["city","Lisbon","Portugal"]\ue201【3†source】.'
    talk = gpt_tree((None, gpt_message("a1", "assistant", 1.0, said)))
    assert read(written(tmp_path / "x.json", [talk])).said == [("companion", "Rain in Lisbon.")]


def test_what_is_not_to_be_remembered_is_counted_unless_it_is_asked_for(tmp_path):
    path = written(tmp_path / "x.json", [gpt_talk(is_do_not_remember=True)])
    found = read(path)
    assert (found.talks[0].messages, found.left_out) == ((), {"not_remembered": 2})
    assert len(read(path, not_remembered=True).said) == 2


@pytest.mark.parametrize(("gizmo", "persona"), [("g-pirate", "g-pirate"), ("g-p-project", ""), (None, "")])
def test_a_custom_gpt_plays_a_role_and_a_project_does_not(tmp_path, gizmo, persona):
    (talk,) = read(written(tmp_path / "x.json", [gpt_talk(gizmo_id=gizmo)])).talks
    assert talk.persona == persona


def test_archived_talk_is_read(tmp_path):
    assert read(written(tmp_path / "x.json", [gpt_talk(is_archived=True)])).said


def test_an_empty_shell_at_the_beginning_costs_only_itself(tmp_path):
    found = read(written(tmp_path / "x.json", [{"id": "e", "title": "empty"}, gpt_talk()]))
    assert (len(found.said), found.reasons) == (2, ["no_messages"])


def test_one_conversation_alone_and_conversations_under_a_key_are_read(tmp_path):
    assert len(read(written(tmp_path / "one.json", gpt_talk())).said) == 2
    assert len(read(written(tmp_path / "many.json", {"version": 1, "conversations": [gpt_talk()]})).said) == 2


def test_a_message_of_no_known_shape_costs_only_itself(tmp_path):
    talk = gpt_talk()
    talk["mapping"]["c1m0"]["message"] = ["?"]
    found = read(written(tmp_path / "x.json", [talk, ["?"], gpt_talk("c2")]))
    assert [len(one.messages) for one in found.talks] == [1, 2]
    assert (found.left_out, found.reasons) == ({"misshapen": 1}, ["misshapen"])


def test_shards_are_one_history_and_one_that_is_missing_is_named(tmp_path):
    listed = ["conversations-000.json", "conversations-001.json", "conversations-002.json"]
    manifest = {"version": 1, "logical_files": {"conversations.json": {"files": listed, "sharded": True}}}
    path = zipped(tmp_path / "export.zip", {
        "export_manifest.json": manifest, "user.json": {}, "chat.html": b"<html>", "file_1.dat": b"\x89PNG\x00",
        "conversations-001.json": [gpt_talk("c2")], "conversations-000.json": [gpt_talk("c1")],
        "conversations.json.index": [],
    })  # fmt: skip
    found = read(path)
    assert (found.sources, [talk.key for talk in found.talks]) == (["chatgpt"], ["c1", "c2"])
    assert [(one.reason, one.where) for one in found.unread] == [("history.unread.missing_file", listed[2])]


def test_an_archive_in_an_archive_is_read_without_being_extracted(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([gpt_talk()]))
    path = zipped(tmp_path / "portal.zip", {
        "User Online Activity/Conversations_1-chatgpt-0001.zip": inner.getvalue(),
        "__MACOSX/._x.json": b"\x00",
    })  # fmt: skip
    assert len(read(path).said) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["portal.zip"]


def test_a_file_that_is_cut_off_gives_what_is_whole(tmp_path):
    whole = json.dumps([gpt_talk("c1"), gpt_talk("c2"), gpt_talk("c3")])
    found = read(written(tmp_path / "x.json", whole[: len(whole) * 4 // 5]))
    assert ([talk.key for talk in found.talks], found.reasons) == (["c1", "c2"], ["cut"])


def test_a_conversation_that_is_broken_costs_only_itself(tmp_path):
    one, other = json.dumps(gpt_talk("c1")), json.dumps(gpt_talk("c3"))
    found = read(written(tmp_path / "x.json", f'[{one}, {{"id": nonsense, "mapping": {{}}}}, {other}]'))
    assert ([talk.key for talk in found.talks], found.reasons) == (["c1", "c3"], ["broken"])


def test_the_same_export_gives_the_same_keys_and_a_newer_one_more(tmp_path):
    old = read(written(tmp_path / "old.json", [gpt_talk(texts=("a", "b"))]))
    new = read(written(tmp_path / "new.json", [gpt_talk(texts=("a", "b", "c"))]))
    keys = [[one.key for one in found.talks[0].messages] for found in (old, new)]
    assert keys[1][:2] == keys[0]


def test_an_empty_export_is_told_from_one_that_is_not_known(tmp_path):
    with pytest.raises(UsageError, match="no_conversations"):
        recognise_export(written(tmp_path / "conversations.json", []))
    with pytest.raises(UsageError, match="not_recognised"):
        recognise_export(written(tmp_path / "other.json", [{"some": "thing"}]))


def test_a_large_export_is_read_whole(tmp_path):
    path = tmp_path / "conversations.json"
    count = chatgpt_export(path, 1_000)
    found = read(path)
    assert len(found.talks) == count
    assert sum(len(talk.messages) for talk in found.talks) == 1_000
    assert found.left_out == {"hidden": count, "other_branch": count, "thinking": 125}
