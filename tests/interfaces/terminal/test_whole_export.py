"""``--export`` writes the whole memory, and ``--import`` lays it back as it was; nothing is overwritten on the way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.program import run

ENGLISH = {"LANGUAGE": "en"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a home in which two evenings were lived, and everything that was exported."""
    tmp_path = tmp_path_factory.mktemp("exported")
    home = tmp_path / "first"
    home.mkdir()
    told = run(
        home, given="My cat is called Momo.\n/pin I am allergic to peanuts\n/save\n我的猫打碎了花瓶。\n", **ENGLISH
    )
    assert told.code == 0, told.err
    wrote = run(home, "--export", str(tmp_path / "all.json"), **ENGLISH)
    assert wrote.code == 0
    assert "--import reads it back" in wrote.out
    return tmp_path


@pytest.fixture
def lived(exported: Path, tmp_path: Path) -> Path:
    """That home; what was exported lies beside it."""
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    return tmp_path / "first"


def tables(path: Path) -> dict[str, list[dict[str, object]]]:
    """The rows of an export; the moment in which words were made is no part of a memory."""
    found: dict[str, list[dict[str, object]]] = json.loads(path.read_text(encoding="utf-8"))["tables"]
    return found


def test_a_whole_memory_is_laid_back_row_by_row_and_found_again(tmp_path: Path, lived: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    brought = run(second, "--import", str(tmp_path / "all.json"), **ENGLISH)
    assert (brought.code, brought.err) == (0, ""), brought.err
    assert "row for row" in brought.out
    assert run(second, "--export", str(tmp_path / "again.json"), **ENGLISH).code == 0
    before, after = tables(tmp_path / "all.json"), tables(tmp_path / "again.json")
    for table in ("session", "conversation", "summary", "persona", "pin", "note", "fact"):
        assert after[table] == before[table], table
    found = run(second, given="/memory search 花瓶\n/persona user show\n", **ENGLISH)
    assert "我的猫打碎了[花瓶]" in found.err
    assert "peanuts" in found.err + found.out


def test_into_a_memory_that_holds_talk_only_conversations_are_brought(tmp_path: Path, lived: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert run(other, given="I have a dog.\n", **ENGLISH).code == 0
    brought = run(other, "--import", str(tmp_path / "all.json"), **ENGLISH)
    assert brought.code == 0
    assert "only its conversations are imported" in brought.out
    found = run(other, given="/memory search Momo\n/memory search dog\n", **ENGLISH)
    assert "My cat is called [Momo]." in found.err
    assert "I have a [dog]." in found.err


@pytest.mark.parametrize("end", [0.3, 0.7, 0.999])
def test_a_whole_memory_that_is_cut_off_changes_nothing(tmp_path: Path, lived: Path, end: float) -> None:
    whole = (tmp_path / "all.json").read_bytes()
    (tmp_path / "cut.json").write_bytes(whole[: int(len(whole) * end)])
    second = tmp_path / "second"
    second.mkdir()
    brought = run(second, "--import", str(tmp_path / "cut.json"), **ENGLISH)
    assert brought.code != 0
    assert "Nothing was changed" in brought.err
    assert run(second, "--export", str(tmp_path / "again.json"), **ENGLISH).code == 0
    assert tables(tmp_path / "again.json")["conversation"] == []


def test_a_whole_memory_with_a_byte_that_is_no_text_changes_nothing(tmp_path: Path, lived: Path) -> None:
    whole = (tmp_path / "all.json").read_bytes()
    (tmp_path / "bad.json").write_bytes(whole.replace(b"Momo", b"M\xffmo"))
    second = tmp_path / "second"
    second.mkdir()
    brought = run(second, "--import", str(tmp_path / "bad.json"), **ENGLISH)
    assert (brought.code, "Nothing was changed" in brought.err) == (4, True)


def test_a_whole_memory_that_an_editor_marked_as_unicode_is_laid_back_whole(tmp_path: Path, lived: Path) -> None:
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "all.json").read_bytes())
    second = tmp_path / "second"
    second.mkdir()
    brought = run(second, "--import", str(tmp_path / "marked.json"), **ENGLISH)
    assert (brought.code, "row for row" in brought.out) == (0, True)


def test_a_memory_that_only_holds_what_others_said_is_not_taken_for_an_empty_one(tmp_path: Path, lived: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "row.json").write_text('[{"role": "assistant", "content": "An owl."}]', encoding="utf-8")
    assert "1 message" in run(other, "--import", str(tmp_path / "row.json"), **ENGLISH).out
    brought = run(other, "--import", str(tmp_path / "all.json"), **ENGLISH)
    assert "only its conversations are imported" in brought.out
    assert "An [owl]" in run(other, given="/memory search owl\n", **ENGLISH).err


@pytest.mark.parametrize("way", ["pinned", "written by hand"])
def test_a_memory_that_only_holds_a_line_of_a_persona_keeps_it(tmp_path: Path, lived: Path, way: str) -> None:
    other = tmp_path / "other"
    (other / "data" / "persona").mkdir(parents=True)
    if way == "pinned":
        assert run(other, given="/pin Call me Captain\n", **ENGLISH).code == 0
    else:
        (other / "data" / "persona" / "user_image.txt").write_text("Call me Captain\n", encoding="utf-8")
    brought = run(other, "--import", str(tmp_path / "all.json"), **ENGLISH)
    assert "only its conversations are imported" in brought.out
    found = run(other, given="/persona user show\n/memory search Momo\n", **ENGLISH)
    assert "Call me Captain" in found.err + found.out
    assert "My cat is called [Momo]." in found.err


def test_everything_is_written_as_markdown_to_read(tmp_path: Path, lived: Path) -> None:
    assert run(lived, "--export", str(tmp_path / "all.md"), **ENGLISH).code == 0
    written = (tmp_path / "all.md").read_text(encoding="utf-8")
    assert written.startswith("# The two personas")
    for said in ("The user is allergic to peanuts", "My cat is called Momo.", "我的猫打碎了花瓶。"):
        assert said in written
    again = run(lived, "--export", str(tmp_path / "all.md"), **ENGLISH)
    assert again.code != 0
    assert "already exists" in again.err


@pytest.mark.parametrize("name", ["all.json", "all.pdf"])
def test_a_file_that_exists_and_a_format_there_is_not_are_refused_in_one_line(
    tmp_path: Path, lived: Path, name: str
) -> None:
    refused = run(lived, "--export", str(tmp_path / name), **ENGLISH)
    assert refused.code != 0
    assert len(refused.err.strip().splitlines()) == 1


def test_a_memory_is_written_for_other_programs_and_memforests_form_is_read_back(tmp_path: Path, lived: Path) -> None:
    wrote = run(lived, "--export", f"lancedb:{tmp_path / 'table'}", **ENGLISH)
    assert (wrote.code, wrote.err) == (0, "")
    assert "texts with their vectors" in wrote.out
    assert (tmp_path / "table" / "memories.lance").is_dir()
    for form, made in (("memforest", "old_friend.db"), ("memforest-json", "old_friend")):
        assert run(lived, "--export", f"{form}:{tmp_path}", **ENGLISH).code == 0
        home = tmp_path / f"from-{form}"
        home.mkdir()
        brought = run(home, "--import", str(tmp_path / made), **ENGLISH)
        assert (brought.code, brought.err) == (0, "")
        assert "MemForest: 4 messages imported" in brought.out
        found = run(home, given="/memory search 花瓶\n", **ENGLISH)
        assert "我的猫打碎了[花瓶]" in found.err


@pytest.mark.parametrize(
    "form", ["lancedb:{}/all.json", "memforest:{}", "memforest-json:{}", "nobody:{}/x", "lancedb:"]
)
def test_what_cannot_be_written_for_another_program_is_said_in_one_line(tmp_path: Path, lived: Path, form: str) -> None:
    (tmp_path / "old_friend.db").write_text("mine", "utf-8")
    (tmp_path / "old_friend").mkdir()
    refused = run(lived, "--export", form.format(tmp_path), **ENGLISH)
    assert refused.code != 0
    assert len(refused.err.strip().splitlines()) == 1
    assert (tmp_path / "old_friend.db").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    "where", ["nowhere/all.json", "{}/file/all.json", "lancedb:{}/file/table", "memforest:{}/file/forest"]
)
def test_a_place_that_cannot_be_written_is_not_taken_for_the_data_folder(
    tmp_path: Path, lived: Path, where: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    told = run(lived, "--export", where.format(tmp_path), **ENGLISH)
    assert (told.code, told.out) == (1, "")
    assert told.err.endswith("Choose another name.\n")
    assert "data folder" not in told.err
