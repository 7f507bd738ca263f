"""Whether anything is worth recalling: thanks, greetings and requests that need no memory get none.

Two tests. By the words of the input: a message that only greets, thanks or agrees, or that orders a piece
of work without speaking of the people or of anything earlier, is not searched for. By what was found: a
memory is handed over only where the words or the vectors really meet it.
"""

from __future__ import annotations

import re

from recall import words
from recall.ranking import Evidence
from recall.scores import from_neighbours

#: The least confidence at which something is handed over.
LEAST = 0.2

_SMALL_TALK = re.compile(
    r"(?:ok(?:ay)?|yes|yeah|yep|no|nope|sure|thanks?(?: you| a lot| so much)?|thx|ty|cool|nice|great|good|perfect"
    r"|awesome|wow|lol|haha+|hi|hello|hey|bye|goodbye|good (?:night|morning|evening|afternoon)|see you|got it|i see"
    r"|alright|fine|right|go on|continue"
    r"|好的?|嗯+|哦+|谢谢你?|多谢|感谢|不客气|是的?|对的?|行|可以|没事|你好|您好|嗨|再见|拜拜|晚安|早安|早上好|晚上好"
    r"|哈哈+|知道了|明白了?|继续|不错|太好了|很好)"
    r"[\s,.!?~，。！？、啊呀啦吧哈呢了]*",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"\b(?:i|i'm|i've|my|mine|me|we|our|us|you|your|yours|he|she|his|her|they|their|again|remember|last|ago|before"
    r"|earlier|previous(?:ly)?|yesterday)\b"
    r"|[我你您咱他她]|上次|之前|以前|曾经|记得|还是|昨|前天|去年|刚才",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\s*(?:please\s+)?(?:write|code|implement|create|generate|translate|calculate|compute|explain|define|convert"
    r"|sort|solve|summari[sz]e|list)\b"
    r"|^\s*(?:请|帮忙)?(?:写|编|画|翻译|计算|算|解释|实现|生成|列出|证明|求)",
    re.IGNORECASE,
)


def needs_memory(text: str) -> bool:
    """Whether a message may need memory at all.

    >>> [needs_memory(text) for text in ("thanks!", "写个快排", "Where did I park?")]
    [False, False, True]
    """
    rest = text.strip()
    while rest and (small := _SMALL_TALK.match(rest)):
        after = rest[small.end() :]
        if (
            after
            and after[0].isalnum()
            and rest[small.end() - 1].isalnum()
            and not words.is_unspaced(rest[small.end() - 1])
        ):
            break
        rest = after
    if not words.terms(rest) and not rest.strip(" ?？"):
        return False
    return not (_ORDER.search(rest) and not _PERSONAL.search(rest) and len(rest) < 200)


def is_relevant(evidence: Evidence) -> bool:
    """Whether the best that was found is worth handing over."""
    return confidence(evidence) >= LEAST


def confidence(evidence: Evidence) -> float:
    """How sure it is that something that was found belongs to the question, 0 to about 2.

    The greatest share of the question's weight in words that one turn holds, read with its neighbours, and
    how far the best vector stands out.
    """
    import numpy as np

    if not evidence.counts.size and evidence.similarity is None:
        return 0.0
    held = evidence.counts + from_neighbours(evidence.counts, evidence.joined, (1.0,))
    coverage = float((evidence.share[:, None] * (held > 0)).sum(axis=0).max()) if held.size else 0.0
    best = 0.0
    if evidence.similarity is not None and len(evidence.similarity):
        best = float(np.max(evidence.similarity)) * evidence.clarity
    return coverage + best
