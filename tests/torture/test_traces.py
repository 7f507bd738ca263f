"""The reader of traces reads every call, also one that another thread interrupted."""

from __future__ import annotations

import pytest

from tests.torture.traces import Call, calls


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


_FILE = f"5<{_hex('/data/memory.db')}>"


def _read(*lines: str) -> list[Call]:
    return list(calls(lines))


def test_a_call_is_read_with_its_file_its_bytes_and_its_place() -> None:
    read = _read(f'10 pwrite64({_FILE}, "{_hex("abc")}", 3, 8192) = 3', f"10 fdatasync({_FILE}) = 0")
    assert read == [Call("pwrite64", ("memory.db",), b"abc", (3, 8192)), Call("fdatasync", ("memory.db",))]


@pytest.mark.parametrize(
    ("begun", "ended", "call"),
    [
        (
            f'pwrite64({_FILE}, "{_hex("a, b")}", 4, 512 <unfinished ...>',
            "<... pwrite64 resumed>)           = 4",
            Call("pwrite64", ("memory.db",), b"a, b", (4, 512)),
        ),
        (
            f'write(1<{_hex("pipe:[7]")}>, "{_hex("kept")}", 4 <unfinished ...>',
            "<... write resumed>) = 4",
            Call("write", ("stdout",), b"kept", (4,)),
        ),
        (
            f"ftruncate({_FILE}, 0 <unfinished ...>",
            "<... ftruncate resumed>)          = 0",
            Call("ftruncate", ("memory.db",), numbers=(0,)),
        ),
        (f"fsync({_FILE} <unfinished ...>", "<... fsync resumed>) = 0", Call("fsync", ("memory.db",))),
        (f"fdatasync({_FILE}, <unfinished ...>", "<... fdatasync resumed>) = 0", Call("fdatasync", ("memory.db",))),
    ],
)  # fmt: skip
def test_a_call_in_two_lines_is_one_and_stands_where_it_ended(begun: str, ended: str, call: Call) -> None:
    other = f'12 pwrite64(6<{_hex("/data/other")}>, "{_hex("x")}", 1, 0) = 1'
    assert _read(f"11 {begun}", other, f"11 {ended}") == [Call("pwrite64", ("other",), b"x", (1, 0)), call]


def test_two_threads_in_calls_at_once_are_not_confused() -> None:
    read = _read(
        f'11 pwrite64({_FILE}, "{_hex("one")}", 3, 0 <unfinished ...>',
        f'12 write(1<{_hex("pipe:[7]")}>, "{_hex("two")}", 3 <unfinished ...>',
        "11 <... pwrite64 resumed>) = 3",
        "12 <... write resumed>) = 3",
    )
    assert [(call.name, call.data) for call in read] == [("pwrite64", b"one"), ("write", b"two")]


def test_a_call_that_failed_or_never_ended_wrote_nothing() -> None:
    assert not _read(
        f'11 pwrite64({_FILE}, "{_hex("a")}", 1, 0) = -1 ENOSPC (No space left on device)',
        f'11 pwrite64({_FILE}, "{_hex("a")}", 1, 0 <unfinished ...>',
        f'12 write({_FILE}, "{_hex("a")}", 1) = ?',
        "12 --- SIGTERM {si_signo=SIGTERM} ---",
        "11 +++ exited with 0 +++",
    )


def test_of_a_write_that_stopped_short_only_what_was_written_counts() -> None:
    assert _read(f'11 pwrite64({_FILE}, "{_hex("abc")}", 3, 0) = 2')[0].data == b"ab"


def test_paths_are_named_by_their_last_part() -> None:
    line = f'11 rename("{_hex("/data/.new")}", "{_hex("/data/memory.db")}") = 0'
    assert _read(line) == [Call("rename", (".new", "memory.db"))]


def test_a_deleted_file_is_read_too() -> None:
    assert _read(f"11 fsync({_FILE}(deleted)) = 0") == [Call("fsync", ("memory.db",))]


@pytest.mark.parametrize("line", ["no thread", f'11 pwrite64({_FILE}, "{_hex("a")}"..., 9, 0) = 9'])
def test_a_line_that_is_not_understood_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="not understood"):
        _read(line)
