"""Questions of one kind that are asked together.

What belongs here: gathering what waits for the same answer, asking about it in groups, and settling
each item with its answer. What does not: what is asked (queries.py, evidence.py).

No item is asked about more than twice: with whoever else is there, and alone, where its answer is
missing or not borne out. The same items make the same groups, in which order ever they arrive, so
that the same questions are asked again and a cache can answer them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from factible_assets.reasoners.llm.calls import Desk, PromptTooLongOutageError
from factible_assets.stages.ports import Judged, ReasonerOutageError, ReasonerRefusalError

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Value = TypeVar("Value")

Outcome = Judged[Value] | ReasonerOutageError | ReasonerRefusalError
"""What came of one item."""

_ONES_FAULT = frozenset({"truncated", "invalid"})
"""What a call may have come to because of one item in it."""


@dataclass(slots=True)
class _Batch(Generic[Item, Value]):
    waiting: list[tuple[Item, asyncio.Future[Judged[Value]]]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def release(self, task: asyncio.Task[None]) -> None:
        """Hand whoever waits still what ended the task: nobody waits for what will not come."""
        defect = None if task.cancelled() else task.exception()
        for _, answer in self.waiting:
            if not answer.done():
                answer.cancel() if defect is None else answer.set_exception(defect)


@dataclass(frozen=True, slots=True)
class Batches(Generic[Item, Answer, Value]):
    """Items of one kind that wait, by what they belong to. Each event loop has its own.

    Attributes:
        open_desk: Where some of them are asked about.
        question: Asks about some of them in one call; returns what was answered, by their place.
        settle: Makes of an item's answer what is believed, or asks once more about it alone: it has
            None if there was no answer.
        size: The most items of one question.
        order: What the items are sorted by.
        gather: Waits for further items after the first. What is asked for at the same moment is
            gathered in any case.
        alone: Tells whether an item is asked about by itself.
    """

    open_desk: Callable[[Sequence[Item]], Desk]
    question: Callable[[Desk, Sequence[Item]], Awaitable[Mapping[int, Answer]]]
    settle: Callable[[Desk, Item, Answer | None], Awaitable[Value]]
    size: int
    order: Callable[[Item], str]
    gather: Callable[[Item], Awaitable[None]] | None = None
    alone: Callable[[Item], bool] = lambda _: False
    _open: dict[tuple[asyncio.AbstractEventLoop, str], _Batch[Item, Value]] = field(
        default_factory=dict
    )

    async def ask(self, subject: str, item: Item) -> Judged[Value]:
        """Return the answer about an item, asked for with others of the same subject.

        Raises:
            ReasonerOutageError: The model failed.
            ReasonerRefusalError: The model declined.
        """
        loop = asyncio.get_running_loop()
        key = (loop, subject)
        batch = self._open.get(key)
        if batch is None:
            batch = self._open[key] = _Batch()
            batch.task = loop.create_task(self._serve(key, batch, item))
            batch.task.add_done_callback(batch.release)
        answer: asyncio.Future[Judged[Value]] = loop.create_future()
        batch.waiting.append((item, answer))
        try:
            return await answer
        except asyncio.CancelledError:
            # Whoever is cancelled last takes the question with him.
            if batch.task and all(each.cancelled() for _, each in batch.waiting):
                batch.task.cancel()
                if self._open.get(key) is batch:
                    del self._open[key]
            raise

    async def _serve(
        self,
        key: tuple[asyncio.AbstractEventLoop, str],
        batch: _Batch[Item, Value],
        first: Item,
    ) -> None:
        try:
            if self.gather is not None:
                await self.gather(first)
        finally:
            # What comes from now on is another batch; a cancelled one has left already.
            if self._open.get(key) is batch:
                del self._open[key]
        present = sorted(
            (each for each in batch.waiting if not each[1].done()),
            key=lambda each: self.order(each[0]),
        )
        singles = [each for each in present if self.alone(each[0])]
        rest = [each for each in present if each not in singles]
        count = math.ceil(len(rest) / self.size)
        groups = [*(rest[at::count] for at in range(count)), *([each] for each in singles)]
        await asyncio.gather(*(self._answer(group) for group in groups))

    async def _answer(self, group: Sequence[tuple[Item, asyncio.Future[Judged[Value]]]]) -> None:
        outcomes: Sequence[Outcome[Value] | Exception]
        try:
            outcomes = await self._outcomes([item for item, _ in group])
        except Exception as defect:  # noqa: BLE001 - raised where each of them waits
            outcomes = [defect] * len(group)
        for (_, answer), outcome in zip(group, outcomes, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def _outcomes(self, items: Sequence[Item]) -> Sequence[Outcome[Value]]:
        """Return what came of each item. The calls that they share are recorded with the first.

        A call that was declined, too long, cut off or never answered in shape may have failed for
        one of them: each is then asked about alone. If the service failed, all have that outage.
        """
        desk, single = self.open_desk(items), len(items) == 1
        answers: Mapping[int, Answer] = {}
        try:
            answers = await self.question(desk, items)
        except (PromptTooLongOutageError, ReasonerRefusalError) as failure:
            if single:
                return [failure]
        except ReasonerOutageError as outage:
            if single or not desk.calls or desk.calls[-1].outcome not in _ONES_FAULT:
                rest = (
                    ReasonerOutageError(outage.reason, lasting=outage.lasting) for _ in items[1:]
                )
                return [outage, *rest]

        async def settled(place: int, item: Item) -> Outcome[Value]:
            own = desk if single else self.open_desk([item])
            try:
                value = await self.settle(own, item, answers.get(place))
            except (ReasonerOutageError, ReasonerRefusalError) as failure:
                return failure
            return Judged(value, tuple(own.calls))

        first, *others = await asyncio.gather(*(settled(*each) for each in enumerate(items)))
        calls = tuple(desk.calls) if single else (*desk.calls, *first.calls)
        if isinstance(first, Judged):
            return [Judged(first.value, calls), *others]
        first.calls = calls
        return [first, *others]
