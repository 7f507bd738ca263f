"""How people ask to have something forgotten, in English and Chinese: forms, and what speaks against them.

Every form is a ``Guarded`` pattern for one sentence in lower case that ``forget_requests.normalise`` has spelled.
"""

from __future__ import annotations

from domain.patterns import Guarded, pattern_of

# --- English

_START = (
    r"(?:^\W*|[,;:().—–…!-]\s*|\b(?:please|just|now|so|then|but|ok|okay|oh|god|seriously|honestly|also|actually|sorry"
    r"|wait|hey|and|or|maybe|anyway|ugh|hmm|yeah|no|right|well|kindly|friend)\s+)"
)
_FIRST = r"(?:^\W*|[,;:.!] *|\b(?:please|just|now|so|ok|okay|oh|seriously|actually|sorry|anyway) )"
_SOFT = r"(?:please|just|maybe|perhaps|kindly|all|now|also|really|simply|totally|completely|try to|do|possibly|like)"
_ASKED = (
    r"(?:\bplease,? |\b(?:can|could|would|will|cant|couldnt|wont) you |\bi (?:really |just |would )*(?:want|need|beg|ask|like"
    r"|prefer|love) you to |\bid (?:really )?(?:like|love|prefer|want|need) (?:for )?you to |\byou (?:must|have to|need to"
    r"|should|had better|better) |\b(?:lets|let us) (?:both )?|\bnice if you (?:could )?"
    r"|\b(?:best|better|good|great|grateful|appreciate it|easier|glad|happier) if (?:you|we) (?:could |would |can )?"
    r"|\bi (?:wish|hope) you(?:d| would| could| can|ll)? |\bgo ahead and |\bfeel free to )"
    rf"(?:{_SOFT} ){{0,4}}"
)
_NOT = (
    r"(?:dont|do not|never|not|no need to|need not|neednt|dont ever|never ever|dont you dare(?: ever)?|stop|quit|avoid)"
)
_TALE = r"(?:said|told|wrote|written|typed|mentioned|shared|confided|admitted|sent|confessed|gave|brought up|let slip|put|posted|blurted|spilled)"
_TOLD = (
    r"(?:what(?:ever)?|everything|every word|anything|all|any of what|some of what|(?:the|that|this|those|these|my)"
    r" (?:\w+ ){0,2}?\w+|stuff|things)(?: that| which)? i(?:ve| have| had| just| ever| even| already)*"
    rf" (?:{_TALE}|was saying|was telling|asked)\b"
)
_ISAID = rf"(?:that )?i(?:ve| have| had| just| ever| even)* (?:{_TALE}|asked|was here)\b"
_THAT = (
    r"(?:it|this|that|these|those|all (?:of )?(?:it|this|that)|any of (?:it|this|that)|every bit of (?:it|this|that)"
    r"|the whole (?:thing|story|conversation|business)|(?:that|this|the) (?:last|previous|whole|first)? ?(?:bit|part|message"
    r"|one|line|sentence|story|thing|conversation|chat|remark|comment|detail|exchange|stuff|secret|number))\b"
)
_MEMORY = r"(?:your|the|our) (?:\w+ )?(?:memory|memories|mind|records?|notes|head|database|logs?|files|history|brain|chats?|conversations?)\b"
_ABOUT = (
    r"(?:all |everything |anything |whatever (?:i said )?|what i said |the (?:thing|bit|part|stuff|business|story|matter"
    r"|conversation|chat|talk|whole thing|episode|message|details?) |our (?:talk|chat|conversation) |that (?:thing|stuff|bit"
    r"|business|story) )(?:about|with|regarding|concerning|on)\b"
)
_MINE = r"(?:my|our|mine)\b"
_SELF = r"(?:that |how )?i(?:m|ve|d)?(?: am| was| have| had| owe| still| once| cant| dont| did| got| get| used| love| hate| feel| \w+ed)\b"
_FORGET = r"(?:forget|unhear|unlearn|unsee|unremember|disremember|unread|disregard|un-?know)(?: about| all about)?"
_REMOVE = r"(?:erase|wipe|delete|scrub|purge|remove|strike|clear|drop|cut|take|scratch|get rid of|lose|clean|redact|scrap|bin)"
#: Words with which an order begins that has none of its own subject before it.
_NO_SUBJECT = (
    r"(?<!\bi )(?<!you )(?<!we )(?<!they )(?<!to )(?<!nt )(?<!not )(?<!ever )(?<!ll )(?<!did )(?<!do )(?<!might )"
    r"(?<!may )(?<!could )(?<!would )(?<!will )(?<!always )(?<!often )(?<!people )(?<!he )(?<!she )(?<!of )(?<!half )"
)
_ANY = r"(?!to\b|how\b|where\b|things?\b|stuff\b|something\b|anything\b(?! i| about)|me\b|yourself\b|your\b|like\b|if\b|when\b|a\b|an\b|birthdays|names)"
_TAG = (
    r"(?:[, ](?:please|will you|would you|could you|can you|ok|okay|k|thanks|thank you|thx|alright|all right|for me)\b)"
)
_END = r"\s*(?:[.!?…]|$)"
_AGAIN = r"(?:again|any ?more|ever|ever again|from now on|in (?:the )?future|to me|here|with me)\b"
_RAISE = (
    r"(?:bring|mention|raise|talk (?:to me )?about|speak (?:to me )?(?:of|about)|discuss|refer to|repeat|ask (?:me )?about|tell me about|go on about|remind me (?:of|about)"
    r"|come back to|return to|dig up|dredge up|touch on|quote)(?:ing)?"
)
_RAISING = (
    r"(?:bringing|mentioning|raising|talking about|speaking (?:of|about)|discussing|referring to|repeating|asking (?:me )?about"
    r"|reminding me (?:of|about)|remembering|storing|saving|keeping|quoting)"
)
_STORE = (
    r"(?:store|save|keep|record|log|hold on to|hang on to|file|track|note down|write down|jot down|put down|retain|add)"
)
_TO_OTHERS = r"(?: to (?!me\b|this\b|that\b|it\b)| at | with (?!me\b)| in front| when | until | before | yet\b| around | in the | in your (?!mem|note|rec))"

#: Orders that leave no doubt.
CLEAR = (
    Guarded("erase|wipe|delete|scrub|purge|remove|strike|clear|drop|cut|take|scratch|get rid of|lose|clean|redact|scrap|bin", rf"(?:{_START}|{_ASKED}){_REMOVE}\b[^.!?\n]{{1,80}}?\b(?:from|out of|off) (?:{_MEMORY}|what you (?:know|remember)|the record\b)"),
    Guarded("wipe|clear|clean|rid ", rf"(?:{_START}|{_ASKED})(?:wipe|clear|clean|rid) {_MEMORY}[^.!?\n]{{0,20}}\bof\b"),
    Guarded("erase|wipe|delete|scrub|purge|remove|scrap|redact|strike|get rid of|bin|trash|ditch|throw away|bury", rf"(?:{_START}|{_ASKED})(?:erase|wipe|delete|scrub|purge|remove|scrap|redact|strike|get rid of|bin|trash|ditch|throw away|bury)(?: out)? (?:{_TOLD}|{_ABOUT})"),
    Guarded("keep |leave ", rf"(?:{_START}|{_ASKED})(?:keep|leave) [^.!?\n]{{1,40}}? (?:out of|off) (?:{_MEMORY}|the record\b|(?:our |any |all )?future)"),
    Guarded("forget|unhear|unlearn|unsee|unremember|disremember|unread|disregard|unknow|un-know", rf"{_ASKED}{_FORGET} (?:{_THAT}|{_TOLD}|{_ISAID}|{_ABOUT}|{_MINE}|{_SELF})"),
    Guarded("forget", rf"{_NO_SUBJECT}\bforget(?: about)? (?:{_TOLD}|{_ISAID}|{_THAT}|{_MINE}|{_ABOUT}|{_SELF})[^.!?\n]{{0,60}}?{_TAG}"),
    Guarded("remember|memori|retain", rf"(?:{_START}|{_ASKED}){_NOT}(?: ever| please| even| try to){{0,3}}\s+(?:remember|memori[sz]e|retain)(?:ing)? (?:{_THAT}|{_TOLD}|{_MINE}|{_ABOUT}|{_SELF})"),
    Guarded("you to", rf"\bi (?:really )?(?:dont|do not|never|didnt) want(?:ed)? you to (?:ever )?(?:remember|keep|retain|store|save|know|mention|bring|use|have) (?:{_THAT}|{_TOLD}|{_MINE}|{_ABOUT}|up\b)"),
    Guarded("you |we ", rf"(?:\b(?:rather|prefer|better|best|nice|great|good|grateful|wish|glad)(?: that| it)?(?: if| that)?|\b(?:appreciate it|feel better|happier|grateful) if) (?:you|we) (?:could |would |can |just |both |all )*(?:(?:forgot|forget|didnt remember|dont remember|never remember|not remember|didnt (?:hang|hold) on to)(?: about)? (?:{_THAT}|{_TOLD}|{_ISAID}|{_ABOUT}|everything)|forgot about \w+)"),
    Guarded("pretend|act |make believe|imagine", r"\b(?:pretend|act|make believe|imagine)(?: like| as if| as though)?(?: that)? i(?: have|ve| just| had)? (?:never|didnt|did not|havent|hadnt)(?: ever| even| just)* (?:say|said|tell|told|mention\w*|write|wrote|written|type\w*|share\w*|ask\w*|brought|bring|admit\w*|confess\w*)\b"),
)  # fmt: skip
#: Orders that most people mean.
LIKELY = (
    Guarded("bin|trash|ditch|lose|scrap|nuke|bury", rf"(?:{_START})(?:bin|trash|ditch|lose|scrap|nuke|bury) (?:it|that|this)(?: please| for good)*{_END}"),
    Guarded("confiden", r"(?:^\W*|[,;:.!] *)(?:this is |thats |its |all this is |please |strictly |very |totally )*confidential(?:,? please)?\s*(?:[:,.!]|$)|(?:^\W*|[,;:.!] *)(?:please |strictly )*in (?:strict(?:est)? )?confidence\s*(?:[:,.!]|$)"),
    Guarded("record|note|log|cop|trace", rf"(?:{_START}|{_ASKED})(?:{_NOT}|please not)(?: ever)? (?:keep|make|take|leave|hold)(?:ing)? (?:a |any |no )?(?:records?|notes?|logs?|cop(?:y|ies)|traces?) (?:of|about|on)\b"),
    Guarded("kept|stored|saved|remembered|recorded|mentioned|brought up|written down|logged", r"\b(?:make sure|ensure|see that|please|want|must|should|can you|could you|rather|prefer)\b[^.!?\n]{0,50}?\b(?:isnt|is not|arent|are not|not|never|doesnt get|wont be|stays un|be un)(?: to be| be| being| ever| get)* ?(?:kept|stored|saved|remembered|recorded|mentioned|brought up|written down|logged)\b"),
    Guarded("want", r"\bi (?:dont|do not|never|really dont) (?:ever )?want [^.!?\n]{1,40}? (?:to (?:ever )?(?:come up|be mentioned|be brought up|be remembered|be stored|be saved)|mentioned|brought up|remembered|stored|saved|on record)\b"),
    Guarded("you ", r"\b(?:rather|prefer|wish|better|appreciate it|grateful|great|nice|best)(?: that| if| it if)? you (?:didnt|did not|wouldnt|dont|never|wont|could not|not) (?:ever )?(?:keep|kept|store|stored|save|saved|mention|mentioned|bring|brought|record|note|remember|know|knew|hold|use|refer|repeat|quote|have)\b"),
    Guarded("pretend|act ", rf"(?:{_START}|{_ASKED})(?:pretend|act (?:like|as (?:if|though)))[^.!?\n]{{0,30}}\b(?:dont know|didnt|never (?:said|told|heard|read|saw|knew|mentioned|wrote|typed|happened)|hadnt|nothing|no idea|not know)\b"),
    Guarded("wipe|erase|scrub|strike", rf"(?:{_START}|[:,] *)(?:wipe|erase|scrub|strike) (?:it|that|this|all (?:of )?(?:it|this|that))(?: please| now)*{_END}"),
    Guarded("forget|unhear|unlearn|unsee|unremember|disremember|unread|unknow|un-know|ignore|disregard", rf"(?:{_ASKED}|{_START})(?:please )?(?:not )?(?:(?:forget|unhear|unlearn|unsee|unremember|disremember|unread|un-?know)(?: about| all about)? (?:{_TOLD}|{_ISAID})|(?:unhear|unlearn|unsee|unremember|unread) {_THAT}|(?:ignore|disregard) (?:what|everything|anything) i (?:just )?(?:told you|typed|wrote))"),
    Guarded("forget|unhear|unlearn|unsee|unremember|disremember|unread|disregard|unknow|un-know|not remember|not mention|not bring up|not store|not save|not keep", rf"{_ASKED}(?:{_FORGET}|not remember|not mention|not bring up|not store|not save|not keep) {_ANY}\w+"),
    Guarded("forget", rf"{_FIRST}forget(?: about)? (?:{_ABOUT}[^,.!?\n]{{1,50}}|{_MINE}[^,.!?\n]{{2,50}}|{_SELF}[^,.!?\n]{{0,50}}|(?:the|that|this|her|his|their) [^,.!?\n]{{1,40}}?\bi(?:ve)? (?:\w+ ){{0,3}}\w+[^,.!?\n]{{0,30}}|what (?:you (?:just )?(?:heard|read|saw)|happened)[^,.!?\n]{{0,30}}){_END}"),
    Guarded("forget", rf"(?:{_START}|{_NO_SUBJECT}\b)forget (?:that |about (?:how|the fact that )?)?(?:{_ISAID}|you (?:ever )?(?:heard|read|saw|knew))"),
    Guarded("forget", rf"{_NO_SUBJECT}\bforget(?: about)? (?!it\b)[^.!?\n]{{1,60}}?{_TAG}{_END}"),
    Guarded("store|save|keep|record|log|hold on|hang on|file|track|note down|write down|jot down|put down|retain|add", rf"(?:{_START}|{_ASKED}){_NOT}(?: ever| please){{0,3}}\s+{_STORE}(?:ing)? (?:{_TOLD}|{_ABOUT}|(?:it|this|that|any of (?:it|this|that)|that last bit|this (?:one|part|bit)|my (?:\w+ )?(?:salary|address|number|pin|password|name|birthday|diagnosis|\w+))(?: down)?(?:,? (?:please|ok|okay|anywhere|for (?:me|later)|at all|about me))*{_END})"),
    Guarded("bring|mention|raise|talk|speak|discuss|refer|repeat|ask|remind|tell|go on|come back|return|dig|dredge|touch|quote", rf"(?:{_START}|{_ASKED}|\bcan we |\bcould we |\bwe ){_NOT}(?: ever| please| even| to| have to| need to){{0,3}}\s+{_RAISE}\b[^.!?\n]{{1,60}}?\b{_AGAIN}"),
    Guarded("bring|mention|raise|talk|speak|discuss|refer|repeat|remind", rf"(?:{_START}|{_ASKED}){_NOT}(?: ever| please| even){{0,3}} (?:bring (?:up|(?:\w+ ){{1,3}}up)|mention|raise|talk about|speak (?:of|about)|discuss|refer to|repeat|remind me (?:of|about))(?!ed)(?: (?!it{_END})(?:(?!{_TO_OTHERS})[^,.!?\n]){{1,40}}|(?<=up))(?:,? (?:please|ok|okay|thanks|alright))*{_END}"),
    Guarded("bring|mention|rais|talk|speak|discuss|refer|repeat|ask|remind|remember|stor|sav|keep|quot", rf"(?:{_START}|{_ASKED}|\b(?:mind|i need you to|can we|lets) )(?:stop|quit|avoid|mind not|not|no more) {_RAISING}\b"),
    Guarded("hear|remind|read|see", r"\bi (?:never|dont|do not)(?: ever)? (?:want|wish) to (?:hear|be reminded|read|see)\b[^.!?\n]{0,40}?\b(?:again|any ?more|ever|of (?:him|her|it|them|that)|name)\b(?![^.!?\n]*\b(?:today|tonight|right now|for now|yet)\b)"),
    Guarded("lets|let us|can we|could we|we ", rf"\b(?:lets|let us|can we|could we|we) (?:please |just )*(?:not|never|dont|do not|agree not to|agree never to|stop)(?: ever)? (?:{_RAISE}|{_RAISING}|remember)\b[^.!?\n]{{1,50}}?\b(?:again|any ?more|ever)\b"),
    Guarded("pretend|act |make believe|imagine|as if|as though|say |assume|consider|treat", r"\b(?:pretend|act|make believe|imagine|lets (?:just )?say|assume|consider|treat (?:it|this|that))(?: like| as if| as though)?(?: that)? (?:i|(?<!imagine )you|we|this|that|it|none of \w+|(?:that|the|my|this) (?:last )?\w+|nothing)(?: have|ve| just| had| ever| of that| conversation)* (?:never|didnt|did not|havent|hadnt|wasnt|happened|was said|isnt)(?: ever| even| just)*(?: say| said| tell| told| mention\w*| wr\w+| type\w*| hear\w*| see| saw| seen| read| happen\w*| ask\w*| brought| bring| share\w*| had| sent| there)?"),
    Guarded("hear|read|see|saw", r"(?:^|[,;:.!] *|\b(?:ok|so|but|and|remember),? )you (?:didnt|did not|never|havent) (?:hear|heard|read|see|saw)[^.!?\n]{0,20}\b(?:that|this|it|anything|a thing|nothing)\b(?: from me)?" + _TAG.replace("(?:[, ]", "(?:[, ]") + "*" + _END),
    Guarded("should|wish|regret|hate that|didnt mean|did not mean|wasnt|not supposed", r"\bi?\s?(?:shouldnt|should not|should never|wish i hadnt|wish i had not|wish id never|wish i never|wish i could (?:take back|unsay)|regret|hate that i|wasnt (?:supposed|meant|going|allowed) to|not supposed to|didnt mean to|did not mean to)(?: have| ever| really| just| even| what i| that i)* (?:(?:tell|told|telling) you|typ(?:e|ed|ing)|(?:writ(?:e|ten|ing)|wrote) (?:that|this|it|all that|any of)(?! (?:to|in) (?!you|here|this chat))|mention(?:ed|ing)? (?:that|this|it|any of|her|him|them|to you)(?! (?:to|in front of|at) (?!you))|shar(?:e|ed|ing) (?:that|this|it|so much|any of)(?! with (?!you)| on | in )|bring(?:ing)? (?:that|this|it) up(?! (?:to|with|at|in) (?!you))|brought (?:that|this|it) up(?! (?:to|with|at|in) (?!you))|sa(?:y|id|ying) (?:that|this|it|anything|so much|all that|any of that)(?: out loud| here| there| to you| just now)(?! to (?!you)))"),
    Guarded("between", r"\b(?:keep|keeps|stays?|remain|remains|leave|just|strictly|only|purely|this is|thats|this was|thats just)\b(?: \w+){0,4}? between (?:us|you and me|me and you|you and i|the two of us|ourselves)\b(?! and )"),
    Guarded("keep |treat ", rf"(?:{_START}|{_ASKED})(?:keep|treat) (?:it|this|that|all (?:of )?(?:this|that)|what i[^.!?\n]{{1,30}}|the \w+(?: \w+)?|my \w+(?: \w+)?|everything)(?: \w+)?(?: all| just| strictly| as| totally| very| in)* (?:to yourself|private|quiet|confidential\w*|confidence|secret|a secret|under your hat|hush\w*|on the down ?low|under wraps)\b"),
    Guarded("leave|go|stay", r"\b(?:this|that|it|what i (?:said|told you)) (?:doesnt|does not|mustnt|must not|shouldnt|cant|never) (?:leave (?:this|here|these)|go (?:any )?(?:further|beyond|anywhere))|\b(?:this|that|it|what i[^.!?\n]{1,40}?|what we[^.!?\n]{1,40}?) (?:goes no further(?! than)|stays (?:here|in (?:here|this))|stays with you)\b"),
    Guarded("out of", rf"(?:{_START}|{_ASKED})(?:keep|leave) (?:that|this|it|the \w+(?: \w+)?|my \w+(?: \w+)?|\w+) out of (?:it|this|our|your|any|future|the record|what you)(?: \w+)*?{_END}"),
    Guarded("delete|erase|wipe|remove|scrub", rf"{_ASKED}(?:delete|erase|wipe|remove|scrub) (?:(?:my|our|the|this|that) (?:last )?(?:messages?|conversation|chat|exchange|line|secret|confession|memory|note)\b|{_THAT}(?:,? please| now| immediately| from there)*{_END})|(?:{_START})(?:delete|erase|wipe|scrub) (?:it|that|this)(?: now)?,? please"),
)  # fmt: skip
#: What may be a request, and is most often none.
POSSIBLE = Guarded(
    "forget|unhear|unlearn|unsa|unsee|unread|erase|wipe|delete|scrub|purge|scrap|scratch|strike|remember|mention|bring|pretend|between|record|yourself|private|privacy|confid|secret"
    "|never mind|have said|have told|have typed|have written|have mentioned|have shared|have brought|wish i|talk|speak|drop|take that back|take it back|hear|never happened|tell|slipped|too much|out of"
    "|word|lips|repeat|come up|comes up|prefer you|rather you|keep|no mention|find out|save|note|ask|should|could|nobody|no one|anyone|anybody|clear |away |get rid of|bin |let it go|let that go|let go of|raise|refrain|avoid|never said|was never|your ears|kept|stored|saved|make sure|nobody must|as though|as if|ignore|disregard|never happen|mind you|store|quote|regret|steer|lose|off limits|off-limits|off the table|die|remind me|spread|bury|gone|unlearn|stays|subject|topic|left",
    r"\b(?:forget|unhear|unlearn|unsee|unread|unsay|unsaid|erase|wipe|delete|scrub|purge|scrap (?:it|that|this)|scratch (?:it|that|this)|strike (?:it|that|this|what|my)"
    r"|(?:dont|do not|not|never|no|stop|stopped|quit) (?:\w+ ){0,3}?(?:remember|mention|bring|talk|speak|repeat|hear about|tell|quote|store|keep|save|note|record|ask)\w*"
    r"|pretend|as (?:if|though) (?:i|you|we|this|that|it)|between (?:us|you and me)|off the record|to yourself|private|privacy|confid\w+|secrets?|never mind"
    r"|(?:should|shouldnt|should not|should never|could|wish i had|wish i hadnt|wish id never) (?:have )?(?:said|told|typed|written|mentioned|shared|brought)|drop (?:it|the (?:topic|subject|matter))"
    r"|take (?:that|it) back|never happened|slipped out|(?:said|shared|told you) too much|out of (?:this|it)|didnt hear|not a word|lips|no (?:more )?mention|(?:come|comes) up"
    r"|(?:prefer|rather) you|(?:nobody|no one|anyone|anybody) (?:must|can|may|should|is to)|ignore (?:it|that|this|what)|disregard|regret (?:telling|saying|typing)|stays (?:here|with you)|lose (?:it|that|this)|off[- ]limits|off the table|remind me of|die[sd]? with|spread(?:ing)? (?:it|that|this)|(?:bury|scratch|strike|drop) (?:it|that|this|the|what)|(?:said|told|about)\b[^.!?\n]{0,40} gone"
    r"|(?:clear|away) (?:of|from) (?:the )?(?:topic|subject)|keep (?:it|this|that|the \w+ thing) \w+|get rid of|bin (?:it|that|this)|let (?:it|that) go|(?:dont|never|not) raise|refrain from|never said|for your ears|(?:isnt|not|never|arent) (?:to be |be |being )?(?:kept|stored|saved|mentioned|remembered|recorded)|(?:it|this|that) never (?:left|left my))\b",
)  # fmt: skip
#: Bare idioms, which count with a sign that they are meant.
IDIOM = Guarded(
    "forget|drop|scrap|unsay",
    rf"(?:{_START}|{_NO_SUBJECT}\b)(?:forget|drop|scrap|unsay)(?: about)? (?:{_THAT}|{_TOLD}|everything\b|(?:that )?i (?:just |even )?{_TALE}\b)",
)
SIGN = Guarded(
    "mean it|serious|wipe|erase|delete|scrub|forever|for good|never|dont|do not|should|not mine|wasnt mine|not my|wasnt my|isnt my|regret|secret|promise|record",
    r"\bi mean it\b|\bim serious\b|\b(?:wipe|erase|delete|scrub) (?:it|that|this)\b|\bforever\b|\bfor good\b"
    r"|\bnever(?: ever)? (?:bring|mention|speak|talk|raise|repeat|tell)"
    r"|\b(?:dont|do not)(?: ever)? (?:bring|repeat|speak of|talk about|tell|mention (?:this|that|it again|any))"
    r"|\b(?:dont|do not)(?: ever)? (?:(?:note|write|put) (?:it|this|that) down|(?:note|record|store|save|keep) (?:it|this|that))\b"
    r"|\b(?:shouldnt|should not|should never) have (?:said|told|mentioned|written|shared|typed|brought)"
    r"|\b(?:not mine|wasnt my|isnt my|not my|wasnt mine)[^.!?\n]{0,20} (?:to tell|to share|secret|business to|story)"
    r"|\bregret (?:telling|saying|sharing)\b|\bits a secret\b|\boff the record\b",
)  # fmt: skip
_REPORTED = (
    r"\b(?:she|he|they|who|mum|mom|dad|boss|doctor|teacher|manager|wife|husband|sister|brother|\w+[^i\W] (?:once|always|just)|people)\b[^.!?\n]{0,20} (?:said|says|told|asked|begged|wrote|tells|asks|wants me|wanted me)\b"
    r"|^(?:\W*(?:so|and|but|ok|hey|well|also) )?(?:how|why|what(?! (?:i|we)\b)|when|did|do|does|is|are|have|has|who|where|should i|may i|can i(?! ask)|could i)\b(?![^.!?\n]{0,12}\byou mind\b)(?! i (?:said|told|wrote|typed|mentioned))(?! (?:not|we|me a favou?r))"
    r"|\b(?:dont|never|wont|cant|do not|not|couldnt|to|always|must not) (?:\w+ )?forget\b(?! (?:that |about )?(?:i|what i|everything i|anything i|it|this|that|my|all)\b)|\bi (?:\w+ )?(?:forget|forgot)\b(?! i)|\b(?:forgetting|forgotten)\b|\bcan you (?:remember|forget) (?:things|stuff)\b"
)
#: With one of these a message is no request at all: the words of others, questions, what the person forgets.
NO_REQUEST = pattern_of(_REPORTED)
#: With one of these a thought is dropped or corrected: in doubt no request.
AGAINST = pattern_of(
    _REPORTED
    + r"|\blet(?:s| us) (?!pretend|not|never|forget|just forget|keep|just pretend|leave|just not|both|say|just say|drop|erase|stop|agree)"
    r"|\bnever ?mind\b(?! that| i (?:said|told)| i just)|\bnot important\b|\b(?:doesnt|does not) matter\b|\binstead\b|\bi meant\b"
    r"|\bi was wrong\b|\bwho cares\b|\bno big deal\b|\bif you (?:forget|dont|tell|bring|mention|ever|keep|delete)\b|\bis better\b|\bits (?:actually )?(?:on|at) (?:mon|tue|wed|thu|fri|sat|sun|the|\d|noon|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|\btoo (?:expensive|late|far|hard|much work)\b"
    r"|\b(?:song|film|movie|book|lyrics|poem|chapter|quote) \b|\b(?:is|was) called\b"
    r"|\b(?:when|while) you\b|\bforget (?:that |this |it )?(?:for now|for a (?:sec\w*|moment|minute))\b"
)  # fmt: skip

# --- Chinese

_HAN_ASKED = (
    r"(?<![我他她])(?:请(?!问|别|不|勿|教|客|假)你?|求求?你|拜托你?|麻烦你?|要你|希望你?|想让你|想请你|(?<!我)能不能(?:请你)?|(?<!我)能否|可不可以|可以(?!不|说)"
    r"|你?必须|你?一定要|帮我|替我|给我|帮忙|劳驾|你最好|你还是|你可以|你能|你给我|你得|你要)"
)
_HAN_ASKED_I = rf"(?:{_HAN_ASKED}|我(?:真的?)?(?:要你|希望你?|想让你|想请你|求你))"
_HAN_THAT = r"(?:这|那|它|刚才|刚刚|方才|我刚|我说|我讲|我告诉|我[跟和对]你|我家|我的|我们的|上面|以上|前面|之前|上一)"
_HAN_REMOVE = r"(?:删掉|删除|删了|抹掉|抹去|抹除|擦掉|擦除|清除|清掉|清空|去掉|移除|消除|删)"
_HAN_MEMORY = r"(?:记忆|记录|脑子|脑海|记忆库|大脑|存档|档案|数据库|记性)(?:库)?(?:里面|里|中|当中)?"
_HAN_FORGET = r"(?:忘掉|忘了|忘记|忘光|忘干净|忘却|忘得|彻底忘|忘)"
_CLAUSE = r"(?:^|[，,；;：:。！？\s、]|你就?|快|赶紧|现在|所以|那|麻烦|拜托)"
_HAN_NOT = r"(?:别|不要|请勿|勿|不用|不许|不准|不必|甭|莫|无需|无须|切勿)"
_HAN_IT = r"(?:(?:这|那|刚才|刚刚|上面)(?:[一几]?[件句段个些条])?(?:事情?|话|秘密|内容)?儿?)[，,]?"
_HAN_LAST = r"(?:[，。！!；;、～~吧啊哦喔呀哈了啦好行呗嘛]|$)"
_HAN_RECORD = r"(?:记住|记下来?|记着|记到|记在|记进|记录|保存|存(?![钱款在货粮活折])(?:下来?)?|存进|存档|留存|留着|写下来?|收录|留在|留底|入库|保留|留下|收集|记载|记(?!我账|我名下)(?![得仇恨挂者性忆错混反账日叙事述号着呢笔单]))"
HAN_CLEAR = (
    Guarded("记|脑|存档|档案|数据库", rf"(?:[把将][^，。！？\n]{{1,24}}?)?从(?:你的?)?{_HAN_MEMORY}[^，。！？\n]{{0,4}}{_HAN_REMOVE}"),
    Guarded("忘|删|抹|擦|清|去掉|移除|消除", rf"{_HAN_ASKED_I}[^，。！？\n别不没未勿问]{{0,6}}[把将][^，。！？\n别不没未勿]{{1,24}}?(?:{_HAN_FORGET}|{_HAN_REMOVE}(?:吧|好吗|行吗|可以吗)?{_HAN_LAST})"),
    Guarded("忘", rf"{_HAN_ASKED_I}[就都也全]?(?:彻底|永远|赶快|马上|现在)?{_HAN_FORGET}(?:吧，?)?(?:关于|有关)?{_HAN_THAT}"),
    Guarded("忘", rf"{_CLAUSE}[把将](?:我)?(?:刚才|刚刚|这|那)[^，。！？\n别不没未勿]{{0,14}}?(?:彻底|全|都|给)*(?:忘掉|忘了|忘记)(?!带|拿|在|，[唉哎糟])"),
    Guarded("记|存|留|写|收|入库", rf"(?:{_HAN_THAT})[^，。！？\n]{{0,12}}?(?:你|，你|，)?(?:可|就|都|请|千万){{0,2}}{_HAN_NOT}(?:再|给我)?(?:记住|记下|记着|记到|记在|保存|存下|存进|留在|写进|写下)"),
    Guarded("记|存|写进", rf"(?<!我){_HAN_NOT}(?:把|将)?(?:这|那|我刚|我说的|刚才|刚刚)[^，。！？\n]{{0,12}}?(?:记住|记下|记着|记到|记在|保存|存进|存下|写进)"),
    Guarded("记|存", rf"(?<!我){_HAN_NOT}(?:记住|记下来?|保存|记着)(?:我|刚才|刚刚|这|那|它)"),
    Guarded("记|存|留|知道", r"(?<![他她])不(?:想|希望|愿意?)(?:让)?你(?:再)?(?:记|存|保存|留着|知道)"),
    Guarded("记", rf"{_HAN_IT}你(?:可|就|都|也|千万)?{_HAN_NOT}记(?:[，,；;。！!吧啊哦]|$)"),
)  # fmt: skip
HAN_LIKELY = (
    Guarded("出现|冒出|蹦出", rf"(?:以后|今后|再也|往后)[^。！？\n]{{0,16}}{_HAN_NOT}(?:再)?(?:出现|冒出|蹦出)"),
    Guarded("留底|存档|入库|留档|备份|收录|往心里记|往脑子里记", rf"(?<![我他她们妈爸]){_HAN_NOT}(?:再)?(?:留底|存档|入库|留档|备份|收录|往心里记|往脑子里记)"),
    Guarded("删|抹|擦|清|去掉|移除|消除", rf"(?:号码?|密码|地址|电话|名字|消息|记录|内容|信息|资料|隐私|证号|工资|病情|的话|的事|那段|这段|那句|这句|那条|这条)[^，。！？\n]{{0,6}}(?:就|请|都|全|也|给我)?{_HAN_REMOVE}(?:掉)?(?:吧|了吧|好吗|行吗|可以吗|行不|好不|成不|行不行|好不好)?[。！!？?]?$"),
    Guarded("记|存|写|留|提|说|告诉|传", rf"(?<![我他她们妈爸]){_HAN_NOT}(?:再)?[把将][^，。！？\n]{{1,14}}(?:记(?!错|混|反)|存|写|留|保存|提|说|告诉|传)(?:下|出|进|在|给别|给人|起|住|着|到|来|$)"),
    Guarded("守口|声张|张扬|嘴", rf"守口如瓶|(?<![我他她们]){_HAN_NOT}(?:声张|张扬)|(?:你|可)(?:的)?嘴巴?(?:可)?(?:要|得)?(?:严|紧)(?:一点|点|些)"),
    Guarded("忘", rf"{_CLAUSE}[^，。！？\n把将我他她]{{0,3}}忘(?:了|掉|记)(?:它|这|那|刚)(?!个?(?:时|天|次))"),
    Guarded("删|抹|擦|清|去掉|移除|消除", rf"(?:关于|有关|跟|和)[^，。！？\n]{{1,18}}(?:请|都|全部|全)[^，。！？\n]{{0,4}}{_HAN_REMOVE}"),
    Guarded("忘", rf"{_HAN_ASKED_I}[^，。！？\n别不没未勿我问]{{0,6}}(?:忘掉|忘了|忘记|忘却)(?!事情吗|东西吗|事吗|带|吃|拿|关|买|回|吗|密码|怎么|[吧]?[？?])[^，。！？\n]"),
    Guarded("忘", rf"{_HAN_ASKED_I}[^，。！？\n别不没未勿问]{{0,8}}(?:忘掉|忘了|忘记|忘却)(?:吧|好吗|行吗|可以吗|可好)?[。！!]?$"),
    Guarded("忘", rf"{_CLAUSE}[把将](?:我|他|她|它|这|那|刚|关于|有关|[^，。！？\n别不没未勿]{{1,14}}的(?:事|话))[^，。！？\n别不没未勿]{{0,14}}?(?:彻底|全|都|给|也|通通)*忘(?:掉|干净|光)(?!没)"),
    Guarded("忘", r"(?:^|[，。！!；;\s])[^，。！？\n把将]{0,16}(?:的事情?|的话|[这那][件个]?事|[这那][段句件番]话?|[这那]些|刚才的|刚刚的|刚才说的|我说的|话|事儿?)[，,]?(?:你|咱们?|我们|大家)?(?:就|也|还是|都|全|赶紧|快|干脆|最好)*(?:给我)?(?:忘了|忘掉|忘记|忘干净|忘光)(?:它)?(?:吧|好了|算了|啊|哈|呗|就好|就行|好吗|行吗|可以吗|[，。！!]|$)(?![？?])(?!怎么)"),
    Guarded("记|存|留|写|收|入库|集", rf"(?:^|[，,；;。！!\s也你都就句段个条事话儿的些码资址]|千万|请|可|给我|拜托|麻烦)(?<![我他她它们妈爸])(?:可|千万|请|都|就|先)?{_HAN_NOT}(?:再|给我|往|替我|帮我)?{_HAN_RECORD}(?:我|这|那|刚|他|她|它|在心|到心|我们|下来|在|进|{_HAN_LAST})(?!换)"),
    Guarded("记忆|脑子|档案|存档|备忘|数据库|笔记|记录", rf"(?:^|[，,；;。！!\s]|请|你|千万|也|就){_HAN_NOT}[^，。！？\n]{{0,8}}(?:进|到|入|放|存|写|留)[^，。！？\n]{{0,4}}(?:记忆|脑子|档案|存档|备忘|数据库|笔记|记录)"),
    Guarded("提|说起|聊|谈|问|翻", rf"(?<![我他她们妈爸让])(?:{_HAN_NOT}|永远不|再也不|再也别|永远别)(?:再|跟我|和我|对我|向我|在我面前|当着我|主动|老是?|总是?|随便|又|去|以后){{1,3}}[^，。！？\n]{{0,8}}?(?:提(?!醒|供|前(?![男女任夫妻老同])|高|问题|交|议|升|速|示)|说起|聊起|聊到|谈起|谈到|谈论|聊|问起|问我|问(?!题|好|候|我什么|我怎么|我为|什么|怎么|为)|翻出来|翻旧账)"),
    Guarded("提", rf"(?:^|[，,；;。！!\s]|请|你|以后|今后|往后|千万|拜托)(?:可|就|都|也)?{_HAN_NOT}提(?!了|多|醒|前(?![男女任夫妻老同])|供|高|问|交|议|升|到底|起劲|示|速)[^，。！？\n]{{1,12}}(?:了|好吗|行吗)?[。！!]?$"),
    Guarded("提|说|聊|谈", rf"(?:以后|今后|往后|从今|从此|将来)[^，。！？\n]{{0,10}}{_HAN_NOT}(?:再)?[^，。！？\n]{{0,6}}(?:提|说(?:起|了)|聊|谈)"),
    Guarded("当", r"(?:^|[，,。！!；;\s]|就|你|请|咱们?|我们|全|都|权|句|话|事|段|条|能不能|可不可以|能否)(?<![他她它妈爸板们公婆]就)当(?:作|做|成)?(?!时|然|初|年|天|面|着|场|中|地|心|真|红|官)(?:我|你|这|那|它|刚才|刚刚|从来|从|什么都|什么也|什么|一切|啥都|啥也)*[^，。！？\n]{0,8}?(?:没有?(?!带|钱|时间|人的|有的)|从没|不存在|不知道|放屁|耳旁风|耳边风)(?:人)?(?:说|讲|提|听|看|见|发生|这回事|这事|这句|这段|问|打|写|有过|过|$|，|。|！)"),
    Guarded("不该|不应", r"(?:^|[，,。！!\s]|我|哎呀|唉|哎|刚才|刚刚|真的?|实在|本来|其实|话|事|这|那)(?:就|真的?|本来|其实|也|可能|是)*(?:不该|不应该?|不应当)(?:多嘴|(?:现在|刚才|把[^，。！？\n他她]{1,8})?(?:跟你|和你|对你|向你|给你)(?:说|讲|提|聊|发|透露)|告诉你|让你知道|[^，。！？\n他她跟对和别人]{0,6}(?:说出来|打出来|发出来|写出来|讲出来)|(?:说|讲|提|发|打)(?:的(?!话|事|人|东西)|这个|这些|这事|这句|$|[。！，](?![^。]{0,6}[他她])))"),
    Guarded("后悔|说漏|嘴", r"后悔(?:把[^，。！？\n]{1,8})?(?:跟你|和你|对你|告诉你)(?:说|讲|提|聊)?|(?:说漏了?嘴|嘴快|一时嘴)[^。！？\n]{0,14}(?:你|当|别|忘)"),
    Guarded("密", r"(?:^|[，,。！!\s]|(?:请|帮我|替我|给我|你要|你得|你可得|你可要|一定要|务必|千万|麻烦你?|拜托|能不能|可以|能|记得|你|得|必须|需要你|先|要)(?:帮我|替我|给我|一定|先|也|好好|绝对|严格)*)(?<!我要)(?<!我得)(?<!我必须)(?<!们要)(?<!司要)保(?:守)?[个点这]?(?:秘)?密(?!协议|工作|条款|局|单位|期|性|级|法|制度|柜|了|的)(?:哦|啊|哈|喔|呀|吧|好吗|好不好|行吗|可以吗|一下|[，。！!？?~～]|$)"),
    Guarded("秘密|知|烂在|说哪|到你这", r"(?:这|那)(?:可)?(?:是|算是)(?:咱们?|我们|你我|我俩|咱俩|我们俩|我们两个)[^，。！？\n]{0,6}(?:秘密|小秘密)|只有你(?:一个人|一个)?知道(?:就好|就行|，|。|！|$)|你(?:自己|一个人)?知道(?:就好|就行|就可以)(?:了|啦|哈|哦)?[。！!]?$|[天地]知[，]?[你我地]知|你知我知|烂在(?:肚子|心)里|哪(?:儿)?说哪(?:儿)?了|到你这(?:里|儿)为止"),
    Guarded("外传|说出去|传出去|外说|告诉|泄露|透露|知道|听到", rf"(?<![我他她们妈爸让])(?:{_HAN_NOT})(?:再|往|把[^，。！？\n]{{1,10}}|跟(?:别人|任何人|谁|其他人|外人|人)|和(?:别人|任何人|谁)|对(?:别人|任何人|谁|外人)|向(?:任何人|别人))*(?:外传|说出去|传出去|外说|往外说|告诉(?:别人|任何人|其他人|谁|人)|泄露|透露(?:出去)?|让(?:别人|任何人|其他人|外人)(?:知道|听到))"),
    Guarded("收回|撤回|撤销", r"(?<![他她])(?:我?(?:想|要|得|能不能|可以|能)?)(?:收回|撤回|撤销)(?:我)?(?:刚才|刚刚|上面|上一|上句|这|那|前面|之前|说过|说的|跟你)(?!个(?:投诉|申请|订单))[^，。！？\n]{0,14}[。！!]?$"),
    Guarded("删|抹|擦|清|去掉|移除|消除", rf"(?<![他她们妈爸])(?:{_HAN_ASKED_I}|{_CLAUSE}|(?<![他她们妈爸板师])[把将])[^，。！？\n别不没未勿问他她]{{0,6}}{_HAN_REMOVE}[^，。！？\n]{{0,6}}(?:我(?:之前|刚才|刚刚|以前)?(?:对你|跟你|和你|向你)?(?:说|讲|告诉|提|写|发|坦白|透露|倾诉|承认|交代)|关于|有关|这段|那段|刚才|上一[条句]|这[条句段]|那[条句段]|记忆|聊天记录|对话)"),
)  # fmt: skip
HAN_POSSIBLE = Guarded(
    "不再|忘|删|抹|擦掉|记|提|说|聊|谈|存|留|嘴快|嘴太|不希望|不愿|瞒|出现|留底|别传|坦白|往心里|密|当|不该|不应该|收回|撤回|外传|别|不要|不用|不必|不许|后悔|说漏|不想|告诉|不谈|不聊|翻篇|守口|作数|算数|作废|保留|避开|绕开|回避|声张|听过|知道|烂在|清掉|清除|打住|传出去|说出去",
    r"忘(?:掉|了|记|光|却|$)|删(?:掉|了|除|去)|抹[掉去]|擦掉|清[掉除]|(?:别|不要|不用|不必|不许|不准|莫|甭|勿)[^，。！？\n]{0,10}(?:记|提|说|聊|谈|存|告诉|外传|知道|留|声张)|保密|秘密|就当|当(?:作|做)?(?:我|你|没)(?!时|面|初)|不该|不应该"
    r"|收回|撤回|说出去|传出去|后悔|说漏|不想(?:再|让)|不(?:再)?(?:提|谈|聊)(?:了|它|这|那)|翻篇|守口如瓶|不作数|不算数|作废|保留|避开|绕开|回避|听过就|你知道就|烂在|打住|嘴[快太]|(?:替|帮|给)我瞒|瞒着|别传|留底|坦白|往心里记|别(?:再)?出现|不(?:希望|想|愿意?)[^，。！？\n]{0,10}被",
)
HAN_IDIOM = Guarded(
    "忘|没",
    rf"{_CLAUSE}{_HAN_FORGET}(?:{_HAN_THAT}|吧)|{_HAN_IT}你就?{_HAN_FORGET}吧(?![？?])"
    rf"|{_CLAUSE}{_HAN_FORGET}[^，。！？\n别不没未]{{1,14}}[事话]情?吧(?![？?])|{_CLAUSE}忘掉[^，。！？\n别不没未]{{1,14}}[事话]"
    rf"|{_CLAUSE}[把将][^，。！？\n别不没未]{{1,14}}[都全给]?{_HAN_FORGET}吧(?![？?])"
    rf"|{_CLAUSE}就?当(?:作|做)?我?(?:刚才|从来)?没[说讲提]过?",
)  # fmt: skip
HAN_SIGN = Guarded(
    "提|记|写下|存下|留着|认真|说真的|不该",
    rf"(?:{_HAN_NOT}|永远不要|再也不要|再也别|永远别)再?(?:跟我|和我|对任何人)?提(?!了[，,])"
    rf"|(?:^|[，,；;。！!\s也你个事话儿])(?:可|千万)?{_HAN_NOT}(?:记(?![得仇恨挂者性忆错混反])|写下|存下|留着)"
    r"|我是认真的|我说真的|不该(?:说|告诉)",
)  # fmt: skip
_HAN_REPORTED = (
    r"(?:[他她妈爸]们?|老板|同事|朋友|老师|领导|医生|经理|老公|老婆|姐姐|妹妹|哥哥|弟弟|阿姨|奶奶|别人|人家|人们)[^，。！？\n]{0,6}(?:跟我|叫我|让我|劝我|要我|求我|对我|叮嘱|嘱咐|要求)?[^，。！？\n]{0,2}(?:说|讲|让我|叫我|劝我|要我|求我|叮嘱|嘱咐|要求)(?!过|了|的)"
    r"|(?:差点|老是?|总是?|常|又|经常|容易|早就?|快要?|我|他|她|们|人)忘(?:了|记)(?!吧|掉|我刚|我说)|(?:别|不要|没|不会|(?<!能)不能|可别|忘不|难)忘|歌名|这首歌|这部?(?:电影|片|书|剧)|歌里|书里"
    r"|怎么办|怎样才能|怎么才能|如何|协议|^(?:为什么|怎么|你怎么|你是不是|是不是|你有没有|你会不会|会不会)|(?:了吗|过吗|了没|不了)[？?。]?$"
)
HAN_NO_REQUEST = pattern_of(_HAN_REPORTED)
HAN_AGAINST = pattern_of(
    _HAN_REPORTED + r"|(?<!就)算了(?!吧?，?你)|没关系|不重要|无所谓|我是说|我的意思|(?:第[一二三四五六七八九十]|最后一?|开头)(?:段|句|行|章|页|条|款|项|列|题)"
    r"|^好吧[，,]|该不该|要是[^，。！？\n]{0,8}忘|如果[^，。！？\n]{0,10}(?:忘|记|提|说)|换号",
)  # fmt: skip

# --- the companion's own words

REPLY = Guarded(
    "wont|will not|never|shant|consider it|already|all |its |stays|keep|remain|forgotten|sealed|between us|to myself|secret|safe with me|off the record|不会再提|不再提|保密|不会提|忘掉|不说|没听|不会说|不会告诉|不记|忘|不|没",
    r"\bi(?: wont|ll never| will not| will never| shant)(?: ever)? (?:bring|mention|speak of|speak about|raise|repeat|talk about|tell|refer|share|say a word|remember)"
    r"|\bconsider it (?:forgotten|gone|unsaid|never said)\b|\b(?:its|already|all) (?:forgotten|wiped|gone from)\b|\bmy lips are sealed\b|\b(?:stays|keep (?:it|that|this)|remains?) between us\b|\bto myself\b|\bsafe with me\b"
    r"|\byour secret is\b|我(?:就|也|一定|绝对|以后|保证|绝)?(?:不会?再?|再也不|不)(?:提|说出去|说起|告诉|外传|记)|(?:替|帮|为)你保密|会保密|一定保密|就当(?:作)?(?:我)?没听|当没听|已经忘",
)  # fmt: skip

# --- taken back

RELEASE = Guarded(
    "now|again|any time|anytime|after all|freely|openly|is ok|is fine|its ok|its fine|mention|can |may |could |allowed|okay to|ok to|fine to|alright to|all right to|secret|un|not so|not a|isnt|to keep|remember",
    r"\b(?:you|we)(?:re| are)? (?:can|may|could|allowed to|free to|welcome to)(?: now| again| freely| all| totally| openly)* (?:mention|bring|talk about|speak (?:of|about)|discuss|remember|ask (?:me )?about|refer to|use)\b[^.!?\n]{0,60}\b(?:again|now|any ?time|after all|freely|openly)\b"
    r"|\b(?:you|we) (?:can|may) (?:again|now) (?:mention|bring|talk about|speak (?:of|about)|discuss|remember)\b"
    r"|\b(?:its|it is|thats|that is) (?:ok|okay|fine|alright|all right) (?:now )?to (?:mention|bring|talk about|speak (?:of|about)|discuss|remember)\b"
    r"|\b(?:no longer|not) (?:a |so )?secret(?: any ?more| now)?\b|\bisnt (?:a )?secret (?:any ?more|now)\b|\b(?:unforget|un-forget|unhide)\b"
    r"|\b(?:dont|do not) (?:have|need) to keep (?:it|that|this|\w+(?: \w+)?) (?:secret|quiet|to yourself|private|a secret)\b"
    r"|\b(?:please |actually )+(?:do )?remember (?:it|that|this|what i[^.!?\n]{1,40}) (?:again|after all)\b",
)  # fmt: skip
HAN_RELEASE = Guarded(
    "可以|能|不用|不必|不需要|无需|重新|还是|秘密",
    r"(?<![我他她不])(?:现在|又|已经|都|也|你|重新|以后)?可以(?:再|重新|随便|放心|继续|正常|照常)*(?:跟我|和我)?(?:提|聊|讲|记|谈|说)(?:起|到|住|着)?[^，。！？\n]{0,14}了(?!吗|么|没|[？?])"
    r"|(?<![我他她不])可以(?:再|重新)(?:提|聊|讲|记|谈|说)"
    r"|(?:不用|不必|不需要|无需)(?:再|替我|帮我|给我)*(?:保密|瞒着|隐瞒|保守秘密|避讳|回避|忌讳)|不(?:再)?(?:是|算)(?:什么)?秘密了|(?:重新|还是)(?:记住|记起来|记着)|不用忘了"
    r"|(?:可以|能)(?:不)?(?:公开|说)了(?!吗|么|[？?])",
)  # fmt: skip
