"""The verdict on a claim, as a language model words it.

What belongs here: laying the evidence before the model, and what of its answer is believed. What
does not: the words of the prompt (prompts/verdict.md), the vote, which decides and which the model
is not shown, so that the two can be compared (stages.verdict).

Source of the method: Factible, section 1.3.5, step 2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from factible_assets.reasoners.llm.answers import VerdictAnswer
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.prompts import Data, Piece, cut
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Evidence, Stance
from factible_assets.stages.evidence import MIN_QUOTE_CHARACTERS, QuoteFinder
from factible_assets.stages.ports import VerdictDraft

SUMMARY_WORDS = 110
_SHOWN_SUMMARY = 35
"""Words of a source's summary that are shown."""

CARRIERS: dict[Stance, frozenset[Stance]] = {
    "supports": frozenset({"supports", "mixed"}),
    "refutes": frozenset({"refutes", "mixed"}),
    "mixed": frozenset({"supports", "refutes", "mixed"}),
}
"""What at least one source must have been read as for a verdict to follow from the evidence."""

_UNSETTLED = "The sources that were read do not settle the claim."
_QUOTED = re.compile('["\u201c\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]+)["\u201d\u00bb]')


async def reach_verdict(
    desk: Desk, evidence: Sequence[Evidence], *, max_sources: int, repair: bool
) -> VerdictDraft:
    """Reach a verdict from the evidence alone.

    A stance that no source was read as taking does not follow from the evidence: it is asked about
    once more, and is `unclear` if it is given again. Confidence is low where one origin carries
    the stance.

    Raises:
        ReasonerOutageError: The model failed.
    """
    counts, sources = _counts(evidence, max_sources), _sources(_best(evidence, max_sources))
    answer = await desk.ask("User", VerdictAnswer, counts=counts, sources=sources)
    if repair and not _follows(answer.stance, evidence):
        answer = await desk.ask(
            "Repair", VerdictAnswer, counts=counts, sources=sources, stance=answer.stance
        )
    if not _follows(answer.stance, evidence):
        return VerdictDraft("unclear", "low", _UNSETTLED)
    lone = answer.stance != "unclear" and _origins(answer.stance, evidence) == 1
    return VerdictDraft(
        stance=answer.stance,
        confidence="low" if lone else answer.confidence,
        summary=clip(_quoting_only(plain(answer.summary), evidence), SUMMARY_WORDS) or _UNSETTLED,
    )


# --- What the model is given --------------------------------------------------------------------


def _best(evidence: Sequence[Evidence], count: int) -> list[Evidence]:
    """Return the most reliable and definite rows, in the order of the bundle."""
    order = sorted(
        range(len(evidence)),
        key=lambda at: (
            evidence[at].stance == "unclear",
            -evidence[at].rating_score,
            -(evidence[at].stance_confidence or 0.0),
            at,
        ),
    )
    return [evidence[at] for at in sorted(order[:count])]


def _counts(evidence: Sequence[Evidence], shown: int) -> str:
    counts = Counter(row.stance for row in evidence if row.stance is not None)
    sides: tuple[Stance, ...] = ("supports", "refutes", "mixed", "unclear")
    listed = ", ".join(f"{counts[side]} {side}" for side in sides)
    rest = len(evidence) - shown
    left_out = f" The {rest} least reliable are not shown." if rest > 0 else ""
    return f"Sources that were read, by stance: {listed}.{left_out}"


def _sources(rows: Sequence[Evidence]) -> list[Piece]:
    """List what the rules know of the sources outside the fence, and their words inside it.

    Each one's words are one line, so that no number is forged.
    """
    origins = {name: number for number, name in enumerate(dict.fromkeys(map(_origin, rows)), 1)}
    known = [
        _attributes(row, number, origins[_origin(row)]) for number, row in enumerate(rows, start=1)
    ]
    words = [f"{number}. {_words(row)}" for number, row in enumerate(rows, start=1)]
    listed = "\n".join(known)
    return [f"{listed}\n\nTheir words:\n", Data("sources", "\n".join(words))]


def _attributes(row: Evidence, number: int, origin: int) -> str:
    day = "" if row.published_on is None else f", {row.published_on.isoformat()}"
    return (
        f"Source {number}: rated {row.rating}, {row.source_class}{day}, origin {origin}, "
        f"read as {row.stance} with confidence {row.stance_confidence or 0.0:.1f}"
    )


def _words(row: Evidence) -> str:
    """Return the words of a source. A summary was written by a model that read it: data too."""
    quote = f'"{_line(row.quote)}"' if row.quote else ""
    summary = clip(_line(row.summary or ""), _SHOWN_SUMMARY)
    # The passage shows what a side rests on; where none is taken, the summary says it all.
    shown = [summary] if row.stance == "unclear" and summary else [quote, summary]
    return " ".join([f"{row.domain}:", *filter(None, shown)])


def _line(text: str) -> str:
    return cut(" ".join(text.split()))


# --- What is believed ---------------------------------------------------------------------------


def _follows(stance: Stance, evidence: Sequence[Evidence]) -> bool:
    return stance == "unclear" or any(row.stance in CARRIERS[stance] for row in evidence)


def _origins(stance: Stance, evidence: Sequence[Evidence]) -> int:
    return len({_origin(row) for row in evidence if row.stance in CARRIERS[stance]})


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
    finder = QuoteFinder(given)

    def borne_out(match: re.Match[str]) -> str:
        words = match[1]
        short = sum(character.isalnum() for character in words) < MIN_QUOTE_CHARACTERS
        return match[0] if short or finder.find(words.rstrip(".,;: ")) else words

    return _QUOTED.sub(borne_out, summary)
