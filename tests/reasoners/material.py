"""A claim, a page, a transcript and evidence for tests and benchmarks."""

from __future__ import annotations

from datetime import date

from factible_assets.reasoners.llm.engine import LlmReasoner, ReadingLimits
from factible_assets.records.tables import (
    Claim,
    Evidence,
    Query,
    Stance,
    Transcript,
    Verdict,
    Video,
)
from factible_assets.stages.ports import PageExcerpt
from tests.reasoners.llm.scripted import Script, ScriptedModel, staged
from tests.stages.words import from_text

VIDEO = Video(video_id="v1", title="Sugar and children")
CLAIM = Claim(
    claim_id="c1",
    video_id="v1",
    rank=1,
    text="In 2012, sugar made most children hyperactive.",
    importance=0.9,
    extraction_confidence=0.8,
    context="The speaker means table sugar.",
    thesis="Sugar changes how children behave.",
    basis="llm",
)
PLAIN_CLAIM = CLAIM.model_copy(update={"text": "Sugar makes children hyperactive."})
"""A claim in the words of `DENIAL`, so that the plain reader can tell the side of a quote."""
QUERY = Query(
    query_id="q1",
    claim_id="c1",
    video_id="v1",
    rank=1,
    text="sugar hyperactive children",
    query_type="direct",
    priority=1,
    basis="llm",
)
DENIAL = "Controlled trials have found no evidence that sugar makes children hyperactive."
PAGE = PageExcerpt(
    "https://a.example/",
    "A review of the literature",
    "A review of what sugar does.",
    "A review of the literature\nParents often expect a change of mood after a birthday party, and "
    f"many report one to their doctor.\n{DENIAL} The parents were told nothing.\n",
    date(2019, 5, 4),
)
DENIAL_AT = 3
"""The number of the denial among the sentences of the page."""
VERDICT = Verdict(
    claim_id="c1",
    video_id="v1",
    rank=1,
    status="complete",
    evidence_status="ok",
    stance="refutes",
    confidence="high",
    confidence_score=0.9,
    summary="The sources refute the claim.",
    evidence_quality=0.9,
    supporting=0,
    refuting=2,
    mixed=0,
    unclear=1,
    independent_origins=3,
    missing=0,
    basis="llm",
)


def transcript(text: str) -> Transcript:
    return from_text("v1", text)


def reasoner(
    *answers: Script, limits: ReadingLimits | None = None
) -> tuple[LlmReasoner, ScriptedModel]:
    model = ScriptedModel(list(answers))
    return LlmReasoner(staged(model), limits), model


def row(
    name: str, stance: Stance, *, origin: str | None = None, score: float = 0.85, quote: str = ""
) -> Evidence:
    return Evidence(
        evidence_id=f"e-{name}",
        claim_id="c1",
        video_id="v1",
        hit_id=f"h-{name}",
        query_id="q1",
        canonical_url=f"https://{name}.example/",
        domain=f"{name}.example",
        title=f"The {name} page",
        status="ok",
        stance=stance,
        stance_confidence=0.8,
        relevance=0.8,
        summary=f"What {name} says.",
        quote=quote or None,
        quote_start=0 if quote else None,
        quote_end=len(quote) if quote else None,
        rating="high",
        rating_score=score,
        source_class="news",
        origin=origin or name,
        basis="llm",
    )
