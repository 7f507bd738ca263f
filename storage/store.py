"""What a store of one memory can do, as protocols: verbs of the domain, each one transaction.

``storage.sqlite.store.SqliteStore`` is the first form; ``tests/contract`` says what any other must do as well. Ids and
times come from whoever calls. What a verb returns as *gone* are ids that an index of vectors may let go of.

Promises: a verb is one commit or nothing; a text, its words and its place in the queue for vectors are one commit; what
belongs to one session is never touched by a verb on another; order is by ``position``, never by clock or insertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from domain.facts import ImageDraft, LineEvidence
from domain.records import (
    ErasureScope,
    Finish,
    Image,
    ImageVersion,
    InFlight,
    Origin,
    Quoted,
    Removed,
    Renewal,
    Role,
    Round,
    Session,
    Summary,
    Turn,
)
from domain.vectors import VectorRow
from storage.door_store import DoorStore
from storage.fact_store import FactStore
from storage.past_store import PastStore
from storage.tree_store import TreeStore

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.vectors import Half
    from storage.sqlite.schema import WordTable

    Ids = npt.NDArray[np.bytes_]
    Integers = npt.NDArray[np.int64]

#: What images are to become, with what their lines rest on, or as plain text.
ImageDrafts = Mapping[Image, ImageDraft | str]


@dataclass(frozen=True, slots=True)
class TurnRow:
    """Where one turn stands, without its text.

    ``length`` is in tokens, ``marks`` the bits of ``lexicon.MARKS``; ``position`` orders the turns of one session.
    """

    seq: int
    session: int
    by_user: bool
    length: int
    marks: int
    timestamp: str
    position: int


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands: row numbers in ascending order and how often in each."""

    seqs: Integers
    counts: Integers


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn that is to be stored: its id, when it was said, by whom, the words; what of them repeats a memory."""

    text_id: str
    timestamp: str
    role: Role
    words: str
    quoted: tuple[Quoted, ...] = ()
    #: Whether the built-in stand-in said it.
    standin: bool = False


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary that is to be stored; without text none takes the place of the one before."""

    text_id: str
    timestamp: str
    text: str


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """How many texts have a vector of the present model, still need one, and were set aside."""

    vectors: int
    pending: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """A text that gets no vector, and what the server said."""

    text_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErasureNote:
    """What was taken out and must be in no file any more: texts, and vectors as they lie in files."""

    texts: tuple[str, ...]
    vectors: tuple[bytes, ...]


class SessionStore(Protocol):
    """Sessions, their rounds and their summaries. Several sessions may be active."""

    def newest_active(self) -> Session | None:
        """The active session of the terminal that stands last; those of other doors are none of it."""
        ...

    def sessions_of_door(self, door: str, key: str | None = None) -> list[Session]:
        """The sessions of a client, oldest first; with a key only those of that conversation."""
        ...

    def active_sessions(self) -> list[Session]:
        """Every active session, in order."""
        ...

    def session(self, session_id: str) -> Session | None:
        """The session with this id."""
        ...

    def recent_sessions(self, limit: int, offset: int) -> list[Session]:
        """Sessions, newest first."""
        ...

    def session_counts(self) -> tuple[int, int]:
        """How many sessions are active, and how many archived."""
        ...

    def rounds(self, session_id: str, last: int | None = None) -> tuple[Round, ...]:
        """The rounds of a session in order, or its last ones."""
        ...

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds of a session that are not yet summarised."""
        ...

    def turns_of(self, session_id: str) -> list[Turn]:
        """The messages of a session, in order."""
        ...

    def turns_with_ids(self, text_ids: Sequence[str]) -> list[Turn]:
        """The messages with these ids, in order."""
        ...

    def turns_beginning(self, prefix: str) -> list[Turn]:
        """The turns whose ids begin so, in their order of time."""
        ...

    def turns_after(self, seq: int, most: int) -> list[Turn]:
        """Up to ``most`` messages that were stored after this number."""
        ...

    def before(self, turn: Turn, count: int) -> list[Turn]:
        """The messages right before one, in its session."""
        ...

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session."""
        ...

    def summaries_with_ids(self, text_ids: Sequence[str]) -> list[Summary]:
        """The summaries with these ids."""
        ...

    def every_summary(self) -> list[Summary]:
        """Every summary, in order."""
        ...

    def start_session(
        self,
        session_id: str,
        now: str,
        began: str | None = None,
        *,
        before: str | None = None,
        door: str = "",
        door_key: str | None = None,
    ) -> Session:
        """A new active session: the last of all, or right ``before`` one, or before the first that ``began`` later."""
        ...

    def store_round(
        self,
        session_id: str,
        turns: Sequence[NewTurn],
        finish: Finish,
        now: str,
        *,
        instead_of: Round | None = None,
        before: Round | None = None,
        served: Sequence[str] = (),
    ) -> Round:
        """A round at the end of its session, or right before another; what was in flight there is settled.

        The turns, summaries and chapters that ``served`` it are visited with that.
        """
        ...

    def store_alone(self, session_id: str, turn: NewTurn, now: str) -> Turn:
        """A message that nobody answers, at the end of its session: a round without a reply, in no context."""
        ...

    def end_session(self, session_id: str, ended: str) -> None:
        """Archive a session as it is."""
        ...

    def fold(self, session_id: str, upto: int, summary: NewSummary) -> list[str]:
        """Let the rounds as far as the round ``upto`` leave the context into a summary. Returns what is gone."""
        ...

    def set_summary(self, session_id: str, summary: NewSummary) -> list[str]:
        """Other wording for what the present summary was made from; stages of a save are void. Returns what is gone."""
        ...

    def renew_summary(self, session_id: str, summary: NewSummary, upto: int) -> list[str]:
        """A summary made from the rounds up to ``upto`` in place of the present one. Returns what is gone."""
        ...

    def reset(self, session_id: str) -> Removed:
        """Remove the rounds of a session that are in the context, with its summary. Returns what was removed."""
        ...

    def put_back(self, removed: Removed) -> list[str]:
        """Put back what a reset removed; a summary gives way, rounds that stand there follow. Returns what is gone."""
        ...

    def undo(self, session_id: str, count: int) -> tuple[Round, ...]:
        """Remove the last rounds of a session. Returns them."""
        ...

    def redo(self, rounds: Sequence[Round]) -> None:
        """Put back, where they stood, rounds that ``undo`` removed and after which nothing new was said."""
        ...

    def archive(
        self,
        session_id: str,
        summary: NewSummary,
        images: ImageDrafts,
        next_id: str | None,
        waiting: Sequence[Image] = (),
    ) -> list[str]:
        """Close a session with summary and images, and start the next. Returns what is gone.

        The images that are ``waiting`` are asked for, to be made anew.

        Of a quotation that was found in a memory a reference stays; everything else stays word for word.
        """
        ...

    def last_save(self, present: str) -> str | None:
        """The session whose save opened this one, as long as it can be taken back."""
        ...

    def undo_save(self, session_id: str, present: str, now: str) -> list[str] | None:
        """Make an archived session what it was, active in place of the empty ``present``, and unlearn what it came to.

        Returns what is gone; None, and nothing, when anything was said, or is gone, since the save.
        """
        ...

    def resume(self, session_id: str, present: str, now: str) -> None:
        """Make an archived session active in place of ``present``, which goes when it is empty, or is archived."""
        ...

    def withheld(self) -> list[Turn]:
        """Every hidden message, in order."""
        ...

    def withhold(self, text_ids: Sequence[str]) -> list[str]:
        """Keep turns out of every index from now on; they stay stored. Returns what is gone."""
        ...

    def release(self, text_ids: Sequence[str]) -> list[str]:
        """Let turns be found again, and ask for what was made without them. Returns what of it is gone."""
        ...


class PinStore(Protocol):
    """The lines that rewrites of an image must keep."""

    def pins(self, image: Image) -> tuple[str, ...]:
        """The pinned lines of an image, in order."""
        ...

    def pin(self, image: Image, now: str, text: str, *, added: bool = False) -> None:
        """Keep a line; ``added`` when it is put into the image with that."""
        ...

    def unpin(self, image: Image, text: str) -> bool:
        """Let go of a pin. Returns whether its line was put into the image with it."""
        ...


class DraftStore(Protocol):
    """What is on its way and not yet part of the memory."""

    def in_flight(self, session_id: str) -> InFlight | None:
        """What was typed in a session and has no whole reply yet."""
        ...

    def every_in_flight(self) -> list[InFlight]:
        """What is in flight in any session."""
        ...

    def note_in_flight(self, session_id: str, now: str, text: str) -> None:
        """Store what was typed, before anything else is done with it."""
        ...

    def keep_partial(self, session_id: str, partial: str) -> None:
        """Store how much of a reply has arrived."""
        ...

    def drop_in_flight(self, session_id: str) -> None:
        """Remove what is in flight in a session."""
        ...

    def stages(self, session_id: str) -> dict[str, str]:
        """The results that an unfinished save of this session has stored, by stage."""
        ...

    def keep_stage(self, session_id: str, stage: str, now: str, result: str) -> None:
        """Store the result of one stage of a save."""
        ...

    def drop_stages(self, session_id: str) -> None:
        """Remove the stored results of a save."""
        ...


class ImageVersionStore(Protocol):
    """Every version of the two images, and which of them was last laid into its file.

    That is a number, 0 when what the file says was erased, None when nothing was ever laid there.
    """

    def versions(self, image: Image) -> list[ImageVersion]:
        """Every version of an image, oldest first."""
        ...

    def newest_version(self, image: Image) -> ImageVersion | None:
        """The version in force."""
        ...

    def version(self, number: int) -> ImageVersion | None:
        """The version with this number."""
        ...

    def add_version(
        self, image: Image, text: str, origin: Origin, now: str, session_id: str | None = None
    ) -> ImageVersion:
        """Store a version, which is in force from then on."""
        ...

    def add_laid_version(self, image: Image, text: str, origin: Origin, now: str) -> ImageVersion:
        """A version that stands in the file already."""
        ...

    def line_evidence(self, image: Image) -> list[LineEvidence]:
        """The messages that each line of the version in force rests on."""
        ...

    def every_line_evidence(self, image: Image) -> list[LineEvidence]:
        """The same for the lines of every version."""
        ...

    def lines_resting_on(self, image: Image, turns: Sequence[str]) -> list[str]:
        """The lines of the version in force that rest on any of these messages."""
        ...

    def laid_version(self, image: Image) -> int | None:
        """The version that was last written to the file."""
        ...

    def set_laid_version(self, image: Image, number: int | None) -> None:
        """Note which version was last written to the file."""
        ...


class ImageStore(PinStore, ImageVersionStore, Protocol):
    """All that makes the images."""

    def in_one_commit(self) -> AbstractContextManager[None]:
        """Everything inside the block is committed together, or not at all."""
        ...


class WordStore(Protocol):
    """The index of words."""

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """Where each term occurs; a term in more than ``cap`` texts is left out."""
        ...

    def rows(self, table: WordTable) -> int:
        """How many texts an index of words has."""
        ...


class TurnStore(Protocol):
    """Turns, summaries and sessions by number, for recall."""

    def after(self, seq: int, most: int) -> list[TurnRow]:
        """Up to ``most`` rows of messages that were stored after this number."""
        ...

    def turns(self, seqs: Sequence[int]) -> list[Turn]:
        """The messages with these numbers."""
        ...

    def seqs_of(self, text_ids: Sequence[str]) -> dict[str, int]:
        """The number of each of these messages."""
        ...

    def session_number(self, session_id: str) -> int | None:
        """The number of a session."""
        ...

    def summaries(self, sessions: Sequence[int]) -> dict[int, Summary]:
        """The summary of each of these sessions, by number."""
        ...

    def sessions_of_summaries(
        self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()
    ) -> dict[int | str, int]:
        """The session of each of these summaries, given by number or by id."""
        ...

    def turns_of_facts(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Which messages each of these facts rests on, as pairs of numbers."""
        ...

    def fadings(self) -> int:
        """A number that changes whenever anything was archived or restored."""
        ...


class Archive(TurnStore, FactStore, TreeStore, Protocol):
    """What was said and what is known, for recall."""

    def rows(self, table: WordTable) -> int:
        """How many texts an index of words has."""
        ...


class VectorStore(Protocol):
    """Every vector that was ever made, the queue of texts that need one, and checksums of the index made from them."""

    def in_one_commit(self) -> AbstractContextManager[None]:
        """Everything inside the block is committed together, or not at all."""
        ...

    def waiting(self, limit: int = ...) -> list[str]:
        """The texts that need a vector, those that wait longest first."""
        ...

    def try_again(self) -> None:
        """Put the texts that were set aside back into the queue."""
        ...

    def effort(self) -> tuple[int, int]:
        """How many texts wait, and how many characters they have."""
        ...

    def set_aside(self) -> list[SetAside]:
        """The texts that get no vector, with the reason."""
        ...

    def embedding_counts(self, model: str) -> EmbeddingCounts:
        """How many texts have a vector of this model, need one, and were set aside."""
        ...

    def dimension(self, model: str) -> int | None:
        """The length of this model's vectors, once one is stored."""
        ...

    def set_dimension(self, model: str, dimension: int) -> None:
        """Note the length of this model's vectors."""
        ...

    def take_stock(self, model: str) -> Ids:
        """The ids of all texts that have a vector of this model."""
        ...

    def with_vector(self, model: str, digests: Mapping[str, str]) -> set[str]:
        """The texts whose vector of this model was made from exactly these words, given by digest."""
        ...

    def keep_vector(self, text_id: str, model: str, digest: str, vector: Half) -> None:
        """Store the vector of a text, with the digest of the words it was made from."""
        ...

    def refuse(self, text_id: str, reason: str) -> None:
        """Set a text aside: it gets no vector."""
        ...

    def done(self, digests: Mapping[str, str], model: str) -> None:
        """Take texts out of the queue whose vector is stored."""
        ...

    def forget_vectors(self, text_ids: Iterable[str]) -> None:
        """Remove the vectors of these texts."""
        ...

    def vector_rows(self, model: str, text_ids: Iterable[str]) -> list[VectorRow]:
        """The rows of these texts, as they enter the index."""
        ...

    def vector_batches(self, model: str, size: int = ...) -> Iterator[list[VectorRow]]:
        """Every row of this model, in batches."""
        ...

    def checksums(self) -> dict[str, str]:
        """The checksum of each file of the index."""
        ...

    def keep_checksums(self, written: Mapping[str, str], gone: Iterable[str]) -> None:
        """Store the checksums of written files, and remove those of deleted ones."""
        ...

    def forget_checksums(self) -> None:
        """Remove every checksum."""
        ...


class ErasureStore(Protocol):
    """Taking out for good."""

    def holds(self, text: str) -> bool:
        """Whether anything that is kept, or names a kind of it, holds exactly this text."""
        ...

    def take_out(self, chosen: ErasureScope) -> None:
        """Remove all that was chosen; note that files are to be cleaned, and what is to be made anew."""
        ...

    def renewals(self) -> list[Renewal]:
        """What has to be rebuilt."""
        ...

    def make_summary_anew(self, renewal: Renewal, summary: NewSummary, upto: int) -> list[str] | None:
        """The summary that was asked for. Returns what is gone; None, and nothing, when it is asked for no more."""
        ...

    def make_image_anew(
        self, renewals: Sequence[Renewal], base: ImageVersion | None, draft: ImageDraft | str, now: str
    ) -> bool:
        """The image that was asked for, made from ``base``. False, and nothing, when either is not so any more."""
        ...

    def erasure_note(self) -> ErasureNote | None:
        """The erasure that has not been finished, if any."""
        ...

    def end_erasure(self) -> None:
        """Leave no byte of what was taken out, nor of the note, in the store's own files."""
        ...


class Store(
    SessionStore,
    FactStore,
    DraftStore,
    ImageStore,
    WordStore,
    TurnStore,
    VectorStore,
    ErasureStore,
    DoorStore,
    PastStore,
    TreeStore,
    Protocol,
):
    """All of one person's memory but files and indexes that are made from it."""

    def problems(self) -> list[str]:
        """What an examination of the store finds; empty when all is well."""
        ...

    def differing(self) -> list[str]:
        """The rows whose texts are not those that were stored, as TABLE KEY; empty when all is well."""
        ...

    def close(self) -> None:
        """Close the connection; the store cannot be used afterwards."""
        ...
