"""The assets from `claims` to `verdicts`, as one multi-asset with subsets.

They share one step so that claims do not wait for each other: with a step per asset, the slowest
page of the slowest claim would hold up every verdict, and the last claim every search. A run of
some assets reads the others from the warehouse. The claims are written as soon as they are found.
One transaction writes all other assets of a run, so no reader sees evidence of one run next to
search hits of another.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, NamedTuple

import dagster as dg

from factible_assets.config import FactCheckConfig, Reasoners
from factible_assets.pipeline import resources
from factible_assets.pipeline.assets import claims, common
from factible_assets.pipeline.assets.claim_input import RunInput, read_input
from factible_assets.pipeline.assets.claim_results import CODE_VERSION, stored_results
from factible_assets.pipeline.cancellation import CANCELLATIONS
from factible_assets.pipeline.checks.integrity import CONTRADICTIONS, integrity_specs
from factible_assets.pipeline.checks.verdict_changes import FLIPS
from factible_assets.pipeline.earlier_checks import with_earlier_checks
from factible_assets.pipeline.launchpad import CLAIM_CHECKS_SCHEMA
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.tables import Claim
from factible_assets.services.models import model_registry
from factible_assets.services.reasoning import fitting_strategy
from factible_assets.stages import reviews
from factible_assets.stages.flow import (
    BeginChecks,
    ClaimsResult,
    FlowResult,
    Strategy,
    check_claims,
)
from factible_assets.stages.ports import Observer, ReasonerError, Services
from factible_assets.stages.progress import LogObserver
from warehouse.store import Warehouse


class _Asset(NamedTuple):
    kind: str
    reads: tuple[str, ...]
    sources: tuple[str, ...]
    description: str


_ASSETS: dict[str, _Asset] = {
    "claims": _Asset(
        "llm",
        ("transcripts",),
        ("language_model", "corpus_files"),
        "The check-worthy factual statements of the video, each with its importance for the "
        "video's thesis, its place in the transcript and its second in the video. If the corpus "
        "gives claims, exactly those.",
    ),
    "queries": _Asset(
        "llm",
        ("transcripts", "claims"),
        ("language_model",),
        "The web searches for evidence on each claim. At least one looks for the contrary.",
    ),
    "search_hits": _Asset(
        "search",
        ("queries",),
        ("search_engines",),
        "The results of the searches, before any page is fetched, and how each search ended. "
        "Fact-checks that others published are stored with them; the page of a check of the same "
        "statement is one of the results.",
    ),
    "reliability_ratings": _Asset(
        "python",
        ("search_hits",),
        ("rating_sets",),
        "The reliability of each domain in the search results, with the rating set and the reason.",
    ),
    "evidence": _Asset(
        "llm",
        ("claims", "queries", "search_hits", "reliability_ratings"),
        ("web_pages", "language_model"),
        "The stance of each selected page on its claim, with a verbatim quote and its place in the "
        "stored page, or the reason why there is none.",
    ),
    "verdicts": _Asset(
        "python",
        ("claims", "queries", "search_hits", "evidence"),
        (),
        "The verdict on each claim from its evidence, with its confidence. Incomplete if services "
        "failed and the missing sources could change the answer.",
    ),
}
"""`reads` names upstream assets, which a partial run reads; `sources` names external assets."""


@dg.multi_asset(
    name="claim_checks",
    partitions_def=videos,
    can_subset=True,
    config_schema=CLAIM_CHECKS_SCHEMA,
    deps=["transcripts", *{source for asset in _ASSETS.values() for source in asset.sources}],
    outs={
        name: dg.AssetOut(
            is_required=False,
            description=asset.description,
            **common.static_metadata(
                name, claims.CODE_VERSION if name == "claims" else CODE_VERSION, asset.kind
            ),
        )
        for name, asset in _ASSETS.items()
    },
    internal_asset_deps={
        name: {dg.AssetKey(dependency) for dependency in asset.reads + asset.sources}
        for name, asset in _ASSETS.items()
    },
    check_specs=[*integrity_specs(*_ASSETS), CONTRADICTIONS, FLIPS],
    retry_policy=common.RETRIES,
)
# No return annotation: Dagster refuses AsyncIterator for several outputs.
async def claim_checks(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    warehouse: WarehouseResource,
    services: resources.FactCheckServices,
    corpora: resources.CorporaResource,
    reports: resources.ReportsResource,
    observer: dg.ResourceParam[Observer],
):
    """Find and check the claims of one video, and yield a result for each selected asset."""
    store, settings = warehouse.store(), services.settings()
    options = FactCheckConfig.model_validate(context.op_execution_context.op_config)
    with resources.setup_errors_are_final():
        strategy = fitting_strategy(options.strategy, options, settings)
        model_registry(settings)  # refuses an invalid models.yaml
    reads = {name: asset.reads for name, asset in _ASSETS.items()}
    run = read_input(
        context, store, corpora, options, reads, reads_pictures=strategy.reads_pictures
    )
    common.tag_run(context, run.upstream.video)
    if not run.extracts_claims:
        observer.claims_found(run.claims_to_check)
    opening = _services_of(run, context, services, observer)
    finding: asyncio.Future[ClaimsResult] = asyncio.get_running_loop().create_future()
    checking = asyncio.create_task(_find_and_check(run, store, opening, strategy, finding))
    try:
        if run.makes_claims:
            # If the claims cannot be found, `checking` ends with the error.
            waiting: set[asyncio.Future[Any]] = {checking, finding}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if finding.done():
                found = finding.result()
                run = replace(run, claims=found.claims)
                said_before = await asyncio.to_thread(
                    claims.record_said_before, store, context.partition_key, found.claims
                )
                rows = run.upstream
                for result in claims.stored_claims(context, store, rows, found, said_before):
                    yield result
                # With each event Dagster installs its own handlers of signals.
                CANCELLATIONS.catch_signals(context.run.run_id)
        checked = await checking
    except ReasonerError as failure:
        raise claims.failed_extraction(context, store, failure) from failure
    finally:
        checking.cancel()
        await asyncio.gather(checking, return_exceptions=True)
    if run.stages:
        async for result in stored_results(context, store, run, checked, settings, reports):
            yield result


def _services_of(
    run: RunInput,
    context: dg.AssetExecutionContext,
    services: resources.FactCheckServices,
    observer: Observer,
) -> AbstractAsyncContextManager[Services]:
    """Return the context manager that opens the services of a run."""
    options = run.options
    reasoners: Reasoners = options
    web = options.search.web
    if not run.stages:
        # Given claims need no model, so they must not need a key.
        maker = options.reasoner if options.claims_by == "auto" else options.claims_by
        reasoners = Reasoners(reasoner=maker if run.given_claims is None else "embedded")
        # Finding claims needs no web, and the archive opens no connection.
        web = "archive"
    return services.open(
        observer=LogObserver(context.log, observer),
        run=resources.RunContext(context.run.run_id, context.partition_key, context.log),
        reasoners=reasoners,
        web=web,
        listed=run.listed,
        pages_rating=options.search.pages_rating,
        renew=options.renew,
    )


async def _find_and_check(
    run: RunInput,
    store: Warehouse,
    opening: AbstractAsyncContextManager[Services],
    strategy: Strategy,
    finding: asyncio.Future[ClaimsResult],
) -> FlowResult:
    """Find the claims, set them as the result of `finding`, and check them."""
    async with opening as services:

        async def find_claims(begin: BeginChecks | None = None) -> Sequence[Claim]:
            found = await run.find_claims(services, begin)
            finding.set_result(found)
            return replace(run, claims=found.claims).claims_to_check

        if not run.stages:
            await find_claims()
            return FlowResult()
        video = run.upstream.video
        return await check_claims(
            video,
            find_claims,
            with_earlier_checks(services, run.options, store, video),
            run.options,
            stages=run.stages,
            known=run.upstream,
            corrections=reviews.corrections_by_claim(run.actions),
            strategy=strategy,
        )
