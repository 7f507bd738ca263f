"""The proof of an erasure finds a text in every form in which a file could hold it."""

import base64
import json

import pytest

from domain.file_reader import find_bytes
from storage import erasure

SECRET = "my mother's maiden name is 欧阳"


@pytest.mark.parametrize(
    "write",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-be"),
        lambda text: json.dumps({"said": f"x {text} y"}).encode(),
        lambda text: json.dumps({"said": f'"{text}'}, ensure_ascii=False).encode(),
        *(lambda text, lead=lead: base64.b64encode(b"x" * lead + text.encode() + b"tail") for lead in range(3)),
    ],
    ids=["utf-8", "utf-16le", "utf-16be", "json", "json-unicode", "base64+0", "base64+1", "base64+2"],
)
def test_every_form_is_found(tmp_path, write):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"\0" * 100 + write(SECRET) + b"\0" * 100)
    assert erasure.find_traces([tmp_path], erasure.forms(SECRET))


def test_what_lies_across_two_parts_of_a_file_is_found(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789" + SECRET.encode() + b"0123456789")
    found = find_bytes([tmp_path], erasure.forms(SECRET), part=7)
    assert found == (1, [(tmp_path / "file", "utf-8"), (tmp_path / "file", "json-unicode")])


def test_nothing_is_found_where_nothing_is(tmp_path):
    (tmp_path / "file").write_bytes(b"something else" * 1000)
    assert erasure.find_traces([tmp_path], erasure.forms(SECRET)) == []
