"""Whether a transcript is in a language that the engine reads.

What belongs here: telling English from everything else, by the text itself. What does not: naming
other languages, which captions do better. One question is asked, and 200 function words answer it,
so no library is needed: of the words of English talks 38 to 60 % are among them, of German, French,
Spanish, Italian, Portuguese and Dutch prose at most 18 %, of other scripts none.

English is the only language of the engine: its boundary model, lead-ins, signs of wording, denials
and MiniLM were all made for it.
"""

from __future__ import annotations

from factible_assets.reasoners.embedded.text import STOP_WORDS, tokenise

_ENGLISH_SHARE = 0.28
_FEWEST_WORDS = 30


def is_english(text: str) -> bool:
    """Tell whether a text is English; too short a text in Latin letters is taken to be."""
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(letter > "\u024f" for letter in letters) > len(letters):
        return False
    words = [word.norm for word in tokenise(text) if word.norm[0].isalpha()]
    if len(words) < _FEWEST_WORDS:
        return True
    return sum(word in STOP_WORDS for word in words) >= _ENGLISH_SHARE * len(words)
