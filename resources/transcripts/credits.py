"""Removes the makers of captions, and the farewells that speech recognisers invent in silence."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from resources.text_files import read_document
from resources.transcripts.base import Caption
from resources.transcripts.plausibility import SENTENCE_END, STOPS

_CREDIT_WORDS, _CREDIT_CHARACTERS, _FAREWELL_WORDS, _SILENCE_SECONDS = 14, 200, 10, 10.0
_WORDS = {
    key: "|".join(map(re.escape, words))
    for key, words in read_document(Path(__file__).with_name("credits.yaml")).data.items()
}
_FAREWELL = re.compile(rf"(?<![a-z])(?:{_WORDS['farewells']})", re.IGNORECASE)
_CREDIT = re.compile(  # "Subtitles by Ann Lee"
    rf"\W*(?:\S+ ){{0,2}}?\S{{0,4}}?(?P<kind>{_WORDS['subtitles']})\S*\s?(?P<makers>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S+|\b[\w-]{2,40}\.(?:com|org|net|ai|tv|io)\b|(?<!\w)©\s?\w|^\W*copyright\b"
    r"|^\W*(?:\w+ )?(?:caption|subtitle|transcri|translat)\w*"
    r"(?:\W+(?!are\b|be\b|is\b|was\b|were\b)\w+){0,6}?\W+by\b",
    re.IGNORECASE,
)


def is_credit(text: str) -> bool:
    """Tell whether a short text has an address, or the word for subtitles and a name."""
    is_short = len(text) <= _CREDIT_CHARACTERS and 0 < len(text.split()) <= _CREDIT_WORDS
    credit = _CREDIT.match(text) if is_short else None
    is_sentence = text.endswith(STOPS) and not re.search(r"\b\w\.$", text)  # but initials
    if credit is None or is_sentence:
        return is_short and _ADDRESS.search(text) is not None
    has_case = credit["kind"].lower() != credit["kind"].upper()
    names = [word for word in credit["makers"].split() if word[0].isupper() or not word.islower()]
    return not has_case or bool(names) or _ADDRESS.search(text) is not None


def without_credits(captions: Sequence[Caption]) -> list[Caption]:
    """Remove credits at either end, and credits and farewells between silences or during one."""
    speech = list(itertools.dropwhile(lambda caption: is_credit(caption.text), captions))
    gaps = [after.begins - before.end for before, after in itertools.pairwise(speech)]
    speech = [
        caption
        for caption, before, after in zip(speech, [math.inf, *gaps], [*gaps, 0.0], strict=False)
        if min(before, after) < _SILENCE_SECONDS
        or not (is_credit(caption.text) or _is_farewell(caption.text))
    ]
    while speech:
        *sentences, last = SENTENCE_END.split(" ".join(speech[-1].text.split()))
        if not is_credit(last):
            break
        speech[-1:] = [replace(speech[-1], text=" ".join(sentences))] if sentences else []
    end = len(speech)  # before the farewells at the end
    while end > 1 and _is_farewell(speech[end - 1].text):
        end -= 1
    silences = [
        after.begins - before.end for before, after in itertools.pairwise(speech[end - 1 :])
    ]
    lengths = [farewell.end - farewell.begins for farewell in speech[end:]]
    return speech[:end] if max([*silences, *lengths], default=0) > _SILENCE_SECONDS else speech


def _is_farewell(text: str) -> bool:
    return len(text.split()) <= _FAREWELL_WORDS and _FAREWELL.search(text) is not None
