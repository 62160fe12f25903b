"""`factible judge`: a language model scores what was found, on the scales of people.

What belongs here: arguments, the plan and the scores as tables. What does not: judging
(running/judge.py), criteria (evaluation/judging).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from factible_assets.cli.output import note, result, table
from factible_assets.corpora import load_corpora
from factible_assets.corpora.adding import bare_id
from factible_assets.errors import ExitCode
from factible_assets.evaluation.figures import Interval
from factible_assets.evaluation.judging.criteria import rubrics
from factible_assets.evaluation.judging.summary import CriterionFigures, figures, human_scores
from factible_assets.evaluation.matching import default_matcher
from factible_assets.running.judge import (
    JudgingPlan,
    JudgingResult,
    Wish,
    plan_judging,
    run_judging,
)
from factible_assets.running.targets import open_store, unchecked
from factible_assets.services.reasoning import plan_judge
from factible_assets.settings import load_settings
from factible_assets.wording import counted, dollars, plain
from warehouse.judgements import JudgementRow, read_judgements, verdict_models
from warehouse.store import Warehouse

_NONE = "–"


def judge(
    videos: Annotated[
        list[str] | None,
        typer.Argument(help="Ids or YouTube URLs of checked videos; else all that were checked."),
    ] = None,
    *,
    corpus: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Judge this corpus; may be repeated."),
    ] = None,
    criteria: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,…",
            help="Only these: claim_quality, query_relevance, evidence_relevance, "
            "explanation_quality, reasoning_hallucination, evidence_hallucination, "
            "label_justification.",
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="The most subjects per criterion, by chance.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the calls and their cost; ask nobody.")
    ] = False,
) -> None:
    """Have a language model score claims, queries, evidence and verdicts, from 0 to 2.

    The judge is FACTIBLE_MODEL_JUDGE, else FACTIBLE_MODEL. What it has scored before is not asked
    again, so an interrupted judging goes on where it stopped. Where a corpus carries scores of
    people, agreement with them is shown.

    Example: factible judge everyday-beliefs-talk --dry-run

    Example: factible judge --corpus everyday-beliefs --criteria label_justification --sample 20
    """
    settings = load_settings()
    store = open_store(settings)
    models = plan_judge(settings)
    ids = tuple(dict.fromkeys(bare_id(each) for each in videos or ()))
    for video_id in sorted(set(ids) - set(store.video_ids() if ids else ())):
        raise unchecked(video_id, settings)
    names = [name.strip() for each in criteria or () for name in each.split(",") if name.strip()]
    wish = Wish(ids, tuple(corpus or ()), rubrics(names), sample)
    reading = load_corpora(settings.corpus_folders)
    for problem in reading.problems:
        note(f"problem: {plain(str(problem))}")
    planned = plan_judging(store, reading, wish, models)
    if dry_run:
        _show_plan(planned, store)
        return
    checked = [outcome.video.video_id for outcome in planned.outcomes]
    if planned.judge in verdict_models(store, checked):
        note(
            f"{plain(planned.judge)} also reached verdicts here, and models tend to favour their "
            "own words. Name another judge with FACTIBLE_MODEL_JUDGE."
        )
    before = len(planned.tasks) - len(planned.open)
    if before:
        note(f"{counted(before, 'judgement')} of this judge are there already.")

    def heard(row: JudgementRow, done: int, total: int) -> None:
        if row.outcome != "ok":
            note(f"no score: {row.criterion} of {plain(row.video_id, 60)}: {plain(row.reason)}")
        if done % max(1, total // 20) == 0 or done == total:
            note(f"judged {done:,} of {total:,}")

    judged = asyncio.run(run_judging(settings, store, planned, models, heard))
    found = _figures(store, planned)
    _show(planned, found, judged)
    if judged.not_asked or any(each.without_score for each in found):
        raise typer.Exit(ExitCode.INCOMPLETE)


def _show_plan(planned: JudgingPlan, store: Warehouse) -> None:
    estimates = planned.estimate(store)
    calls = sum(each.calls for each in estimates)
    usd = None if planned.info.price is None else sum(each.usd or 0.0 for each in estimates)
    headings = ("criterion", "subjects", "judged before", "calls", "tokens", "cost")
    rows = (
        (
            each.criterion,
            *(f"{amount:,}" for amount in (each.subjects, each.judged, each.calls)),
            f"{each.input_tokens:,} + {each.output_tokens:,}",
            "unknown" if each.usd is None else dollars(each.usd),
        )
        for each in estimates
    )
    cost = "at a price that is not listed" if usd is None else f"about {dollars(usd)}"
    assumed = any(each.calls and each.tokens_from == "assumed" for each in estimates)
    basis = "the length of the questions" if assumed else "what such judgements took before"
    title = f"To be judged by {plain(planned.judge)}"
    result(
        {"judge": planned.judge, "calls": calls, "usd": usd, "criteria": estimates},
        table(headings, rows, title=title, numbers=headings[1:]),
        f"{counted(calls, 'call')}, {cost}, by {basis}. Nobody was asked.",
    )


def _figures(store: Warehouse, planned: JudgingPlan) -> tuple[CriterionFigures, ...]:
    known = read_judgements(store, [task.judgement_id for task in planned.tasks])
    scored = [
        outcome
        for outcome in planned.outcomes
        if any(claim.human_scores is not None for claim in outcome.truth or ())
    ]
    people = {}
    if scored:
        matcher = default_matcher()
        people = {each.video.video_id: human_scores(each, matcher) for each in scored}
        note(f"Claims were matched with those that people scored: {matcher.matcher}.")
    return figures(list(known.values()), planned.rubrics, people)


def _show(planned: JudgingPlan, found: Sequence[CriterionFigures], judged: JudgingResult) -> None:
    documents, scores, agreement = [], [], []
    for each in found:
        counts = dict(zip(each.rubric.levels, each.counts, strict=True))
        documents.append(
            {
                **{name: getattr(each.rubric, name) for name in ("subject", "better", "source")},
                "criterion": each.rubric.name,
                "n": each.n,
                "without_score": each.without_score,
                "mean_score": each.mean_score,
                "mean_normalised": each.mean,
                "interval": each.interval,
                "counts": counts,
                "agreement": each.agreed,
            }
        )
        scores.append(
            (
                each.rubric.name,
                _number(each.mean),
                _range(each.interval),
                f"{each.n:,}",
                ", ".join(f"{n} {count}" for n, count in counts.items()) if each.n else _NONE,
                f"{each.without_score:,}",
            )
        )
        agreement += [
            (
                each.rubric.name,
                agreed.name,
                "undefined" if agreed.value is None else _number(agreed.value),
                _range(agreed.interval),
                _number(agreed.baseline),
                f"{agreed.n:,}",
            )
            for agreed in each.agreed
        ]
    shown = [
        table(
            ("criterion", "mean", "95 % interval", "n", "given", "without score"),
            scores,
            title=f"Scores by {plain(planned.judge)}, normalised: 1 is best",
            numbers=("mean", "95 % interval", "n", "without score"),
        )
    ]
    if agreement:
        headings = ("criterion", "measure", "value", "95 % interval", "trivial", "n")
        title = "Agreement with people"
        shown.append(table(headings, agreement, title=title, numbers=headings[2:]))
    result({"judge": planned.judge, "run": judged, "criteria": documents}, *shown)
    cost = dollars(judged.usd) if judged.price_known else "at a price that is not listed"
    note(f"{counted(judged.asked, 'question')} asked, {cost}.")
    if judged.stopped is not None:
        note(
            f"{plain(judged.stopped)} {counted(judged.not_asked, 'question')} left; run the same "
            "command to go on."
        )


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"


def _range(interval: Interval | None) -> str:
    return _NONE if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
