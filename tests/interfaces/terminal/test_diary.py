"""``/diary``: the pages of a time, what each sentence rests on, and all of them as a book."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.jobs.writing_chapters import Life
from tests.support.program import run


@pytest.fixture(autouse=True)
def kept(tmp_path: Path) -> None:
    """Two sessions, each with a page."""
    home = Life(tmp_path / "data")
    for month, line in ((1, "The owl is back."), (3, "The <owl> & I talked.")):
        home.now = datetime(2026, month, 5, 12, tzinfo=UTC)
        session = home.session(line)
        read = [one.text_id for one in home.memory.messages.of_session(session)]
        assert home.memory.chapters.put_page(session, read, [(line, read[:1]), ("I kept quiet.", read[1:])])
    home.close()


def asked(folder: Path, *commands: str, language: str = "en") -> str:
    (folder / "env").touch(0o600)
    given = "\n".join(commands) + "\n"
    ran = run(folder, "--env-file", str(folder / "env"), given=given, LANGUAGE=language, TZ="UTC")
    return ran.out + ran.err


def test_pages_are_shown_by_their_day_and_with_the_words_they_rest_on(tmp_path: Path) -> None:
    told = asked(tmp_path, "/diary", "/diary 2026-03 full", "/diary 2019", "/diary nonsense")
    both, march = told.split("/diary export FILE")[:2]
    assert both.index("Monday 5 January 2026\nThe owl is back.\nI kept quiet.") < both.index("Thursday 5 March 2026")
    assert "January" not in march
    assert "    User: The <owl> & I talked.\nI kept quiet.\n    Assistant: " in march
    assert "No page from 2019-01-01 to 2019-12-31." in told
    assert "nonsense is not a time." in told
    assert "2026 年 3 月 5 日，星期四" in asked(tmp_path, "/diary 2026-03", language="zh")


def test_the_diary_is_written_to_a_new_file_as_a_book(tmp_path: Path) -> None:
    page, book = tmp_path / "book.html", tmp_path / "book.md"
    told = asked(
        tmp_path, f"/diary export {page}", f"/diary export {book}", f"/diary export {book}", "/diary export a.pdf"
    )
    assert f"Wrote 2 pages to {page}." in told
    assert book.read_text().startswith("# The diary of Old Friend\n\n## Monday 5 January 2026\n\nThe owl is back.\n")
    shown = page.read_text()
    assert "<h2>Thursday 5 March 2026</h2><p>The &lt;owl&gt; &amp; I talked.</p>" in shown
    assert "<owl>" not in shown
    assert page.stat().st_mode & 0o077 == 0
    assert "already exists" in told
    assert ".pdf is not a format. Use one of: FILE.md, FILE.html." in told
