"""Reads the input of a run of `claim_checks`, and chooses the claims that the run checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.assets.claims import Extraction
from factible_assets.pipeline.resources import CorporaResource
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, ReviewAction
from factible_assets.stages import reviews
from factible_assets.stages.progress import ALL_STAGES, Stage
from warehouse import bookkeeping
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class Scope:
    """The claims that a run checks.

    If it checks only some, `held` has the last rows of the selected assets, and `carried` has the
    other claims with the time of their last check.
    """

    checked: Sequence[Claim]
    held: VideoRows = field(default_factory=VideoRows)
    carried: tuple[bookkeeping.CarriedClaim, ...] = ()


class RunInput(NamedTuple):
    """The input of a run: the stages, the upstream rows, and the claims as far as they are known.

    `extraction` looks for the claims; None if the run does not select them.
    """

    selected: tuple[Stage, ...]
    options: FactCheckConfig
    known: VideoRows
    actions: Sequence[ReviewAction]
    claims: Sequence[Claim]
    scope: Scope
    extraction: Extraction | None
    listed: CorpusVideo | None


def read_input(
    context: dg.AssetExecutionContext,
    store: Warehouse,
    corpora: CorporaResource,
    options: FactCheckConfig,
    reads: Mapping[str, Sequence[str]],
    *,
    reads_pictures: bool,
) -> RunInput:
    """Read the input of a run; `reads` names the upstream assets of each asset.

    Raises dagster.Failure: It is not there. Never retried.
    """
    names = {key.to_user_string() for key in context.selected_asset_keys}
    selected = tuple(stage for stage in ALL_STAGES if stage in names)
    read = {"transcripts", "claims", *(name for each in names for name in reads[each])}
    video_id = context.partition_key
    listed = corpora.read().find(video_id)
    with store.snapshot() as now:
        # Reuse the previous run's queries if the options say so (keeps_queries).
        optional = ["queries"] if options.keeps_queries else []
        if reads_pictures:
            optional.append("media")
        known = common.read_upstream(now, video_id, *(read - names), optional=optional)
        actions = bookkeeping.read_actions(now, video_id)
        claims: Sequence[Claim] = known.claims
        extraction = None
        if "claims" in names:
            stored = now.read_current(Claim, video_id) if options.only_claims else None
            given = listed.given_claims if listed is not None else None
            earlier = bookkeeping.known_claims(now, video_id)
            extraction = Extraction(known, actions, earlier, stored, given)
            claims = extraction.corrected(stored or ())
        reviewed = reviews.claims_in_force(actions)
        scope = scope_of(now, video_id, claims, selected, options.only_claims, reviewed)
    options = options.limited_to(listed.entry.published_before if listed else None)
    return RunInput(selected, options, known, actions, claims, scope, extraction, listed)


def scope_of(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: reviews.ClaimsInForce,
) -> Scope:
    """Return the claims of a run: all, or `only` some and the new wordings of reviewers.

    A claim of `only` that a reviewer dropped or split is not checked.

    Raises dagster.Failure: The video has no such claim, or other claims were never checked and have
    no rows to keep. Never retried.
    """
    known = {claim.claim_id for claim in claims} | reviewed.gone.keys()
    unknown = [each for each in only if each not in known]
    if unknown:
        raise common.final_failure(
            f"The video {video_id} has no claim {', '.join(unknown)} (only_claims). "
            f"Its claims: factible review -- {video_id}"
        )
    others = [claim for claim in claims if only and claim.claim_id not in only]
    if not others:
        return Scope(claims)

    def unchecked(why: str) -> dg.Failure:
        return common.final_failure(
            f"Single claims of {video_id} cannot be checked before the whole video: {why}. "
            "Materialize it without only_claims first."
        )

    found = store.current_sets(video_id)
    absent = [stage for stage in stages if stage not in found]
    if absent:
        raise unchecked(f"it has no {', '.join(absent)} yet")
    last = found[stages[-1]]
    held = store.read_sets(video_id, {stage: found[stage].run_id for stage in stages})
    # The claims with rows in every held set.
    complete = set(known)
    if "queries" in held.sets:
        complete &= {row.claim_id for row in held.queries}
    if "verdicts" in held.sets:
        complete &= {row.claim_id for row in held.verdicts}
    needed = {claim.claim_id for claim in others} - reviewed.worded.keys()
    if never_checked := sorted(needed - complete):
        raise unchecked(f"the claim {never_checked[0]} was never checked")
    carried = [claim for claim in others if claim.claim_id in complete]
    earlier = bookkeeping.read_carried(store, video_id, last.run_id)
    return Scope(
        [claim for claim in claims if claim not in carried],
        held,
        tuple(
            earlier.get(
                claim.claim_id,
                bookkeeping.CarriedClaim(claim.claim_id, last.run_id, last.checked_at),
            )
            for claim in carried
        ),
    )
