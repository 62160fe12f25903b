"""How well the embedded engine finds the claims that annotators found.

Run: `python -m benchmarks.claims [--videos | --claims | --ablate]`. Prints precision at 5, MAP over
hits, recall of all and of important claims, and the error of importance, at five claims and at ten;
`--ablate` takes the engine's rules away one by one: a rule that costs nothing may go.

Matching is the published one (Factible, section 2.1.3): MiniLM cosine above .70, greedy in the
system's order; means over videos. Both halves of the videos are shown, because constants were
chosen while watching all of them: what differs between the halves is noise.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import fmean

from benchmarks.shared import AnnotatedVideo, load_annotated_videos
from factible_assets.evaluation.matching import ClaimMatcher, EmbeddingSimilarity
from factible_assets.evaluation.metrics.claims import (
    MatchedVideo,
    SystemClaim,
    average_precision_over_hits,
    importance_mae,
    precision_at_k,
    recall_at_important,
    recall_at_k,
)
from factible_assets.reasoners.embedded.claims import checkworthiness
from factible_assets.reasoners.embedded.claims import selection as engine
from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.records import TranscriptSegment
from factible_assets.stages.ports import ClaimDraft

PUBLISHED = "gpt-4o-mini (published, 30 videos): P@5 .813  MAP .870"

METRICS = {
    "P": precision_at_k,
    "MAP": average_precision_over_hits,
    "recall": recall_at_k,
    "recall of important": recall_at_important,
    "importance MAE": importance_mae,
}

RULES = {
    "place in the talk": ("_PLACE", 0.0),
    "diversity": ("_DIVERSITY", 0.0),
    "open references count against": ("_OPEN_REFERENCE", 0.0),
    "several statements count against": ("_COMPOUND", 0.0),
    "fragments count against": ("_HEADLESS", 0.0),
    "unsure ends count against": ("_UNSURE_ENDS", 0.0),
    "faults count in the order": ("_FAULTS_IN_ORDER", 0.0),
}
"""Constants of the engine's choice, and what switches each off."""

_MATCHER = ClaimMatcher(EmbeddingSimilarity(minilm()), "greedy")


def main() -> None:
    """Measure at five claims and at ten, or rule by rule."""
    parser = argparse.ArgumentParser(description="Score extracted claims against annotations.")
    parser.add_argument("--videos", action="store_true", help="also print each video's figures")
    parser.add_argument("--claims", action="store_true", help="also print the claims")
    parser.add_argument("--ablate", action="store_true", help="take rules away one by one")
    given = parser.parse_args()
    videos = load_annotated_videos()
    _say(f"{len(videos)} videos; {PUBLISHED}")
    if given.ablate:
        _say(f"{'all rules':<32}{_describe(_matched(videos, 5))}")
        for rule, (name, without) in RULES.items():
            usual = getattr(engine, name)
            setattr(engine, name, without)
            _say(f"{rule:<32}{_describe(_matched(videos, 5))}")
            setattr(engine, name, usual)
        for sign, (weight, pattern) in list(checkworthiness.SIGNS.items()):
            checkworthiness.SIGNS[sign] = (0.0, pattern)
            _say(f"{'sign: ' + sign:<32}{_describe(_matched(videos, 5))}")
            checkworthiness.SIGNS[sign] = (weight, pattern)
        return
    for limit in (5, 10):
        began = time.process_time()
        found = _matched(videos, limit)
        seconds = (time.process_time() - began) / max(1, len(videos))
        _say(f"{limit:>2} claims  {_describe(found)}  ({seconds:.1f} s of processor a video)")
        _say(f"   one half  {_describe(found[::2])}")
        _say(f"   the other {_describe(found[1::2])}")
        if limit == 5 and (given.videos or given.claims):
            for video, match in zip(videos, found, strict=True):
                _say(f"{video.video.title[:60]:<62}{_describe([match])}")
                for hit, claim in zip(match.hits(), match.system, strict=True):
                    if given.claims:
                        _say(f"  {'+' if hit else '-'} {claim.importance:.2f} {claim.text}")


def _matched(videos: Sequence[AnnotatedVideo], limit: int) -> list[MatchedVideo]:
    return [_match(video, extract(video, limit)) for video in videos]


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
    return engine.extract_claims(
        video.video, transcript, timed, max_claims=limit, embedder=minilm()
    ).claims


def _match(video: AnnotatedVideo, claims: Sequence[ClaimDraft]) -> MatchedVideo:
    gold = [claim.text for claim in video.gold]
    return MatchedVideo(
        video_id=video.video.video_id,
        system=tuple(SystemClaim(claim.text, claim.importance) for claim in claims),
        gold=video.gold,
        pairs=_MATCHER.match([claim.text for claim in claims], gold),
    )


def _describe(found: Sequence[MatchedVideo]) -> str:
    figures = []
    for name, metric in METRICS.items():
        values = [value for each in found if (value := metric(each).value) is not None]
        figures.append(f"{name} {fmean(values):.3f}" if values else f"{name} –")
    return "  ".join(figures)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
