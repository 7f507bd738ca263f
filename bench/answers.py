"""How well questions are answered from memory alone.

    python -m bench.answers --data locomo10.json [--base http://127.0.0.1:8920/v1 --model NAME --keep FOLDER]

Every history of a set is lived in the real ``Memory``; each question is then asked as ``/ask`` asks it: planned,
searched, looked at again, answered. The model is any OpenAI-compatible server, that of ``.env`` unless another one is
given; each of its replies is kept in ``--keep`` (beside the file), so that a run that was cut off, or is done again,
asks only what is new. ``locomo10.json`` as LoCoMo publishes it, and any set that ``bench.recall_sets`` reads, will do.

For LoCoMo (and any set whose questions have answers) the figure is that of its own scripts, as SimpleMem reports it: F1
of tokens in percent, lower case, without articles and punctuation, stemmed by Porter. Where several things are asked
for (multi-hop) each of them is looked for among those that were answered; of an open-domain answer what stands before
the semicolon counts. A question that seeks what was never said (adversarial) is right where the reply says that the
memory holds none, whatever answer would be a trap; any other one without a right answer is not asked. The first line of
a reply is its answer; quotations are its evidence and do not count. Chinese counts by character. Tokens a question are
all that was put before the model for it and came back, by our own estimate.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import re
import string
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from Stemmer import Stemmer

from bench.kept_replies import KeptReplies, KeptTransport
from bench.recall_life import Embedding, LivedHistory, StandingClock, Timed
from bench.recall_sets import Set, SetQuestion, read
from config import home_of, load_settings
from domain import errors
from domain.events import MemoryAnswer
from domain.quotations import without_quotations
from domain.workers import CancelToken
from jobs.asking import Asking
from llm import Llm
from memory import Memory
from models.chat import Patience

#: The category of questions that nothing which was said answers.
_NEVER_SAID = "adversarial"
_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_CHARACTER = re.compile("[\u3400-\u9fff]")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。！？；：、“”‘’《》（）")
_PATIENCE = 3600.0
#: Always the same, so that a question takes as many tokens whenever it is asked.
_MARK = "=== 000000000000000000000000 ==="


class Unanswered(Exception):
    """The server gave no reply, so that nothing that follows could be measured."""


@dataclass(frozen=True)
class JudgedAnswer:
    """One question, what was answered, how near that is to what is right (0 to 1), and what it took."""

    question: SetQuestion
    told: str
    score: float
    calls: int
    tokens: int


def tokens_of(text: str, stemmer: Stemmer) -> list[str]:
    """The tokens of an answer as LoCoMo counts them.

    >>> tokens_of("The cats, and 7 May!", Stemmer("porter"))
    ['cat', '7', 'may']
    """
    bare = _CHARACTER.sub(lambda found: f" {found[0]} ", text.lower().translate(_PUNCTUATION))
    words: list[str] = stemmer.stemWords(_ARTICLES.sub(" ", bare).split())
    return words


def f1(told: str, right: str, stemmer: Stemmer) -> float:
    """How far the tokens of two answers agree, 0 to 1."""
    found, wanted = tokens_of(told, stemmer), tokens_of(right, stemmer)
    same = sum((Counter(found) & Counter(wanted)).values())
    return 2 * same / (len(found) + len(wanted)) if same else 0.0


def score(told: str, known: bool, question: SetQuestion, stemmer: Stemmer) -> float:
    """How right an answer is, 0 to 1, by the rule of its category."""
    if question.category == _NEVER_SAID:
        return float(not known)
    if question.category == "multi-hop":
        parts = [part.strip() for part in told.split(",")]
        wanted = [part.strip() for part in question.answer.split(",")]
        return sum(max(f1(part, one, stemmer) for part in parts) for one in wanted) / len(wanted)
    right = question.answer.split(";")[0] if question.category == "open-domain" else question.answer
    return f1(told, right, stemmer)


def first_line(answer: MemoryAnswer) -> str:
    """The answer itself, without its quotations."""
    lines = without_quotations(answer.text).splitlines()
    return next((line.strip(" *#") for line in lines if line.strip(" *#")), "")


def chosen(data: Set, sample: int | None, limit: int | None) -> list[SetQuestion]:
    """The questions to ask that can be judged: ``sample`` of each category, spread evenly, and ``limit`` in all.

    The categories take turns, so that whatever the limit each has its share.
    """
    by_category: dict[str, list[SetQuestion]] = defaultdict(list)
    for question in data.questions:
        if question.answer or question.category == _NEVER_SAID:
            by_category[question.category].append(question)
    shares = [
        [questions[at * len(questions) // sample] for at in range(sample)]
        if sample and sample < len(questions)
        else questions
        for questions in by_category.values()
    ]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*shares))
    return [question for question in in_turn if question][:limit]


def judged(
    data: Set, questions: Sequence[SetQuestion], replies: KeptReplies, options: argparse.Namespace
) -> Iterator[JudgedAnswer]:
    """Live each history that is asked about, and ask. Raises Unanswered."""
    stemmer = Stemmer("porter")
    for name, talks in data.histories.items():
        asked = [question for question in questions if question.history == name]
        if not asked:
            continue
        transport = KeptTransport(replies)
        with _opened(data.language, transport, options) as (history, asking):
            for number, talk in enumerate(talks):
                history.live(number, talk)
            history.memory.index.settle(_PATIENCE)
            session = history.memory.sessions.resume_or_start()[0].session_id
            for question in asked:
                history.clock.now = talks[-1].date + timedelta(days=1)
                transport.calls = transport.tokens = 0
                answer = _asked(asking, question.text, session, transport)
                assert isinstance(answer, MemoryAnswer)
                told = first_line(answer)
                right = score(told, answer.known, question, stemmer)
                yield JudgedAnswer(question, told, right, transport.calls, transport.tokens)


def _asked(asking: Asking, text: str, session: str, transport: KeptTransport) -> object:
    """What is answered. Raises Unanswered where the server gave no reply, whatever the program made of that."""
    try:
        *_, answer = asking.answer_question(text, session, CancelToken())
    except errors.ModelError as fault:
        raise Unanswered(str(transport.failure or fault)) from fault
    if transport.failure:
        raise Unanswered(str(transport.failure)) from transport.failure
    return answer


@contextmanager
def _opened(
    language: str, transport: KeptTransport, options: argparse.Namespace
) -> Iterator[tuple[LivedHistory, Asking]]:
    """A history to be lived, and who answers from it."""
    with tempfile.TemporaryDirectory(prefix="old-friend-bench-") as folder:
        flags = {
            "OPENAI_API_BASE": "http://kept.invalid/v1", "CHAT_MODEL": options.model,
            "RECALL_PLANNING": options.planning, "REFLECTION_ROUNDS": str(options.rounds),
        }  # fmt: skip
        settings = load_settings(Path(folder), {}, flags)
        log, clock = (logging.Logger("bench", logging.CRITICAL), StandingClock(datetime(2020, 1, 1).astimezone()))
        llm = Llm(
            settings, log, clock=clock, transport=lambda: transport, patience=Patience(tries=1), boundary=lambda: _MARK
        )
        embedder = Timed(Embedding(options.embeddings).opened(llm), options.cache)
        numbers = itertools.count()
        memory = Memory(settings.data_dir, embedder, clock=clock, new_id=lambda: f"{next(numbers):08x}", log=log)
        try:
            memory.start()
            history = LivedHistory(memory, llm, clock, settings, settings, embedder, language)
            yield history, Asking(settings, memory, llm)
        finally:
            memory.close()
            llm.close()


def table(found: Sequence[JudgedAnswer]) -> Iterator[str]:
    """The figures by category; over all, those that have an answer."""
    rows: dict[str, list[JudgedAnswer]] = defaultdict(list)
    for one in found:
        rows[one.question.category].append(one)
    rows["all with an answer"] = [one for one in found if one.question.category != _NEVER_SAID]
    yield "| category | questions | F1 | calls a question | tokens a question |"
    yield "|---|---|---|---|---|"
    for name, ones in rows.items():
        if ones:
            right, calls, tokens = (
                sum(values) / len(ones)
                for values in zip(*((one.score, one.calls, one.tokens) for one in ones), strict=True)
            )
            yield f"| {name} | {len(ones)} | {100 * right:.1f} | {calls:.1f} | {tokens:,.0f} |"


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.answers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="locomo10.json, or a set of bench/recall_sets.py")
    parser.add_argument("--base", help="an OpenAI-compatible server; else that of .env")
    parser.add_argument("--model")
    parser.add_argument("--key")
    parser.add_argument("--keep", type=Path, help="a folder for requests and replies; else one beside the set")
    parser.add_argument("--limit", type=int, help="so many questions in all")
    parser.add_argument("--sample", type=int, help="so many questions of each category")
    parser.add_argument("--planning", choices=("off", "auto", "always"), default="always")
    parser.add_argument("--rounds", type=int, default=2, help="looks whether it is enough")
    parser.add_argument("--embeddings", choices=("sentence", "hashed"), default="sentence")
    parser.add_argument("--cache", type=Path, help="a folder for vectors")
    parser.add_argument("--show", action="store_true", help="each question with its answer")
    options = parser.parse_args(given)
    own = load_settings(home_of(Path(__file__).resolve().parents[1]), os.environ, {})
    if not options.base:
        options.key = options.key or own.openai_api_key
    options.base, options.model = options.base or own.openai_api_base, options.model or own.chat_model
    options.key = options.key or ""
    options.keep = options.keep or options.data.with_suffix(".replies")
    if not (options.base and options.model):
        parser.error("no model: give --base and --model, or OPENAI_API_BASE and CHAT_MODEL in .env")
    return options


def main(given: Sequence[str] | None = None) -> None:
    """Ask, judge, and print the figures."""
    options = _arguments(given)
    options.keep.mkdir(parents=True, exist_ok=True)
    data, found = read(options.data), list[JudgedAnswer]()
    replies = KeptReplies(options.base, options.keep, options.model, options.key)
    questions = chosen(data, options.sample, options.limit)
    if not questions:
        raise SystemExit(f"{options.data}: none of its questions has an answer")
    broken = ""
    try:
        for one in judged(data, questions, replies, options):
            found.append(one)
            if options.show:
                right = one.question.answer or "(none)"
                print(f"{one.score:.2f}  {one.question.text}\n      {one.told or '-'}  |  {right}", flush=True)
    except Unanswered as fault:
        first = next(iter(str(fault).splitlines()), "")
        broken = f"stopped at question {len(found) + 1} of {len(questions)}: {first}; run it again to go on"
    print(f"\n## {data.name}, answered by {options.model}\n")
    print("\n".join(table(found)))
    print(f"\n{replies.asked} new replies, the others were kept")
    if broken:
        raise SystemExit(broken)


if __name__ == "__main__":
    main()
