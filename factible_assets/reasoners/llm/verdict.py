"""The words of verdicts, as a language model adds them where a run asks for that.

What belongs here: laying verdicts and their evidence before the model. What does not: the words of
the prompt (prompts/verdict.md), the vote, which has decided before, and which of the words are
believed (stages.voice).

Source of the method: Factible, section 1.3.5, step 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from factible_assets.reasoners.llm.answers import WordsAnswer
from factible_assets.reasoners.llm.calls import Conversation
from factible_assets.reasoners.llm.prompts import Piece, claim_data, one_line, source_pieces
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Claim, Evidence, Stance, Verdict
from factible_assets.stages.evidence import QUOTED, QuoteFinder

SUMMARY_WORDS = 70
_SHOWN_SUMMARY = 35  # Words of a source's summary that are shown.
_WORD_TOKENS = 120

CARRIERS: dict[Stance, frozenset[Stance]] = {
    "supports": frozenset({"supports", "mixed"}),
    "refutes": frozenset({"refutes", "mixed"}),
    "mixed": frozenset({"supports", "refutes", "mixed"}),
}
"""A verdict follows from the evidence if at least one source was read as one of these."""


async def word_verdicts(
    talk: Conversation, verdicts: Sequence[tuple[Claim, Verdict, Sequence[Evidence]]], most: int
) -> dict[str, str]:
    """Ask for words for some verdicts in one call; return them by claim id.

    Of each claim the `most` definite and reliable sources are shown. Raises ReasonerOutageError if
    the model failed, ReasonerRefusalError if it declined.
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
            *source_pieces(dict(enumerate(rows, start=1)), _known, _words),
        ]
    room = max(talk.stage.max_tokens, _WORD_TOKENS * len(verdicts))
    answer = await talk.ask(
        "User", WordsAnswer, {"verdicts": pieces}, max_tokens=room, most=len(verdicts)
    )
    words: dict[str, str] = {}
    for each in answer.verdicts:
        if 1 <= each.claim <= len(verdicts):
            claim, rows = verdicts[each.claim - 1][0], shown[each.claim - 1]
            told = clip(_quoting_only(plain(each.words), rows), SUMMARY_WORDS)
            words.setdefault(claim.claim_id, told)
    return words


def _known(number: int, row: Evidence) -> str:
    day = "" if row.published_on is None else f", {row.published_on.isoformat()}"
    return f"Source {number}: rated {row.rating}, {row.source_class}{day}, read as {row.stance}"


def _words(row: Evidence) -> tuple[str, ...]:
    summary = clip(one_line(row.summary), _SHOWN_SUMMARY)
    # The passage shows what a side rests on; where none is taken, the summary says it all.
    lone = row.stance == "unclear" and summary
    return (summary,) if lone else (one_line(row.quote, quoted=True), summary)


def _quoting_only(words: str, evidence: Sequence[Evidence]) -> str:
    """Take the quotation marks off words that no supplied passage, summary or title holds."""
    given = "\n".join(
        " ".join(text.split())
        for row in evidence
        for text in (row.quote, row.summary, row.title)
        if text
    )
    wrong = QuoteFinder(given).misquotes(words)
    return QUOTED.sub(lambda match: match[1] if match[1] in wrong else match[0], words)
