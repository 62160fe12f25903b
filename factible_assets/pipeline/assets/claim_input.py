"""Reads the input of a run of `claim_checks`, and chooses the claims that the run checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.resources import CorporaResource
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, ReviewAction
from factible_assets.stages import reviews
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.flow import BeginChecks, ClaimsResult, extract_claims
from factible_assets.stages.ports import ClaimDrafts, Services
from factible_assets.stages.progress import ALL_STAGES, Stage
from warehouse import bookkeeping
from warehouse.bookkeeping import CarriedClaim
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RunInput:
    """The input of a run of `claim_checks`.

    A run that makes the asset `claims` extracts them from the transcript, unless it checks
    `only_claims`. Any other run takes the stored claims.

    Attributes:
        stages: The selected stages after the claims.
        makes_claims: Whether the asset `claims` is selected too.
        options: The options of the run, with the video's own date limit.
        listed: The video's entry in a corpus.
        upstream: The rows of the assets that the run reads.
        actions: The actions of reviewers.
        earlier_claims: All claims ever found in the video, by id, if the run makes claims.
        claims: The known claims of the video, with the reviewers' corrections.
        last_rows: If the run checks only some claims, the last rows of the selected stages.
        carried: The claims that the run does not check, with the time of their last check.
    """

    stages: tuple[Stage, ...]
    makes_claims: bool
    options: FactCheckConfig
    listed: CorpusVideo | None
    upstream: VideoRows
    actions: Sequence[ReviewAction]
    earlier_claims: Mapping[str, Claim]
    claims: Sequence[Claim]
    last_rows: VideoRows
    carried: tuple[CarriedClaim, ...]

    @property
    def given_claims(self) -> ClaimDrafts | None:
        """The claims that the corpus gives."""
        return self.listed.given_claims if self.listed is not None else None

    @property
    def extracts_claims(self) -> bool:
        return self.makes_claims and not self.options.only_claims

    @property
    def claims_to_check(self) -> list[Claim]:
        carried = {claim.claim_id for claim in self.carried}
        return [claim for claim in self.claims if claim.claim_id not in carried]

    async def find_claims(self, services: Services, begin: BeginChecks | None) -> ClaimsResult:
        """Extract the claims, or return the stored ones; for `begin` see `extract_claims`.

        Raises ReasonerError: See `extract_claims`.
        """
        if not self.extracts_claims:
            return ClaimsResult(tuple(self.claims), (), 0.0)
        rows = self.upstream
        return await extract_claims(
            rows.video,
            rows.transcripts[0],
            rows.segments,
            services,
            self.options.claims,
            given=self.given_claims,
            corrected=lambda found: corrected_claims(
                found, self.actions, self.earlier_claims, rows.transcript, rows.segments
            ),
            begin=begin,
        )


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

    Raises dagster.Failure: An upstream asset was never materialized, or the claims of
    `only_claims` cannot be checked alone. Never retried.
    """
    selected = {key.to_user_string() for key in context.selected_asset_keys}
    stages = tuple(stage for stage in ALL_STAGES if stage in selected)
    makes_claims = "claims" in selected
    needed = {"transcripts", "claims", *(name for asset in selected for name in reads[asset])}
    optional = ["queries"] if options.keeps_queries else []
    if reads_pictures:
        optional.append("media")
    video_id = context.partition_key
    listed = corpora.read().find(video_id)
    only = options.only_claims
    with store.snapshot() as now:
        rows = common.read_upstream(now, video_id, *(needed - selected), optional=optional)
        actions, claims = bookkeeping.read_actions(now, video_id), rows.claims
        earlier = bookkeeping.known_claims(now, video_id) if makes_claims else {}
        if makes_claims:
            stored = now.read_current(Claim, video_id) if only else ()
            claims = corrected_claims(stored, actions, earlier, rows.transcript, rows.segments)
        reviewed = reviews.claims_in_force(actions)
        last_rows, carried = kept_claims(now, video_id, claims, stages, only, reviewed)
    return RunInput(
        stages=stages,
        makes_claims=makes_claims,
        options=options.limited_to(listed.entry.published_before if listed else None),
        listed=listed,
        upstream=rows,
        actions=actions,
        earlier_claims=earlier,
        claims=claims,
        last_rows=last_rows,
        carried=carried,
    )


def kept_claims(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: reviews.ClaimsInForce,
) -> tuple[VideoRows, tuple[CarriedClaim, ...]]:
    """Return the last rows of the stages, and the claims that a run carries over unchecked.

    Both are empty if the run checks all claims or none. A run of `only` some claims also checks new
    wordings of reviewers. It checks no claim that a reviewer dropped or split.

    Raises dagster.Failure: The video has no such claim, or other claims were never checked and have
    no rows to keep. Never retried.
    """
    known = {claim.claim_id for claim in claims} | reviewed.gone.keys()
    unknown = [claim_id for claim_id in only if claim_id not in known]
    if unknown:
        raise common.final_failure(
            f"The video {video_id} has no claim {', '.join(unknown)} (only_claims). "
            f"Its claims: factible review -- {video_id}"
        )
    others = [claim.claim_id for claim in claims if only and claim.claim_id not in only]
    if not (others and stages):
        return VideoRows(), ()

    def unchecked(why: str) -> dg.Failure:
        return common.final_failure(
            f"Single claims of {video_id} cannot be checked before the whole video: {why}. "
            "Materialize it without only_claims first."
        )

    sets = store.current_sets(video_id)
    if missing := [stage for stage in stages if stage not in sets]:
        raise unchecked(f"it has no {', '.join(missing)} yet")
    last_rows = store.read_sets(video_id, {stage: sets[stage].run_id for stage in stages})
    # A checked claim has queries and a verdict.
    checked = set(known)
    for asset, rows in (("queries", last_rows.queries), ("verdicts", last_rows.verdicts)):
        if asset in last_rows.sets:
            checked &= {row.claim_id for row in rows}
    if never_checked := sorted({*others} - reviewed.worded.keys() - checked):
        raise unchecked(f"the claim {never_checked[0]} was never checked")
    last = sets[stages[-1]]
    carried_before = bookkeeping.read_carried(store, video_id, last.run_id)
    return last_rows, tuple(
        carried_before.get(claim_id, CarriedClaim(claim_id, last.run_id, last.checked_at))
        for claim_id in others
        if claim_id in checked
    )
