"""Measures how well a small model reads pages by label probabilities.

Run: `FACTIBLE_HOME=... python -m benchmarks.labels`, with a reader in that folder (`factible models
pull reader`). A first run asks about 900 questions of up to a second each on two quiet cores;
later runs use that folder's cache. It also fits `stages.origins.SHARED_ERRORS`. The calibration
(`factible models calibrate`) sees none of these sets but VitaminC, with other pairs than here.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import numpy as np

from benchmarks.evidence import (
    GivenClaim,
    Remembering,
    averitec_claims,
    climate_claims,
    recorded_claims,
    vitaminc_claims,
)
from benchmarks.shared import require
from factible_assets.reasoners.embedded.embedder import Embedder, minilm
from factible_assets.reasoners.readers.calibration import (
    UNCALIBRATED,
    Calibration,
    SideChances,
    auc,
    calibration_error,
)
from factible_assets.reasoners.readers.labels import LabelQuestion, labels_prompt, sentences_to_read
from factible_assets.reasoners.readers.pairs import shipped_pairs
from factible_assets.reasoners.readers.passages import select_passages
from factible_assets.records.tables import Stance
from factible_assets.services.labels import calibration_of, open_label_model, reading_model
from factible_assets.settings import load_settings
from factible_assets.stages.origins import SHARED_ERRORS, claim_probability
from factible_assets.stages.verdict import VOTE_WEIGHTS
from resources.storage.answers import DiskCache

_SEED = 3
_MOST_SOURCES = 5
_SURE = 0.65
"""The chance at which a claim counts as supported or refuted."""
_CLEAR = 0.6
"""The probability of a page on each side that makes a claim mixed."""
_GRID = tuple(round(0.05 * step, 2) for step in range(21))


@dataclass(frozen=True, slots=True)
class ReadClaim:
    """A claim and the reader's result for each source; None for a skipped source."""

    claim: GivenClaim
    pages: tuple[SideChances | None, ...]
    new_seconds: tuple[float, ...]

    def pages_read(self) -> list[tuple[float, float]]:
        """Return the pages that were read, weighted by their ratings like in the vote."""
        return [
            (page.supports - page.refutes, VOTE_WEIGHTS[rating] / VOTE_WEIGHTS["medium"])
            for page, rating in zip(self.pages, self.claim.ratings, strict=True)
            if page is not None
        ]


def samples(embedder: Embedder) -> Iterator[tuple[str, list[GivenClaim], bool]]:
    """Yield each set's name and sample, and whether its sources are long pages."""
    draw = random.Random(_SEED)  # noqa: S311 - draws a sample, guards nothing
    seen = {pair.claim for pair in shipped_pairs()}
    others = [each for each in vitaminc_claims() if each.text not in seen]
    yield "VitaminC", [*_of_each(others, draw, supports=24, refutes=24, unclear=16)], False
    climate = [*climate_claims()]
    yield (
        "Climate-FEVER",
        [*_of_each(climate, draw, supports=9, refutes=10, mixed=3, unclear=3)],
        False,
    )
    averitec = [*averitec_claims()]
    yield (
        "AVeriTeC",
        [*_of_each(averitec, draw, supports=17, refutes=20, mixed=6, unclear=6)],
        False,
    )
    recorded = recorded_claims(embedder)
    yield "recorded web", [*_of_each(recorded, draw, supports=9, refutes=6, mixed=4)], True


def _of_each(
    claims: Sequence[GivenClaim], draw: random.Random, **wanted: int
) -> Iterator[GivenClaim]:
    for label, count in wanted.items():
        own = [each for each in claims if each.label == label]
        yield from draw.sample(own, min(count, len(own)))


async def read(
    question: LabelQuestion,
    curves: Calibration,
    claim: GivenClaim,
    embedder: Embedder,
    *,
    chooses: bool,
) -> ReadClaim:
    """Ask about each source of a claim in turn."""
    pages: list[SideChances | None] = []
    seconds: list[float] = []
    for source in claim.sources[:_MOST_SOURCES]:
        text = source.text
        if chooses:
            selection = select_passages(
                claim.text, source.text, embedder, title=source.title, snippet=source.snippet
            )
            text = " ".join(each.text for each in sentences_to_read(selection)[0])
        if not text:
            pages.append(None)
            continue
        began = time.perf_counter()
        answer = await question.ask(claim.text, text, title=source.title)
        if not any(call.cache_hit for call in answer.calls):
            seconds.append(time.perf_counter() - began)
        pages.append(curves.judge(answer.chances))
    pages += [None] * (len(claim.sources) - len(pages))
    return ReadClaim(claim, tuple(pages), tuple(seconds))


def page_figures(read_claims: Sequence[ReadClaim], threshold: float) -> str:
    """Return the figures of sources with their own label."""
    told = [
        (page, label)
        for each in read_claims
        for page, label in zip(each.pages, each.claim.source_labels, strict=True)
        if page is not None and label is not None
    ]
    if not told:
        return "  sources have no labels"
    sides = {side: [_lean(page) for page, label in told if label == side] for side in _SIDES}
    settle = [page.bearing for page, label in told if label in _SIDES]
    silent = [page.bearing for page, label in told if label == "unclear"]
    tops = [(page.side[1], label == page.side[0]) for page, label in told]
    taken = [right for top, right in tops if top >= threshold]
    return (
        f"  {len(told)} sources: AUC {auc(sides['supports'], sides['refutes']):.2f}, on the claim "
        f"or not {auc(settle, silent):.2f}, decided {len(taken) / len(told):.2f}, right of decided "
        f"{np.mean(taken or [False]):.2f}, calibration error {calibration_error(tops):.2f}"
    )


def claim_figures(read_claims: Sequence[ReadClaim], shared: float) -> str:
    """Return the figures of claims from the combination of their sources."""
    chances = [(each, claim_probability(each.pages_read(), shared)) for each in read_claims]
    sides = {side: [p for each, p in chances if each.claim.label == side] for side in _SIDES}
    told = [(each.claim.label, _verdict(each, p)) for each, p in chances]
    taken = [said == label for label, said in told if said in _SIDES]
    sided = [(label, said) for label, said in told if label in _SIDES and said in _SIDES]
    sure = [
        (max(chance, 1 - chance), label == ("supports" if chance >= 1 / 2 else "refutes"))
        for (_, chance), (label, _) in zip(chances, told, strict=True)
        if label in _SIDES
    ]
    return (
        f"  {len(told)} claims: AUC {auc(sides['supports'], sides['refutes']):.2f}, decided "
        f"{len(taken) / len(told):.2f}, right of decided {np.mean(taken or [False]):.2f} (of those "
        f"with a side {np.mean([own == said for own, said in sided] or [False]):.2f}), "
        f"macro-F1 {macro_f1(told):.2f}, calibration error {calibration_error(sure, 5):.2f}, "
        f"always supports {np.mean([label == 'supports' for label, _ in told]):.2f}"
    )


_SIDES: tuple[Stance, Stance] = ("supports", "refutes")


def _lean(page: SideChances) -> float:
    return page.supports / max(1e-9, page.bearing)


def _verdict(each: ReadClaim, chance_of_it: float) -> Stance:
    pages = [page for page in each.pages if page is not None]
    if any(p.supports >= _CLEAR for p in pages) and any(p.refutes >= _CLEAR for p in pages):
        return "mixed"
    if chance_of_it >= _SURE:
        return "supports"
    return "refutes" if chance_of_it <= 1 - _SURE else "unclear"


def macro_f1(told: Sequence[tuple[Stance, Stance]]) -> float:
    """Return the mean F1 over the labels in the sample."""
    scores = []
    for label in {label for label, _ in told}:
        hits = sum(said == own == label for own, said in told)
        others = sum((said == label) + (own == label) for own, said in told)
        scores.append(2 * hits / others if others else 0.0)
    return float(np.mean(scores))


def loss(read_claims: Sequence[ReadClaim], shared: float) -> float:
    """Return the mean Brier score of the combined chances, with equal weight for both sides."""
    parts = [
        [
            (claim_probability(each.pages_read(), shared) - (side == "supports")) ** 2
            for each in read_claims
            if each.claim.label == side
        ]
        for side in _SIDES
    ]
    return float(np.mean([np.mean(part) for part in parts if part]))


def best(sets: Sequence[Sequence[ReadClaim]]) -> float:
    """Return the correlation with the least loss over sets of equal weight."""
    return min(_GRID, key=lambda shared: sum(loss(each, shared) for each in sets))


async def measure() -> None:
    settings = load_settings()
    model = reading_model(settings)
    if model is None:
        print("Skipped: no reader is set up (factible models pull reader).")
        return
    curves = calibration_of(settings, model) or UNCALIBRATED
    embedder = Remembering(minilm())
    found: dict[str, list[ReadClaim]] = {}
    cache = DiskCache(settings.cache, settings.cache_policy)
    async with AsyncExitStack() as stack:
        opened = open_label_model(settings, model, stack, cache)
        question = LabelQuestion(opened, labels_prompt())
        for name, claims, chooses in samples(embedder):
            found[name] = [
                await read(question, curves, claim, embedder, chooses=chooses) for claim in claims
            ]
            seconds = [each for one in found[name] for each in one.new_seconds]
            pace = f", {np.median(seconds):.1f} s a source" if seconds else ""
            print(f"{name}{pace}\n{page_figures(found[name], curves.threshold)}", flush=True)
    several = {name: each for name, each in found.items() if name != "VitaminC"}
    print("\nThe combination of sources:")
    for name, read_claims in several.items():
        others = best([each for other, each in several.items() if other != name])
        print(
            f"{name} (best correlation on the other sets {others:.2f}; Brier score as independent "
            f"{loss(read_claims, 0.0):.3f}, with {SHARED_ERRORS} "
            f"{loss(read_claims, SHARED_ERRORS):.3f}, as one "
            f"{loss(read_claims, 1.0):.3f})\n{claim_figures(read_claims, SHARED_ERRORS)}"
        )
    sums = {shared: sum(loss(each, shared) for each in several.values()) for shared in _GRID[::2]}
    told = ", ".join(f"{shared} {total:.3f}" for shared, total in sums.items())
    print(f"Sum of the Brier scores by correlation: {told}")


def main() -> None:
    """Measure the configured reader."""
    require("averitec")
    asyncio.run(measure())


if __name__ == "__main__":
    main()
