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
    """The input of a run, and the claims as far as they are known.

    Attributes:
        selected: The stages that the run computes.
        options: The options of the run, with the video's own date limit.
        listed: The video's entry in a corpus.
        known: The rows of the upstream assets.
        actions: The actions of reviewers.
        earlier: All claims ever found in the video, by id; None if the run makes no claims.
        claims: The claims of the video, with the reviewers' corrections.
        held: If the run checks only some claims, the last rows of the selected assets.
        carried: The other claims, with the time of their last check.
    """

    selected: tuple[Stage, ...]
    options: FactCheckConfig
    listed: CorpusVideo | None
    known: VideoRows
    actions: Sequence[ReviewAction]
    earlier: Mapping[str, Claim] | None = None
    claims: Sequence[Claim] = ()
    held: VideoRows = field(default_factory=VideoRows)
    carried: tuple[bookkeeping.CarriedClaim, ...] = ()

    @property
    def given_claims(self) -> ClaimDrafts | None:
        """The claims that the corpus gives."""
        return self.listed.given_claims if self.listed is not None else None

    @property
    def looks_for_claims(self) -> bool:
        return self.earlier is not None and not self.options.only_claims

    @property
    def checked(self) -> list[Claim]:
        """The claims that the run checks."""
        others = {claim.claim_id for claim in self.carried}
        return [claim for claim in self.claims if claim.claim_id not in others]

    def corrected(self, found: Sequence[Claim]) -> tuple[Claim, ...]:
        """Apply the reviewers' corrections to found claims."""
        known = self.known
        earlier = self.earlier or {}
        return corrected_claims(found, self.actions, earlier, known.transcript, known.segments)

    async def find_claims(self, services: Services, begin: BeginChecks | None) -> ClaimsResult:
        """Return the claims; for `begin` and the errors see `extract_claims`."""
        if not self.looks_for_claims:
            return ClaimsResult(tuple(self.claims), (), 0.0)
        said = self.known
        return await extract_claims(
            *(said.video, said.transcripts[0], said.segments, services, self.options.claims),
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

    Raises dagster.Failure: It is not there. Never retried.
    """
    names = {key.to_user_string() for key in context.selected_asset_keys}
    selected = tuple(stage for stage in ALL_STAGES if stage in names)
    read = {"transcripts", "claims", *(name for each in names for name in reads[each])}
    video_id = context.partition_key
    listed = corpora.read().find(video_id)
    # Reuse the previous run's queries if the options say so (keeps_queries).
    optional = ["queries"] * options.keeps_queries + ["media"] * reads_pictures
    limited = options.limited_to(listed.entry.published_before if listed else None)
    with store.snapshot() as now:
        known = common.read_upstream(now, video_id, *(read - names), optional=optional)
        actions = bookkeeping.read_actions(now, video_id)
        given = RunInput(selected, limited, listed, known, actions, claims=known.claims)
        if "claims" in names:
            given = replace(given, earlier=bookkeeping.known_claims(now, video_id))
            stored = now.read_current(Claim, video_id) if options.only_claims else ()
            given = replace(given, claims=given.corrected(stored))
        only, reviewed = options.only_claims, reviews.claims_in_force(actions)
        held, carried = kept_claims(now, video_id, given.claims, selected, only, reviewed)
    return replace(given, held=held, carried=carried)


def kept_claims(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: reviews.ClaimsInForce,
) -> tuple[VideoRows, tuple[bookkeeping.CarriedClaim, ...]]:
    """Return the last rows and the claims that a run keeps, if it checks `only` some claims.

    It also checks new wordings of reviewers, and no claim that a reviewer dropped or split.

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
    held = store.read_sets(video_id, {stage: found[stage].run_id for stage in stages})
    # The claims with rows in every held set.
    complete = set(known)
    for asset, rows in (("queries", held.queries), ("verdicts", held.verdicts)):
        if asset in held.sets:
            complete &= {row.claim_id for row in rows}
    if never_checked := sorted({*others} - reviewed.worded.keys() - complete):
        raise unchecked(f"the claim {never_checked[0]} was never checked")
    earlier = bookkeeping.read_carried(store, video_id, last.run_id)
    return held, tuple(
        earlier.get(each, bookkeeping.CarriedClaim(each, last.run_id, last.checked_at))
        for each in others
        if each in complete
    )
