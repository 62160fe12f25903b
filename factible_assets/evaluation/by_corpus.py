"""Evaluates what a warehouse holds, corpus by corpus.

What belongs here: which videos belong to which corpus. What does not: scoring (scoring.py), reading
(loading.py), what is done with the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.intervals import RESAMPLES, SEED
from factible_assets.evaluation.loading import Store, load_outcomes
from factible_assets.evaluation.matching import ClaimMatcher
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.evaluation.scoring import Evaluation, score

UNLISTED: Final = "unlisted"
"""The corpus of videos that no corpus file lists, and that name none themselves."""


class UnknownCorpusError(Exception):
    """A corpus was asked for of which the warehouse holds no video."""


def evaluate_corpora(
    store: Store,
    reading: CorporaReading,
    matcher: ClaimMatcher,
    *,
    corpora: Collection[str] = (),
    bootstrap: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Evaluation]:
    """Score every corpus of which the warehouse holds a video, in order of name.

    Args:
        store: The warehouse.
        reading: The corpora, with their annotations.
        matcher: Decides which claims are the same.
        corpora: Only these; all if none is named.
        bootstrap: How often videos are drawn with replacement.
        seed: Of the bootstrap.

    Raises:
        UnknownCorpusError: One of `corpora` has no video in the warehouse.
    """
    groups = group_by_corpus(load_outcomes(store, reading), reading)
    unknown = sorted(set(corpora) - groups.keys())
    if unknown:
        known = ", ".join(groups) or "none"
        raise UnknownCorpusError(
            f"No video of the corpus {unknown[0]} has been checked. With checked videos: {known}."
        )
    return {
        corpus: score(outcomes, matcher=matcher, bootstrap=bootstrap, seed=seed)
        for corpus, outcomes in groups.items()
        if not corpora or corpus in corpora
    }


def group_by_corpus(
    outcomes: Iterable[VideoOutcome], reading: CorporaReading
) -> dict[str, list[VideoOutcome]]:
    """Return outcomes by the corpus that lists their video today, in order of name."""
    groups: dict[str, list[VideoOutcome]] = {}
    for outcome in outcomes:
        listed = reading.find(outcome.video.video_id)
        named = (listed.video if listed else outcome.video).corpus
        groups.setdefault(named or UNLISTED, []).append(outcome)
    return dict(sorted(groups.items()))
