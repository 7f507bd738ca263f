"""A forget request to forget is heard, and an idiom that only sounds like one is not (P22)."""

from __future__ import annotations

import pytest

from language.forget_requests import detect_forget_request, detect_release, rounds_spoken_of

FORGET_REQUESTS = (
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
    "我弟弟欠了二十万，这件事你忘了吧，别记。",
    "这个别记，忘了吧。",
    "这事儿你别记。",
    "刚才那件事请你忘掉。",
    "你就当我没说过这件事。",
    "就当我没说过，你也别记。",
    "刚才那句你忘了吧，别提了。",
    "My brother owes two thousand. Forget I said that, don't note it down.",
    "Forget about my sister's job, and never bring it up again.",
    "忘掉我妹妹的事吧，别再提了",
    "把我妹妹的事忘了吧，以后别再提。",
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
    "这件事你忘了吧？我上次跟你说过。",
    "你忘了吧，我叫陈默。",
    "好吧，当我没说。",
    "忘了吧台在哪，你别记错了。",
    "这个你别记混了。",
    "这个电话你别记了，我换号码了。",
    "Don't write that, it's ugly. Forget it.",
    "Forget my order, I never bring cash.",
    "I leave late and forget my lunch and never bring any.",
    "出门太急，把伞忘了，别提了",
    "忘了老婆生日的事，别提了，她气坏了",
    "你忘了我生日的事吧？别提了，没关系",
)


@pytest.mark.parametrize("text", FORGET_REQUESTS)
def test_a_forget_request_is_heard(text: str) -> None:
    found = detect_forget_request(text)
    assert found is not None
    assert found.hides


@pytest.mark.parametrize("text", IDIOMS)
def test_an_idiom_hides_nothing(text: str) -> None:
    found = detect_forget_request(text)
    assert found is None or not found.hides


def test_nothing_that_holds_none_of_the_words_is_ever_read_by_a_model() -> None:
    for text in (
        "I had pasta for lunch.",
        "How was your day?",
        "午饭吃了面条。",
        "今天天气不错。",
        "Josef owes me money.",
    ):
        assert detect_forget_request(text) is None


@pytest.mark.parametrize(
    "text",
    ["shouldnt of typed that", "dont bring up the loan again", "pls forgt wat i told u",
     "nvm i said that, delete it please", "i shouldnt of told u",
     "別再提阿杰了", "别在提阿杰了", "當我沒說過", "那件事你忘啦吧"],
)  # fmt: skip
def test_a_misspelt_or_dictated_request_is_heard(text: str) -> None:
    found = detect_forget_request(text)
    assert found is not None
    assert found.hides


def test_where_only_certain_requests_are_looked_for_they_are_the_same() -> None:
    found = [detect_forget_request(text) for text in FORGET_REQUESTS]
    clear = [one for one in found if one and one.certainty == "clear"]
    alone = [detect_forget_request(text, certain=True) for text in FORGET_REQUESTS]
    assert clear == [one for one in alone if one and one.certainty == "clear"]
    possible = "Never mind what I said of him."
    assert detect_forget_request(possible)
    assert detect_forget_request(possible, certain=True) is None


def test_two_likely_sentences_leave_no_doubt_and_one_does() -> None:
    both = detect_forget_request("shouldnt of typed that. forget i said anything about patty there will you")
    one = detect_forget_request("forget i said anything about patty")
    assert (both.certainty, both.matter, both.lately) == ("clear", ("patty",), True)
    assert one.certainty == "likely"


@pytest.mark.parametrize(("text", "reply"), [("Never mind what I said of him.", "Of course. I won't bring it up."),
                                             ("算了，忘了吧。", "好，我不会再提。")])  # fmt: skip
def test_what_the_companion_promises_makes_a_possible_request_likely(text: str, reply: str) -> None:
    assert not detect_forget_request(text, "I see.").hides
    assert detect_forget_request(text, reply).hides
    assert detect_forget_request("I had pasta.", reply).certainty == "possible"


@pytest.mark.parametrize(
    ("text", "matter"),
    [("You may mention it again.", ()), ("you can talk about patty again", ("patty",)), ("可以再提了", ()),
     ("阿杰的事可以再提了", ("阿杰",)), ("It's ok to bring up Sam now", ("Sam",)), ("不用替我保密了", ())],
)  # fmt: skip
def test_a_withdrawn_request_is_heard(text: str, matter: tuple[str, ...]) -> None:
    assert detect_release(text).matter == matter


@pytest.mark.parametrize(
    "text", ["I can talk about it again.", "我可以说了吗？", "Can you bring it up again?", "他可以再提了"]
)
def test_what_only_sounds_like_a_withdrawal_is_none(text: str) -> None:
    assert detect_release(text) is None


def test_a_forget_request_that_stands_alone_speaks_of_what_was_said_before_it() -> None:
    told = detect_forget_request(FORGET_REQUESTS[1])
    assert told is not None
    assert not told.alone
    for text in (
        FORGET_REQUESTS[0],
        FORGET_REQUESTS[2],
        FORGET_REQUESTS[3],
        "请把这件事忘掉、别再提",
        "刚才说的你别记住",
    ):
        forget_request = detect_forget_request(text)
        assert forget_request is not None
        assert forget_request.alone


@pytest.mark.parametrize(
    ("text", "matter"),
    [
        ("Please forget what I said about my boss's wife.", ("my boss's wife",)),
        ("Please forget what I said about Tom, Annika and the money.", ("Tom", "Annika", "the money")),
        ("Please forget what I said about Tom, I was drunk.", ("Tom",)),
        ("Please delete my address from your memory.", ("my address",)),
        ("Please forget I ever mentioned the affair.", ("the affair",)),
        ("Please forget that, it would ruin Tom.", ()),
        ("Could you please forget what I said last night?", ()),
        ("请忘掉我说的关于老板老婆的事。", ("老板老婆",)),
        ("麻烦你把我说的关于约瑟夫的话都忘掉。", ("约瑟夫",)),
        ("请把我妹妹怀孕的事忘掉。", ("妹妹怀孕",)),
        ("请将我的地址从记录里删除。", ("地址",)),
        ("忘掉我妹妹的事吧，别再提了", ("妹妹",)),
        ("请把这件事忘掉、别再提", ()),
        ("求你把刚才的话忘了。", ()),
    ],
)
def test_a_forget_request_names_its_matter_or_none(text: str, matter: tuple[str, ...]) -> None:
    forget_request = detect_forget_request(text)
    assert forget_request is not None
    assert forget_request.matter == matter


WIFE, WIFE_HAN = "Please forget what I said about my boss's wife.", "请忘掉我说的关于老板老婆的事。"


@pytest.mark.parametrize(
    ("forget_request", "said", "of"),
    [
        (WIFE, ["I kissed my boss's wife.", "I had pasta for lunch."], (0,)),
        (WIFE, ["Bread.", "I kissed the wife of my boss.", "Then I cried.", "I had pasta."], (1, 2)),
        (WIFE, ["My boss's wife came.", "I kissed her.", "She cried.", "I had pasta."], (0, 1, 2)),
        (WIFE, ["My boss's wife came.", "I had pasta.", "I kissed her in the kitchen."], (0, 2)),
        (WIFE, ["My boss's wife Klara came.", "I had pasta.", "Klara wants to marry me."], (0, 2)),
        (WIFE, ["I had pasta.", "Klara kissed me."], ()),
        (WIFE, ["My wife is asleep.", "I had pasta.", "Klara kissed me."], ()),
        ("Please forget what I just said about my boss's wife.", ["My boss's wife came.", "Pasta."], (0,)),
        ("Please forget what I told you about the money.", ["I owe Josef.", "He wants the money.", "Rain."], (0, 1)),
        ("请忘掉我说的关于那笔钱的事。", ["我欠老王两万。", "他要我六月前还那笔钱。", "下雨了。"], (0, 1)),
        ("Please forget that, I mean it.", ["My boss's wife came.", "Pasta."], (1,)),
        ("Please forget what I told you about the cats.", ["The cat is ill.", "I had pasta."], (0,)),
        ("Please forget what I told you about the gambling.", ["Josef gambles.", "I had pasta."], (0,)),
        (WIFE_HAN, ["我吻了老板的老婆。", "午饭吃了面条。"], (0,)),
        (WIFE_HAN, ["面包。", "老板的老婆来吃饭。", "我吻了她。", "后来哭了。", "面条。"], (1, 2, 3)),
        (WIFE_HAN, ["午饭吃了面条。", "有个女人在厨房。"], ()),
        ("请忘掉我刚才说的关于老板老婆的事。", ["老板的老婆来了。", "面条。"], (0,)),
        ("请把这件事忘掉、别再提", ["老板的老婆来了。", "面条。"], (1,)),
    ],
)
def test_a_forget_request_speaks_of_what_holds_its_matter_and_of_no_unrelated_round_before_it(
    forget_request: str, said: list[str], of: tuple[int, ...]
) -> None:
    told = detect_forget_request(forget_request)
    assert told is not None
    assert rounds_spoken_of(told, [(words, "I see.") for words in said]) == of


def test_a_message_that_tells_and_asks_at_once_speaks_of_earlier_rounds_only_by_its_matter() -> None:
    told = detect_forget_request(
        "I kissed my boss's wife last night in the kitchen, while he was asleep upstairs, and nobody saw it."
        " Please forget what I said about my boss's wife."
    )
    assert told is not None
    assert not told.alone
    assert rounds_spoken_of(told, [("My wife is asleep.", "Good."), ("I had pasta.", "Nice.")]) == ()
    assert rounds_spoken_of(told, [("My boss's wife came.", "Oh."), ("I had pasta.", "Nice.")]) == (0,)


def test_a_very_long_message_is_heard_quickly_and_by_its_end() -> None:
    assert detect_forget_request("please " * 100_000) is None
    assert detect_forget_request("please forget " * 100_000 + "it") is not None
    assert detect_forget_request("请把" * 300_000) is None
