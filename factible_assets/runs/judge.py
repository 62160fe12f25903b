"""Plans a judging, asks the judge in parallel, and stores the scores.

A judging skips questions with a score. A changed row, judge or prompt makes another question.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from factible_assets.corpora.reading import CorporaReading
from factible_assets.errors import FactibleError, first_of
from factible_assets.evaluation.judging.judge import (
    ANSWER_TOKENS,
    JudgeOutcome,
    Question,
    Rubric,
    judge,
    question_on,
    subjects_of,
)
from factible_assets.evaluation.outcomes import VideoOutcome, group_by_corpus, load_outcomes
from factible_assets.records.tables import JudgementRow
from factible_assets.services.models import JUDGE, ModelPlan, model_clients, new_budget, stage_model
from factible_assets.settings import Settings
from resources.llm.base import BudgetExhaustedError
from resources.llm.registry import CHARACTERS_PER_TOKEN, ModelInfo
from resources.storage.answers import DiskCache
from resources.storage.caching import CachingModel
from warehouse.bookkeeping import judge_usage, read_judgements
from warehouse.store import Warehouse

_ASSUMED_OVERHEAD, _ASSUMED_ANSWER = 150, 150
"""Tokens of a call beside the question's text, and of its answer, without recorded calls."""
_WORKERS = 8
"""Questions asked at once; the client has limits of its own."""
_MOST_FAILURES = 16
"""Consecutive failures that stop the judging."""

_CALL_COLUMNS = (
    *("provider", "model", "input_tokens", "output_tokens", "cost_usd", "price_known"),
    *("latency_seconds", "cache_hit", "outcome", "reason"),
)
"""The columns of `judge_calls` that come from a model call."""

Listener = Callable[[JudgementRow, int, int], None]
"""Takes each judgement, the number done, and the total. Must return at once."""


@dataclass(frozen=True, slots=True)
class Task:
    """One question, and its earlier judgement if there is one."""

    judgement_id: str
    question: Question
    known: JudgementRow | None = None


@dataclass(frozen=True, slots=True)
class CriterionPlan:
    """The estimate for one criterion. `usd` is None if the judge has no listed price."""

    criterion: str
    subjects: int
    judged: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    tokens_from: str


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """The questions of a judging. `judge` is PROVIDER/MODEL."""

    info: ModelInfo
    judge: str
    outcomes: tuple[VideoOutcome, ...]
    tasks: tuple[Task, ...]
    rubrics: tuple[Rubric, ...]

    @property
    def unscored(self) -> tuple[Task, ...]:
        """The questions that have no score yet."""
        return tuple(task for task in self.tasks if not task.known or task.known.outcome != "ok")

    def estimate(self, store: Warehouse) -> tuple[CriterionPlan, ...]:
        """Count and price the open questions.

        Tokens are the average of recorded judgements of the same judge and criterion, or else
        computed from the length of the questions and an assumed answer.
        """
        usage, price = judge_usage(store, self.info.provider, self.info.name), self.info.price
        plans = []
        for rubric in self.rubrics:
            subjects = sum(task.question.rubric == rubric for task in self.tasks)
            questions = [task.question for task in self.unscored if task.question.rubric == rubric]
            calls, recorded = len(questions), usage.get(rubric.name)
            read, written = recorded or (_ASSUMED_OVERHEAD, _ASSUMED_ANSWER)
            characters = 0 if recorded else sum(question.characters for question in questions)
            tokens = round(characters / CHARACTERS_PER_TOKEN + read * calls), round(written * calls)
            plans.append(
                CriterionPlan(
                    rubric.name,
                    subjects,
                    subjects - calls,
                    calls,
                    *tokens,
                    usd=None if price is None else price.cost(*tokens),
                    tokens_from="recorded" if recorded else "assumed",
                )
            )
        return tuple(plans)


@dataclass(frozen=True, slots=True)
class JudgingResult:
    """The number of questions asked, their outcomes, and their cost in US dollars.

    `stopped` is a sentence if a cost limit or an outage left questions unasked.
    """

    judging_id: str
    asked: int
    outcomes: dict[str, int]
    usd: float
    price_known: bool
    not_asked: int
    stopped: str | None


def plan_judging(
    store: Warehouse,
    reading: CorporaReading,
    plan: ModelPlan,
    rubrics: Sequence[Rubric],
    *,
    videos: Collection[str] = (),
    corpora: Collection[str] = (),
    sample: int | None = None,
) -> JudgingPlan:
    """Collect the questions about the given videos (ids) and corpora, or about all videos.

    `sample` is the most subjects per rubric.

    Raises UnknownCorpusError: A named corpus has no checked video.
    Raises FactibleError: There is nothing to judge.
    """
    info = plan.stages[JUDGE]
    judge_name = f"{info.provider}/{info.name}"
    outcomes = _outcomes(store, reading, videos, corpora)
    questions = _questions(store, outcomes, rubrics)
    if not questions:
        raise FactibleError(
            "There is nothing to judge: no claim of these videos is stored.",
            "Check them first: factible check VIDEO.",
        )
    sampled = {rubric.name: _sampled_ids(rubric, questions, sample) for rubric in rubrics}
    chosen = {
        question.judgement_id(judge_name): question
        for question in questions
        if question.subject.subject_id in sampled[question.rubric.name]
    }
    known = read_judgements(store, list(chosen))
    tasks = tuple(Task(name, question, known.get(name)) for name, question in chosen.items())
    return JudgingPlan(info, judge_name, outcomes, tasks, tuple(rubrics))


def _outcomes(
    store: Warehouse, reading: CorporaReading, videos: Collection[str], corpora: Collection[str]
) -> tuple[VideoOutcome, ...]:
    if not corpora:
        return tuple(load_outcomes(store, reading, videos=videos or None))
    groups = group_by_corpus(load_outcomes(store, reading), reading, expected=corpora)
    return tuple(
        outcome
        for corpus, in_corpus in groups.items()
        for outcome in in_corpus
        if corpus in corpora or outcome.video.video_id in videos
    )


def _questions(
    store: Warehouse, outcomes: Sequence[VideoOutcome], rubrics: Sequence[Rubric]
) -> list[Question]:
    questions = []
    for outcome in outcomes:
        # Judge a verdict by its own evidence, which may not be the newest.
        judged = store.read_judged(outcome.video.video_id)
        texts = {**outcome.texts, **judged.texts}
        for subject in subjects_of(outcome, judged.evidence, texts):
            questions += [
                question_on(subject, rubric) for rubric in rubrics if rubric.subject == subject.kind
            ]
    return questions


def _sampled_ids(rubric: Rubric, questions: Sequence[Question], sample: int | None) -> set[str]:
    """Return the ids of sampled subjects; a larger sample contains a smaller one."""
    ids = {question.subject.subject_id for question in questions if question.rubric == rubric}
    order = sorted(ids, key=lambda each: hashlib.sha256(each.encode()).digest())
    return set(order[:sample])


async def run_judging(
    settings: Settings,
    store: Warehouse,
    judging: JudgingPlan,
    models: ModelPlan,
    listener: Listener | None = None,
) -> JudgingResult:
    """Ask the open questions, store the answers, and publish. Raises SetupError."""
    info, budget = judging.info, new_budget("this judging", settings)
    async with AsyncExitStack() as stack:
        cache = DiskCache(settings.cache, settings.cache_policy)
        clients = await stack.enter_async_context(model_clients(settings, models.registry))
        client = clients.model(info.name, provider=info.provider)

        async def ask(task: Task) -> JudgeOutcome:
            account = budget.account(f"the video {task.question.subject.video_id}")
            # Ask again for an answer without a score, instead of taking it from the cache.
            model = CachingModel(client, cache, account, renews=task.known is not None)
            return await judge(stage_model(settings, model, ANSWER_TOKENS), task.question)

        try:
            result = await _ask_all(store, judging, ask, listener)
        except ExceptionGroup as group:
            raise first_of(group) from group
    await asyncio.to_thread(store.publish, settings.published)
    return result


@dataclass(slots=True)
class _Judging:
    """A judging in progress: the waiting questions, the rows so far, and why it stopped, if so."""

    judging_id: str
    info: ModelInfo
    ask: Callable[[Task], Awaitable[JudgeOutcome]]
    listener: Listener | None
    waiting: deque[Task]
    total: int
    rows: list[JudgementRow] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    not_asked: int = 0
    failures_in_a_row: int = 0
    stopped: str | None = None

    async def work(self) -> None:
        """Ask one waiting question after the other."""
        while self.waiting:
            task = self.waiting.popleft()
            try:
                outcome = await self.ask(task)
            except BudgetExhaustedError as error:
                # One video may have reached its limit while others have not.
                self.not_asked, self.stopped = self.not_asked + 1, error.reason
                continue
            row, calls = _rows(self.judging_id, self.info, task, outcome)
            self.rows.append(row)
            self.calls += calls
            self._stop_after_failures(row)
            if self.listener is not None:
                self.listener(row, len(self.rows), self.total)

    def _stop_after_failures(self, row: JudgementRow) -> None:
        """Leave the waiting questions unasked if many in a row have failed."""
        failed = row.outcome == "infra_error"
        self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
        if self.failures_in_a_row >= _MOST_FAILURES and self.waiting:
            failures = self.failures_in_a_row
            self.stopped = f"{failures} questions failed in a row. The last reason: {row.reason}"
            self.not_asked += len(self.waiting)
            self.waiting.clear()


async def _ask_all(
    store: Warehouse,
    plan: JudgingPlan,
    ask: Callable[[Task], Awaitable[JudgeOutcome]],
    listener: Listener | None,
) -> JudgingResult:
    tasks = deque(plan.unscored)
    judging = _Judging(uuid4().hex[:16], plan.info, ask, listener, tasks, len(tasks))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(_WORKERS, judging.total)):
                group.create_task(judging.work())
    finally:
        # Store after an interruption too. If the process is killed, the cache keeps the answers.
        if judging.rows:
            store.write_rows({"judgements": judging.rows, "judge_calls": judging.calls})
    return JudgingResult(
        judging.judging_id,
        len(judging.rows),
        dict(Counter(row.outcome for row in judging.rows)),
        sum(row.cost_usd for row in judging.rows),
        all(row.price_known for row in judging.rows),
        judging.not_asked,
        judging.stopped,
    )


def _rows(
    judging_id: str, info: ModelInfo, task: Task, judged: JudgeOutcome
) -> tuple[JudgementRow, list[dict[str, Any]]]:
    """Return the row of a judgement, and those of its model calls."""
    calls = judged.calls
    if task.known is not None:
        # The earlier attempt recorded the cost of its calls, which the cache answers now.
        free = {"cost_usd": 0.0}
        calls = tuple(call.model_copy(update=free) if call.cache_hit else call for call in calls)
    question, subject = task.question, task.question.subject
    row = JudgementRow(
        judgement_id=task.judgement_id,
        judging_id=judging_id,
        video_id=subject.video_id,
        claim_id=subject.claim_id,
        subject_kind=subject.kind,
        subject_id=subject.subject_id,
        criterion=question.rubric.name,
        outcome=judged.outcome,
        score=judged.score,
        normalised=None if judged.score is None else question.rubric.normalised(judged.score),
        reason=judged.reason,
        quote=judged.quote,
        provider=info.provider,
        model=info.name,
        prompt_version=question.prompt.version,
        question_hash=question.question_hash,
        calls=len(calls),
        cost_usd=sum(call.cost_usd for call in calls),
        price_known=all(call.price_known for call in calls),
        judged_at=datetime.now(UTC),
    )
    ids = {"judgement_id": task.judgement_id, "judging_id": judging_id}
    return row, [
        {**ids, "attempt": attempt, **{name: getattr(call, name) for name in _CALL_COLUMNS}}
        for attempt, call in enumerate(calls, start=1)
    ]
