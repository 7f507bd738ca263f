"""Proof that something is gone: every file is searched for it, in every form in which it could lie there.

A text is searched as UTF-8, as UTF-16 of both byte orders, JSON-escaped, and in base64 at each of its three alignments;
a vector as the bytes of its float16 and float32 forms. Files are read in parts, so their size does not matter.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PART = 1 << 20
#: A form of fewer bytes is in some file by chance and would prove nothing.
SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Trace:
    """A form of something erased that is still in a file."""

    path: Path
    form: str


@dataclass(frozen=True)
class Needles:
    """Texts that are to be in no file any more."""

    texts: tuple[str, ...]

    @property
    def forms(self) -> dict[str, bytes]:
        """Every form of every text, by a name."""
        return {
            f"{number} {name}": needle for number, text in enumerate(self.texts) for name, needle in forms(text).items()
        }

    def are_in(self, path: Path) -> bool:
        """Whether a file, or any file below a folder, holds one of them."""
        return bool(find_traces([path], self.forms) if path.is_dir() else _find_in_file(path, self.forms))


def forms(text: str) -> dict[str, bytes]:
    """The bytes by which a text can be found, by the name of their form."""
    plain = text.encode("utf-8", "surrogatepass")
    found = {
        "utf-8": plain,
        "utf-16le": text.encode("utf-16-le", "surrogatepass"),
        "utf-16be": text.encode("utf-16-be", "surrogatepass"),
        "json": json.dumps(text)[1:-1].encode(),
        "json-unicode": json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
    }
    for shift in range(3):
        found[f"base64+{shift}"] = _base64_core(plain, shift)
    return {name: needle for name, needle in found.items() if len(needle) >= SHORTEST}


def _base64_core(plain: bytes, shift: int) -> bytes:
    """The base64 characters that depend on ``plain`` alone when it stands ``shift`` bytes into a group of three."""
    coded = base64.b64encode(bytes(shift) + plain)
    start = (shift * 8 + 5) // 6
    end = (shift + len(plain)) * 8 // 6
    return coded[start:end]


def find_traces(folders: Iterable[Path], needles: Mapping[str, bytes], besides: Sequence[Path] = ()) -> list[Trace]:
    """Every file below the folders that still holds a needle, and which; but for those ``besides``."""
    return [Trace(path, form) for path in files_below(folders, besides) for form in _find_in_file(path, needles)]


def files_below(folders: Iterable[Path], besides: Sequence[Path] = ()) -> Iterator[Path]:
    """Every regular file below the folders, links not followed, and nothing of what is ``besides``."""
    for folder in folders:
        for place, below, names in os.walk(folder):
            inside = Path(place)
            below[:] = sorted(name for name in below if inside / name not in besides)
            for path in (inside / name for name in sorted(names)):
                if path.is_file() and not path.is_symlink() and path not in besides:
                    yield path


def _find_in_file(path: Path, needles: Mapping[str, bytes]) -> list[str]:
    left = dict(needles)
    overlap = max(map(len, needles.values()), default=1) - 1
    present, tail = [], b""
    try:
        with path.open("rb") as file:
            while left and (part := file.read(_PART)):
                window = tail + part
                found = [form for form, needle in left.items() if needle in window]
                present += found
                for form in found:
                    del left[form]
                tail = window[-overlap:] if overlap else b""
    except FileNotFoundError:
        return []
    return present
