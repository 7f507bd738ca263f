"""Personas: a hand edit wins, a file is always one complete version, no version is lost (P6, P7, P10)."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pytest

from domain import errors
from domain.records import ErasureScope, Persona, PersonaVersion
from storage.personas import Personas, with_pins
from tests.contract.stores import Store, sqlite
from tests.interfaces.terminal.pseudo import environment
from tests.support.warm import Piped

NOON = "2026-05-04T12:00:00+00:00"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = sqlite(tmp_path).at(NOON)
    yield opened
    opened.close()


@pytest.fixture
def persona(store: Store) -> Personas:
    return store.personas


def commit(store: Store, text: str) -> None:
    """A version that is committed, its file not yet laid."""
    with store.database.write() as tx:
        store.versions.add(tx, "user", text, "model", NOON)
        tx.commit.follows.clear()


def erase(store: Store, *versions: PersonaVersion) -> None:
    left = tuple(version.text.replace("has a secret", "").strip() for version in versions)
    store.erasure.commit(ErasureScope(versions=versions, left=left))


def texts(persona: Personas) -> list[tuple[str, str]]:
    return [(version.text, version.origin) for version in persona.history("user")]


def test_there_is_no_persona_and_no_file_at_first(persona: Personas) -> None:
    assert persona.read("self") == ""
    assert persona.read("user") == ""
    assert not persona.path("self").exists()
    assert persona.history("self") == []


def test_a_persona_is_read_back_and_both_are_apart(persona: Personas) -> None:
    persona.write("self", "I am 老友。", "model", "s1")
    persona.write("user", "Ann likes tea.", "setup")
    assert persona.read("self") == "I am 老友。"
    assert persona.path("user").read_text() == "Ann likes tea.\n"
    (version,) = persona.history("self")
    assert (version.origin, version.session_id) == ("model", "s1")
    assert version.timestamp == "2026-05-04T12:00:00+00:00"


def test_every_version_is_kept_and_can_be_restored(persona: Personas) -> None:
    for text in ("one", "two", "three"):
        persona.write("user", text, "model")
    first = persona.history("user")[0]
    assert persona.restore(first.version)
    assert persona.read("user") == "one"
    assert persona.path("user").read_text() == "one\n"
    assert texts(persona) == [("one", "model"), ("two", "model"), ("three", "model"), ("one", "restore")]
    assert persona.restore(999) is None


def test_a_hand_edit_wins_and_becomes_a_version(persona: Personas) -> None:
    persona.write("user", "Ann likes tea.", "model")
    persona.path("user").write_text("Ann likes coffee.\n")
    assert persona.read("user") == "Ann likes coffee."
    assert persona.read("user") == "Ann likes coffee."
    assert texts(persona) == [("Ann likes tea.", "model"), ("Ann likes coffee.", "hand")]


def test_a_hand_edit_made_before_a_rewrite_is_kept_as_a_version(persona: Personas) -> None:
    persona.write("user", "tea", "model")
    persona.path("user").write_text("coffee")
    persona.write("user", "tea and coffee", "model")
    assert texts(persona) == [("tea", "model"), ("coffee", "hand"), ("tea and coffee", "model")]


def test_a_hand_edit_made_between_commit_and_file_wins(persona: Personas, store: Store) -> None:
    persona.write("user", "tea", "model")
    persona.path("user").write_text("coffee")
    commit(store, "green tea")
    persona.settle()
    assert persona.read("user") == "coffee"
    assert texts(persona)[-1] == ("coffee", "hand")


def test_a_file_written_by_hand_before_any_version_is_the_first(persona: Personas) -> None:
    persona.path("self").parent.mkdir()
    persona.path("self").write_text("I am Lao.")
    assert persona.read("self") == "I am Lao."
    assert persona.history("self")[0].origin == "hand"


@pytest.mark.parametrize(
    "content",
    [
        b"Ann likes tea.\r\nShe lives in Lyon.\r\n",
        b"\xef\xbb\xbfAnn likes tea.\nShe lives in Lyon.\n",
        b"Ann likes tea.\nShe lives in Lyon.",
        b"Ann likes tea.\nShe lives in Lyon.\n\n\n",
        "Ann likes tea.\nShe lives in Lyon.\n".encode("utf-16"),
        b"Ann likes tea.\rShe lives in Lyon.",
    ],
    ids=["crlf", "bom", "no-end-of-line", "more-ends", "utf-16", "cr"],
)
def test_another_form_of_the_same_words_is_no_edit(persona: Personas, content: bytes) -> None:
    persona.write("user", "Ann likes tea.\nShe lives in Lyon.", "model")
    persona.path("user").write_bytes(content)
    assert persona.read("user") == "Ann likes tea.\nShe lives in Lyon."
    assert len(persona.history("user")) == 1
    assert persona.path("user").read_bytes() == content


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b""], ids=["bom", "plain"])
def test_an_edit_in_crlf_becomes_plain_text(persona: Personas, start: bytes) -> None:
    persona.write("user", "Ann", "model")
    persona.path("user").write_bytes(start + "安\r\nlikes tea\r\n".encode())
    assert persona.read("user") == "安\nlikes tea"


def test_an_edit_in_bad_utf8_wins_and_its_bytes_are_kept_aside(persona: Personas) -> None:
    persona.write("user", "Ann", "model")
    persona.path("user").write_bytes(b"caf\xe9 with Ann\n")
    assert persona.read("user") == "caf\ufffd with Ann"
    assert persona.read("user") == "caf\ufffd with Ann"
    assert [aside.read_bytes() for aside in persona.replaced_files()] == [b"caf\xe9 with Ann\n"]
    assert len(persona.history("user")) == 2


def test_an_emptied_file_is_an_empty_persona_that_can_be_taken_back(persona: Personas) -> None:
    version = persona.write("user", "Ann likes tea.", "model")
    assert version
    persona.path("user").write_text("")
    assert persona.read("user") == ""
    assert persona.path("user").read_text() == ""
    assert texts(persona)[-1] == ("", "hand")
    persona.restore(version.version)
    assert persona.read("user") == "Ann likes tea."


def test_a_deleted_file_is_laid_out_again(persona: Personas) -> None:
    persona.write("user", "Ann likes tea.", "model")
    persona.path("user").unlink()
    assert persona.read("user") == "Ann likes tea."
    assert persona.path("user").read_text() == "Ann likes tea.\n"
    assert len(persona.history("user")) == 1


def test_a_folder_in_its_place_is_kept_aside_with_its_content(persona: Personas) -> None:
    persona.write("user", "Ann likes tea.", "model")
    for number in (1, 2):
        persona.path("user").unlink()
        persona.path("user").mkdir()
        (persona.path("user") / "note.txt").write_text(f"precious {number}")
        assert persona.read("user") == "Ann likes tea."
        assert persona.path("user").is_file()
    assert [(aside / "note.txt").read_text() for aside in persona.replaced_files()] == ["precious 1", "precious 2"]


def test_a_pipe_in_its_place_does_not_hang(persona: Personas) -> None:
    persona.write("user", "Ann", "model")
    persona.path("user").unlink()
    os.mkfifo(persona.path("user"))
    assert persona.read("user") == "Ann"


def test_a_huge_file_is_kept_aside(persona: Personas) -> None:
    persona.write("user", "Ann", "model")
    persona.path("user").write_bytes(b"x" * 1_000_001)
    assert persona.read("user") == "Ann"
    assert persona.replaced_files()[0].stat().st_size == 1_000_001


def test_a_link_to_nowhere_is_laid_out_again(persona: Personas, tmp_path: Path) -> None:
    persona.write("user", "Ann", "model")
    persona.path("user").unlink()
    persona.path("user").symlink_to(tmp_path / "nowhere")
    assert persona.read("user") == "Ann"
    assert not persona.path("user").is_symlink()


def test_a_version_that_never_reached_its_file_reaches_it_later(persona: Personas, store: Store) -> None:
    persona.write("user", "old", "model")
    commit(store, "new")
    assert persona.path("user").read_text() == "old\n"
    assert persona.read("user") == "new"
    assert persona.path("user").read_text() == "new\n"
    assert texts(persona) == [("old", "model"), ("new", "model")]


def test_a_crash_after_the_file_was_laid_out_is_no_edit(persona: Personas, store: Store) -> None:
    persona.write("user", "old", "model")
    commit(store, "new")
    persona.path("user").write_text("new\n")
    assert persona.read("user") == "new"
    assert len(persona.history("user")) == 2


def test_a_version_rolled_back_leaves_the_persona_as_it_was(persona: Personas, store: Store) -> None:
    persona.write("user", "old", "model")
    with pytest.raises(RuntimeError), store.database.write():
        commit(store, "new")
        raise RuntimeError
    persona.settle()
    assert persona.read("user") == "old"


def test_an_erased_version_does_not_come_back_through_its_file(persona: Personas, store: Store) -> None:
    persona.write("user", "likes tea", "model")
    last = persona.write("user", "likes tea\nhas a secret", "model")
    assert last
    erase(store, last)
    assert persona.read("user") == "likes tea"
    assert texts(persona) == [("likes tea", "model"), ("likes tea", "model")]
    assert persona.path("user").read_text() == "likes tea\n"


def test_when_every_line_is_erased_the_file_is_empty_and_no_edit(persona: Personas, store: Store) -> None:
    version = persona.write("user", "has a secret", "model")
    assert version
    erase(store, version)
    persona.settle()
    assert persona.read("user") == ""
    assert persona.path("user").read_bytes() == b""
    assert texts(persona) == [("", "model")]


def test_controls_and_surrogates_never_reach_a_persona(persona: Personas) -> None:
    persona.write("user", "a\x1b[31m\x00b\udcff", "model")
    assert persona.read("user") == "a[31mb\ufffd"


def test_files_are_private_whatever_the_umask(persona: Personas) -> None:
    before = os.umask(0)
    try:
        persona.write("user", "Ann", "model")
        assert stat.S_IMODE(persona.path("user").stat().st_mode) == 0o600
        assert stat.S_IMODE(persona.path("user").parent.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_a_folder_out_of_reach_leaves_the_persona_readable(persona: Personas, tmp_path: Path) -> None:
    persona.write("user", "Ann", "model")
    (tmp_path / "persona").rename(tmp_path / "elsewhere")
    (tmp_path / "persona").write_text("a file")
    assert persona.read("user") == "Ann"
    with pytest.raises(errors.StorageError):
        persona.write("user", "Bea", "model")


def test_no_half_written_file_is_ever_seen(persona: Personas) -> None:
    persona.write("user", "Ann", "model")
    leftover = persona.path("user").with_name(".user_image.txt.new")
    leftover.write_text("half of a")
    assert persona.read("user") == "Ann"
    persona.write("user", "Bea", "model")
    assert persona.read("user") == "Bea"
    assert not leftover.exists()


def test_a_version_committed_while_the_file_is_read_makes_no_hand_edit(
    persona: Personas, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    persona.write("user", "Ann likes tea.", "model")
    saved, read = Event(), persona._read_file
    saves: list[Thread] = []

    def save() -> None:
        persona.write("user", "Ann likes coffee.", "model")
        saved.set()

    def read_and_save(persona: Persona) -> str | None:
        said = read(persona)
        if not saves:
            saves.append(Thread(target=save))
            saves[0].start()
            saved.wait(1)  # without one transaction the save ends here, at once; with it, it waits for this
        return said

    monkeypatch.setattr(persona, "_read_file", read_and_save)
    persona.settle("user")
    saves[0].join()
    assert persona.read("user") == "Ann likes coffee."
    assert texts(persona) == [("Ann likes tea.", "model"), ("Ann likes coffee.", "model")]


def test_many_threads_that_save_and_read_make_no_hand_edit(persona: Personas, store: Store) -> None:
    def save(thread: int) -> None:
        for number in range(12):
            commit(store, f"Version {thread}-{number}.")
            persona.settle()

    def read(_: int) -> None:
        for _number in range(40):
            persona.read("user")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda job: job[0](job[1]), [(save, at) for at in range(4)] + [(read, at) for at in range(4)]))
    assert [version.origin for version in persona.history("user")] == ["model"] * 48
    assert persona.path("user").read_text() == persona.history("user")[-1].text + "\n"


def test_missing_pins_are_added_once_and_in_order() -> None:
    text = with_pins("Likes tea.", ["Call her Annie.", "Likes tea.", "Never mention Bob."])
    assert text == "Likes tea.\nCall her Annie.\nNever mention Bob."
    assert with_pins(text, ["Call her Annie."]) == text
    assert with_pins("", ["Call her Annie."]) == "Call her Annie."


WRITER = """
import sys
from pathlib import Path
from tests.contract.stores import sqlite
store = sqlite(Path(sys.argv[1]))
for number in range(150):
    store.personas.write("user", f"Ann likes tea number {number} of {sys.argv[2]}.", "model")
store.close()
"""


def test_what_other_programs_write_is_never_taken_for_a_hand_edit(store: Store, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    place = {"cwd": Path(__file__).parents[2], "env": environment(tmp_path)}
    writers = [Piped([*command, name], **place) for name in ("one", "two")]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        store.personas.read("user")
        reads += 1
    assert [writer.wait() for writer in writers] == [0, 0]
    assert reads > 0
    assert [version.origin for version in store.personas.history("user")] == ["model"] * 300
    store.personas.path("user").write_text("Ann likes coffee.\n")
    assert store.personas.read("user") == "Ann likes coffee."
    assert store.personas.history("user")[-1].origin == "hand"


def test_a_version_that_reached_its_file_and_whose_note_was_lost_is_no_hand_edit(store: Store) -> None:
    store.personas.write("user", "one", "model")
    commit(store, "two")
    store.personas.path("user").write_text("two\n")  # killed before it was noted that the file says so
    commit(store, "three")
    assert store.personas.read("user") == "three"
    assert [version.origin for version in store.personas.history("user")] == ["model"] * 3


def test_a_write_that_is_taken_back_leaves_the_file_as_it_was(store: Store) -> None:
    store.personas.write("user", "one", "model")
    with pytest.raises(errors.Interrupted), store.database.write():
        store.personas.write("user", "two", "model")
        store.personas.write("user", "three", "model")
        raise errors.Interrupted
    assert store.personas.path("user").read_text() == "one\n"
    assert store.personas.read("user") == "one"
