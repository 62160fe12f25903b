"""Words verdicts with a language model, after the vote has decided them.

Source of the method: Factible, section 1.3.5, step 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from factible_assets.reasoners.llm.answers import WordsAnswer
from factible_assets.reasoners.llm.conversation import Conversation
from factible_assets.reasoners.llm.plain_text import clip, plain
from factible_assets.reasoners.llm.prompts import (
    Piece,
    claim_data,
    one_line,
    source_facts,
    source_pieces,
)
from factible_assets.reasoners.readers.page_text import page_sentences
from factible_assets.reasoners.readers.plain import side_of_text
from factible_assets.records.stances import DEFINITE, SIDES, STANCES
from factible_assets.records.tables import Claim, Evidence, Stance, Verdict
from factible_assets.stages.quotes import QUOTED, QuoteFinder

SUMMARY_WORDS = 70
_SHOWN_SUMMARY = 35  # words
_WORD_TOKENS = 120

CARRIERS: dict[Stance, frozenset[Stance]] = {
    stance: DEFINITE - (SIDES - {stance} if stance in SIDES else set()) for stance in DEFINITE
}
"""A verdict follows from the evidence if at least one source has one of these stances."""


async def word_verdicts(
    conversation: Conversation,
    verdicts: Sequence[tuple[Claim, Verdict, Sequence[Evidence]]],
    most: int,
) -> dict[str, str]:
    """Word some verdicts in one call; return the words by claim id.

    The model sees the `most` definite and reliable sources of each claim. Words that give another
    verdict are left out. Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it
    declined.
    """
    pieces: list[Piece] = []
    shown: list[list[Evidence]] = []
    for number, (claim, verdict, evidence) in enumerate(verdicts, start=1):
        rows = sorted(
            evidence,
            key=lambda row: (
                row.stance == "unclear",
                -row.rating_score,
                -(row.stance_confidence or 0.0),
                row.canonical_url,
            ),
        )[:most]
        shown.append(rows)
        gap = "\n\n" if pieces else ""
        pieces += [
            f"{gap}Claim {number}. The verdict: {verdict.stance}, {verdict.confidence} sure.\n",
            claim_data(claim),
            *source_pieces(dict(enumerate(rows, start=1)), _facts, _words),
        ]
    room = _WORD_TOKENS * len(verdicts)
    answer = await conversation.ask(
        "User", WordsAnswer, {"verdicts": pieces}, max_tokens=room, most=len(verdicts)
    )
    words: dict[str, str] = {}
    for worded in answer.verdicts:
        if not 1 <= worded.claim <= len(verdicts):
            continue
        claim, verdict, _ = verdicts[worded.claim - 1]
        if worded.says == verdict.stance:
            rows = shown[worded.claim - 1]
            text = clip(_without_misquotes(plain(worded.words), rows), SUMMARY_WORDS)
            words.setdefault(claim.claim_id, words_of_verdict(claim, verdict.stance, text))
    return words


def words_of_verdict(claim: Claim, stance: Stance, words: str) -> str:
    """Return a model's words on its verdict, or nothing if they state another verdict.

    They do if they use the prompt's phrase for another verdict ("The sources refute the claim"), or
    if a sentence asserts or denies the claim itself, as the plain reader finds.
    """
    phrases = (f"the sources {other.sources}" for other in STANCES.values() if other.name != stance)
    sides = {side_of_text(claim.text, sentence.text) for sentence in page_sentences(words)}
    is_other = STANCES[stance].weight != 0 and not (sides & SIDES) <= {stance}
    return "" if is_other or any(phrase in words.lower() for phrase in phrases) else words


def _facts(number: int, row: Evidence) -> str:
    return f"{source_facts(number, row)}, read as {row.stance}"


def _words(row: Evidence) -> tuple[str, ...]:
    summary = clip(one_line(row.summary), _SHOWN_SUMMARY)
    if row.stance == "unclear" and summary:
        return (summary,)  # A quote shows the grounds of a side.
    return one_line(row.quote, quoted=True), summary


def _without_misquotes(words: str, evidence: Sequence[Evidence]) -> str:
    """Remove quotation marks from words that stand in no quote, summary or title."""
    sources = "\n".join(
        " ".join(text.split())
        for row in evidence
        for text in (row.quote, row.summary, row.title)
        if text
    )
    misquotes = QuoteFinder(sources).misquotes(words)
    return QUOTED.sub(lambda match: match[1] if match[1] in misquotes else match[0], words)
