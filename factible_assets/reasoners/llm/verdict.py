"""The verdict on a claim, as a language model words it.

What belongs here: laying the evidence before the model, and what of its answer is believed. What
does not: the words of the prompt (prompts/verdict.md), the vote, which decides and which the model
is not shown, so that the two can be compared (stages.verdict).

Source of the method: Factible, section 1.3.5, step 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from factible_assets.reasoners.llm.answers import VerdictAnswer
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.prompts import Piece, one_line, source_pieces
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Evidence, Stance
from factible_assets.stages.evidence import QUOTED, QuoteFinder
from factible_assets.stages.ports import VerdictDraft

SUMMARY_WORDS = 110
_SHOWN_SUMMARY = 35  # Words of a source's summary that are shown.

CARRIERS: dict[Stance, frozenset[Stance]] = {
    "supports": frozenset({"supports", "mixed"}),
    "refutes": frozenset({"refutes", "mixed"}),
    "mixed": frozenset({"supports", "refutes", "mixed"}),
}
"""What at least one source must have been read as for a verdict to follow from the evidence."""

_UNSETTLED = "The sources that were read do not settle the claim."


async def reach_verdict(desk: Desk, evidence: Sequence[Evidence], most: int) -> VerdictDraft:
    """Reach a verdict from the evidence alone, of which the `most` reliable rows are shown.

    A stance that no source was read as taking does not follow from the evidence: it is asked about
    once more, and is `unclear` if it is given again. Confidence is low where one origin carries
    the stance. Raises ReasonerOutageError if the model failed.
    """
    stances = Counter(row.stance for row in evidence if row.stance is not None)
    listed = ", ".join(f"{stances[side]} {side}" for side in get_args(Stance))
    rest = len(evidence) - most
    left_out = f" The {rest} least reliable are not shown." if rest > 0 else ""
    counts = f"Sources that were read, by stance: {listed}.{left_out}"
    # The most reliable and definite rows, in the order of the bundle.
    order = sorted(
        range(len(evidence)),
        key=lambda at: (
            evidence[at].stance == "unclear",
            -evidence[at].rating_score,
            -(evidence[at].stance_confidence or 0.0),
            at,
        ),
    )
    sources = _sources([evidence[at] for at in sorted(order[:most])])
    answer = await desk.ask("User", VerdictAnswer, counts=counts, sources=sources)
    if not _follows(answer.stance, evidence):
        answer = await desk.ask(
            "Repair", VerdictAnswer, counts=counts, sources=sources, stance=answer.stance
        )
    if not _follows(answer.stance, evidence):
        return VerdictDraft("unclear", "low", _UNSETTLED)
    carriers = CARRIERS.get(answer.stance, frozenset())
    lone = len({_origin(row) for row in evidence if row.stance in carriers}) == 1
    return VerdictDraft(
        stance=answer.stance,
        confidence="low" if lone else answer.confidence,
        summary=clip(_quoting_only(plain(answer.summary), evidence), SUMMARY_WORDS) or _UNSETTLED,
    )


def _sources(rows: Sequence[Evidence]) -> tuple[Piece, ...]:
    origins = {name: number for number, name in enumerate(dict.fromkeys(map(_origin, rows)), 1)}

    def known(number: int, row: Evidence) -> str:
        day = "" if row.published_on is None else f", {row.published_on.isoformat()}"
        return (
            f"Source {number}: rated {row.rating}, {row.source_class}{day}, origin "
            f"{origins[_origin(row)]}, read as {row.stance} with confidence "
            f"{row.stance_confidence or 0.0:.1f}"
        )

    def words(row: Evidence) -> tuple[str, ...]:
        summary = clip(one_line(row.summary), _SHOWN_SUMMARY)
        # The passage shows what a side rests on; where none is taken, the summary says it all.
        lone = row.stance == "unclear" and summary
        return (summary,) if lone else (one_line(row.quote, quoted=True), summary)

    return source_pieces(dict(enumerate(rows, start=1)), known, words)


def _follows(stance: Stance, evidence: Sequence[Evidence]) -> bool:
    return stance == "unclear" or any(row.stance in CARRIERS[stance] for row in evidence)


def _origin(row: Evidence) -> str:
    return row.origin or row.domain


def _quoting_only(summary: str, evidence: Sequence[Evidence]) -> str:
    """Take the quotation marks off words that no supplied passage, summary or title holds."""
    given = "\n".join(
        " ".join(text.split())
        for row in evidence
        for text in (row.quote, row.summary, row.title)
        if text
    )
    wrong = QuoteFinder(given).misquotes(summary)
    return QUOTED.sub(lambda match: match[1] if match[1] in wrong else match[0], summary)
