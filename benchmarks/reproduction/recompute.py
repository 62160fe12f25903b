"""Recomputes the evaluator's values of one video, from a run's outputs or the recorded matches.

Reproducing the published values showed how they were computed: undefined metrics became 0; average
precision is that over hits; retrieval success and evidence quality are one figure, the share of
claims with a source; queries are claims times the setting's queries per claim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from benchmarks.reproduction.cells import Computed
from benchmarks.reproduction.layout import (
    RATINGS,
    Evaluation,
    JsonObject,
    Run,
    mapping,
    mappings,
    number,
    strings,
)
from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.figures import Ratio
from factible_assets.evaluation.matching import MatchingRule, Pair
from factible_assets.evaluation.metrics.claims import (
    MatchedVideo,
    SystemClaim,
    average_precision,
    f1_at_k,
    importance_mae,
    importance_weighted_coverage,
    precision_at_k,
    recall_at_important,
    recall_at_k,
)
from factible_assets.evaluation.metrics.stances import Judgement, accuracy

Values = dict[str, Computed]
"""The expected value of each `section.name`."""

RECORDED: Final = MatchingRule("recorded", "as the evaluator wrote them down", None)

_MOST_ORDERS: Final = 20_000
_SAME: Final = 1e-9

_NO_RUN = "the run that was evaluated is not published"


@dataclass(frozen=True, slots=True)
class Recomputation:
    """One video's values, and the matches and judgements behind them."""

    video: MatchedVideo
    judgements: tuple[Judgement, ...]
    values: Values
    matcher: MatchingRule = RECORDED


# --- Which run was evaluated --------------------------------------------------------------------


def evaluated_run(evaluation: Evaluation, runs: Sequence[Run]) -> Run | None:
    """Return the published run behind a recorded evaluation; if there are several, the latest.

    It is identified by its claims, which the evaluation lists as matched or extra, and by its
    duration.
    """
    recorded = Counter(_recorded_texts(evaluation))
    seconds = number(evaluation.section("end_to_end").get("total_time_seconds"))
    fitting = [
        run
        for run in runs
        if Counter(_text(claim) for claim in run.claims) == recorded
        and (seconds is None or run.seconds is None or abs(run.seconds - seconds) < _SAME)
    ]
    return fitting[-1] if fitting else None


def _recorded_texts(evaluation: Evaluation) -> list[str]:
    extraction = evaluation.section("claim_extraction")
    matched = [str(each.get("sys_text")) for each in mappings(extraction.get("matched_claims"))]
    return matched + strings(extraction.get("extra_claims"))


def _text(claim: JsonObject) -> str:
    return str(claim.get("text", ""))


def system_claims(run: Run) -> tuple[SystemClaim, ...]:
    """Return a run's claims in the order of extraction."""
    return tuple(SystemClaim(_text(each), number(each.get("importance"))) for each in run.claims)


# --- From a run's outputs -----------------------------------------------------------------------


def from_outputs(
    evaluation: Evaluation,
    run: Run,
    gold: tuple[ClaimEntry, ...],
    pairs: tuple[Pair, ...],
    matcher: MatchingRule = RECORDED,
) -> Recomputation:
    """Compute every value from a run's outputs and the pairs that `matcher` found."""
    video = MatchedVideo(evaluation.video_id, system_claims(run), gold, pairs)
    reports = {str(report.get("claim_text")): report for report in run.reports or ()}
    judged = list(_judged(video, reports))
    average = _zero(average_precision(video))
    values = _extraction(video, evaluation, matcher) | _stances(judged, evaluation)
    values["claim_extraction.mean_average_precision"] = Computed(average)
    values |= _retrieval(run)
    values["end_to_end.total_time_seconds"] = _given(run.seconds, "the run's metrics are missing")
    values["end_to_end.total_cost_usd"] = _given(run.cost, "the run's metrics are missing")
    return Recomputation(video, tuple(each.judgement for each in judged), values, matcher)


def recorded_matching(
    evaluation: Evaluation, system: Sequence[SystemClaim], gold: Sequence[ClaimEntry]
) -> tuple[Pair, ...]:
    """Return the evaluator's recorded matches as positions in both lists.

    It omits a match whose texts are in neither list.
    """
    free_system = _positions([claim.text for claim in system])
    free_gold = _positions([claim.text for claim in gold])
    pairs = []
    for each in mappings(evaluation.section("claim_extraction").get("matched_claims")):
        rows = free_system.get(str(each.get("sys_text")), [])
        columns = free_gold.get(str(each.get("gt_text")), [])
        if rows and columns:
            pairs.append(Pair(rows.pop(0), columns.pop(0)))
    return tuple(sorted(pairs))


def _positions(texts: Sequence[str]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        positions.setdefault(text, []).append(index)
    return positions


@dataclass(frozen=True, slots=True)
class _Judged:
    """A judgement and its gold claim."""

    gold_text: str
    judgement: Judgement


def _judged(video: MatchedVideo, reports: Mapping[str, JsonObject]) -> Iterator[_Judged]:
    for pair in video.pairs:
        stance = reports.get(video.system[pair.system].text, {}).get("overall_stance")
        gold = video.gold[pair.gold]
        if isinstance(stance, str) and gold.stance is not None:
            yield _Judged(gold.text, Judgement(video.video_id, gold.stance, stance.lower()))


def _retrieval(run: Run) -> Values:
    """Compute the evidence figures from the reports (Factible, tables 16 and 17)."""
    if run.reports is None and run.claims:
        lost = Computed(None, reason="the run stopped before it wrote its reports")
        return dict.fromkeys(_retrieval_names(), lost)
    reports = run.reports or []
    sources = [_sources(report) for report in reports]
    total = sum(len(each) for each in sources)
    success = _zero(Ratio(sum(bool(each) for each in sources), len(sources)))
    ratings = Counter(rating for each in sources for rating in each)
    queries = run.queries_per_claim
    return {
        "query_generation.evidence_retrieval_success_rate": Computed(success),
        "end_to_end.evidence_quality_avg": Computed(success),
        "evidence_search.avg_evidence_per_claim": Computed(_zero(Ratio(total, len(reports)))),
        "query_generation.avg_sources_per_query": _given(
            None if queries is None else _zero(Ratio(total, len(reports) * queries)),
            "the run's settings are missing",
        ),
    } | {_rating(name): Computed(float(ratings[name])) for name in {*RATINGS, *ratings}}


def _retrieval_names() -> list[str]:
    return [
        "query_generation.evidence_retrieval_success_rate",
        "query_generation.avg_sources_per_query",
        "end_to_end.evidence_quality_avg",
        "evidence_search.avg_evidence_per_claim",
        *(_rating(name) for name in RATINGS),
    ]


def _rating(name: str) -> str:
    return f"evidence_search.source_reliability_distribution.{name}"


def _sources(report: JsonObject) -> list[str]:
    groups = mapping(report.get("evidence_by_stance")).values()
    return [
        str(mapping(source.get("reliability")).get("rating", "unknown"))
        for group in groups
        for source in mappings(group)
    ]


# --- From the recorded matches ------------------------------------------------------------------


def from_recorded(
    evaluation: Evaluation, gold: tuple[ClaimEntry, ...], queries_per_claim: int | None
) -> Recomputation:
    """Compute the values that the recorded matches determine, if the run is unpublished.

    Args:
        evaluation: The recorded values.
        gold: The annotated claims.
        queries_per_claim: From other runs at this setting; that of the evaluated run is unknown.
    """
    extraction = evaluation.section("claim_extraction")
    matched = mappings(extraction.get("matched_claims"))
    # The order is unknown; only average precision depends on it.
    system = tuple(
        SystemClaim(str(each.get("sys_text")), number(each.get("sys_importance")))
        for each in matched
    ) + tuple(SystemClaim(text) for text in strings(extraction.get("extra_claims")))
    pairs = recorded_matching(evaluation, system, gold)
    video = MatchedVideo(evaluation.video_id, system, gold, pairs)
    judged = list(_recorded_judged(evaluation, video))
    values = _extraction(video, evaluation, RECORDED) | _stances(judged, evaluation)
    published = number(extraction.get("mean_average_precision"))
    values["claim_extraction.mean_average_precision"] = _possible_average(
        len(pairs), len(system), published
    )
    values |= _recorded_retrieval(evaluation, len(system), queries_per_claim)
    for name in ("total_time_seconds", "total_cost_usd"):
        values[f"end_to_end.{name}"] = Computed(None, reason=f"{_NO_RUN}; this is its only record")
    values["verdict_accuracy.verdict_errors"] = _only_read(
        values["verdict_accuracy.verdict_errors"]
    )
    return Recomputation(video, tuple(each.judgement for each in judged), values)


def _recorded_judged(evaluation: Evaluation, video: MatchedVideo) -> Iterator[_Judged]:
    """Infer each match's stance: the recorded errors name the wrong ones; the others were right."""
    errors = {
        str(each.get("claim")): str(each.get("sys_verdict")).lower()
        for each in mappings(evaluation.section("verdict_accuracy").get("verdict_errors"))
    }
    for pair in video.pairs:
        gold = video.gold[pair.gold]
        if gold.stance is not None:
            said = errors.get(gold.text, gold.stance)
            yield _Judged(gold.text, Judgement(video.video_id, gold.stance, said))


def _possible_average(hits: int, claims: int, published: float | None) -> Computed:
    """Find an order of hits and misses with the published average precision."""
    if hits in {0, claims}:
        return Computed(1.0 if hits else 0.0)
    if published is None or math.comb(claims, hits) > _MOST_ORDERS:
        return Computed(None, reason="the order of the claims was not recorded")
    nearest: tuple[float, float, tuple[int, ...]] | None = None
    for ranks in combinations(range(1, claims + 1), hits):
        value = math.fsum(n / rank for n, rank in enumerate(ranks, start=1)) / hits
        if nearest is None or abs(value - published) < nearest[0]:
            nearest = (abs(value - published), value, ranks)
    if nearest is None or nearest[0] > _SAME:
        return Computed(
            nearest[1] if nearest else None,
            reason="no order of the recorded hits and misses gives this value",
        )
    ranks = nearest[2]
    shown = ", ".join(str(rank) for rank in ranks)
    reason = f"the order of the claims was not recorded; hits at ranks {shown} give this value"
    return Computed(nearest[1], reason=reason, choice=True)


def _recorded_retrieval(
    evaluation: Evaluation, claims: int, queries_per_claim: int | None
) -> Values:
    search = evaluation.section("evidence_search")
    counts = mapping(search.get("source_reliability_distribution"))
    total = math.fsum(number(count) or 0.0 for count in counts.values())
    unknown = Computed(None, reason=f"{_NO_RUN}; this is its only record")
    values: Values = dict.fromkeys(_retrieval_names(), unknown)
    values["evidence_search.avg_evidence_per_claim"] = Computed(_zero(Ratio(total, claims)))
    values["query_generation.avg_sources_per_query"] = _given(
        None if queries_per_claim is None else _zero(Ratio(total, claims * queries_per_claim)),
        "no run at this setting says how many queries a claim had",
    )
    share = _possible_share(evaluation.section("query_generation"), claims)
    values["query_generation.evidence_retrieval_success_rate"] = share
    values["end_to_end.evidence_quality_avg"] = share
    return values


def _possible_share(section: JsonObject, claims: int) -> Computed:
    """Find the number of claims with evidence for the published share."""
    published = number(section.get("evidence_retrieval_success_rate"))
    if published is None or not claims:
        return Computed(None, reason=_NO_RUN)
    found = min(claims, max(0, round(published * claims)))
    reason = f"which claims had evidence was not recorded; {found} of {claims} give this value"
    return Computed(found / claims, reason=reason, choice=True)


def with_other_runs(
    recomputation: Recomputation, evaluation: Evaluation, runs: Sequence[Run]
) -> Recomputation:
    """Complete the values that the recorded matches leave open from other published runs.

    A run with the same claims shows their order and their evidence; any run may show the duration.
    Only equal values are used, and they name their origin.
    """
    values = dict(recomputation.values)
    published = dict(evaluation.flattened())
    for run in reversed(runs):
        for metric, computed in _shown_by(run, evaluation, recomputation.video.gold).items():
            known = values.get(metric)
            if known is not None and (known.choice or known.value is None):
                where = f"as in the run {run.name}"
                if _equal(computed, published.get(metric)):
                    values[metric] = replace(computed, reason=where)
    return replace(recomputation, values=values)


def _shown_by(run: Run, evaluation: Evaluation, gold: tuple[ClaimEntry, ...]) -> Values:
    texts = Counter(_text(claim) for claim in run.claims)
    if texts != Counter(_recorded_texts(evaluation)):
        return {"end_to_end.total_time_seconds": Computed(run.seconds)}
    pairs = recorded_matching(evaluation, system_claims(run), gold)
    values = from_outputs(evaluation, run, gold, pairs).values
    return {metric: each for metric, each in values.items() if not each.choice}


def _equal(computed: Computed, published: float | None) -> bool:
    if computed.value is None or published is None or computed.same_items is False:
        return False
    return abs(computed.value - published) < _SAME


# --- Either way ---------------------------------------------------------------------------------


def _extraction(video: MatchedVideo, evaluation: Evaluation, matcher: MatchingRule) -> Values:
    """Compute the metrics of claims (Factible, section 2.1.3) except average precision."""
    found = len(video.pairs)
    recall = _zero(recall_at_k(video))
    numbers = {
        "precision": _zero(precision_at_k(video)),
        "recall": recall,
        "f1_score": _zero(f1_at_k(video)),
        "true_positives": float(found),
        "false_positives": float(len(video.system) - found),
        "false_negatives": float(len(video.gold) - found),
        "recall_at_important": _zero(recall_at_important(video)),
        "importance_weighted_coverage": _zero(importance_weighted_coverage(video)),
        "importance_mae": _zero(importance_mae(video)),
    }
    values = {f"claim_extraction.{name}": Computed(value) for name, value in numbers.items()}
    values["end_to_end.claim_coverage"] = Computed(recall)
    values["ground_truth_claims_count"] = Computed(float(len(video.gold)))
    values["system_claims_count"] = Computed(float(len(video.system)))
    return values | _lists(video, evaluation, matcher)


def _lists(video: MatchedVideo, evaluation: Evaluation, matcher: MatchingRule) -> Values:
    extraction = evaluation.section("claim_extraction")
    gold_of = dict(video.pairs)
    pairs = [(video.system[row].text, video.gold[column].text) for row, column in video.pairs]
    recorded = [
        (str(each.get("sys_text")), str(each.get("gt_text")))
        for each in mappings(extraction.get("matched_claims"))
    ]
    matched = set(gold_of.values())
    missed = [claim.text for index, claim in enumerate(video.gold) if index not in matched]
    extra = [claim.text for index, claim in enumerate(video.system) if index not in gold_of]
    lists: dict[str, tuple[Sequence[object], Sequence[object]]] = {
        "matched_claims": (pairs, recorded),
        "missed_claims": (missed, strings(extraction.get("missed_claims"))),
        "extra_claims": (extra, strings(extraction.get("extra_claims"))),
    }
    read = matcher == RECORDED
    return {f"claim_extraction.{name}": _same(*both, read=read) for name, both in lists.items()}


def _same(computed: Sequence[object], recorded: Sequence[object], *, read: bool) -> Computed:
    same = Computed(float(len(computed)), same_items=Counter(computed) == Counter(recorded))
    return _only_read(same) if read else same


def _only_read(computed: Computed) -> Computed:
    """Mark a list that was read and not recomputed."""
    return replace(computed, choice=True, reason="read, not recomputed: this is its only record")


def _stances(judged: Sequence[_Judged], evaluation: Evaluation) -> Values:
    """Compute the figures of verdicts over matched claims (Factible, table 14)."""
    share = accuracy([each.judgement for each in judged])
    recorded = [
        (
            str(each.get("claim")),
            str(each.get("gt_verdict")).lower(),
            str(each.get("sys_verdict")).lower(),
        )
        for each in mappings(evaluation.section("verdict_accuracy").get("verdict_errors"))
    ]
    wrong = [
        (each.gold_text, each.judgement.gold, each.judgement.predicted)
        for each in judged
        if each.judgement.predicted != each.judgement.gold
    ]
    return {
        "verdict_accuracy.overall_accuracy": Computed(_zero(share)),
        "verdict_accuracy.stance_accuracy": Computed(_zero(share)),
        "end_to_end.verdict_accuracy": Computed(_zero(share)),
        "verdict_accuracy.correct_verdicts": Computed(share.numerator),
        "verdict_accuracy.total_verdicts": Computed(share.denominator),
        "verdict_accuracy.verdict_errors": _same(wrong, recorded, read=False),
    }


def _zero(ratio: Ratio) -> float:
    """Return a ratio in the published form, with 0 for undefined."""
    return ratio.value or 0.0


def _given(value: float | None, otherwise: str) -> Computed:
    return Computed(value, reason=otherwise if value is None else None)
