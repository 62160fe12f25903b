"""How well the embedded engine finds the claims that annotators found.

Prints precision at 5, recall, F1 and MAP over the published annotated videos, per matcher, beside
the design's figures. Run: `python -m benchmarks.claims [--videos]`.

Matching is the published one (Factible, section 2.1.3): greedy in the system's order, each claim
taking its best unused annotated claim at or above a threshold; means over videos. MAP is given
twice: as published, averaging precision over the hits, and as information retrieval defines it,
over min(k, annotated claims).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

from benchmarks.shared import AnnotatedVideo, load_annotated_videos
from factible_assets.reasoners.embedded.claims import extract_claims
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder, TfidfEmbedder

LIMIT = 5
LEXICAL, SEMANTIC = (0.653, 0.756), (0.713, 0.818)
"""P@5 and MAP as published that the design asks for with TF-IDF and with MiniLM embeddings, under
the MiniLM matcher."""

PUBLISHED = (0.813, 0.870)
"""P@5 and MAP of gpt-4o-mini (Factible, section 2.3.1)."""

Similarities = npt.NDArray[np.float64]
Similarity = Callable[[Sequence[str], Sequence[str]], Similarities]


@dataclass(frozen=True, slots=True)
class Matcher:
    """A way to tell that two claims are the same, and the similarity at which they are."""

    name: str
    similarity: Similarity
    threshold: float


@dataclass(frozen=True, slots=True)
class Scores:
    """One video's figures, each in [0, 1]."""

    precision: float
    recall: float
    f1: float
    map_published: float
    map_retrieval: float


def matchers() -> list[Matcher]:
    """List the matchers, the published one first."""
    return [
        Matcher("MiniLM cosine > .70", _by_vectors(OnnxEmbedder()), 0.70),
        Matcher("TF-IDF cosine >= .22", _by_vectors(TfidfEmbedder()), 0.22),
        Matcher("token-set ratio >= .65", _by_token_sets, 0.65),
    ]


def match(similarities: Similarities, threshold: float) -> list[int | None]:
    """Give each system claim (row) its best unused annotated claim (column), or None."""
    free = np.ones(similarities.shape[1], dtype=bool)
    matched: list[int | None] = []
    for row in similarities:
        best = int(np.argmax(np.where(free, row, -1.0)))
        found = bool(free[best]) and row[best] > threshold
        free[best] = free[best] and not found
        matched.append(best if found else None)
    return matched


def score(matched: Sequence[int | None], gold_count: int, limit: int = LIMIT) -> Scores:
    """Compute one video's figures from its matches, in the system's order."""
    hits = 0
    total = 0.0
    for rank, gold in enumerate(matched, start=1):
        if gold is not None:
            hits += 1
            total += hits / rank
    precision = hits / max(1, len(matched))
    recall = hits / max(1, gold_count)
    return Scores(
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if hits else 0.0,
        map_published=total / hits if hits else 0.0,
        map_retrieval=total / max(1, min(limit, gold_count)),
    )


def _by_vectors(embedder: Embedder) -> Similarity:
    def similarity(left: Sequence[str], right: Sequence[str]) -> Similarities:
        vectors = embedder.embed([*left, *right]).astype(np.float64)
        product: Similarities = vectors[: len(left)] @ vectors[len(left) :].T
        return product

    return similarity


def _by_token_sets(left: Sequence[str], right: Sequence[str]) -> Similarities:
    ratios = process.cdist(
        left, right, scorer=fuzz.token_set_ratio, processor=str.casefold, dtype=np.float64
    )
    return np.asarray(ratios, dtype=np.float64) / 100


def main() -> None:
    """Measure every embedder under every matcher."""
    parser = argparse.ArgumentParser(description="Score extracted claims against annotations.")
    parser.add_argument("--videos", action="store_true", help="also print each video's figures")
    per_video = parser.parse_args().videos
    videos = load_annotated_videos()
    embedders: list[Embedder] = [TfidfEmbedder(), OnnxEmbedder()]
    judges = matchers()
    _say(f"{len(videos)} videos, {LIMIT} claims each; gpt-4o-mini: P@5 %.3f MAP %.3f" % PUBLISHED)
    for embedder in embedders:
        _measure(embedder, judges, videos, per_video=per_video)


def _measure(
    embedder: Embedder,
    judges: Sequence[Matcher],
    videos: Sequence[AnnotatedVideo],
    *,
    per_video: bool,
) -> None:
    embedder.embed(["load the model before the clock starts"])
    began = time.perf_counter()
    found = [_claims(video, embedder) for video in videos]
    seconds = (time.perf_counter() - began) / len(videos)
    precision, mean_average = LEXICAL if embedder.name == "tf-idf" else SEMANTIC
    _say(
        f"\nembedder {embedder.name}: {seconds:.2f} s per video; "
        f"design P@5 {precision:.3f} MAP {mean_average:.3f}"
    )
    for judge in judges:
        rows = [
            score(
                match(judge.similarity(claims, gold), judge.threshold) if claims else [],
                len(gold),
            )
            for claims, gold in zip(found, map(_gold, videos), strict=True)
        ]
        _say(f"  {judge.name:<24}{_describe(rows)}")
        if per_video:
            for video, row in zip(videos, rows, strict=True):
                _say(f"    {video.video.title[:40]:<42}{_describe([row])}")


def _claims(video: AnnotatedVideo, embedder: Embedder) -> list[str]:
    drafts = extract_claims(
        video.video, video.transcript, video.segments, max_claims=LIMIT, embedder=embedder
    )
    return [claim.text for claim in drafts.claims]


def _gold(video: AnnotatedVideo) -> list[str]:
    return [claim.text for claim in video.gold]


def _describe(rows: Sequence[Scores]) -> str:
    def mean(field: str) -> float:
        return sum(float(getattr(row, field)) for row in rows) / len(rows)

    return (
        f"P@5 {mean('precision'):.3f}  R {mean('recall'):.3f}  F1 {mean('f1'):.3f}  "
        f"MAP {mean('map_published'):.3f} (published)  {mean('map_retrieval'):.3f} (retrieval)"
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
