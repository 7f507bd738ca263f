"""How something leaves a memory: taken back, kept out of every prompt, or erased and made anew from what is left.

Promises: each verb is one commit or nothing; what was reset can be put back until then; what was erased is in no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from domain.facts import ImageDraft
from domain.records import IMAGES, ErasureScope, Image, ImageVersion, Origin, Removed, Renewal, Round
from storage.erasure import Proof
from storage.images import image_draft
from storage.reader import MemoryReader
from storage.store import NewSummary


class Forgetting(MemoryReader):
    """The verbs of ``Memory`` by which something goes."""

    _new_id: Callable[[], str]

    def reset(self, session_id: str) -> Removed:
        """Remove a session's turns and summary. Returns what went; ``put_back`` undoes it."""
        with self._lines_taken_along([turn.text_id for turn in self._store.turns_of(session_id)]):
            removed = self._store.reset(session_id)
        gone = [turn.text_id for turn in removed.turns]
        self._tell_index([*gone, removed.summary.text_id] if removed.summary else gone)
        return removed

    def put_back(self, removed: Removed) -> None:
        """Put back what a reset removed, in front of what was said since; a summary written since gives way."""
        self._tell_index(self._store.put_back(removed))

    def undo(self, session_id: str, count: int) -> int:
        """Remove the last rounds of a session, as far as they are still in the context. Returns how many."""
        going = self._store.context(session_id)[-count:] if count > 0 else ()
        with self._lines_taken_along([turn.text_id for spoken in going for turn in spoken.turns]):
            rounds = self._store.undo(session_id, count)
        self._tell_index([turn.text_id for spoken in rounds for turn in spoken.turns])
        return len(rounds)

    def redo(self, rounds: Sequence[Round]) -> None:
        """Put back rounds that ``undo`` removed, as they were; nothing new may have been said since."""
        self._store.redo(rounds)
        self._tell_index([])

    def withhold(self, text_ids: Sequence[str]) -> None:
        """Keep turns out of every prompt and every index until they are erased or released; they stay stored."""
        with self._lines_taken_along(text_ids):
            gone = self._store.withhold(text_ids)
        self._tell_index(gone)

    def release(self, text_ids: Sequence[str]) -> None:
        """Let withheld turns be told and found again; what was made without them is to be made anew."""
        self._tell_index(self._store.release(text_ids))

    def erase(self, chosen: ErasureScope) -> Proof:
        """Erase what was chosen: in one commit, then out of every file, then proven."""
        return self.eraser.erase(chosen)

    def finish_erasing(self) -> Proof | None:
        """Finish an erasure that was cut short by a crash; None when there is none."""
        return self.eraser.finish()

    def make_summary_anew(self, renewal: Renewal, text: str, upto: int) -> bool:
        """Store a summary that was to be made anew, dated as the one before; with "" there is none.

        False, and nothing is stored, when it is not asked for any more, or from more by now.
        """
        summary = NewSummary(self._new_id(), renewal.timestamp, text)
        gone = self._store.make_summary_anew(renewal, summary, upto)
        self._tell_index(gone or [])
        return gone is not None

    def make_image_anew(
        self, renewals: Sequence[Renewal], base: ImageVersion | None, draft: ImageDraft | str
    ) -> bool:
        """Store an image that was to be made anew from the version ``base``.

        False, and nothing is stored, when it is not asked for any more, or a newer version is in force by now.
        """
        made = self._store.make_image_anew(renewals, base, image_draft(draft), self._now())
        self._images.publish()
        return made

    def write_image(
        self, image: Image, text: str, origin: Origin, session_id: str | None = None
    ) -> ImageVersion | None:
        """Make ``text`` the image. Returns the version in force afterwards."""
        return self._images.write(image, text, origin, session_id)

    def restore_image(self, version: int) -> ImageVersion | None:
        """Make an older version the newest one; None when there is no such version."""
        return self._images.restore(version)

    def pin(self, image: Image, text: str) -> None:
        """Keep a line through every rewrite of an image; it stands in the image at once."""
        self._images.pin(image, text)

    def unpin(self, image: Image, text: str) -> None:
        """Let go of a pin; its line leaves the image if the pin brought it and it stands there word for word."""
        self._images.unpin(image, text)

    @contextmanager
    def _lines_taken_along(self, turns: Sequence[str]) -> Iterator[None]:
        """One commit in which turns go, and with them the lines of the images that rest on them.

        An edit by hand becomes a version before; the files follow when they are next read, which is after the commit.
        """
        if any(self._store.lines_resting_on(image, turns) for image in IMAGES):
            self._images.publish()
        with self._store.in_one_commit():
            lines = {image: self._store.lines_resting_on(image, turns) for image in IMAGES}
            yield
            for image in IMAGES:
                self._images.take_lines(image, lines[image])

    @contextmanager
    def _lines_lost(self, turns: Sequence[str]) -> Iterator[None]:
        """One commit in which turns go, and the lines that rest on them out of every version of the images."""
        if any(self._ever_resting_on(turns).values()):
            self._images.publish()
        with self._store.in_one_commit():
            lost = self._ever_resting_on(turns)
            yield
            for image, lines in lost.items():
                if lines:
                    self._store.lose_lines(image, lines)

    def _ever_resting_on(self, turns: Sequence[str]) -> dict[Image, set[str]]:
        """The lines that ever rested on these turns; one that a person pinned rests on their own word."""
        pinned = {
            line.strip() for image in IMAGES for pin in self._store.pins(image) for line in pin.split("\n")
        }
        return {image: set(self._store.lines_ever_resting_on(image, turns)) - pinned for image in IMAGES}

    def _tell_index(self, gone: Sequence[str]) -> None:
        """Texts are new or gone."""
        raise NotImplementedError
