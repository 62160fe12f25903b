"""A judging from beginning to end: what is to be asked, what it will cost, asking, storing.

What belongs here: the plan, its estimate, resumption, the workers that ask, rows. What does not:
criteria, questions and answers (evaluation/judging), tables (warehouse/judgements.py), the choice
of the model (services/reasoning.py), arguments and printing (cli/judge.py).

Everything is stored soon after it is judged. Whoever asks again, after an interruption, an outage
or a ceiling, asks only what has no score yet: the same question to the same judge in the same
version of the prompt is asked once. A row that changed is another question.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import uuid4

from factible_assets.corpora.reading import CorporaReading
from factible_assets.errors import FactibleError, first_of
from factible_assets.evaluation.judging.criteria import Rubric
from factible_assets.evaluation.judging.judge import (
    ANSWER_TOKENS,
    Inquiry,
    Judged,
    inquiry,
    judge,
    subjects_of,
)
from factible_assets.evaluation.outcomes import VideoOutcome, group_by_corpus, load_outcomes
from factible_assets.reasoners.llm.calls import StageModel
from factible_assets.services.reasoning import JUDGE, ModelPlan, model_clients, stage_model
from factible_assets.settings import Settings, SetupError
from resources.cache import DiskCache
from resources.cache.models import CachingModel
from resources.llm.base import BudgetExhaustedError
from resources.llm.limits import Budget, Ceiling
from resources.llm.registry import ModelInfo
from warehouse.judgements import (
    JudgementRow,
    MeanTokens,
    judge_usage,
    read_judgements,
)
from warehouse.store import Warehouse

CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; used only where no call was recorded."""

_SEED = 1
_SHAPE_TOKENS, _ANSWER_TOKENS = 150, 150
_WORKERS = 8
"""Questions that are in flight at once; the client's own limits hold as well."""
_WRITTEN_AT_ONCE = 20
_MOST_FAILURES = 16
"""Outages in a row after which nobody else is kept waiting for the same service."""


class NothingToJudgeError(FactibleError):
    """No row is there that could be judged. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be judged. Without videos and corpora: everything that was checked.

    Attributes:
        videos: Ids.
        corpora: Names; their videos are added to those that are named.
        rubrics: The criteria.
        sample: The most subjects per criterion; all if None.
    """

    videos: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One question, its identity, and what is known of its answer."""

    judgement_id: str
    asked: Inquiry
    known: JudgementRow | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a score."""
        return self.known is not None and self.known.outcome == "ok"


@dataclass(frozen=True, slots=True)
class CriterionPlan:
    """The questions of one criterion. `usd` is None if the judge has no listed price."""

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
    """Everything that is to be judged, and by whom."""

    info: ModelInfo
    outcomes: tuple[VideoOutcome, ...]
    tasks: tuple[Task, ...]
    rubrics: tuple[Rubric, ...]

    @property
    def judge(self) -> str:
        """The judge as PROVIDER/MODEL."""
        return _name(self.info)

    @property
    def open(self) -> tuple[Task, ...]:
        """The questions that have no score yet."""
        return tuple(task for task in self.tasks if not task.is_done)

    def estimate(self, store: Warehouse) -> tuple[CriterionPlan, ...]:
        """Count and price the open questions; nobody is asked.

        Tokens are those of recorded judgements of the same judge and criterion; without such, the
        length of the questions themselves and an assumed answer.
        """
        usage = judge_usage(store, self.info.provider, self.info.name)
        return tuple(self._estimated(rubric, usage.get(rubric.name)) for rubric in self.rubrics)

    def _estimated(self, rubric: Rubric, recorded: MeanTokens | None) -> CriterionPlan:
        tasks = [task for task in self.tasks if task.asked.rubric == rubric]
        ahead = [task for task in tasks if not task.is_done]
        if recorded is not None:
            given, written = recorded.input * len(ahead), recorded.output * len(ahead)
        else:
            shown = sum(task.asked.characters for task in ahead) / CHARACTERS_PER_TOKEN
            given = shown + _SHAPE_TOKENS * len(ahead)
            written = float(_ANSWER_TOKENS * len(ahead))
        tokens = round(given), round(written)
        price = self.info.price
        return CriterionPlan(
            rubric.name,
            len(tasks),
            len(tasks) - len(ahead),
            len(ahead),
            *tokens,
            usd=None if price is None else price.cost(*tokens),
            tokens_from="assumed" if recorded is None else "recorded",
        )


@dataclass(frozen=True, slots=True)
class JudgingResult:
    """How a judging ended.

    Attributes:
        judging_id: Its name, which its rows carry.
        asked: Questions that were put.
        outcomes: How they ended, by outcome.
        usd: What they cost.
        price_known: Whether all of that has a price.
        not_asked: Questions that were left for another time: a ceiling, or a service that is down.
        stopped: Why, in a sentence; None if all were asked.
    """

    judging_id: str
    asked: int
    outcomes: dict[str, int]
    usd: float
    price_known: bool
    not_asked: int
    stopped: str | None


Listener = Callable[[JudgementRow, int, int], None]
"""Hears of each judgement, how many are done, and of how many. Must return at once."""


def plan_judging(
    store: Warehouse, reading: CorporaReading, wish: Wish, plan: ModelPlan
) -> JudgingPlan:
    """Find out what is to be asked, and what was answered before.

    Raises:
        UnknownCorpusError: No video of a named corpus was checked.
        NothingToJudgeError: There is nothing that could be judged.
    """
    info = plan.stages[JUDGE]
    outcomes = tuple(_chosen(store, reading, wish))
    asked = [each for outcome in outcomes for each in _inquiries(store, outcome, wish.rubrics)]
    if not asked:
        raise NothingToJudgeError(
            "There is nothing to judge: no claim of these videos is stored. Check them first: "
            "factible check VIDEO."
        )
    kept = _sampled(asked, wish)
    known = read_judgements(store, [each.judgement_id(_name(info)) for each in kept])
    tasks = tuple(
        Task(identifier, each, known.get(identifier))
        for each in kept
        for identifier in (each.judgement_id(_name(info)),)
    )
    return JudgingPlan(info, outcomes, tasks, wish.rubrics)


def _name(info: ModelInfo) -> str:
    return f"{info.provider}/{info.name}"


def _chosen(store: Warehouse, reading: CorporaReading, wish: Wish) -> Sequence[VideoOutcome]:
    if not wish.corpora:
        return load_outcomes(store, reading, videos=wish.videos or None)
    groups = group_by_corpus(load_outcomes(store, reading), reading, expected=wish.corpora)
    return [
        outcome
        for corpus, outcomes in groups.items()
        for outcome in outcomes
        if corpus in wish.corpora or outcome.video.video_id in wish.videos
    ]


def _inquiries(
    store: Warehouse, outcome: VideoOutcome, rubrics: Collection[Rubric]
) -> Iterator[Inquiry]:
    # A verdict outlives a failed re-check, and is held against what it was reached from.
    standing = store.read_standing(outcome.video.video_id)
    texts = {**outcome.texts, **standing.texts}
    for subject in subjects_of(outcome, standing.evidence, texts):
        yield from (inquiry(subject, each) for each in rubrics if each.subject == subject.kind)


def _sampled(asked: Sequence[Inquiry], wish: Wish) -> list[Inquiry]:
    """Keep so many subjects of each criterion: by chance, but a larger sample holds a smaller."""
    if wish.sample is None:
        return list(asked)
    kept: set[tuple[str, str]] = set()
    for rubric in wish.rubrics:
        ids = sorted(
            (each.subject.subject_id for each in asked if each.rubric == rubric),
            key=lambda each: hashlib.sha256(each.encode()).digest(),
        )
        kept |= {(rubric.name, each) for each in ids[: wish.sample]}
    return [each for each in asked if (each.rubric.name, each.subject.subject_id) in kept]


async def run_judging(
    settings: Settings,
    store: Warehouse,
    judging: JudgingPlan,
    models: ModelPlan,
    listener: Listener | None = None,
) -> JudgingResult:
    """Ask the open questions and store the answers; published when all are in.

    Raises:
        SetupError: A key or an address cannot be used.
    """
    info = judging.info
    budget = Budget(
        "this judging",
        Ceiling(settings.budget_per_run_usd, setting="FACTIBLE_BUDGET_PER_RUN_USD"),
        per_account=Ceiling(settings.budget_per_video_usd, setting="FACTIBLE_BUDGET_PER_VIDEO_USD"),
    )
    async with AsyncExitStack() as stack:
        cache = DiskCache(settings.cache, settings.cache_policy)
        stack.push_async_callback(cache.aclose)
        clients = await stack.enter_async_context(model_clients(settings, models))
        try:
            client = clients.model(info.name, provider=info.provider)
        except ValueError as error:
            raise SetupError(str(error)) from error

        def judge_of(video_id: str) -> StageModel:
            asked = CachingModel(client, cache, budget.account(f"the video {video_id}"))
            return stage_model(settings, JUDGE, asked, ANSWER_TOKENS, _SEED)

        session = _Session(store, judging, judge_of, listener)
        try:
            result = await session.run()
        except ExceptionGroup as group:
            raise first_of(group) from group
    await asyncio.to_thread(store.publish, settings.published)
    return result


_Batch: TypeAlias = list[tuple[JudgementRow, list[dict[str, object]]]]


def _write(store: Warehouse, batch: _Batch) -> None:
    if batch:
        calls = [call for _, made in batch for call in made]
        store.write_rows({"judgements": [row for row, _ in batch], "judge_calls": calls})


@dataclass
class _Session:
    """The workers of one judging, and what they have done so far."""

    store: Warehouse
    judging: JudgingPlan
    judge_of: Callable[[str], StageModel]
    listener: Listener | None
    judging_id: str = field(default_factory=lambda: uuid4().hex[:16])

    def __post_init__(self) -> None:
        self._waiting = deque(self.judging.open)
        self._total = len(self._waiting)
        self._done: list[JudgementRow] = []
        self._unwritten: _Batch = []
        self._left = 0
        self._failures = 0
        self._stopped: str | None = None

    async def run(self) -> JudgingResult:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(_WORKERS, self._total)):
                    group.create_task(self._work())
        finally:
            # Also where it was interrupted: what was judged is paid.
            _write(self.store, self._taken())
        return JudgingResult(
            self.judging_id,
            len(self._done),
            dict(Counter(row.outcome for row in self._done)),
            sum(row.cost_usd for row in self._done),
            all(row.price_known for row in self._done),
            self._left,
            self._stopped,
        )

    async def _work(self) -> None:
        while self._waiting:
            task = self._waiting.popleft()
            try:
                judged = await judge(self.judge_of(task.asked.subject.video_id), task.asked)
            except BudgetExhaustedError as error:
                # The ceiling of a video may be reached, and not that of the judging.
                self._left += 1
                self._stopped = error.reason
                continue
            self._keep(task, judged)
            if len(self._unwritten) >= _WRITTEN_AT_ONCE:
                await asyncio.to_thread(_write, self.store, self._taken())

    def _keep(self, task: Task, judged: Judged) -> None:
        if task.known is not None:
            # What led nowhere before was recorded then, and is not paid again.
            calls = tuple(
                each.model_copy(update={"cost_usd": 0.0}) if each.cache_hit else each
                for each in judged.calls
            )
            judged = replace(judged, calls=calls)
        row = self._row(task, judged)
        self._done.append(row)
        self._unwritten.append((row, self._calls(task, judged)))
        self._failures = self._failures + 1 if row.outcome == "infra_error" else 0
        if self._failures >= _MOST_FAILURES and self._waiting:
            self._stopped = (
                f"The judge could not be asked {self._failures} times in a row, the last time for "
                f"this: {row.reason}"
            )
            self._left += len(self._waiting)
            self._waiting.clear()
        if self.listener is not None:
            self.listener(row, len(self._done), self._total)

    def _taken(self) -> _Batch:
        """Return what is not written yet, which is then the caller's to write."""
        batch, self._unwritten = self._unwritten, []
        return batch

    def _row(self, task: Task, judged: Judged) -> JudgementRow:
        subject, asked, info = task.asked.subject, task.asked, self.judging.info
        return JudgementRow(
            judgement_id=task.judgement_id,
            judging_id=self.judging_id,
            video_id=subject.video_id,
            claim_id=subject.claim_id,
            subject_kind=subject.kind,
            subject_id=subject.subject_id,
            criterion=asked.rubric.name,
            outcome=judged.outcome,
            score=judged.score,
            normalised=judged.normalised,
            reason=judged.reason,
            quote=judged.quote,
            provider=info.provider,
            model=info.name,
            prompt_version=asked.prompt.version,
            question_hash=asked.question_hash,
            calls=len(judged.calls),
            cost_usd=sum(call.cost_usd for call in judged.calls),
            price_known=all(call.price_known for call in judged.calls),
            judged_at=datetime.now(UTC),
        )

    def _calls(self, task: Task, judged: Judged) -> list[dict[str, object]]:
        keys = {"judgement_id": task.judgement_id, "judging_id": self.judging_id}
        return [
            {**keys, "attempt": attempt, **{name: getattr(call, name) for name in _OF_A_CALL}}
            for attempt, call in enumerate(judged.calls, start=1)
        ]


_OF_A_CALL = (
    *("provider", "model", "input_tokens", "output_tokens", "cost_usd", "price_known"),
    *("latency_seconds", "cache_hit", "outcome", "reason"),
)
"""What `judge_calls` keeps of a call, in the client's own words."""
