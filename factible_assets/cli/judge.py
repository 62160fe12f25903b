"""`factible judge`: a language model scores what was found, on the scales of people.

What belongs here: arguments, the plan and the scores as tables. What does not: judging
(running/judge.py), criteria (evaluation/judging).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import counted, dollars, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from factible_assets.evaluation.judging.criteria import Rubric
    from factible_assets.evaluation.judging.summary import Agreed, CriterionFigures
    from factible_assets.running.judge import CriterionPlan, JudgingPlan, JudgingResult, Listener
    from factible_assets.services.reasoning import ModelPlan
    from factible_assets.settings import Settings
    from warehouse.judgements import JudgementRow
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
        typer.Option("--corpus", metavar="NAME", help="Judge this corpus; may be repeated."),
    ] = None,
    criteria: Annotated[
        list[str] | None,
        typer.Option(
            "--criteria",
            metavar="NAME,…",
            help="Only these: claim_quality, query_relevance, evidence_relevance, "
            "explanation_quality, reasoning_hallucination, evidence_hallucination, "
            "label_justification.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, help="The most subjects per criterion, by chance."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the calls and their cost; ask nobody.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Have a language model score claims, queries, evidence and verdicts, from 0 to 2.

    The judge is FACTIBLE_MODEL_JUDGE, else FACTIBLE_MODEL. What it has scored before is not asked
    again, so an interrupted judging goes on where it stopped. Where a corpus carries scores of
    people, agreement with them is shown.

    Example: factible judge everyday-beliefs-talk --dry-run

    Example: factible judge --corpus everyday-beliefs --criteria label_justification --sample 20
    """
    import asyncio

    from factible_assets.running.judge import run_judging
    from factible_assets.settings import load_settings

    settings = load_settings()
    store = _warehouse(settings)
    models = _models(settings)
    planned = _planned(store, settings, models, videos or [], corpus or [], criteria, sample)
    if dry_run:
        _show_plan(planned, planned.estimate(store), as_json=as_json)
        return
    _remark(planned, store)
    result = asyncio.run(run_judging(settings, store, planned, models, _listener(planned)))
    found = _figures(store, planned)
    if as_json:
        print_json(_document(planned, found, result))
    else:
        _show(planned, found, result)
    if result.not_asked or any(each.without_score for each in found):
        raise typer.Exit(ExitCode.INCOMPLETE)


# --- What is asked for --------------------------------------------------------------------------


def _warehouse(settings: Settings) -> Warehouse:
    from warehouse.store import Warehouse

    if not settings.warehouse.exists():
        raise CliError(
            "Nothing was checked yet, so there is nothing to judge.",
            "Check a video first: factible demo, or factible check VIDEO.",
        )
    return Warehouse(settings.warehouse)


def _models(settings: Settings) -> ModelPlan:
    from factible_assets.services.reasoning import plan_judge
    from factible_assets.settings import SetupError

    try:
        return plan_judge(settings)
    except SetupError as error:
        raise CliError(str(error), code=ExitCode.ENVIRONMENT) from error


def _planned(
    store: Warehouse,
    settings: Settings,
    models: ModelPlan,
    videos: Sequence[str],
    corpora: Sequence[str],
    criteria: Sequence[str] | None,
    sample: int | None,
) -> JudgingPlan:
    from factible_assets.corpora import load_corpora
    from factible_assets.corpora.adding import bare_id
    from factible_assets.evaluation.outcomes import UnknownCorpusError
    from factible_assets.running.judge import NothingToJudgeError, Wish, plan_judging
    from factible_assets.running.targets import unchecked

    ids = tuple(dict.fromkeys(bare_id(each) for each in videos))
    held = set(store.video_ids()) if ids else set()
    for video_id in ids:
        if video_id not in held:
            raise unchecked(video_id, settings)
    wish = Wish(ids, tuple(corpora), _rubrics(criteria), sample)
    reading = load_corpora(settings.corpus_folders)
    for problem in reading.problems:
        note(f"problem: {plain(str(problem))}")
    try:
        return plan_judging(store, reading, wish, models)
    except (UnknownCorpusError, NothingToJudgeError) as error:
        raise CliError(str(error)) from error


def _rubrics(criteria: Sequence[str] | None) -> tuple[Rubric, ...]:
    from factible_assets.evaluation.judging.criteria import UnknownCriterionError, rubrics

    names = [name.strip() for each in criteria or () for name in each.split(",") if name.strip()]
    try:
        return rubrics(names)
    except UnknownCriterionError as error:
        raise CliError(str(error), code=ExitCode.USAGE) from error


def _remark(planned: JudgingPlan, store: Warehouse) -> None:
    from warehouse.judgements import verdict_models

    videos = [outcome.video.video_id for outcome in planned.outcomes]
    if planned.judge in verdict_models(store, videos):
        note(
            f"{plain(planned.judge)} also reached verdicts here, and models tend to favour their "
            "own words. Name another judge with FACTIBLE_MODEL_JUDGE."
        )


# --- Before -------------------------------------------------------------------------------------


def _show_plan(planned: JudgingPlan, estimates: Sequence[CriterionPlan], *, as_json: bool) -> None:
    calls = sum(each.calls for each in estimates)
    usd = None if planned.info.price is None else sum(each.usd or 0.0 for each in estimates)
    if as_json:
        rows = [asdict(each) for each in estimates]
        print_json({"judge": planned.judge, "calls": calls, "usd": usd, "criteria": rows})
        return
    table = _table(f"To be judged by {plain(planned.judge)}")
    for heading in ("criterion", "subjects", "judged before", "calls", "tokens", "cost"):
        table.add_column(heading, justify="left" if heading == "criterion" else "right")
    for each in estimates:
        table.add_row(
            each.criterion,
            f"{each.subjects:,}",
            f"{each.judged:,}",
            f"{each.calls:,}",
            f"{each.input_tokens:,} + {each.output_tokens:,}",
            "unknown" if each.usd is None else dollars(each.usd),
        )
    stdout().print(table)
    cost = "at a price that is not listed" if usd is None else f"about {dollars(usd)}"
    assumed = any(each.calls and each.tokens_from == "assumed" for each in estimates)
    basis = "the length of the questions" if assumed else "what such judgements took before"
    typer.echo(f"{counted(calls, 'call')}, {cost}, by {basis}. Nobody was asked.")


def _listener(planned: JudgingPlan) -> Listener:
    total = len(planned.open)
    before = len(planned.tasks) - total
    if before:
        note(f"{counted(before, 'judgement')} of this judge are there already.")
    every = max(1, total // 20)

    def heard(row: JudgementRow, done: int, of: int) -> None:
        if row.outcome != "ok":
            note(f"no score: {row.criterion} of {plain(row.video_id, 60)}: {plain(row.reason)}")
        if done % every == 0 or done == of:
            note(f"judged {done:,} of {of:,}")

    return heard


# --- Afterwards ---------------------------------------------------------------------------------


def _figures(store: Warehouse, planned: JudgingPlan) -> tuple[CriterionFigures, ...]:
    from factible_assets.evaluation.judging.summary import figures, human_scores
    from factible_assets.evaluation.matching import default_matcher
    from warehouse.judgements import read_judgements

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


def _document(
    planned: JudgingPlan, found: Sequence[CriterionFigures], result: JudgingResult
) -> dict[str, Any]:
    return {
        "judge": planned.judge,
        "run": asdict(result),
        "criteria": [
            {
                "criterion": each.rubric.name,
                "subject": each.rubric.subject,
                "better": each.rubric.better,
                "source": each.rubric.source,
                "n": each.n,
                "without_score": each.without_score,
                "mean_score": each.mean_score,
                "mean_normalised": each.mean,
                "interval": asdict(each.interval) if each.interval else None,
                "counts": dict(zip(each.rubric.levels, each.counts, strict=True)),
                "agreement": [asdict(agreed) for agreed in each.agreed],
            }
            for each in found
        ],
    }


def _show(planned: JudgingPlan, found: Sequence[CriterionFigures], result: JudgingResult) -> None:
    table = _table(f"Scores by {plain(planned.judge)}, normalised: 1 is best")
    for heading in ("criterion", "mean", "95 % interval", "n", "given", "without score"):
        table.add_column(heading, justify="left" if heading in {"criterion", "given"} else "right")
    for each in found:
        counts = zip(each.rubric.levels, each.counts, strict=True)
        table.add_row(
            each.rubric.name,
            _NONE if each.mean is None else f"{each.mean:.3f}",
            _NONE
            if each.interval is None
            else f"{each.interval.low:.3f} to {each.interval.high:.3f}",
            f"{each.n:,}",
            ", ".join(f"{name} {count}" for name, count in counts) if each.n else _NONE,
            f"{each.without_score:,}",
        )
    stdout().print(table)
    _show_agreement(found)
    cost = dollars(result.usd) if result.price_known else "at a price that is not listed"
    note(f"{counted(result.asked, 'question')} asked, {cost}.")
    if result.stopped is not None:
        note(
            f"{plain(result.stopped)} {counted(result.not_asked, 'question')} left; run the same "
            "command to go on."
        )


def _show_agreement(found: Sequence[CriterionFigures]) -> None:
    if not any(each.agreed for each in found):
        return
    table = _table("Agreement with people")
    for heading in ("criterion", "measure", "value", "95 % interval", "trivial", "n"):
        table.add_column(
            heading, justify="left" if heading in {"criterion", "measure"} else "right"
        )
    for each in found:
        for agreed in each.agreed:
            table.add_row(each.rubric.name, *_agreement_cells(agreed))
    stdout().print(table)


def _agreement_cells(agreed: Agreed) -> tuple[str, ...]:
    interval = agreed.interval
    return (
        agreed.name,
        "undefined" if agreed.value is None else f"{agreed.value:.3f}",
        _NONE if interval is None else f"{interval.low:.3f} to {interval.high:.3f}",
        _NONE if agreed.baseline is None else f"{agreed.baseline:.3f}",
        f"{agreed.n:,}",
    )


def _table(title: str) -> Any:
    from rich.table import Table

    return Table(title=title, title_justify="left")
