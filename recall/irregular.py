"""English forms that no rule of endings leads back to their word: ``bought``, ``children``.

Forms that are as often another word of their own (``lives``, ``leaves``, ``ground``, ``rose``) are not here.
"""

from __future__ import annotations

_FORMS = """
    arise arose arisen; awake awoke awoken; beat beaten; become became; begin began begun; bend
    bent; bet; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed
    bred; bring brought; build built; burn burnt; buy bought; catch caught; child children; choose
    chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn; dream
    dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel
    felt; fight fought; find found; flee fled; fly flew flown; foot feet; forbid forbade forbidden;
    forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; goose geese; grow grew
    grown; half halves; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt;
    knife knives; know knew known; lay laid; lead led; lean leant; leap leapt; learn learnt; leave
    left; lend lent; light lit; lose lost; make made; man men; mean meant; meet met; mistake mistook
    mistaken; mouse mice; overcome overcame; pay paid; person people; prove proven; ride rode
    ridden; ring rang rung; rise risen; run ran; say said; see saw seen; seek sought; sell sold;
    send sent; sew sewn; shake shook shaken; shelf shelves; shine shone; shoot shot; show shown;
    shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell
    smelt; speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun; spit
    spat; spoil spoilt; stand stood; steal stole stolen; stick stuck; sting stung; strike struck;
    strive strove striven; swear swore sworn; sweep swept; swell swollen; swim swam swum; swing
    swung; take took taken; teach taught; tear tore torn; tell told; thief thieves; think thought;
    throw threw thrown; tooth teeth; understand understood; wake woke woken; wear wore worn; weave
    wove woven; weep wept; wife wives; win won; withdraw withdrew withdrawn; wolf wolves; woman
    women; write wrote written
"""

#: Each form, and the word it is a form of.
BASE = {form: base for base, *forms in (entry.split() for entry in _FORMS.split(";")) for form in forms}
