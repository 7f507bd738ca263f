"""Whatever happens to the files of the index, a search finds what it found before; no model is asked (P8)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.vectors.indexing import Checksums
from tests.storage.vectors.indexed import IndexedStore, Oracle
from tests.storage.vectors.test_indexing import until

THINGS = ("cats", "ships", "tea", "the sea")
SAID = [f"on day {day} we spoke of {thing}" for day in range(30) for thing in THINGS]
Answers = list[list[tuple[str, float]]]
QUESTIONS = ["day 7 cats", "the sea", "what of tea on day 21"]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "cut-to-zero": lambda path: path.write_text("") and None,
    "one-byte-flipped": flip,
}
ODD_DAMAGE: dict[str, Callable[[Path], None]] = {
    "cut-by-one": lambda path: path.write_bytes(path.read_bytes()[:-1]) and None,
    "longer-by-one": lambda path: path.write_bytes(path.read_bytes() + b"x") and None,
    "become-a-folder": become_a_folder,
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an index, later rows, a deleted row and folded files."""
    folder = tmp_path_factory.mktemp("original")
    store = IndexedStore(folder).started()
    for number in range(4):
        store.add_session(f"s{number}")
        store.add_messages(f"s{number}", [f"{said} in session {number}" for said in SAID])
        store.add_summary(f"s{number}", f"spoke of cats, session {number}")
    assert store.settle()
    store.indexing.reindex()
    assert store.settle()
    store.add_messages("s0", ["a late remark", "a late answer"], first=len(SAID))
    assert store.settle()
    store.remove_messages(["s0-3"])
    assert store.settle()
    store.close()
    return folder


def answers(store: IndexedStore) -> Answers:
    found = [store.search(question, 12) for question in QUESTIONS]
    return [[(hit.text_id, round(hit.similarity, 6)) for hit in hits] for hits in found]


def files_of(folder: Path) -> list[Path]:
    """Every file, relative to the folder."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def reopened(folder: Path) -> IndexedStore:
    store = IndexedStore(folder, Oracle()).started()
    assert store.settle()
    return store


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


@pytest.fixture(scope="module")
def before(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    store = reopened(Path(shutil.copytree(original, tmp_path_factory.mktemp("before") / "copy")))
    found = answers(store)
    store.close()
    return found


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.torture)])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_to_any_file_changes_nothing_that_is_found(
    original: Path, tmp_path: Path, before: Answers, damage: Callable[[Path], None], step: int
) -> None:
    files = files_of(original / "vectors")
    assert len(files) > 10
    # Each kind of damage begins with another file, so that all of them together come to every file.
    for number, file in enumerate(files[list(DAMAGE.values()).index(damage) % step :: step]):
        folder = Path(shutil.copytree(original, tmp_path / str(number)))
        damage(folder / "vectors" / file)
        store = reopened(folder)
        assert answers(store) == before, file
        assert store.oracle.asked == [], file
        store.close()
        shutil.rmtree(folder)


@pytest.mark.parametrize("damage", ODD_DAMAGE.values(), ids=ODD_DAMAGE.keys())
def test_odd_damage_to_a_data_file_changes_nothing_either(
    copy: Path, before: Answers, damage: Callable[[Path], None]
) -> None:
    damage(sorted((copy / "vectors").rglob("data/*.lance"))[0])
    store = reopened(copy)
    assert answers(store) == before
    assert store.oracle.asked == []
    store.close()


def test_an_index_that_is_whole_is_not_built_again(original: Path, copy: Path) -> None:
    data = "vectors/vectors.lance/data"
    store = reopened(copy)
    store.close()
    assert files_of(copy / data) == files_of(original / data)


@pytest.mark.parametrize("where", ["vectors", "vectors/vectors.lance", "vectors/vectors.lance/data"])
def test_a_folder_that_is_gone_is_built_again(copy: Path, before: Answers, where: str) -> None:
    shutil.rmtree(copy / where)
    store = reopened(copy)
    assert answers(store) == before
    assert store.oracle.asked == []
    store.close()


def test_a_file_in_place_of_the_folder_is_no_obstacle(copy: Path, before: Answers) -> None:
    shutil.rmtree(copy / "vectors")
    (copy / "vectors").write_text("in the way")
    store = reopened(copy)
    assert answers(store) == before
    store.close()


def test_the_index_of_another_store_is_not_believed(copy: Path, tmp_path: Path, before: Answers) -> None:
    (tmp_path / "other").mkdir()
    other = IndexedStore(tmp_path / "other", Oracle(dimension=48)).started()
    other.add_session("s1")
    other.add_messages("s1", ["nothing of ours"])
    assert other.settle()
    other.close()
    shutil.rmtree(copy / "vectors")
    shutil.copytree(tmp_path / "other" / "vectors", copy / "vectors")
    store = reopened(copy)
    assert answers(store) == before
    assert store.oracle.asked == []
    store.close()


def test_files_of_a_write_that_was_cut_short_are_removed(copy: Path, before: Answers) -> None:
    half = copy / "vectors/vectors.lance/data/half.lance"
    half.write_bytes(b"half of a")
    store = reopened(copy)
    assert not half.exists()
    assert answers(store) == before
    store.close()


def test_a_commit_whose_checksums_were_never_kept_is_taken_back_and_made_again(copy: Path) -> None:
    from domain.indexes import VectorRow
    from storage.vectors.table import Vectors

    oracle = Oracle()
    store = IndexedStore(copy, oracle)
    unfinished = Vectors(copy / "vectors", store.log)
    unfinished.open(oracle.model, oracle.dimension)
    unfinished.upsert([VectorRow("s0-5", "conversation", "s0", oracle.vector("wrong words"))])
    unfinished.close()
    store.started()
    assert store.settle()
    assert store.search(f"{SAID[5]} in session 0", 1)[0].similarity > 0.99
    assert oracle.asked == []
    store.close()


def test_rows_that_are_missing_from_a_whole_index_are_added(copy: Path, before: Answers) -> None:
    store = IndexedStore(copy)
    store.vectors.open(store.oracle.model, store.oracle.dimension)
    store.vectors.delete(["s0-5", "s3-27", "summary-s2"])
    checksums = Checksums(store.embeddings, store.vectors)
    checksums.forget()
    checksums.keep()
    store.close()
    again = reopened(copy)
    assert {b"s0-5", b"s3-27", b"summary-s2"} <= set(again.vectors.ids().tolist())
    assert answers(again) == before
    assert again.oracle.asked == []
    again.close()


def test_damage_while_it_runs_is_mended_at_the_next_write(copy: Path, before: Answers) -> None:
    store = reopened(copy)
    shutil.rmtree(copy / "vectors")
    store.add_session("late")
    store.add_messages("late", ["zebra crossing"])
    until(store.settle)
    assert store.search("zebra crossing", 1)[0].text_id == "late-0"
    assert answers(store) == before
    store.close()


def test_the_checksum_notices_every_flipped_byte(copy: Path) -> None:
    store = IndexedStore(copy)
    file = next((copy / "vectors").rglob("*.txn"))
    content = file.read_bytes()
    for position in range(len(content)):
        file.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        assert not Checksums(store.embeddings, store.vectors).are_right()
    file.write_bytes(content)
    assert Checksums(store.embeddings, store.vectors).are_right()
    store.close()
