"""A judging from beginning to end: what is to be asked, what it will cost, asking, storing.

What belongs here: the plan, its estimate, resumption, the workers that ask, rows. What does not:
criteria, questions and answers (evaluation/judging), tables (warehouse/beside.py), the choice
of the model (services/reasoning.py), arguments and printing (cli/evaluate.py).

Everything is stored soon after it is judged. Whoever asks again, after an interruption, an outage
or a ceiling, asks only what has no score yet: the same question to the same judge in the same
version of the prompt is asked once. A row that changed is another question.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
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
from factible_assets.services.reasoning import (
    JUDGE,
    ModelPlan,
    model_clients,
    new_budget,
    stage_model,
)
from factible_assets.settings import Settings, SetupError
from resources.cache import DiskCache
from resources.cache.answers import CachingModel
from resources.llm.base import BudgetExhaustedError
from resources.llm.registry import ModelInfo
from warehouse.beside import (
    JudgementRow,
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
        usage, price = judge_usage(store, self.info.provider, self.info.name), self.info.price
        plans = []
        for rubric in self.rubrics:
            tasks = [task for task in self.tasks if task.asked.rubric == rubric]
            ahead = [task for task in tasks if not task.is_done]
            recorded = usage.get(rubric.name)
            if recorded is not None:
                given, written = (each * len(ahead) for each in recorded)
            else:
                shown = sum(task.asked.characters for task in ahead) / CHARACTERS_PER_TOKEN
                given = shown + _SHAPE_TOKENS * len(ahead)
                written = float(_ANSWER_TOKENS * len(ahead))
            tokens = round(given), round(written)
            plans.append(
                CriterionPlan(
                    rubric.name,
                    len(tasks),
                    len(tasks) - len(ahead),
                    len(ahead),
                    *tokens,
                    usd=None if price is None else price.cost(*tokens),
                    tokens_from="assumed" if recorded is None else "recorded",
                )
            )
        return tuple(plans)


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
    if wish.corpora:
        groups = group_by_corpus(load_outcomes(store, reading), reading, expected=wish.corpora)
        outcomes = tuple(
            outcome
            for corpus, found in groups.items()
            for outcome in found
            if corpus in wish.corpora or outcome.video.video_id in wish.videos
        )
    else:
        outcomes = tuple(load_outcomes(store, reading, videos=wish.videos or None))
    asked = []
    for outcome in outcomes:
        # A verdict outlives a failed re-check, and is held against what it was reached from.
        standing = store.read_standing(outcome.video.video_id)
        texts = {**outcome.texts, **standing.texts}
        for subject in subjects_of(outcome, standing.evidence, texts):
            rubrics = (each for each in wish.rubrics if each.subject == subject.kind)
            asked += [inquiry(subject, each) for each in rubrics]
    if not asked:
        raise NothingToJudgeError(
            "There is nothing to judge: no claim of these videos is stored.",
            "Check them first: factible check VIDEO.",
        )
    kept = {each.judgement_id(_name(info)): each for each in _sampled(asked, wish)}
    known = read_judgements(store, list(kept))
    tasks = tuple(Task(name, each, known.get(name)) for name, each in kept.items())
    return JudgingPlan(info, outcomes, tasks, wish.rubrics)


def _name(info: ModelInfo) -> str:
    return f"{info.provider}/{info.name}"


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
    budget = new_budget("this judging", settings)
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


def _write(store: Warehouse, batch: Sequence[tuple[JudgementRow, Judged]]) -> None:
    calls = [
        {
            "judgement_id": row.judgement_id,
            "judging_id": row.judging_id,
            "attempt": attempt,
            **{name: getattr(call, name) for name in _OF_A_CALL},
        }
        for row, judged in batch
        for attempt, call in enumerate(judged.calls, start=1)
    ]
    if batch:
        store.write_rows({"judgements": [row for row, _ in batch], "judge_calls": calls})


_OF_A_CALL = (
    *("provider", "model", "input_tokens", "output_tokens", "cost_usd", "price_known"),
    *("latency_seconds", "cache_hit", "outcome", "reason"),
)
"""What `judge_calls` keeps of a call, in the client's own words."""


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
        self._unwritten: list[tuple[JudgementRow, Judged]] = []
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
            _write(self.store, self._unwritten)
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
                batch, self._unwritten = self._unwritten, []
                await asyncio.to_thread(_write, self.store, batch)

    def _keep(self, task: Task, judged: Judged) -> None:
        if task.known is not None:
            # What led nowhere before was recorded then, and is not paid again.
            calls = tuple(
                each.model_copy(update={"cost_usd": 0.0}) if each.cache_hit else each
                for each in judged.calls
            )
            judged = replace(judged, calls=calls)
        subject, asked, info = task.asked.subject, task.asked, self.judging.info
        row = JudgementRow(
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
        self._done.append(row)
        self._unwritten.append((row, judged))
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
