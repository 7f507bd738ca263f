"""Whether requests to forget are noticed without a model, and whether anything else is taken for one.

    python -m bench.forget --data forget-dev.json [more.json] [--json]

A data file has ``requests`` and ``not_requests``, messages in English and Chinese, and may have ``scenes``: what was
``said`` before a ``request``, and the indexes of the rounds that it means (``hidden``). Noticed: hidden or asked about
without a model, by rules and by what the message reads like; candidates are all that a model would be asked about.
Before each request stands a round about something else: right before it where it names its matter or tells it itself,
else one round earlier.
``hidden_unrelated`` counts those that would be hidden, and those of scenes that are not meant. The messages of
``bench/sets/forget.json`` were written by whoever wrote the rules, so its figures flatter.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from language.forget_requests import ForgetRequest, detect_forget_request, rounds_spoken_of
from language.scripts import Language, language_of
from models.embeddings import SentenceEmbedder
from recall.relevance import read_like_forget_request

Detect = Callable[[str], ForgetRequest | None]

#: What nobody asks to have forgotten, and what may be meant.
_UNRELATED = {"en": "Guess what, I got the promotion!", "zh": "告诉你，我升职了！"}
_SECRET = {"en": "There is something that no one knows.", "zh": "有件事谁都不知道。"}


def detect_by_both(texts: Sequence[str]) -> Detect:
    """Detection by the rules and by what each of these texts reads like, as the program does it."""
    embedder = SentenceEmbedder()
    vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    reads = {text: read_like_forget_request(text, vectors[text], embedder.model) for text in texts}
    return lambda text: detect_forget_request(text, reads=reads.get(text))


def measure(data: Mapping[str, Any], detect: Detect = detect_forget_request) -> dict[str, Any]:
    """The figures of one data file, in all and for each language; shares of one, but for ``hidden_unrelated``."""
    languages: tuple[Language, ...] = ("en", "zh")
    by_language = {
        one: _shares([text for text in data["requests"] if language_of(text) == one],
                     [text for text in data["not_requests"] if language_of(text) == one], detect)
        for one in languages
    }  # fmt: skip
    wrong = [*_unrelated_of_requests(data["requests"], detect), *_wrong_scenes(data.get("scenes", ()), detect)]
    missed_scenes = sum(
        not set(one["hidden"]) <= _hidden(one["request"], one["said"], detect) for one in data.get("scenes", ())
    )
    return {
        **_shares(data["requests"], data["not_requests"], detect),
        "hidden_unrelated": len(wrong),
        "scenes": len(data.get("scenes", ())),
        "scenes_missed": missed_scenes,
        "by_language": by_language,
        "missed": [text for text in data["requests"] if not _is_noticed(detect(text))],
        "taken_for_requests": [text for text in data["not_requests"] if _is_noticed(detect(text))],
        "unrelated": wrong,
    }


def _shares(requests: Sequence[str], others: Sequence[str], detect: Detect) -> dict[str, float]:
    of_requests, of_others = [detect(text) for text in requests], [detect(text) for text in others]
    return {
        "requests": len(requests),
        "noticed": _share([_is_noticed(one) for one in of_requests]),
        "candidates": _share([one is not None for one in of_requests]),
        "not_requests": len(others),
        "false_alarms": _share([_is_noticed(one) for one in of_others]),
        "hidden_wrongly": _share([one is not None and one.hides for one in of_others]),
        "read_for_nothing": _share([one is not None for one in of_others]),
    }


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / len(found), 4) if found else 0.0


def _is_noticed(found: ForgetRequest | None) -> bool:
    return found is not None and found.certainty != "possible"


def _hidden(request: str, said: Sequence[str], detect: Detect) -> set[int]:
    found = detect(request)
    return set(rounds_spoken_of(found, [(words, "") for words in said])) if _is_noticed(found) and found else set()


def _unrelated_of_requests(requests: Sequence[str], detect: Detect) -> Iterator[str]:
    for text in requests:
        found, language = detect(text), language_of(text)
        if found is None:
            continue
        says_what = found.matter or not found.alone
        if 0 in _hidden(text, [_UNRELATED[language], *([] if says_what else [_SECRET[language]])], detect):
            yield text


def _wrong_scenes(scenes: Sequence[Mapping[str, Any]], detect: Detect) -> Iterator[str]:
    for one in scenes:
        if _hidden(one["request"], one["said"], detect) - set(one["hidden"]):
            yield one["request"]


def main() -> None:
    """Measure each file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for path in given.data:
        data = json.loads(path.read_text(encoding="utf-8"))
        requests = [*data["requests"], *(one["request"] for one in data.get("scenes", ()))]
        found = measure(data, detect_by_both([*requests, *data["not_requests"]]))
        if given.json:
            print(json.dumps(found, ensure_ascii=False))
            continue
        print(path.name)
        for name, figures in (("all", found), *found["by_language"].items()):
            print(
                f"  {name}: noticed {figures['noticed']:.1%} of {figures['requests']},"
                f" candidates {figures['candidates']:.1%}; false alarms {figures['false_alarms']:.1%}"
                f" of {figures['not_requests']} ({figures['hidden_wrongly']:.1%} hidden),"
                f" read for nothing {figures['read_for_nothing']:.1%}"
            )
        print(f"  unrelated rounds hidden: {found['hidden_unrelated']}; scenes missed: {found['scenes_missed']}")
        for kind in ("missed", "taken_for_requests", "unrelated"):
            for text in found[kind]:
                print(f"    {kind}: {text}")


if __name__ == "__main__":
    main()
