"""Documents cannot rot: what is generated from the program is what the program has now."""

from __future__ import annotations

import re

import pytest

from docs import generate
from domain.settings import TABLE


def test_the_page_of_commands_is_that_of_the_table():
    assert (generate.ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == generate.commands_page()


@pytest.mark.parametrize("language", generate.READMES)
def test_the_tables_of_the_readmes_are_those_of_the_program(language):
    text = (generate.ROOT / generate.READMES[language]).read_text(encoding="utf-8")
    assert generate.with_tables(text, language) == text


@pytest.mark.parametrize("language", generate.READMES)
def test_a_readme_begins_with_the_two_commands_and_shows_a_real_run(language):
    text = (generate.ROOT / generate.READMES[language]).read_text(encoding="utf-8")
    assert text.index("make chat") < text.index("make test") < text.index("python3 -m venv")
    assert "$ make chat" in text.split("<!-- begin transcript -->")[1]


def test_both_readmes_have_the_same_parts():
    counts = []
    for name in generate.READMES.values():
        text = (generate.ROOT / name).read_text(encoding="utf-8")
        counts.append(
            (len(re.findall(r"^## ", text, re.M)), len(re.findall(r"^\|", text, re.M)), text.count("```"))
        )
    assert counts[0] == counts[1]


def test_every_setting_is_in_the_example_file():
    example = (generate.ROOT / ".env.example").read_text(encoding="utf-8")
    assert [row.name for row in TABLE if not re.search(rf"^{row.name}=", example, re.M)] == []
