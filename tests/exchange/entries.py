"""Annotated claims to try formats on, and the way through a corpus file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from factible_assets.corpora.format import AnswerEntry, ClaimEntry, PassageEntry, QuestionEntry
from factible_assets.corpora.reading import CorpusVideo, load_corpus
from factible_assets.corpora.writing import write_corpus
from factible_assets.exchange.claims import AnnotatedClaim, ClaimsAndProblems, corpus_of_claims
from resources.text_files import FileProblem

# Everything that a file can hold: no half characters, and none that YAML or a transcript drops.
CHARACTERS = st.characters(
    categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters="\u2028\u2029"
)
WORDS = st.text(CHARACTERS, min_size=1, max_size=60).filter(lambda text: text.strip() != "")
TRIMMED = WORDS.map(str.strip)
MAYBE = st.none() | TRIMMED
URLS = st.none() | st.from_regex(r"https://[a-z]{1,10}\.example/[a-z0-9-]{0,20}", fullmatch=True)
DAYS = st.none() | st.dates(date(1000, 1, 1), date(2999, 12, 31))
STANCES = st.sampled_from(["supports", "refutes", "mixed", "unclear"])

ANSWERS = st.builds(
    AnswerEntry,
    text=WORDS,
    kind=st.none() | st.sampled_from(["extractive", "abstractive", "boolean", "unanswerable"]),
    explanation=MAYBE,
    source_url=URLS,
    archived_url=URLS,
    medium=MAYBE,
)
QUESTIONS = st.builds(QuestionEntry, text=WORDS, answers=st.lists(ANSWERS, max_size=2).map(tuple))


def passages(*, with_text: bool) -> st.SearchStrategy[PassageEntry]:
    """Return passages with texts and stances of their own, or pointers alone."""
    if with_text:
        return st.builds(
            PassageEntry, source=WORDS, text=WORDS, place=MAYBE, stance=st.none() | STANCES
        )
    return st.builds(PassageEntry, source=WORDS, place=MAYBE)


class Read:
    """What the reader of a format finds in a file."""

    def __init__(self, stated: ClaimsAndProblems) -> None:
        found = list(stated)
        self.claims = tuple(each for each in found if isinstance(each, AnnotatedClaim))
        self.problems = tuple(each for each in found if isinstance(each, FileProblem))


def stored(folder: Path, *claims: ClaimEntry, **known: Any) -> list[CorpusVideo]:
    """Write claims as a corpus and return its entries as they are read."""
    stated = [
        AnnotatedClaim(claim, key=f"k{number}", **known) for number, claim in enumerate(claims)
    ]
    corpus, beside, problems = corpus_of_claims("tried", stated, folder / "given", web="auto")
    assert problems == []
    file = write_corpus(folder, corpus, beside, replace=True).file
    reading = load_corpus(file)
    assert [str(problem) for problem in reading.problems] == []
    return list(reading.videos())


def claims_of(listed: list[CorpusVideo]) -> list[tuple[CorpusVideo, ClaimEntry]]:
    """Return the claims of entries, each with its entry."""
    return [(entry, claim) for entry in listed for claim in entry.claims or ()]
