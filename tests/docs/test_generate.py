"""Documents cannot rot: what is generated from the program is what the program has now."""

from __future__ import annotations

import re

import pytest

from docs import generate
from domain.settings import TABLE
from tests.torture.__main__ import PROMISES


@pytest.mark.parametrize("name", generate.pages())
def test_the_tables_of_a_page_are_those_of_the_program(name):
    text = (generate.ROOT / name).read_text(encoding="utf-8")
    assert generate.with_parts(text, generate.pages()[name]) == text


@pytest.mark.parametrize("language", generate.READMES)
def test_a_readme_begins_with_the_two_commands_and_stays_short(language):
    text = (generate.ROOT / generate.READMES[language]).read_text(encoding="utf-8")
    assert text.index("make chat") < text.index("make test") < text.index("python3 -m venv")
    assert text.count("\n") <= 120


@pytest.mark.parametrize("language", generate.READMES)
def test_the_page_of_commands_shows_a_real_run(language):
    text = (generate.ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert "$ make chat" in text.split(f"<!-- begin transcript.{language} -->")[1]


def test_every_link_of_a_document_leads_to_a_file():
    pages = [*(generate.ROOT / name for name in generate.READMES.values()), *(generate.ROOT / "docs").glob("*.md")]
    links = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert links == []


def test_every_module_that_a_document_names_is_there():
    modules = [
        path.relative_to(generate.ROOT).as_posix() for path in generate.ROOT.rglob("*.py") if ".venv" not in path.parts
    ]
    named = {
        (page.name, name)
        for page in (generate.ROOT / "docs").glob("*.md")
        for name in re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))
    }
    assert {(page, name) for page, name in named if not any(f"/{one}".endswith(f"/{name}") for one in modules)} == set()


def test_the_page_of_promises_has_a_row_for_each_that_is_tried():
    text = (generate.ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (P\d+|clients|database|signals) \|.*\| [\d,–]+ \|$", text, re.M) == [
        one.name for one in PROMISES
    ]


def test_the_tests_of_each_promise_exist():
    paths = {test.split(" -k ")[0] for one in PROMISES for test in one.tests}
    assert [path for path in sorted(paths) if not (generate.ROOT / path).exists()] == []


def test_what_the_torture_printed_is_put_into_its_row():
    marks = ("<!-- begin time -->\n", "<!-- end time -->\n")
    rows = "| P1 | kept | so | 446 | 0 |\n| P10 | gone | so | {} |\n"
    printed = "  a scene: 3 in 4 s\nP10  it is gone  tried  1074   violated   2    50 s\n2 passed, 1 failed  (126 s)\n"
    assert generate.with_figures("".join(marks) + rows.format("9 | –"), printed) == (
        "It took 2 minutes.\n".join(marks) + rows.format("1,074 | 2")
    )


def test_both_readmes_have_the_same_parts():
    counts = []
    for name in generate.READMES.values():
        text = (generate.ROOT / name).read_text(encoding="utf-8")
        counts.append((len(re.findall(r"^## ", text, re.M)), len(re.findall(r"^\|", text, re.M)), text.count("```")))
    assert counts[0] == counts[1]


def test_every_setting_is_in_the_example_file():
    example = (generate.ROOT / ".env.example").read_text(encoding="utf-8")
    assert [row.name for row in TABLE if not re.search(rf"^{row.name}=", example, re.M)] == []
