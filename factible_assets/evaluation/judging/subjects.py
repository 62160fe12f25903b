"""What is judged, and what a judge is shown of it.

What belongs here: turning the rows of a video into material, untrusted text as data. What does not:
the fence around it (reasoners/llm/fences.py), what is asked (prompts/).

What was answered is shown whole. What its sources say is shown as the reasoner saw it: sentences
that give their reader orders are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from factible_assets.evaluation.judging.criteria import SubjectKind
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.reasoners.llm.fences import Data, Piece
from factible_assets.reasoners.llm.material import claim_pieces, cut, title_line
from factible_assets.records import Claim, Evidence, Query, Transcript, Verdict

SHOWN_SOURCES = 12
"""Sources that a judge of a verdict is shown: the most reliable and definite ones."""

_AROUND_CLAIM, _AROUND_QUOTE = 700, 350
"""Characters that are shown before and behind."""
_LONGEST_SUMMARY = 3_000


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that is judged. `material` fills the places of its criteria's prompts."""

    kind: SubjectKind
    subject_id: str
    video_id: str
    claim_id: str
    material: Mapping[str, Piece | Sequence[Piece]]


def subjects_of(
    outcome: VideoOutcome,
    verdict_evidence: Sequence[Evidence] | None = None,
    page_texts: Mapping[str, str] | None = None,
) -> Iterator[Subject]:
    """Yield everything of a video that can be judged, claim by claim.

    What an outage left open is not judged: queries and evidence without an answer, and verdicts
    without a stance.

    Args:
        outcome: The rows.
        verdict_evidence: What the verdicts rest on, if that is not the newest evidence.
        page_texts: Texts by content hash; those of the outcome if not given.
    """
    if page_texts is None:
        page_texts = {each.content_hash: each.text for each in outcome.page_texts}
    cited = outcome.evidence if verdict_evidence is None else verdict_evidence
    for claim in outcome.ordered_claims:
        yield _claim(claim, outcome)
        for query in outcome.queries:
            if query.claim_id == claim.claim_id and query.status == "ok":
                yield _query(claim, query)
        for row in outcome.evidence:
            if row.claim_id == claim.claim_id and row.status == "ok":
                yield _evidence(claim, row, page_texts)
        for verdict in outcome.verdicts:
            if verdict.claim_id == claim.claim_id and verdict.status == "complete":
                yield _verdict(claim, verdict, cited, page_texts)


def _claim(claim: Claim, outcome: VideoOutcome) -> Subject:
    return Subject(
        "claim",
        claim.claim_id,
        claim.video_id,
        claim.claim_id,
        {
            "title": Data("title", title_line(outcome.video.title) or "(none)"),
            "passage": _passage(claim, outcome.transcript),
            "claim": claim_pieces(claim),
        },
    )


def _passage(claim: Claim, transcript: Transcript | None) -> Sequence[Piece]:
    if transcript is None or claim.char_start is None or claim.char_end is None:
        return ["The claim has no place in the transcript: nothing that was said is shown."]
    start = max(0, claim.char_start - _AROUND_CLAIM)
    return [
        "What is said in the video around the claim:\n",
        Data("transcript", transcript.text[start : claim.char_end + _AROUND_CLAIM]),
    ]


def _query(claim: Claim, query: Query) -> Subject:
    return Subject(
        "query",
        query.query_id,
        claim.video_id,
        claim.claim_id,
        {
            "claim": claim_pieces(claim),
            "query": [
                f"A web search for evidence on it, of the kind {query.query_type}:\n",
                Data("query", cut(query.text)),
            ],
        },
    )


def _evidence(claim: Claim, row: Evidence, texts: Mapping[str, str]) -> Subject:
    return Subject(
        "evidence",
        row.evidence_id,
        claim.video_id,
        claim.claim_id,
        {"claim": claim_pieces(claim), "source": _source(row, 1, texts)},
    )


def _verdict(
    claim: Claim, verdict: Verdict, evidence: Sequence[Evidence], texts: Mapping[str, str]
) -> Subject:
    read = [row for row in evidence if row.claim_id == claim.claim_id and row.status == "ok"]
    return Subject(
        "verdict",
        claim.claim_id,
        claim.video_id,
        claim.claim_id,
        {
            "claim": claim_pieces(claim),
            "sources": _sources(read, texts),
            "verdict": [
                f"The label: {verdict.stance}, with {verdict.confidence} confidence.\n",
                "The explanation:\n",
                Data("explanation", cut(verdict.summary, _LONGEST_SUMMARY)),
            ],
        },
    )


def _sources(rows: Sequence[Evidence], texts: Mapping[str, str]) -> Sequence[Piece]:
    if not rows:
        return ["No source was found that could be read."]
    best = sorted(
        rows,
        key=lambda row: (
            row.stance == "unclear",
            -row.rating_score,
            -(row.stance_confidence or 0.0),
            row.evidence_id,
        ),
    )[:SHOWN_SOURCES]
    rest = len(rows) - len(best)
    left_out = f" The {rest} least reliable are not shown." if rest else ""
    pieces: list[Piece] = [f"Sources that were read: {len(rows)}.{left_out}"]
    for number, row in enumerate(best, start=1):
        pieces += ["\n\n", *_source(row, number, texts)]
    return pieces


def _source(row: Evidence, number: int, texts: Mapping[str, str]) -> Sequence[Piece]:
    lines = (
        ("Publisher", row.domain),
        ("Title", row.title),
        ("Passage that was quoted", row.quote or ""),
        ("Page around the passage", _around(row, texts)),
        ("Summary that was made of it", row.summary or ""),
    )
    shown = [f"{name}: {' '.join(text.split())}" for name, text in lines if text.strip()]
    return [
        f"Source {number}: rated {row.rating}, read as {row.stance}.\n",
        Data(f"source {number}", "\n".join(shown), trimmable=True),
    ]


def _around(row: Evidence, texts: Mapping[str, str]) -> str:
    text = texts.get(row.content_hash or "", "")
    if row.quote_start is None or row.quote_end is None or not text:
        return ""
    start = max(0, row.quote_start - _AROUND_QUOTE)
    return text[start : row.quote_end + _AROUND_QUOTE]
