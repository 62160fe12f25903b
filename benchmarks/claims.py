"""Compares the embedded engine's claims with those of annotators.

Run: `python -m benchmarks.claims [--claims] [--ablate]`. It prints precision at 5, MAP over hits,
recall of all and of important claims, and the error of importance, at five claims and at ten. The
figures are held out: the weights for a video and their L2 penalty come from the other videos
(nested cross-validation). It also prints the figures of the shipped, rounded weights, which were
fitted to all of these videos. `--ablate` leaves out one measure at a time.

Claims match as published (Factible, section 2.1.3): MiniLM cosine above .70, greedy in the system's
order; means over videos.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from benchmarks.greedy import GreedyMatcher
from benchmarks.shared import AnnotatedVideo, load_annotated_videos
from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.metrics.claims import (
    MatchedVideo,
    average_precision,
    importance_mae,
    precision_at_k,
    recall_at_important,
    recall_at_k,
)
from factible_assets.reasoners.embedded.claims import selection as engine
from factible_assets.reasoners.embedded.claims.checkworthiness import CHOSEN, CONSTANT, FITTED
from factible_assets.reasoners.embedded.claims.sentences import split_sentences
from factible_assets.reasoners.embedded.embedder import Vectors, minilm
from factible_assets.records.tables import TranscriptSegment
from factible_assets.stages.ports import ClaimDraft

PUBLISHED = "gpt-4o-mini (published, 30 videos): P@5 .813  MAP .870"

METRICS = {
    "P": precision_at_k,
    "MAP": average_precision,
    "recall": recall_at_k,
    "recall of important": recall_at_important,
    "importance MAE": importance_mae,
}

HELD_BACK = (0.003, 0.01, 0.03)
"""L2 penalties on the standardised weights to choose from."""

_MATCHES, _ABOUT = 0.7, 0.05
"""The cosine to an annotated claim at which a match has even odds, and its softness."""

_MATCHER = GreedyMatcher(minilm())
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """A video's candidates with their measures, and the odds that each is an annotated claim."""

    video: AnnotatedVideo
    texts: list[str]
    measures: Array
    vectors: Vectors
    matches: Array


def main() -> None:
    """Print the figures held out and of the shipped weights, and the weights of all videos."""
    parser = argparse.ArgumentParser(description="Score extracted claims against annotations.")
    parser.add_argument("--claims", action="store_true", help="also print the claims")
    parser.add_argument("--ablate", action="store_true", help="leave measures out one by one")
    given = parser.parse_args()
    videos = [measure(each) for each in load_annotated_videos()]
    print(f"{len(videos)} videos; {PUBLISHED}")
    folds = fit_without(videos)
    for limit in (5, 10):
        print(f"{limit:>2} claims, held out  {describe(held_out(videos, folds, limit))}")
        print(f"   weights that ship {describe([shipped(each, limit) for each in videos])}")
    constant, weights = fit(videos, choose_held_back(videos))
    fitted = "  ".join(f"{name} {value:.2f}" for name, value in zip(FITTED, weights, strict=True))
    print(f"fitted to all: {fitted}  constant {constant:.2f}")
    if given.ablate:
        for column, name in enumerate(FITTED):
            print(f"without {name:<13}{describe(held_out(videos, fit_without(videos, column), 5))}")
        for name in CHOSEN:
            print(f"without {name:<13}{describe(held_out(videos, folds, 5, CHOSEN | {name: 0.0}))}")
    if given.claims:
        for video, match in zip(videos, held_out(videos, folds, 5), strict=True):
            print(f"{video.video.video.title[:60]:<62}{describe([match])}")
            for hit, claim in zip(match.hits(), match.system, strict=True):
                print(f"  {'+' if hit else '-'} {claim.text}")


def measure(video: AnnotatedVideo) -> Measured:
    """Measure the candidates of a video like the engine."""
    raw = video.transcript.text
    candidates, measures, vectors = engine.candidates_of(
        raw, split_sentences(raw, video.segments), minilm()
    )
    likeness = vectors @ minilm().embed([claim.text for claim in video.gold]).T
    matches = 1 / (1 + np.exp((_MATCHES - likeness.max(axis=1).astype(np.float64)) / _ABOUT))
    return Measured(video, [each.text for each in candidates], measures, vectors, matches)


def fit(
    videos: Sequence[Measured], held_back: float, leave_out: int | None = None
) -> tuple[float, Array]:
    """Fit a logistic regression with equal weight per video; return constant and weights."""
    measures = np.vstack([each.measures[:, : len(FITTED)] for each in videos])
    matches = np.concatenate([each.matches for each in videos])
    counts = np.concatenate([np.full(len(each.texts), 1 / len(each.texts)) for each in videos])
    counts /= counts.sum()
    if leave_out is not None:
        measures[:, leave_out] = 0
    mean, spread = measures.mean(axis=0), np.maximum(measures.std(axis=0), 1e-9)
    given = np.column_stack([(measures - mean) / spread, np.ones(len(measures))])
    costs = np.append(np.full(len(FITTED), held_back), 0)

    def loss(weights: Array) -> tuple[float, Array]:
        odds = given @ weights
        wrong = counts * (1 / (1 + np.exp(-odds)) - matches)
        value = counts @ (np.logaddexp(0, odds) - matches * odds) + costs @ weights**2 / 2
        return float(value), given.T @ wrong + costs * weights

    found: Array = minimize(loss, np.zeros(given.shape[1]), jac=True, method="L-BFGS-B").x
    weights = found[:-1] / spread
    return float(found[-1] - weights @ mean), weights


def choose_held_back(videos: Sequence[Measured], leave_out: int | None = None) -> float:
    """Return the penalty with the least log loss in cross-validation over these videos."""

    def loss(held_back: float) -> float:
        losses = []
        for place, video in enumerate(videos):
            others = [*videos[:place], *videos[place + 1 :]]
            constant, weights = fit(others, held_back, leave_out)
            odds = constant + video.measures[:, : len(FITTED)] @ weights
            losses.append(float(np.mean(np.logaddexp(0, odds) - video.matches * odds)))
        return fmean(losses)

    return min(HELD_BACK, key=loss)


def fit_without(
    videos: Sequence[Measured], leave_out: int | None = None
) -> list[tuple[float, Array]]:
    """Return for each video the constant and the weights fitted to the other videos."""
    fitted = []
    for place in range(len(videos)):
        others = [*videos[:place], *videos[place + 1 :]]
        fitted.append(fit(others, choose_held_back(others, leave_out), leave_out))
    return fitted


def held_out(
    videos: Sequence[Measured],
    fitted: Sequence[tuple[float, Array]],
    limit: int,
    chosen: dict[str, float] = CHOSEN,
) -> list[MatchedVideo]:
    """Match each video's claims, chosen with weights fitted to the other videos."""
    return [
        _match(video, limit, constant, [*weights, *chosen.values()])
        for video, (constant, weights) in zip(videos, fitted, strict=True)
    ]


def shipped(video: Measured, limit: int) -> MatchedVideo:
    """Match a video's claims, chosen with the engine's own weights."""
    return _match(video, limit, CONSTANT, [*FITTED.values(), *CHOSEN.values()])


def _match(video: Measured, limit: int, constant: float, weights: Sequence[float]) -> MatchedVideo:
    odds = constant + video.measures @ np.array(weights)
    chosen, _ = engine.choose(video.texts, video.vectors, odds.tolist(), limit)
    texts = [video.texts[place] for place in chosen]
    gold = video.video.gold
    return MatchedVideo(
        video_id=video.video.video.video_id,
        system=tuple(
            ClaimEntry(text=text, importance=engine.importance(odds[place]))
            for text, place in zip(texts, chosen, strict=True)
        ),
        gold=gold,
        pairs=_MATCHER.match(texts, [claim.text for claim in gold]),
    )


def extract(
    video: AnnotatedVideo,
    limit: int,
    text: str | None = None,
    segments: Sequence[TranscriptSegment] = (),
) -> Sequence[ClaimDraft]:
    """Return the engine's claims of a video, or of another text of its talk."""
    transcript, timed = video.transcript, video.segments
    if text is not None:
        transcript, timed = transcript.model_copy(update={"text": text}), tuple(segments)
    return engine.extract_claims(transcript, timed, max_claims=limit, embedder=minilm()).claims


def describe(found: Sequence[MatchedVideo]) -> str:
    """Format the means of all metrics over videos in one line."""
    figures = []
    for name, metric in METRICS.items():
        values = [value for each in found if (value := metric(each).value) is not None]
        figures.append(f"{name} {fmean(values):.3f}" if values else f"{name} –")
    return "  ".join(figures)


if __name__ == "__main__":
    main()
