"""Words for how people stand to each other, in English and Chinese: one table for all who look for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

Gender = Literal["", "f", "m"]

#: One relation a row, with its gender, or "-" where it shows none. A word that may mean two relations is in both.
_KIN = """
f mother mum mom mam mama 妈妈 母亲 老妈 妈
m father dad daddy papa 爸爸 父亲 老爸 爸
f wife 老婆 妻子 媳妇 太太 爱人 媳妇儿
m husband hubby 老公 丈夫 先生 爱人 老伴 老头子
f sister sis 姐姐 妹妹 姐 妹 表姐 表妹 堂姐 堂妹
m brother bro 哥哥 弟弟 哥 弟 表哥 表弟 堂哥 堂弟 大佬 细佬
f daughter 女儿 闺女 姑娘 丫头
m son 儿子 阿仔 小子
f grandmother grandma gran granny nan nana 奶奶 外婆 姥姥 婆婆
m grandfather grandpa grandad 爷爷 外公 姥爷 爷
f aunt auntie 阿姨 姑姑 姑妈 小姨 姨妈 姨 姑
m uncle 叔叔 舅舅 叔 舅 伯伯
f niece 侄女 外甥女
m nephew 侄子 外甥
- cousin 表姐 表妹 表哥 表弟 堂姐 堂妹 堂哥 堂弟
f mother-in-law 婆婆 岳母 丈母娘
m father-in-law 公公 岳父
f girlfriend 女朋友 女友
m boyfriend 男朋友 男友
- partner 女朋友 女友 男朋友 男友
- boss manager 老板 领导 上司
- colleague 同事
- neighbour neighbor 邻居
- friend mate 朋友
"""
#: What may also be somebody's trade, or an animal.
_OTHERS = """
- flatmate roommate housemate 室友
- teacher 老师
- child kid 孩子
- 师傅 师父
- cat 猫
- dog 狗
"""


def _rows(table: str) -> list[list[str]]:
    return [row.split() for row in table.strip().splitlines()]


#: The words of each relation.
RELATIONS = tuple(frozenset(words) for _, *words in (*_rows(_KIN), *_rows(_OTHERS)))


def kin_words(gender: Gender | None = None, *, han: bool) -> Collection[str]:
    """The words of either script for relatives, friends and others whom people call "my", the longest first.

    With a ``gender`` those that are only of this one.

    >>> "妈妈" in kin_words("f", han=True), "爱人" in kin_words("f", han=True), "cousin" in kin_words(han=False)
    (True, False, True)
    """
    genders: dict[str, set[str]] = {}
    for shown, *words in _rows(_KIN):
        for word in words:
            genders.setdefault(word, set()).add(shown.strip("-"))
    found = (word for word, shown in genders.items() if gender is None or shown - {""} == ({gender} - {""}))
    return sorted((word for word in found if word.isascii() != han), key=len, reverse=True)
