"""Which claims of a video a run checks, and what it takes over of the others.

What belongs here: the knob `only_claims`, and reading the sets that the other claims' rows come
from. What does not: checking (stages/flow.py), joining rows (stages/carrying.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from factible_assets.assets.common import final_failure
from factible_assets.records import Claim, Query, Verdict
from factible_assets.rows import Materialization, VideoRows
from factible_assets.stages.carrying import with_others
from factible_assets.stages.flow import FlowResult
from factible_assets.stages.progress import Stage
from factible_assets.stages.reviews import NOTHING_REVIEWED, ClaimsInForce
from warehouse.reviews import CarriedClaim, read_carried
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run checks of a video.

    Attributes:
        claims: All claims of the video.
        checked: Those that the run checks.
        held: The rows of the last check, where there are others; of the selected assets alone.
        carried: The others, with when they were checked themselves.
    """

    claims: Sequence[Claim]
    checked: Sequence[Claim]
    held: VideoRows = field(default_factory=VideoRows)
    carried: tuple[CarriedClaim, ...] = ()

    def complete(self, result: FlowResult) -> FlowResult:
        """Return the rows of all claims: those of the run, and the held ones of the others."""
        if not self.carried:
            return result
        others = frozenset(claim.claim_id for claim in self.carried)
        return with_others(result, self.held, self.claims, others)


def scope_of(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: ClaimsInForce = NOTHING_REVIEWED,
) -> Scope:
    """Return what a run checks: all claims, or `only` some and what reviewers worded since.

    One of `only` may have been dropped or split: then nothing of it is checked any more.

    Raises:
        dagster.Failure: The video makes no such claim, or the others were never checked, so that
            there is nothing to take over. Never retried.
    """
    known = {claim.claim_id for claim in claims} | reviewed.gone.keys()
    unknown = [each for each in only if each not in known]
    if unknown:
        raise final_failure(
            f"The video {video_id} makes no claim {', '.join(unknown)} (only_claims). "
            f"Its claims: factible review -- {video_id}"
        )
    others = [claim for claim in claims if only and claim.claim_id not in only]
    if not others:
        return Scope(claims, claims)
    runs = _newest(store, video_id, stages)
    held = store.read_sets(video_id, {stage: one.run_id for stage, one in runs.items()})
    new = {claim.claim_id for claim in others if not _is_whole(claim, held)}
    strange = sorted(new - reviewed.worded.keys())
    if strange:
        raise final_failure(_unchecked(video_id, f"the claim {strange[0]} never was"))
    carried = [claim for claim in others if claim.claim_id not in new]
    return Scope(
        claims,
        [claim for claim in claims if claim not in carried],
        held,
        _carried(store, video_id, carried, runs[stages[-1]]),
    )


def _newest(
    store: Warehouse, video_id: str, stages: Iterable[Stage]
) -> dict[Stage, Materialization]:
    found = {stage: store.current_materialization(stage, video_id) for stage in stages}
    absent = [stage for stage, one in found.items() if one is None]
    if absent:
        raise final_failure(_unchecked(video_id, f"it has no {', '.join(absent)} yet"))
    return {stage: one for stage, one in found.items() if one is not None}


def _is_whole(claim: Claim, held: VideoRows) -> bool:
    """Tell whether a claim was asked and judged, as far as the held rows go."""
    of_stage: dict[str, Sequence[Query | Verdict]] = {
        "queries": held.queries,
        "verdicts": held.verdicts,
    }
    return all(
        stage not in held.sets or any(row.claim_id == claim.claim_id for row in rows)
        for stage, rows in of_stage.items()
    )


def _unchecked(video_id: str, why: str) -> str:
    return (
        f"Some claims of {video_id} cannot be checked alone before the whole video was: {why}. "
        "Materialize it without only_claims first."
    )


def _carried(
    store: Warehouse, video_id: str, others: Iterable[Claim], held: Materialization
) -> tuple[CarriedClaim, ...]:
    earlier = read_carried(store, video_id, held.run_id)
    return tuple(
        earlier.get(claim.claim_id, CarriedClaim(claim.claim_id, held.run_id, held.checked_at))
        for claim in others
    )
