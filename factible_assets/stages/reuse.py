"""Takes over the sources of a check that another video's claim had, for the same claim.

Queries, search results, pages and readings get the ids of the claim. Today's limits, ratings and
vote then apply to them like to new ones.
"""

from __future__ import annotations

from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Evidence
from factible_assets.stages import ids
from factible_assets.stages.ports import EarlierCheck
from factible_assets.stages.search import FoundPage


def taken_over(claim: Claim, earlier: EarlierCheck) -> VideoRows:
    """Return the rows of an earlier check as rows of the claim; the evidence names its source.

    A row takes no time, so that no statistic counts the work of the earlier check again.
    """
    own = {"claim_id": claim.claim_id, "video_id": claim.video_id}
    unpaid = own | {"latency_seconds": 0.0}
    rows = earlier.rows
    queries = {row.query_id: ids.query_id(claim.claim_id, row.text) for row in rows.queries}
    hits = {row.hit_id: ids.hit_id(queries[row.query_id], row.canonical_url) for row in rows.hits}

    def reading(row: Evidence) -> Evidence:
        changes = {
            "evidence_id": ids.evidence_id(claim.claim_id, row.canonical_url),
            "query_id": queries[row.query_id],
            "hit_id": hits[row.hit_id],
            "reused_claim_id": row.claim_id,
            "reused_from": earlier.sentence,
            # A reviewer's overruling counts as the reading; `reason` names the reviewer.
            "machine_stance": None,
            "machine_rating": None,
        }
        return row.model_copy(update=own | changes)

    return VideoRows(
        queries=tuple(
            row.model_copy(update=own | {"query_id": queries[row.query_id]}) for row in rows.queries
        ),
        searches=tuple(
            row.model_copy(update=unpaid | {"query_id": queries[row.query_id]})
            for row in rows.searches
        ),
        hits=tuple(
            row.model_copy(
                update=own | {"query_id": queries[row.query_id], "hit_id": hits[row.hit_id]}
            )
            for row in rows.hits
        ),
        prior_fact_checks=tuple(
            row.model_copy(
                update=unpaid
                | {
                    "prior_fact_check_id": ids.prior_fact_check_id(
                        claim.claim_id, row.canonical_url
                    )
                }
            )
            for row in rows.prior_fact_checks
        ),
        pages=tuple(
            row.model_copy(update={"video_id": claim.video_id, "latency_seconds": 0.0})
            for row in rows.pages
        ),
        page_texts=rows.page_texts,
        evidence=tuple(map(reading, rows.evidence)),
    )


def rated_today(row: Evidence, candidate: FoundPage) -> Evidence:
    """Return a reading with the rating that its source has now."""
    rating = candidate.rating
    return row.model_copy(
        update={
            "rating": rating.rating,
            "rating_score": rating.score,
            "bias": rating.bias,
            "source_class": rating.source_class,
        }
    )
