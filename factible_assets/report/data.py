"""Reads everything that a report shows about one video, and decides which addresses it may link."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from factible_assets.records.rows import Materialization, VerdictChange, VideoRows
from factible_assets.records.tables import Claim, Evidence, ReviewAction, Verdict
from factible_assets.stages.decisions import apply_decisions
from factible_assets.stages.reviews import by_claim, latest
from resources.statements import statements
from warehouse.bookkeeping import read_actions
from warehouse.store import Warehouse

SQL = statements("factible_assets.report", "data.sql")


@dataclass(frozen=True, slots=True)
class FailedRecheck:
    """The newest check of a claim failed, so an older verdict is shown. Times have a time zone."""

    reached_at: datetime
    failed_at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData(VideoRows):
    """The newest complete rows of one video, and its history. Rows that no run made are empty.

    `evidence` and `verdicts` already follow the decisions of reviewers (stages/decisions.py).

    Attributes:
        reviewed_queries: The words of the queries that a reviewer changed, by query id.
        failed_rechecks: By claim.
        checks: How many checks reached verdicts.
        stored_verdicts: By claim, the stored verdicts that a reviewer's decision replaced.
    """

    changes: tuple[VerdictChange, ...] = ()
    reviews: tuple[ReviewAction, ...] = ()
    reviewed_queries: Mapping[str, str] = field(default_factory=dict)
    failed_rechecks: Mapping[str, FailedRecheck] = field(default_factory=dict)
    checks: int = 0
    stored_verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def claims_by_time(self) -> list[Claim]:
        """The claims in the order of the video. Claims without a time come last."""
        return sorted(self.claims, key=lambda claim: claim.place_in_time)

    @property
    def claims_found(self) -> int:
        """How many claims the extraction found; 0 if that is not known."""
        return max((claim.claims_found or 0 for claim in self.claims), default=0)

    @property
    def is_finished(self) -> bool:
        """Whether every claim has a complete verdict, and no re-check has failed since."""
        complete = {verdict.claim_id for verdict in self.verdicts if verdict.status == "complete"}
        all_judged = all(claim.claim_id in complete for claim in self.claims)
        return self.checked_at is not None and not self.failed_rechecks and all_judged

    @property
    def rulings(self) -> dict[str, ReviewAction]:
        """The ruling in force on each claim, by claim."""
        acts_of = by_claim(self.reviews)
        rulings = ((claim_id, latest("sign", acts, claim_id)) for claim_id, acts in acts_of.items())
        return {claim_id: ruling for claim_id, ruling in rulings if ruling is not None}

    @property
    def newest(self) -> Materialization | None:
        """The set of verdicts, or the set of claims if there are no verdicts."""
        return self.sets.get("verdicts") or self.sets.get("claims")

    @property
    def run_id(self) -> str | None:
        return self.newest.run_id if self.newest else None

    @property
    def checked_at(self) -> datetime | None:
        """When the newest set was made, with a time zone."""
        return self.newest.checked_at if self.newest else None


def read_report_data(warehouse: Warehouse, video_id: str) -> ReportData | None:
    """Read one video from one snapshot and apply reviewers' decisions. Unknown videos give None."""
    with warehouse.snapshot() as now:
        rows = now.read_judged(video_id)
        if not rows.videos:
            return None
        parameters = {"video_id": video_id}
        ((checks,),) = now.table(SQL["checks"], parameters)[1]
        # A first check has changed no verdict.
        names = ("reviewed_queries", *(("changes", "failed_rechecks") if checks > 1 else ()))
        history = defaultdict(list, {name: now.rows(SQL[name], parameters) for name in names})
        reviews = tuple(read_actions(now, video_id))
    parts = rows.parts()
    parts["evidence"], parts["verdicts"], replaced = apply_decisions(rows, reviews)
    return ReportData(
        **parts,
        changes=tuple(VerdictChange(**row) for row in history["changes"]),
        reviews=reviews,
        reviewed_queries={row["query_id"]: row["words"] for row in history["reviewed_queries"]},
        failed_rechecks={
            row.pop("claim_id"): FailedRecheck(**row) for row in history["failed_rechecks"]
        },
        checks=checks,
        stored_verdicts=replaced,
    )


# --- Links ----------------------------------------------------------------------------------------

_LINKABLE = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\^`{|}]+", re.IGNORECASE)
_MAX_URL_LENGTH = 4096
_EXACT_WORDS = 12
_EDGE_WORDS = 5


def safe_url(url: str | None) -> str | None:
    """Return an http(s) URL that has a host, else None.

    A URL with a user name is unsafe, because the name can pass for a host.
    """
    if url is None or len(url) > _MAX_URL_LENGTH or not _LINKABLE.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        has_user = "@" in parts.netloc
    except ValueError:
        return None
    is_host = parts.hostname and not parts.hostname.endswith(".invalid")  # RFC 2606
    return url if is_host and not has_user else None


def quote_url(url: str | None, quote: str) -> str | None:
    """Add a text fragment to a safe URL, so that a browser scrolls to the quote.

    The fragment is the whole of a short quote on one line, or the first and last words of a longer
    one, because a browser finds a whole text only within one block of the page. Browsers without
    text fragments open the page at its top.

    Source: https://wicg.github.io/scroll-to-text-fragment/, section 3.3 (syntax).
    """
    words = quote.split()
    if url is None or not words:
        return url
    if "\n" not in quote.strip() and len(words) <= _EXACT_WORDS:
        terms = _fragment_term(words)
    else:
        edge = min(_EDGE_WORDS, max(1, len(words) // 2))
        terms = f"{_fragment_term(words[:edge])},{_fragment_term(words[-edge:])}"
    at_quote = f"{url}{'' if '#' in url else '#'}:~:text={terms}"
    return at_quote if len(at_quote) <= _MAX_URL_LENGTH else url


def _fragment_term(words: list[str]) -> str:
    # Dash, comma and ampersand are syntax of the directive; quote() leaves the dash.
    return percent_encoded(" ".join(words), safe="", errors="replace").replace("-", "%2D")


def source_links(rows: VideoRows, evidence: Sequence[Evidence]) -> dict[str, str | None]:
    """Return the address to link for each source, by evidence id; None if there is no safe one.

    The final address of the page is preferred if it is on the source's own domain. Next comes the
    address that a search found. The canonical URL comes last, because it is an identity and some
    sites do not answer to it.
    """
    pages = {page.page_id: page.final_url for page in rows.pages}
    hits = {hit.hit_id: hit.url for hit in rows.hits}
    links = {}
    for row in evidence:
        final = safe_url(pages.get(row.page_id or ""))
        host = (urlsplit(final).hostname or "") if final else ""
        is_own = host == row.domain or host.endswith(f".{row.domain}")
        other = safe_url(hits.get(row.hit_id)) or safe_url(row.canonical_url)
        links[row.evidence_id] = final if final and is_own else other
    return links
