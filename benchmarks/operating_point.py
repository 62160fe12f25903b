"""Where the tone of a page may speak, and how often each ground of reading a page is right.

Run: `python -m benchmarks.operating_point [--model FOLDER] [--pairs 1500]`. Prints, for each point,
what is decided and right of the annotated claims with their recorded pages; the same with the point
chosen on all videos but one and used on that one; and each ground's share of right pages. The
constants of `reading/stance.py` are read off it: from the middle of a stretch, not from its peak.
FOLDER holds `model.onnx` and `tokenizer.json` of the embedding model that tone goes by, MiniLM if
it is not given; a first run embeds for some minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evidence import (
    GivenClaim,
    Remembering,
    Said,
    Score,
    recorded_claims,
    select,
    vitaminc_claims,
    vote,
)
from factible_assets.reasoners.embedded.embedder import Embedder, ModelFiles, OnnxEmbedder
from factible_assets.reasoners.embedded.reading.evidence import LEAST_RELEVANCE
from factible_assets.reasoners.embedded.reading.passages import Selection
from factible_assets.reasoners.embedded.reading.stance import (
    CONFIDENCE,
    LEAST_AGAINST,
    PageStance,
    StatementsAndTone,
)
from factible_assets.records import Stance

POINTS = tuple(point / 200 for point in range(50))
TARGETS = (0.80, 0.82, 0.84)
"""Shares of right decisions that the other videos have to show for a point to be taken."""


class Listening(StatementsAndTone):
    """Says how far each page leans, whatever the point."""

    heard: float | None = None

    def _leaning(self, claim: str, denial: str, selection: Selection) -> float:
        self.heard = super()._leaning(claim, denial, selection)
        return math.inf


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says; if by its tone, at which leaning."""

    said: PageStance
    relevance: float
    leaning: float | None

    def at(self, point: float) -> Said:
        """Return what it says with tone from a point on."""
        least = point if self.said.stance == "supports" else LEAST_AGAINST
        silent = self.said.stance == "unclear" or (
            self.leaning is not None and self.leaning < least
        )
        if silent:
            return None if self.relevance < LEAST_RELEVANCE else ("unclear", 0.0, None)
        return self.said.stance, self.said.confidence, self.said.ground


def read(model: Listening, claim: GivenClaim, selections: Sequence[Selection]) -> list[Page]:
    """Read every source of a claim."""
    pages = []
    for source, selection in zip(claim.sources, selections, strict=True):
        model.heard = None
        said = model.read(claim.text, selection, title=source.title)
        pages.append(Page(said, selection.relevance, model.heard))
    return pages


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Choose where tone speaks.")
    parser.add_argument("--model", type=Path, help="folder of the model that tone goes by")
    parser.add_argument("--pairs", type=int, default=1500, help="pairs of VitaminC")
    given = parser.parse_args()
    installed = Remembering(OnnxEmbedder())
    tone: Embedder = installed
    if given.model:
        files = ModelFiles(given.model / "model.onnx", given.model / "tokenizer.json")
        tone = Remembering(OnnxEmbedder(files))
    model = Listening(tone)
    claims = recorded_claims(installed)
    pages = [read(model, claim, select(claim, installed)) for claim in claims]
    answers = {
        point: [
            (vote(claim, [page.at(point) for page in each])[0], claim.label)
            for claim, each in zip(claims, pages, strict=True)
        ]
        for point in POINTS
    }
    for point in POINTS:
        _say(f"{point:.3f}  {_describe(answers[point])}")
    videos = [claim.name for claim in claims]
    for target in TARGETS:
        held_out, chosen = _held_out(answers, videos, target)
        _say(f"chosen for {target:.2f} on other videos: {_describe(held_out)}; {chosen}")
    pairs = vitaminc_claims()[: given.pairs]
    pages += [read(model, claim, select(claim, installed)) for claim in pairs]
    for name, part in (
        ("recorded pages", slice(len(claims))),
        ("VitaminC", slice(len(claims), None)),
    ):
        _grounds(name, [*claims, *pairs][part], pages[part], model.least_leaning)


def _held_out(
    answers: dict[float, list[tuple[Stance, Stance]]], videos: Sequence[str], target: float
) -> tuple[list[tuple[Stance, Stance]], dict[float, int]]:
    """Answer each video's claims at the lowest point that is right enough on the other videos."""
    found, chosen = [], Counter[float]()
    for video in sorted(set(videos)):
        own = [name == video for name in videos]
        point = next(
            (
                point
                for point in POINTS
                if Score.of([a for a, o in zip(answers[point], own, strict=True) if not o]).right
                >= target
            ),
            POINTS[-1],
        )
        chosen[point] += 1
        found += [a for a, o in zip(answers[point], own, strict=True) if o]
    return found, dict(sorted(chosen.items()))


def _describe(answers: Sequence[tuple[Stance, Stance]]) -> str:
    score = Score.of(answers)
    decided = [label for said, label in answers if said != "unclear"]
    always = decided.count("supports") / max(1, len(decided))
    return f"decided {score.decided:.3f}, right {score.right:.3f}, always supports {always:.3f}"


def _grounds(
    name: str, claims: Sequence[GivenClaim], pages: Sequence[Sequence[Page]], point: float
) -> None:
    """Print how often each ground is right on the pages that have a label."""
    right: dict[str, list[bool]] = defaultdict(list)
    for claim, each in zip(claims, pages, strict=True):
        for label, page in zip(claim.source_labels, each, strict=True):
            said = page.at(point)
            if label is not None and said is not None and page.said.ground and said[0] != "unclear":
                right[page.said.ground].append(said[0] == label)
    for ground, confidence in CONFIDENCE.items():
        if found := right[ground]:
            share = sum(found) / len(found)
            _say(f"{name}: {ground} {share:.2f} of {len(found)} (states {confidence:.2f})")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
