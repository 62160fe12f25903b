"""Recomputes the published evaluation of an earlier fact-checker from its published outputs.

Run: `python -m benchmarks.reproduction FOLDER [--matcher recorded]`. Equal values show that this
project's matching and metrics measure the same thing; nothing here was chosen on them. FOLDER has

- `eval_results/max_claims_K/VIDEO.json`: the evaluator's values of a video at the setting K;
- `runs/max_claims_K/DATE_TIME_VIDEO/`: `outputs.json`, `metrics.json` and `config.json` of a run;
- `ground_truth/VIDEO.yaml`: the annotated claims.

For each setting it prints mean and population deviation over videos, as published and as recomputed
here, and how many videos have the same value to nine decimal places. With all 30 videos it also
compares the printed tables. `--matcher recorded` takes the evaluator's matches instead of matching
by MiniLM, whose 8-bit weights move a few pairs across the threshold.

The evaluator's rules: undefined is 0; retrieval success is the share of claims with a source;
queries are claims times the setting's queries per claim. If the evaluated run is not published, its
recorded matches and errors give the metrics of claims and stances except MAP, which needs an order.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.greedy import GreedyMatcher
from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import load_ground_truth
from factible_assets.evaluation.figures import Ratio
from factible_assets.evaluation.matching import Pair
from factible_assets.evaluation.metrics import claims as metrics
from factible_assets.evaluation.metrics.claims import MatchedVideo
from factible_assets.evaluation.metrics.stances import Judgement, accuracy
from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.wording import table

Json = Mapping[str, Any]

METRICS: Final[Mapping[str, str]] = {
    "precision": "claim_extraction.precision",
    "recall": "claim_extraction.recall",
    "F1": "claim_extraction.f1_score",
    "MAP over hits": "claim_extraction.mean_average_precision",
    "recall of important": "claim_extraction.recall_at_important",
    "importance coverage": "claim_extraction.importance_weighted_coverage",
    "importance MAE": "claim_extraction.importance_mae",
    "stance accuracy": "verdict_accuracy.stance_accuracy",
    "retrieval success": "query_generation.evidence_retrieval_success_rate",
    "sources per query": "query_generation.avg_sources_per_query",
    "evidence per claim": "evidence_search.avg_evidence_per_claim",
    "high sources": "evidence_search.source_reliability_distribution.high",
    "medium sources": "evidence_search.source_reliability_distribution.medium",
    "low sources": "evidence_search.source_reliability_distribution.low",
    "unknown sources": "evidence_search.source_reliability_distribution.unknown",
    "seconds": "end_to_end.total_time_seconds",
    "cost in USD": "end_to_end.total_cost_usd",
}
"""The metrics, and their places in the evaluator's files."""
_SAME: Final = 0.5e-9

VIDEOS: Final = 30
_TABLE_12: Final[Mapping[int, Sequence[str]]] = {
    1: ("0.800", "0.052", "0.098", "0.800"),
    3: ("0.822", "0.159", "0.264", "0.897"),
    5: ("0.813", "0.262", "0.390", "0.870"),
    7: ("0.795", "0.359", "0.486", "0.862"),
    10: ("0.769", "0.471", "0.573", "0.854"),
    15: ("0.719", "0.570", "0.623", "0.865"),
}
"""Factible, table 12: means of precision, recall, F1 and MAP over hits by setting."""
_AT_FIVE: Final = (
    (13, "precision", "deviation", "0.171"),
    (13, "recall", "deviation", "0.088"),
    (13, "F1", "deviation", "0.111"),
    (13, "MAP over hits", "deviation", "0.146"),
    (13, "recall of important", "mean", "0.395"),
    (13, "recall of important", "deviation", "0.178"),
    (13, "importance coverage", "mean", "0.292"),
    (13, "importance coverage", "deviation", "0.096"),
    # The files record 0.1296 ± 0.0585.
    (13, "importance MAE", "mean", "0.126"),
    (13, "importance MAE", "deviation", "0.060"),
    (14, "stance accuracy", "mean", "0.733"),
    (14, "stance accuracy", "deviation", "0.334"),
    (16, "retrieval success", "mean", "0.947"),
    # These two are exchanged: the files record them the other way round.
    (16, "sources per query", "mean", "1.52"),
    (16, "evidence per claim", "mean", "2.41"),
    (17, "high sources", "total", "605"),
    (17, "medium sources", "total", "110"),
    (17, "low sources", "total", "0"),
    (17, "unknown sources", "total", "9"),
    # The table's seconds were re-scaled, the recorded ones were not.
    (18, "seconds", "mean", "129.6"),
    (18, "seconds", "deviation", "101.8"),
)
"""Factible, tables 13 to 18: table, metric, statistic and printed figure at five claims."""


HEADINGS: Final = ("metric", "published", "recomputed", "videos", "the same")
PRINTED_HEADINGS: Final = (
    "table", "max_claims", "metric", "statistic", "printed", "recorded", "agrees"
)  # fmt: skip


class Run(NamedTuple):
    """The files of one run; a missing one is empty."""

    outputs: Json
    metrics: Json
    config: Json

    @property
    def claims(self) -> tuple[ClaimEntry, ...]:
        """The claims in the order of extraction."""
        listed = self.outputs.get("extracted_claims", {}).get("claims", ())
        return tuple(
            ClaimEntry(text=each["text"], importance=each.get("importance")) for each in listed
        )

    @property
    def reports(self) -> list[Json]:
        """The reports on the claims; none if the run stopped before it made any."""
        return list((self.outputs.get("final_output") or {}).get("claim_reports") or ())

    @property
    def seconds(self) -> float | None:
        seconds: float | None = self.metrics.get("timing", {}).get("total_seconds")
        return seconds


def read_json(file: Path) -> Json:
    return json.loads(file.read_bytes()) if file.is_file() else {}


def runs_of(folder: Path, setting: int, video_id: str) -> list[Run]:
    """Return the published runs of a video at a setting, in order of time."""
    place = folder / "runs" / f"max_claims_{setting}"
    named = re.compile(rf"\d{{8}}_\d{{6}}_{re.escape(video_id)}")
    found = (path for path in sorted(place.glob("*")) if named.fullmatch(path.name))
    names = ("outputs.json", "metrics.json", "config.json")
    return [Run(*(read_json(path / name) for name in names)) for path in found]


def evaluated_run(evaluation: Json, runs: Sequence[Run]) -> Run | None:
    """Return the latest run with the claims and the duration that the evaluation recorded."""
    recorded = Counter(claim.text for claim in recorded_claims(evaluation))
    seconds = published(evaluation, "seconds")
    fitting = [
        run
        for run in runs
        if Counter(claim.text for claim in run.claims) == recorded
        and (seconds is None or run.seconds is None or abs(run.seconds - seconds) < _SAME)
    ]
    return fitting[-1] if fitting else None


def recorded_claims(evaluation: Json) -> tuple[ClaimEntry, ...]:
    """Return the claims that the evaluator matched, and those that it did not."""
    extraction = evaluation["claim_extraction"]
    matched = (
        ClaimEntry(text=each["sys_text"], importance=each["sys_importance"])
        for each in extraction["matched_claims"]
    )
    return (*matched, *(ClaimEntry(text=each) for each in extraction["extra_claims"]))


def recorded_matches(
    evaluation: Json, system: Sequence[ClaimEntry], gold: Sequence[ClaimEntry]
) -> tuple[Pair, ...]:
    """Return the evaluator's matches as positions in both lists."""
    rows, columns = [each.text for each in system], [each.text for each in gold]
    matched = evaluation["claim_extraction"]["matched_claims"]
    found = (Pair(rows.index(each["sys_text"]), columns.index(each["gt_text"])) for each in matched)
    return tuple(sorted(found))


def published(evaluation: Json, metric: str) -> float | None:
    """Return the evaluator's value. The files omit a rating that no source had."""
    *sections, name = METRICS[metric].split(".")
    for section in sections:
        evaluation = evaluation[section]
    value: float | None = evaluation.get(name, 0.0 if metric.endswith("sources") else None)
    return value


def recomputed(
    evaluation: Json,
    runs: Sequence[Run],
    gold: tuple[ClaimEntry, ...],
    matcher: GreedyMatcher | None,
) -> dict[str, float]:
    """Compute every value that the published files determine; undefined is 0."""
    run = evaluated_run(evaluation, runs)
    system = run.claims if run else recorded_claims(evaluation)
    pairs = recorded_matches(evaluation, system, gold)
    if run and matcher:
        texts = [each.text for each in system], [each.text for each in gold]
        pairs = matcher.match(*texts)
    video = MatchedVideo("", system, gold, pairs)
    ratios: dict[str, Ratio] = {
        "precision": metrics.precision_at_k(video),
        "recall": metrics.recall_at_k(video),
        "F1": metrics.f1_at_k(video),
        "recall of important": metrics.recall_at_important(video),
        "importance coverage": metrics.importance_weighted_coverage(video),
        "importance MAE": metrics.importance_mae(video),
        "stance accuracy": accuracy(list(judgements(evaluation, run, video))),
    }
    if run:
        ratios["MAP over hits"] = metrics.average_precision(video)
    values = {name: ratio.value or 0.0 for name, ratio in ratios.items()}
    return values | (of_run(run) if run else {})


def judgements(evaluation: Json, run: Run | None, video: MatchedVideo) -> Iterator[Judgement]:
    """Yield the stances of matched claims, from the run or from the errors that were recorded."""
    reported = (
        {each["claim_text"]: each.get("overall_stance") for each in run.reports} if run else {}
    )
    recorded = evaluation["verdict_accuracy"]["verdict_errors"]
    errors = {each["claim"]: each["sys_verdict"] for each in recorded}
    for pair in video.pairs:
        gold = video.gold[pair.gold]
        said = errors.get(gold.text, gold.stance)
        if run:
            said = reported.get(video.system[pair.system].text)
        if gold.stance is not None and said is not None:
            yield Judgement("", gold.stance, said.lower())


def of_run(run: Run) -> dict[str, float]:
    """Compute the figures of evidence, time and cost (Factible, tables 16 to 18)."""
    values = {
        "seconds": run.seconds,
        "cost in USD": run.metrics.get("llm", {}).get("total_cost_usd"),
    }
    if run.reports or not run.claims:
        sources = [
            [
                source["reliability"]["rating"]
                for group in report["evidence_by_stance"].values()
                for source in group
            ]
            for report in run.reports
        ]
        ratings = Counter(rating for each in sources for rating in each)
        total, claims = ratings.total(), len(sources)
        queries = claims * run.config.get("max_queries_per_claim", 0)
        values["retrieval success"] = Ratio(sum(map(bool, sources)), claims).value or 0.0
        values["evidence per claim"] = Ratio(total, claims).value or 0.0
        values["sources per query"] = Ratio(total, queries).value or 0.0
        for rating in ("high", "medium", "low", "unknown"):
            values[f"{rating} sources"] = float(ratings[rating])
    return {name: value for name, value in values.items() if value is not None}


# --- Settings and printed tables ----------------------------------------------------------------


class Value(NamedTuple):
    """One value of one video; `recomputed` is None if the published files do not determine it."""

    published: float
    recomputed: float | None

    @property
    def is_same(self) -> bool:
        return self.recomputed is not None and abs(self.published - self.recomputed) < _SAME


def values_of(folder: Path, setting: int, matcher: GreedyMatcher | None) -> dict[str, list[Value]]:
    """Return the values of all videos at a setting by metric."""
    values: dict[str, list[Value]] = {name: [] for name in METRICS}
    for file in sorted((folder / "eval_results" / f"max_claims_{setting}").glob("*.json")):
        evaluation, runs = read_json(file), runs_of(folder, setting, file.stem)
        gold = load_ground_truth(folder / "ground_truth" / f"{file.stem}.yaml").claims
        found = recomputed(evaluation, runs, gold, matcher)
        for name in METRICS:
            value = published(evaluation, name)
            if value is not None:
                values[name].append(Value(value, found.get(name)))
    return values


def setting_rows(values: Mapping[str, Sequence[Value]]) -> Iterator[tuple[str, ...]]:
    for name, listed in values.items():
        ours = [each.recomputed for each in listed if each.recomputed is not None]
        same = sum(each.is_same for each in listed)
        theirs = [each.published for each in listed]
        yield name, spread(theirs), spread(ours), f"{len(ours)}", f"{same} of {len(listed)}"


def spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{statistics.fmean(values):.3f} ± {statistics.pstdev(values):.3f}"


def printed_rows(
    settings: Mapping[int, Mapping[str, Sequence[Value]]],
) -> Iterator[tuple[str, ...]]:
    """Yield each printed figure beside that of the files, for settings with all videos."""
    figures = [
        (12, setting, metric, "mean", printed)
        for setting, row in _TABLE_12.items()
        for metric, printed in zip(("precision", "recall", "F1", "MAP over hits"), row, strict=True)
    ]
    figures += [(number, 5, metric, kind, printed) for number, metric, kind, printed in _AT_FIVE]
    of: Mapping[str, Callable[[Sequence[float]], float]] = {
        "mean": statistics.fmean,
        "deviation": statistics.pstdev,
        "total": math.fsum,
    }
    for number, setting, metric, kind, printed in figures:
        values = [each.published for each in settings.get(setting, {}).get(metric, ())]
        if len(values) == VIDEOS:
            recorded = round(of[kind](values), len(printed.partition(".")[2]))
            agrees = "yes" if recorded == float(printed) else "no"
            yield str(number), str(setting), metric, kind, printed, f"{recorded:g}", agrees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--matcher", choices=["embeddings", "recorded"], default="embeddings")
    asked = parser.parse_args()
    matcher = None if asked.matcher == "recorded" else GreedyMatcher(minilm())
    names = [path.name for path in asked.folder.glob("eval_results/max_claims_*")]
    if not names:
        sys.exit(f"{asked.folder} has no eval_results/max_claims_K. Give the published folder.")
    found = sorted(int(name.rpartition("_")[2]) for name in names)
    settings = {setting: values_of(asked.folder, setting, matcher) for setting in found}
    for setting, values in settings.items():
        print(f"max_claims = {setting}\n\n{table(HEADINGS, setting_rows(values))}\n")
    printed = list(printed_rows(settings))
    if printed:
        print(f"The printed tables\n\n{table(PRINTED_HEADINGS, printed)}\n")
    every = [each for values in settings.values() for listed in values.values() for each in listed]
    same = sum(each.is_same for each in every)
    other = sum(each.recomputed is not None for each in every) - same
    print(f"{same} values of {len(every)} are the same, {other} differ.")


if __name__ == "__main__":
    main()
