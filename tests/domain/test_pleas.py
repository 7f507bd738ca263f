"""A plea to forget is heard, and an idiom that only sounds like one is not (P22)."""

from __future__ import annotations

import pytest

from domain.pleas import heard, meant

PLEAS = (
    "God, I shouldn't have said that. Please forget it, I mean it, wipe it and never bring it up.",
    "Can I tell you something? Josef borrowed two thousand pounds from me to cover gambling debts and Annika has no"
    " idea. God, I shouldn't have said that. Please forget it, I mean it, wipe it and never bring it up.",
    "erase that from your memory",
    "please don't remember what I just told you about Josef",
    "Please forget what I told you about my brother.",
    "Forget everything I just told you.",
    "I want you to forget that.",
    "I need you to forget what I said about the money.",
    "Could you please forget what I said last night?",
    "Please delete my address from your memory.",
    "Please wipe that from your memory, it was not mine to tell.",
    "My PIN is 4711. Remove it from your memory.",
    "I shouldn't have told you. Forget it, for good.",
    "Forget that. I'm serious, never mention it to anyone.",
    "Don't remember what I said about Tom.",
    "I don't want you to remember this.",
    "I'd rather you forgot what I said about her.",
    "Please pretend I never told you about the letter.",
    "Please forget my last message.",
    "Please, forget about that.",
    "Keep this out of your memory, please.",
    "Please do not remember my password.",
    "Just delete what I told you about the doctor.",
    "Scrub it from your notes.",
    "Please forget I ever mentioned the affair.",
    "Please don’t remember this.",
    "请把这件事忘掉、别再提",
    "刚才说的你别记住",
    "把我的密码从记忆里删掉",
    "请忘掉我刚才说的话。",
    "求你把刚才的话忘了。",
    "拜托你忘了这件事。",
    "我刚才告诉你的，请不要记住。",
    "别把这个记下来。",
    "不要记住我说的那件事。",
    "请把我刚说的从你的记忆中抹掉。",
    "把那件事忘掉吧，我是认真的。",
    "我不希望你记住这些。",
    "这件事你千万别记下来。",
    "我不该说的。忘了它吧，再也别提。",
    "请将我的地址从记录里删除。",
    "麻烦你把我说的关于约瑟夫的话都忘掉。",
    "把刚才那句话彻底忘掉。",
    "希望你忘掉我说过的这些话。",
    "从你的记忆里删掉它。",
    "我要你忘记刚才的事。",
    "不要把我刚才说的存进记忆。",
    "那些话你不要记住。",
    "请你把这些都忘了。",
    "把这段对话从你的记忆库里清除。",
    "求求你忘掉那件事。",
    "忘掉这件事，永远不要再提。",
)

IDIOMS = (
    "forget it, let's eat",
    "don't forget my birthday",
    "I keep forgetting",
    "Forget it.",
    "Forget about it!",
    "Never forget what I told you about the stairs.",
    "Please don't forget what I told you.",
    "Please never forget this.",
    "I'll never forget that evening.",
    "I forget what I said about it.",
    "Forget what I said, it's on Tuesday.",
    "Please forget what I said, Wednesday is better.",
    "Forget it, that's too expensive.",
    "Did you delete that from your memory?",
    "How do I delete it from the memory card?",
    "Please wipe it with a wet cloth.",
    "I erased that from my phone.",
    "I don't remember what I said about Tom.",
    "Don't you remember what I told you?",
    "Do you remember this?",
    "She said: please forget it, I mean it.",
    'The song is called "Please forget what I told you".',
    "Don't mention it.",
    "Please don't bring that up at dinner with my mother.",
    "Before I forget: the key is under the mat.",
    "I want to forget that he ever called.",
    "I can't forget what I told him.",
    "Never mind, forget I said anything.",
    "Will you forget me?",
    "He told me to forget about it.",
    "Remember what I told you about Josef.",
    "You always forget everything I say.",
    "Please save it for later.",
    "Delete the second paragraph, please.",
    "别忘了带伞",
    "算了忘了吧我们吃饭",
    "我忘了带钥匙。",
    "请别忘了我说的话。",
    "请不要忘记这件事。",
    "你还记得我刚才说的吗？",
    "我把密码忘了。",
    "他把这件事忘了。",
    "请问我忘了密码怎么办？",
    "忘了说，明天我生日。",
    "算了，忘了吧。",
    "我永远不会忘记那一天。",
    "我总是忘记吃药。",
    "别提了，今天累死了。",
    "你可别把这件事忘了。",
    "请记住我刚才说的。",
    "她说请把这件事忘掉。",
    "老板让我把文件从电脑里删掉。",
    "这首歌叫“请忘掉我说过的话”。",
    "请你一定不要把这些忘了。",
    "没关系，忘了就忘了。",
    "我想忘掉他。",
    "难忘的一天！",
    "记得别忘记给花浇水。",
    "把鸡蛋放进锅里，别忘了放盐。",
    "你忘了吗？",
)


@pytest.mark.parametrize("text", PLEAS)
def test_a_plea_is_heard(text: str) -> None:
    assert heard(text) is not None


@pytest.mark.parametrize("text", IDIOMS)
def test_an_idiom_is_no_plea(text: str) -> None:
    assert heard(text) is None


def test_a_plea_that_stands_alone_speaks_of_what_was_said_before_it() -> None:
    told = heard(PLEAS[1])
    assert told is not None
    assert not told.alone
    for text in (PLEAS[0], PLEAS[2], PLEAS[3], "请把这件事忘掉、别再提", "刚才说的你别记住"):
        plea = heard(text)
        assert plea is not None
        assert plea.alone


@pytest.mark.parametrize(
    ("said", "plea", "places"),
    [
        (
            ["My sister Ruth is ill.", "I cook lentils."],
            "Please forget what I said about Ruth, wipe it and never bring it up.",
            (0,),
        ),
        (["Tom lies.", "It will rain tomorrow."], "Don't remember what I said about Tom.", (0,)),
        (["My address: Elm Street 4", "Hi"], "Please delete my address from your memory.", (0,)),
        (
            ["I have debts.", "I like tea.", "More debts!"],
            "Please forget what I told you about my debt.",
            (0, 2),
        ),
        (["I have debts.", "I like tea."], "Please forget that, I mean it.", (1,)),
        (["I have debts.", "I like tea."], "Please forget what I told you about my brother.", (1,)),
        (["我的密码是七七", "今天很热"], "请把密码这件事忘掉，别再提了", (0,)),
        (["约瑟夫病了", "今天很热"], "麻烦你把我说的关于约瑟夫的话都忘掉。", (0,)),
        (["我的密码是七七", "今天很热"], "把刚才那句话彻底忘掉。", (1,)),
        ([], "Please forget that, I mean it.", ()),
    ],
)
def test_a_plea_speaks_of_the_rounds_that_hold_what_it_names_else_of_the_last(
    said: list[str], plea: str, places: tuple[int, ...]
) -> None:
    found = heard(plea)
    assert found is not None
    assert meant(found, said) == places


def test_a_very_long_message_is_heard_quickly_and_by_its_end() -> None:
    assert heard("please " * 100_000) is None
    assert heard("please forget " * 100_000 + "it") is not None
    assert heard("请把" * 300_000) is None
