"""What reports are made of: the rows of one video as they stand in a warehouse, and their links.

What belongs here: the container, which rows a report needs, asking a named question, and which
addresses a reader may be sent to. What does not: connections (warehouse/), arranging the rows
(view.py), the index (writing.py), the link to a second of a video (wording.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from factible_assets.records import Claim, Evidence, ReviewAction, Verdict
from factible_assets.rows import Materialization, VerdictChange, VideoRows
from factible_assets.stages.reviews import by_claim, latest
from resources.statements import statements

if TYPE_CHECKING:
    from warehouse.store import Warehouse

QUESTIONS = statements("factible_assets.report", "data.sql")


@dataclass(frozen=True, slots=True)
class Outlived:
    """A verdict that is still good although the newest re-check of its claim failed.

    `reached_at` and `failed_at` are timezone-aware.
    """

    reached_at: datetime
    failed_at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData(VideoRows):
    """The newest complete rows of one video, and their history; what was never made is empty.

    The evidence is that on which the current verdicts rest, with its pages and texts. `outlived`
    maps a claim to how its newest re-check failed, `reviewed_queries` the id of a query that a
    reviewer changed to its words. `checks` counts the checks that reached verdicts.

    Evidence and verdicts are as reviewers' decisions leave them (decisions.py). `stored_verdicts`
    has, by claim, the verdicts of the last check that such a decision replaced.
    """

    changes: tuple[VerdictChange, ...] = ()
    reviews: tuple[ReviewAction, ...] = ()
    reviewed_queries: Mapping[str, str] = field(default_factory=dict)
    outlived: Mapping[str, Outlived] = field(default_factory=dict)
    checks: int = 0
    stored_verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def in_time(self) -> list[Claim]:
        """The claims in the order in which the video makes them, those without a time last."""
        return sorted(self.claims, key=lambda claim: claim.place_in_time)

    @property
    def is_finished(self) -> bool:
        """Whether every claim has a complete verdict, and no re-check of one failed since."""
        complete = {each.claim_id for each in self.verdicts if each.status == "complete"}
        is_whole = all(claim.claim_id in complete for claim in self.claims)
        return self.checked_at is not None and not self.outlived and is_whole

    @property
    def rulings(self) -> dict[str, ReviewAction]:
        """The ruling that stands on each claim in its words, by claim."""
        done = by_claim(self.reviews)
        found = ((each, latest("sign", acts, each)) for each, acts in done.items())
        return {each: ruling for each, ruling in found if ruling is not None}

    @property
    def newest(self) -> Materialization | None:
        """The set of the verdicts, or of the claims where no verdict was reached."""
        return self.sets.get("verdicts") or self.sets.get("claims")

    @property
    def run_id(self) -> str | None:
        """The run that made the newest set."""
        return self.newest.run_id if self.newest else None

    @property
    def checked_at(self) -> datetime | None:
        """When it was made; timezone-aware."""
        return self.newest.checked_at if self.newest else None


def read_report_data(warehouse: Warehouse, video_id: str) -> ReportData | None:
    """Return the rows of one video, from one moment, as reviewers' decisions leave them.

    Returns None if there is no such video.
    """
    # As late as the warehouse itself, which only the caller has loaded.
    from factible_assets.report.decisions import as_decided  # noqa: PLC0415
    from warehouse.bookkeeping import read_actions  # noqa: PLC0415

    with warehouse.snapshot() as now:
        rows = now.read_standing(video_id)
        if not rows.videos:
            return None
        found = {
            question: ask(now, question, video_id=video_id)
            for question in ("changes", "reviewed_queries", "outlived", "checks")
        }
        data = ReportData(
            **rows.parts(),
            changes=tuple(VerdictChange(**row) for row in found["changes"]),
            reviews=tuple(read_actions(now, video_id)),
            reviewed_queries={row["query_id"]: row["words"] for row in found["reviewed_queries"]},
            outlived={row.pop("claim_id"): Outlived(**row) for row in found["outlived"]},
            checks=found["checks"][0]["checks"],
        )
    return as_decided(data)


def ask(
    warehouse: Warehouse, question: str, questions: Mapping[str, str] = QUESTIONS, **values: Any
) -> list[dict[str, Any]]:
    """Return the rows that answer a named question."""
    return warehouse.rows(questions[question], values)


# --- Where a reader may be sent -------------------------------------------------------------------

_LINKABLE = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\^`{|}]+", re.IGNORECASE)
_MAX_URL_LENGTH = 4096
_EXACT_WORDS = 12
_EDGE_WORDS = 5


def safe_url(url: str | None) -> str | None:
    """Return a URL of http(s) with a host and no user name, which fakes hosts; else None."""
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
    """Return a safe URL with a text fragment, so that browsers open the page at the quote.

    A short quote on one line is named whole, a longer one by its first and last words, for what
    is named whole must stand in one block of the page. A browser that does not know text
    fragments opens the page as ever.

    Source: https://wicg.github.io/scroll-to-text-fragment/, section 3.3 (syntax).
    """
    words = quote.split()
    if url is None or not words:
        return url
    is_one_block = "\n" not in quote.strip() and len(words) <= _EXACT_WORDS
    if is_one_block:
        wanted = _fragment_term(words)
    else:
        edge = min(_EDGE_WORDS, max(1, len(words) // 2))
        wanted = f"{_fragment_term(words[:edge])},{_fragment_term(words[-edge:])}"
    separator = "" if "#" in url else "#"
    found = f"{url}{separator}:~:text={wanted}"
    return found if len(found) <= _MAX_URL_LENGTH else url


def _fragment_term(words: list[str]) -> str:
    # A dash, a comma and an ampersand are syntax of the directive; quote() leaves the dash.
    return percent_encoded(" ".join(words), safe="", errors="replace").replace("-", "%2D")


def source_links(rows: VideoRows, evidence: Sequence[Evidence]) -> dict[str, str | None]:
    """Return by id the address at which each source was read, None if none may be linked.

    That is where its page was in the end, if that is its own site; else where a search found it. A
    canonical URL is an identity, and not every site answers to it: it comes last.
    """
    pages = {page.page_id: page.final_url for page in rows.pages}
    hits = {hit.hit_id: hit.url for hit in rows.hits}
    links = {}
    for row in evidence:
        final = safe_url(pages.get(row.page_id or ""))
        host = (urlsplit(final).hostname or "") if final else ""
        is_own = host == row.domain or host.endswith(f".{row.domain}")
        found = safe_url(hits.get(row.hit_id)) or safe_url(row.canonical_url)
        links[row.evidence_id] = final if final and is_own else found
    return links
