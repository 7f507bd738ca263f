"""What a model is asked for so that talk becomes what is known: notes, a comparison, operations on an image, a chapter.

Promises: nothing is believed here; what comes back is the reply as it was written, for ``facts`` to read leniently and
to check. No way of asking for JSON is relied upon, since servers refuse it, ignore it, or answer with blanks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Reply, ReplyEvent
from domain.languages import Language, language_of
from domain.workers import Stop
from facts.slots import NOBODY, Names
from models.replies import answer_of, summary_of

if TYPE_CHECKING:
    from domain.facts import Fact, NewFact
    from domain.records import Turn
    from domain.tree import Member
    from models.chapter_prompts import Material
    from models.chat import Message
    from models.tasks import ImageTask, Task

#: The longest turn that is put before a model to be noted, in characters, and the shortest worth trying.
_LONGEST_TURN, _SHORTEST_TURN = 8_000, 400


class NotingTasks:
    """The tasks of ``Llm`` by which something becomes known. Each raises ModelError or Interrupted.

    ``names`` are those by which the two who talk are known: the prompts call them so.
    """

    def notes(
        self,
        window: Sequence[Turn],
        before: Sequence[Turn],
        language: Language,
        stop: Stop,
        names: Names = NOBODY,
    ) -> str:
        """The notes of a window, as the model wrote them; its turns are numbered from 1.

        Long turns are shortened for a model that cannot take the window whole.
        """
        task, longest = self._task(language, names), _LONGEST_TURN
        while True:
            try:
                return self._answer(task, "notes", task.notes(window, before, longest), stop)
            except errors.ContextTooLong:
                if longest <= _SHORTEST_TURN:
                    raise
                longest //= 4

    def compare(
        self,
        new: Sequence[NewFact],
        known: Sequence[Fact],
        language: Language,
        stop: Stop,
        names: Names = NOBODY,
    ) -> str:
        """What new facts do to known ones, as the model wrote it; both are numbered from 1."""
        task = self._task(language, names)
        return self._answer(task, "compare", task.compare(new, known), stop)

    def image_operations(
        self, about: ImageTask, language: Language, stop: Stop, names: Names = NOBODY
    ) -> str:
        """The operations that bring an image up to date, as the model wrote them."""
        task = self._task(language, names)
        return self._answer(task, about.image, task.image_operations(about), stop)

    def chapter(
        self, members: Sequence[Member], material: Material, stop: Stop, names: Names = NOBODY
    ) -> str:
        """What these turns, summaries or chapters came to: a title, and the text below it, in their language."""
        task = self._task(language_of(*(one.text for one in members)), names)
        events = self._events(task, "chapter", task.chapter(members, material), stop)
        return summary_of(next(event for event in events if isinstance(event, Reply)))

    def _answer(self, task: Task, name: str, messages: Sequence[Message], stop: Stop) -> str:
        return answer_of(self._events(task, name, messages, stop))

    def _task(self, language: Language, names: Names = NOBODY) -> Task:
        """How a task is put to a model."""
        raise NotImplementedError

    def _events(self, task: Task, name: str, messages: Sequence[Message], stop: Stop) -> Iterator[ReplyEvent]:
        """The events of one reply to a task."""
        raise NotImplementedError
