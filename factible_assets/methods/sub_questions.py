"""A claim as yes/no questions, and what the evidence leaves of them unanswered.

What belongs here: which questions are kept (Raw Evidence, section 3.1, appendix A.2), and how
answered questions make an answered claim (sections 6.2, 6.3). What does not: wording questions or
answering them (reasoners).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from rapidfuzz import fuzz

from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    find_numbers,
    stem,
    tokenise,
    word_set,
)
from factible_assets.records import Answered

MOST_QUESTIONS: Final = 10
"""Questions of a claim (section 3.1)."""

_SAME: Final = 90
"""Token-sort similarity (0 to 100) of two questions' stems from which they ask the same."""

_OPENERS: Final = word_set(
    """
    what when where which who whom whose why how quand quel quelle quels quelles qui que quoi
    comment pourquoi wann wer wem wen welche welcher welches wo warum wieso wie qué cuándo dónde
    quién cuál cómo
    """
)
"""Words that open questions which yes or no does not answer."""

TECHNIQUES: Final[Mapping[Answered, str]] = {
    "answered": "question answered",
    "partly": "question answered in part",
    "not": "question not answered",
}
"""How steps are called that tell of a question; the metric counts them by it."""

Answerability = Literal["answered", "partly", "partly not", "not"]
"""How far it answers a claim (section 6.3: answerable … unanswerable)."""


def distinct_questions(texts: Iterable[str], most: int = MOST_QUESTIONS) -> tuple[str, ...]:
    """Return the yes/no questions among some texts, none asking again what another asks.

    The paper deletes exact repetitions (appendix A.2); here those that only reorder or inflect the
    words go, too. Numbers and denials keep two questions apart that are otherwise alike.
    """
    kept: list[str] = []
    forms: list[tuple[str, tuple[object, ...]]] = []
    for text in texts:
        question = " ".join(text.split())
        words = [word.norm for word in tokenise(question)]
        if not question.endswith(("?", "\uff1f", "\u061f")) or not words or words[0] in _OPENERS:
            continue
        numbers = tuple(sorted(number.value for number in find_numbers(question)))
        form = " ".join(map(stem, words)), (numbers, tuple(sorted(NEGATIONS.intersection(words))))
        if any(
            same == form[1] and fuzz.token_sort_ratio(form[0], other) >= _SAME
            for other, same in forms
        ):
            continue
        kept.append(question)
        forms.append(form)
        if len(kept) == most:
            break
    return tuple(kept)


def answerability(questions: Sequence[Answered]) -> Answerability | None:
    """Return how far a claim is answered by how far its questions are (section 6.3).

    Answered if all are, partly if all are at least partly, not if none is; else partly not. None
    without questions.
    """
    if not questions:
        return None
    if all(each == "answered" for each in questions):
        return "answered"
    if all(each != "not" for each in questions):
        return "partly"
    return "not" if all(each == "not" for each in questions) else "partly not"
