"""The pages of the desk on videos and claims: the queue, search, the workbench, and reviews."""

from __future__ import annotations

import asyncio
import html
import uuid
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal, cast, get_args
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from starlette.background import BackgroundTask
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from factible_assets.errors import FactibleError
from factible_assets.exchange.claim_review_export import reviews_of_results
from factible_assets.exchange.community_note import community_note
from factible_assets.exchange.tables import csv_of
from factible_assets.records.tables import QueryType, ReviewKind
from factible_assets.report.render import claims_as_markdown, report_values
from factible_assets.report.view import ReportView, arrange
from factible_assets.runs import review
from factible_assets.runs.changes import Change
from factible_assets.runs.claims import ClaimFile, open_claim, open_video
from factible_assets.runs.scales import scale_named
from factible_assets.runs.state import possible_strategies
from factible_assets.stages import ids
from factible_assets.stages.reviews import OPINIONS
from factible_assets.web.access import CARDS, DESK
from factible_assets.web.desk import lists, pages
from factible_assets.web.desk.answers import (
    FormVisit,
    PageNumber,
    PageVisit,
    Visit,
    base_url,
    for_browser,
    own_path,
    redirect,
    show,
)
from factible_assets.web.desk.checks import chosen_strategy
from factible_assets.web.desk.lists import claim_path
from factible_assets.web.models import CheckOrder, service_config
from factible_assets.web.state import CurrentClient, State
from factible_assets.wording import plain
from warehouse.store import Warehouse

_LONGEST_SEARCH = 300
_AGREEMENT = "It reads the same to the reviewer."
_PRESELECTED = 10
"""How many of the found claims the form selects at first."""
_CLAIM = f"{DESK}/videos/{{video_id}}/claims/{{claim_id}}"

QueueParameters = Annotated[lists.QueueQuery, Query()]

routes = APIRouter(include_in_schema=False)


# --- Queue and search -----------------------------------------------------------------------------


@routes.get(f"{DESK}/queue")
def queue_page(query: QueueParameters, visit: PageVisit) -> Response:
    """Open the first claim of a page of the queue."""
    results = visit.state.results
    if results.is_empty:
        return visit.show("empty", title="Queue", here="queue")
    with results.opened() as now:
        queue = lists.read_queue(now, query, visit.viewer.name)
    if queue["rows"]:
        first = queue["rows"][0]
        return redirect(queue["query"].address(claim_path(first["video_id"], first["claim_id"])))
    return visit.show("queue", queue=queue, tabs=lists.TABS, sorts=lists.SORTS)


@routes.get(f"{DESK}/queue.csv")
def queue_csv(query: QueueParameters, visit: PageVisit) -> Response:
    with visit.state.results.opened() as now:
        return _csv("queue", lists.queue_table(now, query, visit.viewer.name))


def _csv(name: str, table: lists.Table) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(csv_of(*table), media_type="text/csv; charset=utf-8", headers=headers)


@routes.get(f"{DESK}/search")
def search_page(visit: PageVisit, q: str = "", page: PageNumber = 1) -> HTMLResponse:
    words, results = q.strip()[:_LONGEST_SEARCH], visit.state.results
    if results.is_empty:
        return visit.show("empty", title="Search", here="search", words=words)
    with results.opened() as now:
        return visit.show("search", words=words, results=lists.search(now, words, page))


# --- A video --------------------------------------------------------------------------------------


@routes.get(f"{DESK}/videos/{{video_id}}")
def video_page(video_id: str, visit: PageVisit) -> HTMLResponse:
    """Show the report of a video, with links to review its claims."""
    return visit.show("video", **report_values(arrange(visit.state.results.data(video_id))))


@routes.get(f"{DESK}/videos/{{video_id}}/claims.csv")
def video_csv(video_id: str, state: State) -> Response:
    with state.results.opened(video_id) as now:
        return _csv("claims", lists.claims_table(now, video_id))


@routes.get(f"{DESK}/videos/{{video_id}}/claims")
def choose_page(video_id: str, visit: PageVisit, run: uuid.UUID | None = None) -> HTMLResponse:
    """Show the found claims of a video, to choose and edit those to check, and to add others."""
    settings = visit.state.settings
    files = [file for file in open_video(video_id, settings) if file.gone is None]
    return visit.show(
        "choose",
        video=files[0].rows.video if files else None,
        files=sorted(files, key=lambda file: file.claim.rank),
        ticked=_PRESELECTED if run else len(files),
        run=run,
        strategies=possible_strategies(settings),
        path=f"{lists.video_path(video_id)}/claims",
    )


@routes.post(f"{DESK}/videos/{{video_id}}/claims")
async def choose(video_id: str, visit: FormVisit) -> Response:
    """Record the choice of claims, and check these."""
    runs = visit.state.runs
    selected = {str(number): visit.field(f"text-{number}") for number in visit.form.getlist("keep")}
    id_of_text = {plain(text): claim_id for claim_id, text in selected.items() if text}
    added = [plain(line) for line in visit.field("added").splitlines() if line.strip()]
    strategy, found_by = chosen_strategy(visit), visit.field("run")
    texts = (*id_of_text, *added)
    if not texts:
        raise HTTPException(422, "Choose or add at least one claim.")
    earlier = next((run for run in runs.all() if run.run_id == found_by), None)
    config = earlier.order.config if earlier else service_config()
    config = config.model_copy(update={"strategy": strategy})
    order = CheckOrder(video_id=video_id, config=config, claims=texts)
    settings, name = visit.state.settings, review.valid_reviewer(visit.viewer.name)
    prepare = partial(review.choose_claims, video_id, texts, name, settings, id_of_text)
    run = await runs.start(order, visit.client, prepare=prepare)
    return visit.remember(redirect(f"{DESK}/runs/{run.run_id}"))


# --- A claim --------------------------------------------------------------------------------------


def _claim_report(video_id: str, claim_id: str, state: State) -> ReportView:
    report = pages.claim_report(state.results.data(video_id), claim_id)
    if report is None:
        words = "The newest check does not find this claim. The page of the video lists its claims."
        raise HTTPException(404, words)
    return report


ClaimReport = Annotated[ReportView, Depends(_claim_report)]


@routes.get(_CLAIM)
def claim_page(
    video_id: str,
    claim_id: str,
    query: QueueParameters,
    visit: PageVisit,
    recorded: Literal["kept", "waits"] | None = None,
    decided: str = "",
) -> Response:
    """Show the workbench: the queue and one claim with the forms to review it.

    A reworded claim keeps its former addresses. `decided` is the address of the claim that the
    reviewer has just signed or dropped.
    """
    state, me = visit.state, visit.viewer.name
    try:
        report = _claim_report(video_id, claim_id, state)
        if pages.is_superseded(report):
            raise HTTPException(404, "The next check reads this claim in other words.")
    except HTTPException as error:
        return _unchecked_claim(video_id, claim_id, query, visit, error)
    claim = report.claims[0].claim
    with state.results.opened() as now:
        similar = lists.similar_claims(now, video_id, claim.text)
        queue = lists.read_queue(now, query, me, (video_id, claim.claim_id))
    base = base_url(visit.request, state)
    signature = state.clients.sign(visit.client, f"{video_id} {claim.claim_id}")
    card = f"{CARDS}{quote(video_id, safe='')}/{quote(claim.claim_id, safe='')}?key={signature}"
    source, title = html.escape(base + card), html.escape(claim.text[:120])
    frame = f'<iframe src="{source}" title="Fact-check: {title}" width="560" height="320"></iframe>'
    return visit.show(
        "work",
        **pages.workbench(report, queue),
        scale=scale_named(state.settings.ruling_scale, state.settings.corpus_folders),
        similar=similar,
        recorded=recorded,
        decided=own_path(decided) if decided else None,
        address=base + claim_path(video_id, claim.claim_id),
        embed={"path": card, "html": frame},
    )


def _unchecked_claim(
    video_id: str, claim_id: str, query: lists.QueueQuery, visit: Visit, error: HTTPException
) -> Response:
    """Show a claim that reviewers dropped or split, or whose first check is still to come.

    Raises the given error: There is no such claim either.
    """
    try:
        file = open_claim(video_id, claim_id, visit.state.settings)
    except FactibleError:
        raise error from None
    path = claim_path(video_id, file.claim.claim_id)
    if file.claim.claim_id != claim_id:  # The address has its number or a part of its id.
        return redirect(f"{path}?{visit.request.url.query}".rstrip("?"))
    # Until its check, the queue has a reworded claim under its former id.
    listed = next((act.claim_id for act in file.actions), claim_id)
    with visit.state.results.opened() as now:
        queue = lists.read_queue(now, query, visit.viewer.name, (video_id, listed))
    next_one = lists.next_address(queue, video_id, listed)
    texts = ((file.gone and file.gone.value) or "").splitlines()  # Only a split has some.
    parts = {text: claim_path(video_id, ids.claim_id(video_id, text)) for text in texts}
    return visit.show("gone", file=file, path=path, parts=parts, next=next_one)


@routes.get(f"{_CLAIM}/sources.csv")
def sources_csv(video_id: str, report: ClaimReport, state: State) -> Response:
    claim_id = report.claims[0].claim.claim_id
    with state.results.opened(video_id) as now:
        return _csv("sources", lists.sources_table(now, video_id, claim_id))


@routes.get(f"{_CLAIM}/claim.md")
def claim_markdown(report: ClaimReport) -> Response:
    text = claims_as_markdown(report.data, report.claims[0].claim.claim_id)
    return Response(text, media_type="text/markdown; charset=utf-8")


@routes.get(f"{_CLAIM}/claim-review.json")
def claim_review(request: Request, report: ClaimReport, state: State) -> Response:
    """Return a claim as ClaimReview, which links to its page."""
    base = f"{base_url(request, state)}{DESK}/videos/{{video}}/claims/{{claim}}"
    reviews = reviews_of_results([report.data], base_url=base, only=report.claims[0].claim.claim_id)
    return Response(reviews.text, media_type="application/ld+json")


@routes.get(f"{_CLAIM}/community-note.txt")
def show_community_note(report: ClaimReport) -> Response:
    """Return the ruling on a claim as a note for X's Community Notes."""
    note = community_note(report.data, report.claims[0].claim.claim_id)
    return Response(note, media_type="text/plain; charset=utf-8")


@routes.get(f"{CARDS}{{video_id}}/{{claim_id}}")
def card_page(
    request: Request, video_id: str, claim_id: str, state: State, key: str = ""
) -> HTMLResponse:
    """Show the card of a claim to everybody who has its signed address, also in frames."""
    if not state.clients.is_signed(f"{video_id} {claim_id}", key):
        raise HTTPException(403, "This service did not make this address of a card.")
    report = _claim_report(video_id, claim_id, state)
    address = base_url(request, state) + claim_path(video_id, claim_id)
    return show("card", None, report=report, view=report.claims[0], address=address)


@routes.post(f"{_CLAIM}/acts")
async def act(video_id: str, claim_id: str, visit: FormVisit) -> Response:
    """Record an act of a reviewer, and check the claim again if the form asks for it.

    After a ruling, and after dropping a claim, the next claim of the queue follows.
    """
    fields = _fields_of(visit.form)
    if fields["act"] not in get_args(ReviewKind):
        raise HTTPException(422, "The desk cannot do what this form asks for.")
    kind = cast("ReviewKind", fields["act"])
    if not visit.viewer.name:
        return visit.show("name", path=visit.request.scope["path"], kept=fields)
    file, why = await asyncio.to_thread(_record, video_id, claim_id, kind, fields, visit)
    if why is not None:
        status = HTTPStatus.UNPROCESSABLE_ENTITY if why else HTTPStatus.CONFLICT
        return visit.show("outdated", status=status, why=why, **pages.outdated(file, kind, fields))
    current_id = file.claim.claim_id
    # Keep a former id in the address, but not a number or a part of an id.
    is_former = not (claim_id.isdecimal() or current_id.startswith(claim_id))
    if fields.get("again"):
        try:
            response = await check_claim(video_id, current_id, visit.state, visit.client)
        except HTTPException as error:
            words = f"Your act is recorded. The claim is not checked again now: {error.detail}"
            raise HTTPException(error.status_code, words, error.headers) from error
    else:
        path = claim_path(video_id, claim_id if is_former else current_id)
        response = _next_page(kind, path, fields)
        # The report file need not be ready for this answer.
        response.background = BackgroundTask(visit.state.results.write_report, video_id)
    return visit.remember(response)


def _next_page(kind: ReviewKind, path: str, fields: Mapping[str, str]) -> Response:
    """Redirect to the next claim of the queue after a decision on the claim, else back to it."""
    query = lists.QueueQuery.model_validate(dict(parse_qsl(fields.get("queue", ""))))
    if kind == "drop_claim" or (kind == "sign" and fields.get("text") != "none"):
        if "next" not in fields:
            return redirect(query.address())
        address, outcome, fragment = own_path(fields["next"]), {"decided": path}, "content"
    else:
        outcome = {"recorded": "kept" if kind in OPINIONS else "waits"}
        address, fragment = query.address(path), quote(fields.get("at", "sign"))
    return redirect(f"{address}{'&' if '?' in address else '?'}{urlencode(outcome)}#{fragment}")


def _fields_of(form: FormData) -> dict[str, str]:
    """Return the fields of a form. The acts of the desk's own buttons become acts of reviews."""
    fields = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    act, text, stance = (fields.get(name, "") for name in ("act", "text", "stance"))
    site = text.partition("://")[2].partition("/")[0] or text
    replacing: dict[str, dict[str, str]] = {
        "agree": {"act": "overrule_source", "value": stance, "reason": _AGREEMENT},
        "withdraw": {"act": "overrule_source", "value": "none"},
        "block_site": {"act": "block_source", "text": site},
        "edit_claim": {"act": "split_claim" if len(text.splitlines()) > 1 else "reword_claim"},
        "edit_query": {"act": "edit_query" if text else "remove_query"},
    }
    return {**fields, "act": act, **replacing.get(act, {})}


def _record(
    video_id: str, claim_id: str, kind: ReviewKind, fields: Mapping[str, str], visit: Visit
) -> tuple[ClaimFile, str | None]:
    """Record an act, unless its form was made from an older state of the claim.

    Returns the claim before the act, and why nothing was recorded: None if it was recorded, an
    empty text if the claim has changed, else a sentence.
    """
    viewer, organisation = visit.viewer, visit.viewer.organisation or None
    settings = visit.state.settings.model_copy(update={"organisation": organisation})
    query_type = fields.get("query_type")
    change = Change(
        kind,
        fields.get("text") or (viewer.name if kind == "assign" else None),
        number=fields.get("query") or None,
        value=fields.get("value") or None,
        said=fields.get("said") or None,
        query_type=cast("QueryType", query_type) if query_type in get_args(QueryType) else None,
        opposite=bool(fields.get("opposite")),
        reason=fields.get("reason") or None,
    )
    try:
        file, _ = review.record(
            video_id, claim_id, [change], viewer.name, settings, seen=fields.get("seen")
        )
    except FactibleError as error:
        if kind == "add_claim":
            raise
        is_outdated = isinstance(error, review.OutdatedClaimError)
        file = open_claim(video_id, claim_id, settings)
        return file, "" if is_outdated else for_browser(str(error))
    store = Warehouse(settings.warehouse)
    store.publish(settings.published, only_added_to="review_actions")
    return file, None


@routes.post(f"{_CLAIM}/check")
async def check_claim(
    video_id: str, claim_id: str, state: State, client: CurrentClient
) -> Response:
    """Check one claim again, or choose among the claims of a video that was never checked."""
    file = await asyncio.to_thread(open_claim, video_id, claim_id, state.settings)
    if "verdicts" not in file.rows.sets:
        return redirect(f"{lists.video_path(video_id)}/claims")
    run = await state.runs.start(CheckOrder(video_id=video_id, claim_id=claim_id), client)
    return redirect(f"{DESK}/runs/{run.run_id}")
