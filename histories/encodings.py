"""How the bytes of a text are to be read: UTF-8, UTF-16 with its mark, or GB18030 as Chinese Windows writes it."""

from __future__ import annotations

import codecs
from typing import BinaryIO

from histories.parts import DAMAGES, FilePart

#: So much of a file is looked at to tell its encoding: its first character that is not ASCII may be far.
LOOKED_AT = 8 << 20
_PIECE = 1 << 20
#: A UTF-8 file with a damaged byte has still this many whole characters for each.
_WHOLE_FOR_DAMAGED = 4


def encoding_of(part: FilePart, looked_at: int = LOOKED_AT) -> str | None:
    """The name of the encoding; None for what is no text."""
    with part.open() as file:
        start = _read_on(file)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\x00" in start:
            return None
        utf8, gb = _Utf8Look(), _GbLook()
        while start and looked_at > 0:
            utf8.feed(start)
            gb.feed(start)
            looked_at -= len(start)
            start = _read_on(file)
    return "utf-8-sig" if utf8.fits() else "gb18030" if gb.fits() else None


def _read_on(file: BinaryIO) -> bytes:
    """The next piece; nothing where the file is damaged."""
    try:
        return file.read1(_PIECE)  # type: ignore[attr-defined, no-any-return]
    except DAMAGES:
        return b""


class DecodedText:
    """A text that hands over what is there before it reads on, so that damage costs only what is damaged."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._damage: Exception | None = None

    def read(self, size: int, /) -> str:
        """The next piece, about as long as it was asked for, empty at the end. Raises one of ``DAMAGES``."""
        if self._damage is not None:
            raise self._damage
        pieces: list[str] = []
        left = size
        try:
            while left > 0 and (piece := self._file.read1(left)):  # type: ignore[attr-defined]
                left -= len(piece)
                pieces.append(self._decoder.decode(piece))
        except DAMAGES as error:
            self._damage = error
            return "".join(pieces) or self.read(size)
        if left == size:
            pieces.append(self._decoder.decode(b"", final=True))
        return "".join(pieces) or ("" if left == size else self.read(size))


class _Utf8Look:
    """Counts characters that are whole, and bytes that are none."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._whole = self._damaged = 0

    def feed(self, piece: bytes) -> None:
        text = self._decoder.decode(piece)
        damaged = text.count("\ufffd")
        self._damaged += damaged
        self._whole += len(text) - len(text.encode("ascii", "ignore")) - damaged

    def fits(self) -> bool:
        return self._whole >= self._damaged * _WHOLE_FOR_DAMAGED


class _GbLook:
    """Whether all of it is GB18030."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("gb18030")("strict")
        self._fits = True

    def feed(self, piece: bytes) -> None:
        try:
            self._fits = self._fits and self._decoder.decode(piece) is not None
        except UnicodeDecodeError:
            self._fits = False

    def fits(self) -> bool:
        return self._fits
