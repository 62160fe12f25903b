"""Compares the strategies, and published methods, on claims with given evidence.

Run: `python -m benchmarks.methods`; the first run embeds for some minutes, later runs reuse the
vectors in the temporary folder. Nothing is fitted. The claims come from evidence.py: annotated ones
with recorded pages, AVeriTeC and Climate-FEVER. Every search for a claim finds its sources in
order. The script measures each strategy that needs no model, the calculus of ECVS as written and
corrected as a predictor of right decisions, lexical support analysis as a reader, and two bounds:
the claim alone, and the annotators' labels of the given sources. The calculus uses the engine's
stances, the tiers of corpora/credibility_tiers.yaml and, for hedging, the engine's summaries.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import get_args

from benchmarks.evidence import (
    CORPORA,
    GivenClaim,
    Remembering,
    averitec_claims,
    climate_claims,
    recorded_claims,
    vote,
)
from benchmarks.quality import RESAMPLES, Engine, engine
from benchmarks.shared import DATA, grouped
from factible_assets.config import StrategyName, config_of
from factible_assets.evaluation.figures import paired_bootstrap, statistic_interval
from factible_assets.evaluation.metrics.stances import (
    Judgement,
    accuracy,
    brier,
    decided,
    expected_calibration_error,
    macro_f1,
)
from factible_assets.reasoners.embedded.engine import EmbeddedReasoner
from factible_assets.reasoners.readers.lexical import lexical_support
from factible_assets.reasoners.readers.page import PageReader
from factible_assets.records.tables import Claim, Query, Stance, Video
from factible_assets.services.annotated import GivenPages
from factible_assets.services.ratings import rating_directory
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.ids import claim_id
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt, Reasoner, Services, WithCalls
from factible_assets.stages.reliability import listing_of
from factible_assets.stages.urls import host_of
from factible_assets.strategies import strategy_named
from factible_assets.strategies.calculus import (
    Confidence,
    ScoredSource,
    corrected,
    domain_credibility,
    published,
)
from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.ratings.base import DomainAge, ListedRating
from resources.search.base import SearchAnswer, SearchRequest

_SAMPLE = 200
"""The number of Climate-FEVER claims; the other sets are used whole."""

_NEAREST = 15
"""Claims whose labels judge a claim alone."""

_SIDES = {"supports": True, "refutes": False}
_STANCES: dict[bool | None, Stance] = {True: "supports", False: "refutes", None: "unclear"}
_TIERS = rating_directory([CORPORA / "credibility_tiers.yaml"])


@dataclass(frozen=True, slots=True)
class GivenWeb:
    """The sources of one claim as the whole web: every search finds them."""

    claim: GivenClaim

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        return await GivenPages(self.claim.sources).search(request)

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        return await GivenPages(self.claim.sources).fetch(url)

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        """Rate a source as given."""
        rated = zip(self.claim.sources, self.claim.ratings, strict=True)
        found = (by for each, by in rated if domain == host_of(each.canonical_url))
        return [ListedRating("given", domain, by, "unknown", "As given.") for by in found][:1]

    async def age(self, domain: str) -> DomainAge:
        return DomainAge("unknown")


class ReadOnce:
    """A reader that reads a page for a claim once for all strategies."""

    def __init__(self, reader: PageReader) -> None:
        self._reader = reader
        self.basis = reader.basis
        self._read: dict[tuple[str, str, str], WithCalls[EvidenceDraft | None]] = {}

    async def read_evidence(
        self, video: Video, claim: Claim, query: Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        key = claim.text, page.canonical_url, page.text
        if key not in self._read:
            self._read[key] = await self._reader.read_evidence(video, claim, query, page)
        return self._read[key]


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one method for a set of claims, in order, and the number of its sources."""

    name: str
    items: Sequence[Judgement]
    sources: int = 0


async def checked(given: GivenClaim, reasoner: Reasoner, name: StrategyName) -> FlowResult:
    web = GivenWeb(given)
    video = Video(video_id="given", title="", url="https://given.example/video")
    claim = Claim(
        claim_id=claim_id(video.video_id, given.text),
        video_id=video.video_id,
        rank=1,
        text=given.text,
        importance=1.0,
        extraction_confidence=1.0,
        basis="given",
    )
    services = Services(reasoner, web, web, web, web)
    config = config_of({"strategy": name})
    strategy = strategy_named(name)
    return await check_claims(video, [claim], services, config, strategy=strategy)


async def rows_of(claims: Sequence[GivenClaim], reader: Engine) -> AsyncIterator[Row]:
    """Yield the results of each method: the default first, then all others without a model."""
    engine = EmbeddedReasoner(reader.embedder)
    reasoner = Reasoner(engine, engine, ReadOnce(reader.reader))
    for name in sorted(get_args(StrategyName), key="standard".__ne__):
        if strategy_named(name).needs_model:
            continue
        found = [await checked(claim, reasoner, name) for claim in claims]
        read = sum(row.status == "ok" for rows in found for row in rows.evidence)
        items = [
            Judgement(claim.name, claim.label, verdict.stance, verdict.confidence_score)
            for claim, rows in zip(claims, found, strict=True)
            for verdict in rows.verdicts
        ]
        yield Row(f"`{name}`", items, read)
        if name != "standard":
            continue
        for calculus in (published, corrected):
            sure = [calculated(rows, calculus).percent / 100 for rows in found]
            again = [replace(item, confidence=by) for item, by in zip(items, sure, strict=True)]
            yield Row(f"its stances, confidence {calculus.__name__.replace('_', ' ')}", again)
    yield Row("indicator words", [lexical(claim) for claim in claims])
    yield Row("the claim alone", claims_alone(claims, reader))
    if any(label is not None for claim in claims for label in claim.source_labels):
        yield Row("annotators' labels of the sources", [annotators(claim) for claim in claims])


def calculated(rows: FlowResult, calculus: Callable[..., Confidence]) -> Confidence:
    """Return the calculus over the readings of a claim's sources."""
    sources, words = [], []
    for row in rows.evidence:
        if row.status == "ok":
            host = host_of(row.canonical_url)
            believed = domain_credibility(host, listing_of(host, _TIERS)[1])
            sources.append(ScoredSource(believed, _SIDES.get(row.stance or "")))
            words.append(row.summary or "")
    return calculus(sources, " ".join(words))


def lexical(claim: GivenClaim) -> Judgement:
    """Return the vote over the indicator words of each source."""
    said = [
        (_STANCES[lexical_support(f"{page.title} {page.text}", claim.text)], 1.0, None)
        for page in claim.sources
    ]
    return Judgement(claim.name, claim.label, vote(claim, said, "embedded")[0])


def claims_alone(claims: Sequence[GivenClaim], reader: Engine) -> list[Judgement]:
    """Judge each claim without evidence, by the labels of the nearest claims of other groups.

    It stands for the paper's classifier of the claim with its speaker and venue (Raw Evidence,
    section 4.1).
    """
    vectors = reader.embedder.embed([f"{claim.said_by} {claim.text}" for claim in claims])
    found = []
    for claim, near in zip(claims, vectors @ vectors.T, strict=True):
        others = [at for at in near.argsort()[::-1] if claims[at].name != claim.name]
        said = Counter(claims[at].label for at in others[:_NEAREST])
        found.append(Judgement(claim.name, claim.label, said.most_common(1)[0][0]))
    return found


def annotators(claim: GivenClaim) -> Judgement:
    """Return the vote over the annotated labels of the sources: the oracle of reading."""
    said = [None if label is None else (label, 1.0, None) for label in claim.source_labels]
    return Judgement(claim.name, claim.label, vote(claim, said, "embedded")[0])


def _line(row: Row, first: Row) -> str:
    def right(of: Sequence[Judgement]) -> float | None:
        return accuracy(of).value

    by_group = [[right(group) for group in grouped(each.items)] for each in (row, first)]
    paired = paired_bootstrap(*by_group)
    interval = statistic_interval(grouped(row.items), right, resamples=RESAMPLES)
    assert paired is not None
    assert interval is not None
    said = [item for item in row.items if item.predicted != "unclear"]
    knows = bool(decided(row.items))
    cells = [
        f"{right(row.items) or 0:.3f} ({interval.low:.3f} to {interval.high:.3f})",
        "–" if row is first else f"{paired.p_value:.2f}",
        f"{len(said)}",
        f"{right(said) or 0:.3f}",
        f"{macro_f1(row.items) or 0:.3f}",
        f"{brier(decided(row.items)).value or 0:.3f}" if knows else "–",
        f"{expected_calibration_error(decided(row.items)).value or 0:.3f}" if knows else "–",
        f"{row.sources / len(row.items):.1f}" if row.sources else "–",
    ]
    return f"| {row.name} | {' | '.join(cells)} |"


def measured(name: str, claims: Sequence[GivenClaim], reader: Engine) -> str:
    """Return the table of one set; p is from a paired bootstrap against the first row."""

    async def all_rows() -> list[Row]:
        return [row async for row in rows_of(claims, reader)]

    rows = asyncio.run(all_rows())
    head = ("", "accuracy (95 %)", "p", "decided", "right", "macro-F1", "Brier", "ECE", "sources")
    return "\n".join(
        [
            f"## {name}: {len(claims)} claims",
            "",
            f"| {' | '.join(head)} |",
            f"|{' --- |' * len(head)}",
            *(_line(row, rows[0]) for row in rows),
            "",
        ]
    )


def main() -> None:
    """Print the tables of the available sets."""
    reader = engine()
    embedder = reader.embedder
    assert isinstance(embedder, Remembering)
    sets: dict[str, tuple[str, Callable[[], list[GivenClaim]]]] = {
        "recorded_web": ("annotated claims with recorded pages", lambda: recorded_claims(embedder)),
        "averitec": ("AVeriTeC, given evidence", lambda: list(averitec_claims())),
        "climate_fever": ("Climate-FEVER", lambda: list(islice(climate_claims(), _SAMPLE))),
    }
    for folder, (name, load) in sets.items():
        if Path(DATA / folder).exists():
            print(measured(name, load(), reader), flush=True)
        else:
            print(f"Skipped: {DATA / folder} is not there.")


if __name__ == "__main__":
    main()
