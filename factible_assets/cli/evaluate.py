"""`factible evaluate` and `judge`: measure results, and let a language model score them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

from typer import Exit, Option

from factible_assets.cli.arguments import Corpora, Videos, read_corpora
from factible_assets.cli.output import Columns, between, note, output_mode, result, table, table_of
from factible_assets.errors import ExitCode
from factible_assets.evaluation import tables
from factible_assets.evaluation.judging.judge import rubrics
from factible_assets.evaluation.judging.summary import CriterionFigures, figures, human_scores
from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.scoring import Evaluation, evaluate_corpora
from factible_assets.records.tables import JudgementRow
from factible_assets.runs.judge import JudgingPlan, JudgingResult, plan_judging, run_judging
from factible_assets.runs.targets import open_store, unchecked
from factible_assets.services.models import plan_judge
from factible_assets.settings import load_settings
from factible_assets.wording import counted, dollars, plain
from resources.transcripts.youtube_ids import bare_id
from warehouse.bookkeeping import read_judgements, verdict_models
from warehouse.store import Warehouse


def evaluate(
    *,
    corpus: Corpora = None,
    every: Annotated[
        bool, Option("--all", help="Print every metric, not only the dozen main figures.")
    ] = False,
) -> None:
    """Compare the newest results with the annotated claims of the corpora.

    The command prints a dozen main figures, or with --all every metric, with interval and baseline.
    An undefined metric says so and is never zero. --json has each video's figures too. The asset
    `evaluation` stores the same figures.

    Example: factible evaluate --corpus everyday-beliefs
    """
    settings = load_settings()
    store, reading = open_store(settings), read_corpora(settings)
    evaluations = evaluate_corpora(store, reading, default_matcher(), corpora=corpus or [])
    if output_mode.json:
        documents = {name: tables.document(scores) for name, scores in evaluations.items()}
        result({"corpora": documents})
        return
    for name, evaluation in evaluations.items():
        _show(name, evaluation, every=every)


def _show(name: str, evaluation: Evaluation, *, every: bool) -> None:
    chosen = evaluation.figures if every else tables.headlines(evaluation)
    shown = table(tables.HEADINGS, map(tables.figure_row, chosen), title=f"Corpus {name}")
    result(None, shown, tables.basis(evaluation))
    if not every:
        note(f"These are the main figures. --all prints all {len(evaluation.figures)}.")
    if evaluation.annotated == 0:
        note(
            "No video of this corpus has annotations, so many metrics are undefined. Add claims to "
            "its file; see corpora/README.md."
        )


def judge(
    videos: Videos = None,
    *,
    corpus: Corpora = None,
    criteria: Annotated[
        list[str] | None,
        Option(
            metavar="NAME,…",
            help="Only these: claim_quality, query_relevance, evidence_relevance, "
            "explanation_quality, reasoning_hallucination, evidence_hallucination, "
            "label_justification.",
        ),
    ] = None,
    sample: Annotated[
        int | None, Option(min=1, help="The maximum number of subjects per criterion.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only print calls and cost.")] = False,
) -> None:
    """Have a language model score claims, queries, evidence and verdicts, from 0 to 2.

    FACTIBLE_STAGE_MODELS=judge=NAME names the judge; without it FACTIBLE_MODEL does. The command
    reuses stored scores, so it continues an interrupted run. If a corpus has human scores, it
    prints the agreement.

    Example: factible judge everyday-beliefs-talk --dry-run

    Example: factible judge --corpus everyday-beliefs --criteria label_justification --sample 20
    """
    settings = load_settings()
    store = open_store(settings)
    models = plan_judge(settings)
    ids = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    for video_id in sorted(set(ids) - set(store.video_ids() if ids else ())):
        raise unchecked(video_id, settings)
    names = [
        name.strip() for listed in criteria or () for name in listed.split(",") if name.strip()
    ]
    reading, chosen = read_corpora(settings), rubrics(names)
    planned = plan_judging(
        store, reading, models, chosen, videos=ids, corpora=corpus or (), sample=sample
    )
    if dry_run:
        _show_plan(planned, store)
        return
    checked = [outcome.video.video_id for outcome in planned.outcomes]
    if planned.judge in verdict_models(store, checked):
        note(
            f"{plain(planned.judge)} also reached verdicts here, and models favour their own "
            "words. Name another judge: FACTIBLE_STAGE_MODELS=judge=NAME."
        )
    stored = len(planned.tasks) - len(planned.unscored)
    if stored:
        note(f"{counted(stored, 'stored judgement')} of this judge.")

    def report(row: JudgementRow, done: int, total: int) -> None:
        if row.outcome != "ok":
            note(f"no score: {row.criterion} of {plain(row.video_id, 60)}: {plain(row.reason)}")
        if done % max(1, total // 20) == 0 or done == total:
            note(f"judged {done:,} of {total:,}")

    judged = asyncio.run(run_judging(settings, store, planned, models, report))
    known = read_judgements(store, [task.judgement_id for task in planned.tasks])
    scores = figures(list(known.values()), planned.rubrics, _human_scores(planned))
    _show_scores(planned, scores, judged)
    if judged.not_asked or any(score.without_score for score in scores):
        raise Exit(ExitCode.INCOMPLETE)


def _human_scores(planned: JudgingPlan) -> dict[str, Mapping[tuple[str, str], int]]:
    """Return the scores that people gave, by video, and by claim and criterion."""
    scored = [
        outcome
        for outcome in planned.outcomes
        if any(claim.human_scores for claim in outcome.truth or ())
    ]
    if not scored:
        return {}
    matcher = default_matcher()
    note(f"The matcher between these claims and the human-scored ones: {matcher.rule}.")
    return {video.video.video_id: human_scores(video, matcher) for video in scored}


def _show_plan(planned: JudgingPlan, store: Warehouse) -> None:
    estimates = planned.estimate(store)
    calls = sum(estimate.calls for estimate in estimates)
    usd = None if planned.info.price is None else sum(estimate.usd or 0.0 for estimate in estimates)
    columns: Columns = (
        *("criterion", "subjects", "judged before: judged", "calls"),
        ("tokens", lambda each: f"{each.input_tokens:,} + {each.output_tokens:,}"),
        ("cost", lambda each: "unknown" if each.usd is None else dollars(each.usd)),
    )
    cost = "without a listed price" if usd is None else f"about {dollars(usd)}"
    assumed = any(estimate.calls and estimate.tokens_from == "assumed" for estimate in estimates)
    basis = "the length of the questions" if assumed else "the tokens of earlier judgements"
    result(
        {"judge": planned.judge, "calls": calls, "usd": usd, "criteria": estimates},
        table_of(estimates, columns, title=f"To be judged by {planned.judge}"),
        f"{counted(calls, 'call')}, {cost}, estimated from {basis}. No call was made.",
    )


def _show_scores(
    planned: JudgingPlan, scores: Sequence[CriterionFigures], judged: JudgingResult
) -> None:
    columns: Columns = (
        *("criterion", "mean: mean_normalised"),
        ("95 % interval", lambda each: between(each.interval)),
        "n",
        (
            "given",
            lambda each: ", ".join(f"{level} {n}" for level, n in each.counts.items() if each.n),
        ),
        "without score: without_score",
    )
    shown = [table_of(scores, columns, title=f"Scores by {planned.judge}, normalised: 1 is best")]
    agreement = [
        (
            *(score.criterion, agreed.name, "undefined" if agreed.value is None else agreed.value),
            *(between(agreed.interval), agreed.baseline, agreed.n),
        )
        for score in scores
        for agreed in score.agreement
    ]
    if agreement:
        headings = ("criterion", "measure", "value", "95 % interval", "trivial", "n")
        shown.append(table(headings, agreement, title="Agreement with people"))
    result({"judge": planned.judge, "run": judged, "criteria": scores}, *shown)
    cost = dollars(judged.usd) if judged.price_known else "without a listed price"
    note(f"{counted(judged.asked, 'question')} asked, {cost}.")
    if judged.stopped is not None:
        note(
            f"{plain(judged.stopped)} {counted(judged.not_asked, 'question')} left. Run the same "
            "command to continue."
        )
