"""Published methods beside the embedded engine: a confidence calculus and counted indicator words.

What belongs here: how well the calculus of ECVS (methods/confidence.py), as written and corrected,
says how often the engine's decisions are right, beside the engine's own confidence; and how far its
lexical support analysis gets where the engine reads. What does not: the page of figures
(quality.py). Nothing is fitted. Run: `python -m benchmarks.methods`; it embeds for some minutes at
first, later runs find the vectors in the temporary folder.

The claims are those with given evidence of evidence.py: annotated ones with recorded pages,
AVeriTeC and Climate-FEVER. The calculus takes the engine's stances, the tiers of
corpora/credibility_tiers.yaml and, for hedging, the engine's summaries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.evidence import (
    CORPORA,
    GivenClaim,
    Remembering,
    averitec_claims,
    climate_claims,
    recorded_claims,
    vote,
)
from benchmarks.quality import RESAMPLES, Drafts, Engine, engine
from benchmarks.shared import DATA
from factible_assets.evaluation.intervals import statistic_interval
from factible_assets.evaluation.metrics.stances import (
    Judgement,
    accuracy,
    brier,
    decided,
    expected_calibration_error,
    grouped,
    macro_f1,
)
from factible_assets.methods.confidence import Confidence, Source, as_written, corrected
from factible_assets.methods.credibility import domain_credibility
from factible_assets.methods.lexical_support import lexical_support
from factible_assets.records import Stance
from factible_assets.services.ratings import rating_directory
from factible_assets.stages.reliability import listing_of
from factible_assets.stages.urls import host_of

_SAMPLE = 200
"""Claims of Climate-FEVER; of the other sets all are read."""

_SIDES = {"supports": True, "refutes": False}
_STANCES: dict[bool | None, Stance] = {True: "supports", False: "refutes", None: "unclear"}
_TIERS = rating_directory([CORPORA / "credibility_tiers.yaml"])


def calculated(claim: GivenClaim, drafts: Drafts) -> tuple[Confidence, Confidence]:
    """Return the calculus over what a claim's sources were read as: as written, and corrected."""
    sources, words = [], []
    for page, draft in zip(claim.sources, drafts, strict=True):
        if draft is not None:
            host = host_of(page.canonical_url)
            believed = domain_credibility(host, listing_of(host, _TIERS)[1])
            sources.append(Source(believed, _SIDES.get(draft.stance)))
            words.append(draft.summary)
    text = " ".join(words)
    return as_written(sources, text), corrected(sources, text)


def confidences(claims: Sequence[GivenClaim], read: Sequence[Drafts]) -> dict[str, list[Judgement]]:
    """Return the engine's decisions, each with the confidence of every rule."""
    found: dict[str, list[Judgement]] = {"the engine's": [], "as written": [], "corrected": []}
    for claim, drafts in zip(claims, read, strict=True):
        said = [(each.stance, each.stance_confidence) if each else None for each in drafts]
        stance, own = vote(claim, said)
        literal, ours = calculated(claim, drafts)
        for name, sure in zip(found, (own, literal.percent / 100, ours.percent / 100), strict=True):
            found[name].append(Judgement(claim.name, claim.label, stance, sure))
    return found


def lexical(claims: Sequence[GivenClaim]) -> list[Judgement]:
    """Return the vote over what indicator words say of each source."""
    found = []
    for claim in claims:
        said = [
            (_STANCES[lexical_support(f"{page.title} {page.text}", claim.text)], 1.0)
            for page in claim.sources
        ]
        stance, _ = vote(claim, said)
        found.append(Judgement(claim.name, claim.label, stance))
    return found


def _row(name: str, items: Sequence[Judgement]) -> str:
    said = decided(items)

    def score(of: Sequence[Judgement]) -> float | None:
        return brier(of).value

    interval = statistic_interval(grouped(said), score, resamples=RESAMPLES)
    between = f"{interval.low:.3f} to {interval.high:.3f}" if interval else "–"
    mean = sum(each.confidence or 0.0 for each in said) / max(1, len(said))
    return (
        f"| {name} | {mean:.3f} | {accuracy(said).value or 0:.3f} | {score(said) or 0:.3f} "
        f"| {between} | {expected_calibration_error(said).value or 0:.3f} "
        f"| {len(said)} |"
    )


def _stances(name: str, items: Sequence[Judgement]) -> str:
    said = [each for each in items if each.predicted != "unclear"]
    return (
        f"| {name} | {len(said) / max(1, len(items)):.3f} | {accuracy(said).value or 0:.3f} "
        f"| {macro_f1(items) or 0:.3f} | {len(items)} |"
    )


def measured(name: str, claims: Sequence[GivenClaim], reader: Engine) -> str:
    """Return both tables of one set of claims."""
    read = [reader.read(claim) for claim in claims]
    rules = confidences(claims, read)
    return "\n".join(
        [
            f"## {name}",
            "",
            "| confidence | mean | right | Brier | 95 % interval | ECE | decided claims |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(_row(rule, items) for rule, items in rules.items()),
            "",
            "| stance | share decided | right of these | macro-F1 | claims |",
            "| --- | --- | --- | --- | --- |",
            _stances("the engine", rules["the engine's"]),
            _stances("indicator words", lexical(claims)),
            "",
        ]
    )


def main() -> None:
    """Print the tables of the sets that are there."""
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
            sys.stdout.write(f"{measured(name, load(), reader)}\n")
            sys.stdout.flush()
        else:
            sys.stdout.write(f"Skipped: {DATA / folder} is not there.\n")


if __name__ == "__main__":
    main()
