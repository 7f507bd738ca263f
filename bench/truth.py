"""Whether memory stays true while a life changes.

    python -m bench.truth --life life-en.json [life-zh.json] --base http://127.0.0.1:8920/v1 --keep FOLDER [--json]
    python -m bench.truth ... --wrong 0.1    a tenth of the facts in the model's notes comes back wrong

The evenings are lived with fixed words on both sides (``bench.living``); a real model makes summaries, notes,
comparisons and personas of them, each of its replies kept. Then each question is asked in a new session on the day
``asked_on``, and no answer is wanted: what counts is what is *handed over* to answer it from, that is personas,
summary, facts and recalled records, without the standing system prompt and without the question.

Answerable: every expression in ``needs`` stands in it. Stale: one in ``not_as_present`` stands in it, and nothing
beside it (in the fields of its record, or near it on its line) says that it is over, until when it held, that another
took its place, or that it is in doubt. The day on which something was said is no such mark. The secret is what the
person asked to have forgotten: no mark excuses it, and it may stand in no later request at all. An expression is only a
proxy for a reader, so each finding is printed with its line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.kept_replies import Messages
from bench.living import Life, Lived, Seen, lived, read_life
from bench.mistakes import MistakenReplies
from domain.records import PERSONAS
from language.scripts import estimate, estimate_all

_FORGOTTEN = "asked to be forgotten"
#: How far from what is stale its mark may stand, in characters.
_NEAR = 120
#: What a record says of itself that tells nothing about whether its text still holds.
_PLAIN_FIELDS = ("conversation", "when", "speaker", "said", "since", "source", "place")
#: Where a record tells what was said.
_TEXTS = ("text", "summary", "known")
_MARK = re.compile(
    r"""
    \b(?: until | till | up\ to | no\ longer | any\ ?more | used\ to | formerly? | previous(?:ly)? | earlier | ex
        | end(?:s|ed) | over | stopped | quit | given\ up | gave\ up | called\ off | cancelled | broke\ up | split\ up
        | changed? | replaced | corrected | misheard | mistyped | autocorrect(?:ed|ing) | instead | rather\ than | never
        | not\ (?:as|the|an?)?\ ?["“']? (?=[A-Z0-9£]) | past | last\ day | walked?\ out | before | without
        | untrue | not\ true | was\ set\ for\ \d{4}
        | only\ (?:planned|wished|supposed|joked) | doubt(?:s|ed|ful)? | may\ not
        | might\ not | uncertain | unconfirmed
        | joke[ds]? | joking | imagin(?:e|ed|ary) | suppos(?:e|ed|ing) | hypothetical(?:ly)? | if | would )\b
    | \d{4}(?:-\d\d){0,2} \ ? (?: – | — | - | \bto\b | \bto\ ) \ ? (?:\d{4})
    | 直到 | 为止 | 截至 | 已?结束 | 不再 | 不是 | 以前 | 之前 | 此前 | 从前 | 原来 | 原先 | 曾经?
    | 前(?:女友|男友|公司|任) | 后来 | 离开 | 裁员 | 搬离 | 搬走 | 改[成为了] | 更正 | 打错 | 换[成了] | 变[成为了]
    | 分手 | 取消 | 玩笑 | 假如 | 如果 | 存疑 | 原定\ \d{4} | 可能(?:已|不) | 不一定 | (?:至|到|～|~)\ ?\d{4}
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Judged:
    """What was handed over for one question: what is ``missing`` of what it needs, and the ``stale`` lines in it.

    ``needing``: something can be known at all. ``tokens`` are those handed over, by our own estimate.
    """

    life: str
    number: str
    kind: str
    question: str
    needing: bool
    missing: tuple[str, ...]
    stale: tuple[str, ...]
    tokens: int
    path: str = ""

    @property
    def answerable(self) -> bool:
        """Whether all that is needed stands in it."""
        return not self.missing


@dataclass(frozen=True)
class Truth:
    """All that was measured of one life. ``requests`` reached the model.

    ``secret`` are those that hold it of the ``after_secret`` that came after it was told; None where there is none.
    ``mistakes`` counts the facts that the model got wrong, by kind; ``stated`` are those of them that are believed, or
    that a persona or a question's prompt says. ``tasks`` are the calls and tokens of each, by our own estimate.
    """

    life: str
    judged: tuple[Judged, ...]
    requests: int
    after_secret: int | None
    secret: tuple[str, ...]
    unfounded: tuple[str, ...]
    lines: int
    tasks: Mapping[str, tuple[int, int]]
    mistakes: Mapping[str, int]
    stated: tuple[str, ...]


def handed_over(messages: Messages, said: str) -> str:
    """What a request holds to answer ``said`` from.

    >>> handed_over([{"role": "system", "content": "Be kind.\\n\\n# Who you are\\nJuniper."},
    ...              {"role": "user", "content": "Who am I?"}], "Who am I?")
    '# Who you are\\nJuniper.'
    """
    first, *rest = [one["content"] for one in messages]
    rest = [*rest[:-1], rest[-1].removesuffix(said).rstrip()]
    begins = first.find("\n# ")
    layers = first[begins + 1 :] if begins >= 0 else ""
    return "\n".join(part for part in (layers, *rest) if part.strip())


def stale_lines(expression: str, handed: str) -> Iterator[str]:
    """The passages in which an expression stands with no mark beside it.

    A record says what became of something once: a remark in which the expression stands counts for all of it.
    """
    wanted = re.compile(expression)
    for line in handed.splitlines():
        passages = list(_passages(line))
        if any(wanted.search(about) and _MARK.search(about) for about, _ in passages):
            continue
        for about, text in passages:
            parts = [] if _MARK.search(about) else text.splitlines()
            yield from (part for part in parts if any(not _marked(part, at) for at in wanted.finditer(part)))


def _passages(line: str) -> Iterator[tuple[str, str]]:
    """The passages of a line, each with what its record says of it; a line that is no record is one passage."""
    try:
        record = json.loads(line)
    except ValueError:
        record = line
    yield from _told_in(record) if isinstance(record, dict) else [("", line)]


def _told_in(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is said, each message with the remarks behind it; then the other texts with the fields beside them."""
    said: list[tuple[str, str]] = []
    for one in record.get("said", ()):
        if isinstance(one, dict):
            said += [("", str(words)) for words in one.values()]
        elif said:
            said[-1] = (f"{said[-1][0]} {one}".strip(), said[-1][1])
    yield from said
    about = " ".join(f"{name} {value}" for name, value in record.items() if name not in (*_PLAIN_FIELDS, *_TEXTS))
    yield from ((about, str(record[name])) for name in _TEXTS if name in record)


def _marked(line: str, found: re.Match[str]) -> bool:
    near = line[max(0, found.start() - _NEAR) : found.end() + _NEAR]
    return _MARK.search(near) is not None


def judged(life: str, question: Mapping[str, Any], seen: Seen) -> Judged:
    """One question, by what was handed over for it."""
    handed = handed_over(seen.messages, seen.said)
    needs = question["needs"] or ()
    return Judged(
        life,
        question["id"],
        question["class"],
        question["q"],
        question["needs"] is not None,
        tuple(need for need in needs if not re.search(need, handed)),
        tuple(_found_stale(question, handed)),
        estimate(handed),
        seen.path.name,
    )


def _found_stale(question: Mapping[str, Any], handed: str) -> Iterator[str]:
    for expression in question["not_as_present"]:
        if question["class"] == _FORGOTTEN:
            yield from (line for line in handed.splitlines() if re.search(expression, line))
        else:
            yield from stale_lines(expression, handed)


def secrets_of(life: Life) -> tuple[str, ...]:
    """What the person asked to have forgotten, as expressions."""
    asked = [question for question in life["questions"] if question["class"] == _FORGOTTEN]
    return tuple(dict.fromkeys(one for question in asked for one in question["not_as_present"]))


def requests_holding(expressions: Sequence[str], seen: Sequence[Seen]) -> tuple[int, tuple[str, ...]]:
    """How many requests came after these words were said, and the names of those that hold them."""
    wanted = re.compile("|".join(expressions) or r"(?!)")
    told = next((at for at, one in enumerate(seen) if wanted.search(one.said)), len(seen))
    later = seen[told + 1 :]
    holding = [one for one in later if wanted.search(_all_but_said(one))]
    return len(later), tuple(f"{one.kind} {one.path.name}" for one in holding)


def _all_but_said(one: Seen) -> str:
    """A request without the message that it answers, or of which it asks whether it is to be forgotten."""
    *before, last = [message["content"] for message in one.messages]
    asked = _IN_QUESTION.search(last)
    rest = re.sub(rf'^\{{"turn": {asked[1]}, .*$', "", last, flags=re.MULTILINE) if asked else last
    return "\n".join([*before, rest.removesuffix(one.said) if one.said else rest])


_IN_QUESTION = re.compile(r'^\{"in_question": (\d+)\}$', re.MULTILINE)


def unfounded_lines(whole: Lived) -> tuple[int, tuple[str, ...]]:
    """How many lines the personas have, and those that rest on no turn."""
    lines: list[str] = []
    without: list[str] = []
    for persona in PERSONAS:
        own = [line.strip() for line in whole.memory.personas.read(persona).splitlines() if line.strip()]
        founded = {one.line.strip() for one in whole.memory.personas.line_evidence(persona) if one.messages}
        lines += own
        without += [f"{persona}: {line}" for line in own if line not in founded]
    return len(lines), tuple(without)


def mistakes_stated(whole: Lived, wrong: Mapping[str, str]) -> Iterator[str]:
    """The wrong statements that are believed, in a persona, or handed over for a question."""
    texts = [one.restatement for one in whole.memory.facts.all() if one.verified]
    texts += [whole.memory.personas.read(persona) for persona in PERSONAS]
    texts += [handed_over(one.messages, one.said) for one in whole.transport.seen if one.kind == "talk"]
    yield from (f"{kind}: {one}" for one, kind in wrong.items() if any(one.rstrip(".。") in text for text in texts))


def measured(life: Life, replies: MistakenReplies, folder: Path, log: logging.Logger, planning: str) -> Truth:
    """Live a life, ask its questions and judge what is handed over for them."""
    with lived(life, replies, folder, log, planning) as whole:
        found = [
            judged(life["name"], question, whole.ask(question["q"], reply="…")[0]) for question in life["questions"]
        ]
        lines, without = unfounded_lines(whole)
        seen = whole.transport.seen
        secrets = secrets_of(life)
        later, secret = requests_holding(secrets, seen)
        after = later if secrets else None
        mistakes = dict(Counter(replies.wrong.values()))
        stated = tuple(mistakes_stated(whole, replies.wrong))
        return Truth(
            life["name"], tuple(found), len(seen), after, secret, without, lines, tasks_in(seen), mistakes, stated
        )


def tasks_in(seen: Sequence[Seen]) -> Mapping[str, tuple[int, int]]:
    """How often each task was put to the model, and the tokens of its requests and replies."""
    found: dict[str, tuple[int, int]] = {}
    for one in seen:
        if one.kind != "talk":
            calls, tokens = found.get(one.kind, (0, 0))
            reply = one.path.with_suffix(".reply.txt").read_text(encoding="utf-8")
            spent = estimate_all(each["content"] for each in one.messages) + estimate(reply)
            found[one.kind] = calls + 1, tokens + spent
    return found


# -- telling


def table(title: str, found: Sequence[Judged]) -> Iterator[str]:
    """The figures by class and of all of them."""
    yield f"{title:34} questions  answerable  stale  tokens"
    ordered = sorted(found, key=lambda one: one.kind)
    classes = [(kind, list(own)) for kind, own in itertools.groupby(ordered, key=lambda one: one.kind)]
    for kind, own in [*classes, ("all", list(found))]:
        needing = [one for one in own if one.needing]
        able = f"{sum(one.answerable for one in needing)}/{len(needing)}" if needing else "-"
        stale = sum(bool(one.stale) for one in own)
        tokens = sum(one.tokens for one in own) / max(1, len(own))
        yield f"  {kind:32} {len(own):9}  {able:>10}  {stale:5}  {tokens:6.0f}"


def findings(truth: Truth) -> Iterator[str]:
    """What is not as it should be, each with where it stands."""
    for one in truth.judged:
        if one.missing or one.stale:
            yield f"{one.number} {one.question} ({one.path})"
        yield from (f"    missing: {need}" for need in one.missing)
        yield from (f"    stale: {line}" for line in one.stale)
    yield f"requests: {truth.requests}"
    if truth.after_secret is not None:
        yield f"secret: in {len(truth.secret)} of {truth.after_secret} later requests"
    yield from (f"    {name}" for name in truth.secret)
    yield f"persona lines without a turn: {len(truth.unfounded)} of {truth.lines}"
    yield from (f"    {line}" for line in truth.unfounded)
    if truth.mistakes:
        counts = ", ".join(f"{kind} {count}" for kind, count in truth.mistakes.items())
        yield f"mistakes stated: {len(truth.stated)} of {sum(truth.mistakes.values())} ({counts})"
    yield from (f"    {one}" for one in truth.stated)
    for kind, (calls, tokens) in truth.tasks.items():
        yield f"asked of the model: {kind}: {calls} times, {tokens:,} tokens"


def report(truths: Sequence[Truth]) -> Iterator[str]:
    """Each life, and where there are several, all of them."""
    for truth in truths:
        yield from table(truth.life, truth.judged)
        yield from findings(truth)
        yield ""
    if len(truths) > 1:
        yield from table("all lives", [one for truth in truths for one in truth.judged])


def main(given: Sequence[str] | None = None) -> None:
    """Live lives and print how much of what is handed over is true."""
    parser = argparse.ArgumentParser(prog="python -m bench.truth")
    parser.add_argument("--life", type=Path, nargs="+", required=True)
    parser.add_argument("--base", required=True, help="an OpenAI-compatible server")
    parser.add_argument("--keep", type=Path, required=True, help="a folder for requests, replies and the log")
    parser.add_argument("--model", default="life", help="what the server calls its model")
    parser.add_argument("--wrong", type=float, default=0.0, help="share of the facts that the model gets wrong")
    parser.add_argument("--planning", default="off", choices=["off", "auto", "always"])
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    options = parser.parse_args(given)
    options.keep.mkdir(parents=True, exist_ok=True)
    replies = MistakenReplies(options.base, options.keep, options.model, share=options.wrong)
    truths = [_of_file(path, replies, options.planning) for path in options.life]
    if options.json:
        print(json.dumps([asdict(truth) for truth in truths], ensure_ascii=False, indent=1))
    else:
        print("\n".join(report(truths)))


def _of_file(path: Path, replies: MistakenReplies, planning: str) -> Truth:
    """One life, with what the program logged of it beside the replies."""
    life = read_life(path)
    log = logging.Logger("life", logging.INFO)
    handler = logging.FileHandler(replies.keep / f"{life['name']}.log", mode="w", encoding="utf-8")
    log.addHandler(handler)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return measured(life, replies, Path(folder), log, planning)
    finally:
        handler.close()


if __name__ == "__main__":
    main()
