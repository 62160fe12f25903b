"""English stop words, and the scripts that write no spaces between words."""

from __future__ import annotations

import re

_STOP_TEXT = """
    a about above across after again against all almost along already also although always am
    among an and another any anyone anything anywhere are around as at away back be became
    because become becomes been before behind being below between both but by came can cannot
    come comes could did do does doing done down during each either else even ever every
    everyone everything everywhere few for from further get gets getting give given gives go
    goes going gone gonna got had has have having he her here hers herself him himself his how
    however i if in into is it its itself just kind know let like lot made make makes making
    many may maybe me might mine more most much must my myself neither nor now of off often oh
    ok okay on once one only onto or other others our ours ourselves out over own per perhaps
    quite rather really said same say says see seem seems she should since so some someone
    something sometimes somewhat somewhere sort still such take taken takes than that the their
    theirs them themselves then there therefore these they thing things this those though
    through thus to together too took toward towards under until up upon us use used uses using
    very via want was way we well went were what whatever when where whether which while who
    whom whose why will with within without would yeah yes yet you your yours yourself
    yourselves aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he'd he'll he's
    here's i'd i'll i'm i've isn't it'd it'll it's let's shouldn't she'd she'll she's that'll
    that's there's they'd they'll they're they've wasn't we'd we'll we're we've weren't what's
    where's who's won't wouldn't you'd you'll you're you've
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
"""Function words and fillers of conversation."""
SILENT_WORDS = STOP_WORDS | {"no", "not"}
"""The words that a search ignores; a claim and its denial find the same."""

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A letter of a script without spaces: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
SYLLABIC = re.compile(f"[{_UNSPACED}\\uac00-\\ud7af]")
"""The same, or a syllable of Korean, which joins particles to its words."""
