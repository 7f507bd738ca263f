"""What is open: from the drafts of a model to matters with a day, what closes them, and which may come up now.

    check_matters   drafts -> matters: whose words, stance, tense, the day; the day comes from the words, never the model
    settle          matters and all that was said since -> what became of each
    due_now         matters and the clock -> at most three to bring up; nothing in most cases
    may_greet       whether the companion may speak first at all

Pure functions over rows and a clock; days are those where the person is. No model is asked. In doubt a matter is left
alone: what was reported, cancelled, joked, dreamt, quoted, of somebody else or past is none, and no one is asked twice too
often, after "don't ask", or of what later talk has covered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import get_args

from domain.facts import Quote
from domain.matters import MatterKind, MatterStatus, NewMatter, OpenMatter, Precision, Sensitivity
from domain.patterns import pattern_of
from domain.records import Message
from facts.cues import governs_whole, is_promise, is_question, stance_of, takes_back
from facts.drafts import FactDraft
from facts.evidence import Sentence, Source, SpokenWindow, telling_terms
from facts.refuting import is_about_another, is_tale
from facts.slots import Names
from facts.spans import is_pasted, locate_quote, takes_back_before
from language.sentences import split_clauses, split_sentences
from language.times import TimeExpression, TimeRange, read_times, without_times
from language.yearly import JUST_PAST, YearlyDay, read_yearly, says_calendar

#: At most so many are brought up at once, each so often at most; what is grave, once.
MOST_AT_ONCE, _MOST_ASKED = 3, 2
#: A sentence that names more times than this is no plan.
_MOST_TIMES = 40
#: A greeting waits so long after the last words, and after the last greeting.
_APART, _BETWEEN_GREETINGS = timedelta(minutes=30), timedelta(hours=16)
#: So many unanswered greetings end them.
_UNANSWERED = 2
#: Days after which something without a day is brought up, and after which it no longer is.
_WAITS: Mapping[MatterKind, tuple[int, int]] = {"promise": (2, 21), "question": (1, 14), "worry": (2, 21)}
#: Days after its day during which something may be asked about, and before it during which a deadline may.
_AFTER: Mapping[MatterKind, int] = {"event": 14, "deadline": 3, "promise": 14}
_BEFORE: Mapping[MatterKind, int] = {"deadline": 1}
#: Days before a birthday on which it may come up: there is a present to think of.
_BEFORE_BIRTHDAY = 2
#: Nothing is open for more days than this.
_LONGEST = 365
#: What is said within this time after a worry, a promise or a question is still the same talk.
_SAME_TALK = timedelta(hours=3)
#: An account within this time after a worry is of how that ended.
_SAME_WORRY = timedelta(7)
#: So long after its day "it went well" is about it; so many messages a short "don't ask" reaches back.
_OUTCOME_WITHIN, _REACHES_BACK = timedelta(4), 3
_YEARLY = ("birthday", "anniversary")
_DATED = ("event", "deadline")

_DO_NOT_ASK = pattern_of(
    r"\b(?:don't|do not|dont|never|stop|quit|no need to) (?:\w+ )?(?:ask(?:ing)?(?! me (?:why|what|where)\b)|remind(?:ing)?|bring(?:ing)? (?:it|that|this) up|bring(?:ing)? up|mention(?:ing)?)\b"
    r"|\b(?:not|don't want to|do not want to|rather not) (?:talk|speak|discuss|hear|think)\b"
    r"|\b(?:drop it(?! (?:off|in|into|at|by|on)\b)|drop the subject|off limits|leave (?:it|that|this|me)(?: \w+)? (?:there|be|alone|out)|(?:don't|dont) want (?:\w+ ){1,4}about (?:it|that|this))\b"
    r"|\bno questions\b|\bif i (?:want|wanna|need)(?: to)?,? i'?ll (?:say|tell|talk)\b|\bi'?ll (?:talk|tell you|bring it up) (?:if|when) i\b"
    r"|我想说(?:了|的时候)?[，]?自?然?(?:就|会)+说|别(?:再|老|总|接着|继续|追着|跟我|对我|和我)*(?:问(?!我?(?:为|怎么(?!样)))|追问|提(?!多|有多|前|醒(?!我)))|不要(?:再|老|总|跟我|对我|和我)*(?:问|提(?!前|醒(?!我)))|不用(?:再)?问"
    r"|不(?:想|要|愿意?)(?:再)?(?:被问|聊|说|谈|提(?!前|醒))|(?:[这那](?:个|件|些)?(?:事|个|些)|它)[^，。！？]{0,4}不(?:聊|说|谈|提)了|不(?:聊|说|谈|提)[这那它]|打住|翻篇",
    re.IGNORECASE,
)
#: What points back, before a refusal: with other words there it names its own subject.
_DEMONSTRATIVE = pattern_of(r"\b(?:it|that|this)\b|[这那](?:事|个|件|茬|回|次|些)|它", re.IGNORECASE)
#: A refusal that does not name a matter is about it only with a word for it, or with none at the end.
_DO_NOT_ASK_OF_IT = pattern_of(
    r"\b(?:don't|do not|dont|never|stop|quit|no need to|not|rather not|no) (?:\w+ )?(?:want to )?(?:ask|remind|bring|mention|talk|speak|discuss|hear|think|questions)(?:ing)?"
    r"\b(?: (?!(?:the|why|but|and)\b)\w+){0,4}? (?:it|(?:that|this)(?! (?!any|again|now|please|right|for|to|until|till|with|went|goes|if|when)\w))\b"
    r"|\b(?:ask|mention)(?:ing)?(?: me)?\W*$|\b(?:drop the subject|off limits|leave (?:it|that|this|me)(?: \w+)? (?:there|be|alone|out)|(?:don't|dont) want (?:\w+ ){1,4}about (?:it|that|this))\b"
    r"|\bdrop it\W*$|[问聊说谈提](?:我|了|吧)*(?:[这那](?:事|个(?![\u4e00-\u9fff](?<![了吧啊呢就好事]))|些|件)|[它结])|问我?后来|[问提](?:我|了|吧|啊)*(?:\W|$)|[这那它][^，。！？]{0,4}不(?:聊|说|谈|提)了|打住|翻篇",
    re.IGNORECASE,
)
#: What was said to somebody else, or thought.
_TO_ANOTHER = pattern_of(
    r"\b(?:thought|told (?!you\b)\w+|says? to|said to (?!you\b)|asked (?:him|her|them|my))\b|[跟对和叫让](?![我你])[^，。！？]{1,6}[说讲别]|[跟对叫让]我[^，。！？]{1,3}[说讲别]",
    re.IGNORECASE,
)
_DONE = pattern_of(
    r"\b(?:done|finished|written|handed (?:it )?in|submitted|over|cancell?ed|postponed|sorted|settled|solved|not happening|fell through|went|passed|failed|nailed|survived|aced|bombed|all clear|said (?:yes|no)"
    r"|turned out|no longer|never mind)\b|\b(?:call|put|sent|send)\w* .{0,40}\boff\b"
    r"|取消|推迟|改期|不去了|算了|黄了|泡汤|搞定|完成|[做弄写填改]完|转过去|弄好|交了|办好|结束|解决|顺利|[没过]过[了啦]|[搞弄面考聊谈去见]完|挂了|砸了|成了|录取|拿到|拒了|凉了|没戏|翻车|稳了|过了|没事了|吹了",
    re.IGNORECASE,
)
#: What is owed by a day, or was promised, is done by any verb of the past that speaks of it, but not by one of these.
_ONLY_BEGUN = pattern_of(
    r"\b(?:start|begun|began|try|tried|forg[eo]t|still|not yet|(?:have|has|did|could|ca)n't)\w*\b|开始|开了个头|还没|没有?[^，。]{0,4}(?:写|做|交|寄)|忘",
    re.IGNORECASE,
)
_RELIEF = pattern_of(
    r"\b(?:feel(?:ing)? better|that helps|relie(?:f|ved)|all (?:good|clear)|benign|harmless|false alarm|panic over|is (?:back |safely |finally )?(?:home|safe|fine|ok|okay|back|alive)|not worried any ?more|turns? out|turned out)\b"
    r"|好多了|放心了|回来啦?了?(?=[，。！]|$)|到家|平安|找到了|活蹦乱跳|退烧|联系上|想开了|松了口?气|不担心了|虚惊|没事[了儿]|良性",
    re.IGNORECASE,
)
_UNKNOWN = pattern_of(
    r"\b(?:don't|do not|didn't|can't|cannot|couldn't) (?:\w+ )?(?:know|remember|recall|say|tell|find)\b|\bnot sure\b|\bno idea\b|\bnever (?:told|mentioned)\b"
    r"|不知道|不记得|没(?:有)?(?:说|提|告诉|记)|想不起|不(?:太)?(?:清楚|确定)|记不",
    re.IGNORECASE,
)
#: What is feared or awaited goes on.
_GOES_ON = pattern_of(
    r"\b(?:still|no|not|never|nothing|yet|again|worse|wait\w*|worr\w*|afraid|scared)\b|n't\b"
    r"|还|又|更|等|怕|担心|没(?:消息|动静|信|好|退|回|睡|结果|用)",
    re.IGNORECASE,
)
#: How a message begins that is about something else, or about everyday things.
_ASIDE = pattern_of(
    r"\W*(?:anyway|btw|by the way|random|unrelated|also)\b|\W*(?:i |we )?(?:made|cooked|baked|ate|watched|read|bought|listened)\b"
    r"|\W*(?:why|who|where|which|does|do|is|are|can|should|any(?:one|body)?|what(?! an?\b)|how (?:do|is|are|come|many|much|long|can|to))\b"
    r"|\W*(?:(?:the|this|that|these|our|my|someone's|today's) )?(?:bus\w*|trains?|tube|traffic|weather|rain\w*|fog\w*|snow\w*|wind|heating|wifi|telly|kettle|fridge|toaster"
    r"|butter|milk|neighbou?r\w*|next door\w*|fox\w*|pigeons?|seagulls?|squirrels?|wasps?|bins?|song|advert|recipe|socks?|pens?|charger)\b"
    r"|\W*(?:对了|话说|另外|顺便|天气|今天的|(?:今天|中午|晚上|早上|昨晚|刚刚?才?)?[^，。]{0,4}[吃喝])|\W*(?:今天|昨晚|刚才?|早上|晚上|最近|咱|我们?)?的?这?(?:[下有]雨|外面|窗外|楼[下上]"
    r"|隔壁|邻居|食堂|公司楼|地铁|公交|堵车|路口|外卖|奶茶|咖啡|空调|暖气|冰箱|洗衣机|阳台|快递|小区|便利店|超市|网上|蚊子|有没有|求|推荐|为[什啥]么?|怎么|哪[里儿个家]|天[真好又气太])",
    re.IGNORECASE,
)
#: What is on somebody's mind, or has gone wrong.
_TROUBLED = pattern_of(
    r"\b(?:dread\w*|fear\w*|nerv\w+|anxi\w+|bother\w*|panic\w*|sick|ill|stress\w*|los[et]\w*|losing|missing|gone|knots?|sleep\w*|can'?t|won'?t|hasn'?t"
    r"|haven'?t|isn'?t|didn'?t|doesn'?t|don'?t|nobody|ghost\w*|pain\w*|hurt\w*|bleed\w*|arrears|bailiff\w*|overd\w+|redundan\w*|debts?|owe\w*|fell|broke\w*|leak\w*|row|fight|crying|on the line|at stake|i think|i feel|feels? like)\b"
    r"|愁|慌|觉得|好像|怕是|急|焦|烦|睡不|不踏实|七上八下|瞒|丢|裁|疼|痛|摔|病|烧|血|不[想肯理接回]|联系不|没[来人]|失眠|吵|欠|坏|漏|涨|糟|完了|怎么办|严重|偏[高低]",
    re.IGNORECASE,
)
#: What is awaited is not known yet.
_STILL_WAITING = pattern_of(
    r"\b(?:still (?:waiting|nothing|no)|no (?:news|word|results?)|nothing yet|not (?:yet|heard)|haven't heard|don't know yet|waiting room|on (?:my|our|the) way|just (?:parked|arrived|got here)|about to|next up|wish me luck)\b"
    r"|到门口|到(?:楼下|现场|考场)了?|候[场诊考]|在路上|[马就]上(?:到|开始|进)|轮到|排队|还没|还在等|等(?:结果|消息|通知|信儿)|没(?:消息|动静|结果)|不知道呢",
    re.IGNORECASE,
)
#: Why something does not take place after all, or not on its day.
_CAUSE = pattern_of(
    r"\b(?:flu|covid|norovirus|ill|(?<!be )sick|(?P<own>storm\w*|flood\w*|snow\w*|typhoon|strike|van died|car died|no staff)|broke down|broken|shut"
    r"|short[- ]staffed|done (?:his|her|my|their|its) \w+ in|sprained|twisted|broke (?:his|her|my|their)|double[- ]booked|sold out|(?:gone|went) (?:bust|under)|closed down|(?:money|tickets?) back)\b|\binstead\b|\bthat'?s that\b|\bstaying (?:home|in|put)\b|\bextension\b|\b(?:no idea|who knows) when\b|\b(?:some other|another) time\b"
    r"|(?P<noun>台风|暴雨|大雪|冲突|停[电水工课运]|检修|装修|车坏|大雾|血压)|坏了|生病|病了|发烧|发炎|感冒|阳了|隔离|崴|骨折|摔[了断]|请假|没人[^，。\s]{0,3}接龙|退群|歇着|满了|没[端号位票]|退[了回]来?|排不开|开会|出差|没了|鸽子|鸽了|爽约|(?<![受忍见说])不[\u4e00-\u9fff]{1,2}了(?=\W|$)|再约|下次|改天|再说吧|跑路|水漂|关门|倒闭|凑不齐|反悔|冻结",
    re.IGNORECASE,
)
_PUT_OFF = (
    r"(?:moved|pushed|changed|put|brought|postponed|rescheduled|delayed|shunted|shifted|bumped|kicked|swapped|switched)"
)
#: Words that name nothing of their own: who is meant, when, and that somebody gave notice.
_EMPTY = pattern_of(
    r"^\W*(?:(?:the|my|our|a) )?\w+ (?:just |has |have )*(?:says?|said|rang|called|phoned|e-?mailed|texted|messaged|wrote|told (?:me|us))\b"
    r"|\b(?:i|we|they|it|he|she|that|this|you|me|us|them|him|her|someone|everyone|all|half|some|of|one)(?:'?(?:m|re|ve|ll|s|d))?\b|n't\b"
    r"|\b(?:a|an|the|is|are|was|were|be|been|am|has|have|had|do|did|does|can|could|only|will|would|got|get|gets|getting|gave|put|to|on|in|at|for|by|of|off|out|up|down|back|as|til|till|until|with|from|so|and|just|now|then|instead|after|all|again|already|not|no|ok|okay|oh|well|actually|sadly|sorry|update|news|btw|lol|the|way|due|any|more|next|end|working|days?|time|money|my|our"
    rf"|{_PUT_OFF}|going|whole|thing)\b"
    r"|^[^，。！？]{1,4}?(?:(?:打电话|发消息|发邮件|来电|通知|告诉我?)[说讲]?|[说讲])(?=.*(?:[改推延挪换消]|[排约]到|不))|[排约改推挪延换调拖]了?(?=[到至在成])|[\W\d_]|主办方|对方|人家|时间|日期|[她他我咱你您它这那们了的地得吧啊呢呀嘛哦唉被给把让又就也都还才已经刚临时重新突然结果现在今天事个件场次可能因为所以只好先票钱是要到在至]|推迟|延期|改期|提前",
    re.IGNORECASE,
)
#: Where one part of a sentence ends and the reason, or what follows, begins; who goes together; what names another thing.
_PARTS = pattern_of(r"\b(?:so|because|bc|cos|and)\b|(?<=[a-z])\. ", re.IGNORECASE)
_TOGETHER = pattern_of(r"\b(?:we|we're|us|our|family)\b|全家|一家|[我咱]们", re.IGNORECASE)
_ANOTHER = pattern_of(r"[这那](?:家|部|首|条|本|款|双|台|辆|只|道)")
#: Somebody else gave notice.
_NOTICE = pattern_of(
    r"\b(?:they|phoned|rang|called|emailed|e-mailed|texted|messaged|wrote|told me|says?|said)\b|[说讲]|通知|给我|来电|电话|短信|邮件|消息",
    re.IGNORECASE,
)
#: What is given, paid or sent, as one says when that is done.
_GIVEN = pattern_of(
    r"\b(?:sent|posted|handed|submitted|uploaded|dropped|popped|paid|delivered|it'?s in|filed|signed|returned|emailed|e-mailed|faxed|wired|pressed|clicked|shoved|chucked|hit (?:send|submit))\b"
    r"|[刷转交寄发递传付缴还][^，。！？]{0,4}[了过]|[出上]去了|收走|提交|发送|塞[了进]|转完|盖[了上]|上传",
    re.IGNORECASE,
)
#: After the day: it does not take place, or not with the person.
_CALLED_OFF = pattern_of(
    r"\b(?<!not )(?<!n't )(?:cancell?ed|called (?:it |that )?off|fell through|(?:is|are|was|were|'s|its|all) off(?=\W|$)|not (?:invited|happening|going ahead)|excused|exempt\w*|scrapped|binned|ditched|axed|scratched|rained off|refund\w*)\b"
    r"|\b(?:pull(?:ed|ing)|back(?:ed|ing)|dropp(?:ed|ing)) out\b|\b(?:bailed|chickened out|changed my mind|decided (?:not to|against))\b|\b(?:i'm|im|we're|we are|i am) not going\b"
    r"|\btook (?:it|that|this) off (?:me|us|my)\b|\b(?:gave|given|giving) (?:it|that|this) to\b|\bsomeone else\b|\b(?:don't|do not|dont) (?:have|need) to\b|\boff the hook\b|\bno need any ?more\b"
    r"|\b(?:nothing to do with|doesn't (?:concern|affect|apply to)) (?:me|us)\b|\bnot (?:my|our) (?:problem (?:any|now)|turn|class|team|kid|child)\b"
    r"|(?:没|[关干])[我咱]们?(?:的|什么|啥|屁|毛)?事|[与跟和][我咱]们?(?:没关系|无关)|(?<![没未])(?<!没有)取消(?!不)(?=了|掉|\W|$)|(?<![没未])(?:黄了|泡汤|告吹|吹了)|不来了|来不了|[去办]不成|没[去办]成|不去了|去不了|不办了|不用[我去交考]|不归我|换别人|退票|没(?:请|邀请)我|(?<![没未])(?:推迟|改期)了(?=\W|$)",
    re.IGNORECASE,
)
#: It takes place on another day. Where it is said, and names one, the day before is void.
_MOVED = pattern_of(
    r"\b(?:moved|pushed|shifted|bumped|postponed|rescheduled|delayed|changed (?:it )?to|(?:put|pushed|brought) (?:\w+ ){0,2}(?:off|back|forward))\b"
    r"|\b(?:it's|its|it is|that's) (?:on |the |next )[^.!?]{0,20}\b(?:now|instead)\b"
    r"|改[到在成为]|改(?:期|时间)|挪|推迟|推到|延[到期后]|挪[到后]|提前(?:到(?!了)|了)|换到|往后推",
    re.IGNORECASE,
)
#: Where no word names what is moved: the message opens with it, or says it of "it".
_IT_MOVED = pattern_of(
    rf"^\W*(?:(?:so|well|oh|ok|okay|hi|hey|sorry|update|news|actually|no|just|got|been)\W+)*{_PUT_OFF}\b(?! (?:my|our|the|a)\b)"
    rf"|(?:\b(?:it|mine)|(?:^|[,.;:!?] |\b(?:and|but|so) )that)(?:'s)? (?:(?:has|had|is|was|got|gets|been|be|now|just) )*{_PUT_OFF}\b"
    rf"|\bthey(?:'ve| have| had)? (?:just )?(?:{_PUT_OFF} (?:it|that|mine)\b|(?:postponed|rescheduled)(?! (?:my|our|the|a)\b))"
    r"|\b(?:it's|its|it is|that's) (?:on |the |next )[^.!?]{0,20}\b(?:now|instead)\b"
    r"|\binstead\b|[排约改推挪延换调拖][到至在](?=[^，。]{0,6}[号日周天月期后])"
    r"|(?:^|[，。！？；,\s](?=[它这那])|(?:说|通知|电话|消息|短信|邮件|[他她]们|人家|时间|日期)(?:[^，。！？]{0,6}[，,])?)"
    r"(?:[它又被给]|[这那](?:个|件|场|次)?事?|临时|已经|现在|刚刚?)*(?:(?:改|推|延|挪|换|提前|推迟|延期)[到在成为至]|推迟|改期|改时间|延[期后]|往后推|提前)"
    r"了?(?=\W|$|[周下这明后大今星礼月上本早晚\d一二三四五六七八九十])",
    re.IGNORECASE,
)
#: What no one does by appointment.
_FANCY = pattern_of(
    r"\b(?:becom(?:e|ing) an?|turn(?:ing)? into|run(?:ning)? (?:away|off)|marrying (?:this|the|a|my)|elop\w+|hibernat\w+|the moon|mars"
    r"|win(?:ning)? the lottery|(?:join(?:ing)?|found(?:ing)?) (?:the|a) (?:circus|cult|monastery|convent)|world domination|king of|queen of|emp(?:eror|ress)|crowned|knighted|ascend\w*|heaven|a cave|new life as)\b"
    r"|明天我?就(?!要)[^，。！]*(?<!了)(?=[，。！]|$)|当(?:个|一个)?(?:和尚|尼姑|扫地僧|皇帝|国王|首富|神仙|道士)|我就?是[一个]|成仙|登仙|烧纸|出家|少林寺|变成|中(?:彩票|大奖|五百万)|火星|月球|外星|毁灭|穿越|隐居|首富|登基|末日|上天|[剧杀戏说影画]里|飞升|朕|接驾",
    re.IGNORECASE,
)
#: The words of somebody else, long enough to name a day: a notice, a message that was forwarded.
_OF_OTHERS = pattern_of(
    r"“[^“”]{6,}”|「[^「」]{6,}」|『[^『』]{6,}』|\"(?P<short>[^\"]{0,11})\"|\"[^\"]*\"|(?<=[\s:])'[^']{12,}'(?!\w)"
)
#: Somebody else speaks, of himself, behind a colon.
_REPORTED = pattern_of(
    r"(?<!\bi )\b(?:said|says|wrote|texted|messaged|emailed|replied|told me) ?[:：](?=.*\b(?:i|i'\w+|im|my|we|our)\b)"
    r"|(?:^|[^我])(?:说|回|写道|发消息|发微信|告诉我) ?[:：](?=.*我)",
    re.IGNORECASE,
)
#: People whose matters are theirs; a Chinese surname before a name or a title, but not 周五, 高考 and the like.
_THEIRS = r"(?:ex|boss|friend|mate|(?:boy|girl)friend|kids?|flatmate)"
_OTHERS = r"(?:boss|manager|colleague|co-?worker|neighbou?rs?|ex|teacher|professor|roommate|flatmate|classmate)"
_SURNAME = r"(?!周[一二三四五六日天末]|高[考中]|金[融属]|马上|江[边南]|石[头油]|汤[圆])[王李张刘林何陈杨赵黄周吴徐孙朱郭罗梁宋郑谢韩唐冯董萧曹袁邓许傅沈]"
#: What says, around the day, that nothing is settled.
_UNSETTLED = pattern_of(
    r"\b(?:may|could|probably|possibly|thinking (?:of|about)|considering|not sure|dunno|toying with|provided|providing|as long as|see what|fingers crossed for|depends|depending|we'll see|unconfirmed|tbc|tbd|wonder\w*|as (?:always|usual|ever)|usually|always|normally|mostly|sometimes|often)\b"
    r"|听[^，。\s器力]{1,5}[说讲]|(?:群里|网上|新闻|朋友圈|公众号)[^，。]{0,4}(?:说|都在|刷)|琢磨|寻思|盘算|(?:周|星期|礼拜)[一二三四五六日天][、和跟]?(?:周|星期|礼拜)[一二三四五六日天]|照例|照旧|照常|老规矩|雷打不动|本[该来]|考虑|看[情心]|再看|(?<!不)想去|要么|也(?:可能|许|没准)|再说(?!一)|不一定|说不好|没[定想]|平时|一般|总是|常常|经常|有时",
    re.IGNORECASE,
)
_GUESSED = pattern_of(r"\b(?:bet|reckon\w*|guess\w*|predict\w*|forecast\w*)\b|猜|打赌|估计|预报|大概", re.IGNORECASE)
_OF_THE_WORLD = pattern_of(
    r"\b(?:snow\w*|rain\w*|sleet|thunder\w*|storm\w*|heatwave|sunny|frost\w*|minus \w+|\d+ ?degrees|clocks (?:go|change)|president|government|minister|elections?|parliament|league|the world|world cup|(?:book|film|movie|novel|article|news|paper|horoscope|podcast)s? (?:says?|said|claims?)|olympics|in the (?:series|show|soap|book|film|movie|story|novel|game)|king|queen|pope|premiere|cup final|finale|strike|black friday|(?:petrol|diesel|fuel|england|new (?:season|series|episode|album))(?! for)|sales? (?:starts?|ends?)|^\W*\w+ (?:plays?|faces?|hosts?) (?:on )?\w*day|in the (?:pub|queue|soap))\b"
    r"|总统|[书报][上里]说|新闻[里上]?说|电影里|小说里|选举|大选|世界杯|奥运|联赛|决赛|国会|首映|大结局|罢工|[下有][^，。\s]{0,2}[雨雪雹]|台风|寒潮|冷空气|暴雨|[降升]温|零下|油价|股市|大盘|大促|[开停]业|首发|上新|双倍|停电|国[足乒]|[男女][足排篮]|[^，。\s]队(?!友)|[踢对]阵?[\u4e00-\u9fff]{2}(?=[，。\s]|$)",
    re.IGNORECASE,
)
#: A name with what somebody of this name does or has: "Anna flies to Rome", "Tom's exam", 隔壁李叔, 张伟的婚礼.
_SOMEBODY_DOES = pattern_of(
    r"^\W*(?!(?:The|This|That|There|It|Work|School|Uni|College|Rent|Surgery|Next|On|In|At|My|Our)\b)[A-Z][a-z]+(?: and [A-Z][a-z]+)? "
    r"(?:has|have|flies|fly|goes|gets|get|moves|marries|travels|sits|takes|leaves for|(?:is|are) \w+ing)\b"
    r"|^\W*(?!(?:It|That|This|There|Here|What|Where|When|Who|Let|He|She|Today|Tomorrow|Tonight|Next|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)')[A-Z][a-z]+'s (?!a |an |the |\w+ing\b|been\b|got\b)\w"
    r"|(?i:^\W*(?:[\w']+ ){1,5}(?:retires|flies|marries|reveals|drops|travels|quits|divorces|goes (?:up|down|on sale)|(?:is|'s) (?:off to|having|getting|marrying|leaving|flying|moving|going))\b)"
    rf"|(?i:^\W*(?:(?:and|so|but|oh) )*(?:my|the|our) (?:\w+ )?{_OTHERS}\b|^\W*my \w+s'?s? {_THEIRS}\b"
    r"|^\W*(?:the|that|this|some|a) (?:\w+ ){1,2}(?:at|from|in|on|down|over|who|next)\b"
    r"|^\W*(?:people|everyone|folks)\b|^\W*[a-z]+ from (?:work|school|next door)\b)"
    r"|^[小老阿][\u4e00-\u9fff](?![我咱])(?!时|学|伙|板|师|家|公|婆|爸|妈|崽|娃|宝|猫|狗)"
    rf"|^\W*{_SURNAME}(?:[叔伯婶姨哥姐总]|阿姨|大爷|大妈|老师|经理|主任|[\u4e00-\u9fff]{{1,2}}的)"
)
#: Further times in one text are not read.
_MOST_TIMES = 20
_OR_ELSE = pattern_of(r"\b(?:or|otherwise|else|and)\b|否则|不然", re.IGNORECASE)
_OTHERS_OF_MINE = pattern_of(
    rf"\b(?:my|our) (?:(?:\w+ )?{_OTHERS}|mates?|\w+s'?s? {_THEIRS})\b"
    r"|(?:^|[，。\s])(?:[他她]们?|人家|朋友|那谁|同[事学]|邻居)(?:家|的)*(?:[爸妈姐妹哥弟儿女老][\u4e00-\u9fff]?|猫|狗|娃|孩子)|[我咱]们?(?:同[桌事学]|邻居|[室舍]友|老板|领导|客户|前[任男女]友?|[老导]师)(?:[他她的家][^，。\s周下明后今]{1,3})?"
    rf"|[我咱]们(?:公司|单位|班|学校|部门|组|系|厂|小区|村)里?的?(?:[小老阿][\u4e00-\u9fff]|{_SURNAME}[\u4e00-\u9fff]{{1,2}}|[\u4e00-\u9fff]{{0,2}}(?:长|师|同[学事]|主任|经理|老板|阿姨)(?=[^\u4e00-\u9fff]|[周下这本明后今星礼的]))",
    re.IGNORECASE,
)
#: What is his, hers or theirs, without the speaker; somebody by their trade or place right before the day.
_OF_ANOTHER = pattern_of(
    r"^(?!.*\b(?:i|i'm|i'll|i've|im|ill|ive|we|we're|we'll|me|us|our|mine)\b).*\b(?:his|her|their)\b"
    r"|^\W*(?:[我咱]们?)?[^，。！？\s我咱]{0,7}(?:师|市长|局长|校长|总理|总统|员|小哥|大哥|大姐|大爷|大妈|经理|球队|国足|国家队|人家|那家|小伙|单元|楼上|楼下|隔壁|明星|歌手|教授|房客|租客)"
    r"(?=(?:上|下|这|本)*(?:周|星期|礼拜)|[今明后]天|\d|[一二三]?十)(?![^，。]*[我咱])",
    re.IGNORECASE,
)
#: Those whose matters are the person's too.
_CLOSE = pattern_of(
    r"\b(?:mums?|mom|mother|dads?|father|parents|sons?|daughters?|kids?|child(?:ren)?|wife|husband|partner|girlfriend|boyfriend|eldest|oldest|youngest|twins|little one"
    r"|sis|sisters?|bro|brothers?|hubby|missus|mam|nan|gran\w*|(?:best|oldest) (?:friend|mate)|landlord|landlady|cat|dog|pup\w*)\b"
    r"|[我咱]?[爸妈]|儿子|女儿|闺女|孩子|[我咱]娃|老[婆公]|媳妇|[我咱][大小表堂]?[姐妹哥弟]|(?<![帅师学大小])[姐妹哥弟]|[崽娃]|宝宝|[爷奶]{2}|姥[姥爷]|外[婆公]|对象|[男女]朋友|最好的?朋友|闺蜜|发小|死党|[猫狗]",
    re.IGNORECASE,
)
_GRAVE = pattern_of(
    r"\b(?:die[sd]?|dying|death|dead|funeral|passed away|hospice|cancer|tumou?r|lump|chemo\w*|surgery|operation|biopsy|stroke|heart attack"
    r"|miscarr\w+|divorc\w+|broke up|break-?up|separat(?:ed|ion)|suicid\w+|nodule|lesion|polyps?|dementia|diagnos\w+|hospital|scan results)\b"
    r"|结节|阴影|肿块|息肉|去世|过世|走了(?=\W|$|[一两二三四五六七八九十\d]+年|以后|之后)|葬|追悼|癌|肿瘤|化疗|手术|活检|中风|心梗|流产|离婚|分手|自杀|痴呆|确诊|住院|病危|病重",
    re.IGNORECASE,
)
#: What has a result that is waited for; when others have said that they answer.
_RESULT = pattern_of(
    r"\b(?:tests?|tested|scans?|biops\w+|results?|monitor|check-?up|x-?ray|mri|bloods?|lump|smear)\b|化验|检查|活检|穿刺|结果|报告|拍片|体检|胃镜|肠镜",
    re.IGNORECASE,
)
_AWAITED = pattern_of(
    r"\b(?:let (?:me|us) know|gets? back to|(?:tell|telling|ring|call|email) (?:me|us)|hear (?:back|from)|decid\w+|results?|(?:the|an|their) answer|repl(?:y|ies)|respond)\b"
    r"|给[我个]{0,2}(?:消息|答复|回复|准信|结果|信)|通知|出结果|出成绩|[会等][^，。]{0,4}[答回]复|告诉我|公布",
    re.IGNORECASE,
)
_PERSONAL = pattern_of(
    r"\b(?:doctor|therap\w+|lawyer|court|hearing|money|debt|loan|test|results?)\b|医|律师|开庭|钱|债|体检|心理",
    re.IGNORECASE,
)
#: What tells that something has happened, or that it is still to come, in a clause.
_HAPPENED = pattern_of(
    r"(?<=\w )(?<!'ve )(?<!have )(?<!has )got\b|\b(?:was|were|had|did|went|came|took|gave|bought|left|met|saw|ran|said|told|sat|sang|swam|drove|flew|wrote|won|lost|brought|beat|shook|stuck|tore|swore|fed|froze|rose|broke|fell|felt|found|kept|made|paid|sent|slept|spent|taught|thought|woke|wore|began|ate|drank|built|caught|chose|fought|forgot|grew|heard|held|knew|led|rang|rode|sold|spoke|stood|stole|threw|used to|once|(?!need|indeed|feed|seed|speed|exceed)\w{2,}ed)\b|了(?![！!。.，,～~]|$)|过(?![年节来去])|刚刚?|昨|上周|上个?月",
    re.IGNORECASE,
)
_TO_COME = pattern_of(
    r"^\W*(?:were )?\w{2,}ing (?!was|is|were)|\b(?:will|ill (?!with\b)\w+|i'd (?!been\b|had\b)\w+|gets? (?:\w+ed|heard|done|put|cut|taken|fixed)|(?:closes|ends|expires|runs out|starts|begins|opens|lands|arrives|leaves)|going to|gonna|have to|has to|need to|must|tomorrow|tonight|next|upcoming|due|deadline|booked|appointment"
    r"|(?:moved|postponed|rescheduled|pushed|put off|brought forward)\b.*\bto|(?:'ve|have|has) got|(?:i'?m|we're|am|are|is) (?!\w+ed\b)\w+|\w's \w+ing\b|(?:it's|its) .*\b(?:now|instead)\b)\b|'ll\b"
    r"|[要将]|(?<![机社开聚宴晚约学])会(?![议员计儿])|(?<![觉记舍懒值获取])得(?![了到很好])|打算|准备|计划|明天|后天|下周|下个?月|截止"
    r"|改到|改在|推到|推迟到|提前到|挪到|定在|约在|约了|订了|之前|(?:^|\s)再(?![也没])",
    re.IGNORECASE,
)
#: A condition behind the day that has its own consequence: the day is settled.
_IF_SO = pattern_of(
    r"[,;]\s*(?:and |but |so |cos |because )?if [^,;]+(?:, ?|\b(?=(?:i|we|they|it|he|she|that)(?:'|m\b|ll\b|s\b| )))[^,;]+"
    r"|[，；\s][^，；。\s]{0,6}(?:要是|如果|万一|假如)[^，；。\s]*[，\s]?[^，；。\s]{0,6}[就那得会][^，；。\s]*",
    re.IGNORECASE,
)
#: What makes a day that of a deadline, around it.
_OWED_BY = pattern_of(r"\b(?:by|before|until|till|due) +\| |\| *(?:之?前|截止)", re.IGNORECASE)
#: A part of the day it is said on, which may be still to come.
_LATER_TODAY = pattern_of(r"tonight|tonite|evening|afternoon|今晚|晚上|下午|傍晚", re.IGNORECASE)
#: An expression that means a time before.
_LAST = pattern_of(r"last|past|上", re.IGNORECASE)
#: What one only knows of others, heard by chance or read.
_HEARSAY = pattern_of(
    r"^\W*(?:some )?(?:bloke|guy|man|woman|lady|girl|lad|couple|some(?:one|body)|two \w+|random \w+)\b(?! (?:at|from)\b)|\bthey say\b|"
    r"\b(?:i|we) (?:(?:now|just|also|even|only|happen to) )*(?:know|overhear|overheard|heard|read|gather|learnt)\b"
    r"|^(?:前任|前[男女]友|隔壁|楼[上下]|对门|[^，。]{1,4}那谁)|(?:我|咱们?)?(?:听[到见]|偷听|刷到|看到|知道)(?=[^，。\s])|(?:群里|里面|网上)[^，。]{0,6}(?:[让喊叫说]|接龙|通知)|[聊讲]\s?说|转[的来]|(?:电视|剧|综艺|直播间?|热搜|朋友圈)[里上]",
    re.IGNORECASE,
)
#: What was long ago.
_LONG_AGO = pattern_of(
    r"\b(?:used to|when i was|years? ago|back in|as a (?:kid|child)|in (?:19|20)[0-2]\d|once upon)\b|小时候|[去前那当]年|那时|那会儿|那天|以前|\d岁那",
    re.IGNORECASE,
)
#: The speaker, alone or with others.
_SELF = pattern_of(r"\b(?:i|i'm|i've|i'll|we|we're|we'll|my|our|me|us)\b|[我咱]", re.IGNORECASE)
#: Words that are in many matters and tell none of them from another.
_COMMON_WORDS = """
    have has had get got go going see make take tell ask know will would should must need want like think next time day
    week month year today tomorrow tonight morning evening birthday anniversary worry worried afraid promise due hand
    finish start starting first new bad good really still just name call give
    生日 纪念 纪念日 担心 害怕 告诉 下次 答应 截止 之前 开始 第一 一天 今天 明天 上午 下午 晚上 我们 你们 他们 什么 怎么 知道
    """


# -- from drafts to matters


def check_matters(
    drafts: Iterable[FactDraft], window: Sequence[Message], before: Sequence[Message], names: Names
) -> tuple[tuple[NewMatter, ...], Counter[str]]:
    """The drafts that are open matters by the words they rest on, and how many were rejected, by reason."""
    spoken = SpokenWindow(window, before, names)
    found: list[NewMatter] = []
    rejected: Counter[str] = Counter()
    for draft in drafts:
        if draft.open not in get_args(MatterKind):
            continue
        matter = _check(draft, spoken)
        if isinstance(matter, str):
            rejected[f"open: {matter}"] += 1
        elif not any(_is_repeated(matter, one) for one in found):
            found.append(matter)
    return tuple(found), rejected


def _is_repeated(one: NewMatter, other: NewMatter) -> bool:
    """Whether two matters of one message are the same: of two days there are two, each with its own words."""
    if one.message != other.message or (one.kind != other.kind and one.kind in _YEARLY):
        return False
    same_day = (one.due_from, one.yearly) == (other.due_from, other.yearly)
    return one.key == other.key or (same_day and _shares(_roots(one.key.split()), _roots(other.key.split())))


def _check(draft: FactDraft, spoken: SpokenWindow) -> NewMatter | str:
    """The matter of a draft, or why it is none."""
    handles = [*(quote.message for quote in draft.quotes if quote.message), *draft.messages]
    sources = [one for one in spoken.find_named(handles[:1]) if not one.message.speaker]
    if not sources:
        return "no turn"
    (source,) = sources
    words = next((quote.words for quote in draft.quotes), "")
    place = locate_quote(words, [source.message], draft.restatement)
    if source.barred or source.message.hidden:
        return "forgotten"
    if place is None or (source.spoken_by_person and is_pasted(place, source.message.words)):
        return "quoted text"
    kind: MatterKind = draft.open  # type: ignore[assignment]
    sentences, own = _sentences_of(place, source), source.spoken_by_person
    if not sentences or (not own and kind != "promise"):
        return "companion's words"
    fit = [one for one in sentences if is_question(one.text) == (kind == "question")] or sentences
    timed = (one for one in fit if kind in _DATED and _times_of(one.text, source.said, ""))
    sentence = next(timed, fit[0])
    quoted = place.words if place.words in sentence.text else ""
    if own and _REPORTED.search(sentence.text.replace("’", "'")):
        return "quoted text"
    if fault := _fault_of(kind, sentence, source, spoken, quoted):
        return fault
    start, end = (sentences[0].span[0], sentences[-1].span[1]) if own else (place.start, place.end)
    words = source.message.words[start:end]
    terms = _key_terms(quoted, source.said)
    if not terms and not (kind in _YEARLY and _SELF.search(quoted)):
        terms = _key_terms(words if kind in _YEARLY else sentence.text, source.said)
    key = " ".join(terms)
    if not key and kind not in _YEARLY and not _AWAITED.search(sentence.text):
        return "unsupported"
    sensitivity = _sensitivity_of(kind, source.text)
    matter = NewMatter(kind, place.message, start, end, words, sensitivity=sensitivity, key=key or kind)
    said = datetime.fromisoformat(source.message.timestamp)
    if kind in _YEARLY:
        day = read_yearly(quoted, said.date()) or read_yearly(sentence.text, said.date())
        return schedule(replace(matter, yearly=day.text), said, own) if day else "date"
    own_text = sentence.text
    if kind in _DATED:
        own_text = _OF_OTHERS.sub(lambda one: " " * len(one[0]) if one["short"] is None else one[0], own_text)
    awaited = kind != "worry" or any(one.search(own_text) for one in (_AWAITED, _RESULT, _TO_COME))
    due = _due(own_text, said, past=kind in _DATED, quoted=quoted) if awaited else None
    if due is None and kind in _DATED:
        return "past"
    return schedule(replace(matter, due_from=due[0], due_to=due[1], precision=due[2]) if due else matter, said, own)


def _sentences_of(place: Quote, source: Source) -> list[Sentence]:
    """The whole sentences with the quoted words, without what is not their speaker's own."""
    if source.spoken_by_person:
        return [one for one in source.sentences if one.span[0] < place.end and place.start < one.span[1]]
    return [one for one in source.sentences if one.text in place.words or place.words in one.text]


def _fault_of(kind: MatterKind, sentence: Sentence, source: Source, spoken: SpokenWindow, quoted: str) -> str:
    """Why a sentence leaves nothing open; "" if it does."""
    text = sentence.text
    if is_question(text):
        return "" if kind == "question" else "question"
    if kind == "question":
        return "no question"
    if not source.spoken_by_person and not is_promise(text):
        return "no promise"
    if stance_of(text, sentence.following) == "joked" or takes_back_before(sentence.following):
        return "joked"
    if is_tale(sentence):
        return "story"
    if kind == "worry":
        troubled = (_TROUBLED, _CLOSE, _GRAVE, _RESULT, _AWAITED, _GOES_ON)
        none = _LONG_AGO.search(text) or (
            _OF_THE_WORLD.search(text) and not (_SELF.search(text) or _CLOSE.search(text))
        )
        return "no worry" if none or not any(one.search(source.text) for one in troubled) else ""
    if kind in _YEARLY:
        return ""
    return _fault_of_the_day(kind, sentence, source, spoken, quoted)


def _fault_of_the_day(kind: MatterKind, sentence: Sentence, source: Source, spoken: SpokenWindow, quoted: str) -> str:
    """Why the part of a sentence with its day leaves no event, deadline or promise open; "" if it does."""
    text = _part_of_the_day(sentence.text, source.said, quoted).replace("’", "'")
    day = next((one for one in split_clauses(text) if read_times(one, source.said)), text)
    stance, dated = stance_of(text), kind in _DATED
    own_text = _OTHERS_OF_MINE.sub("", _HEARSAY.sub("", text))
    own, close = _SELF.search(own_text) is not None, _CLOSE.search(own_text) is not None
    own_day = _SELF.search(_OTHERS_OF_MINE.sub("", _HEARSAY.sub("", day))) is not None
    if _FANCY.search(text):
        return "joked"
    if dated and _LONG_AGO.search(day) and not _TO_COME.search(day):
        return "past"
    hedges = (stance_of(one) == "supposed" for one in (day, *_asides_of(text)))
    hedged = stance == "supposed" and (governs_whole(text) or any(hedges))
    world = not (own_day or close) and _OF_THE_WORLD.search(day)
    guessed = _UNSETTLED.search(text) or _GUESSED.search(day) or world
    if hedged or (kind == "event" and guessed):
        return "supposed"
    of_another = not close and not _AWAITED.search(text) and _OF_ANOTHER.search(text)
    heard = not close and (_HEARSAY.search(text) or _OTHERS_OF_MINE.search(text))
    heard = (not own and (heard or _SOMEBODY_DOES.search(text))) or (not own_day and _HEARSAY.search(day))
    if dated and (of_another or heard):
        return "subject"
    if stance == "wished" and dated:
        return stance
    plain = re.sub(r"([\u4e00-\u9fff])[不没](?=\1)|\b(?:yes or no|or not)\b", "", text)
    parts = (part for one in split_clauses(plain) for part in _OR_ELSE.split(one))
    report = kind == "promise" and re.search(r"你|\byou\b", text)
    denied = not report and any(takes_back(part) and read_times(part, source.said) for part in parts)
    if denied or (dated and _is_called_off(sentence, source, quoted)):
        return "denied"
    if not dated:
        due = _due(text, datetime.fromisoformat(source.message.timestamp), past=False)
        ahead = due or _TO_COME.search(text) or "你" in text or is_promise(text)
        return "past" if source.spoken_by_person and not ahead and (_HAPPENED.search(text) or "了" in text) else ""
    about = Sentence(day, sentence.before, sentence.following, confirmed=False)
    return "subject" if not close and is_about_another(about, spoken.words) else ""


def _asides_of(text: str) -> list[str]:
    """The clauses of one or two words: "maybe", 也许吧; not "might faint"."""
    return [one for one in split_clauses(text) if len(one) < 5 or (" " not in one and one.isascii())]


def _part_of_the_day(text: str, said: date, quoted: str) -> str:
    """The clauses of a sentence with its day and those around it, up to another day; all of a supposition."""
    days = _times_of(text, said, quoted)
    if days and (settled := _IF_SO.search(text, days[0].end)):
        text = text[: settled.start()] + ", " + text[settled.end() :]
    clauses, day = split_clauses(text), text[days[0].start : days[0].end] if days else ""
    at = next((number for number, clause in enumerate(clauses) if day in clause), 0)
    if not day or governs_whole(text):
        return text
    timed = [number for number, clause in enumerate(clauses) if number != at and read_times(clause, said)]
    first = max((number + 1 for number in timed if number < at), default=0)
    last = min((number for number in timed if number > at), default=len(clauses))
    return ", ".join(clauses[first:last])


def _is_called_off(sentence: Sentence, source: Source, quoted: str) -> bool:
    """Whether what follows the day, to the end of the message, calls it off; what names another day ahead does not."""
    days = _times_of(sentence.text, source.said, quoted)
    behind = sentence.text[days[0].end if days else 0 :] + "\n" + source.message.words[sentence.span[1] :]
    return any(
        _CALLED_OFF.search(clause)
        and stance_of(clause) != "supposed"
        and not any(_ahead(one, clause, source.said) for one in read_times(clause, source.said))
        for part in split_sentences(behind.replace("’", "'"))
        for clause in split_clauses(part)
    )


def _times_of(text: str, said: date, quoted: str) -> list[TimeExpression]:
    """The times in the quoted words of a sentence; where these name none, all of it."""
    found = read_times(text, said)[:_MOST_TIMES]
    start = text.find(quoted)
    return [one for one in found if start <= one.start and one.end <= start + len(quoted)] or [*found]


def _due(text: str, said: datetime, *, past: bool, quoted: str = "") -> tuple[str, str, Precision] | None:
    """The first time at or after it was said that a sentence names; None if there is none, or it is of the past."""
    found = _times_of(text, said.date(), quoted)
    if any(one.recurrence for one in found):
        return None
    for one in found:
        named = text[one.start : one.end]
        parts = (part for one in split_clauses(text) for part in _OR_ELSE.split(one))
        clause = next((part for part in parts if named in part), text).replace(named, " ")
        today = one.meant is not None and one.meant.first <= said.date()
        either = (one.kind == "weekday" or today) and not _OWED_BY.search(text[: one.start] + " | " + text[one.end :])
        over = _HAPPENED.search(clause) or (one.meant is not None and one.meant.first == said.date() and "了" in clause)
        moved_to = re.search(r"\bto (?:the )?$|[到至]$", text[: one.start])
        if past and either and over and not (moved_to or _TO_COME.search(clause)):
            continue
        ahead = _ahead(one, text, said.date())
        if (
            past
            and ahead
            and ahead.first == ahead.last == said.date()
            and not _TO_COME.search(clause + _LATER_TODAY.sub(" will ", named))
        ):
            continue
        if ahead:
            at = next((each.hours for each in found if each.hours and each.hours[0] == each.hours[1]), None)
            if ahead.days == 1 and at:
                moment = datetime.combine(ahead.first, at[0]).isoformat(timespec="minutes")
                return moment, moment, "time"
            precisions: tuple[tuple[int, Precision], ...] = ((3, "day"), (8, "week"), (31, "month"))
            precision: Precision = next((name for most, name in precisions if ahead.days <= most), "year")
            return ahead.first.isoformat(), ahead.last.isoformat(), precision
    return None


def day_ahead(text: str, now: datetime) -> str:
    """The day from today on that a text names, as 2026-12-01; "" for none.

    >>> day_ahead("next Friday", datetime(2026, 11, 25)), day_ahead("soon", datetime(2026, 11, 25))
    ('2026-11-27', '')
    """
    due = _due(text, now, past=False)
    return due[0][:10] if due and due[0][:10] >= now.date().isoformat() else ""


def _ahead(one: TimeExpression, text: str, said: date) -> TimeRange | None:
    """The first range that an expression may mean and that is not over."""
    if one.kind in ("vague", "recurrence", "clock", "ago") or (one.meant is None and one.kind != "weekday"):
        return None
    if one.meant and ((one.meant.last < said and len(one.possible) < 2) or _LAST.match(text, one.start)):
        return None
    if one.meant and one.meant.first < said == one.meant.last:  # "the last few days"
        return None
    if one.meant and not one.meant.yearly and one.meant.last >= said:
        # "Next Wednesday" may be the one after: until both are past, it is open.
        later = max((each.last for each in one.possible), default=one.meant.last)
        return replace(one.meant, last=later) if one.kind == "weekday" else one.meant
    ranges = [each for each in (one.meant, *one.possible) if each and not each.yearly and each.last >= said]
    return min(ranges, key=lambda each: each.first, default=None)


def _key_terms(text: str, said: date) -> tuple[str, ...]:
    """The telling words of a sentence, without times and what many matters have in common."""
    plain = re.sub("不?是", " ", without_times(text, read_times(text, said)))
    return tuple(sorted(telling_terms(plain) - _common_terms()))


@cache
def _common_terms() -> frozenset[str]:
    return telling_terms(_COMMON_WORDS)


def _sensitivity_of(kind: MatterKind, text: str) -> Sensitivity:
    if _GRAVE.search(text):
        return "care"
    return "personal" if kind == "worry" or _PERSONAL.search(text) else "routine"


def schedule(matter: NewMatter, said: datetime, own: bool) -> NewMatter:
    """A matter with the first and the last day on which it may be brought up; ``own``: the person said it."""
    day = said.date()
    if yearly := YearlyDay.parse(matter.yearly):
        due = yearly.next_on(day)
        ahead = -1 if matter.sensitivity == "care" else -_BEFORE_BIRTHDAY
        first = _later(day, 1) if yearly.calendar == "unclear" else due and _later(due, ahead)
        due_on = due.isoformat() if due else ""
        return replace(matter, due_from=due_on, due_to=due_on, precision="day",
                       next_review=first.isoformat() if first else "9999-12-31", expires="9999-12-31")  # fmt: skip
    if not matter.due_from:
        waits, lasts = _WAITS.get(matter.kind, (2, 21))
        waits = waits if own and matter.sensitivity != "care" else 1
        first, last = _later(day, waits), _later(day, lasts)
    else:
        begins, ends = (date.fromisoformat(one[:10]) for one in (matter.due_from, matter.due_to))
        exact = matter.precision in ("time", "day")
        first = _later(
            begins if exact else ends, -_BEFORE.get(matter.kind, 0 if exact or matter.kind == "promise" else -1)
        )
        if matter.kind == "deadline" and _AWAITED.search(matter.words):  # somebody else's deadline
            first, exact = _later(ends, 1), False
        last = _later(ends, _AFTER.get(matter.kind, 14) if exact else 21)
    return replace(matter, next_review=first.isoformat(), expires=min(last, _later(day, _LONGEST)).isoformat())


# -- what later talk does to them


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a matter: its status, the day of every year where that is known now, from when it may come up."""

    number: int
    status: MatterStatus
    yearly: str
    next_review: str


def settle(matters: Sequence[OpenMatter], later: Sequence[Message], now: datetime) -> list[Settled]:
    """What became of matters by what was said since, in order, and by the clock; only what changes.

    ``matters`` are in the order in which they were said, ``later`` the messages since the first open one, or those
    that are new since the last time and a few before them. What is closed already is only dropped still.
    """
    found: dict[int, Settled] = {}
    keys = {one.number: _roots(one.key.split()) for one in matters}
    rows = [_Said.of(one, matters, keys) for one in later if not one.hidden]
    gone: list[OpenMatter] = [one for one in matters if one.status == "dropped"]
    refusals = [at for at, row in enumerate(rows) if row.by_person and asks_not_to_be_asked(row.words)]
    for matter in matters:
        if matter.status == "dropped":
            continue
        if _is_refused(matter, rows, refusals):
            found[matter.number] = Settled(matter.number, "dropped", matter.yearly, matter.next_review)
            gone.append(matter)
            continue
        if not matter.is_open:
            continue
        if any(_is_same(matter, one) for one in gone if one.place <= matter.place):
            found[matter.number] = Settled(matter.number, "dropped", matter.yearly, matter.next_review)
            continue
        status = "closed" if _is_moved(matter, matters, rows) else _status_after(matter, matters, rows, now)
        newer = any(
            one.place > matter.place
            and one.kind in (matter.kind, *_DATED)
            and one.role in (matter.role, "user")
            and _is_same(matter, one)
            and not (one.kind == "worry" and _GOES_ON.search(one.words))
            for one in matters
        )
        if status == matter.status and (newer or _is_relief(matter, matters)) and matter.kind not in _YEARLY:
            status = "closed"
        if matter.kind in _YEARLY and any(_corrects(one, matter) for one in matters):
            status = "closed"
        yearly = _calendar_said(matter, rows)
        review = _review_after_talk(matter, rows)
        if (status, yearly, review) != (matter.status, matter.yearly, matter.next_review):
            found[matter.number] = Settled(matter.number, status, yearly, review)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Said:
    """A later message: its words, and how many telling terms it shares with each matter that rests on another."""

    message: Message
    words: str
    terms: frozenset[str]
    when: datetime
    shared: Mapping[int, int]

    @classmethod
    def of(cls, message: Message, matters: Sequence[OpenMatter], keys: Mapping[int, frozenset[str]]) -> _Said:
        terms = _roots(telling_terms(message.words))
        others = (one.number for one in matters if one.message != message.text_id)
        shared = {number: count for number in others if (count := len(keys[number] & terms))}
        words = message.words.replace("’", "'")
        return cls(message, words, terms, datetime.fromisoformat(message.timestamp), shared)

    @property
    def by_person(self) -> bool:
        return self.message.role == "user"

    @property
    def tells(self) -> bool:
        """Whether it says that something has happened."""
        return _HAPPENED.search(self.words) is not None or "了" in self.words


def _status_after(
    matter: OpenMatter, matters: Sequence[OpenMatter], rows: Sequence[_Said], now: datetime
) -> MatterStatus:
    earlier: datetime | None = None
    for row in rows:
        at = row.message.seq - matter.place - 1
        if not row.by_person:
            answered = matter.kind == "question" and at == 0 and not _UNKNOWN.search(row.words)
            mentioned = matter.role == "assistant" and _shares(_roots(matter.key.split()), row.terms)
            if at >= 0 and (answered or mentioned):
                return "closed"
            continue
        before = None if at < 2 else earlier
        later = at >= 0 and matter.kind not in _YEARLY
        if later and (_speaks_of(matter, row, at) or _accounts_for(matter, matters, row, before)):
            return "answered" if matter.asked else "closed"
        earlier = row.when
    return "expired" if matter.expires < now.date().isoformat() else matter.status


def _has_begun(matter: OpenMatter, row: _Said) -> bool:
    if matter.due_from:
        return row.when >= _moment(matter.due_from, row.when)
    return row.when - datetime.fromisoformat(matter.said) >= _SAME_TALK


def _speaks_of(matter: OpenMatter, row: _Said, at: int) -> bool:
    """Whether a message says with a word for a matter that it is over, or speaks of it once it has begun."""
    key, dated = _roots(matter.key.split()), matter.kind in _DATED
    touched = bool(key & row.terms) and not is_question(row.words)
    void = dated and (_CALLED_OFF.search(row.words) or _CAUSE.search(row.words))
    over = matter.kind in ("deadline", "promise") and row.tells and not _ONLY_BEGUN.search(row.words)
    if touched and (over or void or _DONE.search(row.words)):
        return True
    if matter.kind == "worry" and at < _REACHES_BACK and _RELIEF.search(row.words):
        return True
    spoken_of = _shares(key, row.terms) or (touched and dated)
    goes_on = (_GOES_ON if matter.kind == "worry" else _STILL_WAITING).search(row.words)
    return spoken_of and _has_begun(matter, row) and not goes_on


def _accounts_for(matter: OpenMatter, matters: Sequence[OpenMatter], row: _Said, earlier: datetime | None) -> bool:
    """Whether a message of a later talk, which is about no other matter, ends this one in other words.

    Before its day by a cause, a cancellation, what was given; after it by an outcome, or by being the first;
    ``earlier`` is when the person had spoken before, None for nothing since the matter.
    """
    words, begun, dated = row.words, _has_begun(matter, row), matter.kind in _DATED
    elsewhere = is_question(words) or any(count > row.shared.get(matter.number, 0) for count in row.shared.values())
    if elsewhere or row.when - datetime.fromisoformat(matter.said) < _SAME_TALK:
        return False
    care, relief = matter.sensitivity == "care", _RELIEF.search(words) is not None
    if matter.kind == "worry" and not matter.due_from:
        settled = relief or (not care and row.tells and not _is_aside(words))
        return settled and not _GOES_ON.search(words)
    if not matter.due_from:
        return False
    if not begun:
        given = matter.kind == "deadline" and (_DONE.search(words) or _GIVEN.search(words))
        latest = not any(one.place > matter.place and one.kind in _DATED for one in matters)
        own_day = day_ahead(words, row.when) not in ("", matter.due_from[:10])  # what is off then is something else
        over = (given and not _ONLY_BEGUN.search(words)) or _is_void(matter, words)
        return bool(dated and latest and not own_day and over)
    outcome = _DONE.search(words) is not None
    grave = care or (_RESULT.search(matter.words) and _CLOSE.search(matter.words))
    if grave and not (outcome or relief or _PERSONAL.search(words)):
        return False
    place = _moment(matter.due_from, row.when, noon=True)
    first = (
        row.when >= place
        and (earlier is None or earlier < place)
        and row.terms
        and not _is_aside(words)
        and not _STILL_WAITING.search(words)
    )
    recent = row.when - _moment(matter.due_to, row.when, end=True) <= _OUTCOME_WITHIN
    return recent and bool(first or (dated and outcome))


def _is_void(matter: OpenMatter, words: str) -> bool:
    """Whether a clause about nothing of its own says that something is off, or why: it is then about the matter."""
    for sentence in split_sentences(words):
        lead = ""
        for clause in (part for one in split_clauses(sentence) for part in _PARTS.split(one)):
            off = _CALLED_OFF.search(clause)
            if (found := off or _CAUSE.search(clause)) and not _ANOTHER.search(sentence):
                named = not off and (found["own"] or found["noun"])
                rest = clause if named else clause[: found.start()] + " " + clause[found.end() :]
                alone = off or _SELF.search(clause)  # otherwise it is about what the clauses before it are about
                known = (off and _DEMONSTRATIVE.search(off[0])) or (
                    _CLOSE.search(rest) and _TOGETHER.search(matter.words)
                )
                if known or not _names_another(matter, rest if alone else lead + rest):
                    return True
            lead += clause + " "
    return False


def _names_another(matter: OpenMatter, clause: str) -> bool:
    """Whether a clause has a word of its own that the matter has not."""
    rest = _EMPTY.sub(" ", without_times(clause, read_times(clause, date.fromisoformat(matter.said[:10]))))
    words = (frozenset(re.findall(r"[a-z]+|[\u4e00-\u9fff]", one.lower())) for one in (rest, matter.words))
    return not next(words) <= next(words)


def _is_aside(words: str) -> bool:
    return all(_ASIDE.match(one) for one in split_sentences(words))


def takes_up(one: OpenMatter, reply: str) -> bool:
    """Whether a reply to a greeting says what became of a matter: not that it is unknown, nor something else alone."""
    plain = reply.replace("’", "'")
    about = bool(_roots(one.key.split()) & _roots(telling_terms(reply)))
    asks = any(is_question(sentence) for sentence in split_sentences(plain))
    return not _STILL_WAITING.search(plain) and (about or not (asks or _is_aside(plain)))


def _review_after_talk(matter: OpenMatter, rows: Sequence[_Said]) -> str:
    """From when a matter may come up: a birthday on which, or after which, there was talk, not before the next."""
    yearly, review = YearlyDay.parse(matter.yearly), matter.next_review
    if yearly is None or yearly.calendar == "unclear":
        return review
    for row in rows:
        on = yearly.nearest(row.when.date()) if row.by_person and row.message.seq > matter.place else None
        if on and _moment(on.isoformat(), row.when, noon=True) <= row.when:
            review = max(review, after_asking(matter, row.when))
    return review


def _is_relief(matter: OpenMatter, matters: Sequence[OpenMatter]) -> bool:
    """Whether what was taken for a worry tells how an older one ended."""
    words = matter.words.replace("’", "'")
    tells = _HAPPENED.search(words) or _RELIEF.search(words) or "了" in words
    if matter.kind != "worry" or _GOES_ON.search(words) or not tells:
        return False
    said, older = datetime.fromisoformat(matter.said), (one for one in matters if one.place < matter.place)
    gaps = (said - datetime.fromisoformat(one.said) for one in older if one.kind == "worry")
    return any(_SAME_TALK <= gap <= _SAME_WORRY for gap in gaps)


def _is_moved(matter: OpenMatter, matters: Sequence[OpenMatter], rows: Sequence[_Said]) -> bool:
    """Whether the person said before its day that it takes place on another: by a word for it, or of "it" right after."""
    if matter.kind not in _DATED:
        return False
    key, said = _roots(matter.key.split()), datetime.fromisoformat(matter.said)
    following = min((one.place for one in matters if one.place > matter.place), default=None)
    for row in rows:
        if not row.by_person or row.message.seq <= matter.place:
            continue
        it = _IT_MOVED.search(row.words) is not None
        if row.when - said >= _SAME_TALK and not _CLOSE.search(row.words):
            days = [one for one in read_times(row.words, row.when.date()) if _ahead(one, row.words, row.when.date())]
            lead = row.words[: days[0].start] if days else ""
            it = it or (_NOTICE.search(lead) or _CAUSE.search(lead)) is not None
        named = key & row.terms and (it or _MOVED.search(row.words))
        latest = it and (following is None or row.message.seq <= following)
        parts = (
            part for one in split_clauses(row.words) for part in _PARTS.split(one) if read_times(part, row.when.date())
        )
        latest = latest and not all(_names_another(matter, one) for one in parts)
        in_time = row.when <= _moment(matter.due_to, row.when, end=True)
        if (named or latest) and in_time and day_ahead(row.words, row.when):
            return True
    return False


def _is_refused(matter: OpenMatter, rows: Sequence[_Said], refusals: Sequence[int]) -> bool:
    """Whether the person asked not to be asked about a matter: by naming it, or soon after it was spoken of."""
    key = _roots(matter.key.split())
    for at in refusals:
        refusal = rows[at]
        if refusal.message.text_id == matter.message and asks_not_to_be_asked(refusal.words, _DO_NOT_ASK_OF_IT):
            return True
        before = [row for row in rows[max(0, at - _REACHES_BACK) : at] if row.message.seq >= matter.place]
        lead = _DO_NOT_ASK.split(refusal.words, maxsplit=1)[0]
        if len(telling_terms(lead)) > 1 and not _DEMONSTRATIVE.search(lead):  # it names what it is about
            before = []
        near = asks_not_to_be_asked(refusal.words, _DO_NOT_ASK_OF_IT) and any(
            row.message.text_id == matter.message or _shares(key, row.terms) for row in before
        )
        if refusal.message.seq > matter.place and (near or _shares(key, refusal.terms)):
            return True
    return False


def asks_not_to_be_asked(text: str, about: re.Pattern[str] = _DO_NOT_ASK) -> bool:
    """Whether a text asks that something not be brought up; ``about`` is what one sentence of it says as well.

    >>> asks_not_to_be_asked("Let's leave it there."), asks_not_to_be_asked("I'll drop it off at the counter.")
    (True, False)
    """
    sentences = split_sentences(text.replace("’", "'"))
    return any(_DO_NOT_ASK.search(one) and about.search(one) and not _TO_ANOTHER.search(one) for one in sentences)


def _calendar_said(matter: OpenMatter, rows: Sequence[_Said]) -> str:
    """The day of every year of a matter, once the person has said which calendar it is of."""
    yearly = YearlyDay.parse(matter.yearly)
    if yearly is None or yearly.calendar != "unclear":
        return matter.yearly
    key = _roots(matter.key.split())
    for row in rows:
        asked = matter.asked_at and row.message.timestamp >= matter.asked_at
        near = row.message.seq > matter.place and (asked or _shares(key, row.terms))
        if row.by_person and near and (named := says_calendar(row.words)):
            return replace(yearly, calendar=named).text
    return matter.yearly


def _roots(terms: Iterable[str]) -> frozenset[str]:
    """Terms by their first letters, so that the librarian is of the library."""
    return frozenset(one[:6] if one.isascii() else one for one in terms)


def _shares(key: frozenset[str], terms: frozenset[str]) -> bool:
    """Whether words speak of a matter: they have two of its telling words, or a third of them."""
    shared = len(key & terms)
    return shared >= 2 or (shared > 0 and 3 * shared >= len(key))


def _is_same(one: OpenMatter, other: OpenMatter) -> bool:
    if one.kind in _YEARLY and one.yearly != other.yearly:
        return False
    return _shares(_roots(one.key.split()), _roots(other.key.split()))


def _corrects(one: OpenMatter, older: OpenMatter) -> bool:
    """Whether a later matter gives another day for the same birthday or anniversary."""
    if one.kind != older.kind or one.place <= older.place or one.yearly == older.yearly:
        return False
    words, before = set(one.key.split()), set(older.key.split())
    return words <= before or before <= words


def _later(day: date, days: int) -> date:
    """A day so many days away, within the years that there are."""
    return date.fromordinal(min(max(1, day.toordinal() + days), date.max.toordinal()))


def _moment(due: str, like: datetime, *, end: bool = False, noon: bool = False) -> datetime:
    """A due time where the person is, in the zone of another moment; of a day its beginning, noon or end."""
    found = datetime.fromisoformat(due)
    if len(due) == len("2026-11-26") and (end or noon):
        found = datetime.combine(found.date(), time(23, 59) if end else time(12))
    return found.replace(tzinfo=like.tzinfo)


# -- what may be brought up now


@dataclass(frozen=True, slots=True)
class GreetingState:
    """When the companion last spoke first ("" never), and how many such greetings in a row got no answer."""

    last: str = ""
    unanswered: int = 0


def may_greet(state: GreetingState, last_spoken: str | None, now: datetime) -> bool:
    """Whether the companion may speak first: not twice a day, nor right after a talk, nor where it is not wanted.

    A last greeting that lies in the future was made by a wrong clock; it counts for as long as one of the past does.
    """
    if state.unanswered >= _UNANSWERED:
        return False
    if state.last:
        last = datetime.fromisoformat(state.last)
        if last.astimezone(now.tzinfo).date() == now.date() or abs(now - last) < _BETWEEN_GREETINGS:
            return False
    return last_spoken is None or not timedelta(0) <= now - datetime.fromisoformat(last_spoken) < _APART


def due_now(matters: Iterable[OpenMatter], now: datetime) -> list[OpenMatter]:
    """The open matters that may be brought up now, the most urgent first, at most three."""
    today = now.date()
    due = [one for one in matters if one.is_open and _is_due(one, now)]

    def urgency(one: OpenMatter) -> tuple[int, int, int]:
        yearly = YearlyDay.parse(one.yearly)
        day = (yearly and yearly.nearest(today)) or date.fromisoformat((one.due_from or one.said)[:10])
        rank = 0 if yearly and day == today else 1 if one.sensitivity == "care" else 2
        return rank, abs((day - today).days), one.number

    return sorted(due, key=urgency)[:MOST_AT_ONCE]


def _is_due(one: OpenMatter, now: datetime) -> bool:
    today = now.date()
    if one.next_review > today.isoformat() or one.expires < today.isoformat():
        return False
    if one.asked_at and abs(now - datetime.fromisoformat(one.asked_at)) < _BETWEEN_GREETINGS:
        return False
    if yearly := YearlyDay.parse(one.yearly):
        if yearly.calendar == "unclear":
            return one.asked == 0
        due = yearly.nearest(today)
        asked = date.fromisoformat(one.asked_at[:10]) if one.asked_at else None
        ahead = 1 if one.sensitivity == "care" else _BEFORE_BIRTHDAY
        recent = asked is not None and due is not None and (due - asked).days in range(-JUST_PAST, ahead + 1)
        near = due is not None and (due - today).days <= ahead and not recent
        return near and (one.sensitivity != "care" or (one.asked == 0 and due is not None and due >= today))
    return one.asked < _most_asked(one)


def _most_asked(one: OpenMatter) -> int:
    """How often a matter may be brought up: what is grave once, and once more where a result was awaited."""
    return _MOST_ASKED if one.sensitivity != "care" or (not one.yearly and _RESULT.search(one.words)) else 1


def after_asking(one: OpenMatter, now: datetime) -> str:
    """The first day on which a matter that was just brought up may be brought up again."""
    today = now.date()
    if yearly := YearlyDay.parse(one.yearly):
        if yearly.calendar == "unclear":  # once that is known, its day may be any day
            return _later(today, 1).isoformat()
        due = yearly.next_on(_later(today, _BEFORE_BIRTHDAY + 1))
        return _later(due, -_BEFORE_BIRTHDAY).isoformat() if due else "9999-12-31"
    ahead = one.due_to[:10] >= today.isoformat() if one.due_to else False
    apart = 5 if one.sensitivity == "care" else 3
    day = _later(date.fromisoformat(one.due_to[:10]), 1) if ahead else _later(today, apart)
    return day.isoformat()


def coming_up(matters: Iterable[OpenMatter], now: datetime, days: int = 7) -> list[OpenMatter]:
    """What is dated and near, before it or just after, and was in no prompt yet: the nearest first.

    Not what was asked as often as it may be, nor, before its day, what the person wants to hear of later.
    """
    today = now.date()

    def away(one: OpenMatter) -> int:
        yearly = YearlyDay.parse(one.yearly)
        due = yearly.next_on(today) if yearly else date.fromisoformat(one.due_from[:10]) if one.due_from else None
        return (due - today).days if due else days + 1

    def may_come(one: OpenMatter) -> bool:
        care = one.sensitivity == "care"
        if one.yearly:
            return not one.yearly.startswith("un") and not (care and one.asked)
        postponed = one.expires == "9999-12-31" and one.next_review > today.isoformat()
        return not postponed and one.asked < (1 if care else _MOST_ASKED)

    near = [(away(one), one) for one in matters if one.is_open and not one.shown and may_come(one)]
    return [one for gap, one in sorted(near, key=lambda row: (abs(row[0]), row[1].number)) if -3 <= gap <= days]
