"""Metrics of one video's extracted claims against the annotated ones: presence, order, importance.

System claims are in order of importance. With `k`, only the first k of them count; the matching is
still that of all claims. A metric with a denominator of 0 is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.figures import Ratio

if TYPE_CHECKING:
    from factible_assets.evaluation.matching import Pair

IMPORTANT: Final = 0.80
"""The least importance of an important claim (Factible, section 2.1.3)."""


@dataclass(frozen=True, slots=True)
class MatchedVideo:
    """One video's claims and their matches (`pairs`), one to one, in the system's order."""

    video_id: str
    system: tuple[ClaimEntry, ...]
    gold: tuple[ClaimEntry, ...]
    pairs: tuple[Pair, ...]

    def hits(self, k: int | None = None) -> list[bool]:
        """Tell for each of the first k system claims whether it has a match."""
        matched = {pair.system for pair in self.pairs}
        return [position in matched for position in range(len(self.system))][:k]

    @property
    def found(self) -> list[ClaimEntry]:
        """The matched gold claims, in the system's order."""
        return [self.gold[pair.gold] for pair in self.pairs]


def precision_at_k(video: MatchedVideo, k: int | None = None) -> Ratio:
    """Return matched / extracted among the first k claims (Factible, section 2.1.3).

    P@k = |matched in the first k| / min(k, |extracted|). Undefined if nothing was extracted.
    """
    hits = video.hits(k)
    return Ratio(sum(hits), len(hits))


def recall_at_k(video: MatchedVideo, k: int | None = None) -> Ratio:
    """Return the share of gold claims matched by the first k claims (Factible, section 2.1.3).

    R@k = |matched in the first k| / |gold|. Undefined without gold claims.
    """
    return Ratio(sum(video.hits(k)), len(video.gold))


def f1_at_k(video: MatchedVideo, k: int | None = None) -> Ratio:
    """Return the harmonic mean of precision and recall (Factible, section 2.1.3).

    F1 = 2PR / (P + R), which is 2·|matched| / (|extracted| + |gold|). Undefined if both lists are
    empty.
    """
    hits = video.hits(k)
    return Ratio(2 * sum(hits), len(hits) + len(video.gold), items=len(video.gold))


def average_precision(video: MatchedVideo) -> Ratio:
    """Return the mean precision at the ranks with a match: one video's part of MAP.

    AP = Σ P@i over matched ranks i, divided by their number, as in the tables of Factible (sections
    2.2 and 2.3). The usual divisor is the number of gold claims; with this one a gold claim that
    was not found costs nothing, so AP measures only the order. Undefined without matches.
    """
    ranks = [rank for rank, hit in enumerate(video.hits(), start=1) if hit]
    precisions = (matched / rank for matched, rank in enumerate(ranks, start=1))
    return Ratio(math.fsum(precisions), len(ranks))


def ndcg_by_importance(video: MatchedVideo) -> Ratio:
    """Return DCG / IDCG with the annotated importance as gain (Järvelin and Kekäläinen, 2002).

    DCG = Σ importance of the gold claim matched at rank i / log2(i + 1), with ranks from 1. IDCG is
    the greatest possible DCG: all gold claims, in order of importance. Undefined if no gold claim
    has importance.
    """
    gains = {pair.system: _importance(video.gold[pair.gold]) for pair in video.pairs}
    ideal = sorted(map(_importance, video.gold), reverse=True)
    dcg = math.fsum(gain / math.log2(position + 2) for position, gain in gains.items())
    idcg = math.fsum(gain / math.log2(position + 2) for position, gain in enumerate(ideal))
    return Ratio(dcg, idcg, items=sum(map(bool, ideal)))


def _importance(claim: ClaimEntry) -> float:
    return claim.importance or 0.0


def recall_at_important(video: MatchedVideo) -> Ratio:
    """Return the recall of the important gold claims (Factible, section 2.1.3).

    |matched gold with importance ≥ 0.80| / |gold with importance ≥ 0.80|. Undefined if no gold
    claim is that important.
    """
    matched = sum(_importance(claim) >= IMPORTANT for claim in video.found)
    return Ratio(matched, sum(_importance(claim) >= IMPORTANT for claim in video.gold))


def importance_weighted_coverage(video: MatchedVideo) -> Ratio:
    """Return the share of the gold claims' importance that was matched (Factible, section 2.1.3).

    Σ importance of matched gold / Σ importance of gold. Undefined if there is no importance.
    """
    matched, weights = map(_importance, video.found), [*map(_importance, video.gold)]
    return Ratio(math.fsum(matched), math.fsum(weights), items=sum(map(bool, weights)))


def importance_mae(video: MatchedVideo) -> Ratio:
    """Return the mean absolute error of importance over matched claims (Factible, table 13).

    Σ |importance of system − of gold| / |matched|. Undefined without matched claims whose
    importance is known on both sides.
    """
    pairs = importance_pairs(video)
    return Ratio(math.fsum(abs(system - gold) for system, gold in pairs), len(pairs))


def error_of_mean_importance(video: MatchedVideo) -> Ratio:
    """Return the error of a constant guess, the mean annotated importance: the baseline."""
    annotated = [gold for _, gold in importance_pairs(video)]
    mean = math.fsum(annotated) / len(annotated) if annotated else 0.0
    return Ratio(math.fsum(abs(importance - mean) for importance in annotated), len(annotated))


def importance_pairs(video: MatchedVideo) -> list[tuple[float, float]]:
    """Return the (system, gold) importance of each matched claim with both."""
    pairs = (
        (video.system[pair.system].importance, video.gold[pair.gold].importance)
        for pair in video.pairs
    )
    return [(system, gold) for system, gold in pairs if system is not None and gold is not None]


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Spearman's correlation of pairs of numbers; None if a side is constant."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - slow to import

    if any(len({pair[side] for pair in pairs}) < 2 for side in (0, 1)):  # noqa: PLR2004
        return None
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)
