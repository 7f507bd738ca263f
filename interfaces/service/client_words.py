"""What chat clients write into the person's place: orders of their own, and documents around what the person said.

    asks_for_itself     a title, tags, follow-ups, a summary: nobody said that, and nobody shall remember it
    own_words           what the person said, of a message that a client has put documents around

Promises: whoever speaks of themselves is a person, and so is whoever asks for a title without saying in which form;
taken for a client's order is only what stands at the beginning or the end of a text.
"""

from __future__ import annotations

import re

#: An order stands within so many characters of the beginning, or of the end.
_ORDER = 600
#: The headings of Open WebUI, and what only its orders speak of.
_TASK = re.compile(
    r"\s*#{2,}\s*Task:\s*(?=Generate|Suggest|Analy[sz]e|You are an autocompletion system)", re.IGNORECASE
)
_OF_A_TASK = re.compile(r"chat.history|the user might|#{2,}\s*(?:Output|Guidelines):|<text>", re.IGNORECASE)
#: Orders that have one meaning, whatever else the line says.
_PLAIN = re.compile(
    r"\bgive this conversation a name\b"
    r"|\bsummari[sz]e (?:the|our) (?:discussion|conversation)\b[^\n]{0,60}\b(?:future context|as a prompt)\b"
    r"|\byou are an autocompletion system\b"
    r"|\byour task is to reflect the speaker's likely facial expression\b"
    r"|\byour task is to choose and return the correct tool\(s\)"
    r"|\byou have been provided with a set of responses from various models\b"
    r"|使用四到五个字直接返回"
    r"|总结一下(?:你和用户的)?对话[^\n]{0,40}(?:上下文提示|prompt)",
    re.IGNORECASE,
)
#: A line that orders a title, tags or questions for a chat ...
_ORDERED = re.compile(
    r"^[^\n]*(?:\b(?:generate|create|provide|write|give|suggest|come up with|return)\b[^.\n]{0,60}"
    r"\b(?:title|emoji|tags?|follow-?up questions?|name for th(?:is|e) (?:chat|conversation))\b[^\n]{0,80}"
    r"\b(?:chat|conversation|discussion|messages?)\b"
    r"|\bsummari[sz]e (?:the|our|this) (?:chat|conversation|discussion) (?:into|as|in) a title\b"
    r"|(?:\d+\s*个字(?:以内|左右)?)[^\n]{0,30}(?:主题|标题|题目)"
    r"|(?:总结|概括|生成|起)[^\n]{0,30}(?:对话|会话|聊天)[^\n]{0,30}(?:标题|主题|题目|名字)"
    r"|(?:对话|会话|聊天)[^\n]{0,20}(?:总结|概括)为[^\n]{0,20}(?:标题|主题))[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
#: ... and says in which form it is wanted, as a program has to and a person seldom does.
_FORM = re.compile(
    r"\d|\bwords?\b|\bcharacters?\b|\bconcise|\bshort\b|\bbrief|\bquot|\bpunctuation\b|\bJSON\b|\bonly\b"
    r"|个字|简短|简洁|标点|只返回|直接返回|不要",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(r"\bI\b|\b[Mm](?:e|y|ine)\b|我(?!们)")
#: Open WebUI puts documents in front of the words that they were found for.
_DOCUMENTS = re.compile(r"\s*#{2,}\s*Task:\s*Respond to the user query using the provided context\b")
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>\s*", re.DOTALL)


def asks_for_itself(text: str) -> bool:
    """Whether this is an order of a client.

    >>> asks_for_itself("Provide a concise, 5-word-or-less title for the conversation.")
    True
    >>> asks_for_itself("Give me a short title for the conversation with my boss.")
    False
    """
    if _TASK.match(text) and _OF_A_TASK.search(text):
        return True
    places = (text,) if len(text) <= _ORDER else (text[:_ORDER], text[-_ORDER:])
    return any(_PLAIN.search(place) or any(map(_is_ordered, _ORDERED.findall(place))) for place in places)


def own_words(text: str) -> str:
    """What the person said, without documents that a client put in front of it.

    >>> task = "### Task:\\nRespond to the user query using the provided context."
    >>> own_words(task + "<context>Cats purr.</context>Why?")
    'Why?'
    """
    if not _DOCUMENTS.match(text):
        return text
    asked = _QUERY.search(text)
    behind = _QUERY.sub("", text[text.rfind("</context>") + len("</context>") :]).strip()
    return behind or (asked[1] if asked else text)


def _is_ordered(line: str) -> bool:
    return bool(_FORM.search(line)) and not _OF_ONESELF.search(line)
