"""Takes over the sources of a check of the same claim in another video.

Queries, search results, pages and readings get the ids of the claim. Today's limits, ratings and
vote then apply to them like to new ones.
"""

from __future__ import annotations

from typing import TypeVar

from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Record
from factible_assets.stages import ids
from factible_assets.stages.ports import EarlierCheck

Row = TypeVar("Row", bound=Record)


def taken_over(claim: Claim, earlier: EarlierCheck) -> VideoRows:
    """Return the rows of an earlier check as rows of the claim; the evidence names its source.

    A row takes no time, so that no statistic counts the work of the earlier check again.
    """
    rows, claim_id = earlier.rows, claim.claim_id
    queries = {row.query_id: ids.query_id(claim_id, row.text) for row in rows.queries}
    hits = {row.hit_id: ids.hit_id(queries[row.query_id], row.canonical_url) for row in rows.hits}
    shared = {"claim_id": claim_id, "video_id": claim.video_id, "latency_seconds": 0.0}

    def moved(row: Row, **changes: object) -> Row:
        changes |= shared
        changes["query_id"] = queries.get(getattr(row, "query_id", ""))
        changes["hit_id"] = hits.get(getattr(row, "hit_id", ""))
        fields = type(row).model_fields
        return row.model_copy(update={name: changes[name] for name in changes if name in fields})

    return VideoRows(
        queries=tuple(map(moved, rows.queries)),
        searches=tuple(map(moved, rows.searches)),
        hits=tuple(map(moved, rows.hits)),
        prior_fact_checks=tuple(
            moved(row, prior_fact_check_id=ids.prior_fact_check_id(claim_id, row.canonical_url))
            for row in rows.prior_fact_checks
        ),
        pages=tuple(map(moved, rows.pages)),
        page_texts=rows.page_texts,
        evidence=tuple(
            moved(
                row,
                evidence_id=ids.evidence_id(claim_id, row.canonical_url),
                reused_claim_id=row.claim_id,
                reused_from=earlier.sentence,
                # A reviewer's overruling counts as the reading; `reason` names the reviewer.
                machine_stance=None,
                machine_rating=None,
            )
            for row in rows.evidence
        ),
    )
