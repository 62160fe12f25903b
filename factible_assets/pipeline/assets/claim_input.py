"""Reads the input of a run of `claim_checks`, and chooses the claims that the run checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
        claims: The claims of the video with the reviewers' corrections, as far as they are known.
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
    claims: Sequence[Claim] = ()
    last_rows: VideoRows = field(default_factory=VideoRows)
    carried: tuple[bookkeeping.CarriedClaim, ...] = ()

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

    def corrected(self, found: Sequence[Claim]) -> tuple[Claim, ...]:
        """Apply the reviewers' corrections to found claims."""
        said = self.upstream
        return corrected_claims(
            found, self.actions, self.earlier_claims, said.transcript, said.segments
        )

    async def find_claims(self, services: Services, begin: BeginChecks | None) -> ClaimsResult:
        """Extract the claims, or return the stored ones; for `begin` see `extract_claims`.

        Raises ReasonerError: See `extract_claims`.
        """
        if not self.extracts_claims:
            return ClaimsResult(tuple(self.claims), (), 0.0)
        said = self.upstream
        return await extract_claims(
            said.video,
            said.transcripts[0],
            said.segments,
            services,
            self.options.claims,
            given=self.given_claims,
            corrected=self.corrected,
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
    needed = {"transcripts", "claims", *(name for each in selected for name in reads[each])}
    video_id = context.partition_key
    listed = corpora.read().find(video_id)
    optional = ["queries"] * options.keeps_queries + ["media"] * reads_pictures
    with store.snapshot() as now:
        makes_claims = "claims" in selected
        upstream = common.read_upstream(now, video_id, *(needed - selected), optional=optional)
        actions = bookkeeping.read_actions(now, video_id)
        run = RunInput(
            stages,
            makes_claims,
            options.limited_to(listed.entry.published_before if listed else None),
            listed,
            upstream,
            actions,
            bookkeeping.known_claims(now, video_id) if makes_claims else {},
            upstream.claims,
        )
        if makes_claims:
            stored = now.read_current(Claim, video_id) if options.only_claims else ()
            run = replace(run, claims=run.corrected(stored))
        only, reviewed = options.only_claims, reviews.claims_in_force(actions)
        last_rows, carried = kept_claims(now, video_id, run.claims, stages, only, reviewed)
    return replace(run, last_rows=last_rows, carried=carried)


def kept_claims(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: reviews.ClaimsInForce,
) -> tuple[VideoRows, tuple[bookkeeping.CarriedClaim, ...]]:
    """Return the last rows of the stages, and the claims that a run carries over unchecked.

    Both are empty unless the run checks `only` some claims. Such a run also checks new wordings of
    reviewers, and no claim that a reviewer dropped or split.

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
    others = [claim.claim_id for claim in claims if only and claim.claim_id not in only]
    if not others:
        return VideoRows(), ()

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
    last_rows = store.read_sets(video_id, {stage: found[stage].run_id for stage in stages})
    # The claims with rows in every stage.
    complete = set(known)
    for asset, rows in (("queries", last_rows.queries), ("verdicts", last_rows.verdicts)):
        if asset in last_rows.sets:
            complete &= {row.claim_id for row in rows}
    if never_checked := sorted({*others} - reviewed.worded.keys() - complete):
        raise unchecked(f"the claim {never_checked[0]} was never checked")
    earlier = bookkeeping.read_carried(store, video_id, last.run_id)
    return last_rows, tuple(
        earlier.get(each, bookkeeping.CarriedClaim(each, last.run_id, last.checked_at))
        for each in others
        if each in complete
    )
