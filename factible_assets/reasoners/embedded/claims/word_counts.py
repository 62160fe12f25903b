"""Counts over the words of a sentence that tell how readable and how check-worthy it is."""

from __future__ import annotations

from dataclasses import dataclass

from factible_assets.reasoners.embedded.text import find_numbers, is_stop_word, tokenise, word_set

_MOST_NUMBERS, _MOST_POINTING = 2, 3
_FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll")
_POINTING = word_set("it its he she his her him they their them this that these those such")
_DEMONSTRATIVES = word_set("this these those such here here's")
_QUESTION_OPENERS = word_set("who what when where why how which whose what's who's how's where's")
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts over the words of a sentence; `numbers` up to 2, `pointing` up to 3."""

    words: int
    content: int
    numbers: int
    first_person: bool
    pointing: int
    needs_context: bool
    is_question: bool


def count_words(text: str) -> WordCounts:
    norms = [word.norm for word in tokenise(text)]
    pointing = [norm.partition("'")[0] in _POINTING for norm in norms]
    return WordCounts(
        words=len(norms),
        content=len({norm for norm in norms if not is_stop_word(norm)}),
        numbers=min(_MOST_NUMBERS, len(find_numbers(text))),
        first_person=not _FIRST_PERSON.isdisjoint(norms),
        pointing=min(_MOST_POINTING, sum(pointing)),
        needs_context=any(pointing[:1]) or not _DEMONSTRATIVES.isdisjoint(norms),
        is_question=text.rstrip("\"'\u201d\u2019) ").endswith("?")
        # Without punctuation: "why is …", "do you …", but not "what we see is …".
        or (
            not (_QUESTION_OPENERS | _AUXILIARIES).isdisjoint(norms[:1])
            and not _AUXILIARIES.isdisjoint(norms[:2])
        ),
    )
