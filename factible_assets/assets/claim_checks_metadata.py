"""What a person wants to see of each claim-level asset after it was materialized.

What belongs here: counts and tables made from the flow's result. What does not: the assets.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import dagster as dg

from factible_assets.assets.common import counts_by, usage_metadata
from factible_assets.evaluation.charts import bars, counted
from factible_assets.records import Claim, PriorFactCheck, Rating, Stance, Video
from factible_assets.stages.flow import FlowResult
from factible_assets.stages.progress import Stage
from factible_assets.wording import (
    STANCE_WORDS,
    evidence_table,
    prior_fact_checks_table,
    queries_table,
    ratings_table,
    verdict_lines,
    verdict_words,
    verdicts_table,
)

Described = dict[str, Any]

_STANCES = get_args(Stance)
_RATINGS = get_args(Rating)

_UNFOLDED = 12
"""So many verdicts stand where they are seen without a click; the table, a click away, has all."""


def describe(stage: Stage, video: Video, claims: Sequence[Claim], result: FlowResult) -> Described:
    """Return the metadata of one claim-level asset."""
    timing = result.timings.get(stage)
    calls = [call for call in result.llm_calls if call.stage == stage]
    return {
        **_DESCRIBERS[stage](video, claims, result),
        "seconds": round(timing.span_seconds, 3) if timing else 0.0,
        "work in seconds": round(timing.work_seconds, 3) if timing else 0.0,
        **(usage_metadata(calls) if calls else {}),
    }


def _chart(title: str, values: Mapping[str, float], unit: str = "") -> Described:
    """Draw values, if there are any."""
    drawn = bars(title, values, unit)
    return {title: dg.MetadataValue.md(drawn)} if drawn else {}


def _queries(video: Video, claims: Sequence[Claim], result: FlowResult) -> Described:
    return {
        "queries": dg.MetadataValue.md(queries_table(claims, result.queries)),
        "count": len(result.queries),
        "by type": counts_by([query.query_type for query in result.queries]),
        "failed": sum(query.status == "infra_error" for query in result.queries),
        "dagster/row_count": len(result.queries),
    }


def _search_hits(video: Video, claims: Sequence[Claim], result: FlowResult) -> Described:
    failed = [search for search in result.searches if search.status == "infra_error"]
    return {
        "searches": counts_by([search.status for search in result.searches]),
        "hits": len(result.hits),
        "pages found": len({hit.canonical_url for hit in result.hits}),
        "domains found": len({hit.domain for hit in result.hits}),
        "failures": "; ".join(sorted({search.reason or "–" for search in failed})) or "none",
        "dagster/row_count": len(result.hits),
        **_prior_fact_checks(claims, result.prior_fact_checks),
    }


def _prior_fact_checks(claims: Sequence[Claim], rows: Sequence[PriorFactCheck]) -> Described:
    """Describe the lane beside the search; nobody was asked if there is no row."""
    if not rows:
        return {"prior fact checks": "off"}
    failed = {row.reason or "–" for row in rows if row.status == "infra_error"}
    return {
        "prior fact checks": dg.MetadataValue.md(prior_fact_checks_table(claims, rows)),
        "prior fact checks found": sum(row.status == "ok" for row in rows),
        "prior fact check failures": "; ".join(sorted(failed)) or "none",
    }


def _ratings(video: Video, claims: Sequence[Claim], result: FlowResult) -> Described:
    return {
        "ratings": dg.MetadataValue.md(ratings_table(result.ratings)),
        "by rating": counts_by([rating.rating for rating in result.ratings]),
        "by class": counts_by([rating.source_class for rating in result.ratings]),
        "dagster/row_count": len(result.ratings),
    }


def _evidence(video: Video, claims: Sequence[Claim], result: FlowResult) -> Described:
    read = [each for each in result.evidence if each.status == "ok"]
    failed = [each for each in result.evidence if each.status == "infra_error"]
    return {
        "evidence": dg.MetadataValue.md(evidence_table(claims, read)),
        **_chart(
            "stances of the evidence", counted([each.stance or "" for each in read], _STANCES)
        ),
        **_chart("ratings of the sources", counted([each.rating for each in read], _RATINGS)),
        "outcomes": counts_by([each.status for each in result.evidence]),
        "by stance": counts_by([each.stance for each in read]),
        "by rating": counts_by([each.rating for each in read]),
        "independent origins": len({each.origin for each in read if each.origin}),
        "pages read": sum(page.status == "ok" for page in result.pages),
        "rejected quotes": sum(each.rejected_quotes for each in result.evidence),
        "failures": "; ".join(sorted({each.reason or "–" for each in failed})) or "none",
        "dagster/row_count": len(result.evidence),
    }


def _verdicts(video: Video, claims: Sequence[Claim], result: FlowResult) -> Described:
    words = [STANCE_WORDS[each.stance] if each.stance else each.status for each in result.verdicts]
    spans = {str(stage): round(each.span_seconds, 1) for stage, each in result.timings.items()}
    lines = verdict_lines(video, claims, result.verdicts, result.evidence)
    return {
        **{
            f"verdict {number}": dg.MetadataValue.md(line)
            for number, line in enumerate(lines[:_UNFOLDED], start=1)
        },
        "verdicts": dg.MetadataValue.md(
            verdicts_table(video, claims, result.verdicts, result.evidence)
        ),
        **_chart("outcomes", counted(words, (*STANCE_WORDS.values(), "incomplete"))),
        **_chart("seconds by stage", spans, " s"),
        "cost of all stages after the claims (USD)": round(
            sum(call.cost_usd for call in result.llm_calls), 6
        ),
        "by outcome": counts_by([verdict_words(verdict) for verdict in result.verdicts]),
        "by confidence": counts_by([verdict.confidence for verdict in result.verdicts]),
        "incomplete": sum(verdict.status == "incomplete" for verdict in result.verdicts),
        "disagreements": sum(verdict.disagreement for verdict in result.verdicts),
        "dagster/row_count": len(result.verdicts),
    }


_DESCRIBERS: dict[Stage, Callable[[Video, Sequence[Claim], FlowResult], Described]] = {
    "queries": _queries,
    "search_hits": _search_hits,
    "reliability_ratings": _ratings,
    "evidence": _evidence,
    "verdicts": _verdicts,
}
